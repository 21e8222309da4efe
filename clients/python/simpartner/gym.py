"""A Gymnasium environment whose world is a SimPartner server, or a simulation in this process. Needs the extra `gym`.

`import simpartner.gym` registers `SimPartner/Drive-v0` and `SimPartner/DriveEmbedded-v0`. Start at `DriveEnv`;
`CameraObservation` adds images to it, and `simpartner.vector` has many of them at once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .camera import Image
from .device import Device
from .drive import (
    WORKPARTNER_CHANNELS,
    WORKPARTNER_FRAMES,
    Channel,
    distance,
    draw_goal,
    facing,
    heading,
    orientation,
    way_ahead,
)
from .errors import ConnectionLostError, WireError
from .launch import launch
from .lockstep import Lockstep, Turn
from .picture import draw
from .reading import Reading, identifier
from .simulation import Simulation

Observation = npt.NDArray[np.float64]
Action = npt.NDArray[np.float32]


class DriveEnv(gymnasium.Env[Observation, Action]):
    """A robot that is to drive to a goal on the ground.

    The observation holds the values of `sensors` one after the other, then what `see` makes of them. Where the first sensor tells
    its orientation, as a PoseSensor does, that is the way to the goal ahead and to the left, m, and cosine and sine of the
    heading; else the way to the goal, x and z in the world, m. The default world's WorkPartner has Pose and Velocity, the latter
    along its own axes: ahead, up and to the right. The reward is the way in metres by which the step has brought the first
    sensor, which must have the fields x and z, nearer to the goal.

    An episode is terminated within `reach` of the goal. It is truncated after `episode` seconds of simulated time; a step may be
    both.

    A reset is the server's RESET, which is equal to a fresh start bit for bit. The goal comes from the environment's own
    generator, so a seed and the actions after it determine every observation and reward.

    The clock is in lockstep with the environment: a step of it is one line to each robot and one back, with `steps` steps of the
    simulation between them. `timeout` bounds the wait for them, in seconds.

    `render_mode="rgb_array"` gives a picture from above, or with `camera` the image of that Camera or RgbdCamera. With `"human"`
    a reset prints once where the server's page shows the world as it moves.

    For another task override `begin`, `see` and `judge`. The server is launched with `launch`'s arguments, on free ports, unless
    a `simulation` is given; that one belongs to the environment alone while it is used, and is not closed by it. With
    `embedded` there is no server: the simulation is in this process, with `load`'s arguments and the same bits.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"], "render_fps": 10}  # noqa: RUF012 (as gymnasium declares it)

    def __init__(
        self,
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
        render_mode: str | None = None,
        camera: str | None = None,
        timeout: float | None = 60.0,
        simulation: Simulation | None = None,
        embedded: bool = False,
        **options: Any,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            known = ", ".join(self.metadata["render_modes"])
            raise ValueError(f"render_mode: expected one of {known}, or None, got '{render_mode}'")
        self.render_mode = render_mode
        self.steps, self.episode, self.reach = steps, episode, reach
        self.goal_distance, self.goal_angle = goal_distance, goal_angle
        self.goal = (0.0, 0.0)
        """Where it is to go, x and z in the world, m."""
        self.trail: list[tuple[float, float]] = []
        """Where the first sensor has been in this episode, x and z in the world, m."""
        self._heading: float | None = None
        self._lockstep: Lockstep | None = None
        self._turn: Turn | None = None
        self._told = False
        self._owned = simulation is None
        self.simulation = self._begin(world, embedded, options) if simulation is None else simulation
        try:
            self._camera = None if camera is None else color_camera(self.simulation[camera])
            self._sensors = [self.simulation[name] for name in sensors]
            self._channels = list(channels)
            self._start = {self.simulation[name].full_name: list(map(float, frame)) for name, frame in frames.items()}
            self._targets = [self._find_targets(channel) for channel in channels]
            self.metadata = {**self.metadata, "render_fps": 1 / (steps * self.simulation.state.timestep)}
            self._lockstep = self.simulation.lockstep(self._members(), timeout, steps)
            readings = self._readings(next(self._lockstep))
            width = sum(len(reading.values) for reading in readings) + len(self.see(readings))
        except BaseException:
            self.close()
            raise
        self._frames: dict[str, list[float]] = {}
        self._way = 0.0
        self.observation_space = spaces.Box(-np.inf, np.inf, (width,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (len(self._channels),), np.float32)

    def begin(self, readings: Sequence[Reading]) -> None:
        """Sets an episode's task. Whatever is drawn, is drawn from `self.np_random`. The goal stands to where the robot looks,
        or along x where that is not known."""
        place = readings[0]["x"], readings[0]["z"]
        ahead = heading(readings[0]) or 0.0
        self.goal = draw_goal(self.np_random, place, ahead, self.goal_distance, self.goal_angle)
        self._way = self._way_to_goal(readings)

    def see(self, readings: Sequence[Reading]) -> Sequence[float]:
        """What the observation holds behind the sensors' values; always as many numbers."""
        dx, dz = self.goal[0] - readings[0]["x"], self.goal[1] - readings[0]["z"]
        quaternion = orientation(readings[0])
        if quaternion is None:
            return dx, dz
        cosine, sine = facing(*quaternion)
        return (*map(float, way_ahead(dx, dz, cosine, sine)), float(cosine), float(sine))

    def judge(self, readings: Sequence[Reading]) -> tuple[float, bool]:
        """The reward of a step, and whether the episode has come to its end."""
        former, self._way = self._way, self._way_to_goal(readings)
        return former - self._way, self._way <= self.reach

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Builds the world anew and draws a goal."""
        super().reset(seed=seed)
        lockstep = self._clock()
        lockstep.reset()
        self._turn = next(lockstep)
        self._frames = {name: list(frame) for name, frame in self._start.items()}
        for name, frame in self._frames.items():
            self._turn.command(name, *frame)
        readings = self._readings(self._turn)
        self.trail = []
        self.begin(readings)
        if self.render_mode == "human" and not self._told:
            self._told = True
            page = self.simulation.server.viewer if self.simulation.server is not None else None
            print(f"the simulation is shown at {page or 'the address that its server has printed'}", flush=True)
        return self._observe(readings), self._tell(readings)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Commands the actuators, makes `steps` steps and looks at the sensors."""
        if self._turn is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        for value, channel, targets in zip(action, self._channels, self._targets, strict=True):
            share = (min(max(float(value), -1.0), 1.0) + 1.0) / 2.0
            for name, place in targets:
                self._frames[name][place] = channel.low + share * (channel.high - channel.low)
        for name in dict.fromkeys(name for targets in self._targets for name, _ in targets):
            self._turn.command(name, *self._frames[name])
        try:
            self._turn = next(self._clock())
        except StopIteration:
            raise ConnectionLostError("the server has ended the run") from None
        readings = self._readings(self._turn)
        reward, terminated = self.judge(readings)
        return self._observe(readings), reward, terminated, self._turn.time >= self.episode, self._tell(readings)

    def render(self) -> npt.NDArray[np.uint8] | None:
        """The scene from above, 400 by 400 pixels, or the newest image of the camera, where the mode is `rgb_array`."""
        if self.render_mode != "rgb_array":
            return None
        if not self.trail:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        if self._camera is not None:
            color = self._camera.image().color
            return color if color.ndim == 3 else np.repeat(color[:, :, np.newaxis], 3, axis=2)
        return draw(self.trail, self._heading, self.goal, self.reach)

    def close(self) -> None:
        """Ends the server, if the environment has launched it, and the lockstep."""
        lockstep, self._lockstep, self._turn = self._lockstep, None, None
        if self._owned:
            self.simulation.close()
        if lockstep is not None:
            lockstep.close()

    def _begin(self, world: str | os.PathLike[str], embedded: bool, options: Mapping[str, Any]) -> Simulation:
        if not embedded:
            return launch(world, **self._launch_options(options))
        from .embedded import load

        return load(world, **options)

    def _launch_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        # Who learns between two steps takes longer than a controller, and that is no failure of a member.
        settings = {"lockstep.timeout_s": 1e6, **options.get("settings", {})}
        return {"free_ports": True, **options, "settings": settings}

    def _clock(self) -> Lockstep:
        if self._lockstep is None:
            raise gymnasium.error.ClosedEnvironmentError("the environment has been closed")
        return self._lockstep

    def _members(self) -> list[str]:
        """The robots, and what is looked at and is no sensor: a robot's line does not have it."""
        wanted = [*self._sensors, *(self.simulation[name] for targets in self._targets for name, _ in targets)]
        robots = dict.fromkeys(device.robot for device in wanted)
        told = {device for robot in robots for device in self.simulation.robots[robot].readings()}
        return [*robots, *(sensor.full_name for sensor in self._sensors if sensor not in told)]

    def _readings(self, turn: Turn) -> list[Reading]:
        return [turn[sensor.full_name] for sensor in self._sensors]

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
        self.trail.append((readings[0]["x"], readings[0]["z"]))
        self._heading = heading(readings[0])
        values = [value for reading in readings for value in reading.values]
        return np.array([*values, *self.see(readings)], dtype=np.float64)

    def _tell(self, readings: Sequence[Reading]) -> dict[str, Any]:
        return {"step": readings[0].step, "time": readings[0].time, "goal": self.goal}

    def _way_to_goal(self, readings: Sequence[Reading]) -> float:
        return float(distance(self.goal[0] - readings[0]["x"], self.goal[1] - readings[0]["z"]))


class CameraObservation(gymnasium.Env[dict[str, npt.NDArray[Any]], Action]):
    """A `DriveEnv` that observes images as well.

    The observation is a dictionary: `state` is what the environment observes, and each camera adds its newest image under its
    name, as `Image.pixels` has it. An RgbdCamera adds its depths under its name with `_depth` behind it. The clock waits
    meanwhile, so that a seed and the actions determine every pixel.
    """

    def __init__(self, env: DriveEnv, cameras: Sequence[str]) -> None:
        self.env = env
        self.metadata, self.render_mode, self.action_space = env.metadata, env.render_mode, env.action_space
        self._cameras = {name: env.simulation[name] for name in cameras}
        boxes: dict[str, spaces.Space[Any]] = {"state": env.observation_space}
        for name, camera in self._cameras.items():
            boxes.update(image_spaces(name, camera))
        self.observation_space: spaces.Space[Any] = spaces.Dict(boxes)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Resets the environment and looks."""
        super().reset(seed=seed)
        state, told = self.env.reset(seed=seed, options=options)
        return self._look(state), told

    def step(self, action: Action) -> tuple[dict[str, npt.NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Makes a step of the environment and looks."""
        state, reward, terminated, truncated, told = self.env.step(action)
        return self._look(state), reward, terminated, truncated, told

    def render(self) -> npt.NDArray[np.uint8] | None:
        """As the environment renders."""
        return self.env.render()

    def close(self) -> None:
        """Closes the environment."""
        self.env.close()

    def _look(self, state: Observation) -> dict[str, npt.NDArray[Any]]:
        seen: dict[str, npt.NDArray[Any]] = {"state": state}
        for name, camera in self._cameras.items():
            seen.update(planes_of(name, camera.image()))
        return seen


def planes_of(name: str, image: Image) -> dict[str, npt.NDArray[Any]]:
    """The planes of an image by the keys of an observation."""
    keys = (name, f"{name}_depth")
    return {key: plane.pixels for key, plane in zip(keys, image.planes, strict=False)}


def image_spaces(name: str, camera: Device) -> dict[str, spaces.Space[Any]]:
    """The spaces of the planes of a camera's images, by the keys of an observation."""
    optics = camera.optics
    keys = (name, f"{name}_depth")
    return {
        key: _image_space((optics.height, optics.width), encoding)
        for key, encoding in zip(keys, optics.encodings, strict=False)
    }


def _image_space(shape: tuple[int, int], encoding: str) -> spaces.Space[Any]:
    match encoding:
        case "rgb8":
            return spaces.Box(0, 255, (*shape, 3), np.uint8)
        case "mono8":
            return spaces.Box(0, 255, shape, np.uint8)
        case "32FC1":
            return spaces.Box(-np.inf, np.inf, shape, np.float32)
        case "32SC2":
            return spaces.Box(-(2**31), 2**31 - 1, (*shape, 2), np.int32)
        case _:
            raise WireError(f"expected an encoding of images, got '{encoding}'")


def color_camera(camera: Device) -> Device:
    """The camera, if it has colours or greys."""
    if camera.optics.encodings[0] not in ("rgb8", "mono8"):
        raise ValueError(f"camera: expected a Camera or an RgbdCamera, got {camera.full_name}, a {camera.kind}")
    return camera


gymnasium.register(
    "SimPartner/Drive-v0", entry_point="simpartner.gym:DriveEnv", vector_entry_point="simpartner.vector:DriveVectorEnv"
)
gymnasium.register(
    "SimPartner/DriveEmbedded-v0",
    entry_point="simpartner.gym:DriveEnv",
    vector_entry_point="simpartner.vector:DriveVectorEnv",
    kwargs={"embedded": True},
)
