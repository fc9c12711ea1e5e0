# SPDX-License-Identifier: Apache-2.0
"""What a limit costs an allocation: alone, with up to a million live blocks, and in a crowd."""
import os
import statistics
import tempfile

from report import Report, paired, percentile
from stage import environment, numbers, prove_limit_holds, start

ROUNDS = 7
CROWD = 16
THREADS = 16
SLICER = "GPU Slice +2.6 ms (33.7 us -> 2635 us)"

report = Report("alloc", "ns of cuMemAlloc + cuMemFree in front of a driver that does nothing, with a "
                         f"session and without one in turns, median of {ROUNDS} pairs of runs, each "
                         "the median of 2000 batches of 64")


def alone(folder):
    for live, how, extra, reach in ((1, "", {}, 150), (1000, "", {}, 150), (1000000, "", {}, 150),
                                    (1000000, ", addresses at random", {"TOY_SCATTER": "1"}, None)):
        result = paired(lambda env, live=live: numbers(env, "pair", live, 2000)[0],
                        environment(folder, None, **extra), environment(folder, "100GiB", **extra),
                        ROUNDS)
        report.row(f"alloc + free added, p50, {live} live blocks{how}", result["added"], "ns", reach,
                   f"{SLICER}; HAMi-core O(n)" if live == 1 else "", result["raw"])


def crowd(folder, memory):
    """Single calls, less what the driver itself took, from 16 processes at 95 % of the limit."""
    held = int(0.95 * (64 << 20) / CROWD)
    env = environment(folder, memory, TOY_CALL_NS="10000")
    processes = [start(env, "added", 6000, held) for _ in range(CROWD)]
    samples = []
    for process in processes:
        output, _ = process.communicate(timeout=600)
        if process.returncode:
            raise SystemExit(f"bench/alloc.py: a process of the crowd ended with {process.returncode}")
        samples += [float(line) for line in output.split()]
    return percentile(samples, 0.99)


def contended(env, processes, count):
    """p99 of single calls of 16 threads in each of so many processes, or of one thread alone (0)."""
    started = [start(env, "crowd", count, THREADS if processes else 1) for _ in range(processes or 1)]
    samples = []
    for process in started:
        output, _ = process.communicate(timeout=600)
        if process.returncode:
            raise SystemExit(f"bench/alloc.py: a process ended with {process.returncode}")
        samples += map(int, output.split())
    return percentile(samples, 0.99)


def threads(folder):
    """All at once against one alone; and, where calls take time, against the same without Aliquot."""
    what = f"p99 of an allocation, {THREADS} threads x {CROWD} processes"
    limited = environment(folder, "100GiB")
    each = paired(lambda processes: contended(limited, processes, 3000), 0, CROWD, 5)
    report.row(what, each["other"], "ns", None, f"alone: {each['base']:.0f} ns", each["raw"])
    report.row("the same, times that of one alone", statistics.median(b / a for a, b in each["raw"]),
               "x", 2, f"{os.cpu_count()} CPUs for {THREADS * CROWD} threads")
    slow = {"TOY_CALL_NS": "10000"}
    each = paired(lambda env: contended(env, CROWD, 50), environment(folder, None, **slow),
                  environment(folder, "100GiB", **slow), 3)
    report.row(f"{what}, calls of 10 us", each["other"] / 1e3, "us", None,
               f"without Aliquot: {each['base'] / 1e3:.0f} us", each["raw"])
    report.row("the same, times that without Aliquot", statistics.median(b / a for a, b in each["raw"]),
               "x", 2)


with tempfile.TemporaryDirectory(dir="/dev/shm") as runtime:
    prove_limit_holds(runtime)
    alone(runtime)
    crowded = paired(lambda memory: crowd(runtime, memory), None, "64MiB", 5)
    report.row(f"added p99, {CROWD} processes at 95 %, driver calls of 10 us", crowded["added"], "ns",
               1000, "GPU Slice 6006 us at 32 clients", crowded["raw"])
    threads(runtime)
report.finish()
