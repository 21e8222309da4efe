"""Keeps WorkPartner on a line by its position sensor: a PID controller turns its middle joint.

Every 50 ms of simulated time it reads, thinks and commands; the clock stands meanwhile, so that the result does not depend on how
fast this program is. With `--lockstep` the server holds the clock by itself in every step, and the controller answers in every
50th.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import simpartner

PERIOD_STEPS = 50
WHEELS = ("WheelMotor1", "WheelMotor2", "WheelMotor3", "WheelMotor4")


@dataclass
class Pid:
    """A PID controller that stops summing while its output is at the limit."""

    p: float
    i: float
    d: float
    limit: float
    sum: float = 0.0
    last: float | None = None

    def __call__(self, error: float, seconds: float) -> float:
        """What to do about an error, so many seconds after the last one."""
        rate = 0.0 if self.last is None else (error - self.last) / seconds
        self.last = error
        wanted = self.p * error + self.i * (self.sum + error * seconds) + self.d * rate
        output = min(max(wanted, -self.limit), self.limit)
        if output == wanted:
            self.sum += error * seconds
        return output


def turns(sim: simpartner.Simulation, seconds: float) -> Iterator[tuple[simpartner.Reading, float]]:
    """Steps the clock and yields the position with the time since the last one."""
    period = PERIOD_STEPS * sim.state.timestep
    for _ in range(round(seconds / period)):
        yield sim["Position"].read(), period
        sim.step(PERIOD_STEPS)


def follow(sim: simpartner.Simulation, line: float, seconds: float, lockstep: bool) -> list[tuple[float, float]]:
    """Drives along z = `line`, m; returns time and z."""
    steer = Pid(p=0.4, i=0.003, d=1.8, limit=0.4)
    path = []
    turner = sim["TurnerController"]
    turner.command(1000, 1000, 1000, 0, 0, 0, 5, 0, 0)
    for wheel in WHEELS:
        sim[wheel].command(1000, 1000, 100, 0, 0, 2)
    if lockstep:
        period = PERIOD_STEPS * sim.state.timestep
        with sim.lockstep(["Position", "TurnerController"], timeout=10) as steps:
            for turn in steps:
                if turn.time >= seconds:
                    break
                if turn.step % PERIOD_STEPS == 0:
                    z = turn["Position"]["z"]
                    path.append((turn.time, z))
                    turn.command("TurnerController", angle_3=steer(z - line, period))
        return path
    for reading, period in turns(sim, seconds):
        path.append((reading.time, reading["z"]))
        # A positive angle bends the robot to its left, which is away from z.
        turner.command(angle_3=steer(reading["z"] - line, period))
    return path


def main() -> None:
    """Arguments in, figures out."""
    arguments = argparse.ArgumentParser(description="keeps WorkPartner on a line")
    arguments.add_argument("--line", type=float, default=1.0, help="the line's z, m")
    arguments.add_argument("--seconds", type=float, default=60, help="simulated time")
    arguments.add_argument("--world", default="worlds/flat.xml", help="a world with WorkPartner")
    arguments.add_argument("--lockstep", action="store_true", help="let the server hold the clock")
    chosen = arguments.parse_args()
    with simpartner.launch(chosen.world, mode="fast", free_ports=True) as sim:
        begin = time.perf_counter()
        path = follow(sim, chosen.line, chosen.seconds, chosen.lockstep)
        wall = time.perf_counter() - begin
    for at, z in path[:: max(1, len(path) // 10)]:
        print(f"{at:6.2f} s   z {z:7.4f} m")
    print(f"at the end {abs(path[-1][1] - chosen.line) * 1000:.2f} mm from the line")
    print(f"{path[-1][0] / wall:.0f} simulated seconds a second")


if __name__ == "__main__":
    main()
