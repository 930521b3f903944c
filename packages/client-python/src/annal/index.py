"""An index: a collection with one dense vector per object, and sparse terms if it is hybrid."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, cast

from . import encoding
from .bulk import bulk_load, upsert_all
from .deprecated import warn_renamed
from .exchange import ALWAYS, WHEN_REFUSED, RequestKey, json_body, object_path, segment
from .in_flight import Source
from .reads import Read
from .transport import Transport
from .types import Consistency, Filter, FilterUpdate, Hit, Progress, Vector, VectorRecord

_SENTENCE = "application/json, text/plain"


class Index:
    """Returned by ``client.get_index(name)``, which reads the description of the index from the server."""

    def __init__(self, transport: Transport, name: str, info: Mapping[str, Any]) -> None:
        self._transport = transport
        self._path = f"/api/v1/index/{segment(name)}"
        self.name = name
        self.dimension = int(info["dimension"])
        self.space_type = str(info["space_type"])
        self.precision = str(info["precision"])
        self.sparse_model = str(info.get("sparse_model", "None"))

    def __repr__(self) -> str:
        return f"Index(name={self.name!r}, dimension={self.dimension}, space_type={self.space_type!r})"

    @property
    def is_hybrid(self) -> bool:
        return self.sparse_model != "None"

    def upsert(
        self,
        records: Iterable[VectorRecord],
        *,
        batch_size: int = 1_000,
        progress: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> str:
        """Stores records and replaces records with the same ids. They are durable when it returns.

        Up to ``batch_size`` records (at most 1,000) are stored atomically. More are sent in several batches; if a batch fails, the
        error's ``stored`` is the number of records stored before it. ``timeout`` is in seconds, for each batch. A progress bar is shown
        for several batches in a terminal if tqdm is installed; ``progress`` overrides this.
        """
        upsert_all(records, self._upsert, batch_size, progress, timeout, idempotency_key)
        return "Vectors inserted successfully"

    def _upsert(
        self, records: Sequence[Mapping[str, Any]], timeout: Optional[float], idempotency_key: Optional[str]
    ) -> Dict[str, Any]:
        body = encoding.record_batch(records)
        path = f"{self._path}/vector/insert"
        self._transport.send(
            "POST",
            path,
            body,
            content_type="application/msgpack",
            retry=ALWAYS,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )
        return {"upserted": len(records)}

    def load(
        self,
        records: Source[VectorRecord],
        *,
        batch_size: int = 500,
        concurrency: int = 2,
        on_progress: Optional[Progress] = None,
        idempotency_key: Optional[str] = None,
    ) -> int:
        """Stores all records of the iterable. It reads no more than it can send."""
        return bulk_load(records, self._upsert, batch_size, concurrency, on_progress, idempotency_key)

    def query(
        self,
        vector: Optional[Vector] = None,
        top_k: int = 10,
        filter: Optional[Filter] = None,
        ef: int = 128,
        include_vectors: bool = False,
        sparse_indices: Optional[Any] = None,
        sparse_values: Optional[Vector] = None,
        prefilter_cardinality_threshold: Optional[int] = None,
        filter_boost_percentage: Optional[float] = None,
        dense_rrf_weight: Optional[float] = None,
        rrf_rank_constant: Optional[float] = None,
        timeout: Optional[float] = None,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
    ) -> List[Hit]:
        """Returns the nearest records, best first: by the dense vector, the sparse terms, or both fused by their ranks."""
        body: Dict[str, Any] = {"k": top_k, "ef": ef, "include_vectors": include_vectors}
        if vector is not None:
            body["vector"] = encoding.numbers(vector, "vector")
        if sparse_indices is not None or sparse_values is not None:
            terms = {
                "indices": [] if sparse_indices is None else sparse_indices,
                "values": [] if sparse_values is None else sparse_values,
            }
            body["sparse_indices"], body["sparse_values"] = encoding.sparse(terms, "sparse")
        if filter is not None:
            body["filter"] = list(filter)
        parameters = {
            "prefilter_threshold": prefilter_cardinality_threshold,
            "boost_percentage": filter_boost_percentage,
        }
        given = {name: value for name, value in parameters.items() if value is not None}
        if given:
            body["filter_params"] = given
        if dense_rrf_weight is not None:
            body["dense_rrf_weight"] = dense_rrf_weight
        if rrf_rank_constant is not None:
            body["rrf_rank_constant"] = rrf_rank_constant
        reply = self._transport.search(f"{self._path}/search", body, read=Read(consistency, max_staleness_ms, min_lsn), timeout=timeout)
        metas = encoding.MetaReader()
        return [_hit(hit, metas) for hit in reply["results"]]

    def get_vector(self, id: str, *, consistency: Optional[Consistency] = None, max_staleness_ms: Optional[int] = None, min_lsn: Optional[int] = None, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Raises NotFoundError if the id is unknown."""
        reply = self._transport.json(
            "POST", f"{self._path}/vector/get", {"id": encoding.identifier(id, "id")}, retry=ALWAYS, read=Read(consistency, max_staleness_ms, min_lsn), timeout=timeout
        )
        meta = encoding.MetaReader().take(reply)
        return {**reply, "meta": meta}

    def delete_vector(self, id: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None) -> str:
        path = _path_of(f"{self._path}/vector", id, "/delete")
        return str(self._transport.send(
            "DELETE", path, accept=_SENTENCE, retry=WHEN_REFUSED, key=RequestKey(idempotency_key), timeout=timeout
        ).text)

    def delete_where(
        self, filter: Filter, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> str:
        """Deletes all records that match the filter. An empty filter deletes nothing."""
        return self._sentence(
            "DELETE", "vectors/delete", {"filter": list(filter)}, WHEN_REFUSED, idempotency_key, timeout
        )

    def delete_with_filter(
        self, filter: Filter, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> str:
        """Deprecated: use ``delete_where``."""
        warn_renamed("delete_with_filter", "delete_where")
        return self.delete_where(filter, idempotency_key=idempotency_key, timeout=timeout)

    def update_filters(
        self, updates: Sequence[FilterUpdate], *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> str:
        """Replaces all filter values of each record. Unknown ids are not counted."""
        return self._sentence("POST", "filters/update", {"updates": list(updates)}, ALWAYS, idempotency_key, timeout)

    def describe(self, *, consistency: Optional[Consistency] = None, max_staleness_ms: Optional[int] = None, min_lsn: Optional[int] = None, timeout: Optional[float] = None) -> Dict[str, Any]:
        info = self._transport.json("GET", f"{self._path}/info", retry=ALWAYS, read=Read(consistency, max_staleness_ms, min_lsn), timeout=timeout)
        model = info.get("sparse_model", "None")
        return {
            "name": self.name,
            "space_type": info["space_type"],
            "dimension": info["dimension"],
            "sparse_model": model,
            "is_hybrid": model != "None",
            "count": info["total_elements"],
            "precision": info["precision"],
            "M": info["M"],
            "ef_con": info["ef_con"],
            "keep_originals": info.get("keep_originals", True),
        }

    def rebuild(
        self,
        M: Optional[int] = None,
        ef_con: Optional[int] = None,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        given = {name: value for name, value in {"M": M, "ef_con": ef_con}.items() if value is not None}
        reply: Dict[str, Any] = self._transport.json(
            "POST", f"{self._path}/rebuild", given, retry=WHEN_REFUSED, key=RequestKey(idempotency_key), timeout=timeout
        )
        return reply

    def rebuild_status(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        reply: Dict[str, Any] = self._transport.json(
            "GET", f"{self._path}/rebuild/status", retry=ALWAYS, timeout=timeout
        )
        return reply

    def _sentence(
        self, method: str, action: str, body: Any, retry: str, idempotency_key: Optional[str], timeout: Optional[float]
    ) -> str:
        data = json_body(body)
        path = f"{self._path}/{action}"
        sent = self._transport.send(
            method,
            path,
            data,
            content_type="application/json",
            accept=_SENTENCE,
            retry=retry,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )
        return str(sent.text)


def _hit(hit: Dict[str, Any], metas: encoding.MetaReader) -> Hit:
    meta = metas.take(hit)
    return cast(Hit, {**hit, "meta": meta})


def _path_of(before: str, id: Any, after: str = "") -> str:
    return object_path(before, encoding.identifier(id, "id"), after)
