"""A clock that waits for its controller. Start at `Simulation.lockstep`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Protocol

from .device import Device
from .errors import ConnectionLostError, NoAnswerError, SimPartnerError, WireError, read_refusal
from .reading import Field, Reading, Values, read_fields, values_type
from .wire import Connection, DevicePort, read_pairs, write_numbers


class Clock(Protocol):
    """What a lockstep asks of the simulation whose clock it holds."""

    def mode(self, word: str) -> object:
        """Changes the mode."""

    def play(self) -> object:
        """Lets the clock run."""

    def pause(self) -> object:
        """Stops the clock."""

    def reset(self) -> object:
        """Builds the world anew."""


class Robot:
    """A robot as a whole: the port that has all readings in one line and takes all commands in one line."""

    def __init__(self, line: DevicePort, name: str, devices: Sequence[Device]) -> None:
        self.name = name
        self.line = line
        self.devices = devices

    def readings(self) -> dict[Device, list[Field]]:
        """Its sensors with their fields, in the order of the line."""
        answer = self.line.ask("INFO", self.line.timeout)
        found: dict[Device, list[Field]] = {}
        names = {f"{device.name}.": device for device in self.devices}
        for field in read_fields(read_pairs(answer.removeprefix("OK")).get("readings", "")):
            prefix = max((name for name in names if field.name.startswith(name)), key=len, default=None)
            if prefix is None:
                raise WireError(f"expected Device.field of '{self.name}', got '{field.name}'")
            found.setdefault(names[prefix], []).append(Field(field.name.removeprefix(prefix), field.unit))
        return found


class Turn:
    """What the members show after a step, and the place to answer them."""

    def __init__(self, members: Sequence[_Member], samples: Sequence[_Sample]) -> None:
        self._samples = list(zip(members, samples, strict=True))
        self.step = samples[0].step
        self.time = samples[0].time
        """Simulated time, seconds."""

    @property
    def readings(self) -> dict[str, Reading]:
        """All of them by the full names of the devices."""
        return {
            device.full_name: sample.reading(member.places[device.full_name])
            for member, sample in self._samples
            for device in member.shown
        }

    def __getitem__(self, name: str) -> Reading:
        """A device's reading, by its full name, or by its name alone where one member alone has it."""
        found = []
        for member, sample in self._samples:
            place = member.places.get(name)
            if place is not None:
                found.append((member, sample, place))
        if len(found) > 1:
            # A device that is a member itself and part of a robot that is one shows the same in both places.
            found = [each for each in found if isinstance(each[0], _DeviceMember)] or found[:1]
        if not found:
            known = ", ".join(device.full_name for member, _ in self._samples for device in member.shown)
            raise KeyError(f"'{name}' is no device that is shown, or one of several; shown are {known}")
        _, sample, place = found[0]
        return sample.reading(place)

    def command(self, name: str, *values: float, **fields: float) -> None:
        """Commands an actuator for the next step, with values and names as in `Device.command`. Fields that are not named keep
        their present values. Of several commands for one actuator the last one counts."""
        for member, sample in self._samples:
            device = member.commanded.get(name)
            if device is not None:
                return member.command(device, values, fields, sample)
        names = ", ".join(member.name for member, _ in self._samples)
        raise KeyError(f"'{name}' is no member and no device of one, or one of several; the members are {names}")


class Lockstep:
    """The steps of a simulation, one after the other, each of which waits for this program.

        with sim.lockstep(["WorkPartner"]) as steps:
            for turn in steps:
                turn.command("WheelMotor1", velocity_3=1.0 - turn["Position"]["x"])
                if turn.time >= 5:
                    break

    A member is a robot, whose readings and commands then travel in one line each, or a device. What the loop's body commands is
    sent together with the acknowledgement of the step, so that a step is one round trip for each member. The end of the
    context sends what has been commanded and not sent, closes the members' connections, pauses the clock and gives it back the
    mode it had. It is for one thread. `timeout` bounds the wait for a step, in seconds. With `every` the loop's body sees one
    step in so many, and the clock waits for it there alone.
    """

    def __init__(
        self,
        clock: Clock,
        former_mode: str,
        members: Sequence[Device | Robot],
        timeout: float | None,
        every: int = 1,
    ) -> None:
        if not members:
            raise ValueError("a clock in lockstep needs at least one member")
        if every < 1:
            raise ValueError(f"expected every step or every n-th, got {every}")
        self.every = every
        self._clock = clock
        self._timeout = timeout
        self._former_mode = former_mode
        self._turn: Turn | None = None
        self._first: list[_Sample] = []
        self._members: list[_Member] = []
        names = [member.name if isinstance(member, Robot) else member.full_name for member in members]
        # Before any connection is open: a server without lockstep says so here.
        clock.mode("lockstep " + " ".join(names))
        try:
            # All join in the same step: until the last has, the clock would run without them.
            clock.pause()
            for member in members:
                self._members.append(_RobotMember(member) if isinstance(member, Robot) else _DeviceMember(member))
            self._drop_ambiguous_names()
            self._first = self._samples()
            clock.play()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Lockstep:
        return self

    def __next__(self) -> Turn:
        """Answers the members for the step before, and waits until all have shown the next one."""
        try:
            if self._turn is not None:
                self._answer(self.every)
            samples, self._first = self._first or self._samples(), []
        except ConnectionLostError:
            self._turn = None
            raise StopIteration from None
        if any(sample.step != samples[0].step for sample in samples):
            steps = ", ".join(f"{m.name} {s.step}" for m, s in zip(self._members, samples, strict=True))
            raise SimPartnerError(f"the members are not in the same step: {steps}")
        self._turn = Turn(self._members, samples)
        return self._turn

    def reset(self) -> None:
        """Builds the world anew; the next turn is that of step 0. What has been commanded and not sent is forgotten."""
        self._turn = None
        for member in self._members:
            member.forget()
        self._clock.reset()
        samples = self._samples()
        while any(sample.step != 0 for sample in samples):
            samples = [
                sample if sample.step == 0 else member.sample(self._deadline())
                for member, sample in zip(self._members, samples, strict=True)
            ]
        self._first = samples

    def close(self) -> None:
        """Ends the lockstep."""
        try:
            if self._turn is not None and any(member.pending for member in self._members):
                self._answer(1)
        except ConnectionLostError:
            pass  # The server has ended, and nobody is left to command.
        for member in self._members:
            member.connection.close()
        self._members = []
        self._turn = None
        try:
            self._clock.pause()
            self._clock.mode(self._former_mode)
        except ConnectionLostError:
            pass  # The server has ended.

    def __enter__(self) -> Lockstep:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer(self, every: int) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            for member in self._members:
                member.answer(turn.step, every)

    def _samples(self) -> list[_Sample]:
        deadline = self._deadline()
        return [member.sample(deadline) for member in self._members]

    def _deadline(self) -> float | None:
        return None if self._timeout is None else time.monotonic() + self._timeout

    def _drop_ambiguous_names(self) -> None:
        """A name alone stands for a device where one robot alone has it."""
        owners: dict[str, set[str]] = {}
        for member in self._members:
            for device in {*member.shown, *member.commanded.values()}:
                owners.setdefault(device.name, set()).add(device.full_name)
        for name in (name for name, full in owners.items() if len(full) > 1):
            for member in self._members:
                member.places.pop(name, None)
                member.commanded.pop(name, None)


class _Place:
    """Where a device's numbers stand in a member's line."""

    def __init__(self, start: int, end: int, make: Callable[[Iterable[float]], Values]) -> None:
        self.start, self.end, self.make = start, end, make


class _Sample:
    """`S step time v,v,... dropped=n`, whose numbers are read when they are asked for."""

    def __init__(self, line: str) -> None:
        self.line = line
        try:
            _, step, seconds, *rest = line.split(" ", 4)
            self.step, self.time = int(step), float(seconds)
        except ValueError as error:
            raise WireError(f"expected S, step, time and numbers, got '{line[:200]}'") from error
        self._rest = rest
        self._numbers: list[str] | None = None

    def reading(self, place: _Place) -> Reading:
        if self._numbers is None:
            self._numbers = self._rest[0].split(",") if self._rest and "=" not in self._rest[0] else []
        dropped = read_pairs(self._rest[-1]).get("dropped", "0") if len(self._rest) > 1 else "0"
        try:
            values = place.make(map(float, self._numbers[place.start : place.end]))
            return Reading(self.step, self.time, values, int(dropped))
        except (ValueError, TypeError) as error:
            raise WireError(f"expected S, step, time and numbers, got '{self.line[:200]}'") from error


class _Member:
    """A port in lockstep, on a connection of its own."""

    def __init__(self, name: str, connection: Connection) -> None:
        self.name = name
        self.shown: list[Device] = []
        self.places: dict[str, _Place] = {}
        """Of the devices that are shown, by their full names and names."""
        self.commanded: dict[str, Device] = {}
        """The devices that take commands, in the same way."""
        self.pending: dict[str, str] = {}
        """What is sent with the next acknowledgement, by the names of the actuators."""
        self.connection = connection
        # This takes the member's place; the answer is the present step.
        connection.send_line("ACK")

    def sample(self, deadline: float | None) -> _Sample:
        """The next sample; a refusal is raised."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            line = self.connection.read_line(left)
        except NoAnswerError as error:
            raise NoAnswerError(f"no step came to '{self.name}' in time") from error
        if not line.startswith("S ") and (refusal := read_refusal(line, "", self.name)) is not None:
            raise refusal
        return _Sample(line)

    def command(self, device: Device, values: tuple[float, ...], fields: Mapping[str, float], shown: _Sample) -> None:
        """Keeps a command for the next acknowledgement."""
        raise NotImplementedError

    def forget(self) -> None:
        """Forgets what is not sent."""
        self.pending.clear()

    def answer(self, step: int, every: int) -> None:
        """Acknowledges a step, with what has been commanded."""
        text = f"ACK {step}" if every == 1 else f"ACK {step}+{every}"
        if self.pending:
            text = f"{text} {';'.join(self.pending.values())}"
            self.pending.clear()
        self.connection.send_line(text)

    def _show(self, device: Device, place: _Place) -> None:
        self.shown.append(device)
        self.places[device.full_name] = self.places[device.name] = place


class _DeviceMember(_Member):
    """A device."""

    def __init__(self, device: Device) -> None:
        fields = device.fields
        super().__init__(device.full_name, device.connection())
        self._show(device, _Place(0, len(fields), values_type(device.name, fields)))
        self.commanded = {device.name: device, device.full_name: device}

    def command(self, device: Device, values: tuple[float, ...], fields: Mapping[str, float], shown: _Sample) -> None:
        present = shown.reading(self.places[device.full_name]).values if fields else None
        self.pending[device.name] = write_numbers(device.frame(values, fields, present))


class _RobotMember(_Member):
    """A robot by its combined port."""

    def __init__(self, robot: Robot) -> None:
        readings = robot.readings()
        super().__init__(robot.name, robot.line.open())
        start = 0
        for device, fields in readings.items():
            self._show(device, _Place(start, start + len(fields), values_type(device.name, fields)))
            start += len(fields)
        for device in robot.devices:
            if device not in readings:
                self.commanded[device.name] = self.commanded[device.full_name] = device
        self._present: dict[Device, tuple[float, ...]] = {}

    def command(self, device: Device, values: tuple[float, ...], fields: Mapping[str, float], shown: _Sample) -> None:
        present: tuple[float, ...] | None = None
        if fields:
            # Nobody else is waited for, but whoever commands this actuator besides is overruled by this.
            present = self._present.get(device) or device.present()
        frame = device.frame(values, fields, present)
        if present is not None:
            self._present[device] = frame
        elif device in self._present:
            self._present[device] = (*self._present[device][: len(self._present[device]) - len(frame)], *frame)
        self.pending[device.name] = f"{device.name}={write_numbers(frame)}"

    def forget(self) -> None:
        super().forget()
        self._present.clear()


def read_robot(line: str) -> tuple[str, int]:
    """`ROBOT name=.. port=.. bound=..`: its name, and where its combined port is."""
    pairs = read_pairs(line.removeprefix("ROBOT"))
    try:
        return pairs["name"], int(pairs["bound"])
    except (KeyError, ValueError) as error:
        raise WireError(f"expected a robot, got '{line[:200]}'") from error

