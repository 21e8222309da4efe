"""Sensors and actuators, each on its port. Start at `Device`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from .camera import Image, ImageReader, ImageStream, Optics, read_optics
from .errors import WireError
from .reading import Field, Info, Reading, Values, identifier, read_frame, read_info, read_sample, values_type
from .wire import Connection, DevicePort, Stream, read_numbers, write_numbers


class Device:
    """A sensor or an actuator.

    There is one class for all kinds, also for those that this package has never heard of: which fields a device has, the
    server says, and what a device cannot do, the server refuses. It connects when it is first asked. Threads may share a
    device; their requests follow one another.
    """

    def __init__(self, line: DevicePort, name: str, kind: str, robot: str, model_port: int) -> None:
        self.name, self.kind, self.robot = name, kind, robot
        self.model_port = model_port
        """The port that the model asks for; 0 is any. The one it got is in `info.port`."""
        self._line = line
        self._info: Info | None = None
        self._make: Callable[[Iterable[float]], Values] | None = None

    @property
    def full_name(self) -> str:
        """`robot/name`"""
        return f"{self.robot}/{self.name}"

    @property
    def info(self) -> Info:
        """What it is, with its fields and their units; asked once."""
        with self._line.lock:
            if self._info is None:
                self._info = read_info(self.ask("INFO"))
            return self._info

    @property
    def fields(self) -> tuple[Field, ...]:
        """Its numbers, in their order."""
        return self.info.fields

    def read(self) -> Reading:
        """Its reading with step and time; of an actuator the state that acted in that step, and of a camera the step of its last
        image, which `image` has."""
        make = self._maker()
        if self.has_images:
            image = self.image()
            return Reading(image.step, image.time, make([image.step]))
        return read_sample(self.ask("GET"), make)

    def present(self) -> Values:
        """Its newest reading; of an actuator the state as last commanded, also if no step has shown it yet."""
        make = self._maker()
        return make(read_numbers(read_frame(self.ask("<>"))))

    def command(self, *values: float, **fields: float) -> Values:
        """Commands an actuator from the next step on, and returns its state before.

        Positional values are sent as they stand; how many a device takes is the server's to say, and a short frame is the
        end of the long one. With names, `command(velocity_3=2)`, all other fields keep their present values; positional
        values then fill the fields from the first on. Reading and commanding are one act for the threads of this
        program, not for other clients.
        """
        with self._line.lock:
            make = self._maker()
            if not self.fields:
                raise TypeError(f"{self.full_name} has no fields; talk to it with ask()")
            answer = self.ask(f"<{write_numbers(self.frame(values, fields))}>")
        return make(read_numbers(read_frame(answer)))

    def command_at(self, step: int, *values: float, **fields: float) -> None:
        """The same, to take effect at exactly that step, which must not have been made yet."""
        with self._line.lock:
            self._ok(f"SET @{step} {write_numbers(self.frame(values, fields))}")

    def configure(self, parameters: Mapping[str, float] | None = None, **more: float) -> None:
        """Sets parameters of a sensor: `configure(rate=100)`, or `configure({"x.noise": 0.1})` where Python takes no such
        word."""
        pairs = {**(parameters or {}), **more}
        self._ok("CFG " + " ".join(f"{key}={write_numbers([value])}" for key, value in pairs.items()))

    def fault(self, mode: str, value: float | None = None) -> None:
        """Makes the device fail, or mends it with `ok`. Which modes there are, the server says."""
        self._ok(f"FAULT {mode}" if value is None else f"FAULT {mode} {write_numbers([value])}")

    def subscribe(self, every: int = 1, timeout: float | None = None, lossless: bool = False) -> Subscription:
        """A stream of every so many steps, over a connection of its own. Waiting for a sample takes at most `timeout`
        seconds; None waits as long as the clock stands. `lossless` is for who wants all readings, however old, not the newest.
        A camera has `images` instead."""
        if self.has_images:
            raise TypeError(f"{self.full_name}, a {self.kind}, streams images; use images()")
        return Subscription(self._line, self._maker(), every, timeout, lossless)

    @property
    def has_images(self) -> bool:
        """Whether it is a camera."""
        return "encodings" in self.info.more

    @property
    def optics(self) -> Optics:
        """The geometry of a camera's images."""
        if not self.has_images:
            raise TypeError(f"{self.full_name}, a {self.kind}, has no images")
        return read_optics(self.info.more)

    def image(self) -> Image:
        """The image of a camera that has arrived last, with its step. The server makes it for this request, unless somebody
        has asked before. Before the first has arrived this is a `WrongStateError`."""
        reader, timeout = ImageReader(len(self.optics.encodings)), self._line.timeout
        return self._line.ask_for("GET raw", timeout, lambda line, first: reader.read(line, timeout, first))

    def images(self, every: int = 1, timeout: float | None = None, lossless: bool = False) -> ImageStream:
        """A stream of every so many images of a camera, over a connection of its own. Waiting for one takes at most `timeout`
        seconds; None waits as long as the clock stands. A slow reader gets the newest; `lossless` is for who wants all that
        the server has sent."""
        return ImageStream(self._line, len(self.optics.encodings), every, timeout, lossless)

    def ask(self, text: str) -> str:
        """Sends a line of one's own and returns the answer as it came; a refusal is raised."""
        return self._line.ask(text, self._line.timeout)

    def connection(self) -> Connection:
        """A connection of one's own, behind the greeting. Whoever asks for it closes it."""
        return self._line.open()

    def close(self) -> None:
        """Closes the connection. Subscriptions go on."""
        self._line.close()

    def __repr__(self) -> str:
        return f"<{self.kind} {self.full_name}>"

    def _maker(self) -> Callable[[Iterable[float]], Values]:
        if self._make is None:
            self._make = values_type(self.name, self.fields)
        return self._make

    def frame(
        self, values: tuple[float, ...], fields: Mapping[str, float], present: Iterable[float] | None = None
    ) -> tuple[float, ...]:
        """The numbers of a command: the values, then the named fields, the others as in `present`, which is asked for where
        it is needed and not given."""
        if not fields:
            return values
        names = [identifier(field.name) for field in self.fields]
        wanted = {identifier(name): float(value) for name, value in fields.items()}
        if len(values) > len(names):
            raise TypeError(f"{self.full_name} has {len(names)} fields, and {len(values)} values were given")
        for name in wanted:
            if name not in names:
                raise TypeError(f"{self.full_name} has no field '{name}'; its fields are {', '.join(names)}")
            if name in names[: len(values)]:
                raise TypeError(f"field '{name}' was given by its place and by its name")
        frame = list(self.present() if present is None else present)
        frame[: len(values)] = values
        for name, value in wanted.items():
            frame[names.index(name)] = value
        return tuple(frame)

    def _ok(self, text: str) -> None:
        if not (answer := self.ask(text)).startswith("OK"):
            raise WireError(f"expected OK to '{text}', got '{answer[:200]}'")


class Subscription(Stream[Reading]):
    """A stream of readings: `for reading in sensor.subscribe(100)`.

    A reader that is too slow gets the newest reading and finds in `reading.dropped` how many it missed, in `dropped` all so far
    (`lossless`: it gets all of them, until it is 4 s behind). After a reset steps count from 0 again.
    """

    def __init__(
        self,
        line: DevicePort,
        make: Callable[[Iterable[float]], Values],
        every: int,
        timeout: float | None,
        lossless: bool,
    ) -> None:
        if every < 1:
            raise ValueError(f"expected every step or every n-th, got {every}")
        self._make = make
        super().__init__(line, f"SUB {every} all" if lossless else f"SUB {every}", timeout)

    def _read(self, connection: Connection) -> tuple[Reading, int]:
        reading = read_sample(connection.read_line(self.timeout), self._make)
        return reading, reading.dropped
