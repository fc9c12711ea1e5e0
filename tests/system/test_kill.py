# SPDX-License-Identifier: Apache-2.0
"""SIGKILL before every instruction of the preloaded library, with the simulator's table as the truth (B1).

tests/kill/kill_gpu.c says what is done and what must hold after each kill. With others there, or in a daemon's
session, it is one of seven instructions: the ledger's own are all tried with others by tests/kill/kill.c.
"""
import platform
import os

import pytest

from daemon import Daemon

if "ALIQUOT_SANITIZER" in os.environ or platform.machine() != "x86_64":
    pytest.skip("steps the x86-64 instructions of a plain build", allow_module_level=True)

LIMIT = 256 << 20


def kill_everywhere(build, sim, company, every, **more):
    # Without NVML: what it tells is charged by the same operations, when its time has come, and asking it is thousands
    # of instructions.
    result = sim.run([build.folder / "tests/kill/kill-gpu", sim.runtime / "sessions/kill",
                      sim.state, "kill", LIMIT, company, every],
                     preload=True, timeout=1800, ALIQUOT_SESSION="kill", ALIQUOT_REAL_LIBNVML="/none", **more)
    print(result.stdout)
    assert result.rc == 0, result
    assert "the ledger is exact after each" in result.stdout


@pytest.fixture
def node(sim):
    sim.configure(memory="4GiB", context=64 << 20)  # what is estimated
    return sim


@pytest.mark.needs("tracing")
@pytest.mark.parametrize("company, every", [("alone", 1), ("last", 7), ("first", 7)])
def test_a_kill_anywhere_leaves_the_ledger_exact(build, node, company, every):
    kill_everywhere(build, node, company, every, ALIQUOT_MEMORY=LIMIT)


@pytest.mark.needs("tracing")
def test_a_kill_anywhere_leaves_the_ledger_of_a_daemons_session_exact(build, node):
    daemon = Daemon(node).start()
    daemon.create("kill", LIMIT)
    kill_everywhere(build, node, "alone", 7)
    assert daemon.session("kill")["devices"][0]["used_bytes"] == 0
    assert node.oracle()["tags"]["kill"][0]["current_bytes"] == 0
