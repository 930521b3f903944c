"""A real server per session: a process with an empty directory on its own port. And a fixture that runs a test with both clients."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest
from scripted import Reply, Scripted

import annal
from annal import Annal

HOUSE = Path(__file__).resolve().parents[3]


class Server:
    def __init__(self, environment: Dict[str, str], data_dir: str, port: int = 0) -> None:
        node = os.environ.get("ANNAL_NODE", str(HOUSE / "node_modules" / ".bin" / "node"))
        settings = {"NDD_SERVER_PORT": str(port), "NDD_DATA_DIR": data_dir, "NDD_NUM_THREADS": "1", **environment}
        settings.setdefault("NDD_NUM_SERVER_THREADS", os.environ.get("ANNAL_SERVER_THREADS", "1"))
        # Most of a start is compiling the sources, so processes share a cache of that.
        cache = os.environ.get("NODE_COMPILE_CACHE", str(Path(tempfile.gettempdir()) / "node-compile-cache"))
        settings.setdefault("NODE_COMPILE_CACHE", cache)
        # The build, if it is known to be that of the sources, because it starts in half the processor time.
        package = HOUSE / "packages" / "server"
        built = os.environ.get("ANNAL_BUILT") == "1"
        program = [str(package / "dist" / "main.js")] if built else ["--conditions=annal-source", str(package / "src" / "main.ts")]
        self.process = subprocess.Popen(
            [node, *program],
            env={"PATH": os.environ["PATH"], **settings},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self._address()

    def _address(self) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found: Optional[re.Match[str]] = re.search(r"http://\S+", line)
            if found is not None:
                return found.group(0)
        raise RuntimeError(f"the server ended with {self.process.wait()} before it served")

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="annal-python-test-") as data_dir:
        running = Server({}, data_dir)
        yield running
        assert running.stop() == 0


@pytest.fixture()
def client(server: Server) -> Iterator[Annal]:
    with Annal(base_url=server.address) as connected:
        yield connected


@pytest.fixture(scope="session")
def enterprise() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="annal-python-test-") as data_dir:
        running = Server({"NDD_ROOT_TOKEN": ROOT_TOKEN}, data_dir)
        yield running
        assert running.stop() == 0


ROOT_TOKEN = "root-token-of-the-python-tests-0123456789"


@pytest.fixture()
def scripted() -> Iterator[Any]:
    servers: List[Scripted] = []

    def serve(*replies: Reply, tls: Any = None) -> Scripted:
        server = Scripted(list(replies), tls)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


class Waiting:
    """The calls of an async client as plain calls, so that one test runs with both."""

    def __init__(self, inner: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = inner, loop

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._inner, name)
        return member if not callable(member) else lambda *args, **named: self._wait(member(*args, **named))

    def _wait(self, value: Any) -> Any:
        done = self._loop.run_until_complete(value) if inspect.isawaitable(value) else value
        return Waiting(done, self._loop) if type(done).__module__.startswith("annal.async_") else done


Connect = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def connect(request: Any) -> Iterator[Connect]:
    if request.param == "sync":
        yield Annal
        return
    pytest.importorskip("httpx", minversion="0.23")
    loop = asyncio.new_event_loop()
    opened: List[Any] = []

    def open_async(**options: Any) -> Any:
        opened.append(annal.AsyncAnnal(**options))
        return Waiting(opened[-1], loop)

    yield open_async
    for client in opened:
        loop.run_until_complete(client.close())
    loop.close()
