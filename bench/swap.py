# SPDX-License-Identifier: Apache-2.0
"""Jobs that take turns on a card which has no room for all of them, beside the same jobs one after the other.

    swap.py [ROW...]     rows whose names contain one of the words; without words all
"""
import json
import subprocess
import sys

from aliquotd import daemon
from report import Report
from stage import BUILD

JOB = BUILD / "tests/programs/compute/job"
KERNELS = BUILD / "tests/programs/hooks/bytes_kernels.so"
MIB, MS, S = 1 << 20, 10**6, 10**9
CARD = 1024 * MIB
LINK = 1.6e9  # a card of 16 GiB on PCIe 4, at a sixteenth of its size
PIN = 128  # MiB a second: 2 GiB, likewise
SPEC = f"gpus=1,memory={CARD // MIB}MiB,context=8MiB,host=1600MB/s,model=a100,clock=virtual,costs=real,reserved=0,pin={PIN}MiB/s"
HANG_SECONDS = 600
CONTEXT, STEP, WARM = 8 * MIB, 10 * MS, 4

report = Report("swap", "jobs (tests/programs/compute/job.c) in sessions that swap, on the simulated GPU in virtual time, a sixteenth "
                        f"of a card of 16 GiB: {CARD // MIB} MiB, link {LINK / 1e9:g} GB/s each way and 1.44 x that both ways at once, "
                        f"pinning {PIN} MiB/s, calls of the driver at full cost; each job checks every byte at the "
                        "end. `serial` is the time that the same jobs take one after the other")


class Got:
    def __init__(self, jobs, swaps):
        self.jobs, self.swaps = jobs, swaps
        self.took_ns = max(job["took_ns"] for job in jobs)
        self.moved_bytes = sum(swap["moved_bytes"] for swap in swaps)
        self.holds = sum(swap["holds"] for swap in swaps)


def run(count, words, swaps=True, turn=None):
    """`count` such jobs at once; `turn`: how long each turn lasts, in seconds."""
    with daemon(f"{SPEC},begin_with={count}") as node:
        if turn:
            node.client().ask("PATCH", "/v1/swap", {"turn": turn})
        terms = {"swap": True} if swaps else {"memory": str(CARD // count // MIB) + "MiB"}
        for at in range(count):
            node.client().ask("POST", "/v1/sessions", {"name": f"s{at}", **terms})
        programs = [subprocess.Popen([JOB, KERNELS, *words], env=node.environment(f"s{at}", visible="0"), stdout=subprocess.PIPE,
                                     text=True) for at in range(count)]
        jobs = [json.loads(program.communicate(timeout=HANG_SECONDS)[0]) for program in programs]
        assert all(job["wrong"] == 0 for job in jobs), jobs
        swapped = [node.client().ask("GET", f"/v1/sessions/s{at}")["swap"] or {} for at in range(count)] if swaps else []
    return Got(jobs, swapped)


def words(mib, seconds, ns=5 * MS, **more):
    steps = int(seconds * S / ns)
    return [f"bytes={mib * MIB}", f"steps={steps}", f"ns={ns}", *(f"{name}={value}" for name, value in more.items())]


def is_wanted(what):
    return not sys.argv[1:] or any(word in what for word in sys.argv[1:])


def against_serial(what, count, job, reach, beside=""):
    """Makespan by the serial one."""
    if not is_wanted(what):
        return None
    alone, together = run(1, job), run(count, job)
    ratio = together.took_ns / (count * alone.took_ns)
    report.row(what, ratio, "x serial", reach, beside,
               raw={"alone": alone.jobs, "together": together.jobs, "swaps": together.swaps})
    report.row("  sessions were held", together.holds, "times")
    report.row("  moved, each way", together.moved_bytes / 2 / MIB, "MiB")
    return ratio


def fits():
    what = "two that fit beside each other"
    if not is_wanted(what):
        return
    job = words(400, 20)
    plain, swapped = run(2, job, swaps=False), run(2, job)
    report.row(what, swapped.took_ns / plain.took_ns, "x plain", 1.005, "nvshare 1.009, XPUShare 1.026 (published)",
               raw={"plain": plain.jobs, "swap": swapped.jobs})
    report.row("  moved", swapped.moved_bytes / MIB, "MiB", 0)


DUPLEX = 1.44


def changes(jobs):
    """How long nobody got on when one job stopped and the other one went on, in ns, by their steps."""
    steps = sorted((at, job) for job, got in enumerate(jobs) for at, _ in got["done"])
    return [later - at for (at, job), (later, other) in zip(steps, steps[1:]) if job != other]


def a_change_of_turns():
    """Both jobs have been pinned after their first changes: those are left out."""
    what = "a change of turns: two of 0.94 of the card, turns of 4 s"
    if not is_wanted(what):
        return
    got = run(2, words(960, 28, samples=STEP), turn=4)
    took = changes(got.jobs)
    later = sorted(took[WARM:])
    missing = 2 * (960 * MIB + CONTEXT) - CARD
    moved = got.moved_bytes / got.holds
    median = later[len(later) // 2]
    report.row(what, median / MS, "ms", None, raw={"jobs": got.jobs, "swaps": got.swaps, "changes_ns": took})
    report.row("  bytes moved, each way, by what was missing", moved / 2 / missing, "", 1.1, "100 % of the footprint (published)")
    report.row("  switch time by 1.15 x bytes / link + 30 ms, of the link both ways at once",
               median / (1.15 * moved / (LINK * DUPLEX) * S + 30 * MS), "", 1)
    report.row("  the same, as if each way had the whole link", median / (1.15 * moved / 2 / LINK * S + 30 * MS), "", 1)
    report.row("  copy rate by that of the link, both ways at once", moved / (median / S) / (LINK * DUPLEX), "", None,
               "to reach: 0.90 or more")


fits()
a_change_of_turns()
against_serial("two of 0.75 of the card, busy", 2, words(768, 120), 1.05, "nvshare 1.058 at turns of 30 s, 1.27 at 10 s (published)")
against_serial("two of 0.94 of the card, busy", 2, words(960, 120, samples=S // 4), 1.05)
against_serial("two of 0.94 of the card, bursts and pauses of 1 s", 2, words(960, 60, every=200, pause=S), None)
against_serial("two of 0.94 of the card, bursts and pauses of 8 s", 2, words(960, 64, every=1600, pause=8 * S), 0.75,
               "nvshare 0.785 (published)")
two = against_serial("three of 0.5 of the card: 1.5 x", 3, words(512, 60), None)
four = against_serial("four of 0.88 of the card: 3.5 x", 4, words(896, 60), None)
if two and four:
    report.row("no cliff: the latter by the former", four / two, "", 1.2, "XPUShare: 150 x slower at 3 x (published)")
report.finish()
