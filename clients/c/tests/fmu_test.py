"""Functional mock-up units in FMPy, another implementation of FMI. Environment: FOLDER has the files of fmu.rs."""

import os
import resource
import shutil
import sqlite3
import threading
import unittest
from ctypes import byref, c_bool, c_char_p, c_double, c_size_t, c_uint, c_void_p
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu

FOLDER = Path(os.environ["FOLDER"])
VERSIONS = {2: "drive2.fmu", 3: "drive3.fmu"}
POSITION = ["WorkPartner.Position.x", "WorkPartner.Position.y", "WorkPartner.Position.z"]
OK, DISCARD, ERROR = 0, 2, 3


class Instance:
    """An instance of either version, called by the functions of its library, with all of its messages."""

    def __init__(self, name: str, version: int, token: str | None = None, resources: str | None = None, **more: Any):
        path = FOLDER / name
        self.version, self.messages = version, []
        self.unzipped = resources or fmpy.extract(str(path))
        self.description = fmpy.read_model_description(str(path), validate=False)
        self.references = {variable.name: variable.valueReference for variable in self.description.modelVariables}
        identifier = self.description.coSimulation.modelIdentifier
        library = fmpy.extract(str(path)) if resources else self.unzipped
        kind = FMU2Slave if version == 2 else FMU3Slave
        arguments = {"unzipDirectory": library, "modelIdentifier": identifier, "instanceName": "one"}
        self.fmu = kind(guid=token or self.description.guid, **arguments)
        self.fmu.unzipDirectory = self.unzipped
        if version == 2:
            self.callbacks = fmi2CallbackFunctions()
            self.callbacks.logger = fmi2CallbackLoggerTYPE(self.log_2)
            self.fmu.instantiate(callbacks=self.callbacks, **more)
        else:
            self.fmu.instantiate(logMessage=self.log_3, **more)

    def log_2(self, _environment: Any, name: bytes, status: int, _category: bytes, text: bytes) -> None:
        # The text is a format, whose argument a callback in Python does not get.
        self.messages.append((status, name.decode() + " " + text.decode()))

    def log_3(self, _environment: Any, status: int, _category: bytes, text: bytes) -> None:
        self.messages.append((status, text.decode()))

    def call(self, name: str, *arguments: Any) -> int:
        """Calls fmi2NAME or fmi3NAME without an exception for its status."""
        return int(self.fmu._functions[f"fmi{self.version}{name}"](self.fmu.component, *arguments))

    def initialize(self, start: float = 0.0, stop: float | None = None) -> "Instance":
        if self.version == 2:
            self.fmu.setupExperiment(startTime=start, stopTime=stop)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=start, stopTime=stop)
        self.fmu.exitInitializationMode()
        return self

    def get(self, names: list[str]) -> list[float]:
        references = [self.references[name] for name in names]
        return list(self.fmu.getReal(references) if self.version == 2 else self.fmu.getFloat64(references))

    def set_status(self, name: str, value: float, reference: int | None = None) -> int:
        references = (c_uint * 1)(self.references[name] if reference is None else reference)
        values = (c_double * 1)(value)
        if self.version == 2:
            return self.call("SetReal", references, 1, values)
        return self.call("SetFloat64", references, 1, values, 1)

    def get_status(self, reference: int) -> int:
        references, values = (c_uint * 1)(reference), (c_double * 1)()
        if self.version == 2:
            return self.call("GetReal", references, 1, values)
        return self.call("GetFloat64", references, 1, values, 1)

    def set_seed(self, seed: int) -> None:
        reference = [self.references["seed"]]
        if self.version == 2:
            self.fmu.setInteger(reference, [seed])
        else:
            self.fmu.setUInt64(reference, [seed])

    def step_status(self, time: float, size: float) -> int:
        if self.version == 2:
            return self.call("DoStep", time, size, 1)
        flags = [c_bool() for _ in range(3)]
        return self.call("DoStep", time, size, True, *(byref(flag) for flag in flags), byref(c_double()))

    def steps(self, first: int, last: int, drive: bool = True) -> list[list[float]]:
        """Steps of 10 ms with a command that changes; returns the positions."""
        rows = []
        for step in range(first, last):
            if drive:
                for wheel in range(1, 5):
                    self.set_status(f"WorkPartner.WheelMotor{wheel}.velocity_3", 1.0 + step / 50)
            assert self.step_status(step * 0.01, 0.01) == OK, self.messages
            rows.append(self.get(POSITION))
        return rows


def logged_positions() -> np.ndarray:
    with sqlite3.connect(FOLDER / "drive.db") as log:
        query = "SELECT x, y, z FROM positionSensor WHERE robot = 'WorkPartner' AND device = 'Position' ORDER BY step"
        return np.array(log.execute(query).fetchall())


def commands() -> np.ndarray:
    """The commands of drive.xml: 1 rad/s, and 2 rad/s after half a second."""
    fields = ["max_force_1", "max_force_2", "max_force_3", "velocity_3"]
    names = [f"WorkPartner.WheelMotor{wheel}.{field}" for wheel in range(1, 5) for field in fields]
    first, second = [1000.0, 1000.0, 100.0, 1.0] * 4, [1000.0, 1000.0, 100.0, 2.0] * 4
    rows = [(0.0, *first), (0.5, *first), (0.5, *second), (10.0, *second)]
    return np.array(rows, dtype=[("time", float), *((name, float) for name in names)])


class FmuTest(unittest.TestCase):
    """Each test runs for both versions of FMI."""

    def each(self) -> list[tuple[int, str]]:
        return list(VERSIONS.items())

    def assert_said(self, one: Instance, words: str) -> None:
        said = [text for status, text in one.messages if status >= DISCARD]
        self.assertTrue(said, words)
        # FMI 2.0 hands over a format and its arguments.
        if one.version == 3:
            self.assertIn(words, said[-1])

    def test_validation_is_clean(self) -> None:
        for _, name in self.each():
            self.assertEqual(validate_fmu(str(FOLDER / name)), [])

    def test_the_description_has_every_variable_with_its_unit(self) -> None:
        for version, name in self.each():
            description = fmpy.read_model_description(str(FOLDER / name))
            variables = {variable.name: variable for variable in description.modelVariables}
            motor, place = variables["WorkPartner.WheelMotor1.velocity_3"], variables[POSITION[0]]
            self.assertEqual((motor.causality, motor.unit, float(motor.start)), ("input", "rad/s", 0.0))
            self.assertEqual((place.causality, place.unit, place.start), ("output", "m", None))
            self.assertEqual(float(variables["parameter.'surface.friction'"].start), 0.7)
            self.assertEqual(int(variables["seed"].start), 7)
            simulation = description.coSimulation
            self.assertTrue(simulation.canGetAndSetFMUstate and simulation.canSerializeFMUstate)
            self.assertTrue(simulation.canHandleVariableCommunicationStepSize)
            if version == 3:
                self.assertEqual(float(simulation.fixedInternalStepSize), 0.001)

    def test_the_trajectory_is_that_of_the_server_to_the_bit(self) -> None:
        log = logged_positions()
        self.assertEqual(log.shape, (1000, 3))
        self.assertGreater(log[-1, 0] - log[0, 0], 0.1)
        for _, name in self.each():
            file = str(FOLDER / name)
            result = fmpy.simulate_fmu(file, stop_time=1.0, output_interval=0.001, input=commands(), output=POSITION)
            for column, field in enumerate(POSITION):
                np.testing.assert_array_equal(result[field][1:], log[:, column])
            # A communication step of several steps ends in the same place.
            result = fmpy.simulate_fmu(file, stop_time=1.0, output_interval=0.02, input=commands(), output=POSITION)
            np.testing.assert_array_equal(result[POSITION[0]][1:], log[19::20, 0])

    def test_saved_states_continue_with_the_same_bits(self) -> None:
        for version, name in self.each():
            one = Instance(name, version).initialize()
            one.steps(0, 10)
            one.set_status("WorkPartner.WheelMotor1.velocity_3", 3.0)
            state = one.fmu.getFMUState()
            data = one.fmu.serializeFMUstate(state) if version == 2 else one.fmu.serializeFMUState(state)
            after = one.steps(10, 20, drive=False)
            for _ in range(2):
                one.fmu.setFMUState(state)
                self.assertEqual(one.steps(10, 20, drive=False), after)
            # In another instance, which is somewhere else, from the bytes.
            other = Instance(name, version).initialize()
            other.steps(0, 3)
            load = other.fmu.deSerializeFMUstate if version == 2 else other.fmu.deserializeFMUState
            again = load(data)
            other.fmu.setFMUState(again)
            self.assertEqual(other.steps(10, 20, drive=False), after)
            # Damaged bytes, and those of other programs.
            for wrong in (data[:-1], data[:60], b"", b"x" * 100, data[:200] + bytes([data[200] ^ 1]) + data[201:]):
                with self.assertRaises(fmpy.fmi1.FMICallException):
                    load(wrong)
            one.fmu.freeFMUState(state)
            one.fmu.freeInstance()
            other.fmu.freeInstance()

    def test_a_reset_is_a_fresh_start_and_instances_are_independent(self) -> None:
        for version, name in self.each():
            one, other = Instance(name, version).initialize(), Instance(name, version).initialize()
            rows = [one.steps(0, 5), other.steps(0, 5)]
            self.assertEqual(*rows)
            other.steps(5, 8)
            self.assertEqual(one.steps(5, 8), Instance(name, version).initialize().steps(0, 8)[5:])
            one.fmu.reset()
            one.initialize()
            self.assertEqual(one.steps(0, 5), rows[0])

    def test_seeds_and_parameters_act_from_the_start(self) -> None:
        for version, name in self.each():
            plain = Instance(name, version).initialize().steps(0, 30)
            slippery = Instance(name, version)
            self.assertEqual(slippery.set_status("parameter.'surface.friction'", 0.01), OK)
            slippery.set_seed(9)
            slippery.initialize()
            self.assertEqual(slippery.get(["parameter.'surface.friction'"]), [0.01])
            rows = slippery.steps(0, 30)
            self.assertGreater(abs(rows[-1][0] - plain[-1][0]), 1e-4)
            self.assertEqual(slippery.set_status("parameter.'surface.friction'", 0.5), ERROR)
            self.assert_said(slippery, "is fixed")
            wrong = Instance(name, version)
            self.assertEqual(wrong.set_status("parameter.'surface.friction'", float("nan")), DISCARD)
            self.assertEqual(wrong.set_status("parameter.'surface.friction'", -1.0), OK)
            if version == 2:
                wrong.fmu.setupExperiment()
                wrong.fmu.enterInitializationMode()
            else:
                wrong.fmu.enterInitializationMode()
            self.assertEqual(wrong.call("ExitInitializationMode"), ERROR)
            self.assert_said(wrong, "friction")

    def test_a_simulation_may_start_at_any_time_and_ends_at_its_stop(self) -> None:
        for version, name in self.each():
            one = Instance(name, version).initialize(start=100.0, stop=100.05)
            self.assertEqual(one.get(["time"]), [100.0])
            for step in range(5):
                self.assertEqual(one.step_status(100.0 + step * 0.01, 0.01), OK)
            self.assertAlmostEqual(one.get(["time"])[0], 100.05, 12)
            self.assertEqual(one.step_status(100.05, 0.01), ERROR)
            self.assert_said(one, "stop time")

    def test_wrong_step_sizes_are_errors_with_a_text(self) -> None:
        for version, name in self.each():
            for size in (0.0015, 0.0, -0.001, 1e-9, float("nan"), float("inf")):
                one = Instance(name, version).initialize()
                self.assertEqual(one.step_status(0.0, size), ERROR, size)
                self.assert_said(one, "has to be a multiple of the simulation's step, 0.001 s")
                # An error ends the simulation; a reset begins another one.
                self.assertEqual(one.step_status(0.0, 0.001), ERROR)
                self.assert_said(one, "out of order")
                one.fmu.reset()
                one.initialize()
                self.assertEqual(one.step_status(0.0, 0.003), OK)
            one = Instance(name, version).initialize()
            self.assertEqual(one.step_status(0.5, 0.001), ERROR)
            self.assert_said(one, "the communication point is 0.5 s, and the simulation is at 0 s")

    def test_calls_out_of_order_are_errors(self) -> None:
        for version, name in self.each():
            one = Instance(name, version)
            self.assertEqual(one.step_status(0.0, 0.001), ERROR)
            self.assert_said(one, "before its initialization")
            for call in ("ExitInitializationMode", "Terminate"):
                one = Instance(name, version)
                self.assertEqual(one.call(call), ERROR)
            one = Instance(name, version).initialize()
            self.assertEqual(one.call("ExitInitializationMode"), ERROR)
            one = Instance(name, version).initialize()
            one.fmu.terminate()
            self.assertEqual(len(one.get(POSITION)), 3)
            self.assertEqual(one.set_status("WorkPartner.WheelMotor1.velocity_3", 1.0), ERROR)
            if version == 3:
                self.assertEqual(one.call("EnterEventMode"), ERROR)

    def test_wrong_references_values_and_pointers_are_errors(self) -> None:
        for version, name in self.each():
            # Refusals are told if messages are on, errors always.
            one = Instance(name, version, loggingOn=True).initialize()
            self.assertEqual(one.set_status("WorkPartner.WheelMotor1.max_force_1", -1.0), DISCARD)
            self.assert_said(one, "expected 0 to")
            self.assertEqual(one.set_status("WorkPartner.WheelMotor1.velocity_3", float("nan")), DISCARD)
            # The simulation continues after a value that was refused.
            self.assertEqual(one.step_status(0.0, 0.001), OK)
            for reference in (len(one.references), 2**32 - 1):
                one = Instance(name, version).initialize()
                self.assertEqual(one.get_status(reference), ERROR)
                self.assert_said(one, "no variable with the value reference")
                self.assertEqual(one.set_status("", 1.0, reference), ERROR)
            for computed in ("time", POSITION[0], "seed"):
                one = Instance(name, version).initialize()
                self.assertEqual(one.set_status(computed, 1.0), ERROR)
            get, set_ = ("GetReal", "SetReal") if version == 2 else ("GetFloat64", "SetFloat64")
            for call in (get, set_):
                one = Instance(name, version).initialize()
                self.assertEqual(one.call(call, None, 1, None, *(() if version == 2 else (1,))), ERROR)
                self.assert_said(one, "is NULL")
                one = Instance(name, version).initialize()
                self.assertEqual(one.call(call, None, 0, None, *(() if version == 2 else (0,))), OK)
            one = Instance(name, version).initialize()
            state = "FMUstate" if version == 2 else "FMUState"
            for wrong in (None, c_void_p(12345)):
                self.assertEqual(one.call(f"Set{state}", wrong), ERROR)
            self.assertEqual(one.call(f"Get{state}", None), ERROR)
            self.assertEqual(one.call(f"Serialized{state}Size", c_void_p(7), byref(c_size_t())), ERROR)
            self.assertEqual(one.call(f"Free{state}", None), OK)
            absent = "GetString"
            self.assertEqual(one.call(absent, (c_uint * 1)(0), 1, None, *(() if version == 2 else (1,))), ERROR)

    def test_a_handle_that_was_freed_is_an_error(self) -> None:
        for version, name in self.each():
            one = Instance(name, version).initialize()
            handle = one.fmu.component
            free = one.fmu._functions[f"fmi{version}FreeInstance"]
            free(handle)
            free(handle)
            free(None)
            self.assertEqual(one.step_status(0.0, 0.001), ERROR)
            one.fmu.component = c_void_p(4711)
            self.assertEqual(one.step_status(0.0, 0.001), ERROR)
            one.fmu.component = None
            self.assertEqual(one.call("Reset"), ERROR)

    def test_wrong_tokens_and_resources_give_no_instance(self) -> None:
        for version, name in self.each():
            with self.assertRaisesRegex(Exception, "Failed to instantiate"):
                Instance(name, version, token="{00000000-0000-0000-0000-000000000000}")
            unzipped = Path(fmpy.extract(str(FOLDER / name)))
            broken = [
                lambda folder: shutil.rmtree(folder / "resources"),
                lambda folder: (folder / "resources" / "simpartner.json").write_text("{"),
                lambda folder: next((folder / "resources" / "sources").glob("*.xml")).unlink(),
                lambda folder: next((folder / "resources" / "sources").glob("*.xml")).write_text("<world/>"),
            ]
            for number, damage in enumerate(broken):
                folder = FOLDER / f"broken-{version}-{number}"
                shutil.copytree(unzipped, folder)
                damage(folder)
                with self.assertRaisesRegex(Exception, "Failed to instantiate"):
                    Instance(name, version, resources=str(folder))

    def test_event_mode_and_other_kinds_are_refused(self) -> None:
        one = Instance(VERSIONS[3], 3)
        with self.assertRaisesRegex(Exception, "Failed to instantiate"):
            one.fmu.instantiate(eventModeUsed=True, logMessage=one.log_3)
        self.assert_said(one, "no event mode")
        functions = one.fmu._functions
        text = one.description.guid.encode()
        folder = str(Path(one.unzipped) / "resources").encode()
        made = functions["fmi3InstantiateModelExchange"](b"x", text, folder, False, True, None, one.fmu.logMessage)
        self.assertFalse(made)
        self.assert_said(one, "for co-simulation alone")
        # Early return is allowed to the FMU, and it makes no use of it.
        early = Instance(VERSIONS[3], 3, earlyReturnAllowed=True).initialize()
        self.assertEqual(early.fmu.doStep(0.0, 0.05), (False, False, False, 0.05))

    def test_messages_follow_their_categories(self) -> None:
        for version, name in self.each():
            one = Instance(name, version).initialize()
            text = (c_char_p * 1)(b"logNothing")
            self.assertEqual(one.call("SetDebugLogging", 1, 1, text), ERROR)
            self.assertEqual(one.call("SetDebugLogging", 1, 0, None), OK)
            self.assertEqual(one.call("SetDebugLogging", 1, 1, None), ERROR)

    def test_two_threads_share_an_instance(self) -> None:
        for version, name in self.each():
            one = Instance(name, version).initialize()
            values: list[int] = []

            def read(one: Instance = one, values: list[int] = values) -> None:
                for _ in range(300):
                    values.append(one.get_status(one.references[POSITION[0]]))

            threads = [threading.Thread(target=read) for _ in range(3)]
            for thread in threads:
                thread.start()
            for step in range(50):
                self.assertEqual(one.step_status(step * 0.001, 0.001), OK)
            for thread in threads:
                thread.join()
            self.assertEqual(values, [OK] * 900)
            threads = [threading.Thread(target=self.drive, args=(name, version)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def drive(self, name: str, version: int) -> None:
        Instance(name, version).initialize().steps(0, 20)

    def test_instances_that_are_freed_leave_nothing_behind(self) -> None:
        for version in (2, 3):
            one = Instance(f"ball{version}.fmu", version)

            def cycle(one: Instance = one) -> None:
                one.fmu.freeInstance()
                if one.version == 2:
                    one.fmu.instantiate(callbacks=one.callbacks)
                else:
                    one.fmu.instantiate(logMessage=one.log_3)
                one.initialize()
                assert one.step_status(0.0, 0.001) == OK
                state = one.fmu.getFMUState()
                one.fmu.setFMUState(state)

            # fmpy forgets the functions of an instance that it frees.
            one.fmu.freeLibrary = lambda: None
            for _ in range(100):
                cycle()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(2000):
                cycle()
            self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, before + 16384)


if __name__ == "__main__":
    unittest.main()
