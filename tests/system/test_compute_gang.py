# SPDX-License-Identifier: Apache-2.0
"""Who waits for one another has turns together: a session on several GPUs, and sessions of one owner that say the
same gang (docs/compute.md).

The real daemon, library and programs in the simulator's virtual time.
"""
import signal

import pytest

from company import MS, US, Company, patch

POINTS = 0.03


@pytest.fixture
def beside(sim):
    """s0 on both GPUs, with a process on each; the neighbour s1 on the first."""
    def play(ns, neighbour, seconds=3):
        company = Company(sim, [{"gpus": ["0", "1"]}, {"gpus": ["0"], **neighbour}], programs=3, gpus=2)
        for gpu in (0, 1):
            company.load(0, gpu=gpu, kind="kernel", ns=ns, seconds=seconds)
        company.load(1, gpu=0, kind="kernel", ns=200 * US, seconds=seconds)
        return company.observe(seconds)
    return play


@pytest.mark.parametrize("ns", (200 * US, 2 * MS))
def test_what_is_fair_on_one_gpu_is_its_part_of_all(beside, ns):
    """Whose peers wait for it would only spin on the other."""
    seen = beside(ns, {})
    for gpu in (0, 1):
        assert abs(seen.share("s0", 0.5, 2.9, gpu) - 0.5) < POINTS, (gpu, seen.share("s0", 0.5, 2.9, gpu))
    assert abs(seen.share("s1", 0.5, 2.9) - 0.5) < POINTS


def test_a_neighbour_s_weight_is_felt_on_all(beside):
    seen = beside(200 * US, {"weight": 300})
    for gpu in (0, 1):
        assert abs(seen.share("s0", 0.5, 2.9, gpu) - 0.25) < POINTS, (gpu, seen.share("s0", 0.5, 2.9, gpu))


# -- Sessions that say the same --------------------------------------------------------------------

STEP = 200 * US
ALONE = int(1e9 / STEP)  # steps of a second, with both GPUs to themselves


class Ranks(Company):
    """Two ranks that take their steps together: s0 and s1, on a GPU each unless `terms` say otherwise, and who is
    beside them there: s2, s3, ..., with kernels of different lengths, so that nothing is in step by itself."""
    def __init__(self, sim, neighbours, terms=({}, {}), seconds=3):
        self.seconds, self.gpu = seconds, [0, 1, *(gpu for gpu, _ in neighbours)]
        for rank, term in enumerate(terms):
            self.gpu[rank] = int(term.get("gpus", [str(rank)])[0])
        everybody = [*terms, *(terms_of for _, terms_of in neighbours)]
        super().__init__(sim, [{**term, "gpus": [str(gpu)]} for gpu, term in zip(self.gpu, everybody)], gpus=2)
        for rank in (0, 1):
            self.start(rank, "exchange", gpu=self.gpu[rank], file=sim.folder / "steps", rank=rank, ns=STEP, seconds=seconds)
        for at, gpu in enumerate(self.gpu[2:], 2):
            self.load(at, gpu=gpu, kind="kernel", ns=300 * US if at % 2 == 0 else 1100 * US, seconds=seconds)

    def play(self, *deeds):
        """Steps in each second, and what each session had of its GPU."""
        seen = self.observe(self.seconds, *deeds)
        shares = [seen.share(f"s{at}", 0.5, self.seconds - 0.1, gpu) for at, gpu in enumerate(self.gpu)]
        steps, others = (self.told(rank)["steps"] / self.seconds for rank in (0, 1))
        assert abs(steps - others) <= 1
        return steps, shares, seen


GANG = ({"gang": "ranks"}, {"gang": "ranks"})
BOTH = [(0, {}), (1, {})]


def test_sessions_that_wait_for_each_other_take_their_steps_in_turns_together(sim):
    """By themselves each waits a turn of the other's neighbour for every few steps; together they have what is fair,
    and all of it is steps."""
    steps, shares, _ = Ranks(sim, BOTH, GANG).play()
    assert steps > 0.45 * ALONE, (steps, shares)
    for share in shares:
        assert abs(share - 0.5) < 2 * POINTS, shares


def test_a_gang_takes_its_steps_beside_two_on_each(sim):
    steps, shares, _ = Ranks(sim, 2 * BOTH, GANG).play()
    assert steps > 0.28 * ALONE, (steps, shares)


def test_without_a_gang_they_take_few(sim):
    """The other half of the story: what the gang is for. Beside one on each they often have their turns together by
    themselves, as each outranks its neighbour when it comes back."""
    steps, shares, _ = Ranks(sim, 2 * BOTH).play()
    assert steps < 0.26 * ALONE, (steps, shares)


@pytest.mark.parametrize("other", ("rank", "RANKS"))
def test_another_name_is_another_gang(sim, other):
    steps, shares, _ = Ranks(sim, 2 * BOTH, ({"gang": "ranks"}, {"gang": other})).play()
    assert steps < 0.26 * ALONE, (steps, shares)


def test_a_gang_has_what_is_fair_where_most_want(sim):
    """A third of both, with two more on one of the GPUs; the other's neighbour has the rest."""
    steps, shares, _ = Ranks(sim, [*BOTH, (0, {})], GANG).play()
    assert steps > 0.3 * ALONE, (steps, shares)
    for share, expected in zip(shares, (1 / 3, 1 / 3, 1 / 3, 2 / 3, 1 / 3)):
        assert abs(share - expected) < 2 * POINTS, shares


@pytest.mark.parametrize("terms, least, most", (
    ({"weight": 300}, 0.7, 0.78), ({"guarantee": 60}, 0.58, 0.66), ({"guarantee": 60, "priority": "batch"}, 0.55, 0.66),
    ({"priority": "rt"}, 0.9, 1), ({"priority": "batch"}, 0.004, 0.02), ({"compute": 20}, 0.19, 0.205)), ids=str)
def test_what_a_gang_was_promised_it_has_together(sim, terms, least, most):
    steps, shares, _ = Ranks(sim, BOTH, ({**GANG[0], **terms}, {**GANG[1], **terms})).play()
    assert least < shares[0] < most and least < shares[1] < most, (steps, shares)
    assert steps > 0.8 * least * ALONE, (steps, shares)


def test_what_one_may_not_pass_holds_for_all(sim):
    steps, shares, _ = Ranks(sim, BOTH, ({**GANG[0], "compute": 20}, GANG[1])).play()
    assert max(shares[:2]) < 0.21 and steps > 0.18 * ALONE, (steps, shares)


def test_on_one_gpu_they_have_one_turn(sim):
    """They share it by the hardware's slices, and who is beside them has no less than either."""
    terms = [{**term, "gpus": ["0"]} for term in GANG]
    steps, shares, _ = Ranks(sim, [(0, {})], terms).play()
    assert steps > 0.25 * ALONE, (steps, shares)
    assert shares[2] > 0.25 and abs(shares[0] - shares[1]) < POINTS, shares


def test_they_come_together_and_part_while_they_work(sim):
    company = Ranks(sim, 2 * BOTH, seconds=6)
    _, _, seen = company.play(*(patch(at, f"s{rank}", gang=gang) for at, gang in ((2000, "ranks"), (4000, None))
                                for rank in (0, 1)))
    apart, together, again = (seen.share("s0", at + 0.3, at + 1.9) for at in (0, 2, 4))
    assert together > 0.28 and max(apart, again) < 0.26, (apart, together, again)
    assert abs(seen.share("s2", 2.3, 3.9) - 1 / 3) < 2 * POINTS


def test_who_is_left_of_a_gang_goes_on(sim):
    """One is killed: its GPU is kept for it, as if it only rested, for 5 s, and then it is out of it."""
    company = Company(sim, [{"gpus": [gpu], **term} for gpu in ("0", "1") for term in (GANG[0], {})], gpus=2)
    for at in range(4):
        company.load(at, gpu=at // 2, kind="kernel", ns=(200 + 300 * at) * US, seconds=9)
    seen = company.observe(9, "1500:kill:s0")
    assert company.programs[0].wait() == -signal.SIGKILL
    for session in ("s2", "s3"):
        assert abs(seen.share(session, 0.3, 1.5, 1) - 0.5) < 2 * POINTS, session
        assert seen.share(session, 1.7, 6.4, 1) > 0.2, session
        assert abs(seen.share(session, 6.8, 8.9, 1) - 0.5) < 2 * POINTS, session
    assert seen.share("s1", 1.7, 6.4) > 0.4 and seen.share("s1", 6.8, 8.9) > 0.98


@pytest.mark.parametrize("terms, least", [({}, 0.4), ({"guarantee": 90}, 0.85), ({"priority": "rt"}, 0.85)],
                         ids=("fair", "promised", "rt"))
def test_a_gang_that_waits_on_another_gpu_takes_nobodys_share(sim, terms, least):
    """s1 and s2 are the gang. It waits for kernels of s3 on GPU 0 that run for 8 to 36 ms, while GPU 1 is kept for it."""
    company = Company(sim, [{"gpus": ["1"], **terms}, {"gpus": ["1"], "gang": "ranks"}, {"gpus": ["0"], "gang": "ranks"},
                            {"gpus": ["0"]}], gpus=2, programs=6)
    for session, gpu in enumerate((1, 1, 0)):
        company.load(session, gpu=gpu, kind="kernel", ns=200 * US, seconds=5)
    for ns, begins in ((8 * MS, 0), (16 * MS, 1500), (36 * MS, 3000)):
        company.load(3, gpu=0, kind="kernel", ns=ns, seconds=1.5 if begins < 3000 else 2, **({"from": begins} if begins else {}))
    seen = company.observe(5)
    for begin, end in ((0.3, 1.4), (1.8, 2.9), (3.5, 4.9)):
        assert seen.share("s0", begin, end, 1) > least, (begin, seen.share("s0", begin, end, 1))
