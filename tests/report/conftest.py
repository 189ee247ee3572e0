"""A headless Chromium for the tests of the page, driven by ChromeDriver over plain HTTP.

The WebDriver protocol is JSON over HTTP, so the standard library is all it takes.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: opens the report in headless Chromium")


class Browser:
    """One session of a headless browser."""

    def __init__(self, port: int, profile: Path) -> None:
        self._root = f"http://127.0.0.1:{port}/session"
        options = {"args": [*ARGUMENTS, f"--user-data-dir={profile}"]}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        answer = self._send("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self._root += f"/{answer['sessionId']}"

    def open(self, page: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Shows a file at a window size, in light or dark; returns once its graph is drawn."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])
        self._send("POST", "/url", {"url": page.as_uri()})
        drawn = "const box = document.getElementById('graph'); return !box || !!box.cytoscape"
        there = f"if (document.readyState !== 'complete') return false; {drawn};"
        self.wait_for(there, bool)

    def run(self, script: str, *arguments: object) -> Any:
        """Runs a script in the page and returns what it returns."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, script: str, condition: Callable[[Any], bool]) -> Any:
        """Runs a script until what it returns fulfils a condition; returns the last answer."""
        for _ in range(100):
            answer = self.run(script)
            if condition(answer):
                break
            time.sleep(0.05)
        return answer

    def click_at(self, x: float, y: float) -> None:
        """Moves the mouse to a place of the window and clicks."""
        steps: list[dict[str, Any]] = [
            {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._act({"type": "pointer", "id": "mouse", "actions": steps})

    def move_to(self, x: float, y: float) -> None:
        """Moves the mouse to a place of the window."""
        step = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        self._act({"type": "pointer", "id": "mouse", "actions": [step]})

    def press(self, key: str) -> None:
        """Presses and releases a key; special keys by their WebDriver code."""
        steps = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keyboard", "actions": steps})

    def console(self) -> list[str]:
        """What the browser has complained about since the last call."""
        entries = self._send("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def devtools(self, command: str, **parameters: object) -> Any:
        """A command of the DevTools protocol."""
        return self._send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def screenshot(self, path: Path) -> None:
        """The whole page as a PNG, for a person to look at."""
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """Ends the session."""
        self._send("DELETE", "")

    def _act(self, source: dict[str, Any]) -> None:
        self._send("POST", "/actions", {"actions": [source]})

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        text = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._root + path, data=text, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(json.load(error)["value"]["message"]) from None


@contextlib.contextmanager
def chromedriver() -> Iterator[int]:
    """Runs ChromeDriver and yields its port."""
    with subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield next(
                int(found[1])
                for line in process.stdout
                if (found := re.search(r"started successfully on port (\d+)", line))
            )
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Headless Chromium, or a skip that says how to get it."""
    driver = shutil.which("chromedriver")
    if driver is None or not (shutil.which("chromium") or shutil.which("google-chrome")):
        pytest.skip("no Chromium with ChromeDriver here; scripts/test-browser installs it")
    with chromedriver() as port:
        session = Browser(port, tmp_path_factory.mktemp("profile"))
        yield session
        session.close()
