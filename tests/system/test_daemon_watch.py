# SPDX-License-Identifier: Apache-2.0
"""What the daemon sees of the GPUs from outside: who is on them without a session, who holds more
than its ledger says, and what comes of that."""
import os
import pathlib
import signal

import pytest

from daemon import Daemon, wait_for
from script import MIB, OUT_OF_MEMORY, SUCCESS, Script

CGROUPS = next((path for path in map(pathlib.Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"))
                if (path / "cgroup.procs").exists()), None)
LEDGER_OF_ROW_0 = 128  # src/proto/page.h: slots_page.ledger[0]


@pytest.fixture
def daemon(sim):
    sim.configure(gpus=2, memory="1GiB")
    return Daemon(sim, "[watch]\ntolerance = 16MiB\n").start()


def hold(sim, size, device=0, **how):
    """A program that holds so much of a GPU until it is told to end; without a preload it goes around us."""
    process = sim.start([sim.build.program("sim/hold"), device, size], **how)
    line = process.stdout.readline()
    assert line.startswith("ready "), (line, process.stderr.read())
    return process


def end(process):
    process.stdin.close()
    process.stdin = None
    assert process.wait(60) == 0


def events_of(daemon, *types):
    """Those that are saved by now: the trail ends with one that we make ourselves."""
    daemon.create("mark", "1MiB")
    daemon.delete("/v1/sessions/mark")
    found = []
    for event in daemon.events():
        if event["session"] == "mark" and event["type"] == "gone":
            break
        found.append(event)
    last = max((event["id"] for event in found), default=0)
    for event in daemon.events(since=last):
        if event["session"] == "mark" and event["type"] == "gone":
            return [event for event in found if event["type"] in types]
        found.append(event)
    return None


def wait_for_event(daemon, kind):
    for event in daemon.events():
        if event["type"] == kind:
            return event
    return None


def test_a_program_that_goes_around_us_is_told_of_once(daemon, sim):
    process = hold(sim, 100 * MIB, 1)
    event = wait_for_event(daemon, "stranger")
    detail = event["detail"]
    assert event["session"] is None and event["who"] == "daemon"
    assert detail["pid"] == process.pid and detail["action"] == "report" and detail["command"] == "hold"
    assert detail["driver_bytes"] >= 100 * MIB and detail["uid"] == os.geteuid()
    assert detail["uuid"] == daemon.get("/v1/devices").json["devices"][1]["uuid"]
    other = hold(sim, MIB)
    pids = []
    for event in daemon.events():
        if event["type"] == "stranger":
            pids.append(event["detail"]["pid"])
        if other.pid in pids:
            break
    assert pids == [process.pid, other.pid]
    end(process)
    end(other)
