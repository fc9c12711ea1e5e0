# SPDX-License-Identifier: Apache-2.0
"""Programs of one session in time namespaces, where CLOCK_MONOTONIC has an offset (time_namespaces(7)).

On the machine's clock, since virtual time has no offsets; the judge is the simulator's engine.
"""
import time

import pytest

from node import finished

MS = 10**6
MOST = 0.2  # of three seconds under a cap of 10 %, with the refill that it begins with
DAYS_AHEAD = 864000
BEHIND = -int(time.monotonic() / 2)  # no clock may begin below 0, on a machine that has just booted either
SESSION = {"ALIQUOT_SESSION": "capped", "ALIQUOT_MEMORY": "256MiB", "ALIQUOT_COMPUTE": 10}


def load(sim, seconds):
    """A program that wants the whole device; `share` is what the device did for all."""
    return [str(sim.build.program("compute/load")), "kind=kernel", f"ns={2 * MS}", f"seconds={seconds}", "settle=300"]


@pytest.mark.needs("time namespaces")
@pytest.mark.parametrize("offset", (DAYS_AHEAD, BEHIND), ids=("ahead", "behind"))
def test_no_time_namespace_lifts_a_cap(sim, offset):
    """Two programs of a session: one on the machine's clock, and one in a time namespace for a part of that time."""
    sim.configure(flights="on")
    beside = sim.start(load(sim, seconds=6), preload=True, **SESSION)
    time.sleep(1)
    apart = sim.run(["unshare", "--map-root-user", "--time", "--monotonic", str(offset), *load(sim, seconds=3)],
                    preload=True, **SESSION)
    assert apart.rc == 0, apart
    assert 0 < apart.json["share"] < MOST
    assert 0 < finished(beside)["share"] < MOST
