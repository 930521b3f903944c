"""Sends records in batches from an event loop; see ``bulk.py`` for the functions."""

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
    List,
    Mapping,
    Optional,
    Tuple,
    TypeVar,
    Union,
)

from .bulk import Batch, batches_of, check_batch_size
from .errors import AnnalError
from .progress import ProgressBar

T = TypeVar("T")
Source = Union[Iterable[T], AsyncIterable[T]]


async def upsert_all(
    source: Iterable[Any],
    send: Callable[[Batch, Optional[float]], Awaitable[Dict[str, Any]]],
    batch_size: int,
    progress: Optional[bool],
    timeout: Optional[float],
) -> Dict[str, Any]:
    batches = batches_of(source, batch_size)
    stored = 0
    reply: Dict[str, Any] = {}
    with ProgressBar(sum(map(len, batches)), progress if len(batches) > 1 else False) as bar:
        for batch in batches:
            try:
                reply = await send(batch, timeout)
            except AnnalError as error:
                error.stored = stored
                raise
            stored += len(batch)
            bar.add(len(batch))
    return {**reply, "upserted": stored}


async def bulk_load(
    source: Source[Any],
    send: Callable[[Batch], Awaitable[Any]],
    batch_size: int,
    concurrency: int,
    on_progress: Optional[Callable[[int], None]],
) -> int:
    check_batch_size(batch_size)
    stored = 0
    in_flight: Deque[Tuple["asyncio.Task[Any]", int]] = deque()

    async def settle_oldest() -> int:
        task, count = in_flight.popleft()
        await task
        if on_progress is not None:
            on_progress(stored + count)
        return count

    try:
        async for batch in _batches(source, batch_size):
            if len(in_flight) >= concurrency:
                stored += await settle_oldest()
            in_flight.append((asyncio.ensure_future(send(batch)), len(batch)))
        while in_flight:
            stored += await settle_oldest()
    finally:
        await asyncio.gather(*(task for task, _ in in_flight), return_exceptions=True)
    return stored


async def _batches(source: Any, batch_size: int) -> AsyncIterator[Batch]:
    batch: List[Mapping[str, Any]] = []
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
