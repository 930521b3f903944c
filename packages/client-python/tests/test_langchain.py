"""The vector store against a real server. If langchain-core is not installed, ``standin`` provides the three names that it needs, with
the members that LangChain documents. The test reports which of the two it used."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Any, Iterator, List

import pytest

from annal import Annal, InvalidArgumentError

STANDIN = str(Path(__file__).parent / "standin")


@pytest.fixture(scope="module")
def langchain() -> Iterator[Any]:
    real = importlib.util.find_spec("langchain_core") is not None
    if not real:
        warnings.warn("langchain-core is not installed: tested with a stand-in of its interface", stacklevel=1)
        sys.path.insert(0, STANDIN)
    try:
        import annal.langchain

        yield annal.langchain
    finally:
        if not real:
            sys.path.remove(STANDIN)


class Letters:
    """Counts letters, so that similar texts have similar vectors."""

    def embed_documents(self, texts: List[str]) -> List[List[float]]:
        return [[float(text.count(letter)) for letter in "aeinorst"] for text in texts]

    def embed_query(self, text: str) -> List[float]:
        return self.embed_documents([text])[0]


def test_a_store_is_filled_searched_and_emptied(client: Annal, langchain: Any) -> None:
    store = langchain.AnnalVectorStore.from_texts(
        ["train station", "rain on a stair", "zoo oboe moon"],
        Letters(),
        [{"year": 1979, "tags": ["rail"], "loc": {"line": 1}}, {"year": 1972}, {"year": 2016}],
        ids=["train", "rain", "zoo"],
        client=client,
        collection="notes",
        field="text",
        precision="float32",
    )
    found = store.similarity_search_with_score("train station", k=2)
    assert found[0][0].page_content == "train station"
    assert found[0][0].metadata == {"year": 1979, "tags": ["rail"], "loc": {"line": 1}}
    assert found[0][0].id == "train"
    assert found[0][1] > 0.999 and found[0][1] > found[1][1]
    newer = store.similarity_search("train station", k=5, filter=[{"year": {"$gt": 1975}}])
    assert [document.id for document in newer] == ["train", "zoo"]
    assert [document.id for document in store.get_by_ids(["zoo", "none", "rain"])] == ["zoo", "rain"]
    (added,) = store.add_documents([type(found[0][0])(page_content="train station!", metadata={})])
    assert store.get_by_ids([added])[0].page_content == "train station!"
    assert store._select_relevance_score_fn()(1.0) == 1.0
    store.delete(["train", "none", added])
    store.delete(filter=[{"year": {"$eq": 1972}}])
    assert [document.id for document in store.similarity_search("train", k=10)] == ["zoo"]
    with pytest.raises(InvalidArgumentError):
        store.add_texts(["one"], [{}, {}])
    assert store.add_texts([]) == []
    client.delete_collection("notes")


def test_objects_of_others_are_read_as_metadata(client: Annal, langchain: Any) -> None:
    store = langchain.AnnalVectorStore(client, "others", Letters())
    assert len(store.add_texts(["a note"])) == 1
    client.get_collection("others").upsert([{"id": "theirs", "meta": {"title": "x"}, "fields": {"dense": [1] * 8}}])
    (theirs,) = store.get_by_ids(["theirs"])
    assert (theirs.page_content, theirs.metadata) == ("", {"title": "x"})
    client.delete_collection("others")


def test_diverse_documents(client: Annal, langchain: Any) -> None:
    pytest.importorskip("numpy")
    if "standin" in str(getattr(sys.modules["langchain_core"], "__file__", "")):
        pytest.skip("needs langchain-core itself")
    texts = ["train station", "train station!", "zoo oboe moon"]
    store = langchain.AnnalVectorStore.from_texts(texts, Letters(), client=client, collection="diverse")
    chosen = store.max_marginal_relevance_search("train station", k=2, fetch_k=3, lambda_mult=0.1)
    assert "zoo oboe moon" in [document.page_content for document in chosen]
    client.delete_collection("diverse")
