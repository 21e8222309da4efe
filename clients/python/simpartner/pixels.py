"""Pixels as numpy arrays. Needs the extra `numpy`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[Any]
"""Rows by columns of an image, or by rows, columns and channels."""


def view_pixels(data: bytes, kind: str, shape: tuple[int, ...]) -> Pixels:
    """A view of bytes that cannot be written to, as numbers of this type."""
    return np.frombuffer(data, dtype=kind).reshape(shape)
