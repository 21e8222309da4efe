#!/usr/bin/env python3
"""How long messages take, and whether reliable readers get all of them: 20 topics at 100 Hz beside bare DDS in the same run.

    python3 clients/ros2/tests/python/bench_topics.py [SECONDS]

Three sources at once, each read by the same process: the bridge (RustDDS, 20 sensors of a server in real time), a bare
writer of Cyclone DDS and a bare writer of the same messages. A time is from the source's time stamp on the wire to the
moment at which the reader has the message.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from typing import Any

import numpy

from rig import Rig

TOPICS = 20
RATE = 100  # Hz
LEAD = 3.0  # s, for everybody to find everybody

ROBOT = (
    '<robot name="Many"><body name="Base"><mass>1</mass><box x="1" y="1" z="1"/></body>'
    + "".join(f'<sensor type="PositionSensor" name="s{n}" body="Base" port="{4000 + n}"/>' for n in range(TOPICS))
    + "</robot>"
)
WORLD = '<world name="bench"><robot file="many.xml" name="Many"/></world>'


def bare(domain: int, seconds: float) -> None:
    """Writes the same messages without a bridge."""
    from rosdds import Ros, make

    ros = Ros(domain)
    kind = "geometry_msgs/msg/PointStamped"
    writers = [ros.writer(f"/bare{n}", kind) for n in range(TOPICS)]
    message = make(kind, header={"frame_id": "map"})
    begin = time.monotonic() + LEAD
    for step in range(int(seconds * RATE)):
        time.sleep(max(0.0, begin + step / RATE - time.monotonic()))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(step * 1_000_000_000 // RATE, 1_000_000_000)
        for writer in writers:
            writer.write(message)


class Bench(Rig):
    """Not a test: it measures."""

    def runTest(self) -> None:  # noqa: N802 (unittest calls it so)
        from rosdds import STORE

        seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
        (self.folder / "many.xml").write_text(ROBOT, encoding="utf-8")
        self.serve(WORLD, "--paused")
        bridge = self.bridge(f"rate_hz = {RATE}\n")
        ros, kind = self.ros(), "geometry_msgs/msg/PointStamped"
        names = [f"/s{n}" for n in range(TOPICS)], [f"/bare{n}" for n in range(TOPICS)]
        readers = [[ros.reader(name, kind) for name in group] for group in names]
        writer = multiprocessing.get_context("spawn").Process(target=bare, args=(self.domain, seconds))
        writer.start()
        time.sleep(LEAD)
        ros.call("SetSimulationState", {"state": {"state": 1}})
        times: list[list[int]] = [[], []]
        stamps: list[list[list[int]]] = [[[] for _ in group] for group in names]
        end = time.monotonic() + seconds + 1.0
        while time.monotonic() < end:
            for source, group in enumerate(readers):
                for topic, reader in enumerate(group):
                    for data, sent in reader.take_bytes():
                        times[source].append(time.time_ns() - sent)
                        stamp = STORE.deserialize_cdr(data, kind).header.stamp
                        stamps[source][topic].append(stamp.sec * 1_000_000_000 + stamp.nanosec)
            time.sleep(0.0002)
        writer.join()
        for source, name in enumerate(("bridge", "bare Cyclone DDS")):
            report(name, times[source], stamps[source])
        # What it says at its end of what it missed itself.
        bridge.stop()
        print(f"the bridge: {bridge.lines[-1]}")


def report(name: str, times: list[int], stamps: list[list[int]]) -> None:
    """Prints the latencies of a source, and the messages that are missing between two that came."""
    period = 1_000_000_000 // RATE
    gaps = [numpy.diff(topic) for topic in stamps]
    missing = sum(int(numpy.sum(numpy.round(gap / period) - 1)) for gap in gaps if len(gap))
    p50, p99, top = (float(numpy.percentile(times, p)) / 1e3 for p in (50, 99, 100))
    print(f"{name}: {len(times)} messages, {missing} missing, p50 {p50:.0f} us, p99 {p99:.0f} us, max {top:.0f} us")


def main() -> Any:
    bench = Bench()
    result = bench.run()
    for _, trace in [*result.errors, *result.failures]:
        print(trace, file=sys.stderr)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
