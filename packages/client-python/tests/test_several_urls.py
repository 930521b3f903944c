"""A client with several URLs, sync and async. The nodes are real HTTP servers in front of one real server: they answer 421 and 503 as a node
of a cluster does, and forward everything else, so what is written through one is read through another."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Union

import pytest
from conftest import Connect, Server
from faulty_proxy import DROP_REPLY, DROP_REQUEST, PASS, FaultyProxy, Forwarded
from scripted import Reply

import annal.nodes
import annal.retry_budget
from annal import Annal, InvalidArgumentError, ServerError, UnreachableError

FIELDS = [{"name": "plot", "type": "vector", "params": {"dimension": 2, "space_type": "l2", "precision": "float32"}}]
Fate = Union[str, Reply, None]


def film(id: str) -> Any:
    return {"id": id, "filter": {"of": id}, "fields": {"plot": [1, len(id)]}}


def refuse(status: int, code: str, **headers: str) -> Reply:
    return (status, {name.replace("_", "-"): value for name, value in headers.items()}, {"error": code, "code": code})


class FrontNode:
    def __init__(self, target: str) -> None:
        self.proxy = FaultyProxy(target)
        self.applied_lsn: Optional[int] = None
        """The LSN that it claims to have applied; None: everything."""
        self.before: Callable[[Forwarded], Fate] = lambda request: None
        """Takes precedence over what a node does."""
        threading.Thread(target=self.proxy.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return self.proxy.url


class Cluster:
    def __init__(self, target: str) -> None:
        self.nodes = [FrontNode(target) for _ in range(3)]
        self.leader: Optional[FrontNode] = self.nodes[1]
        self._offsets = [0, 0, 0]
        for node in self.nodes:
            node.proxy.fate = lambda request, number, node=node: node.before(request) or self._fate(node, request)
            node.proxy.adds = _lsn_of_write

    @property
    def urls(self) -> List[str]:
        return [node.url for node in self.nodes]

    def seen(self) -> List[List[str]]:
        """The requests to each node since the last call."""
        found = []
        for i, node in enumerate(self.nodes):
            requests = node.proxy.requests[self._offsets[i] :]
            self._offsets[i] += len(requests)
            found.append([f"{one.method} {header(one, 'annal-forward') or 'forward'}" for one in requests])
        return found

    def sent(self) -> List[Forwarded]:
        return [request for node in self.nodes for request in node.proxy.requests]

    def close(self) -> None:
        for node in self.nodes:
            node.proxy.close()

    def _fate(self, node: FrontNode, request: Forwarded) -> Fate:
        is_strong = re.search(r'consistency(=|": ")strong', text(request)) is not None
        if (is_write(request) or is_strong) and node is not self.leader:
            if self.leader is None:
                return refuse(503, "not_leader", Retry_After="0")
            if header(request, "annal-forward") == "never":
                return refuse(421, "not_leader", Annal_Leader=self.leader.url)
            return PASS
        wanted = min_lsn(request)
        is_behind = node.applied_lsn is not None and wanted is not None and wanted > node.applied_lsn
        return refuse(503, "replica_behind") if is_behind else PASS


def header(request: Forwarded, name: str) -> Optional[str]:
    return {key.lower(): value for key, value in request.headers.items()}.get(name)


def text(request: Forwarded) -> str:
    return request.path + request.body.decode("latin-1")


def min_lsn(request: Forwarded) -> Optional[int]:
    found = re.search(r'min_lsn(?:=|": )(\d+)', text(request))
    return int(found.group(1)) if found is not None else None


def is_write(request: Forwarded) -> bool:
    path = request.path.split("?")[0]
    return request.method == "DELETE" or (
        request.method == "POST" and path.endswith(("objects", "filters", "collection"))
    )


def _lsn_of_write(request: Forwarded, content: bytes) -> Dict[str, str]:
    lsn = re.search(rb'"lsn":\s*(\d+)', content)
    return {"Annal-Lsn": lsn.group(1).decode()} if lsn is not None and is_write(request) else {}


@pytest.fixture(autouse=True)
def unmeasured(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Round trips are chance; which node is the nearest is the test of ``nodes.py``."""
    if not request.node.name.startswith("test_nodes_are_measured"):
        monkeypatch.setattr(annal.nodes.Nodes, "due", lambda nodes, now: [])


@pytest.fixture()
def cluster(server: Server) -> Iterator[Cluster]:
    with Annal(base_url=server.address) as direct:
        direct.create_collection("urls", FIELDS)
        running = Cluster(server.address)
        yield running
        running.close()
        direct.delete_collection("urls")


def films_of(connect: Connect, cluster: Cluster, **options: Any) -> Any:
    films = connect(base_url=cluster.urls, **options).get_collection("urls")
    cluster.seen()
    return films


def test_writes_go_to_the_leader_that_a_node_names_and_reads_stay_on_one_node(
    cluster: Cluster, connect: Connect
) -> None:
    films = films_of(connect, cluster)
    films.upsert([film("a")])
    assert cluster.seen() == [["POST never"], ["POST never"], []]
    films.upsert([film("b")])
    assert cluster.seen() == [[], ["POST never"], []]
    assert films.count([{"of": {"$eq": "b"}}]) == 1
    assert [one["id"] for one in films.get_many(["a"])] == ["a"]
    assert cluster.seen() == [["POST forward", "POST forward"], [], []]
    cluster.leader = cluster.nodes[2]
    films.delete_object("a")
    assert cluster.seen() == [[], ["DELETE never"], ["DELETE never"]]


def test_other_nodes_forward_while_the_url_of_the_leader_cannot_be_reached(cluster: Cluster, connect: Connect) -> None:
    films = films_of(connect, cluster)
    films.upsert([film("a")])
    cluster.nodes[1].proxy.close()
    cluster.seen()
    films.upsert([film("b")])
    seen = cluster.seen()
    assert seen[1] == [] and "POST forward" in seen[0] + seen[2]
    assert films.count() == 2
    # A client that never reached the leader, and one that a node names a URL of which nobody listens.
    assert films_of(connect, cluster, retries=1).delete_object("b")


@pytest.mark.parametrize(
    "code",
    ["gone", "hangs-up", "starting", "replica_stale", "replica_behind", "node_out_of_service", "not_leader"],
)
def test_a_read_goes_to_another_node(cluster: Cluster, connect: Connect, code: str) -> None:
    films = films_of(connect, cluster)
    if code == "gone":
        cluster.nodes[0].proxy.close()
    else:
        cluster.nodes[0].before = lambda request: DROP_REQUEST if code == "hangs-up" else refuse(503, code)
    assert films.count() == 0
    seen = cluster.seen()
    assert seen[1:] == [["POST forward"], []]
    assert len(seen[0]) == (0 if code == "gone" else 1)


def test_no_node_is_unreachable_after_the_retries(cluster: Cluster, connect: Connect) -> None:
    films = films_of(connect, cluster, retries=4)
    cluster.close()
    with pytest.raises(UnreachableError):
        films.count()
    cluster.nodes = []


def test_a_node_that_hangs_costs_a_third_of_the_time(cluster: Cluster, connect: Connect) -> None:
    films = films_of(connect, cluster)
    released = threading.Event()
    cluster.nodes[0].before = lambda request: DROP_REQUEST if released.wait(60) else None
    try:
        assert films.count(timeout=6) == 0
    finally:
        released.set()
    assert cluster.seen()[1] == ["POST forward"]


def test_a_call_that_takes_long_by_nature_has_one_node_until_its_deadline(cluster: Cluster, connect: Connect) -> None:
    films = films_of(connect, cluster, timeout=9)
    for node in cluster.nodes:
        # After more than a third of the time.
        node.before = lambda request: time.sleep(3.6)
    assert films.vacuum(timeout=9)["status"] == "ok"
    assert sum(len(requests) for requests in cluster.seen()) == 1


def test_a_client_reads_its_own_writes_on_any_node(cluster: Cluster, connect: Connect) -> None:
    films = films_of(connect, cluster)
    cluster.nodes[0].applied_lsn = 0
    reads: List[Callable[[], Any]] = [
        lambda: films.get_many(["mine"]),
        lambda: films.search({"plot": [1, 4]})["results"]["plot"],
        lambda: films.search({"plot": [1, 4]}, exact=True)["results"]["plot"],
        lambda: films.count(),
        lambda: films.describe(),
        lambda: films.facets("of"),
    ]
    for read in reads:
        lsn = films.upsert([film("mine")])["lsn"]
        cluster.nodes[1].before = lambda request: refuse(503, "replica_stale")
        cluster.seen()
        assert read()
        assert min_lsn(cluster.nodes[2].proxy.requests[-1]) == lsn
        cluster.nodes[1].before = lambda request: None


def test_a_node_that_has_shown_that_it_applied_a_write_is_sent_no_condition(cluster: Cluster, connect: Connect) -> None:
    films = films_of(connect, cluster)
    lsn = films.upsert([film("a")])["lsn"]
    films.count()
    films.count()
    assert [min_lsn(request) for request in cluster.nodes[0].proxy.requests[-2:]] == [lsn, None]
    # What a search has seen is in every later read, too: writes of others.
    with Annal(base_url=cluster.nodes[2].proxy.target) as other:
        newer = other.get_collection("urls").upsert([film("b")])["lsn"]
    assert films.search({"plot": [1, 1]})["lsn"] >= newer
    cluster.nodes[0].before = lambda request: refuse(503, "starting")
    films.count()
    counts = [
        one
        for node in cluster.nodes[1:]
        for one in node.proxy.requests
        if one.path.startswith(films._path + "/objects/count")
    ]
    assert [(min_lsn(one) or 0) >= newer for one in counts] == [True]


def test_read_your_writes_can_be_turned_off(cluster: Cluster, connect: Connect) -> None:
    films = films_of(connect, cluster, read_your_writes=False)
    lsn = films.upsert([film("a")])["lsn"]
    films.count()
    assert all(min_lsn(request) is None for request in cluster.sent())
    films.count(min_lsn=lsn)
    assert min_lsn(cluster.nodes[0].proxy.requests[-1]) == lsn


def test_a_strong_read_goes_to_the_leader(cluster: Cluster, connect: Connect) -> None:
    films = films_of(connect, cluster)
    films.upsert([film("a")])
    cluster.seen()
    assert films.count(consistency="strong") == 1
    assert films.get_many(["a"], consistency="strong", max_staleness_ms=5)
    assert films.search({"plot": [1, 1]}, consistency="strong")["results"]["plot"]
    assert cluster.seen() == [[], ["POST never"] * 3, []]
    count, many, search = cluster.nodes[1].proxy.requests[-3:]
    assert count.path.endswith("/objects/count?consistency=strong")
    assert json.loads(many.body) == {"ids": ["a"], "consistency": "strong", "max_staleness_ms": 5}
    assert b'"consistency": "strong"' in search.body and header(search, "content-type") == "application/octet-stream"


def test_every_read_takes_conditions(cluster: Cluster, connect: Connect) -> None:
    client = connect(base_url=cluster.urls)
    films = client.get_collection("urls")
    films.upsert([film("a"), film("b")])
    client.create_index("urls_index", 2)
    index = client.get_index("urls_index")
    index.upsert([{"id": "a", "vector": [1, 2]}])
    cluster.seen()
    conditions: Any = {"max_staleness_ms": 60_000, "consistency": "local", "min_lsn": 1}
    reads: List[Callable[[], Any]] = [
        lambda: client.list_collections(**conditions),
        lambda: client.get_collection("urls", **conditions),
        lambda: client.list_indexes(**conditions),
        lambda: client.get_index("urls_index", **conditions),
        lambda: films.search({"plot": [1, 1]}, **conditions),
        lambda: films.get_many(["a"], **conditions),
        lambda: films.count(**conditions),
        lambda: films.facets("of", **conditions),
        lambda: films.describe(**conditions),
        lambda: films.neighbors("a", "plot", **conditions),
        lambda: films.calibrate("plot", **conditions),
        lambda: films.calibrations(**conditions),
        lambda: index.query([1, 2], **conditions),
        lambda: index.get_vector("a", **conditions),
        lambda: index.describe(**conditions),
    ]
    for read in reads:
        read()
        sent = cluster.nodes[0].proxy.requests[-1]
        assert all(name in text(sent) for name in conditions), text(sent)
    client.delete_index("urls_index")


def test_a_write_whose_reply_is_lost_runs_once_though_another_node_leads_then(
    cluster: Cluster, connect: Connect
) -> None:
    films = films_of(connect, cluster)
    films.upsert([film("x"), film("y")])

    def drop_once(request: Forwarded) -> Fate:
        if request.method != "DELETE":
            return None
        cluster.leader = cluster.nodes[2]
        cluster.nodes[1].before = lambda request: None
        return DROP_REPLY

    cluster.nodes[1].before = drop_once
    assert films.delete_where([{"of": {"$in": ["x", "y"]}}])["deleted"] == 2
    keys = [request.key for request in cluster.sent() if request.method == "DELETE"]
    assert len(keys) >= 2 and len(set(keys)) == 1 and keys[0] is not None


def test_a_budget_limits_the_retries_of_all_calls(
    scripted: Any, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = [scripted(refuse(503, "overloaded", Retry_After="0")) for _ in range(2)]
    client = connect(base_url=[server.url for server in servers], retries=3)
    monkeypatch.setattr(annal.retry_budget, "_PER_SECOND", 0.0)
    client._transport.peer.budget._retries = 1.0
    for requests in (2, 3):
        with pytest.raises(ServerError):
            client.list_collections()
        assert sum(len(server.requests) for server in servers) == requests


def test_one_url_gets_no_header_and_no_request_about_nodes(server: Server, cluster: Cluster, connect: Connect) -> None:
    proxy = cluster.nodes[1].proxy
    for base_url in (proxy.url, [proxy.url]):
        films = connect(base_url=base_url).get_collection("urls")
        films.upsert([film("a")])
        films.get_many(["a"])
        films.search({"plot": [1, 1]})
    assert len(proxy.requests) == 8
    for request in proxy.requests:
        assert header(request, "annal-forward") is None and min_lsn(request) is None
    assert json.loads(proxy.requests[2].body) == {"ids": ["a"]}


def test_a_list_is_taken_where_one_url_is(cluster: Cluster, connect: Connect) -> None:
    client = connect()
    client.set_base_url([f"{url}/api/v2" for url in cluster.urls])
    assert "urls" in [one["name"] for one in client.list_collections()]
    assert repr(Annal(base_url=["http://a", "http://b/api/v2"])) == "Annal(base_url=['http://a', 'http://b'])"
    assert repr(Annal(base_url="http://a")) == "Annal(base_url='http://a')"
    for wrong in ([], [cluster.urls[0], "nowhere"]):
        with pytest.raises(InvalidArgumentError):
            Annal(base_url=wrong)


def test_nodes_are_measured_without_the_token(scripted: Any, connect: Connect) -> None:
    servers = [scripted((200, {}, {"collections": []})) for _ in range(2)]
    client = connect(token="secret", base_url=[server.url for server in servers])
    until = time.monotonic() + 60
    while time.monotonic() < until:
        client.list_collections()
        measured = [[sent for sent in server.requests if sent[1] == "/api/v2/health"] for server in servers]
        if all(measured):
            break
    assert all(len(requests) == 1 for requests in measured)
    assert not any("authorization" in map(str.lower, sent[2]) for requests in measured for sent in requests)
