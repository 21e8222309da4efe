"""Lines over TCP, with deadlines. It knows the shape of messages, nothing of what they mean. Start at `Port`."""

from __future__ import annotations

import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from .errors import (
    ConnectionLostError,
    NoAnswerError,
    RefusedError,
    TokenError,
    UnknownVerbError,
    WireError,
    read_refusal,
)

MAX_LINE: Final = 1 << 20
"""The longest line that is read, in bytes: far above a scanner's reading, and a bound on what a stranger can make us store."""

_PIECE: Final = 1 << 16
"""The most bytes that are taken from a socket at once: what it usually holds."""

_Answer = TypeVar("_Answer")
_Item = TypeVar("_Item")
_Self = TypeVar("_Self", bound="Stream[Any]")

_PAIR: Final = re.compile(r"(?:^| )([A-Za-z_][A-Za-z0-9_]*)=")


class Connection:
    """A connection to one port. It is for one thread at a time."""

    def __init__(self, host: str, port: int, who: str, token: str | None, timeout: float | None) -> None:
        self.who = f"{who} at {host}:{port}"
        self._waiting = bytearray()
        try:
            self._socket = socket.create_connection((host, port), timeout)
        except TimeoutError as error:
            raise NoAnswerError(f"{self.who} did not take the connection within {timeout} s") from error
        except OSError as error:
            raise ConnectionLostError(f"cannot connect to {self.who}: {error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if token is not None:
            self.send_line(f"TOKEN {token}")

    def send_line(self, text: str) -> None:
        """Sends a line."""
        if "\n" in text:
            raise ValueError("a message is one line")
        try:
            self._socket.sendall(text.encode() + b"\n")
        except OSError as error:
            raise ConnectionLostError(f"{self.who} has closed the connection: {error}") from error

    def read_line(self, timeout: float | None) -> str:
        """The next line. A frame whose text holds line ends counts as one line."""
        deadline = None if timeout is None else time.monotonic() + timeout
        searched = 0
        while True:
            end = self._waiting.find(b"\n", searched)
            framed = self._waiting.startswith(b"<")
            if end >= 0 and (not framed or self._waiting[:end].rstrip().endswith(b">")):
                line = bytes(self._waiting[:end])
                del self._waiting[: end + 1]
                return line.decode(errors="replace").strip("\r\n")
            searched = end + 1 if end >= 0 else len(self._waiting)
            if end < 0:
                self._receive(deadline, timeout)
            if len(self._waiting) > MAX_LINE:
                raise WireError(f"{self.who} sends a line of more than {MAX_LINE} bytes")

    def read_bytes(self, count: int, timeout: float | None) -> bytes:
        """So many bytes. After a timeout they may be asked for again."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while len(self._waiting) < count:
            self._receive(deadline, timeout)
        taken = bytes(memoryview(self._waiting)[:count])
        del self._waiting[:count]
        return taken

    def has_more(self) -> bool:
        """Whether something has come that has not been read."""
        if not self._waiting:
            try:
                self._socket.settimeout(0)
                self._waiting += self._socket.recv(_PIECE)
            except OSError:
                pass  # Nothing has come; or the connection is lost, which the next reading says.
        return bool(self._waiting)

    def _receive(self, deadline: float | None, timeout: float | None) -> None:
        left = None if deadline is None else deadline - time.monotonic()
        try:
            if left is not None and left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            piece = self._socket.recv(_PIECE)
        except TimeoutError as error:
            raise NoAnswerError(f"{self.who} said nothing for {timeout} s") from error
        except OSError as error:
            raise ConnectionLostError(f"{self.who} has closed the connection: {error}") from error
        if not piece:
            raise ConnectionLostError(f"{self.who} has closed the connection")
        self._waiting += piece

    def close(self) -> None:
        """Closes it; once is enough and twice does no harm. A thread that waits for a line is woken."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # The other end was quicker.
        self._socket.close()


class Port:
    """A port that is asked, one request after the other, by any number of threads.

    It connects at the first request. After a failure the connection is dropped, since an answer may still be under way, and
    the next request opens another. No request is ever sent twice.
    """

    def __init__(self, host: str, port: int, who: str, token: str | None, timeout: float | None) -> None:
        self.host, self.port, self.who, self.token = host, port, who, token
        self.timeout = timeout
        self.lock = threading.RLock()
        self._connection: Connection | None = None
        self._closed = False

    def ask(self, text: str, timeout: float | None) -> str:
        """Sends a line and returns its answer; a refusal is raised."""
        return self.ask_lines(text, timeout, lambda _: True)[-1]

    def ask_lines(self, text: str, timeout: float | None, is_last: Callable[[str], bool]) -> list[str]:
        """Sends a line and returns the lines of its answer up to the last one; a refusal is raised."""

        def read(connection: Connection, first: str) -> list[str]:
            lines = [first]
            while not is_last(lines[-1]):
                lines.append(connection.read_line(timeout))
                if (refusal := read_refusal(lines[-1], text, self.who)) is not None:
                    raise refusal
            return lines

        return self.ask_for(text, timeout, read)

    def ask_for(self, text: str, timeout: float | None, read: Callable[[Connection, str], _Answer]) -> _Answer:
        """Sends a line and returns what `read` makes of the connection and the first line of the answer; a refusal is
        raised."""
        with self.lock:
            connection = self._open()
            try:
                connection.send_line(text)
                first = connection.read_line(timeout)
                if (refusal := read_refusal(first, text, self.who)) is not None:
                    raise refusal
                return read(connection, first)
            except (ValueError, RefusedError):
                # The text was never sent, or its answer is complete.
                raise
            except BaseException:
                # Also Ctrl-C leaves an answer under way.
                self._drop()
                raise

    def open(self) -> Connection:
        """A fresh connection, greeted, for whoever wants one of their own."""
        connection = Connection(self.host, self.port, self.who, self.token, self.timeout)
        try:
            self.greet(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def greet(self, connection: Connection) -> None:
        """Takes what the server says first. The control port says nothing, but is asked whether it took the token."""
        if self.token is None:
            return
        connection.send_line("STATE")
        refusal = read_refusal(connection.read_line(self.timeout), "TOKEN ...", self.who)
        if isinstance(refusal, UnknownVerbError):
            raise UnknownVerbError(refusal.code, "the server wants no token; leave it out", "TOKEN ...", self.who)
        if refusal is not None:
            raise refusal

    def close(self) -> None:
        """Closes the connection for good, without waiting for a request that another thread has under way."""
        self._closed = True
        self._drop()

    def _open(self) -> Connection:
        if self._closed:
            raise ConnectionLostError(f"the connection to {self.who} was closed here")
        if self._connection is None:
            self._connection = self.open()
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class DevicePort(Port):
    """A device's port, which speaks first."""

    def greet(self, connection: Connection) -> None:
        """Hears the greeting. A device that is off greets with its refusal and still understands some requests."""
        refusal = read_refusal(connection.read_line(self.timeout), "", self.who)
        if isinstance(refusal, TokenError) or (refusal is not None and refusal.code == 6):
            raise refusal


class Stream(Generic[_Item]):
    """What a device sends after `SUB`, on a connection of its own: an iterator and a context manager, for one thread at a time.

    It ends when the server does, or when it is closed, from whatever thread. A kind of stream says how its next item is read.
    """

    def __init__(self, line: DevicePort, request: str, timeout: float | None) -> None:
        self.dropped = 0
        """The number of items that were missed so far."""
        self.timeout = timeout
        self._connection: Connection = line.open()
        self._open = True
        try:
            self._connection.send_line(request)
            answer = self._connection.read_line(line.timeout)
            if (refusal := read_refusal(answer, request, line.who)) is not None:
                raise refusal
        except BaseException:
            self.close()
            raise

    def _read(self, connection: Connection) -> tuple[_Item, int]:
        """The next item, and how many were missed before it."""
        raise NotImplementedError

    def __iter__(self: _Self) -> _Self:
        return self

    def __next__(self) -> _Item:
        """The next item. After a `NoAnswerError` or a `RefusedError` it may be asked for again."""
        if not self._open:
            raise StopIteration
        try:
            item, dropped = self._read(self._connection)
        except ConnectionLostError:
            self.close()
            raise StopIteration from None
        self.dropped += dropped
        return item

    def close(self) -> None:
        """Ends the stream."""
        self._open = False
        self._connection.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_pairs(text: str) -> dict[str, str]:
    """`key=value key=value` as a mapping. Values may hold blanks, keys may not."""
    places = list(_PAIR.finditer(text))
    ends = [*(place.start() for place in places), len(text)][1:]
    return {place[1]: text[place.end() : end].strip() for place, end in zip(places, ends, strict=False)}


def read_numbers(text: str) -> tuple[float, ...]:
    """Numbers with commas between them; none in an empty text."""
    try:
        return tuple(float(part) for part in text.split(",")) if text.strip() else ()
    except ValueError as error:
        raise WireError(f"expected numbers, got '{text[:80]}'") from error


def write_numbers(values: Iterable[float]) -> str:
    """Numbers with commas between them, each in digits that read back as the same number."""
    numbers = [float(value) for value in values]
    for place, number in enumerate(numbers, 1):
        if not math.isfinite(number):
            raise ValueError(f"number {place}: expected a finite one, got {number}")
    return ",".join(map(repr, numbers))
