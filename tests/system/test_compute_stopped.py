# SPDX-License-Identifier: Apache-2.0
"""Whoever has the GPU and is stopped, or dies, holds its neighbours up once and little; and what becomes of shares when the
scheduler was stopped (docs/compute.md).

The real daemon, library and programs in the simulator's virtual time. Turns are some milliseconds long: the
moments lie in different parts of them, of either session's.
"""
import signal
from itertools import pairwise, product

import pytest

from company import MS, POINT, US, Company
from hang import HANG_SECONDS

MOMENTS = (1000, 1001, 1003, 1005, 1008)
LENGTHS = (200 * US, 2 * MS, 20 * MS)
SECONDS = 20  # virtual ones: some tenths of a second


@pytest.fixture
def beside(sim):
    """Two busy sessions, and what becomes of the first."""
    def play(deeds, ns, terms=None, seconds=4):
        company = Company(sim, terms or [{}, {}])
        company.load(0, kind="kernel", ns=ns, seconds=seconds).load(1, kind="kernel", ns=200 * US, seconds=seconds)
        return company.observe(seconds, *deeds), company
    return play


def assert_neighbour_has_it_all(seen, start, end):
    assert seen.share("s1", start + 0.1, end) > 0.99, seen.windows("s1", start, end, 0.05)


def assert_has_its_share_again(seen, share):
    """When the machine has run it again, which may take many virtual seconds, and it knows how long its work takes."""
    again = next(at for at, later in pairwise(seen.looks(seen.done[1], SECONDS)) if seen.share("s0", at, later) > 0)
    assert abs(seen.share("s0", again + 1.2, again + 2) - share) < 0.05, (again, seen.windows("s0", again, again + 2, 0.1))


@pytest.mark.parametrize("at, ns", [*((at, LENGTHS[0]) for at in MOMENTS), *product(MOMENTS[1:4:2], LENGTHS[1:])])
def test_who_is_stopped_is_waited_for_once(beside, at, ns):
    """And has its share again when it goes on."""
    seen, _ = beside([f"{at}:stop:s0", "2000:cont:s0"], ns, seconds=SECONDS)
    assert_neighbour_has_it_all(seen, at / 1000, seen.done[1])
    assert_has_its_share_again(seen, 0.5)


@pytest.mark.parametrize("at", MOMENTS)
def test_who_is_killed_is_waited_for_once(beside, at):
    seen, company = beside([f"{at}:kill:s0"], 2 * MS)
    assert company.programs[0].wait(HANG_SECONDS) == -signal.SIGKILL
    assert_neighbour_has_it_all(seen, at / 1000, 2.9)


@pytest.mark.parametrize("at", MOMENTS[:3])
def test_nobody_keeps_his_rank_while_he_is_stopped(beside, at):
    seen, _ = beside([f"{at}:stop:s0", "2000:cont:s0"], 200 * US, [{"priority": "rt"}, {"priority": "batch"}], SECONDS)
    assert_neighbour_has_it_all(seen, at / 1000, seen.done[1])
    assert_has_its_share_again(seen, 1)


def test_who_is_stopped_again_and_again_costs_little(beside):
    """Ten times a second, for half of the time; of that the neighbour has what a turn and 20 ms of silence leave, and how soon
    the stopped one is seen to be so depends on the machine."""
    deeds = [f"{1000 + 100 * i + 50 * (what == 'cont')}:{what}:s0" for i in range(15) for what in ("stop", "cont")]
    seen, _ = beside(deeds, 200 * US)
    assert seen.share("s1", 1, 2.5) > 0.5, seen.windows("s1", 1, 2.5, 0.1)


def test_who_is_stopped_at_the_gate_is_let_in_in_vain_only_once(beside):
    """It waits for a long kernel of the other; its turn comes when it cannot use it."""
    seen, _ = beside(["1010:stop:s1", "1700:cont:s1"], 20 * MS)
    assert seen.share("s0", 1.15, 1.7) > 0.98, seen.windows("s0", 1, 1.7, 0.1)


@pytest.mark.parametrize("ns", (150 * MS, 170 * MS))
def test_when_the_scheduler_was_stopped_caps_hold_again_after_a_while(sim, ns):
    """Each goes by its own cap meanwhile, so both are in flight when it comes back, and both are in debt. Two kernels of a
    drain take longer than any drain was waited for: each turn began beside the other's work, and a cap of 40 % gave 31 to 35."""
    company = Company(sim, [{"compute": 40}] * 2)
    for at in range(2):
        company.load(at, kind="kernel", ns=ns, seconds=30)
    scheduler = f"@{company.daemon.process.pid}"
    seen = company.observe(30, f"1000:stop:{scheduler}", f"2500:cont:{scheduler}")
    for session in ("s0", "s1"):
        assert abs(seen.share(session, 18, 30) - 0.4) < 2 * POINT, seen.windows(session, 0, 30, 2)
