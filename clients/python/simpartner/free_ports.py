"""Copies of world and robot files whose devices take any free port, so that many servers run side by side."""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import escape, unescape

from .errors import LaunchError

_FILE = re.compile(r"""(<(?P<element>[\w.-]+)[^<>]*?\sfile\s*=\s*)(?P<quote>["'])(?P<path>.*?)(?P=quote)""", re.DOTALL)
_PORT = re.compile(r"""(\sport\s*=\s*)(["']).*?\2""")


def copy_with_free_ports(world: Path, scratch: Path) -> Path:
    """Copies a world and its robots into a folder and returns the world's copy. Other files that they name, like
    heightfields, stay where they are and are named by their full paths."""
    copies: dict[Path, Path] = {}
    return _copy(world.resolve(), scratch, copies)


def _copy(source: Path, scratch: Path, copies: dict[Path, Path]) -> Path:
    if source in copies:
        return copies[source]
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as error:
        raise LaunchError(f"cannot read {source}: {error}") from error
    copies[source] = scratch / f"{len(copies)}-{source.name}"

    def rename(place: re.Match[str]) -> str:
        path = unescape(place["path"])
        if place["element"] in ("robot", "include"):
            target = _copy(_find(source, path), scratch, copies)
        else:
            target = source.parent / path
        return f"{place[1]}{place['quote']}{escape(str(target))}{place['quote']}"

    text = _PORT.sub(r"\g<1>\g<2>0\g<2>", _FILE.sub(rename, text))
    copies[source].write_text(text, encoding="utf-8")
    return copies[source]


def _find(source: Path, path: str) -> Path:
    """Beside the file that names it, or in the `robots` folder beside that file's folder, as the server looks for it."""
    beside, among_robots = source.parent / path, source.parent / ".." / "robots" / path
    return (beside if beside.is_file() or not among_robots.is_file() else among_robots).resolve()
