"""The bridge, seen by an independent implementation of DDS and an independent decoder of ROS's messages."""

from __future__ import annotations

import math
import signal
import time
import unittest
from typing import Any

from rig import WHY, Rig

if not WHY:
    from rosdds import make, matched

ARM = """<robot name="arm"><link name="base"/><link name="upper">
<inertial><origin xyz="0 0 0.5"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="hand"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="100" velocity="5"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="hand"/><origin xyz="0 0 1"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" effort="100" velocity="5"/></joint></robot>"""


def near(got: float, wanted: float, tolerance: float) -> bool:
    return abs(got - wanted) < tolerance


def publish(writer: Any, message: Any) -> None:
    """Writes when somebody listens."""
    end = time.monotonic() + 20
    while not matched(writer):
        if time.monotonic() > end:
            raise TimeoutError("nobody listens")
        time.sleep(0.01)
    writer.write(message)


def positions(*values: float) -> Any:
    return make("std_msgs/msg/Float64MultiArray", data=list(values))


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
        there = lambda a, b: lambda state: near(state.position[0], a, 0.01) and near(state.position[1], b, 0.01)
        states.wait(there(0.5, -0.25))
        # Over time.
        writer = ros.writer("/joint_trajectory_controller/joint_trajectory", "trajectory_msgs/msg/JointTrajectory")
        point = lambda seconds, *where: make(
            "trajectory_msgs/msg/JointTrajectoryPoint", positions=list(where), time_from_start={"sec": seconds}
        )
        publish(
            writer,
            make("trajectory_msgs/msg/JointTrajectory", joint_names=["elbow", "shoulder"], points=[point(1, 0.3, -0.4)]),
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
        still = lambda message: near(message.transforms[0].transform.rotation.y, math.sin(0.25), 1e-3)
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
        bridge.wait_for("/position_controller/commands: expected 2 numbers, for shoulder, elbow, got 1; nothing was done")
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
        from cyclonedds.idl import make_idl_struct, types
        from cyclonedds.pub import DataWriter
        from cyclonedds.topic import Topic
        from rosdds import quality

        self.arm()
        self.bridge()
        ros = self.ros()
        name = "std_msgs::msg::dds_::Float64MultiArray_"
        bad = make_idl_struct("Bad", name, {f"f{i}": types.uint32 for i in range(4)})
        topic = Topic(ros.participant, "rt/position_controller/commands", bad, qos=quality())
        writer = DataWriter(ros.participant, topic, qos=quality())
        # No dimensions, no offset, and then two thousand million numbers that are not there; and others.
        for values in ((0, 0, 2**31, 0), (2**32 - 1, 1, 2, 3), (1, 2**31, 0, 0), (0, 0, 1, 7)):
            publish(writer, bad(*values))
        states = ros.reader("/joint_states", "sensor_msgs/msg/JointState")
        good = ros.writer("/elbow_motor/command", "std_msgs/msg/Float64MultiArray")
        publish(good, positions(0.0, 0.0, 0.4))
        states.wait(lambda state: near(state.position[1], 0.4, 0.01))

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
        self.assertIn(" step=1000 ", self.control().ask("STATE"))


class Sensors(Rig):
    """One of each sensor, in its standard message."""

    def test_every_sensor_has_its_message(self) -> None:
        self.serve("worlds/square.xml")
        self.bridge("rate_hz = 50\n")
        ros = self.ros()
        kinds = {
            "/position": "geometry_msgs/msg/PointStamped", "/pose": "geometry_msgs/msg/PoseStamped",
            "/velocity": "geometry_msgs/msg/TwistStamped", "/accelerometer": "sensor_msgs/msg/Imu",
            "/gyroscope": "sensor_msgs/msg/Imu", "/imu": "sensor_msgs/msg/Imu", "/gnss": "sensor_msgs/msg/NavSatFix",
            "/compass": "geometry_msgs/msg/Vector3Stamped", "/distance": "sensor_msgs/msg/Range",
            "/scanner": "sensor_msgs/msg/LaserScan", "/lidar": "sensor_msgs/msg/PointCloud2",
        }  # fmt: skip
        readers = {topic: ros.reader(topic, kind) for topic, kind in kinds.items()}
        got = {topic: reader.wait() for topic, reader in readers.items()}
        # At rest: g along z, and what is not measured said to be so. One of them is tilted by 0.1 rad about our z.
        for topic, tilt in (("/accelerometer", 0.1), ("/imu", 0.0)):
            force = got[topic].linear_acceleration
            where = (force.x - 9.81 * math.sin(tilt), force.y, force.z - 9.81 * math.cos(tilt))
            self.assertLess(math.hypot(*where), 0.3, (topic, force))
        self.assertEqual(got["/accelerometer"].orientation_covariance[0], -1)
        self.assertEqual(got["/position"].header.frame_id, "map")
        self.assertTrue(near(got["/position"].point.z, 0.25, 0.05), got["/position"])
        scan = got["/scanner"]
        self.assertEqual(len(scan.ranges), 181)
        self.assertTrue(near(scan.angle_min, -1.5708, 1e-3) and near(scan.angle_max, 1.5708, 1e-3))
        cloud = got["/lidar"]
        self.assertEqual((cloud.point_step, cloud.row_step), (12, 12 * cloud.width))
        self.assertEqual([field.name for field in cloud.fields], ["x", "y", "z"])
        # What a sensor looks along is x of its frame, and every frame hangs somewhere.
        fixed = ros.reader("/tf_static", "tf2_msgs/msg/TFMessage", latched=True).wait()
        frames = {transform.child_frame_id for transform in fixed.transforms}
        for topic, message in got.items():
            self.assertIn(message.header.frame_id, frames | {"map"}, topic)

    def test_wheels_follow_a_twist_and_stop_without_one(self) -> None:
        self.serve("worlds/flat.xml")
        self.bridge(
            '[robots.WorkPartner.cmd_vel]\nleft = ["WheelMotor2", "WheelMotor3"]\nright = ["WheelMotor1", "WheelMotor4"]\n'
            "wheel_radius = 0.235\ntrack_width = 0.6\ntimeout_s = 0.3\n"
        )
        ros = self.ros()
        truth = ros.reader("/ground_truth", "nav_msgs/msg/Odometry")
        writer = ros.writer("/cmd_vel", "geometry_msgs/msg/Twist")
        twist = make("geometry_msgs/msg/Twist", linear={"x": 0.5})
        publish(writer, twist)
        end = time.monotonic() + 30
        while True:
            writer.write(twist)
            speed = truth.wait().twist.twist.linear.x
            if near(speed, 0.5, 0.05):
                break
            self.assertLess(time.monotonic(), end, speed)
        truth.wait(lambda message: near(message.twist.twist.linear.x, 0, 0.02))


class Services(Rig):
    """simulation_interfaces, called as rmw_cyclonedds_cpp does."""

    WORLD = """<world name="services"><surface a="0" b="1" c="0" d="0"/><gravity y="-9.81"/>
    <object name="Ball"><mass>1</mass><pose x="3" y="10" z="-2"/><sphere radius="0.1"/></object>
    <robot file="box.xml" name="Box"/></world>"""

    def test_the_simulation_is_stepped_reset_and_asked(self) -> None:
        self.serve(self.WORLD, "--paused")
        self.bridge()
        ros = self.ros()
        state = lambda: ros.call("GetSimulationState", {}).state.state
        self.assertEqual(state(), 0)
        features = list(ros.call("GetSimulatorFeatures", {}).features.features)
        self.assertTrue({10, 20, 24, 25, 31, 32} <= set(features) and not {0, 1, 11, 33} & set(features), features)
        self.assertEqual(ros.call("StepSimulation", {"steps": 500}).result.result, 1)
        self.assertEqual(state(), 2)
        # Half a second of free fall: semi-implicit or not, within a step of g t²/2; y up became z up.
        ball = ros.call("GetEntityState", {"entity": "Ball"})
        self.assertEqual((ball.result.result, ball.state.header.frame_id), (1, "map"))
        self.assertEqual((ball.state.header.stamp.sec, ball.state.header.stamp.nanosec), (0, 500_000_000))
        where, moves = ball.state.pose.position, ball.state.twist.linear
        self.assertTrue(near(where.z, 10 - 9.81 / 8, 0.01) and near(moves.z, -4.905, 1e-6), ball)
        self.assertEqual((where.x, where.y), (3.0, 2.0))
        all_of = {"filters": {"filter": ""}}
        self.assertEqual(ros.call("GetEntities", all_of).entities, ["Ball", "Box"])
        self.assertEqual(ros.call("GetEntities", {"filters": {"filter": "^B.l"}}).entities, ["Ball"])
        robots = make("simulation_interfaces/msg/EntityCategory", category=1)
        states = ros.call("GetEntitiesStates", {"filters": {"categories": [robots]}})
        self.assertEqual((states.entities, len(states.states)), (["Box"], 1))
        self.assertEqual(ros.call("GetEntityInfo", {"entity": "Box"}).info.category.category, 1)
        self.assertEqual(ros.call("GetCurrentWorld", {}).world.name, "services")
        self.assertEqual(ros.call("ResetSimulation", {"scope": 255}).result.result, 1)
        self.assertEqual(state(), 0)
        self.assertEqual(ros.call("GetEntityState", {"entity": "Ball"}).state.pose.position.z, 10.0)
        self.assertEqual(ros.call("SetSimulationState", {"state": {"state": 1}}).result.result, 1)
        self.assertEqual(state(), 1)
        self.assertEqual(ros.call("SetSimulationState", {"state": {"state": 1}}).result.result, 101)
        self.assertEqual(ros.call("StepSimulation", {"steps": 1}).result.result, 4)

    def test_what_cannot_be_done_says_so(self) -> None:
        self.serve(self.WORLD, "--paused")
        self.bridge()
        ros = self.ros()
        for service, request in (
            ("SpawnEntity", {"name": "x"}), ("DeleteEntity", {"entity": "Ball"}), ("LoadWorld", {}),
            ("GetEntityBounds", {"entity": "Ball"}),
        ):  # fmt: skip
            self.assertEqual(ros.call(service, request).result.result, 0, service)
        self.assertEqual(ros.call("ResetSimulation", {"scope": 1}).result.result, 0)
        self.assertEqual(ros.call("GetEntities", {"filters": {"tags": {"tags": ["a"]}}}).result.result, 0)
        answer = ros.call("GetEntityState", {"entity": "Bill"}).result
        self.assertEqual((answer.result, answer.error_message), (2, "there is no entity 'Bill'; GetEntities lists them"))
        self.assertEqual(ros.call("GetEntities", {"filters": {"filter": "("}}).result.result, 4)
        self.assertEqual(ros.call("SetSimulationState", {"state": {"state": 2}}).result.result, 103)
        self.assertEqual(ros.call("SetSimulationState", {"state": {"state": 9}}).result.result, 0)

    def test_services_answer_as_fastdds_tells_them_apart(self) -> None:
        from cyclonedds.idl import make_idl_struct, types
        from cyclonedds.pub import DataWriter
        from cyclonedds.sub import DataReader
        from cyclonedds.topic import Topic
        from rosdds import idl, quality

        self.serve(self.WORLD, "--paused")
        self.bridge("", "--services", "fastdds")
        ros = self.ros()
        # Nothing stands in front of the fields.
        kind = "simulation_interfaces::srv::dds_::StepSimulation_"
        request = make_idl_struct("Request", f"{kind}Request_", {"steps": types.uint64})
        response = make_idl_struct(
            "Response", f"{kind}Response_", {"result": idl("simulation_interfaces/msg/Result")}
        )
        topic = lambda name, kind: Topic(ros.participant, name, kind, qos=quality())
        writer = DataWriter(ros.participant, topic("rq/simpartner/step_simulationRequest", request), qos=quality())
        reader = DataReader(ros.participant, topic("rr/simpartner/step_simulationReply", response), qos=quality())
        while not (matched(reader) and matched(writer)):
            time.sleep(0.01)
        # The other side has to know of us, too.
        time.sleep(0.3)
        writer.write(request(7))
        end = time.monotonic() + 20
        while not (taken := reader.take()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        self.assertEqual(taken[0].result.result, 1)
        self.assertIn(" step=7 ", self.control().ask("STATE"))

    def test_the_simulation_can_be_ended(self) -> None:
        server = self.serve(self.WORLD)
        self.bridge()
        self.ros().call("SetSimulationState", {"state": {"state": 3}})
        self.assertEqual(server.wait(), 0)


class Lives(Rig):
    """Either side goes away and comes back."""

    WORLD = Services.WORLD

    def test_a_bridge_that_was_killed_is_started_again(self) -> None:
        self.serve(self.WORLD)
        bridge = self.bridge()
        clock = self.ros().reader("/clock", "rosgraph_msgs/msg/Clock", reliable=False)
        clock.wait()
        bridge.stop(signal.SIGKILL)
        time.sleep(0.2)
        clock.take()
        self.bridge()
        clock.wait()

    def test_a_server_that_comes_back_is_connected_to_again(self) -> None:
        server = self.serve(self.WORLD, "--port-offset", str(20_000 + self.domain * 20))
        bridge = self.bridge()
        clock = self.ros().reader("/clock", "rosgraph_msgs/msg/Clock", reliable=False)
        clock.wait(lambda message: message.clock.nanosec > 500_000_000)
        server.stop()
        bridge.wait_for("away: ")
        clock.take()
        self.serve(self.WORLD, "--port-offset", str(20_000 + self.domain * 20))
        bridge.wait_for("connected")
        clock.wait(lambda message: message.clock.sec == 0)

    def test_a_second_bridge_is_told_of_the_first(self) -> None:
        self.serve(self.WORLD)
        self.bridge()
        second = self.bridge(ready=False)
        self.assertEqual(second.wait(), 1)
        self.assertIn(f"somebody publishes /clock in the DDS domain {self.domain} already", second.lines[-1])

    def test_settings_that_do_not_fit_end_it_with_a_line(self) -> None:
        self.serve(self.WORLD)
        for text, expected in (
            ("rate = 5\n", "bridge.toml:1: unknown field `rate`"),
            ("\n[robots.Bax]\n", "bridge.toml:2: the world has no robot 'Bax'; it has Box"),
            ('[lockstep]\nrobot = "Box"\ntopic = "/x"\nperiod_s = 1\n', "bridge.toml:3: the robot has no topic '/x'; it has"),
            ("[robots.Box.cmd_vel]\nleft = [\"W\"]\nright = []\nwheel_radius = 1\ntrack_width = 1\n",
             "bridge.toml:1: cmd_vel: the robot has no velocity motor 'W'"),
        ):  # fmt: skip
            bridge = self.bridge(text, ready=False)
            self.assertEqual(bridge.wait(), 1)
            self.assertIn(expected, bridge.lines[-1])

    def test_a_bridge_waits_for_its_server(self) -> None:
        self.ports = {"control": "127.0.0.1:9"}
        bridge = self.bridge(ready=False)
        bridge.wait_for("away: no server at 127.0.0.1:9")
        self.assertEqual(bridge.stop(), 0)


if __name__ == "__main__":
    unittest.main()
