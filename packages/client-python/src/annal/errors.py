"""Errors of calls. Every failure is an AnnalError; none of them contains the token."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Type


class AnnalError(Exception):
    """``code`` is stable and meant for programs; the message is meant for people and may change."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "http_error",
        status: Optional[int] = None,
        field: Optional[str] = None,
        value: Any = None,
        limit: Any = None,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
        leader_url: Optional[str] = None,
        results: Any = None,
        items: Any = None,
        reach: Any = None,
        aliases: Any = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.field = field
        self.value = value
        self.limit = limit
        self.request_id = request_id
        self.retry_after = retry_after
        self.leader_url = leader_url
        """``not_leader`` with status 421: the URL of the node of a cluster that leads."""
        self.results = results
        """``conflict``: what became of each object of an atomic write."""
        self.items = items
        """``embedding_failed`` and its like: the objects whose texts have no vector, and why. Nothing was written."""
        self.reach = reach
        """``moment_unreachable``: the first and the last moment that can be reached."""
        self.aliases = aliases
        """``collection_has_aliases``: the aliases that lead to the collection."""
        self.stored: Optional[int] = None
        """If ``upsert`` sent several batches: the number of records stored before the failed batch."""

    @property
    def retryable(self) -> bool:
        """True if the same call may succeed later without a change."""
        if self.status is None:
            return isinstance(self, (UnreachableError, DeadlineError))
        return self.status in (429, 502, 503, 504) or self.code == "request_key_in_use"


class InvalidArgumentError(AnnalError, ValueError):
    """Invalid input, detected before anything was sent."""

    def __init__(self, message: str, *, field: str, value: Any = None, limit: Any = None) -> None:
        super().__init__(message, code="invalid_argument", field=field, value=value, limit=limit)


class UnreachableError(AnnalError, ConnectionError):
    """There was no reply."""

    def __init__(self, message: str, *, code: str = "unreachable", refused: bool = False) -> None:
        super().__init__(message, code=code)
        self.refused = refused
        """True if the connection was refused, so that no part of the request arrived."""


class DeadlineError(AnnalError, TimeoutError):
    """There was no reply in time. A write may or may not have been executed."""


class BadRequestError(AnnalError):
    """400: the request is invalid."""


class AuthenticationError(AnnalError):
    """401: the token is missing or not valid."""


class LicenseError(AnnalError):
    """402: the operation needs an active license."""


class ForbiddenError(AnnalError):
    """403: the token does not allow the operation."""


class NotFoundError(AnnalError):
    """404: the object, collection or other resource does not exist."""


class ConflictError(AnnalError):
    """409: the name is taken, or a conflicting operation is running."""


class GoneError(AnnalError):
    """410: the server no longer has what the request needs."""


class FeedPositionLostError(GoneError):
    """The next changes are no longer held, or the LSN is after the end of the log. No change was skipped: read the collections again,
    and follow from the LSN of that read."""


class MomentUnreachableError(GoneError):
    """A moment of the past that cannot be reached; ``reach`` says which ones can."""


class RequestKeyReusedError(AnnalError):
    """422: the ``idempotency_key`` was used for another call: another method, path, or body. Nothing was written."""


class ServerError(AnnalError):
    """500 and above: the server failed or is temporarily unavailable."""


_BY_STATUS: Mapping[int, Type[AnnalError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: LicenseError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    422: RequestKeyReusedError,
}


_BY_CODE: Mapping[str, Type[AnnalError]] = {
    "feed_position_lost": FeedPositionLostError,
    "moment_unreachable": MomentUnreachableError,
}


def error_for(status: int, code: str = "") -> Type[AnnalError]:
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status >= 500:
        return ServerError
    return _BY_STATUS.get(status, AnnalError)
