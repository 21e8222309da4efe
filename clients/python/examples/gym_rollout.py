"""A rollout in the Gymnasium environment: a controller of four lines against one that acts at random, over the same goals.

Needs the extra `gym`: gymnasium and numpy.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from simpartner.gym import Action, DriveEnv, Observation

Policy = Callable[[Observation, Observation], Action]


def steer_to_goal(former: Observation, now: Observation) -> Action:
    """Bends the robot towards the goal. Its heading is the way it has come since the last look."""
    heading = math.atan2(now[2] - former[2], now[0] - former[0]) if np.hypot(*(now - former)[[0, 2]]) > 1e-3 else 0.0
    off = math.remainder(math.atan2(now[4], now[3]) - heading, math.tau)
    # A positive bend is to the left, which is away from z.
    return np.array([1.0, np.clip(-2.0 * off, -1.0, 1.0)], dtype=np.float32)


def at_random(seed: int) -> Policy:
    """A policy that looks at nothing."""
    generator = np.random.default_rng(seed)

    def draw(_former: Observation, _now: Observation) -> Action:
        return generator.uniform(-1.0, 1.0, 2).astype(np.float32)

    return draw


def rollout(env: DriveEnv, policy: Policy, seed: int) -> tuple[float, int, bool, Observation]:
    """One episode; returns the sum of rewards, the number of steps, whether it came to the goal, and the last observation."""
    observation, _ = env.reset(seed=seed)
    former, total, count = observation, 0.0, 0
    while True:
        action = policy(former, observation)
        former = observation
        observation, reward, terminated, truncated, _ = env.step(action)
        total, count = total + reward, count + 1
        if terminated or truncated:
            return total, count, terminated, observation


def main() -> None:
    """Arguments in, figures out."""
    arguments = argparse.ArgumentParser(description="rolls out two policies")
    arguments.add_argument("--episodes", type=int, default=3)
    arguments.add_argument("--world", default="worlds/flat.xml", help="a world with WorkPartner")
    chosen = arguments.parse_args()
    env = DriveEnv(chosen.world, mode="fast")
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
