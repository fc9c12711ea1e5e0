# SPDX-License-Identifier: Apache-2.0
"""What a tenant holds on to so that others go without: its ended session's memory, places, the audit trail's rows."""
import os
import sys

import pytest

from daemon import wait_for
from hang import HANG_SECONDS
from tenant import create, holding, kinds, needs_root

MIB = 1 << 20
pytestmark = needs_root


# -- The memory of a session that has ended --------------------------------------------------------

def test_a_lock_in_a_sockets_queue_keeps_no_memory(served, tenant, neighbour):
    """Nobody can be found who holds it, and nobody needs to be: the driver shows nobody of the session on its GPU."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs", "768MiB")
    with holding(attacker, "keep_in_flight.py", attacker.folder("theirs") / "slots") as keeper:
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 202
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
        assert keeper.poll() is None
        other.create("others", "768MiB")
    assert "failed" in kinds(daemon, "gone")  # it was told of, before it went


def test_a_lock_that_another_user_was_handed_keeps_no_memory(served, tenant, neighbour):
    """No signal goes to another user's process, and none needs to."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs", "768MiB")
    (attacker.folder("theirs") / "slots").chmod(0o666)
    attacker.folder("theirs").chmod(0o711)  # as if the descriptor were handed on
    with holding(other, "keep_lock.py", attacker.folder("theirs") / "slots") as keeper:
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 202
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
        assert keeper.poll() is None
        other.create("others", "768MiB")


def test_a_program_that_goes_from_process_to_process_keeps_no_memory(served, tenant, neighbour):
    """It has `slots` mapped and is never found where it was; of a GPU it can have nothing: no child inherits that."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs", "768MiB")
    with holding(attacker, "hop.py", attacker.folder("theirs") / "slots") as hopper:
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status in (202, 204)
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
        other.create("others", "768MiB")
        hopper.stdin.close()
        hopper.stdin = None  # Node.close() would flush it


def test_mappings_that_take_long_to_read_keep_no_memory(served, tenant, neighbour):
    """Some 250 MB of them: a look reads a bounded part, and the driver's word ends the session if no look found it."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs", "768MiB")
    room = daemon.sim.folder / "room"
    room.mkdir()
    room.chmod(0o777)
    slots = attacker.folder("theirs") / "slots"
    with holding(attacker, "many_mappings.py", slots, room), holding(attacker, "keep_in_flight.py", slots):
        before = daemon.reads()
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 202
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
        assert daemon.reads() - before < 300_000  # ten whole looks at these mappings alone are 600,000
        other.create("others", "768MiB")


def test_a_lock_in_a_sockets_queue_keeps_no_page(served, tenant):
    """Its file stays for as long as it is open, and is empty: rounds of such sessions fill no file system."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs")
    slots = attacker.folder("theirs") / "slots"
    with open(slots, "r+b") as file:
        os.posix_fallocate(file.fileno(), 0, slots.stat().st_size)
    with holding(attacker, "keep_in_flight.py", slots) as keeper:
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 202
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
        left, = (daemon.sim.runtime / "sessions").glob(".open-*/slots")
        wait_for(lambda: left.stat().st_blocks == 0 == left.stat().st_size, daemon.said)
        assert keeper.poll() is None
    wait_for(lambda: not left.parent.exists(), daemon.said)


@pytest.mark.parametrize("how", ["open", "map"])
def test_a_reader_keeps_no_page(served, tenant, how):
    """Rounds of sessions whose `slots` were written full and are open to read alone fill no file system: nothing of a
    deleted file is left to its readers."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs")
    path = attacker.folder("theirs") / "slots"
    with open(path, "rb") as slots, holding(attacker, "keep_reading.py", path, how) as keeper:
        assert os.fstat(slots.fileno()).st_blocks * 512 > 4 * MIB
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status in (202, 204)
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
        wait_for(lambda: os.fstat(slots.fileno()).st_blocks == 0, daemon.said)
        assert keeper.poll() is None
    wait_for(lambda: not list((daemon.sim.runtime / "sessions").glob(".open-*")), daemon.said)


def test_who_leaves_its_slots_does_not_free_what_it_holds(served, tenant):
    """No lock and no mapping is left, and the driver shows its owner's process with memory: the promise stays. When that
    process ends, the session goes at once."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs", "700MiB")
    program = daemon.sim.build.source / "tests/attack/programs/slip.py"
    slipped = attacker.start([sys.executable, program, 512 * MIB], preload=True, ALIQUOT_SESSION="theirs")
    assert slipped.stdout.readline() == "ready\n", slipped.stderr.read()
    wait_for(lambda: slipped.pid in [one["pid"] for one in daemon.get("/v1/processes").json["processes"]], daemon.said)
    assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 202
    assert daemon.post("/v1/sessions", {"name": "others", "memory": "700MiB"}).status == 409
    slipped.stdin.write("\n")
    slipped.stdin.flush()
    assert slipped.wait(HANG_SECONDS) == 0
    wait_for(lambda: daemon.session("theirs") is None, daemon.said)
    assert "it goes, though" not in daemon.said()


# -- Places ----------------------------------------------------------------------------------------

def test_one_user_leaves_places_for_others(served, tenant, neighbour):
    """Without a word in the config a user has 64 sessions at most, and hears which key says so."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    result = attacker.python("take_places.py", daemon.socket, preload=False)
    made, status, told = result.stdout.split(" ", 2)
    assert (made, status) == ("64", "409") and "admission.sessions_per_owner" in told, result
    other.create("others", "64MiB")
    daemon.create("roots", "64MiB")


@pytest.mark.parametrize("how", ["write", "map", "path"])
def test_ended_sessions_that_are_kept_open_count(served, tenant, neighbour, how):
    """Each takes inodes of the runtime folder's file system for as long as anything of it is open, mapped or named by a
    descriptor; so it counts as its user's until then, and not a moment longer."""
    daemon = served("[admission]\nsessions_per_owner = 100\n[http]\nrequest_timeout = 10m\n")
    attacker, other = tenant(daemon), neighbour(daemon)
    sessions = daemon.sim.runtime / "sessions"
    with holding(attacker, "keep_ended.py", daemon.socket, sessions, how) as keeper:
        assert int(keeper.stdout.readline()) == 612  # 512 are spared besides
        assert "admission.sessions_per_owner" in keeper.stdout.readline()
        other.create("others", "64MiB")
        daemon.create("roots", "64MiB")
    wait_for(lambda: attacker.ask("POST", "/v1/sessions", '{"name":"again","memory":"64MiB"}').status == 201, daemon.said)


def test_who_keeps_nothing_makes_any_number_in_turn(served, tenant):
    """A removed session is in the way of no next one while the daemon has yet to delete its files."""
    daemon = served("[admission]\nsessions_per_owner = 1\n")
    attacker = tenant(daemon)
    with holding(attacker, "keep_ended.py", daemon.socket, daemon.sim.runtime / "sessions", "nothing") as keeper:
        assert keeper.stdout.readline() == "400\n", keeper.stdout.readline()


# -- The audit trail -------------------------------------------------------------------------------

def test_a_flood_of_events_pushes_out_its_own_alone(served, tenant, neighbour):
    """While there are more than `audit.keep_rows`, the user with the most rows loses its oldest."""
    daemon = served("[audit]\nkeep_rows = 100\n")
    attacker, other = tenant(daemon), neighbour(daemon)
    other.create("others", "64MiB")
    attacker.create("theirs", "64MiB")
    assert attacker.python("flood_trail.py", daemon.socket, "theirs", 600, preload=False).rc == 0
    end = daemon.get("/v1/sessions/theirs").json["version"]

    def rows():
        found = []
        for event in daemon.events():
            found.append(event)
            if event["session"] == "theirs" and event["detail"]["version"] == end:
                return found

    wait_for(lambda: len(rows()) <= 100, daemon.said)
    kept = [(event["session"], event["type"]) for event in rows()]
    assert ("others", "created") in kept and ("theirs", "created") not in kept and len(kept) == 100, kept
