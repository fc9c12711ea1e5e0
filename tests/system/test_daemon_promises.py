# SPDX-License-Identifier: Apache-2.0
"""What holds of every session holds of those that the daemon owns: programs killed anywhere (B1, in test_kill.py), many at
once (B3, B4), no limit raised by a tenant (B7), figures that are the ledger's (F1), a process list of
one's own (F2); and GPU Slice's stress scene."""
import os
import subprocess

import pytest

from daemon import Daemon, wait_for
from hang import HANG_SECONDS, IS_SLOW
from script import MIB, OUT_OF_MEMORY, SUCCESS, Script
from tenant import needs_root
from together import together

NOBODY = 65534
CONTEXT = 1 * MIB
SHARE = 2 * MIB + 512
PROGRAMS = 60 if IS_SLOW else 300  # all start by the same code, in a sanitizer's time each
WAVES = 300 if IS_SLOW else 2000


@pytest.fixture
def daemon(sim):
    sim.configure(memory="4GiB", context=CONTEXT)
    return Daemon(sim, "[metrics]\nsessions = yes\n").start()


def granted(sim, name):
    """What the simulator's own books say."""
    return sim.oracle()["tags"].get(name, [{"current_bytes": 0}])[0]["current_bytes"]


def used(daemon, name):
    return daemon.session(name)["devices"][0]["used_bytes"]


# -- GPU Slice's stress scene

def ask_all(daemon, round_, count):
    """{name: status}; all ask at the same moment."""
    return together([f"{round_}{number}" for number in range(count)],
                    lambda name: daemon.post("/v1/sessions", {"name": name, "memory": "10%"}).status)


def test_ten_are_admitted_ten_denied_and_all_recover(daemon, sim):
    """Twenty at once want a tenth of the card. Those who have it use it, are killed, and leave room for as
    many again."""
    first = ask_all(daemon, "first", 20)
    assert sorted(first.values()) == [201] * 10 + [409] * 10
    admitted = sorted(name for name, status in first.items() if status == 201)
    assert daemon.names() == daemon.folders() == admitted
    programs = [Script(sim, ALIQUOT_SESSION=name).ready() for name in admitted]
    for gpu in programs:
        gpu.do(f"alloc 1 {300 * MIB}")
        assert gpu.code(f"alloc 2 {300 * MIB}") == OUT_OF_MEMORY
    for gpu in programs:
        gpu.kill()
    assert [used(daemon, name) for name in admitted] == [0] * 10
    assert [daemon.delete(f"/v1/sessions/{name}").status for name in admitted] == [204] * 10
    assert daemon.get("/v1/devices").json["devices"][0]["promised_bytes"] == 0
    assert sorted(ask_all(daemon, "again", 20).values()) == [201] * 10 + [409] * 10


# -- Programs that are many

def test_three_hundred_programs_start_at_once(daemon, sim):
    """B3: each takes a 300th of the limit, to the byte; nobody is refused, and not a byte is left."""
    limit = PROGRAMS * (CONTEXT + SHARE)
    daemon.create("crowd", limit)
    process = sim.start([sim.build.program("hooks/crowd"), PROGRAMS, SHARE], preload=True, ALIQUOT_SESSION="crowd")
    assert process.stdout.readline() == "0\n", process.communicate(timeout=HANG_SECONDS)
    assert process.stdout.readline() == "held\n"
    assert used(daemon, "crowd") == granted(sim, "crowd") == limit
    assert daemon.session("crowd")["processes"] == PROGRAMS
    listed = daemon.get("/v1/sessions/crowd/processes").json
    assert sum(one["devices"][0]["bytes"] for one in listed) == limit and len(listed) == PROGRAMS
    process.communicate("\n", timeout=HANG_SECONDS)
    assert daemon.session("crowd")["processes"] == used(daemon, "crowd") == 0


@pytest.mark.figures
def test_two_thousand_programs_come_and_go(daemon, sim):
    """B4: pids come again, every other program is killed while it holds memory, nothing is lost."""
    batch = 100
    daemon.create("crowd", batch * (CONTEXT + MIB))
    result = sim.run([sim.build.program("hooks/crowd"), "waves", WAVES, batch], preload=True, ALIQUOT_SESSION="crowd")
    assert result.rc == 0 and result.stdout == "0\n", result
    assert daemon.session("crowd")["processes"] == used(daemon, "crowd") == granted(sim, "crowd") == 0


@pytest.mark.needs("PID namespaces")
def test_programs_of_another_pid_namespace(daemon, sim):
    """B4: they have pid 1 each, and are two; what a killed one held is free, and no other's is."""
    daemon.create("boxes", "256MiB")
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sim.build.program("sim/hold"), "0", 64 * MIB]
    boxes = [sim.start([str(word) for word in words], preload=True, ALIQUOT_SESSION="boxes") for _ in range(2)]
    for box in boxes:
        assert box.stdout.readline().startswith("ready"), box.stderr.read()
    assert daemon.session("boxes")["processes"] == 2 and used(daemon, "boxes") == 2 * (CONTEXT + 64 * MIB)
    boxes[0].kill()
    wait_for(lambda: used(daemon, "boxes") == CONTEXT + 64 * MIB, daemon.said)
    assert daemon.session("boxes")["processes"] == 1


# -- A tenant that wants more

ATTEMPTS = """
import ctypes, mmap, os, shutil, sys
folder = sys.argv[1]
limits = folder + "/limits"
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
open(limits, "rb").read()

def mapped_shared():
    with open(limits, "rb") as file:
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_WRITE)

def made_writable():
    with open(limits, "rb") as file:
        at = libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0)
    if libc.mprotect(ctypes.c_void_p(at), 4096, mmap.PROT_READ | mmap.PROT_WRITE):
        raise OSError(ctypes.get_errno(), "mprotect")

def opened_again():
    with open(limits, "rb") as file:
        open(f"/proc/self/fd/{file.fileno()}", "r+b")

for attempt in (lambda: open(limits, "r+b"), lambda: open(limits, "ab"), lambda: os.truncate(limits, 0),
                lambda: os.chmod(limits, 0o666), lambda: os.chown(limits, os.getuid(), -1), lambda: os.unlink(limits),
                lambda: os.rename(limits, limits + ".old"), lambda: os.rename(folder + "/slots", limits),
                lambda: os.rename(folder, folder + ".old"), lambda: shutil.rmtree(folder), lambda: open(folder + "/new", "w"),
                lambda: os.mkdir(folder + "-2"), mapped_shared, made_writable, opened_again):
    try:
        attempt()
    except OSError:
        continue
    sys.exit("something was let through")
"""


@needs_root
def test_no_tenant_raises_its_limit(daemon, sim):
    """B7: by file, by mapping, by name, by its environment. tests/system/test_tamper.py says what a program can
    do where nobody but its own user has the state."""
    for path in (sim.folder, sim.runtime):
        os.chmod(path, 0o711)
    daemon.create("theirs", "64MiB", owner=NOBODY)
    folder = sim.runtime / "sessions/theirs"
    before = (folder / "limits").read_bytes()
    done = subprocess.run(["/usr/bin/python3", "-c", ATTEMPTS, folder], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
                          capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode == 0, done
    assert (folder / "limits").read_bytes() == before


def test_an_environment_that_asks_for_more_is_refused(daemon, sim):
    """B7: with the session's name, whatever else is said."""
    daemon.create("a", "256MiB")
    with Script(sim, ALIQUOT_SESSION="a", ALIQUOT_MEMORY="1GiB") as gpu:
        assert gpu.code("init") != SUCCESS
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        assert gpu.ready().values("info")[1] == 256 * MIB


# -- What is told

def metrics(daemon, name):
    """{session: value}"""
    return {series.split('session="')[1].split('"')[0]: value for series, value in daemon.metrics().items()
            if series.startswith(name + "{")}


def test_what_is_exported_is_what_the_ledger_has(daemon, sim):
    """F1: used and limit of each session, also of one that has the whole card, at every moment that programs
    stand still."""
    daemon.stop()
    daemon.config.write_text("[metrics]\nsessions = yes\n[admission]\novercommit = none\n")
    daemon.start()
    daemon.create("part", "256MiB")
    daemon.create("whole", "100%")
    with Script(sim, ALIQUOT_SESSION="part") as one, Script(sim, ALIQUOT_SESSION="whole") as two:
        for step in (lambda: one.ready(), lambda: two.ready(), lambda: one.do(f"alloc 1 {100 * MIB}"),
                     lambda: two.do(f"alloc 1 {1000 * MIB}"), lambda: one.do("free 1"), two.kill):
            step()
            books = {name: granted(sim, name) for name in ("part", "whole")}
            assert metrics(daemon, "aliquot_session_memory_used_bytes") == books
            assert {name: used(daemon, name) for name in books} == books
        assert metrics(daemon, "aliquot_session_memory_limit_bytes") == {"part": 256 * MIB, "whole": 4096 * MIB}
        assert metrics(daemon, "aliquot_session_processes") == {"part": 1, "whole": 0}


def test_a_program_is_shown_its_own_session_alone(daemon, sim):
    """F2: by NVML in the program."""
    for name in ("a", "b"):
        daemon.create(name, "256MiB")
    with Script(sim, preload=False) as stranger, Script(sim, ALIQUOT_SESSION="a") as one, \
            Script(sim, ALIQUOT_SESSION="a") as two, Script(sim, ALIQUOT_SESSION="b") as other:
        for gpu in (stranger, one, two, other):
            gpu.ready().do("nvml")
        pids = {int(gpu.say("pid")[0]) for gpu in (one, two)}
        assert listed(one) == listed(two) == pids
        assert listed(other) == {int(other.say("pid")[0])}
        two.kill()
        assert listed(one) == {int(one.say("pid")[0])}


def listed(gpu):
    return {int(word.split("=")[0]) for word in gpu.say("processes 0 8")[2:]}
