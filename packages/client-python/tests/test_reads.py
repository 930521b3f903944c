"""Reads by id, batches of searches, recall, clones, and the events of the log, with both clients."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from conftest import Server

import annal
from annal import Annal, AnnalError, BadRequestError, ConflictError, InvalidArgumentError, NotFoundError, encoding, reads

FIELDS = [{"name": "place", "type": "vector", "params": {"dimension": 2, "space_type": "l2", "precision": "float32"}}]
OBJECTS: Any = [
    {"id": f"n{i}", "meta": {"i": i}, "filter": {"even": i % 2 == 0}, "fields": {"place": [i, 0]}} for i in range(30)
]


def test_get_returns_one_object_or_none(client: Annal) -> None:
    client.create_collection("one", FIELDS)
    one = client.get_collection("one")
    lsn = one.upsert(OBJECTS[:2])["lsn"]
    found = one.get("n1")
    assert found is not None and found["id"] == "n1" and found["lsn"] == lsn and found["meta"] == {"i": 1}
    assert found["vectors"] == {"place": [1, 0]}
    assert one.get("n9") is None
    one.delete_object("n1")
    assert one.get("n1") is None
    then = one.get("n1", as_of={"lsn": lsn})
    assert then is not None and then["meta"] == {"i": 1}
    with pytest.raises(AnnalError) as refused:
        one.get("")
    assert refused.value.field == "ids[0]"
    client.delete_collection("one")


def test_a_batch_of_searches_equals_single_ones(client: Annal) -> None:
    client.create_collection("many", FIELDS)
    many = client.get_collection("many")
    many.upsert(OBJECTS)
    searches: Any = [
        {"fields": {"place": [3, 0]}, "limit": 2},
        {
            "fields": {"place": {"query": [9, 0], "limit": 3}},
            "filter": [{"even": {"$eq": True}}],
            "include_vectors": True,
        },
        {"fields": {"place": {"query": {"id": "n5"}}}, "exact": True, "fusion": {"method": "rrf"}},
    ]
    results = many.search_batch(searches)
    assert results == [many.search(**search) for search in searches]
    hits = results[1]["results"]["place"]
    # Two are equally near.
    assert {hit["id"] for hit in hits[:2]} == {"n8", "n10"}
    assert {hit["vector"][0] for hit in hits[:2]} == {8, 10}
    assert many.search_batch([]) == []
    with pytest.raises(InvalidArgumentError) as refused:
        many.search_batch([searches[0], {"fields": {"place": [1, "x"]}}])
    assert str(refused.value.field).startswith("searches[1].fields.place")
    with pytest.raises(InvalidArgumentError, match="no argument k"):
        many.search_batch([{"fields": {"place": [1, 2]}, "k": 3}])  # type: ignore[typeddict-unknown-key]
    with pytest.raises(InvalidArgumentError):
        many.search_batch([{"limit": 3}])
    with pytest.raises(InvalidArgumentError, match="must be in a mapping"):
        many.search_batch(["fields"])  # type: ignore[list-item]
    lsn = many.describe()["lsn"]
    many.delete_where([{"even": {"$eq": True}}])
    assert len(many.search_batch(searches[:1])[0]["results"]["place"]) == 2
    assert many.search_batch(searches[:2], as_of={"lsn": lsn})[0]["results"] == results[0]["results"]
    client.delete_collection("many")


def test_recall_is_measured(client: Annal) -> None:
    client.create_collection("measured", FIELDS)
    measured = client.get_collection("measured")
    lsn = measured.upsert(OBJECTS)["lsn"]
    report = measured.recall(sample=10, limit=5)
    assert report["field"] == "place" and report["sample"] == 10
    assert report["recall"] == 1 and report["recall_worst"] == 1
    measured.delete_where([{"even": {"$eq": True}}])
    assert measured.recall("place", sample=1000)["sample"] == 15
    assert measured.recall("place", sample=1000, as_of={"lsn": lsn})["sample"] == 30
    with pytest.raises(BadRequestError) as refused:
        measured.recall(sample=1001)
    assert refused.value.field == "sample" and refused.value.limit == 1000
    with pytest.raises(BadRequestError):
        measured.recall("other")
    client.delete_collection("measured")


def test_a_clone_is_independent(client: Annal) -> None:
    client.create_collection("source", FIELDS)
    source = client.get_collection("source")
    source.upsert([*OBJECTS[:3], {**OBJECTS[3], "expires_at": "2020-01-01T00:00:00Z"}])
    made = client.clone_collection("source", "copy")
    assert made["collection"] == "copy" and made["lsn"] > made["content_lsn"]
    copy = client.get_collection("copy")
    assert copy.count() == 3
    copy.delete_object("n0")
    assert (copy.count(), source.count()) == (2, 3)
    client.clone_collection("source", "whole", keep_expired=True)
    assert client.get_collection("whole").count() == 4
    with pytest.raises(ConflictError):
        client.clone_collection("source", "copy")
    with pytest.raises(NotFoundError):
        client.clone_collection("none", "other")
    for name in ("source", "copy", "whole"):
        client.delete_collection(name)


def test_events_and_activity_are_those_of_the_log(client: Annal) -> None:
    begin = datetime.now(timezone.utc) - timedelta(seconds=5)
    client.create_collection("logged", FIELDS)
    logged = client.get_collection("logged")
    lsns = [logged.upsert([OBJECTS[i]])["lsn"] for i in range(4)]
    events = client.events(collection="logged", from_lsn=1)["events"]
    assert [event["lsn"] for event in events[-4:]] == lsns
    assert events[-1]["ids"] == ["n3"] and events[-1]["objects"] == 1
    page = client.events(collection="logged", limit=2)
    assert [event["lsn"] for event in page["events"]] == lsns[2:]
    before = client.events(collection="logged", before_lsn=page["previous"], limit=2)
    assert [event["lsn"] for event in before["events"]] == lsns[:2]
    assert lsns[0] in [event["lsn"] for event in client.events(since=begin, limit=500)["events"]]
    assert client.events(since=begin.isoformat(), limit=1)["events"] != []
    buckets = client.activity(collection="logged", start=begin, buckets=10)["buckets"]
    assert sum(bucket["written"] for bucket in buckets) == 4
    assert client.activity(collection="logged", end=begin)["buckets"] == []
    with pytest.raises(BadRequestError):
        client.events(from_lsn=1, before_lsn=2)
    with pytest.raises(BadRequestError) as refused:
        client.events(limit=501)
    assert refused.value.limit == 500
    client.delete_collection("logged")


def test_the_async_client_has_the_same_calls(server: Server) -> None:
    async def run() -> None:
        async with annal.AsyncAnnal(base_url=server.address) as client:
            await client.create_collection("several", FIELDS)
            several = await client.get_collection("several")
            lsn = (await several.upsert(OBJECTS))["lsn"]
            found = await several.get("n1")
            assert found is not None and found["lsn"] == lsn
            assert len(await several.search_batch([{"fields": {"place": [1, 2]}}])) == 1
            assert (await several.recall(sample=5))["recall"] == 1
            await client.clone_collection("several", "another")
            assert await (await client.get_collection("another")).count() == 30
            assert (await client.events(collection="several"))["events"][-1]["lsn"] == lsn
            assert (await client.activity(collection="several"))["buckets"] != []
            for name in ("several", "another"):
                await client.delete_collection(name)

    asyncio.run(run())


def test_times_have_a_zone_and_are_no_lsns_on_the_wire() -> None:
    assert reads.moment_text({"time": 1_700_000_000}, "from") == "2023-11-14T22:13:20+00:00"
    assert reads.moment_text({"lsn": 5}, "from") == "5"
    naive = datetime(2030, 1, 1)
    sent = encoding.conditions({"expires_at": naive})["expires_at"]
    assert datetime.fromisoformat(sent) == naive.astimezone() and sent.endswith("+00:00")
