from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, List


class VectorStore(ABC):
    """The two members that LangChain requires of every store."""

    @abstractmethod
    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> List[Any]:
        ...

    @classmethod
    @abstractmethod
    def from_texts(cls, texts: List[str], embedding: Any, metadatas: Any = None, **kwargs: Any) -> Any:
        ...
