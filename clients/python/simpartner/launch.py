"""Starting a server from a program, and ending it. Start at `launch`."""

from __future__ import annotations

import collections
import os
import shutil
import subprocess
import threading
import time
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

from .errors import LaunchError
from .simulation import Simulation, attach

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
        # The server takes every variable that begins with SIMPARTNER_ for a setting; this one is ours.
        variables = {name: value for name, value in os.environ.items() if name != "SIMPARTNER_BIN"}
        try:
            self.process = subprocess.Popen(
                arguments, cwd=folder, env=variables, stdin=null, stdout=pipe, stderr=pipe, text=True
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


def launch(
    world: str | os.PathLike[str] | None = None,
    *,
    mode: str | None = None,
    rate: float | None = None,
    paused: bool = True,
    timestep: float | None = None,
    database: str = "none",
    settings: Mapping[str, object] | None = None,
    arguments: Iterable[str] = (),
    free_ports: bool = False,
    binary: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] = ".",
    token: str | None = None,
    timeout: float = 30.0,
) -> Simulation:
    """Starts a server, waits for its ports and connects. The end of the simulation's context ends the server.

    - `world`: a world file, seen from `folder`; the server's setting where it is not given.
    - `mode`, `rate`, `timestep` in seconds: the server's settings where they are not given.
    - `paused`: whether the clock waits for `step`, `run_to` or `play`.
    - `database`: where the run is logged, like `sqlite:run.db`; nowhere unless given.
    - `settings`: any others by their names, as `{"physics.engine": "rapier"}`; `arguments`: more of the command line.
    - `free_ports`: gives everything any free port, so that many servers run side by side.
    - `binary`: the program; else the variable SIMPARTNER_BIN, else `target/release` or `target/debug` of `folder` or of a folder
      around it, else the search path.

    The control port is any free one unless `settings` has `server.control_port`.
    """
    place = Path(folder).resolve()
    command = [str(find_binary(binary, place)), "run", "--database", database]
    command += ["--free-ports"] if free_ports else []
    command += ["--world", str(world)] if world is not None else []
    command += ["--mode", mode] if mode is not None else []
    command += ["--rate", repr(float(rate))] if rate is not None else []
    command += ["--paused"] if paused else []
    given: dict[str, object] = {"server.control_port": 0}
    if timestep is not None:
        given["simulation.timestep_s"] = timestep
    if token is not None:
        given["server.token"] = token
    for key, value in {**given, **(settings or {})}.items():
        command += ["--set", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
    server = Server([*command, *arguments], place)
    try:
        host, port = server.wait_until_it_serves(timeout)
        return attach("127.0.0.1" if host == "0.0.0.0" else host, port, token, timeout, server)
    except BaseException:
        server.close()
        raise


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
    if on_path := shutil.which("simpartner"):
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
