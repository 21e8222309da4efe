"""The grasp laboratory from Python."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
import unittest
from pathlib import Path

from rig import BINARY, REPOSITORY, needs_server

from simpartner import grasp

GRASPS = REPOSITORY / "worlds" / "grasps"
PINCH = GRASPS / "pinch.xml"


@needs_server
class Laboratory(unittest.TestCase):
    def test_a_pinch_needs_its_weight_over_its_friction(self) -> None:
        found = grasp.check(PINCH, binary=BINARY)
        self.assertEqual(found["verdict"], "holds")
        self.assertAlmostEqual(found["least"]["squeeze_N"], 9.81 / 0.5, places=6)

    def test_the_chart_of_1994_comes_from_its_files(self) -> None:
        files = GRASPS / "1994" / "mod.txt", GRASPS / "1994" / "cod.txt"
        self.assertEqual(grasp.chart(*files, as_1994=True, binary=BINARY)["printed_count"], 478)

    def test_a_chart_is_drawn(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "chart.svg"
            found = grasp.chart(PINCH, tilt=30, force=100, svg=picture, binary=BINARY)
            self.assertTrue(picture.read_text().startswith("<svg"))
        down = next(along for along in found["disturbances"][0]["along"] if along["direction"] == [0, -1, 0])
        self.assertAlmostEqual(down["held"], 40 - 9.81, places=5)

    def test_bounds_of_quality_are_in_order(self) -> None:
        measures = grasp.quality(PINCH, norm="linf", binary=BINARY)["measures"]
        self.assertTrue(all(0 <= bounds["lower"] <= bounds["upper"] for bounds in measures.values()))

    def test_what_holds_does_not_slip(self) -> None:
        self.assertEqual(grasp.slip(PINCH, binary=BINARY)["verdict"], "holds")

    def test_the_engine_agrees_and_the_answer_is_kept(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            world, log = Path(folder) / "world.xml", Path(folder) / "log.db"
            found = grasp.slip(PINCH, engine=True, world=world, database=f"sqlite:{log}", binary=BINARY)
            self.assertIs(found["engine"]["agrees"], True)
            self.assertIn("<world", world.read_text())
            with contextlib.closing(sqlite3.connect(log)) as kept:
                self.assertEqual(kept.execute("SELECT verb, verdict FROM grasp").fetchall(), [("slip", "holds")])

    def test_a_refusal_says_why(self) -> None:
        with self.assertRaisesRegex(grasp.GraspError, "3 to 360 edges") as refused:
            grasp.check(PINCH, edges=2, binary=BINARY)
        self.assertEqual(refused.exception.code, 3)


if __name__ == "__main__":
    unittest.main()
