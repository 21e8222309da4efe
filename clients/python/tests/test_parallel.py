"""Several robots in one world as agents, where PettingZoo and the native module are installed."""

from __future__ import annotations

import unittest
from typing import Any

from rig import REPOSITORY, needs_native

try:
    import numpy as np
    from pettingzoo.test import parallel_api_test

    from simpartner.gym import DriveEnv
    from simpartner.parallel import DriveParallelEnv
except ImportError:
    DriveParallelEnv = None  # type: ignore[assignment, misc]

NAVIGATION = REPOSITORY / "worlds" / "navigation.xml"


def two_robots(**options: Any) -> Any:
    """Two robots 50 m from each other."""
    second = '<robot file="workpartner1_navigation.xml" name="Second" portOffset="100"><pose z="50"/></robot></world>'
    text = NAVIGATION.read_text(encoding="utf-8").replace("</world>", second)
    return DriveParallelEnv(NAVIGATION, text=text, steps=20, **options)


@needs_native
@unittest.skipIf(DriveParallelEnv is None, "pettingzoo or gymnasium is not installed")
class Agents(unittest.TestCase):
    def test_the_checker_of_pettingzoo_finds_nothing(self) -> None:
        parallel_api_test(two_robots(episode=0.4), num_cycles=50)

    def test_a_robot_far_from_the_others_has_the_rewards_of_one_alone(self) -> None:
        alone = DriveEnv(NAVIGATION, steps=20, embedded=True)
        agents = two_robots(robots=["WorkPartner"])
        first, _ = alone.reset(seed=4)
        its, _ = agents.reset(seed=4)
        self.assertEqual(its["WorkPartner"].tobytes(), first.tobytes())
        generator = np.random.default_rng(1)
        for _ in range(10):
            action = generator.uniform(-1, 1, 2).astype(np.float32)
            observation, reward, *_ = alone.step(action)
            its, rewards, *_ = agents.step({"WorkPartner": action})
            # Contacts of one world are numbered together, so sums may be rounded otherwise.
            np.testing.assert_allclose(its["WorkPartner"], observation, rtol=0, atol=1e-9)
            self.assertAlmostEqual(rewards["WorkPartner"], reward, delta=1e-9)

    def test_who_is_at_the_goal_leaves_and_all_leave_at_the_end(self) -> None:
        agents = two_robots(goal_distance=(0.6, 3.0), goal_angle=0.0, episode=1.0, reach=0.55)
        observations, _ = agents.reset(seed=0)
        self.assertEqual(sorted(observations), ["Second", "WorkPartner"])
        ends: dict[str, str] = {}
        while agents.agents:
            actions = {agent: np.array([1.0, 0.0], np.float32) for agent in agents.agents}
            _, _, terminated, *_ = agents.step(actions)
            left = [agent for agent in actions if agent not in agents.agents]
            ends.update({agent: "goal" if terminated[agent] else "time" for agent in left})
        self.assertEqual(sorted(ends), ["Second", "WorkPartner"])
        self.assertEqual(agents.simulation.native.time >= 1.0, "time" in ends.values())
