"""A server as a child process: where its program is, how it starts, what it says, how it ends. It knows nothing of the wire."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
import sysconfig
import threading
import time
import weakref
from pathlib import Path
from typing import IO

from .errors import LaunchError

_LINES_KEPT = 200
_PATIENCE_S = 20.0


class Server:
    """A server process that this program started. It ends with the program, unless that is killed."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        self.messages: collections.deque[str] = collections.deque(maxlen=_LINES_KEPT)
        """The last lines it wrote to its standard error."""
        self.summary: dict[str, str] = {}
        """The figures it printed at its end, by their names: `state` is the hash of the final state."""
        self._control = threading.Event()
        self.address: tuple[str, int] | None = None
        """Where its control port is."""
        self.viewer: str | None = None
        """The address of its page, once it has told it."""
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        try:
            self.process = subprocess.Popen(
                arguments, cwd=folder, stdin=null, stdout=pipe, stderr=pipe, text=True
            )
        except OSError as error:
            raise LaunchError(f"cannot start {arguments[0]}: {error}") from error
        self._readers = [
            threading.Thread(target=read, args=(stream,), daemon=True)
            for read, stream in ((self._read_messages, self.process.stderr), (self._read_summary, self.process.stdout))
        ]
        for reader in self._readers:
            reader.start()
        self._ended = weakref.finalize(self, _end, self.process)

    def wait_until_it_serves(self, timeout: float) -> tuple[str, int]:
        """Waits until its ports are open and returns the control port's address."""
        deadline = time.monotonic() + timeout
        while not self._control.wait(0.02):
            if self.process.poll() is not None:
                self._join()
                said = "\n".join(self.messages)
                raise LaunchError(f"the server ended before it served:\n{said}", self.process.returncode)
            if time.monotonic() > deadline:
                raise LaunchError(f"the server opened no ports within {timeout} s")
        if self.address is None:
            raise LaunchError("the server ended before it served:\n" + "\n".join(self.messages), self.process.poll())
        return self.address

    def close(self, asked: bool = False) -> int:
        """Ends it with a signal, at once or after a while if it was asked to end, and returns its exit code. It may be
        called twice."""
        if asked:
            try:
                self.process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                pass  # Then it is ended with the signal.
        self._ended()
        self._join()
        return self.process.returncode

    def _join(self) -> None:
        for reader in self._readers:
            reader.join(_PATIENCE_S)

    def _read_messages(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self.messages.append(line.rstrip("\n"))
                if self.address is None and line.startswith("control "):
                    host, _, port = line.removeprefix("control ").strip().rpartition(":")
                    self.address = host.strip("[]"), int(port)
                    self._control.set()
                if self.viewer is None and line.startswith("viewer "):
                    self.viewer = line.removeprefix("viewer ").strip()

    def _read_summary(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                # Name and figure stand in two columns with at least two blanks between them.
                name, _, figure = line.strip().partition("  ")
                self.summary.setdefault(name, figure.strip())


def find_binary(binary: str | os.PathLike[str] | None, folder: Path) -> Path:
    """The server's program, see `launch`."""
    named = binary or os.environ.get("SIMPARTNER_BIN")
    if named:
        if not (found := Path(named).expanduser().resolve()).is_file():
            raise LaunchError(f"there is no server at {found}")
        return found
    suffix = ".exe" if os.name == "nt" else ""
    for around in (folder, *folder.parents):
        for profile in ("release", "debug"):
            if (found := around / "target" / profile / f"simpartner{suffix}").is_file():
                return found
    # The wheel's program stands among the scripts of this Python, which need not be on the search path.
    scripts = sysconfig.get_path("scripts")
    for path in (scripts, None):
        if on_path := shutil.which("simpartner", path=path):
            return Path(on_path)
    raise LaunchError("cannot find the server; build it with 'cargo build --release', or name it in SIMPARTNER_BIN")


def _end(process: subprocess.Popen[str]) -> None:
    """Asks the process to end, and makes it end where it does not. SIGTERM ends a run as QUIT does."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
