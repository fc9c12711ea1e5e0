# SPDX-License-Identifier: Apache-2.0
"""Pools in long use: after a million operations and a trim, nothing is charged that was not before.

With a sanitizer there are a tenth as many: each takes many times as long and runs the same code.
"""
import collections

import pytest

from hang import HANG_SECONDS, IS_SLOW
from script import MIB, Script

OPERATIONS = 100_000 if IS_SLOW else 1_000_000
CONTEXT = 16 * MIB

Churn = collections.namedtuple("Churn", "charged_before granted_before charged granted high operations "
                                        "refused")


def churned(stdout):
    return Churn(*(int(word) for word in stdout.split()))


@pytest.mark.parametrize("threads", (1, 4))
def test_a_million_pool_operations_leave_nothing(sim, threads):
    """A8: what is accounted returns to where it was; a session that is never full refuses nothing."""
    result = sim.run([sim.build.program("hooks/churn"), threads, OPERATIONS, 1], preload=True,
                     ALIQUOT_MEMORY="768MiB")
    assert result.rc == 0, result
    end = churned(result.stdout)
    assert end.operations >= OPERATIONS - threads and end.refused == 0
    assert end.charged == end.granted == end.charged_before == end.granted_before == CONTEXT
    assert end.high <= 768 * MIB


def test_pools_that_are_refused_leave_nothing(sim):
    """A8 at the limit: refusals by the thousand, and still not a byte is lost."""
    result = sim.run([sim.build.program("hooks/churn"), 4, OPERATIONS // 10, 2], preload=True,
                     ALIQUOT_MEMORY="80MiB")
    assert result.rc == 0, result
    end = churned(result.stdout)
    assert end.refused > 0, "the limit was never reached"
    assert end.charged == end.granted == CONTEXT
    assert end.high <= 80 * MIB


def test_processes_churn_in_one_session(sim):
    """Together a million operations; the last to look finds the session empty."""
    sim.configure(context="4MiB")
    fleet = [sim.start([sim.build.program("hooks/churn"), 2, OPERATIONS // 4, seed], preload=True,
                       ALIQUOT_MEMORY="896MiB") for seed in range(4)]
    with Script(sim, ALIQUOT_MEMORY="896MiB") as watcher:
        watcher.ready()
        for process in fleet:
            out, err = process.communicate(timeout=HANG_SECONDS)
            assert process.returncode == 0, err
            assert churned(out).refused == 0 and churned(out).high <= 896 * MIB
        books = watcher.look()
        assert books.charged == books.granted_tag == 4 * MIB
