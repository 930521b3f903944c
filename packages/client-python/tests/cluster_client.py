"""Writes and reads its own writes through one client of several nodes: ``cluster_client.py sync|async COUNT URL...``. It prints a line for each
round and ends with a JSON line. For a test that kills nodes."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from annal import Annal, AsyncAnnal

FIELDS = [{"name": "v", "type": "vector", "params": {"dimension": 2, "space_type": "l2", "precision": "float32"}}]


async def settled(value: Any) -> Any:
    """The result of a call of either client."""
    return await value if hasattr(value, "__await__") else value


async def work(client: Any, name: str, count: int) -> None:
    faults = []
    await settled(client.create_collection(name, FIELDS))
    things = await settled(client.get_collection(name))
    for i in range(count):
        id, gone = f"{i}", f"{i}-gone"
        await settled(
            things.upsert([{"id": one, "filter": {"of": one}, "fields": {"v": [1, i]}} for one in (id, gone)])
        )
        if len(await settled(things.get_many([id, gone]))) != 2:
            faults.append(f"{id} was not in the next read")
        deleted = (await settled(things.delete_where([{"of": {"$eq": gone}}])))["deleted"]
        if deleted != 1:
            faults.append(f"{gone}: {deleted} deleted")
        if await settled(things.count([{"of": {"$eq": gone}}])) != 0:
            faults.append(f"{gone} was in the next read")
        print(i, flush=True)
    strong = await settled(things.count(consistency="strong"))
    fresh = await settled(things.count(max_staleness_ms=10_000))
    print(json.dumps({"faults": faults, "strong": strong, "fresh": fresh}), flush=True)


async def main() -> None:
    kind, count, *urls = sys.argv[1:]
    connected: Any = (AsyncAnnal if kind == "async" else Annal)(base_url=urls, timeout=120, retries=100)
    try:
        await work(connected, kind, int(count))
    finally:
        await settled(connected.close())


asyncio.run(main())
