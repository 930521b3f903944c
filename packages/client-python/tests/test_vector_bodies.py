"""A search with one vector is sent as bytes. Servers of earlier versions refuse that once, and get JSON from then on."""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, List, Tuple

import pytest
from scripted import Reply

from annal import Annal, BadRequestError
from annal.collection import Collection
from annal.index import Index

BYTES = "application/octet-stream"
HITS: Reply = (200, {}, {"results": []})
FOUND: Reply = (200, {}, {"results": {"plot": []}, "complete": True, "lsn": 1})
REFUSED: Reply = (415, {}, {"error": "Content-Type must be application/json", "code": "unsupported_media_type"})


def docs(client: Annal) -> Index:
    info = {"dimension": 2, "space_type": "l2", "precision": "float32", "M": 16}
    return Index(client._transport, "docs", info)


def films_of(client: Annal) -> Collection:
    return Collection(client._transport, {"name": "films", "fields": []})


def types(server: Any) -> List[str]:
    return [headers["Content-Type"] for _, _, headers in server.requests]


def read(body: bytes) -> Tuple[Dict[str, Any], List[float]]:
    (length,) = struct.unpack_from("<I", body)
    floats = body[4 + length :]
    return json.loads(body[4 : 4 + length]), list(struct.unpack(f"<{len(floats) // 4}f", floats))


def test_one_vector_is_sent_as_bytes(scripted: Any) -> None:
    server = scripted(HITS, FOUND)
    client = Annal(base_url=server.url)
    docs(client).query([0.5, 1], top_k=3, filter=[{"a": {"$eq": "x"}}])
    films_of(client).search({"plot": {"query": (1, 2.5), "limit": 4}}, exact=True)
    assert types(server) == [BYTES, BYTES]
    query, search = (read(body) for body in server.bodies)
    parameters = {"k": 3, "ef": 128, "include_vectors": False, "filter": [{"a": {"$eq": "x"}}]}
    assert query == (parameters, [0.5, 1.0])
    assert search == ({"fields": {"plot": {"limit": 4}}, "exact": True}, [1.0, 2.5])


def test_other_searches_are_sent_as_json(scripted: Any) -> None:
    server = scripted(FOUND)
    films = films_of(Annal(base_url=server.url))
    films.search({"plot": {"query": {"id": "a"}}})
    films.search({"plot": {"query": [[1], [2]]}})
    films.search({"plot": {"query": {"indices": [1], "values": [1]}}})
    films.search({"plot": [1], "other": [1]})
    films.search({"plot": [1e39]})
    assert set(types(server)) == {"application/json"}


def test_a_server_that_refuses_bytes_is_not_tried_again(scripted: Any) -> None:
    server = scripted(REFUSED, HITS, FOUND)
    client = Annal(base_url=server.url)
    assert docs(client).query([1, 2]) == []
    assert films_of(client).search({"plot": [1, 2]})["lsn"] == 1
    assert types(server) == [BYTES, "application/json", "application/json"]


def test_other_errors_are_raised(scripted: Any) -> None:
    server = scripted((400, {}, {"error": "wrong", "code": "invalid_argument"}))
    with pytest.raises(BadRequestError):
        docs(Annal(base_url=server.url)).query([1, 2])
    assert len(server.requests) == 1


def test_both_forms_find_the_same(client: Annal) -> None:
    client.create_collection("bytes", [{"name": "plot", "type": "vector", "params": {"dimension": 3}}])
    films = client.get_collection("bytes")
    films.upsert([{"id": str(i), "fields": {"plot": [i, 1, 0.1]}} for i in range(20)])
    compact = films.search({"plot": {"query": [7, 0.3, 0.1], "limit": 5}})
    films._transport._accepts_bytes = False
    assert films.search({"plot": {"query": [7, 0.3, 0.1], "limit": 5}}) == compact
    films._transport._accepts_bytes = True
