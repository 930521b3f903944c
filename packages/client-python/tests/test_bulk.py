"""Bulk loading, sync and async: the same results from the same calls, at most ``concurrency`` batches at a time, and no batch lost."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, AsyncIterator, Callable, Dict, List, Optional

import pytest

from annal import async_bulk, bulk
from annal.errors import AnnalError, InvalidArgumentError
from annal.exchange import object_path

RECORDS = [{"id": str(i)} for i in range(23)]


class Sender:
    """Counts what runs at one time. The batch with the id ``failing`` fails after all batches sent before it have ended."""

    def __init__(self, failing: Optional[str] = None) -> None:
        self.failing = failing
        self.stored: List[str] = []
        self.running = 0
        self.most = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)

    def end(self, batch: Any) -> Dict[str, Any]:
        with self._lock:
            self.running -= 1
            ids = [record["id"] for record in batch]
            if self.failing in ids:
                raise AnnalError(f"{self.failing} failed")
            self.stored += ids
        return {"lsn": len(self.stored)}

    def sync(self, batch: Any, timeout: Optional[float], key: Optional[str]) -> Dict[str, Any]:
        self.begin()
        return self.end(batch)

    async def coroutine(self, batch: Any, timeout: Optional[float], key: Optional[str]) -> Dict[str, Any]:
        self.begin()
        for _ in range(3):
            await asyncio.sleep(0)
        return self.end(batch)


async def as_stream(records: List[Dict[str, str]]) -> AsyncIterator[Dict[str, str]]:
    for record in records:
        yield record


def load_sync(sender: Sender, concurrency: int, on_progress: Optional[Callable[[int], None]] = None) -> int:
    return bulk.bulk_load(RECORDS, sender.sync, 5, concurrency, on_progress)


def load_async(sender: Sender, concurrency: int, on_progress: Optional[Callable[[int], None]] = None) -> int:
    return asyncio.run(async_bulk.bulk_load(RECORDS, sender.coroutine, 5, concurrency, on_progress))


def load_stream(sender: Sender, concurrency: int, on_progress: Optional[Callable[[int], None]] = None) -> int:
    return asyncio.run(async_bulk.bulk_load(as_stream(RECORDS), sender.coroutine, 5, concurrency, on_progress))


LOADS = [load_sync, load_async, load_stream]


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("concurrency", [1, 2, 4, 9])
def test_every_record_is_sent_once_and_progress_is_the_number_of_stored_records(load: Any, concurrency: int) -> None:
    sender = Sender()
    progress: List[int] = []
    assert load(sender, concurrency, progress.append) == len(RECORDS)
    assert sorted(sender.stored, key=int) == [record["id"] for record in RECORDS]
    assert progress == [5, 10, 15, 20, 23]
    assert sender.most <= concurrency
    if load is not load_sync:
        assert sender.most == min(concurrency, 5)


@pytest.mark.parametrize("load", LOADS)
def test_a_failure_is_raised_after_the_running_batches_have_ended(load: Any) -> None:
    sender = Sender(failing="7")
    with pytest.raises(AnnalError, match="7 failed"):
        load(sender, 3)
    assert sender.running == 0
    assert set("01234").issubset(sender.stored) and "7" not in sender.stored


@pytest.mark.parametrize("load", LOADS)
def test_a_source_that_fails_leaves_no_batch_running(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = RECORDS[:12]

    class Broken(List[Dict[str, str]]):
        def __iter__(self) -> Any:
            yield from first
            raise ValueError("the source failed")

    sender = Sender()
    monkeypatch.setitem(globals(), "RECORDS", Broken())
    with pytest.raises(ValueError, match="the source failed"):
        load(sender, 2)
    assert sender.running == 0 and len(sender.stored) == 10


def test_an_upsert_of_several_batches_counts_what_was_stored_before_a_failure() -> None:
    for failing, stored in ((None, 23), ("12", 10)):
        for call in (
            lambda sender: bulk.upsert_all(RECORDS, sender.sync, 5, False, None),
            lambda sender: asyncio.run(async_bulk.upsert_all(RECORDS, sender.coroutine, 5, False, None)),
        ):
            if failing is None:
                assert call(Sender()) == {"lsn": 23, "upserted": stored}
                continue
            with pytest.raises(AnnalError) as failure:
                call(Sender(failing))
            assert failure.value.stored == stored


def test_a_batch_size_outside_its_bounds_is_rejected_before_anything_is_read() -> None:
    for size in (0, 1_001):
        with pytest.raises(InvalidArgumentError):
            bulk.bulk_load(iter(RECORDS), Sender().sync, size, 2, None)
        with pytest.raises(InvalidArgumentError):
            asyncio.run(async_bulk.bulk_load(iter(RECORDS), Sender().coroutine, size, 2, None))


@pytest.mark.parametrize(
    ("identifier", "path"),
    [
        ("a", "/c/objects/a"),
        ("...", "/c/objects/..."),
        ("a b", "/c/objects/a%20b?id=a%20b"),
        (".", "/c/objects/-?id=."),
        ("..", "/c/objects/-?id=.."),
        ("a/../..", "/c/objects/-?id=a%2F..%2F.."),
        ("./a", "/c/objects/-?id=.%2Fa"),
    ],
)
def test_an_id_with_dot_segments_is_sent_in_the_query_only(identifier: str, path: str) -> None:
    assert object_path("/c/objects", identifier) == path
