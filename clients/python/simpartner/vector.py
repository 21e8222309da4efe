"""Many environments in this process, stepped by threads of the native module. Needs the extra `gym` and the native module.

Start at `make_vec`. `import simpartner.gym` registers the same for `gymnasium.make_vec`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

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
from .embedded import Simulation, _native
from .reading import identifier

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

_NOISE: Final = 1
"""What tells the generator of an environment's noise from that of its tasks, which has the same seed."""


class DriveVectorEnv(VectorEnv[Floats, npt.NDArray[np.float32], npt.NDArray[Any]]):
    """Many `simpartner.gym.DriveEnv` in one process: robots that are to drive to goals on the ground, each in a world of its
    own.

    Observations, actions, rewards and ends of episodes are those of `DriveEnv`, with the same bits for the same seeds and
    actions, whatever the number of threads. Observations are float64 of the shape (num_envs, width), actions float32 of the
    shape (num_envs, channels), rewards float64 in m. Worlds share the model.

    `threads` is the number of threads, that of the cores unless given. `autoreset_mode` is one of Gymnasium's: an environment
    that has ended is reset in the next step, in the same step (then `final_obs` and `final_info` have its end), or by
    `reset(options={"reset_mask": ...})`. With `new_noise` the sensors of each episode have noise of their own, which the
    environment's seed determines; without it all episodes have that of the simulation's seed, as in `DriveEnv`. An
    environment whose physics diverges is truncated, with reward 0.

    `randomize` has values of the model that vary from episode to episode, by their paths: a range for even distribution, or a
    function of the environment's generator that returns a number or a text such as "*1.1" for a factor. It takes about a
    millisecond for each reset, and environments then share less memory.

    `seed` of `reset` is a number for the first environment, from which those of the others count up, or a list with one for
    each. `options` are those of `simpartner.load`.

    For another task override `begin`, `see` and `judge`, which work on arrays with a row for each environment.
    """

    _ways: Floats
    """The ways from the robots to their goals, m."""
    _ended: Flags
    """The environments that have ended and wait for a reset."""

    def __init__(
        self,
        num_envs: int = 1,
        world: str | os.PathLike[str] = "worlds/navigation.xml",
        *,
        sensors: Sequence[str] = ("Pose", "Velocity"),
        channels: Sequence[Channel] = WORKPARTNER_CHANNELS,
        frames: Mapping[str, Sequence[float]] = WORKPARTNER_FRAMES,
        steps: int = 100,
        episode: float = 30.0,
        goal_distance: tuple[float, float] = (2.0, 5.0),
        goal_angle: float = math.pi / 4,
        reach: float = 0.5,
        threads: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        new_noise: bool = True,
        randomize: Mapping[str, tuple[float, float] | Callable[[np.random.Generator], object]] | None = None,
        embedded: bool = True,
        **options: Any,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs: expected at least 1, got {num_envs}")
        if not embedded:
            raise ValueError("embedded: environments of servers are made with vectorization_mode='sync'")
        self.num_envs, self.steps, self.episode, self.reach = num_envs, steps, episode, reach
        self.goal_distance, self.goal_angle, self.new_noise = goal_distance, goal_angle, new_noise
        self.randomize = dict(randomize or {})
        self.parameters: list[dict[str, str]] = [{} for _ in range(num_envs)]
        """The values of the model that each environment has drawn for its episode."""
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.simulation = Simulation(world, **options)
        """The simulation of which all are copies; it makes no steps."""
        self._channels = list(channels)
        names = list(dict.fromkeys(self.simulation[name].full_name for name in self._names(frames)))
        devices = [self.simulation.devices[name] for name in names]
        seen = [self.simulation[name] for name in sensors]
        self.batch = _native.Batch(
            self.simulation.native,
            num_envs,
            threads if threads is not None else os.cpu_count() or 1,
            [sensor.full_name for sensor in seen],
            names,
        )
        """The simulations of all environments."""
        self.fields = [tuple(identifier(field.name) for field in sensor.fields) for sensor in seen]
        """The fields of each sensor, in the order of the readings."""
        self._start, starts = self._start_frames(devices, frames)
        self._columns, self._channel_of = self._find_columns(devices, starts)
        self._set_up_arrays()
        self._find_pose()
        width = self._readings.shape[1] + self.see(self._readings).shape[1]
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (width,), np.float64)
        self.single_action_space = spaces.Box(-1.0, 1.0, (len(self._channels),), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        timestep = self.simulation.native.timestep
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_fps": 1 / (steps * timestep)}

    def begin(self, index: int, readings: Floats) -> None:
        """Sets an episode's task of an environment, whose row of the readings is given. Whatever is drawn, is drawn from
        `self.np_random[index]`."""
        x, z = readings[self._x], readings[self._z]
        ahead = 0.0 if self._quaternion is None else heading_of(*map(float, readings[self._quaternion]))
        goal = draw_goal(self.np_random[index], (float(x), float(z)), ahead, self.goal_distance, self.goal_angle)
        self.goals[index] = goal
        self._ways[index] = distance(goal[0] - x, goal[1] - z)

    def see(self, readings: Floats) -> Floats:
        """What the observations hold behind the sensors' values, a row for each environment."""
        dx, dz = self.goals[:, 0] - readings[:, self._x], self.goals[:, 1] - readings[:, self._z]
        if self._quaternion is None:
            return np.stack((dx, dz), axis=1)
        cosine, sine = facing(*readings[:, self._quaternion].T)
        return np.stack((*way_ahead(dx, dz, cosine, sine), cosine, sine), axis=1)

    def judge(self, readings: Floats) -> tuple[Floats, Flags]:
        """The rewards of a step, and which episodes have come to their ends."""
        ways = distance(self.goals[:, 0] - readings[:, self._x], self.goals[:, 1] - readings[:, self._z])
        former, self._ways = self._ways, ways
        return former - ways, ways <= self.reach

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Builds the worlds anew, or those of `options["reset_mask"]`, and draws their goals."""
        mask = _reset_mask(options, self.num_envs)
        for index, own in enumerate(_seeds(seed, self.num_envs)):
            if mask[index] and (own is not None or self._generators[index] is None):
                self._seed_environment(index, own)
        self._reset_worlds(mask)
        return self._observe(), self._info(mask)

    def step(
        self, actions: npt.NDArray[np.float32]
    ) -> tuple[Floats, Floats, Flags, Flags, dict[str, Any]]:
        """Commands the actuators, makes `steps` steps of all environments and looks at their sensors."""
        if any(generator is None for generator in self._generators):
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        shares = self._shares(actions)
        waiting = self._ended.copy()
        if self.autoreset_mode is AutoresetMode.DISABLED and waiting.any():
            places = ", ".join(map(str, np.flatnonzero(waiting)))
            raise gymnasium.error.ResetNeeded(f"environments {places} have ended; reset them by options['reset_mask']")
        active = ~waiting
        self._command(shares, active)
        self.batch.advance(self.steps, self._commands, active, self._readings)
        self.batch.status(self._times, self._diverged)
        rewards, terminated = self.judge(self._readings)
        rewards = np.where(active & ~self._diverged, rewards, 0.0)
        terminated = terminated & active & ~self._diverged
        truncated = ((self._times >= self.episode) | self._diverged) & active
        self._ended = terminated | truncated
        infos: dict[str, Any] = {}
        if self._diverged.any():
            infos.update(diverged=self._diverged.copy(), _diverged=self._diverged.copy())
        if self.autoreset_mode is AutoresetMode.NEXT_STEP and waiting.any():
            self._reset_worlds(waiting)
        elif self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            ended = self._ended.copy()
            infos.update(self._final(ended))
            self._reset_worlds(ended)
        infos.update(self._info(np.ones(self.num_envs, np.bool_)))
        return self._observe(), rewards, terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        """Does nothing: the worlds end with the last reference to them."""

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators of all environments."""
        for index, generator in enumerate(self._generators):
            if generator is None:
                self._seed_environment(index, None)
        return tuple(generator for generator in self._generators if generator is not None)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of all environments."""
        return tuple(self._seeds)

    def state_hashes(self) -> list[str]:
        """The hash of each world's state, as that of a server after the same commands and steps."""
        return self.batch.state_hashes()

    def _names(self, frames: Mapping[str, Sequence[float]]) -> list[str]:
        return [*frames, *(name for channel in self._channels for name in channel.devices)]

    def _start_frames(self, devices: Sequence[Device], frames: Mapping[str, Sequence[float]]) -> tuple[Floats, dict[str, int]]:
        """What the actuators are told after a reset, and where the numbers of each begin."""
        start = np.empty(self.batch.widths[1])
        self.batch.present_commands(0, start)
        starts, place = {}, 0
        given = {self.simulation[name].full_name: frame for name, frame in frames.items()}
        for device in devices:
            starts[device.full_name] = place
            end = place + len(device.fields)
            if (frame := given.get(device.full_name)) is not None:
                # A short frame is the end of the long one.
                start[place:end] = [*[np.nan] * (end - place - len(frame)), *frame]
            place = end
        return start, starts

    def _find_columns(self, devices: Sequence[Device], starts: Mapping[str, int]) -> tuple[Places, Places]:
        """The columns of the commands that actions set, and the number of the action for each."""
        columns, numbers = [], []
        commanded = np.zeros(self.batch.widths[1], np.bool_)
        for number, channel in enumerate(self._channels):
            for name in channel.devices:
                device = self.simulation[name]
                names = [identifier(field.name) for field in device.fields]
                if channel.field not in names:
                    known = ", ".join(names)
                    raise ValueError(f"{device.full_name} has no field '{channel.field}'; its fields are {known}")
                start = starts[device.full_name]
                columns.append(start + names.index(channel.field))
                numbers.append(number)
                commanded[start : start + len(names)] = True
        self._commanded = commanded
        return np.array(columns, np.intp), np.array(numbers, np.intp)

    def _set_up_arrays(self) -> None:
        count = self.num_envs
        readings, commands = self.batch.widths
        self._readings: Floats = np.zeros((count, readings))
        self._commands: Floats = np.full((count, commands), np.nan)
        self._frames: Floats = np.tile(self._start, (count, 1))
        self._fresh: Flags = np.ones(count, np.bool_)
        self._times: Floats = np.zeros(count)
        self._diverged: Flags = np.zeros(count, np.bool_)
        self._ended = np.zeros(count, np.bool_)
        self._ways = np.zeros(count)
        self.goals: Floats = np.zeros((count, 2))
        """Where the robots are to go, x and z in the world, m."""
        self._generators: list[np.random.Generator | None] = [None] * count
        self._noise: list[np.random.Generator | None] = [None] * count
        self._seeds = [-1] * count
        lows = np.array([channel.low for channel in self._channels], np.float64)
        highs = np.array([channel.high for channel in self._channels], np.float64)
        self._lows, self._spans = lows[self._channel_of], (highs - lows)[self._channel_of]
        self.batch.read_into(self._readings)

    def _find_pose(self) -> None:
        """The places of the first sensor's position and orientation in the readings."""
        names = self.fields[0] if self.fields else ()
        if "x" not in names or "z" not in names:
            raise ValueError(f"sensors: expected a first one with the fields x and z, got {', '.join(names) or 'none'}")
        self._x, self._z = names.index("x"), names.index("z")
        has_orientation = set(QUATERNION) <= set(names)
        self._quaternion = [names.index(name) for name in QUATERNION] if has_orientation else None

    def _seed_environment(self, index: int, seed: int | None) -> None:
        self._generators[index], self._seeds[index] = seeding.np_random(seed)
        self._noise[index] = np.random.default_rng([self._seeds[index], _NOISE])

    def _shares(self, actions: npt.NDArray[np.float32]) -> Floats:
        """The actions from 0 to 1, for each column that they set."""
        given = np.asarray(actions, np.float64)
        if given.shape != (self.num_envs, len(self._channels)):
            raise ValueError(f"actions: expected the shape {(self.num_envs, len(self._channels))}, got {given.shape}")
        if not np.isfinite(given).all():
            raise ValueError("actions: expected finite numbers")
        return ((np.clip(given, -1.0, 1.0) + 1.0) / 2.0)[:, self._channel_of]

    def _command(self, shares: Floats, active: Flags) -> None:
        """The commands of a step. Actuators that no action sets are commanded once after a reset."""
        values = self._lows + shares * self._spans
        self._frames[:, self._columns] = np.where(active[:, np.newaxis], values, self._frames[:, self._columns])
        wanted = self._commanded | self._fresh[:, np.newaxis]
        np.copyto(self._commands, np.where(wanted, self._frames, np.nan))
        self._fresh &= ~active

    def _reset_worlds(self, mask: Flags) -> None:
        places = [int(index) for index in np.flatnonzero(mask)]
        if self.randomize:
            for index in places:
                self.parameters[index] = {path: self._draw(path, index) for path in self.randomize}
            self.batch.reset_with(
                [(index, self._noise_seed(index), list(self.parameters[index].items())) for index in places]
            )
        else:
            self.batch.reset([(index, self._noise_seed(index)) for index in places])
        self.batch.read_into(self._readings)
        self._frames[mask] = self._start
        self._fresh |= mask
        self._times[mask] = 0.0
        self._ended &= ~mask
        for index in places:
            self.begin(index, self._readings[index])

    def _draw(self, path: str, index: int) -> str:
        """The value of a parameter for an episode of an environment."""
        generator, how = self.np_random[index], self.randomize[path]
        return str(how(generator) if callable(how) else float(generator.uniform(*how)))

    def _noise_seed(self, index: int) -> int | None:
        generator = self._noise[index]
        return int(generator.integers(2**63)) if self.new_noise and generator is not None else None

    def _observe(self) -> Floats:
        return np.concatenate((self._readings, self.see(self._readings)), axis=1)

    def _info(self, mask: Flags) -> dict[str, Any]:
        steps = np.array(self.batch.steps(), np.int64)
        told = {"step": steps, "time": self._times.copy(), "goal": self.goals.copy()}
        return {**told, **{f"_{name}": mask.copy() for name in told}}

    def _final(self, ended: Flags) -> dict[str, Any]:
        """The ends of episodes, as Gymnasium's environments tell them."""
        observations = self._observe()
        final = np.full(self.num_envs, None, dtype=object)
        for index in np.flatnonzero(ended):
            final[index] = observations[index]
        info = self._info(ended)
        return {"final_obs": final, "_final_obs": ended.copy(), "final_info": info, "_final_info": ended.copy()}


def _seeds(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """The seed of each environment."""
    if seed is None:
        return [None] * count
    if isinstance(seed, (int, np.integer)):
        return [int(seed) + index for index in range(count)]
    if len(seed) != count:
        raise ValueError(f"seed: expected {count} of them, got {len(seed)}")
    return list(seed)


def _reset_mask(options: Mapping[str, Any] | None, count: int) -> Flags:
    """The environments that are to be reset: those of the mask, or all."""
    mask = None if options is None else options.get("reset_mask")
    if mask is None:
        return np.ones(count, np.bool_)
    if not isinstance(mask, np.ndarray) or mask.shape != (count,) or mask.dtype != np.bool_:
        raise ValueError(f"options['reset_mask']: expected {count} bools as an array, got {mask!r}")
    if not mask.any():
        raise ValueError("options['reset_mask']: expected at least one environment, got none")
    return mask.copy()


def make_vec(world: str | os.PathLike[str] = "worlds/navigation.xml", num_envs: int = 1, **options: Any) -> DriveVectorEnv:
    """Many environments of a world, stepped by threads in this process; `options` are those of `DriveVectorEnv`."""
    return DriveVectorEnv(num_envs, world, **options)
