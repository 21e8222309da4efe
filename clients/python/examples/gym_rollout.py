"""A rollout in the Gymnasium environment: a controller of four lines against one that acts at random, over the same goals.

Needs the extra `gym`: gymnasium and numpy.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from simpartner.gym import Action, DriveEnv, Observation

Policy = Callable[[Observation], Action]


def steer_to_goal(now: Observation) -> Action:
    """Bends the robot towards the goal, which the last four numbers but two tell ahead of it and to its left."""
    ahead, left = now[-4:-2]
    return np.array([1.0, np.clip(2.0 * math.atan2(left, ahead), -1.0, 1.0)], dtype=np.float32)


def at_random(seed: int) -> Policy:
    """A policy that looks at nothing."""
    generator = np.random.default_rng(seed)

    def draw(_now: Observation) -> Action:
        return generator.uniform(-1.0, 1.0, 2).astype(np.float32)

    return draw


def rollout(env: DriveEnv, policy: Policy, seed: int) -> tuple[float, int, bool, Observation]:
    """One episode; returns the sum of rewards, the number of steps, whether it came to the goal, and the last observation."""
    observation, _ = env.reset(seed=seed)
    total, count = 0.0, 0
    while True:
        observation, reward, terminated, truncated, _ = env.step(policy(observation))
        total, count = total + reward, count + 1
        if terminated or truncated:
            return total, count, terminated, observation


def main() -> None:
    """Arguments in, figures out."""
    arguments = argparse.ArgumentParser(description="rolls out two policies")
    arguments.add_argument("--episodes", type=int, default=3)
    arguments.add_argument("--world", default="worlds/navigation.xml", help="a world whose WorkPartner has Pose and Velocity")
    chosen = arguments.parse_args()
    env = DriveEnv(chosen.world)
    try:
        for name in ("steering", "random"):
            for seed in range(chosen.episodes):
                policy = steer_to_goal if name == "steering" else at_random(seed)
                total, count, arrived, last = rollout(env, policy, seed)
                end = "at the goal" if arrived else "out of time"
                print(f"{name:8} seed {seed}: {count:3} steps, reward {total:7.4f} m, {end}, x {float(last[0])!r}")
    finally:
        env.close()


if __name__ == "__main__":
    main()
