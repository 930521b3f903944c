from __future__ import annotations

import pytest

from annal import Annal, ConflictError, NotFoundError

PARAMS = {"dimension": 2, "space_type": "l2", "precision": "float32"}


def test_an_alias_is_switched_and_a_branch_is_promoted(client: Annal) -> None:
    for name in ("films_1", "films_2"):
        client.create_collection(name, [{"name": "place", "type": "vector", "params": PARAMS}])
        client.get_collection(name).upsert([{"id": name, "fields": {"place": [1, 2]}}])
    client.put_alias("films", "films_1")
    assert client.get_collection("films").get_many(["films_1", "films_2"])[0]["id"] == "films_1"
    client.put_alias("films", "films_2")
    assert client.get_collection("films").get_many(["films_1", "films_2"])[0]["id"] == "films_2"
    assert client.list_aliases()["aliases"][0]["collection"] == "films_2"
    with pytest.raises(ConflictError):
        client.delete_collection("films_2")
    client.branch_collection("films", "trial")
    client.promote_collection("trial", over="films_2", keep_as="old")
    names = [branch["name"] for branch in client.list_branches("films")["branches"]]
    assert names == ["old", "films_2"]
    client.delete_alias("films")
    with pytest.raises(NotFoundError):
        client.delete_alias("films")
    for name in ("films_1", "films_2", "old"):
        client.delete_collection(name)
