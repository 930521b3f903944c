"""Loads what an iterable gives in batches, some of them on their way at one time, and takes no more from it than that."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, Callable, Deque, Iterable, List, Mapping, Optional, Tuple

Batch = List[Mapping[str, Any]]


def bulk_load(
    source: Iterable[Mapping[str, Any]],
    send: Callable[[Batch], Any],
    batch_size: int,
    concurrency: int,
    on_progress: Optional[Callable[[int], None]],
) -> int:
    """Gives the number of records stored. Fails with the first failure, when the batches under way have ended."""
    stored = 0
    records = iter(source)
    under_way: Deque[Tuple["Future[Any]", int]] = deque()

    def settle_oldest() -> int:
        future, count = under_way.popleft()
        future.result()
        if on_progress is not None:
            on_progress(stored + count)
        return count

    with ThreadPoolExecutor(max_workers=concurrency) as pool:
        while True:
            batch = list(islice(records, batch_size))
            if not batch:
                break
            if len(under_way) >= concurrency:
                stored += settle_oldest()
            under_way.append((pool.submit(send, batch), len(batch)))
        while under_way:
            stored += settle_oldest()
    return stored
