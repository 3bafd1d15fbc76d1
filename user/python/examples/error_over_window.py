#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How the error of a filter goes up and down over the window.

A filter is filled for three windows. After each step it is asked for keys that were never inserted.
The share that it finds is its error, which rises until the first window is full. From then on it is
largest at the end of each epoch, and stays at what was planned but for the noise of the measurement.
The filter estimates it without such keys.

Run:  error_over_window.py [-o FILE] [--kind KIND]... [--keys N] [--error E]

The plot needs Debian's python3-matplotlib, and FILE may end in .svg, .png or .pdf. Without FILE a
window shows it. The same as a notebook: paste measure() and draw(), then
draw({kind: measure(kind, 20_000, 0.01, 64, 100_000) for kind in ("lanes", "ge")}, 0.01, None).
"""
from __future__ import annotations

import argparse
import random
from dataclasses import dataclass, field

import epf

WINDOWS = 3


@dataclass
class Curve:
    """Of one kind: windows since the beginning, error as it was measured, and as estimated."""

    windows: list[float] = field(default_factory=list)
    measured: list[float] = field(default_factory=list)
    estimated: list[float] = field(default_factory=list)


def measure(kind: str, keys: int, error: float, steps: int, probes: int) -> Curve:
    """Insert `keys` keys in a window, and ask for `probes` absent ones `steps` times in it."""
    second = 10**9  # the window is a second, and the time is that of the keys
    plan = epf.Plan(kind=kind, window=1, rate=keys, error=error, limit=1, hash_key=bytes(16))
    curve, draws = Curve(), random.Random(1)
    with epf.Filter(plan, time_ns=0) as seen:
        for step in range(WINDOWS * steps):
            for key in range(step * keys // steps, (step + 1) * keys // steps):
                seen.insert(key, time_ns=key * second // keys)
            now = (step + 1) * second // steps
            # Random keys of eight bytes: one that was inserted is hardly among them.
            ages = seen.test(draws.randbytes(8 * probes), key_len=8, time_ns=now)
            curve.windows.append((step + 1) / steps)
            curve.measured.append(1 - ages.count(epf.ABSENT) / probes)
            curve.estimated.append(seen.info(time_ns=now).estimate)
    return curve


def draw(curves: dict[str, Curve], error: float, path: str | None) -> None:
    """Plot all curves, one color each, into a file or a window."""
    try:
        import matplotlib  # type: ignore
    except ImportError:
        raise SystemExit("error: the plot needs matplotlib: apt install python3-matplotlib") from None

    if path is not None:
        matplotlib.use("agg")
        matplotlib.rcParams["svg.hashsalt"] = "epf"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 5))
    for kind, curve in curves.items():
        line, = axes.plot(curve.windows, curve.measured, label=f"{kind}: measured")
        axes.plot(curve.windows, curve.estimated, ":", color=line.get_color(),
                  label=f"{kind}: estimated")
    axes.axhline(error, color="black", linewidth=0.8, label="planned")
    axes.set(xlabel="time, in windows", ylabel="share of absent keys that are found",
             title="Error over the window", xlim=(0, WINDOWS), ylim=(0, None))
    axes.legend(loc="lower right")
    if path is None:
        pyplot.show()
    else:
        figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Plot the error of filters over the window.")
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument("--kind", action="append", choices=epf.kinds(), metavar="KIND")
    parser.add_argument("--keys", type=int, default=20_000, help="of a window (20000)")
    parser.add_argument("--error", type=float, default=1e-2, help="planned (0.01)")
    parser.add_argument("--steps", type=int, default=64, help="in a window (64)")
    parser.add_argument("--probes", type=int, default=100_000, help="absent keys in a step (100000)")
    args = parser.parse_args()
    kinds = args.kind or ["lanes", "ge", "apbf"]
    curves = {kind: measure(kind, args.keys, args.error, args.steps, args.probes) for kind in kinds}
    for kind, curve in curves.items():
        print(f"{kind}: planned {args.error:g}, worst measured {max(curve.measured):g}, "
              f"worst estimated {max(curve.estimated):g}")
    draw(curves, args.error, args.output)


if __name__ == "__main__":
    main()
