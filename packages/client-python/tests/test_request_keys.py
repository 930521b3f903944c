"""Request keys: the client repeats a write after an ambiguous failure, and the server runs it once. Both clients."""

from __future__ import annotations

import inspect
import json
import tempfile
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest
from conftest import Connect, Server
from faulty_proxy import DROP_REPLY, DROP_REQUEST, PASS, FaultyProxy, Forwarded
from scripted import Reply

import annal
from annal import (
    Annal,
    AnnalError,
    ConflictError,
    InvalidArgumentError,
    RequestKeyReusedError,
    ServerError,
    UnreachableError,
)

FIELDS = [{"name": "place", "type": "vector", "params": {"dimension": 2, "space_type": "l2", "precision": "float32"}}]
HANG_UP: Reply = (0, {}, None)
MODERN: Reply = (200, {}, {"version": "2", "request_keys": {"max": 1, "hours": 1}})
EARLY: Reply = (200, {}, {"version": "1"})
UNKNOWN: Reply = (503, {}, {"error": "the log did not answer", "code": "outcome_unknown"})
IN_USE: Reply = (409, {}, {"error": "running", "code": "request_key_in_use"})
DELETED: Reply = (200, {}, {"deleted": 3, "lsn": 7, "durable": True})
SUMMARY = {"name": "c", "fields": []}
FILTER = [{"a": {"$eq": 1}}]


@pytest.fixture()
def proxy(server: Server) -> Iterator[FaultyProxy]:
    running = FaultyProxy(server.address)
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


def keys_of(server: Any) -> List[Optional[str]]:
    return [headers.get("Idempotency-Key", headers.get("idempotency-key")) for _, _, headers in server.requests]


def test_all_attempts_of_a_write_have_one_key(scripted: Any, connect: Connect) -> None:
    server = scripted((200, {}, SUMMARY), HANG_UP, (502, {}, {}), (200, {}, {"upserted": 1}))
    places = connect(base_url=server.url).get_collection("c")
    places.upsert([{"id": "a", "fields": {"place": [1, 2]}}])
    places.upsert([{"id": "a", "fields": {"place": [1, 2]}}])
    read, first, second, third, other = keys_of(server)
    assert read is None and first is not None and len(first) == 32
    assert first == second == third and other not in (first, None)


@pytest.mark.parametrize("ambiguous", [HANG_UP, (502, {}, {}), (504, {}, {}), UNKNOWN])
def test_a_write_that_must_not_run_twice_is_repeated_if_the_server_keeps_keys(
    scripted: Any, connect: Connect, ambiguous: Reply
) -> None:
    server = scripted((200, {}, SUMMARY), ambiguous, MODERN, DELETED, ambiguous, DELETED)
    places = connect(base_url=server.url).get_collection("c")
    assert places.delete_where(FILTER)["deleted"] == 3
    assert places.delete_where(FILTER)["deleted"] == 3
    assert [method for method, _, _ in server.requests] == ["GET", "DELETE", "GET", "DELETE", "DELETE", "DELETE"]
    assert server.requests[2][1] == "/api/v2/info"
    _, first, _, second, third, fourth = keys_of(server)
    assert first == second and third == fourth and first != third


def test_a_server_of_an_earlier_version_is_sent_the_write_once(scripted: Any, connect: Connect) -> None:
    server = scripted((200, {}, SUMMARY), HANG_UP, EARLY, HANG_UP)
    places = connect(base_url=server.url).get_collection("c")
    for _ in range(2):
        with pytest.raises(UnreachableError):
            places.delete_where(FILTER)
    assert [method for method, _, _ in server.requests] == ["GET", "DELETE", "GET", "DELETE"]


def test_a_write_is_not_repeated_if_its_server_does_not_say_whether_it_keeps_keys(
    scripted: Any, connect: Connect
) -> None:
    server = scripted((200, {}, SUMMARY), UNKNOWN, (401, {}, {"error": "no", "code": "invalid_token"}))
    with pytest.raises(ServerError) as failure:
        connect(base_url=server.url).get_collection("c").delete_where(FILTER)
    assert failure.value.code == "outcome_unknown" and len(server.requests) == 3


def test_a_write_waits_for_an_earlier_attempt_that_is_still_running(scripted: Any, connect: Connect) -> None:
    server = scripted((200, {}, SUMMARY), HANG_UP, MODERN, IN_USE, DELETED)
    assert connect(base_url=server.url).get_collection("c").delete_where(FILTER)["deleted"] == 3
    busy = scripted((200, {}, SUMMARY), IN_USE)
    with pytest.raises(ConflictError) as failure:
        connect(base_url=busy.url, retries=1).get_collection("c").delete_where(FILTER)
    assert failure.value.retryable and len(busy.requests) == 3


def test_a_caller_passes_a_key_also_to_each_batch(scripted: Any, connect: Connect) -> None:
    server = scripted((200, {}, SUMMARY), (200, {}, {"upserted": 1}))
    places = connect(base_url=server.url, retries=0).get_collection("c")
    records = [{"id": str(i), "fields": {"place": [i, 1]}} for i in range(5)]
    places.upsert(records[:1], idempotency_key="one")
    places.upsert(records, batch_size=2, idempotency_key="many")
    places.load(records, batch_size=2, concurrency=1, idempotency_key="load")
    places.upsert(records)
    expected = [None, "one", "many", "many.1", "many.2", "load", "load.1", "load.2", None]
    assert keys_of(server) == expected, "without retries, the client chooses none"
    for wrong in ("", "with space", "line\n", "é", "x" * 256):
        with pytest.raises(InvalidArgumentError) as failure:
            places.delete_object("a", idempotency_key=wrong)
        assert failure.value.field == "idempotency_key"
    assert len(server.requests) == 9


def test_a_client_names_who_acts(scripted: Any, connect: Connect) -> None:
    server = scripted((200, {}, SUMMARY), (502, {}, {}), (200, {}, {"upserted": 1}))
    client = connect(base_url=server.url, actor="importer")
    places = client.get_collection("c")
    places.upsert([{"id": "a", "fields": {"place": [1, 1]}}])
    client.set_actor(None)
    places.upsert([{"id": "a", "fields": {"place": [1, 1]}}])
    client.set_actor("agent 7")
    places.delete_object("a")
    actors = [headers.get("X-Annal-Actor") for _, _, headers in server.requests]
    assert actors == ["importer", "importer", "importer", None, "agent 7"]
    for wrong in ("", " a", "é", "a\n", "x" * 129, 7):
        with pytest.raises(InvalidArgumentError) as failure:
            client.set_actor(wrong)  # type: ignore[arg-type]
        assert failure.value.field == "actor" and failure.value.limit == 128


def test_calls_whose_routes_take_no_keys_send_none(scripted: Any, connect: Connect) -> None:
    server = scripted((200, {}, {**SUMMARY, "db_token": "x:y", "count": 0}))
    client = connect(base_url=server.url)
    places = client.get_collection("c")
    places.create_backup("b")
    places.count()
    client.create_my_token("website")
    client.create_database("music")
    client.delete_backup("b")
    assert keys_of(server) == [None] * 6


def test_reads_state_their_conditions(scripted: Any, connect: Connect) -> None:
    server = scripted((200, {}, SUMMARY), (200, {}, {"objects": []}), (200, {}, {"results": {}}))
    places = connect(base_url=server.url).get_collection("c")
    places.get_many(["a"], min_lsn=7, consistency="strong", max_staleness_ms=5)
    assert json.loads(server.bodies[1]) == {"ids": ["a"], "min_lsn": 7, "consistency": "strong", "max_staleness_ms": 5}
    places.search({"place": [1, 2]}, consistency="local", max_staleness_ms=0)
    assert b'"consistency": "local", "max_staleness_ms": 0' in server.bodies[2]


def test_each_kind_of_write_runs_once_if_its_reply_is_lost(
    server: Server, proxy: FaultyProxy, connect: Connect, request: Any
) -> None:
    name = "keys_" + request.node.callspec.params["connect"]
    seen: Dict[Optional[str], int] = {None: 1}

    def fate(request: Forwarded, number: int) -> str:
        seen[request.key] = seen.get(request.key, 0) + 1
        return DROP_REPLY if seen[request.key] == 1 else PASS

    proxy.fate = fate
    client = connect(base_url=proxy.url)
    with Annal(base_url=server.address) as direct:
        get = direct._transport.json

        def written() -> int:
            return sum(
                str(event.get("collection", "")).startswith(name)
                for event in get("GET", "/api/v2/log/events?limit=500", retry="always")["events"]
            )

        records = [{"id": id, "filter": {"of": id}, "fields": {"place": [1, 2]}} for id in "abc"]
        client.create_collection(name, FIELDS)
        places = client.get_collection(name)
        writes: List[Callable[[], Any]] = [
            lambda: places.upsert(records)["upserted"] == 3,
            lambda: places.update_filters([{"id": "a", "filter": {"of": "x"}}])["updated"] == 1,
            lambda: places.delete_object("b")["deleted"] == "b",
            lambda: places.delete_where([{"of": {"$eq": "x"}}])["deleted"] == 1,
            lambda: client.create_index(name + "_index", 2) is not None,
            lambda: client.get_index(name + "_index").upsert([{"id": "a", "vector": [1, 2]}]) is not None,
            lambda: "deleted" in client.get_index(name + "_index").delete_vector("a"),
            lambda: client.delete_index(name + "_index") is not None,
        ]
        for write in writes:
            before = written()
            assert write(), inspect.getsource(write)
            assert written() == before + 1, inspect.getsource(write)
        assert len(seen) == len(writes) + 2 and direct.get_collection(name).count() == 1
        client.delete_collection(name)


def test_a_key_that_was_used_for_another_write_is_a_typed_error(server: Server, connect: Connect, request: Any) -> None:
    name = "reused_" + request.node.callspec.params["connect"]
    client = connect(base_url=server.address)
    client.create_collection(name, FIELDS)
    places = client.get_collection(name)
    first = places.upsert([{"id": "n", "fields": {"place": [1, 2]}}], idempotency_key=name)
    places.delete_object("n")
    assert places.upsert([{"id": "n", "fields": {"place": [1, 2]}}], idempotency_key=name) == first
    assert places.get_many(["n"]) == [], "the repetition changed nothing"
    with pytest.raises(RequestKeyReusedError) as failure:
        places.upsert([{"id": "o", "fields": {"place": [1, 2]}}], idempotency_key=name)
    assert failure.value.code == "request_key_reused" and failure.value.status == 422 and not failure.value.retryable
    client.delete_collection(name)


def test_a_server_that_is_killed_around_a_write_has_written_once(connect: Connect) -> None:
    with tempfile.TemporaryDirectory(prefix="annal-python-test-") as data_dir:
        running = [Server({}, data_dir)]
        proxy = FaultyProxy(running[0].address)
        threading.Thread(target=proxy.serve_forever, args=(0.01,), daemon=True).start()

        def replace(_: Any = None) -> None:
            running[-1].process.kill()
            running[-1].stop()
            running.append(Server({}, data_dir))
            proxy.target = running[-1].address

        try:
            client = connect(base_url=proxy.url, retries=50, timeout=240)
            client.create_collection("c", FIELDS)
            places = client.get_collection("c")
            for id in "ab":
                places.upsert([{"id": id, "filter": {"of": id}, "fields": {"place": [1, 2]}}])
            for id, lost in (("a", DROP_REQUEST), ("b", DROP_REPLY)):
                deaths: List[str] = []

                def fate(request: Forwarded, number: int) -> str:
                    if request.method != "DELETE" or deaths:
                        return PASS
                    deaths.append(lost)
                    if lost == DROP_REQUEST:
                        replace()
                    return lost

                proxy.fate = fate
                proxy.after_reply = replace
                assert places.delete_where([{"of": {"$eq": id}}])["deleted"] == 1
                assert deaths == [lost]
            with Annal(base_url=running[-1].address) as direct:
                events = direct._transport.json("GET", "/api/v2/log/events?collection=c", retry="always")["events"]
                assert [event["type"] for event in events].count("objects-deleted") == 2
                assert direct.get_collection("c").count() == 0
        finally:
            proxy.shutdown()
            proxy.server_close()
            running[-1].stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_call_with_a_key_is_one_whose_route_takes_keys(enterprise: Server, scripted: Any) -> None:
    """Compares the calls of the client with the description of the server."""
    import re
    import urllib.request

    from conftest import ROOT_TOKEN

    request = urllib.request.Request(
        f"{enterprise.address}/api/v2/openapi.json", headers={"Authorization": f"Bearer {ROOT_TOKEN}"}
    )
    with urllib.request.urlopen(request) as reply:
        paths = json.load(reply)["paths"]

    def takes_key(method: str, target: str) -> bool:
        path = target.split("?")[0]
        found = [
            template
            for template, operations in paths.items()
            if method.lower() in operations and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path)
        ]
        assert found, f"{method} {path} is not described"
        parameters = paths[min(found, key=lambda template: template.count("{"))][method.lower()].get("parameters", [])
        return any(parameter["name"] == "Idempotency-Key" for parameter in parameters)

    info = {"dimension": 2, "space_type": "l2", "precision": "int8"}
    server = scripted((400, {}, {"error": "recorded", "code": "recorded"}))
    client = Annal(base_url=server.url)
    owners = [client, annal.Collection(client._transport, SUMMARY), annal.Index(client._transport, "i", info)]
    given = {"fields": {}, "objects": [], "records": [], "dimension": 2, "vector": [1, 2], "filter": [], "updates": []}
    given["as_of"] = given["start"] = {"lsn": 1}
    given["searches"] = []
    skipped = {"close", "set_base_url", "set_token", "set_actor", "download_backup", "upload_backup", "load", "retryable"}
    calls = 0
    for owner in owners:
        for name, call in inspect.getmembers(owner, inspect.ismethod):
            if name.startswith("_") or name in skipped:
                continue
            required = [p for p in inspect.signature(call).parameters.values() if p.default is p.empty]
            by_name = {p.name: given.get(p.name, "x") for p in required if p.kind is p.KEYWORD_ONLY}
            with pytest.raises(AnnalError):
                done = call(*(given.get(p.name, "x") for p in required if p.kind is not p.KEYWORD_ONLY), **by_name)
                if inspect.isgenerator(done):
                    next(done)
            calls += 1
    checked = 0
    for (method, path, _), key in zip(server.requests, keys_of(server)):
        assert (key is not None) == takes_key(method, path), f"{method} {path}"
        checked += key is not None
    assert checked > 20 and len(server.requests) >= calls
