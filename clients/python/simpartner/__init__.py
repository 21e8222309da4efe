"""A client of the SimPartner robot simulator. The core needs the standard library only.

    import simpartner

    with simpartner.connect() as sim:
        sim.pause()
        sim["WorkPartner/WheelMotor1"].command(velocity_3=2)
        sim.step(1000)
        print(sim["WorkPartner/Position"].read().values.x)

Start at `connect`, or at `launch` to start a server as well. `load` is a simulation in this process, which needs the native
module; `make_vec` is many of them for learning. `simpartner.arrays` needs numpy, `simpartner.gym` needs numpy and gymnasium.

The server's module `protocol` documents the wire. This package knows no kind of device by name: fields and kinds are what
the server says they are.
"""

from typing import TYPE_CHECKING, Any

from .camera import Image, ImageStream, Optics, Plane
from .device import Device, Subscription
from .errors import (
    BadMessageError,
    BusyError,
    ConnectionLostError,
    DeviceOffError,
    DivergedError,
    LaunchError,
    ModelError,
    NativeModuleError,
    NoAnswerError,
    NotANumberError,
    OutOfRangeError,
    RefusedError,
    SettingError,
    SimPartnerError,
    SnapshotError,
    TokenError,
    UnknownDeviceError,
    UnknownVerbError,
    WireError,
    WrongCountError,
    WrongParameterError,
    WrongStateError,
)
from .launch import launch
from .lockstep import Lockstep, Robot, Turn
from .reading import Field, Info, Reading, Values
from .server import Server
from .simulation import Devices, Simulation, State, connect

if TYPE_CHECKING:
    from .embedded import load
    from .vector import make_vec

__version__ = "0.1.0"

__all__ = [
    "BadMessageError",
    "BusyError",
    "ConnectionLostError",
    "Device",
    "DeviceOffError",
    "Devices",
    "DivergedError",
    "Field",
    "Image",
    "ImageStream",
    "Info",
    "LaunchError",
    "Lockstep",
    "ModelError",
    "NativeModuleError",
    "NoAnswerError",
    "NotANumberError",
    "Optics",
    "OutOfRangeError",
    "Plane",
    "Reading",
    "RefusedError",
    "Robot",
    "Server",
    "SettingError",
    "SimPartnerError",
    "Simulation",
    "SnapshotError",
    "State",
    "Subscription",
    "TokenError",
    "Turn",
    "UnknownDeviceError",
    "UnknownVerbError",
    "Values",
    "WireError",
    "WrongCountError",
    "WrongParameterError",
    "WrongStateError",
    "connect",
    "launch",
    "load",
    "make_vec",
]

_LAZY = {"load": "embedded", "make_vec": "vector"}
"""Names whose modules need more than the standard library, and are imported when they are asked for."""


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
