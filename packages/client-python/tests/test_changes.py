"""The change feed, cursors, differences, and errors of moments, with both clients."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any, List

import pytest
from conftest import Server
from scripted import Reply

import annal
from annal import Annal, FeedPositionLostError, GoneError, MomentUnreachableError, NotFoundError, UnreachableError

FIELDS = [{"name": "place", "type": "vector", "params": {"dimension": 2, "space_type": "l2", "precision": "float32"}}]
COLLECTIONS = ["followed"]


def filled(client: Annal) -> Any:
    client.create_collection("followed", FIELDS)
    followed = client.get_collection("followed")
    lsn = followed.upsert([{"id": "a", "meta": {"n": 1}, "filter": {"n": 1}, "fields": {"place": [1, 2]}}])["lsn"]
    followed.upsert([{"id": "b", "filter": {"n": 2}, "fields": {"place": [3, 4]}}])
    followed.delete_object("a")
    return followed, lsn


def test_changes_are_filtered_and_begin_at_cursors(client: Annal) -> None:
    followed, lsn = filled(client)
    every = list(islice(client.changes(from_lsn=1, collections=COLLECTIONS, include_vectors=True), 4))
    assert [change["kind"] for change in every] == [
        "collection-created",
        "objects-upserted",
        "objects-upserted",
        "objects-deleted",
    ]
    assert every[1]["lsn"] == lsn and every[1]["objects"][0]["fields"] == {"place": [1, 2]}
    assert every[3]["deleted"] == ["a"]
    upserts = client.changes(
        from_lsn=1, collections=COLLECTIONS, kinds=["objects-upserted"], filter=[{"n": {"$gt": 1}}]
    )
    first, second = islice(upserts, 2)
    assert first["left"] == ["a"] and [item["id"] for item in second["objects"]] == ["b"]
    with pytest.raises(NotFoundError):
        next(client.changes(cursor="python"))
    assert client.acknowledge("python", lsn)["durable"] is True
    assert [cursor["lsn"] for cursor in client.list_cursors() if cursor["name"] == "python"] == [lsn]
    assert next(client.changes(cursor="python", collections=COLLECTIONS))["lsn"] == every[2]["lsn"]
    client.delete_cursor("python")
    with pytest.raises(FeedPositionLostError) as lost:
        next(client.changes(from_lsn=10**9))
    assert isinstance(lost.value, GoneError) and lost.value.status == 410
    assert client.cancel_restore() is False
    changes = [(item["id"], item["change"]) for item in followed.diff({"lsn": lsn})]
    assert changes == [("b", "added"), ("a", "removed")]
    assert list(followed.diff({"lsn": lsn}, {"lsn": lsn})) == []
    assert list(followed.diff({"lsn": lsn}, {"time": datetime.now(timezone.utc)})) != []
    assert followed.undo(ids=["a"], as_of={"lsn": lsn}, dry_run=True)["restored"] == 1
    expired = followed.upsert([{"id": "e", "expires_at": "2020-01-01T00:00:00Z", "fields": {"place": [1, 2]}}])["lsn"]
    assert followed.undo(ids=["e"], as_of={"lsn": expired})["restored"] == 0
    assert followed.undo(ids=["e"], as_of={"lsn": expired}, keep_expired=True)["restored"] == 1
    followed.upsert([{"id": "f", "expires_at": "2999-01-01T00:00:00Z", "fields": {"place": [1, 2]}}])
    hits = followed.search({"place": {"query": [1, 2]}})["results"]["place"]
    assert {hit["id"]: hit.get("expires_at") for hit in hits}["f"] == "2999-01-01T00:00:00.000Z"
    assert "expires_at" not in next(hit for hit in hits if hit["id"] == "e")
    assert "expires_at" not in followed.get_many(["e"])[0]
    client.delete_collection("followed")


def test_the_async_client_follows_and_compares(server: Server) -> None:
    async def run() -> None:
        async with annal.AsyncAnnal(base_url=server.address) as client:
            await client.create_collection("followed", FIELDS)
            followed = await client.get_collection("followed")
            lsn = (await followed.upsert([{"id": "a", "fields": {"place": [1, 2]}}]))["lsn"]
            kinds: List[str] = []
            async for change in client.changes(from_lsn=1, collections=COLLECTIONS):
                kinds.append(change["kind"])
                if change["lsn"] == lsn:
                    break
            assert kinds[-2:] == ["collection-created", "objects-upserted"]
            await followed.upsert([{"id": "b", "fields": {"place": [1, 2]}}])
            assert [item["id"] async for item in followed.diff({"lsn": lsn})] == ["b"]
            expired = (await followed.upsert([{"id": "e", "ttl_seconds": 60, "fields": {"place": [1, 2]}}]))["lsn"]
            assert (await followed.undo(ids=["e"], as_of={"lsn": expired}, keep_expired=True))["restored"] == 1
            assert "expires_at" not in (await followed.get_many(["e"]))[0]
            with pytest.raises(FeedPositionLostError):
                await client.changes(from_lsn=10**9).__anext__()
            await client.delete_collection("followed")

    asyncio.run(run())


def test_a_consumer_continues_after_a_restart_of_the_server(tmp_path: Path) -> None:
    first = Server({}, str(tmp_path))
    port = int(first.address.rsplit(":", 1)[1])
    with Annal(base_url=first.address) as client:
        followed, _ = filled(client)
        changes = client.changes(from_lsn=1, collections=COLLECTIONS)
        seen = [change["lsn"] for change in islice(changes, 4)]
        first.process.kill()
        first.process.wait()
        second = Server({}, str(tmp_path), port)
        lsn = followed.upsert([{"id": "c", "fields": {"place": [5, 6]}}])["lsn"]
        assert next(changes)["lsn"] == lsn > seen[-1]
        changes.close()
        assert second.stop() == 0


def test_a_server_that_never_replied_and_a_refusal_are_errors(scripted: Any) -> None:
    with Annal(base_url="http://127.0.0.1:9", retries=0) as client:
        with pytest.raises(UnreachableError):
            next(client.changes())
    gone: Reply = (410, {}, {"error": "out of reach", "code": "moment_unreachable", "reach": {"lsn_first": 7}})
    with Annal(base_url=scripted(gone).url) as client:
        with pytest.raises(MomentUnreachableError) as failure:
            client.list_collections()
        assert failure.value.reach == {"lsn_first": 7}
