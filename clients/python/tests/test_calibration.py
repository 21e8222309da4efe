"""Images against OpenCV: a chessboard at 20 poses gives back the lens, and markers are where they stand.

A pixel of a camera is the mean of the light that falls on it, in the bytes of sRGB: half black and half white is 188, not
128. Corners are therefore found in linear light. A perfect lens draws edges that are sharper than a pixel, on which
OpenCV's `cornerSubPix` is off by a tenth of a pixel; blurred as by a real lens it is exact.
"""

from __future__ import annotations

import importlib.util
import math
import random
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from rig import BINARY, needs_server

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

# Without OpenCV, nothing here runs.
cv2: Any = importlib.import_module("cv2") if np and importlib.util.find_spec("cv2") else None

WIDTH, HEIGHT = 640, 480
FX, FY, CX, CY = 620.0, 610.0, 322.5, 236.25
K1, K2, P1, P2 = -0.25, 0.08, 0.001, -0.002
COLUMNS, ROWS, SIDE = 10, 7, 0.05
"""Squares of the board, and their side in metres."""
MARKER_SIDE = 0.2
POSES = 20


def matrix() -> Any:
    return np.array([[FX, 0.0, CX], [0.0, FY, CY], [0.0, 0.0, 1.0]])


def distortion() -> Any:
    return np.array([K1, K2, P1, P2, 0.0])


class Eye:
    """A camera that looks at the plane y = 0."""

    def __init__(self, dice: random.Random) -> None:
        distance, tilt, heading = dice.uniform(0.42, 0.62), dice.uniform(0.0, 0.7), dice.uniform(0.0, math.tau)
        target = np.array([dice.uniform(-0.08, 0.08), 0.0, dice.uniform(-0.05, 0.05)])
        away = np.array([math.sin(tilt) * math.cos(heading), math.cos(tilt), math.sin(tilt) * math.sin(heading)])
        self.place = target + distance * away
        right = np.cross(-away, [0.0, 0.0, -1.0])
        right /= np.linalg.norm(right)
        turn = dice.uniform(-0.5, 0.5)
        sine, cosine = math.sin(turn), math.cos(turn)
        roll = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
        self.world_from_optical = np.column_stack([right, np.cross(-away, right), -away]) @ roll

    def pixels(self, points: Any) -> Any:
        """Where OpenCV's formulas put points of the world."""
        rotation = self.world_from_optical.T
        shift = -rotation @ self.place
        found, _ = cv2.projectPoints(points, cv2.Rodrigues(rotation)[0], shift, matrix(), distortion())
        return found.reshape(-1, 2)

    def sees(self, points: Any) -> bool:
        """True if all points are in the image, with room for the windows around them."""
        found = self.pixels(points)
        return bool((found > 12).all() and (found < [WIDTH - 13, HEIGHT - 13]).all())

    def xml(self, number: int, samples: int) -> str:
        # The sensor's frame is the optical one turned by half a turn about z.
        turned = self.world_from_optical @ np.diag([-1.0, -1.0, 1.0])
        roll, pitch, yaw = (
            math.atan2(turned[2, 1], turned[2, 2]),
            math.asin(-turned[2, 0]),
            math.atan2(turned[1, 0], turned[0, 0]),
        )
        x, y, z = (float(part) for part in self.place)
        return (
            f'<sensor type="Camera" name="Eye{number}" body="Stand" port="0" rate="30" width="{WIDTH}" height="{HEIGHT}"'
            f' samples="{samples}" encoding="mono8">'
            f'<pose x="{x!r}" y="{y!r}" z="{z!r}" roll="{roll!r}" pitch="{pitch!r}" yaw="{yaw!r}"/>'
            f'<lens model="brownConrady" focalX="{FX}" focalY="{FY}" principalX="{CX}" principalY="{CY}"'
            f' k1="{K1}" k2="{K2}" p1="{P1}" p2="{P2}"/></sensor>'
        )


def plate(name: str, color: str, x: float, z: float, width: float, depth: float, top: float = 0.0) -> str:
    """A box whose upper side is at a height."""
    box = f'<box x="{width!r}" y="0.01" z="{depth!r}"/>'
    return (
        f'<object type="Body" name="{name}"><static/><mass>1</mass><pose x="{x!r}" y="{top - 0.005!r}" z="{z!r}"/>'
        f'{box}<visual color="{color}">{box}</visual></object>'
    )


def images(folder: Path, plates: str, eyes: list[Eye], samples: int) -> list[Any]:
    """What cameras see, rendered by the program. The white plate is a micrometre below the black ones."""
    sensors = "".join(eye.xml(number, samples) for number, eye in enumerate(eyes))
    world = folder / "board.xml"
    world.write_text(
        '<world name="board"><gravity y="0"/><illumination sunY="-1" ambient="#ffffff"/>'
        + plate("Paper", "#f0f0f0", 0.0, 0.0, 0.8, 0.6, -1e-6)
        + plates
        + f'<robot name="Rig"><body name="Stand"><static/><mass>1</mass></body>{sensors}</robot></world>'
    )
    taken = []
    for number in range(len(eyes)):
        path = folder / f"{number}.png"
        command = [str(BINARY), "render", str(world), "--camera", f"Eye{number}", "-o", str(path)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise AssertionError(made.stderr)
        taken.append(cv2.imread(str(path), cv2.IMREAD_GRAYSCALE))
    return taken


def linear_blurred(image: Any) -> Any:
    """The light of an sRGB image through a lens that blurs by a pixel and a half."""
    levels = np.arange(256) / 255.0
    light = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    return cv2.GaussianBlur(light.astype(np.float32)[image], (0, 0), 1.5)


def refined(image: Any, corners: Any) -> Any:
    stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 100, 1e-5)
    start = corners.astype(np.float32).reshape(-1, 1, 2)
    return cv2.cornerSubPix(linear_blurred(image), start, (11, 11), (-1, -1), stop).reshape(-1, 2)


@needs_server
@unittest.skipUnless(cv2, "it needs opencv-python-headless and numpy")
class Calibration(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_chessboard_at_20_poses_gives_back_the_lens(self) -> None:
        corner = [
            [(c - COLUMNS / 2) * SIDE, 0.0, (r - ROWS / 2) * SIDE] for r in range(1, ROWS) for c in range(1, COLUMNS)
        ]
        corners = np.array(corner)
        dice, eyes = random.Random(20), list[Eye]()
        while len(eyes) < POSES:
            eye = Eye(dice)
            if eye.sees(corners):
                eyes.append(eye)
        middle = lambda place, count: (place + 0.5 - count / 2) * SIDE  # noqa: E731 (two uses in one expression)
        black = [(c, r) for c in range(COLUMNS) for r in range(ROWS) if (c + r) % 2 == 0]
        squares = (plate(f"S{c}_{r}", "#101010", middle(c, COLUMNS), middle(r, ROWS), SIDE, SIDE) for c, r in black)
        seen, worst = [], 0.0
        for image, eye in zip(images(self.folder, "".join(squares), eyes, 8), eyes, strict=True):
            self.assertTrue(cv2.findChessboardCorners(image, (COLUMNS - 1, ROWS - 1))[0], "OpenCV finds the board")
            expected = eye.pixels(corners)
            found = refined(image, expected)
            worst = max(worst, float(np.linalg.norm(found - expected, axis=1).max()))
            seen.append(found)
        # 8-bit levels and 64 samples a pixel move an edge by less than a hundredth of a pixel each.
        self.assertLess(worst, 0.05, "pixels between a corner and the formulas")
        flat = [corners[:, [0, 2, 1]].astype(np.float32)] * POSES
        views = [found.reshape(-1, 1, 2).astype(np.float32) for found in seen]
        flags = cv2.CALIB_FIX_K3
        _, lens, bent, _, _ = cv2.calibrateCamera(flat, views, (WIDTH, HEIGHT), None, None, flags=flags)
        found_lens = {"fx": lens[0, 0], "fy": lens[1, 1], "cx": lens[0, 2], "cy": lens[1, 2]}
        for (name, value), given in zip(found_lens.items(), (FX, FY, CX, CY), strict=True):
            self.assertLess(abs(value / given - 1), 1e-3, f"{name} is {value}, and {given} in the world")
        k1, k2, p1, p2 = bent.ravel()[:4]
        # k1 r² and k2 r⁴ at the radius of the outermost corners, 0.5, within a thousandth of the radius.
        self.assertLess(max(abs(k1 - K1) * 0.25, abs(k2 - K2) * 0.0625, abs(p1 - P1), abs(p2 - P2)), 1e-3, f"{bent}")

    def test_markers_are_seen_where_they_stand(self) -> None:
        markers = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
        cells = cv2.aruco.generateImageMarker(markers, 7, 6, borderBits=1)
        side = MARKER_SIDE / 6
        # Rows of the marker run along z, so that it is upright for a camera whose image has +x to the right.
        dark = [(r, c) for r in range(6) for c in range(6) if cells[r, c] == 0]
        black = (plate(f"M{r}_{c}", "#101010", (c - 2.5) * side, (r - 2.5) * side, side, side) for r, c in dark)
        half = MARKER_SIDE / 2
        outline = np.array([[-half, 0.0, -half], [half, 0.0, -half], [half, 0.0, half], [-half, 0.0, half]])
        dice, eyes = random.Random(7), list[Eye]()
        while len(eyes) < 5:
            eye = Eye(dice)
            if eye.sees(outline):
                eyes.append(eye)
        settings = cv2.aruco.DetectorParameters()
        settings.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
        detector = cv2.aruco.ArucoDetector(markers, settings)
        for image, eye in zip(images(self.folder, "".join(black), eyes, 3), eyes, strict=True):
            corners, numbers, _ = detector.detectMarkers(image)
            self.assertEqual([int(number) for number in np.ravel(numbers)], [7])
            expected = eye.pixels(outline)
            self.assertLess(np.linalg.norm(corners[0].reshape(-1, 2) - expected, axis=1).max(), 1.0)
            # The pose that OpenCV derives puts the middle of the marker and a point above it where they are.
            _, turn, shift = cv2.solvePnP(outline, corners[0].reshape(-1, 1, 2), matrix(), distortion())
            points = np.array([[0.0, 0.0, 0.0], [0.0, 0.05, 0.0]])
            drawn, _ = cv2.projectPoints(points, turn, shift, matrix(), distortion())
            self.assertLess(np.linalg.norm(drawn.reshape(-1, 2) - eye.pixels(points), axis=1).max(), 1.0)


if __name__ == "__main__":
    unittest.main()
