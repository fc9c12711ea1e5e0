# SPDX-License-Identifier: Apache-2.0
"""What a tenant does to its own `slots`, the one file of the node that it may write."""
import contextlib
import os
import pathlib
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

import pytest

import place
from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from script import OUT_OF_MEMORY, Script
from tenant import create, holding, kinds, needs_root

MIB = 1 << 20
PAGE_BYTES = 4459648  # src/proto/page.h: struct slots_page
STRANGER = 64500
DECOYS = 6
CUT_BEFORE = 3  # run_slots.py: the daemon was faster
LOOKS_SECONDS = 3  # in which the daemon looks at all processes more than once
pytestmark = [needs_root, pytest.mark.needs("powers over other users' programs")]

ACCESS_LIST = struct.pack("<I" + "HHI" * 5, 2, 1, 0, 2**32 - 1, 2, 6, STRANGER, 4, 0, 2**32 - 1, 16, 6, 2**32 - 1, 32, 0, 2**32 - 1)


def set_list(path):
    os.setxattr(path, "system.posix_acl_access", ACCESS_LIST)


# What its owner may do to a file, and what therefore proves nothing about a session.
LOOKS = {
    "0666": lambda path: path.chmod(0o666),
    "0620": lambda path: path.chmod(0o620),
    "0000": lambda path: path.chmod(0),
    "access list": set_list,
    "cut short": lambda path: os.truncate(path, 0),
    "longer": lambda path: os.truncate(path, 64 * MIB),
    "second name": lambda path: os.link(path, path.parents[3] / "slots"),
}


@contextlib.contextmanager
def own_file_system(sim, options):
    place.need("mounts")
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=0711,{options}", "tmpfs", sim.runtime], check=True)
    yield
    subprocess.run(["umount", "-l", sim.runtime], check=True)


@pytest.fixture
def small(sim):
    """The runtime folder on a file system of its own, of 64 MiB."""
    with own_file_system(sim, "size=64m"):
        yield


@pytest.fixture
def few_inodes(sim):
    """The same with 20,000 inodes."""
    with own_file_system(sim, "nr_inodes=20000"):
        yield


def is_as_large_as_its_page(path):
    return path.stat().st_size <= PAGE_BYTES and path.stat().st_blocks * 512 <= PAGE_BYTES + 4096


def kept(sim):
    return list((sim.runtime / "sessions").glob(".open-*"))


def fill(process):
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "full\n", process.stderr.read()


def test_a_tenant_uses_its_share_and_a_neighbour_its_own(served, tenant, neighbour):
    """The ground that every attack starts from."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("theirs")
    other.create("others")
    with attacker.script("theirs") as one, other.script("others") as two:
        one.ready().do(f"alloc 1 {64 * MIB}")
        two.ready().do(f"alloc 1 {64 * MIB}")
        assert daemon.session("theirs")["processes"] == daemon.session("others")["processes"] == 1


# -- Whose ending it is ----------------------------------------------------------------------------

@pytest.mark.parametrize("look", LOOKS)
def test_no_look_of_its_slots_keeps_a_session_from_ending(served, tenant, look):
    """The mode, the list and the size of `slots` are its owner's to set: none is a verdict."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs")
    with attacker.script("theirs") as gpu:
        gpu.ready().do(f"alloc 1 {64 * MIB}")
        LOOKS[look](attacker.folder("theirs") / "slots")
        answer = attacker.ask("PATCH", "/v1/sessions/theirs", '{"memory":"128MiB"}')
        assert answer.status == 200, answer
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status in (202, 204)
        assert gpu.process.wait(HANG_SECONDS) == -signal.SIGKILL
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
    assert "failed" not in kinds(daemon, "gone")


def test_a_session_of_any_mode_ends_when_its_time_is_over(served, tenant):
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs", "768MiB", ttl="1s")
    with attacker.script("theirs") as gpu:
        gpu.ready().do(f"alloc 1 {64 * MIB}")
        (attacker.folder("theirs") / "slots").chmod(0o666)
        assert gpu.process.wait(HANG_SECONDS) == -signal.SIGKILL
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
    daemon.create("others", "768MiB")  # what it was promised is free, now that nobody has it


def test_what_cannot_be_ended_is_told_and_stays_promised(served, tenant):
    """A process of the session is on the GPU, and no signal may go to it: it is root's. A session of which nothing is
    left but a lock goes meanwhile."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs", "700MiB")
    create(attacker, "locked", "64MiB")
    with Script(attacker.sim, ALIQUOT_SESSION="theirs") as gpu:
        gpu.ready().do(f"alloc 1 {64 * MIB}")
        with holding(attacker, "keep_in_flight.py", attacker.folder("locked") / "slots"):
            assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 202
            found = kinds(daemon, "failed")
            assert "killed" in found and "gone" not in found, found
            assert attacker.ask("DELETE", "/v1/sessions/locked?force=true").status == 202
            wait_for(lambda: daemon.session("locked") is None, daemon.said)
        assert daemon.session("theirs")["state"] == "killing"
        assert daemon.post("/v1/sessions", {"name": "others", "memory": "700MiB"}).status == 409
    wait_for(lambda: daemon.session("theirs") is None, daemon.said)


# -- Locks and leases ------------------------------------------------------------------------------

@pytest.mark.parametrize("program", ["keep_lock.py", "headless.py", "own_table.py"])
def test_who_keeps_a_session_alive_is_ended_with_it(served, tenant, program):
    """By a lock alone, with nothing mapped; by a thread that is not its first, which /proc/PID/maps does not show; by a
    descriptor that such a thread alone has."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs")
    with holding(attacker, program, attacker.folder("theirs") / "slots") as keeper:
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status in (202, 204)
        assert keeper.wait(HANG_SECONDS) == -signal.SIGKILL
    wait_for(lambda: daemon.session("theirs") is None, daemon.said)


def test_a_program_under_a_subordinate_user_ends_with_its_session(served, tenant):
    """In a user namespace its user is root, and may be every user that is mapped there: none of them is another user
    of the machine."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs")
    program = attacker.sim.build.source / "tests/attack/programs/subordinate.py"
    keeper = attacker.start([sys.executable, program, attacker.folder("theirs") / "slots"])
    if keeper.stdout.readline() != "made\n":
        pytest.skip("no user namespace is to be had here")
    pathlib.Path(f"/proc/{keeper.pid}/uid_map").write_text(f"0 {attacker.uid} 1\n1 {STRANGER} 1\n", encoding="ascii")
    print(file=keeper.stdin, flush=True)
    assert keeper.stdout.readline() == "ready\n", keeper.stderr.read()
    assert f"Uid:\t{STRANGER}" in pathlib.Path(f"/proc/{keeper.pid}/status").read_text(encoding="utf-8")
    assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status in (202, 204)
    assert keeper.wait(HANG_SECONDS) == -signal.SIGKILL
    wait_for(lambda: daemon.session("theirs") is None, daemon.said)


def test_descriptors_that_are_costly_to_read_are_not_read(served, tenant):
    """While the daemon looks for who keeps a session alive: what a descriptor is of tells, before its text is read."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs")
    slots = attacker.folder("theirs") / "slots"
    with holding(attacker, "costly_descriptors.py", 900), holding(attacker, "keep_lock.py", slots) as keeper:
        before = daemon.reads()
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status in (202, 204)
        assert keeper.wait(HANG_SECONDS) == -signal.SIGKILL
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
        # 900 texts of 900 lines of some 60 bytes are 12,000 reads of 4 KiB, for each look.
        assert daemon.reads() - before < 40 * len(list(pathlib.Path("/proc").glob("[0-9]*")))


def test_all_locks_of_its_slots_keep_out_its_own_programs_alone(served, tenant, neighbour):
    """Nobody waits for a lock of `slots`: a program that gets none is refused, and the daemon takes none."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs")
    other.create("others")
    with holding(attacker, "keep_lock.py", attacker.folder("theirs") / "slots"):
        with attacker.script("theirs") as own:
            assert own.code("init") == 0 and own.code("context 0 0") + own.code(f"alloc 1 {MIB}") != 0
        with other.script("others") as gpu:
            gpu.ready().do(f"alloc 1 {MIB}")
            assert daemon.session("others")["processes"] == 1
        assert attacker.ask("PATCH", "/v1/sessions/theirs", '{"memory":"128MiB"}').status == 200
        assert daemon.get("/v1/sessions/theirs/processes").status == 200


def test_slots_that_name_another_program_save_nobody(served, tenant):
    """What comes again goes by who has the file mapped, so one that is sent ahead dies alone, once."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs")
    slots = attacker.folder("theirs") / "slots"
    with attacker.script("theirs") as decoy, holding(attacker, "headless.py", slots) as hidden:
        decoy.ready().do(f"alloc 1 {MIB}")
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status in (202, 204)
        assert [decoy.process.wait(HANG_SECONDS), hidden.wait(HANG_SECONDS)] == [-signal.SIGKILL] * 2
    wait_for(lambda: daemon.session("theirs") is None, daemon.said)


def test_no_lease_can_be_taken_on_slots(served, tenant):
    """Whoever opens a file with a lease on it waits, or is refused, for 45 s."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs")
    result = attacker.python("take_lease.py", attacker.folder("theirs") / "slots", preload=False)
    assert result.rc == 0 and result.stdout == "refused\nrefused\n", result


def test_a_lease_makes_nobody_wait(served, tenant, neighbour):
    """One taken while no daemon ran: its session is answered for later, all others as ever."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs")
    other.create("others")
    daemon.kill()
    with holding(attacker, "keep_lease.py", attacker.folder("theirs") / "slots") as keeper:
        daemon.start()
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status in (202, 204)
        assert other.ask("GET", "/v1/sessions/others").status == 200
        with other.script("others") as gpu:
            gpu.ready().do(f"alloc 1 {MIB}")
        keeper.kill()
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)


# -- What it says that it holds --------------------------------------------------------------------

def test_a_tenant_that_zeroes_its_ledger_gets_no_more(served, tenant, neighbour):
    """What the driver shows clamps its session, with no answer configured; nobody is sent a signal."""
    daemon = served("[watch]\ntolerance = 16MiB\n")  # the usual one is as much as this card
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("theirs", "600MiB")
    other.create("others", "100MiB")
    with attacker.script("theirs") as gpu, other.script("others") as honest:
        gpu.ready().do(f"alloc 1 {560 * MIB}")
        honest.ready().do(f"alloc 1 {64 * MIB}")
        attacker.python("zero_ledger.py", attacker.folder("theirs") / "slots", preload=False)
        wait_for(lambda: daemon.session("theirs")["clamped"], daemon.said)
        assert gpu.code(f"alloc 2 {MIB}") == OUT_OF_MEMORY
        assert honest.code(f"alloc 2 {MIB}") == 0
        assert gpu.process.poll() is None and not daemon.session("others")["clamped"]
    wait_for(lambda: not daemon.session("theirs")["clamped"], daemon.said)


def test_programs_that_come_and_go_do_not_hide_what_a_session_holds(served, tenant):
    """One that holds more than its slot says is there at each look, and always another one: what all hold together is
    compared all the same, and the clamp stays."""
    daemon = served("[watch]\ntolerance = 16MiB\n")
    attacker = tenant(daemon)
    attacker.create("theirs", "600MiB")
    slots, driver = attacker.folder("theirs") / "slots", daemon.sim.build.driver / "libcuda.so.1"
    with attacker.script("theirs") as gpu, holding(attacker, "come_and_go.py", slots, driver, 32 * MIB):
        gpu.ready().do(f"alloc 1 {400 * MIB}")
        attacker.python("zero_ledger.py", slots, preload=False)
        wait_for(lambda: daemon.session("theirs")["clamped"], daemon.said)
        assert gpu.code(f"alloc 2 {MIB}") == OUT_OF_MEMORY
        time.sleep(LOOKS_SECONDS)
        assert daemon.session("theirs")["clamped"] and daemon.metrics()["aliquot_clamps_total"] == 1


def test_who_was_handed_anothers_slots_is_not_of_that_session(served, tenant, neighbour):
    """A program can be led to map a file of another user's. It is of its own session all the same, whichever file lies
    first among its mappings: else it would be held to the attacker's ledger, and end for that."""
    daemon = served("[watch]\ntolerance = 16MiB\nforged = kill\n")
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("theirs", "64MiB")
    other.create("others", "512MiB")
    slots = attacker.folder("theirs") / "slots"
    slots.chmod(0o666)
    attacker.folder("theirs").chmod(0o711)  # as if the descriptor were handed on
    program = daemon.sim.build.source / "tests/attack/programs/map_anothers.py"
    mapper = other.start([sys.executable, program, slots, 256 * MIB], preload=True, ALIQUOT_SESSION="others")
    assert mapper.stdout.readline() == "ready\n", mapper.stderr.read()
    seen = {}
    wait_for(lambda: seen.update({one["pid"]: one for one in daemon.get("/v1/processes").json["processes"]}) or mapper.pid in seen,
             daemon.said)
    assert seen[mapper.pid]["session"] == "others"
    wait_for(lambda: daemon.get("/v1/sessions/others").json["devices"][0]["driver_bytes"] > 256 * MIB, daemon.said)
    assert mapper.poll() is None
    mapper.communicate("\n", HANG_SECONDS)


def test_decoys_hide_no_ledger_that_was_zeroed(served, tenant):
    """Files that are named slots as well, of its own making and mapped first: the driver's word is compared all the same."""
    daemon = served("[watch]\ntolerance = 16MiB\nforged = kill\n")
    attacker = tenant(daemon)
    attacker.create("theirs", "64MiB")
    with holding(attacker, "decoys.py", attacker.folder("theirs") / "slots", 512 * MIB, DECOYS) as liar:
        assert liar.wait(HANG_SECONDS) == -signal.SIGKILL


def test_files_named_slots_make_no_stranger_of_an_honest_program(served, tenant, neighbour, public_folder):
    """Data that another user hands it, mapped before its own."""
    daemon = served()
    other = neighbour(daemon)
    other.create("others", "512MiB")
    paths = []
    for at in range(DECOYS):
        paths.append(public_folder / str(at) / "slots")
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(bytes(4096))
    program = daemon.sim.build.source / "tests/attack/programs/map_anothers.py"
    mapper = other.start([sys.executable, program, paths[0], 64 * MIB, *paths[1:]], preload=True, ALIQUOT_SESSION="others")
    assert mapper.stdout.readline() == "ready\n", mapper.stderr.read()
    seen = {}
    wait_for(lambda: seen.update({one["pid"]: one for one in daemon.get("/v1/processes").json["processes"]}) or
             seen.get(mapper.pid, {}).get("session"), daemon.said)
    time.sleep(LOOKS_SECONDS)
    assert seen[mapper.pid]["session"] == "others" and not daemon.metrics()["aliquot_strangers_seen_total"]
    mapper.communicate("\n", HANG_SECONDS)


# -- What it is led through ------------------------------------------------------------------------

def test_a_daemon_changes_nothing_behind_a_link(sim):
    """Where `sessions` is a link, however it came there, root's daemon says so and does not start."""
    elsewhere = sim.folder / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (sim.runtime / "sessions").symlink_to(elsewhere)
    daemon = Daemon(sim)
    with pytest.raises(AssertionError, match="sessions is a link"):
        daemon.start()
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o700 and not list(elsewhere.iterdir())


# -- What it takes of everybody's room -------------------------------------------------------------

@pytest.mark.parametrize("how", ["write", "allocate", "again"])
def test_a_file_system_filled_through_slots_bars_nobody(served, tenant, neighbour, small, how):
    """What lies behind the page is taken back when there is no room to make a session, and each second, and told of."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("theirs", "64MiB")
    slots = attacker.folder("theirs") / "slots"
    with attacker.script("theirs") as gpu, holding(attacker, "overfill.py", slots, how) as filler:
        gpu.ready().do(f"alloc 1 {MIB}")
        fill(filler)
        wait_for(lambda: other.ask("POST", "/v1/sessions", '{"name":"others","memory":"64MiB"}').status in (201, 409), daemon.said)
        assert daemon.session("others")
        gpu.do(f"alloc 2 {MIB}")  # and its own programs lose nothing that was theirs
        if how != "again":
            wait_for(lambda: is_as_large_as_its_page(slots), daemon.said)
    assert "oversized" in kinds(daemon, "oversized")


def has_attributes():
    """Whether a tmpfs takes attributes "user.NAME" (Linux 6.6)."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        try:
            os.setxattr(file.fileno(), "user.name", b"value")
        except OSError:
            return False
    return True


@pytest.mark.skipif(not has_attributes(), reason="no attributes of users on tmpfs here")
def test_a_file_system_filled_through_attributes_bars_nobody(served, tenant, neighbour, few_inodes):
    """Each KiB of them takes an inode of the file system. They are removed when there is no room to make a session, and
    each second, and told of."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("theirs", "64MiB")
    slots = attacker.folder("theirs") / "slots"
    with holding(attacker, "set_attributes.py", slots, 8) as setter:
        assert int(setter.stdout.readline()) > 16
        wait_for(lambda: other.ask("POST", "/v1/sessions", '{"name":"others","memory":"64MiB"}').status in (201, 409), daemon.said)
        wait_for(lambda: not os.listxattr(slots), daemon.said)
        assert daemon.session("others")
    assert "oversized" in kinds(daemon, "oversized")


@pytest.mark.skipif(not has_attributes(), reason="no attributes of users on tmpfs here")
def test_attributes_that_nobody_can_list_are_told_of(served, tenant, few_inodes):
    """The kernel lists 64 KiB of names. What cannot be removed goes with the file when nobody has that open."""
    daemon = served()
    attacker = tenant(daemon)
    attacker.create("theirs", "64MiB")
    with holding(attacker, "set_attributes.py", attacker.folder("theirs") / "slots", 240):
        assert "oversized" in kinds(daemon, "oversized")
        assert "cannot be cut: Argument list too long" in daemon.said()
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 204
    wait_for(lambda: not kept(daemon.sim), daemon.said)
    daemon.create("others", "64MiB")


def test_slots_kept_open_after_their_session_take_no_room(served, tenant, neighbour, small):
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs")
    slots = attacker.folder("theirs") / "slots"
    with holding(attacker, "overfill.py", slots, "write") as filler:
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 204
        assert not slots.exists() and len(kept(daemon.sim)) == 1
        fill(filler)
        other.create("others")
        again = attacker.python("take_lease.py", kept(daemon.sim)[0] / "slots", preload=False)
        assert "PermissionError" in again.stderr, again
        wait_for(lambda: (kept(daemon.sim)[0] / "slots").stat().st_blocks == 0, daemon.said)
    wait_for(lambda: not kept(daemon.sim), daemon.said)  # now that nobody has it open


def test_slots_that_run_as_a_program_take_no_room(served, tenant, small):
    """The kernel lets nobody cut a file that runs; so its program is ended."""
    daemon = served()
    attacker = tenant(daemon)

    def run():
        attacker.create("theirs")
        slots = attacker.folder("theirs") / "slots"
        with holding(attacker, "run_slots.py", daemon.socket, slots, "theirs") as runner:
            return runner.wait(HANG_SECONDS)
    assert next(ended for ended in iter(run, None) if ended != CUT_BEFORE) == -signal.SIGKILL
    wait_for(lambda: not kept(daemon.sim), daemon.said)


def test_a_lease_does_not_hide_slots_kept_open(served, tenant, neighbour, small):
    """Held while the session is removed, it bars root from opening the file, which then counts as open: the kernel
    ends the lease after /proc/sys/fs/lease-break-time, 45 s, and what was written meanwhile is taken back."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    create(attacker, "theirs")
    slots = attacker.folder("theirs") / "slots"
    daemon.kill()
    with holding(attacker, "overfill.py", slots, "lease") as filler:
        os.truncate(attacker.folder("theirs") / "limits", 0)  # a damaged session is removed without a daemon
        removal = daemon.sim.aliquot("rm", "--force", "theirs")
        assert removal.rc == 0, removal
        assert len(kept(daemon.sim)) == 1
        file = kept(daemon.sim)[0] / "slots"
        assert file.stat().st_uid == 0 and stat.S_IMODE(file.stat().st_mode) == 0o600
        daemon.start()
        fill(filler)
        wait_for(lambda: file.stat().st_blocks == 0, daemon.said)
        other.create("others")
    wait_for(lambda: not kept(daemon.sim), daemon.said)
