"""The Python client of Annal, a vector database."""

from . import filters
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
    ServerError,
    DeadlineError,
    UnreachableError,
)
from .index import Index
from .precision import Precision
from .rerank import rerank

__version__ = "0.1.0"

__all__ = [
    "Annal",
    "AnnalError",
    "AuthenticationError",
    "BadRequestError",
    "Collection",
    "ConflictError",
    "ForbiddenError",
    "Index",
    "InvalidArgumentError",
    "LicenseError",
    "NotFoundError",
    "Precision",
    "ServerError",
    "DeadlineError",
    "UnreachableError",
    "filters",
    "rerank",
]
