"""A clock that waits for its controller. Start at `Simulation.lockstep`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from .device import Device
from .errors import ConnectionLostError, NoAnswerError, SimPartnerError, read_refusal
from .reading import Reading, Values, read_sample, values_type
from .wire import Connection, write_numbers

if TYPE_CHECKING:
    from .simulation import Simulation


class Turn:
    """What the members show after a step, and the place to answer them."""

    def __init__(self, members: Mapping[str, _Member], readings: Mapping[str, Reading]) -> None:
        self._members = members
        self.readings = readings
        """By the full names of the devices."""
        first = next(iter(readings.values()))
        self.step = first.step
        self.time = first.time
        """Simulated time, seconds."""

    def __getitem__(self, name: str) -> Reading:
        return self.readings[self._member(name).device.full_name]

    def command(self, name: str, *values: float, **fields: float) -> None:
        """Commands a member for the next step, with values and names as in `Device.command`. Fields that are not named keep
        what the member has just shown."""
        member = self._member(name)
        member.command(values, fields, self[name])

    def _member(self, name: str) -> _Member:
        found = [member for key, member in self._members.items() if name in (key, member.device.name)]
        if len(found) != 1:
            raise KeyError(f"'{name}' is no member, or one of several; the members are {', '.join(self._members)}")
        return found[0]


class Lockstep:
    """The steps of a simulation, one after the other, each of which waits for this program.

        with sim.lockstep(["Position", "WheelMotor1"]) as steps:
            for turn in steps:
                turn.command("WheelMotor1", velocity_3=1.0 - turn["Position"]["x"])
                if turn.time >= 5:
                    break

    Members that are not commanded in the loop's body are told `ACK`. The end of the context closes the members' connections,
    pauses the clock and gives it back the mode it had. It is for one thread. `timeout` bounds the wait for a step, in seconds.
    """

    def __init__(self, simulation: Simulation, devices: Sequence[Device], timeout: float | None) -> None:
        if not devices:
            raise ValueError("a clock in lockstep needs at least one member")
        self._simulation = simulation
        self._timeout = timeout
        self._former_mode = simulation.state.mode
        self._turn: Turn | None = None
        self._first: dict[str, Reading] = {}
        self._members: dict[str, _Member] = {}
        # Before any connection is open: a server without lockstep says so here.
        simulation.mode("lockstep " + " ".join(device.full_name for device in devices))
        try:
            # All join in the same step: until the last has, the clock would run without them.
            simulation.pause()
            for device in devices:
                self._members[device.full_name] = _Member(device)
            self._first = self._readings()
            simulation.play()
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Lockstep:
        return self

    def __next__(self) -> Turn:
        """Answers the members for the step before, and waits until all have shown the next one."""
        if self._turn is not None:
            for member in self._members.values():
                member.acknowledge(self._turn.step)
        try:
            readings, self._first = self._first or self._readings(), {}
        except ConnectionLostError:
            self._turn = None
            raise StopIteration from None
        if len({reading.step for reading in readings.values()}) != 1:
            steps = ", ".join(f"{name} {reading.step}" for name, reading in readings.items())
            raise SimPartnerError(f"the members are not in the same step: {steps}")
        self._turn = Turn(self._members, readings)
        return self._turn

    def _readings(self) -> dict[str, Reading]:
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        return {name: member.reading(deadline) for name, member in self._members.items()}

    def close(self) -> None:
        """Ends the lockstep."""
        for member in self._members.values():
            member.connection.close()
        self._members = {}
        self._turn = None
        try:
            self._simulation.pause()
            self._simulation.mode(self._former_mode)
        except ConnectionLostError:
            pass  # The server has ended.

    def __enter__(self) -> Lockstep:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Member:
    """A device in lockstep, on a connection of its own."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._make: Callable[[Iterable[float]], Values] = values_type(device.name, device.fields)
        self._answered = True
        self.connection: Connection = device.connection()
        # This takes the member's place; the answer is the present step.
        self.connection.tell("ACK")

    def reading(self, deadline: float | None) -> Reading:
        """The next sample. Answers to commands come on the same connection and are passed over, refusals are raised."""
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            try:
                line = self.connection.hear(left)
            except NoAnswerError as error:
                raise NoAnswerError(f"no step came to '{self.device.full_name}' in time") from error
            if (refusal := read_refusal(line, "", self.device.full_name)) is not None:
                raise refusal
            if line.startswith("S "):
                self._answered = False
                return read_sample(line, self._make)

    def command(self, values: tuple[float, ...], fields: Mapping[str, float], shown: Reading) -> None:
        frame = self.device.frame(values, fields, shown.values)
        self.connection.tell(f"<{write_numbers(frame)}>")
        self._answered = True

    def acknowledge(self, step: int) -> None:
        if not self._answered:
            self.connection.tell(f"ACK {step}")
            self._answered = True
