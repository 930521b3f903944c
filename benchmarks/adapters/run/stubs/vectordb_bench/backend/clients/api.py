"""Stands in for the base classes: only the members that the adapter and the runner use."""

from abc import ABC, abstractmethod
from enum import Enum

from pydantic import BaseModel

from ..filter import FilterOp


class MetricType(str, Enum):
    L2 = "L2"
    COSINE = "COSINE"
    IP = "IP"
    DP = "DP"
    BM25 = "BM25"
    HAMMING = "HAMMING"


class DBConfig(ABC, BaseModel):
    db_label: str = ""
    version: str = ""
    note: str = ""

    @abstractmethod
    def to_dict(self):
        ...


class DBCaseConfig(ABC):
    @abstractmethod
    def index_param(self):
        ...

    @abstractmethod
    def search_param(self):
        ...


    def apply_fts_manifest(self, bm25_params, analyzer_params):
        raise NotImplementedError


class VectorDB(ABC):
    supported_filter_types = [FilterOp.NonFilter]
    name = ""
    thread_safe = True

    @classmethod
    def filter_supported(cls, filters):
        return filters.type in cls.supported_filter_types

    def prepare_filter(self, filters):
        ...

    @abstractmethod
    def __init__(self, dim, db_config, db_case_config, collection_name, drop_old=False, **kwargs):
        ...

    @abstractmethod
    def init(self):
        ...

    def need_normalize_cosine(self):
        return False

    @abstractmethod
    def insert_embeddings(self, embeddings, metadata, labels_data=None, tenant_labels_data=None, **kwargs):
        ...

    @abstractmethod
    def search_embedding(self, query, k=100, payload_profile=None, tenant=None):
        ...

    @abstractmethod
    def optimize(self, data_size=None):
        ...

    @classmethod
    def supports_full_text_search(cls):
        return False

    def has_text_field(self):
        return False
