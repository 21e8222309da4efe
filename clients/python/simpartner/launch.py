"""Starting a server from a program, and connecting to it. Start at `launch`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from .server import Server, find_binary
from .simulation import Simulation, attach


def launch(
    world: str | os.PathLike[str] | None = None,
    *,
    mode: str | None = None,
    rate: float | None = None,
    paused: bool = True,
    timestep: float | None = None,
    database: str = "none",
    settings: Mapping[str, object] | None = None,
    arguments: Iterable[str] = (),
    free_ports: bool = False,
    binary: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] = ".",
    token: str | None = None,
    timeout: float = 30.0,
) -> Simulation:
    """Starts a server, waits for its ports and connects. The end of the simulation's context ends the server.

    - `world`: a world file, seen from `folder`; the server's setting where it is not given.
    - `mode`, `rate`, `timestep` in seconds: the server's settings where they are not given.
    - `paused`: whether the clock waits for `step`, `run_to` or `play`.
    - `database`: where the run is logged, like `sqlite:run.db`; nowhere unless given.
    - `settings`: any others by their names, as `{"physics.engine": "rapier"}`; `arguments`: more of the command line.
    - `free_ports`: gives everything any free port, so that many servers run side by side.
    - `binary`: the program; else the variable SIMPARTNER_BIN, else `target/release` or `target/debug` of `folder` or of a folder
      around it, else the search path.

    The control port is any free one unless `settings` has `server.control_port`.
    """
    place = Path(folder).resolve()
    command = [str(find_binary(binary, place)), "run", "--database", database]
    command += ["--free-ports"] if free_ports else []
    command += ["--world", str(world)] if world is not None else []
    command += ["--mode", mode] if mode is not None else []
    command += ["--rate", repr(float(rate))] if rate is not None else []
    command += ["--paused"] if paused else []
    given: dict[str, object] = {"server.control_port": 0}
    if timestep is not None:
        given["simulation.timestep_s"] = timestep
    if token is not None:
        given["server.token"] = token
    for key, value in {**given, **(settings or {})}.items():
        command += ["--set", f"{key}={str(value).lower() if isinstance(value, bool) else value}"]
    server = Server([*command, *arguments], place)
    try:
        host, port = server.wait_until_it_serves(timeout)
        return attach("127.0.0.1" if host == "0.0.0.0" else host, port, token, timeout, server)
    except BaseException:
        server.close()
        raise
