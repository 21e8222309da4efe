"""Scenes for engines that Python drives: bodies, hinges, robots and a ground, with y up and quaternions as w x y z. The speed bench writes
them as text, which `read` takes; `accuracy.py` makes its own."""

import dataclasses
import os
import sys
import time
import xml.etree.ElementTree

import numpy


def rotate(q, v):
    w, u = q[0], numpy.array(q[1:])
    return v + 2.0 * numpy.cross(u, numpy.cross(u, v) + w * v)


def conjugate(q):
    return numpy.array([q[0], -q[1], -q[2], -q[3]])


def multiply(p, q):
    w, u, s, v = p[0], numpy.array(p[1:]), q[0], numpy.array(q[1:])
    return numpy.concatenate([[w * s - u @ v], w * v + s * u + numpy.cross(u, v)])


def shortest_turn(axis, onto):
    """The rotation that turns one unit vector onto another."""
    cosine = float(numpy.dot(axis, onto))
    if cosine < -1.0 + 1e-12:
        aside = numpy.cross(axis, [1.0, 0.0, 0.0] if abs(axis[0]) < 0.9 else [0.0, 1.0, 0.0])
        return numpy.concatenate([[0.0], aside / numpy.linalg.norm(aside)])
    q = numpy.concatenate([[1.0 + cosine], numpy.cross(axis, onto)])
    return q / numpy.linalg.norm(q)


@dataclasses.dataclass
class Body:
    mass: float
    moments: list
    at: numpy.ndarray
    turn: numpy.ndarray = dataclasses.field(default_factory=lambda: numpy.array([1.0, 0.0, 0.0, 0.0]))
    velocity: numpy.ndarray = dataclasses.field(default_factory=lambda: numpy.zeros(3))
    # In world axes, as the velocity.
    spin: numpy.ndarray = dataclasses.field(default_factory=lambda: numpy.zeros(3))
    # Word, half sizes (ball: radius; cylinder and capsule: radius, half length, along z), place and turn on the body.
    geoms: list = dataclasses.field(default_factory=list)
    friction: float = 0.8
    restitution: float = 0.0
    # Parts of robots meet the ground only.
    is_part: bool = False


@dataclasses.dataclass
class Hinge:
    # The parent of the root of a fixed tree is None.
    parent: int | None
    child: int
    anchor: numpy.ndarray
    axis: numpy.ndarray
    stiffness: float = 0.0
    damping: float = 0.0
    # Position, rate, stiffness, damping, largest effort.
    motor: tuple | None = None
    # Whether it slides along its axis instead, and the force that pushes it then.
    slides: bool = False
    force: float = 0.0


@dataclasses.dataclass
class Robot:
    """A robot of a URDF file: where its root link is."""

    path: str
    at: numpy.ndarray
    turn: numpy.ndarray

    def friction(self):
        """That of each link, which only Bullet's readers know."""
        links = xml.etree.ElementTree.parse(self.path).findall("link")
        return {link.get("name"): float(link.find("contact/lateral_friction").get("value")) for link in links}


@dataclasses.dataclass
class Scene:
    gravity: numpy.ndarray = dataclasses.field(default_factory=lambda: numpy.array([0.0, -9.81, 0.0]))
    # Friction and restitution of the ground y = 0, if there is one.
    plane: tuple | None = None
    # Points along x and z, width, depth; and heights.
    field: tuple | None = None
    bodies: list = dataclasses.field(default_factory=list)
    hinges: list = dataclasses.field(default_factory=list)
    # Bodies whose point at a place is pinned there.
    pins: list = dataclasses.field(default_factory=list)
    robots: list = dataclasses.field(default_factory=list)
    # What drives the joints of robots, by the joint's name, as a hinge's motor.
    motors: dict = dataclasses.field(default_factory=dict)

    def children(self):
        """The hinges behind each body, by the body's place; those on the world behind None."""
        found = {}
        for hinge in self.hinges:
            found.setdefault(hinge.parent, []).append(hinge)
        return found

    def roots(self):
        """The bodies that no hinge carries."""
        carried = {hinge.child for hinge in self.hinges}
        return [index for index in range(len(self.bodies)) if index not in carried]


def read(path):
    scene, field, heights = Scene(), None, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            word, *rest = line.split()
            name = rest.pop(0) if word in ("robot", "motor") else None
            values = [float(value) for value in rest]
            if word == "body":
                body = Body(values[2], values[3:6], numpy.array(values[6:9]), numpy.array(values[9:13]))
                body.is_part = values[1] >= 0
                scene.bodies.append(body)
            elif word in ("sphere", "box", "cylinder", "capsule"):
                body = scene.bodies[int(values[0])]
                body.geoms.append((word, values[1:4], values[4:7], values[7:11]))
                body.friction = values[11]
            elif word == "hinge":
                anchor, axis = numpy.array(values[2:5]), numpy.array(values[5:8])
                scene.hinges.append(Hinge(int(values[0]), int(values[1]), anchor, axis, motor=tuple(values[8:13])))
            elif word == "slider":
                parent = int(values[0]) if values[0] >= 0 else None
                anchor, axis = numpy.array(values[2:5]), numpy.array(values[5:8])
                scene.hinges.append(Hinge(parent, int(values[1]), anchor, axis, slides=True, force=values[8]))
            elif word == "robot":
                path_of_robot = os.path.join(os.path.dirname(path), name)
                scene.robots.append(Robot(path_of_robot, numpy.array(values[:3]), numpy.array(values[3:])))
            elif word == "motor":
                scene.motors[name] = tuple(values)
            elif word == "gravity":
                scene.gravity = numpy.array(values)
            elif word == "plane":
                scene.plane = (values[0], 0.0)
            elif word == "field":
                field = values
            elif word == "heights":
                heights = values
    scene.field = (field, heights) if field else None
    return scene


def serve(start):
    """What a peer of the speed bench does: starts the scene of the file that the arguments name, warms up, says where its first body is along x,
    and prints the microseconds a step of one round for every line it reads."""
    path, warm_up, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    running = start(path)
    running.advance(warm_up)
    print("ready", float(running.first()[0]), flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        running.advance(steps)
        print((time.perf_counter() - begin) * 1e6 / steps, flush=True)
