# SPDX-License-Identifier: Apache-2.0
"""A cap holds for streams in which short and longer work is mixed at random (docs/compute.md): weights, which shape the
in-flight window, are then as wrong as they can be; the bill does not depend on them.

In the simulator's virtual time; the judge is the simulator's own engine."""
import pytest

from alone import load_alone
from company import Company

PERCENT = 10_000  # of a cap in millionths
US, MS = 10**3, 10**6
POINT = 0.01  # of share
PART = 0.02  # of what is billed, or delivered
CAPS = (10, 30, 70)
SAMPLED = 0.1  # of what is delivered


@pytest.fixture
def load(sim):
    """Runs a program that wants the whole device; what it got. One launch in `of` is the other one."""
    def load_run(kind, percent, seconds, model=None, **more):
        got = load_alone(sim, model or {}, kind=kind, cap=percent * PERCENT, seconds=seconds, settle=1000, **more)
        del got["windows"]
        return got
    return load_run


def assert_at_the_cap(got, percent):
    assert abs(got["share"] - percent / 100) < max(POINT, PART * percent / 100), got
    assert abs(got["billed_ns"] / got["busy_ns"] - 1) < PART, got


@pytest.mark.parametrize("percent", CAPS)
@pytest.mark.parametrize("ns, of, mix_ns", ((20 * US, 50, 800 * US), (5 * US, 100, 900 * US), (5 * US, 400, 900 * US)))
def test_a_cap_holds_where_few_kernels_are_much_longer_than_the_others(load, percent, ns, of, mix_ns):
    assert_at_the_cap(load("kernel", percent, 6, ns=ns, mix="kernel", of=of, mix_ns=mix_ns), percent)


@pytest.mark.parametrize("percent", CAPS)
def test_a_cap_holds_where_copies_are_much_longer_than_the_kernels(load, percent):
    """Of a millisecond each."""
    model = {"device": "200MB/s"}
    assert_at_the_cap(load("kernel", percent, 10, model, ns=20 * US, mix="cuMemcpyDtoDAsync_v2", of=50), percent)


@pytest.mark.parametrize("percent", CAPS)
def test_a_batch_is_no_measure_of_what_is_launched_beside_it(load, percent):
    """One call for 20 ms of copies."""
    assert_at_the_cap(load("kernel", percent, 10, {"device": "1GB/s"}, ns=20 * US, mix="batch", of=50), percent)


@pytest.mark.parametrize("percent", (30, 70))
def test_a_cap_holds_where_each_launch_is_waited_for(load, percent):
    got = load("sync", percent, 8, ns=20 * US, mix="sync", of=50, mix_ns=800 * US)
    assert abs(got["share"] / (percent / 100) - 1) < SAMPLED, got


@pytest.mark.parametrize("at", (0, 7, 19))
@pytest.mark.parametrize("mix_ns", (100 * US, 900 * US, 5 * MS))
def test_a_cap_holds_whichever_of_a_step_s_kernels_is_the_long_one(load, at, mix_ns):
    """Twenty, then it waits for them."""
    assert_at_the_cap(load("step", 30, 3, ns=20 * US, mix="step", mix_ns=mix_ns, of=20, at=at), 30)


def test_a_cap_holds_where_a_program_asks_until_each_is_over(load):
    got = load("poll", 30, 4, ns=20 * US, mix="poll", mix_ns=900 * US, of=20, at=0)
    assert abs(got["share"] / 0.3 - 1) < SAMPLED, got


@pytest.mark.parametrize("percent", CAPS)
def test_a_cap_holds_where_steps_mix_short_and_long_at_random(load, percent):
    assert_at_the_cap(load("step", percent, 5, ns=20 * US, mix="step", of=50, mix_ns=800 * US), percent)


def test_a_cap_holds_under_a_lease(sim):
    company = Company(sim, [{"compute": 30}, {}])
    company.load(0, kind="kernel", ns=20 * US, mix="kernel", of=50, mix_ns=800 * US, seconds=6)
    company.load(1, kind="kernel", ns=200 * US, seconds=6)
    seen = company.observe(6)
    assert abs(seen.share("s0", 0.5, 5.9) - 0.3) < 2 * POINT, seen.share("s0", 0.5, 5.9)


@pytest.mark.parametrize("ns, of, mix_ns", ((20 * US, 50, 800 * US), (5 * US, 400, 900 * US)))
def test_a_cap_holds_under_a_lease_where_each_launch_is_waited_for(sim, ns, of, mix_ns):
    """A long one may outlast its turn: what it took is kept for the turns to come."""
    company = Company(sim, [{"compute": 30}, {"compute": 70}])
    company.load(0, kind="sync", ns=ns, mix="sync", of=of, mix_ns=mix_ns, seconds=6)
    company.load(1, kind="kernel", ns=200 * US, seconds=6)
    seen = company.observe(6)
    assert abs(seen.share("s0", 0.5, 5.9) / 0.3 - 1) < SAMPLED, seen.share("s0", 0.5, 5.9)
    assert seen.share("s1", 0.5, 5.9) > 0.6, seen.share("s1", 0.5, 5.9)
