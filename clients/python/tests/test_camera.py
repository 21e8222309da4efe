"""Cameras: the reader against a port of a few lines, then against the real server; arrays where numpy is installed."""

from __future__ import annotations

import itertools
import math
import struct
import unittest
from unittest import mock

from rig import STATE, TESTS, FakePort, launch, needs, needs_server, simpartner

from simpartner.camera import Image, Plane

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]
try:
    from simpartner.gym import CameraObservation, Channel, DriveEnv
except ImportError:
    DriveEnv = None  # type: ignore[assignment, misc]

CAMERAS = TESTS / "cameras.xml"
OPTICS = "width=2 height=1 encodings={} fx=3 fy=4 cx=0.5 cy=0 near=0.1 far=inf lens={}"


def shot(step: int, encoding: str, data: bytes, rest: str = "") -> bytes:
    return f"F {step} {step / 1000} 2 1 {encoding} {len(data)}{rest}\n".encode() + data


def fake(encodings: str, answer: dict[str, bytes | None], lens: str = "pinhole") -> tuple[FakePort, FakePort]:
    """A server with one camera: its control port and the camera's."""
    optics = OPTICS.format(encodings, lens)
    told = f"OK name=C kind=Camera robot=R body=B port=1 rate=10 fields=frame_step[1] {optics}\n".encode()
    camera = FakePort(b"<0>\n", lambda line: told if line == "INFO" else answer.get(line, b"ERR 1 what?\n"))
    line = f"DEVICE name=C kind=Camera robot=R body=B port=7 bound={camera.port}\nOK 1\n".encode()
    return FakePort(b"", lambda asked: line if asked == "DEVICES" else STATE), camera


class Reader(unittest.TestCase):
    def meet(self, encodings: str, lens: str = "pinhole", **answer: bytes | None) -> tuple[simpartner.Device, FakePort]:
        words = {name.replace("_", " "): data for name, data in answer.items()}
        control, camera = fake(encodings, words, lens)
        sim = simpartner.connect(port=control.port, timeout=5)
        for each in (sim, control, camera):
            self.addCleanup(each.close)
        return sim["C"], camera

    def test_the_optics_are_those_of_info(self) -> None:
        device, _ = self.meet("rgb8,32FC1", "fisheye k1=0.1 k2=-2 k3=0 k4=5e-3")
        optics = device.optics
        self.assertEqual(optics.matrix, ((3.0, 0.0, 0.5), (0.0, 4.0, 0.0), (0.0, 0.0, 1.0)))
        self.assertEqual((optics.lens, optics.distortion), ("fisheye", (0.1, -2.0, 0.0, 0.005)))
        self.assertEqual((optics.width, optics.height, optics.near, optics.far), (2, 1, 0.1, math.inf))
        self.assertEqual(optics.encodings, ("rgb8", "32FC1"))
        # Two columns of pixels on both sides of the axis, 3 pixels before it.
        self.assertAlmostEqual(optics.field_of_view, 2 * math.atan(1 / 3))

    def test_both_images_of_an_rgbd_camera_come_together(self) -> None:
        depths = struct.pack("<ff", 1.5, math.inf)
        device, _ = self.meet("rgb8,32FC1", GET_raw=shot(7, "rgb8", b"\n<\rab\n") + shot(7, "32FC1", depths))
        image = device.image()
        self.assertEqual((image.step, image.time, image.dropped), (7, 0.007, 0))
        self.assertEqual(image.planes, (Plane("rgb8", 2, 1, b"\n<\rab\n"), Plane("32FC1", 2, 1, depths)))
        # The connection stands behind the last byte.
        self.assertEqual(device.image(), image)
        with self.assertRaisesRegex(LookupError, "no plane of 32SC2; the camera has rgb8, 32FC1"):
            _ = image.plane("32SC2")

    def test_a_header_that_is_none_is_an_error_and_a_refusal_is_raised(self) -> None:
        for text in (
            b"F 1 0.001 2 1 rgb8 5\n",  # 6 bytes
            b"F 1 0.001 99999 99999 mono8 9999800001\n",  # more than anybody stores
            b"F 1 0.001 -2 -1 mono8 2\n",
            b"F 1 0.001 2 1 yuv 2\n",
            b"S 1 0.001 2\n",
            b"F 1\n",
        ):
            device, _ = self.meet("mono8", GET_raw=text)
            with self.assertRaises(simpartner.WireError, msg=text):
                device.image()
        device, _ = self.meet("mono8", GET_raw=b"ERR 7 no image has arrived yet\n")
        with self.assertRaisesRegex(simpartner.WrongStateError, "no image"):
            device.image()

    def test_a_device_without_images_says_so_and_a_camera_has_no_other_stream(self) -> None:
        device, _ = self.meet("mono8")
        with self.assertRaisesRegex(TypeError, "use images"):
            device.subscribe()
        with self.assertRaises(ValueError):
            device.images(0)
        plain = simpartner.Device(mock.MagicMock(), "D", "PositionSensor", "R", 1)
        plain._info = simpartner.Info("D", "PositionSensor", "R", "body", "B", 1, 10, ())
        with self.assertRaisesRegex(TypeError, "R/D, a PositionSensor, has no images"):
            plain.image()

    def test_a_slow_reader_gets_the_newest_image_and_the_count_of_the_others(self) -> None:
        first = b"OK\n" + b"".join(shot(step, "mono8", b"ab") for step in (1, 2)) + shot(5, "mono8", b"cd", " dropped=2")
        device, _ = self.meet("mono8", SUB_1_raw=first)
        with device.images(timeout=5, lossless=True) as stream:
            told = [(image.step, image.dropped) for image in itertools.islice(stream, 3)]
            self.assertEqual(told, [(1, 0), (2, 0), (5, 2)])
            self.assertEqual(stream.dropped, 2)
        device, camera = self.meet("mono8", SUB_1_raw=first)
        with device.images(timeout=5) as stream:
            image = next(stream)
            while image.step < 5:
                image = next(stream)
            self.assertEqual(image.planes[0].data, b"cd")
            # Two that the server has left out, and none, one or two that waited with the last.
            self.assertIn(stream.dropped, (2, 3, 4))
            self.assertEqual(image.dropped, stream.dropped)
            while not stream._connection.has_more():
                camera.say(shot(6, "mono8", b"ef") + shot(7, "mono8", b"gh"))
            # Now two and more wait, and the last is the newest.
            image = next(stream)
            self.assertEqual((image.step, image.planes[0].data), (7, b"gh"))
            self.assertGreaterEqual(image.dropped, 1)

    def test_an_image_in_pieces_goes_on_after_a_timeout(self) -> None:
        device, camera = self.meet("mono8", SUB_2_raw=b"OK\nF 1 0.001 2 1 mono8 2\na")
        with device.images(2, timeout=0.05) as stream:
            with self.assertRaises(simpartner.NoAnswerError):
                next(stream)
            camera.say(b"bERR 7 not now\n")
            stream.timeout = 5
            stream.lossless = True
            self.assertEqual(next(stream).planes[0].data, b"ab")
            with self.assertRaises(simpartner.WrongStateError):
                next(stream)
            camera.say(shot(9, "mono8", b"xy"))
            self.assertEqual(next(stream).step, 9)
            camera.close()
            self.assertEqual(list(stream), [])

    @needs(np, "numpy is not installed")
    def test_pixels_are_arrays_of_the_encoding(self) -> None:
        for encoding, data, expected in (
            ("rgb8", bytes(range(6)), [[[0, 1, 2], [3, 4, 5]]]),
            ("mono8", b"\x01\xff", [[1, 255]]),
            ("32FC1", struct.pack("<ff", 0.5, -math.inf), [[0.5, -math.inf]]),
            ("32SC2", struct.pack("<iiii", -1, 0, 3, 9), [[[-1, 0], [3, 9]]]),
        ):
            pixels = Plane(encoding, 2, 1, data).pixels
            self.assertEqual(pixels.tolist(), expected)
            self.assertEqual(pixels.dtype.itemsize * pixels.size, len(data))
        image = Image(1, 0.001, (Plane("mono8", 2, 1, b"ab"), Plane("32FC1", 2, 1, bytes(8))))
        self.assertEqual((image.color.dtype, image.depth.dtype), (np.uint8, np.float32))
        self.assertTrue(np.array_equal(image.pixels, image.color))


@needs_server
class Server(unittest.TestCase):
    def test_an_image_is_of_the_step_that_the_reading_says(self) -> None:
        with launch(CAMERAS, mode="fast") as sim:
            for steps in (0, 1, 33, 100):
                if steps:
                    sim.step(steps)
                for name in ("Eye", "Depth", "Parts", "Kinect"):
                    camera = sim[name]
                    self.assertEqual(camera.image().step, camera.present()[0], name)
                    self.assertEqual(camera.read().values, camera.present())
                    self.assertEqual(tuple(plane.encoding for plane in camera.image().planes), camera.optics.encodings)
            first = sim["Kinect"].image()
            self.assertEqual(first, sim["Kinect"].image())

    def test_the_same_step_has_the_same_bytes_after_a_reset_and_in_another_server(self) -> None:
        def run(sim: simpartner.Simulation) -> list[Image]:
            sim.step(70)
            return [sim[name].image() for name in ("Eye", "Depth", "Parts", "Kinect")]

        with launch(CAMERAS, mode="fast") as one, launch(CAMERAS, mode="fast") as two:
            images = run(one)
            self.assertEqual(run(two), images)
            one.reset()
            self.assertEqual(run(one), images)

    def test_in_lockstep_a_turn_has_the_image_that_its_reading_names(self) -> None:
        with launch(CAMERAS, mode="fast") as sim, sim.lockstep(["Box"], timeout=10, every=10) as steps:
            for turn in steps:
                self.assertEqual(sim["Eye"].image().step, turn["Eye"]["frame_step"], turn.step)
                if turn.step >= 300:
                    break

    def test_a_stream_in_real_time_has_images_in_their_order(self) -> None:
        with launch(CAMERAS) as sim, sim["Kinect"].images(timeout=30) as stream:
            sim.play()
            seen = [next(stream) for _ in range(5)]
            steps = [image.step for image in seen]
            self.assertEqual(steps, sorted(set(steps)))
            self.assertEqual([len(image.planes) for image in seen], [2] * 5)
            # One in 40 ms: what is not seen is counted.
            self.assertEqual(steps[-1] - steps[0], 40 * (4 + sum(image.dropped for image in seen[1:])))

    def test_a_camera_that_is_off_refuses(self) -> None:
        with launch(CAMERAS, mode="fast") as sim:
            sim["Eye"].fault("off")
            sim.step(1)
            with self.assertRaises(simpartner.DeviceOffError):
                sim["Eye"].image()
            sim["Eye"].fault("ok")
            sim.step(50)
            self.assertEqual(sim["Eye"].image().step, sim["Eye"].present()[0])

    @needs(np, "numpy is not installed")
    def test_depth_colour_and_numbers_show_the_wall(self) -> None:
        with launch(CAMERAS, mode="fast") as sim:
            # The camera stands at x = 1 m and looks along x at the face of a wall at x = 3.5 m.
            depth = sim["Depth"].image().depth
            optics = sim["Depth"].optics
            middle = depth[round(optics.cy), round(optics.cx)]
            # A depth is the nearest of 32 bits to 2.5 m.
            self.assertAlmostEqual(float(middle), 2.5, delta=1e-6)
            parts = sim["Parts"].image().segmentation
            self.assertEqual(parts[round(optics.cy), round(optics.cx)].tolist(), [1, 7])
            red, green, blue = map(int, sim["Eye"].image().color[round(optics.cy), round(optics.cx)])
            self.assertGreater(red, 2 * max(green, blue))


@needs_server
@needs(DriveEnv, "gymnasium is not installed")
class Environment(unittest.TestCase):
    def make(self, **options: object) -> DriveEnv:
        with_box = {"sensors": ["Where"], "channels": [Channel(["Push"], "force_x", 0, 5)], "frames": {}}
        sim = launch(CAMERAS, mode="fast", settings={"lockstep.timeout_s": 60})
        self.addCleanup(sim.close)
        env = DriveEnv(simulation=sim, steps=50, **with_box, **options)  # type: ignore[arg-type]
        self.addCleanup(env.close)
        return env

    def test_pixels_are_observed_and_determined_by_seed_and_actions(self) -> None:
        def roll(env: CameraObservation) -> list[bytes]:
            seen = [env.reset(seed=1)[0]]
            for _ in range(4):
                observation, *_ = env.step(np.array([1.0], dtype=np.float32))
                self.assertTrue(env.observation_space.contains(observation))
                seen.append(observation)
            return [each[key].tobytes() for each in seen for key in ("state", "Eye", "Kinect", "Kinect_depth", "Parts")]

        env = CameraObservation(self.make(), ["Eye", "Kinect", "Parts"])
        first = roll(env)
        self.assertEqual(roll(env), first)
        self.assertEqual(roll(CameraObservation(self.make(), ["Eye", "Kinect", "Parts"])), first)
        self.assertEqual(len(set(first[1::5])), 5, "it moves, so that every image differs")

    def test_a_camera_renders(self) -> None:
        env = self.make(render_mode="rgb_array", camera="Eye")
        env.reset(seed=1)
        picture = env.render()
        assert picture is not None
        self.assertEqual((picture.shape, picture.dtype), ((48, 64, 3), np.uint8))
        grey = self.make(render_mode="rgb_array", camera="Kinect")
        grey.reset(seed=1)
        picture = grey.render()
        assert picture is not None
        self.assertEqual(picture.shape, (24, 32, 3))
        with self.assertRaisesRegex(ValueError, "expected a Camera or an RgbdCamera, got Box/Depth"):
            self.make(camera="Depth")


if __name__ == "__main__":
    unittest.main()
