"""Addresses, tokens, TLS options, bodies, replies, failures and retries of calls. No I/O."""

from __future__ import annotations

import json
import random
import re
import secrets
import struct
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import quote, urlsplit

from .encoding import plain
from .errors import AnnalError, DeadlineError, InvalidArgumentError, UnreachableError, error_for

_WAIT_FIRST = 0.1
_WAIT_LONGEST = 5.0
_PASSING = (429, 502, 503, 504)

ALWAYS = "always"
"""For reads, and writes that have the same effect when repeated."""
WHEN_REFUSED = "when-refused"
"""Retry only if the server certainly did not start the call, or the call has a request key and the server keeps keys."""
NEVER = "never"

TRANSFER_SECONDS = 3_600.0
CHUNK_BYTES = 1 << 20

ClientCertificate = Union[str, Tuple[str, str], None]
"""A PEM file with certificate and key, or two files."""


@dataclass(frozen=True)
class Reply:
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        if not self.content:
            return {}
        try:
            return json.loads(self.content)
        except ValueError as error:
            raise AnnalError("the reply is not JSON", code="invalid_reply", status=self.status) from error


class Address:
    """The URLs of the server, or of the nodes of a cluster, and the token."""

    def __init__(self, base_url: "Union[str, Sequence[str]]", token: Optional[str], actor: Optional[str]) -> None:
        self.set_base_url(base_url)
        self.set_token(token)
        self.set_actor(actor)

    def set_base_url(self, url: "Union[str, Sequence[str]]") -> None:
        urls = [url] if isinstance(url, str) else list(url)
        if not urls:
            raise InvalidArgumentError("base_url has no URL", field="base_url")
        self.roots = [_root(one) for one in urls]

    def __repr__(self) -> str:
        return repr(self.roots[0] if len(self.roots) == 1 else self.roots)

    def set_token(self, token: Optional[str]) -> None:
        if token and not all("!" <= letter <= "~" for letter in token):
            raise InvalidArgumentError("the token contains characters that are not allowed in a header", field="token")
        self._authorization = f"Bearer {token}" if token else None

    def set_actor(self, actor: Optional[str]) -> None:
        if actor is not None and (
            not isinstance(actor, str) or len(actor) > 128 or re.fullmatch(r"[!-~]([ -~]*[!-~])?", actor) is None
        ):
            message = "actor must have 1 to 128 printable ASCII characters and no space at its ends"
            raise InvalidArgumentError(message, field="actor", value=actor, limit=128)
        self._actor = actor

    def headers(self, accept: str, content_type: Optional[str], key: Optional[str] = None) -> "dict[str, str]":
        headers = {"Accept": accept}
        if key is not None:
            headers["Idempotency-Key"] = key
        if content_type is not None:
            headers["Content-Type"] = content_type
        if self._authorization is not None:
            headers["Authorization"] = self._authorization
        if self._actor is not None:
            headers["X-Annal-Actor"] = self._actor
        return headers


def _root(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgumentError("base_url must be a URL such as http://127.0.0.1:8080/api/v2", field="base_url")
    if parts.username or parts.password or parts.query or parts.fragment:
        message = "base_url must not contain credentials, a query or a fragment; pass a token as token"
        raise InvalidArgumentError(message, field="base_url")
    root = url.rstrip("/")
    for ending in ("/api/v1", "/api/v2"):
        root = root[: -len(ending)] if root.endswith(ending) else root
    return root


@dataclass(frozen=True)
class RequestKey:
    """The key of a write: that of the caller, or one that is chosen for the call. All attempts of the call send the same."""

    given: Optional[str]

    def value(self, retries: int) -> Optional[str]:
        """None if the call is never repeated."""
        if self.given is None:
            return secrets.token_hex(16) if retries > 0 else None
        if not isinstance(self.given, str) or re.fullmatch(r"[!-~]{1,255}", self.given) is None:
            message = "idempotency_key must have 1 to 255 visible ASCII characters"
            raise InvalidArgumentError(message, field="idempotency_key", value=self.given, limit=255)
        return self.given


def segment(name: str) -> str:
    """Encodes any name as one path segment."""
    return quote(name, safe="")


def object_path(before: str, identifier: str, after: str = "") -> str:
    """The path of an object. An id that a path cannot name unambiguously is also sent in the query string, because a server cannot know
    whether ``%`` was encoded. An id with a segment ``.`` or ``..`` is sent there only: clients and proxies remove these segments, and
    the path could become that of the collection."""
    encoded = segment(identifier)
    if not {".", ".."}.isdisjoint(identifier.split("/")):
        return f"{before}/-{after}?id={encoded}"
    path = f"{before}/{encoded}{after}"
    return f"{path}?id={encoded}" if "%" in encoded else path


def json_body(body: Any) -> bytes:
    """Encodes a request body; NumPy arrays and scalars in it become lists and numbers."""
    try:
        return json.dumps(body, allow_nan=False, default=plain).encode("utf-8")
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the request cannot be written as JSON: {error}", field="body") from error


VECTOR_BODY = "application/octet-stream"


def vector_body(search: Mapping[str, Any]) -> Optional[bytes]:
    """The body of a search with one vector as bytes (docs/reference/http.md): the length of the parameters, the parameters as JSON, and the
    vector as 32-bit floats. None for other searches."""
    if "vector" in search:
        if "sparse_indices" in search:
            return None
        vector = search["vector"]
        parameters = {key: value for key, value in search.items() if key != "vector"}
    else:
        fields = search.get("fields", {})
        if len(fields) != 1:
            return None
        name, field = next(iter(fields.items()))
        vector = field["query"]
        rest = {key: value for key, value in field.items() if key != "query"}
        parameters = {**search, "fields": {name: rest}}
    if not isinstance(vector, list) or not {float, int}.issuperset(map(type, vector)):
        return None
    encoded = json_body(parameters)
    try:
        floats = struct.pack(f"<{len(vector)}f", *vector)
    except (OverflowError, struct.error):
        # The server rejects such a number, and names it.
        return None
    return struct.pack("<I", len(encoded)) + encoded + floats


LOADING_WAIT = 1.0
"""Seconds between two requests for a moment of the past that is being loaded."""


def is_result(reply: Reply) -> bool:
    """Whether the reply is that of the call, not an error and not a moment of the past that is being loaded."""
    is_loading = reply.status == 202 and reply.headers.get("Location") == "/api/v2/status/asof"
    return 200 <= reply.status < 300 and not is_loading


def failure(reply: Reply) -> AnnalError:
    """Converts an error reply to an exception."""
    try:
        body = json.loads(reply.content)
    except ValueError:
        body = {}
    if not isinstance(body, Mapping):
        body = {}
    text = body.get("error")
    if not isinstance(text, str):
        is_text = reply.headers.get("Content-Type", "text/plain").startswith("text/plain")
        short = reply.text.strip() if is_text and len(reply.content) <= 300 else ""
        text = short or f"the server responded with {reply.status}"
    leader = reply.headers.get("Annal-Leader")
    code = str(body.get("code", "http_error"))
    return error_for(reply.status, code)(
        text,
        code=code,
        status=reply.status,
        field=body.get("field"),
        value=body.get("value"),
        limit=body.get("limit"),
        request_id=body.get("request_id") or reply.headers.get("x-request-id"),
        retry_after=_seconds(reply.headers.get("Retry-After")),
        leader_url=leader.rstrip("/") if leader else None,
        results=body.get("results"),
        reach=body.get("reach"),
        items=body.get("items"),
        aliases=body.get("aliases"),
    )


def refusal(body: Mapping[str, Any]) -> AnnalError:
    """The exception for the event with which a server ends a stream. One that stops ends streams as it ends calls: with 503."""
    code = str(body.get("code", "http_error"))
    status = 503 if code in ("stopping", "starting", "closed") else None
    return error_for(status or 0, code)(
        str(body.get("error", "the server ended the stream")),
        code=code,
        status=status,
        field=body.get("field"),
        value=body.get("value"),
        limit=body.get("limit"),
        request_id=body.get("request_id"),
    )


def unreachable(root: str, cause: BaseException) -> UnreachableError:
    """The exception for a missing reply, with the message of the innermost cause."""
    error = UnreachableError(f"no reply from {root}: {_innermost(cause)}", refused=_was_refused(cause))
    error.__cause__ = cause
    return error


def too_late(root: str, seconds: float, cause: BaseException, *, connecting: bool = False) -> DeadlineError:
    what = "no connection to" if connecting else "no reply from"
    error = DeadlineError(f"{what} {root} within {seconds:g} s", code="timeout")
    error.__cause__ = cause
    return error


@dataclass(frozen=True)
class Repetition:
    """That a call may be sent again."""

    wait: float
    """Seconds before it."""
    needs_keys: bool
    """Only if the server keeps request keys."""


def repetition(
    error: AnnalError,
    retry: str,
    key: Optional[str],
    attempt: int,
    attempts_max: int,
    seconds_left: float,
    *,
    elsewhere: bool = False,
) -> Optional[Repetition]:
    """None if the call must not be sent again, or not in time. ``elsewhere``: another server gets it, at once."""
    outcome = _outcome(error)
    if attempt >= attempts_max or retry == NEVER or outcome == _FINAL:
        return None
    is_safe = outcome == _NOT_BEGUN or retry == ALWAYS
    if not is_safe and key is None:
        return None
    backoff: float = min(_WAIT_FIRST * 2**attempt, _WAIT_LONGEST) * (0.5 + random.random() / 2)
    wait = 0.0 if elsewhere else max(backoff, error.retry_after or 0.0)
    return None if wait >= seconds_left else Repetition(wait, needs_keys=not is_safe)


_FINAL = "final"
"""The call was refused, or executed, and fails again."""
_NOT_BEGUN = "not-begun"
"""The attempt changed nothing."""
_AMBIGUOUS = "ambiguous"
"""The attempt may have been executed."""
_AMBIGUOUS_CODES = ("archive_unconfirmed", "log_failed", "outcome_unknown")
"""Of the replies with 503, the only ones that are sent after a write may have been stored."""


def _outcome(error: AnnalError) -> str:
    if isinstance(error, UnreachableError):
        return _NOT_BEGUN if error.refused else _AMBIGUOUS
    # ``request_key_in_use``: an earlier attempt with this key is still running.
    if error.status in (421, 429) or error.code == "request_key_in_use":
        return _NOT_BEGUN
    if error.status not in _PASSING:
        return _FINAL
    return _NOT_BEGUN if error.status == 503 and error.code not in _AMBIGUOUS_CODES else _AMBIGUOUS


def names_request_keys(info: Any) -> bool:
    """Whether a server keeps request keys. Servers of earlier versions ignore them, and their ``/info`` does not name them."""
    return isinstance(info, Mapping) and "request_keys" in info


def _seconds(header: Optional[str]) -> Optional[float]:
    return float(header) if header is not None and header.strip().isdigit() else None


def _innermost(error: BaseException) -> str:
    causes = _causes(error)
    last = causes[-1]
    text = str(last)
    return f"{type(last).__name__}: {text}"[:300] if text else type(last).__name__


def _was_refused(error: BaseException) -> bool:
    """The connection was refused, so that nothing of the request arrived."""
    return any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error)) or any(
        "refused" in str(cause) and type(cause).__name__ == "ConnectError" for cause in _causes(error)
    )


def _causes(error: BaseException) -> "list[BaseException]":
    causes = [error]
    while len(causes) < 10:
        last = causes[-1]
        reason = getattr(last, "reason", None) or (last.args[0] if last.args else None)
        following = reason if isinstance(reason, BaseException) else last.__cause__ or last.__context__
        if following is None or following in causes:
            break
        causes.append(following)
    return causes
