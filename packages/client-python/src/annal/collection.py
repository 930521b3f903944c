"""A collection: objects with several named fields, each dense, sparse, text or multi-vector."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union, cast
from urllib.parse import urlencode

from . import encoding
from .bulk import bulk_load, upsert_all
from .collection_graphs import CollectionGraphs, given, object_path_of
from .deprecated import warn_renamed
from .errors import InvalidArgumentError
from .exchange import ALWAYS, TRANSFER_SECONDS, WHEN_REFUSED, RequestKey, segment
from .feed import ObjectChanges, read_lines
from .in_flight import Source
from .reads import Read, as_of_members, moment_member, moment_text
from .transport import Transport
from .types import (
    Consistency,
    FieldQuery,
    Filter,
    FilterUpdate,
    ObjectPatch,
    ObjectRecord,
    Progress,
    SearchRequest,
    SearchResult,
    StoredObject,
    TextMatch,
)


class Collection(CollectionGraphs):
    """Returned by ``client.get_collection(name)``, which reads the fields of the collection from the server."""

    def __init__(self, transport: Transport, summary: Mapping[str, Any]) -> None:
        super().__init__(transport, f"/api/v2/collection/{segment(str(summary['name']))}")
        self.name = str(summary["name"])
        self.fields: List[Dict[str, Any]] = list(summary["fields"])
        self.created_at = summary.get("created_at")
        self.layout_version = summary.get("layout_version")

    def __repr__(self) -> str:
        return f"Collection(name={self.name!r}, fields={[field['name'] for field in self.fields]!r})"

    def upsert(
        self,
        objects: Iterable[ObjectRecord],
        *,
        batch_size: int = 1_000,
        progress: Optional[bool] = None,
        atomic: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Stores objects and replaces objects with the same ids. They are durable when it returns.

        Up to ``batch_size`` objects (at most 1,000) are stored atomically. More are sent in several batches; if a batch fails, the
        error's ``stored`` is the number of objects stored before it. ``timeout`` is in seconds, for each batch. A progress bar is shown
        for several batches in a terminal if tqdm is installed; ``progress`` overrides this. Returns ``{"upserted", "lsn", "durable"}``.

        An object expires ``ttl_seconds`` after the write, or at ``expires_at``; ``None``: never, whatever the default of the collection is.
        An object may have conditions: ``if_absent``, ``if_lsn``, and ``if_match``. Objects whose conditions do not hold are left out, and
        ``results`` of the reply has ``{"id", "status", "lsn"}`` for each object. With ``atomic=True`` all objects are stored or none: with
        a conflict, ConflictError has the ``results``. An atomic call takes at most 1,000 objects.
        """
        if atomic:
            return self._upsert_atomic(list(objects), timeout, idempotency_key)
        return upsert_all(objects, self._upsert, batch_size, progress, timeout, idempotency_key)

    def _upsert_atomic(
        self, objects: Sequence[Mapping[str, Any]], timeout: Optional[float], idempotency_key: Optional[str]
    ) -> Dict[str, Any]:
        if len(objects) > 1_000:
            raise InvalidArgumentError(
                "an atomic upsert takes at most 1,000 objects", field="objects", value=len(objects), limit=1_000
            )
        return self._send_objects(objects, "?atomic=true", timeout, idempotency_key)

    def _upsert(
        self, objects: Sequence[Mapping[str, Any]], timeout: Optional[float], idempotency_key: Optional[str]
    ) -> Dict[str, Any]:
        return self._send_objects(objects, "", timeout, idempotency_key)

    def _send_objects(
        self,
        objects: Sequence[Mapping[str, Any]],
        query: str,
        timeout: Optional[float],
        idempotency_key: Optional[str],
    ) -> Dict[str, Any]:
        body = encoding.object_batch(objects)
        path = f"{self._path}/objects{query}"
        sent = self._transport.send(
            "POST",
            path,
            body,
            content_type="application/msgpack",
            retry=ALWAYS,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )
        reply: Dict[str, Any] = sent.json()
        return reply

    def load(
        self,
        objects: Source[ObjectRecord],
        *,
        batch_size: int = 500,
        concurrency: int = 2,
        on_progress: Optional[Progress] = None,
        idempotency_key: Optional[str] = None,
    ) -> int:
        """Stores all objects of the iterable. It reads no more than it can send."""
        return bulk_load(objects, self._upsert, batch_size, concurrency, on_progress, idempotency_key)

    def search(
        self,
        fields: Mapping[str, Any],
        filter: Optional[Filter] = None,
        ef_search: Optional[int] = None,
        prefilter_cardinality_threshold: Optional[int] = None,
        filter_boost_percentage: Optional[float] = None,
        *,
        limit: Optional[int] = None,
        recall: Optional[float] = None,
        include_vectors: bool = False,
        include_texts: bool = False,
        rescore: Optional[bool] = None,
        fusion: Optional[Mapping[str, Any]] = None,
        group_by: Optional[Mapping[str, Any]] = None,
        exact: Optional[bool] = None,
        explain: Optional[bool] = None,
        min_lsn: Optional[int] = None,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        as_of: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> SearchResult:
        """Returns the nearest objects in each queried field: ``{"embedding": {"query": [...], "limit": 5}}``, or only the query.

        A text field takes words, ``{"body": "quick foxes"}``, or clauses, ``{"body": {"query": {"must": ["fox"], "must_not": ["dog"]}}}``, with
        the options ``operator``, ``highlight``, ``k1`` and ``b``. With ``include_texts=True`` every hit has ``"texts"``, the texts of its object by
        field, whichever field was searched. A vector field with ``embed`` takes ``{"text": "words"}``, too.

        Returns ``{"results": {field: [{"id", "similarity", ...}]}}``, and with ``fusion={"method": "rrf"}`` also ``"fused"``, one list.
        With ``group_by={"key": "document", "limit": 5, "hits": 2}`` also ``"groups"``, ``{field: [{"value", "hits"}]}``: the best groups
        by a filter value; with fusion as well also ``"fused_groups"``.
        With ``recall=0.95`` instead of ``ef_search`` the server chooses ef by measurements; ``"recall"`` of the result states the choice.
        On a cluster, ``min_lsn`` is a write that the result includes. With ``consistency="strong"`` the leader answers, and the result
        includes every write that was acknowledged before. ``max_staleness_ms`` is the time within which the node has heard from the log;
        otherwise the error has the code ``replica_stale``. ``as_of={"lsn": 120}`` or ``as_of={"time": "2026-11-23T10:00:00Z"}``
        searches the collection as of a moment of the past, which other reads take as well.
        """
        search = given(
            fields=fields,
            filter=filter,
            ef_search=ef_search,
            prefilter_cardinality_threshold=prefilter_cardinality_threshold,
            filter_boost_percentage=filter_boost_percentage,
            limit=limit,
            recall=recall,
            include_vectors=include_vectors,
            include_texts=include_texts,
            rescore=rescore,
            fusion=fusion,
            group_by=group_by,
            exact=exact,
            explain=explain,
        )
        body = {**_search_body(search, "fields"), **as_of_members(as_of)}
        read = Read(consistency, max_staleness_ms, min_lsn, in_body=True)
        reply = self._transport.search(f"{self._path}/search", body, read=read, timeout=timeout)
        return _search_result(reply, encoding.MetaReader())

    def search_batch(
        self,
        searches: Sequence[SearchRequest],
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        as_of: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> List[SearchResult]:
        """Runs several searches, at most 100, on the same version of the collection, and returns their results in the same order.

        Each search is a dict with arguments of ``search``: ``fields``, which is required, ``filter``, ``limit``, ``ef_search``, ``recall``,
        ``include_vectors``, ``include_texts``, ``rescore``, ``fusion``, ``group_by``, ``exact``, ``explain``, and the two options of filtered
        searches. If one is invalid, all are rejected: InvalidArgumentError, or BadRequestError from the server, has its ``field``. ``timeout``
        is in seconds.
        """
        bodies = [_search_body(search, f"searches[{i}].fields") for i, search in enumerate(searches)]
        reply = self._transport.json(
            "POST",
            f"{self._path}/search/batch",
            {"searches": bodies, **as_of_members(as_of)},
            retry=ALWAYS,
            read=Read(consistency, max_staleness_ms, min_lsn),
            timeout=timeout,
        )
        metas = encoding.MetaReader()
        return [_search_result(result, metas) for result in reply["searches"]]

    def get(
        self,
        id: str,
        *,
        include_vectors: Optional[bool] = None,
        include_texts: Optional[bool] = None,
        min_lsn: Optional[int] = None,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        as_of: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> Optional[StoredObject]:
        """Returns one object, or None if the id is unknown. ``get_many`` explains the arguments."""
        found = self.get_many(
            [id],
            include_vectors=include_vectors,
            include_texts=include_texts,
            min_lsn=min_lsn,
            consistency=consistency,
            max_staleness_ms=max_staleness_ms,
            as_of=as_of,
            timeout=timeout,
        )
        return found[0] if found else None

    def get_many(
        self,
        ids: Sequence[str],
        *,
        include_vectors: Optional[bool] = None,
        include_texts: Optional[bool] = None,
        min_lsn: Optional[int] = None,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        as_of: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> List[StoredObject]:
        """Returns the objects in the order of the ids; unknown ids are left out. ``search`` explains the conditions.

        ``include_vectors`` (default true) and ``include_texts`` (default as ``include_vectors``) choose what objects have.
        """
        body = given(
            ids=[encoding.identifier(id, f"ids[{i}]") for i, id in enumerate(ids)],
            include_vectors=include_vectors,
            include_texts=include_texts,
            **as_of_members(as_of),
        )
        read = Read(consistency, max_staleness_ms, min_lsn, in_body=True)
        reply = self._transport.json(
            "POST", f"{self._path}/objects/query", body, retry=ALWAYS, read=read, timeout=timeout
        )
        metas = encoding.MetaReader()
        return [_stored(item, metas) for item in reply["objects"]]

    def get_objects(self, ids: Sequence[str], *, timeout: Optional[float] = None) -> List[StoredObject]:
        """Deprecated: use ``get_many``."""
        warn_renamed("get_objects", "get_many")
        return self.get_many(ids, timeout=timeout)

    def scroll(
        self,
        filter: Optional[Filter] = None,
        page_size: int = 100,
        *,
        match: Optional[TextMatch] = None,
        include_vectors: Optional[bool] = None,
        include_texts: Optional[bool] = None,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        as_of: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> Iterator[StoredObject]:
        """Yields all matching objects, page by page. An object that is not written meanwhile is returned exactly once.

        ``match`` has conditions on texts: ``{"body": {"query": "pumps and valves", "operator": "and"}}``.
        ``include_vectors`` (default true) and ``include_texts`` (default as ``include_vectors``) choose what objects have.
        """
        read = Read(consistency, max_staleness_ms, min_lsn)
        cursor: Optional[str] = None
        while True:
            body = given(
                filter=None if filter is None else list(filter),
                match=match,
                limit=page_size,
                cursor=cursor,
                include_vectors=include_vectors,
                include_texts=include_texts,
                **as_of_members(as_of),
            )
            page = self._transport.json(
                "POST", f"{self._path}/objects/scroll", body, retry=ALWAYS, read=read, timeout=timeout
            )
            metas = encoding.MetaReader()
            for item in page["objects"]:
                yield _stored(item, metas)
            cursor = page.get("cursor")
            if cursor is None:
                return

    def count(
        self,
        filter: Optional[Filter] = None,
        *,
        match: Optional[TextMatch] = None,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        as_of: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> int:
        """Counts the objects that match the filter, and whose texts match: ``{"body": {"query": "pumps"}}``."""
        body = given(filter=None if filter is None else list(filter), match=match, **as_of_members(as_of))
        return int(
            self._transport.json(
                "POST",
                f"{self._path}/objects/count",
                body,
                retry=ALWAYS,
                read=Read(consistency, max_staleness_ms, min_lsn),
                timeout=timeout,
            )["count"]
        )

    def facets(
        self,
        key: str,
        filter: Optional[Filter] = None,
        limit: int = 10,
        *,
        match: Optional[TextMatch] = None,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        as_of: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Counts the objects per value of a filter key, with conditions on texts as in ``count``."""
        body = given(
            key=key,
            filter=None if filter is None else list(filter),
            match=match,
            limit=limit,
            **as_of_members(as_of),
        )
        reply: Dict[str, Any] = self._transport.json(
            "POST",
            f"{self._path}/facets",
            body,
            retry=ALWAYS,
            read=Read(consistency, max_staleness_ms, min_lsn),
            timeout=timeout,
        )
        return reply

    def history(
        self,
        id: str,
        *,
        from_lsn: Optional[int] = None,
        to_lsn: Optional[int] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """The versions of an object, oldest first: what each write changed, when, and who wrote it. ``next`` is ``from_lsn`` of the
        next page. Waits until the server has read its log."""
        query = urlencode({"id": id, **given(**{"from": from_lsn, "to": to_lsn, "limit": limit})})
        while True:
            reply: Dict[str, Any] = self._transport.json(
                "GET", f"{self._path}/history?{query}", None, retry=ALWAYS, timeout=timeout
            )
            if reply["complete"]:
                return reply

    def diff(
        self, start: Mapping[str, Any], end: Optional[Mapping[str, Any]] = None, *, timeout: Optional[float] = None
    ) -> ObjectChanges:
        """Yields the objects that differ between two moments, ``{"lsn": n}`` or ``{"time": ...}``; ``end`` is now by default. Each is
        ``{"id", "change"}`` with ``added``, ``changed``, or ``removed``."""
        moments = {"from": moment_text(start, "start"), **({} if end is None else {"to": moment_text(end, "end")})}
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        return read_lines(self._transport, f"{self._path}/diff?{urlencode(moments)}", seconds)

    def undo(
        self,
        *,
        as_of: Mapping[str, Any],
        ids: Optional[Sequence[str]] = None,
        filter: Optional[Filter] = None,
        dry_run: bool = False,
        keep_expired: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Restores the content that objects had at a moment, ``{"lsn": n}`` or ``{"time": "..."}``, all or none, and deletes objects that
        did not exist then. A filter selects the objects that match now and those that matched then. ``dry_run`` only counts. With ``keep_expired``
        the objects do not expire, including those that have expired since; by default they get the expiry that they had.
        """
        body = given(
            ids=None if ids is None else list(ids),
            filter=None if filter is None else list(filter),
            as_of=moment_member(as_of),
            dry_run=dry_run,
            keep_expired=True if keep_expired else None,
        )
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        reply: Dict[str, Any] = self._transport.json(
            "POST",
            f"{self._path}/undo",
            body,
            retry=WHEN_REFUSED,
            key=RequestKey(idempotency_key),
            timeout=seconds,
            takes_long=True,
        )
        return reply

    def patch(
        self,
        patches: Sequence[ObjectPatch],
        *,
        atomic: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Changes the meta and filter values of objects, at most 1,000, and leaves their vectors.

        Keys of ``meta`` and ``filter`` are merged; ``None`` removes one. ``increment`` adds to filter values. Returns
        ``{"updated", "lsn", "durable", "results"}``. With ``atomic=True`` all objects are changed or none.
        """
        reply: Dict[str, Any] = self._transport.json(
            "PATCH",
            f"{self._path}/objects{'?atomic=true' if atomic else ''}",
            list(patches),
            retry=WHEN_REFUSED,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )
        return reply

    def delete_object(
        self,
        id: str,
        *,
        if_lsn: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Raises NotFoundError if the id is unknown, and ConflictError if the object does not have ``if_lsn``."""
        path = object_path_of(f"{self._path}/objects", id)
        if if_lsn is not None:
            path = f"{path}{'&' if '?' in path else '?'}if_lsn={if_lsn}"
        reply: Dict[str, Any] = self._transport.json(
            "DELETE", path, retry=WHEN_REFUSED, key=RequestKey(idempotency_key), timeout=timeout
        )
        return reply

    def delete_where(
        self, filter: Filter, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Deletes all objects that match the filter. An empty filter deletes nothing."""
        body = {"filter": list(filter)}
        reply: Dict[str, Any] = self._transport.json(
            "DELETE",
            f"{self._path}/objects",
            body,
            retry=WHEN_REFUSED,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )
        return reply

    def delete_by_filter(
        self, filter: Filter, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Deprecated: use ``delete_where``."""
        warn_renamed("delete_by_filter", "delete_where")
        return self.delete_where(filter, idempotency_key=idempotency_key, timeout=timeout)

    def update_filters(
        self, updates: Sequence[FilterUpdate], *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Replaces all filter values of each object. Unknown ids are not counted."""
        body = {"updates": list(updates)}
        reply: Dict[str, Any] = self._transport.json(
            "POST", f"{self._path}/filters", body, retry=ALWAYS, key=RequestKey(idempotency_key), timeout=timeout
        )
        return reply

    def describe(
        self,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        reply: Dict[str, Any] = self._transport.json(
            "GET", self._path, retry=ALWAYS, read=Read(consistency, max_staleness_ms, min_lsn), timeout=timeout
        )
        return reply

    def update_fields(
        self,
        fields: Dict[str, Dict[str, Any]],
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Changes defaults of searches: ``{"plot": {"recall": 0.95}}``; ``None`` removes the default."""
        named = [{**change, "field": field} for field, change in fields.items()]
        reply: Dict[str, Any] = self._transport.json(
            "POST",
            f"{self._path}/fields",
            {"fields": named},
            retry=ALWAYS,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )
        return reply

    def update_defaults(
        self,
        *,
        ttl_seconds: Optional[int],
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Objects written from now on expire after this many seconds; ``None``: never. Stored objects keep their expiry."""
        reply: Dict[str, Any] = self._transport.json(
            "POST",
            f"{self._path}/defaults",
            {"ttl_seconds": ttl_seconds},
            retry=ALWAYS,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )
        return reply

    def create_backup(self, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Starts a backup. ``client.active_backup()`` reports its progress."""
        reply: Dict[str, Any] = self._transport.json(
            "POST", f"{self._path}/backup", {"name": name}, retry=WHEN_REFUSED, timeout=timeout
        )
        return reply


_TEXT_MEMBERS = frozenset(("text", "must", "should", "must_not"))


def _search_body(search: Mapping[str, Any], field: str) -> Dict[str, Any]:
    if not isinstance(search, Mapping):
        raise InvalidArgumentError(f"{field} must be in a mapping, not {search!r}", field=field, value=repr(search))
    unknown = sorted(set(search) - _SEARCH_KEYS)
    if unknown:
        raise InvalidArgumentError(f"a search has no argument {unknown[0]}", field=unknown[0], value=search[unknown[0]])
    fields = search.get("fields")
    if not isinstance(fields, Mapping):
        raise InvalidArgumentError(f"{field} must be a mapping of queries by field", field=field, value=fields)
    defaults = given(limit=search.get("limit"), ef_search=search.get("ef_search"), recall=search.get("recall"))
    conditions = search.get("filter")
    return given(
        fields={name: _query(query, f"{field}.{name}", defaults) for name, query in fields.items()},
        filter=None if conditions is None else list(conditions),
        filter_params=given(
            prefilter_threshold=search.get("prefilter_cardinality_threshold"),
            boost_percentage=search.get("filter_boost_percentage"),
        )
        or None,
        include_vectors=search.get("include_vectors") or None,
        include_texts=search.get("include_texts") or None,
        rescore=search.get("rescore"),
        fusion=search.get("fusion"),
        group_by=search.get("group_by"),
        exact=search.get("exact"),
        explain=search.get("explain"),
    )


_SEARCH_KEYS = frozenset(SearchRequest.__annotations__)


def _search_result(reply: Dict[str, Any], metas: encoding.MetaReader) -> SearchResult:
    results = {name: [_with_meta(hit, metas) for hit in hits] for name, hits in reply["results"].items()}
    reply["results"] = results
    if "fused" in reply:
        reply["fused"] = [_with_meta(hit, metas) for hit in reply["fused"]]
    if "groups" in reply:
        reply["groups"] = {name: _with_hits(groups, results[name]) for name, groups in reply["groups"].items()}
    if "fused_groups" in reply:
        reply["fused_groups"] = _with_hits(reply["fused_groups"], reply["fused"])
    return cast(SearchResult, reply)


def _query(value: Any, field: str, defaults: Mapping[str, Any]) -> FieldQuery:
    options = value if isinstance(value, Mapping) and "query" in value else {"query": value}
    query = options["query"]
    encoded: Any
    if isinstance(query, str) or (isinstance(query, Mapping) and _TEXT_MEMBERS.intersection(query)):
        # Words or clauses of a text field, or the text that becomes a vector, which the server checks.
        encoded = query
    elif isinstance(query, Mapping) and "id" in query:
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
    return cast(FieldQuery, {**defaults, **options, "query": encoded})


def _with_hits(groups: List[Dict[str, Any]], hits: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The groups with the hits of a list, which they name."""
    by_id = {hit["id"]: hit for hit in hits}
    return [{**group, "hits": [by_id[hit["id"]] for hit in group["hits"]]} for group in groups]


def _with_meta(hit: Dict[str, Any], metas: encoding.MetaReader) -> Any:
    meta = metas.take(hit)
    return {**hit, "meta": meta}


def _stored(item: Dict[str, Any], metas: encoding.MetaReader) -> StoredObject:
    # A page without vectors and texts has no fields.
    contents = item.get("fields", {})
    fields = {name: value for name, value in contents.items() if not isinstance(value, str)}
    stored: StoredObject = {
        "id": item["id"],
        # Servers of earlier versions do not send it.
        "lsn": item.get("lsn", 0),
        "meta": metas.take(item),
        "filter": item["filter"],
        "vectors": {name: value["vector"] for name, value in fields.items() if "vector" in value},
        "sparses": {
            name: {"indices": value["sparse_indices"], "values": value["sparse_values"]}
            for name, value in fields.items()
            if "sparse_indices" in value
        },
        "multi_vectors": {name: value["vectors"] for name, value in fields.items() if "vectors" in value},
        "texts": {name: value for name, value in contents.items() if isinstance(value, str)},
    }
    if "expires_at" in item:
        stored["expires_at"] = item["expires_at"]
    return stored
