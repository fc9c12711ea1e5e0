# SPDX-License-Identifier: Apache-2.0
"""300 programs that start at once in one session: what our own start costs each of them."""
import tempfile

from report import Report, paired, percentile
from stage import environment, prove_limit_holds, start

PROGRAMS = 300
ROUNDS = 3

report = Report("fleet", f"{PROGRAMS} programs at once; CPU time of the calling thread from opening "
                         "the driver to the end of the first allocation, with a session and without "
                         f"one in turns, {ROUNDS} times. Nothing of ours blocks there: locks are "
                         "only tried. Contexts are not made here: of a fresh session's, the first "
                         "is waited for (docs/memory.md)")


def fleet(env):
    processes = [start(env, "start") for _ in range(PROGRAMS)]
    samples = [float(process.communicate(timeout=600)[0]) for process in processes]
    return percentile(samples, 0.99) / 1e6


with tempfile.TemporaryDirectory(dir="/dev/shm") as runtime:
    prove_limit_holds(runtime)
    result = paired(fleet, environment(runtime, None), environment(runtime, "100GiB"), ROUNDS)
report.row("start with a session, p99", result["other"], "ms", 20, "", result["raw"])
report.row("start without Aliquot, p99", result["base"], "ms")
report.finish()
