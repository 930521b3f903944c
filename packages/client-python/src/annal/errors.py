"""What a call can fail with. Every failure is an AnnalError; none of them holds the token."""

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
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.field = field
        self.value = value
        self.limit = limit
        self.request_id = request_id
        self.retry_after = retry_after
        self.stored: Optional[int] = None
        """Where ``upsert`` sent several batches: how many records before the failed batch are stored."""

    @property
    def retryable(self) -> bool:
        """The same call may succeed later without any change."""
        if self.status is None:
            return isinstance(self, (UnreachableError, DeadlineError))
        return self.status in (429, 502, 503, 504)


class InvalidArgumentError(AnnalError, ValueError):
    """Refused by this client before anything was sent."""

    def __init__(self, message: str, *, field: str, value: Any = None, limit: Any = None) -> None:
        super().__init__(message, code="invalid_argument", field=field, value=value, limit=limit)


class UnreachableError(AnnalError, ConnectionError):
    """No answer came."""

    def __init__(self, message: str, *, code: str = "unreachable", refused: bool = False) -> None:
        super().__init__(message, code=code)
        self.refused = refused
        """The connection was refused, so that nothing of the request arrived."""


class DeadlineError(AnnalError, TimeoutError):
    """No answer came in time. A write may or may not have happened."""


class BadRequestError(AnnalError):
    """400: something about the request is wrong."""


class AuthenticationError(AnnalError):
    """401: the token is missing or not valid."""


class LicenseError(AnnalError):
    """402: the operation needs an active license."""


class ForbiddenError(AnnalError):
    """403: the token is for something else."""


class NotFoundError(AnnalError):
    """404: there is no such thing."""


class ConflictError(AnnalError):
    """409: the name is taken, or something else is running."""


class ServerError(AnnalError):
    """500 and above: the server cannot, now or at all."""


_BY_STATUS: Mapping[int, Type[AnnalError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: LicenseError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
}


def error_for(status: int) -> Type[AnnalError]:
    if status >= 500:
        return ServerError
    return _BY_STATUS.get(status, AnnalError)
