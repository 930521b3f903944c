"""Calls of a client from the first attempt to the reply: which server gets an attempt, what it is sent, and whether there is another one.
Both transports run these calls; this module does no I/O and never waits."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .errors import AnnalError, DeadlineError, UnreachableError
from .exchange import (
    ALWAYS,
    LOADING_WAIT,
    NEVER,
    VECTOR_BODY,
    Address,
    Reply,
    Repetition,
    RequestKey,
    json_body,
    names_request_keys,
    repetition,
    too_late,
    vector_body,
)
from .nodes import Course, Node, Nodes, Visit, lsn_of
from .reads import OF_NODE, Read
from .retry_budget import RetryBudget

_RETRIES = 3
_RETRIES_OF_CLUSTER = 10


class Peer:
    """The server of a client, or the nodes of a cluster, and what the client has learned about them. Threads may share it."""

    def __init__(
        self,
        base_url: Union[str, Sequence[str]],
        token: Optional[str],
        timeout: float,
        retries: Optional[int],
        read_your_writes: bool,
        actor: Optional[str] = None,
    ) -> None:
        self.address = Address(base_url, token, actor)
        self.timeout = timeout
        self.read_your_writes = read_your_writes
        self.accepts_bytes = True
        self.keeps_keys: Optional[bool] = None
        self.lock = threading.Lock()
        self._retries = retries
        self._use_roots()

    def set_base_url(self, url: Union[str, Sequence[str]]) -> None:
        self.address.set_base_url(url)
        self._use_roots()

    def _use_roots(self) -> None:
        self.nodes = Nodes(self.address.roots)
        is_cluster = len(self.nodes.all) > 1
        # Calls of a client of one URL are limited by ``retries`` only.
        self.budget = RetryBudget(time.monotonic()) if is_cluster else None
        fallback = _RETRIES_OF_CLUSTER if is_cluster else _RETRIES
        self.retries = fallback if self._retries is None else self._retries

    def json(
        self,
        method: str,
        path: str,
        body: Any,
        *,
        retry: str,
        key: Optional[RequestKey] = None,
        read: Optional[Read] = None,
        timeout: Optional[float] = None,
        takes_long: bool = False,
    ) -> "Call":
        """A call that sends JSON, if there is a body."""
        if body is None:
            return Call(self, method, path, retry=retry, key=key, read=read, timeout=timeout, takes_long=takes_long)

        def encode(members: Dict[str, Any]) -> bytes:
            return json_body({**body, **members})

        data = encode if read is not None and read.in_body else json_body(body)
        return Call(
            self,
            method,
            path,
            data,
            content_type="application/json",
            retry=retry,
            key=key,
            read=read,
            timeout=timeout,
            takes_long=takes_long,
        )

    def compact_search(self, path: str, body: Any, read: Read, timeout: Optional[float]) -> "Optional[Call]":
        """A search with its vector as bytes. None if the search has no such form, or the server is of an earlier version."""
        first = vector_body(body) if self.accepts_bytes else None
        if first is None:
            return None

        def encode(members: Dict[str, Any]) -> Optional[bytes]:
            return vector_body({**body, **members}) if members else first

        data = encode if read.in_body else first
        return Call(self, "POST", path, data, content_type=VECTOR_BODY, retry=ALWAYS, read=read, timeout=timeout)

    def info(self, deadline: float) -> "Call":
        """What a server is read for before the first repetition that depends on request keys."""
        return Call(self, "GET", "/api/v2/info", retry=ALWAYS, read=OF_NODE, timeout=deadline - time.monotonic())

    def learned(self, info: Reply) -> bool:
        self.keeps_keys = names_request_keys(info.json())
        return self.keeps_keys

    def due(self) -> List[Node]:
        """The nodes whose round trip is to be measured now, next to a call: a GET of ``/api/v2/health`` without the token."""
        if self.budget is None:
            return []
        with self.lock:
            return self.nodes.due(time.monotonic())

    def measured(self, node: Node, round_trip: Optional[float]) -> None:
        with self.lock:
            self.nodes.measured(node, round_trip, time.monotonic())


@dataclass(frozen=True)
class Attempt:
    visit: Visit
    method: str
    url: str
    data: Any
    headers: Dict[str, str]
    deadline: float
    """When this attempt ends, in the time of ``time.monotonic()``."""
    seconds: float
    """The time limit that an error names."""
    is_limited: bool
    """It ends before the call does, because another node may reply."""
    lsn: int
    """The newest record that the client has seen, if the node was sent it; otherwise 0."""

    @property
    def root(self) -> str:
        return self.visit.node.url

    @property
    def seconds_left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.001)

    def too_late(self, cause: BaseException, *, connecting: bool = False) -> AnnalError:
        late: DeadlineError = too_late(self.root, self.seconds, cause, connecting=connecting)
        if not self.is_limited:
            return late
        silent = UnreachableError(str(late), refused=connecting)
        silent.__cause__ = cause
        return silent


class Call:
    def __init__(
        self,
        peer: Peer,
        method: str,
        path: str,
        data: Any = None,
        *,
        content_type: Optional[str] = None,
        accept: str = "application/json",
        retry: str,
        key: Optional[RequestKey] = None,
        read: Optional[Read] = None,
        timeout: Optional[float] = None,
        once: bool = False,
        takes_long: bool = False,
    ) -> None:
        """``data`` is bytes, chunks, or for a read with conditions ``in_body`` a function that encodes a body with them. ``once``: the
        chunks can be read once, so every node forwards them. ``takes_long``: by nature, so a node that has not replied is not given up
        before the deadline."""
        self._peer, self._nodes, self._budget = peer, peer.nodes, peer.budget
        self._method, self._path, self._data = method, path, data
        self._content_type, self._accept, self._retry, self._read = content_type, accept, retry, read
        self._key = None if key is None else key.value(peer.retries)
        self.seconds = peer.timeout if timeout is None else timeout
        now = time.monotonic()
        self.deadline = now + self.seconds
        self._once = once
        # A node that does not reply leaves time for two others.
        may_repeat = retry == ALWAYS or (retry != NEVER and self._key is not None)
        is_short = not takes_long and self.seconds <= peer.timeout
        self._attempt_seconds = self.seconds / 3 if self._budget is not None and may_repeat and is_short else None
        self._course = Course(for_leader=read is None or read.is_strong)
        self._attempts = 0
        self._lsn = 0
        self._node: Optional[Node] = None

    def attempt(self) -> Attempt:
        """The next attempt."""
        now = time.monotonic()
        visit, lsn = self._choose(now)
        data, path = self._data, self._path
        if self._read is not None and self._read.has_conditions:
            path = self._read.path(path, lsn or None)
            data = data(self._read.members(lsn or None)) if callable(data) else data
        headers = self._peer.address.headers(self._accept, self._content_type, self._key)
        if visit.names_leader:
            headers["Annal-Forward"] = "never"
        limit = None if self._attempt_seconds is None else now + self._attempt_seconds
        is_limited = limit is not None and limit < self.deadline
        return Attempt(
            visit,
            self._method,
            visit.node.url + path,
            data,
            headers,
            deadline=limit if limit is not None and is_limited else self.deadline,
            seconds=self._attempt_seconds if self._attempt_seconds is not None and is_limited else self.seconds,
            is_limited=is_limited,
            lsn=lsn,
        )

    def _choose(self, now: float) -> "tuple[Visit, int]":
        read = self._read
        if self._budget is None:
            return Visit(self._nodes.all[0], names_leader=False), 0
        with self._peer.lock:
            visit = self._nodes.choose(self._course, now)
            if self._once:
                visit = Visit(visit.node, names_leader=False)
            is_behind = visit.node.lsn < self._nodes.lsn
            tracks = self._peer.read_your_writes and read is not None and read.has_conditions and not read.is_strong
            return visit, self._nodes.lsn if is_behind and tracks else 0

    def succeeded(self, attempt: Attempt, headers: Mapping[str, str]) -> None:
        if self._budget is None:
            return
        lsn = headers.get("Annal-Lsn", "")
        with self._peer.lock:
            self._budget.succeeded()
            self._nodes.replied(attempt.visit.node)
            if lsn.isdigit() and not attempt.visit.names_leader:
                # A node that forwarded the write may not have applied it yet.
                self._nodes.lsn = max(self._nodes.lsn, int(lsn))
            elif lsn.isdigit():
                self._nodes.applied(attempt.visit.node, int(lsn))
        self._node, self._lsn = attempt.visit.node, attempt.lsn

    def result(self, reply: Reply) -> Any:
        """The JSON of the reply to the attempt that succeeded."""
        value = reply.json()
        if self._node is not None and self._read is not None and self._read.has_conditions:
            with self._peer.lock:
                self._nodes.applied(self._node, max(self._lsn, lsn_of(value)))
        return value

    def failed(self, attempt: Attempt, error: AnnalError) -> Optional[Repetition]:
        """When the call may be sent again; None if it may not."""
        now = time.monotonic()
        if error.code == "moment_loading":
            # No failure of the node: the same request succeeds when the moment is loaded.
            return Repetition(LOADING_WAIT, needs_keys=False) if now + LOADING_WAIT < self.deadline else None
        is_elsewhere = False
        if self._budget is not None and not isinstance(error, DeadlineError):
            with self._peer.lock:
                is_elsewhere = self._nodes.failed(attempt.visit, error, self._course, now)
            if error.status == 421 and is_elsewhere and now < self.deadline:
                # Nothing was done but to name the leader.
                return Repetition(0.0, needs_keys=False)
        again = repetition(
            *(error, self._retry, self._key, self._attempts, self._peer.retries, self.deadline - now),
            elsewhere=is_elsewhere,
        )
        if again is None or not self._may_retry(now):
            return None
        self._attempts += 1
        return again

    def _may_retry(self, now: float) -> bool:
        if self._budget is None:
            return True
        with self._peer.lock:
            return self._budget.take(now)
