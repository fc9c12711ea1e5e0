# SPDX-License-Identifier: Apache-2.0
"""A session obeys the leases that its page holds (docs/compute.md), as long as somebody writes them.

The scheduler is a stand-in that knows only the clock (programs/compute/lease.c), so that what is seen is
the library's part. In virtual time; the judge is the simulator's engine time.
"""
import pytest

from hang import HANG_SECONDS
from node import finished

US, MS = 10**3, 10**6


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


def test_a_scheduler_that_falls_silent_is_not_obeyed_for_long(leased):
    """Half a second after its last word both run, as the device lets them; until then that word holds."""
    results = leased((10, 10), [("kernel", 200 * US)] * 2, 4, 1)
    for got in results:
        assert abs(got["own"] - 0.5) < 0.1, got
