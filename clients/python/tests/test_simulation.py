"""The clock and the devices of a real server."""

from __future__ import annotations

import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from rig import REPOSITORY, launch, needs_server, simpartner


@needs_server
class Falling(unittest.TestCase):
    sim: ClassVar[simpartner.Simulation]

    @classmethod
    def setUpClass(cls) -> None:
        cls.sim = launch(mode="fast", settings={"physics.engine": "dynamics"})
        cls.addClassCleanup(cls.sim.close)

    def setUp(self) -> None:
        self.sim.pause()
        self.sim.mode("fast")
        self.sim.reset()

    def test_devices_are_found_by_full_name_and_by_name_where_it_is_unique(self) -> None:
        devices = self.sim.devices
        self.assertEqual(len(devices), 8)
        self.assertEqual(list(devices)[:2], ["One/Echo", "One/Position"])
        self.assertIn("Two/Position", devices)
        for name, words in (("Position", "one of several.*One/Position, Two/Position"), ("No", "no device.*One/Echo")):
            with self.assertRaisesRegex(simpartner.UnknownDeviceError, words):
                self.sim[name]
        self.assertEqual(
            [each.full_name for each in devices.of_kind("PositionSensor")], ["One/Position", "Two/Position"]
        )
        self.assertEqual(
            [each.name for each in devices.of_robot("Two")], ["Echo", "Position", "LeftMotor", "RightMotor"]
        )
        info = self.sim["One/LeftMotor"].info
        self.assertEqual((info.kind, info.mount, info.mounted_on), ("JointController", "joint", "LeftAxle"))
        self.assertEqual(info.fields[5], simpartner.Field("velocity_3", "rad/s"))

    def test_a_reading_after_a_step_is_that_of_the_step(self) -> None:
        # Free fall from rest by g t^2 / 2, with g = 10 m/s^2; a thousandth of a nanometre is what a double leaves of 1000 m.
        position = self.sim["One/Position"]
        start = position.read()
        self.assertEqual((start.step, start["y"]), (0, 1000.0))
        for step in range(1, 201):
            self.assertEqual(self.sim.step().step, step)
            reading = position.read()
            self.assertEqual((reading.step, reading.time), (step, step / 1000))
            self.assertAlmostEqual(reading.values.y, 1000 - 5 * reading.time**2, delta=1e-9)
        self.assertEqual(position.present(), reading.values)

    def test_a_robot_is_put_elsewhere_and_falls_from_there(self) -> None:
        self.sim.step(100)
        self.sim.place("One", (5, 500, -3), linear_velocity=[0, 2, 0])
        self.sim.step(100)
        reading = self.sim["One/Position"].present()
        # Thrown upwards at 2 m/s: 500 m + 2 m/s 0.1 s - g/2 (0.1 s)^2.
        self.assertAlmostEqual(reading.y, 500 + 0.2 - 0.05, delta=1e-9)
        self.assertAlmostEqual(reading.x, 5, delta=1e-9)
        self.assertAlmostEqual(self.sim["Two/Position"].present().y, 2000 - 5 * 0.04, delta=1e-9)
        self.sim.place("One", orientation=(0, 1, 0, 0))
        for words, kind in (
            (("Three", (0, 0, 0)), simpartner.WrongParameterError),
            (("One", (0, 0)), simpartner.WrongCountError),
            (("One", (0, 0, 1e9)), simpartner.OutOfRangeError),
            (("One", (0, 0, float("nan"))), ValueError),
            (("One",), simpartner.WrongParameterError),
        ):
            with self.assertRaises(kind):
                self.sim.place(*words)

    def test_a_robot_comes_and_goes_and_the_others_stay(self) -> None:
        urdf = (
            '<robot name="cart">\n<link name="base"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
            'ixz="0" iyz="0"/></inertial></link></robot>'
        )
        position = self.sim["One/Position"]
        self.assertEqual(self.sim.step(100).step, 100)
        height = position.present().y
        self.assertEqual(self.sim.spawn(text=urdf, position=(50, 10, 0)), "cart")
        self.assertEqual(self.sim.spawn(text=urdf, position=(70, 10, 0), rename=True), "cart_1")
        self.assertIn("cart_1", self.sim.robots)
        self.assertIs(self.sim["One/Position"], position)
        self.assertEqual((position.present().y, self.sim.state.step), (height, 100))
        self.sim.step(100)
        self.assertAlmostEqual(position.present().y, 1000 - 5 * 0.04, delta=1e-9)
        self.assertIn("rover.xml", self.sim.spawnables())
        with self.assertRaisesRegex(simpartner.WrongParameterError, "'cart' already"):
            self.sim.spawn(text=urdf)
        self.assertEqual(self.sim.spawn("rover.xml", name="Far", position=(90, 10, 0)), "Far")
        self.assertTrue(self.sim.devices.of_robot("Far"))
        for name in ("cart", "Far", "cart_1"):
            self.sim.remove(name)
        self.assertEqual(sorted(self.sim.robots), ["One", "Two"])
        self.assertFalse(self.sim.devices.of_robot("Far"))
        self.assertIs(self.sim["One/Position"], position)
        with self.assertRaises(simpartner.WrongParameterError):
            self.sim.remove("cart")

    def test_a_command_keeps_what_it_does_not_name_and_returns_the_state_before(self) -> None:
        motor = self.sim["One/LeftMotor"]
        before = motor.present()
        self.assertEqual(motor.command(velocity_3=3), before)
        self.assertEqual(motor.present(), before._replace(velocity_3=3.0))
        self.assertEqual(motor.read().values, before, "no step has shown it yet")
        self.assertEqual(motor.command(10, 20, velocity_3=4), before._replace(velocity_3=3.0))
        self.sim.step()
        after = before._replace(max_force_1=10.0, max_force_2=20.0, velocity_3=4.0)
        self.assertEqual(motor.read().values, after)
        self.assertEqual(motor.command(1, 2, 3, 4, 5, 6), after)

    def test_a_command_for_a_step_acts_in_that_step_and_not_in_a_past_one(self) -> None:
        motor = self.sim["Two/RightMotor"]
        motor.command_at(5, velocity_3=7)
        self.sim.step(4)
        self.assertEqual(motor.read()["velocity_3"], 0)
        self.sim.step()
        self.assertEqual(motor.read()["velocity_3"], 7)
        with self.assertRaisesRegex(simpartner.WrongStateError, "ERR 7 step 5 has been made already"):
            motor.command_at(5, velocity_3=8)

    def test_what_a_device_cannot_do_the_server_refuses_with_its_code(self) -> None:
        motor, position = self.sim["One/LeftMotor"], self.sim["One/Position"]
        with self.assertRaises(simpartner.WrongCountError):
            motor.command(1, 2)
        with self.assertRaises(simpartner.OutOfRangeError):
            motor.command(max_force_1=-1)
        with self.assertRaises(simpartner.UnknownVerbError) as raised:
            position.command(1)
        self.assertEqual(raised.exception.code, 1)
        with self.assertRaises(simpartner.WrongParameterError):
            motor.configure(rate=10)
        with self.assertRaises(simpartner.NotANumberError):
            motor.ask("<1,2,x,4,5,6>")
        with self.assertRaises(simpartner.BadMessageError):
            motor.ask("1" * 5000)
        self.assertEqual(len(motor.present()), 6, "the connection goes on")

    def test_an_echo_takes_text_and_has_no_numbers(self) -> None:
        echo = self.sim["Two/Echo"]
        echo.ask("<hello, you>")
        self.assertEqual(echo.ask("<>"), "<hello, you>")
        self.assertEqual(echo.read().values, ())
        with self.assertRaisesRegex(TypeError, "has no fields"):
            echo.command(1)

    def test_a_sensor_is_configured(self) -> None:
        position = self.sim["One/Position"]
        position.configure(rate=100)
        self.sim.step(15)
        self.assertAlmostEqual(position.read()["y"], 1000 - 5 * 0.01**2, delta=1e-9)

    def test_a_device_that_is_off_says_so_until_it_is_mended(self) -> None:
        position = self.sim["Two/Position"]
        position.fault("off")
        self.sim.step()
        with self.assertRaises(simpartner.DeviceOffError) as raised:
            position.read()
        self.assertEqual(raised.exception.code, 10)
        # It greets a fresh connection with its refusal, and still understands who it is and how it is mended.
        with simpartner.connect(self.sim.host, self.sim.port) as other:
            self.assertEqual(other["Two/Position"].info.kind, "PositionSensor")
            other["Two/Position"].fault("ok")
        self.sim.step()
        self.assertEqual(position.read().step, 2)
        with self.assertRaises(simpartner.WrongParameterError):
            position.fault("tired")

    def test_a_reset_is_a_fresh_start_to_the_bit(self) -> None:
        def run() -> list[simpartner.Reading]:
            readings = []
            for turn in range(20):
                self.sim["One/LeftMotor"].command(velocity_3=turn % 3)
                self.sim["One/RightMotor"].command(velocity_3=-turn)
                self.sim.step(7)
                readings.append(self.sim["One/Position"].read())
            return readings

        first = run()
        epoch = self.sim.reset().epoch
        self.assertEqual(self.sim.state.step, 0)
        self.assertEqual(run(), first)
        with launch(mode="fast", settings={"physics.engine": "dynamics"}) as fresh:
            self.assertEqual(fresh.state.epoch, 0)
            type(self).sim, former = fresh, self.sim
            try:
                self.assertEqual(run(), first)
            finally:
                type(self).sim = former
        self.assertGreater(epoch, 0)

    def test_a_subscription_gives_every_nth_step_or_says_what_it_dropped(self) -> None:
        with self.sim["One/Position"].subscribe(10, timeout=10) as stream:
            self.sim.mode("realtime")
            self.sim.play(1)
            last = 0
            for reading in stream:
                self.assertEqual(reading.step // 10 - last // 10, 1 + reading.dropped)
                last = reading.step
                if last > 300:
                    break
        self.assertEqual(list(stream), [], "a closed one is over")

    def test_a_lossless_subscription_waits_for_a_reader_that_is_late(self) -> None:
        with self.sim["One/Position"].subscribe(10, timeout=10, lossless=True) as stream:
            start = self.sim.step(3000).step - 3000
            readings = [next(stream) for _ in range(300)]
        self.assertEqual([reading.step for reading in readings], list(range(start + 10, start + 3001, 10)))
        self.assertEqual(stream.dropped, 0)

    def test_a_subscription_outlives_a_timeout_and_a_reset(self) -> None:
        with self.sim["One/Position"].subscribe(10, timeout=0.05) as stream:
            with self.assertRaises(simpartner.NoAnswerError):
                next(stream)
            self.sim.step(10)
            self.assertEqual(next(stream).step, 10)
            self.sim.reset()
            self.sim.step(10)
            self.assertEqual(next(stream).step, 10)
        for bad in (0, -1):
            with self.assertRaises(ValueError):
                self.sim["One/Position"].subscribe(bad)

    def test_another_thread_can_pause_a_run_that_is_waited_for(self) -> None:
        self.sim.mode("realtime")
        with self.sim["One/Position"].subscribe(1, timeout=10) as stream, ThreadPoolExecutor(1) as pool:
            run = pool.submit(self.sim.run_to, 1000)
            next(stream)
            self.assertTrue(self.sim.state.playing)
            self.assertEqual(self.sim.pause().state, "PAUSED")
            with self.assertRaisesRegex(simpartner.WrongStateError, "paused before that step"):
                run.result(10)

    def test_a_wait_that_is_too_long_ends_and_the_clock_can_still_be_asked(self) -> None:
        self.sim.mode("realtime")
        with self.assertRaises(simpartner.NoAnswerError):
            self.sim.run_to(1000, timeout=0.05)
        self.sim.pause()
        self.assertEqual(self.sim.step().state, "PAUSED")

    def test_the_clock_runs_to_a_time_and_plays_at_a_rate(self) -> None:
        self.assertEqual(self.sim.run_to(0.25).step, 250)
        self.sim.mode("realtime")
        state = self.sim.play(2)
        self.assertEqual((state.state, state.rate, state.mode), ("PLAYING", 2.0, "realtime"))
        self.assertGreaterEqual(self.sim.sync(), 250)
        with self.assertRaisesRegex(simpartner.WrongStateError, "PAUSE first"):
            self.sim.step()
        self.assertFalse(self.sim.pause().playing)
        with self.assertRaises(simpartner.WrongParameterError):
            self.sim.mode("sideways")

    def test_threads_share_devices_and_each_gets_its_own_answers(self) -> None:
        motors = [self.sim[f"{robot}/{side}Motor"] for robot in ("One", "Two") for side in ("Left", "Right")]
        wrong: list[object] = []

        def drive(number: int) -> None:
            for turn in range(100):
                answer = motors[turn % 4].command(1, 2, 3, number, number, number)
                if len({*answer[3:]}) != 1:
                    wrong.append(answer)

        threads = [threading.Thread(target=drive, args=(number,)) for number in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(wrong, [])

    def test_what_is_closed_stays_closed(self) -> None:
        other = simpartner.connect(self.sim.host, self.sim.port)
        device = other["One/Position"]
        with other:
            device.read()
        for ask in (device.read, lambda: other.state, other.step):
            with self.assertRaisesRegex(simpartner.ConnectionLostError, "closed here"):
                ask()
        self.assertEqual(self.sim.state.state, "PAUSED", "the server goes on")


@needs_server
class EveryKind(unittest.TestCase):
    def test_every_kind_of_device_tells_its_fields_and_reads_them(self) -> None:
        with launch(REPOSITORY / "worlds" / "square.xml", mode="fast", free_ports=True) as sim:
            sim.step(5)
            kinds = set()
            for device in sim.devices.values():
                reading = device.read()
                # A camera's reading is of the step of its image.
                step = device.present()[0] if device.has_images else 5
                self.assertEqual((reading.step, len(reading.values)), (step, len(device.fields)), device)
                self.assertEqual(len(set(reading.values._fields)), len(device.fields), device)
                for field, value in zip(device.fields, reading.values, strict=True):
                    self.assertEqual(reading[field.name], value)
                kinds.add(device.kind)
            self.assertGreaterEqual(len(kinds), 19)


if __name__ == "__main__":
    unittest.main()
