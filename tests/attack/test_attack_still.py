# SPDX-License-Identifier: Apache-2.0
"""A process that stays in the kernel for as long as its user likes, with a lock there: others are served all the same."""
import contextlib
import os
import sys

import pytest

from daemon import wait_for
from hang import HANG_SECONDS, IS_SLOW
from tenant import STAYS_IN_EXEC, create, holding, kinds, needs_root, still_file

MIB = 1 << 20
FIRST, CROWD, PLACES = 65001, 72, 64  # uids; users; READERS_USERS of readers.h
HELD = "holds the lock of a slots file"
pytestmark = needs_root


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
            # Where the search is passed on later than after five SIGKILLs, their session goes, and the program may live.
            wait_for(lambda: theirs.poll() is not None or daemon.session("theirs") is None, daemon.said)
            wait_for(lambda: "holds up the search" in daemon.said(), daemon.said)


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


@pytest.mark.skipif(bool(IS_SLOW), reason="a process for each of 72 users takes minutes with a sanitizer")
@pytest.mark.needs("file systems in user space")
def test_many_users_whom_nobody_can_look_into_blind_nobody(sim, served, neighbour):
    """More users than the daemon reads at a time: their places go round. What is not known of them is told."""
    sim.configure(memory="128GiB")
    daemon = served()
    other = neighbour(daemon)
    other.create("others", "4GiB")

    def seen():
        return [one["pid"] for one in daemon.get("/v1/processes").json["processes"] if one["session"] == "others"]

    def unidentified():
        return sum(value for name, value in daemon.metrics().items() if name.startswith("aliquot_gpu_unidentified"))

    def identified():
        """Those of the crowd that a busy machine let the daemon look at before their execve(): they have a uid."""
        return sum(one.get("uid") in range(FIRST, FIRST + CROWD) for one in daemon.get("/v1/processes").json["processes"])

    with still_file(daemon.sim) as (file, _):
        crowd = daemon.sim.start([sys.executable, daemon.sim.build.source / "tests/attack/programs/still_crowd.py",
                                  file, FIRST, CROWD], preload=False)
        assert crowd.stdout.readline() == "ready\n", crowd.stderr.read()
        wait_for(lambda: "cannot be looked into" in daemon.said(), daemon.said)
        wait_for(lambda: unidentified() == sum(one["unidentified"] for one in daemon.get("/v1/devices").json["devices"])
                 >= CROWD - identified(), daemon.said)  # as they come to their turns
        assert identified() < CROWD - PLACES
        with other.script("others") as gpu:
            gpu.ready()
            wait_for(lambda: gpu.process.pid in seen(), daemon.said)
        assert daemon.said().count("cannot be looked into") >= 2
        crowd.kill()


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


# -- The lock of a file's inode --------------------------------------------------------------------

@contextlib.contextmanager
def inode_kept(tenant, path, *words):
    """Nobody else cuts, changes or deletes what is there."""
    with still_file(tenant.sim) as (file, told):
        keeper = tenant.start([sys.executable, tenant.sim.build.source / "tests/attack/programs/keep_inode.py", file, path, *words],
                              preload=False)
        assert told.readline() == "reading\n", keeper.stderr.read()
        yield keeper
    keeper.wait(HANG_SECONDS)


def kept(sim, user="*"):
    return list((sim.runtime / "sessions").glob(f".open-over-{user}-*"))


def serves(daemon, other, name):
    """All that a session needs; a daemon that waits for the lock does not answer at all."""
    assert daemon.get("/healthz").status == 200
    create(other, name, "64MiB")
    assert other.ask("PATCH", f"/v1/sessions/{name}", '{"memory":"128MiB"}').status == 200
    assert other.ask("DELETE", f"/v1/sessions/{name}?force=true").status == 204


@pytest.mark.needs("file systems in user space")
def test_who_keeps_its_slots_from_being_deleted_holds_up_nobody(served, tenant, neighbour):
    """Its session ends and its memory is another's; the daemon answers, deletes what is another user's, and ends."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs", "768MiB")
    with inode_kept(attacker, attacker.folder("theirs") / "slots"):
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 204
        other.create("others", "768MiB")
        for name in "one", "two", "three":
            serves(daemon, other, name)
        wait_for(lambda: not kept(daemon.sim, other.uid), daemon.said)
        wait_for(lambda: HELD in daemon.said(), daemon.said)
        assert daemon.metrics()["aliquot_slots_held"] == 1
        serves(daemon, other, "four")
        daemon.kill()
        daemon.start()
        serves(daemon, other, "five")
        assert len(kept(daemon.sim, attacker.uid)) == 1
    wait_for(lambda: not kept(daemon.sim), daemon.said)
    wait_for(lambda: daemon.metrics()["aliquot_slots_held"] == 0, daemon.said)


@pytest.mark.needs("file systems in user space")
def test_who_keeps_its_slots_from_being_cut_is_told_of(served, tenant, neighbour):
    """What it took cannot be taken back meanwhile; what another user took is."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs", "64MiB")
    create(other, "others", "64MiB")
    theirs, others = (user.folder(name) / "slots" for user, name in ((attacker, "theirs"), (other, "others")))
    bytes_before = others.stat().st_size

    def keeps_it_long():
        """Whether the daemon found it long while its lock was held, not before."""
        with inode_kept(attacker, theirs, 64 * MIB):
            wait_for(lambda: HELD in daemon.said() or theirs.stat().st_size == bytes_before, daemon.said)
            if HELD not in daemon.said():
                return False
            assert "oversized" in kinds(daemon, "oversized")
            os.truncate(others, 64 * MIB)
            wait_for(lambda: others.stat().st_size == bytes_before, daemon.said)
            serves(daemon, other, "more")
            return True

    while not keeps_it_long():
        pass
    wait_for(lambda: theirs.stat().st_size == bytes_before, daemon.said)


def test_nobody_keeps_the_lock_of_its_sessions_folder(served, tenant):
    """Whoever can list a folder can hold its lock likewise, and the daemon makes and deletes files in there."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs", "64MiB")
    listing = attacker.run(["/bin/ls", attacker.folder("theirs")], preload=False)
    assert listing.rc != 0 and "Permission denied" in listing.stderr, listing
    with attacker.script("theirs") as gpu:
        gpu.ready().do(f"alloc 1 {MIB}")
