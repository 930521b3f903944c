"""HTTP with httpx for asyncio: the same calls, deadlines and retries as ``transport.py``. Requires the extra ``annal[async]``."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from typing import Any, AsyncIterator, Optional, Union

try:
    import httpx
except ImportError as error:  # pragma: no cover
    raise ImportError("the async client requires httpx: pip install 'annal[async]'") from error

from .errors import AnnalError
from .exchange import (
    ALWAYS,
    CHUNK_BYTES,
    NEVER,
    TRANSFER_SECONDS,
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


class AsyncTransport:
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
        self._client = httpx.AsyncClient(
            verify=_tls(verify, cert),
            limits=httpx.Limits(max_connections=pool_size, max_keepalive_connections=pool_size),
            # Keeps the token of the headers, which httpx would otherwise replace with an entry of a .netrc file.
            auth=lambda request: request,
            follow_redirects=False,
            timeout=None,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def json(
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
        reply = await self.send(method, path, data, content_type=content_type, retry=retry, key=key, timeout=timeout)
        return reply.json()

    async def search(self, path: str, body: Any, *, timeout: Optional[float] = None) -> Any:
        """Sends a search with one vector as bytes, others and those to servers of earlier versions, which reply 415, as JSON."""
        compact = vector_body(body) if self._accepts_bytes else None
        if compact is not None:
            try:
                reply = await self.send("POST", path, compact, content_type=VECTOR_BODY, retry=ALWAYS, timeout=timeout)
                return reply.json()
            except AnnalError as error:
                if error.status != 415:
                    raise
                self._accepts_bytes = False
        return await self.json("POST", path, body, retry=ALWAYS, timeout=timeout)

    async def send(
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
        headers = self.address.headers(accept, content_type, sent_key)
        seconds = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        attempt = 0
        while True:
            try:
                return await self._once(method, path, data, headers, seconds, deadline)
            except AnnalError as error:
                again = repetition(error, retry, sent_key, attempt, self.retries, deadline - time.monotonic())
                if again is None:
                    raise
                attempt += 1
                await asyncio.sleep(again.wait)
                if again.needs_keys and not await self._server_keeps_keys(deadline):
                    raise

    async def _server_keeps_keys(self, deadline: float) -> bool:
        """Asks the server once, before the first repetition that depends on it. False if it does not answer."""
        if self._keeps_keys is None:
            try:
                info = await self.json("GET", "/api/v2/info", retry=ALWAYS, timeout=deadline - time.monotonic())
            except AnnalError:
                return False
            self._keeps_keys = names_request_keys(info)
        return self._keeps_keys

    async def download(self, path: str, target: str, *, timeout: Optional[float] = None) -> None:
        """Writes the body to a file that appears only when it is complete. Retries from the start after a temporary failure."""
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        deadline = time.monotonic() + seconds
        attempt = 0
        while True:
            try:
                await self._download_once(path, target, seconds, deadline)
                return
            except AnnalError as error:
                again = repetition(error, ALWAYS, None, attempt, self.retries, deadline - time.monotonic())
                if again is None:
                    raise
                attempt += 1
                await asyncio.sleep(again.wait)

    async def upload(self, path: str, source: str, content_type: str, *, timeout: Optional[float] = None) -> Reply:
        """Sends a file chunk by chunk."""
        seconds = TRANSFER_SECONDS if timeout is None else timeout
        headers = self.address.headers("application/json", content_type)
        return await self._once("POST", path, _chunks(source), headers, seconds, time.monotonic() + seconds)

    async def _download_once(self, path: str, target: str, seconds: float, deadline: float) -> None:
        root = self.address.root
        partial = f"{target}.part"
        try:
            async with self._client.stream(
                "GET", root + path, headers=self.address.headers("*/*", None), timeout=_left(deadline)
            ) as response:
                if not 200 <= response.status_code < 300:
                    raise failure(Reply(response.status_code, response.headers, await response.aread()))
                with open(partial, "wb") as file:
                    async for chunk in response.aiter_bytes(CHUNK_BYTES):
                        await asyncio.to_thread(file.write, chunk)
        except httpx.TimeoutException as error:
            raise too_late(root, seconds, error) from error
        except httpx.HTTPError as error:
            raise unreachable(root, error) from error
        os.replace(partial, target)

    async def _once(
        self,
        method: str,
        path: str,
        data: Union[bytes, AsyncIterator[bytes], None],
        headers: "dict[str, str]",
        seconds: float,
        deadline: float,
    ) -> Reply:
        root = self.address.root
        sending = self._client.request(method, root + path, content=data, headers=headers, timeout=_left(deadline))
        try:
            # httpx limits each read separately; the deadline is for the whole call.
            response = await asyncio.wait_for(sending, _left(deadline))
        except httpx.ConnectTimeout as error:
            raise too_late(root, seconds, error, connecting=True) from error
        except (httpx.TimeoutException, asyncio.TimeoutError) as error:
            raise too_late(root, seconds, error) from error
        except (httpx.HTTPError, OSError) as error:
            raise unreachable(root, error) from error
        reply = Reply(response.status_code, response.headers, response.content)
        if 200 <= response.status_code < 300:
            return reply
        raise failure(reply)


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


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
