# SPDX-License-Identifier: Apache-2.0
"""Delivered against promised share of GPU time: real daemon, library and programs, in virtual time."""
import json
import statistics
import subprocess

from report import Report
from stage import BUILD

US, MS = 10**3, 10**6
ALONE_SECONDS, PAIR_SECONDS = 30, 10

report = Report("share", "simulated GPU, clock=virtual; each program wants the whole GPU for 30 virtual seconds alone, 10 "
                         "beside others; the judge is the simulator's engine time; points are percent of the GPU's time")


def deliver(*mix, seconds):
    """What each session of a mix got, as `aliquot bench share` tells it."""
    done = subprocess.run([BUILD / "src/cli/aliquot", "bench", "share", "--sim", "--seconds", str(seconds), "--json", *mix],
                          capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["sessions"]


def off(got):
    return abs(got["delivered_percent"] - got["promised_percent"])


def alone():
    for kind, ns in (("kernel", 20 * US), ("kernel", 200 * US), ("kernel", 2 * MS), ("kernel", 20 * MS),
                     ("graph", 20 * US), ("cooperative", 200 * US), ("ex", 200 * US), ("sync", 200 * US)):
        told = {cap: deliver(f"{cap},{kind},{ns}ns", seconds=ALONE_SECONDS)[0] for cap in range(10, 100, 10)}
        is_usual = kind == "kernel" and ns <= 2 * MS
        report.row(f"cap 10..90 % alone, {kind} {ns // US} us, mean error", statistics.mean(map(off, told.values())),
                   "points", 0.5 if is_usual else 1, "XPUShare 3.4; vgpu-manager 2.2-2.8; HAMi-core 16",
                   {cap: got["delivered_percent"] for cap, got in told.items()})
        report.row("  worst second", max(got["worst_second_points"] for got in told.values()), "points",
                   8 if ns > 2 * MS else 2, "", {cap: got["worst_second_points"] for cap, got in told.items()})
        report.row("  of its quota, lost at most", max(0, 100 - min(100 * got["delivered_percent"] / cap
                                                                    for cap, got in told.items())), "%", 3, "AIMD 25-33")


def together():
    for caps, beside in (((30, 70), "46/54"), ((30, 60), "31/51"), ((25, 75), "25/54"), ((10, 90), "1:6-8")):
        for ns in (200 * US, 2 * MS):
            told = deliver(*(f"{cap},{ns}ns" for cap in caps), seconds=PAIR_SECONDS)
            report.row(f"pair {caps[0]}/{caps[1]}, kernels of {ns // US} us, worst error", max(map(off, told)), "points", 1,
                       beside, [got["delivered_percent"] for got in told])
    lengths = [20 * US, 200 * US, 2 * MS, 20 * MS]
    told = [got["delivered_percent"] for got in deliver(*(f"{ns}ns" for ns in lengths), seconds=2 * PAIR_SECONDS)]
    report.row("four of one weight, kernels of 20 us to 20 ms, 1 - Jain", 1 - sum(told)**2 / (4 * sum(x * x for x in told)),
               "", 0.001, "", told)
    for ns in (200 * US, 2 * MS):
        told = [got["delivered_percent"] for got in deliver(*[f"{ns}ns"] * 2, seconds=PAIR_SECONDS)]
        report.row(f"two without caps, kernels of {ns // US} us, lost", 100 - sum(told), "points", 1.5,
                   "XPUShare 18-21; XSched 1.5", told)


alone()
together()
report.finish()
