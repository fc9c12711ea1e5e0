# SPDX-License-Identifier: Apache-2.0
"""64 processes at the limit of one session, through the front door, with the simulator as referee.

There are exactly as many tokens as granules fit; whoever holds its tokens must be served. And the
simulator's own mark of what the session was ever granted must not pass the limit. Contexts are
charged too, so the limit has room for one a process.

ALIQUOT_OPERATIONS says how much each process does.
"""
import os

import pytest

PROCESSES = 64
TOKENS_BYTES = 16 << 20
OPERATIONS = int(os.environ.get("ALIQUOT_OPERATIONS", 2_000))


@pytest.fixture
def stress(build, sim):
    """Runs the program in a session of `limit`; its own account, and the simulator's mark."""
    program = build.folder / "tests/programs/ledger/ledger-gpu-stress"

    def run(limit, *how, session="crowd"):
        result = sim.run([program, TOKENS_BYTES, *how], preload=True, timeout=600,
                          ALIQUOT_SESSION=session, ALIQUOT_MEMORY=limit)
        assert result.rc == 0, result
        return result.json, sim.oracle()["tags"][session][0]["high_bytes"]
    return run


def context_bytes(stress):
    """What one process takes before it allocates."""
    _, high = stress("2GiB", "processes=1", "operations=0", session="probe")
    return high


@pytest.mark.parametrize("sizes", ["equal", "mixed"])
def test_nobody_with_tokens_is_refused_and_nothing_is_granted_over(sim, stress, sizes):
    sim.configure(memory="64GiB")
    limit = PROCESSES * context_bytes(stress) + TOKENS_BYTES
    told, high = stress(limit, sizes, f"processes={PROCESSES}", f"operations={OPERATIONS}")
    assert told == {"killed": 0, "refused": 0, "failed": 0}
    assert high <= limit


@pytest.mark.parametrize("sizes", ["equal", "mixed"])
def test_the_bytes_of_the_killed_are_there_for_the_others(sim, stress, sizes):
    sim.configure(memory="64GiB")
    limit = PROCESSES * context_bytes(stress) + TOKENS_BYTES
    told, high = stress(limit, sizes, "kill", f"processes={PROCESSES}", f"operations={OPERATIONS}")
    assert told["killed"] > 0
    assert told["refused"] == told["failed"] == 0
    assert high <= limit


def test_a_card_that_still_drains_is_waited_for(sim, stress):
    """Limit and card are equal: what the dead held is granted before the driver has freed it."""
    context = 32 << 20
    limit = 4 * context + TOKENS_BYTES
    sim.configure(memory=limit, context=context)
    told, high = stress(limit, "kill", "processes=4", f"operations={20 * OPERATIONS}", session="full")
    assert told["killed"] > 0
    assert told["refused"] == told["failed"] == 0
    assert high <= limit
