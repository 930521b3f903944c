"""Divides records into batches of a size that the server accepts."""

from __future__ import annotations

from typing import Any, Iterable, List, Mapping, Optional

from .errors import InvalidArgumentError

BATCH_MAX = 1_000

Batch = List[Mapping[str, Any]]


def batches_of(source: Iterable[Any], batch_size: int) -> List[Batch]:
    """Returns at least one batch, which may be empty, so that the server validates an empty list."""
    check_batch_size(batch_size)
    records = list(source)
    return [records[i : i + batch_size] for i in range(0, max(len(records), 1), batch_size)]


def key_of_batch(key: Optional[str], number: int) -> Optional[str]:
    """The first batch has the key itself, so that records that fit into one batch are one write with that key."""
    return key if key is None or number == 0 else f"{key}.{number}"


def check_batch_size(batch_size: int) -> None:
    if not 1 <= batch_size <= BATCH_MAX:
        message = f"batch_size is {batch_size}; it must be from 1 to {BATCH_MAX}"
        raise InvalidArgumentError(message, field="batch_size", value=batch_size, limit=BATCH_MAX)
