"""The types of the native module. `simpartner.embedded` and `simpartner.vector` are the interfaces for users."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

_Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

class Simulation:
    """A simulation in this process. Threads may share it; a call waits for the one under way. Calls that compute release
    the interpreter."""

    def __new__(cls, path: str, text: str | None, settings: Sequence[tuple[str, str]]) -> Simulation: ...
    def advance(self, count: int = 1, commands: _Floats | None = None, readings: _Floats | None = None) -> int:
        """Commands the selected actuators, makes steps, and copies the readings of the selected sensors; returns the index
        of the last step. `commands` has the shape (commands,), `readings` the shape (readings,), both contiguous."""

    def advance_to(self, time: float) -> int:
        """Makes steps up to a simulated time in seconds."""

    def read_into(self, readings: _Floats) -> None:
        """Copies the readings of the selected sensors; shape (readings,)."""

    def command(self, commands: _Floats) -> None:
        """Commands the selected actuators from the next step on; shape (commands,). NaN keeps a field's value."""

    def present_commands(self, commands: _Floats) -> None:
        """Copies the present commands of the selected actuators; shape (commands,)."""

    def select(self, sensors: Sequence[str] | None, actuators: Sequence[str] | None) -> None:
        """Selects sensors and actuators by their names; None is all of them."""

    def sensor_channels(self) -> list[tuple[str, str, str]]:
        """Device, field and unit of each reading."""

    def actuator_channels(self) -> list[tuple[str, str, str]]:
        """Device, field and unit of each command."""

    def reset(self, seed: int | None = None) -> None:
        """Builds the world anew, with this seed of all noise or the present one."""

    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes) -> None: ...
    def state_hash(self) -> str: ...
    @property
    def step(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def timestep(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def diverged(self) -> bool: ...
    def ask(self, text: str) -> str: ...
    def ask_device(self, device: str, text: str) -> str: ...
    def ask_robot(self, robot: str, text: str) -> str: ...
    def device_values(self, device: str) -> list[float]: ...
    def images(self, device: str, threads: int = 1) -> tuple[int, list[tuple[str, int, int, bytes]]]:
        """The step of a camera's last image, and of each plane encoding, width, height and bytes."""

    def take_events(self) -> list[tuple[int, str, str, str, float | None]]:
        """Step, kind, subject, text and value of the events since the last call."""

class Batch:
    """Simulations of the world of another one, with its settings, stepped on several threads."""

    def __new__(
        cls, simulation: Simulation, count: int, threads: int, sensors: Sequence[str], actuators: Sequence[str]
    ) -> Batch: ...
    def __len__(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def widths(self) -> tuple[int, int]:
        """The numbers of readings and of commands of a simulation."""

    def advance(self, count: int, commands: _Floats, active: _Flags, readings: _Floats) -> None:
        """Commands the active simulations and makes steps of them, then copies the readings of all. The shapes are
        (simulations, commands), (simulations,) and (simulations, readings), all contiguous."""

    def read_into(self, readings: _Floats) -> None:
        """Copies the readings of all simulations; shape (simulations, readings)."""

    def present_commands(self, index: int, commands: _Floats) -> None:
        """Copies the present commands of a simulation; shape (commands,)."""

    def reset(self, seeds: Sequence[tuple[int, int | None]]) -> None:
        """Resets the simulations of these places, each with its seed; None keeps the seed."""

    def reset_with(self, worlds: Sequence[tuple[int, int | None, Sequence[tuple[str, str]]]]) -> None:
        """Builds the worlds of these places anew, each with its seed and with values of its model replaced, by their paths."""

    def status(self, times: _Floats, diverged: _Flags) -> None:
        """Copies the simulated times in s, and whether the physics has diverged; both of the shape (simulations,)."""

    def steps(self) -> list[int]: ...
    def state_hashes(self) -> list[str]: ...
    def snapshot(self, index: int) -> bytes: ...
    def restore(self, index: int, snapshot: bytes) -> None: ...
