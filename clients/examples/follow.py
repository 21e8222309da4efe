#!/usr/bin/env python3
"""Steers WorkPartner through the maze by its own sensors, over its combined port, in lockstep. Standard library only.

    simpartner run --world worlds/maze.xml --paused
    python3 clients/examples/follow.py 127.0.0.1:6500

It reads where the front chassis is and how far the scanner sees. The heading is the direction it has moved in. Every
hundredth of a second it turns towards the next waypoint, and drives the slower the nearer something is ahead. `follow.c` is
the same in C.
"""

import argparse
import math
import socket
import sys

WAYPOINTS = [  # x and z, m
    (-3.7, -0.8), (-3.6, 0.8), (-2.6, 2.2), (-1.4, 2.5), (-0.2, 2.0),
    (0.3, 0.8), (0.4, -0.6), (1.0, -2.0), (2.2, -2.9), (3.4, -3.0),
]
NEAR = 0.6  # m: a waypoint this near is reached
WHEEL = 0.235  # m, radius
TRACK = 0.3  # m, from the middle to a wheel
AXLE = 0.6  # m, from Turner to an axle
REST = 500  # steps of standing still at the goal


class Line:
    """A connection that speaks in lines."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("r", encoding="utf-8", newline="\n")

    def send_line(self, text: str) -> None:
        self.socket.sendall(f"{text}\n".encode())

    def read_line(self) -> str:
        line = self.file.readline().strip()
        if not line or line.startswith("ERR"):
            sys.exit(f"error: {line or 'the server has closed the connection'}")
        return line

    def ask(self, text: str) -> str:
        self.send_line(text)
        return self.read_line()


def combined_port(control: Line, robot: str) -> int:
    """Where the robot is as a whole."""
    line, ports = control.ask("ROBOTS"), {}
    while line.startswith("ROBOT "):
        words = dict(word.split("=", 1) for word in line.split()[1:])
        ports[words["name"]] = int(words["bound"])
        line = control.read_line()
    return ports[robot] if robot in ports else sys.exit(f"error: there is no robot {robot}, only {', '.join(ports)}")


def wrap(angle: float) -> float:
    return math.atan2(math.sin(angle), math.cos(angle))


def drive(turn: float, speed: float) -> str:
    """Commands for Turner, radians, and the wheels, m/s; a curve asks more of the outer wheels."""
    bend = math.tan(turn / 2) * TRACK / AXLE
    right, left = speed * (1 + bend) / WHEEL, speed * (1 - bend) / WHEEL
    wheels = [f"WheelMotor{n}=1000,1000,100,0,0,{w!r}" for n, w in ((1, right), (2, left), (3, left), (4, right))]
    return f"TurnerController=0,0,{turn!r},5,0,0;" + ";".join(wheels)


def main(server: str) -> None:
    host, _, port = server.rpartition(":")
    if not host or not port.isdigit():
        sys.exit(f"error: expected HOST:PORT, got '{server}'")
    control = Line(host.strip("[]"), int(port))
    control.ask("MODE lockstep WorkPartner")
    robot = Line(host, combined_port(control, "WorkPartner"))
    robot.read_line()  # The server sends first.
    if "readings=Position.x[m],Position.y[m],Position.z[m],Scanner.distance_1[m]," not in robot.ask("INFO"):
        sys.exit("error: expected the sensors of WorkPartner 1")
    sample = robot.ask("ACK")
    control.ask("PLAY")
    heading, anchor, goal, rest = None, None, 0, 0
    while True:
        _, number, _, values = sample.split(" ")[:4]
        step, (x, _, z, *distances) = int(number), map(float, values.split(","))
        anchor = anchor or (x, z)
        if math.hypot(x - anchor[0], z - anchor[1]) > 0.05:
            heading, anchor = math.atan2(anchor[1] - z, x - anchor[0]), (x, z)
        while goal < len(WAYPOINTS) and math.hypot(WAYPOINTS[goal][0] - x, WAYPOINTS[goal][1] - z) < NEAR:
            goal += 1
        if goal == len(WAYPOINTS):
            rest += 1
            if rest > REST:
                break
        if step % 10 > 0:
            robot.send_line(f"ACK {step}")
        else:
            turn, speed = 0.0, 0.0
            if goal < len(WAYPOINTS):
                bearing = math.atan2(z - WAYPOINTS[goal][1], WAYPOINTS[goal][0] - x)
                turn = 0.0 if heading is None else max(-0.55, min(0.55, 1.5 * wrap(bearing - heading)))
                speed = max(0.3, min(1.0, 0.5 * min(distances)))
            robot.ask(f"SET @{step + 1} {drive(turn, speed)}")
        sample = robot.read_line()
    print(f"step {step} x {x} z {z}")
    control.ask("PAUSE")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Steers WorkPartner through the maze, in lockstep.")
    arguments.add_argument("server", nargs="?", default="127.0.0.1:6500", metavar="HOST:PORT", help="the server's control port")
    main(arguments.parse_args().server)
