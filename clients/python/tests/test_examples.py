"""Every example, as a user runs it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

from rig import CLIENT, REPOSITORY, environment, launch, needs, needs_server

EXAMPLES = CLIENT / "examples"


def run(name: str, *arguments: str, code: int = 0) -> str:
    """What an example prints, started in the repository's folder."""
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode != code:
        raise AssertionError(f"{name} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


@needs_server
class Examples(unittest.TestCase):
    def test_the_circle_has_the_radius_that_the_bend_gives_it(self) -> None:
        # The wheels roll without side slip, so the path is the circle of the geometry; the physics' own tests hold it to 0.5 %.
        found = re.search(r"radius +([\d.]+) m, expected ([\d.]+) m", run("drive_circle.py", "--seconds", "15"))
        assert found is not None
        self.assertLess(abs(float(found[1]) / float(found[2]) - 1), 0.005)

    def test_the_controller_brings_the_robot_to_its_line(self) -> None:
        found = re.search(r"at the end ([\d.]+) mm", run("pid.py", "--seconds", "40"))
        assert found is not None
        # It starts a metre off.
        self.assertLess(float(found[1]), 50)

    @needs(importlib.util.find_spec("numpy"), "numpy is not installed")
    def test_the_camera_keeps_the_robot_on_the_line(self) -> None:
        def follow(*arguments: str) -> tuple[float, float]:
            told = run("follow_line.py", *arguments)
            way = re.search(r"way +([\d.]+) m", told)
            away = re.search(r"([\d.]+) mm at most", told)
            assert way is not None and away is not None, told
            return float(way[1]), float(away[1])

        # At 0.47 m/s for 16 s it is in the first quarter of a circle of 4 m. A robot that looks a metre ahead cuts the corner: a
        # chord of 2 m, from its rear axle to that place, is 2^2 / 8 / 4 = 0.13 m off its arc; twice that is not the line.
        way, away = follow("--seconds", "16")
        self.assertGreater(way, 7)
        self.assertLess(away, 250)
        self.assertEqual(follow("--seconds", "16"), (way, away))
        # A server beside a busy machine makes fewer images, which the robot steers by all the same.
        way, away = follow("--realtime", "--seconds", "8")
        self.assertGreater(way, 2)
        self.assertLess(away, 250)

    @needs(importlib.util.find_spec("gymnasium"), "gymnasium is not installed")
    def test_steering_comes_to_the_goal_and_gives_the_same_bits_each_time(self) -> None:
        first = run("gym_rollout.py", "--episodes", "1")
        self.assertRegex(first, r"steering seed 0: .*at the goal")
        self.assertEqual(run("gym_rollout.py", "--episodes", "1"), first)

    def test_a_log_is_plotted_as_table_and_as_picture(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            database = folder / "run.db"
            with launch(mode="fast", database=f"sqlite:{database}") as sim:
                sim.step(100)
            table, picture = folder / "out.csv", folder / "out.svg"
            run("plot_log.py", str(database), "--device", "One/Position", "--out", str(table))
            rows = table.read_text(encoding="utf-8").splitlines()
            self.assertEqual((rows[0], len(rows)), ("time,x,y,z", 101))
            time, _, y, _ = map(float, rows[-1].split(","))
            self.assertEqual(time, 0.1)
            self.assertAlmostEqual(y, 1000 - 5 * time**2, delta=1e-9)
            run("plot_log.py", str(database), "--device", "Two/Position", "--out", str(picture))
            lines = ElementTree.parse(picture).getroot().findall("{http://www.w3.org/2000/svg}polyline")
            self.assertEqual([len((line.get("points") or "").split()) for line in lines], [100] * 3)
            self.assertIn("2 sensors", run("plot_log.py", str(database), "--device", "Position", code=1))
            self.assertIn("there is no database", run("plot_log.py", str(folder / "none.db"), code=1))
            self.assertFalse((folder / "none.db").exists())

    def test_the_programs_of_the_readme_run(self) -> None:
        programs = re.findall(r"```python\n(.*?)```", (CLIENT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        self.assertEqual(len(programs), 3)
        for program in programs:
            command = [sys.executable, "-c", program]
            done = subprocess.run(
                command, cwd=REPOSITORY, env=environment(), capture_output=True, text=True, timeout=60, check=False
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
