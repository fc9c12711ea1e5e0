# SPDX-License-Identifier: Apache-2.0
"""A cap on GPU time whatever the driver tells of its time (docs/compute.md): work is never free.

In the simulator's virtual time; the judge is the simulator's engine time. Which wrong values there are, one by
one, and a host that is stopped at any line: tests/unit/shim/test_lane.c and test_stamp.c.
"""
import pytest

from alone import load_alone

PERCENT = 10_000  # of a cap in millionths
US, MS = 10**3, 10**6
FOR_EVER = 10**6
KINDS = (("kernel", 20 * US), ("kernel", 200 * US), ("kernel", 2 * MS), ("sync", 20 * US), ("sync", 200 * US),
         ("graph", 200 * US), ("streams", 200 * US))


@pytest.fixture
def load(sim):
    """Runs a program that wants the whole device; what it got."""
    def load_run(kind, ns, percent, seconds=2, **settings):
        return load_alone(sim, settings, kind=kind, ns=ns, cap=percent * PERCENT, seconds=seconds, settle=300)
    return load_run


@pytest.mark.parametrize("kind", ("kernel", "sync", "step"))
@pytest.mark.parametrize("ns", (20 * US, 200 * US))
@pytest.mark.parametrize("late", (1 * US, 10 * US, 50 * US, 300 * US))
def test_who_returns_late_from_launches_is_not_free(load, kind, ns, late):
    """The host may be held up between the start of a kernel and the return of its launch, each time: then the
    kernel may be over by then, and the time until then is no pause. At most half of it is taken for one."""
    got = load(kind, ns, 10, launched=f"{late}ns")
    assert got["share"] < 0.205, got
    assert got["billed_ns"] > 0.5 * got["busy_ns"], got
    if late <= ns // 20:
        assert 0.095 < got["share"] < 0.107, got


@pytest.mark.parametrize("kind, ns", KINDS)
@pytest.mark.parametrize("first", (1, 30, 50))
@pytest.mark.parametrize("call", ("cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventElapsedTime"))
def test_a_driver_that_refuses_events_is_capped_all_the_same(load, call, first, kind, ns):
    """From its first call of the kind or from a later one on: work is measured by the host's clock then, one
    batch after the other."""
    got = load(kind, ns, 30, fail=f"{call}:{first}:2:{FOR_EVER}")
    assert 0.25 < got["share"] < 0.31, got
    assert got["escapes"] == 0, got


@pytest.mark.parametrize("kind, ns", KINDS)
@pytest.mark.parametrize("call", ("cuEventRecord", "cuEventQuery", "cuEventElapsedTime"))
def test_a_driver_that_refuses_events_once_is_asked_again(load, call, kind, ns):
    """After a second: then shares are exact again."""
    got = load(kind, ns, 30, 3, fail=f"{call}:50:999")
    last = got["windows"][-8:]
    assert abs(sum(last) / len(last) - 0.3) < 0.01, got
    assert got["share"] < 0.31, got


@pytest.mark.parametrize("kind", ("kernel", "sync", "poll", "step", "graph", "cooperative"))
@pytest.mark.parametrize("event", (1, 2, 4))
def test_what_passing_our_events_takes_is_not_the_program_s(load, kind, event):
    """Of kernels of 20 us, or graphs of ten of 2 us: a marker behind each adds a twentieth to a fifth."""
    got = load(kind, 2 * US if kind == "graph" else 20 * US, 30, event=f"{event}us", event_step="500ns")
    assert abs(got["share"] - 0.3) < 0.005, got
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.01, got


@pytest.mark.parametrize("kind, ns", KINDS)
@pytest.mark.parametrize("settings", ({"event_step": "500ns"}, {"event_step": "100us"}, {"event_step": "1ms"},
                                      {"event_step": "10ms"}, {"event_step": "1s"}, {"drift": 200}, {"drift": 1000}),
                         ids=lambda settings: "=".join(map(str, *settings.items())))
def test_a_driver_whose_time_is_coarse_or_drifts_is_capped_all_the_same(load, kind, ns, settings):
    got = load(kind, ns, 30, **settings)
    assert 0.2 < got["share"] < 0.32, got
