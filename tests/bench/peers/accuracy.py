"""Experiments of `simpartner verify` in the engines that are installed: what MuJoCo, DART and PhysX make of them at the best of the
settings tried here. `python3 tests/bench/peers/accuracy.py > src/experiments/src/verify/peers.json` writes the figures that `verify` shows beside
its own, under the names of its rows. Names behind it run some experiments only. It takes some minutes."""

import importlib
import json
import math
import pathlib
import subprocess
import sys

import numpy

from scene import Body, Hinge, Scene, conjugate, rotate

G = 9.81
X, Y, Z = numpy.eye(3)
UPRIGHT = [1.0, 0.0, 0.0, 0.0]

# ---- engines at their settings

# Contacts as stiff as the timestep lets them be, without numerical relaxation of friction.
RIGID = {"integrator": "discrete", "cone": "elliptic", "impratio": "10", "noslip_iterations": "10", "jacobian": "dense"}


def bouncy(restitution):
    """MuJoCo's direct stiffness and damping: of an oscillator that leaves with this share of its speed."""
    stiffness = 1e5
    decrement = -math.log(restitution) if restitution < 1.0 else 0.0
    ratio = decrement / math.hypot(math.pi, decrement)
    return f'solref="{-stiffness} {-2.0 * ratio * math.sqrt(stiffness)}" solimp=".99 .99 1e-3"'


def engines(kind):
    """Engines for smooth motion, loops, contact or bounces: their names, and how each is made."""
    found = []

    def add(module, make):
        try:
            peer = importlib.import_module(module)
        except ImportError:
            print(f"skipped: {module} cannot be loaded", file=sys.stderr)
            return
        make(peer)

    def mujoco(peer):
        def at(name, **options):
            contact = options.pop("contact", "")
            found.append((f"{peer.NAME}, {name}", lambda s, h: peer.Engine(s, h, options, contact)))

        if kind == "motion":
            at("RK4", integrator="RK4")
            at("implicitfast", integrator="implicitfast")
        elif kind == "loop":
            at("stiff, discrete", integrator="discrete", contact='solref="1e-5 1" solimp=".9999 .9999 1e-3"')
            at("defaults", integrator="implicitfast")
        elif kind == "contact":
            at("discrete, elliptic, noslip", **RIGID, contact='solref="1e-5 1"')
            at("defaults")
        else:
            at("direct solref", contact=bouncy(kind))

    def dart(peer):
        import dartpy

        found.append((f"{peer.NAME}, Dantzig", peer.Engine))
        if kind == "contact":
            found.append((f"{peer.NAME}, NSGS", lambda s, h: peer.Engine(s, h, dartpy.constraint.NsgsFrictionSolver)))

    def physx(peer):
        # Its pins and, in SAPIEN, its springs are not made here; of hinges it loses energy.
        if kind not in ("motion", "loop"):
            found.append((f"{peer.NAME}, TGS 10/1", peer.Engine))
            found.append((f"{peer.NAME}, TGS 50/4", lambda s, h: peer.Engine(s, h, (50, 4))))

    add("mujoco_peer", mujoco)
    add("dart_peer", dart)
    add("physx_peer", physx)
    return found


# ---- what is measured


def energy(scene, engine):
    total = 0.0
    for index, body in enumerate(scene.bodies):
        at, turn, velocity, spin = engine.body(index)
        own = rotate(conjugate(turn), spin)
        total += 0.5 * body.mass * velocity @ velocity + 0.5 * (numpy.array(body.moments) * own) @ own
        total -= body.mass * scene.gravity @ at
    return total


def spin_momentum(scene, engine):
    total = numpy.zeros(3)
    for index, body in enumerate(scene.bodies):
        at, turn, velocity, spin = engine.body(index)
        own = numpy.array(body.moments) * rotate(conjugate(turn), spin)
        total += body.mass * numpy.cross(at, velocity) + rotate(turn, own)
    return total


def energy_off(scene, engine, seconds, timestep):
    start, worst = energy(scene, engine), 0.0
    # Every hundredth of a second shows what whirls.
    stride = max(1, round(0.01 / timestep))
    for _ in range(round(seconds / timestep) // stride):
        engine.advance(stride)
        worst = max(worst, abs(energy(scene, engine) - start))
    return worst


def box(mass, size, at, **more):
    x, y, z = size
    moments = [mass / 12 * (y * y + z * z), mass / 12 * (x * x + z * z), mass / 12 * (x * x + y * y)]
    geom = ("box", [x / 2, y / 2, z / 2], [0.0, 0.0, 0.0], UPRIGHT)
    return Body(mass, moments, numpy.array(at, float), geoms=[geom], **more)


def ball(mass, radius, at, is_solid=True, **more):
    geoms = [("sphere", [radius, 0.0, 0.0], [0.0, 0.0, 0.0], UPRIGHT)] if is_solid else []
    return Body(mass, [0.4 * mass * radius * radius] * 3, numpy.array(at, float), geoms=geoms, **more)


def bar(at):
    """Of the triple pendulum."""
    return Body(1.0, [0.001, 0.0134, 0.0134], numpy.array(at, float))


# ---- experiments: each yields the name of a row of `verify`, the kind of engine, and how to measure


def free_fall():
    for milliseconds in (1, 10):
        h = milliseconds * 1e-3

        def measure(make, h=h):
            scene = Scene(bodies=[box(1.0, (1.0, 1.0, 1.0), (0.0, 500.0, 0.0))])
            engine, worst = make(scene, h), 0.0
            for step in range(1, round(10 / h) + 1):
                engine.advance(1)
                worst = max(worst, abs(engine.body(0)[0][1] - (500.0 - 0.5 * G * (step * h) ** 2)))
            return worst

        yield f"free-fall/height off, g 9.81, {milliseconds} ms", "motion", measure


def pendulum_like(bodies, anchors, seconds, timestep):
    def measure(make):
        hinges = [
            Hinge(None if index == 0 else index - 1, index, numpy.array([anchor, 0.0, 0.0]), Z)
            for index, anchor in enumerate(anchors)
        ]
        scene = Scene(bodies=bodies(), hinges=hinges)
        return energy_off(scene, make(scene, timestep), seconds, timestep)

    return measure


def pendulums():
    one = lambda: [ball(1.0, 0.05, (1.0, 0.0, 0.0), is_solid=False)]
    yield "pendulum/energy off in 20 s, 1 ms", "motion", pendulum_like(one, [0.0], 20, 0.001)
    two = lambda: [ball(1.0, 0.05, (0.5 * (index + 1), 0.0, 0.0), is_solid=False) for index in (0, 1)]
    three = lambda: [bar((0.2 + 0.4 * index, 0.0, 0.0)) for index in (0, 1, 2)]
    for milliseconds in (1, 10):
        h = milliseconds * 1e-3
        name = f"energy off in 60 s, {milliseconds} ms"
        yield f"double-pendulum/{name}", "motion", pendulum_like(two, [0.0, 0.5], 60, h)
        yield f"triple-pendulum/{name}", "motion", pendulum_like(three, [0.0, 0.4, 0.8], 60, h)


def damped_hinge():
    for milliseconds in (1, 10):
        h = milliseconds * 1e-3

        def measure(make, h=h):
            body = Body(1.0, [0.1] * 3, numpy.zeros(3), spin=Z)
            hinge = Hinge(None, 0, numpy.zeros(3), Z, stiffness=10.0, damping=0.2)
            scene = Scene(gravity=numpy.zeros(3), bodies=[body], hinges=[hinge])
            engine, worst = make(scene, h), 0.0
            for step in range(1, round(3 / h) + 1):
                engine.advance(1)
                turn = engine.body(0)[1]
                t, angle = step * h, 2.0 * math.atan2(turn[3], turn[0])
                worst = max(worst, abs(angle - math.exp(-t) * math.sin(math.sqrt(99.0) * t) / math.sqrt(99.0)))
            return worst

        yield f"damped-hinge/angle off in 3 s, {milliseconds} ms", "motion", measure


def tumbling_brick():
    def run(make):
        body = box(1.0, (1.0, 0.6, 0.2), (0.0, 0.0, 0.0), spin=numpy.array([0.1, 5.0, 0.1]))
        scene = Scene(gravity=numpy.zeros(3), bodies=[body])
        return scene, make(scene, 0.001)

    def of_energy(make):
        scene, engine = run(make)
        return energy_off(scene, engine, 20, 0.001) / energy(scene, run(make)[1])

    def of_momentum(make):
        scene, engine = run(make)
        start, worst = spin_momentum(scene, engine), 0.0
        for _ in range(2000):
            engine.advance(10)
            worst = max(worst, numpy.linalg.norm(spin_momentum(scene, engine) - start))
        return worst / numpy.linalg.norm(start)

    yield "tumbling-brick/energy off in 20 s, of itself", "motion", of_energy
    yield "tumbling-brick/angular momentum off in 20 s, of itself", "motion", of_momentum


def four_bar(corners, motor=None):
    """Bars between the corners, the first and the last of which the world holds."""
    corners = [numpy.array([x, y, 0.0]) for x, y in corners]
    bodies = [ball(1.0, 0.02, 0.5 * (a + b), is_solid=False) for a, b in zip(corners, corners[1:])]
    hinges = [Hinge(index - 1 if index else None, index, corners[index], Z) for index in range(3)]
    hinges[0].motor = motor
    return Scene(bodies=bodies, hinges=hinges, pins=[(2, corners[3])])


def opening(scene, engine):
    body, anchor = scene.pins[0]
    at, turn, _, _ = engine.body(body)
    return numpy.linalg.norm(at + rotate(turn, anchor - scene.bodies[body].at) - anchor)


def loops():
    def drive(make):
        scene = four_bar([(0.0, 0.0), (0.0, 0.3), (1.0, 0.3), (1.0, 0.0)], motor=(0.0, 0.8, 0.0, 1e5, 100.0))
        engine, worst = make(scene, 0.001), 0.0
        for _ in range(1000):
            engine.advance(10)
            worst = max(worst, opening(scene, engine))
        return worst

    yield "joint-drift/loop of four bars, driven for 10 s", "loop", drive
    # Its crank can go round.
    corners = [(0.0, 0.0), (0.0, 0.3), (0.9, 0.48), (1.0, 0.0)]
    for milliseconds in (1, 10):
        h = milliseconds * 1e-3

        def swing(make, h=h):
            scene = four_bar(corners)
            return energy_off(scene, make(scene, h), 5, h)

        def gap(make, h=h):
            scene = four_bar(corners)
            engine, worst = make(scene, h), 0.0
            for _ in range(round(5 / h)):
                engine.advance(1)
                worst = max(worst, opening(scene, engine))
            return worst

        yield f"linkage/energy off in 5 s, {milliseconds} ms", "loop", swing
        yield f"linkage/opening in 5 s, {milliseconds} ms", "loop", gap


def sliding():
    def cube(h):
        def measure(make):
            body = box(1.0, (1.0, 1.0, 1.0), (0.0, 0.5, 0.0), friction=0.5, velocity=numpy.array([10.0, 0.0, 0.0]))
            engine, worst = make(Scene(plane=(0.5, 0.0), bodies=[body]), h), 0.0
            for step in range(1, round(10 / (0.5 * G) / h)):
                engine.advance(1)
                speed = numpy.linalg.norm(engine.body(0)[2])
                worst = max(worst, abs(speed - (10.0 - 0.5 * G * step * h)))
            return worst

        return measure

    for milliseconds in (1, 10):
        yield f"sliding-cube/speed off while it slides, {milliseconds} ms", "contact", cube(milliseconds * 1e-3)

    def after_a_second(make):
        aslant = 10.0 * math.sqrt(0.5)
        velocity = numpy.array([aslant, 0.0, -aslant])
        body = box(1.0, (2.0, 0.4, 0.5), (0.0, 0.2, 0.0), friction=0.5, velocity=velocity)
        engine = make(Scene(plane=(0.5, 0.0), bodies=[body]), 0.001)
        engine.advance(1000)
        return engine.body(0)

    def heading(make):
        velocity = after_a_second(make)[2]
        return math.degrees(math.atan2(-velocity[2], velocity[0]))

    yield "sliding-bar/speed after 1 s", "contact", lambda make: numpy.linalg.norm(after_a_second(make)[2])
    yield "sliding-bar/heading after 1 s", "contact", heading
    yield "sliding-bar/turning after 1 s", "contact", lambda make: after_a_second(make)[3][1]


def rolling():
    radius, slope = 0.235, math.radians(20.0)
    # A level plane under a gravity that leans over.
    gravity = numpy.array([G * math.sin(slope), -G * math.cos(slope), 0.0])
    for name, kind in (("ball", "sphere"), ("cylinder", "cylinder")):
        for regime, friction in (("rolling", 0.8), ("slipping", 0.05)):

            def run(make, kind=kind, friction=friction):
                body = ball(2.0, radius, (0.0, radius, 0.0), friction=friction)
                if kind == "cylinder":
                    flat = 2.0 / 12 * (3 * radius**2 + 0.2**2)
                    body.moments = [flat, flat, 0.5 * 2.0 * radius**2]
                    body.geoms = [("cylinder", [radius, 0.1, 0.0], [0.0, 0.0, 0.0], UPRIGHT)]
                engine = make(Scene(gravity=gravity, plane=(friction, 0.0), bodies=[body]), 0.001)
                engine.advance(2000)
                return engine.body(0)

            yield f"rolling/{name} {regime}, speed after 2 s", "contact", lambda make, run=run: run(make)[2][0]
            yield f"rolling/{name} {regime}, turning after 2 s", "contact", lambda make, run=run: -run(make)[3][2]


def bouncing():
    for e in (0.5, 0.9):
        for milliseconds in (1, 10):
            for number in (1, 2, 3):

                def peak(make, e=e, h=milliseconds * 1e-3, number=number):
                    body = ball(1.0, 0.5, (0.0, 5.0, 0.0), friction=0.0, restitution=e)
                    engine = make(Scene(plane=(0.0, e), bodies=[body]), h)
                    peaks, highest, rising = [], 0.0, False
                    for _ in range(round(10 / h)):
                        engine.advance(1)
                        at, _, velocity, _ = engine.body(0)
                        if velocity[1] > 0.0:
                            rising, highest = True, max(highest, at[1] - 0.5)
                        elif rising:
                            peaks.append(max(highest, at[1] - 0.5))
                            rising, highest = False, 0.0
                    return peaks[number - 1] if len(peaks) >= number else math.nan

                yield f"bouncing-ball/peak {number}, e = {e}, {milliseconds} ms", e, peak


def cradle():
    for gap, name in ((1e-4, "gaps of 0.1 mm"), (0.0, "touching")):

        def run(make, gap=gap):
            bodies = []
            for index in range(5):
                at = ((0.1 + gap) * index - (0.0 if index else 0.1), 1.0, 0.0)
                velocity = X if index == 0 else numpy.zeros(3)
                bodies.append(ball(1.0, 0.05, at, friction=0.0, restitution=1.0, velocity=velocity))
            engine = make(Scene(gravity=numpy.zeros(3), bodies=bodies), 0.001)
            engine.advance(1000)
            return [engine.body(index)[2] for index in range(5)]

        yield f"cradle/speed of the last ball, {name}", 1.0, lambda make, run=run: run(make)[4][0]
        squares = lambda make, run=run: sum(velocity @ velocity for velocity in run(make))
        yield f"cradle/energy left, {name}", 1.0, squares


def stacks():
    def height(masses, seconds):
        def measure(make):
            bodies = [
                box(mass, (0.5, 0.5, 0.5), (0.001 * (index % 2) if len(masses) > 3 else 0.0, 0.25 + 0.5 * index, 0.0), friction=0.5)
                for index, mass in enumerate(masses)
            ]
            engine = make(Scene(plane=(0.5, 0.0), bodies=bodies), 0.001)
            engine.advance(round(seconds / 0.001))
            return engine.body(len(masses) - 1)[0][1]

        return measure

    yield "stack/height of the topmost after 20 s", "contact", height([10.0] * 10, 20)
    yield "mass-ratio/height of 1000 kg on 1 kg after 5 s", "contact", height([1.0, 1000.0], 5)


EXPERIMENTS = [free_fall, pendulums, damped_hinge, tumbling_brick, loops, sliding, rolling, bouncing, cradle, stacks]


def siconos():
    """Figures of Siconos, which Debian has for the system's own interpreter."""
    script = pathlib.Path(__file__).with_name("siconos_peer.py")
    try:
        told = subprocess.run(["/usr/bin/python3", script], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped: siconos: {error}", file=sys.stderr)
        return []
    return json.loads(told.stdout)


def main():
    wanted, found = sys.argv[1:], []
    for experiment in EXPERIMENTS:
        for row, kind, measure in experiment():
            if wanted and not any(row.startswith(name) for name in wanted):
                continue
            for peer, make in engines(kind):
                figure = float(measure(make))
                print(f"{row}: {peer}: {figure:.9g}", file=sys.stderr)
                if math.isfinite(figure):
                    found.append({"row": row, "peer": peer, "figure": float(f"{figure:.9g}")})
    found += [entry for entry in siconos() if not wanted or entry["row"].startswith(tuple(wanted))]
    print("[\n" + ",\n".join("  " + json.dumps(entry) for entry in found) + "\n]")


main()
