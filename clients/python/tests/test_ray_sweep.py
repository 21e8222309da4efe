"""Sweeps on Ray, and the driver's messages. What needs Ray is skipped where it is not installed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from rig import BINARY, REPOSITORY, environment, needs_server

from simpartner import ray_sweep

SWEEP = """\
world = "worlds/flat.xml"
sequence = "robots/straight.xml"
duration_s = 0.05

[vary]
surface.friction = { from = 0.2, to = 1, count = 12 }

[measure]
x = "body:WorkPartner/FrontChassis.x"
load = "body:WorkPartner/Wheel1.F_y mean"
"""

KILLER = """\
#!/bin/sh
# The first task kills its worker, as a preemption does.
if [ "$2" = run ] && mkdir '{folder}/killed' 2>/dev/null; then kill -9 $PPID; sleep 1; exit 1; fi
exec '{program}' "$@"
"""

POSTGRES = os.environ.get("SIMPARTNER_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")


def psql(statement: str) -> bool:
    """Whether the test's PostgreSQL is there and takes the statement."""
    if shutil.which("psql") is None:
        return False
    call = ["psql", POSTGRES, "--quiet", "--command", statement]
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(call, capture_output=True, check=False, timeout=10).returncode == 0
    return False


class Folder(unittest.TestCase):
    """A sweep file in a folder of its own."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "friction.toml"
        self.file.write_text(SWEEP, encoding="utf-8")
        self.database = f"sqlite:{self.folder}/ray.db"

    def drive(self, *words: str, code: int = 0) -> str:
        """What the driver prints."""
        call = [sys.executable, "-m", "simpartner.ray_sweep", str(self.file), "--database", self.database, *words]
        ran = subprocess.run(
            call, cwd=REPOSITORY, env=environment(), capture_output=True, text=True, timeout=300, check=False
        )
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran.stdout

    def sweep(self, *words: str) -> str:
        """What `simpartner sweep` prints."""
        call = [str(BINARY), "sweep", *words]
        return subprocess.run(call, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout

    def tables(self) -> tuple[str, str]:
        """The results of Ray and those of one `sweep run`."""
        plain = f"sqlite:{self.folder}/plain.db"
        self.sweep("run", str(self.file), "--database", plain)
        found = [self.sweep("results", "friction", "--format", "csv", "--database", url) for url in (self.database, plain)]
        self.assertEqual(len(found[1].splitlines()), 13)
        return found[0], found[1]


class Messages(Folder):
    """What needs no Ray."""

    def say(self, *words: str) -> str:
        """What the driver answers to a call that it refuses."""
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(said):
            self.assertEqual(ray_sweep.main([str(self.file), "--database", self.database, *words]), 1)
        return said.getvalue()

    def test_ranges_have_each_case_once(self) -> None:
        ranges = ray_sweep.spans([7, 1, 2, 3, 9, 8])
        self.assertEqual(ranges, [(1, 3), (7, 9)])
        self.assertEqual(list(ray_sweep.split(ranges, 2)), [(1, 2), (3, 3), (7, 8), (9, 9)])

    def test_without_ray_the_remedy_is_named(self) -> None:
        with mock.patch.dict(sys.modules, ray=None):  # type: ignore[dict-item]
            self.assertIn("pip install ray", self.say())

    @needs_server
    def test_wrong_calls_are_refused_before_a_cluster_is_asked(self) -> None:
        with mock.patch.dict(sys.modules, ray=mock.Mock()):
            self.assertIn("there is no server at", self.say("--program", "/nowhere/simpartner"))
            self.assertIn("has the cases 0 to 11, not 99", self.say("--cases", "3..99", "--program", str(BINARY)))
            self.file.write_text('log = "full"\n' + SWEEP, encoding="utf-8")
            self.assertIn("name a database server", self.say("--program", str(BINARY)))
            self.file.write_text(SWEEP.replace("surface", "surfac"), encoding="utf-8")
            self.assertIn("did you mean 'surface'", self.say("--program", str(BINARY)))


@needs_server
@unittest.skipUnless(importlib.util.find_spec("ray"), "Ray is not installed")
class OnRay(Folder):
    def test_a_file_has_the_table_of_one_sweep_run_although_a_worker_is_killed(self) -> None:
        killer = self.folder / "killer.sh"
        killer.write_text(KILLER.format(folder=self.folder, program=BINARY), encoding="utf-8")
        killer.chmod(0o755)
        self.assertIn("5 of 5 cases", self.drive("--cases", "2..6", "--per-task", "2"))
        said = self.drive("--per-task", "3", "--program", str(killer))
        self.assertTrue((self.folder / "killed").is_dir())
        self.assertIn("5 cases are stored already", said)
        self.assertIn("12 of 12 cases: completed 12", said)
        ray, plain = self.tables()
        self.assertEqual(ray, plain)

    @unittest.skipUnless(psql("SELECT 1"), "PostgreSQL or its program psql is not there")
    def test_a_database_server_has_the_table_of_one_sweep_run(self) -> None:
        name = f"simpartner_ray_{os.getpid()}"
        self.assertTrue(psql(f"CREATE DATABASE {name}"))
        self.addCleanup(psql, f"DROP DATABASE {name}")
        self.database = f"{POSTGRES.rpartition('/')[0]}/{name}"
        # The folder of the sweep file goes to the workers.
        upload = ("--upload", str(self.folder))
        self.assertIn("12 of 12 cases: completed 12", self.drive("--per-task", "2", *upload))
        # Cases that are there are simulated again and compared.
        self.assertIn("4 of 4 cases", self.drive("--cases", "0..3", *upload))
        ray, plain = self.tables()
        self.assertEqual(ray, plain)

    def test_failed_cases_are_named_with_the_command_that_repeats_them(self) -> None:
        self.file.write_text(SWEEP + 'bad = { sql = "SELECT nothing FROM pose" }\n', encoding="utf-8")
        said = self.drive("--cases", "3..5", "--per-task", "2", code=6)
        self.assertIn("3 cases failed: 3..5", said)
        self.assertIn(f"simpartner sweep retry 1 --database {self.database} && python -m simpartner.ray_sweep", said)


if __name__ == "__main__":
    unittest.main()
