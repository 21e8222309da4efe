"""Sensors, wheels and worlds of every sort."""

from __future__ import annotations

import math
import time
import unittest
from xml.etree import ElementTree

from rig import REPOSITORY, WHY, Rig

if not WHY:
    from rosdds import make, near, publish


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
        # The scanner reads every 50 ms, and that is the time that it tells.
        self.assertEqual(got["/scanner"].header.stamp.nanosec % 50_000_000, 0)
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


class Vehicles(Rig):
    """A vehicle controller and its odometry, without settings."""

    def test_a_vehicle_follows_a_twist_and_its_base_hangs_on_odom(self) -> None:
        self.serve('<world name="w"><surface a="0" b="1" c="0" d="0" friction="1"/>'
                   '<robot file="differential_drive.xml" name="Burger"><pose x="2" z="-1"/></robot></world>')  # fmt: skip
        bridge = self.bridge()
        self.assertIn("/cmd_vel", bridge.lines)
        self.assertIn("/odom", bridge.lines)
        ros = self.ros()
        odometry = ros.reader("/odom", "nav_msgs/msg/Odometry")
        frames = ros.reader("/tf", "tf2_msgs/msg/TFMessage")
        first = odometry.wait()
        self.assertEqual((first.header.frame_id, first.child_frame_id), ("odom", "Base"))
        writer = ros.writer("/cmd_vel", "geometry_msgs/msg/Twist")
        twist = make("geometry_msgs/msg/Twist", linear={"x": 0.2}, angular={"z": 0.4})
        publish(writer, twist)
        end = time.monotonic() + 30
        while True:
            writer.write(twist)
            now = odometry.wait().twist.twist
            if near(now.linear.x, 0.2, 0.01) and near(now.angular.z, 0.4, 0.02):
                break
            self.assertLess(time.monotonic(), end, now)
        # The chain from map to the base is that of the true pose, where the robot began.
        links = {item.child_frame_id: item for item in frames.wait().transforms}
        self.assertEqual(links["Base"].header.frame_id, "odom")
        self.assertEqual(links["odom"].header.frame_id, "map")
        origin = links["odom"].transform.translation
        self.assertTrue(near(origin.x, 2, 0.01) and near(origin.y, 1, 0.01), origin)
        # Nobody commands it any more.
        odometry.wait(lambda message: near(message.twist.twist.linear.x, 0, 1e-3))

    def test_another_node_may_own_the_transform_to_the_map(self) -> None:
        self.serve('<world name="w"><robot file="differential_drive.xml" name="Burger"/></world>')
        self.bridge("[robots.Burger]\nmap_to_odom = false\n")
        links = self.ros().reader("/tf", "tf2_msgs/msg/TFMessage").wait().transforms
        self.assertNotIn("odom", {item.child_frame_id for item in links})
        self.assertIn(("odom", "Base"), {(item.header.frame_id, item.child_frame_id) for item in links})


class Worlds(Rig):
    """Other worlds than one with a robot."""

    def test_several_robots_have_a_namespace_each(self) -> None:
        self.serve(
            '<world name="w"><robot file="box.xml" name="Left"/><robot file="box.xml" name="Right2"><pose z="3"/></robot></world>'
        )
        bridge = self.bridge('[robots.Left]\nframe_prefix = "l_"\nnamespace = "/a/b"\n')
        self.assertIn("/right2/where", bridge.lines)
        ros = self.ros()
        left = ros.reader("/a/b/where", "geometry_msgs/msg/PointStamped").wait()
        right = ros.reader("/right2/where", "geometry_msgs/msg/PointStamped").wait()
        self.assertTrue(near(left.point.y, 0, 1e-6) and near(right.point.y, -3, 1e-6))
        frames = {item.child_frame_id for item in ros.reader("/tf", "tf2_msgs/msg/TFMessage").wait().transforms}
        self.assertEqual(frames, {"l_Base", "Right2/Base"})

    def test_names_that_clash_are_kept_apart(self) -> None:
        sensors = "".join(
            f'<sensor type="PositionSensor" name="{name}" body="Base" port="0"/>'
            for name in ("tf", "Eye.1", "eye-1", "JointStates")
        )
        robot = f'<robot name="Odd"><body name="Base"><mass>1</mass><box x="1" y="1" z="1"/></body>{sensors}</robot>'
        (self.folder / "odd.xml").write_text(robot, encoding="utf-8")
        self.serve('<world name="w"><robot file="odd.xml" name="Odd"/></world>')
        bridge = self.bridge()
        for topic in ("/tf", "/tf_2", "/eye_1", "/eye_1_2", "/joint_states", "/joint_states_2"):
            self.assertIn(topic, bridge.lines)
        reader = self.ros().reader("/eye_1_2", "geometry_msgs/msg/PointStamped")
        reader.wait()
        bridge.stop()
        same = self.bridge(
            '[robots.Odd.devices."Eye.1"]\ntopic = "/x"\n[robots.Odd.devices.eye-1]\ntopic = "/x"\n', ready=False
        )
        self.assertEqual(same.wait(), 1)
        self.assertIn("two topics would be called '/x'", same.lines[-1])

    def test_a_joint_to_the_world_hangs_on_the_map(self) -> None:
        robot = """<robot name="Door"><body name="Leaf"><mass>1</mass><box x="1" y="2" z="0.1"/></body>
        <joint type="hinge" name="Hinge"><parent>world</parent><child>Leaf</child><axis y="1"/></joint></robot>"""
        (self.folder / "door.xml").write_text(robot, encoding="utf-8")
        self.serve('<world name="w"><robot file="door.xml" name="Door"/></world>')
        self.bridge()
        ros = self.ros()
        self.assertEqual(ros.reader("/joint_states", "sensor_msgs/msg/JointState").wait().name, ["Hinge"])
        tf = {
            item.child_frame_id: item.header.frame_id
            for item in ros.reader("/tf", "tf2_msgs/msg/TFMessage").wait().transforms
        }
        self.assertIn("Leaf", tf)

    def test_a_fast_server_with_a_token_is_bridged(self) -> None:
        self.serve(str(REPOSITORY / "worlds/flat.xml"), "--mode", "fast", "--set", "server.token=secret")
        self.bridge("", "--token", "secret")
        clock = self.ros().reader("/clock", "rosgraph_msgs/msg/Clock", reliable=False)
        first = clock.wait().clock.sec
        clock.wait(lambda message: message.clock.sec > first + 20)

    def test_a_world_without_robots_has_a_clock_and_frames(self) -> None:
        self.serve('<world name="w"><object name="Ball"><mass>1</mass><sphere radius="0.1"/></object></world>')
        self.bridge()
        ros = self.ros()
        ros.reader("/clock", "rosgraph_msgs/msg/Clock", reliable=False).wait(lambda message: message.clock.sec >= 1)
        falls = ros.reader("/tf", "tf2_msgs/msg/TFMessage").wait().transforms
        self.assertEqual([(item.header.frame_id, item.child_frame_id) for item in falls], [("map", "Ball")])
        self.assertLess(falls[0].transform.translation.z, -4)

    def test_a_device_that_is_off_is_silent_and_a_reset_goes_back(self) -> None:
        self.serve('<world name="w"><robot file="box.xml" name="Box"/></world>')
        self.bridge()
        ros = self.ros()
        where = ros.reader("/where", "geometry_msgs/msg/PointStamped")
        clock = ros.reader("/clock", "rosgraph_msgs/msg/Clock", reliable=False)
        where.wait(lambda message: message.header.stamp.sec >= 1)
        control = self.control()
        self.assertEqual(control.ask("FAULT Box/Where off"), "OK")
        step = int(control.ask("SYNC x").split()[1])
        clock.wait(lambda message: message.clock.sec * 1000 > step + 1000)
        late = [message.header.stamp.sec * 1000 + message.header.stamp.nanosec // 1_000_000 for message in where.take()]
        self.assertLessEqual(max(late, default=0), step + 1)
        self.assertTrue(control.ask("RESET").startswith("OK"))
        message = where.wait(lambda message: message.header.stamp.sec == 0)
        self.assertTrue(near(message.point.z, 0.5, 1.0), message)

    def test_every_world_of_the_repository_is_bridged(self) -> None:
        for path in sorted((REPOSITORY / "worlds").glob("*.xml")):
            with self.subTest(world=path.name):
                server = self.serve(str(path), "--paused")
                bridge = self.bridge()
                self.assertIn("/clock", bridge.lines)
                ros = self.ros()
                named = {
                    item.child_frame_id
                    for item in ros.reader("/tf_static", "tf2_msgs/msg/TFMessage", latched=True).wait().transforms
                }
                self.assertNotIn("map", named)
                for topic in (line for line in bridge.lines if line.endswith("/robot_description")):
                    text = ros.reader(topic, "std_msgs/msg/String", latched=True).wait().data
                    tree = ElementTree.fromstring(text)
                    children = [item.get("link") for item in tree.iterfind("joint/child")]
                    links = [item.get("name") for item in tree.iterfind("link")]
                    # One tree: each link but one is the child of one joint.
                    roots = set(links) - set(children)
                    self.assertEqual((len(roots), len(set(links)), len(set(children))), (1, len(links), len(links) - 1))
                    self.assertEqual(len(children), len(links) - 1)
                bridge.stop()
                server.stop()


if __name__ == "__main__":
    unittest.main()
