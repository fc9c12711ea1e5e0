# SPDX-License-Identifier: Apache-2.0
"""Delivered against promised share of GPU time: real daemon, library and programs, in virtual time."""
import json
import statistics
import subprocess

from aliquotd import daemon
from report import Report
from stage import BUILD

LOAD = BUILD / "tests/programs/compute/load"
US, MS = 10**3, 10**6
SETTLE = 500  # ms before the count begins: what work takes is not known yet

report = Report("share", "simulated GPU, clock=virtual; each program wants the whole GPU for 10 virtual seconds; the "
                         "judge is the simulator's engine time; points are percent of the GPU's time")


def deliver(terms, loads, seconds=10):
    """What each of these sessions got, as tests/programs/compute/load tells it."""
    with daemon(f"gpus=1,memory=1GiB,clock=virtual,begin_with={len(terms)}") as one:
        client = one.client()
        for at, term in enumerate(terms):
            client.ask("POST", "/v1/sessions", {"name": f"s{at}", "memory": "128MiB", **term})
        programs = [subprocess.Popen([LOAD, f"kind={kind}", f"ns={ns}", f"seconds={seconds}", f"settle={SETTLE}"],
                                     env=one.environment(f"s{at}", visible="0"), stdout=subprocess.PIPE, text=True)
                    for at, (kind, ns) in enumerate(loads)]
        return [json.loads(program.communicate(timeout=600)[0]) for program in programs]


def off(got, percent):
    return abs(100 * got["own"] - percent)


def alone():
    for kind, ns in (("kernel", 20 * US), ("kernel", 200 * US), ("kernel", 2 * MS), ("kernel", 20 * MS),
                     ("graph", 20 * US), ("cooperative", 200 * US), ("ex", 200 * US), ("sync", 200 * US)):
        told = {cap: deliver([{"compute": cap}], [(kind, ns)])[0] for cap in range(10, 100, 10)}
        errors = [off(got, cap) for cap, got in told.items()]
        most = 1 if kind != "kernel" or ns > 2 * MS else 0.5
        report.row(f"cap 10..90 % alone, {kind} {ns // US} us, mean error", statistics.mean(errors), "points", most,
                   "XPUShare 3.4; vgpu-manager 2.2-2.8; HAMi-core 16", {cap: got["own"] for cap, got in told.items()})
        report.row("  of its quota, lost at most", 100 - min(100 * got["own"] / (cap / 100) for cap, got in told.items()),
                   "%", 3, "AIMD 25-33")


def together():
    for caps, beside in (((30, 70), "46/54"), ((30, 60), "31/51"), ((25, 75), "25/54"), ((10, 90), "1:6-8")):
        for ns in (200 * US, 2 * MS):
            told = deliver([{"compute": cap} for cap in caps], [("kernel", ns)] * 2)
            report.row(f"pair {caps[0]}/{caps[1]}, kernels of {ns // US} us, worst error",
                       max(off(got, cap) for got, cap in zip(told, caps)), "points", 1, beside,
                       [got["own"] for got in told])
    lengths = [20 * US, 200 * US, 2 * MS, 20 * MS]
    told = [got["own"] for got in deliver([{}] * 4, [("kernel", ns) for ns in lengths], 20)]
    report.row("four of one weight, kernels of 20 us to 20 ms, 1 - Jain", 1 - sum(told)**2 / (4 * sum(x * x for x in told)),
               "", 0.001, "", told)
    for ns in (200 * US, 2 * MS):
        told = deliver([{}, {}], [("kernel", ns)] * 2)
        report.row(f"two without caps, kernels of {ns // US} us, lost", 100 - 100 * sum(got["own"] for got in told), "points",
                   1.5, "XPUShare 18-21; XSched 1.5", [got["own"] for got in told])


alone()
together()
report.finish()
