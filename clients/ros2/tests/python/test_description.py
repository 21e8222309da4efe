"""/robot_description beside an independent reader of URDF, the server's own figures and /tf."""

from __future__ import annotations

import importlib.util
import io
import json
import math
import time
import unittest
import urllib.error
import urllib.request
from typing import Any

from rig import REPOSITORY, WHY, Rig

MISSING = [name for name in ("yourdfpy", "trimesh", "numpy") if importlib.util.find_spec(name) is None]
needs_readers = unittest.skipIf(MISSING, f"Python lacks {', '.join(MISSING)}")

if not MISSING:
    import numpy
    import trimesh
    import yourdfpy
if not WHY:
    from rosdds import matched


# Commands of actuators, for a coordinate or a rate.
COMMANDS = {"PositionController": "0,0,{}", "JointController": "100,100,100,0,0,{}", "AngleController": "0,0,{},50,0,5"}


def data() -> str | None:
    """The folder of pybullet_data, if there is one."""
    if importlib.util.find_spec("pybullet_data") is None:
        return None
    import pybullet_data

    return str(pybullet_data.getDataPath())


def parts(shape: Any) -> list[Any]:
    """A shape of the scene, or what it is made of."""
    return [inner for part in shape["parts"] for inner in parts(part)] if shape["kind"] == "compound" else [shape]


def pose(position: Any, quaternion: Any) -> Any:
    """A pose of the server as a matrix; its quaternions end with w."""
    x, y, z, w = quaternion
    whole = trimesh.transformations.quaternion_matrix([w, x, y, z])
    whole[:3, 3] = position
    return whole


def places(shape: Any, outer: Any) -> list[Any]:
    """Where a shape, or each of its parts, is. Cylinders stand along y here and along z in a URDF."""
    own = outer @ pose(shape["position"], shape["rotation"])
    if shape["kind"] == "compound":
        return [place for part in shape["parts"] for place in places(part, own)]
    upright = own @ trimesh.transformations.rotation_matrix(-math.pi / 2, [1, 0, 0])
    if shape["kind"] == "capsule":
        # A cylinder with a sphere at either end.
        ends = [pose([0, end * shape["length"], 0], [0, 0, 0, 1]) for end in (-0.5, 0.5)]
        return [upright, *(own @ end for end in ends)]
    return [upright if shape["kind"] == "cylinder" else own]


def matrix(translation: Any, rotation: Any) -> Any:
    """A transform of /tf as a matrix."""
    turn = [rotation.w, rotation.x, rotation.y, rotation.z]
    whole = trimesh.transformations.quaternion_matrix(turn)
    whole[:3, 3] = [translation.x, translation.y, translation.z]
    return whole


@needs_readers
class Description(Rig):
    """What a viewer or a planner of ROS makes of a robot."""

    def check(self, robot: str, meshes: bool) -> None:
        """Serves a robot, lets it fall for a moment, and holds the description against all else that is told."""
        world = f'<world name="w"><gravity y="-9.81"/><robot file="{robot}" name="R"><pose y="3"/></robot></world>'
        self.serve(world, "--paused")
        self.bridge()
        ros = self.ros()
        text = ros.reader("/robot_description", "std_msgs/msg/String", latched=True).wait().data
        model = yourdfpy.URDF.load(io.BytesIO(text.encode()), load_meshes=False, build_scene_graph=False).robot
        scene = json.loads(self.control().ask("SCENE").removeprefix("OK "))
        self.check_masses(model, scene)
        self.check_meshes(model, scene, meshes)
        self.check_frames(model, ros, scene)

    def check_masses(self, model: Any, scene: Any) -> None:
        bodies = [body for body in scene["bodies"] if body["robot"] == "R"]
        self.assertEqual([link.name for link in model.links], [body["name"].removeprefix("R/") for body in bodies])
        inertials = [link.inertial for link in model.links]
        total = sum(inertial.mass for inertial in inertials if inertial is not None)
        self.assertAlmostEqual(total, sum(body["mass"] for body in bodies), delta=1e-12 * total)
        for inertial, body in zip(inertials, bodies, strict=True):
            if inertial is not None:
                xx, yy, zz, xy, xz, yz = body["inertia"]
                off = numpy.abs(inertial.inertia - [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).max()
                self.assertLess(off, 1e-12 * max(xx, yy, zz), body["name"])
        # All hang together: every link but the root is a child once, and loops are open.
        children = [joint.child for joint in model.joints]
        roots = {link.name for link in model.links} - set(children)
        others = len(model.links) - 1
        self.assertEqual((len(roots), len(set(children)), len(children)), (1, others, others))

    def check_meshes(self, model: Any, scene: Any, wanted: bool) -> None:
        shown = [visual.geometry.mesh for link in model.links for visual in link.visuals if visual.geometry.mesh]
        self.assertEqual(bool(shown), wanted)
        seen = [shape for body in scene["bodies"] for shape in body["visuals"] or [body["shape"]] if shape]
        told = [part for shape in seen for part in parts(shape) if "triangles" in part]
        self.assertEqual(len(shown), len(told))
        for mesh, visual in zip(shown, told, strict=True):
            with urllib.request.urlopen(mesh.filename) as answer:
                self.assertEqual(answer.headers["Content-Type"], "model/stl")
                loaded = trimesh.load(io.BytesIO(answer.read()), file_type="stl", process=False)
            self.assertEqual(len(loaded.faces), len(visual["triangles"]))
            points = numpy.array(visual.get("vertices") or visual["points"])
            corners = points[numpy.array(visual["triangles"])]
            self.assertLess(numpy.abs(loaded.triangles - corners).max(), 1e-6)
        for mesh in shown[:1]:
            with self.assertRaises(urllib.error.HTTPError):
                urllib.request.urlopen(mesh.filename.rpartition("/")[0] + "/9999.stl")

    def check_frames(self, model: Any, ros: Any, scene: Any) -> None:
        tf = ros.reader("/tf", "tf2_msgs/msg/TFMessage")
        states = ros.reader("/joint_states", "sensor_msgs/msg/JointState")
        while not (matched(tf._reader) and matched(states._reader)):
            time.sleep(0.01)
        # In free fall joints stand still, but for what their motors do.
        for number, device in enumerate(self.ports["devices"]):
            if device["kind"] in COMMANDS:
                port = self.device(device["name"])
                port.file.readline()
                self.assertFalse(port.ask(COMMANDS[device["kind"]].format(0.2 + 0.01 * number)).startswith("ERR"))
        self.control().ask("STEP 300")

        def now(stamp: Any) -> bool:
            return (stamp.sec, stamp.nanosec) == (0, 300_000_000)

        state = states.wait(lambda message: now(message.header.stamp))
        frames = tf.wait(lambda message: now(message.transforms[0].header.stamp)).transforms
        fixed = ros.reader("/tf_static", "tf2_msgs/msg/TFMessage", latched=True).wait().transforms
        frames = {frame.child_frame_id: frame for frame in [*fixed, *frames]}
        positions = dict(zip(state.name, state.position, strict=True))
        moved = 0
        for joint in model.joints:
            frame = frames[joint.child]
            self.assertEqual(frame.header.frame_id, joint.parent)
            if joint.type == "floating":
                continue
            position = positions.get(joint.name, 0.0)
            axis = numpy.array(joint.axis) / numpy.linalg.norm(joint.axis)
            if joint.type == "prismatic":
                motion = trimesh.transformations.translation_matrix(axis * position)
            else:
                motion = trimesh.transformations.rotation_matrix(position, axis)
            moved += abs(position) > 1e-9
            expected = joint.origin @ motion
            found = matrix(frame.transform.translation, frame.transform.rotation)
            # Angles in the description are rounded to 1e-12.
            self.assertLess(numpy.abs(expected - found).max(), 1e-9, joint.name)
        self.assertGreater(moved, 0)
        self.check_places(model, scene, frames)

    def check_places(self, model: Any, scene: Any, frames: Any) -> None:
        """What is seen, collides and weighs is where the server has it, by way of /tf and the description."""
        truth = dict(word.split("=", 1) for word in self.control().ask("TRUTH").split()[1:])
        bodies = numpy.array(truth["bodies"].split(","), float).reshape(-1, 13)
        up = trimesh.transformations.rotation_matrix(math.pi / 2, [1, 0, 0])

        def in_map(link: str) -> Any:
            frame = frames[link]
            own = matrix(frame.transform.translation, frame.transform.rotation)
            return own if frame.header.frame_id == "map" else in_map(frame.header.frame_id) @ own

        for index, body in enumerate(scene["bodies"]):
            link = next((link for link in model.links if f"R/{link.name}" == body["name"]), None)
            if link is None:
                continue
            found, told = in_map(link.name), up @ pose(bodies[index, :3], bodies[index, 3:7])
            if link.inertial is not None:
                centre = found @ link.inertial.origin
                self.assertLess(numpy.abs(centre[:3, :3] - told[:3, :3]).max(), 1e-9, link.name)
                off = centre[:3, 3] - (told @ [*body["centre_of_mass"], 1])[:3]
                self.assertLess(numpy.abs(off).max(), 1e-9, link.name)
            seen, solid = body["visuals"] or [body["shape"]], [body["collision"] or body["shape"]]
            for kind, shapes in (("visuals", seen), ("collisions", solid)):
                wanted = [place for shape in shapes if shape for place in places(shape, told)]
                got = [found @ part.origin for part in getattr(link, kind)]
                self.assertEqual(len(got), len(wanted), (link.name, kind))
                for one, other in zip(got, wanted, strict=True):
                    self.assertLess(numpy.abs(one - other).max(), 1e-9, (link.name, kind))

    def test_a_robot_of_ours_is_described_as_it_is(self) -> None:
        self.check(str(REPOSITORY / "robots" / "workpartner2.xml"), meshes=False)

    def of_pybullet(self, file: str) -> None:
        folder = data()
        if folder is None:
            self.skipTest("Python lacks pybullet_data")
        self.check(f"{folder}/{file}", meshes=True)

    def test_a_dog_is_described_as_it_is(self) -> None:
        self.of_pybullet("laikago/laikago.urdf")

    def test_an_arm_is_described_as_it_is(self) -> None:
        self.of_pybullet("kuka_iiwa/model.urdf")

    def test_an_arm_with_a_gripper_is_described_as_it_is(self) -> None:
        self.of_pybullet("franka_panda/panda.urdf")

    def test_a_droid_is_described_as_it_is(self) -> None:
        self.of_pybullet("r2d2.urdf")


if __name__ == "__main__":
    unittest.main()
