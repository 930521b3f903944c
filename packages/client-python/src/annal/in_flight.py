"""Batches that are being sent by threads. ``async_in_flight.py`` does the same in an event loop; both are written by hand."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, Optional, Tuple, TypeVar

from .batches import Batch

T = TypeVar("T")
Source = Iterable[T]
Send = Callable[[Batch, Optional[float], Optional[str]], Dict[str, Any]]
"""Sends a batch, with a timeout in seconds and its request key, if the caller chose them."""


def read_batches(source: Source[Any], batch_size: int) -> Iterator[Batch]:
    records = iter(source)
    batch = list(islice(records, batch_size))
    while batch:
        yield batch
        batch = list(islice(records, batch_size))


class InFlight:
    """At most ``concurrency`` batches, settled in the order in which they were started. Leaving waits for all of them."""

    def __init__(self, send: Send, concurrency: int, on_progress: Optional[Callable[[int], None]]) -> None:
        self._send = send
        self._concurrency = concurrency
        self._on_progress = on_progress
        self._pool = ThreadPoolExecutor(max_workers=concurrency)
        self._batches: Deque[Tuple["Future[Any]", int]] = deque()
        self.stored = 0

    def __enter__(self) -> "InFlight":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True)

    @property
    def is_busy(self) -> bool:
        return len(self._batches) > 0

    @property
    def is_full(self) -> bool:
        return len(self._batches) >= self._concurrency

    def start(self, batch: Batch, key: Optional[str]) -> None:
        self._batches.append((self._pool.submit(self._send, batch, None, key), len(batch)))

    def settle_oldest(self) -> None:
        """Waits for the oldest batch and raises its failure."""
        future, count = self._batches.popleft()
        future.result()
        self.stored += count
        if self._on_progress is not None:
            self._on_progress(self.stored)
