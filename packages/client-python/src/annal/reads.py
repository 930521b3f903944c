"""What a read requires of the node that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Dict, Mapping, Optional, Union
from urllib.parse import urlencode

from .errors import InvalidArgumentError
from .types import Consistency


@dataclass(frozen=True)
class Read:
    """A call that any node of a cluster may answer; a call without one is for the leader."""

    consistency: Optional[Consistency] = None
    max_staleness_ms: Optional[int] = None
    min_lsn: Optional[int] = None
    in_body: bool = False
    """The route takes the conditions in its body, others in the query string."""
    has_conditions: bool = True

    @property
    def is_strong(self) -> bool:
        return self.consistency == "strong"

    def members(self, lsn: Optional[int]) -> Dict[str, Any]:
        """The conditions by their names on the wire. ``lsn`` is the newest record that the client has seen, or None."""
        lsns = [one for one in (self.min_lsn, lsn) if one is not None]
        given = {
            "min_lsn": max(lsns) if lsns else None,
            "consistency": self.consistency,
            "max_staleness_ms": self.max_staleness_ms,
        }
        return {name: value for name, value in given.items() if value is not None}

    def path(self, path: str, lsn: Optional[int]) -> str:
        members = {} if self.in_body else self.members(lsn)
        return f"{path}{'&' if '?' in path else '?'}{urlencode(members)}" if members else path


def as_of_members(as_of: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """The keys of a moment of the past, ``{"lsn": 120}`` or ``{"time": ...}`` with a text in the form of RFC 3339 or a datetime; none for the
    present."""
    if as_of is None:
        return {}
    return {"as_of": moment_member(as_of), "wait": WAIT_SECONDS}


def moment_member(moment: Mapping[str, Any]) -> Dict[str, Any]:
    """A moment on the wire: a datetime becomes text."""
    if not isinstance(moment, Mapping):
        raise InvalidArgumentError("a moment is a mapping with lsn or time", field="moment", value=repr(moment))
    time = moment.get("time")
    return {**moment, "time": time.astimezone(timezone.utc).isoformat()} if isinstance(time, datetime) else dict(moment)


def moment_text(moment: Mapping[str, Any], field: str) -> str:
    """A moment in a query string: an LSN or a time."""
    member = moment_member(moment)
    if isinstance(member.get("time"), (int, float)):
        # A number alone would be an LSN.
        member["time"] = datetime.fromtimestamp(member["time"], timezone.utc).isoformat()
    if len(member) != 1 or not {"lsn", "time"}.issuperset(member):
        raise InvalidArgumentError(f"{field} must have either lsn or time", field=field)
    return str(next(iter(member.values())))


WAIT_SECONDS = 5
"""A moment that is not loaded in this time is requested again, so that no proxy ends a long wait."""

OF_NODE = Read(has_conditions=False)
"""A read about the node that answers it."""


def time_text(time: Union[str, datetime, None]) -> Optional[str]:
    """A time in a query string: RFC 3339, or a datetime."""
    return time.astimezone(timezone.utc).isoformat() if isinstance(time, datetime) else time
