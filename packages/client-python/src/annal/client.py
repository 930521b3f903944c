"""A connection to one Annal: collections, indexes, databases, tokens, backups, licence."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, Union
from urllib.parse import quote

from .collection import Collection
from .index import Index
from .transport import ALWAYS, NEVER, WHEN_REFUSED, Transport, segment
from .types import FieldDefinition

_SENTENCE = "application/json, text/plain"
_TRANSFER_SECONDS = 3_600.0
_CHUNK = 1 << 20


class Annal:
    """Opens no connection yet; ``client.health()`` is the way to see whether somebody answers.

    >>> with Annal(token="...") as client:
    ...     client.create_collection("films", fields=[
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
    ) -> None:
        self._transport = Transport(base_url, token, timeout, retries, pool_size)

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
        return f"Annal(base_url={self._transport.root!r})"

    def close(self) -> None:
        self._transport.close()

    def set_base_url(self, url: str) -> None:
        """The address of the API, ``http://host:8080/api/v2``, or of the server alone."""
        self._transport.set_base_url(url)

    def set_token(self, token: Optional[str]) -> None:
        self._transport.set_token(token)

    # The server

    def health(self) -> Dict[str, Any]:
        return self._get("/api/v2/health", retry=NEVER)

    def stats(self) -> Dict[str, Any]:
        return self._get("/api/v2/stats")

    def info(self) -> Dict[str, Any]:
        return self._get("/api/v2/info")

    def logs(self, limit: int = 100) -> List[str]:
        """The newest requests, one line each, oldest first."""
        return list(self._get(f"/api/v2/logs?limit={int(limit)}")["lines"])

    # Collections

    def create_collection(self, name: str, fields: Sequence[Union[FieldDefinition, Mapping[str, Any]]]) -> Dict[str, Any]:
        body = {"name": name, "fields": [dict(field) for field in fields]}
        return self._send("POST", "/api/v2/collection", body)

    def list_collections(self) -> List[Dict[str, Any]]:
        return list(self._get("/api/v2/collection")["collections"])

    def get_collection(self, name: str) -> Collection:
        return Collection(self._transport, self._get(f"/api/v2/collection/{segment(name)}"))

    def delete_collection(self, name: str) -> Dict[str, Any]:
        """Deletes the collection and every object in it."""
        return self._send("DELETE", f"/api/v2/collection/{segment(name)}")

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
    ) -> str:
        body: Dict[str, Any] = {
            "index_name": name,
            "dim": dimension,
            "space_type": space_type,
            "M": M,
            "ef_con": ef_con,
            "precision": getattr(precision, "value", precision),
        }
        optional = {"version": version, "sparse_model": sparse_model, "sparse_dim": sparse_dim}
        body.update({key: value for key, value in optional.items() if value is not None})
        data = json.dumps(body).encode("utf-8")
        path = "/api/v1/index/create"
        kind = "application/json"
        sent = self._transport.send("POST", path, data, content_type=kind, accept=_SENTENCE, retry=WHEN_REFUSED)
        return str(sent.text)

    def list_indexes(self) -> Dict[str, Any]:
        return self._get("/api/v1/index/list")

    def get_index(self, name: str) -> Index:
        return Index(self._transport, name, self._get(f"/api/v1/index/{segment(name)}/info"))

    def delete_index(self, name: str) -> str:
        path = f"/api/v1/index/{segment(name)}/delete"
        self._transport.send("DELETE", path, accept=_SENTENCE, retry=WHEN_REFUSED)
        return f"Index {name} deleted successfully"

    # Databases and their tokens; all but the client's own need the root token

    def create_database(self, db_name: str, db_type: str = "enterprise") -> str:
        """Gives the database's first token, which is told this once."""
        body = {"db_name": db_name, "db_type": db_type}
        return str(self._send("POST", "/api/v2/admin/dbs", body)["db_token"])

    def list_databases(self) -> List[Dict[str, Any]]:
        return list(self._get("/api/v2/admin/dbs")["dbs"])

    def get_database(self, db_name: str) -> Dict[str, Any]:
        return self._get(f"/api/v2/dbs/{segment(db_name)}/info")

    def delete_database(self, db_name: str) -> Dict[str, Any]:
        """Deletes the database with everything in it."""
        return self._send("DELETE", _db(db_name))

    def activate_database(self, db_name: str) -> Dict[str, Any]:
        return self._send("POST", f"{_db(db_name)}/activate", retry=ALWAYS)

    def deactivate_database(self, db_name: str) -> Dict[str, Any]:
        """Its tokens stop working until it is activated again; nothing is deleted."""
        return self._send("POST", f"{_db(db_name)}/deactivate", retry=ALWAYS)

    def set_database_type(self, db_name: str, db_type: str) -> Dict[str, Any]:
        return self._send("PUT", f"{_db(db_name)}/type", {"db_type": db_type}, retry=ALWAYS)

    def list_db_collections(self, db_name: str) -> List[str]:
        return list(self._get(f"{_db(db_name)}/collection")["collections"])

    def list_all_collections(self) -> List[Dict[str, Any]]:
        return list(self._get("/api/v2/admin/collection")["collections"])

    def delete_db_collection(self, db_name: str, collection: str) -> Dict[str, Any]:
        return self._send("DELETE", f"{_db(db_name)}/collection/{segment(collection)}")

    def create_token(self, db_name: str, name: str, token_type: str = "rw") -> str:
        """The token is told this once. Of type ``r`` it only reads."""
        body = {"name": name, "token_type": token_type}
        return str(self._send("POST", f"{_db(db_name)}/tokens", body)["db_token"])

    def list_tokens(self, db_name: str) -> List[Dict[str, Any]]:
        return list(self._get(f"{_db(db_name)}/tokens")["tokens"])

    def delete_token(self, db_name: str, name: str) -> Dict[str, Any]:
        return self._send("DELETE", f"{_db(db_name)}/tokens/{segment(name)}")

    def create_my_token(self, name: str, token_type: str = "rw") -> str:
        return str(self._send("POST", "/api/v2/tokens", {"name": name, "token_type": token_type})["db_token"])

    def list_my_tokens(self) -> List[Dict[str, Any]]:
        return list(self._get("/api/v2/tokens")["tokens"])

    def delete_my_token(self, name: str) -> Dict[str, Any]:
        return self._send("DELETE", f"/api/v2/tokens/{segment(name)}")

    # The licence

    def generate_license(self, email: str) -> Dict[str, Any]:
        """Starts the trial, once per data directory; needs the root token."""
        return self._send("POST", "/api/v2/license/generate", {"email": email})

    def validate_license(self, contents: str) -> Dict[str, Any]:
        """Takes the contents of a licence file; a valid one is active at once."""
        path = "/api/v2/license/validate"
        sent = self._transport.send(
            "POST", path, contents.encode("utf-8"), content_type="text/plain", retry=WHEN_REFUSED
        )
        reply: Dict[str, Any] = self._transport.read_json(sent)
        return reply

    # Backups

    def list_backups(self) -> Dict[str, Any]:
        """By name."""
        return self._get("/api/v2/backup")

    def backup_info(self, name: str) -> Dict[str, Any]:
        return self._get(f"{_backup(name)}/info")

    def active_backup(self) -> Dict[str, Any]:
        return self._get("/api/v2/backup/active")

    def backup_status(self) -> Dict[str, Any]:
        return self._get("/api/v2/status/backup")

    def restore_status(self) -> Dict[str, Any]:
        return self._get("/api/v2/status/restore")

    def restore_backup(
        self, name: str, target: str, *, lsn: Optional[int] = None, time: Optional[str] = None
    ) -> Dict[str, Any]:
        """Makes a new collection of a backup, on request as of an event or an RFC 3339 time; nothing is overwritten."""
        body: Dict[str, Any] = {"target_collection_name": target}
        body.update({key: value for key, value in {"lsn": lsn, "time": time}.items() if value is not None})
        return self._send("POST", f"{_backup(name)}/restore", body, timeout=_TRANSFER_SECONDS)

    def delete_backup(self, name: str) -> Dict[str, Any]:
        self._send("DELETE", _backup(name))
        return {"message": "Backup deleted"}

    def download_backup(self, name: str, dest_path: "Union[str, os.PathLike[str]]", db_name: Optional[str] = None) -> str:
        """Writes the backup to a file, which appears whole or not at all, and gives its path."""
        path = f"{_backup(name)}/download" + ("" if db_name is None else f"?db={quote(db_name, safe='')}")
        sent = self._transport.send("GET", path, accept="*/*", retry=ALWAYS, timeout=_TRANSFER_SECONDS, stream=True)
        target = os.fspath(dest_path)
        partial = f"{target}.part"
        with sent, open(partial, "wb") as file:
            for chunk in sent.iter_content(_CHUNK):
                file.write(chunk)
        os.replace(partial, target)
        return target

    def upload_backup(self, path: "Union[str, os.PathLike[str]]", name: Optional[str] = None) -> Dict[str, Any]:
        """Takes a file that ``download_backup`` wrote; its name without the ending is the backup's, unless one is given."""
        stem = name if name is not None else os.path.splitext(os.path.basename(os.fspath(path)))[0]
        address = f"/api/v2/backup/upload?name={quote(stem, safe='')}"
        with open(path, "rb") as file:
            sent = self._transport.send(
                "POST",
                address,
                _chunks(file),
                content_type="application/x-tar",
                retry=NEVER,
                timeout=_TRANSFER_SECONDS,
            )
        reply: Dict[str, Any] = self._transport.read_json(sent)
        return reply

    def _get(self, path: str, retry: str = ALWAYS) -> Dict[str, Any]:
        reply: Dict[str, Any] = self._transport.json("GET", path, retry=retry)
        return reply

    def _send(
        self, method: str, path: str, body: Any = None, retry: str = WHEN_REFUSED, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        reply: Dict[str, Any] = self._transport.json(method, path, body, retry=retry, timeout=timeout)
        return reply


def _db(name: str) -> str:
    return f"/api/v2/admin/dbs/{segment(name)}"


def _backup(name: str) -> str:
    return f"/api/v2/backup/{segment(name)}"


def _chunks(file: Any) -> Iterator[bytes]:
    while True:
        chunk = file.read(_CHUNK)
        if not chunk:
            return
        yield chunk
