# SPDX-License-Identifier: Apache-2.0
"""A session on several GPUs has its turns on all of them together (docs/scheduling.md).

The real daemon, library and programs in the simulator's virtual time. No setting says that different
sessions run together: that is in the core alone.
"""
import pytest

from company import MS, US, Company

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
