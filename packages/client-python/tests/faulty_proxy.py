"""A real HTTP proxy in front of a server. It forwards whole requests, and does with each what the test says."""

from __future__ import annotations

import http.client
import json
import socket
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional, Set, Union
from urllib.parse import urlsplit

from scripted import Reply

PASS = "pass"
"""The client gets the reply of the server."""
DROP_REPLY = "drop-reply"
"""The server replies, and the client's connection breaks."""
DROP_REQUEST = "drop-request"
"""The connection breaks before the server gets anything."""


@dataclass(frozen=True)
class Forwarded:
    method: str
    path: str
    headers: Dict[str, str]
    body: bytes

    @property
    def key(self) -> Optional[str]:
        return {name.lower(): value for name, value in self.headers.items()}.get("idempotency-key")


class FaultyProxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target
        """May change at any time."""
        self.fate: Callable[[Forwarded, int], Union[str, Reply]] = lambda request, number: PASS
        """Called with every request and its number from 0, before it is forwarded. A reply is sent instead of that of the server."""
        self.adds: Callable[[Forwarded, bytes], Dict[str, str]] = lambda request, content: {}
        """Headers that it adds to a reply of the server."""
        self.after_reply: Callable[[Forwarded], Any] = lambda request: None
        """Called after the server has replied, before a reply is dropped."""
        self.requests: List[Forwarded] = []
        self.connections: Set[socket.socket] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        """Refuses connections from now on, and breaks those that are open."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                # The other side was first.
                pass

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores connections that the client ends, which is part of a test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def _take(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Forwarded(self.command, self.path, dict(self.headers), body)
        proxy = self.server
        proxy.requests.append(request)
        fate = proxy.fate(request, len(proxy.requests) - 1)
        if fate == DROP_REQUEST:
            return self._break()
        if not isinstance(fate, str):
            status, headers, reply = fate
            return self._send(status, {"Content-Type": "application/json", **headers}, json.dumps(reply).encode())
        try:
            status, headers, content = _forward(proxy.target, request)
        except (OSError, http.client.HTTPException):
            return self._break()
        if fate == DROP_REPLY:
            proxy.after_reply(request)
            return self._break()
        self._send(status, {**headers, **proxy.adds(request, content)}, content)

    do_GET = do_POST = do_DELETE = do_PUT = _take

    def _send(self, status: int, headers: Dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _break(self) -> None:
        self.close_connection = True
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _forward(target: str, request: Forwarded) -> Any:
    parts = urlsplit(target)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    try:
        kept = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
        connection.request(request.method, request.path, body=request.body or None, headers=kept)
        reply = connection.getresponse()
        return reply.status, dict(reply.getheaders()), reply.read()
    finally:
        connection.close()
