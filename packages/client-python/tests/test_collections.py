from __future__ import annotations

from datetime import datetime, timezone
from typing import Iterator

import pytest

from annal import Annal, Collection, ConflictError, InvalidArgumentError, NotFoundError, filters, rerank
from annal.errors import BadRequestError

FIELDS = [
    {"name": "place", "type": "vector", "params": {"dimension": 2, "space_type": "l2", "precision": "float32"}},
    {"name": "words", "type": "sparse", "sparse_model": "default"},
]


@pytest.fixture()
def numbers(client: Annal) -> Iterator[Collection]:
    client.create_collection("numbers", FIELDS)
    collection = client.get_collection("numbers")
    reports = []
    stored = collection.load(
        (
            {
                "id": f"n{i}",
                "meta": {"i": i},
                "filter": {"parity": "odd" if i % 2 else "even", "value": i},
                "fields": {"place": [i, 1], "words": {"indices": [i, 1000], "values": [1, 0.5]}},
            }
            for i in range(100)
        ),
        batch_size=30,
        on_progress=reports.append,
    )
    assert stored == 100 and reports == [30, 60, 90, 100]
    yield collection
    client.delete_collection("numbers")


def test_a_collection_is_made_listed_described_and_deleted(client: Annal) -> None:
    made = client.create_collection("films", FIELDS)
    assert made["name"] == "films"
    assert "films" in [summary["name"] for summary in client.list_collections()]
    films = client.get_collection("films")
    assert films.fields == films.describe()["fields"]
    with pytest.raises(ConflictError) as taken:
        client.create_collection("films", FIELDS)
    assert taken.value.code == "collection_exists" and taken.value.status == 409
    client.delete_collection("films")
    with pytest.raises(NotFoundError):
        client.get_collection("films")


def test_objects_come_back_as_they_were_given(numbers: Collection) -> None:
    seven, hundred = numbers.get_many(["n7", "nobody", "n99"])
    assert (seven["id"], hundred["id"]) == ("n7", "n99")
    assert seven["meta"] == {"i": 7} and seven["filter"] == {"parity": "odd", "value": 7}
    assert seven["vectors"] == {"place": [7, 1]}
    assert seven["sparses"] == {"words": {"indices": [7, 1000], "values": [1, 0.5]}}
    numbers.upsert([{"id": "bytes", "meta": b"\x01\x02\xfa", "fields": {"place": (1, 2)}}])
    assert numbers.get_many(["bytes"])[0]["meta"] == b"\x01\x02\xfa"
    assert numbers.delete_object("bytes")["deleted"] == "bytes"
    with pytest.raises(NotFoundError):
        numbers.delete_object("bytes")


def test_fields_are_searched_alone_together_and_as_one_list(numbers: Collection) -> None:
    found = numbers.search({"place": {"query": [50, 1], "limit": 3}}, include_vectors=True)
    assert sorted(hit["id"] for hit in found["results"]["place"]) == ["n49", "n50", "n51"]
    best = found["results"]["place"][0]
    assert best["id"] == "n50" and best["similarity"] == 0 and best["vector"] == [50, 1] and best["meta"] == {"i": 50}
    both = numbers.search(
        fields={"place": {"query": [50, 1], "limit": 5}, "words": {"query": {"indices": [50], "values": [2]}}},
        fusion={"method": "rrf"},
    )
    assert both["fused"][0]["id"] == "n50"
    assert rerank(both, limit=2)["results"][0]["id"] == "n50"
    assert [hit["id"] for hit in numbers.search({"place": [3, 1]}, limit=1)["results"]["place"]] == ["n3"]
    even = numbers.search({"place": [50, 1]}, [filters.eq("parity", "odd")], limit=2)
    assert sorted(hit["id"] for hit in even["results"]["place"]) == ["n49", "n51"]


def test_hits_are_grouped(numbers: Collection) -> None:
    found = numbers.search({"place": [50, 1]}, group_by={"key": "parity", "limit": 2, "hits": 2})
    groups = found["groups"]["place"]
    assert [(group["value"], [hit["id"] for hit in group["hits"]]) for group in groups] == [
        ("even", ["n50", "n48"]),
        ("odd", ["n49", "n51"]),
    ]
    assert groups[0]["hits"][0] is found["results"]["place"][0]
    assert groups[0]["hits"][0]["meta"] == {"i": 50}
    fused = numbers.search(
        {"place": [50, 1], "words": {"query": {"indices": [50], "values": [2]}}},
        fusion={"method": "rrf"},
        group_by={"key": "parity", "limit": 1, "hits": 1, "offset": 1},
    )
    assert [[hit["id"] for hit in group["hits"]] for group in fused["fused_groups"]] == [["n49"]]
    assert fused["fused_groups"][0]["hits"][0]["meta"] == {"i": 49}


def test_filters_count_page_replace_and_delete(numbers: Collection) -> None:
    assert numbers.count() == 100
    assert numbers.count([filters.between("value", 10, 19)]) == 10
    assert numbers.count([filters.any_of(filters.eq("value", 1), filters.gte("value", 98))]) == 3
    assert numbers.count([filters.not_(filters.one_of("value", [1, 2]))]) == 98
    ids = [item["id"] for item in numbers.scroll([filters.eq("parity", "odd")], page_size=20)]
    assert len(ids) == len(set(ids)) == 50
    assert numbers.facets("parity")["distinct"] == 2
    assert (
        numbers.update_filters([{"id": "n3", "filter": {"parity": "three"}}, {"id": "no", "filter": {}}])["updated"]
        == 1
    )
    assert numbers.delete_where([])["deleted"] == 0
    assert numbers.delete_where([filters.eq("parity", "three")])["deleted"] == 1


def test_the_graph_is_rebuilt_and_vacuumed(numbers: Collection) -> None:
    numbers.rebuild([{"field": "place", "M": 24}])
    while numbers.rebuild_status()["status"] == "in_progress":
        pass
    assert numbers.describe()["fields"][0]["params"]["M"] == 24
    assert numbers.vacuum()["status"] == "ok"
    assert numbers.neighbors("n5", "place")


def test_old_names_work_and_warn(numbers: Collection) -> None:
    with pytest.warns(DeprecationWarning, match="use get_many"):
        assert numbers.get_objects(["n7"])[0]["id"] == "n7"
    with pytest.warns(DeprecationWarning, match="use delete_where"):
        assert numbers.delete_by_filter([])["deleted"] == 0
    with pytest.warns(DeprecationWarning, match="use neighbors"):
        assert numbers.links("n5", "place")
    with pytest.warns(DeprecationWarning, match="use vacuum"):
        assert numbers.shrink()["status"] == "ok"


def test_several_vectors_per_object(client: Annal) -> None:
    params = {"dimension": 2, "space_type": "cosine", "precision": "float32", "pooling": "mean"}
    client.create_collection("pages", [{"name": "lines", "type": "multi_vector", "params": params}])
    pages = client.get_collection("pages")
    pages.upsert([{"id": "a", "fields": {"lines": [[1, 0], [0, 1]]}}, {"id": "b", "fields": {"lines": [[-1, 0]]}}])
    assert pages.get_many(["a"])[0]["multi_vectors"]["lines"] == [[1, 0], [0, 1]]
    assert pages.search({"lines": {"query": [[1, 0.1]]}})["results"]["lines"][0]["id"] == "a"
    client.delete_collection("pages")


def test_what_is_refused_names_the_field(numbers: Collection) -> None:
    with pytest.raises(BadRequestError) as wide:
        numbers.upsert([{"id": "good", "fields": {"place": [1, 2]}}, {"id": "wide", "fields": {"place": [1, 2, 3]}}])
    assert (wide.value.field, wide.value.value, wide.value.limit) == ("objects[1].fields.place", 3, 2)
    assert numbers.get_many(["good"]) == []
    with pytest.raises(InvalidArgumentError) as nan:
        numbers.upsert([{"id": "nan", "fields": {"place": [1, float("nan")]}}])
    assert nan.value.field == "objects[0].fields.place[1]"
    with pytest.raises(BadRequestError) as words:
        numbers.search({"place": {"query": "text"}})
    assert words.value.field == "fields.place.query"
    with pytest.raises(ValueError):
        numbers.search({"place": {"query": [1, "2"]}})
    with pytest.raises(InvalidArgumentError):
        numbers.upsert([{"id": "meta", "meta": {"x": {1, 2}}, "fields": {"place": [1, 2]}}])
    with pytest.raises(BadRequestError):
        numbers.upsert([{"id": "large", "fields": {"place": [1, 1e300]}}])


def test_numpy_arrays_are_taken_wherever_numbers_are(client: Annal) -> None:
    numpy = pytest.importorskip("numpy")
    client.create_collection("arrays", FIELDS)
    arrays = client.get_collection("arrays")
    matrix = numpy.random.default_rng(7).normal(size=(50, 2)).astype("float32")
    indices = numpy.arange(3, dtype="uint32")
    arrays.upsert(
        [
            {"id": str(i), "fields": {"place": row, "words": {"indices": indices, "values": numpy.ones(3)}}}
            for i, row in enumerate(matrix)
        ]
    )
    hits = arrays.search({"place": {"query": matrix[17], "limit": 1}})["results"]["place"]
    assert hits[0]["id"] == "17"
    assert arrays.get_many(["17"])[0]["vectors"]["place"] == matrix[17].tolist()
    client.delete_collection("arrays")


def test_a_search_states_a_recall(numbers: Collection) -> None:
    calibration = numbers.calibrate("place", sample=20)
    assert calibration["state"] == "current" and calibration["curves"][0]["share"] == 1
    found = numbers.search({"place": [5, 1]}, recall=0.9)
    assert found["recall"]["place"]["target"] == 0.9 and found["recall"]["place"]["calibrated"]
    changed = numbers.update_fields({"place": {"recall": 0.95}})
    assert changed["durable"]
    assert numbers.get_many(["n5"], min_lsn=changed["lsn"])[0]["id"] == "n5"
    assert numbers.search({"place": [5, 1]}, min_lsn=changed["lsn"])["lsn"] == changed["lsn"]
    assert numbers.search({"place": [5, 1]})["recall"]["place"]["target"] == 0.95
    numbers.update_fields({"place": {"recall": None}})
    assert "recall" not in numbers.search({"place": [5, 1]})
    assert [hit["id"] for hit in found["results"]["place"]][:1] == ["n5"]
    assert [one["field"] for one in numbers.calibrations()] == ["place"]
    with pytest.raises(BadRequestError):
        numbers.search({"place": [5, 1]}, recall=0.9, ef_search=64)
    with pytest.raises(BadRequestError):
        numbers.search({"place": [5, 1]}, recall=1.1)


def test_reads_as_of_a_moment(numbers: Collection) -> None:
    lsn = numbers.describe()["lsn"]
    query = {"place": {"query": [3, 1], "limit": 2}}
    found = numbers.search(query, exact=True)["results"]
    numbers.delete_where([filters.lt("value", 50)])
    as_of = {"lsn": lsn}
    assert numbers.count() == 50
    assert numbers.count(as_of=as_of) == 100
    past = numbers.search(query, exact=True, as_of=as_of)
    assert past["results"] == found
    assert [one["id"] for one in numbers.get_many(["n1", "n2"], as_of=as_of)] == ["n1", "n2"]
    assert len(list(numbers.scroll(page_size=33, as_of=as_of))) == 100
    assert numbers.facets("parity", as_of=as_of)["as_of"]["lsn"] == lsn
    with pytest.raises(BadRequestError) as refused:
        numbers.count(as_of={"lsn": lsn + 1_000_000})
    assert refused.value.code == "invalid_argument"


def test_objects_expire(client: Annal) -> None:
    client.create_collection("sessions", FIELDS[:1], ttl_seconds=3600)
    sessions = client.get_collection("sessions")
    assert sessions.describe()["ttl_seconds"] == 3600
    late = datetime(2999, 1, 1, tzinfo=timezone.utc)
    sessions.upsert(
        [
            {"id": "a", "fields": {"place": [1, 2]}, "expires_at": "2020-01-01T00:00:00Z"},
            {"id": "b", "fields": {"place": [1, 3]}, "expires_at": late},
            {"id": "c", "fields": {"place": [1, 4]}, "ttl_seconds": None},
        ]
    )
    found = {item["id"]: item.get("expires_at") for item in sessions.get_many(["a", "b", "c"])}
    assert found == {"b": "2999-01-01T00:00:00.000Z", "c": None}
    sessions.patch([{"id": "b", "expires_at": None}])
    assert "expires_at" not in sessions.get_many(["b"])[0]
    sessions.update_defaults(ttl_seconds=None)
    assert "ttl_seconds" not in sessions.describe()
    client.delete_collection("sessions")


def test_texts_are_written_searched_and_returned(client: Annal) -> None:
    fields = [
        {"name": "body", "type": "text", "params": {"language": "english"}},
        {"name": "place", "type": "vector", "params": {"dimension": 2, "space_type": "l2"}},
    ]
    client.create_collection("notes", fields)
    notes = client.get_collection("notes")
    try:
        texts = {"a": "The quick brown fox", "b": "Slow foxes, the lazy ones", "c": "AAAA"}
        notes.upsert([{"id": id, "fields": {"body": text, "place": [1, i]}} for i, (id, text) in enumerate(texts.items())])
        notes.upsert([{"id": "d", "fields": {"body": "with a condition"}, "if_absent": True}])
        assert {one["id"]: one["texts"]["body"] for one in notes.get_many(list(texts))} == texts
        ids = lambda query: [hit["id"] for hit in notes.search({"body": query})["results"]["body"]]  # noqa: E731
        assert sorted(ids("fox")) == ["a", "b"]
        assert ids({"query": "fox lazy", "operator": "and"}) == ["b"]
        assert ids({"query": {"must": ["fox"], "must_not": [{"phrase": "lazy ones"}]}}) == ["a"]
        assert ids({"query": {"id": "a"}}) == ["b"]
        (hit,) = notes.search({"body": {"query": "condition", "highlight": True}})["results"]["body"]
        assert hit["highlight"]["ranges"] == [[7, 16]]
        both = notes.search({"body": "fox", "place": {"query": [1, 0], "limit": 1}}, fusion={"method": "rrf"})
        assert both["fused"][0]["id"] == "a"
        with pytest.raises(BadRequestError):
            notes.search({"body": {"query": {"must": []}}})
    finally:
        client.delete_collection("notes")
