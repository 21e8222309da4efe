"""What cameras say: their optics and their images. Start at `Image`.

Without numpy an image is bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .errors import WireError, read_refusal
from .wire import Connection, DevicePort, Stream, read_pairs

if TYPE_CHECKING:
    from .pixels import Pixels

ENCODINGS: Final = {"rgb8": ("u1", 3), "mono8": ("u1", 1), "32FC1": ("<f4", 1), "32SC2": ("<i4", 2)}
"""For each encoding, the type of a number as numpy writes it, and how many a pixel has."""

_COEFFICIENTS: Final = {"brownConrady": ("k1", "k2", "p1", "p2", "k3"), "fisheye": ("k1", "k2", "k3", "k4")}
"""Of each lens with a distortion, in the order of OpenCV."""

_MAX_PIXELS: Final = 1 << 25
"""The most pixels that an image may have, as in the server's reader of files: a bound on what a stranger can make us store."""

_MAX_SKIPPED: Final = 1000
"""The most images that are skipped at once for the newest: more than the buffers of both sockets hold."""

Matrix = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True)
class Optics:
    """The geometry of a camera's images. Pixels have whole coordinates at their centres, columns to the right and rows down,
    as in OpenCV. The optical frame has z forward, x right and y down; it is the sensor's frame (z forward, y up, x left)
    turned by half a turn about z."""

    width: int
    height: int
    encodings: tuple[str, ...]
    """Of its images, in their order: `rgb8`, `mono8`, `32FC1` (depth in m), `32SC2` (number and class of the body)."""
    fx: float
    """Focal lengths and principal point, pixels."""
    fy: float
    cx: float
    cy: float
    near: float
    """The range of distances, m; `far` is infinite without a limit."""
    far: float
    lens: str
    """`pinhole`, `brownConrady` or `fisheye`."""
    distortion: tuple[float, ...]
    """The coefficients in the order of OpenCV: k1, k2, p1, p2, k3, or k1 to k4 of a fisheye; none of a pinhole."""

    @property
    def matrix(self) -> Matrix:
        """The camera matrix K, as `cv2.undistort` and `numpy.array` take it."""
        return ((self.fx, 0.0, self.cx), (0.0, self.fy, self.cy), (0.0, 0.0, 1.0))

    @property
    def field_of_view(self) -> float:
        """The horizontal field of view without the distortion, rad."""
        return math.atan((self.cx + 0.5) / self.fx) + math.atan((self.width - 0.5 - self.cx) / self.fx)


@dataclass(frozen=True)
class Plane:
    """The pixels of one encoding, row by row, numbers little-endian."""

    encoding: str
    width: int
    height: int
    data: bytes

    @property
    def pixels(self) -> Pixels:
        """A view of them that cannot be written to: rows by columns of uint8 (mono8) or float32 (32FC1), by 3 of uint8 (rgb8)
        or by 2 of int32 (32SC2). Needs numpy."""
        from .pixels import view_pixels

        kind, channels = ENCODINGS[self.encoding]
        shape = (self.height, self.width) if channels == 1 else (self.height, self.width, channels)
        return view_pixels(self.data, kind, shape)


@dataclass(frozen=True)
class Image:
    """What a camera saw in a step. An RgbdCamera sees two planes, colour and depth, others one.

    `dropped` counts the images of a subscription that were missed just before this one.
    """

    step: int
    time: float
    """Simulated time, seconds."""
    planes: tuple[Plane, ...]
    dropped: int = 0

    @property
    def pixels(self) -> Pixels:
        """The first plane as a numpy array."""
        return self.planes[0].pixels

    @property
    def color(self) -> Pixels:
        """The colours or greys as a numpy array of uint8."""
        return self.plane("rgb8", "mono8").pixels

    @property
    def depth(self) -> Pixels:
        """The distances along the optical axis as a numpy array of float32, m; infinite beyond the range, and minus infinite
        before it."""
        return self.plane("32FC1").pixels

    @property
    def segmentation(self) -> Pixels:
        """The number of the body and its class as a numpy array of int32."""
        return self.plane("32SC2").pixels

    def plane(self, *encodings: str) -> Plane:
        """The plane that has one of these encodings."""
        for plane in self.planes:
            if plane.encoding in encodings:
                return plane
        have = ", ".join(plane.encoding for plane in self.planes)
        raise LookupError(f"no plane of {' or '.join(encodings)}; the camera has {have}")


def read_optics(pairs: Mapping[str, str]) -> Optics:
    """`width=.. height=.. encodings=.. fx=.. fy=.. cx=.. cy=.. near=.. far=.. lens=.. k1=..`"""
    try:
        return Optics(
            width=int(pairs["width"]),
            height=int(pairs["height"]),
            encodings=tuple(pairs["encodings"].split(",")),
            fx=float(pairs["fx"]),
            fy=float(pairs["fy"]),
            cx=float(pairs["cx"]),
            cy=float(pairs["cy"]),
            near=float(pairs["near"]),
            far=float(pairs["far"]),
            lens=pairs["lens"],
            distortion=tuple(float(pairs[name]) for name in _COEFFICIENTS.get(pairs["lens"], ())),
        )
    except (KeyError, ValueError) as error:
        raise WireError(f"expected the optics of a camera, got {dict(pairs)}: {error!r}") from error


@dataclass(frozen=True)
class _Header:
    """`F step time width height encoding bytes dropped=n`"""

    step: int
    time: float
    width: int
    height: int
    encoding: str
    bytes: int
    dropped: int


def _read_header(line: str) -> _Header:
    try:
        mark, step, time, width, height, encoding, size, *rest = line.split(" ")
        dropped = read_pairs(" ".join(rest)).get("dropped", "0")
        header = _Header(int(step), float(time), int(width), int(height), encoding, int(size), int(dropped))
        kind, channels = ENCODINGS[encoding]
        pixels = header.width * header.height
        is_sound = min(header.width, header.height) > 0 and pixels <= _MAX_PIXELS
        if mark != "F" or not is_sound or header.bytes != pixels * channels * int(kind[-1]):
            raise ValueError(mark)
    except (ValueError, KeyError) as error:
        raise WireError(f"expected F, step, time, size, encoding and bytes of an image, got '{line[:200]}'") from error
    return header


class ImageReader:
    """Reads images off a connection. After a timeout it goes on where it was."""

    def __init__(self, planes: int) -> None:
        self._count = planes
        self._header: _Header | None = None
        self._planes: list[Plane] = []

    def read(self, connection: Connection, timeout: float | None, first: str | None = None) -> Image:
        """The next image; a refusal in its place is raised. `first` is its first line, where that has been read."""
        while True:
            if self._header is None:
                line = connection.read_line(timeout) if first is None else first
                first = None
                if (refusal := read_refusal(line, "", connection.who)) is not None:
                    self._planes.clear()
                    raise refusal
                self._header = _read_header(line)
            header = self._header
            data = connection.read_bytes(header.bytes, timeout)
            self._header = None
            self._planes.append(Plane(header.encoding, header.width, header.height, data))
            if len(self._planes) == self._count:
                planes, self._planes = tuple(self._planes), []
                return Image(header.step, header.time, planes, header.dropped)


class ImageStream(Stream[Image]):
    """A stream of images: `for image in camera.images()`.

    A reader that is too slow gets the newest image and finds in `image.dropped` how many it missed, in `dropped` all so far.
    With `lossless` it gets all that the server has sent, in their order. After a reset steps count from 0 again.
    """

    def __init__(self, line: DevicePort, planes: int, every: int, timeout: float | None, lossless: bool) -> None:
        if every < 1:
            raise ValueError(f"expected every image or every n-th, got {every}")
        self.lossless = lossless
        self._reader = ImageReader(planes)
        super().__init__(line, f"SUB {every} raw", timeout)

    def _read(self, connection: Connection) -> tuple[Image, int]:
        image = self._reader.read(connection, self.timeout)
        dropped = image.dropped
        skipped = 0
        # What waits in the buffers of the sockets is older than what the server sends next.
        while not self.lossless and skipped < _MAX_SKIPPED and connection.has_more():
            image = self._reader.read(connection, self.timeout)
            skipped += 1
            dropped += 1 + image.dropped
        return Image(image.step, image.time, image.planes, dropped), dropped
