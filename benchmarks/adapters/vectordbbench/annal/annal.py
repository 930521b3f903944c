"""Annal, a vector database with a log as its only source of state: https://www.npmjs.com/package/annal

A write is durable and visible when it is acknowledged, and the graph has its rows by then, so nothing remains to be optimized.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from annal import Annal as AnnalClient
from annal import AnnalError, NotFoundError
from annal import filters as conditions

from ...filter import Filter, FilterOp
from ...payload import PayloadProfile
from ..api import VectorDB
from .config import AnnalFtsConfig, AnnalIndexConfig

log = logging.getLogger(__name__)

VECTOR_FIELD = "vector"
ID_KEY = "id"
LABEL_KEY = "labels"
TENANT_KEY = "tenant"
TEXT_FIELD = "text"
# The harness numbers documents for filters, because their ids are strings.
FILTER_ID_KEY = "filter_id"
# A batch of the harness is one request up to the limit of the server.
BATCH_SIZE = 1_000
# The runner of streaming cases inserts with a thread for each core.
POOL_SIZE = 64
# The apply of a batch of large vectors on a busy machine takes longer than a request usually does.
TIMEOUT_SECONDS = 300.0


class Annal(VectorDB):
    name = "Annal"
    thread_safe = True
    supported_filter_types: list[FilterOp] = [
        FilterOp.NonFilter,
        FilterOp.NumGE,
        FilterOp.StrEqual,
    ]

    def __init__(
        self,
        dim: int,
        db_config: dict,
        db_case_config: AnnalIndexConfig | AnnalFtsConfig | None,
        collection_name: str = "vdbbench",
        drop_old: bool = False,
        with_scalar_labels: bool = False,
        **kwargs: Any,
    ) -> None:
        self.db_config = db_config
        self.case_config = db_case_config or AnnalIndexConfig()
        self.collection_name = collection_name
        self.with_scalar_labels = with_scalar_labels
        self.multitenant_tenant_labels: list[str] = []
        self._is_fts = isinstance(self.case_config, AnnalFtsConfig)
        self._filter: list[dict] | None = None
        self._options = self.case_config.search_param()
        self._client: AnnalClient | None = None
        self._collection = None

        with self._connect() as client:
            if drop_old:
                self._drop(client)
            if all(one["name"] != collection_name for one in client.list_collections()):
                client.create_collection(collection_name, [self._field(dim)])

    def _field(self, dim: int) -> dict:
        params = self.case_config.index_param()
        if self._is_fts:
            return {"name": TEXT_FIELD, "type": "text", "params": params}
        return {"name": VECTOR_FIELD, "type": "vector", "params": {"dimension": dim, **params}}

    def __getstate__(self) -> dict:
        """Connections stay in the process that opened them."""
        return {**self.__dict__, "_client": None, "_collection": None}

    def _connect(self) -> AnnalClient:
        return AnnalClient(
            token=self.db_config.get("token"),
            base_url=self.db_config["url"],
            pool_size=POOL_SIZE,
            timeout=TIMEOUT_SECONDS,
        )

    def _drop(self, client: AnnalClient) -> None:
        try:
            client.delete_collection(self.collection_name)
        except NotFoundError:
            log.info(f"{self.name} has no collection {self.collection_name} to drop")

    @contextmanager
    def init(self) -> Generator[None, None, None]:
        with self._connect() as client:
            self._client = client
            self._collection = client.get_collection(self.collection_name)
            try:
                yield
            finally:
                self._client, self._collection = None, None

    def need_normalize_cosine(self) -> bool:
        return False

    def supports_payload_profile(self, payload_profile: PayloadProfile) -> bool:
        # Filter values are part of every hit. Vectors are returned on request.
        return payload_profile.value in ("ids_only", "scalar_label", "vector")

    @classmethod
    def supports_full_text_search(cls) -> bool:
        return True

    def has_text_field(self) -> bool:
        return self._is_fts

    def supports_multitenant(self) -> bool:
        return True

    def set_multitenant_context(self, tenant_labels: list[str]) -> None:
        self.multitenant_tenant_labels = tenant_labels

    def insert_embeddings(
        self,
        embeddings: list[list[float]],
        metadata: list[int],
        labels_data: list[str] | None = None,
        tenant_labels_data: list[str] | None = None,
        **kwargs: Any,
    ) -> tuple[int, Exception | None]:
        """The number counts objects that are stored, also if a later batch failed. Storing them again changes nothing."""
        if self.with_scalar_labels and labels_data is None:
            return 0, ValueError("labels_data is required when with_scalar_labels is set")
        labels = labels_data if self.with_scalar_labels else None
        objects = []
        for i, number in enumerate(metadata):
            values: dict[str, Any] = {ID_KEY: int(number)}
            if labels is not None:
                values[LABEL_KEY] = labels[i]
            if tenant_labels_data is not None:
                values[TENANT_KEY] = tenant_labels_data[i]
            objects.append({"id": str(number), "filter": values, "fields": {VECTOR_FIELD: embeddings[i]}})
        return self._upsert(objects)

    def insert_documents(
        self,
        texts: list[str],
        doc_ids: list[str],
        filter_ids: list[int | None] | None = None,
        **kwargs: Any,
    ) -> tuple[int, Exception | None]:
        self._check_fts("insert")
        if len(texts) != len(doc_ids):
            msg = f"Mismatch between texts ({len(texts)}) and doc_ids ({len(doc_ids)}) lengths"
            raise ValueError(msg)
        objects = []
        for i, name in enumerate(doc_ids):
            one = {"id": str(name), "fields": {TEXT_FIELD: texts[i]}}
            if filter_ids is not None and filter_ids[i] is not None:
                one["filter"] = {FILTER_ID_KEY: int(filter_ids[i])}
            objects.append(one)
        return self._upsert(objects)

    def _check_fts(self, what: str) -> None:
        if not self._is_fts:
            msg = f"{self.name} full-text {what} requires AnnalFtsConfig"
            raise RuntimeError(msg)

    def _upsert(self, objects: list[dict]) -> tuple[int, Exception | None]:
        assert self._collection is not None, "call init() first"
        try:
            self._collection.upsert(objects, batch_size=BATCH_SIZE, progress=False)
        except AnnalError as error:
            log.warning(f"{self.name} failed to insert: {error}")
            return error.stored or 0, error
        return len(objects), None

    def prepare_filter(self, filters: Filter) -> None:
        if self._is_fts and filters.type != FilterOp.NonFilter:
            self._prepare_document_filter(filters)
        elif filters.type == FilterOp.NonFilter:
            self._filter = None
        elif filters.type == FilterOp.NumGE:
            self._filter = [conditions.gte(ID_KEY, filters.int_value)]
        elif filters.type == FilterOp.StrEqual:
            self._filter = [conditions.eq(LABEL_KEY, filters.label_value)]
        else:
            msg = f"Not support Filter for Annal - {filters}"
            raise ValueError(msg)

    def _prepare_document_filter(self, filters: Filter) -> None:
        if filters.type != FilterOp.NumGE or filters.int_field != FILTER_ID_KEY:
            msg = f"documents have only the filter value {FILTER_ID_KEY}, not {filters}"
            raise ValueError(msg)
        self._filter = [conditions.gte(FILTER_ID_KEY, filters.int_value)]

    def search_embedding(
        self,
        query: list[float],
        k: int = 100,
        payload_profile: PayloadProfile = PayloadProfile.IDS_ONLY,
        tenant: str | None = None,
        **kwargs: Any,
    ) -> list[int]:
        assert self._collection is not None, "call init() first"
        wanted = list(self._filter or [])
        if tenant is not None:
            wanted.append(conditions.eq(TENANT_KEY, tenant))
        found = self._collection.search(
            {VECTOR_FIELD: query},
            filter=wanted or None,
            limit=k,
            include_vectors=payload_profile.value == "vector",
            **self._options,
        )
        return [int(hit["id"]) for hit in found["results"][VECTOR_FIELD]]

    def search_documents(
        self,
        query: str,
        k: int = 100,
        payload_profile: PayloadProfile = PayloadProfile.IDS_ONLY,
        **kwargs: Any,
    ) -> list[str]:
        self._check_fts("search")
        assert self._collection is not None, "call init() first"
        include_texts = payload_profile.value == "text"
        found = self._collection.search({TEXT_FIELD: query}, filter=self._filter, limit=k, include_texts=include_texts)
        return [hit["id"] for hit in found["results"][TEXT_FIELD]]

    def poll_insert_readiness(self, expected_count: int) -> dict:
        assert self._collection is not None, "call init() first"
        is_complete = self._collection.count() >= expected_count
        return {"fully_searchable": is_complete, "fully_indexed": is_complete, "additional_parameters": {}}

    def optimize(self, data_size: int | None = None) -> None:
        """Checks that everything is stored. It is indexed as well then: see the top of this file."""
        assert self._collection is not None, "call init() first"
        stored = self._collection.count()
        if data_size is not None and stored < data_size:
            msg = f"{self.collection_name} has {stored} of {data_size} objects"
            raise RuntimeError(msg)
