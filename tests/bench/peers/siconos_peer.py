"""Siconos beside `simpartner verify`: a ball that bounces, and a double pendulum on its stops, by Moreau and Jean's time stepping with
theta = 1/2. It prints figures under the names of `verify`'s rows, in the form of `src/experiments/src/verify/peers.json`. Debian has Siconos as
`python3-siconos`, which is for the system's own interpreter: `/usr/bin/python3 tests/bench/peers/siconos_peer.py`. The pendulum's
equations are functions in C, which need `cc`."""

import json
import math
import os
import subprocess
import sys
import tempfile

import numpy
import siconos
import siconos.kernel as kernel

NAME = f"Siconos {siconos.version}, Moreau-Jean"

# Lagrange's equations of two points of 1 kg on rods of 1 m, in angles from the vertical; g = 10 m/s². Siconos has forces on the
# left side of M a + gyr(q, v) + internal(t, q, v) = 0, and matrices by columns.
PENDULUM = r"""
#include <math.h>
typedef unsigned int uint;
void mass(uint n, double *q, double *m, uint nz, double *z) { m[0] = 2; m[1] = m[2] = cos(q[0] - q[1]); m[3] = 1; }
void gyr(uint n, double *q, double *v, double *f, uint nz, double *z) {
    double s = sin(q[0] - q[1]); f[0] = s * v[1] * v[1]; f[1] = -s * v[0] * v[0]; }
void gyr_q(uint n, double *q, double *v, double *j, uint nz, double *z) {
    double c = cos(q[0] - q[1]);
    j[0] = c * v[1] * v[1]; j[1] = -c * v[0] * v[0]; j[2] = -j[0]; j[3] = -j[1]; }
void gyr_v(uint n, double *q, double *v, double *j, uint nz, double *z) {
    double s = sin(q[0] - q[1]); j[0] = 0; j[1] = -2 * s * v[0]; j[2] = 2 * s * v[1]; j[3] = 0; }
void weight(double t, uint n, double *q, double *v, double *f, uint nz, double *z) { f[0] = 20 * sin(q[0]); f[1] = 10 * sin(q[1]); }
void weight_q(double t, uint n, double *q, double *v, double *j, uint nz, double *z) {
    j[0] = 20 * cos(q[0]); j[1] = j[2] = 0; j[3] = 10 * cos(q[1]); }
void weight_v(double t, uint n, double *q, double *v, double *j, uint nz, double *z) { j[0] = j[1] = j[2] = j[3] = 0; }
void h0(uint n, double *q, uint ny, double *y, uint nz, double *z) { y[0] = sin(q[0]); }
void g0(uint n, double *q, uint ny, double *g, uint nz, double *z) { g[0] = cos(q[0]); g[1] = 0; }
void h1(uint n, double *q, uint ny, double *y, uint nz, double *z) { y[0] = sin(q[0]) + sin(q[1]); }
void g1(uint n, double *q, uint ny, double *g, uint nz, double *z) { g[0] = cos(q[0]); g[1] = cos(q[1]); }
"""


def stepping(system, relations, timestep, seconds):
    """Time stepping of one system with unilateral relations, each with a coefficient of restitution."""
    model = kernel.NonSmoothDynamicalSystem(0.0, seconds)
    model.insertDynamicalSystem(system)
    interactions = []
    for relation, restitution in relations:
        interactions.append(kernel.Interaction(kernel.NewtonImpactNSL(restitution), relation))
        model.link(interactions[-1], system)
    steps = kernel.TimeDiscretisation(0.0, timestep)
    return kernel.TimeStepping(model, steps, kernel.MoreauJeanOSI(0.5), kernel.LCP()), interactions, model


def bounces(restitution, count, milliseconds):
    """The ball of the case `impact-times`."""
    gravity, timestep = 9.81, milliseconds * 1e-3
    fall = math.sqrt(2.0 / gravity)
    theory = [fall * (1.0 + 2.0 * sum(restitution**k for k in range(1, n + 1))) for n in range(count)]
    rest = fall * (1.0 + restitution) / (1.0 - restitution)
    ball = kernel.LagrangianLinearTIDS([1.0], [0.0], numpy.eye(1))
    ball.setFExtPtr(numpy.array([-gravity]))
    relation = kernel.LagrangianLinearTIR(numpy.eye(1))
    simulation, _, _model = stepping(ball, [(relation, restitution)], timestep, rest + 0.5)
    times, deepest, moved, before = [], 0.0, 0.0, 0.0
    while simulation.hasNextEvent():
        simulation.computeOneStep()
        height, speed = ball.q()[0], ball.velocity()[0]
        if speed > before:
            times.append(simulation.nextTime())
        if abs(speed) > 1e-4:
            moved = simulation.nextTime()
        before, deepest = speed, max(deepest, -height)
        simulation.nextStep()
    tail = f"e = {restitution}, {milliseconds} ms"
    off = max(abs(one - other) for one, other in zip(theory, times, strict=False))
    yield f"impact-times/times of {count} impacts, farthest off, {tail}", off
    yield f"impact-times/deepest in the ground, {tail}", deepest
    yield f"impact-times/at rest after, {tail}", moved + timestep


def energy(q, v):
    kinetic = 0.5 * (2.0 * v[0] ** 2 + v[1] ** 2) + math.cos(q[0] - q[1]) * v[0] * v[1]
    return kinetic - 20.0 * math.cos(q[0]) - 10.0 * math.cos(q[1])


def pendulum(folder):
    """The double pendulum of the case `pendulum-stops`."""
    source = os.path.join(folder, "pendulum.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PENDULUM)
    # Siconos adds the ending of a shared library itself.
    plugin = os.path.join(folder, "pendulum")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", f"{plugin}.so", source, "-lm"], check=True)
    system = kernel.LagrangianDS(numpy.array([0.1, 0.2]), numpy.zeros(2), numpy.eye(2))
    system.setComputeMassFunction(plugin, "mass")
    system.setComputeFGyrFunction(plugin, "gyr")
    system.setComputeJacobianFGyrqFunction(plugin, "gyr_q")
    system.setComputeJacobianFGyrqDotFunction(plugin, "gyr_v")
    system.setComputeFIntFunction(plugin, "weight")
    system.setComputeJacobianFIntqFunction(plugin, "weight_q")
    system.setComputeJacobianFIntqDotFunction(plugin, "weight_v")
    relations = [
        (kernel.LagrangianScleronomousR(f"{plugin}:h0", f"{plugin}:g0"), 1.0),
        (kernel.LagrangianScleronomousR(f"{plugin}:h1", f"{plugin}:g1"), 0.0),
    ]
    simulation, _, _model = stepping(system, relations, 5e-4, 5.0)
    before, stops, path, deepest = energy(system.q(), system.velocity()), [], [], 0.0
    while simulation.hasNextEvent():
        simulation.computeOneStep()
        q, now = system.q(), energy(system.q(), system.velocity())
        time = simulation.nextTime()
        if before - now > 1e-4 and (not stops or time - stops[-1] > 0.1):
            stops.append(time)
        deepest = max(deepest, -math.sin(q[0]), -math.sin(q[0]) - math.sin(q[1]))
        path.append((time, now))
        before = now
        simulation.nextStep()
    for number, stop in enumerate(stops[:3], 1):
        after = next(value for time, value in path if time >= stop + 0.02)
        yield f"pendulum-stops/time of stop {number}", stop
        yield f"pendulum-stops/energy after stop {number}", after
    yield "pendulum-stops/deepest in the wall", deepest


def figures():
    for restitution, count in ((0.9, 6), (0.5, 4)):
        for milliseconds in (1, 5, 10):
            yield from bounces(restitution, count, milliseconds)
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield from pendulum(folder)
        except FileNotFoundError as error:
            print(f"skipped: pendulum-stops: {error}", file=sys.stderr)


entries = ({"row": row, "peer": NAME, "figure": float(f"{figure:.9g}")} for row, figure in figures())
print("[\n" + ",\n".join("  " + json.dumps(entry) for entry in entries) + "\n]")
