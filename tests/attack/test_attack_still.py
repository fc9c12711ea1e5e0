# SPDX-License-Identifier: Apache-2.0
"""A process into which the kernel lets nobody look, for as long as its user likes: others are served all the same."""
import contextlib
import subprocess
import sys

import pytest

from daemon import wait_for
from tenant import create, holding, needs_root

pytestmark = needs_root

STAYS_IN_EXEC = "import os, sys; os.open(sys.argv[1], os.O_RDWR); os.execv('/bin/sleep', ['sleep', '1000'])"


@contextlib.contextmanager
def still_file(sim):
    """A file that whoever executes a program with it open never closes."""
    folder = sim.folder / "still"
    folder.mkdir()
    with subprocess.Popen([sys.executable, sim.build.source / "tests/attack/programs/still.py", folder], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == "ready\n"
        yield folder / "file", server.stdout
        server.stdin.close()


@pytest.mark.needs("file systems in user space")
def test_no_process_keeps_the_signals_from_others(served, tenant, neighbour):
    """Neither another user's session nor the rest of one's own is kept from its end, nor any request from its answer."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs", "64MiB")
    create(other, "others", "64MiB")
    with still_file(daemon.sim) as (file, told), \
            holding(other, "keep_lock.py", other.folder("others") / "slots") as others:
        attacker.start([sys.executable, "-c", STAYS_IN_EXEC, file], preload=False)
        assert told.readline() == "closing\n"
        with holding(attacker, "keep_lock.py", attacker.folder("theirs") / "slots") as theirs:
            assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 202
            assert other.ask("DELETE", "/v1/sessions/others?force=true").status == 202
            wait_for(lambda: others.poll() is not None, daemon.said)
            assert daemon.get("/healthz").status == 200
            wait_for(lambda: theirs.poll() is not None, daemon.said)
            assert "holds up the search" in daemon.said()


@pytest.mark.needs("file systems in user space")
def test_a_process_that_nobody_can_look_into_hides_nobody_elses(served, tenant, neighbour):
    """It is on the GPU, where the daemon reads who each process is: by another process for each user."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("theirs", "64MiB")
    other.create("others", "64MiB")

    def seen(name):
        return [one["pid"] for one in daemon.get("/v1/processes").json["processes"] if one["session"] == name]

    with still_file(daemon.sim) as (file, told):
        attacker.start([sys.executable, daemon.sim.build.source / "tests/attack/programs/still_gpu.py", file],
                       preload=True, ALIQUOT_SESSION="theirs")
        assert told.readline() == "closing\n"
        with other.script("others") as gpu, attacker.script("theirs") as own:
            gpu.ready()
            own.ready()
            wait_for(lambda: gpu.process.pid in seen("others"), daemon.said)
            wait_for(lambda: "cannot be looked into" in daemon.said(), daemon.said)
            wait_for(lambda: own.process.pid in seen("theirs"), daemon.said)


@pytest.mark.needs("file systems in user space")
def test_a_request_waits_for_no_process(served, tenant):
    """Forged slots say that a process which nobody can look into is of another PID namespace, and the session's."""
    daemon = served()
    attacker = tenant(daemon)
    attacker.create("forged")
    with still_file(daemon.sim) as (file, told):
        still = attacker.start([sys.executable, "-c", STAYS_IN_EXEC, file], preload=False)
        assert told.readline() == "closing\n"
        with holding(attacker, "forge_rows.py", attacker.folder("forged") / "slots", still.pid):
            assert attacker.ask("GET", "/v1/sessions/forged/processes").status == 200
            assert daemon.get("/healthz").status == 200
