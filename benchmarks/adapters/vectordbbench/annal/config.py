from pydantic import BaseModel, SecretStr

from ..api import DBCaseConfig, DBConfig, MetricType


class AnnalConfig(DBConfig):
    """How to reach a server of Annal. A server without tokens needs no token."""

    url: str = "http://127.0.0.1:8080"
    token: SecretStr | None = None

    def to_dict(self) -> dict:
        return {
            "url": self.url,
            "token": self.token.get_secret_value() if self.token else None,
        }


class AnnalIndexConfig(BaseModel, DBCaseConfig):
    """The graph of the field, and how it is searched.

    With ``recall`` the server chooses ``ef`` by measurements, and ``ef_search`` does not count. ``rescore`` orders the best candidates by the
    vectors as given, which are on disk. ``prefilter_threshold`` compares all matches of a filter up to that number.
    """

    metric_type: MetricType | None = None
    precision: str = "int8"
    M: int = 16
    ef_construction: int = 128
    ef_search: int | None = 128
    recall: float | None = None
    rescore: bool | None = None
    prefilter_threshold: int | None = None

    def parse_metric(self) -> str:
        if self.metric_type == MetricType.L2:
            return "l2"
        if self.metric_type in (MetricType.IP, MetricType.DP):
            return "ip"
        if self.metric_type in (MetricType.COSINE, None):
            return "cosine"
        msg = f"Annal has no metric {self.metric_type}"
        raise ValueError(msg)

    def index_param(self) -> dict:
        return {
            "space_type": self.parse_metric(),
            "precision": self.precision,
            "M": self.M,
            "ef_con": self.ef_construction,
        }

    def search_param(self) -> dict:
        options = {
            "ef_search": self.ef_search if self.recall is None else None,
            "recall": self.recall,
            "rescore": self.rescore,
            "prefilter_cardinality_threshold": self.prefilter_threshold,
        }
        return {name: value for name, value in options.items() if value is not None}
