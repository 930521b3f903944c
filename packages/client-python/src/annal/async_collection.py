# Written by scripts/make_async.py from collection.py; change that file instead.
"""A collection: objects with several named vector fields, dense, sparse or of several vectors each."""
from __future__ import annotations
from typing import Any, Dict, Iterable, AsyncIterator, List, Mapping, Optional, Sequence, Union, cast
from . import encoding
from .async_bulk import Source, bulk_load, upsert_all
from .errors import InvalidArgumentError
from .exchange import ALWAYS, WHEN_REFUSED, object_path, segment
from .async_transport import AsyncTransport
from .types import FieldQuery, Filter, FilterUpdate, ObjectRecord, Progress, SearchResult, StoredObject

_SHRINK_SECONDS = 600.0


class AsyncCollection:
    """Made by ``await client.get_collection(name)``, which asks the server what the collection is."""

    def __init__(self, transport: AsyncTransport, summary: Mapping[str, Any]) -> None:
        self._transport = transport
        self.name = str(summary["name"])
        self.fields: List[Dict[str, Any]] = list(summary["fields"])
        self.created_at = summary.get("created_at")
        self.layout_version = summary.get("layout_version")
        self._path = f"/api/v2/collection/{segment(self.name)}"

    def __repr__(self) -> str:
        return f"AsyncCollection(name={self.name!r}, fields={[field['name'] for field in self.fields]!r})"

    async def upsert(
        self,
        objects: Iterable[ObjectRecord],
        *,
        batch_size: int = 1000,
        progress: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Stores objects, replacing those whose id is there. They are on disk when it returns.

        Up to ``batch_size`` objects, 1,000 at most, are stored all or none. More are sent batch by batch; when a batch fails, the
        error's ``stored`` says how many objects before it are stored. ``timeout`` is in seconds, for each batch. A progress bar is
        drawn for several batches in a terminal where tqdm is installed, or as ``progress`` says. Returns ``{"upserted", "lsn", "durable"}``.
        """
        return await upsert_all(objects, self._upsert, batch_size, progress, timeout)

    async def _upsert(self, objects: Sequence[Mapping[str, Any]], timeout: Optional[float] = None) -> Dict[str, Any]:
        body = encoding.object_batch(objects)
        path = f"{self._path}/objects"
        sent = await self._transport.send(
            "POST", path, body, content_type="application/msgpack", retry=ALWAYS, timeout=timeout
        )
        reply: Dict[str, Any] = sent.json()
        return reply

    async def load(
        self,
        objects: Source[ObjectRecord],
        *,
        batch_size: int = 500,
        concurrency: int = 2,
        on_progress: Optional[Progress] = None,
    ) -> int:
        """Stores as many objects as the iterable gives, and takes no more from it than it can send."""
        return await bulk_load(objects, self._upsert, batch_size, concurrency, on_progress)

    async def search(
        self,
        fields: Mapping[str, Any],
        filter: Optional[Filter] = None,
        ef_search: Optional[int] = None,
        prefilter_cardinality_threshold: Optional[int] = None,
        filter_boost_percentage: Optional[float] = None,
        *,
        limit: Optional[int] = None,
        include_vectors: bool = False,
        rescore: Optional[bool] = None,
        fusion: Optional[Mapping[str, Any]] = None,
        exact: Optional[bool] = None,
        explain: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> SearchResult:
        """The nearest objects in each field asked: ``{"embedding": {"query": [...], "limit": 5}}``, or the query alone.

        ``{"results": {field: [{"id", "similarity", ...}]}}``; with ``fusion={"method": "rrf"}`` also ``"fused"``, one list of all.
        """
        defaults = _given(limit=limit, ef_search=ef_search)
        body = _given(
            fields={name: _query(query, f"fields.{name}", defaults) for name, query in fields.items()},
            filter=None if filter is None else list(filter),
            filter_params=_given(
                prefilter_threshold=prefilter_cardinality_threshold, boost_percentage=filter_boost_percentage
            )
            or None,
            include_vectors=include_vectors or None,
            rescore=rescore,
            fusion=fusion,
            exact=exact,
            explain=explain,
        )
        reply = await self._transport.json("POST", f"{self._path}/search", body, retry=ALWAYS, timeout=timeout)
        metas = encoding.MetaReader()
        results = {name: [_with_meta(hit, metas) for hit in hits] for name, hits in reply["results"].items()}
        reply["results"] = results
        if "fused" in reply:
            reply["fused"] = [_with_meta(hit, metas) for hit in reply["fused"]]
        return cast(SearchResult, reply)

    async def get_objects(self, ids: Sequence[str], *, timeout: Optional[float] = None) -> List[StoredObject]:
        """The objects found, in the order asked; unknown ids are left out."""
        body = {"ids": [encoding.identifier(id, f"ids[{i}]") for i, id in enumerate(ids)]}
        reply = await self._transport.json("POST", f"{self._path}/objects/query", body, retry=ALWAYS, timeout=timeout)
        metas = encoding.MetaReader()
        return [_stored(item, metas) for item in reply["objects"]]

    async def scroll(
        self, filter: Optional[Filter] = None, page_size: int = 100, *, timeout: Optional[float] = None
    ) -> AsyncIterator[StoredObject]:
        """All objects that match, page by page. One that is not written meanwhile comes exactly once."""
        cursor: Optional[str] = None
        while True:
            body = _given(filter=None if filter is None else list(filter), limit=page_size, cursor=cursor)
            page = await self._transport.json(
                "POST", f"{self._path}/objects/scroll", body, retry=ALWAYS, timeout=timeout
            )
            metas = encoding.MetaReader()
            for item in page["objects"]:
                yield _stored(item, metas)
            cursor = page.get("cursor")
            if cursor is None:
                return

    async def count(self, filter: Optional[Filter] = None, *, timeout: Optional[float] = None) -> int:
        body = _given(filter=None if filter is None else list(filter))
        return int(
            (await self._transport.json("POST", f"{self._path}/objects/count", body, retry=ALWAYS, timeout=timeout))[
                "count"
            ]
        )

    async def facets(
        self, key: str, filter: Optional[Filter] = None, limit: int = 10, *, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """How many objects have which values under a filter key."""
        body = _given(key=key, filter=None if filter is None else list(filter), limit=limit)
        reply: Dict[str, Any] = await self._transport.json(
            "POST", f"{self._path}/facets", body, retry=ALWAYS, timeout=timeout
        )
        return reply

    async def delete_object(self, id: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Fails with NotFoundError where there is none."""
        path = _path_of(f"{self._path}/objects", id)
        reply: Dict[str, Any] = await self._transport.json("DELETE", path, retry=WHEN_REFUSED, timeout=timeout)
        return reply

    async def delete_by_filter(self, filter: Filter, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Deletes every object that the filter matches; an empty filter deletes nothing."""
        body = {"filter": list(filter)}
        reply: Dict[str, Any] = await self._transport.json(
            "DELETE", f"{self._path}/objects", body, retry=WHEN_REFUSED, timeout=timeout
        )
        return reply

    async def update_filters(
        self, updates: Sequence[FilterUpdate], *, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Replaces the whole filter of each object named; unknown ids are left out of the count."""
        body = {"updates": list(updates)}
        reply: Dict[str, Any] = await self._transport.json(
            "POST", f"{self._path}/filters", body, retry=ALWAYS, timeout=timeout
        )
        return reply

    async def describe(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        reply: Dict[str, Any] = await self._transport.json("GET", self._path, retry=ALWAYS, timeout=timeout)
        return reply

    async def links(self, id: str, field: str, *, timeout: Optional[float] = None) -> List[str]:
        """Ids of the object's neighbours in the graph of a field."""
        path = _path_of(f"{self._path}/objects", id, f"/field/{segment(field)}/links")
        return list((await self._transport.json("GET", path, retry=ALWAYS, timeout=timeout))["links"])

    async def rebuild(
        self, fields: Sequence[Union[str, Mapping[str, Any]]] = (), *, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Begins to build everything anew, with another M or ef_con where given; searches go on, writes wait."""
        named = [{"field": field} if isinstance(field, str) else dict(field) for field in fields]
        reply: Dict[str, Any] = await self._transport.json(
            "POST", f"{self._path}/rebuild", {"fields": named}, retry=WHEN_REFUSED, timeout=timeout
        )
        return reply

    async def rebuild_status(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        reply: Dict[str, Any] = await self._transport.json(
            "GET", f"{self._path}/rebuild/status", retry=ALWAYS, timeout=timeout
        )
        return reply

    async def shrink(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Gives back what deleted and replaced objects took."""
        seconds = _SHRINK_SECONDS if timeout is None else timeout
        reply: Dict[str, Any] = await self._transport.json(
            "POST", f"{self._path}/shrink", {}, retry=WHEN_REFUSED, timeout=seconds
        )
        return reply

    async def create_backup(self, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Begins a backup; ``client.active_backup()`` tells how far it is."""
        reply: Dict[str, Any] = await self._transport.json(
            "POST", f"{self._path}/backup", {"name": name}, retry=WHEN_REFUSED, timeout=timeout
        )
        return reply


def _given(**members: Any) -> Dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _query(asked: Any, field: str, defaults: Mapping[str, Any]) -> FieldQuery:
    if not isinstance(asked, Mapping) or "query" not in asked:
        asked = {"query": asked}
    query = asked["query"]
    encoded: Any
    if isinstance(query, Mapping) and "id" in query:
        encoded = {"id": encoding.identifier(query["id"], f"{field}.query.id")}
    elif isinstance(query, Mapping):
        indices, values = encoding.sparse(query, f"{field}.query")
        encoded = {"indices": indices, "values": values}
    elif query is None:
        raise InvalidArgumentError(f"{field}.query is missing", field=f"{field}.query")
    elif encoding.is_many(query):
        encoded = encoding.many(query, f"{field}.query")
    else:
        encoded = encoding.numbers(query, f"{field}.query")
    return cast(FieldQuery, {**defaults, **asked, "query": encoded})


def _with_meta(hit: Dict[str, Any], metas: encoding.MetaReader) -> Any:
    meta = metas.take(hit)
    return {**hit, "meta": meta}


def _stored(item: Dict[str, Any], metas: encoding.MetaReader) -> StoredObject:
    fields = item["fields"]
    return {
        "id": item["id"],
        "meta": metas.take(item),
        "filter": item["filter"],
        "vectors": {name: value["vector"] for name, value in fields.items() if "vector" in value},
        "sparses": {
            name: {"indices": value["sparse_indices"], "values": value["sparse_values"]}
            for name, value in fields.items()
            if "sparse_indices" in value
        },
        "multi_vectors": {name: value["vectors"] for name, value in fields.items() if "vectors" in value},
    }


def _path_of(before: str, id: Any, after: str = "") -> str:
    return object_path(before, encoding.identifier(id, "id"), after)
