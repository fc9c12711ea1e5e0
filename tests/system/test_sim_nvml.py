# SPDX-License-Identifier: Apache-2.0
"""The simulated NVML, asked by a program of ours (programs/sim/nvml_list.c): whose processes a reader
sees, and whose node. What other programs make of it is in tests/clients.
"""
import fcntl

import pytest

MIB = 1 << 20


@pytest.mark.needs("PID namespaces")
def test_processes_have_the_pids_of_the_readers_namespace(sim, build, hold):
    """A reader sees those that are visible from its PID namespace, as they are called there."""
    listing = build.program("sim/nvml-list")
    outside, used = hold(0, 100 * MIB)
    inside = sim.start(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                        build.program("sim/hold"), 0, 200 * MIB])
    assert inside.stdout.readline().startswith("ready")

    seen = dict(map(int, line.split()[1:]) for line in sim.run([listing]).stdout.splitlines())
    assert len(seen) == 2 and seen.pop(outside.pid) == used
    inner_pid, inner_used = seen.popitem()
    assert inner_used == used + 100 * MIB
    with open(f"/proc/{inner_pid}/status", encoding="ascii") as status:
        assert f"NSpid:\t{inner_pid}\t1\n" in status.read()

    enter = ["nsenter", "--target", inner_pid, "--pid", "--mount", listing]
    assert sim.run(enter).stdout == f"0 1 {inner_used}\n"


def test_a_node_that_somebody_keeps_locked_is_not_waited_for_without_end(sim, build):
    """As a process that was stopped in the midst of making one does."""
    with open(sim.state / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        listed = sim.run([build.program("sim/nvml-list")])
    assert listed.rc != 0 and f"{sim.state}/lock: another process holds it" in listed.stderr, listed


def test_a_node_that_is_lived_in_is_never_replaced(sim, build, hold):
    """By a reader of another shape, or of another version of the simulator."""
    sim.configure(gpus=2)
    hold(0, MIB)
    listing, node = build.program("sim/nvml-list"), sim.state / "node"
    before = node.stat().st_ino
    assert sim.run([listing], ALIQUOT_SIM=sim.spec + ",gpus=3").rc == 1
    with open(node, "ab") as file:
        file.write(b"a version with more in it")
    refused = sim.run([listing])
    assert refused.rc == 1 and "another version" in refused.stderr, refused
    assert node.stat().st_ino == before
