"""A connection to one Annal server: collections, indexes, databases, tokens, backups and license."""

from __future__ import annotations

import os
from datetime import datetime
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, Union
from urllib.parse import quote, urlencode

from .administration import Administration
from .calls import Peer
from .collection import Collection
from .events import Following
from .exchange import ALWAYS, NEVER, TRANSFER_SECONDS, WHEN_REFUSED, ClientCertificate, RequestKey, json_body, segment
from .feed import Changes, follow_changes
from .index import Index
from .reads import OF_NODE, Read, moment_member, time_text
from .transport import Transport
from .types import Consistency, FieldDefinition, Filter

_SENTENCE = "application/json, text/plain"


class Annal(Administration):
    """A client of one server, or of a cluster if ``base_url`` is a list with the URLs of its nodes. It connects on the first call;
    ``client.health()`` checks that the server responds.

    ``timeout`` is in seconds, for a whole call with its retries; each call also accepts a ``timeout``. ``retries`` is the maximum for
    a call; by default 3, with several URLs 10. ``verify`` False accepts any certificate; a path is a file or folder of certificate
    authorities; by default ``REQUESTS_CA_BUNDLE`` applies. ``cert`` is a client certificate: one PEM file with its key, or two files.
    Proxies come from ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``.

    ``actor`` names who acts, for the history: every write keeps it.

    With several URLs, writes go to the leader, reads to the nearest node, and both to another node if one does not answer. A read
    includes every write that this client was acknowledged, and is not older than its reads before; ``read_your_writes`` False turns
    this off. Reads take the conditions that ``Collection.search`` explains.

    >>> with Annal(token="...") as client:
    ...     client.create_collection("films", fields=[
    ...         {"name": "plot", "type": "vector", "params": {"dimension": 3, "space_type": "cosine"}}])
    """

    def __init__(
        self,
        token: Optional[str] = None,
        base_url: Union[str, Sequence[str]] = "http://127.0.0.1:8080",
        *,
        timeout: float = 30.0,
        retries: Optional[int] = None,
        pool_size: int = 10,
        verify: Union[bool, str] = True,
        cert: ClientCertificate = None,
        read_your_writes: bool = True,
        actor: Optional[str] = None,
    ) -> None:
        peer = Peer(base_url, token, timeout, retries, read_your_writes, actor)
        super().__init__(Transport(peer, pool_size, verify, cert))

    def __enter__(self) -> "Annal":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Annal(base_url={self._transport.peer.address!r})"

    def close(self) -> None:
        self._transport.close()

    def set_base_url(self, url: Union[str, Sequence[str]]) -> None:
        """Sets the URL of the API, ``http://host:8080/api/v2``, or of the server, or the URLs of the nodes of a cluster."""
        self._transport.peer.set_base_url(url)

    def set_actor(self, actor: Optional[str]) -> None:
        """Names who acts, for the history: every write from now on keeps it. 1 to 128 printable ASCII characters; None for nobody."""
        self._transport.peer.address.set_actor(actor)

    def set_token(self, token: Optional[str]) -> None:
        self._transport.peer.address.set_token(token)

    # The server

    def health(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return self._get("/api/v2/health", OF_NODE, timeout, retry=NEVER)

    def stats(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return self._get("/api/v2/stats", OF_NODE, timeout)

    def info(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return self._get("/api/v2/info", OF_NODE, timeout)

    def providers(self, *, timeout: Optional[float] = None) -> List[Dict[str, Any]]:
        """Returns the providers of vectors on the server: ``name``, ``kind``, ``model``, and ``dimension`` of each."""
        return list(self._get("/api/v2/providers", OF_NODE, timeout)["providers"])

    def logs(self, limit: int = 100, *, timeout: Optional[float] = None) -> List[str]:
        """Returns the newest requests, one line each, oldest first."""
        return list(self._get(f"/api/v2/logs?limit={int(limit)}", OF_NODE, timeout)["lines"])

    # Collections

    def create_collection(
        self,
        name: str,
        fields: Sequence[Union[FieldDefinition, Mapping[str, Any]]],
        *,
        ttl_seconds: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Objects expire ``ttl_seconds`` after they are written, unless the write says otherwise; by default they do not."""
        body: Dict[str, Any] = {"name": name, "fields": [dict(field) for field in fields]}
        if ttl_seconds is not None:
            body["ttl_seconds"] = ttl_seconds
        return self._send("POST", "/api/v2/collection", body, key=RequestKey(idempotency_key), timeout=timeout)

    def list_collections(
        self,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[Dict[str, Any]]:
        return list(
            self._get("/api/v2/collection", Read(consistency, max_staleness_ms, min_lsn), timeout)["collections"]
        )

    def get_collection(
        self,
        name: str,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Collection:
        return Collection(
            self._transport,
            self._get(f"/api/v2/collection/{segment(name)}", Read(consistency, max_staleness_ms, min_lsn), timeout),
        )

    def delete_collection(
        self, name: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Deletes the collection and all its objects."""
        return self._send(
            "DELETE", f"/api/v2/collection/{segment(name)}", key=RequestKey(idempotency_key), timeout=timeout
        )

    # Indexes

    def create_index(
        self,
        name: str,
        dimension: int,
        space_type: str = "cosine",
        M: int = 16,
        ef_con: int = 128,
        precision: str = "int8",
        version: Optional[int] = None,
        sparse_model: Optional[str] = None,
        sparse_dim: Optional[int] = None,
        *,
        keep_originals: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> str:
        body: Dict[str, Any] = {
            "index_name": name,
            "dim": dimension,
            "space_type": space_type,
            "M": M,
            "ef_con": ef_con,
            "precision": getattr(precision, "value", precision),
        }
        optional = {
            "version": version,
            "sparse_model": sparse_model,
            "sparse_dim": sparse_dim,
            "keep_originals": keep_originals,
        }
        body.update({key: value for key, value in optional.items() if value is not None})
        sent = self._transport.send(
            "POST",
            "/api/v1/index/create",
            json_body(body),
            content_type="application/json",
            accept=_SENTENCE,
            retry=WHEN_REFUSED,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )
        return sent.text

    def list_indexes(
        self,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        return self._get("/api/v1/index/list", Read(consistency, max_staleness_ms, min_lsn), timeout)

    def get_index(
        self,
        name: str,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Index:
        return Index(
            self._transport,
            name,
            self._get(f"/api/v1/index/{segment(name)}/info", Read(consistency, max_staleness_ms, min_lsn), timeout),
        )

    def delete_index(self, name: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None) -> str:
        path = f"/api/v1/index/{segment(name)}/delete"
        self._transport.send(
            "DELETE", path, accept=_SENTENCE, retry=WHEN_REFUSED, key=RequestKey(idempotency_key), timeout=timeout
        )
        return f"Index {name} deleted successfully"

    # License

    def generate_license(self, email: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Starts the trial, once per data directory. Requires the root token."""
        return self._send("POST", "/api/v2/license/generate", {"email": email}, timeout=timeout)

    def validate_license(self, contents: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Accepts the contents of a license file. A valid license is active at once."""
        path = "/api/v2/license/validate"
        data = contents.encode("utf-8")
        sent = self._transport.send("POST", path, data, content_type="text/plain", retry=WHEN_REFUSED, timeout=timeout)
        reply: Dict[str, Any] = sent.json()
        return reply

    # Aliases

    def list_aliases(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Returns the aliases, each with its collection."""
        return self._get("/api/v2/alias", None, timeout)

    def put_alias(
        self,
        name: str,
        collection: str,
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Creates an alias, or switches it: no later call by this name reaches the old collection."""
        body = {"collection": collection}
        return self._send("PUT", _alias(name), body, key=RequestKey(idempotency_key), timeout=timeout)

    def delete_alias(
        self, name: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Deletes an alias; its collection stays."""
        return self._send("DELETE", _alias(name), key=RequestKey(idempotency_key), timeout=timeout)

    # Changes

    def changes(
        self,
        *,
        from_lsn: Optional[int] = None,
        cursor: Optional[str] = None,
        collections: Optional[Sequence[str]] = None,
        kinds: Optional[Sequence[str]] = None,
        filter: Optional[Filter] = None,
        include_vectors: bool = False,
        timeout: Optional[float] = None,
    ) -> Changes:
        """Yields the changes of the database: first those that the log holds from an LSN on, then each new one, in the order of the log,
        each at least once. Continues after the last change when the connection breaks. ``timeout`` is for the beginning of a connection.

        Without ``from_lsn`` it begins after the newest record; with ``cursor`` after the position of the cursor. With a filter, ``objects``
        are those that match it, and ``left`` has the ids of all others. Raises FeedPositionLostError if the next changes are not held.
        """
        following = Following(from_lsn, cursor, collections, kinds, filter, include_vectors, timeout)
        return follow_changes(self._transport, following)

    def list_cursors(
        self,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[Dict[str, Any]]:
        """Returns the places of consumers of the changes, each with the LSN that it acknowledged."""
        return list(self._get("/api/v2/cursors", Read(consistency, max_staleness_ms, min_lsn), timeout)["cursors"])

    def acknowledge(self, cursor: str, lsn: int, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Acknowledges every change up to the LSN; creates the cursor if it is new. A lower LSN than before changes nothing."""
        return self._send("PUT", _cursor(cursor), {"lsn": lsn}, retry=ALWAYS, timeout=timeout)

    def delete_cursor(
        self, cursor: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        return self._send("DELETE", _cursor(cursor), key=RequestKey(idempotency_key), timeout=timeout)

    def cancel_restore(self, *, timeout: Optional[float] = None) -> bool:
        """Cancels the restore or undo that started last. Returns False if none runs."""
        return bool(self._send("DELETE", "/api/v2/status/restore", retry=ALWAYS, timeout=timeout)["cancelled"])

    # The log

    def events(
        self,
        *,
        from_lsn: Optional[int] = None,
        before_lsn: Optional[int] = None,
        since: Union[str, datetime, None] = None,
        limit: Optional[int] = None,
        collection: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Lists events of the log without their content: from ``from_lsn`` on, below ``before_lsn``, or not earlier than ``since`` (RFC 3339 or
        a datetime); without any of them, the newest. At most ``limit`` (100, at most 500), of one ``collection`` if it is given.

        Returns ``{"events": [{"lsn", "time", "type", "bytes", ...}], "next", "previous"}``, oldest first: ``next`` is ``from_lsn`` of the
        next page, and ``previous`` ``before_lsn`` of the previous one. Waits until the server has read its log. Raises
        BadRequestError if more than one of the three is given.
        """
        wanted = {"from": from_lsn, "before": before_lsn, "since": time_text(since), "limit": limit, "collection": collection}
        while True:
            reply = self._get(f"/api/v2/log/events{_query(wanted)}", Read(), timeout)
            if reply["complete"]:
                return reply

    def activity(
        self,
        *,
        start: Union[str, datetime, None] = None,
        end: Union[str, datetime, None] = None,
        buckets: Optional[int] = None,
        collection: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Numbers of events and objects by time, from ``start`` to ``end`` (RFC 3339 or datetimes; default: all of the log), in about
        ``buckets`` (120, at most 1,000) parts of equal length.

        Returns ``{"bucket_seconds", "buckets": [{"time", "records", "bytes", "written", "deleted", ...}]}``, oldest first, without empty
        ones. Waits until the server has read its log.
        """
        wanted = {"from": time_text(start), "to": time_text(end), "buckets": buckets, "collection": collection}
        while True:
            reply = self._get(f"/api/v2/log/activity{_query(wanted)}", Read(), timeout)
            if reply["complete"]:
                return reply

    # Branches

    def clone_collection(
        self,
        name: str,
        target: str,
        *,
        keep_expired: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Creates an independent collection ``target`` with the content of another one as of now; with ``keep_expired`` its objects do not
        expire. Returns ``{"collection", "content_lsn", "lsn", "durable"}`` at once; requests to the clone wait until it is loaded. Raises
        NotFoundError, or ConflictError if the name is taken."""
        body: Dict[str, Any] = {"target_collection_name": target}
        if keep_expired:
            body["keep_expired"] = True
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        path = f"{_collection(name)}/clone"
        return self._send("POST", path, body, key=RequestKey(idempotency_key), timeout=seconds, takes_long=True)

    def branch_collection(
        self,
        name: str,
        branch: str,
        *,
        as_of: Optional[Dict[str, Any]] = None,
        keep_expired: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Creates a collection with the content of another one, as of now or of ``{"lsn": n}`` or ``{"time": "..."}``; with ``keep_expired`` its objects do not expire."""
        body: Dict[str, Any] = {"name": branch, **({} if as_of is None else {"as_of": moment_member(as_of)})}
        if keep_expired:
            body["keep_expired"] = True
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        path = f"{_collection(name)}/branch"
        return self._send("POST", path, body, key=RequestKey(idempotency_key), timeout=seconds, takes_long=True)

    def list_branches(self, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Returns a collection and everything that has a common ancestor with it."""
        return self._get(f"{_collection(name)}/branches", None, timeout)

    def promote_collection(
        self,
        name: str,
        *,
        over: str,
        keep_as: str,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Gives a collection the name and the aliases of another one, which is named ``keep_as`` afterwards."""
        body = {"over": over, "keep_as": keep_as}
        path = f"{_collection(name)}/promote"
        return self._send("POST", path, body, key=RequestKey(idempotency_key), timeout=timeout)

    # Backups

    def list_backups(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Returns the backups by name."""
        return self._get("/api/v2/backup", None, timeout)

    def backup_info(self, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return self._get(f"{_backup(name)}/info", None, timeout)

    def active_backup(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return self._get("/api/v2/backup/active", None, timeout)

    def backup_status(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return self._get("/api/v2/status/backup", None, timeout)

    def restore_status(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return self._get("/api/v2/status/restore", None, timeout)

    def restore_backup(
        self,
        name: str,
        target: str,
        *,
        lsn: Optional[int] = None,
        time: Optional[str] = None,
        keep_expired: bool = False,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Restores a backup to a new collection, optionally as of an event or an RFC 3339 time; with ``keep_expired`` its objects do not expire."""
        body: Dict[str, Any] = {"target_collection_name": target}
        if keep_expired:
            body["keep_expired"] = True
        body.update({key: value for key, value in {"lsn": lsn, "time": time}.items() if value is not None})
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        path = f"{_backup(name)}/restore"
        return self._send("POST", path, body, key=RequestKey(idempotency_key), timeout=seconds, takes_long=True)

    def delete_backup(self, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        self._send("DELETE", _backup(name), timeout=timeout)
        return {"message": "Backup deleted"}

    def download_backup(
        self,
        name: str,
        dest_path: "Union[str, os.PathLike[str]]",
        db_name: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
    ) -> str:
        """Writes the backup to a file, which appears only when it is complete, and returns its path."""
        path = f"{_backup(name)}/download" + ("" if db_name is None else f"?db={quote(db_name, safe='')}")
        target = os.fspath(dest_path)
        self._transport.download(path, target, timeout=timeout)
        return target

    def upload_backup(
        self, path: "Union[str, os.PathLike[str]]", name: Optional[str] = None, *, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Uploads a file that ``download_backup`` wrote. The default name is the file name without its extension."""
        stem = name if name is not None else os.path.splitext(os.path.basename(os.fspath(path)))[0]
        address = f"/api/v2/backup/upload?name={quote(stem, safe='')}"
        sent = self._transport.upload(address, os.fspath(path), "application/x-tar", timeout=timeout)
        reply: Dict[str, Any] = sent.json()
        return reply


def _query(wanted: Dict[str, Any]) -> str:
    members = {name: value for name, value in wanted.items() if value is not None}
    return f"?{urlencode(members)}" if members else ""


def _alias(name: str) -> str:
    return f"/api/v2/alias/{segment(name)}"


def _cursor(name: str) -> str:
    return f"/api/v2/cursors/{segment(name)}"


def _collection(name: str) -> str:
    return f"/api/v2/collection/{segment(name)}"


def _backup(name: str) -> str:
    return f"/api/v2/backup/{segment(name)}"
