# SPDX-License-Identifier: Apache-2.0
"""Aliquot and the preload libraries of other systems, side by side on the simulated GPU.

    bench/peers/run [--rounds N] [--only PROBE,...] [--busy] [--json FILE] [NAME=LIBRARY ...]
                    [--env NAME:VARIABLE=VALUE ...]

NAME is that of a file NAME.ini here (side.py), LIBRARY what the user has built of it elsewhere. Each
probe is run for nothing in front of the driver, for Aliquot, and for each peer, in turns, N times;
the table has the medians. `--busy` adds a cap beside 20 busy loops. A probe that hangs or dies says so.
"""
import argparse
import functools
import json
import os
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))

import compute  # noqa: E402 (the path comes first)
import cost  # noqa: E402
import memory  # noqa: E402
from report import circumstances  # noqa: E402
from scene import Failed  # noqa: E402
from side import Ours, Peer, Side  # noqa: E402

# name: (what, its unit, how it is measured, whether the bare simulator's figure is taken off)
PROBES = {
    "families": ("families of 14 that escape / fail or miscount", "", memory.families, False),
    "ways": ("ways of 14 to obtain cuMemAlloc that escape / fail", "", memory.ways, False),
    "crowd": (f"{memory.CROWD} processes at the limit, {memory.KILLED} killed: peak / limit", "", memory.crowd, False),
    "alloc": ("cuMemAlloc + cuMemFree, added, 1 live block", "ns", cost.alloc, True),
    "alloc-many": ("the same, 1e5 live blocks", "ns", cost.alloc_many, True),
    "launch": ("cuLaunchKernel, added", "ns", cost.launch, True),
    "start": (f"{cost.PROGRAMS} programs at once, the last is ready", "s", cost.start, False),
    **{f"cap-{cap}": (f"cap {cap}, launches of 1 ms", "%", functools.partial(compute.capped, cap=cap), False)
       for cap in compute.CAPS},
    **{f"{kind}-{cap}": (f"cap {cap}, {kind}", "%", functools.partial(compute.capped, cap=cap, kind=kind, blocks=blocks), False)
       for kind, blocks in (("graph", compute.BLOCKS), ("cooperative", compute.RESIDENT_BLOCKS)) for cap in compute.CAPS},
    **{f"blocks-{blocks}": (f"cap 20, launches of {blocks} blocks", "%",
                            functools.partial(compute.capped, cap=20, blocks=blocks), False)
       for blocks in (1, compute.RESIDENT_BLOCKS)},
    "pair": ("two containers of 30 and 70 %", "%", compute.pair, False),
    "busy": (f"cap 20 beside {compute.BUSY_LOOPS} busy loops", "%", compute.beside_busy_loops, False),
}
METHOD = (f"simulated T4 of 16 GiB on the real clock, limits by the simulator's own count. Families and ways: a limit of "
          f"{memory.LIMIT // memory.MIB} MiB; a fault is more than that and one context, another error than out of memory, "
          "less than half of the limit, or less the second time. "
          f"Shares: percent of the GPU's time over {compute.SECONDS - compute.SETTLE_SECONDS} s after {compute.SETTLE_SECONDS} s, "
          f"grids of {compute.BLOCKS} blocks where no number is said, of {compute.RESIDENT_BLOCKS} in cooperative launches. "
          "Calls: median of batches, less the bare simulator's of the same round")


def arguments():
    parser = argparse.ArgumentParser(description="Aliquot and other preload libraries, side by side on the simulated GPU")
    parser.add_argument("peers", nargs="*", metavar="NAME=LIBRARY")
    parser.add_argument("--env", action="append", default=[], metavar="NAME:VARIABLE=VALUE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help=f"some of: {','.join(PROBES)}")
    parser.add_argument("--busy", action="store_true", help="also beside busy loops: loads the whole machine")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    asked = parser.parse_args()
    unknown = set((asked.only or "families").split(",")) - set(PROBES)
    if unknown or any("=" not in word for word in asked.peers) or asked.rounds < 1:
        parser.error(f"no probe {', '.join(unknown)}" if unknown else "NAME=LIBRARY and at least one round")
    return asked


def sides_of(asked):
    more = {}
    for word in asked.env:
        name, _, assignment = word.partition(":")
        variable, _, value = assignment.partition("=")
        more.setdefault(name, []).append((variable, value))
    peers = [word.split("=", 1) for word in asked.peers]
    return [Side(), Ours(), *(Peer(name, library, more.get(name, ())) for name, library in peers)]


def measure(probe, side):
    try:
        return probe(side)
    except Failed as failure:
        return {"failed": str(failure)}


def figures(result):
    return [] if "failed" in result else result.get("values", [result.get("value")])


def cell(results, bare, is_added):
    """Medians over the rounds; what failed is named when no round has a figure."""
    rounds = [[value - (figures(base)[0] if is_added else 0) for value in figures(result)]
              for result, base in zip(results, bare) if figures(result) and (figures(base) or not is_added)]
    if not rounds:
        return results[-1].get("failed", "no base")
    text = "/".join(f"{statistics.median(each):.4g}" for each in zip(*rounds))
    worst = {name: max(result.get("wrong", {}).get(name, 0) for result in results) for name in ("errors", "hang", "end")}
    said = ", ".join(f"{count} {name}" for name, count in worst.items() if count)
    text += f" ({said})" if said else ""
    failed = len(results) - len(rounds)
    return text + (f" ({failed} of {len(results)} failed)" if failed else "")


def print_table(rows, sides):
    print(f"\npeers: {METHOD}\n")
    print(f"  {'what':<58}" + "".join(f"{side.name + ' ' + side.commit:>24}" for side in sides))
    for name, results in rows.items():
        what, unit, _, is_added = PROBES[name]
        cells = [cell(results[side.name], results["bare"], is_added) for side in sides]
        print(f"  {what + (' (' + unit + ')' if unit else ''):<58}" + "".join(f"{text:>24}" for text in cells), flush=True)


def main():
    asked = arguments()
    sides, rows = sides_of(asked), {}
    before = os.getloadavg()
    names = asked.only.split(",") if asked.only else [name for name in PROBES if name != "busy" or asked.busy]
    for name in names:
        rows[name] = {side.name: [] for side in sides}
        for _ in range(asked.rounds):
            for side in sides:
                rows[name][side.name].append(measure(PROBES[name][2], side))
        print(f"{name}: load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    print_table(rows, sides)
    if asked.json:
        told = circumstances() | {"method": METHOD, "load_before": before, "load_after": os.getloadavg(),
                                  "rounds": asked.rounds, "rows": rows,
                                  "sides": {side.name: {"tried_with": side.commit} for side in sides}}
        asked.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


main()
