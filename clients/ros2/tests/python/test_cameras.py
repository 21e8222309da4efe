"""Images, calibrations and clouds of cameras, read by Cyclone DDS."""

from __future__ import annotations

import itertools
import math
import struct
import time
import unittest
import zlib
from pathlib import Path
from typing import Any

from rig import Rig

WORLD = """<world name="w"><surface a="0" b="1" c="0" d="0" friction="1"/><gravity y="-9.81"/>
<object type="Body" name="Wall" class="7"><static>true</static><pose x="4" y="2"/><box x="1" y="4" z="8"/>
<visual color="#c00000"><box x="1" y="4" z="8"/></visual></object>
<robot file="box.xml" name="Box"/></world>"""

LOOK = '<pose x="0.5" pitch="1.5707963267948966"/>'
ROBOT = f"""<robot name="Box"><body name="Base"><mass>1</mass><pose x="0.5" y="0.5"/><box x="1" y="1" z="1"/></body>
<sensor type="Camera" name="Eye" body="Base" port="0" rate="50" width="64" height="48">{LOOK}
<lens model="fisheye" focalX="40" k1="0.1" k2="0.2"/></sensor>
<sensor type="DepthCamera" name="Depth" body="Base" port="0" rate="50" width="65" height="49" far="3">{LOOK}</sensor>
<sensor type="SegmentationCamera" name="Parts" body="Base" port="0" rate="50" width="65" height="49">{LOOK}</sensor>
<sensor type="RgbdCamera" name="Kinect" body="Base" port="0" rate="50" width="33" height="25">{LOOK}</sensor></robot>"""

IMAGE, INFO, CLOUD = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo", "sensor_msgs/msg/PointCloud2"


def rows_of_png(data: bytes) -> tuple[int, int, bytes]:
    """Width, height and the filtered rows of a PNG file."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, packed, size = 8, b"", (0, 0)
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        packed += body if kind == b"IDAT" else b""
        place += length + 12
    return size[0], size[1], zlib.decompress(packed)


class Cameras(Rig):
    def look(self, settings: str = "") -> Any:
        self.serve(WORLD)
        self.bridge(settings)
        return self.ros()

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "box.xml").write_text(ROBOT, encoding="utf-8")

    def test_images_and_calibrations_come_with_the_names_of_ros(self) -> None:
        ros = self.look()
        color = ros.reader("/eye/image_raw", IMAGE).wait()
        self.assertEqual((color.width, color.height, color.encoding, color.step), (64, 48, "rgb8", 192))
        self.assertEqual(len(color.data), 48 * 192)
        self.assertEqual(color.header.frame_id, "Eye_optical_frame")
        red, green, blue = (int(color.data[24 * 192 + 32 * 3 + channel]) for channel in range(3))
        self.assertGreater(red, 2 * max(green, blue))
        # An image every 20 ms, stamped with the time of its step.
        self.assertEqual(color.header.stamp.nanosec % 20_000_000, 0)
        info = ros.reader("/eye/camera_info", INFO).wait()
        self.assertEqual((info.width, info.height, info.distortion_model), (64, 48, "equidistant"))
        self.assertEqual(list(info.d), [0.1, 0.2, 0.0, 0.0])
        self.assertEqual(list(info.k), [40.0, 0.0, 31.5, 0.0, 40.0, 23.5, 0.0, 0.0, 1.0])
        parts = ros.reader("/parts/image_raw", IMAGE).wait()
        self.assertEqual((parts.encoding, len(parts.data)), ("32SC2", 65 * 49 * 8))
        middle = bytes(parts.data)[(24 * 65 + 32) * 8 : (24 * 65 + 33) * 8]
        self.assertEqual(struct.unpack("<ii", middle), (1, 7))

    def test_depths_and_their_cloud_show_the_wall(self) -> None:
        ros = self.look()
        depth = ros.reader("/depth/image_rect_raw", IMAGE).wait()
        self.assertEqual((depth.encoding, depth.step), ("32FC1", 65 * 4))
        depths = struct.unpack(f"<{65 * 49}f", bytes(depth.data))
        # From x = 1 m to the wall's face at 3.5 m; the sky over it is too far. Depths have 24 bits.
        self.assertAlmostEqual(depths[24 * 65 + 32], 2.5, delta=1e-6)
        cloud = ros.reader("/depth/points", CLOUD).wait()
        self.assertEqual((cloud.width, cloud.height, cloud.point_step), (65, 49, 12))
        self.assertEqual(cloud.header.frame_id, "Depth_optical_frame")
        points = list(struct.iter_unpack("<3f", bytes(cloud.data)))
        focal = 32.5 / math.tan(math.radians(30))
        for index, ((x, y, z), way) in enumerate(zip(points, depths, strict=True)):
            if math.isfinite(way):
                self.assertAlmostEqual(z, way, delta=1e-6)
                self.assertAlmostEqual(x, (index % 65 - 32) / focal * way, delta=1e-5)
                self.assertAlmostEqual(y, (index // 65 - 24) / focal * way, delta=1e-5)
            else:
                self.assertTrue(math.isnan(x) and math.isnan(z))

    def test_an_rgbd_camera_has_the_topics_of_depth_cameras(self) -> None:
        ros = self.look()
        names = {name: IMAGE for name in ("/kinect/color/image_raw", "/kinect/depth/image_rect_raw")}
        names |= {name: INFO for name in ("/kinect/color/camera_info", "/kinect/depth/camera_info")}
        for name, kind in names.items():
            self.assertEqual(ros.reader(name, kind).wait().header.frame_id, "Kinect_optical_frame", name)
        cloud = ros.reader("/kinect/depth/color/points", CLOUD).wait()
        self.assertEqual([field.name for field in cloud.fields], ["x", "y", "z", "rgb"])
        _, _, z, blue, green, red, _ = struct.unpack("<3f4B", bytes(cloud.data)[16 * (12 * 33 + 16) :][:16])
        self.assertAlmostEqual(z, 2.5, delta=1e-6)
        self.assertGreater(red, 2 * max(green, blue))

    def test_a_compressed_image_is_a_png_file(self) -> None:
        ros = self.look()
        message = ros.reader("/eye/image_raw/compressed", "sensor_msgs/msg/CompressedImage").wait()
        self.assertEqual(message.format, "rgb8; png compressed bgr8")
        width, height, rows = rows_of_png(bytes(message.data))
        # Each row has a byte for its filter.
        self.assertEqual((width, height, len(rows)), (64, 48, 48 * (1 + 192)))

    def test_the_optical_frame_has_z_forward_and_y_down(self) -> None:
        ros = self.look()
        frames = ros.reader("/tf_static", "tf2_msgs/msg/TFMessage", latched=True).wait().transforms
        found = {item.child_frame_id: item for item in frames}
        item = found["Eye_optical_frame"]
        self.assertEqual(item.header.frame_id, "Base")
        place, turn = item.transform.translation, item.transform.rotation
        self.assertEqual([round(number, 12) for number in (place.x, place.y, place.z)], [0.5, 0.0, 0.0])
        # REP 103: from x forward, y left, z up to z forward, x right, y down.
        sign = -1 if turn.w > 0 else 1
        for got, expected in zip((turn.x, turn.y, turn.z, turn.w), (0.5, -0.5, 0.5, -0.5), strict=True):
            self.assertAlmostEqual(sign * got, expected, delta=1e-9)
        self.assertIn("Eye", found)

    @unittest.skipUnless(Path("/proc/net/tcp").exists(), "the connections are counted as Linux shows them")
    def test_best_effort_readers_get_images_and_nobody_is_served_unasked(self) -> None:
        ros = self.look("reliable_sensors = false\n[robots.Box.devices.Eye]\nrate_hz = 10\ntopic = \"/front\"\n")
        reader = ros.reader("/front/image_raw", IMAGE, reliable=False)
        stamps = []
        while len(stamps) < 5:
            stamp = reader.wait().header.stamp
            stamps.append(1000 * stamp.sec + stamp.nanosec // 1_000_000)
        # 10 Hz of the camera's 50; on a busy machine some are missing.
        self.assertEqual([(b - a) % 100 for a, b in itertools.pairwise(stamps)], [0] * 4)
        # The reader leaves, and images are no longer fetched: the bridge ends its connection.
        self.assertGreaterEqual(self.clients(), 1)
        del reader
        end = time.monotonic() + 30
        while self.clients() > 0:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def clients(self) -> int:
        """How many connections the camera's port has."""
        port = next(device["bound"] for device in self.ports["devices"] if device["name"] == "Eye")
        lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        # Local address, remote address, and 01 for an established connection.
        ends = [(line.split()[1], line.split()[3]) for line in lines]
        return sum(int(local.partition(":")[2], 16) == port and state == "01" for local, state in ends)


if __name__ == "__main__":
    unittest.main()
