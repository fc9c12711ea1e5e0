# SPDX-License-Identifier: Apache-2.0
"""Programs as they are, under caps: each is as fast as the cap says, beside itself alone (docs/compute.md).

In virtual time, with the host costs of a real driver (docs/simulator-costs.md); programs/compute/mixes.c."""
import pytest

from alone import load_alone, mixes_beside_solo

PERCENT = 10_000
US, SECOND = 10**3, 10**9
POINT = 0.01
PART = 0.03

LOADS = {
    "20 us": "turns ns=20000",
    "LLM": "steps kernels=115 ns=20000",
    "prompts and tokens": "phases ns=20000 long=800000",
    "training": "training streams=3",
    "two threads, a long kernel last": "longlast threads=2 long=800000 pause=500000 pause_most=500000",
    "chained streams": "chained streams=2 long=800000 pause=500000 pause_most=500000",
    "launch and wait": "steps kernels=1 ns=20000",
}


@pytest.mark.parametrize("percent", (20, 50, 80))
@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_a_program_has_its_part_of_what_it_does_alone(sim, load, percent):
    """Where the host does something else before it waits, the ends of flights are sampled, and two threads may fall out of
    step: then more of the time is in flight for the same work."""
    got = mixes_beside_solo(sim, load, cap=percent * PERCENT, seconds=6)
    assert abs(got["of_solo"] - got["promised"]) < (3 * POINT if "pause" in load else POINT), got


@pytest.mark.parametrize("percent", (20, 50, 80))
def test_kernels_of_one_function_that_take_20_us_or_a_second_are_billed_exactly(sim, percent):
    """At random: nothing about one tells how long the next one takes."""
    got = load_alone(sim, {"flights": "on"}, kind="kernel", ns=20 * US, mix="kernel", of=10_000, mix_ns=SECOND,
                     cap=percent * PERCENT, seconds=60)
    assert got["busy_ns"] > 5 * SECOND, got
    assert abs(got["billed_ns"] / got["flight_ns"] - 1) < PART, got
