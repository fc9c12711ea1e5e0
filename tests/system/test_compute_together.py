# SPDX-License-Identifier: Apache-2.0
"""A session under a cap on several GPUs (src/shim/time/together.h): what waits for each other opens together, and what
does not has its cap on each GPU.
"""
import pytest

from company import MS, US, Company


def share_of_ranks(sim, build, ranks, percent, late_ms):
    """Of each GPU's time, what is work: processes of a session, a GPU each, whose kernels wait for each other's at every step."""
    sim.configure(clock="virtual", gpus=ranks, begin_with=ranks)
    result = sim.run([build.aliquot, "run", "--memory", "512MiB", "--compute", percent, "--", build.program("compute/ranks"),
                      build.program("compute/compute_kernels.so"), ranks, 4000 // ranks, late_ms])
    assert result.rc == 0, result
    got = result.json
    assert got["waits"] > 0, got
    late = late_ms / 1000 / (2000 / ranks * 0.002)  # of the work that is measured; it is in flight, and paid for
    return got["share"] * (1 + late)


def test_ranks_on_several_gpus_get_on_under_a_cap(sim, build):
    """While one of them pays for what it used, the others' kernels wait for it, and are paid for as well. If each GPU opened
    by itself, one rank that was late once would make all of them wait longer at each step from then on."""
    assert share_of_ranks(sim, build, 2, 20, 30) > 0.09


@pytest.mark.parametrize("ranks, percent, late_ms", ((2, 20, 0), (2, 10, 1000), (2, 50, 30), (4, 20, 1000)))
def test_however_many_ranks_and_however_late(sim, build, ranks, percent, late_ms):
    assert share_of_ranks(sim, build, ranks, percent, late_ms) > 0.45 * percent / 100


@pytest.mark.parametrize("lengths, least, most", (((200 * US, 200 * US), 0.29, 0.31), ((20 * MS, 20 * MS), 0.29, 0.31),
                                                  ((200 * US, 20 * MS), 0.25, 0.31), ((20 * MS, 300 * MS), 0.21, 0.36)))
def test_programs_that_do_not_wait_for_each_other_have_the_cap_on_each_gpu(sim, lengths, least, most):
    """Less where the other GPU's kernels are long: until those are paid for, a bucket is full for a while. And what passes
    beside such a kernel is paid for later: up to a second's debt of twenty."""
    company = Company(sim, [{"gpus": ["0", "1"], "compute": 30}], programs=2, gpus=2)
    for gpu, ns in enumerate(lengths):
        company.load(0, gpu=gpu, kind="kernel", ns=ns, seconds=21)
    seen = company.observe(21)
    shares = [seen.share("s0", 0.5, 20.5, gpu) for gpu in (0, 1)]
    assert least < min(shares) and max(shares) < most, shares


def test_a_gpu_that_is_used_no_more_holds_up_no_other(sim):
    """A kernel of a second leaves a debt of nine; nobody waits there for it to be paid. What passed meanwhile is paid for."""
    company = Company(sim, [{"gpus": ["0", "1"], "compute": 10}], programs=2, gpus=2)
    company.load(0, gpu=0, kind="kernel", ns=1000 * MS, seconds=0.5)
    company.load(0, gpu=1, kind="kernel", ns=200 * US, seconds=9)
    seen = company.observe(9)
    assert 0.08 < seen.share("s0", 2, 8.5, 1) < 0.11, seen.share("s0", 2, 8.5, 1)
