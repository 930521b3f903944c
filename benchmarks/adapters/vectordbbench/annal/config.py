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


class AnnalFtsConfig(BaseModel, DBCaseConfig):
    """The text field of full-text cases. Annal's words are those of Unicode (UAX #29) in lower case. Without a language there are no stems and
    no stop words; accents are removed. The mean length is that of the collection, at every moment.
    """

    metric_type: MetricType | None = MetricType.BM25
    language: str = "none"
    bm25_k1: float | None = None
    bm25_b: float | None = None

    def apply_fts_manifest(
        self, bm25_params: dict[str, float], analyzer_params: dict
    ) -> tuple["AnnalFtsConfig", dict[str, dict]]:
        """Takes k1 and b of a data set. Its tokenizer and lower case are what a field without a language has anyway."""
        own = {"k1": "bm25_k1", "b": "bm25_b"}
        bm25 = {name: value for name, value in bm25_params.items() if name in own}
        is_plain = self.language == "none"
        fixed = {"tokenizer": "standard", "filter": ["lowercase"]} if is_plain else {}
        analyzer = {name: value for name, value in analyzer_params.items() if fixed.get(name) == value}
        changes = {own[name]: value for name, value in bm25.items()}
        return type(self)(**{**dict(self), **changes}), {
            "applied_bm25_params": bm25,
            "unapplied_bm25_params": {name: value for name, value in bm25_params.items() if name not in bm25},
            "applied_analyzer_params": analyzer,
            "unapplied_analyzer_params": {
                name: value for name, value in analyzer_params.items() if name not in analyzer
            },
        }

    def index_param(self) -> dict:
        params = {"language": self.language, "k1": self.bm25_k1, "b": self.bm25_b}
        return {name: value for name, value in params.items() if value is not None}

    def search_param(self) -> dict:
        return {}
