"""The wire, against servers that say what a test wants. Needs no simulator."""

from __future__ import annotations

import math
import threading
import unittest

from rig import FakePort, fake, simpartner

from simpartner.reading import identifier, read_fields, read_sample, values_type
from simpartner.wire import Connection, read_numbers, read_pairs, write_numbers


class Text(unittest.TestCase):
    def test_values_of_pairs_may_hold_blanks_and_may_be_empty(self) -> None:
        pairs = read_pairs("OK name=Front Left kind=K fields= more=a=b")
        self.assertEqual(pairs, {"name": "Front Left", "kind": "K", "fields": "", "more": "a=b"})
        self.assertEqual(read_pairs(""), {})

    def test_every_number_reads_back_as_itself(self) -> None:
        numbers = (0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 2.0**53)
        back = read_numbers(write_numbers(numbers))
        self.assertEqual(back, numbers)
        self.assertEqual(math.copysign(1, back[1]), -1)
        for bad in (math.nan, math.inf, -math.inf):
            with self.assertRaisesRegex(ValueError, "number 2"):
                write_numbers([1, bad])

    def test_any_field_name_turns_into_one_that_python_takes(self) -> None:
        cases = {"x": "x", "angle.1": "angle_1", "class": "class_", "2d": "field_2d", "_a": "a", "-": "field"}
        self.assertEqual({name: identifier(name) for name in cases}, cases)
        fields = read_fields("x[m],angle.1[rad],class[],x[N.m]")
        self.assertEqual([field.unit for field in fields], ["m", "rad", "", "N.m"])
        self.assertEqual(values_type("D", fields)([1, 2, 3, 4])._fields, ("x", "angle_1", "class_", "x_4"))
        self.assertEqual(read_fields(""), ())
        with self.assertRaises(simpartner.WireError):
            read_fields("x[m],y")

    def test_a_sample_says_what_was_dropped_and_may_have_no_numbers(self) -> None:
        make = values_type("D", read_fields("x[m],y[m]"))
        reading = read_sample("S 12 0.012 1,-2e-7 dropped=3 later=1", make)
        self.assertEqual((reading.step, reading.time, reading["y"], reading.dropped), (12, 0.012, -2e-7, 3))
        self.assertEqual(read_sample("S 0 0 ", values_type("E", ())).values, ())
        for bad in ("S 1 2 3", "S 1 2 3,4,5", "S x 2 3,4", "OK", "S 1 2 a,b"):
            with self.assertRaises(simpartner.WireError, msg=bad):
                read_sample(bad, make)
        with self.assertRaisesRegex(KeyError, "the fields are x, y"):
            reading["z"]


class Conversation(unittest.TestCase):
    def meet(self, ports: tuple[FakePort, ...], timeout: float = 5.0, token: str | None = None) -> simpartner.Simulation:
        for port in ports:
            self.addCleanup(port.close)
        simulation = simpartner.connect(port=ports[0].port, timeout=timeout, token=token)
        self.addCleanup(simulation.close)
        return simulation

    def test_a_kind_that_nobody_knows_works(self) -> None:
        heard: list[str] = []

        def answer(line: str) -> bytes:
            heard.append(line)
            return b"S 5 0.005 1,2,3,4\n" if line == "GET" else b"OK\n" if line[0] in "CF" else b"<1,2,3,4>\n"

        device = self.meet(fake(answer))["D"]
        self.assertEqual((device.kind, device.info.more["mood"]), ("NovelSensor", "calm"))
        self.assertEqual(device.read()["angle.1"], 2)
        self.assertEqual(device.command(9, class_=8), (1, 2, 3, 4))
        device.configure({"x.noise": 0.5}, rate=10)
        device.fault("delayed", 0.25)
        wanted = ["GET", "<>", "<9.0,2.0,8.0,4.0>", "CFG x.noise=0.5 rate=10.0", "FAULT delayed 0.25"]
        self.assertEqual(heard, wanted)
        for arguments, names in (((1, 2, 3, 4, 5), {"x": 1}), ((1,), {"x": 1}), ((), {"y": 1})):
            with self.assertRaises(TypeError):
                device.command(*arguments, **names)
        with self.assertRaises(ValueError):
            device.ask("two\nlines")
        self.assertEqual(heard, wanted)

    def test_unknown_words_of_a_newer_server_are_kept(self) -> None:
        self.assertEqual(self.meet(fake(lambda _: b"")).state.more, {"colour": "red"})

    def test_every_refusal_has_its_class_and_a_new_code_is_still_a_refusal(self) -> None:
        codes = iter([*range(1, 11), 77])
        device = self.meet(fake(lambda _: f"ERR {next(codes)} text of it\n".encode()))["D"]
        seen = []
        for code in [*range(1, 11), 77]:
            with self.assertRaises(simpartner.RefusedError) as raised:
                device.ask("ANY")
            self.assertEqual((raised.exception.code, raised.exception.text), (code, "text of it"))
            seen.append(type(raised.exception))
        self.assertEqual(len(set(seen)), 11)
        self.assertIs(seen[-1], simpartner.RefusedError)

    def test_a_device_that_is_off_greets_with_a_refusal_and_can_be_mended(self) -> None:
        device = self.meet(fake(lambda _: b"OK\n", b"ERR 10 the device is off\n"))["D"]
        device.fault("ok")

    def test_too_many_connections_are_told_as_such(self) -> None:
        device = self.meet(fake(lambda _: b"OK\n", b"ERR 6 too many connections\n"))["D"]
        with self.assertRaises(simpartner.BusyError):
            device.read()

    def test_a_late_answer_is_not_taken_for_that_of_the_next_request(self) -> None:
        silent = threading.Event()

        def answer(line: str) -> bytes:
            if line == "SLOW":
                silent.wait(5)
                return b"late\n"
            return line.encode() + b"\n"

        device = self.meet(fake(answer), timeout=0.2)["D"]
        _ = device.info
        with self.assertRaises(simpartner.NoAnswerError):
            device.ask("SLOW")
        silent.set()
        self.assertEqual(device.ask("next"), "next")

    def test_a_server_that_goes_away_is_noticed_and_asked_again_when_it_is_back(self) -> None:
        device = self.meet(fake(lambda line: None if line == "DIE" else b"alive\n"))["D"]
        with self.assertRaises(simpartner.ConnectionLostError):
            device.ask("DIE")
        self.assertEqual(device.ask("HOW"), "alive")

    def test_a_subscription_counts_what_it_missed_and_ends_with_the_server(self) -> None:
        _, told = ports = fake(
            lambda _: b"OK\nS 10 0.01 1,2,3,4\nS 40 0.04 1,2,3,4 dropped=2\nS 60 0.06 1,2,3,4 dropped=1\n"
        )
        stream = self.meet(ports)["D"].subscribe(10, timeout=5)
        readings = [next(stream) for _ in range(3)]
        self.assertEqual([reading.dropped for reading in readings], [0, 2, 1])
        self.assertEqual(stream.dropped, 3)
        told.close()
        self.assertEqual(list(stream), [])

    def test_a_subscription_that_is_refused_is_an_error(self) -> None:
        with self.assertRaises(simpartner.BusyError):
            self.meet(fake(lambda _: b"ERR 6 no\n"))["D"].subscribe()

    def test_a_line_may_come_byte_by_byte_and_a_frame_may_hold_line_ends(self) -> None:
        port = FakePort(b"", lambda _: b"<a\nb>\r\nOK\n")
        self.addCleanup(port.close)
        connection = Connection("127.0.0.1", port.port, "it", None, 5.0)
        self.addCleanup(connection.close)
        connection.send_line("x")
        self.assertEqual([connection.read_line(5), connection.read_line(5)], ["<a\nb>", "OK"])
        for byte in b"S 1 2 3\n":
            port.say(bytes([byte]))
        self.assertEqual(connection.read_line(5), "S 1 2 3")

    def test_an_endless_line_is_given_up(self) -> None:
        port = FakePort(b"x" * (3 << 20), lambda _: b"")
        self.addCleanup(port.close)
        connection = Connection("127.0.0.1", port.port, "it", None, 5.0)
        self.addCleanup(connection.close)
        with self.assertRaises(simpartner.WireError):
            connection.read_line(5)

    def test_the_token_is_shown_first_and_an_unwanted_one_is_told(self) -> None:
        heard: list[str] = []
        control, _ = ports = fake(lambda _: b"")
        control.close()
        wants = FakePort(b"", lambda line: heard.append(line) or b"" if line == "TOKEN abc" else b"OK state=x\n")  # type: ignore[func-returns-value]
        with self.assertRaises(simpartner.WireError):
            self.meet((wants, *ports), token="abc")
        self.assertEqual(heard, ["TOKEN abc"])
        unwilling = FakePort(b"", lambda line: b"ERR 1 expected STATE\n" if line.startswith("TOKEN") else b"OK\n")
        with self.assertRaisesRegex(simpartner.UnknownVerbError, "leave it out"):
            self.meet((unwilling,), token="abc")
        asks = FakePort(b"", lambda _: b"ERR 9 expected TOKEN\n")
        with self.assertRaises(simpartner.TokenError):
            self.meet((asks,))

    def test_nobody_there_is_an_error_of_its_own(self) -> None:
        port = FakePort(b"", lambda _: b"")
        port.close()
        with self.assertRaises(simpartner.ConnectionLostError) as raised:
            simpartner.connect(port=port.port)
        self.assertIsInstance(raised.exception, ConnectionError)


if __name__ == "__main__":
    unittest.main()
