"""Show the docs page in a browser of this machine."""

from __future__ import annotations

import functools
import http.server
from pathlib import Path

from flows.progress import REPORTER
from udfs.errors import CalibraryError


class PortInUseError(CalibraryError):
    """The port cannot be listened on."""


def serve_page(page: Path, port: int) -> None:
    """Serve *page* on the loopback address until Ctrl-C; nothing else of the folder is secret."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(page.parent))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise PortInUseError(
            f"port {port} must be free, got: {error.strerror}; choose another with --port."
        ) from None
    with server:
        REPORTER.get().note(f"Serving http://127.0.0.1:{port}/{page.name} (Ctrl-C ends)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return
