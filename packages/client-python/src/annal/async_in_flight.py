"""Batches that are being sent by tasks of an event loop; see ``in_flight.py``."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import (
    Any,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Deque,
    Dict,
    Iterable,
    Mapping,
    Optional,
    Tuple,
    TypeVar,
    Union,
)

from .batches import Batch

T = TypeVar("T")
Source = Union[Iterable[T], AsyncIterable[T]]
Send = Callable[[Batch, Optional[float], Optional[str]], Awaitable[Dict[str, Any]]]
"""Sends a batch, with a timeout in seconds and its request key, if the caller chose them."""


async def read_batches(source: Source[Any], batch_size: int) -> AsyncIterator[Batch]:
    batch: Batch = []
    async for record in _records(source):
        batch.append(record)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch


async def _records(source: Any) -> AsyncIterator[Mapping[str, Any]]:
    if hasattr(source, "__aiter__"):
        async for record in source:
            yield record
    else:
        for record in source:
            yield record


class InFlight:
    """At most ``concurrency`` batches, settled in the order in which they were started. Leaving waits for all of them."""

    def __init__(self, send: Send, concurrency: int, on_progress: Optional[Callable[[int], None]]) -> None:
        self._send = send
        self._concurrency = concurrency
        self._on_progress = on_progress
        self._batches: Deque[Tuple["asyncio.Future[Any]", int]] = deque()
        self.stored = 0

    async def __aenter__(self) -> "InFlight":
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(task for task, _ in self._batches), return_exceptions=True)

    @property
    def is_busy(self) -> bool:
        return len(self._batches) > 0

    @property
    def is_full(self) -> bool:
        return len(self._batches) >= self._concurrency

    def start(self, batch: Batch, key: Optional[str]) -> None:
        self._batches.append((asyncio.ensure_future(self._send(batch, None, key)), len(batch)))

    async def settle_oldest(self) -> None:
        """Waits for the oldest batch and raises its failure."""
        task, count = self._batches.popleft()
        await task
        self.stored += count
        if self._on_progress is not None:
            self._on_progress(self.stored)
