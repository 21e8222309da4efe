"""The clock that waits: the helper against a server of a few lines that holds the clock, then against the real one."""

from __future__ import annotations

import functools
import threading
import unittest

from rig import STATE, Door, launch, needs_server, simpartner


class HoldingServer:
    """Two devices in lockstep: the first ACK is answered with the present step; a step is made when both have sent a command or
    ACK and its number, and then shown to both."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.control_heard: list[str] = []
        self._step = 0
        self._answered: set[str] = set()
        self._lock = threading.Lock()
        self.doors = {name: Door(b"<0,0>\n", functools.partial(self._device, name)) for name in "AB"}
        self.control = Door(b"", self._clock)

    def close(self) -> None:
        """Closes all ports."""
        for door in (self.control, *self.doors.values()):
            door.close()

    def _clock(self, line: str) -> bytes:
        if line == "DEVICES":
            lines = [f"DEVICE name={n} kind=K robot=R body=B port=0 bound={d.port}\n" for n, d in self.doors.items()]
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
            complete = len(self._answered) == len(self.doors)
        if complete:
            self._show()
        return b"" if line.startswith("ACK") else b"<0,0>\n"

    def _show(self) -> None:
        with self._lock:
            self._answered.clear()
            self._step += 1
            sample = self._sample()
        for door in self.doors.values():
            door.say(sample)


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
                *[("B", frame) for frame in ("<0.0,0.0>", "<10.0,0.001>", "<20.0,0.002>")],
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
    def test_a_controller_in_lockstep_gives_the_same_path_as_single_steps(self) -> None:
        def law(step: int) -> float:
            return step % 5 - 2.0

        members = ["One/Position", "One/LeftMotor"]
        with launch(mode="fast") as sim, sim.lockstep(members, timeout=10) as steps:
            held = {}
            for turn in steps:
                held[turn.step] = turn["One/Position"].values
                if turn.step >= 50:
                    break
                turn.command("One/LeftMotor", velocity_3=law(turn.step))
        with launch(mode="fast") as sim:
            first = min(held)
            sim.step(first)
            for step in range(first, 50):
                self.assertEqual(held[step], sim["One/Position"].read().values, step)
                sim["One/LeftMotor"].command(velocity_3=law(step))
                sim.step()


if __name__ == "__main__":
    unittest.main()
