"""Follows changes, and reads the lines of long replies, in an event loop; see ``feed.py``."""

from __future__ import annotations

import asyncio
import json
from typing import Any, AsyncGenerator, Dict

from .async_transport import AsyncTransport
from .errors import AnnalError
from .events import SILENCE, Following
from .types import Change, ObjectChange

Changes = AsyncGenerator[Change, None]
ObjectChanges = AsyncGenerator[ObjectChange, None]


async def follow_changes(transport: AsyncTransport, following: Following) -> Changes:
    while True:
        pieces = transport.stream(
            following.path(), accept="text/event-stream", timeout=following.timeout, silence=SILENCE
        )
        try:
            async for piece in pieces:
                for lsn, change in following.read(piece):
                    if change is not None:
                        yield change
                    following.passed(lsn)
        except AnnalError as error:
            if not following.may_resume(error):
                raise
        finally:
            await pieces.aclose()
        await asyncio.sleep(following.pause())


async def read_lines(transport: AsyncTransport, path: str, timeout: float) -> AsyncGenerator[Any, None]:
    pieces = transport.stream(path, accept="application/x-ndjson, application/json", timeout=timeout)
    rest = b""
    try:
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                value: Dict[str, Any] = json.loads(line)
                yield value
    finally:
        await pieces.aclose()
