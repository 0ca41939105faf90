"""A page in headless Chromium, over its debugging pipe: its requests, console messages and width."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
]


@dataclass
class Visit:
    """Requests, console messages and results of scripts of an open page."""

    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    answers: dict[str, object] = field(default_factory=dict)  # of each script


class Browser:
    """Chromium, controlled by its own protocol: messages of JSON, each ended by a zero byte."""

    def __init__(self, folder):
        to_browser, from_browser = os.pipe(), os.pipe()
        self._write, self._read = to_browser[1], from_browser[0]

        def take_pipes():  # the browser reads from descriptor 3 and writes to 4
            ends = os.dup(to_browser[0]), os.dup(from_browser[1])
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *_FLAGS, f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=take_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser[0])
        os.close(from_browser[1])
        self._number, self._buffer, self.events = 0, b"", []

    def __enter__(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable", here=True)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(20)
        os.close(self._write)
        os.close(self._read)

    def call(self, method, here=False, **parameters):
        """Send a command, to the page when `here`, and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if here:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda m: m.get("id") == message["id"])
        assert "error" not in answer, answer
        return answer["result"]

    def _until(self, wanted, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            while b"\0" in self._buffer:
                text, self._buffer = self._buffer.split(b"\0", 1)
                message = json.loads(text)
                if "method" in message:
                    self.events.append(message)
                if wanted(message):
                    return message
            if select.select([self._read], [], [], 0.2)[0]:
                self._buffer += os.read(self._read, 1 << 20)
        raise TimeoutError("Chromium did not answer")

    def visit(self, path, width, scripts=(), picture=None, height=900):
        """Open a file at a width in pixels; below 600 as a phone."""
        self.events.clear()
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", here=True, **screen)
        self.call("Page.navigate", here=True, url=Path(path).resolve().as_uri())
        self._until(lambda m: m.get("method") == "Page.loadEventFired")
        visit = Visit()
        for script in scripts:
            result = self.call("Runtime.evaluate", here=True, expression=script, returnByValue=True)["result"]
            visit.answers[script] = result.get("value")
        if picture:
            data = self.call("Page.captureScreenshot", here=True, captureBeyondViewport=True)["data"]
            Path(picture).write_bytes(base64.b64decode(data))
        for event in self.events:
            if event["method"] == "Network.requestWillBeSent":
                visit.requests.append(event["params"]["request"]["url"])
            elif event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                visit.console.append(json.dumps(event["params"]))
        return visit
