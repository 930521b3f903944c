from dataclasses import dataclass, field


@dataclass
class DatasetConfig:
    name: str
    vector_size: int
    distance: str
    type: str = "h5"
    schema: dict = field(default_factory=dict)


@dataclass
class Dataset:
    config: DatasetConfig
