"""Sends records in batches: a list one batch after another, an iterable with several concurrent batches."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Optional

from .batches import batches_of, check_batch_size, key_of_batch
from .errors import AnnalError
from .in_flight import InFlight, Send, Source, read_batches
from .progress import ProgressBar


def upsert_all(
    source: Iterable[Any],
    send: Send,
    batch_size: int,
    progress: Optional[bool],
    timeout: Optional[float],
    idempotency_key: Optional[str] = None,
) -> Dict[str, Any]:
    """Returns the last reply with the total number under ``upserted``. An error's ``stored`` is the number of records before it.

    ``results`` has those of all batches with conditions.
    """
    batches = batches_of(source, batch_size)
    stored = 0
    upserted = 0
    results: List[Any] = []
    reply: Dict[str, Any] = {}
    with ProgressBar(sum(map(len, batches)), progress if len(batches) > 1 else False) as bar:
        for number, batch in enumerate(batches):
            try:
                reply = send(batch, timeout, key_of_batch(idempotency_key, number))
            except AnnalError as error:
                error.stored = stored
                raise
            stored += len(batch)
            # Only a batch with conditions may store less than all of it.
            upserted += reply["upserted"] if "results" in reply else len(batch)
            results += reply.get("results", [])
            bar.add(len(batch))
    return {**reply, "upserted": upserted, **({"results": results} if results else {})}


def bulk_load(
    source: Source[Any],
    send: Send,
    batch_size: int,
    concurrency: int,
    on_progress: Optional[Callable[[int], None]],
    idempotency_key: Optional[str] = None,
) -> int:
    """Returns the number of stored records. Raises the first failure after the running batches have ended."""
    check_batch_size(batch_size)
    number = 0
    with InFlight(send, concurrency, on_progress) as in_flight:
        for batch in read_batches(source, batch_size):
            if in_flight.is_full:
                in_flight.settle_oldest()
            in_flight.start(batch, key_of_batch(idempotency_key, number))
            number += 1
        while in_flight.is_busy:
            in_flight.settle_oldest()
    return in_flight.stored
