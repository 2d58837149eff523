"""Drive a headless Chromium over its own protocol: enough to open a page, act on it and listen."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE_SECONDS = 60.0


def chromium_path() -> str:
    """The browser of this machine; a test without one is skipped, saying so."""
    for name in NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")


class Page:
    """One open page: what it logged, what it asked the network for."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.complaints: list[str] = []
        self.addresses: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call *method* and return its result, noting what is told meanwhile."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE_SECONDS))
            if message.get("id") == number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def evaluate(self, expression: str) -> Any:
        """Return the value of *expression*, awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, path: Path) -> None:
        """Open the file and wait until every figure is drawn."""
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("Number(document.documentElement?.dataset.drawn || 0) >= 1")

    def act(self, expression: str) -> None:
        """Run *expression* and wait until the page has redrawn."""
        before = self.evaluate("Number(document.documentElement.dataset.drawn)")
        self.evaluate(expression)
        self.wait_for(f"Number(document.documentElement.dataset.drawn) > {before}")

    def wait_for(self, condition: str) -> None:
        """Wait until *condition* holds."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not self.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < end, f"{condition} never held: {self.complaints}"
            time.sleep(0.05)

    def resize(self, width: int, height: int, *, is_mobile: bool = False) -> None:
        """Give the page the size of a screen, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=is_mobile,
        )  # fmt: skip

    def prefer(self, scheme: str) -> None:
        """Let the page see that its reader prefers the *scheme* ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def photograph(self, path: Path) -> None:
        """Save the whole page as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        method = message.get("method")
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in {"error", "warning"}:
            self.complaints.append(json.dumps(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(json.dumps(parameters["entry"]))
        elif method == "Network.requestWillBeSent":
            self.addresses.append(parameters["request"]["url"])


@contextlib.contextmanager
def opened_browser(profile: Path) -> Iterator[Page]:
    """Start a browser with an empty *profile* and yield its first page."""
    command = [
        chromium_path(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0",
        f"--user-data-dir={profile}", "about:blank",
    ]  # fmt: skip
    browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with connect(_first_page(profile, browser), max_size=None) as socket:
            yield Page(socket)
    finally:
        browser.terminate()
        browser.wait(timeout=30)


def _first_page(profile: Path, browser: subprocess.Popen[bytes]) -> str:
    """Return the address of the first page's protocol, told by the browser itself."""
    told = profile / "DevToolsActivePort"
    end = time.monotonic() + PATIENCE_SECONDS
    while not (told.exists() and len(told.read_text().splitlines()) == 2):
        assert browser.poll() is None, "the browser ended at once"
        assert time.monotonic() < end, "the browser never opened its port"
        time.sleep(0.05)
    port, path = told.read_text().splitlines()
    with connect(f"ws://127.0.0.1:{port}{path}") as socket:
        socket.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
        targets = json.loads(socket.recv(timeout=PATIENCE_SECONDS))["result"]["targetInfos"]
    page = next(target for target in targets if target["type"] == "page")
    return f"ws://127.0.0.1:{port}/devtools/page/{page['targetId']}"
