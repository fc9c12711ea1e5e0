# SPDX-License-Identifier: Apache-2.0
"""Several processes of a session share one cap on GPU time (docs/compute.md), without a daemon.

They take turns through the session's page. In virtual time; the judge is the simulator's engine time.
"""
import signal
import time

import pytest

from node import finished

US, MS = 10**3, 10**6
PERCENT = 10_000


@pytest.fixture
def together(sim, build):
    """Starts a load for each keyword set, all in one session; the programs, begun together."""
    def start(*loads):
        sim.configure(clock="virtual", begin_with=len(loads))
        return [sim.start([build.program("compute/load"), *(f"{key}={value}" for key, value in load.items())],
                          preload=True, ALIQUOT_MEMORY="512MiB") for load in loads]
    return start


def wants(kind, ns, percent, seconds=3):
    return dict(kind=kind, ns=ns, cap=percent * PERCENT, seconds=seconds, settle=300)


@pytest.mark.parametrize("ns", (20 * US, 200 * US, 2 * MS))
@pytest.mark.parametrize("percent", (30, 60))
def test_two_processes_have_the_cap_together(together, ns, percent):
    """And about half of it each."""
    programs = [finished(program) for program in together(wants("kernel", ns, percent), wants("kernel", ns, percent))]
    for got in programs:
        assert abs(got["share"] - percent / 100) < 0.01, got
    mine, other = (got["busy_ns"] for got in programs)
    assert 0.8 < mine / other < 1.25, (mine, other)


@pytest.mark.parametrize("other", (("sync", 20 * US), ("graph", 20 * US), ("sync", 2 * MS)))
def test_unlike_processes_have_the_cap_together(together, other):
    """Neither starves, whatever the other launches and however."""
    kind, ns = other
    programs = [finished(program) for program in together(wants("kernel", 200 * US, 50), wants(kind, ns, 50))]
    for got in programs:
        assert abs(got["share"] - 0.5) < 0.01, got
    mine, other = (got["busy_ns"] for got in programs)
    assert 0.1 < mine / (mine + other) < 0.9, (mine, other)


@pytest.mark.parametrize("how", (signal.SIGKILL, signal.SIGSTOP))
def test_who_dies_or_stops_with_the_turn_holds_nobody_up(together, how):
    """In the middle of its work: turns end by the clock, and what the dead had paid is not owed."""
    other, living = together(wants("kernel", 200 * US, 50, 10_000), wants("kernel", 200 * US, 50, 20))
    time.sleep(0.1)
    other.send_signal(how)
    got = finished(living)
    assert abs(got["windows"][-1] - 0.5) < 0.02, got
