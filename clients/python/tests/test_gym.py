"""The Gymnasium environment and the arrays, where gymnasium and numpy are installed."""

from __future__ import annotations

import contextlib
import io
import math
import unittest
import warnings
from pathlib import Path
from unittest import mock

from rig import BINARY, FALLING, REPOSITORY, launch, needs, needs_server, simpartner

from simpartner.wire import Connection

try:
    import numpy as np

    from simpartner import arrays
except ImportError:
    arrays = None  # type: ignore[assignment]
try:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    from simpartner.gym import Channel, DriveEnv
    from simpartner.picture import SIZE, draw
except ImportError:
    DriveEnv = None  # type: ignore[assignment, misc]

NAVIGATION = REPOSITORY / "worlds" / "navigation.xml"


def make(**options: object) -> DriveEnv:
    return DriveEnv(NAVIGATION, folder=REPOSITORY, binary=BINARY, steps=20, **options)  # type: ignore[arg-type]


@needs_server
@needs(DriveEnv, "gymnasium is not installed")
class Environment(unittest.TestCase):
    def test_the_checker_of_gymnasium_finds_nothing(self) -> None:
        env = make(render_mode="rgb_array")
        self.addCleanup(env.close)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check_env(env)
        # The world has no edge, so neither has the box of what is seen; and an environment made by hand has no spec.
        expected = ("infinity", "spec", "symmetric and normalized")
        rest = [str(each.message) for each in caught if not any(word in str(each.message) for word in expected)]
        self.assertEqual(rest, [])

    def test_a_seed_and_actions_determine_every_bit_in_a_reset_and_in_a_fresh_server(self) -> None:
        def roll(env: DriveEnv) -> list[object]:
            generator = np.random.default_rng(3)
            seen: list[object] = [env.reset(seed=7)[0].tobytes()]
            for _ in range(15):
                observation, reward, *_ = env.step(generator.uniform(-1, 1, 2).astype(np.float32))
                seen += [observation.tobytes(), reward]
            return seen

        one, two = make(), make()
        self.addCleanup(one.close)
        self.addCleanup(two.close)
        first = roll(one)
        self.assertEqual(roll(one), first)
        self.assertEqual(roll(two), first)
        self.assertNotEqual(one.reset(seed=8)[0].tobytes(), first[0])

    def test_an_episode_ends_at_the_goal_or_when_its_time_is_over(self) -> None:
        env = make(goal_distance=(0.6, 0.6), goal_angle=0.0, reach=0.55, episode=2.0)
        self.addCleanup(env.close)
        env.reset(seed=1)
        total, terminated, truncated = 0.0, False, False
        while not (terminated or truncated):
            _, reward, terminated, truncated, told = env.step(np.array([1.0, 0.0], dtype=np.float32))
            total += reward
        self.assertTrue(terminated)
        self.assertGreaterEqual(total, 0.05 - 1e-9)
        env.reset(seed=1)
        stand = np.array([0.0, 0.0], dtype=np.float32)
        flags = [env.step(stand)[2:4] for _ in range(100)]
        self.assertEqual(flags[-1], (False, True))
        self.assertFalse(any(any(pair) for pair in flags[:-1]))
        self.assertEqual(told["goal"], env.goal)

    def test_heading_and_velocities_are_observed(self) -> None:
        env = make(goal_distance=(50.0, 50.0), episode=60.0)
        self.addCleanup(env.close)
        observation, _ = env.reset(seed=2)
        self.assertEqual(observation.shape, (7 + 6 + 4,))
        self.assertAlmostEqual(math.hypot(*observation[-4:-2]), 50)
        self.assertAlmostEqual(observation[-2], 1)
        former = observation
        for _ in range(300):
            former, (observation, *_) = observation, env.step(np.array([1.0, 0.6], dtype=np.float32))
        # To the left by some radians; the chassis looks to where it moves but for the bend of its middle joint.
        speed, _, right, *_, yaw_rate, _ = observation[7:13]
        self.assertGreater(speed, 0.5)
        self.assertGreater(yaw_rate, 0.1)
        turned = math.atan2(observation[-1], observation[-2]) - math.atan2(former[-1], former[-2])
        self.assertAlmostEqual(math.remainder(turned, math.tau) / 0.02, yaw_rate, delta=0.02 * yaw_rate)
        moved = math.atan2(-(observation[2] - former[2]), observation[0] - former[0])
        slip = math.remainder(moved - math.atan2(observation[-1], observation[-2]), math.tau)
        self.assertAlmostEqual(slip, math.atan2(-right, speed), delta=0.02)
        way = math.hypot(env.goal[0] - observation[0], env.goal[1] - observation[2])
        self.assertAlmostEqual(math.hypot(*observation[-4:-2]), way)

    def test_a_picture_shows_robot_trail_and_goal_where_they_are(self) -> None:
        env = make(render_mode="rgb_array")
        self.addCleanup(env.close)
        with self.assertRaises(gymnasium.error.ResetNeeded):
            env.render()
        env.reset(seed=1)
        for _ in range(20):
            env.step(np.array([1.0, 0.0], dtype=np.float32))
        first = env.render()
        self.assertEqual((first.shape, first.dtype), ((SIZE, SIZE, 3), np.uint8))
        self.assertTrue(np.array_equal(first, env.render()), "looking changes nothing")
        for _ in range(20):
            env.step(np.array([1.0, 0.0], dtype=np.float32))
        self.assertFalse(np.array_equal(first, env.render()))
        # A robot that looks along x, and a goal to its left, which is up.
        picture = draw([(-1.0, 0.0), (0.0, 0.0)], 0.0, (0.0, -2.0), 0.5)
        green = np.argwhere(np.all(picture == (21, 128, 61), axis=2)).mean(axis=0)
        blue = np.argwhere(np.all(picture == (79, 127, 184), axis=2)).mean(axis=0)
        dark = np.argwhere(np.all(picture == (24, 33, 44), axis=2)).mean(axis=0)
        self.assertLess(green[0], blue[0] - 50)
        self.assertGreater(dark[1], blue[1] + 20)
        self.assertLess(abs(dark[0] - blue[0]), 1)
        for distance in (1.0, 1e3, 1e6):
            self.assertEqual(draw([(0.0, 0.0)], None, (distance, 0.0), 0.5).shape, (SIZE, SIZE, 3))

    def test_for_people_the_page_is_named_once(self) -> None:
        env = make(render_mode="human")
        self.addCleanup(env.close)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            env.reset(seed=1)
            env.reset(seed=2)
        self.assertIsNone(env.render())
        self.assertRegex(said.getvalue(), r"\Athe simulation is shown at http://127\.0\.0\.1:\d+/\n\Z")
        with self.assertRaisesRegex(ValueError, "expected one of rgb_array, human"):
            make(render_mode="ansi")

    def test_a_step_is_one_line_there_and_one_back(self) -> None:
        env = make()
        self.addCleanup(env.close)
        env.reset(seed=1)
        said: list[str] = []
        send_line = Connection.send_line

        def note(connection: Connection, text: str) -> None:
            said.append(text)
            send_line(connection, text)

        with mock.patch.object(Connection, "send_line", note):
            env.step(np.array([1.0, 0.0], dtype=np.float32))
            env.step(np.array([1.0, 0.0], dtype=np.float32))
        self.assertEqual([line.split(" ")[:2] for line in said], [["ACK", "0+20"], ["ACK", "20+20"]])

    def test_what_is_not_ready_says_so(self) -> None:
        env = make()
        self.addCleanup(env.close)
        with self.assertRaises(gymnasium.error.ResetNeeded):
            env.step(np.array([0.0, 0.0], dtype=np.float32))
        env.reset(seed=1)
        env.simulation.quit()
        with self.assertRaises(simpartner.SimPartnerError):
            for _ in range(3):
                env.step(np.array([0.0, 0.0], dtype=np.float32))
        env.close()
        env.close()
        with self.assertRaises(gymnasium.error.ClosedEnvironmentError):
            env.reset()

    def test_any_robot_will_do_and_a_wrong_field_is_named(self) -> None:
        with launch(FALLING, mode="fast") as sim:
            spin = [Channel(["One/LeftMotor"], "velocity_3", -1, 3)]
            env = DriveEnv(sensors=["One/Position", "Two/LeftMotor"], channels=spin, frames={}, simulation=sim)
            observation, _ = env.reset(seed=1)
            self.assertEqual(observation.shape, (3 + 6 + 2,))
            env.step(np.array([0.5], dtype=np.float32))
            self.assertEqual(sim["One/LeftMotor"].present()[5], 2)
            env.close()
            self.assertEqual(sim.state.state, "PAUSED", "it was not the environment's to end")
            with self.assertRaisesRegex(ValueError, "no field 'speed'"):
                DriveEnv(
                    sensors=["One/Position"],
                    channels=[Channel(["One/LeftMotor"], "speed", 0, 1)],
                    frames={},
                    simulation=sim,
                )

    def test_it_is_made_by_its_registered_name(self) -> None:
        env = gymnasium.make("SimPartner/Drive-v0", world=NAVIGATION, folder=REPOSITORY, binary=BINARY)
        self.addCleanup(env.close)
        observation, _ = env.reset(seed=1)
        self.assertTrue(env.observation_space.contains(observation))


@needs_server
@needs(arrays, "numpy is not installed")
class Arrays(unittest.TestCase):
    def test_readings_turn_into_columns(self) -> None:
        with launch(mode="fast") as sim:
            readings = []
            for _ in range(10):
                sim.step(10)
                readings.append(sim["Two/Position"].read())
            table = arrays.stack(readings)
            self.assertEqual(table.dtype.names, ("step", "time", "dropped", "x", "y", "z"))
            self.assertTrue(np.array_equal(table["step"], np.arange(10, 101, 10)))
            self.assertTrue(np.allclose(table["y"], 2000 - 5 * table["time"] ** 2, atol=1e-9, rtol=0))
            self.assertEqual(arrays.matrix(readings).shape, (10, 3))
            sim.mode("realtime")
            sim.play()
            recorded = arrays.record(sim["Two/Position"], count=5, every=10, timeout=10)
            self.assertEqual(len(recorded), 5)
            self.assertTrue(np.all(np.diff(recorded["step"]) >= 1))

    def test_no_readings_are_an_empty_table(self) -> None:
        self.assertEqual(len(arrays.stack([])), 0)


class WithoutExtras(unittest.TestCase):
    def test_the_core_imports_the_standard_library_only(self) -> None:
        import ast
        import sys

        package = Path(simpartner.__file__).parent
        for path in package.glob("*.py"):
            if path.stem in ("arrays", "drive", "embedded", "gym", "parallel", "picture", "pixels", "vector"):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module or ""]
                for name in names:
                    self.assertIn(name.partition(".")[0], sys.stdlib_module_names, path.name)


if __name__ == "__main__":
    unittest.main()
