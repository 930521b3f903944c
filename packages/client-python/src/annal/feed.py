"""Follows changes, and reads the lines of long replies. ``async_feed.py`` does the same in an event loop; both are written by hand."""

from __future__ import annotations

import json
import time
from typing import Any, Dict, Generator

from .errors import AnnalError
from .events import SILENCE, Following
from .transport import Transport
from .types import Change, ObjectChange

Changes = Generator[Change, None, None]
ObjectChanges = Generator[ObjectChange, None, None]


def follow_changes(transport: Transport, following: Following) -> Changes:
    while True:
        pieces = transport.stream(
            following.path(), accept="text/event-stream", timeout=following.timeout, silence=SILENCE
        )
        try:
            for piece in pieces:
                for lsn, change in following.read(piece):
                    if change is not None:
                        yield change
                    following.passed(lsn)
        except AnnalError as error:
            if not following.may_resume(error):
                raise
        finally:
            pieces.close()
        time.sleep(following.pause())


def read_lines(transport: Transport, path: str, timeout: float) -> Generator[Any, None, None]:
    pieces = transport.stream(path, accept="application/x-ndjson, application/json", timeout=timeout)
    rest = b""
    try:
        for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                value: Dict[str, Any] = json.loads(line)
                yield value
    finally:
        pieces.close()
