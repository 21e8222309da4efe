"""How fast simulations in this process are: beside a server, in many environments at once, and beside MuJoCo.

    python3 clients/python/benchmarks/embedded.py [--quick] [part ...]

It needs numpy, gymnasium, a release build of the server and the native module of the same build. MuJoCo is compared where it
is installed. What is compared runs in turns, and the fastest of several runs counts, since machines are shared.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import numpy as np
from rig import BINARY, NATIVE, REPOSITORY, simpartner

if TYPE_CHECKING:
    import numpy.typing as npt

    from simpartner.vector import DriveVectorEnv

WORLD = REPOSITORY / "worlds" / "flat.xml"
NAVIGATION = REPOSITORY / "worlds" / "navigation.xml"
SEQUENCE = REPOSITORY / "robots" / "straight.xml"
WHEELS = [f"WorkPartner/WheelMotor{number}" for number in (1, 2, 3, 4)]


def fastest(rounds: int, works: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The shortest duration of each work in s, of rounds in which all take turns."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            best[name] = min(best[name], work())
    return best


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def driving(world: Path = WORLD) -> simpartner.Simulation:
    """WorkPartner with the commands of robots/straight.xml."""
    sim = simpartner.load(world)
    for wheel in WHEELS:
        sim[wheel].command(1000, 1000, 100, 0, 0, 1)
    return sim


def beside_a_server(quick: bool) -> None:
    seconds = 5 if quick else 20
    steps = 1000 * seconds
    hashes = {}

    def server() -> float:
        command = [str(BINARY), "run", "--world", str(WORLD), "--mode", "fast", "--database", "none"]
        # At the ordinary priority, as this process: on a machine that others use, the usual one of this mode gets less.
        command += ["--sequence", str(SEQUENCE), "--duration", str(seconds), "--set", "realtime.fast_niceness=0"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY)
        lines = [line.partition("  ") for line in done.stdout.splitlines()]
        figures = {name.strip(): figure.strip() for name, _, figure in lines}
        hashes["server"] = figures["state"]
        return float(figures["wall"].removesuffix(" s"))

    def here() -> float:
        sim = driving()
        duration = timed(lambda: sim.step(steps))
        hashes["here"] = sim.state_hash
        return duration

    def stepwise() -> float:
        sim = driving()
        readings, advance = np.empty(len(sim.reading_fields)), sim.advance
        return timed(lambda: [advance(1, None, readings) for _ in range(steps)])

    best = fastest(3 if quick else 5, {"server": server, "here": here, "here, a call a step": stepwise})
    print(f"\n{WORLD.name}, {steps} steps, driving; states are equal: {hashes['server'] == hashes['here']}")
    for name, duration in best.items():
        rate = steps / duration
        print(f"  {name:<22} {rate:>9.0f} steps/s   {best['server'] / duration:.3f} of the server's")


def call_cost(quick: bool) -> None:
    count = 20_000 if quick else 200_000
    sim = simpartner.load(REPOSITORY / "clients" / "python" / "tests" / "falling.xml")
    advance, read, readings = sim.advance, sim.native.read_into, np.empty(6)

    def calls() -> float:
        sim.reset()
        return timed(lambda: [advance() for _ in range(count)])

    def alone() -> float:
        sim.reset()
        return timed(lambda: advance(count))

    works: dict[str, Callable[[], float]] = {
        "calls": calls,
        "alone": alone,
        "none": lambda: timed(lambda: [advance(0) for _ in range(count)]),
        "read": lambda: timed(lambda: [read(readings) for _ in range(count)]),
        "step": lambda: timed(lambda: [sim.step(0) for _ in range(count // 10)]) * 10,
    }
    best = fastest(5, works)
    print("\ncost of a call beyond its step")
    print(f"  advance(1), beyond the step   {(best['calls'] - best['alone']) / count * 1e9:7.0f} ns")
    print(f"  advance(0)                    {best['none'] / count * 1e9:7.0f} ns")
    print(f"  read_into(6 numbers)          {best['read'] / count * 1e9:7.0f} ns")
    print(f"  step(0), which returns State  {best['step'] / count * 1e9:7.0f} ns")


def many(quick: bool) -> None:
    frames = 20
    print(f"\nenvironments of {NAVIGATION.name}, {frames} steps of 1 ms each")
    print("  environment steps/s (simulation steps/s) on 1 and 2 threads, speed-up; processor time of an environment step")
    for count in (1, 2, 4, 16, 64, 256) if not quick else (1, 4, 16):
        turns = max(2, (200 if quick else 1000) // count)
        actions = np.random.default_rng(0).uniform(-1, 1, (turns, count, 2)).astype(np.float32)
        envs = {threads: simpartner.make_vec(NAVIGATION, count, threads=threads, steps=frames) for threads in (1, 2)}
        wall, processor = dict.fromkeys(envs, float("inf")), dict.fromkeys(envs, float("inf"))
        for _ in range(3):
            for threads, each in envs.items():
                each.reset(seed=0)
                began = time.process_time()
                wall[threads] = min(wall[threads], timed(partial(steps_of, each, actions)))
                processor[threads] = min(processor[threads], time.process_time() - began)
        rates = {threads: turns * count / wall[threads] for threads in envs}
        told = "   ".join(f"{rate:7.0f} ({rate * frames:7.0f})" for rate in rates.values())
        spent = ", ".join(f"{1e6 * processor[threads] / turns / count:.0f} us" for threads in envs)
        print(f"  {count:>4} environments   {told}   {rates[2] / rates[1]:.2f}   {spent}")


def steps_of(envs: DriveVectorEnv, actions: npt.NDArray[np.float32]) -> None:
    """Makes a step with each of these actions."""
    for each in actions:
        envs.step(each)


def resets(quick: bool) -> None:
    print("\nresets")
    for name, world in (("flat.xml", WORLD), ("jacksboro.xml", REPOSITORY / "worlds" / "jacksboro.xml")):
        sim = simpartner.load(world)
        native, count = sim.native, 20 if quick else 200
        best = min(timeit.repeat(native.reset, number=count, repeat=3))
        print(f"  {name:<14} {count / best:>9.0f} a second on one thread")


def memory(quick: bool) -> None:
    """The resident memory of further worlds of one model. Each count is measured in a process of its own."""
    print("\nmemory of each further world, and the cost of its step")
    for name in ("flat.xml", "jacksboro.xml"):
        for count in (10, 100) if quick else (1, 10, 100, 1000):
            command = [sys.executable, __file__, "one-memory", name, str(count)]
            print(subprocess.run(command, capture_output=True, text=True, check=True).stdout, end="")


def one_memory(name: str, count: int) -> None:
    from simpartner import _native

    def resident_kb() -> float:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() / 1024

    sim = simpartner.load(REPOSITORY / "worlds" / name)
    before = resident_kb()
    batch = _native.Batch(sim.native, count, 1, [], [])
    steps = max(5, 2000 // count)
    active, commands, readings = np.ones(count, bool), np.empty((count, 0)), np.empty((count, 0))
    batch.advance(steps, commands, active, readings)
    duration = timed(lambda: batch.advance(steps, commands, active, readings))
    size = (resident_kb() - before) / count
    print(f"  {name:<14} {count:>5} worlds   {size:8.0f} kB each   {duration / steps / count * 1e6:7.1f} us a step")


def beside_mujoco(quick: bool) -> None:
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        print("\nMuJoCo is not installed")
        return
    steps = 2000 if quick else 20_000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "world.xml"
        subprocess.run([str(BINARY), "convert", str(WORLD), "-o", str(file)], check=True, capture_output=True)
        model = mujoco.MjModel.from_xml_path(str(file))
    model.opt.timestep = 0.001
    data = mujoco.MjData(model)

    def loop() -> float:
        mujoco.mj_resetData(model, data)
        return timed(lambda: [mujoco.mj_step(model, data) for _ in range(steps)])

    def stepwise() -> float:
        sim = simpartner.load(WORLD)
        return timed(lambda: [sim.advance() for _ in range(steps)])

    worlds = 16
    each = steps // worlds
    state = np.zeros((worlds, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    mujoco.mj_resetData(model, data)
    mujoco.mj_getState(model, data, state[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state[:] = state[0]
    datas = [mujoco.MjData(model) for _ in range(2)]

    from simpartner import _native

    batch = _native.Batch(simpartner.load(WORLD).native, worlds, 2, [], [])

    def rolled() -> float:
        with rollout.Rollout(nthread=2) as roll:
            return timed(lambda: roll.rollout(model, datas, state, nstep=each))

    def batched() -> float:
        batch.reset([(index, None) for index in range(worlds)])
        commands, readings, active = np.empty((worlds, 0)), np.empty((worlds, 0)), np.ones(worlds, bool)
        return timed(lambda: batch.advance(each, commands, active, readings))

    best = fastest(3, {"mj_step loop": loop, "advance loop": stepwise})
    print(f"\n{WORLD.name} beside MuJoCo {mujoco.__version__}, the robot as `convert` writes it, standing, 1 ms")
    for name, duration in best.items():
        print(f"  {name:<30} {steps / duration:>9.0f} steps/s")
    best = fastest(3, {"mujoco.rollout, 2 threads": rolled, "16 worlds, 2 threads": batched})
    for name, duration in best.items():
        print(f"  {name:<30} {each * worlds / duration:>9.0f} steps/s")


PARTS = {
    "server": beside_a_server,
    "call": call_cost,
    "many": many,
    "resets": resets,
    "memory": memory,
    "mujoco": beside_mujoco,
}


def main() -> None:
    if sys.argv[1:2] == ["one-memory"]:
        one_memory(sys.argv[2], int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps and rounds")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"some of {', '.join(PARTS)}; all unless given")
    arguments = parser.parse_args()
    if not NATIVE or BINARY is None:
        parser.error("build both with: cargo build --release --bin simpartner && cargo build --release -p simpartner-python")
    for part in arguments.parts or PARTS:
        if part not in PARTS:
            parser.error(f"expected some of {', '.join(PARTS)}, got '{part}'")
        PARTS[part](arguments.quick)


if __name__ == "__main__":
    main()
