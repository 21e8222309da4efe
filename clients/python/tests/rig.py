"""What the tests have in common: where the server is, and a server that says what a test wants."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import socket
import sys
import threading
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

TESTS = Path(__file__).resolve().parent
CLIENT = TESTS.parent
REPOSITORY = CLIENT.parent.parent
if str(CLIENT) not in sys.path:
    sys.path.insert(0, str(CLIENT))

import simpartner  # noqa: E402 (its folder has to be known first)
from simpartner.server import find_binary  # noqa: E402

__all__ = ["BINARY", "CLIENT", "FALLING", "REPOSITORY", "STATE", "FakePort", "environment", "fake", "launch", "needs"]
__all__ += ["NATIVE", "find_native", "needs_native", "needs_server", "simpartner"]

FALLING = TESTS / "falling.xml"

_Test = TypeVar("_Test", bound="Callable[..., object] | type")

try:
    BINARY: Path | None = find_binary(None, REPOSITORY)
except simpartner.LaunchError:
    BINARY = None



def find_native() -> Path | None:
    """The native module: that of SIMPARTNER_NATIVE, or one that was built beside the server."""
    if named := os.environ.get("SIMPARTNER_NATIVE"):
        return Path(named)
    folder = BINARY.parent if BINARY is not None else REPOSITORY / "target" / "debug"
    names = ("libsimpartner_python.so", "libsimpartner_python.dylib", "simpartner_python.dll")
    return next((folder / name for name in names if (folder / name).exists()), None)


def load_native() -> bool:
    """Makes the native module known to the package, where it is found."""
    name = "simpartner._native"
    if importlib.util.find_spec(name) is not None:
        return True
    path = find_native()
    if path is None:
        return False
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        return False
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[name] = simpartner._native = module  # type: ignore[attr-defined]
    return True


NATIVE = load_native()
"""True where simulations in this process can be tested."""

needs_native = unittest.skipUnless(
    NATIVE, "there is no native module: name it in SIMPARTNER_NATIVE, or build it with 'cargo build -p simpartner-python'"
)

KNOWN_NEEDS = {"postgres", "mysql", "python", "cc", "node", "chromium", "curl", "font", "mount", "realtime", "gamepad"}
"""The words of SIMPARTNER_REQUIRE, as in tests/it/needs.rs."""

REQUIRED = {word.strip() for word in os.environ.get("SIMPARTNER_REQUIRE", "").split(",")} - {""}
if unknown := REQUIRED - KNOWN_NEEDS:
    raise ValueError(f"SIMPARTNER_REQUIRE names {', '.join(sorted(unknown))}; known: {', '.join(sorted(KNOWN_NEEDS))}")


def needs(found: object, why: str) -> Callable[[_Test], _Test]:
    """Skips a test where something is not found, or fails all of them where SIMPARTNER_REQUIRE names python."""
    if not found and "python" in REQUIRED:
        raise RuntimeError(f"SIMPARTNER_REQUIRE names python, but {why}")
    return unittest.skipUnless(found, why)


needs_server = needs(
    BINARY, "there is no server: name it in SIMPARTNER_BIN, or build it with 'cargo build' in the repository"
)


def launch(world: Path = FALLING, **options: object) -> simpartner.Simulation:
    """A paused server in the repository's folder, without a log."""
    return simpartner.launch(world, folder=REPOSITORY, binary=BINARY, **options)  # type: ignore[arg-type]


def environment() -> dict[str, str]:
    """The variables for a program that is to find the package and the server."""
    return {**os.environ, "PYTHONPATH": str(CLIENT), "SIMPARTNER_BIN": str(BINARY)}


class FakePort:
    """A port at which every client is greeted and every line of a client is answered by a function. Answers that are None
    close the connection."""

    def __init__(self, greeting: bytes, answer: Callable[[str], bytes | None]) -> None:
        self._greeting, self._answer = greeting, answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def say(self, text: bytes) -> None:
        """Says something to all clients."""
        for client in self._clients:
            client.sendall(text)

    def close(self) -> None:
        """Closes the port and all its connections."""
        for each in (self._listener, *self._clients):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._clients.append(client)
            threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        try:
            client.sendall(self._greeting)
            with client.makefile("r", encoding="utf-8", newline="\n") as lines:
                for line in lines:
                    answer = self._answer(line.rstrip("\n"))
                    if answer is None:
                        client.shutdown(socket.SHUT_RDWR)
                        return
                    client.sendall(answer)
        except OSError:
            pass  # The client has gone.


STATE = b"OK state=PAUSED step=0 time=0 timestep=0.001 mode=fast rate=1 rtf=0 slips=0 epoch=0 colour=red\n"
INFO = b"OK name=D kind=NovelSensor robot=R body=B port=1 rate=10 fields=x[m],angle.1[rad],class[],x[N.m] mood=calm\n"


def fake(device: Callable[[str], bytes | None], greeting: bytes = b"<1,2,3,4>\n") -> tuple[FakePort, FakePort]:
    """A server with one device: its control port and the device's."""
    told = FakePort(greeting, lambda line: INFO if line == "INFO" else device(line))
    line = f"DEVICE name=D kind=NovelSensor robot=R body=B port=7 bound={told.port} hue=3\nOK 1\n".encode()
    return FakePort(b"", lambda asked: line if asked == "DEVICES" else STATE), told
