"""Starting and ending a server."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from rig import BINARY, FALLING, REPOSITORY, environment, launch, needs_server, simpartner


class Finding(unittest.TestCase):
    def test_a_server_that_is_not_there_is_named(self) -> None:
        with self.assertRaisesRegex(simpartner.LaunchError, "there is no server at .*nowhere"):
            simpartner.launch(binary="/nowhere/simpartner")
        empty = mock.patch.dict(os.environ, {"PATH": ""})
        with tempfile.TemporaryDirectory() as folder, empty:
            os.environ.pop("SIMPARTNER_BIN", None)
            with self.assertRaisesRegex(simpartner.LaunchError, "SIMPARTNER_BIN"):
                simpartner.launch(folder=folder)


@needs_server
class Launching(unittest.TestCase):
    def test_a_server_ends_with_its_context_and_tells_its_figures(self) -> None:
        with launch(mode="fast") as sim:
            server = sim.server
            assert server is not None
            sim.step(100)
            self.assertIsNone(server.process.poll())
        self.assertEqual(server.process.returncode, 0)
        self.assertEqual(server.summary["steps"], "100")
        self.assertRegex(server.summary["state"], "^[0-9a-f]{64}$")
        sim.close()

    def test_it_ends_also_after_quit_and_after_an_error(self) -> None:
        sim = launch()
        sim.quit()
        sim.close()
        assert sim.server is not None
        self.assertEqual(sim.server.process.returncode, 0)
        with self.assertRaises(ZeroDivisionError), launch() as sim:
            _ = 1 / 0
        assert sim.server is not None
        self.assertEqual(sim.server.process.returncode, 0)

    def test_settings_reach_the_server(self) -> None:
        with launch(mode="realtime", rate=0.5, timestep=0.01, settings={"log.enabled": False}) as sim:
            state = sim.state
            self.assertEqual((state.mode, state.rate, state.timestep), ("realtime", 0.5, 0.01))
        with launch(paused=False) as sim:
            self.assertTrue(sim.state.playing)
        with launch(token="a secret") as sim:
            self.assertEqual(sim["One/Position"].read()["y"], 1000)
            with self.assertRaises(simpartner.TokenError):
                simpartner.connect(port=sim.port, token="another")

    def test_a_server_that_does_not_start_says_why(self) -> None:
        with self.assertRaises(simpartner.LaunchError) as raised:
            launch(Path("no/world.xml"))
        self.assertEqual(raised.exception.code, 3)
        self.assertIn("no/world.xml", str(raised.exception))
        with self.assertRaises(simpartner.LaunchError) as raised:
            launch(settings={"physics.engine": "magic"})
        self.assertEqual(raised.exception.code, 3)

    def test_two_servers_of_one_world_run_side_by_side_on_free_ports(self) -> None:
        world = REPOSITORY / "worlds" / "flat.xml"
        with launch(world, free_ports=True) as one, launch(world, free_ports=True) as two:
            self.assertNotEqual(one["Position"].info.port, two["Position"].info.port)
            self.assertEqual((one["Position"].model_port, two["Position"].model_port), (1026, 1026))

    def test_a_server_is_found_by_its_file_of_ports(self) -> None:
        world = REPOSITORY / "worlds" / "flat.xml"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "ports.json")
            with (
                launch(world, free_ports=True, arguments=["--ports-file", str(file)]) as sim,
                simpartner.connect(ports_file=file) as other,
            ):
                self.assertEqual(other["Position"].info.port, sim["Position"].info.port)
            self.assertFalse(file.exists(), "the file goes with the server")
            with self.assertRaisesRegex(simpartner.ConnectionLostError, "ports.json"):
                simpartner.connect(ports_file=file)
            file.write_text("[]")
            with self.assertRaisesRegex(simpartner.WireError, "no file of ports"):
                simpartner.connect(ports_file=file)

    def test_a_run_is_logged_where_asked(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.db"
            with launch(mode="fast", database=f"sqlite:{path}") as sim:
                sim["One/LeftMotor"].command(velocity_3=1)
                sim.step(50)
            log = sqlite3.connect(path)
            self.addCleanup(log.close)
            self.assertEqual(log.execute("SELECT count(*) FROM simulationRow").fetchone(), (50,))
            self.assertEqual(log.execute("SELECT count(*) FROM command").fetchone(), (1,))

    @unittest.skipUnless(os.name == "posix", "signals are of POSIX")
    def test_a_server_ends_with_the_program_that_forgot_it(self) -> None:
        program = (
            "import simpartner\n"
            f"sim = simpartner.launch({str(FALLING)!r}, folder={str(REPOSITORY)!r}, binary={str(BINARY)!r})\n"
            "print(sim.server.process.pid)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, timeout=60, check=True
        )
        with self.assertRaises(ProcessLookupError):
            os.kill(int(done.stdout), signal.SIG_DFL)

    def test_a_server_that_is_killed_is_noticed(self) -> None:
        with launch() as sim:
            assert sim.server is not None
            stream = sim["One/Position"].subscribe()
            sim.server.process.kill()
            self.assertEqual(list(stream), [])
            with self.assertRaises(simpartner.ConnectionLostError):
                sim.step()


if __name__ == "__main__":
    unittest.main()
