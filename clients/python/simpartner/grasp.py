"""The grasp laboratory: the verbs of `simpartner grasp`, their answers as dictionaries. It needs the program, no running server.

    from simpartner import grasp

    found = grasp.check("worlds/grasps/pinch.xml")
    print(found["verdict"], found["least"]["squeeze_N"])

The page "Grasps" of the documentation defines the answers; their keys carry units. A grasp is a grasp file, or an
object file and a contact file of 1994. With `database`, a row of the log's table `grasp` keeps the answer.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from .errors import SimPartnerError
from .server import find_binary

_Path = str | os.PathLike[str]


class GraspError(SimPartnerError):
    """The program refused a grasp; the text is what it says of it. `code` is its exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def check(
    *files: _Path,
    edges: int | None = None,
    as_1994: bool = False,
    database: str | None = None,
    binary: _Path | None = None,
) -> dict[str, Any]:
    """Whether a grasp is in equilibrium, with forces or a certificate. With `edges`, friction cones are pyramids."""
    return _ask("check", files, {"edges": edges, "as-1994": as_1994, "database": database}, binary)


def chart(
    *files: _Path,
    tilt: float | None = None,
    force: float | None = None,
    torque: float | None = None,
    svg: _Path | None = None,
    edges: int | None = None,
    as_1994: bool = False,
    database: str | None = None,
    binary: _Path | None = None,
) -> dict[str, Any]:
    """How far gravity may be tilted, by up to `tilt` degrees, and how large a force (N) or torque (N m) may come beside it."""
    options = {"tilt": tilt, "force": force, "torque": torque, "svg": svg, "edges": edges, "as-1994": as_1994}
    options["database"] = database
    return _ask("chart", files, options, binary)


def quality(
    *files: _Path,
    norm: str = "l1",
    scaling: str = "unit",
    torque_scale: float | None = None,
    tolerance: float | None = None,
    edges: int | None = None,
    database: str | None = None,
    binary: _Path | None = None,
) -> dict[str, Any]:
    """Epsilon and other measures of the grasp wrench space, each between a lower and an upper bound."""
    options = {"norm": norm, "scaling": scaling, "torque-scale": torque_scale, "tolerance": tolerance, "edges": edges}
    options["database"] = database
    return _ask("quality", files, options, binary)


def slip(
    *files: _Path,
    timestep: float | None = None,
    duration: float | None = None,
    associated: bool = False,
    engine: bool = False,
    world: _Path | None = None,
    database: str | None = None,
    binary: _Path | None = None,
) -> dict[str, Any]:
    """What becomes of the object once it is let go; with `engine`, in the engine as well, whose world `world` is written to."""
    options = {"timestep": timestep, "duration": duration, "associated": associated, "engine": engine, "world": world}
    return _ask("slip", files, options | {"database": database}, binary)


def _ask(verb: str, files: tuple[_Path, ...], options: dict[str, Any], binary: _Path | None) -> dict[str, Any]:
    arguments = ["grasp", verb, *(os.fspath(file) for file in files), "--json"]
    for name, value in options.items():
        if value is True:
            arguments.append(f"--{name}")
        elif value is not None and value is not False:
            arguments += [f"--{name}", str(value)]
    program = find_binary(binary, Path.cwd())
    ran = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise GraspError(ran.stderr.strip(), ran.returncode)
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer
