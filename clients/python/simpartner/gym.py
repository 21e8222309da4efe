"""A Gymnasium environment whose world is a SimPartner server. Needs the extra `gym`.

`import simpartner.gym` registers `SimPartner/Drive-v0`. Start at `DriveEnv`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .launch import launch
from .reading import Reading, identifier
from .simulation import Simulation

Observation = npt.NDArray[np.float64]
Action = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Channel:
    """A number of the action. -1 sets the field of all its devices to `low`, +1 to `high`, and what lies between in between."""

    devices: Sequence[str]
    field: str
    low: float
    high: float


WHEELS: Final = tuple(f"WheelMotor{number}" for number in (1, 2, 3, 4))

WORKPARTNER_CHANNELS: Final = (
    Channel(WHEELS, "velocity_3", -3.0, 3.0),
    Channel(("TurnerController",), "angle_3", -0.5, 0.5),
)
"""WorkPartner's speed in rad/s of the wheels, and the angle of its middle joint, positive to the left."""

WORKPARTNER_FRAMES: Final[Mapping[str, Sequence[float]]] = {
    **{wheel: (1000, 1000, 100, 0, 0, 0) for wheel in WHEELS},
    "TurnerController": (1000, 1000, 1000, 0, 0, 0, 5, 0, 0),
}
"""What its actuators are told after a reset: maximum forces and gains."""


class DriveEnv(gymnasium.Env[Observation, Action]):
    """A robot that is to drive to a goal on the ground.

    The observation holds the values of `sensors` one after the other, then the way to the goal, x and z in the world, m. The
    reward is the way in metres by which the step has brought the first sensor, which must have the fields x and z, nearer to
    the goal. An episode ends within `reach` of the goal, and is cut off after `episode` seconds of simulated time.

    A reset is the server's RESET, which is equal to a fresh start bit for bit. The goal comes from the environment's own
    generator, so a seed and the actions after it determine every observation and reward.

    For another task override `begin`, `see` and `judge`. The server is launched with `launch`'s arguments, on free ports, unless
    a `simulation` is given; that one belongs to the environment alone while it is used, and is not closed by it.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (as gymnasium declares it)

    def __init__(
        self,
        world: str | os.PathLike[str] = "worlds/flat.xml",
        *,
        sensors: Sequence[str] = ("Position",),
        channels: Sequence[Channel] = WORKPARTNER_CHANNELS,
        frames: Mapping[str, Sequence[float]] = WORKPARTNER_FRAMES,
        steps: int = 100,
        episode: float = 30.0,
        goal_distance: tuple[float, float] = (2.0, 5.0),
        goal_angle: float = math.pi / 4,
        reach: float = 0.5,
        simulation: Simulation | None = None,
        **options: Any,
    ) -> None:
        self.steps, self.episode, self.reach = steps, episode, reach
        self.goal_distance, self.goal_angle = goal_distance, goal_angle
        self.goal = (0.0, 0.0)
        """Where it is to go, x and z in the world, m."""
        self._owned = simulation is None
        self.simulation = launch(world, **{"free_ports": True, **options}) if simulation is None else simulation
        try:
            self._sensors = [self.simulation[name] for name in sensors]
            self._channels = list(channels)
            self._start = {self.simulation[name].full_name: list(map(float, frame)) for name, frame in frames.items()}
            self._targets = [self._find_targets(channel) for channel in channels]
            width = sum(len(sensor.fields) for sensor in self._sensors) + self.see_width
        except BaseException:
            self.close()
            raise
        self._frames: dict[str, list[float]] = {}
        self._way = 0.0
        self.observation_space = spaces.Box(-np.inf, np.inf, (width,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (len(self._channels),), np.float32)

    see_width: int = 2
    """How many numbers `see` returns."""

    def begin(self, readings: Sequence[Reading]) -> None:
        """Sets an episode's task. Whatever is drawn, is drawn from `self.np_random`."""
        distance = self.np_random.uniform(*self.goal_distance)
        angle = self.np_random.uniform(-self.goal_angle, self.goal_angle)
        x, z = readings[0]["x"], readings[0]["z"]
        self.goal = (x + distance * math.cos(angle), z + distance * math.sin(angle))
        self._way = self._way_to_goal(readings)

    def see(self, readings: Sequence[Reading]) -> Sequence[float]:
        """What the observation holds behind the sensors' values."""
        return self.goal[0] - readings[0]["x"], self.goal[1] - readings[0]["z"]

    def judge(self, readings: Sequence[Reading]) -> tuple[float, bool]:
        """The reward of a step, and whether the episode has come to its end."""
        former, self._way = self._way, self._way_to_goal(readings)
        return former - self._way, self._way <= self.reach

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Builds the world anew and draws a goal."""
        super().reset(seed=seed)
        if self.simulation.state.playing:
            self.simulation.pause()
        self.simulation.reset()
        self._frames = {name: list(frame) for name, frame in self._start.items()}
        for name, frame in self._frames.items():
            self.simulation[name].command(*frame)
        readings = [sensor.read() for sensor in self._sensors]
        self.begin(readings)
        return self._observe(readings), self._tell(readings)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Commands the actuators, makes `steps` steps and looks at the sensors."""
        for value, channel, targets in zip(action, self._channels, self._targets, strict=True):
            share = (min(max(float(value), -1.0), 1.0) + 1.0) / 2.0
            for name, place in targets:
                self._frames[name][place] = channel.low + share * (channel.high - channel.low)
        for name in dict.fromkeys(name for targets in self._targets for name, _ in targets):
            self.simulation[name].command(*self._frames[name])
        state = self.simulation.step(self.steps)
        readings = [sensor.read() for sensor in self._sensors]
        reward, terminated = self.judge(readings)
        return self._observe(readings), reward, terminated, state.time >= self.episode, self._tell(readings)

    def close(self) -> None:
        """Ends the server, if the environment has launched it."""
        if self._owned:
            self.simulation.close()

    def _find_targets(self, channel: Channel) -> list[tuple[str, int]]:
        targets = []
        for name in channel.devices:
            device = self.simulation[name]
            names = [identifier(field.name) for field in device.fields]
            if channel.field not in names:
                raise ValueError(
                    f"{device.full_name} has no field '{channel.field}'; its fields are {', '.join(names)}"
                )
            self._start.setdefault(device.full_name, list(device.present()))
            targets.append((device.full_name, names.index(channel.field)))
        return targets

    def _observe(self, readings: Sequence[Reading]) -> Observation:
        values = [value for reading in readings for value in reading.values]
        return np.array([*values, *self.see(readings)], dtype=np.float64)

    def _tell(self, readings: Sequence[Reading]) -> dict[str, Any]:
        return {"step": readings[0].step, "time": readings[0].time, "goal": self.goal}

    def _way_to_goal(self, readings: Sequence[Reading]) -> float:
        return math.hypot(self.goal[0] - readings[0]["x"], self.goal[1] - readings[0]["z"])


gymnasium.register("SimPartner/Drive-v0", entry_point="simpartner.gym:DriveEnv")
