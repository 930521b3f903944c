from __future__ import annotations

import time
from datetime import datetime, timezone
from pathlib import Path

import pytest

from annal import Annal, AnnalError, ConflictError, NotFoundError

PARAMS = {"dimension": 2, "space_type": "l2", "precision": "float32"}


def test_a_backup_is_made_restored_carried_away_and_back(client: Annal, tmp_path: Path) -> None:
    client.create_collection("kept", [{"name": "place", "type": "vector", "params": PARAMS}])
    kept = client.get_collection("kept")
    kept.upsert([{"id": "a", "meta": {"x": 1}, "fields": {"place": [1, 2]}}])
    assert kept.create_backup("first")["backup_name"] == "first"
    while client.backup_status()["status"] == "running":
        time.sleep(0.05)
    assert "first" in client.list_backups()
    assert client.backup_info("first")["original_collection"] == "kept"
    assert client.active_backup() == {"active": False}
    client.restore_backup("first", "again")
    assert client.get_collection("again").get_many(["a"])[0]["vectors"]["place"] == [1, 2]
    with pytest.raises(ConflictError):
        client.restore_backup("first", "again")
    path = client.download_backup("first", tmp_path / "second.annal")
    client.delete_backup("first")
    with pytest.raises(NotFoundError):
        client.backup_info("first")
    client.upload_backup(path)
    client.restore_backup("second", "carried")
    assert client.get_collection("carried").count() == 1
    for name in ("kept", "again", "carried"):
        client.delete_collection(name)
    client.delete_backup("second")


def test_a_collection_comes_back_as_of_an_event_and_as_of_a_moment(client: Annal) -> None:
    client.create_collection("line", [{"name": "place", "type": "vector", "params": PARAMS}])
    line = client.get_collection("line")
    line.upsert([{"id": "a", "fields": {"place": [1, 2]}}])
    line.create_backup("begun")
    while client.backup_status()["status"] == "running":
        time.sleep(0.05)
    lsn = line.upsert([{"id": "b", "fields": {"place": [3, 4]}}])["lsn"]
    between = _moment_after_now()
    line.upsert([{"id": "c", "fields": {"place": [5, 6]}}])
    client.restore_backup("begun", "by_event", lsn=lsn)
    client.restore_backup("begun", "by_moment", time=between)
    for name in ("by_event", "by_moment"):
        past = client.get_collection(name)
        assert [item["id"] for item in past.get_many(["a", "b", "c"])] == ["a", "b"]
    with pytest.raises(AnnalError) as refused:
        client.restore_backup("begun", "never", time="2999-01-01T00:00:00Z")
    assert refused.value.code == "restore_unreachable"
    for name in ("line", "by_event", "by_moment"):
        client.delete_collection(name)
    client.delete_backup("begun")


def _moment_after_now() -> str:
    """A time in the past, after everything that was stored before."""
    moment = int(time.time() * 1000) + 2
    while int(time.time() * 1000) <= moment + 1:
        time.sleep(0.001)
    return datetime.fromtimestamp(moment / 1000, timezone.utc).isoformat(timespec="milliseconds")
