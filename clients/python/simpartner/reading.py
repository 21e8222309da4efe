"""What devices say: fields, readings, descriptions. No sockets here."""

from __future__ import annotations

import collections
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from .errors import WireError
from .wire import read_numbers, read_pairs

_FIELD = re.compile(r"\s*([^\[\],]+)\[([^\]]*)\]\s*(?:,|$)")

if TYPE_CHECKING:

    class Values(tuple[float, ...]):
        """A named tuple with the device's fields. Which fields those are is known at run time only."""

        _fields: tuple[str, ...]

        def __getattr__(self, name: str) -> float: ...
        def _asdict(self) -> dict[str, float]: ...
        def _replace(self, **changes: float) -> Values: ...
else:
    Values = tuple


@dataclass(frozen=True)
class Field:
    """A number of a device's frame. In `unit`, as on the wire, a dot stands where a blank would."""

    name: str
    unit: str


@dataclass(frozen=True)
class Info:
    """What a device is, as `INFO` tells it."""

    name: str
    kind: str
    robot: str
    mount: str
    """What it sits on: `body` or `joint`."""
    mounted_on: str
    """The name of that body or joint."""
    port: int
    """The port it listens on."""
    rate: float
    """How often a sensor reads anew, Hz."""
    fields: tuple[Field, ...]
    more: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What a newer server says besides."""


@dataclass(frozen=True)
class Reading:
    """A device's numbers in a step.

    `values` is a named tuple: `reading.values.x`, `reading["x"]` and `reading.values[0]` are the same. `dropped` counts the
    samples of a subscription that were missed just before this one.
    """

    step: int
    time: float
    """Simulated time, seconds."""
    values: Values
    dropped: int = 0

    def __getitem__(self, name: str) -> float:
        try:
            return cast(float, getattr(self.values, identifier(name)))
        except AttributeError:
            names = ", ".join(self.values._fields) or "none"
            raise KeyError(f"no field '{name}'; the fields are {names}") from None


def identifier(name: str) -> str:
    """A field's name as Python takes it: other characters turn into underscores."""
    name = re.sub(r"\W", "_", name).lstrip("_") or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def values_type(device: str, fields: Iterable[Field]) -> Callable[[Iterable[float]], Values]:
    """A maker of named tuples for these fields. Two fields that Python would confuse are told apart by their places."""
    names: list[str] = []
    for place, each in enumerate(fields):
        name = identifier(each.name)
        names.append(f"{name}_{place + 1}" if name in names else name)
    # Its fields are known at run time only, which no type checker can follow.
    make_type: Any = collections.namedtuple
    return cast("Callable[[Iterable[float]], Values]", make_type(identifier(device), names)._make)


def read_fields(text: str) -> tuple[Field, ...]:
    """`name[unit],name[unit]`"""
    fields, end = [], 0
    while place := _FIELD.match(text, end):
        fields.append(Field(place[1].strip(), place[2]))
        end = place.end()
    if end < len(text.rstrip()):
        raise WireError(f"expected fields as name[unit], got '{text[end : end + 80]}'")
    return tuple(fields)


def read_info(answer: str) -> Info:
    """`OK name=.. kind=.. robot=.. body=.. port=.. rate=.. fields=..`"""
    pairs = read_pairs(answer.removeprefix("OK"))
    try:
        mount = next(noun for noun in ("joint", "body") if noun in pairs)
        return Info(
            name=pairs.pop("name"),
            kind=pairs.pop("kind"),
            robot=pairs.pop("robot"),
            mount=mount,
            mounted_on=pairs.pop(mount),
            port=int(pairs.pop("port")),
            rate=float(pairs.pop("rate")),
            fields=read_fields(pairs.pop("fields", "")),
            more=pairs,
        )
    except (KeyError, ValueError, StopIteration) as error:
        raise WireError(f"expected a device's description, got '{answer[:200]}'") from error


def read_sample(line: str, make: Callable[[Iterable[float]], Values]) -> Reading:
    """`S step time v,v,... dropped=n`"""
    try:
        mark, step, time, *rest = line.split(" ")
        if mark != "S":
            raise ValueError
        numbers = "".join(part for part in rest if "=" not in part)
        dropped = read_pairs(" ".join(part for part in rest if "=" in part)).get("dropped", "0")
        return Reading(int(step), float(time), make(read_numbers(numbers)), int(dropped))
    except (ValueError, TypeError) as error:
        raise WireError(f"expected S, step, time and numbers, got '{line[:200]}'") from error


def read_frame(line: str) -> str:
    """The text of a frame `<...>`."""
    if not (line.startswith("<") and line.endswith(">")):
        raise WireError(f"expected a frame, got '{line[:200]}'")
    return line[1:-1]
