# SPDX-License-Identifier: Apache-2.0
"""B2: programs of several processes, by `aliquot run`: one limit for all, each accounted apart,
nobody waits for ever, and in the end nothing is held.
"""
import sys

import pytest

from cli import Command
from hang import HANG_SECONDS

MIB = 1 << 20
CONTEXT = 16 * MIB


@pytest.fixture
def cli(sim):
    sim.configure(memory="1GiB", context="16MiB")
    return Command(sim)


@pytest.fixture
def family(sim, cli):
    """Runs a story; compares what the session says of each process with what the process says."""
    def family_run(*words):
        assert cli("create", "box", "--memory", "256MiB").rc == 0
        program = sim.build.source / "tests/programs/python/families.py"
        process = cli.start("run", "--session", "box", "--", sys.executable, "-B", program, *words)
        wanted = {}
        for line in iter(process.stdout.readline, "held\n"):
            assert line, process.communicate(timeout=HANG_SECONDS)
            pid, mib = line.split()
            wanted[int(pid)] = CONTEXT + int(mib) * MIB
        assert holders(cli) == wanted
        assert sim.oracle()["tags"]["box"][0]["current_bytes"] == sum(wanted.values())
        _, err = process.communicate("\n", timeout=HANG_SECONDS)
        assert process.returncode == 0, err
        assert holders(cli) == {} and used(cli) == 0
        tag, = sim.oracle()["tags"]["box"]
        assert tag["current_bytes"] == 0 and tag["high_bytes"] <= 256 * MIB
        return wanted
    return family_run


def holders(cli):
    shown = cli("ps", "box", "--json").json
    held = {process["pid"]: process["devices"][0]["bytes"] for process in shown}
    return {pid: size for pid, size in held.items() if size}


def used(cli):
    return cli("show", "box", "--json").json["devices"][0]["used_bytes"]


@pytest.mark.parametrize("method", ("fork", "spawn", "forkserver"))
def test_multiprocessing(family, method):
    """Four workers share the limit to the byte, whatever way Python starts them."""
    assert len(family("pool", method)) == 4


@pytest.mark.parametrize("how", ("clean", "used"))
def test_fork_in_a_thread(family, how):
    """Other threads are in the middle of calls. A child of a program that used the card hears what
    the driver says to such a child, and owns nothing; any other child starts afresh."""
    assert len(family("thread", how, 100)) == (how == "used")


@pytest.mark.parametrize("how", ("clean", "used"))
def test_a_server_forks_workers_and_replaces_the_dead(family, how):
    """Each killed worker's memory is there for the next. Where the master itself used the card the
    workers are new programs."""
    assert len(family("prefork", how)) == 3 + (how == "used")


def test_subprocesses_of_subprocesses(family):
    assert len(family("chain", 5)) == 5
