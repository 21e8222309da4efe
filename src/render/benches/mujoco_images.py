"""Images a second of MuJoCo's Renderer in the scenes of images.rs: python3 src/render/benches/mujoco_images.py

It needs `pip install mujoco numpy`, and EGL or OSMesa (MUJOCO_GL). LP_NUM_THREADS=0 keeps Mesa's llvmpipe on one
thread. Rates are for processor time, as in images.rs. The boxes have the same sizes, but not the same places.
"""

import math
import os
import random
import time

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("LP_NUM_THREADS", "0")

import mujoco  # noqa: E402
import numpy as np  # noqa: E402

SIZES = [(64, 64), (320, 240), (640, 480)]
PLANE = '<geom type="plane" size="50 50 .1"/>'
# Half of the horizontal field of view of images.rs, rad.
HALF_FIELD = 0.55
# Processor time of a measurement, s.
LONG = 0.4

WORLD = """<mujoco>
  <visual><global offwidth="640" offheight="480"/><quality shadowsize="2048"/></visual>
  <asset>{assets}</asset>
  <worldbody>
    <light directional="true" castshadow="true" pos="0 0 10" dir="-.36 .44 -.82"/>
    <camera name="eye" pos="7 -5 4" xyaxes="{axes}" fovy="{fovy}"/>
    {geoms}
  </worldbody>
</mujoco>"""


def camera_axes() -> str:
    """The camera's x and y axis, from its place to the middle; z is up here, where it is y in images.rs."""
    forward = np.array([-7.0, 5.0, -3.7])
    right = np.cross(forward, [0.0, 0.0, 1.0])
    up = np.cross(right, forward)
    return " ".join(f"{number:.9g}" for number in (*right / np.linalg.norm(right), *up / np.linalg.norm(up)))


def boxes() -> tuple[str, str]:
    random.seed(1)
    geoms = [PLANE]
    for _ in range(400):
        x, y = random.uniform(-9, 9), random.uniform(-9, 9)
        a, b, c = random.uniform(0.05, 0.3), random.uniform(0.05, 0.3), random.uniform(0.05, 0.5)
        turn = random.uniform(-170, 170)
        geoms.append(f'<geom type="box" pos="{x} {y} {c}" size="{a} {b} {c}" euler="0 0 {turn}"/>')
    return "", "".join(geoms)


def hills() -> tuple[str, str]:
    places = np.linspace(-24.875, 24.875, 200)
    x, y = np.meshgrid(places, places)
    heights = 0.5 * np.sin(0.4 * x) * np.cos(0.3 * y) + 0.1 * np.sin(2.1 * x - 1.3 * y)
    low, high = heights.min(), heights.max()
    elevation = " ".join(f"{height:.6f}" for height in ((heights - low) / (high - low)).ravel())
    size = f"24.875 24.875 {high - low} 1"
    asset = f'<hfield name="hills" nrow="200" ncol="200" size="{size}" elevation="{elevation}"/>'
    return asset, f'<geom type="hfield" hfield="hills" pos="0 0 {low}"/>'


def mesh() -> tuple[str, str]:
    around, across = 250, 200
    vertices, faces = [], []
    for i in range(around):
        for j in range(across):
            turn, tilt = 2 * math.pi * i / around, 2 * math.pi * j / across
            tube = 0.8 + 0.05 * math.sin(20 * turn) * math.sin(16 * tilt)
            radius = 2 + tube * math.cos(tilt)
            point = (radius * math.cos(turn), -radius * math.sin(turn), tube * math.sin(tilt))
            vertices.append(" ".join(f"{number:.6f}" for number in point))
            next_i, next_j = (i + 1) % around, (j + 1) % across
            a, b, c, d = i * across + j, next_i * across + j, next_i * across + next_j, i * across + next_j
            faces.append(f"{a} {c} {b} {a} {d} {c}")
    asset = f'<mesh name="ring" inertia="shell" vertex="{" ".join(vertices)}" face="{" ".join(faces)}"/>'
    return asset, PLANE + '<geom type="mesh" mesh="ring" pos="0 0 .9" contype="0" conaffinity="0"/>'


def images_per_second(renderer: mujoco.Renderer, data: mujoco.MjData) -> float:
    """The best of three."""
    rates = []
    for _ in range(3):
        start, count = time.process_time(), 0
        while count < 2 or time.process_time() - start < LONG:
            renderer.update_scene(data, camera="eye")
            renderer.render()
            count += 1
        rates.append(count / (time.process_time() - start))
    return max(rates)


def main() -> None:
    for name, scene in (("plane with 400 boxes", boxes), ("terrain", hills), ("100,000 triangles", mesh)):
        assets, geoms = scene()
        for width, height in SIZES:
            fovy = math.degrees(2 * math.atan(math.tan(HALF_FIELD) * height / width))
            text = WORLD.format(assets=assets, axes=camera_axes(), fovy=fovy, geoms=geoms)
            model = mujoco.MjModel.from_xml_string(text)
            data = mujoco.MjData(model)
            mujoco.mj_forward(model, data)
            renderer = mujoco.Renderer(model, height, width)
            color = images_per_second(renderer, data)
            renderer.enable_depth_rendering()
            depth = images_per_second(renderer, data)
            print(f"{name}: {width} x {height} colour {color:.1f}/s depth {depth:.1f}/s", flush=True)


if __name__ == "__main__":
    main()
