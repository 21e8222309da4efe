"""A running simulation: its clock and its devices. Start at `connect`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

from .device import Device
from .errors import ConnectionLostError, SimPartnerError, UnknownDeviceError, WireError
from .lockstep import Lockstep, Robot, read_robot
from .server import Server
from .wire import DevicePort, Port, read_pairs, write_numbers

CONTROL_PORT: Final = 6500


@dataclass(frozen=True)
class State:
    """Where the simulation stands."""

    state: str
    """`PLAYING`, `PAUSED` or `QUITTING`."""
    step: int
    time: float
    """Simulated time, seconds."""
    timestep: float
    """Length of a step, seconds."""
    mode: str
    rate: float
    """Simulated seconds per wall second that real time aims at."""
    rtf: float
    """Simulated seconds per wall second over the last second or so."""
    slips: int
    epoch: int
    """How often the world was reset."""
    more: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What a newer server says besides."""

    @property
    def playing(self) -> bool:
        """Whether the clock runs."""
        return self.state == "PLAYING"


class Devices(Mapping[str, Device]):
    """The devices by their full names, `robot/name`, in the server's order. A lookup also takes the name alone where only
    one robot has such a device."""

    def __init__(self, devices: Iterable[Device]) -> None:
        self._devices = {device.full_name: device for device in devices}

    def __getitem__(self, name: str) -> Device:
        if name in self._devices:
            return self._devices[name]
        found = [device for device in self._devices.values() if device.name == name]
        if len(found) == 1:
            return found[0]
        some = ", ".join(device.full_name for device in found or self._devices.values())
        problem = "is one of several" if found else "is no device"
        raise UnknownDeviceError(f"'{name}' {problem}; there are {some or 'none'}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._devices)

    def __len__(self) -> int:
        return len(self._devices)

    def of_kind(self, kind: str) -> list[Device]:
        """All devices of a kind, as in `of_kind("PositionSensor")`."""
        return [device for device in self._devices.values() if device.kind == kind]

    def of_robot(self, robot: str) -> list[Device]:
        """All devices of a robot."""
        return [device for device in self._devices.values() if device.robot == robot]


class Simulation:
    """A server's clock and devices.

    It is a context manager; its end closes all connections and leaves the server running, unless this program launched it.
    Threads may share a simulation. `step` and `run_to` have a connection of their own, so another thread can pause the clock
    or look at it while they wait.
    """

    def __init__(self, host: str, port: int, token: str | None, timeout: float | None, server: Server | None) -> None:
        self.host, self.port, self.timeout = host, port, timeout
        self.server = server
        """The process, where this program launched it."""
        self._token = token
        self._control = Port(host, port, "the control port", token, timeout)
        self._runner = Port(host, port, "the control port", token, timeout)
        self._devices: Devices | None = None
        self._robots: dict[str, Robot] | None = None
        self._has_quit = False

    @property
    def state(self) -> State:
        """Where it stands now."""
        return read_state(self._control.ask("STATE", self.timeout))

    @property
    def devices(self) -> Devices:
        """All sensors and actuators; asked once."""
        with self._control.lock:
            if self._devices is None:
                lines = self._control.ask_lines("DEVICES", self.timeout, lambda line: not line.startswith("DEVICE "))
                self._devices = Devices(map(self._device, lines[:-1]))
            return self._devices

    @property
    def robots(self) -> Mapping[str, Robot]:
        """The robots by their names; asked once."""
        with self._control.lock:
            if self._robots is None:
                lines = self._control.ask_lines("ROBOTS", self.timeout, lambda line: not line.startswith("ROBOT "))
                self._robots = {}
                for name, port in map(read_robot, lines[:-1]):
                    wire = DevicePort(self.host, port, f"'{name}'", self._token, self.timeout)
                    self._robots[name] = Robot(wire, name, self.devices.of_robot(name))
            return self._robots

    def __getitem__(self, name: str) -> Device:
        return self.devices[name]

    def play(self, rate: float | None = None) -> State:
        """Lets the clock run, at so many simulated seconds per wall second where given."""
        return self._do("PLAY" if rate is None else f"PLAY {float(rate)!r}")

    def pause(self) -> State:
        """Stops the clock after the step under way."""
        return self._do("PAUSE")

    def step(self, count: int = 1, timeout: float | None = None) -> State:
        """From pause: makes steps at once, and returns when every device shows the last of them."""
        return read_state(self._runner.ask(f"STEP {count}", timeout))

    def run_to(self, time: float, timeout: float | None = None) -> State:
        """From pause: plays until a simulated time in seconds, then pauses and returns."""
        return read_state(self._runner.ask(f"RUNTO {float(time)!r}", timeout))

    def reset(self) -> State:
        """Builds the world anew: equal to a fresh start bit for bit. A clock that plays plays on."""
        return self._do("RESET")

    def place(
        self,
        name: str,
        position: Iterable[float] | None = None,
        orientation: Iterable[float] | None = None,
        linear_velocity: Iterable[float] | None = None,
        angular_velocity: Iterable[float] | None = None,
    ) -> None:
        """Puts a robot, one of its bodies (`robot/body`) or an object elsewhere from the next step on, with all that joints tie
        to it. World axes, y up: position in m, orientation as a quaternion x, y, z, w, velocity of the centre of mass in m/s,
        angular velocity in rad/s. What is None stays as it is; joint positions and rates do in any case."""
        given = {
            "position": position,
            "orientation": orientation,
            "linearVelocity": linear_velocity,
            "angularVelocity": angular_velocity,
        }
        words = [f"{key}={write_numbers(numbers)}" for key, numbers in given.items() if numbers is not None]
        self._control.ask(" ".join(["PLACE", name, *words]), self.timeout)

    def spawn(
        self,
        file: str | None = None,
        *,
        text: str | None = None,
        name: str | None = None,
        position: Iterable[float] | None = None,
        orientation: Iterable[float] | None = None,
        port_offset: int | None = None,
        fixed_base: bool = False,
        rename: bool = False,
    ) -> str:
        """Lets a robot come to the running world, and returns its name. It is that of a file which the server finds beside its
        world, or of a text (ours, URDF, MJCF or SDF). Position in m and orientation as a quaternion x, y, z, w place its own
        frame in world axes, y up. `devices` and `robots` have it, too; devices that were there stay the same objects."""
        words = ["SPAWN"]
        words += [f"name={name}"] if name is not None else []
        words += [f"position={write_numbers(position)}"] if position is not None else []
        words += [f"orientation={write_numbers(orientation)}"] if orientation is not None else []
        words += [f"portOffset={port_offset}"] if port_offset is not None else []
        words += ["fixedBase=true"] if fixed_base else []
        words += ["rename=true"] if rename else []
        words += [f"file={file}"] if file is not None else []
        words += [f"text={json.dumps(text)}"] if text is not None else []
        answer = self._runner.ask(" ".join(words), None)
        self._look_again()
        return read_pairs(answer.removeprefix("OK"))["name"]

    def remove(self, name: str) -> None:
        """Lets a robot or an object of the world's file go. The connections of its devices are closed."""
        self._runner.ask(f"REMOVE {name}", None)
        self._look_again()

    def spawnables(self) -> list[str]:
        """The robot files that `spawn` finds."""
        with self._control.lock:
            lines = self._control.ask_lines("SPAWNABLES", self.timeout, lambda line: not line.startswith("SPAWNABLE "))
        return [line.removeprefix("SPAWNABLE file=") for line in lines[:-1]]

    def _look_again(self) -> None:
        """Asks for devices and robots anew, where they are known. Those that stay keep their connections."""
        with self._control.lock:
            before, robots = self._devices, self._robots
            self._devices = self._robots = None
            if before is None:
                return
            now = self.devices
            kept = {key: before[key] for key in before if key in now and before[key].kind == now[key].kind}
            self._devices = Devices(kept.get(key, now[key]) for key in now)
            for key in set(before) - set(kept):
                before[key].close()
            for robot in (robots or {}).values():
                robot.line.close()

    def mode(self, word: str) -> State:
        """`realtime` gives every step its deadline, `fast` makes one after the other. The server knows which other words
        there are."""
        return self._do(f"MODE {word}")

    def sync(self, token: str = "python") -> int:
        """Waits until all commands that were answered before are taken in. They act from the step behind the returned one."""
        done, step, *_ = [*self._control.ask(f"SYNC {token}", self.timeout).split(" "), ""]
        if done != "DONE" or not step.isdecimal():
            raise WireError(f"expected DONE and a step, got '{done} {step}'")
        return int(step)

    def lockstep(self, members: Iterable[str], timeout: float | None = None, every: int = 1) -> Lockstep:
        """A clock that waits in every step, or in every so many, for this program. Members are robots, each of which then has
        its readings and commands in one line, or devices; see `Lockstep`."""
        return Lockstep(self, self.state.mode, [self._member(name) for name in members], timeout, every)

    def _member(self, name: str) -> Device | Robot:
        try:
            return self.devices[name]
        except UnknownDeviceError:
            if name in self.robots:
                return self.robots[name]
            raise

    def quit(self) -> None:
        """Ends the server's run cleanly."""
        try:
            self._control.ask("QUIT", self.timeout)
        except ConnectionLostError:
            pass  # The server may close before its answer is out; both mean that it ends.
        self._has_quit = True

    def ask(self, text: str) -> str:
        """Sends a line of one's own to the control port and returns the answer as it came; a refusal is raised."""
        return self._control.ask(text, self.timeout)

    def close(self) -> None:
        """Closes all connections, and ends the server if this program launched it."""
        if self.server is not None and not self._has_quit and self.server.process.poll() is None:
            try:
                self.quit()
            except SimPartnerError:
                pass  # Then it is ended by a signal.
        for device in (self._devices or {}).values():
            device.close()
        for robot in (self._robots or {}).values():
            robot.line.close()
        self._runner.close()
        self._control.close()
        if self.server is not None:
            self.server.close(self._has_quit)

    def __enter__(self) -> Simulation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Simulation at {self.host}:{self.port}>"

    def _do(self, text: str) -> State:
        return read_state(self._control.ask(text, self.timeout))

    def _device(self, line: str) -> Device:
        pairs = read_pairs(line.removeprefix("DEVICE"))
        try:
            name, kind, robot = pairs["name"], pairs["kind"], pairs["robot"]
            bound, model_port = int(pairs["bound"]), int(pairs["port"])
        except (KeyError, ValueError) as error:
            raise WireError(f"expected a device, got '{line[:200]}'") from error
        wire = DevicePort(self.host, bound, f"'{robot}/{name}'", self._token, self.timeout)
        return Device(wire, name, kind, robot, model_port)


def connect(
    host: str = "127.0.0.1",
    port: int = CONTROL_PORT,
    *,
    token: str | None = None,
    timeout: float | None = 10.0,
    ports_file: str | os.PathLike[str] | None = None,
) -> Simulation:
    """Connects to a running server by its control port, or by the file that a server with `--ports-file` writes.

    `timeout` bounds, in seconds, every answer that waits for no step. What waits for steps takes its own timeout.
    """
    if ports_file is not None:
        host, port = read_ports_file(ports_file)
    return attach(host, port, token, timeout, None)


def read_ports_file(path: str | os.PathLike[str]) -> tuple[str, int]:
    """Where the control port is, as a server's file of ports tells."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConnectionLostError(f"the file of ports cannot be read, is the server running? {error}") from error
    try:
        host, _, port = json.loads(text)["control"].rpartition(":")
        return host.strip("[]"), int(port)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WireError(f"{os.fspath(path)} is no file of ports: {error}") from error


def attach(host: str, port: int, token: str | None, timeout: float | None, server: Server | None) -> Simulation:
    """A simulation whose server has been seen to answer."""
    simulation = Simulation(host, port, token, timeout, server)
    try:
        _ = simulation.state
    except BaseException:
        simulation.close()
        raise
    return simulation


def read_state(answer: str) -> State:
    """`OK state=.. step=.. time=.. timestep=.. mode=.. rate=.. rtf=.. slips=.. epoch=..`"""
    pairs = read_pairs(answer.removeprefix("OK"))
    try:
        return State(
            state=pairs.pop("state"),
            step=int(pairs.pop("step")),
            time=float(pairs.pop("time")),
            timestep=float(pairs.pop("timestep")),
            mode=pairs.pop("mode"),
            rate=float(pairs.pop("rate")),
            rtf=float(pairs.pop("rtf")),
            slips=int(pairs.pop("slips")),
            epoch=int(pairs.pop("epoch")),
            more=pairs,
        )
    except (KeyError, ValueError) as error:
        raise WireError(f"expected the clock's state, got '{answer[:200]}'") from error
