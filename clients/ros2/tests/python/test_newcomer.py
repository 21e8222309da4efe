"""The path of a newcomer: a URDF file, one command, joints by a topic and over TCP, the robot with its meshes in the browser."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from rig import REPOSITORY, SERVER, WHY, Process, Rig

if not WHY:
    import numpy

    from rosdds import near, positions, publish

LOOK = REPOSITORY / "clients" / "viewer" / "test" / "look.mjs"
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = [name for name in ("pybullet_data", "PIL") if importlib.util.find_spec(name) is None]
LACKS = (
    f"Python lacks {', '.join(MISSING)}" if MISSING
    else "" if shutil.which("node") and BROWSER
    else "there is no node or no Chromium"
)  # fmt: skip

# Where the pictures stay, to be looked at.
PICTURES = Path(os.environ.get("SIMPARTNER_SHOTS", Path(tempfile.gettempdir()) / "simpartner-shots"))


@unittest.skipIf(LACKS, LACKS)
class Newcomer(Rig):
    """An industrial arm of pybullet_data."""

    def serve_file(self, file: str) -> str:
        """One command, with the ports that are free; returns the address of the page."""
        ports = self.folder / "ports.json"
        server = Process(
            [str(SERVER), "run", "--world", file, "--fixed-base", "--database", "none",
             "--free-ports", "--ports-file", str(ports), "--set", "viewer.port=0"]
        )  # fmt: skip
        self.addCleanup(server.stop)
        page = server.wait_for("viewer").split()[-1]
        server.wait_for("Ctrl-C ends the run")
        self.ports = json.loads(ports.read_text(encoding="utf-8"))
        return page

    def look(self, page: str, folder: Path) -> Any:
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["node", str(LOOK), page, str(folder)], capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_an_arm_moves_and_is_seen_with_its_meshes(self) -> None:
        import pybullet_data
        from PIL import Image

        page = self.serve_file(f"{pybullet_data.getDataPath()}/kuka_iiwa/model.urdf")
        self.bridge()
        ros = self.ros()
        states = ros.reader("/joint_states", "sensor_msgs/msg/JointState")
        angles = [0.5, 0.6, -0.4, -1.2, 0.3, 0.7, 0.0]
        publish(ros.writer("/position_controller/commands", "std_msgs/msg/Float64MultiArray"), positions(*angles))
        states.wait(lambda state: all(near(*pair, 0.01) for pair in zip(state.position, angles, strict=True)))
        # The last joint over TCP, as netcat would.
        drives = [device for device in self.ports["devices"] if device["kind"].endswith("Controller")]
        motor = self.device(drives[-1]["name"])
        motor.file.readline()
        motor.ask("0,0,1.0")
        states.wait(lambda state: near(state.position[-1], 1.0, 0.01) and near(state.position[0], angles[0], 0.01))
        # What the browser draws: all triangles of the file's meshes, on a good part of the picture.
        folder = PICTURES / "newcomer"
        seen = self.look(page, folder)
        self.assertEqual(seen["complaints"], [])
        scene = json.loads(self.control().ask("SCENE").removeprefix("OK "))
        visuals = [visual for body in scene["bodies"] for visual in body["visuals"]]
        triangles = sum(len(visual.get("triangles", [])) for visual in visuals)
        self.assertGreater(triangles, 10_000)
        self.assertGreaterEqual(seen["triangles"], triangles)
        files = [folder / f"{name}.png" for name in ("shown", "hidden")]
        pictures = [numpy.asarray(Image.open(file).convert("RGB"), int) for file in files]
        x, y, width, height = (int(seen["box"][key]) for key in ("x", "y", "width", "height"))
        shown, hidden = (picture[y : y + height, x : x + width] for picture in pictures)
        changed = (abs(shown - hidden).max(axis=2) > 24).mean()
        self.assertGreater(changed, 0.01, f"the arm covers {changed:.1%} of the picture")
        print(f"\n{triangles} triangles, on {changed:.1%} of the picture: {folder / 'shown.png'}")


if __name__ == "__main__":
    unittest.main()
