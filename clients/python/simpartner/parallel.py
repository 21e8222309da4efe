"""Several robots in one world, each an agent of its own. Needs the extra `gym`, PettingZoo and the native module.

Start at `DriveParallelEnv`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from .device import Device
from .drive import (
    QUATERNION,
    WORKPARTNER_CHANNELS,
    WORKPARTNER_FRAMES,
    Channel,
    distance,
    draw_goal,
    facing,
    heading_of,
    way_ahead,
)
from .embedded import Simulation
from .reading import identifier

Floats = npt.NDArray[np.float64]


class DriveParallelEnv(ParallelEnv[str, Floats, npt.NDArray[np.float32]]):
    """Robots of one world that are to drive to goals of their own, as a parallel environment of PettingZoo.

    The agents are the robots, which share a world and may be in each other's way. Observation, action, reward and the end at
    the goal of each are those of `simpartner.gym.DriveEnv`; an agent that is at its goal leaves, and its robot keeps its last
    command. All are truncated after `episode` seconds of simulated time.

    `robots` are the names of the agents, all robots of the world unless given. `options` are those of `simpartner.load`. A seed
    and the actions after it determine every observation and reward.
    """

    def __init__(
        self,
        world: str | os.PathLike[str],
        *,
        robots: Sequence[str] | None = None,
        sensors: Sequence[str] = ("Pose", "Velocity"),
        channels: Sequence[Channel] = WORKPARTNER_CHANNELS,
        frames: Mapping[str, Sequence[float]] = WORKPARTNER_FRAMES,
        steps: int = 100,
        episode: float = 30.0,
        goal_distance: tuple[float, float] = (2.0, 5.0),
        goal_angle: float = math.pi / 4,
        reach: float = 0.5,
        **options: Any,
    ) -> None:
        self.metadata = {"name": "simpartner_drive_v0", "render_modes": []}
        self.render_mode = None
        self.steps, self.episode, self.reach = steps, episode, reach
        self.goal_distance, self.goal_angle = goal_distance, goal_angle
        self.simulation = Simulation(world, **options)
        self.possible_agents = list(self.simulation.robots) if robots is None else list(robots)
        self.agents: list[str] = []
        self.goals: dict[str, tuple[float, float]] = {}
        """Where the robots are to go, x and z in the world, m."""
        self._channels, self._start = list(channels), dict(frames)
        self._ways: dict[str, float] = {}
        self._generator: np.random.Generator | None = None
        self._sensors = {agent: [self._device(agent, name) for name in sensors] for agent in self.possible_agents}
        self.simulation.select([sensor.full_name for own in self._sensors.values() for sensor in own])
        self._readings = np.empty(len(self.simulation.reading_fields))
        self._places = self._find_places()
        self._targets = {agent: self._find_targets(agent) for agent in self.possible_agents}
        self._frames: dict[Device, list[float]] = {}
        self.observation_spaces, self.action_spaces = {}, {}
        for agent in self.possible_agents:
            width = len(range(len(self._readings))[self._places[agent]]) + len(self._see(agent, (0.0, 0.0)))
            self.observation_spaces[agent] = spaces.Box(-np.inf, np.inf, (width,), np.float64)
            self.action_spaces[agent] = spaces.Box(-1.0, 1.0, (len(self._channels),), np.float32)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Floats], dict[str, dict[str, Any]]]:
        """Builds the world anew and draws a goal for each robot."""
        if seed is not None or self._generator is None:
            self._generator, _ = seeding.np_random(seed)
        self.simulation.native.reset()
        self.simulation.readings(self._readings)
        self.agents = list(self.possible_agents)
        self._frames = {}
        for agent in self.agents:
            for name, frame in self._start.items():
                self._frames[self._device(agent, name)] = list(frame)
            for device, _, _ in self._targets[agent]:
                self._frames.setdefault(device, list(device.present()))
            x, z, ahead = self._pose(agent)
            self.goals[agent] = draw_goal(self._generator, (x, z), ahead, self.goal_distance, self.goal_angle)
            self._ways[agent] = self._way(agent)
        for device, values in self._frames.items():
            device.command(*values)
        return {agent: self._observe(agent) for agent in self.agents}, self._tell(self.agents)

    def step(
        self, actions: dict[str, npt.NDArray[np.float32]]
    ) -> tuple[
        dict[str, Floats], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Commands the robots of all agents, makes `steps` steps and looks at their sensors."""
        for agent in self.agents:
            self._command(agent, actions[agent])
        self.simulation.advance(self.steps, None, self._readings)
        is_over = self.simulation.native.time >= self.episode
        agents, rewards, terminated = self.agents, {}, {}
        for agent in agents:
            former, self._ways[agent] = self._ways[agent], self._way(agent)
            rewards[agent] = former - self._ways[agent]
            terminated[agent] = self._ways[agent] <= self.reach
        observations = {agent: self._observe(agent) for agent in agents}
        self.agents = [agent for agent in agents if not (terminated[agent] or is_over)]
        return observations, rewards, terminated, dict.fromkeys(agents, is_over), self._tell(agents)

    def render(self) -> None:
        """Gives no picture; a camera of the world does."""

    def close(self) -> None:
        """Does nothing: the world ends with the last reference to it."""

    def state(self) -> Floats:
        """The readings of all robots, one after the other."""
        return self._readings.copy()

    def _device(self, agent: str, name: str) -> Device:
        return self.simulation[f"{agent}/{name}"]

    def _find_places(self) -> dict[str, slice]:
        places, start = {}, 0
        for agent, sensors in self._sensors.items():
            end = start + sum(len(sensor.fields) for sensor in sensors)
            places[agent], start = slice(start, end), end
        return places

    def _find_targets(self, agent: str) -> list[tuple[Device, int, int]]:
        """The actuators of an agent's actions: each with the place in its frame, and the number of the action."""
        targets = []
        for number, channel in enumerate(self._channels):
            for name in channel.devices:
                device = self._device(agent, name)
                names = [identifier(field.name) for field in device.fields]
                if channel.field not in names:
                    known = ", ".join(names)
                    raise ValueError(f"{device.full_name} has no field '{channel.field}'; its fields are {known}")
                targets.append((device, names.index(channel.field), number))
        return targets

    def _command(self, agent: str, action: npt.NDArray[np.float32]) -> None:
        for device, place, number in self._targets[agent]:
            channel = self._channels[number]
            share = (min(max(float(action[number]), -1.0), 1.0) + 1.0) / 2.0
            self._frames[device][place] = channel.low + share * (channel.high - channel.low)
        for device in dict.fromkeys(device for device, _, _ in self._targets[agent]):
            device.command(*self._frames[device])

    def _first(self, agent: str) -> dict[str, float]:
        """The reading of an agent's first sensor, by the names of its fields."""
        fields = [identifier(field.name) for field in self._sensors[agent][0].fields]
        return dict(zip(fields, self._readings[self._places[agent]].tolist(), strict=False))

    def _pose(self, agent: str) -> tuple[float, float, float]:
        """Position x and z in m, and heading in rad, 0 where the sensor does not tell it."""
        first = self._first(agent)
        has_orientation = set(QUATERNION) <= set(first)
        return first["x"], first["z"], heading_of(*(first[name] for name in QUATERNION)) if has_orientation else 0.0

    def _way(self, agent: str) -> float:
        x, z, _ = self._pose(agent)
        return float(distance(self.goals[agent][0] - x, self.goals[agent][1] - z))

    def _see(self, agent: str, goal: tuple[float, float]) -> list[float]:
        first = self._first(agent)
        dx, dz = goal[0] - first["x"], goal[1] - first["z"]
        if not set(QUATERNION) <= set(first):
            return [dx, dz]
        cosine, sine = facing(*(first[name] for name in QUATERNION))
        return [*map(float, way_ahead(dx, dz, cosine, sine)), float(cosine), float(sine)]

    def _observe(self, agent: str) -> Floats:
        return np.array([*self._readings[self._places[agent]], *self._see(agent, self.goals[agent])])

    def _tell(self, agents: Sequence[str]) -> dict[str, dict[str, Any]]:
        native = self.simulation.native
        return {agent: {"step": native.step, "time": native.time, "goal": self.goals[agent]} for agent in agents}
