"""A position controller for the quadcopter of worlds/air.xml, inside this program: it climbs to 2 m and flies a square of
4 m in wind and gusts.

    python clients/python/examples/hover.py

Needs numpy and the native module. The controller is a cascade: position gives a wanted acceleration, that a wanted attitude
and thrust, and the attitude gives torques, which the four propellers share.
"""

from typing import Any, TypeAlias

import numpy as np

import simpartner

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

MASS, GRAVITY = 1.5, 9.81
THRUST, TORQUE = 8.55e-6, 1.37e-7
ARM = 0.177
PROPELLERS = ["FrontLeft", "FrontRight", "RearLeft", "RearRight"]
#: Thrust of each propeller by total thrust and the torques about x (roll), y (turn) and z (pitch).
MIX = np.linalg.inv(
    np.array(
        [
            [1, 1, 1, 1],
            [ARM, -ARM, ARM, -ARM],
            [TORQUE / THRUST, -TORQUE / THRUST, -TORQUE / THRUST, TORQUE / THRUST],
            [ARM, ARM, -ARM, -ARM],
        ]
    )
)


def rotation(quaternion: Floats) -> Floats:
    """Matrix of a unit quaternion x, y, z, w."""
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def rates(pose: Floats, velocity: Floats, spin: Floats, target: Floats) -> Floats:
    """Rates of the four propellers, rad/s. `spin` is in the axes of the body, everything else in those of the world."""
    turn = rotation(pose[3:])
    pull = 2.0 * (target - pose[:3]) - 2.2 * velocity
    pull = np.clip(pull, -3.0, 3.0) + np.array([0.0, GRAVITY, 0.0])
    up = turn[:, 1]
    thrust = MASS * max(pull @ up, 0.2 * GRAVITY)
    wanted = pull / np.linalg.norm(pull)
    # The turn from the present up to the wanted one, and the heading to x, in the axes of the body.
    error = turn.T @ np.cross(up, wanted)
    error[1] = -np.arctan2(-turn[2, 0], turn[0, 0])
    torques = np.array([0.014, 0.025, 0.014]) * (
        np.array([120.0, 8.0, 120.0]) * error - np.array([20.0, 5.0, 20.0]) * spin
    )
    forces = MIX @ [thrust, torques[0], torques[1], torques[2]]
    return np.asarray(np.sqrt(np.clip(forces, 0.0, None) / THRUST))


def main() -> float:
    """Flies the square, prints the distance from each corner, and returns the largest, m."""
    sim = simpartner.load("worlds/air.xml", seed=3, sensors=["Pose", "Imu", "Velocity"], actuators=PROPELLERS)
    corners = [(0, 2, 0), (4, 2, 0), (4, 2, -4), (0, 2, -4), (0, 2, 0)]
    worst = 0.0
    for corner in corners:
        for _ in range(1500):
            pose, imu, velocity = np.split(sim.readings(), [7, 17])
            sim.command(rates(pose, velocity[:3], imu[4:7], np.array(corner, dtype=float)))
            sim.step(4)
        distance = float(np.linalg.norm(pose[:3] - corner))
        worst = max(worst, distance)
        print(f"at {corner}: {distance:.2f} m away")
    return worst


if __name__ == "__main__":
    main()
