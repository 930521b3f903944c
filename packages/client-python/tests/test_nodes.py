"""Which node gets an attempt. Times and round trips are those that the test says."""

from __future__ import annotations

from typing import Any, Optional

from annal import AnnalError, ServerError, UnreachableError
from annal.nodes import Course, Nodes
from annal.retry_budget import RetryBudget

URLS = ["http://a", "http://b", "http://c"]


def not_leader(leader: str) -> AnnalError:
    return AnnalError("not here", code="not_leader", status=421, leader_url=leader)


def url_of(nodes: Nodes, now: float, for_leader: bool = False) -> str:
    return nodes.choose(Course(for_leader), now).node.url


def fail(nodes: Nodes, error: AnnalError, now: float, course: Optional[Course] = None, for_leader: bool = False) -> Any:
    course = Course(for_leader) if course is None else course
    return nodes.failed(nodes.choose(course, now), error, course, now)


def test_reads_go_to_the_nearest_node_and_stay_there() -> None:
    nodes = Nodes(URLS)
    assert url_of(nodes, 0) == "http://a"
    a, b, c = nodes.due(0)
    assert nodes.due(9.9) == [] and len(nodes.due(10)) == 3
    nodes.measured(a, 0.010, 1)
    nodes.measured(b, 0.008, 1)
    assert url_of(nodes, 1) == "http://a", "not faster by 30 %"
    nodes.measured(c, 0.005, 1)
    assert url_of(nodes, 1) == "http://c"
    nodes.measured(c, None, 2)
    assert url_of(nodes, 2) == "http://b"
    assert url_of(nodes, 3.1) == "http://c", "back after a second"
    nodes.measured(a, 0.0001, 3.1)
    nodes.measured(b, 0.00001, 3.1)
    assert url_of(nodes, 3.1) == "http://a", "the difference is too small to move"


def test_a_node_without_a_reply_is_left_alone_for_longer_each_time() -> None:
    nodes = Nodes(URLS[:2])
    a = nodes.all[0]
    nodes.applied(a, 7)
    assert fail(nodes, UnreachableError("gone"), 0)
    assert a.lsn == 0 and nodes.lsn == 7, "it may be another process"
    assert a.away_until == 1 and url_of(nodes, 0.5) == "http://b"
    course = Course(False)
    assert fail(nodes, UnreachableError("gone"), 0.5, course)
    assert not fail(nodes, UnreachableError("gone"), 0.5, course), "no other node is left"
    assert a.away_until == 2.5
    for _ in range(2_000):
        fail(nodes, UnreachableError("gone"), 3)
    assert a.away_until <= 33
    nodes.replied(a)
    assert a.away_until == 0 and a.silences == 0


def test_the_leader_is_followed_and_forgotten() -> None:
    nodes = Nodes(URLS)
    course = Course(True)
    assert nodes.choose(course, 0).names_leader
    assert fail(nodes, not_leader("http://b"), 0, course, for_leader=True)
    assert url_of(nodes, 0, for_leader=True) == "http://b" and url_of(nodes, 0) == "http://a"
    assert fail(nodes, UnreachableError("gone"), 0, for_leader=True)
    visit = nodes.choose(Course(True), 0)
    assert visit.node.url == "http://a" and not visit.names_leader, "others forward meanwhile"
    assert nodes.choose(Course(True), 2.1).names_leader
    fail(nodes, not_leader("http://c"), 3, for_leader=True)
    assert not fail(nodes, ServerError("none", code="not_leader", status=503), 3, for_leader=True)
    assert url_of(nodes, 3, for_leader=True) == "http://a"


def test_nodes_that_name_each_other_forward() -> None:
    nodes = Nodes(URLS[:2])
    course = Course(True)
    for leader in ("http://b", "http://a", "http://b"):
        assert fail(nodes, not_leader(leader), 0, course, for_leader=True)
    assert not nodes.choose(course, 0).names_leader


def test_a_leader_that_nobody_configured_is_used_once_it_has_replied() -> None:
    nodes = Nodes(URLS)
    fail(nodes, not_leader("http://d"), 0, for_leader=True)
    visit = nodes.choose(Course(True), 0)
    assert visit.node.url == "http://a" and not visit.names_leader
    found = nodes.due(0)[-1]
    assert found.url == "http://d"
    nodes.measured(found, None, 0)
    fail(nodes, not_leader("http://d"), 3, for_leader=True)
    assert url_of(nodes, 3, for_leader=True) == "http://a"
    nodes.measured(found, 0.001, 6)
    fail(nodes, not_leader("http://d"), 6, for_leader=True)
    assert url_of(nodes, 6, for_leader=True) == "http://d"


def test_a_reply_does_not_lead_from_https_to_http() -> None:
    nodes = Nodes(["https://a", "https://b"])
    fail(nodes, not_leader("http://d"), 0, for_leader=True)
    assert [node.url for node in nodes.due(0)] == ["https://a", "https://b"]


def test_without_a_leader_a_write_waits_and_tries_another_node_and_a_read_goes_there_at_once() -> None:
    nodes = Nodes(URLS)
    none = ServerError("none", code="not_leader", status=503)
    course = Course(True)
    assert not fail(nodes, none, 0, course)
    assert nodes.choose(course, 0).node.url == "http://b"
    assert fail(nodes, none, 0, Course(False))


def test_a_busy_node_is_not_left() -> None:
    nodes = Nodes(URLS)
    assert not fail(nodes, ServerError("busy", code="overloaded", status=503), 0)
    assert url_of(nodes, 0) == "http://a"
    assert fail(nodes, ServerError("behind", code="replica_behind", status=503), 0)
    assert url_of(nodes, 0) == "http://b"


def test_an_lsn_of_another_log_is_forgotten() -> None:
    nodes = Nodes(URLS)
    nodes.applied(nodes.all[0], 9)
    fail(nodes, ServerError("none", code="lsn_not_reached", status=503, value=8), 0)
    assert nodes.lsn == 9
    fail(nodes, ServerError("none", code="lsn_not_reached", status=503, value=9), 0)
    assert nodes.lsn == 0


def test_a_budget_has_a_reserve_and_grows_with_time_and_successes() -> None:
    budget = RetryBudget(0)
    assert sum(budget.take(0) for _ in range(600)) == 500
    assert sum(budget.take(1) for _ in range(20)) == 10
    for _ in range(8):
        budget.succeeded()
    assert sum(budget.take(1) for _ in range(20)) == 2
