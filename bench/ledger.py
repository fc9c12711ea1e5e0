# SPDX-License-Identifier: Apache-2.0
"""What the ledger costs by itself: a charge and its release, alone, in a crowd, and refused."""
import statistics
import subprocess

from report import Report
from stage import BUILD

PROGRAM = BUILD / "bench/programs/ledger"
ROUNDS = 5

report = Report("ledger", f"ns, the charge verbs called directly, no driver; median of {ROUNDS} runs")


def numbers(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True,
                          text=True, timeout=600)
    return [float(line) for line in done.stdout.split()]


def runs(*arguments):
    """For each number that the program prints: its median over the rounds, and all of them."""
    columns = list(zip(*(numbers(*arguments) for _ in range(ROUNDS))))
    return [(statistics.median(column), list(column)) for column in columns]


for live in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000):
    (value, raw), = runs("pair", live)
    report.row(f"charge + release, p50, {live} live blocks", value, "ns", 150,
               "HAMi-core O(n)" if live == 1_000_000 else "", raw)
for live in (1000, 1_000_000):
    (value, raw), = runs("random", live)
    report.row(f"the same, releasing any of {live} blocks", value, "ns", None, "", raw)
for processes in (1, 2, 16):
    (median, raw), (high, raw_high) = runs("crowd", processes)
    report.row(f"charge + release with a clock read, p50, {processes} processes", median, "ns", None,
               "", raw)
    report.row(f"charge + release with a clock read, p99, {processes} processes", high, "ns", None,
               "GPU Slice 6006 us at 32 clients" if processes == 16 else "", raw_high)
for processes in (1, 16, 128):
    (value, raw), = runs("refuse", processes)
    report.row(f"a refusal, {processes} other processes holding", value, "ns", None, "", raw)
report.finish()
