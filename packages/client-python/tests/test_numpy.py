"""NumPy arrays and scalars wherever numbers, ids and filter values are accepted."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from annal import Annal, InvalidArgumentError, encoding, filters
from annal.errors import AnnalError

np = pytest.importorskip("numpy")

FIELDS = [
    {"name": "place", "type": "vector", "params": {"dimension": 3, "space_type": "l2", "precision": "float32"}},
    {"name": "words", "type": "sparse", "sparse_model": "default"},
    {
        "name": "lines",
        "type": "multi_vector",
        "params": {"dimension": 2, "space_type": "l2", "precision": "float32", "pooling": "mean"},
    },
]
DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", ">f4", ">i2"]


@pytest.fixture()
def places(client: Annal) -> Iterator[Any]:
    client.create_collection("arrays", FIELDS)
    yield client.get_collection("arrays")
    client.delete_collection("arrays")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", ["array", "list of scalars", "tuple of scalars"])
def test_numbers_of_every_type_become_python_numbers(dtype: str, form: str) -> None:
    array = np.array([1, 2, 3], dtype=dtype)
    given = {"array": array, "list of scalars": list(array), "tuple of scalars": tuple(array)}[form]
    assert not encoding.is_many(given)
    read = encoding.numbers(given, "vector")
    assert read == [1, 2, 3] and {type(value) for value in read} <= {int, float}
    assert (
        encoding.is_many(np.array([[1, 2]], dtype=dtype))
        and encoding.is_many([array])
        and encoding.is_many([list(array)])
    )


def test_positions_and_ids_are_integers_of_any_kind() -> None:
    for dtype in ("uint8", "int32", "uint32", "int64"):
        assert encoding.positions(np.array([1, 7], dtype=dtype), "indices") == [1, 7]
        assert encoding.positions(list(np.array([1, 7], dtype=dtype)), "indices") == [1, 7]
        assert encoding.identifier(np.array([9], dtype=dtype)[0], "id") == "9"
    assert encoding.identifier(np.str_("a"), "id") == "a"


@pytest.mark.parametrize("wrong", [True, 1.5, None, b"x"])
def test_an_id_that_is_neither_text_nor_an_integer_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        encoding.object_batch([{"id": "a", "fields": {}}, {"id": wrong, "fields": {}}])
    assert refused.value.field == "objects[1].id"


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), True, None, "1"])
def test_what_is_no_finite_number_is_refused_by_its_place(wrong: Any) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        encoding.numbers([1, wrong], "query")
    assert refused.value.field == "query[1]"
    with pytest.raises(InvalidArgumentError):
        encoding.numbers(np.array([1, np.nan], dtype="float32"), "query")


def test_objects_of_arrays_and_scalars_are_stored_searched_and_found(places: Any) -> None:
    places.upsert(
        {
            "id": np.int64(i),
            "meta": {"row": np.int32(i), "weights": np.arange(2), "seen": np.bool_(True)},
            "filter": {"value": np.int64(i), "share": np.float32(0.5), "even": np.bool_(i % 2 == 0)},
            "fields": {
                "place": np.array([i, 1, 0], dtype="float32") if i % 2 else list(np.array([i, 1, 0], dtype="float32")),
                "words": {"indices": np.array([i, 99]), "values": np.array([1, 0.5], dtype="float16")},
                "lines": np.array([[i, 0], [0, 1]], dtype="float32"),
            },
        }
        for i in range(10)
    )
    (three,) = places.get_many([np.int64(3)])
    assert three["id"] == "3" and three["meta"] == {"row": 3, "weights": [0, 1], "seen": True}
    assert three["filter"] == {"value": 3, "share": 0.5, "even": False}
    assert three["vectors"]["place"] == [3, 1, 0] and three["multi_vectors"]["lines"] == [[3, 0], [0, 1]]
    found = places.search(
        {
            "place": {"query": list(np.array([7, 1, 0], dtype="float32")), "limit": np.int64(1)},
            "words": {"query": {"indices": np.array([7]), "values": np.array([1.0])}, "limit": 1},
            "lines": {"query": np.array([[7, 0]]), "limit": 1},
        }
    )
    assert [found["results"][field][0]["id"] for field in ("place", "words", "lines")] == ["7", "7", "7"]
    assert places.count([filters.one_of("value", np.array([1, 2, 3]))]) == 3
    assert places.count([filters.between("value", np.int64(2), np.int64(4))]) == 3
    places.update_filters([{"id": np.int64(3), "filter": {"value": np.int64(33)}}])
    assert places.count([filters.eq("value", np.int64(33))]) == 1
    places.delete_object(np.int64(3))
    assert places.count() == 9


def test_an_index_takes_sparse_arrays(client: Annal) -> None:
    client.create_index("hybrid_arrays", 2, sparse_model="default")
    index = client.get_index("hybrid_arrays")
    index.upsert([{"id": "a", "vector": np.ones(2), "sparse_indices": np.array([4]), "sparse_values": np.array([2.0])}])
    found = index.query(sparse_indices=np.array([4]), sparse_values=np.array([1.0], dtype="float32"), top_k=np.int32(3))
    assert [hit["id"] for hit in found] == ["a"]
    client.delete_index("hybrid_arrays")


def test_a_long_upsert_goes_in_batches(client: Annal, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    client.create_collection("long", [FIELDS[0]])
    collection = client.get_collection("long")
    reply = collection.upsert(({"id": str(i), "fields": {"place": [i, 0, 0]}} for i in range(2_500)), progress=True)
    assert reply["upserted"] == 2_500 and reply["durable"] and collection.count() == 2_500
    assert "2500/2500" in capsys.readouterr().err
    wrong = [{"id": str(i), "fields": {"place": [i, 0, 0] if i < 1_500 else [0]}} for i in range(2_000)]
    with pytest.raises(AnnalError) as failure:
        collection.upsert(wrong)
    assert failure.value.stored == 1_000 and capsys.readouterr().err == ""
    with pytest.raises(InvalidArgumentError) as refused:
        collection.upsert([], batch_size=1_001)
    assert refused.value.limit == 1_000
    client.delete_collection("long")
