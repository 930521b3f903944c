"""Databases and their tokens. All calls but those for the client's own tokens need the root token."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from .exchange import ALWAYS, WHEN_REFUSED, RequestKey, segment
from .reads import Read
from .transport import Transport
from .types import Consistency


class Administration:
    """What a client has for databases and tokens. The client is the only subclass."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_database(self, db_name: str, db_type: str = "enterprise", *, timeout: Optional[float] = None) -> str:
        """Returns the database's first token, which is shown only once."""
        body = {"db_name": db_name, "db_type": db_type}
        return str(self._send("POST", "/api/v2/admin/dbs", body, timeout=timeout)["db_token"])

    def list_databases(
        self,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[Dict[str, Any]]:
        return list(self._get("/api/v2/admin/dbs", Read(consistency, max_staleness_ms, min_lsn), timeout)["dbs"])

    def get_database(
        self,
        db_name: str,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        return self._get(f"/api/v2/dbs/{segment(db_name)}/info", Read(consistency, max_staleness_ms, min_lsn), timeout)

    def delete_database(
        self, db_name: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Deletes the database and everything in it."""
        return self._send("DELETE", _db(db_name), key=RequestKey(idempotency_key), timeout=timeout)

    def activate_database(
        self, db_name: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        return self._send(
            "POST", f"{_db(db_name)}/activate", retry=ALWAYS, key=RequestKey(idempotency_key), timeout=timeout
        )

    def deactivate_database(
        self, db_name: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        """Its tokens are rejected until it is activated again. Nothing is deleted."""
        return self._send(
            "POST", f"{_db(db_name)}/deactivate", retry=ALWAYS, key=RequestKey(idempotency_key), timeout=timeout
        )

    def set_database_type(
        self, db_name: str, db_type: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        return self._send(
            "PUT",
            f"{_db(db_name)}/type",
            {"db_type": db_type},
            retry=ALWAYS,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )

    def list_db_collections(
        self,
        db_name: str,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[str]:
        return list(
            self._get(f"{_db(db_name)}/collection", Read(consistency, max_staleness_ms, min_lsn), timeout)[
                "collections"
            ]
        )

    def list_all_collections(
        self,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[Dict[str, Any]]:
        return list(
            self._get("/api/v2/admin/collection", Read(consistency, max_staleness_ms, min_lsn), timeout)["collections"]
        )

    def delete_db_collection(
        self, db_name: str, collection: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        return self._send(
            "DELETE",
            f"{_db(db_name)}/collection/{segment(collection)}",
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )

    def create_token(self, db_name: str, name: str, token_type: str = "rw", *, timeout: Optional[float] = None) -> str:
        """Returns the token, which is shown only once. Type ``r`` may only read."""
        body = {"name": name, "token_type": token_type}
        return str(self._send("POST", f"{_db(db_name)}/tokens", body, timeout=timeout)["db_token"])

    def list_tokens(
        self,
        db_name: str,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[Dict[str, Any]]:
        return list(
            self._get(f"{_db(db_name)}/tokens", Read(consistency, max_staleness_ms, min_lsn), timeout)["tokens"]
        )

    def delete_token(
        self, db_name: str, name: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        return self._send(
            "DELETE", f"{_db(db_name)}/tokens/{segment(name)}", key=RequestKey(idempotency_key), timeout=timeout
        )

    def create_my_token(self, name: str, token_type: str = "rw", *, timeout: Optional[float] = None) -> str:
        return str(
            self._send("POST", "/api/v2/tokens", {"name": name, "token_type": token_type}, timeout=timeout)["db_token"]
        )

    def list_my_tokens(
        self,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[Dict[str, Any]]:
        return list(self._get("/api/v2/tokens", Read(consistency, max_staleness_ms, min_lsn), timeout)["tokens"])

    def delete_my_token(
        self, name: str, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None
    ) -> Dict[str, Any]:
        return self._send("DELETE", f"/api/v2/tokens/{segment(name)}", key=RequestKey(idempotency_key), timeout=timeout)

    def _get(self, path: str, read: Optional[Read], timeout: Optional[float], retry: str = ALWAYS) -> Dict[str, Any]:
        """``read`` is None for what only the leader of a cluster answers."""
        reply: Dict[str, Any] = self._transport.json("GET", path, retry=retry, read=read, timeout=timeout)
        return reply

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        retry: str = WHEN_REFUSED,
        key: Optional[RequestKey] = None,
        timeout: Optional[float],
        takes_long: bool = False,
    ) -> Dict[str, Any]:
        reply: Dict[str, Any] = self._transport.json(
            method, path, body, retry=retry, key=key, timeout=timeout, takes_long=takes_long
        )
        return reply


def _db(name: str) -> str:
    return f"/api/v2/admin/dbs/{segment(name)}"
