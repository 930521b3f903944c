"""HTTP with requests: a connection pool, deadlines and retries."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Dict, Generator, Iterator, Optional, Union

import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase

from .calls import Attempt, Call, Peer
from .direct import DirectPools
from .errors import AnnalError
from .exchange import (
    ALWAYS,
    CHUNK_BYTES,
    NEVER,
    TRANSFER_SECONDS,
    ClientCertificate,
    Reply,
    RequestKey,
    failure,
    is_result,
    unreachable,
)
from .nodes import Node
from .reads import Read

_MEASUREMENT_SECONDS = 2.0


class _HeadersAsGiven(AuthBase):
    """Keeps the token of the headers, which requests would otherwise replace with an entry of a .netrc file."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


class _Session(requests.Session):
    """Reads proxies and REQUESTS_CA_BUNDLE from the environment once for each server; requests reads them before every request."""

    def __init__(self) -> None:
        super().__init__()
        self._of_servers: Dict[str, Dict[str, Any]] = {}

    def merge_environment_settings(self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any) -> Dict[str, Any]:
        """The other arguments are the same for all requests of a transport."""
        server = "/".join(url.split("/", 3)[:3])
        if server not in self._of_servers:
            self._of_servers[server] = dict(super().merge_environment_settings(url, proxies, stream, verify, cert))
        return {**self._of_servers[server], "stream": stream}


class Transport:
    def __init__(self, peer: Peer, pool_size: int, verify: Union[bool, str], cert: ClientCertificate) -> None:
        self.peer = peer
        self._session = _Session()
        self._session.auth = _HeadersAsGiven()
        # Passed with each request, because REQUESTS_CA_BUNDLE would override that of the session.
        self._verify = verify
        self._session.cert = cert
        adapter = HTTPAdapter(pool_connections=max(10, len(peer.address.roots)), pool_maxsize=pool_size)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)
        self._direct = DirectPools(self._session, verify, pool_size)

    def close(self) -> None:
        self._direct.close()
        self._session.close()

    def json(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        retry: str,
        key: Optional[RequestKey] = None,
        read: Optional[Read] = None,
        timeout: Optional[float] = None,
        takes_long: bool = False,
    ) -> Any:
        """Sends JSON, if there is a body, and reads JSON."""
        call = self.peer.json(
            method, path, body, retry=retry, key=key, read=read, timeout=timeout, takes_long=takes_long
        )
        return call.result(self._reply(call))

    def search(self, path: str, body: Any, *, read: Read, timeout: Optional[float] = None) -> Any:
        """Sends a search with one vector as bytes, others and those to servers of earlier versions, which reply 415, as JSON."""
        call = self.peer.compact_search(path, body, read, timeout)
        if call is not None:
            try:
                return call.result(self._reply(call))
            except AnnalError as error:
                if error.status != 415:
                    raise
                self.peer.accepts_bytes = False
        return self.json("POST", path, body, retry=ALWAYS, read=read, timeout=timeout)

    def send(self, method: str, path: str, data: Optional[bytes] = None, **options: Any) -> Reply:
        """``options`` are those of ``Call``. Writes with a ``key`` are repeated with it after an ambiguous failure, if the server keeps
        keys."""
        return self._reply(Call(self.peer, method, path, data, **options))

    def download(self, path: str, target: str, *, timeout: Optional[float] = None) -> None:
        """Writes the body to a file that appears only when it is complete."""
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        call = Call(self.peer, "GET", path, accept="*/*", retry=ALWAYS, timeout=seconds, takes_long=True)
        response = self._send(call)
        partial = f"{target}.part"
        try:
            with response, open(partial, "wb") as file:
                for chunk in response.iter_content(CHUNK_BYTES):
                    file.write(chunk)
        except requests.exceptions.RequestException as error:
            raise unreachable(response.url[: -len(path)], error) from error
        os.replace(partial, target)

    def stream(
        self, path: str, *, accept: str, timeout: Optional[float] = None, silence: Optional[float] = None
    ) -> Generator[bytes, None, None]:
        """Yields the body of a reply as it arrives. ``timeout`` is for its beginning, ``silence`` the longest pause afterwards."""
        call = Call(self.peer, "GET", path, accept=accept, retry=ALWAYS, timeout=timeout, takes_long=True)
        response = self._send(call, silence=silence)
        try:
            # Without a size, the bytes of each chunk come at once; replies without chunks have no other end.
            size = None if getattr(response.raw, "chunked", False) else 1
            yield from response.iter_content(size)
        except requests.exceptions.RequestException as error:
            raise unreachable(response.url[: -len(path)], error) from error
        finally:
            response.close()

    def upload(self, path: str, source: str, content_type: str, *, timeout: Optional[float] = None) -> Reply:
        """Sends a file chunk by chunk."""
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        with open(source, "rb") as file:
            data = _chunks(file)
            return self._reply(
                Call(self.peer, "POST", path, data, content_type=content_type, retry=NEVER, timeout=seconds, once=True)
            )

    def _reply(self, call: Call) -> Reply:
        reply: Reply = self._run(call, self._whole)
        return reply

    def _send(self, call: Call, *, silence: Optional[float] = None) -> requests.Response:
        """The response to a call whose body is read while it arrives."""
        response: requests.Response = self._run(call, lambda attempt: self._once(attempt, True, silence))
        return response

    def _run(self, call: Call, once: Callable[[Attempt], Any]) -> Any:
        """The first response of ``once`` that is a result. It has ``headers``."""
        while True:
            attempt = call.attempt()
            self._measure()
            try:
                response = once(attempt)
                call.succeeded(attempt, response.headers)
                return response
            except AnnalError as error:
                again = call.failed(attempt, error)
                if again is None:
                    raise
                time.sleep(again.wait)
                if again.needs_keys and not self._server_keeps_keys(call.deadline):
                    raise

    def _server_keeps_keys(self, deadline: float) -> bool:
        """Asks the server once, before the first repetition that depends on it. False if it does not answer."""
        if self.peer.keeps_keys is None:
            try:
                return self.peer.learned(self._reply(self.peer.info(deadline)))
            except AnnalError:
                return False
        return self.peer.keeps_keys

    def _whole(self, attempt: Attempt) -> Reply:
        if self._direct.takes(attempt):
            reply = self._direct.send(attempt)
            if is_result(reply):
                return reply
            raise failure(reply)
        response = self._once(attempt, False, None)
        return Reply(response.status_code, response.headers, response.content)

    def _once(self, attempt: Attempt, stream: bool, silence: Optional[float]) -> requests.Response:
        try:
            # A redirect could send the token to an unexpected host.
            response = self._session.request(
                attempt.method,
                attempt.url,
                data=attempt.data,
                headers=attempt.headers,
                verify=self._verify,
                timeout=(attempt.seconds_left, attempt.seconds_left if silence is None else silence),
                stream=stream,
                allow_redirects=False,
            )
        except requests.exceptions.ConnectTimeout as error:
            raise attempt.too_late(error, connecting=True) from error
        except requests.exceptions.Timeout as error:
            raise attempt.too_late(error) from error
        except (requests.exceptions.RequestException, OSError) as error:
            raise unreachable(attempt.root, error) from error
        if stream and 200 <= response.status_code < 300:
            return response
        reply = Reply(response.status_code, response.headers, response.content)
        if is_result(reply):
            return response
        raise failure(reply)

    def _measure(self) -> None:
        """In threads of its own, so that it delays no call."""
        for node in self.peer.due():
            threading.Thread(target=self._measure_node, args=(node,), name="annal-measure", daemon=True).start()

    def _measure_node(self, node: Node) -> None:
        start = time.monotonic()
        try:
            response = self._session.request(
                "GET",
                f"{node.url}/api/v2/health",
                verify=self._verify,
                timeout=_MEASUREMENT_SECONDS,
                allow_redirects=False,
            )
            serves = response.status_code == 200
        except (requests.exceptions.RequestException, OSError):
            serves = False
        self.peer.measured(node, time.monotonic() - start if serves else None)


def _chunks(file: Any) -> Iterator[bytes]:
    while True:
        chunk = file.read(CHUNK_BYTES)
        if not chunk:
            return
        yield chunk
