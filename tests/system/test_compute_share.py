# SPDX-License-Identifier: Apache-2.0
"""A hard cap on GPU time (docs/compute.md), held by the processes of a session, without a daemon.

In the simulator's virtual time. What was delivered is the simulator's own engine time; our meter is only compared with it. The
end of a flight that nobody waited for is sampled at random: over four seconds that is within a point of share by far.
"""
import pytest

from alone import beside_solo, load_alone, seconds_of

PERCENT = 10_000  # of a cap in millionths
HALF = 50 * PERCENT
US, MS = 10**3, 10**6
POINT = 0.01
PART = 0.03  # of what is billed


@pytest.fixture
def load(sim):
    """Runs a program that wants the whole device; what it got."""
    def load_run(kind, ns, cap, seconds=4, **more):
        return load_alone(sim, {}, kind=kind, ns=ns, cap=cap, seconds=seconds, settle=300, **more)
    return load_run


def assert_meter_agrees(got):
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < PART, got


@pytest.mark.parametrize("percent", range(10, 100, 10))
def test_a_cap_is_delivered(load, percent):
    got = load("kernel", 200 * US, percent * PERCENT)
    assert abs(got["share"] - percent / 100) < POINT, got
    assert_meter_agrees(got)


@pytest.mark.parametrize("ns, seconds", ((20 * US, 4), (2 * MS, 4), (20 * MS, 10)))
@pytest.mark.parametrize("kind", ("kernel", "graph"))
def test_the_length_of_the_work_does_not_matter(load, kind, ns, seconds):
    """A graph has ten kernels: here they take as long as one."""
    got = load(kind, ns // 10 if kind == "graph" else ns, HALF, seconds)
    assert abs(got["share"] - 0.5) < POINT, got
    assert_meter_agrees(got)


@pytest.mark.parametrize("kind", ("ex", "cooperative", "streams"))
def test_the_way_it_is_launched_does_not_matter(load, kind):
    """Neither the entry point, nor whether the program uses two streams that overlap."""
    got = load(kind, 200 * US, 30 * PERCENT)
    assert abs(got["share"] - 0.3) < POINT, got
    assert_meter_agrees(got)


@pytest.mark.parametrize("ns", (20 * US, 200 * US))
@pytest.mark.parametrize("kind", ("sync", "step", "poll"))
def test_a_program_that_waits_is_as_fast_as_the_cap_says(sim, kind, ns):
    """For each launch, or for twenty, or by asking: beside itself without a cap."""
    got = beside_solo(sim, {}, kind=kind, ns=ns, cap=30 * PERCENT, seconds=4, solo_seconds=1, settle=300)
    assert abs(got["of_solo"] - got["promised"]) < POINT, got


@pytest.mark.parametrize("kind", ("event", "sync"))
def test_work_that_a_program_waits_for_is_billed_to_its_end(sim, kind):
    """Exactly, and not by a sample: where looks are late, those make flights of one kernel each too short."""
    for ns in (60 * US, 150 * US, 200 * US):
        got = load_alone(sim, {"flights": "on"}, kind=kind, ns=ns, cap=30 * PERCENT, seconds=3, settle=300)
        assert abs(got["billed_ns"] / got["flight_ns"] - 1) < 0.002, got


def test_a_new_cap_holds_within_a_tenth_of_a_second(load):
    """From the first window on that lies behind it; before, the old one holds."""
    got = load("kernel", 200 * US, 20 * PERCENT, 4, then=f"{80 * PERCENT}@2")
    at, before, after = 0.3, [], []
    for share, ns in zip(got["windows"], got["windows_ns"]):
        if at + ns / 1e9 < 2:
            before.append(share)
        elif at > 2.1:
            after.append(share)
        at += ns / 1e9
    assert abs(sum(before) / len(before) - 0.2) < 2 * POINT, got
    assert len(after) > 15 and max(abs(share - 0.8) for share in after) < 0.1, got
    assert abs(sum(after) / len(after) - 0.8) < 2 * POINT, got


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
def test_what_kernels_of_seconds_used_is_paid_for(sim, node):
    """Of 3 s each, under half a device: a few are in flight before it is known what they take, and some are let through since
    they could be waiting for each other. All of it is debt: in two minutes they have half of the device. Also where the helper
    looks at the stream at that very moment, as wake-ups of other lengths make it."""
    got = load_alone(sim, node, kind="kernel", ns=3000 * MS, cap=HALF, seconds=120, settle=300)
    assert abs(got["share"] - 0.5) < POINT, got
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.01, got
    assert max(seconds_of(got, 60)) < 0.85, got


def test_a_kernel_that_was_never_launched_is_paid_for(load):
    """Among thousands of short ones, and a thousand times as long: what is let through ahead is for those."""
    got = load("longer", 20 * US, HALF, 4)
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < 0.01, got
    assert got["share"] < 0.51, got


def test_a_driver_that_refuses_events_is_capped_all_the_same(sim, load):
    """There are no markers then: what is in flight is known by looks at its streams alone."""
    sim.configure(fail="cuEventCreate:1:2:1000000")
    got = load("kernel", 2 * MS, 30 * PERCENT, 4)
    assert 0.2 < got["share"] < 0.31, got
