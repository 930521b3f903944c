"""What a client with several URLs knows of the nodes behind them, and which node gets an attempt. Reads go to the nearest node and stay
there. Writes go to the leader, or to any node, which forwards them, while the leader's URL cannot be reached. Sends no requests itself.

Times are those of ``time.monotonic()``, in seconds. Threads may share the objects: only ``calls.py`` uses them, and it holds a lock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, List, Optional, Sequence, Set

from .errors import AnnalError

_AWAY_FIRST = 1.0
_AWAY_LONGEST = 30.0
_FORWARD_FOR = 2.0
"""After the leader's URL did not answer, other nodes forward for this long before one has to name the leader again."""
_REDIRECTIONS_MAX = 3
_FASTER_FACTOR = 0.7
_FASTER_SECONDS = 0.001
"""Another node becomes the nearest one if it is faster by this factor and by this time."""
_MEASURE_EVERY = 10.0
_STAYS_HERE = (
    "archive_late",
    "archive_unconfirmed",
    "log_failed",
    "log_overloaded",
    "outcome_unknown",
    "overloaded",
)
"""A node that is too busy is not left alone: the others would be next."""


@dataclass(eq=False)
class Node:
    url: str
    round_trip: float = math.inf
    """Of the last measurement."""
    away_until: float = 0.0
    """No attempt before this time, unless no other node is left. Infinite for a node that another one named, until it has replied."""
    silences: int = 0
    """Attempts without a reply since the last reply."""
    lsn: int = 0
    """The greatest LSN that it has certainly applied."""


@dataclass(frozen=True)
class Visit:
    node: Node
    names_leader: bool
    """The node names the leader instead of forwarding the request."""


@dataclass
class Course:
    """What one call has seen so far."""

    for_leader: bool
    """A write, or a read that needs the leader's reply."""
    tried: Set[Node] = field(default_factory=set)
    redirections: int = 0
    """How often a node named another one as the leader."""


class Nodes:
    def __init__(self, urls: Sequence[str]) -> None:
        """At least one URL, without trailing slashes."""
        self.all: List[Node] = [Node(url) for url in dict.fromkeys(urls)]
        self.lsn = 0
        """The greatest LSN that a reply has named."""
        self._nearest = self.all[0]
        self._leader: Optional[Node] = None
        self._forward_until = -math.inf
        self._measure_at = -math.inf

    def choose(self, course: Course, now: float) -> Visit:
        is_redirected = course.redirections >= _REDIRECTIONS_MAX
        leader = self._leader if course.for_leader else None
        if leader is not None and leader not in course.tried and now >= leader.away_until:
            return Visit(leader, names_leader=not is_redirected)
        names_leader = course.for_leader and now >= self._forward_until and not is_redirected
        return Visit(self._reachable(course.tried, now), names_leader)

    def replied(self, node: Node) -> None:
        node.silences = 0
        node.away_until = 0.0

    def applied(self, node: Node, lsn: int) -> None:
        """The node has applied everything up to this LSN."""
        node.lsn = max(node.lsn, lsn)
        self.lsn = max(self.lsn, lsn)

    def failed(self, visit: Visit, error: AnnalError, course: Course, now: float) -> bool:
        """Takes a failed attempt into account. Returns whether another node may be tried at once."""
        node = visit.node
        if error.code == "lsn_not_reached" and error.value == self.lsn:
            # An LSN of another log: the nodes were restored to an earlier state.
            self.lsn = 0
        if error.status is None:
            return self._is_silent(node, course, now)
        self.replied(node)
        if error.code == "not_leader" or error.status == 421:
            if self._leader is node:
                self._leader = None
            if not visit.names_leader or error.leader_url is None:
                # There is no leader, or this node cannot reach it. A write waits, and then tries another node.
                return self._is_left(node, course) and not course.for_leader
            course.redirections += 1
            self._follow(error.leader_url, node, now)
            return True
        if _is_elsewhere(error):
            node.away_until = now + _AWAY_FIRST
            return self._is_left(node, course)
        return False

    def due(self, now: float) -> "List[Node]":
        """The nodes to measure now: all of them, or none because they were measured a short time ago."""
        if now < self._measure_at:
            return []
        self._measure_at = now + _MEASURE_EVERY
        return list(self.all)

    def measured(self, node: Node, round_trip: Optional[float], now: float) -> None:
        """``round_trip`` is None if there was no reply in time, or the node does not serve."""
        if round_trip is None:
            if node.away_until < now:
                node.away_until = now + _AWAY_FIRST
            return
        self.replied(node)
        node.round_trip = round_trip
        best = min(self._known(), key=_round_trip)
        present = self._nearest.round_trip
        is_faster = (
            present != math.inf
            and best.round_trip < present * _FASTER_FACTOR
            and best.round_trip < present - _FASTER_SECONDS
        )
        if now < self._nearest.away_until or is_faster:
            self._nearest = best

    def _reachable(self, tried: Set[Node], now: float) -> Node:
        known = self._known()
        if all(node in tried for node in known):
            tried.clear()
        left = [node for node in known if node not in tried]
        here = [node for node in left if now >= node.away_until]
        if self._nearest in here:
            return self._nearest
        return min(here, key=_round_trip) if here else min(left, key=lambda node: node.away_until)

    def _known(self) -> "List[Node]":
        """Nodes that a reply named count once they have replied."""
        return [node for node in self.all if node.away_until != math.inf]

    def _is_silent(self, node: Node, course: Course, now: float) -> bool:
        node.away_until = now + min(_AWAY_FIRST * 2.0 ** min(node.silences, 10), _AWAY_LONGEST)
        node.silences += 1
        # It may be another process when it is back.
        node.lsn = 0
        if self._leader is node:
            self._leader = None
            self._forward_until = now + _FORWARD_FOR
        if self._nearest is node:
            here = [one for one in self._known() if now >= one.away_until]
            self._nearest = min(here, key=_round_trip) if here else node
        return self._is_left(node, course)

    def _is_left(self, node: Node, course: Course) -> bool:
        course.tried.add(node)
        return any(one not in course.tried for one in self._known())

    def _follow(self, url: str, source: Node, now: float) -> None:
        """A URL that nobody configured is used after it replied to a measurement. Until then, other nodes forward."""
        leader = next((node for node in self.all if node.url == url), None)
        # The token must not travel in the clear because of a reply.
        if leader is None and (url.startswith("https:") or source.url.startswith("http:")):
            leader = Node(url, away_until=math.inf)
            self.all.append(leader)
            self._measure_at = -math.inf
        if leader is not None and now >= leader.away_until:
            self._leader = leader
        else:
            self._forward_until = now + _FORWARD_FOR


def lsn_of(result: Any) -> int:
    """Results of searches and of pages name the record that they are as of."""
    lsn = result.get("lsn") if isinstance(result, dict) else None
    return lsn if isinstance(lsn, int) else 0


def _round_trip(node: Node) -> float:
    return node.round_trip


def _is_elsewhere(error: AnnalError) -> bool:
    """Whether another node may answer at once."""
    return error.status in (502, 504) or (error.status == 503 and error.code not in _STAYS_HERE)
