# SPDX-License-Identifier: Apache-2.0
"""A session obeys the leases that its page holds (docs/compute.md), as long as somebody writes them.

The scheduler is a stand-in that knows only the clock (programs/compute/lease.c), so that what is seen is
the library's part. In virtual time; the judge is the simulator's engine time.
"""
import ctypes

import pytest

from hang import HANG_SECONDS
from node import finished

US, MS = 10**3, 10**6
PR_SET_TIMERSLACK = 29


@pytest.fixture
def leased(sim, build):
    """Two sessions that want the device, in turns of so many ms; what each got of it."""
    def leased_run(lengths, loads, seconds, scheduled_seconds):
        sim.configure(clock="virtual", begin_with=3)
        folders = [sim.folder / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir(mode=0o700)
        programs = [sim.start([build.program("compute/load"), f"kind={kind}", f"ns={ns}", f"seconds={seconds}",
                               "settle=500"],
                              preload=True, ALIQUOT_MEMORY="256MiB", ALIQUOT_RUNTIME_DIR=folder)
                    for (kind, ns), folder in zip(loads, folders)]
        words = [word for pair in zip(folders, lengths) for word in pair]
        scheduler = sim.start([build.program("compute/lease"), *map(str, words), str(scheduled_seconds)])
        results = [finished(program) for program in programs]
        assert scheduler.wait(HANG_SECONDS) == 0
        return results
    return leased_run


@pytest.mark.parametrize("loads", ([("kernel", 200 * US)] * 2, [("kernel", 20 * US), ("graph", 20 * US)],
                                   [("sync", 200 * US), ("kernel", 200 * US)]))
def test_nothing_begins_outside_of_a_lease(leased, loads):
    """15 ms and 5 ms in turns are three quarters and one, whoever launches what."""
    results = leased((15, 5), loads, 3, 4)
    for got, wanted in zip(results, (0.75, 0.25)):
        assert abs(got["own"] - wanted) < 0.06, results  # what is in flight at the end outlasts a lease


@pytest.fixture
def slack_ns():
    """Of programs that are started meanwhile, too."""
    prctl, lasting = ctypes.CDLL(None).prctl, 123_456
    assert prctl(PR_SET_TIMERSLACK, lasting) == 0
    yield lasting
    prctl(PR_SET_TIMERSLACK, 0)  # as it was


def test_a_thread_that_stood_at_the_gate_has_its_own_timer_slack_again(slack_ns, leased):
    for got in leased((10, 10), [("kernel", 200 * US)] * 2, 1, 2):
        assert got["waits"] > 0 and got["slack_ns"] == slack_ns, got


def test_a_scheduler_that_falls_silent_is_not_obeyed_for_long(leased):
    """Half a second after its last word both run, as the device lets them; until then that word holds."""
    results = leased((10, 10), [("kernel", 200 * US)] * 2, 4, 1)
    for got in results:
        assert abs(got["own"] - 0.5) < 0.1, got
