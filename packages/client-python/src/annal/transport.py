"""HTTP with requests: a connection pool, deadlines and retries."""

from __future__ import annotations

import os
import time
from typing import Any, Iterable, Iterator, Optional, Union

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase

from .errors import AnnalError
from .exchange import (
    CHUNK_BYTES,
    NEVER,
    TRANSFER_SECONDS,
    ALWAYS,
    Address,
    ClientCertificate,
    Reply,
    RequestKey,
    VECTOR_BODY,
    failure,
    json_body,
    names_request_keys,
    repetition,
    too_late,
    unreachable,
    vector_body,
)


class _HeadersAsGiven(AuthBase):
    """Keeps the token of the headers, which requests would otherwise replace with an entry of a .netrc file."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


class Transport:
    def __init__(
        self,
        base_url: str,
        token: Optional[str],
        timeout: float,
        retries: int,
        pool_size: int,
        verify: Union[bool, str],
        cert: ClientCertificate,
    ) -> None:
        self.address = Address(base_url, token)
        self.timeout = timeout
        self.retries = retries
        self._accepts_bytes = True
        self._keeps_keys: Optional[bool] = None
        # requests reads proxies and REQUESTS_CA_BUNDLE from the environment.
        self._session = requests.Session()
        self._session.auth = _HeadersAsGiven()
        # Passed with each request, because REQUESTS_CA_BUNDLE would override that of the session.
        self._verify = verify
        self._session.cert = cert
        adapter = HTTPAdapter(pool_connections=1, pool_maxsize=pool_size)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)

    def close(self) -> None:
        self._session.close()

    def json(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        retry: str,
        key: Optional[RequestKey] = None,
        timeout: Optional[float] = None,
    ) -> Any:
        """Sends JSON, if there is a body, and reads JSON."""
        data = None if body is None else json_body(body)
        content_type = None if body is None else "application/json"
        return self.send(method, path, data, content_type=content_type, retry=retry, key=key, timeout=timeout).json()

    def search(self, path: str, body: Any, *, timeout: Optional[float] = None) -> Any:
        """Sends a search with one vector as bytes, others and those to servers of earlier versions, which reply 415, as JSON."""
        compact = vector_body(body) if self._accepts_bytes else None
        if compact is not None:
            try:
                reply = self.send("POST", path, compact, content_type=VECTOR_BODY, retry=ALWAYS, timeout=timeout)
                return reply.json()
            except AnnalError as error:
                if error.status != 415:
                    raise
                self._accepts_bytes = False
        return self.json("POST", path, body, retry=ALWAYS, timeout=timeout)

    def send(
        self,
        method: str,
        path: str,
        data: Optional[bytes] = None,
        *,
        content_type: Optional[str] = None,
        accept: str = "application/json",
        retry: str,
        key: Optional[RequestKey] = None,
        timeout: Optional[float] = None,
    ) -> Reply:
        """Writes with a ``key`` are repeated with it after an unclear failure, if the server keeps keys."""
        sent_key = None if key is None else key.value(self.retries)
        response = self._send(method, path, data, content_type, accept, retry, sent_key, timeout, stream=False)
        return Reply(response.status_code, response.headers, response.content)

    def download(self, path: str, target: str, *, timeout: Optional[float] = None) -> None:
        """Writes the body to a file that appears only when it is complete."""
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        response = self._send("GET", path, None, None, "*/*", ALWAYS, None, seconds, stream=True)
        partial = f"{target}.part"
        try:
            with response, open(partial, "wb") as file:
                for chunk in response.iter_content(CHUNK_BYTES):
                    file.write(chunk)
        except requests.exceptions.RequestException as error:
            raise unreachable(self.address.root, error) from error
        os.replace(partial, target)

    def upload(self, path: str, source: str, content_type: str, *, timeout: Optional[float] = None) -> Reply:
        """Sends a file chunk by chunk."""
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        with open(source, "rb") as file:
            response = self._send(
                "POST", path, _chunks(file), content_type, "application/json", NEVER, None, seconds, stream=False
            )
        return Reply(response.status_code, response.headers, response.content)

    def _send(
        self,
        method: str,
        path: str,
        data: Union[bytes, Iterable[bytes], None],
        content_type: Optional[str],
        accept: str,
        retry: str,
        key: Optional[str],
        timeout: Optional[float],
        *,
        stream: bool,
    ) -> requests.Response:
        headers = self.address.headers(accept, content_type, key)
        seconds = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        attempt = 0
        while True:
            try:
                return self._once(method, path, data, headers, seconds, deadline, stream)
            except AnnalError as error:
                again = repetition(error, retry, key, attempt, self.retries, deadline - time.monotonic())
                if again is None:
                    raise
                attempt += 1
                time.sleep(again.wait)
                if again.needs_keys and not self._server_keeps_keys(deadline):
                    raise

    def _server_keeps_keys(self, deadline: float) -> bool:
        """Asks the server once, before the first repetition that depends on it. False if it does not answer."""
        if self._keeps_keys is None:
            try:
                info = self.json("GET", "/api/v2/info", retry=ALWAYS, timeout=deadline - time.monotonic())
            except AnnalError:
                return False
            self._keeps_keys = names_request_keys(info)
        return self._keeps_keys

    def _once(
        self,
        method: str,
        path: str,
        data: Union[bytes, Iterable[bytes], None],
        headers: "dict[str, str]",
        seconds: float,
        deadline: float,
        stream: bool,
    ) -> requests.Response:
        root = self.address.root
        try:
            # A redirect could send the token to an unexpected host.
            response = self._session.request(
                method,
                root + path,
                data=data,
                headers=headers,
                verify=self._verify,
                timeout=max(deadline - time.monotonic(), 0.001),
                stream=stream,
                allow_redirects=False,
            )
        except requests.exceptions.ConnectTimeout as error:
            raise too_late(root, seconds, error, connecting=True) from error
        except requests.exceptions.Timeout as error:
            raise too_late(root, seconds, error) from error
        except (requests.exceptions.RequestException, OSError) as error:
            raise unreachable(root, error) from error
        if 200 <= response.status_code < 300:
            return response
        raise failure(Reply(response.status_code, response.headers, response.content))


def _chunks(file: Any) -> Iterator[bytes]:
    while True:
        chunk = file.read(CHUNK_BYTES)
        if not chunk:
            return
        yield chunk
