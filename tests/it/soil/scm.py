"""The soil contact model (SCM) under one wheel, as Krenn and Hirzinger (2008) and Chrono's manual have it, and nothing of SimPartner's.

The ground is a row of nodes that stay where they are, uniform across the width. Each keeps how deep it was pressed and how far the rim has
slid over it. Bekker's pressure acts along the rim's normal where a node is pressed deeper than ever before, an elastic line where it is
let up; Janosi and Hanamoto's shear along the rim. The wheel rolls at a given slip, and in each place is as deep as its load presses it.

Reads lines of `name slides n k c phi K elastic slip` (k of p = k z^n, SI, phi in rad) and writes `name slip sinkage pull`: means over the
last quarter of the way, m and N. `slides` is `node` where shear grows with the slide that a node of the ground has seen, as in SCM, and
`rim` where it grows with the slide of a point of the rim, as Wong and Reece have it.
"""

import sys

import numpy as np

RADIUS, WIDTH, LOAD = 0.09, 0.11, 64.68
NODE = 5e-4  # m from node to node
STEP = 1e-3  # m of the way from one equilibrium to the next
WAY = 0.15  # m


def forces(depth, x, pressed, slid, soil, slip, share):
    """Vertical and horizontal force, the sinkage and the pressure of the nodes, and their slides after a step."""
    n, k, c, phi, shear, elastic = soil
    sine = np.clip(x / RADIUS, -1.0, 1.0)
    cosine = np.sqrt(1.0 - sine**2)
    sinkage = depth - RADIUS * (1.0 - cosine)
    sinkage[np.abs(x) >= RADIUS] = 0.0
    new = np.maximum(sinkage, 0.0)
    deepest = np.maximum(pressed, new)
    pressure = np.maximum(k * deepest**n - elastic * (deepest - new), 0.0)
    pressure[sinkage <= 0.0] = 0.0
    touches = pressure > 0.0
    # The rim's speed over the node for each unit of the wheel's way: backwards where it drives.
    slide = np.where(touches, np.maximum(1.0 / (1.0 - slip) - cosine, 0.0) * share * STEP, 0.0)
    slides = np.where(touches, slid + slide, 0.0)
    stress = (c + pressure * np.tan(phi)) * (1.0 - np.exp(-slides / shear))
    stress[~touches] = 0.0
    area = NODE * WIDTH  # projected; the piece of the rim is larger by 1 / cosine
    vertical = np.sum((pressure + stress * sine / np.maximum(cosine, 0.05)) * area)
    horizontal = np.sum((stress - pressure * sine / np.maximum(cosine, 0.05)) * area)
    return vertical, horizontal, deepest, slides


def roll(soil, slip, slides):
    # A point of the rim passes over 1 / (1 - slip) of it for each node that it passes.
    share = 1.0 - slip if slides == "rim" else 1.0
    ground = np.arange(-0.1, WAY + 0.1, NODE)
    pressed, slid = np.zeros_like(ground), np.zeros_like(ground)
    found = []
    for place in np.arange(0.0, WAY, STEP):
        low, high = 0.0, RADIUS
        for _ in range(30):
            middle = 0.5 * (low + high)
            if forces(middle, ground - place, pressed, slid, soil, slip, share)[0] < LOAD:
                low = middle
            else:
                high = middle
        _, pull, pressed, slid = forces(high, ground - place, pressed, slid, soil, slip, share)
        found.append((high, pull))
    last = np.array(found[3 * len(found) // 4 :])
    return last.mean(axis=0)


for line in sys.stdin:
    name, slides, *numbers = line.split()
    *soil, slip = map(float, numbers)
    sinkage, pull = roll(soil, slip, slides)
    print(name, slip, sinkage, pull)
