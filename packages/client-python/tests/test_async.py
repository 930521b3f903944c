"""The async client: the same names, arguments and results as the sync one, over httpx."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, AsyncIterator, Dict, Tuple

import pytest
from conftest import Server
from scripted import Reply

import annal
from annal import AnnalError, ConflictError, DeadlineError, NotFoundError, UnreachableError

pytest.importorskip("httpx", minversion="0.23")

HOME = Path(__file__).resolve().parents[1]
FIELDS = [{"name": "place", "type": "vector", "params": {"dimension": 2, "space_type": "l2", "precision": "float32"}}]
BUSY: Reply = (503, {}, {"error": "starting", "code": "starting"})
LIST: Reply = (200, {}, {"collections": []})


def test_the_async_modules_are_what_the_script_writes() -> None:
    subprocess.run([sys.executable, str(HOME / "scripts" / "make_async.py"), "--check"], check=True)


@pytest.mark.parametrize("name", ["Annal", "Collection", "Index"])
def test_both_clients_have_the_same_calls_with_the_same_arguments(name: str) -> None:
    def calls(owner: type) -> Dict[str, Tuple[str, ...]]:
        members = inspect.getmembers(owner, inspect.isfunction)
        return {key: tuple(inspect.signature(value).parameters) for key, value in members if not key.startswith("_")}

    sync = calls(getattr(annal, name))
    assert sync == calls(getattr(annal, f"Async{name}"))
    local = {"set_base_url", "set_token", "set_actor", "close", "load", "upsert"}
    for key, parameters in sync.items():
        assert key in local or "timeout" in parameters, key


def test_a_collection_is_filled_searched_scrolled_and_backed_up(server: Server, tmp_path: Path) -> None:
    async def run() -> None:
        async with annal.AsyncAnnal(base_url=server.address) as client:
            await client.create_collection("async", FIELDS)
            places = await client.get_collection("async")
            records = [{"id": f"p{i}", "filter": {"i": i}, "fields": {"place": [i, 1]}} for i in range(1_200)]
            assert (await places.upsert(records, progress=False))["upserted"] == 1_200

            async def more() -> AsyncIterator[Dict[str, Any]]:
                for i in range(1_200, 1_500):
                    yield {"id": f"p{i}", "filter": {"i": i}, "fields": {"place": [i, 1]}}

            progress: "list[int]" = []
            assert await places.load(more(), batch_size=100, on_progress=progress.append) == 300
            assert progress == [100, 200, 300]
            found = await asyncio.gather(
                *(places.search({"place": {"query": [i, 1], "limit": 1}}) for i in range(0, 1_500, 100))
            )
            assert [hits["results"]["place"][0]["id"] for hits in found] == [f"p{i}" for i in range(0, 1_500, 100)]
            ids = [item["id"] async for item in places.scroll([{"i": {"$gte": 1_000}}], page_size=77)]
            assert len(ids) == len(set(ids)) == 500 and await places.count() == 1_500
            with pytest.raises(ConflictError):
                await client.create_collection("async", FIELDS)
            with pytest.raises(NotFoundError):
                await places.delete_object("nobody")
            wrong = [{"id": str(i), "fields": {"place": [i, 1] if i < 150 else [1]}} for i in range(300)]
            with pytest.raises(AnnalError) as failure:
                await places.upsert(wrong, batch_size=100)
            assert failure.value.stored == 100
            await places.create_backup("async-backup")
            while (await client.backup_status())["status"] == "running":
                await asyncio.sleep(0.02)
            path = await client.download_backup("async-backup", tmp_path / "copy.annal")
            await client.delete_backup("async-backup")
            await client.upload_backup(path)
            await client.restore_backup("copy", "async-again")
            assert await (await client.get_collection("async-again")).count() == 1_600
            for name in ("async", "async-again"):
                await client.delete_collection(name)
            await client.delete_backup("copy")

    asyncio.run(run())


def test_failures_are_those_of_the_sync_client(scripted: Any) -> None:
    async def run() -> None:
        busy = scripted(BUSY, (502, {}, {}), LIST)
        async with annal.AsyncAnnal(base_url=busy.url, token="s3cr3t") as client:
            assert await client.list_collections() == []
            assert "s3cr3t" not in repr(client)
        headers = {name.lower(): value for name, value in busy.requests[0][2].items()}
        assert len(busy.requests) == 3 and headers["authorization"] == "Bearer s3cr3t"
        broken = scripted((0, {}, None))
        async with annal.AsyncAnnal(base_url=broken.url, retries=1) as client:
            with pytest.raises(UnreachableError):
                await client.list_collections()
        assert len(broken.requests) == 2
        async with annal.AsyncAnnal(base_url="http://127.0.0.1:9", retries=0) as client:
            with pytest.raises(UnreachableError) as failure:
                await client.create_collection("c", [])
            assert failure.value.refused and failure.value.__cause__ is not None

    asyncio.run(run())


def test_a_call_ends_with_its_deadline() -> None:
    import socket

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            async with annal.AsyncAnnal(base_url=f"http://127.0.0.1:{silent.getsockname()[1]}") as client:
                with pytest.raises(DeadlineError):
                    await client.stats(timeout=0.1)

    asyncio.run(run())
