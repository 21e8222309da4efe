"""Trains a policy that drives a small robot to a goal, with PPO of stable-baselines3 on the processor, in a few minutes.

    python clients/python/examples/train_drive.py --steps 40000 --seed 0

Needs numpy, gymnasium, stable-baselines3 and the native module. All environments run in this process, on all cores. The
policy sees the way to the goal, ahead of the robot and to its left, and sets the robot's speed and turn rate. The reward is
the decrease in distance to the goal, in m.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

import simpartner
from simpartner.drive import Channel

Floats = npt.NDArray[np.float32]

ENVIRONMENTS = 32
EVALUATED = 100
"""Number of goals that a success rate is measured on."""
EVALUATION_SEED = 1_000_000
"""Seed of the first of these goals. Training has others."""
ROBOT = "robots/differential_drive.xml"
TASK: dict[str, Any] = {
    "sensors": ("Pose",),
    "channels": (Channel(("Drive",), "v_forward", -0.22, 0.22), Channel(("Drive",), "omega", -2.84, 2.84)),
    "frames": {},
    "timestep": 0.005,
    "steps": 40,
    "episode": 15.0,
    "goal_distance": (0.5, 1.5),
    "goal_angle": math.pi,
    "reach": 0.1,
}
"""A decision every 40 steps, which are 0.2 s. Goals are in all directions; the farthest takes 6.8 s at the highest speed."""
SCALE = 1.5
"""Largest distance of a goal, m. The policy's inputs are divided by it."""


def inputs(observations: npt.NDArray[np.float64]) -> Floats:
    """What the policy sees of the observations, which end with the way ahead, the way to the left, and the heading."""
    return np.asarray(observations[:, -4:-2] / SCALE, np.float32)


class Adapter(VecEnv):
    """The vectorised environment, with the calls that stable-baselines3 expects."""

    def __init__(self, count: int, seed: int) -> None:
        self.envs = simpartner.make_vec(ROBOT, count, autoreset_mode="SameStep", **TASK)
        self.first_seed: int | None = seed
        self.actions: Floats = np.zeros((count, 2), np.float32)
        super().__init__(count, spaces.Box(-np.inf, np.inf, (2,), np.float32), self.envs.single_action_space)

    def reset(self) -> Floats:
        """Starts all episodes. The seed holds for the first time."""
        observations, _ = self.envs.reset(seed=self.first_seed)
        self.first_seed = None
        return inputs(observations)

    def step_async(self, actions: Floats) -> None:
        """Keeps the actions for `step_wait`."""
        self.actions = actions

    def step_wait(self) -> tuple[Floats, Floats, npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Steps all environments. Those that have ended show the start of their next episode."""
        observations, rewards, terminated, truncated, told = self.envs.step(self.actions)
        ended = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(ended):
            last = inputs(told["final_obs"][index][np.newaxis])[0]
            infos[index] = {"terminal_observation": last, "TimeLimit.truncated": bool(truncated[index])}
        return inputs(observations), rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        """Ends the environments."""
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the environments, once for each."""
        return [getattr(self.envs, attr_name)] * len(self._places(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets the attribute of all environments."""
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **named: Any) -> list[Any]:
        """Refuses, because the environments are no objects of their own."""
        raise NotImplementedError(f"environments of one process have no method '{method_name}' of their own")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """No environment is wrapped."""
        return [False] * len(self._places(indices))

    def _places(self, indices: Any) -> Sequence[int]:
        return list(self._get_indices(indices))


def success_rate(policy: PPO, count: int = EVALUATED) -> float:
    """The share of goals that the policy reaches without exploration. The goals are the same in each call."""
    envs = simpartner.make_vec(ROBOT, count, **TASK)
    observations, _ = envs.reset(seed=EVALUATION_SEED)
    open_episodes, reached = np.ones(count, np.bool_), np.zeros(count, np.bool_)
    while open_episodes.any():
        actions, _ = policy.predict(inputs(observations), deterministic=True)
        observations, _, terminated, truncated, _ = envs.step(actions)
        reached |= open_episodes & terminated
        open_episodes &= ~(terminated | truncated)
    return float(reached.mean())


def train(steps: int, seed: int) -> tuple[PPO, float, float]:
    """Returns the policy, and its success rates before and after the training."""
    torch.set_num_threads(1)  # The network is small; more threads cost more than they gain.
    envs = Adapter(ENVIRONMENTS, seed)
    policy = PPO(
        "MlpPolicy",
        envs,
        seed=seed,
        device="cpu",
        n_steps=64,  # 12.8 s of each environment in an update.
        batch_size=256,
        n_epochs=10,
        learning_rate=1e-3,
        gamma=0.97,  # A horizon of some 30 decisions, which is 6 s.
        policy_kwargs={"net_arch": [32, 32]},
    )
    before = success_rate(policy)
    print(f"before       {before:4.0%} of {EVALUATED} goals reached", flush=True)
    began = time.monotonic()
    policy.learn(steps)
    print(f"training     {policy.num_timesteps} environment steps in {time.monotonic() - began:.0f} s", flush=True)
    after = success_rate(policy)
    print(f"after        {after:4.0%} of {EVALUATED} goals reached", flush=True)
    envs.close()
    return policy, before, after


def main() -> None:
    """Arguments in, a policy and its success rates out."""
    arguments = argparse.ArgumentParser(description="trains a policy that drives to a goal")
    arguments.add_argument("--steps", type=int, default=40_000, help="environment steps, of 0.2 s each [default: 40000]")
    arguments.add_argument("--seed", type=int, default=0, help="of the training; the goals of the success rate have others")
    arguments.add_argument("--output", default="drive_policy.zip", help="file for the policy [default: drive_policy.zip]")
    chosen = arguments.parse_args()
    policy, _, _ = train(chosen.steps, chosen.seed)
    policy.save(chosen.output)
    print(f"policy       {chosen.output}")


if __name__ == "__main__":
    main()
