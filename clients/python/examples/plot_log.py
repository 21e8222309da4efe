"""Plots a sensor of a logged run over simulated time, with nothing but the standard library, or with matplotlib.

    python3 plot_log.py run.db --device Position --out position.svg

The ending of the output says what is written: `.csv` is a table, `.svg` a plot made here, anything else is matplotlib's.
"""

from __future__ import annotations

import argparse
import csv
import math
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

Table = dict[str, list[tuple[float, float]]]
COLOURS = ("#1f5fa8", "#c8501e", "#2e8540", "#7d4698", "#8a6d00", "#00798c")
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 800, 420, 70, 45, 40, 15


def read_log(database: Path, device: str, simulation: int | None) -> tuple[Table, dict[str, str], int]:
    """A sensor's fields over time, their units, and the run they are of: the last one if none is named."""
    # Opened for reading only, so that a mistyped name does not make an empty database.
    with sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True) as log:
        if simulation is None:
            (simulation,) = log.execute("SELECT max(simulationID) FROM simulation").fetchone()
        sensors = log.execute(
            "SELECT c.componentID FROM robotComponent c JOIN robot r USING (robotID)"
            " WHERE r.simulationID = ? AND c.type = 'SENSOR' AND (c.name = ? OR r.name || '/' || c.name = ?)",
            (simulation, device, device),
        ).fetchall()
        if len(sensors) != 1:
            sys.exit(f"run {simulation} has {len(sensors)} sensors of the name '{device}'")
        units = dict(
            log.execute("SELECT field, unit FROM deviceField WHERE componentID = ? ORDER BY ordinal", sensors[0])
        )
        table: Table = {field: [] for field in units}
        rows = log.execute(
            "SELECT s.simulationTime, v.field, v.value FROM sensorReading v JOIN simulationRow s USING (simulationRowID)"
            " WHERE v.componentID = ? AND s.simulationID = ? AND v.value IS NOT NULL ORDER BY s.step",
            (*sensors[0], simulation),
        )
        for time, field, value in rows:
            table[field].append((time, value))
    return table, units, simulation


def write_csv(path: Path, table: Table) -> None:
    """A row for each reading."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["time", *table])
        for points in zip(*table.values(), strict=True):
            writer.writerow([points[0][0], *(value for _, value in points)])


def ticks(low: float, high: float) -> list[float]:
    """Some four to nine round numbers from low to high."""
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(step for step in (power, 2 * power, 5 * power) if (high - low) / step < 9)
    return [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


def write_svg(path: Path, table: Table, units: dict[str, str], title: str) -> None:
    """Lines over time, with axes and a legend. Each line has at most two thousand points."""
    every = [point for points in table.values() for point in points]
    low_t, high_t = bounds(time for time, _ in every)
    low_v, high_v = bounds(value for _, value in every)

    def x(time: float) -> float:
        return LEFT + (time - low_t) / (high_t - low_t) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low_v) / (high_v - low_v) * (HEIGHT - BOTTOM - TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="14">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 8}" text-anchor="middle">simulated time, s</text>',
    ]
    for time in ticks(low_t, high_t):
        parts.append(f'<path d="M{x(time):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(time):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{time:g}</text>')
    for value in ticks(low_v, high_v):
        parts.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    for number, (field, points) in enumerate(table.items()):
        colour = COLOURS[number % len(COLOURS)]
        line = " ".join(f"{x(time):.2f},{y(value):.2f}" for time, value in thin(points, 2000))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        name = escape(f"{field}, {units[field]}")
        parts.append(f'<text x="{LEFT + 110 * number}" y="34" fill="{colour}">{name}</text>')
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


def bounds(values: Iterable[float]) -> tuple[float, float]:
    """Lowest and highest, a little apart if they are equal."""
    known = list(values)
    low, high = min(known), max(known)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def thin(points: Sequence[tuple[float, float]], most: int) -> Sequence[tuple[float, float]]:
    """Every n-th point, so that there are not too many."""
    return points[:: max(1, -(-len(points) // most))]


def write_with_matplotlib(path: Path, table: Table, units: dict[str, str], title: str) -> None:
    """Whatever matplotlib makes of the ending."""
    try:
        import matplotlib
    except ImportError:
        sys.exit(f"{path.suffix} needs matplotlib, which is not installed; .svg and .csv do not")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.2))
    for field, points in table.items():
        axes.plot(*zip(*points, strict=True), label=f"{field}, {units[field]}")
    axes.set(title=title, xlabel="simulated time, s")
    axes.legend()
    axes.grid(True)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Arguments in, a file out."""
    arguments = argparse.ArgumentParser(description="plots a sensor of a logged run")
    arguments.add_argument("database", type=Path)
    arguments.add_argument("--device", default="Position", help="a sensor, as NAME or ROBOT/NAME")
    arguments.add_argument("--simulation", type=int, help="the run's number; the last one unless given")
    arguments.add_argument("--out", type=Path, default=Path("plot.svg"))
    chosen = arguments.parse_args()
    if not chosen.database.is_file():
        sys.exit(f"there is no database {chosen.database}")
    table, units, simulation = read_log(chosen.database, chosen.device, chosen.simulation)
    if not any(table.values()):
        sys.exit(f"'{chosen.device}' has no readings in run {simulation}")
    title = f"{chosen.device} in run {simulation} of {chosen.database.name}"
    if chosen.out.suffix == ".csv":
        write_csv(chosen.out, table)
    elif chosen.out.suffix == ".svg":
        write_svg(chosen.out, table, units, title)
    else:
        write_with_matplotlib(chosen.out, table, units, title)
    count = len(next(iter(table.values())))
    print(f"run {simulation}: {count} readings of {chosen.device}, {', '.join(table)}, in {chosen.out}")


if __name__ == "__main__":
    main()
