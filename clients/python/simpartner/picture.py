"""A scene seen from above, as an array of pixels. Needs the extra `numpy`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

SIZE = 400
"""Pixels along each side."""

_GROUND, _LINE, _TRAIL, _GOAL, _ROBOT, _NOSE = (
    (238, 241, 245),
    (214, 220, 228),
    (147, 160, 175),
    (21, 128, 61),
    (79, 127, 184),
    (24, 33, 44),
)
_LENGTH, _WIDTH = 1.3, 0.8
"""Of the robot's mark, metres: about WorkPartner's."""


def draw(
    trail: Sequence[tuple[float, float]], heading: float | None, goal: tuple[float, float], reach: float
) -> npt.NDArray[np.uint8]:
    """The way of a robot so far, x and z in metres, and where it is to go; x is to the right and z downwards, so that left of
    the robot is left in the picture. `heading` is the angle from the x axis to where it looks, positive to the left; a robot
    whose heading is not known is a disc."""
    places = np.array([*trail, goal], dtype=np.float64)
    low, high = places.min(axis=0) - 1.5, places.max(axis=0) + 1.5
    middle, span = (low + high) / 2, max(float((high - low).max()), 6.0)
    steps = (np.arange(SIZE) + 0.5) / SIZE * span - span / 2
    x, z = np.meshgrid(middle[0] + steps, middle[1] + steps)
    picture = np.empty((SIZE, SIZE, 3), dtype=np.uint8)
    picture[:] = _GROUND
    pixel = span / SIZE
    # A line each metre, or each ten where those would lie too close.
    apart = 1.0 if span < 40 else 10.0 ** math.ceil(math.log10(span / 40))
    picture[(np.abs(x - np.round(x / apart) * apart) < pixel / 2) | (np.abs(z - np.round(z / apart) * apart) < pixel / 2)] = _LINE
    off = np.hypot(x - goal[0], z - goal[1])
    picture[off <= reach] = np.add(_GROUND, _GOAL) // 2
    picture[np.abs(off - reach) <= pixel] = _GOAL
    picture[off <= 2 * pixel] = _GOAL
    for (x0, z0), (x1, z1) in itertools.pairwise(trail):
        count = 2 + int(math.hypot(x1 - x0, z1 - z0) / pixel)
        columns = ((np.linspace(x0, x1, count) - middle[0] + span / 2) / pixel).astype(int)
        rows = ((np.linspace(z0, z1, count) - middle[1] + span / 2) / pixel).astype(int)
        picture[rows.clip(0, SIZE - 1), columns.clip(0, SIZE - 1)] = _TRAIL
    dx, dz = x - trail[-1][0], z - trail[-1][1]
    if heading is None:
        picture[np.hypot(dx, dz) <= _WIDTH / 2] = _ROBOT
        return picture
    ahead = dx * math.cos(heading) - dz * math.sin(heading)
    left = -dx * math.sin(heading) - dz * math.cos(heading)
    picture[(np.abs(ahead) <= _LENGTH / 2) & (np.abs(left) <= _WIDTH / 2)] = _ROBOT
    picture[(ahead <= _LENGTH / 2) & (ahead >= _LENGTH / 2 - 0.2) & (np.abs(left) <= _WIDTH / 2)] = _NOSE
    return picture
