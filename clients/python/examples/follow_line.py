"""WorkPartner follows a yellow line on the ground by the images of its camera.

Of each image it takes the yellow pixels, by OpenCV where that is installed and else by numpy, and bends its middle joint towards
the line about a metre before it. In lockstep the clock waits for every image, so that each run has the same path. With
`--realtime` the clock waits for nobody, and a program that is too slow sees the newest image and steers by that.

Needs the extra `numpy`.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import simpartner

# Typed as anything, since it need not be there.
cv2: Any = importlib.import_module("cv2") if importlib.util.find_spec("cv2") else None

WHEELS = ("WheelMotor1", "WheelMotor2", "WheelMotor3", "WheelMotor4")
SPEED = 2.0
"""Of the wheels, rad/s: 0.47 m/s."""
BEND = 0.45
"""The most that the middle joint is bent, rad: a circle of about 2.6 m."""
LOOK_STEPS = 10
"""The clock waits in every so many steps of 1 ms, of which the camera has 50 from one image to the next."""
LEAST_PIXELS = 12
"""Fewer yellow pixels than this are no line."""


def find_line(color: npt.NDArray[np.uint8]) -> float | None:
    """The mean column of the yellow pixels in the middle third of the rows; None if there are too few."""
    height = color.shape[0]
    band = color[height // 3 : 2 * height // 3]
    if cv2 is not None:
        # Yellow has much red and green and little blue, whatever the light.
        mask = cv2.inRange(band, np.array((120, 90, 0)), np.array((255, 255, 80)))
        moments = cv2.moments(mask, binaryImage=True)
        return None if moments["m00"] < LEAST_PIXELS else float(moments["m10"] / moments["m00"])
    yellow = (band[:, :, 0] >= 120) & (band[:, :, 1] >= 90) & (band[:, :, 2] <= 80)
    columns = np.nonzero(yellow)[1]
    return None if len(columns) < LEAST_PIXELS else float(columns.mean())


def steer(image: simpartner.Image, optics: simpartner.Optics) -> float | None:
    """The angle of the middle joint that leads to the line, rad, positive to the left; None without a line."""
    column = find_line(image.color)
    if column is None:
        return None
    bearing = math.atan2(optics.cx - column, optics.fx)
    # The front chassis turns by half of the bend, and the line is met a metre before the camera.
    return min(max(1.4 * bearing, -BEND), BEND)


def in_lockstep(sim: simpartner.Simulation, seconds: float) -> Iterator[tuple[float, float]]:
    """Steers by every image; the clock waits. Yields x and z, m."""
    camera, seen = sim["Eye"], -1.0
    optics = camera.optics
    with sim.lockstep(["WorkPartner"], timeout=60, every=LOOK_STEPS) as steps:
        for turn in steps:
            if turn.time >= seconds:
                return
            # The camera's reading is the step of its newest image.
            if (newest := turn["Eye"]["frame_step"]) != seen:
                seen = newest
                angle = steer(camera.image(), optics)
                if angle is None:
                    return
                turn.command("TurnerController", angle_3=angle)
            yield turn["Pose"]["x"], turn["Pose"]["z"]


def in_real_time(sim: simpartner.Simulation, seconds: float) -> Iterator[tuple[float, float]]:
    """Steers by the newest image; the clock waits for nobody. Yields x and z, m."""
    camera, pose, turner = sim["Eye"], sim["Pose"], sim["TurnerController"]
    optics = camera.optics
    with camera.images(timeout=30) as stream:
        sim.mode("realtime")
        sim.play()
        for image in stream:
            angle = steer(image, optics)
            if angle is None or image.time >= seconds:
                return
            turner.command(angle_3=angle)
            place = pose.present()
            yield place.x, place.z
        print(f"{stream.dropped} images were too many")


def course() -> npt.NDArray[np.float64]:
    """Points of the line of `worlds/line.xml`, x and z in m, 2 cm apart."""
    turns: list[tuple[float, float]] = [(2.5, 0.0), (2 * math.pi, 0.25), (2 * math.pi, -0.25), (3.0, 0.0)]
    x, z, heading, points = -0.5, 0.0, 0.0, []
    for length, curvature in turns:
        count = round(length / 0.02)
        for _ in range(count):
            points.append((x, z))
            heading += curvature * length / count
            x, z = x + length / count * math.cos(heading), z - length / count * math.sin(heading)
    return np.array(points)


def distances(path: list[tuple[float, float]]) -> list[float]:
    """How far each place is from the line, m."""
    line = course()
    return [float(np.hypot(*(line - place).T).min()) for place in path]


def start(sim: simpartner.Simulation) -> None:
    """Sets forces and gains, and lets the wheels turn."""
    sim["TurnerController"].command(1000, 1000, 1000, 0, 0, 0, 5, 0, 0)
    for wheel in WHEELS:
        sim[wheel].command(1000, 1000, 100, 0, 0, SPEED)


def main() -> None:
    """Arguments in, figures out."""
    arguments = argparse.ArgumentParser(description="follows a yellow line by a camera")
    arguments.add_argument("--world", default="worlds/line.xml", help="a world with a line and WorkPartner with a camera")
    arguments.add_argument("--seconds", type=float, default=60, help="simulated time, at most; it stops at the line's end")
    arguments.add_argument("--realtime", action="store_true", help="let the clock run without waiting for this program")
    chosen = arguments.parse_args()
    options: dict[str, Any] = {} if chosen.realtime else {"mode": "fast"}
    with simpartner.launch(chosen.world, free_ports=True, **options) as sim:
        start(sim)
        path = list((in_real_time if chosen.realtime else in_lockstep)(sim, chosen.seconds))
    away = distances(path)
    length = sum(math.dist(one, two) for one, two in itertools.pairwise(path))
    print(f"way      {length:.3f} m, to x {path[-1][0]:.3f} m, z {path[-1][1]:.3f} m")
    print(f"off it   {1000 * statistics.fmean(away):.1f} mm in the mean, {1000 * max(away):.1f} mm at most")
    print(f"by       {'numpy' if cv2 is None else 'OpenCV ' + cv2.__version__}")


if __name__ == "__main__":
    main()
