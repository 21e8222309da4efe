"""What the tests have in common: a server, a bridge and a participant of a DDS domain of their own."""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
REPOSITORY = TESTS.parents[3]
REQUIRED = {word.strip() for word in os.environ.get("SIMPARTNER_REQUIRE", "").split(",")} - {""}


def _program(variable: str, name: str) -> Path | None:
    """What the variable names, or the newest build."""
    if variable in os.environ:
        return Path(os.environ[variable])
    builds = [REPOSITORY / "target" / kind / name for kind in ("debug", "release")]
    return max((path for path in builds if path.exists()), key=lambda path: path.stat().st_mtime, default=None)


SERVER = _program("SIMPARTNER_BIN", "simpartner")
BRIDGE = _program("ROS2_BRIDGE_BIN", "simpartner-ros2")
MISSING = [name for name in ("cyclonedds", "rosbags", "numpy") if importlib.util.find_spec(name) is None]
WHY = ""
if MISSING:
    WHY = f"Python lacks {', '.join(MISSING)}"
elif SERVER is None or BRIDGE is None:
    WHY = "there is no server or no bridge: 'cargo build -p simpartner -p simpartner-ros2'"
if WHY and "python" in REQUIRED:
    raise RuntimeError(f"SIMPARTNER_REQUIRE names python, but {WHY}")
needs_all = unittest.skipIf(WHY, WHY)


BOX = """<robot name="Box"><body name="Base"><mass>1</mass><pose x="1" y="0.5"/><box x="1" y="1" z="1"/></body>
<sensor type="PositionSensor" name="Where" body="Base" port="0"/></robot>"""


class Process:
    """A program whose lines are kept."""

    def __init__(self, arguments: list[str]) -> None:
        self.child = subprocess.Popen(
            arguments,
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self._queue.put(line.rstrip())
        self._queue.put(None)

    def wait_for(self, text: str, seconds: float = 60.0) -> str:
        """The next line with this text."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self._queue.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"no line with {text!r} in {self.lines}") from None
            if line is None:
                raise RuntimeError(f"it has ended with {self.child.wait()}: {self.lines}")
            self.lines.append(line)
            if text in line:
                return line

    def wait(self, seconds: float = 60.0) -> int:
        """Its exit code."""
        code = self.child.wait(seconds)
        self._thread.join(seconds)
        while not self._queue.empty():
            self.lines.extend(filter(None, [self._queue.get()]))
        assert self.child.stdout is not None
        self.child.stdout.close()
        return code

    def stop(self, how: int = signal.SIGINT) -> int:
        if self.child.poll() is None:
            self.child.send_signal(how)
        return self.wait()


class Control:
    """A connection that speaks in lines."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.socket.makefile("r", encoding="utf-8", newline="\n")

    def ask(self, line: str) -> str:
        self.socket.sendall(f"{line}\n".encode())
        return self.file.readline().rstrip()

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@needs_all
class Rig(unittest.TestCase):
    """A server and a bridge in a domain that no other test has."""

    _domain = 1 + os.getpid() % 100

    def setUp(self) -> None:
        Rig._domain += 1
        self.domain = Rig._domain
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.folder / "box.xml").write_text(BOX, encoding="utf-8")
        self.ports: dict[str, Any] = {}

    def serve(self, world: str, *options: str) -> Process:
        """A server; the text of a world, or the path of one."""
        path = Path(world) if not world.lstrip().startswith("<") else self.folder / "world.xml"
        if path.parent == self.folder:
            path.write_text(world, encoding="utf-8")
        ports = self.folder / "ports.json"
        ports.unlink(missing_ok=True)
        free = [] if "--port-offset" in options else ["--free-ports"]
        server = Process(
            [str(SERVER), "run", "--world", str(path), *free, "--ports-file", str(ports), "--no-viewer",
             "--database", "none", *options]
        )  # fmt: skip
        self.addCleanup(server.stop)
        server.wait_for("Ctrl-C ends the run")
        self.ports = json.loads(ports.read_text(encoding="utf-8"))
        return server

    def bridge(self, settings: str = "", *options: str, ready: bool = True) -> Process:
        """A bridge to that server, whose services are told apart as rmw_cyclonedds_cpp does."""
        config = self.folder / "bridge.toml"
        config.write_text(settings, encoding="utf-8")
        bridge = Process(
            [str(BRIDGE), "--server", self.ports["control"], "--domain", str(self.domain), "--config", str(config),
             *(() if "--services" in options else ("--services", "cyclonedds")), *options]
        )  # fmt: skip
        self.addCleanup(bridge.stop)
        if ready:
            bridge.wait_for("connected")
        return bridge

    def ros(self) -> Any:
        from rosdds import Ros

        return Ros(self.domain)

    def control(self) -> Control:
        control = Control(int(self.ports["control"].rpartition(":")[2]))
        self.addCleanup(control.close)
        return control

    def device(self, name: str) -> Control:
        port = next(device["bound"] for device in self.ports["devices"] if device["name"] == name)
        device = Control(port)
        self.addCleanup(device.close)
        return device
