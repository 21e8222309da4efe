"""The clock that waits: the helper against a server of a few lines that holds the clock, then against the real one."""

from __future__ import annotations

import functools
import threading
import unittest
from unittest import mock

from rig import STATE, FakePort, launch, needs_server, simpartner

from simpartner.wire import Connection


class HoldingServer:
    """Two devices in lockstep: the first ACK is answered with the present step; a step is made when both have sent a command or
    ACK and its number, and then shown to both."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.control_heard: list[str] = []
        self._step = 0
        self._answered: set[str] = set()
        self._lock = threading.Lock()
        self.ports = {name: FakePort(b"<0,0>\n", functools.partial(self._device, name)) for name in "AB"}
        self.control = FakePort(b"", self._clock)

    def close(self) -> None:
        """Closes all ports."""
        for port in (self.control, *self.ports.values()):
            port.close()

    def _clock(self, line: str) -> bytes:
        if line == "DEVICES":
            lines = [f"DEVICE name={n} kind=K robot=R body=B port=0 bound={d.port}\n" for n, d in self.ports.items()]
            return "".join([*lines, "OK 2\n"]).encode()
        self.control_heard.append(line)
        return STATE

    def _device(self, name: str, line: str) -> bytes:
        if line == "INFO":
            return f"OK name={name} kind=K robot=R body=B port=0 rate=1 fields=u[m],v[m]\n".encode()
        if line == "ACK":
            return self._sample()
        with self._lock:
            self.heard.append((name, line))
            self._answered.add(name)
            complete = len(self._answered) == len(self.ports)
        if complete:
            self._show()
        return b""

    def _show(self) -> None:
        with self._lock:
            self._answered.clear()
            self._step += 1
            sample = self._sample()
        for port in self.ports.values():
            port.say(sample)

    def _sample(self) -> bytes:
        return f"S {self._step} {self._step / 1000} {self._step * 10},7\n".encode()


class Helper(unittest.TestCase):
    def setUp(self) -> None:
        self.server = HoldingServer()
        self.addCleanup(self.server.close)
        self.sim = simpartner.connect(port=self.server.control.port, timeout=5)
        self.addCleanup(self.sim.close)

    def test_every_step_waits_for_a_command_or_an_acknowledgement_of_each_member(self) -> None:
        with self.sim.lockstep(["A", "R/B"], timeout=5) as steps:
            for turn in steps:
                self.assertEqual(turn["A"]["u"], turn.step * 10)
                if turn.step == 3:
                    break
                turn.command("B", v=turn.time)
        self.assertEqual(
            sorted(self.server.heard),
            [
                *[("A", f"ACK {step}") for step in (0, 1, 2)],
                *[("B", f"ACK {step} {frame}") for step, frame in enumerate(("0.0,0.0", "10.0,0.001", "20.0,0.002"))],
            ],
        )
        heard = [line for line in self.server.control_heard if line != "STATE"]
        self.assertEqual(heard, ["MODE lockstep R/A R/B", "PAUSE", "PLAY", "PAUSE", "MODE fast"])

    def test_a_step_that_does_not_come_names_the_member(self) -> None:
        self.sim.ask("STATE")
        with self.sim.lockstep(["A"], timeout=0.05) as steps:
            next(steps)
            with self.assertRaisesRegex(simpartner.NoAnswerError, "R/A"):
                next(steps)

    def test_names_that_are_no_members_are_refused(self) -> None:
        with self.sim.lockstep(["A", "B"], timeout=5) as steps:
            turn = next(steps)
            with self.assertRaisesRegex(KeyError, "the members are R/A, R/B"):
                turn.command("C", 1)
        with self.assertRaises(ValueError):
            self.sim.lockstep([])


@needs_server
class Server(unittest.TestCase):
    def law(self, step: int) -> float:
        return step % 5 - 2.0

    def path(self, members: list[str], last: int, every: int = 1) -> dict[int, tuple[float, ...]]:
        """Where the robot is when its controller looks."""
        held = {}
        with launch(mode="fast") as sim, sim.lockstep(members, timeout=10, every=every) as steps:
            for turn in steps:
                held[turn.step] = tuple(turn["One/Position"].values)
                if turn.step >= last:
                    break
                turn.command("One/LeftMotor", velocity_3=self.law(turn.step))
        return held

    def test_a_controller_in_lockstep_gives_the_same_path_as_single_steps(self) -> None:
        devices = self.path(["One/Position", "One/LeftMotor"], 50)
        self.assertEqual(self.path(["One"], 50), devices)
        self.assertEqual(self.path(["Two", "One", "One/Position"], 50), devices)
        with launch(mode="fast") as sim:
            for step in range(50):
                self.assertEqual(devices[step], tuple(sim["One/Position"].read().values), step)
                sim["One/LeftMotor"].command(velocity_3=self.law(step))
                sim.step()

    def test_a_slow_controller_gives_the_same_path_as_so_many_steps_at_once(self) -> None:
        held = self.path(["One"], 60, every=20)
        self.assertEqual(sorted(held), [0, 20, 40, 60])
        with launch(mode="fast") as sim:
            for step in range(0, 60, 20):
                self.assertEqual(held[step], tuple(sim["One/Position"].read().values), step)
                sim["One/LeftMotor"].command(velocity_3=self.law(step))
                sim.step(20)

    def test_a_step_of_a_robot_is_one_line_there_and_one_back(self) -> None:
        with launch(mode="fast") as sim, sim.lockstep(["One"], timeout=10) as steps:
            first = next(steps)
            first.command("LeftMotor", 1000, 1000, 100, 0, 0, 1)
            first.command("RightMotor", velocity_3=2)
            said: list[str] = []
            heard: list[str] = []
            send_line, read_line = Connection.send_line, Connection.read_line

            def note(connection: Connection, text: str) -> None:
                said.append(text)
                send_line(connection, text)

            def listen(connection: Connection, timeout: float | None) -> str:
                heard.append(read_line(connection, timeout))
                return heard[-1]

            with mock.patch.multiple(Connection, send_line=note, read_line=listen):
                turn = next(steps)
            self.assertEqual(len(said), 1, said)
            self.assertTrue(said[0].startswith("ACK 0 LeftMotor=1000.0,1000.0,100.0,0.0,0.0,1.0;RightMotor="), said)
            self.assertEqual([line[:4] for line in heard], ["S 1 "])
            self.assertEqual(list(turn.readings), ["One/Position"])
            self.assertEqual([sim[f"One/{side}Motor"].present()[5] for side in ("Left", "Right")], [1, 2])

    def test_names_are_those_of_the_members_devices(self) -> None:
        with launch(mode="fast") as sim, sim.lockstep(["One", "Two"], timeout=10) as steps:
            turn = next(steps)
            self.assertEqual(turn["Two/Position"].step, 0)
            with self.assertRaisesRegex(KeyError, "one of several; shown are One/Position, Two/Position"):
                _ = turn["Position"]
            with self.assertRaisesRegex(KeyError, "the members are One, Two"):
                turn.command("LeftMotor", velocity_3=1)
            with self.assertRaises(simpartner.UnknownDeviceError):
                sim.lockstep(["Three"])

    def test_a_reset_begins_again_and_a_refused_command_is_raised(self) -> None:
        with launch(mode="fast") as sim, sim.lockstep(["One"], timeout=10, every=5) as steps:
            paths = []
            for _ in range(3):
                path = []
                for turn in steps:
                    path.append(tuple(turn["Position"].values))
                    if turn.step >= 20:
                        break
                    turn.command("LeftMotor", velocity_3=self.law(turn.step))
                paths.append(path)
                turn.command("LeftMotor", velocity_3=9)  # never sent
                steps.reset()
            self.assertEqual(len(paths[0]), 5)
            self.assertEqual(paths, [paths[0]] * 3)
            next(steps).command("LeftMotor", 1, 2)
            with self.assertRaises(simpartner.WrongCountError):
                next(steps)

    def test_what_was_commanded_last_is_sent_at_the_end(self) -> None:
        with launch(mode="fast") as sim:
            with sim.lockstep(["One"], timeout=10) as steps:
                next(steps).command("LeftMotor", velocity_3=7)
            self.assertEqual(sim["One/LeftMotor"].present()[5], 7)
            self.assertEqual(sim.state.mode, "fast")


if __name__ == "__main__":
    unittest.main()
