"""A server on a real socket that sends prepared replies in order and records the requests."""

from __future__ import annotations

import json
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, List, Optional, Tuple

Reply = Tuple[int, Dict[str, str], Any]


class Scripted(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, replies: List[Reply], tls: Optional[ssl.SSLContext] = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = replies
        self.requests: List[Tuple[str, str, Dict[str, str]]] = []
        self.bodies: List[bytes] = []
        self.scheme = "http" if tls is None else "https"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores a handshake that the client ends, which is part of a test."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Scripted

    def _reply(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        requests = self.server.requests
        requests.append((self.command, self.path, dict(self.headers)))
        status, headers, body = self.server.replies[min(len(requests), len(self.server.replies)) - 1]
        if status == 0:
            self.connection.close()
            self.close_connection = True
            return
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = _reply

    def log_message(self, format: str, *args: Any) -> None:
        pass
