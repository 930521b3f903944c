"""Writes through a client until its input ends, and prints what it wrote: ``keyed_writer.py URL NAME``. For tests that kill the server."""

from __future__ import annotations

import json
import sys
import threading

from annal import Annal


def main() -> None:
    url, name = sys.argv[1:]
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    upserted, deleted, faults = 0, 0, []
    with Annal(base_url=url, retries=1_000, timeout=300) as client:
        things = client.get_collection("things")
        while not ended.is_set():
            id = f"{name}-{upserted}"
            things.upsert([{"id": id, "filter": {"of": id}, "fields": {"v": [1, 2]}}])
            upserted += 1
            if upserted % 2 == 0:
                count = things.delete_where([{"of": {"$eq": id}}])["deleted"]
                deleted += 1
                if count != 1:
                    faults.append(f"{id}: {count} deleted")
    print(json.dumps({"upserted": upserted, "deleted": deleted, "faults": faults}))


main()
