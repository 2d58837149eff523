"""End servers that a killed command left behind.

For a local run Prefect starts a server process of its own and ends it when the command ends. A
command killed with ``kill -9`` cannot, and the server would stay, with its memory, for ever.
"""

from __future__ import annotations

import contextlib

import psutil

from flows.settings import Settings

_SERVER = "prefect.server.api.server:create_app"


def end_orphaned_servers(settings: Settings) -> int:
    """End the servers of this home whose command is gone and return how many there were."""
    ended = 0
    home = str(settings.home / "prefect")
    for process in psutil.process_iter():
        # A process can end, or turn out to be another user's, between any two questions.
        with contextlib.suppress(psutil.Error):
            if _SERVER not in process.cmdline() or process.environ().get("PREFECT_HOME") != home:
                continue
            parent = process.parent()
            if parent is None or parent.pid == 1:
                process.terminate()
                ended += 1
    return ended
