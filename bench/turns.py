# SPDX-License-Identifier: Apache-2.0
"""What the daemon's scheduler thread takes of the processor while sessions take turns on a GPU.

    turns.py [SESSIONS]     that many alone, with kernels of 200 us; without it all rows
"""
import os
import pathlib
import subprocess
import sys
import time

from aliquotd import daemon
from report import Report
from stage import BUILD

SETTLE_SECONDS, SECONDS = 2, 5
THREAD = "aliquot-sched"
LOAD = BUILD / "tests/programs/compute/load"
SPEC = "gpus=1,memory=16GiB,model=h200,clock=real"

report = Report("turns", f"the thread {THREAD} of aliquotd while programs that want all of one simulated GPU take turns, {SECONDS} s "
                         "each on the real clock: its processor time (schedstat), its wake-ups (times it began to wait), leases "
                         "(/metrics). All depend on the machine and on what else it does: on a busy one turns are longer, and a "
                         f"wake-up costs more. Load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def thread_of(process):
    return next(task for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()
                if (task / "comm").read_text(encoding="ascii").strip() == THREAD)


def seen(node, thread):
    """Now; and until now: processor time, wake-ups, leases."""
    lines = (thread / "status").read_text(encoding="ascii").splitlines()
    waits = next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))
    cpu_ns = int((thread / "schedstat").read_text(encoding="ascii").split()[0])
    return time.monotonic(), cpu_ns / 1e9, waits, leases(node)


def leases(node):
    client = node.client()
    client.request("GET", "/metrics")
    lines = client.getresponse().read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("aliquot_session_gpu_turns_total{"))


def play(node, count, ns):
    for at in range(count):
        node.client().ask("POST", "/v1/sessions", {"name": f"s{at}", "memory": "1GiB"})
    programs = [subprocess.Popen([LOAD, "kind=kernel", f"ns={ns}", f"seconds={SETTLE_SECONDS + SECONDS + 60}"],
                                 env=node.environment(f"s{at}", visible="0"), stdout=subprocess.DEVNULL) for at in range(count)]
    time.sleep(SETTLE_SECONDS)
    thread = thread_of(node.process)
    before = seen(node, thread)
    time.sleep(SECONDS)
    after = seen(node, thread)
    assert all(program.poll() is None for program in programs)
    for program in programs:
        program.kill()
        program.wait()
    seconds, cpu, waits, turns = (b - a for a, b in zip(before, after))
    return 100 * cpu / seconds, waits / seconds, turns / seconds


def measure(count, ns, reach=None):
    with daemon(SPEC, "[metrics]\nsessions = yes\n") as node:
        percent, waits, turns = play(node, count, ns)
    what = f"{count} busy session{'s'[:count > 1]}, kernels of {ns // 1000} us"
    report.row(f"{what}: of a core", percent, "%", reach)
    report.row("  wake-ups", waits, "a second")
    report.row("  turns", turns, "a second")
    report.row("  a wake-up", percent * 1e4 / waits if waits else 0, "us")


if sys.argv[1:]:
    measure(int(sys.argv[1]), 200_000)
else:
    measure(8, 200_000, reach=1)
    measure(8, 2_000_000, reach=1)
    measure(2, 200_000)
    measure(1, 200_000)
report.finish()
