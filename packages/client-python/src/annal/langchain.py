"""A collection as a vector store of LangChain: ``pip install annal[langchain]``.

The text and metadata of a document are stored as meta, ``{"text", "metadata"}``; metadata values that a filter can test are also stored
as filter values. ``@annal/langchain`` for JavaScript stores the same form.
"""

from __future__ import annotations

import uuid
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from .client import Annal
from .collection import Collection
from .errors import ConflictError, InvalidArgumentError, NotFoundError
from .types import Filter

_TEXT_BYTES_MAX = 1_024
_KEYS_MAX = 256


class AnnalVectorStore(VectorStore):
    """The first texts create the collection if it does not exist. Scores are similarities: higher is more similar.

    >>> store = AnnalVectorStore(Annal(), "notes", embeddings)
    >>> store.add_texts(["a note"], [{"year": 1979}], ids=["a"])
    >>> store.similarity_search("a note", k=5, filter=[{"year": {"$eq": 1979}}])
    """

    def __init__(
        self,
        client: Annal,
        collection: str,
        embedding: Embeddings,
        *,
        field: str = "dense",
        space_type: str = "cosine",
        precision: str = "int8",
    ) -> None:
        self._client = client
        self._name = collection
        self._embedding = embedding
        self._field = field
        self._params = {"space_type": space_type, "precision": precision}
        self._known: Optional[Collection] = None

    @property
    def embeddings(self) -> Embeddings:
        return self._embedding

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Optional[List[Dict[str, Any]]] = None,
        *,
        ids: Optional[Sequence[Optional[str]]] = None,
        **kwargs: Any,
    ) -> List[str]:
        """A text with an existing id replaces the stored text. Without ids, new ids are generated."""
        given = list(texts)
        for name, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(given):
                raise InvalidArgumentError(f"{name} has {len(values)} values for {len(given)} texts", field=name)
        if not given:
            return []
        vectors = self._embedding.embed_documents(given)
        kept = [identifier or str(uuid.uuid4()) for identifier in (ids or [None] * len(given))]
        objects = [
            {
                "id": kept[i],
                "meta": {"text": text, "metadata": metadatas[i] if metadatas else {}},
                "filter": _filter_values(metadatas[i] if metadatas else {}),
                "fields": {self._field: vectors[i]},
            }
            for i, text in enumerate(given)
        ]
        # One call after the other, so that an id that occurs twice keeps its last text.
        self._made(len(vectors[0])).load(objects, concurrency=1)  # type: ignore[arg-type]
        return kept

    def add_documents(self, documents: List[Document], **kwargs: Any) -> List[str]:
        """Uses ``ids``, the ids of the documents, or new ids."""
        kwargs.setdefault("ids", [document.id for document in documents])
        texts = [document.page_content for document in documents]
        return self.add_texts(texts, [dict(document.metadata) for document in documents], **kwargs)

    def delete(
        self, ids: Optional[List[str]] = None, *, filter: Optional[Filter] = None, **kwargs: Any
    ) -> Optional[bool]:
        """Deletes the documents with these ids, or all that a filter matches."""
        collection = self._collection()
        if filter is not None:
            collection.delete_where(filter)
        for identifier in ids or []:
            try:
                collection.delete_object(identifier)
            except NotFoundError:
                pass
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> List[Document]:
        """Returns the stored documents, in the order of the ids."""
        return [_document(item) for item in self._collection().get_many(list(ids))]

    def similarity_search(
        self, query: str, k: int = 4, *, filter: Optional[Filter] = None, **kwargs: Any
    ) -> List[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, filter=filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, *, filter: Optional[Filter] = None, **kwargs: Any
    ) -> List[Tuple[Document, float]]:
        vector = self._embedding.embed_query(query)
        return self.similarity_search_by_vector_with_score(vector, k, filter=filter)

    def similarity_search_by_vector(
        self, embedding: List[float], k: int = 4, *, filter: Optional[Filter] = None, **kwargs: Any
    ) -> List[Document]:
        return [document for document, _ in self.similarity_search_by_vector_with_score(embedding, k, filter=filter)]

    def similarity_search_by_vector_with_score(
        self, embedding: Sequence[float], k: int = 4, *, filter: Optional[Filter] = None
    ) -> List[Tuple[Document, float]]:
        return [(_document(hit), float(hit["similarity"])) for hit in self._hits(embedding, k, filter, False)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Optional[Filter] = None,
        **kwargs: Any,
    ) -> List[Document]:
        vector = self._embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter=filter)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: List[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Optional[Filter] = None,
        **kwargs: Any,
    ) -> List[Document]:
        """Returns documents similar to the query and different from each other. Requires NumPy, like LangChain's own function."""
        import numpy
        from langchain_core.vectorstores.utils import maximal_marginal_relevance

        hits = self._hits(embedding, max(fetch_k, k), filter, True)
        vectors = [hit["vector"] for hit in hits]
        chosen = maximal_marginal_relevance(numpy.asarray(embedding, numpy.float32), vectors, lambda_mult, k)
        return [_document(hits[i]) for i in chosen]

    def _select_relevance_score_fn(self) -> Any:
        """Cosine similarities range from -1 to 1; others are unbounded and have no comparable relevance."""
        if self._params["space_type"] != "cosine":
            raise NotImplementedError("relevance scores require a field with space type cosine")
        return lambda similarity: (similarity + 1) / 2

    @classmethod
    def from_texts(
        cls,
        texts: List[str],
        embedding: Embeddings,
        metadatas: Optional[List[Dict[str, Any]]] = None,
        *,
        ids: Optional[List[str]] = None,
        client: Optional[Annal] = None,
        collection: str = "langchain",
        **kwargs: Any,
    ) -> "AnnalVectorStore":
        store = cls(client or Annal(), collection, embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _hits(self, vector: Sequence[float], k: int, filter: Optional[Filter], include_vectors: bool) -> List[Any]:
        fields = {self._field: {"query": vector, "limit": k}}
        found = self._collection().search(fields, filter, include_vectors=include_vectors)
        return list(found["results"][self._field])

    def _collection(self) -> Collection:
        if self._known is None:
            self._known = self._client.get_collection(self._name)
        return self._known

    def _made(self, dimension: int) -> Collection:
        try:
            return self._collection()
        except NotFoundError:
            params: Dict[str, Any] = {"dimension": dimension, **self._params}
            try:
                self._client.create_collection(self._name, [{"name": self._field, "type": "vector", "params": params}])
            except ConflictError:
                pass  # Another store created it at the same moment.
            return self._collection()


def _filter_values(metadata: Mapping[str, Any]) -> Dict[str, Any]:
    askable = {
        key: value
        for key, value in metadata.items()
        if key and not key.startswith("$") and (_is_list(value) or _is_askable(value))
    }
    return dict(list(askable.items())[:_KEYS_MAX])


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(_is_askable(inner) for inner in value)


def _is_askable(value: Any) -> bool:
    if isinstance(value, str):
        return len(value.encode("utf-8")) <= _TEXT_BYTES_MAX
    return isinstance(value, (bool, int, float))


def _document(item: Mapping[str, Any]) -> Document:
    """Objects written by other programs have other meta; then all of it becomes metadata."""
    meta = item["meta"]
    if not isinstance(meta, Mapping):
        return Document(id=item["id"], page_content="")
    text, metadata = meta.get("text"), meta.get("metadata")
    if isinstance(text, str) and isinstance(metadata, Mapping):
        return Document(id=item["id"], page_content=text, metadata=dict(metadata))
    return Document(id=item["id"], page_content=text if isinstance(text, str) else "", metadata=dict(meta))
