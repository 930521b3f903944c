"""The graphs of a collection's fields: neighbors, rebuilds, measurements of recall, and vacuums."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Union, cast
from urllib.parse import urlencode

from . import encoding
from .deprecated import warn_renamed
from .exchange import ALWAYS, WHEN_REFUSED, RequestKey, object_path, segment
from .reads import WAIT_SECONDS, Read, moment_text
from .transport import Transport
from .types import Consistency

_VACUUM_SECONDS = 600.0


class CollectionGraphs:
    """What a collection has for its graphs. The collection is the only subclass."""

    def __init__(self, transport: Transport, path: str) -> None:
        self._transport = transport
        self._path = path

    def neighbors(
        self,
        id: str,
        field: str,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[str]:
        """Returns the ids of the object's neighbors in the graph of a field."""
        path = object_path_of(f"{self._path}/objects", id, f"/field/{segment(field)}/neighbors")
        return list(
            self._transport.json(
                "GET", path, retry=ALWAYS, read=Read(consistency, max_staleness_ms, min_lsn), timeout=timeout
            )["neighbors"]
        )

    def links(self, id: str, field: str, *, timeout: Optional[float] = None) -> List[str]:
        """Deprecated: use ``neighbors``."""
        warn_renamed("links", "neighbors")
        return self.neighbors(id, field, timeout=timeout)

    def rebuild(
        self,
        fields: Sequence[Union[str, Mapping[str, Any]]] = (),
        *,
        idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Starts to recreate the graph, with new M or ef_con where given. Searches continue; writes wait."""
        named = [{"field": field} if isinstance(field, str) else dict(field) for field in fields]
        reply: Dict[str, Any] = self._transport.json(
            "POST",
            f"{self._path}/rebuild",
            {"fields": named},
            retry=WHEN_REFUSED,
            key=RequestKey(idempotency_key),
            timeout=timeout,
        )
        return reply

    def rebuild_status(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        reply: Dict[str, Any] = self._transport.json(
            "GET", f"{self._path}/rebuild/status", retry=ALWAYS, timeout=timeout
        )
        return reply

    def recall(
        self,
        field: Optional[str] = None,
        sample: Optional[int] = None,
        limit: Optional[int] = None,
        ef: Optional[int] = None,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        as_of: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Measures the recall of a dense field, by default the first one: searches with ``sample`` stored vectors (100, at most 1,000),
        and compares their ``limit`` (10) nearest objects with those of exact searches.

        Returns ``{"field", "sample", "recall", "recall_worst", "lsn"}``: the mean and the worst share of the true nearest objects, 0 to 1.
        ``as_of`` measures the collection as of a moment of the past. Raises BadRequestError for a field that is not dense, and beyond the limits.
        """
        moment = {} if as_of is None else {"as_of": moment_text(as_of, "as_of"), "wait": WAIT_SECONDS}
        query = urlencode({**given(field=field, sample=sample, limit=limit, ef=ef), **moment})
        seconds = _VACUUM_SECONDS if timeout is None else timeout
        reply: Dict[str, Any] = self._transport.json(
            "GET",
            f"{self._path}/recall{'?' if query else ''}{query}",
            retry=ALWAYS,
            read=Read(consistency, max_staleness_ms, min_lsn),
            timeout=seconds,
            takes_long=True,
        )
        return reply

    def calibrate(
        self,
        field: Optional[str] = None,
        limit: Optional[int] = None,
        rescore: Optional[bool] = None,
        sample: Optional[int] = None,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Measures which ef reaches which recall, for searches with ``recall``. Returns when it is done."""
        seconds = _VACUUM_SECONDS if timeout is None else timeout
        reply: Dict[str, Any] = self._transport.json(
            "POST",
            f"{self._path}/calibrate",
            given(field=field, limit=limit, rescore=rescore, sample=sample),
            retry=ALWAYS,
            read=Read(consistency, max_staleness_ms, min_lsn),
            timeout=seconds,
            takes_long=True,
        )
        return reply

    def calibrations(
        self,
        *,
        consistency: Optional[Consistency] = None,
        max_staleness_ms: Optional[int] = None,
        min_lsn: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> List[Dict[str, Any]]:
        """What was measured for searches with ``recall``, and what is being measured."""
        reply = self._transport.json(
            "GET",
            f"{self._path}/calibrations",
            retry=ALWAYS,
            read=Read(consistency, max_staleness_ms, min_lsn),
            timeout=timeout,
        )
        return cast(List[Dict[str, Any]], reply["calibrations"])

    def vacuum(self, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Frees the memory of deleted and replaced objects. Returns ``{"status", "reclaimed_bytes"}``."""
        seconds = _VACUUM_SECONDS if timeout is None else timeout
        reply: Dict[str, Any] = self._transport.json(
            "POST",
            f"{self._path}/vacuum",
            {},
            retry=WHEN_REFUSED,
            key=RequestKey(idempotency_key),
            timeout=seconds,
            takes_long=True,
        )
        return reply

    def shrink(self, *, idempotency_key: Optional[str] = None, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Deprecated: use ``vacuum``."""
        warn_renamed("shrink", "vacuum")
        return self.vacuum(idempotency_key=idempotency_key, timeout=timeout)


def given(**members: Any) -> Dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def object_path_of(before: str, id: Any, after: str = "") -> str:
    return object_path(before, encoding.identifier(id, "id"), after)
