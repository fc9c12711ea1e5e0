# SPDX-License-Identifier: Apache-2.0
"""What a limit costs an allocation: alone, with up to a million live blocks, and in a crowd."""
import tempfile

from report import Report, paired, percentile
from stage import environment, numbers, prove_limit_holds, start

ROUNDS = 7
CROWD = 16
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


with tempfile.TemporaryDirectory(dir="/dev/shm") as runtime:
    prove_limit_holds(runtime)
    alone(runtime)
    crowded = paired(lambda memory: crowd(runtime, memory), None, "64MiB", 5)
    report.row(f"added p99, {CROWD} processes at 95 %, driver calls of 10 us", crowded["added"], "ns",
               1000, "GPU Slice 6006 us at 32 clients", crowded["raw"])
report.finish()
