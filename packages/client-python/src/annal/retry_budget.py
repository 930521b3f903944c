"""A limit on the retries of all calls of a client together. When many calls fail at once, their retries are load in addition to the calls;
without a limit, servers that come back are busy with retries."""

from __future__ import annotations

_RESERVE_MAX = 500.0
"""Retries in reserve: a failover of a few seconds under hundreds of concurrent calls."""
_PER_SUCCESS = 0.25
"""Each call that succeeds allows this many retries."""
_PER_SECOND = 10.0
"""Allowed in addition, so that a client with few calls can retry each."""


class RetryBudget:
    """Times are those of ``time.monotonic()``."""

    def __init__(self, now: float) -> None:
        self._retries = _RESERVE_MAX
        self._at = now

    def take(self, now: float) -> bool:
        """False if no retry is left."""
        self._add((now - self._at) * _PER_SECOND)
        self._at = now
        if self._retries < 1:
            return False
        self._retries -= 1
        return True

    def succeeded(self) -> None:
        self._add(_PER_SUCCESS)

    def _add(self, retries: float) -> None:
        self._retries = min(_RESERVE_MAX, self._retries + retries)
