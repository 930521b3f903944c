"""The Python client of Annal, a vector database."""

from typing import TYPE_CHECKING, Any

from . import filters
from .chunking import chunk_text
from .client import Annal
from .collection import Collection
from .errors import (
    AnnalError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InvalidArgumentError,
    LicenseError,
    NotFoundError,
    RequestKeyReusedError,
    ServerError,
    DeadlineError,
    FeedPositionLostError,
    GoneError,
    MomentUnreachableError,
    UnreachableError,
)
from .index import Index
from .precision import Precision
from .rerank import rerank

if TYPE_CHECKING:
    from .async_client import AsyncAnnal
    from .async_collection import AsyncCollection
    from .async_index import AsyncIndex

__version__ = "0.1.0"

__all__ = [
    "Annal",
    "AnnalError",
    "AsyncAnnal",
    "AsyncCollection",
    "AsyncIndex",
    "AuthenticationError",
    "BadRequestError",
    "Collection",
    "ConflictError",
    "FeedPositionLostError",
    "ForbiddenError",
    "GoneError",
    "Index",
    "InvalidArgumentError",
    "LicenseError",
    "MomentUnreachableError",
    "NotFoundError",
    "Precision",
    "RequestKeyReusedError",
    "ServerError",
    "DeadlineError",
    "UnreachableError",
    "chunk_text",
    "filters",
    "rerank",
]

_ASYNC = {"AsyncAnnal": "async_client", "AsyncCollection": "async_collection", "AsyncIndex": "async_index"}


def __getattr__(name: str) -> Any:
    """Imports the async classes on first use, because only they need httpx."""
    if name not in _ASYNC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_ASYNC[name]}", __name__), name)
