"""A simulation in this process, without a server. Start at `load`.

    import simpartner

    sim = simpartner.load("worlds/flat.xml")
    sim["WorkPartner/WheelMotor1"].command(velocity_3=2)
    sim.step(1000)
    print(sim["WorkPartner/Position"].read().values.x)

It needs the native module, which the wheel of this package has; `simpartner.connect` and `simpartner.launch` do without it.
Devices, requests, errors and bits are those of a server. Arrays of numbers need the extra `numpy`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar

from . import simulation
from .camera import Image, ImageStream, Plane
from .device import Device, Subscription
from .errors import NativeModuleError, WrongStateError, read_refusal
from .lockstep import Lockstep, Robot, Turn, read_robot
from .reading import Field, Reading, values_type
from .simulation import State
from .wire import Connection, DevicePort, read_pairs, write_numbers

if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

try:
    from . import _native
except ImportError as error:
    raise NativeModuleError(
        "this installation has no native module; install the wheel of simpartner, which '.packages/wheel' makes in a copy "
        f"of the repository ({error})"
    ) from error

__all__ = ["EmbeddedDevice", "Event", "Simulation", "_native", "load"]

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Event:
    """Something exceptional in a step, such as a fault or a step that the physics had to divide."""

    step: int
    kind: str
    subject: str
    text: str
    value: float | None


class EmbeddedPort(DevicePort):
    """A port that answers in this process."""

    def __init__(self, answer: Callable[[str], str], who: str) -> None:
        super().__init__("in this process", 0, who, None, None)
        self._answer = answer

    def ask_lines(self, text: str, timeout: float | None, is_last: Callable[[str], bool]) -> list[str]:
        """The lines of the answer; a refusal is raised. It waits for no timeout."""
        lines = self._answer(text).splitlines() or [""]
        if (refusal := read_refusal(lines[0], text, self.who)) is not None:
            raise refusal
        return lines

    def ask_for(self, text: str, timeout: float | None, read: Callable[[Connection, str], _Answer]) -> _Answer:
        """Refuses, since there is no connection."""
        self.refuse()

    def open(self) -> Connection:
        """Refuses, since there is no connection."""
        self.refuse()

    def refuse(self) -> NoReturn:
        """Raises what says that nothing runs by itself here."""
        raise WrongStateError(7, "a simulation in this process makes steps only when it is asked to", "", self.who)


class EmbeddedDevice(Device):
    """A device of a simulation in this process."""

    def __init__(self, native: _native.Simulation, name: str, kind: str, robot: str, model_port: int) -> None:
        full = f"{robot}/{name}"
        self._port = EmbeddedPort(lambda text: native.ask_device(full, text), f"'{full}'")
        super().__init__(self._port, name, kind, robot, model_port)
        self._native = native

    def image(self) -> Image:
        """What a camera saw last. It is made now."""
        step, planes = self._native.images(self.full_name)
        return Image(step, step * self._native.timestep, tuple(Plane(*plane) for plane in planes))

    def images(self, every: int = 1, timeout: float | None = None, lossless: bool = False) -> ImageStream:
        """Refuses: use `image` after each step."""
        self._port.refuse()

    def subscribe(self, every: int = 1, timeout: float | None = None, lossless: bool = False) -> Subscription:
        """Refuses: use `read` after each step."""
        self._port.refuse()


class Simulation(simulation.Simulation):
    """A simulation in this process. It has the calls of `simpartner.Simulation`, and arrays of numbers besides.

    Steps are made when they are asked for, as fast as they can be, so `play`, `pause` and `mode` are refused. Threads may
    share it. Calls that make steps let other threads of Python run, and Ctrl-C ends them between two steps.
    """

    def __init__(
        self,
        world: str | os.PathLike[str] = "worlds/flat.xml",
        *,
        text: str | None = None,
        timestep: float | None = None,
        seed: int | None = None,
        fixed_base: bool = False,
        settings: Mapping[str, object] | None = None,
        sensors: Sequence[str] | None = None,
        actuators: Sequence[str] | None = None,
    ) -> None:
        super().__init__("in this process", 0, None, None, None)
        given: dict[str, object] = dict(settings or {})
        if timestep is not None:
            given["simulation.timestep_s"] = float(timestep)
        if seed is not None:
            given["simulation.seed"] = seed
        if fixed_base:
            given["simulation.fixed_base"] = True
        pairs = [(key, str(value).lower() if isinstance(value, bool) else str(value)) for key, value in given.items()]
        self.native = _native.Simulation(os.fspath(world), text, pairs)
        """The native simulation. Its calls have no overhead of Python; `_native.pyi` lists them."""
        self._control = self._runner = EmbeddedPort(self.native.ask, "the simulation")
        self.select(sensors, actuators)
        self.advance = self.native.advance
        """`advance(count=1, commands=None, readings=None)`: the call for loops, without overhead of Python. It commands the
        selected actuators from `commands`, an array of float64 of the shape (len(command_fields),), makes `count` steps,
        and copies the readings of the selected sensors into `readings`, an array of the shape (len(reading_fields),).
        Both are contiguous arrays of the caller. Returns the index of the last step."""

    def step(self, count: int = 1, timeout: float | None = None) -> State:
        """Makes steps. `timeout` is for servers alone."""
        self.native.advance(count)
        return self.state

    def run_to(self, time: float, timeout: float | None = None) -> State:
        """Makes steps up to a simulated time in seconds."""
        self.native.advance_to(time)
        return self.state

    def reset(self, seed: int | None = None) -> State:
        """Builds the world anew, equal to a fresh start bit for bit, with this seed of all noise or the present one."""
        self.native.reset(seed)
        return self.state

    @property
    def seed(self) -> int:
        """The seed of all noise."""
        return self.native.seed

    def select(self, sensors: Sequence[str] | None = None, actuators: Sequence[str] | None = None) -> None:
        """Selects the devices of the arrays by their names, in their order; None is all of them in the world's order. A
        robot that comes or goes selects all again."""
        self.native.select(sensors, actuators)

    @property
    def reading_fields(self) -> list[Field]:
        """The numbers of the array of readings: `robot/device.field` and unit of each."""
        return [Field(f"{device}.{name}", unit) for device, name, unit in self.native.sensor_channels()]

    @property
    def command_fields(self) -> list[Field]:
        """The numbers of the array of commands: `robot/device.field` and unit of each."""
        return [Field(f"{device}.{name}", unit) for device, name, unit in self.native.actuator_channels()]

    def readings(self, out: Floats | None = None) -> Floats:
        """The readings of the selected sensors, float64 of the shape (len(reading_fields),), in `out` where it is given.
        A scan that has not arrived yet is NaN."""
        if out is None:
            import numpy as np

            out = np.empty(len(self.native.sensor_channels()))
        self.native.read_into(out)
        return out

    def commands(self, out: Floats | None = None) -> Floats:
        """The present commands of the selected actuators, float64 of the shape (len(command_fields),)."""
        if out is None:
            import numpy as np

            out = np.empty(len(self.native.actuator_channels()))
        self.native.present_commands(out)
        return out

    def command(self, values: Floats) -> None:
        """Commands the selected actuators from the next step on: float64 of the shape (len(command_fields),). A field that is
        NaN keeps its value, and an actuator whose fields are all NaN gets no command."""
        self.native.command(values)

    def snapshot(self) -> bytes:
        """The state after the last step, for `restore`. Commands for later steps are not in it."""
        return self.native.snapshot()

    def restore(self, snapshot: bytes) -> State:
        """Goes back to a snapshot of the same model, timestep and engine; from there it continues bit for bit."""
        self.native.restore(snapshot)
        return self.state

    @property
    def state_hash(self) -> str:
        """Hash of the state, equal to that of a server after the same commands and steps."""
        return self.native.state_hash()

    def events(self) -> list[Event]:
        """The events since this was asked last, at most 10,000."""
        return [Event(*event) for event in self.native.take_events()]

    @property
    def robots(self) -> Mapping[str, Robot]:
        """The robots by their names."""
        if self._robots is None:
            lines = self._control.ask_lines("ROBOTS", None, lambda line: not line.startswith("ROBOT "))
            self._robots = {}
            for name, _ in map(read_robot, lines[:-1]):
                line = EmbeddedPort(lambda text, robot=name: self.native.ask_robot(robot, text), f"'{name}'")  # type: ignore[misc]
                self._robots[name] = Robot(line, name, self.devices.of_robot(name))
        return self._robots

    def lockstep(self, members: Iterable[str], timeout: float | None = None, every: int = 1) -> Lockstep:
        """A loop of which each turn makes `every` steps; its turns are those of a server's clock in lockstep."""
        return EmbeddedLockstep(self, [self._member(name) for name in members], every)

    def close(self) -> None:
        """Does nothing: the simulation ends with its last reference."""

    def __repr__(self) -> str:
        return f"<Simulation in this process at step {self.native.step}>"

    def _device(self, line: str) -> Device:
        pairs = read_pairs(line.removeprefix("DEVICE"))
        return EmbeddedDevice(self.native, pairs["name"], pairs["kind"], pairs["robot"], int(pairs["port"]))


class EmbeddedTurn(Turn):
    """What the members show after a step."""

    def __init__(
        self, native: _native.Simulation, shown: Mapping[str, Device], commanded: Mapping[str, Device]
    ) -> None:
        self.step, self.time = native.step, native.time
        self.pending: dict[Device, tuple[float, ...]] = {}
        """The commands for the next step."""
        self._shown, self._commanded = shown, commanded
        devices = dict.fromkeys(shown.values())
        self._values = {device: native.device_values(device.full_name) for device in devices}

    @property
    def readings(self) -> dict[str, Reading]:
        """All of them by the full names of the devices."""
        return {device.full_name: self._reading(device) for device in self._values}

    def __getitem__(self, name: str) -> Reading:
        """A device's reading, by its full name, or by its name alone where one member alone has it."""
        if name not in self._shown:
            known = ", ".join(device.full_name for device in self._values)
            raise KeyError(f"'{name}' is no device that is shown, or one of several; shown are {known}")
        return self._reading(self._shown[name])

    def command(self, name: str, *values: float, **fields: float) -> None:
        """Commands an actuator for the next step, with values and names as in `Device.command`."""
        if name not in self._commanded:
            known = ", ".join(dict.fromkeys(device.full_name for device in self._commanded.values()))
            raise KeyError(f"'{name}' is no actuator of a member, or one of several; there are {known}")
        device = self._commanded[name]
        present = (self.pending.get(device) or device.present()) if fields else None
        self.pending[device] = device.frame(values, fields, present)

    def _reading(self, device: Device) -> Reading:
        make = values_type(device.name, device.fields)
        return Reading(self.step, self.time, make(self._values[device]))


class EmbeddedLockstep(Lockstep):
    """The steps of a simulation in this process, one after the other."""

    def __init__(self, owner: Simulation, members: Sequence[Device | Robot], every: int) -> None:
        if not members:
            raise ValueError("a clock in lockstep needs at least one member")
        if every < 1:
            raise ValueError(f"expected every step or every n-th, got {every}")
        self.every = every
        self._native = owner.native
        self._turn: EmbeddedTurn | None = None
        self._begun = False
        shown: dict[str, list[Device]] = {}
        commanded: dict[str, list[Device]] = {}

        def add(names: dict[str, list[Device]], device: Device) -> None:
            for name in (device.full_name, device.name):
                if device not in names.setdefault(name, []):
                    names[name].append(device)

        for member in members:
            if isinstance(member, Robot):
                sensors = member.readings()
                for device in member.devices:
                    add(shown if device in sensors else commanded, device)
            else:
                add(shown, member)
                add(commanded, member)
        self._shown = {name: devices[0] for name, devices in shown.items() if len(devices) == 1}
        self._commanded = {name: devices[0] for name, devices in commanded.items() if len(devices) == 1}

    def __next__(self) -> EmbeddedTurn:
        """Sends the commands of the turn before, makes the steps, and shows the last of them."""
        if self._turn is not None:
            self._send(self._turn)
            self._native.advance(self.every)
        self._turn = EmbeddedTurn(self._native, self._shown, self._commanded)
        return self._turn

    def reset(self) -> None:
        """Builds the world anew; the next turn is that of step 0. What has been commanded and not sent is forgotten."""
        self._turn = None
        self._native.reset()

    def close(self) -> None:
        """Sends what has been commanded and not sent."""
        if self._turn is not None:
            self._send(self._turn)
        self._turn = None

    def _send(self, turn: EmbeddedTurn) -> None:
        for device, frame in turn.pending.items():
            device.ask(f"<{write_numbers(frame)}>")
        turn.pending.clear()


def load(
    world: str | os.PathLike[str] = "worlds/flat.xml",
    *,
    text: str | None = None,
    timestep: float | None = None,
    seed: int | None = None,
    fixed_base: bool = False,
    settings: Mapping[str, object] | None = None,
    sensors: Sequence[str] | None = None,
    actuators: Sequence[str] | None = None,
) -> Simulation:
    """A simulation in this process, at step 0.

    - `world`: a world file, or a robot file of ours, URDF, MJCF or SDF, which stands on level ground. Built-in worlds need
      no file.
    - `text`: the text of a world, as if it stood in the file `world`; files that it names are looked for from there.
    - `timestep` in seconds, 0.001 unless given; `seed` of all noise, 0 unless given.
    - `fixed_base`: fixes the root of an imported robot.
    - `settings`: those of the physics by their names, as `{"physics.engine": "rapier", "dynamics.max_sweeps": 100}`, and
      values of the model by their paths, as `{"model.surface.friction": 0.4}`.
    - `sensors`, `actuators`: the devices of the arrays of readings and commands, all unless given.

    A file with problems raises `ModelError`, whose text has file, line and column of each.
    """
    return Simulation(
        world,
        text=text,
        timestep=timestep,
        seed=seed,
        fixed_base=fixed_base,
        settings=settings,
        sensors=sensors,
        actuators=actuators,
    )
