"""Readings as numpy arrays. Needs the extra `numpy`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from .device import Device
from .reading import Reading


def stack(readings: Iterable[Reading]) -> npt.NDArray[np.void]:
    """Readings of one device as a structured array with the columns step, time, dropped and the device's fields:
    `stack(readings)["x"]`. A field that has the name of one of the first three gets an underscore behind it."""
    rows = list(readings)
    fields = rows[0].values._fields if rows else ()
    names = [f"{name}_" if name in ("step", "time", "dropped") else name for name in fields]
    columns = [("step", np.int64), ("time", np.float64), ("dropped", np.int64), *((name, np.float64) for name in names)]
    return np.array([(row.step, row.time, row.dropped, *row.values) for row in rows], dtype=columns)


def matrix(readings: Iterable[Reading]) -> npt.NDArray[np.float64]:
    """The values alone, a row for each reading."""
    return np.array([row.values for row in readings], dtype=np.float64)


def record(device: Device, count: int, every: int = 1, timeout: float | None = None) -> npt.NDArray[np.void]:
    """So many samples of a subscription that drops none, as `stack` gives them. The clock has to run meanwhile."""
    readings = []
    with device.subscribe(every, timeout, lossless=True) as stream:
        for reading in stream:
            readings.append(reading)
            if len(readings) >= count:
                break
    return stack(readings)
