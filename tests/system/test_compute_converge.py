# SPDX-License-Identifier: Apache-2.0
"""How soon, and how evenly: shares of sessions whose terms change while all of them compute (docs/compute.md).

The real daemon, library and programs in the simulator's virtual time. A change counts from when the daemon
has answered it. Newcomers, and sessions that are alone, are test_compute_change.py's.
"""
import pytest

from company import MS, POINT, US, Company, patch

LENGTHS = (200 * US, 2 * MS)
WINDOW = 1  # second
CHANGE = 1500  # ms
TURN = 0.0064  # seconds: a window ends somewhere in one


@pytest.fixture
def company(sim):
    def company_of(terms, lengths, seconds, kind="kernel"):
        made = Company(sim, terms)
        for at, ns in enumerate(lengths):
            made.load(at, kind=kind, ns=ns, seconds=seconds)
        return made
    return company_of


def assert_settled(seen, expected, length, within=0.05):
    """From so long after the change on, in every window."""
    for session, share in expected.items():
        before = seen.windows(session, 0.4, seen.done[0], length)
        after = seen.windows(session, seen.done[0] + within, seen.at[-1], length)
        assert max(abs(window - share) for window in after) < 2 * POINT + TURN / length, (session, share, after)
        assert min(abs(window - share) for window in before) > 2 * POINT, (session, share, before)


@pytest.mark.parametrize("ns", LENGTHS)
@pytest.mark.parametrize("terms, change, share", (
    ([{}, {}], {"weight": 300}, 0.75),
    ([{}, {}], {"guarantee": 70}, 0.7),
    ([{}, {}], {"compute": 20}, 0.2),
    ([{"compute": 20}, {}], {"compute": 45}, 0.45),
    ([{"guarantee": 70}, {}], {"guarantee": 10}, 0.5),
    ([{}, {}], {"priority": "batch"}, 0.01),
    ([{}, {}], {"priority": "rt"}, 0.99),
    ([{"priority": "batch"}, {}], {"priority": "normal"}, 0.5),
), ids=str)
def test_a_change_holds_within_a_twentieth_of_a_second(company, terms, change, share, ns):
    seen = company(terms, [ns] * 2, 3.5).observe(3.5, patch(CHANGE, "s0", **change))
    assert_settled(seen, {"s0": share, "s1": 1 - share}, WINDOW)


def test_what_was_set_twice_leaves_nothing_behind(company):
    """Nobody is paid afterwards for what it did not have under other terms."""
    seen = company([{}, {}], [200 * US] * 2, 4).observe(4, patch(500, "s0", weight=1000), patch(1500, "s0", weight=100))
    for window in seen.windows("s0", seen.done[1] + 0.05, 4, WINDOW):
        assert abs(window - 0.5) < 2 * POINT, seen.windows("s0", 0.5, 4, 0.25)


def test_four_of_unlike_kernels_have_it_by_weight(company):
    """20 us to 20 ms: Jain's index of what each had by its weight."""
    weights = (100, 200, 300, 400)
    seen = company([{"weight": weight} for weight in weights], [20 * US, 200 * US, 2 * MS, 20 * MS], 16).observe(16)
    shares = [seen.share(f"s{at}", 0.5, 16) / weight for at, weight in enumerate(weights)]
    assert sum(shares)**2 / (4 * sum(share * share for share in shares)) > 0.999, shares
    assert sum(share * weight for share, weight in zip(shares, weights)) > 0.985, shares


@pytest.mark.parametrize("count", (2, 8))
@pytest.mark.parametrize("ns", LENGTHS)
def test_turns_lose_next_to_nothing(company, count, ns):
    """Of the GPU's time: beside what one has alone, which is all of it."""
    seen = company([{}] * count, [ns] * count, 3).observe(3)
    shares = [seen.share(f"s{at}", 0.5, 2.9) for at in range(count)]
    assert sum(shares) > 0.985, shares
    assert max(shares) - min(shares) < 2 * POINT, shares


@pytest.mark.parametrize("ns", LENGTHS)
@pytest.mark.parametrize("others", (0, 1))
def test_a_cap_does_not_oscillate(company, ns, others):
    """No quarter of a second of nothing, or of nothing else, under a cap of 30 %; none far from it."""
    seen = company([{"compute": 30}] + [{}] * others, [ns] * (1 + others), 4).observe(4)
    windows = seen.windows("s0", 0.5, 4, 0.25)
    assert 0 < min(windows) and max(windows) < 1
    assert max(abs(window - 0.3) for window in windows) < 8 * POINT, windows


@pytest.mark.parametrize("ns", (20 * MS, 200 * MS))
def test_a_cap_holds_again_when_kernels_have_become_long(company, ns):
    """A thousand times as long after a second: what is in flight then takes longer than any drain is waited for."""
    seen = company([{"compute": 40}, {}], [ns // 1000] * 2, 24, kind="longer").observe(24)
    assert abs(seen.share("s0", 14, 24) - 0.4) < 2 * POINT, seen.windows("s0", 0, 24, 2)


@pytest.mark.parametrize("terms, least", (
    ([{"priority": "rt"}, {"priority": "batch"}], 0.98),
    ([{"weight": 300}, {}, {}, {}], 0.4),
    ([{"guarantee": 70}, {}], 0.62),
), ids=str)
def test_kernels_longer_than_many_turns_do_not_run_beside_each_other_for_ever(company, terms, least):
    """At first nobody knows how long they take, so each session's begin beside the other's. A guarantee is behind by no more
    than a second's worth, whatever it waited for; of a few turns in a window one is a tenth."""
    seen = company(terms, [300 * MS] * len(terms), 40).observe(40)
    assert seen.share("s0", 20, 40) > least, seen.windows("s0", 0, 40, 5)
