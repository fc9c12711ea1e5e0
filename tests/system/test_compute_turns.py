# SPDX-License-Identifier: Apache-2.0
"""Several processes of a session share one cap on GPU time (docs/compute.md), without a daemon.

They are billed together through the session's page; whoever comes first when the gate opens goes. In virtual time; the judge is
the simulator's engine time.
"""
import signal
import time

import pytest

from alone import seconds_of
from node import finished

US, MS = 10**3, 10**6
PERCENT = 10_000
POINT = 0.01
HALF = 0.5
STARVES = 0.1


@pytest.fixture
def together(sim, build):
    """Starts a load for each keyword set, all in one session; the programs, begun together."""
    def start(*loads, preload=True):
        sim.configure(clock="virtual", begin_with=len(loads))
        return [sim.start([build.program("compute/load"), *(f"{key}={value}" for key, value in load.items())],
                          preload=preload, ALIQUOT_MEMORY="512MiB") for load in loads]
    return start


def wants(kind, ns, percent, seconds=4):
    return dict(kind=kind, ns=ns, cap=percent * PERCENT, seconds=seconds, settle=300)


@pytest.mark.parametrize("ns", (20 * US, 200 * US, 2 * MS))
@pytest.mark.parametrize("percent", (30, 60))
def test_two_processes_have_the_cap_together(together, ns, percent):
    """And neither starves: it is whoever comes first when the bucket has filled."""
    loads = [wants("kernel", ns, percent, 8)] * 2
    programs = [finished(program) for program in together(*loads)]
    for got in programs:
        assert abs(got["share"] - percent / 100) < POINT, got
    mine, other = (got["own"] for got in programs)
    assert 1 / 3 < mine / other < 3, (mine, other)


@pytest.mark.parametrize("other", (("sync", 20 * US), ("graph", 20 * US), ("sync", 2 * MS)))
def test_unlike_processes_have_the_cap_together(together, other):
    """Neither starves, whatever the other launches and however. The judge is what each has beside the other without Aliquot: behind
    a queue of long kernels a program that waits for each of its own has little."""
    kind, ns = other
    bare_loads = [{key: value for key, value in load.items() if key != "cap"}
                  for load in (wants("kernel", 200 * US, 50), wants(kind, ns, 50))]
    bare = [finished(program) for program in together(*bare_loads, preload=False)]
    programs = [finished(program) for program in together(wants("kernel", 200 * US, 50), wants(kind, ns, 50))]
    for got in programs:
        assert abs(got["share"] - HALF) < POINT, got
    for got, without in zip(programs, bare):
        assert got["launches_a_second"] > STARVES * HALF * without["launches_a_second"], (programs, bare)


@pytest.mark.parametrize("how", (signal.SIGKILL, signal.SIGSTOP))
def test_who_dies_or_stops_holds_nobody_up(together, how):
    """In the middle of its work: it is in flight for as long as it was heard of, and the other has the cap alone."""
    other, living = together(wants("kernel", 200 * US, 50, 10_000), wants("kernel", 200 * US, 50, 20))
    time.sleep(0.1)
    other.send_signal(how)
    got = finished(living)
    assert abs(seconds_of(got)[-1] - HALF) < 2 * POINT, got
