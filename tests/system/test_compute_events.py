# SPDX-License-Identifier: Apache-2.0
"""A cap on GPU time whatever the driver does with our events (docs/compute.md): work is never free.

In the simulator's virtual time; the judge is the simulator's engine time.
"""
import pytest

from alone import beside_solo, load_alone

PERCENT = 10_000
US, MS = 10**3, 10**6
POINT = 0.01
FOR_EVER = 10**6
KINDS = (("kernel", 20 * US), ("kernel", 200 * US), ("kernel", 2 * MS), ("sync", 20 * US), ("sync", 200 * US),
         ("graph", 200 * US), ("streams", 200 * US))


@pytest.fixture
def load(sim):
    """Runs a program that wants the whole device; what it got."""
    def load_run(kind, ns, percent, seconds=2, **settings):
        return load_alone(sim, settings, kind=kind, ns=ns, cap=percent * PERCENT, seconds=seconds, settle=300)
    return load_run


@pytest.fixture
def beside(sim):
    """The same, beside itself without a cap."""
    def beside_run(kind, ns, percent, seconds=2, **settings):
        return beside_solo(sim, settings, kind=kind, ns=ns, cap=percent * PERCENT, seconds=seconds, solo_seconds=1, settle=300)
    return beside_run


@pytest.mark.parametrize("kind", ("kernel", "sync", "step"))
@pytest.mark.parametrize("ns", (20 * US, 200 * US))
@pytest.mark.parametrize("late", (1 * US, 10 * US, 50 * US, 300 * US))
def test_who_returns_late_from_launches_is_not_free(load, kind, ns, late):
    """The host may be held up between the start of a kernel and the return of its launch, each time: the flight has begun."""
    got = load(kind, ns, 10, launched=f"{late}ns")
    assert got["share"] < 0.11, got
    assert got["billed_ns"] > 0.97 * got["busy_ns"], got


@pytest.mark.parametrize("kind, ns", KINDS)
@pytest.mark.parametrize("first", (1, 30))
@pytest.mark.parametrize("call", ("cuEventCreate", "cuEventRecord"))
def test_a_driver_that_refuses_events_is_capped_all_the_same(load, call, first, kind, ns):
    """From its first call of the kind or from a later one on: streams can still be looked at."""
    got = load(kind, ns, 30, fail=f"{call}:{first}:2:{FOR_EVER}")
    assert 0.25 < got["share"] < 0.3 + POINT, got


@pytest.mark.parametrize("kind, ns", KINDS)
@pytest.mark.parametrize("first", (1, 30))
def test_a_driver_that_tells_nothing_of_events_is_capped_all_the_same(load, first, kind, ns):
    """All that the streams take may be in flight then, seconds of work; it is paid for."""
    got = load(kind, ns, 30, 20 if ns > MS else 8, fail=f"cuEventQuery:{first}:2:{FOR_EVER}")
    assert got["share"] < 0.3 + POINT, got
    assert got["billed_ns"] > 0.97 * got["busy_ns"], got


@pytest.mark.parametrize("kind, ns", KINDS)
@pytest.mark.parametrize("call", ("cuEventRecord", "cuEventQuery"))
def test_a_driver_that_refuses_events_once_is_asked_again(beside, call, kind, ns):
    got = beside(kind, ns, 30, fail=f"{call}:50:999")
    assert abs(got["of_solo"] - got["promised"]) < 2 * POINT, got


@pytest.mark.parametrize("kind", ("kernel", "sync", "poll", "step", "graph", "cooperative"))
@pytest.mark.parametrize("event", (1, 4))
def test_what_passing_our_events_takes_is_little(beside, kind, event):
    """Of kernels of 20 us, or graphs of ten of 2 us: one marker stands behind many."""
    got = beside(kind, 2 * US if kind == "graph" else 20 * US, 30, event=f"{event}us", event_step="500ns")
    assert abs(got["of_solo"] - got["promised"]) < POINT, got
