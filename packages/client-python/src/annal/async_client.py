# Written by scripts/make_async.py from client.py; change that file instead.
"""A connection to one Annal: collections, indexes, databases, tokens, backups, license."""
from __future__ import annotations
import os
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, Union
from urllib.parse import quote
from .async_collection import AsyncCollection
from .exchange import ALWAYS, NEVER, TRANSFER_SECONDS, WHEN_REFUSED, ClientCertificate, json_body, segment
from .async_index import AsyncIndex
from .async_transport import AsyncTransport
from .types import FieldDefinition

_SENTENCE = "application/json, text/plain"


class AsyncAnnal:
    """A client of one server. It connects with the first call; ``await client.health()`` checks that the server answers.

    ``timeout`` is in seconds, for a whole call with its retries; each call takes its own ``timeout`` too. ``verify`` False accepts any
    certificate, and a path names a file or folder of certificate authorities; without it, ``REQUESTS_CA_BUNDLE`` does. ``cert`` is a
    client certificate: one PEM file with its key, or a file for each. Proxies come from ``HTTP_PROXY``, ``HTTPS_PROXY`` and ``NO_PROXY``.

    >>> async with AsyncAnnal(token="...") as client:
    ...     await client.create_collection("films", fields=[
    ...         {"name": "plot", "type": "vector", "params": {"dimension": 3, "space_type": "cosine"}}])
    """

    def __init__(
        self,
        token: Optional[str] = None,
        base_url: str = "http://127.0.0.1:8080",
        *,
        timeout: float = 30.0,
        retries: int = 3,
        pool_size: int = 10,
        verify: Union[bool, str] = True,
        cert: ClientCertificate = None,
    ) -> None:
        self._transport = AsyncTransport(base_url, token, timeout, retries, pool_size, verify, cert)

    async def __aenter__(self) -> "AsyncAnnal":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncAnnal(base_url={self._transport.address.root!r})"

    async def close(self) -> None:
        await self._transport.close()

    def set_base_url(self, url: str) -> None:
        """The address of the API, ``http://host:8080/api/v2``, or of the server alone."""
        self._transport.address.set_base_url(url)

    def set_token(self, token: Optional[str]) -> None:
        self._transport.address.set_token(token)

    async def health(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._get("/api/v2/health", timeout, retry=NEVER)

    async def stats(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._get("/api/v2/stats", timeout)

    async def info(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._get("/api/v2/info", timeout)

    async def logs(self, limit: int = 100, *, timeout: Optional[float] = None) -> List[str]:
        """The newest requests, one line each, oldest first."""
        return list((await self._get(f"/api/v2/logs?limit={int(limit)}", timeout))["lines"])

    async def create_collection(
        self, name: str, fields: Sequence[Union[FieldDefinition, Mapping[str, Any]]], *, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        body = {"name": name, "fields": [dict(field) for field in fields]}
        return await self._send("POST", "/api/v2/collection", body, timeout=timeout)

    async def list_collections(self, *, timeout: Optional[float] = None) -> List[Dict[str, Any]]:
        return list((await self._get("/api/v2/collection", timeout))["collections"])

    async def get_collection(self, name: str, *, timeout: Optional[float] = None) -> AsyncCollection:
        return AsyncCollection(self._transport, await self._get(f"/api/v2/collection/{segment(name)}", timeout))

    async def delete_collection(self, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Deletes the collection and every object in it."""
        return await self._send("DELETE", f"/api/v2/collection/{segment(name)}", timeout=timeout)

    async def create_index(
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
        sent = await self._transport.send(
            "POST",
            "/api/v1/index/create",
            json_body(body),
            content_type="application/json",
            accept=_SENTENCE,
            retry=WHEN_REFUSED,
            timeout=timeout,
        )
        return sent.text

    async def list_indexes(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._get("/api/v1/index/list", timeout)

    async def get_index(self, name: str, *, timeout: Optional[float] = None) -> AsyncIndex:
        return AsyncIndex(self._transport, name, await self._get(f"/api/v1/index/{segment(name)}/info", timeout))

    async def delete_index(self, name: str, *, timeout: Optional[float] = None) -> str:
        path = f"/api/v1/index/{segment(name)}/delete"
        await self._transport.send("DELETE", path, accept=_SENTENCE, retry=WHEN_REFUSED, timeout=timeout)
        return f"Index {name} deleted successfully"

    async def create_database(
        self, db_name: str, db_type: str = "enterprise", *, timeout: Optional[float] = None
    ) -> str:
        """Gives the database's first token, which is told this once."""
        body = {"db_name": db_name, "db_type": db_type}
        return str((await self._send("POST", "/api/v2/admin/dbs", body, timeout=timeout))["db_token"])

    async def list_databases(self, *, timeout: Optional[float] = None) -> List[Dict[str, Any]]:
        return list((await self._get("/api/v2/admin/dbs", timeout))["dbs"])

    async def get_database(self, db_name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._get(f"/api/v2/dbs/{segment(db_name)}/info", timeout)

    async def delete_database(self, db_name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Deletes the database with everything in it."""
        return await self._send("DELETE", _db(db_name), timeout=timeout)

    async def activate_database(self, db_name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._send("POST", f"{_db(db_name)}/activate", retry=ALWAYS, timeout=timeout)

    async def deactivate_database(self, db_name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Its tokens stop working until it is activated again; nothing is deleted."""
        return await self._send("POST", f"{_db(db_name)}/deactivate", retry=ALWAYS, timeout=timeout)

    async def set_database_type(self, db_name: str, db_type: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._send("PUT", f"{_db(db_name)}/type", {"db_type": db_type}, retry=ALWAYS, timeout=timeout)

    async def list_db_collections(self, db_name: str, *, timeout: Optional[float] = None) -> List[str]:
        return list((await self._get(f"{_db(db_name)}/collection", timeout))["collections"])

    async def list_all_collections(self, *, timeout: Optional[float] = None) -> List[Dict[str, Any]]:
        return list((await self._get("/api/v2/admin/collection", timeout))["collections"])

    async def delete_db_collection(
        self, db_name: str, collection: str, *, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        return await self._send("DELETE", f"{_db(db_name)}/collection/{segment(collection)}", timeout=timeout)

    async def create_token(
        self, db_name: str, name: str, token_type: str = "rw", *, timeout: Optional[float] = None
    ) -> str:
        """The token is told this once. Of type ``r`` it only reads."""
        body = {"name": name, "token_type": token_type}
        return str((await self._send("POST", f"{_db(db_name)}/tokens", body, timeout=timeout))["db_token"])

    async def list_tokens(self, db_name: str, *, timeout: Optional[float] = None) -> List[Dict[str, Any]]:
        return list((await self._get(f"{_db(db_name)}/tokens", timeout))["tokens"])

    async def delete_token(self, db_name: str, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._send("DELETE", f"{_db(db_name)}/tokens/{segment(name)}", timeout=timeout)

    async def create_my_token(self, name: str, token_type: str = "rw", *, timeout: Optional[float] = None) -> str:
        return str(
            (await self._send("POST", "/api/v2/tokens", {"name": name, "token_type": token_type}, timeout=timeout))[
                "db_token"
            ]
        )

    async def list_my_tokens(self, *, timeout: Optional[float] = None) -> List[Dict[str, Any]]:
        return list((await self._get("/api/v2/tokens", timeout))["tokens"])

    async def delete_my_token(self, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._send("DELETE", f"/api/v2/tokens/{segment(name)}", timeout=timeout)

    async def generate_license(self, email: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Starts the trial, once per data directory; needs the root token."""
        return await self._send("POST", "/api/v2/license/generate", {"email": email}, timeout=timeout)

    async def validate_license(self, contents: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Takes the contents of a licence file; a valid one is active at once."""
        path = "/api/v2/license/validate"
        data = contents.encode("utf-8")
        sent = await self._transport.send(
            "POST", path, data, content_type="text/plain", retry=WHEN_REFUSED, timeout=timeout
        )
        reply: Dict[str, Any] = sent.json()
        return reply

    async def list_backups(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """By name."""
        return await self._get("/api/v2/backup", timeout)

    async def backup_info(self, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._get(f"{_backup(name)}/info", timeout)

    async def active_backup(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._get("/api/v2/backup/active", timeout)

    async def backup_status(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._get("/api/v2/status/backup", timeout)

    async def restore_status(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        return await self._get("/api/v2/status/restore", timeout)

    async def restore_backup(
        self,
        name: str,
        target: str,
        *,
        lsn: Optional[int] = None,
        time: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Makes a new collection of a backup, on request as of an event or an RFC 3339 time; nothing is overwritten."""
        body: Dict[str, Any] = {"target_collection_name": target}
        body.update({key: value for key, value in {"lsn": lsn, "time": time}.items() if value is not None})
        return await self._send(
            "POST", f"{_backup(name)}/restore", body, timeout=TRANSFER_SECONDS if timeout is None else timeout
        )

    async def delete_backup(self, name: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        await self._send("DELETE", _backup(name), timeout=timeout)
        return {"message": "Backup deleted"}

    async def download_backup(
        self,
        name: str,
        dest_path: "Union[str, os.PathLike[str]]",
        db_name: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
    ) -> str:
        """Writes the backup to a file, which appears whole or not at all, and gives its path."""
        path = f"{_backup(name)}/download" + ("" if db_name is None else f"?db={quote(db_name, safe='')}")
        target = os.fspath(dest_path)
        await self._transport.download(path, target, timeout=timeout)
        return target

    async def upload_backup(
        self, path: "Union[str, os.PathLike[str]]", name: Optional[str] = None, *, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Takes a file that ``download_backup`` wrote; its name without the ending is the backup's, unless one is given."""
        stem = name if name is not None else os.path.splitext(os.path.basename(os.fspath(path)))[0]
        address = f"/api/v2/backup/upload?name={quote(stem, safe='')}"
        sent = await self._transport.upload(address, os.fspath(path), "application/x-tar", timeout=timeout)
        reply: Dict[str, Any] = sent.json()
        return reply

    async def _get(self, path: str, timeout: Optional[float], retry: str = ALWAYS) -> Dict[str, Any]:
        reply: Dict[str, Any] = await self._transport.json("GET", path, retry=retry, timeout=timeout)
        return reply

    async def _send(
        self, method: str, path: str, body: Any = None, *, retry: str = WHEN_REFUSED, timeout: Optional[float]
    ) -> Dict[str, Any]:
        reply: Dict[str, Any] = await self._transport.json(method, path, body, retry=retry, timeout=timeout)
        return reply


def _db(name: str) -> str:
    return f"/api/v2/admin/dbs/{segment(name)}"


def _backup(name: str) -> str:
    return f"/api/v2/backup/{segment(name)}"
