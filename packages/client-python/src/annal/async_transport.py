"""HTTP with httpx for asyncio: the same calls, deadlines and retries as ``transport.py``. Requires the extra ``annal[async]``."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from typing import Any, AsyncGenerator, AsyncIterator, Awaitable, Callable, Optional, Set, TypeVar, Union

try:
    import httpx
except ImportError as error:  # pragma: no cover
    raise ImportError("the async client requires httpx: pip install 'annal[async]'") from error

from .calls import Attempt, Call, Peer
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

R = TypeVar("R", Reply, httpx.Response)


class AsyncTransport:
    def __init__(self, peer: Peer, pool_size: int, verify: Union[bool, str], cert: ClientCertificate) -> None:
        self.peer = peer
        self._measurements: Set["asyncio.Task[None]"] = set()
        self._tls = _tls(verify, cert)
        self._client = self._new_client(httpx.Limits(max_connections=pool_size, max_keepalive_connections=pool_size))
        self._streams: Optional[httpx.AsyncClient] = None

    def _new_client(self, limits: httpx.Limits) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            verify=self._tls,
            limits=limits,
            # Keeps the token of the headers, which httpx would otherwise replace with an entry of a .netrc file.
            auth=lambda request: request,
            follow_redirects=False,
            timeout=None,
        )

    async def close(self) -> None:
        for measurement in self._measurements:
            measurement.cancel()
        await asyncio.gather(*self._measurements, return_exceptions=True)
        await self._client.aclose()
        if self._streams is not None:
            await self._streams.aclose()

    async def json(
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
        return call.result(await self._reply(call))

    async def search(self, path: str, body: Any, *, read: Read, timeout: Optional[float] = None) -> Any:
        """Sends a search with one vector as bytes, others and those to servers of earlier versions, which reply 415, as JSON."""
        call = self.peer.compact_search(path, body, read, timeout)
        if call is not None:
            try:
                return call.result(await self._reply(call))
            except AnnalError as error:
                if error.status != 415:
                    raise
                self.peer.accepts_bytes = False
        return await self.json("POST", path, body, retry=ALWAYS, read=read, timeout=timeout)

    async def send(self, method: str, path: str, data: Optional[bytes] = None, **options: Any) -> Reply:
        """``options`` are those of ``Call``. Writes with a ``key`` are repeated with it after an ambiguous failure, if the server keeps
        keys."""
        return await self._reply(Call(self.peer, method, path, data, **options))

    async def download(self, path: str, target: str, *, timeout: Optional[float] = None) -> None:
        """Writes the body to a file that appears only when it is complete. Retries from the start after a temporary failure."""
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        call = Call(self.peer, "GET", path, accept="*/*", retry=ALWAYS, timeout=seconds, takes_long=True)
        await self._run(call, lambda attempt: self._download_once(attempt, target))

    async def stream(
        self, path: str, *, accept: str, timeout: Optional[float] = None, silence: Optional[float] = None
    ) -> AsyncGenerator[bytes, None]:
        """Yields the body of a reply as it arrives. ``timeout`` is for its beginning, ``silence`` the longest pause afterwards."""
        call = Call(self.peer, "GET", path, accept=accept, retry=ALWAYS, timeout=timeout, takes_long=True)
        response = await self._run(call, lambda attempt: self._open(attempt, silence))
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.HTTPError as error:
            raise unreachable(str(response.url)[: -len(path)], error) from error
        finally:
            await response.aclose()

    async def _open(self, attempt: Attempt, silence: Optional[float]) -> httpx.Response:
        seconds = attempt.seconds_left
        if self._streams is None:
            # Streams stay open, so they take no connections from calls.
            self._streams = self._new_client(httpx.Limits(max_connections=None))
        timeout = httpx.Timeout(seconds, read=seconds if silence is None else silence)
        request = self._streams.build_request(attempt.method, attempt.url, headers=attempt.headers, timeout=timeout)
        try:
            response = await asyncio.wait_for(self._streams.send(request, stream=True), seconds)
        except httpx.ConnectTimeout as error:
            raise attempt.too_late(error, connecting=True) from error
        except (httpx.TimeoutException, asyncio.TimeoutError) as error:
            raise attempt.too_late(error) from error
        except (httpx.HTTPError, OSError) as error:
            raise unreachable(attempt.root, error) from error
        if 200 <= response.status_code < 300:
            return response
        try:
            raise failure(Reply(response.status_code, response.headers, await response.aread()))
        except httpx.HTTPError as error:
            raise unreachable(attempt.root, error) from error
        finally:
            await response.aclose()

    async def upload(self, path: str, source: str, content_type: str, *, timeout: Optional[float] = None) -> Reply:
        """Sends a file chunk by chunk."""
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        data = _chunks(source)
        return await self._reply(
            Call(self.peer, "POST", path, data, content_type=content_type, retry=NEVER, timeout=seconds, once=True)
        )

    async def _reply(self, call: Call) -> Reply:
        return await self._run(call, self._once)

    async def _run(self, call: Call, once: Callable[[Attempt], Awaitable[R]]) -> R:
        while True:
            attempt = call.attempt()
            self._measure()
            try:
                reply = await once(attempt)
                call.succeeded(attempt, reply.headers)
                return reply
            except AnnalError as error:
                again = call.failed(attempt, error)
                if again is None:
                    raise
                await asyncio.sleep(again.wait)
                if again.needs_keys and not await self._server_keeps_keys(call.deadline):
                    raise

    async def _server_keeps_keys(self, deadline: float) -> bool:
        """Asks the server once, before the first repetition that depends on it. False if it does not answer."""
        if self.peer.keeps_keys is None:
            try:
                return self.peer.learned(await self._reply(self.peer.info(deadline)))
            except AnnalError:
                return False
        return self.peer.keeps_keys

    async def _download_once(self, attempt: Attempt, target: str) -> Reply:
        partial = f"{target}.part"
        try:
            async with self._client.stream(
                attempt.method, attempt.url, headers=attempt.headers, timeout=attempt.seconds_left
            ) as response:
                if not 200 <= response.status_code < 300:
                    raise failure(Reply(response.status_code, response.headers, await response.aread()))
                with open(partial, "wb") as file:
                    async for chunk in response.aiter_bytes(CHUNK_BYTES):
                        await asyncio.to_thread(file.write, chunk)
        except httpx.TimeoutException as error:
            raise attempt.too_late(error) from error
        except httpx.HTTPError as error:
            raise unreachable(attempt.root, error) from error
        os.replace(partial, target)
        return Reply(response.status_code, response.headers, b"")

    async def _once(self, attempt: Attempt) -> Reply:
        seconds = attempt.seconds_left
        sending = self._client.request(
            attempt.method, attempt.url, content=attempt.data, headers=attempt.headers, timeout=seconds
        )
        try:
            # httpx limits each read separately; the deadline is for the whole attempt.
            response = await asyncio.wait_for(sending, seconds)
        except httpx.ConnectTimeout as error:
            raise attempt.too_late(error, connecting=True) from error
        except (httpx.TimeoutException, asyncio.TimeoutError) as error:
            raise attempt.too_late(error) from error
        except (httpx.HTTPError, OSError) as error:
            raise unreachable(attempt.root, error) from error
        reply = Reply(response.status_code, response.headers, response.content)
        if is_result(reply):
            return reply
        raise failure(reply)

    def _measure(self) -> None:
        """In tasks of its own, so that it delays no call."""
        for node in self.peer.due():
            measurement = asyncio.create_task(self._measure_node(node))
            self._measurements.add(measurement)
            measurement.add_done_callback(self._measurements.discard)

    async def _measure_node(self, node: Node) -> None:
        start = time.monotonic()
        try:
            response = await self._client.get(f"{node.url}/api/v2/health", timeout=_MEASUREMENT_SECONDS)
            serves = response.status_code == 200
        except (httpx.HTTPError, OSError):
            serves = False
        self.peer.measured(node, time.monotonic() - start if serves else None)


def _tls(verify: Union[bool, str], cert: ClientCertificate) -> Union[bool, ssl.SSLContext]:
    """Does what requests does with the same options: a file or folder of authorities, or REQUESTS_CA_BUNDLE."""
    authorities = verify
    if verify is True:
        authorities = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
    if isinstance(authorities, bool) and cert is None:
        return authorities
    context = ssl.create_default_context()
    if isinstance(authorities, str):
        is_folder = os.path.isdir(authorities)
        context = ssl.create_default_context(
            cafile=None if is_folder else authorities, capath=authorities if is_folder else None
        )
    elif authorities is False:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if isinstance(cert, str):
        context.load_cert_chain(cert)
    elif cert is not None:
        context.load_cert_chain(*cert)
    return context


async def _chunks(source: str) -> AsyncIterator[bytes]:
    with open(source, "rb") as file:
        while True:
            chunk = await asyncio.to_thread(file.read, CHUNK_BYTES)
            if not chunk:
                return
            yield chunk
