"""Rays a second of Embree in the scenes of images.rs: python3 src/render/benches/embree_rays.py

It needs `pip install embreex numpy`. The rays are those of the depth image of 320 x 240, on one thread. Each scene is
triangles here: 12 for a box, 2 for a cell of terrain, 2 for the plane. Rates are for processor time, as in images.rs.
The boxes have the same sizes, but not the same places.
"""

import math
import os
import random
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from embreex import rtcore_scene
from embreex.mesh_construction import TriangleMesh

SIZE = (320, 240)
# Half of the horizontal field of view of images.rs, rad.
HALF_FIELD = 0.55
# Processor time of a measurement, s.
LONG = 1.0
EYE = np.array([7.0, 4.0, 5.0])
MIDDLE = np.array([0.0, 0.3, 0.0])
FLOOR = [[[-50, 0, -50], [-50, 0, 50], [50, 0, 50]], [[-50, 0, -50], [50, 0, 50], [50, 0, -50]]]


def rays() -> np.ndarray:
    """Directions of the pixels, world axes."""
    forward = (MIDDLE - EYE) / np.linalg.norm(MIDDLE - EYE)
    right = np.cross(forward, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    width, height = SIZE
    focal = 0.5 * width / math.tan(HALF_FIELD)
    column, row = np.meshgrid(np.arange(width) - (width - 1) / 2, np.arange(height) - (height - 1) / 2)
    directions = forward + (column[..., None] * right + row[..., None] * down) / focal
    return (directions / np.linalg.norm(directions, axis=-1, keepdims=True)).reshape(-1, 3).astype(np.float32)


def boxes() -> np.ndarray:
    random.seed(1)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = list(FLOOR)
    for _ in range(400):
        x, z = random.uniform(-9, 9), random.uniform(-9, 9)
        size = np.array([random.uniform(0.1, 0.6), random.uniform(0.1, 1.0), random.uniform(0.1, 0.6)])
        turn = random.uniform(-3, 3)
        corners = []
        for k in range(8):
            a, y, b = (np.array([k & 1, k >> 1 & 1, k >> 2]) - 0.5) * size
            sine, cosine = math.sin(turn), math.cos(turn)
            corners.append([x + a * cosine + b * sine, y + size[1] / 2, z - a * sine + b * cosine])
        for a, b, c, d in faces:
            triangles += [[corners[a], corners[b], corners[c]], [corners[a], corners[c], corners[d]]]
    return np.array(triangles, np.float32)


def hills() -> np.ndarray:
    places = np.linspace(-24.875, 24.875, 200)
    x, z = np.meshgrid(places, places, indexing="ij")
    points = np.stack([x, 0.5 * np.sin(0.4 * x) * np.cos(0.3 * z) + 0.1 * np.sin(2.1 * x + 1.3 * z), z], axis=-1)
    low, along_x, along_z, high = points[:-1, :-1], points[1:, :-1], points[:-1, 1:], points[1:, 1:]
    halves = [np.stack([low, along_z, along_x], axis=2), np.stack([high, along_x, along_z], axis=2)]
    return np.concatenate([half.reshape(-1, 3, 3) for half in halves]).astype(np.float32)


def mesh() -> np.ndarray:
    around, across = 250, 200
    turns, tilts = 2 * np.pi * np.arange(around) / around, 2 * np.pi * np.arange(across) / across
    turn, tilt = np.meshgrid(turns, tilts, indexing="ij")
    tube = 0.8 + 0.05 * np.sin(20 * turn) * np.sin(16 * tilt)
    radius = 2 + tube * np.cos(tilt)
    a = np.stack([radius * np.cos(turn), 0.9 + tube * np.sin(tilt), radius * np.sin(turn)], axis=-1)
    b, d = np.roll(a, -1, axis=0), np.roll(a, -1, axis=1)
    c = np.roll(b, -1, axis=1)
    halves = [np.stack([a, c, b], axis=2), np.stack([a, d, c], axis=2)]
    ring = np.concatenate([half.reshape(-1, 3, 3) for half in halves])
    return np.concatenate([np.array(FLOOR), ring]).astype(np.float32)


def main() -> None:
    directions = rays()
    origins = np.tile(EYE.astype(np.float32), (len(directions), 1))
    for name, triangles in (("plane with 400 boxes", boxes()), ("terrain", hills()), ("100,000 triangles", mesh())):
        scene = rtcore_scene.EmbreeScene()
        TriangleMesh(scene, triangles)
        distances = scene.run(origins, directions, query="DISTANCE")
        rates = []
        for _ in range(3):
            start, count = time.process_time(), 0
            while time.process_time() - start < LONG:
                scene.run(origins, directions, query="DISTANCE")
                count += 1
            rates.append(count * len(directions) / (time.process_time() - start))
        met = np.mean(distances < 1e6)
        found = f"{len(triangles)} triangles, {met:.1%} of rays meet one"
        print(f"{name}: {found}, {max(rates) / 1e6:.2f} million rays/s", flush=True)


if __name__ == "__main__":
    main()
