"""Servers on loopback that tests put in the way: one that fails on purpose, one that is cut off."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def running(server: socketserver.TCPServer) -> Iterator[int]:
    """Serve in a thread; yield the port."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


Answer = Callable[[dict[str, Any]], tuple[int, bytes]]
"""From a request to the status and the body of its answer."""


@contextlib.contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """Serve a completions endpoint that answers as told, and yield its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status, content = answer(json.loads(body))
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        def do_GET(self) -> None:
            is_known = self.path == "/v1/models"
            self.send_response(200 if is_known else 404)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *arguments: Any) -> None:
            """Say nothing."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    with running(Server(("127.0.0.1", 0), Handler)) as port:
        yield f"http://127.0.0.1:{port}/v1"


@contextlib.contextmanager
def line_to(port: int, *, exchanges: int | None = None) -> Iterator[int]:
    """Pass connections on to *port*, as many as *exchanges*; hang up at once on any later one."""
    left = exchanges
    lock = threading.Lock()

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while block := source.recv(65_536):
                sink.sendall(block)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            nonlocal left
            with lock:
                if left == 0:
                    return
                left = None if left is None else left - 1
            with socket.create_connection(("127.0.0.1", port)) as far:
                back = threading.Thread(target=pump, args=(far, self.request))
                back.start()
                pump(self.request, far)
                back.join(timeout=60)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with running(Server(("127.0.0.1", 0), Handler)) as own:
        yield own
