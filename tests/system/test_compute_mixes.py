# SPDX-License-Identifier: Apache-2.0
"""A cap holds for streams in which short and longer work is mixed at random (docs/compute.md): launches that go unmeasured
are charged an average, which such a mix makes as wrong as it can be.

In the simulator's virtual time; the judge is the simulator's own engine. What is launched before the helper's thread has looked
differs from run to run, so a mix is exact to a fiftieth only."""
import pytest

from alone import load_alone

PERCENT = 10_000  # of a cap in millionths
US = 10**3
POINT = 0.01  # of share
PART = 0.02  # of what is billed, or delivered
CAPS = (10, 30, 70)


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
    """Each of them is short enough to go unmeasured."""
    assert_at_the_cap(load("kernel", percent, 10, ns=ns, mix="kernel", of=of, mix_ns=mix_ns), percent)


@pytest.mark.parametrize("percent", CAPS)
def test_a_cap_holds_where_copies_are_much_longer_than_the_kernels(load, percent):
    """Of a millisecond each."""
    model = {"device": "200MB/s"}
    assert_at_the_cap(load("kernel", percent, 10, model, ns=20 * US, mix="cuMemcpyDtoDAsync_v2", of=50), percent)


@pytest.mark.parametrize("percent", CAPS)
def test_a_batch_is_no_measure_of_what_is_launched_beside_it(load, percent):
    """One call for 20 ms of copies."""
    assert_at_the_cap(load("kernel", percent, 10, {"device": "1GB/s"}, ns=20 * US, mix="batch", of=50), percent)
