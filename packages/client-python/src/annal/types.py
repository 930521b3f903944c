"""Types of arguments and results, for type checkers and editors. At run time they are plain dicts."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Protocol, Sequence, TypedDict, Union


class ArrayLike(Protocol):
    """A NumPy array, or another object with ``tolist``."""

    def tolist(self) -> Any:
        ...


Vector = Union[Sequence[float], ArrayLike]
Meta = Union[Mapping[str, Any], bytes, None]
Filter = Sequence[Mapping[str, Any]]
"""``[{"color": {"$eq": "red"}}, {"price": {"$range": [10, 20]}}]``; all conditions must hold."""


TextMatch = Mapping[str, Mapping[str, Any]]
"""Conditions on texts, by field: ``{"body": {"query": "pumps", "operator": "and"}}``; all must hold."""


class SparseVector(TypedDict):
    indices: Union[Sequence[int], ArrayLike]
    values: Vector


Consistency = Literal["strong", "local"]
"""``strong``: the leader of a cluster answers, with every write that was acknowledged before. ``local``: any node answers."""

FieldValue = Union[Vector, SparseVector, Sequence[Vector], str]


class _RecordRequired(TypedDict):
    id: str


class VectorRecord(_RecordRequired, total=False):
    """A record of an index."""

    vector: Vector
    meta: Meta
    filter: Mapping[str, Any]
    sparse_indices: Union[Sequence[int], ArrayLike]
    sparse_values: Vector


class ObjectRecord(_RecordRequired, total=False):
    """An object of a collection: one value per named field."""

    meta: Meta
    filter: Mapping[str, Any]
    fields: Mapping[str, FieldValue]
    if_absent: bool
    if_lsn: int
    if_match: Filter
    ttl_seconds: Optional[int]
    expires_at: Union[str, int, datetime, None]


class ObjectPatch(_RecordRequired, total=False):
    """Changes of an object: keys are merged, ``None`` removes one, and ``increment`` adds to filter values."""

    meta: Mapping[str, Any]
    filter: Mapping[str, Any]
    increment: Mapping[str, float]
    if_absent: bool
    if_lsn: int
    if_match: Filter
    ttl_seconds: Optional[int]
    expires_at: Union[str, int, datetime, None]


class FieldQuery(TypedDict, total=False):
    query: Any
    limit: int
    ef_search: int
    recall: float
    score_threshold: float
    operator: str
    highlight: bool
    k1: float
    b: float


class FieldDefinition(TypedDict, total=False):
    name: str
    type: str
    params: Dict[str, Any]
    sparse_model: str


class Hit(TypedDict, total=False):
    """A found object. ``expires_at`` is RFC 3339, and absent if the object does not expire."""

    id: str
    similarity: float
    distance: float
    norm: float
    meta: Any
    filter: Dict[str, Any]
    expires_at: str
    vector: List[float]
    texts: Dict[str, str]
    highlight: Dict[str, Any]


class SearchRequest(TypedDict, total=False):
    """A search of ``search_batch``: arguments of ``search``. ``fields`` is required."""

    fields: Mapping[str, Any]
    filter: Filter
    limit: int
    ef_search: int
    recall: float
    prefilter_cardinality_threshold: int
    filter_boost_percentage: float
    include_vectors: bool
    include_texts: bool
    rescore: bool
    fusion: Mapping[str, Any]
    group_by: Mapping[str, Any]
    exact: bool
    explain: bool


class SearchResult(TypedDict, total=False):
    results: Dict[str, List[Hit]]
    fused: List[Dict[str, Any]]
    groups: Dict[str, List[Dict[str, Any]]]
    fused_groups: List[Dict[str, Any]]
    complete: bool
    lsn: int
    recall: Dict[str, Dict[str, Any]]
    explain: Dict[str, Any]


class _MayExpire(TypedDict, total=False):
    expires_at: str
    """RFC 3339; absent if the object does not expire."""


class StoredObject(_MayExpire):
    id: str
    lsn: int
    meta: Any
    filter: Dict[str, Any]
    vectors: Dict[str, List[float]]
    sparses: Dict[str, Dict[str, Any]]
    multi_vectors: Dict[str, List[List[float]]]
    texts: Dict[str, str]


class Change(TypedDict, total=False):
    """The effect of one record of the log. A newer server may have more kinds. A ``notice`` says that the next records are about to be
    removed."""

    lsn: int
    time: str
    kind: str
    collection: str
    objects: List[Dict[str, Any]]
    deleted: List[str]
    left: List[str]
    removed_next_lsn: int
    margin: int


class ObjectChange(TypedDict):
    """What became of an object between two moments: ``added``, ``changed``, or ``removed``."""

    id: str
    change: str


class FilterUpdate(TypedDict):
    id: str
    filter: Mapping[str, Any]


Progress = Callable[[int], None]
"""Called with the number of stored records."""


ChunkBy = Literal["sentences", "tokens", "markdown", "code"]


class _ChunkRequired(TypedDict):
    text: str
    start: int
    end: int
    index: int
    tokens: int


class Chunk(_ChunkRequired, total=False):
    """A part of a text. ``start`` and ``end`` are offsets in code points, ``index`` is its number in the document, from 0."""

    parent: str
    headings: List[str]
