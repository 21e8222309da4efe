"""Steps a second in lockstep over WorkPartner's combined port, four wheels commanded in each: by the client, by bare sockets in
one line a step and in two, and beside both the same lines sent to and fro with nothing behind them. Run it by hand."""

from __future__ import annotations

import argparse
import math
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable

from rig import BINARY, REPOSITORY, simpartner

ECHO = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
answer = sys.stdin.buffer.readline()
client, _ = listener.accept()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while heard := client.recv(65536):
    client.sendall(answer * heard.count(b"\\n"))
"""


class Wire:
    """A socket that says lines and hears samples."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting = b""

    def line(self) -> bytes:
        while b"\n" not in self.waiting:
            if not (piece := self.socket.recv(65536)):
                raise EOFError
            self.waiting += piece
        line, _, self.waiting = self.waiting.partition(b"\n")
        return line

    def sample(self) -> bytes:
        while not (line := self.line()).startswith(b"S "):
            if line != b"OK":
                raise ValueError(line)
        return line


def wheels(step: int) -> str:
    """What the wheels are told."""
    speed = math.sin(step * 1e-3)
    return ";".join(f"WheelMotor{wheel}=1000,1000,100,0,0,{speed!r}" for wheel in (1, 2, 3, 4))


LAWS: dict[str, Callable[[int], str]] = {
    "ACK with commands": lambda step: f"ACK {step} {wheels(step)}\n",
    "SET and OK": lambda step: f"SET @{step + 1} {wheels(step)}\n",
}


def held(law: Callable[[int], str], count: int) -> tuple[float, bytes]:
    """Steps a second by bare sockets, and the last sample."""
    with simpartner.launch("worlds/flat.xml", mode="lockstep", free_ports=True, folder=REPOSITORY, binary=BINARY) as sim:
        wire = Wire(sim.robots["WorkPartner"].line.port)
        wire.line()
        wire.socket.sendall(b"ACK\n")
        wire.sample()
        sim.play()
        start = time.perf_counter()
        for step in range(count):
            wire.socket.sendall(law(step).encode())
            sample = wire.sample()
        rate = count / (time.perf_counter() - start)
        wire.socket.close()
        return rate, sample


def bare(law: Callable[[int], str], count: int, sample: bytes) -> float:
    """The same lines, answered by nobody's simulation."""
    command = [sys.executable, "-c", ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None and other.stdout is not None
        other.stdin.write(sample + b"\n")
        other.stdin.flush()
        wire = Wire(int(re.sub(rb"\D", b"", other.stdout.readline())))
        start = time.perf_counter()
        for step in range(count):
            wire.socket.sendall(law(step).encode())
            wire.line()
        rate = count / (time.perf_counter() - start)
        wire.socket.close()
        return rate


def client(count: int, every: int) -> float:
    """Steps a second by the client."""
    with (
        simpartner.launch("worlds/flat.xml", free_ports=True, folder=REPOSITORY, binary=BINARY) as sim,
        sim.lockstep(["WorkPartner"], every=every) as steps,
    ):
        start = time.perf_counter()
        for turn in steps:
            if turn.step >= count * every:
                break
            speed = math.sin(turn.step * 1e-3)
            for wheel in (1, 2, 3, 4):
                turn.command(f"WheelMotor{wheel}", 1000, 1000, 100, 0, 0, speed)
            _ = turn["Position"]["x"]
        return count * every / (time.perf_counter() - start)


def main() -> None:
    """Figures to the standard output, each beside the echo of its own lines."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--steps", type=int, default=5000)
    count = arguments.parse_args().steps
    for name, law in LAWS.items():
        rate, sample = held(law, count)
        echo = bare(law, count, sample)
        print(f"{name:28} {rate:8.0f} steps/s, {rate / echo:.2f} of the same lines echoed ({echo:.0f}/s)")
    for every in (1, 10):
        rate = client(count, every)
        print(f"client, every {every:<14} {rate:8.0f} steps/s, {rate / every / echo:.2f} round trips of the echo's")


if __name__ == "__main__":
    main()
