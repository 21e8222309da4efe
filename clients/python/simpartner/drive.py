"""The task of driving to a goal, for one environment and for many at once. Needs numpy.

Numbers may be arrays with one for each environment. Only operations that IEEE 754 rounds in one way are used where an
environment steps, so one environment and many have the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .reading import Reading

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Channel:
    """A number of the action. -1 sets the field of all its devices to `low`, +1 to `high`, and what lies between in between."""

    devices: Sequence[str]
    field: str
    low: float
    high: float


WHEELS: Final = tuple(f"WheelMotor{number}" for number in (1, 2, 3, 4))

WORKPARTNER_CHANNELS: Final = (
    Channel(WHEELS, "velocity_3", -3.0, 3.0),
    Channel(("TurnerController",), "angle_3", -0.5, 0.5),
)
"""WorkPartner's speed in rad/s of the wheels, and the angle of its middle joint, positive to the left."""

WORKPARTNER_FRAMES: Final[Mapping[str, Sequence[float]]] = {
    **{wheel: (1000, 1000, 100, 0, 0, 0) for wheel in WHEELS},
    "TurnerController": (1000, 1000, 1000, 0, 0, 0, 5, 0, 0),
}
"""What its actuators are told after a reset: maximum forces and gains."""

QUATERNION: Final = ("qx", "qy", "qz", "qw")
"""The fields of a sensor that tells its orientation."""


def orientation(reading: Reading) -> tuple[float, float, float, float] | None:
    """The quaternion x, y, z, w of a sensor that tells its orientation; None of one that does not."""
    if not set(QUATERNION) <= set(reading.values._fields):
        return None
    x, y, z, w = (reading[name] for name in QUATERNION)
    return x, y, z, w


def facing(x: Any, y: Any, z: Any, w: Any) -> tuple[Numbers, Numbers]:
    """Cosine and sine of the heading that a quaternion tells: the angle from the world's x axis to where the sensor looks,
    about the vertical and positive to the left. Of one that looks straight up or down, 1 and 0."""
    sine, cosine = 2.0 * (w * y - x * z), 1.0 - 2.0 * (y * y + z * z)
    length = distance(cosine, sine)
    safe = np.where(length > 0.0, length, 1.0)
    return np.where(length > 0.0, cosine / safe, 1.0), np.asarray(sine / safe)


def heading(reading: Reading) -> float | None:
    """The heading in rad of a sensor that tells its orientation; None of one that does not."""
    quaternion = orientation(reading)
    return None if quaternion is None else heading_of(*quaternion)


def heading_of(x: float, y: float, z: float, w: float) -> float:
    """The heading in rad that a quaternion tells."""
    return math.atan2(2 * (w * y - x * z), 1 - 2 * (y * y + z * z))


def way_ahead(dx: Any, dz: Any, cosine: Any, sine: Any) -> tuple[Numbers, Numbers]:
    """A way along x and z in the world as one ahead and to the left."""
    return dx * cosine - dz * sine, -dx * sine - dz * cosine


def distance(dx: Any, dz: Any) -> Numbers:
    """The length of a way, m."""
    return np.asarray(np.sqrt(dx * dx + dz * dz))


def draw_goal(
    generator: np.random.Generator,
    place: tuple[float, float],
    ahead: float,
    goal_distance: tuple[float, float],
    goal_angle: float,
) -> tuple[float, float]:
    """A goal, x and z in m, to where a robot at this place and of this heading looks."""
    far = generator.uniform(*goal_distance)
    angle = generator.uniform(-goal_angle, goal_angle) - ahead
    return place[0] + far * math.cos(angle), place[1] + far * math.sin(angle)
