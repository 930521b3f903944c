from __future__ import annotations

import time
from pathlib import Path

import pytest

from annal import Annal, ConflictError, NotFoundError

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
    assert client.get_collection("again").get_objects(["a"])[0]["vectors"]["place"] == [1, 2]
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
