"""Network failures, with a scripted server on a real socket."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest
from scripted import Reply

from annal import Annal, AuthenticationError, DeadlineError, InvalidArgumentError, ServerError, UnreachableError
from annal.encoding import MetaReader

BUSY: Reply = (503, {}, {"error": "starting", "code": "starting"})
LIST: Reply = (200, {}, {"collections": []})


def test_reading_is_repeated_after_passing_failures(scripted: Any) -> None:
    server = scripted(BUSY, (502, {}, {}), LIST)
    assert Annal(base_url=server.url).list_collections() == []
    assert len(server.requests) == 3


def test_what_may_have_happened_is_not_repeated(scripted: Any) -> None:
    """By a server without request keys, which the second request looks up, or for a call that has none."""
    server = scripted((502, {}, {"error": "bad gateway"}), LIST)
    with pytest.raises(ServerError) as failure:
        Annal(base_url=server.url).create_collection("c", [])
    assert failure.value.retryable and [method for method, _, _ in server.requests] == ["POST", "GET"]
    server = scripted((503, {}, {"error": "the disk failed", "code": "log_failed"}), LIST)
    with pytest.raises(ServerError):
        Annal(base_url=server.url).create_database("c")
    assert len(server.requests) == 1


def test_what_was_not_begun_is_repeated(scripted: Any) -> None:
    server = scripted((429, {"Retry-After": "0"}, {"error": "slow down"}), (200, {}, {"name": "c"}))
    assert Annal(base_url=server.url).create_collection("c", [])["name"] == "c"
    assert len(server.requests) == 2


def test_a_broken_connection_is_unreachable(scripted: Any) -> None:
    server = scripted((0, {}, None))
    with pytest.raises(UnreachableError):
        Annal(base_url=server.url, retries=1).list_collections()
    assert len(server.requests) == 2
    with pytest.raises(UnreachableError):
        Annal(base_url="http://127.0.0.1:9", retries=0).stats()


def test_a_call_ends_with_its_deadline() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Annal(base_url=f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
        with pytest.raises(DeadlineError) as failure:
            client.stats()
        assert failure.value.code == "timeout" and isinstance(failure.value, TimeoutError)


def test_the_token_travels_in_one_header_and_shows_nowhere_else(scripted: Any) -> None:
    server = scripted((401, {}, {"error": "no", "code": "invalid_token", "request_id": "r-1"}))
    client = Annal(token="films:s3cr3t", base_url=f"{server.url}/api/v2")
    with pytest.raises(AuthenticationError) as failure:
        client.list_collections()
    assert failure.value.code == "invalid_token" and failure.value.request_id == "r-1"
    method, path, headers = server.requests[0]
    assert headers["Authorization"] == "Bearer films:s3cr3t" and path == "/api/v2/collection"
    for shown in (repr(client), repr(failure.value), str(failure.value)):
        assert "s3cr3t" not in shown


def test_a_redirect_is_not_followed(scripted: Any) -> None:
    elsewhere = scripted(LIST)
    server = scripted((307, {"Location": f"{elsewhere.url}/api/v2/collection"}, {}))
    with pytest.raises(Exception):
        Annal(token="secret", base_url=server.url).list_collections()
    assert elsewhere.requests == []


def test_an_address_or_a_token_that_cannot_be_is_refused() -> None:
    for address in ("localhost:8080", "ftp://localhost", "http://user:pass@localhost", "http://localhost/?token=x"):
        with pytest.raises(InvalidArgumentError):
            Annal(base_url=address)
    with pytest.raises(InvalidArgumentError):
        Annal(token="line\nbreak")


def test_a_failure_names_its_cause() -> None:
    with pytest.raises(UnreachableError) as failure:
        Annal(base_url="http://127.0.0.1:9", retries=0).stats()
    assert "refused" in str(failure.value) and failure.value.__cause__ is not None
    assert failure.value.refused


def test_each_call_takes_a_deadline_of_its_own() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Annal(base_url=f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=3600)
        with pytest.raises(DeadlineError) as failure:
            client.stats(timeout=0.1)
        assert "0.1 s" in str(failure.value)


def test_a_proxy_of_the_environment_is_used(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = scripted(LIST)
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert Annal(base_url="http://annal.invalid:8080").list_collections() == []
    assert proxy.requests[0][1] == "http://annal.invalid:8080/api/v2/collection"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    direct = scripted(LIST)
    assert Annal(base_url=direct.url).list_collections() == []
    assert direct.requests[0][1] == "/api/v2/collection"


def test_the_environment_is_read_once_for_each_server(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import requests.sessions

    read: List[str] = []
    proxies_of = requests.sessions.get_environ_proxies

    def counted(url: str, no_proxy: Any = None) -> Any:
        read.append(url)
        return proxies_of(url, no_proxy=no_proxy)

    monkeypatch.setattr(requests.sessions, "get_environ_proxies", counted)
    server = scripted(LIST, LIST, LIST)
    client = Annal(base_url=server.url)
    for _ in range(3):
        assert client.list_collections() == []
    assert read == [server.url]


def test_a_netrc_file_does_not_replace_the_token(
    scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    server = scripted(LIST)
    Annal(token="mine", base_url=server.url).list_collections()
    assert server.requests[0][2]["Authorization"] == "Bearer mine"
    Annal(base_url=server.url).list_collections()
    assert "Authorization" not in server.requests[1][2]


def test_meta_inflates_to_so_much_for_one_object_and_for_one_reply() -> None:
    def reply(meta: Any, limit: Optional[str]) -> Dict[str, Any]:
        packed = zlib.compress(json.dumps(meta).encode())
        return {"meta_base64": base64.b64encode(packed).decode(), **({"meta_limit": limit} if limit else {})}

    small = reply({"a": 1}, "reply")
    assert MetaReader().take(small) == {"a": 1}
    assert small == {}
    assert isinstance(MetaReader().take(reply({"a": 1}, "object")), bytes)
    assert isinstance(MetaReader().take(reply({"a": 1}, None)), bytes)
    assert isinstance(MetaReader().take(reply({"a": "x" * 6_500_000}, "reply")), bytes)
    words = " ".join(str(i * 0x9E3779B1 % 0xFFFFFFFF) for i in range(9_000))
    reader = MetaReader()
    large = {"a": words + "x" * (1_000_000 - len(words))}
    packed = reply(large, "reply")
    read = [reader.take(dict(packed)) for _ in range(100)]
    assert 60 < sum(meta == large for meta in read) < 70


GOLDEN = Path(__file__).parents[2] / "engine" / "test" / "golden" / "packed-meta.json"


def test_stored_meta_is_read_as_the_server_reads_it() -> None:
    for case in json.loads(GOLDEN.read_text("utf-8")):
        stored = base64.b64decode(case["stored"])
        if not stored or stored[:1] == b"{":
            continue  # The server reads these itself, whatever the limit.
        read = MetaReader().take({"meta_base64": case["stored"], "meta_limit": "reply"})
        assert read == case.get("meta", stored), case["name"]
