"""Sends records in batches: a list one batch after another, an iterable with several concurrent batches."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Callable, Deque, Dict, Iterable, List, Mapping, Optional, Tuple, TypeVar

from .errors import AnnalError, InvalidArgumentError
from .progress import ProgressBar

BATCH_MAX = 1_000

Batch = List[Mapping[str, Any]]
T = TypeVar("T")
Source = Iterable[T]


def upsert_all(
    source: Iterable[Any],
    send: Callable[[Batch, Optional[float]], Dict[str, Any]],
    batch_size: int,
    progress: Optional[bool],
    timeout: Optional[float],
) -> Dict[str, Any]:
    """Returns the last reply with the total number under ``upserted``. An error's ``stored`` is the number of records before it."""
    batches = batches_of(source, batch_size)
    stored = 0
    reply: Dict[str, Any] = {}
    with ProgressBar(sum(map(len, batches)), progress if len(batches) > 1 else False) as bar:
        for batch in batches:
            try:
                reply = send(batch, timeout)
            except AnnalError as error:
                error.stored = stored
                raise
            stored += len(batch)
            bar.add(len(batch))
    return {**reply, "upserted": stored}


def batches_of(source: Iterable[Any], batch_size: int) -> List[Batch]:
    """Yields at least one batch, which may be empty, so that the server validates an empty list."""
    check_batch_size(batch_size)
    records = list(source)
    return [records[i : i + batch_size] for i in range(0, max(len(records), 1), batch_size)]


def check_batch_size(batch_size: int) -> None:
    if not 1 <= batch_size <= BATCH_MAX:
        message = f"batch_size is {batch_size}; it must be from 1 to {BATCH_MAX}"
        raise InvalidArgumentError(message, field="batch_size", value=batch_size, limit=BATCH_MAX)


def bulk_load(
    source: Source[Any],
    send: Callable[[Batch], Any],
    batch_size: int,
    concurrency: int,
    on_progress: Optional[Callable[[int], None]],
) -> int:
    """Returns the number of stored records. Raises the first failure after the running batches have ended."""
    check_batch_size(batch_size)
    stored = 0
    records = iter(source)
    in_flight: Deque[Tuple["Future[Any]", int]] = deque()

    def settle_oldest() -> int:
        future, count = in_flight.popleft()
        future.result()
        if on_progress is not None:
            on_progress(stored + count)
        return count

    with ThreadPoolExecutor(max_workers=concurrency) as pool:
        while True:
            batch = list(islice(records, batch_size))
            if not batch:
                break
            if len(in_flight) >= concurrency:
                stored += settle_oldest()
            in_flight.append((pool.submit(send, batch), len(batch)))
        while in_flight:
            stored += settle_oldest()
    return stored
