"""Texts: stored, returned, searched by their words, and made into vectors by a provider that a server is configured with."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest
from conftest import Server

from annal import Annal, AnnalError

BODY = {"name": "body", "type": "text", "params": {"language": "english"}}


class _Provider(BaseHTTPRequestHandler):
    fails = False

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        data = [{"index": i, "embedding": [len(text), text.count("a")]} for i, text in enumerate(texts)]
        body = json.dumps({"data": data}).encode()
        self.send_response(403 if _Provider.fails else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def embedding(tmp_path: Path) -> Iterator[Annal]:
    provider = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    threading.Thread(target=provider.serve_forever, args=(0.01,), daemon=True).start()
    local: Dict[str, Any] = {"kind": "openai", "model": "m", "dimension": 2}
    local["url"] = f"http://127.0.0.1:{provider.server_address[1]}/"
    file = tmp_path / "providers.json"
    file.write_text(json.dumps({"local": local}))
    server = Server({"NDD_PROVIDERS": str(file)}, str(tmp_path / "data"))
    client = Annal(base_url=server.address)
    yield client
    client.close()
    server.stop()
    provider.shutdown()
    provider.server_close()


def test_texts_are_returned_and_found_by_their_words(client: Annal) -> None:
    client.create_collection("notes", [BODY])
    notes = client.get_collection("notes")
    notes.upsert(
        [
            {"id": "a", "fields": {"body": "a vector and sparse_indices of vectors"}},
            {"id": "b", "fields": {"body": "soups"}, "if_absent": True},
        ]
    )
    stored = notes.get_many(["a", "b"])
    assert [one["texts"] for one in stored] == [{"body": "a vector and sparse_indices of vectors"}, {"body": "soups"}]
    assert stored[0]["vectors"] == {} and stored[0]["sparses"] == {} and stored[0]["multi_vectors"] == {}
    assert [hit["id"] for hit in notes.search({"body": "soup"})["results"]["body"]] == ["b"]
    clauses = {"must": [{"prefix": "vec"}], "must_not": ["soup"]}
    assert notes.count(match={"body": {"query": clauses}}) == 1
    assert notes.count(match={"body": {"query": "vector sparse_indices", "operator": "and"}}) == 1
    assert notes.facets("kind", match={"body": {"query": "soup"}})["distinct"] == 0
    assert [one["id"] for one in notes.scroll(match={"body": {"query": "soup vectors"}}, page_size=1)] == ["a", "b"]
    assert [hit["id"] for hit in notes.search({"body": {"query": clauses}})["results"]["body"]] == ["a"]
    quoted = notes.search({"body": "soup"}, include_texts=True)["results"]["body"]
    assert [hit["texts"] for hit in quoted] == [{"body": "soups"}]
    fused = notes.search({"body": "soup"}, include_texts=True, fusion={"method": "rrf"})["fused"]
    assert [hit["texts"] for hit in fused] == [{"body": "soups"}]
    batch = notes.search_batch([{"fields": {"body": "soup"}, "include_texts": True}, {"fields": {"body": "soup"}}])
    assert [["texts" in hit for hit in one["results"]["body"]] for one in batch] == [[True], [False]]
    texts = [one["texts"] for one in notes.scroll(include_vectors=False, include_texts=True)]
    assert texts == [{"body": "a vector and sparse_indices of vectors"}, {"body": "soups"}]
    assert [one["texts"] for one in notes.scroll(include_vectors=False)] == [{}, {}]
    assert [one["texts"] for one in notes.get_many(["a", "b"], include_vectors=False)] == [{}, {}]
    bare = notes.get("a", include_vectors=False, include_texts=True)
    assert bare is not None and bare["texts"] == {"body": "a vector and sparse_indices of vectors"}
    without = notes.get("b", include_texts=False)
    assert without is not None and without["texts"] == {}
    client.delete_collection("notes")


def test_texts_become_vectors_by_a_provider(embedding: Annal) -> None:
    meaning = {
        "name": "meaning",
        "type": "vector",
        "params": {"dimension": 2, "space_type": "l2", "embed": {"provider": "local", "from": "body"}},
    }
    assert embedding.providers() == [{"name": "local", "kind": "openai", "model": "m", "dimension": 2}]
    embedding.create_collection("notes", [BODY, meaning])
    notes = embedding.get_collection("notes")
    notes.upsert([{"id": "a", "fields": {"body": "banana"}}, {"id": "b", "fields": {"body": "onions"}}])
    assert notes.get_many(["a"])[0]["vectors"] == {"meaning": [6, 3]}
    found = notes.search({"meaning": {"query": {"text": "papaya"}, "limit": 1}})
    assert [hit["id"] for hit in found["results"]["meaning"]] == ["a"]
    _Provider.fails = True
    with pytest.raises(AnnalError) as failed:
        notes.upsert([{"id": "c", "fields": {"body": "other"}}])
    _Provider.fails = False
    assert (failed.value.code, failed.value.status, failed.value.field) == ("embedding_failed", 502, "meaning")
    assert [item["id"] for item in failed.value.items] == ["c"]
    assert notes.count() == 2
