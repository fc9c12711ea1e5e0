# SPDX-License-Identifier: Apache-2.0
"""What a tenant writes in the rows of its `slots` decides nothing about how long the daemon works."""
import sys

from tenant import needs_root

pytestmark = needs_root

ASKED = 10
PROCESSES_MOST = 512  # of src/daemon/api_view.c
SECONDS_MOST = 1.0    # of processor time for each question; a walk over /proc for each row took more than three


def processor_seconds(daemon):
    return daemon.metrics()["process_cpu_seconds_total"]


def test_forged_slots_do_not_decide_how_long_the_daemon_works(served, tenant):
    """4096 processes that seem to live, in PID namespaces that are not there: each question was a walk over all of
    /proc for each of them, and now is one for all."""
    daemon = served()
    attacker = tenant(daemon)
    attacker.create("theirs")
    forger = attacker.start([sys.executable, daemon.sim.build.source / "tests/attack/programs/forge_rows.py",
                             attacker.folder("theirs") / "slots"])
    assert forger.stdout.readline() == "held\n"
    before = processor_seconds(daemon)
    for _ in range(ASKED):
        listed = attacker.ask("GET", "/v1/sessions/theirs/processes").json
        assert 0 < len(listed) <= PROCESSES_MOST
        assert all(process["pid"] is None and process["command"] == "forged" for process in listed)
        assert daemon.session("theirs")["processes"] == 4096
    assert daemon.delete("/v1/sessions/theirs?force=true").status in (202, 204)
    assert processor_seconds(daemon) - before < ASKED * SECONDS_MOST
