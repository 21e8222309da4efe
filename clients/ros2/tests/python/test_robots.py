"""Robots seen through the bridge by an independent implementation of DDS and an independent decoder of ROS's messages."""

from __future__ import annotations

import importlib.util
import math
import random
import re
import time
import unittest
from typing import Any

from rig import WHY, Rig

if not WHY:
    from cyclonedds.idl import make_idl_struct, types
    from cyclonedds.pub import DataWriter
    from cyclonedds.topic import Topic

    from rosdds import make, matched, near, positions, publish, quality

# Bullet takes minutes to build where there is no wheel, so a test with it is never required.
needs_pybullet = unittest.skipIf(importlib.util.find_spec("pybullet") is None, "Python lacks pybullet")


ARM = """<robot name="arm"><link name="base"/><link name="upper">
<inertial><origin xyz="0 0 0.5"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="hand"><inertial><mass value="0.5"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="100" velocity="5"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="hand"/><origin xyz="0 0 1"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" effort="100" velocity="5"/></joint></robot>"""


class Newcomer(Rig):
    """A robot that exists as a URDF file, and one command."""

    def arm(self, *options: str) -> Any:
        (self.folder / "arm.urdf").write_text(ARM, encoding="utf-8")
        return self.serve('<world name="w"><robot file="arm.urdf" name="Arm" fixedBase="true"/></world>', *options)

    def test_joints_move_by_topics_and_by_plain_text(self) -> None:
        self.arm()
        self.bridge()
        ros = self.ros()
        states = ros.reader("/joint_states", "sensor_msgs/msg/JointState")
        state = states.wait()
        self.assertEqual(state.name, ["shoulder", "elbow"])
        # All at once.
        writer = ros.writer("/position_controller/commands", "std_msgs/msg/Float64MultiArray")
        publish(writer, positions(0.5, -0.25))

        def there(a, b):
            return lambda state: near(state.position[0], a, 0.01) and near(state.position[1], b, 0.01)

        states.wait(there(0.5, -0.25))
        # Over time.
        writer = ros.writer("/joint_trajectory_controller/joint_trajectory", "trajectory_msgs/msg/JointTrajectory")

        def point(seconds, *where):
            return make(
                "trajectory_msgs/msg/JointTrajectoryPoint", positions=list(where), time_from_start={"sec": seconds}
            )

        publish(
            writer,
            make(
                "trajectory_msgs/msg/JointTrajectory", joint_names=["elbow", "shoulder"], points=[point(1, 0.3, -0.4)]
            ),
        )
        states.wait(lambda state: 0.0 < state.position[1] < 0.2)
        states.wait(there(-0.4, 0.3))
        # And as netcat would.
        motor = self.device("shoulder_motor")
        motor.file.readline()
        motor.ask("0,0,0.2")
        states.wait(there(0.2, 0.3))

    def test_frames_are_those_of_the_urdf_with_z_up(self) -> None:
        self.arm()
        self.bridge()
        ros = self.ros()
        reader = ros.reader("/tf", "tf2_msgs/msg/TFMessage")
        fixed = ros.reader("/tf_static", "tf2_msgs/msg/TFMessage", latched=True).wait()
        self.assertEqual([(t.header.frame_id, t.child_frame_id) for t in fixed.transforms], [("map", "base")])
        self.assertTrue(near(fixed.transforms[0].transform.rotation.w, 1, 1e-9))
        publish(ros.writer("/position_controller/commands", "std_msgs/msg/Float64MultiArray"), positions(0.5, 0.0))

        def still(message):
            return near(message.transforms[0].transform.rotation.y, math.sin(0.25), 1e-3)

        upper, hand = reader.wait(still).transforms
        self.assertEqual((upper.header.frame_id, upper.child_frame_id), ("base", "upper"))
        self.assertEqual((hand.header.frame_id, hand.child_frame_id), ("upper", "hand"))
        for transform in (upper, hand):
            where = transform.transform.translation
            self.assertTrue(near(where.x, 0, 1e-6) and near(where.y, 0, 1e-6) and near(where.z, 1, 1e-6), where)
        self.assertTrue(near(upper.transform.rotation.x, 0, 1e-6))

    def test_the_description_is_a_urdf_of_these_joints(self) -> None:
        self.arm("--paused")
        self.bridge()
        text = self.ros().reader("/robot_description", "std_msgs/msg/String", latched=True).wait().data
        self.assertIn('<joint name="shoulder" type="revolute">', text)
        self.assertIn('<origin xyz="0 0 1" rpy="0 0 0"/>\n    <axis xyz="0 1 0"/>', text)
        self.assertIn('<limit lower="-2" upper="2" effort="100" velocity="5"/>', text)

    def test_a_bad_command_moves_nothing_and_is_told(self) -> None:
        self.arm()
        bridge = self.bridge()
        ros = self.ros()
        states = ros.reader("/joint_states", "sensor_msgs/msg/JointState")
        writer = ros.writer("/position_controller/commands", "std_msgs/msg/Float64MultiArray")
        publish(writer, positions(1.0))
        bridge.wait_for(
            "/position_controller/commands: expected 2 numbers, for shoulder, elbow, got 1; nothing was done"
        )
        writer.write(positions(1.0, math.nan))
        bridge.wait_for("number 2 is NaN, expected a finite one")
        raw = ros.writer("/elbow_motor/command", "std_msgs/msg/Float64MultiArray")
        publish(raw, positions(1.0, 2.0, 3.0, 4.0))
        bridge.wait_for("the server refuses: ERR 2 elbow_motor")
        path = ros.writer("/joint_trajectory_controller/joint_trajectory", "trajectory_msgs/msg/JointTrajectory")
        publish(path, make("trajectory_msgs/msg/JointTrajectory", joint_names=["knee"]))
        bridge.wait_for("no actuator holds positions of the joint 'knee'; there are elbow, shoulder")
        states.take()
        state = states.wait()
        self.assertTrue(near(state.position[0], 0, 0.01) and near(state.position[1], 0, 0.01), state.position)
        # It goes on.
        writer.write(positions(0.3, 0.3))
        states.wait(lambda state: near(state.position[0], 0.3, 0.01))

    def test_bytes_that_are_no_message_do_no_harm(self) -> None:
        self.arm()
        self.bridge()
        ros = self.ros()
        chance = random.Random(17)
        hostile = (0, 1, 2, 3, 5, 8, 2**16, 2**31, 2**32 - 1, 0x7FF80000, 0xFF, 0xC0C0C0C0)
        topics = {
            "rt/position_controller/commands": "std_msgs::msg::dds_::Float64MultiArray_",
            "rt/joint_trajectory_controller/joint_trajectory": "trajectory_msgs::msg::dds_::JointTrajectory_",
            "rq/simpartner/get_entitiesRequest": "simulation_interfaces::srv::dds_::GetEntities_Request_",
            "rq/simpartner/step_simulationRequest": "simulation_interfaces::srv::dds_::StepSimulation_Request_",
        }
        for length, (name, kind) in enumerate(topics.items(), 5):
            wild = make_idl_struct(f"Wild{length}", kind, {"words": types.array[types.uint32, 4 * length]})
            topic = Topic(ros.participant, name, wild, qos=quality())
            writer = DataWriter(ros.participant, topic, qos=quality())
            for _ in range(300):
                words = [
                    chance.choice(hostile) if chance.random() < 0.9 else chance.getrandbits(32)
                    for _ in range(4 * length)
                ]
                publish(writer, wild(words))
        states = ros.reader("/joint_states", "sensor_msgs/msg/JointState")
        good = ros.writer("/elbow_motor/command", "std_msgs/msg/Float64MultiArray")
        publish(good, positions(0.0, 0.0, 0.4))
        states.wait(lambda state: near(state.position[1], 0.4, 0.01))
        # And services that were not shot at answer.
        self.assertEqual(ros.call("GetCurrentWorld", {}).world.name, "w")

    def test_the_clock_waits_for_a_subscriber(self) -> None:
        self.arm("--paused")
        topic = "/position_controller/commands"
        self.bridge(f'[lockstep]\nrobot = "Arm"\ntopic = "{topic}"\nperiod_s = 0.02\n')
        ros = self.ros()
        states = ros.reader("/joint_states", "sensor_msgs/msg/JointState")
        writer = ros.writer(topic, "std_msgs/msg/Float64MultiArray")
        while not (matched(writer) and matched(states._reader)):
            time.sleep(0.01)
        self.assertEqual(ros.call("SetSimulationState", {"state": {"state": 1}}).result.result, 1)
        stamps = []
        for count in range(1, 51):
            writer.write(positions(0.01 * count, 0.0))
            stamps.append(states.wait().header.stamp)
        # Every command let the clock go on by 20 ms, whatever the time in between.
        self.assertEqual([stamp.nanosec for stamp in stamps], [count * 20_000_000 for count in range(1, 50)] + [0])
        self.assertEqual(stamps[-1].sec, 1)
        time.sleep(0.2)
        control = self.control()
        self.assertIn(" step=1000 ", control.ask("STATE"))
        # From the start once more: the same commands lead to the same places.
        control.ask("RESET")
        self.assertEqual(states.wait().header.stamp.nanosec, 0)
        writer.write(positions(0.01, 0.0))
        self.assertEqual(states.wait().header.stamp.nanosec, 20_000_000)


@needs_pybullet
class Iiwa(Rig):
    """A robot of pybullet_data, and Bullet as a second opinion on where its links are."""

    ANGLES = (0.4, -0.7, 0.3, 1.1, -0.5, 0.8, 0.2)

    def test_the_links_are_where_bullet_has_them(self) -> None:
        import pybullet
        import pybullet_data

        file = f"{pybullet_data.getDataPath()}/kuka_iiwa/model.urdf"
        self.serve(f'<world name="w"><gravity y="0"/><robot file="{file}" name="Arm" fixedBase="true"/></world>')
        self.bridge()
        ros = self.ros()
        tf = ros.reader("/tf", "tf2_msgs/msg/TFMessage")
        states = ros.reader("/joint_states", "sensor_msgs/msg/JointState")
        description = ros.reader("/robot_description", "std_msgs/msg/String", latched=True).wait().data
        publish(ros.writer("/position_controller/commands", "std_msgs/msg/Float64MultiArray"), positions(*self.ANGLES))
        state = states.wait(
            lambda state: (
                all(near(*pair, 1e-4) for pair in zip(state.position, self.ANGLES, strict=False))
                and max(abs(state.velocity)) < 1e-6
            )
        )
        tf.take()
        got = self.chain(tf.wait())
        # Bullet reads the file and, apart from it, what the bridge has made of the robot.
        copy = self.folder / "described.urdf"
        # It fetches nothing by HTTP, and looks for links alone.
        copy.write_text(re.sub(r"(?s)<(visual|collision)>.*?</\1>", "", description), encoding="utf-8")
        client = pybullet.connect(pybullet.DIRECT)
        self.addCleanup(pybullet.disconnect, client)
        for path in (file, str(copy)):
            robot = pybullet.loadURDF(path, useFixedBase=True)
            names = {pybullet.getJointInfo(robot, n)[1].decode(): n for n in range(pybullet.getNumJoints(robot))}
            for name, angle in zip(state.name, state.position, strict=False):
                pybullet.resetJointState(robot, names[name], angle)
            for number in range(pybullet.getNumJoints(robot)):
                link = pybullet.getJointInfo(robot, number)[12].decode()
                where = pybullet.getLinkState(robot, number, computeForwardKinematics=True)[4]
                distance = math.dist(where, got[link])
                # Bullet has single precision in places, and the joints still move by 1e-6.
                self.assertLess(distance, 2e-5, (path, link, where, got[link]))

    @staticmethod
    def chain(message: Any) -> dict[str, tuple[float, ...]]:
        """Where the links of a chain are in the map."""
        poses = {"lbr_iiwa_link_0": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))}
        for item in message.transforms:
            place, turn = poses[item.header.frame_id]
            step, spin = item.transform.translation, item.transform.rotation
            moved = rotate(turn, (step.x, step.y, step.z))
            where = (place[0] + moved[0], place[1] + moved[1], place[2] + moved[2])
            poses[item.child_frame_id] = (where, multiply(turn, (spin.x, spin.y, spin.z, spin.w)))
        return {name: place for name, (place, _) in poses.items()}


Quaternion = tuple[float, float, float, float]


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def rotate(turn: Quaternion, vector: tuple[float, float, float]) -> tuple[float, float, float]:
    x, y, z, w = turn
    turned = multiply(multiply(turn, (*vector, 0.0)), (-x, -y, -z, w))
    return turned[:3]


if __name__ == "__main__":
    unittest.main()
