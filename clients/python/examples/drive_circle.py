"""Drives WorkPartner in a circle and measures its radius.

The middle joint is bent by 0.2 rad, so both chassis stand on a circle round the point where the lines of their axles meet: an
axle is 0.6 m from the joint, so its middle goes at 0.6 m / tan(0.1). The position sensor sits 0.25 m behind the front axle.
"""

from __future__ import annotations

import argparse
import math

import simpartner

BEND = 0.2  # rad
AXLE_TO_JOINT = 0.6  # m
TRACK = 0.6  # m from wheel to wheel
SENSOR_TO_AXLE = 0.25  # m
RADIUS = AXLE_TO_JOINT / math.tan(BEND / 2)
INNER, OUTER = ("WheelMotor2", "WheelMotor3"), ("WheelMotor1", "WheelMotor4")


def drive(sim: simpartner.Simulation, seconds: float) -> list[tuple[float, float]]:
    """Drives the circle and returns the path, x and z, m."""
    sim["TurnerController"].command(1000, 1000, 1000, 0, 0, BEND, 5, 0, 0)
    sim.step(3000)  # The joint takes its time.
    middle = 1.6  # rad/s
    # Bending to the left takes the wheels with odd sides outward. Each goes as fast as its circle is long.
    for names, radius in ((INNER, RADIUS - TRACK / 2), (OUTER, RADIUS + TRACK / 2)):
        for name in names:
            sim[name].command(1000, 1000, 100, 0, 0, middle * radius / RADIUS)
    path = []
    position = sim["Position"]
    for _ in range(round(seconds / 0.5)):
        sim.step(500)
        reading = position.read()
        path.append((reading["x"], reading["z"]))
    for name in INNER + OUTER:
        sim[name].command(velocity_3=0)
    sim.step(1000)
    return path


def fit_circle(path: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Centre and radius of the circle that fits best: least squares of x^2 + z^2 = a x + b z + c (Kasa 1976), about the
    path's mean."""
    count = len(path)
    mean_x, mean_z = (sum(point[axis] for point in path) / count for axis in (0, 1))
    points = [(x - mean_x, z - mean_z) for x, z in path]
    xx, zz, xz = (sum(a[i] * a[j] for a in points) for i, j in ((0, 0), (1, 1), (0, 1)))
    x_rr, z_rr = (sum(point[axis] * (point[0] ** 2 + point[1] ** 2) for point in points) for axis in (0, 1))
    determinant = 2 * (xx * zz - xz * xz)
    x, z = (x_rr * zz - z_rr * xz) / determinant, (z_rr * xx - x_rr * xz) / determinant
    return mean_x + x, mean_z + z, math.sqrt(x * x + z * z + (xx + zz) / count)


def main() -> None:
    """Arguments in, figures out."""
    arguments = argparse.ArgumentParser(description="drives WorkPartner in a circle")
    arguments.add_argument("--seconds", type=float, default=100, help="simulated time; 100 s is about once round")
    arguments.add_argument("--world", default="worlds/flat.xml", help="a world with WorkPartner")
    chosen = arguments.parse_args()
    with simpartner.launch(chosen.world, mode="fast", free_ports=True) as sim:
        path = drive(sim, chosen.seconds)
        x, z, radius = fit_circle(path)
        print(f"points   {len(path)}")
        print(f"centre   x {x:.3f} m, z {z:.3f} m")
        print(f"radius   {radius:.4f} m, expected {math.hypot(RADIUS, SENSOR_TO_AXLE):.4f} m")
        spread = max(abs(math.hypot(px - x, pz - z) - radius) for px, pz in path)
        print(f"off it   at most {spread * 1e6:.2f} um")
        print(f"time     {sim.state.time:g} s simulated")


if __name__ == "__main__":
    main()
