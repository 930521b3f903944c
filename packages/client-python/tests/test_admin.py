from __future__ import annotations

import re

import pytest
from conftest import ROOT_TOKEN, Server

from annal import Annal, AuthenticationError, ConflictError, ForbiddenError, LicenseError, NotFoundError

PARAMS = {"dimension": 3, "space_type": "cosine", "precision": "int8"}


def test_the_quick_start_of_the_specification(enterprise: Server) -> None:
    root = Annal(token=ROOT_TOKEN)
    root.set_base_url(f"{enterprise.address}/api/v2")
    with pytest.raises(LicenseError):
        root.create_database("cinema")
    root.generate_license("somebody@example.com")
    assert root.info()["license"]["status"] == "active"
    db_token = root.create_database("cinema", db_type="enterprise")
    assert re.match(r"^cinema:\S+$", db_token)

    client = Annal(token=db_token)
    client.set_base_url(f"{enterprise.address}/api/v2")
    client.create_collection("films", fields=[{"name": "plot", "type": "vector", "params": PARAMS}])
    films = client.get_collection("films")
    films.upsert([{"id": "alien", "meta": {"t": 1}, "filter": {"year": 1979}, "fields": {"plot": [0.9, 0.1, 0.2]}}])
    found = films.search(fields={"plot": {"query": [0.9, 0.1, 0.2], "limit": 5}})
    assert [hit["id"] for hit in found["results"]["plot"]] == ["alien"]

    with pytest.raises(ForbiddenError):
        root.create_collection("x", fields=[{"name": "plot", "type": "vector", "params": PARAMS}])
    with pytest.raises(ForbiddenError):
        client.list_databases()
    root.delete_database("cinema")


def test_databases_and_tokens(enterprise: Server) -> None:
    root = Annal(token=ROOT_TOKEN, base_url=enterprise.address)
    db_token = root.create_database("library")
    with pytest.raises(ConflictError):
        root.create_database("library")
    assert root.get_database("library")["is_active"]
    assert "library" in [database["db_name"] for database in root.list_databases()]
    client = Annal(token=db_token, base_url=enterprise.address)
    client.create_collection("books", fields=[{"name": "text", "type": "vector", "params": PARAMS}])
    assert root.list_db_collections("library") == ["books"]
    assert root.list_all_collections()

    reader = Annal(token=client.create_my_token("reader", "r"), base_url=enterprise.address)
    assert reader.get_collection("books").count() == 0
    with pytest.raises(ForbiddenError) as refused:
        reader.delete_collection("books")
    assert refused.value.code == "token_read_only"
    assert "reader" in [token["name"] for token in client.list_my_tokens()]
    client.delete_my_token("reader")
    with pytest.raises(AuthenticationError):
        reader.list_collections()
    root.create_token("library", "other")
    assert "other" in [token["name"] for token in root.list_tokens("library")]
    root.delete_token("library", "other")

    root.deactivate_database("library")
    with pytest.raises(ForbiddenError):
        client.list_collections()
    root.activate_database("library")
    root.set_database_type("library", "pro")
    root.delete_db_collection("library", "books")
    assert client.list_collections() == []
    root.delete_database("library")
    with pytest.raises(NotFoundError):
        root.get_database("library")
