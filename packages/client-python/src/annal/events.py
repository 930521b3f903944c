"""The change feed: its address, its pieces, and where to continue after a broken connection. No I/O."""

from __future__ import annotations

import json
import random
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import urlencode

from .errors import AnnalError
from .exchange import json_body, refusal
from .types import Change, Filter

SILENCE = 45.0
"""The server sends something at least every 15 seconds; a connection that is silent for this long counts as broken."""

_PAUSE_FIRST = 0.1
_PAUSE_LONGEST = 5.0


class Following:
    """What one consumer follows, and how far it has come."""

    def __init__(
        self,
        from_lsn: Optional[int],
        cursor: Optional[str],
        collections: Optional[Sequence[str]],
        kinds: Optional[Sequence[str]],
        filter: Optional[Filter],
        include_vectors: bool,
        timeout: Optional[float],
    ) -> None:
        self.timeout = timeout
        place = {"from": from_lsn, "cursor": cursor}
        self._place = {name: value for name, value in place.items() if value is not None}
        wanted = {
            "collection": None if collections is None else ",".join(collections),
            "kind": None if kinds is None else ",".join(kinds),
            "filter": None if filter is None else json_body(list(filter)).decode("utf-8"),
            "vectors": "true" if include_vectors else None,
        }
        self._wanted = {name: value for name, value in wanted.items() if value is not None}
        self._has_begun = False
        self._pause = _PAUSE_FIRST
        self._rest = b""

    def path(self) -> str:
        """The address of the next connection."""
        self._rest = b""
        query = urlencode({**self._place, **self._wanted})
        return f"/api/v2/changes?{query}" if query else "/api/v2/changes"

    def read(self, piece: bytes) -> "List[Tuple[Optional[int], Optional[Change]]]":
        """The events that end in this piece, each with its LSN. Those without a change only move the place."""
        self._has_begun = True
        self._pause = _PAUSE_FIRST
        *blocks, self._rest = (self._rest + piece).split(b"\n\n")
        return [_event(block.decode("utf-8")) for block in blocks]

    def passed(self, lsn: Optional[int]) -> None:
        """The consumer has processed everything up to this LSN."""
        if lsn is not None:
            self._place = {"from": lsn + 1}

    def may_resume(self, error: AnnalError) -> bool:
        """A server that never replied is a failure; one that did is away."""
        return error.retryable and self._has_begun

    def pause(self) -> float:
        """Seconds before the next connection."""
        pause = self._pause * (0.5 + random.random() / 2)
        self._pause = min(2 * self._pause, _PAUSE_LONGEST)
        return pause


def _event(block: str) -> "Tuple[Optional[int], Optional[Change]]":
    lsn: Optional[int] = None
    kind = data = ""
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        value = value.lstrip(" ")
        if name == "id":
            lsn = int(value)
        elif name == "event":
            kind = value
        elif name == "data":
            data += value
    if kind == "refused":
        raise refusal(_object(data))
    change: Optional[Any] = _object(data) if data else None
    return lsn, change


def _object(data: str) -> Dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise AnnalError("an event is not JSON", code="invalid_reply") from error
    if not isinstance(value, Mapping):
        raise AnnalError("an event is not a JSON object", code="invalid_reply")
    return dict(value)
