"""The Gymnasium environment and the arrays, where gymnasium and numpy are installed."""

from __future__ import annotations

import unittest
import warnings
from pathlib import Path

from rig import BINARY, FALLING, HOUSE, launch, needs_server, simpartner

try:
    import numpy as np

    from simpartner import arrays
except ImportError:
    arrays = None  # type: ignore[assignment]
try:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    from simpartner.gym import Channel, DriveEnv
except ImportError:
    DriveEnv = None  # type: ignore[assignment, misc]

FLAT = HOUSE / "worlds" / "flat.xml"


def make(**options: object) -> DriveEnv:
    return DriveEnv(FLAT, folder=HOUSE, binary=BINARY, mode="fast", steps=20, **options)  # type: ignore[arg-type]


@needs_server
@unittest.skipUnless(DriveEnv, "gymnasium is not installed")
class Environment(unittest.TestCase):
    def test_the_checker_of_gymnasium_finds_nothing(self) -> None:
        env = make()
        self.addCleanup(env.close)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check_env(env, skip_render_check=True)
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
        env = gymnasium.make("SimPartner/Drive-v0", world=FLAT, folder=HOUSE, binary=BINARY, mode="fast")
        self.addCleanup(env.close)
        observation, _ = env.reset(seed=1)
        self.assertTrue(env.observation_space.contains(observation))


@needs_server
@unittest.skipUnless(arrays, "numpy is not installed")
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
            if path.name in ("gym.py", "arrays.py"):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module or ""]
                for name in names:
                    self.assertIn(name.partition(".")[0], sys.stdlib_module_names, path.name)


if __name__ == "__main__":
    unittest.main()
