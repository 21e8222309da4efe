"""Simulations in this process, where the native module is built: the calls and the bits of a server."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from rig import BINARY, FALLING, NATIVE, REPOSITORY, TESTS, launch, needs, needs_native, needs_server, simpartner

from simpartner import errors

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]
NAVIGATION = REPOSITORY / "worlds" / "navigation.xml"
SPINNER = (TESTS / "spinner.xml").read_text(encoding="utf-8")


@needs_native
class Calls(unittest.TestCase):
    def setUp(self) -> None:
        self.sim = simpartner.load(FALLING)

    def test_the_clock_stands_until_steps_are_asked_for(self) -> None:
        self.assertEqual((self.sim.state.step, self.sim.state.playing, self.sim.state.timestep), (0, False, 0.001))
        self.assertEqual(self.sim.step(100).time, 0.1)
        self.assertEqual(self.sim.run_to(0.25).step, 250)
        self.assertEqual(self.sim.sync(), 250)
        self.assertEqual(self.sim.reset().step, 0)
        with self.assertRaises(simpartner.WrongStateError):
            self.sim.play()

    @needs_server
    def test_values_of_the_model_are_those_of_a_run(self) -> None:
        sim = simpartner.load(NAVIGATION, settings={"model.surface.friction": 0.3, "model.WorkPartner.*.mass": "*1.2"})
        sim.step(200)
        changed = ["--model", "surface.friction=0.3", "--model", "WorkPartner.*.mass=*1.2"]
        fixed = ["run", "--mode", "fast", "--duration", "0.2", "--database", "none", "--world", str(NAVIGATION)]
        made = subprocess.run([BINARY, *fixed, *changed], capture_output=True, text=True, check=True)
        self.assertIn(sim.state_hash, made.stdout + made.stderr)
        with self.assertRaisesRegex(simpartner.SimPartnerError, "did you mean 'friction'"):
            simpartner.load(NAVIGATION, settings={"model.surface.frction": 0.3})

    def test_a_body_falls_as_the_integrator_says(self) -> None:
        self.sim.step(1000)
        # Free motion is of fourth order, so a parabola is exact but for rounding.
        self.assertAlmostEqual(self.sim["One/Position"].read()["y"], 1000 - 0.5 * 10, delta=1e-9)

    def test_devices_have_the_calls_of_a_server(self) -> None:
        motor = self.sim["One/LeftMotor"]
        self.assertEqual([field.name for field in motor.fields][:2], ["max_force_1", "max_force_2"])
        motor.command(10, 10, 10, 0, 0, 5)
        self.assertEqual(motor.command(velocity_3=6).velocity_3, 5)
        self.assertEqual(motor.present().velocity_3, 6)
        self.sim.step(20)
        self.assertEqual(motor.read().values.velocity_3, 6)
        motor.command_at(30, 10, 10, 10, 0, 0, 1)
        self.sim.step(10)
        self.assertEqual(motor.read().values.velocity_3, 1)
        self.assertEqual(self.sim["One/Echo"].ask("hello"), "<hello>")
        self.assertEqual({robot: len(each.readings()) for robot, each in self.sim.robots.items()}, {"One": 1, "Two": 1})
        with self.assertRaisesRegex(simpartner.OutOfRangeError, "max_force_1: expected 0 to"):
            motor.command(-1, 0, 0, 0, 0, 0)
        with self.assertRaises(simpartner.UnknownDeviceError):
            self.sim["Position"]
        with self.assertRaises(simpartner.WrongStateError):
            motor.subscribe()
        self.sim["One/Position"].fault("off")
        self.sim.step()
        with self.assertRaises(simpartner.DeviceOffError):
            self.sim["One/Position"].read()
        self.assertEqual([event.kind for event in self.sim.events()], ["fault"])

    def test_robots_come_and_go(self) -> None:
        motor = self.sim["One/LeftMotor"]
        self.assertEqual(self.sim.spawn(text=SPINNER, name="Three", position=(0, 500, 0)), "Three")
        self.sim.step(100)
        self.assertAlmostEqual(self.sim["Three/Position"].read()["y"], 500 - 0.05, delta=1e-9)
        self.assertIs(self.sim["One/LeftMotor"], motor)
        self.sim.remove("Three")
        self.assertNotIn("Three/Position", self.sim.devices)
        self.sim.place("Two", position=(0, 50, 0))
        self.sim.step()
        self.assertAlmostEqual(self.sim["Two/Position"].read()["y"], 50, delta=0.01)
        with self.assertRaisesRegex(simpartner.WrongParameterError, "Four"):
            self.sim.remove("Four")

    def test_errors_say_where_and_what(self) -> None:
        with self.assertRaisesRegex(simpartner.ModelError, r"w\.xml:2:3: "):
            simpartner.load("w.xml", text="<world name='w'>\n  <wall/>\n</world>")
        with self.assertRaisesRegex(simpartner.ModelError, "no such file"):
            simpartner.load("no such file.xml")
        with self.assertRaisesRegex(simpartner.SettingError, "physics.engin"):
            simpartner.load(FALLING, settings={"physics.engin": "rapier"})
        with self.assertRaisesRegex(simpartner.SettingError, "server.port_offset"):
            simpartner.load(FALLING, settings={"server.port_offset": 10})
        with self.assertRaises(simpartner.SettingError):
            simpartner.load(FALLING, timestep=-1.0)
        with self.assertRaises(simpartner.SnapshotError):
            self.sim.restore(b"nothing")

    def test_snapshots_continue_and_seeds_begin_anew(self) -> None:
        self.sim["One/LeftMotor"].command(10, 10, 10, 0, 0, 5)
        self.sim.step(50)
        there = self.sim.snapshot()
        self.sim.step(50)
        after = self.sim.state_hash
        self.assertEqual(self.sim.restore(there).step, 50)
        self.sim.step(50)
        self.assertEqual(self.sim.state_hash, after)
        self.sim.reset(seed=5)
        self.assertEqual((self.sim.seed, self.sim.state.step), (5, 0))
        self.assertEqual(self.sim.state_hash, simpartner.load(FALLING, seed=5).state_hash)

    def test_other_formats_stand_on_level_ground(self) -> None:
        urdf = """<robot name="r"><link name="base"><inertial><mass value="1"/>
            <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
            <collision><geometry><sphere radius="0.5"/></geometry></collision></link></robot>"""
        with TemporaryDirectory() as folder:
            file = Path(folder) / "robot.urdf"
            file.write_text(urdf, encoding="utf-8")
            sim = simpartner.load(file)
        sim.step(100)
        self.assertEqual(list(sim.robots), ["r"])

    def test_ctrl_c_ends_a_long_step(self) -> None:
        # A program in the background of a shell ignores SIGINT, and Python then has no handler for it.
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, handler)
        main = threading.get_ident()
        threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
        # On the ground, where bodies stay; the others of this class fall for ever.
        sim = simpartner.load(NAVIGATION)
        with self.assertRaises(KeyboardInterrupt):
            sim.step(10**12)
        self.assertGreater(sim.state.step, 0)
        step = sim.state.step
        self.assertEqual(sim.step().step, step + 1)

    def test_other_threads_run_and_look_meanwhile(self) -> None:
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                self.sim.step(50)

        thread = threading.Thread(target=work)
        thread.start()
        seen = set()
        deadline = time.monotonic() + 30
        while len(seen) < 3 and time.monotonic() < deadline:
            seen.add(self.sim["One/Position"].read().step)
        stop.set()
        thread.join()
        self.assertGreaterEqual(len(seen), 3)


@needs_native
@needs(np, "numpy is not installed")
class Arrays(unittest.TestCase):
    def test_readings_and_commands_are_arrays_of_the_caller(self) -> None:
        sim = simpartner.load(FALLING, sensors=["Two/Position", "One/Position"], actuators=["One/LeftMotor"])
        first = sim.reading_fields[1]
        self.assertEqual((first.name, first.unit), ("Two/Position.y", "m"))
        self.assertEqual(sim.command_fields[5].name, "One/LeftMotor.velocity_3")
        commands, readings = np.array([10.0, 10, 10, 0, 0, 4]), np.zeros(6)
        self.assertEqual(sim.advance(10, commands, readings), 10)
        self.assertEqual(readings[1], sim["Two/Position"].read()["y"])
        self.assertEqual(sim.readings().tobytes(), readings.tobytes())
        self.assertEqual(list(sim.commands()), [10, 10, 10, 0, 0, 4])
        sim.command(np.array([np.nan] * 5 + [7.0]))
        self.assertEqual(sim["One/LeftMotor"].present().velocity_3, 7)
        sim.select()
        self.assertEqual((len(sim.readings()), len(sim.commands())), (6, 24))

    def test_wrong_arrays_are_refused(self) -> None:
        sim = simpartner.load(FALLING)
        with self.assertRaisesRegex(ValueError, "expected 6 numbers for the readings, got 5"):
            sim.advance(1, None, np.zeros(5))
        for wrong in (np.zeros(12)[::2], np.zeros(6, np.float32)):
            with self.assertRaises(TypeError):
                sim.advance(1, None, wrong)
        before = sim.commands().tobytes()
        with self.assertRaisesRegex(simpartner.OutOfRangeError, "LeftMotor: max_force_1"):
            sim.command(np.full(24, -1.0))
        self.assertEqual(sim.commands().tobytes(), before)


@needs_native
@needs_server
class Bits(unittest.TestCase):
    def test_a_server_in_lockstep_and_this_process_have_one_state(self) -> None:
        def drive(sim: simpartner.Simulation) -> list[tuple[float, ...]]:
            seen = []
            with sim.lockstep(["WorkPartner"], timeout=60, every=10) as steps:
                for turn in steps:
                    seen.append((turn.time, *turn["Pose"].values, *turn["Velocity"].values))
                    if len(seen) > 30:
                        return seen
                    speed = 2.0 - turn["Pose"]["x"]
                    for wheel in (1, 2, 3, 4):
                        turn.command(f"WheelMotor{wheel}", 1000, 1000, 100, 0, 0, speed)
                    if len(seen) == 5:
                        turn.command("TurnerController", 1000, 1000, 1000, 0, 0, 0.4, 5, 0, 0)
            return seen

        with launch(NAVIGATION) as server:
            there = drive(server)
        here = simpartner.load(NAVIGATION)
        self.assertEqual(drive(here), there)
        assert server.server is not None
        self.assertEqual(here.state_hash, server.server.summary["state"])

    def test_cameras_see_what_a_server_sees(self) -> None:
        world = TESTS / "cameras.xml"
        here = simpartner.load(world)
        name = next(device.full_name for device in here.devices.values() if device.has_images)
        here.step(300)
        with launch(world) as server:
            server.step(300)
            image = server[name].image()
        mine = here[name].image()
        self.assertEqual((mine.step, mine.time, mine.planes), (image.step, image.time, image.planes))


@unittest.skipIf(NATIVE, "this installation has the native module")
class Without(unittest.TestCase):
    def test_a_missing_module_is_named(self) -> None:
        with self.assertRaisesRegex(errors.NativeModuleError, "wheel"):
            _ = simpartner.load

