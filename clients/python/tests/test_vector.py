"""Environments in this process, one and many, where gymnasium and the native module are installed."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

from rig import BINARY, REPOSITORY, launch, needs, needs_native, needs_server, simpartner

try:
    import gymnasium
    import numpy as np
    from gymnasium.utils.env_checker import check_env
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    from simpartner.gym import Channel, DriveEnv
except ImportError:
    gymnasium = None  # type: ignore[assignment]

NAVIGATION = REPOSITORY / "worlds" / "navigation.xml"
SHORT: dict[str, Any] = {"steps": 20, "episode": 0.2, "goal_distance": (0.5, 3.0)}
"""Episodes of at most ten steps, some of which end at once at their goals."""


def make(count: int, **options: Any) -> Any:
    return simpartner.make_vec(NAVIGATION, count, **{"new_noise": False, **options})


def actions_of(count: int, seed: int = 3) -> Any:
    generator = np.random.default_rng(seed)
    while True:
        yield generator.uniform(-1, 1, (count, 2)).astype(np.float32)


@needs_native
@needs(gymnasium, "gymnasium is not installed")
class OneEnvironment(unittest.TestCase):
    def test_the_checker_of_gymnasium_finds_nothing(self) -> None:
        env = gymnasium.make("SimPartner/DriveEmbedded-v0", world=NAVIGATION, steps=20, render_mode="rgb_array")
        self.addCleanup(env.close)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check_env(env.unwrapped)
        expected = ("infinity", "spec", "symmetric and normalized", "render")
        rest = [str(each.message) for each in caught if not any(word in str(each.message) for word in expected)]
        self.assertEqual(rest, [])

    @needs_server
    def test_it_has_the_bits_of_an_environment_with_a_server(self) -> None:
        def roll(env: DriveEnv) -> list[object]:
            seen: list[object] = [env.reset(seed=7)[0].tobytes()]
            for _, actions in zip(range(15), actions_of(1), strict=False):
                observation, reward, *rest = env.step(actions[0])
                seen += [observation.tobytes(), reward, *rest]
            return seen

        here = DriveEnv(NAVIGATION, steps=20, embedded=True)
        there = DriveEnv(NAVIGATION, steps=20, folder=REPOSITORY, binary=BINARY)
        self.addCleanup(there.close)
        self.assertEqual(roll(here), roll(there))
        self.assertEqual(roll(here), roll(there))


@needs_native
@needs(gymnasium, "gymnasium is not installed")
class ManyEnvironments(unittest.TestCase):
    def assert_same(self, one: Any, other: Any, what: str = "") -> None:
        """Both are equal bit for bit: arrays, dictionaries of them, or arrays of arrays."""
        if isinstance(one, dict):
            # Gymnasium has no entry for what is nowhere, and we have none that it has not.
            for key in {*one, *other}:
                self.assert_same(one[key], other[key], f"{what}.{key}")
        elif isinstance(one, np.ndarray) and one.dtype == object:
            for mine, its in zip(one, other, strict=True):
                self.assertEqual(mine is None, its is None, what)
                if mine is not None:
                    self.assertEqual(np.asarray(mine).tobytes(), np.asarray(its).tobytes(), what)
        else:
            self.assertEqual(np.asarray(one).tobytes(), np.asarray(other).tobytes(), what)

    def test_they_are_gymnasiums_vector_of_single_ones_in_every_autoreset_mode(self) -> None:
        for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            mine = make(3, threads=2, autoreset_mode=mode, **SHORT)
            its = SyncVectorEnv([lambda: DriveEnv(NAVIGATION, embedded=True, **SHORT)] * 3, autoreset_mode=mode)
            self.assert_same(mine.reset(seed=5)[0], its.reset(seed=5)[0])
            ends = 0
            for _, actions in zip(range(25), actions_of(3), strict=False):
                *step, told = mine.step(actions)
                *expected, its_told = its.step(actions)
                for name, one, other in zip(("observation", "reward", "terminated", "truncated"), step, expected, strict=True):
                    self.assert_same(one, other, f"{mode} {name}")
                self.assert_same(told["step"], its_told["step"])
                self.assert_same(told["time"], its_told["time"])
                self.assertEqual("final_obs" in told, "final_obs" in its_told)
                if "final_obs" in told:
                    self.assert_same(told["final_obs"], its_told["final_obs"])
                    self.assert_same(told["_final_obs"], its_told["_final_obs"])
                    ended = told["_final_obs"]
                    self.assert_same(told["final_info"]["time"][ended], its_told["final_info"]["time"][ended])
                ends += int(np.sum(step[2] | step[3]))
            self.assertGreater(ends, 4)

    def test_disabled_autoreset_waits_for_a_mask(self) -> None:
        envs = make(2, autoreset_mode="Disabled", **SHORT)
        envs.reset(seed=1)
        ended = np.zeros(2, bool)
        while not ended.any():
            _, _, terminated, truncated, _ = envs.step(np.zeros((2, 2), np.float32))
            ended = terminated | truncated
        with self.assertRaises(gymnasium.error.ResetNeeded):
            envs.step(np.zeros((2, 2), np.float32))
        _, told = envs.reset(options={"reset_mask": ended})
        self.assertEqual(list(told["step"] == 0), list(ended))
        envs.step(np.zeros((2, 2), np.float32))
        for wrong in (np.zeros(2, bool), np.ones(3, bool), [True, True]):
            with self.assertRaises(ValueError):
                envs.reset(options={"reset_mask": wrong})

    @needs_server
    def test_worlds_have_the_state_of_a_server_on_any_number_of_threads(self) -> None:
        hashes = []
        for threads in (1, 3):
            envs = make(4, threads=threads, steps=20)
            envs.reset(seed=2)
            for _, actions in zip(range(8), actions_of(4), strict=False):
                envs.step(actions)
            hashes.append(envs.state_hashes())
        self.assertEqual(*hashes)
        self.assertEqual(len(set(hashes[0])), 4)
        with launch(NAVIGATION) as server:
            env = DriveEnv(steps=20, simulation=server)
            env.reset(seed=2 + 3)
            for _, actions in zip(range(8), actions_of(4), strict=False):
                env.step(actions[3])
            env.close()
        assert server.server is not None
        self.assertEqual(server.server.summary["state"], hashes[0][3])

    def test_seeds_are_for_each_environment(self) -> None:
        envs = make(3)
        first, _ = envs.reset(seed=[4, 5, 4])
        self.assertEqual(first[0].tobytes(), first[2].tobytes())
        self.assertNotEqual(first[0].tobytes(), first[1].tobytes())
        self.assertEqual(envs.np_random_seed, (4, 5, 4))
        self.assertNotEqual(envs.reset()[0].tobytes(), first.tobytes())
        self.assertEqual(envs.reset(seed=[4, 5, 4])[0].tobytes(), first.tobytes())
        with self.assertRaises(ValueError):
            envs.reset(seed=[1, 2])

    def test_values_of_the_model_vary_from_episode_to_episode(self) -> None:
        def factor(generator: Any) -> str:
            return f"*{generator.uniform(0.9, 1.1)}"

        envs = make(3, randomize={"surface.friction": (0.2, 1.0), "WorkPartner.*.mass": factor}, threads=2, **SHORT)
        again = make(3, randomize={"surface.friction": (0.2, 1.0), "WorkPartner.*.mass": factor}, threads=1, **SHORT)
        seen = []
        for one in (envs, again):
            one.reset(seed=5)
            first = [dict(drawn) for drawn in one.parameters]
            for _, actions in zip(range(12), actions_of(3), strict=False):
                one.step(actions)
            seen.append((first, one.parameters, one.state_hashes()))
        self.assertEqual(seen[0], seen[1])
        first, later, _ = seen[0]
        self.assertEqual(len({drawn["surface.friction"] for drawn in [*first, *later]}), 6)
        self.assertTrue(all(0.2 <= float(drawn["surface.friction"]) < 1.0 for drawn in first))
        with self.assertRaisesRegex(simpartner.SimPartnerError, "did you mean 'friction'"):
            make(1, randomize={"surface.frction": (0.2, 1.0)}).reset(seed=1)

    def test_noise_is_new_in_each_episode_or_that_of_the_simulation(self) -> None:
        text = NAVIGATION.read_text(encoding="utf-8").replace(
            "</world>",
            """<robot name="Noisy"><body name="b"><mass>1</mass><pose y="1" z="5"/><sphere radius="0.1"/></body>
            <sensor type="PositionSensor" name="Where" body="b" port="0"><noise standardDeviation="0.1"/></sensor>
            </robot></world>""",
        )
        def seen(new_noise: bool) -> Any:
            envs = make(2, text=text, sensors=("Pose", "Where"), new_noise=new_noise, steps=5)
            envs.reset(seed=[3, 4])
            first = envs.step(np.zeros((2, 2), np.float32))[0][:, 7:10]
            envs.reset()
            return np.concatenate((first, envs.step(np.zeros((2, 2), np.float32))[0][:, 7:10]))

        fresh, same = seen(True), seen(False)
        self.assertEqual(len({row.tobytes() for row in fresh}), 4)
        self.assertEqual(len({row.tobytes() for row in same}), 1)
        self.assertEqual(seen(True).tobytes(), fresh.tobytes())

    def test_gymnasium_makes_them_by_their_id(self) -> None:
        envs = gymnasium.make_vec(
            "SimPartner/DriveEmbedded-v0", num_envs=2, vectorization_mode="vector_entry_point", world=NAVIGATION, steps=20
        )
        self.addCleanup(envs.close)
        observations, _ = envs.reset(seed=1)
        self.assertIn(observations, envs.observation_space)
        observations, rewards, *_ = envs.step(envs.action_space.sample())
        self.assertEqual((observations.shape, rewards.shape), (envs.observation_space.shape, (2,)))

    def test_wrong_arguments_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "num_envs"):
            make(0)
        with self.assertRaisesRegex(ValueError, "no field 'speed'"):
            make(1, channels=(Channel(("WheelMotor1",), "speed", 0, 1),))
        with self.assertRaises(simpartner.UnknownDeviceError):
            make(1, sensors=("Pos",))
        envs = make(2)
        with self.assertRaises(gymnasium.error.ResetNeeded):
            envs.step(np.zeros((2, 2), np.float32))
        envs.reset(seed=0)
        for wrong in (np.zeros((2, 3)), np.zeros(2), np.full((2, 2), np.nan)):
            with self.assertRaisesRegex(ValueError, "actions: expected"):
                envs.step(wrong)
        with self.assertRaisesRegex(simpartner.OutOfRangeError, "world 0"):
            wild = make(1, channels=(Channel(("WheelMotor1",), "max_force_1", -5.0, 5.0),), frames={})
            wild.reset(seed=0)
            wild.step(np.full((1, 1), -1.0))


