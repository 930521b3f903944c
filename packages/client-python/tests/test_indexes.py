from __future__ import annotations

import pytest

from annal import Annal, NotFoundError, Precision


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
    assert stored["vector"] == pytest.approx([3, 0, 4], abs=0.05)
    assert index.get_vector("é/ü")["meta"] == b"\x00\x01"
    best = index.query([6, 0, 8], top_k=1, include_vectors=True)[0]
    assert best["id"] == "alien" and best["vector"] == pytest.approx([3, 0, 4], abs=0.05)
    assert best["similarity"] == pytest.approx({"cosine": 1, "l2": -25, "ip": 50}[space_type], abs=1)
    assert index.delete_vector("é/ü") == "Vector deleted successfully"
    with pytest.raises(NotFoundError):
        index.get_vector("é/ü")
    assert client.delete_index(name) == f"Index {name} deleted successfully"


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
    assert index.delete_with_filter([{"parity": {"$in": ["odd", "none"]}}]) == "51 vectors deleted"
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
