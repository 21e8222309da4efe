"""Runs the cases of a sweep as tasks of Ray. Needs Ray and the program `simpartner`.

    python -m simpartner.ray_sweep SWEEP.toml --database postgres://me@host/sweeps

A task calls `simpartner sweep run --cases A..B`. A case is deterministic and stored as a whole, so Ray can start a task
again on another machine after a preemption. Tasks write to the database server. An SQLite file is written by this driver
alone: each task returns a file of its own, which `sweep merge` copies into it. Cases that are stored already are skipped.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from .errors import SimPartnerError
from .server import find_binary

_DONE, _MISSED, _DIFFER, _LOG = 0, 6, 10, 4
"""Exit codes of `sweep run`: success, cases failed, cases differ from stored ones, the database failed."""
_NOT_FOUND = 127
"""The exit code of shells for a program that does not exist."""
_TASKS_PER_CORE: Final = 8
"""Default number of tasks per core: the last tasks then leave cores idle for at most about an eighth of the time."""
_WAITING: Final = 1000
"""Largest number of submitted tasks. It shows an autoscaler the demand, and keeps each call of `ray.wait` short."""
_LOST_IN_A_ROW: Final = 10
"""After this number of lost tasks without a finished one between them, the cause concerns all tasks."""
_PROGRESS_INTERVAL_S: Final = 2.0
_PATIENCE_S: Final = 5.0

Span = tuple[int, int]
"""The first and the last case of a range."""


class SweepError(SimPartnerError):
    """The sweep cannot start or continue; the text names the cause and a remedy."""


def spans(cases: Iterable[int]) -> list[Span]:
    """The ranges of consecutive cases."""
    found: list[Span] = []
    for case in sorted(cases):
        if found and found[-1][1] == case - 1:
            found[-1] = found[-1][0], case
        else:
            found.append((case, case))
    return found


def split(ranges: Iterable[Span], size: int) -> Iterator[Span]:
    """The same cases in ranges of at most `size`."""
    for first, last in ranges:
        for begin in range(first, last + 1, size):
            yield begin, min(begin + size - 1, last)


def simulate(program: str, words: list[str], folder: str | None, returns_file: bool) -> tuple[int, str, bytes]:
    """The task on a worker. Returns the exit code, the output, and the SQLite file with the results.

    Raises `ConnectionError`, upon which Ray repeats the task, if the program was killed or lost its database.
    """
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))
    found = program if Path(program).is_file() else shutil.which("simpartner", path=path)
    if found is None:
        return _NOT_FOUND, f"{socket.gethostname()} has no {program}, and no simpartner in PATH", b""
    place = folder if folder is not None and Path(folder).is_dir() else None
    with tempfile.TemporaryDirectory() as scratch:
        part = Path(scratch) / "part.db"
        call = [found, *words, *(["--database", f"sqlite:{part}"] if returns_file else [])]
        ran = subprocess.run(call, cwd=place, capture_output=True, text=True, check=False)
        said = ran.stderr.strip() or ran.stdout.strip()
        if ran.returncode < 0 or ran.returncode == _LOG:
            raise ConnectionError(f"exit code {ran.returncode} on {socket.gethostname()}: {said}")
        return ran.returncode, said, part.read_bytes() if returns_file and part.is_file() else b""


class Sweep:
    """A planned sweep in its database."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.chosen = chosen
        self.program = str(find_binary(chosen.program, Path.cwd()))
        self.is_file = chosen.database.startswith("sqlite:")
        database = f"sqlite:{os.path.abspath(chosen.database[7:])}" if self.is_file else chosen.database
        self.target = ["--database", database]
        # The plan is made from the folder of the workers, because the hash of a sweep includes the files that it finds.
        self.folder = os.path.abspath(chosen.upload or ".")
        self.file = os.path.relpath(chosen.file, self.folder) if chosen.upload else os.path.abspath(chosen.file)
        if self.is_file and re.search(r"^\s*log\s*=", _text_of(chosen.file), re.MULTILINE):
            raise SweepError(f"{chosen.file} keeps logs, which `sweep merge` does not copy; name a database server")
        planned = self.ask("plan", self.file, *self.target, *chosen.options).splitlines()[-1]
        if (found := re.match(r"(.*): (\d+) cases, sweep (\d+) in ", planned)) is None:
            raise SweepError(f"{self.program} is of another version than this package; `sweep plan` answered: {planned}")
        self.name, self.cases, self.number = found[1], int(found[2]), found[3]

    def ask(self, verb: str, *words: str) -> str:
        """The output of a verb of `simpartner sweep`."""
        call = [self.program, "sweep", verb, *words]
        ran = subprocess.run(call, cwd=self.folder, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise SweepError(f"simpartner sweep {verb}: {ran.stderr.strip() or f'exit code {ran.returncode}'}")
        return ran.stdout

    def statuses(self) -> dict[int, str]:
        """The statuses of the stored cases."""
        rows = json.loads(self.ask("results", self.number, "--format", "json", *self.target))
        return {row["case"]: row["status"] for row in rows}

    def wanted(self) -> list[Span]:
        """The cases to simulate."""
        first, last = self.chosen.cases or (0, self.cases - 1)
        if last >= self.cases:
            raise SweepError(f"--cases: {self.name} has the cases 0 to {self.cases - 1}, not {last}")
        if self.chosen.cases and not self.is_file:
            return [(first, last)]
        stored = self.statuses().keys()
        missing = [case for case in range(first, last + 1) if case not in stored]
        if skipped := last + 1 - first - len(missing):
            print(f"{skipped} cases are stored already", flush=True)
        return spans(missing)

    def merge(self, files: list[bytes]) -> None:
        """Copies the results of finished tasks into the SQLite file."""
        with tempfile.TemporaryDirectory() as scratch:
            parts = [Path(scratch) / f"{number}.db" for number, _ in enumerate(files)]
            for part, content in zip(parts, files, strict=True):
                part.write_bytes(content)
            if parts:
                self.ask("merge", *(f"sqlite:{part}" for part in parts), *self.target)


class Driver:
    """Submits ranges of cases to Ray and collects them."""

    def __init__(self, ray: Any, sweep: Sweep) -> None:
        self.ray, self.sweep, chosen = ray, sweep, sweep.chosen
        folder = None if chosen.upload else sweep.folder
        self._words = ["sweep", "run", sweep.file, "--threads", str(chosen.cores), *chosen.options]
        self._words += [] if sweep.is_file else sweep.target
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # Workers then need no package.
        # Only another attempt at a ConnectionError can have another result. A dead worker is always replaced.
        options = {"num_cpus": chosen.cores, "max_retries": chosen.retries, "retry_exceptions": [ConnectionError]}
        task: Any = ray.remote(**options)(simulate)
        self._submit: Callable[[list[str]], Any] = lambda words: task.remote(sweep.program, words, folder, sweep.is_file)
        self.lost: dict[str, list[int]] = {}
        """The cases of tasks that ended without results, by the cause."""
        self.differs = False
        self._done, self._lost_in_a_row = 0, 0

    def run(self, wanted: list[Span]) -> None:
        """Simulates these cases."""
        cases = sum(last - first + 1 for first, last in wanted)
        cores = int(self.ray.cluster_resources().get("CPU", 1))
        size = self.sweep.chosen.per_task or max(1, cases // (_TASKS_PER_CORE * cores))
        waiting = split(wanted, size)
        running: dict[Any, Span] = {}
        began = shown = time.monotonic()
        print(f"{self.sweep.name}: {cases} cases, {size} a task, on {cores} cores", flush=True)
        while True:
            while len(running) < _WAITING and (span := next(waiting, None)) is not None:
                running[self._submit([*self._words, "--cases", f"{span[0]}..{span[1]}"])] = span
            if not running:
                return
            self.ray.wait(list(running), num_returns=1)
            finished, _ = self.ray.wait(list(running), num_returns=len(running), timeout=0)
            files = [self._collect(task, running.pop(task)) for task in finished]
            self.sweep.merge([content for content in files if content])
            now = time.monotonic()
            if now - shown >= _PROGRESS_INTERVAL_S or not running:
                shown, rate = now, self._done / (now - began)
                left = f"{(cases - self._done) / rate:.0f} s left" if rate > 0 else "time left unknown"
                print(f"{self._done} of {cases} cases, {rate:.1f} a second, {left}", flush=True)

    def _collect(self, task: Any, span: Span) -> bytes:
        """Takes the results of a task."""
        try:
            code, said, content = self.ray.get(task)
        except self.ray.exceptions.RayError as error:
            # The cause is the exception on the worker, without the traceback.
            code, said, content = 1, str(getattr(error, "cause", None) or error).strip(), b""
        if code in (_DONE, _MISSED, _DIFFER):
            self._done, self._lost_in_a_row = self._done + span[1] - span[0] + 1, 0
            self.differs |= code == _DIFFER
            return bytes(content)
        self.lost.setdefault(said, []).extend(range(span[0], span[1] + 1))
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= _LOST_IN_A_ROW:
            raise SweepError(f"{self._lost_in_a_row} tasks in a row ended without results, the last because: {said}")
        return b""


def report(sweep: Sweep, wanted: list[Span], lost: dict[str, list[int]], differs: bool) -> int:
    """Prints what is missing, what failed, and the status. Returns the exit code, which is that of `sweep run`, or 1 if
    cases are missing."""
    url, again = shlex.quote(sweep.chosen.database), f"python -m simpartner.ray_sweep {shlex.join(sweep.chosen.words)}"
    statuses = sweep.statuses()
    known = statuses.keys() | {case for cases in lost.values() for case in cases}
    if strange := [case for first, last in wanted for case in range(first, last + 1) if case not in known]:
        lost["workers have other files or another program, so the results are those of another sweep"] = strange
    for cause, cases in lost.items():
        print(f"cases {_list(cases)} have no results: {cause}\n  retry: {again}")
    for status in ("failed", "diverged"):
        if cases := [case for case, found in statuses.items() if found == status]:
            print(f"{len(cases)} cases {status}: {_list(cases)}")
    if has_failed := "failed" in statuses.values():
        print(f"  causes: simpartner sweep results {sweep.number} --database {url}")
        print(f"  retry: simpartner sweep retry {sweep.number} --database {url} && {again}")
    print(sweep.ask("status", *sweep.target), end="", flush=True)
    if lost:
        return 1
    return _DIFFER if differs else _MISSED if has_failed or "diverged" in statuses.values() else _DONE


def main(arguments: list[str] | None = None) -> int:
    """Runs a sweep; returns the exit code."""
    chosen = _parse(sys.argv[1:] if arguments is None else arguments)
    try:
        ray = _import_ray()
        sweep = Sweep(chosen)
        if not (wanted := sweep.wanted()):
            return report(sweep, [], {}, False)
        with _cluster(ray, chosen):
            driver = Driver(ray, sweep)
            driver.run(wanted)
        return report(sweep, wanted, driver.lost, driver.differs)
    except SimPartnerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; finished cases are stored, and the same command continues", file=sys.stderr)
        return 130


def _import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise SweepError(f"Ray is not installed, or cannot be imported ({error}): pip install ray") from error


@contextlib.contextmanager
def _cluster(ray: Any, chosen: argparse.Namespace) -> Iterator[None]:
    """A connection to Ray. Without a running cluster Ray starts on this machine, and ends with the context."""
    environment = {"working_dir": chosen.upload} if chosen.upload else None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if place := re.fullmatch(r"(?:ray://)?([^:/]+):(\d+)", chosen.address or os.environ.get("RAY_ADDRESS", "")):
            # Ray itself tries for minutes.
            socket.create_connection((place[1], int(place[2])), _PATIENCE_S).close()
        ray.init(
            address=chosen.address,
            runtime_env=environment,
            log_to_driver=False,
            logging_level="error",
            ignore_reinit_error=True,
        )
    except (OSError, ValueError) as error:
        raise SweepError(f"cannot use Ray at {chosen.address or 'this machine'}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _list(cases: Iterable[int]) -> str:
    return ", ".join(str(first) if first == last else f"{first}..{last}" for first, last in spans(cases))


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise SweepError(f"cannot read {file}: {error.strerror}") from error


def _cases(text: str) -> Span:
    found = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    if found is None or int(found[1]) > int(found[2]):
        raise argparse.ArgumentTypeError(f"expected FIRST..LAST, both included, as 100..199, got '{text}'")
    return int(found[1]), int(found[2])


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1, got '{text}'")
    return int(text)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m simpartner.ray_sweep",
        description="runs the cases of a sweep as tasks of Ray",
        epilog="What follows `--` are options of `simpartner sweep run`, as `-- --model surface.friction=0.4`.",
    )
    add = parser.add_argument
    add("file", help="sweep file")
    add("--database", required=True, metavar="URL", help="a database that all workers reach, or sqlite:FILE")
    add("--cases", type=_cases, metavar="A..B", help="only these; a database server compares those that it has")
    add("--per-task", type=_positive, metavar="N", help="cases of a task [default: about 8 tasks a core]")
    add("--cores", type=_positive, default=1, metavar="N", help="processor cores of a task [default: 1]")
    add("--retries", type=_positive, default=3, metavar="N", help="attempts after a lost worker or database [default: 3]")
    add("--address", help="address of the cluster [default: RAY_ADDRESS, a running one, or this machine]")
    add("--upload", metavar="FOLDER", help="copies this folder, which has the sweep file, to the workers")
    add("--program", metavar="FILE", help="the program simpartner, here and on the workers")
    place = arguments.index("--") if "--" in arguments else len(arguments)
    chosen = parser.parse_args(arguments[:place])
    chosen.options, chosen.words = arguments[place + 1 :], arguments
    return chosen


if __name__ == "__main__":
    sys.exit(main())
