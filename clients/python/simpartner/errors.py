"""What can go wrong, one class for each thing that a program may want to tell apart.

`RefusedError` and its children are the server's own words: a code and a text that says what was expected and what came. After
one nothing has changed and the connection goes on.
"""

from __future__ import annotations


class SimPartnerError(Exception):
    """The parent of all errors of this package."""


class ConnectionLostError(SimPartnerError, ConnectionError):
    """Nobody listens there, or the server has closed the connection."""


class NoAnswerError(SimPartnerError, TimeoutError):
    """The answer did not come in time. The connection is dropped, because the answer may still come; the next request opens
    another."""


class WireError(SimPartnerError):
    """An answer that this client does not understand."""


class UnknownDeviceError(SimPartnerError, KeyError):
    """No device has this name, or more than one has."""

    def __str__(self) -> str:
        # A KeyError would show its text in quotes.
        return str(self.args[0])


class LaunchError(SimPartnerError):
    """The server could not be started, or ended before it served. `code` is its exit code, if it had one."""

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.code = code


class NativeModuleError(SimPartnerError, ImportError):
    """This installation has no native module, which simulations in this process need."""


class ModelError(SimPartnerError, ValueError):
    """A world or a robot has problems; the text has file, line and column of each."""


class SettingError(SimPartnerError, ValueError):
    """A setting is unknown, or its value does not fit."""


class SnapshotError(SimPartnerError, ValueError):
    """The snapshot is damaged, or of another model, engine or version."""


class DivergedError(SimPartnerError, ArithmeticError):
    """The physics has diverged, and no further step is made until a reset."""


class RefusedError(SimPartnerError):
    """`ERR code text`: the server refused a request."""

    def __init__(self, code: int, text: str, request: str = "", who: str = "the server") -> None:
        asked = f" to '{request}'" if request else ""
        super().__init__(f"{who} answers{asked}: ERR {code} {text}")
        self.code = code
        self.text = text
        self.request = request


class UnknownVerbError(RefusedError):
    """1: no such verb on this port. A sensor answers so to a command."""


class WrongCountError(RefusedError):
    """2: a frame with the wrong number of numbers."""


class NotANumberError(RefusedError):
    """3: something that is no finite decimal."""


class OutOfRangeError(RefusedError):
    """4: a number out of its range."""


class BadMessageError(RefusedError):
    """5: a message of more than 4096 bytes, or one that is not text."""


class BusyError(RefusedError):
    """6: too much waits already, or too many are connected."""


class WrongStateError(RefusedError):
    """7: it does not fit the present state."""


class WrongParameterError(RefusedError):
    """8: a parameter that is missing or unknown."""


class TokenError(RefusedError):
    """9: the server wants its token."""


class DeviceOffError(RefusedError):
    """10: a fault has put the device off."""


_REFUSALS: dict[int, type[RefusedError]] = {
    1: UnknownVerbError,
    2: WrongCountError,
    3: NotANumberError,
    4: OutOfRangeError,
    5: BadMessageError,
    6: BusyError,
    7: WrongStateError,
    8: WrongParameterError,
    9: TokenError,
    10: DeviceOffError,
}


def read_refusal(answer: str, request: str = "", who: str = "the server") -> RefusedError | None:
    """The error that an answer says, or None if it is none. A code that is not known here gives a plain `RefusedError`."""
    word, _, rest = answer.partition(" ")
    if word != "ERR":
        return None
    code, _, text = rest.partition(" ")
    if not code.isdecimal():
        return RefusedError(0, rest, request, who)
    return _REFUSALS.get(int(code), RefusedError)(int(code), text, request, who)
