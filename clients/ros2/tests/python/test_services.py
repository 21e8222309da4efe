"""simulation_interfaces, and what happens when either side goes away."""

from __future__ import annotations

import contextlib
import math
import signal
import socket
import time
import unittest
from collections.abc import Callable, Iterator

from rig import WHY, Rig

if not WHY:
    from cyclonedds.idl import make_idl_struct, types
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic

    from rosdds import idl, make, matched, near, quality


WORLD = """<world name="services"><surface a="0" b="1" c="0" d="0"/><gravity y="-9.81"/>
<object name="Ball"><mass>1</mass><pose x="3" y="10" z="-2"/><sphere radius="0.1"/></object>
<robot file="box.xml" name="Box"/></world>"""


def own_address() -> str | None:
    """An address of this machine by which others would reach it. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address


@contextlib.contextmanager
def announcements(domain: int, address: str) -> Iterator[Callable[[float], bool]]:
    """Listens to what participants of a domain announce on the network of an address."""
    group, port = "239.255.0.1", 7400 + 250 * domain
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "SO_REUSEPORT"):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((group, port))
        listener.setsockopt(
            socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(address)
        )

        def heard(seconds: float) -> bool:
            listener.settimeout(seconds)
            try:
                return len(listener.recv(65536)) > 0
            except TimeoutError:
                return False

        yield heard


PARTS = {"send_goal": "_SendGoal", "get_result": "_GetResult"}


class Services(Rig):
    """simulation_interfaces, called as rmw_cyclonedds_cpp does."""

    def test_the_simulation_is_stepped_reset_and_asked(self) -> None:
        self.serve(WORLD, "--paused")
        self.bridge()
        ros = self.ros()

        def state():
            return ros.call("GetSimulationState", {}).state.state

        self.assertEqual(state(), 0)
        features = list(ros.call("GetSimulatorFeatures", {}).features.features)
        self.assertTrue({0, 1, 9, 10, 11, 14, 20, 23, 24, 25, 31, 32, 33, 50} <= set(features), features)
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

    def test_entities_are_put_elsewhere(self) -> None:
        self.serve(WORLD, "--paused")
        self.bridge()
        ros = self.ros()

        def put(entity, frame="map", **what):
            state = ros.call("GetEntityState", {"entity": "Ball"}).state
            state.header.frame_id = frame
            where, nowhere = state.pose.position, (0.0, 0.0, 0.0)
            (where.x, where.y, where.z) = what.get("position", nowhere)
            state.pose.orientation.w = what.get("w", 1.0)
            moves = state.twist.linear
            (moves.x, moves.y, moves.z) = what.get("twist", nowhere)
            flags = {"set_pose": "position" in what, "set_twist": "twist" in what}
            return ros.call("SetEntityState", {"entity": entity, "state": state, **flags}).result

        def falls_to(entity, x, y, z, speed):
            got = ros.call("GetEntityState", {"entity": entity}).state
            where, moves = got.pose.position, got.twist.linear
            found = (where.x, where.y, where.z, moves.x)
            self.assertTrue(all(near(*pair, 1e-9) for pair in zip(found, (x, y, z, speed), strict=True)), found)

        # 0.1 s of free fall from where it was put: z up here, y up there.
        self.assertEqual(put("Ball", position=(1.0, 2.0, 30.0), twist=(5.0, 0.0, 1.0)).result, 1)
        ros.call("StepSimulation", {"steps": 100})
        falls_to("Ball", 1.5, 2.0, 30.0 + 0.1 - 9.81 / 200, 5.0)
        # The pose alone: it moves as it did. The twist alone: it is where it was.
        put("Ball", position=(0.0, 0.0, 50.0))
        ros.call("StepSimulation", {"steps": 1})
        falls_to("Ball", 0.005, 0.0, 50.0 + 0.001 * (1 - 0.981) - 9.81 / 2e6, 5.0)
        put("Ball", twist=(0.0, 0.0, 0.0))
        ros.call("StepSimulation", {"steps": 100})
        falls_to("Ball", 0.005, 0.0, 50.0 + 0.001 * (1 - 0.981) - 9.81 / 2e6 - 9.81 / 200, 0.0)
        self.assertEqual(put("Box", "", position=(4.0, 0.0, 9.0)).result, 1)
        ros.call("StepSimulation", {"steps": 1})
        falls_to("Box", 4.0, 0.0, 9.0 - 9.81 / 2e6, 0.0)
        for result, refused in (
            (2, put("Bill", position=(0.0, 0.0, 0.0))), (101, put("Ball", position=(math.nan, 0.0, 0.0))),
            (101, put("Ball", position=(1e9, 0.0, 0.0))), (101, put("Ball", position=(0.0, 0.0, 0.0), w=0.0)),
            (4, put("Ball", twist=(0.0, math.inf, 0.0))), (4, put("Ball", "odom", position=(0.0, 0.0, 0.0))),
        ):  # fmt: skip
            self.assertEqual(refused.result, result, refused)
            self.assertTrue(refused.error_message)

    def test_robots_come_and_go(self) -> None:
        self.serve(WORLD, "--paused")
        self.bridge()
        ros = self.ros()
        urdf = (
            '<robot name="cart">\n<link name="base"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
            'ixz="0" iyz="0"/></inertial></link></robot>'
        )

        def spawn(text="", uri="", name="", namespace="", frame="map", rename=False, **where):
            pose = make("geometry_msgs/msg/PoseStamped")
            pose.header.frame_id = frame
            place = pose.pose.position
            (place.x, place.y, place.z) = where.get("position", (0.0, 0.0, 0.0))
            pose.pose.orientation.w = where.get("w", 1.0)
            resource = make("simulation_interfaces/msg/Resource", uri=uri, resource_string=text)
            return ros.call("SpawnEntity", {
                "name": name, "allow_renaming": rename, "entity_resource": resource, "entity_namespace": namespace,
                "initial_pose": pose,
            })  # fmt: skip

        def names():
            return sorted(ros.call("GetEntities", {"filters": {"filter": ""}}).entities)

        ros.call("StepSimulation", {"steps": 100})
        fallen = ros.call("GetEntityState", {"entity": "Ball"}).state.pose.position.z
        came = spawn(urdf, position=(1.0, 2.0, 30.0))
        self.assertEqual((came.result.result, came.entity_name), (1, "cart"), came)
        self.assertEqual(names(), ["Ball", "Box", "cart"])
        where = ros.call("GetEntityState", {"entity": "cart"}).state
        place = where.pose.position
        self.assertEqual((place.x, place.y, place.z), (1.0, 2.0, 30.0))
        self.assertTrue(near(abs(where.pose.orientation.w), 1.0, 1e-12), where)
        self.assertEqual((where.header.stamp.nanosec, fallen), (
            100_000_000, ros.call("GetEntityState", {"entity": "Ball"}).state.pose.position.z
        ))  # fmt: skip
        # Its topics are there, under its name; those of the robot that was alone stay where they were.
        description = ros.reader("/cart/robot_description", "std_msgs/msg/String", latched=True)
        self.assertIn('<link name="cart/base"', description.wait().data)
        joints = ros.reader("/joint_states", "sensor_msgs/msg/JointState")
        frames = ros.reader("/tf", "tf2_msgs/msg/TFMessage")
        ros.call("StepSimulation", {"steps": 200})
        frames.wait(lambda message: any(item.child_frame_id == "cart/base" for item in message.transforms))
        joints.wait()
        self.assertEqual(spawn(urdf).result.result, 101)
        again = spawn(urdf, rename=True, namespace="fleet/two")
        self.assertEqual((again.result.result, again.entity_name), (1, "cart_1"), again)
        ros.reader("/fleet/two/robot_description", "std_msgs/msg/String", latched=True).wait()
        for code, refused in (
            (104, spawn()), (102, spawn(urdf, name="a b")), (105, spawn(urdf, name="a", namespace="1 2")),
            (106, spawn("<robot>", name="a")), (106, spawn(uri="nothing.urdf", name="a")),
            (106, spawn(uri="../box.xml", name="a")), (109, spawn(urdf, name="a", position=(math.inf, 0.0, 0.0))),
            (109, spawn(urdf, name="a", position=(1e9, 0.0, 0.0))), (109, spawn(urdf, name="a", frame="odom")),
        ):  # fmt: skip
            self.assertEqual(refused.result.result, code, refused)
            self.assertTrue(refused.result.error_message)
        spawnables = [item.entity_resource.uri for item in ros.call("GetSpawnables", {}).spawnables]
        self.assertTrue({"box.xml", "rover.xml"} <= set(spawnables), spawnables)
        second = spawn(uri="box.xml", name="Second", position=(5.0, 5.0, 5.0))
        self.assertEqual((second.result.result, second.entity_name), (1, "Second"), second)
        self.assertEqual(ros.call("DeleteEntity", {"entity": "Bill"}).result.result, 2)
        self.assertEqual(ros.call("DeleteEntity", {"entity": "cart"}).result.result, 1)
        self.assertEqual(ros.call("DeleteEntity", {"entity": "Ball"}).result.result, 1)
        self.assertEqual(names(), ["Box", "Second", "cart_1"])
        # What others change is seen, too.
        control = self.control()
        self.assertEqual(control.ask("REMOVE Second"), "OK")
        deadline = time.monotonic() + 20
        while "Second" in names() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(names(), ["Box", "cart_1"])
        self.assertEqual(ros.call("ResetSimulation", {"scope": 0}).result.result, 1)
        self.assertEqual(names(), ["Box"])
        self.assertEqual(ros.call("GetSimulationState", {}).state.state, 0)

    def test_what_cannot_be_done_says_so(self) -> None:
        self.serve(WORLD, "--paused")
        self.bridge()
        ros = self.ros()
        for service, request in (
            ("LoadWorld", {}), ("GetEntityBounds", {"entity": "Ball"}),
        ):  # fmt: skip
            self.assertEqual(ros.call(service, request).result.result, 0, service)
        self.assertEqual(ros.call("ResetSimulation", {"scope": 1}).result.result, 0)
        self.assertEqual(ros.call("GetEntities", {"filters": {"tags": {"tags": ["a"]}}}).result.result, 0)
        answer = ros.call("GetEntityState", {"entity": "Bill"}).result
        self.assertEqual(
            (answer.result, answer.error_message), (2, "there is no entity 'Bill'; GetEntities lists them")
        )
        self.assertEqual(ros.call("GetEntities", {"filters": {"filter": "("}}).result.result, 4)
        self.assertEqual(ros.call("SetSimulationState", {"state": {"state": 2}}).result.result, 103)
        self.assertEqual(ros.call("SetSimulationState", {"state": {"state": 9}}).result.result, 0)

    def test_services_answer_as_fastdds_tells_them_apart(self) -> None:
        self.serve(WORLD, "--paused")
        self.bridge("", "--services", "fastdds")
        ros = self.ros()
        # Nothing stands in front of the fields.
        kind = "simulation_interfaces::srv::dds_::StepSimulation_"
        request = make_idl_struct("Request", f"{kind}Request_", {"steps": types.uint64})
        response = make_idl_struct("Response", f"{kind}Response_", {"result": idl("simulation_interfaces/msg/Result")})

        def topic(name, kind):
            return Topic(ros.participant, name, kind, qos=quality())

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

    def test_steps_are_an_action_with_feedback(self) -> None:
        self.serve(WORLD, "--paused")
        self.bridge()
        ros = self.ros()
        kind, name = "simulation_interfaces/action/SimulateSteps", "/simpartner/simulate_steps/_action"
        feedback = ros.reader(f"{name}/feedback", f"{kind}_FeedbackMessage")

        def call(part, request):
            return ros.call_named(f"{name}/{part}", kind + PARTS[part], request)

        def goal(number):
            return {"goal_id": [number] * 16}

        self.assertTrue(call("send_goal", goal(1) | {"steps": 25}).accepted)
        result = call("get_result", goal(1))
        # 4 is SUCCEEDED.
        self.assertEqual((result.status, result.result.result), (4, 1))
        told = [(item.completed_steps, item.remaining_steps) for item in feedback.take()]
        self.assertEqual(told, [(n, 25 - n) for n in range(1, 26)])
        self.assertIn(" step=25 ", self.control().ask("STATE"))
        # One that would take for ever is cancelled: 5 is CANCELED.
        self.assertTrue(call("send_goal", goal(2) | {"steps": 2**40}).accepted)
        feedback.wait(lambda item: item.completed_steps > 3)
        cancel = ros.call_named(f"{name}/cancel_goal", "action_msgs/srv/msg/CancelGoal", goal(2))
        self.assertEqual(cancel.return_code, 0)
        self.assertEqual(call("get_result", goal(2)).status, 5)
        # And while the clock runs there is nothing to step: 6 is ABORTED.
        ros.call("SetSimulationState", {"state": {"state": 1}})
        self.assertTrue(call("send_goal", goal(3) | {"steps": 1}).accepted)
        result = call("get_result", goal(3))
        self.assertEqual((result.status, result.result.result), (6, 4))

    def test_the_simulation_can_be_ended(self) -> None:
        server = self.serve(WORLD)
        self.bridge()
        self.ros().call("SetSimulationState", {"state": {"state": 3}})
        self.assertEqual(server.wait(), 0)


class Lives(Rig):
    """Either side goes away and comes back."""

    def test_a_bridge_that_was_killed_is_started_again(self) -> None:
        self.serve(WORLD)
        bridge = self.bridge()
        clock = self.ros().reader("/clock", "rosgraph_msgs/msg/Clock", reliable=False)
        clock.wait()
        bridge.stop(signal.SIGKILL)
        time.sleep(0.2)
        clock.take()
        self.bridge()
        clock.wait()

    def test_a_server_that_comes_back_is_connected_to_again(self) -> None:
        server = self.serve(WORLD, "--port-offset", str(20_000 + self.domain * 20))
        bridge = self.bridge()
        clock = self.ros().reader("/clock", "rosgraph_msgs/msg/Clock", reliable=False)
        clock.wait(lambda message: message.clock.nanosec > 500_000_000)
        server.stop()
        bridge.wait_for("away: ")
        clock.take()
        self.serve(WORLD, "--port-offset", str(20_000 + self.domain * 20))
        bridge.wait_for("connected")
        clock.wait(lambda message: message.clock.sec == 0)

    def test_a_second_bridge_is_told_of_the_first(self) -> None:
        self.serve(WORLD)
        self.bridge()
        second = self.bridge(ready=False)
        self.assertEqual(second.wait(), 1)
        self.assertIn(f"somebody publishes /clock in the DDS domain {self.domain} already", second.lines[-1])

    def test_of_bridges_that_start_in_the_same_moment_one_stays(self) -> None:
        self.serve(WORLD)
        bridges = [self.bridge(ready=False) for _ in range(3)]
        clock = self.ros().reader("/clock", "rosgraph_msgs/msg/Clock", reliable=False)
        end = time.monotonic() + 60
        while sum(bridge.child.poll() is None for bridge in bridges) > 1 and time.monotonic() < end:
            time.sleep(0.1)
        left = [bridge for bridge in bridges if bridge.child.poll() is None]
        self.assertEqual(len(left), 1)
        for bridge in bridges:
            if bridge not in left:
                self.assertEqual(bridge.wait(), 1)
                self.assertIn(f"somebody publishes /clock in the DDS domain {self.domain} already", bridge.lines[-1])
        # Nobody comes that the last one would make way for.
        time.sleep(3)
        self.assertIsNone(left[0].child.poll())
        clock.take()
        clock.wait()

    def test_settings_that_do_not_fit_end_it_with_a_line(self) -> None:
        self.serve(WORLD)
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

    def test_nothing_is_announced_beyond_loopback_by_default(self) -> None:
        address = own_address()
        if address is None:
            self.skipTest("this machine has loopback alone")
        self.ports = {"control": "127.0.0.1:9"}
        # Where a network is named it is announced there, within seconds; that is how this test would see it.
        with announcements(self.domain, address) as heard:
            bridge = self.bridge(f'networks = ["{address}"]\n', ready=False)
            named = heard(20.0)
            bridge.stop()
        if not named:
            self.skipTest("this machine's network carries no multicast")
        self.domain += 1
        Rig._domain += 1
        with announcements(self.domain, address) as heard:
            bridge = self.bridge(ready=False)
            bridge.wait_for("away: ")
            self.assertFalse(heard(8.0))
            bridge.stop()

    def test_a_bridge_waits_for_its_server(self) -> None:
        self.ports = {"control": "127.0.0.1:9"}
        bridge = self.bridge(ready=False)
        bridge.wait_for("away: no server at 127.0.0.1:9")
        self.assertEqual(bridge.stop(), 0)


if __name__ == "__main__":
    unittest.main()
