"""A client of the SimPartner robot simulator. The core needs the standard library only.

    import simpartner

    with simpartner.connect() as sim:
        sim.pause()
        sim["WorkPartner/WheelMotor1"].command(velocity_3=2)
        sim.step(1000)
        print(sim["WorkPartner/Position"].read().values.x)

Start at `connect`, or at `launch` to start a server as well. `simpartner.arrays` needs numpy, `simpartner.gym` needs numpy and
gymnasium.

The server's module `protocol` documents the wire. This package knows no kind of device by name: fields and kinds are what
the server says they are.
"""

from .camera import Image, ImageStream, Optics, Plane
from .device import Device, Subscription
from .errors import (
    BadMessageError,
    BusyError,
    ConnectionLostError,
    DeviceOffError,
    LaunchError,
    NoAnswerError,
    NotANumberError,
    OutOfRangeError,
    RefusedError,
    SimPartnerError,
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

__version__ = "0.1.0"

__all__ = [
    "BadMessageError",
    "BusyError",
    "ConnectionLostError",
    "Device",
    "DeviceOffError",
    "Devices",
    "Field",
    "Image",
    "ImageStream",
    "Info",
    "LaunchError",
    "Lockstep",
    "NoAnswerError",
    "NotANumberError",
    "Optics",
    "OutOfRangeError",
    "Plane",
    "Reading",
    "RefusedError",
    "Robot",
    "Server",
    "SimPartnerError",
    "Simulation",
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
]
