# SPDX-License-Identifier: MIT
"""A page in headless Chromium, driven over the DevTools protocol by a pipe: needs the chromium package
and nothing else; no port is opened.

    with Browser() as browser:
        page = browser.open("file:///tmp/page.html", width=1280, height=800)
        page.wait("document.body.dataset.ready")
        page.key("/")
        page.type("memcpy")
        page.click("#grid .row")
        page.screenshot("/tmp/page.png")
        assert page.problems == [] and page.requests == []

problems collects what the console calls a warning or an error, exceptions, and broken policies;
requests what was loaded from the network (addresses that are neither file:, data: nor blob:).
"""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
TIME_LIMIT_S = 60
KEY_CODES = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37,
             "ArrowRight": 39, "PageUp": 33, "PageDown": 34, "Home": 36, "End": 35}
SHIFT = 8
LAUNCHER = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])"""


def find():
    """The browser's path, or None."""
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    return None


class BrowserError(Exception):
    """The browser refused a command or ended."""


class Browser:
    def __init__(self, arguments=()):
        path = find()
        if path is None:
            raise BrowserError("no chromium: apt-get install chromium")
        self._folder = tempfile.mkdtemp(prefix="ntprof-browser-")
        command = [path, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self._folder}",
                   "--no-first-run", "--no-default-browser-check", "--disable-gpu", "--hide-scrollbars",
                   "--disable-dev-shm-usage", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", "--mute-audio", *arguments]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # Chromium refuses to run as root with it
        self._start(command + ["about:blank"])
        self._answers = {}
        self._pages = {}
        self._last_id = 0
        self._bytes = b""

    def _start(self, command):
        # Chromium reads commands at descriptor 3 and writes answers at 4.
        read_end, self._out = os.pipe()
        self._in, write_end = os.pipe()
        # Above those two, so that none is written over.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (read_end, write_end)]
        environment = {**os.environ, "HOME": self._folder}
        self._log = open(os.path.join(self._folder, "log"), "wb")
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-c", LAUNCHER, *map(str, ends), *command], pass_fds=ends,
                stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, env=environment,
                start_new_session=True)
        finally:
            for end in (read_end, write_end, *ends):
                os.close(end)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        if self._child.poll() is None:
            try:
                self.send("Browser.close")
                self._child.wait(5)
            except (BrowserError, OSError, subprocess.TimeoutExpired):
                pass
        try:
            os.killpg(self._child.pid, signal.SIGKILL)  # its helpers too
        except (ProcessLookupError, PermissionError):
            pass
        self._child.wait()
        os.close(self._in)
        os.close(self._out)
        self._log.close()
        # Its helpers were told to end; until they have, they may still write there.
        for _ in range(50):
            shutil.rmtree(self._folder, ignore_errors=True)
            if not os.path.exists(self._folder):
                break
            time.sleep(0.1)

    def _ended(self):
        log = pathlib.Path(self._folder, "log").read_text(errors="replace")
        return BrowserError("the browser ended: " + log[-2000:])

    def _receive(self, until):
        """Handles one message, or none if there is none until then."""
        while b"\0" not in self._bytes:
            ready, _, _ = select.select([self._in], [], [], max(0, until - time.monotonic()))
            if not ready:
                return False
            more = os.read(self._in, 1 << 20)
            if not more:
                raise self._ended()
            self._bytes += more
        raw, _, self._bytes = self._bytes.partition(b"\0")
        message = json.loads(raw)
        if "id" in message:
            self._answers[message["id"]] = message
        elif message.get("sessionId") in self._pages:
            self._pages[message["sessionId"]].handle(message["method"], message["params"])
        return True

    def send(self, method, session=None, **parameters):
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        raw = json.dumps(message).encode() + b"\0"
        try:
            while raw:
                raw = raw[os.write(self._out, raw):]
        except BrokenPipeError:
            raise self._ended() from None
        until = time.monotonic() + TIME_LIMIT_S
        while message["id"] not in self._answers:
            if not self._receive(until):
                raise BrowserError(f"{method}: no answer within {TIME_LIMIT_S} s")
        answer = self._answers.pop(message["id"])
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def listen(self, seconds):
        until = time.monotonic() + seconds
        while self._receive(until):
            pass

    def page(self, width=1280, height=800, scale=1, touch=False, dark=False):
        """An empty page of this size."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(domain + ".enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=touch)
        page.send("Emulation.setTouchEmulationEnabled", enabled=touch)
        page.prefer("dark" if dark else "light")
        return page

    def open(self, address, **shape):
        """A page with what is at the address, loaded."""
        page = self.page(**shape)
        page.go(address)
        return page


class Page:
    def __init__(self, browser, session):
        self._browser = browser
        self._session = session
        self._loaded = False
        self.problems = []
        self.requests = []

    def send(self, method, **parameters):
        return self._browser.send(method, session=self._session, **parameters)

    def handle(self, method, parameters):
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            words = [str(word.get("value", word.get("description"))) for word in parameters["args"]]
            self.problems.append(f"console.{parameters['type']}: " + " ".join(words))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["source"] + ": " + parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            address = parameters["request"]["url"]
            if not address.startswith(("file:", "data:", "blob:", "about:")):
                self.requests.append(address)

    def go(self, address):
        self._loaded = False
        self.send("Page.navigate", url=address)
        until = time.monotonic() + TIME_LIMIT_S
        while not self._loaded:
            if not self._browser._receive(until):
                raise BrowserError(f"{address}: not loaded within {TIME_LIMIT_S} s")

    def prefer(self, scheme):
        """What the user prefers: "dark" or "light"."""
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def resize(self, width, height, scale=1, touch=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=touch)

    def run(self, script):
        """The value of a JavaScript expression; promises are waited for."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def wait(self, condition, what=None):
        """Until a JavaScript expression is true; gives its value."""
        until = time.monotonic() + TIME_LIMIT_S
        while True:
            try:
                value = self.run(condition)
            except BrowserError as error:  # of the page that is being left
                if "navigated" not in str(error):
                    raise
                value = None
            if value:
                return value
            if time.monotonic() > until:
                raise AssertionError("waited in vain for " + (what or condition))
            self._browser.listen(0.02)

    def settle(self):
        """Until what was asked for is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def box(self, selector):
        """Of an element that is seen: x, y, width, height."""
        box = self.run("(() => { const e = document.querySelector(" + json.dumps(selector) + ");"
                       "if (!e) return null; const b = e.getBoundingClientRect();"
                       "return [b.x, b.y, b.width, b.height]; })()")
        if box is None or box[2] <= 0 or box[3] <= 0:
            raise AssertionError(selector + " is not seen")
        return box

    def _mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover_at(self, x, y):
        self._mouse("mouseMoved", x, y)

    def click_at(self, x, y, clicks=1):
        self._mouse("mouseMoved", x, y)
        for number in range(1, clicks + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self._mouse(kind, x, y, button="left", clickCount=number)

    def click(self, selector, clicks=1):
        x, y, width, height = self.box(selector)
        self.click_at(x + width / 2, y + height / 2, clicks)

    def drag(self, from_x, from_y, to_x, to_y, steps=6):
        self._mouse("mouseMoved", from_x, from_y)
        self._mouse("mousePressed", from_x, from_y, button="left", clickCount=1)
        for step in range(1, steps + 1):
            self._mouse("mouseMoved", from_x + (to_x - from_x) * step / steps,
                        from_y + (to_y - from_y) * step / steps, button="left")
        self._mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    def wheel_at(self, x, y, down):
        self._mouse("mouseWheel", x, y, deltaX=0, deltaY=down)

    def tap(self, selector):
        x, y, width, height = self.box(selector)
        point = {"x": x + width / 2, "y": y + height / 2}
        self.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[point])
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def pinch(self, selector, factor, steps=5):
        """Two fingers around the middle of an element move apart by this factor."""
        x, y, width, height = self.box(selector)
        for step in range(steps + 1):
            reach = width / 8 * (1 + (factor - 1) * step / steps)
            points = [{"x": x + width / 2 + side * reach, "y": y + height / 2, "id": side} for side in (0, 1)]
            points[0]["x"] -= reach
            self.send("Input.dispatchTouchEvent", type="touchMove" if step else "touchStart",
                      touchPoints=points)
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, key, shift=False):
        """A key by its name: "a", "/", "Enter", "ArrowDown"."""
        parameters = {"key": key, "modifiers": SHIFT if shift else 0}
        if key in KEY_CODES:
            parameters["windowsVirtualKeyCode"] = KEY_CODES[key]
        printed = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **parameters, **printed)
        self.send("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def type(self, text):
        for key in text:
            self.key(key)

    def screenshot(self, path):
        self.settle()
        shot = self.send("Page.captureScreenshot", format="png")
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))
