from __future__ import annotations

import math
import struct
from typing import Sequence

import pytest

from annal import Annal, NotFoundError, Precision
from annal.errors import BadRequestError


@pytest.mark.parametrize("space_type", ["cosine", "l2", "ip"])
def test_vectors_come_back_as_they_were_given(client: Annal, space_type: str) -> None:
    name = f"films_{space_type}"
    assert client.create_index(name, 3, space_type) == "Index created successfully"
    index = client.get_index(name)
    index.upsert(
        [
            {"id": "alien", "vector": [3, 0, 4], "meta": {"title": "Alien"}, "filter": {"year": 1979}},
            {"id": "é/ü", "vector": [0, 2, 0], "meta": b"\x00\x01"},
        ]
    )
    stored = index.get_vector("alien")
    assert stored["meta"] == {"title": "Alien"} and stored["filter"] == {"year": 1979}
    assert stored["vector"] == [3, 0, 4] and stored["norm"] == 5
    assert index.get_vector("é/ü")["meta"] == b"\x00\x01"
    best = index.query([6, 0, 8], top_k=1, include_vectors=True)[0]
    assert best["id"] == "alien" and best["vector"] == [3, 0, 4]
    assert best["similarity"] == pytest.approx({"cosine": 1, "l2": -25, "ip": 50}[space_type], abs=1)
    assert index.delete_vector("é/ü") == "Vector deleted successfully"
    with pytest.raises(NotFoundError):
        index.get_vector("é/ü")
    assert client.delete_index(name) == f"Index {name} deleted successfully"


@pytest.mark.parametrize("space_type", ["cosine", "l2", "ip"])
@pytest.mark.parametrize("precision", [each for each in Precision if each not in (Precision.INT4, Precision.INT2)])
def test_vectors_of_any_length_come_back_bit_for_bit(client: Annal, space_type: str, precision: Precision) -> None:
    name = f"bits_{space_type}_{precision.value}"
    client.create_index(name, 4, space_type, precision=precision)
    index = client.get_index(name)
    vectors = {str(n): [math.sin(n + i) * 10 ** (n % 7 - 3) for i in range(3)] + [-0.0] for n in range(600)}
    index.upsert({"id": id, "vector": vector} for id, vector in vectors.items())
    for id in ("0", "3", "417", "599"):
        assert bits(index.get_vector(id)["vector"]) == bits(vectors[id])
    for hit in index.query(vectors["417"], top_k=20, include_vectors=True):
        assert bits(hit["vector"]) == bits(vectors[hit["id"]])
    client.delete_index(name)


@pytest.mark.parametrize("precision", [Precision.INT4, Precision.INT2])
def test_an_index_refuses_the_precisions_of_collections(client: Annal, precision: Precision) -> None:
    with pytest.raises(BadRequestError, match="precision must be one of"):
        client.create_index("coarse", 4, precision=precision)


def bits(vector: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(vector)}f", *vector)


def test_an_index_may_keep_no_originals(client: Annal) -> None:
    client.create_index("cheap", 2, precision=Precision.FLOAT32, keep_originals=False)
    index = client.get_index("cheap")
    assert index.describe()["keep_originals"] is False
    index.upsert([{"id": "a", "vector": [3, 4]}])
    assert index.get_vector("a")["vector"] == pytest.approx([3, 4], rel=1e-6)
    client.delete_index("cheap")


def test_filters_choose_are_replaced_and_delete(client: Annal) -> None:
    client.create_index("numbers_v1", 2, "l2", precision=Precision.FLOAT32, M=8)
    index = client.get_index("numbers_v1")
    index.load(
        {"id": f"n{i}", "vector": [i, 1], "filter": {"parity": "odd" if i % 2 else "even", "value": i}}
        for i in range(100)
    )
    hits = index.query([50, 1], top_k=3, filter=[{"parity": {"$eq": "even"}}], filter_boost_percentage=10)
    assert sorted(hit["id"] for hit in hits) == ["n48", "n50", "n52"]
    assert index.update_filters([{"id": "n10", "filter": {"parity": "none"}}]) == "1 filters updated"
    assert index.delete_where([{"parity": {"$in": ["odd", "none"]}}]) == "51 vectors deleted"
    described = index.describe()
    assert described["count"] == 49 and described["M"] == 8 and not described["is_hybrid"]
    assert any(item["name"] == "numbers_v1" for item in client.list_indexes()["indexes"])
    client.delete_index("numbers_v1")


def test_a_hybrid_index_is_searched_three_ways(client: Annal) -> None:
    client.create_index("hybrid", 2, sparse_model="default")
    index = client.get_index("hybrid")
    assert index.is_hybrid
    index.upsert(
        [
            {"id": "a", "vector": [1, 0], "sparse_indices": [7], "sparse_values": [2]},
            {"id": "b", "vector": [0, 1], "sparse_indices": [9], "sparse_values": [2]},
        ]
    )
    assert index.query([1, 0.1])[0]["id"] == "a"
    assert [hit["id"] for hit in index.query(sparse_indices=[9], sparse_values=[1])] == ["b"]
    fused = index.query([1, 0.1], sparse_indices=[9], sparse_values=[1], dense_rrf_weight=0.1)
    assert fused[0]["id"] == "b"
    client.delete_index("hybrid")
