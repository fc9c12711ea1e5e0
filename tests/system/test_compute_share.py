# SPDX-License-Identifier: Apache-2.0
"""A hard cap on GPU time (docs/compute.md), held by the processes of a session, without a daemon.

In the simulator's virtual time, so the figures are the same on every machine. What was delivered is
the simulator's own engine time; our meter is only compared with it.
"""
import pytest

from alone import load_alone

PERCENT = 10_000  # of a cap in millionths
HALF = 50 * PERCENT
US, MS = 10**3, 10**6
POINTS = 0.005  # half a point of share


@pytest.fixture
def load(sim):
    """Runs a program that wants the whole device; what it got."""
    def load_run(kind, ns, cap, seconds=2, **more):
        return load_alone(sim, {}, kind=kind, ns=ns, cap=cap, seconds=seconds, settle=300, **more)
    return load_run


def assert_meter_agrees(got):
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.02, got


@pytest.mark.parametrize("percent", range(10, 100, 10))
def test_a_cap_is_delivered(load, percent):
    got = load("kernel", 200 * US, percent * PERCENT)
    assert abs(got["share"] - percent / 100) < POINTS, got
    assert_meter_agrees(got)


@pytest.mark.parametrize("ns, seconds", ((20 * US, 1), (2 * MS, 4), (20 * MS, 10)))
@pytest.mark.parametrize("kind", ("kernel", "graph"))
def test_the_length_of_the_work_does_not_matter(load, kind, ns, seconds):
    """A graph has ten kernels: here they take as long as one."""
    got = load(kind, ns // 10 if kind == "graph" else ns, HALF, seconds)
    assert abs(got["share"] - 0.5) < POINTS, got
    assert_meter_agrees(got)


@pytest.mark.parametrize("kind", ("ex", "cooperative", "sync", "step", "streams"))
def test_the_way_it_is_launched_does_not_matter(load, kind):
    """Neither the entry point, nor whether the program waits for each launch, or for twenty, or uses
    two streams that overlap."""
    got = load(kind, 200 * US, 30 * PERCENT)
    assert abs(got["share"] - 0.3) < POINTS, got
    assert_meter_agrees(got)


def test_no_tenth_of_a_second_is_far_from_the_cap(load):
    """No oscillation: a cap of 30 % is not three seconds in ten."""
    got = load("kernel", 200 * US, 30 * PERCENT, 3)
    assert len(got["windows"]) > 20
    assert max(abs(window - 0.3) for window in got["windows"]) < 0.02, got


def test_short_kernels_that_are_waited_for_are_sampled_and_exact(load):
    """One launch in some tens is measured, the others are charged the average."""
    got = load("sync", 20 * US, HALF, 1)
    assert abs(got["share"] - 0.5) < 0.01, got


def test_a_new_cap_holds_within_a_tenth_of_a_second(load):
    got = load("kernel", 200 * US, 20 * PERCENT, 2, then=f"{80 * PERCENT}@1")
    before, after = got["windows"][:6], got["windows"][-8:]
    assert max(abs(window - 0.2) for window in before) < 0.02, got
    assert max(abs(window - 0.8) for window in after) < 0.02, got


def test_a_program_without_a_cap_waits_for_nothing(load):
    got = load("kernel", 200 * US, 0, 1)
    assert got["share"] > 0.999
    assert got["waits"] == got["billed_launches"] == 0


def test_work_longer_than_anybody_thought_is_paid_for(load):
    """Graphs of 200 ms under a cap of 10 %: the first are let through before it is known what they
    take; the debt stays."""
    got = load("graph", 20 * MS, 10 * PERCENT, 30)
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.01, got
    assert 0.06 < got["share"] < 0.105, got


@pytest.mark.parametrize("node", ({}, {"wake_spread": "3us"}, {"wake_spread": "8us"}), ids=("prompt", "3us", "8us"))
def test_kernels_of_which_nothing_is_known_go_one_at_a_time(sim, node):
    """Of 3 s each, under half a device: a second one after two seconds in which nothing moved, since the first
    may be waiting for it; then none until both are paid for, 13 s later. Also where the helper looks at
    the stream at that very moment, as wake-ups of other lengths make it."""
    got = load_alone(sim, node, kind="kernel", ns=3000 * MS, cap=HALF, seconds=30, settle=300)
    assert got["escapes"] == 1 and abs(got["windows"][0] - 4 / 13) < 0.002, got
    assert got["launches"] <= 7 and abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.01, got


def test_a_kernel_that_was_never_launched_is_measured_alone(load):
    """Among thousands of short ones: what is let through ahead is for those."""
    got = load("longer", 20 * US, HALF, 4)
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.01, got
    assert got["escapes"] == 0 and got["share"] < 0.51, got


def test_a_driver_that_refuses_events_is_capped_all_the_same(sim, load):
    """By the host's clock, one batch after the other: less exact, and never more than the cap."""
    sim.configure(fail="cuEventCreate:1:2:1000000")
    got = load("kernel", 2 * MS, 30 * PERCENT, 4)
    assert 0.2 < got["share"] < 0.31, got
