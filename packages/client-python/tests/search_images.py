"""Stores some rows of a file, searches for others, and prints the results. Run by test/fashion-mnist.test.ts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from annal import Annal

address, folder, dimension, rows, queries = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])


def vectors(name: str, count: int) -> "list[list[int]]":
    with open(folder / name, "rb") as file:
        return [list(file.read(dimension)) for _ in range(count)]


with Annal(base_url=address) as client:
    params = {"dimension": dimension, "space_type": "l2", "precision": "int8"}
    client.create_collection("python", [{"name": "image", "type": "vector", "params": params}])
    images = client.get_collection("python")
    records = ({"id": str(i), "fields": {"image": row}} for i, row in enumerate(vectors("base.u8", rows)))
    images.load(records, batch_size=500, concurrency=1)
    found = [
        images.search({"image": {"query": query, "limit": 10}})["results"]["image"]
        for query in vectors("queries.u8", queries)
    ]
    print(json.dumps([[[hit["id"], hit["similarity"]] for hit in hits] for hits in found]))
