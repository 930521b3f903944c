"""HTTP: one pool of connections, deadlines, and retries of calls that may be repeated."""

from __future__ import annotations

import json
import random
import time
from typing import Any, Iterable, Mapping, Optional, Union
from urllib.parse import quote, urlsplit

import requests
from requests.adapters import HTTPAdapter

from .errors import AnnalError, InvalidArgumentError, DeadlineError, UnreachableError, error_for

_WAIT_FIRST = 0.1
_WAIT_LONGEST = 5.0
_PASSING = (429, 502, 503, 504)

ALWAYS = "always"
"""Reading, or writing that leaves the same state when done twice."""
WHEN_REFUSED = "when-refused"
"""Only when it surely was not begun."""
NEVER = "never"


def segment(name: str) -> str:
    """One segment of a path, whatever the name holds."""
    return quote(name, safe="")


class Transport:
    def __init__(self, base_url: str, token: Optional[str], timeout: float, retries: int, pool_size: int) -> None:
        self.timeout = timeout
        self.retries = retries
        self._session = requests.Session()
        # Redirects would carry the token somewhere that nobody named; netrc would replace it.
        self._session.trust_env = False
        adapter = HTTPAdapter(pool_connections=1, pool_maxsize=pool_size)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)
        self.set_base_url(base_url)
        self.set_token(token)

    def set_base_url(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgumentError("the address must be one such as http://127.0.0.1:8080/api/v2", field="base_url")
        if parts.username or parts.password or parts.query or parts.fragment:
            message = "the address holds more than an address; a token goes into token"
            raise InvalidArgumentError(message, field="base_url")
        root = url.rstrip("/")
        for ending in ("/api/v1", "/api/v2"):
            root = root[: -len(ending)] if root.endswith(ending) else root
        self.root = root

    def set_token(self, token: Optional[str]) -> None:
        if token and not all("!" <= letter <= "~" for letter in token):
            raise InvalidArgumentError("the token holds characters that a header cannot carry", field="token")
        self._token = token or None

    def close(self) -> None:
        self._session.close()

    def json(self, method: str, path: str, body: Any = None, *, retry: str, timeout: Optional[float] = None) -> Any:
        """Sends JSON, when there is something to send, and reads JSON."""
        data = None if body is None else json.dumps(body, allow_nan=False).encode("utf-8")
        content_type = None if body is None else "application/json"
        response = self.send(method, path, data, content_type=content_type, retry=retry, timeout=timeout)
        return self.read_json(response)

    def read_json(self, response: requests.Response) -> Any:
        if not response.content:
            return {}
        try:
            return response.json()
        except ValueError as error:
            raise AnnalError("the answer is not JSON", code="invalid_reply", status=response.status_code) from error

    def send(
        self,
        method: str,
        path: str,
        data: Union[bytes, Iterable[bytes], None] = None,
        *,
        content_type: Optional[str] = None,
        accept: str = "application/json",
        retry: str,
        timeout: Optional[float] = None,
        stream: bool = False,
    ) -> requests.Response:
        headers = {"Accept": accept}
        if content_type is not None:
            headers["Content-Type"] = content_type
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        seconds = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        attempt = 0
        while True:
            try:
                return self._once(method, path, data, headers, max(deadline - time.monotonic(), 0.001), stream)
            except AnnalError as error:
                wait = _wait_before(attempt, error.retry_after)
                late = time.monotonic() + wait >= deadline
                if attempt >= self.retries or late or not _may_repeat(error, retry):
                    raise
                attempt += 1
                time.sleep(wait)

    def _once(
        self, method: str, path: str, data: Any, headers: Mapping[str, str], timeout: float, stream: bool
    ) -> requests.Response:
        try:
            response = self._session.request(
                method,
                self.root + path,
                data=data,
                headers=dict(headers),
                timeout=timeout,
                stream=stream,
                allow_redirects=False,
            )
        except requests.exceptions.ConnectionError as error:
            if isinstance(error, requests.exceptions.ConnectTimeout):
                raise DeadlineError(f"no connection to {self.root} in time", code="timeout") from error
            refused = _was_refused(error)
            raise UnreachableError(f"no answer from {self.root}", code="unreachable", refused=refused) from error
        except requests.exceptions.Timeout as error:
            raise DeadlineError(f"no answer from {self.root} in time", code="timeout") from error
        except requests.exceptions.RequestException as error:
            raise UnreachableError(f"no answer from {self.root}", code="unreachable") from error
        if 200 <= response.status_code < 300:
            return response
        raise _failure(response)


def _failure(response: requests.Response) -> AnnalError:
    try:
        reply = response.json()
    except ValueError:
        reply = {}
    if not isinstance(reply, Mapping):
        reply = {}
    text = reply.get("error")
    if not isinstance(text, str):
        plain = response.headers.get("Content-Type", "text/plain").startswith("text/plain")
        short = response.text.strip() if plain and len(response.content) <= 300 else ""
        text = short or f"the server answered {response.status_code}"
    return error_for(response.status_code)(
        text,
        code=str(reply.get("code", "http_error")),
        status=response.status_code,
        field=reply.get("field"),
        value=reply.get("value"),
        limit=reply.get("limit"),
        request_id=reply.get("request_id") or response.headers.get("x-request-id"),
        retry_after=_seconds(response.headers.get("Retry-After")),
    )


def _seconds(header: Optional[str]) -> Optional[float]:
    return float(header) if header is not None and header.strip().isdigit() else None


def _was_refused(error: BaseException) -> bool:
    """The connection was refused, so that nothing of the request arrived."""
    seen: Optional[BaseException] = error
    for _ in range(6):
        if seen is None:
            return False
        if isinstance(seen, ConnectionRefusedError):
            return True
        reason = getattr(seen, "reason", None) or (seen.args[0] if seen.args else None)
        seen = reason if isinstance(reason, BaseException) else seen.__cause__ or seen.__context__
    return False


def _may_repeat(error: AnnalError, retry: str) -> bool:
    if retry == NEVER:
        return False
    # Said before anything is done, except when the disk fails: then nobody knows.
    not_begun = error.status == 429 or (error.status == 503 and error.code != "log_failed")
    if not_begun or (isinstance(error, UnreachableError) and error.refused):
        return True
    if retry == WHEN_REFUSED:
        return False
    return isinstance(error, UnreachableError) if error.status is None else error.status in _PASSING


def _wait_before(attempt: int, asked: Optional[float]) -> float:
    backoff: float = min(_WAIT_FIRST * 2**attempt, _WAIT_LONGEST) * (0.5 + random.random() / 2)
    return max(backoff, asked or 0.0)
