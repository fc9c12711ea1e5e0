# SPDX-License-Identifier: Apache-2.0
"""The command looks for processes that use a session, among those of all users: no other user's makes it wait or is believed."""
import contextlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from hang import HANG_SECONDS
from node import Result
from tenant import STAYS_IN_EXEC, needs_root, still_file

# While a process cannot be looked into, everybody's ps waits as well, and so would what tells more of a test that hangs.
SOON_SECONDS = min(HANG_SECONDS, 30)
TELL_NAME = "echo $ALIQUOT_SESSION; read line; exit 3"
pytestmark = needs_root


@contextlib.contextmanager
def standing(sim, start):
    """start(words) starts a process that nobody can look into meanwhile."""
    with still_file(sim) as (file, told):
        process = start([sys.executable, "-c", STAYS_IN_EXEC, file])
        assert told.readline() == "closing\n"
        yield process


def command_of(user):
    """Of a Tenant, or of the Node: root."""
    return getattr(user, "sim", user).build.aliquot


def run_of_its_own(user):
    """A program in a session made for it, whose name it says; it ends with status 3 at the end of its input."""
    process = user.start([command_of(user), "run", "--quiet", "--memory", "64MiB", "--", "sh", "-c", TELL_NAME])
    return process, process.stdout.readline().strip()


def result(process):
    """How it ends, soon."""
    try:
        out, err = process.communicate("\n", timeout=SOON_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"{process.args} still waits")
    return Result(process.returncode, out, err)


def aliquot(user, *words):
    return result(user.start([command_of(user), *words]))


def test_a_name_in_a_strangers_environment_keeps_no_session(served, tenant):
    """Root's memory would stay promised for as long as the stranger likes."""
    daemon = served()
    sim, stranger = daemon.sim, tenant(daemon)
    assert aliquot(sim, "create", "roots", "--memory", "64MiB").rc == 0
    process, name = run_of_its_own(sim)
    for session in "roots", name:
        stranger.start(["sh", "-c", "echo ready; exec sleep 1000"], ALIQUOT_SESSION=session).stdout.readline()
    assert aliquot(sim, "rm", "roots").rc == 0
    assert result(process).rc == 3
    assert not daemon.get("/v1/sessions").json["sessions"]


@pytest.mark.parametrize("is_roots, rc", [(False, 1), (True, 0)], ids=["root's, as the stranger", "the stranger's, as root"])
def test_who_started_it_is_whose_a_setuid_program_is(served, tenant, public_folder, is_roots, rc):
    daemon = served()
    sim, stranger = daemon.sim, tenant(daemon)
    program = public_folder / "sleep"
    shutil.copy("/bin/sleep", program)
    os.chown(program, 0 if is_roots else stranger.uid, 0)
    program.chmod(0o4755)
    assert aliquot(sim, "create", "roots", "--memory", "64MiB").rc == 0
    (stranger if is_roots else sim).start([program, "1000"], ALIQUOT_SESSION="roots")
    assert aliquot(sim, "rm", "roots").rc == rc


@pytest.mark.needs("file systems in user space")
def test_no_strangers_process_keeps_the_command_waiting(served, tenant):
    daemon = served()
    sim = daemon.sim
    assert aliquot(sim, "create", "roots", "--memory", "64MiB").rc == 0
    process, _ = run_of_its_own(sim)
    with standing(sim, lambda words: tenant(daemon).start(words, preload=False)):
        assert result(process).rc == 3
        for words in ["ls"], ["ps"], ["rm", "--unused"], ["run", "--quiet", "--memory", "64MiB", "--", "true"], ["rm", "roots"]:
            answer = aliquot(sim, *words)
            assert answer.rc == 0, (words, answer)
        assert not daemon.get("/v1/sessions").json["sessions"]


@pytest.mark.needs("file systems in user space")
def test_no_strangers_process_keeps_another_user_waiting(served, tenant, neighbour, public_folder):
    """Its list of mappings may not be read, and opening it would wait all the same."""
    daemon = served()
    other = neighbour(daemon)
    own = public_folder / "run"
    own.mkdir(mode=0o700)
    os.chown(own, other.uid, other.uid)
    used = other.run([daemon.sim.build.program("hooks/script")], preload=True, stdin="init\n", ALIQUOT_MEMORY="64MiB", ALIQUOT_RUNTIME_DIR=own)
    assert used.stdout == "0\n", used
    with standing(daemon.sim, lambda words: tenant(daemon).start(words, preload=False)):
        answer = result(other.start([daemon.sim.build.aliquot, "rm", "--unused"], ALIQUOT_RUNTIME_DIR=own))
        assert answer.rc == 0 and answer.stdout.startswith("env-"), answer


@pytest.mark.needs("file systems in user space")
def test_what_cannot_be_looked_at_counts_as_used_and_ends_no_run_late(served, tenant):
    """One's own process: the session may be in use, and a program's end is told all the same. Not root's: every command of
    root's on this machine would find it."""
    daemon = served()
    user = tenant(daemon)
    assert aliquot(user, "create", "own", "--memory", "64MiB").rc == 0
    process, name = run_of_its_own(user)
    with standing(daemon.sim, lambda words: user.start(words, preload=False)):
        answer = aliquot(user, "rm", "own")
        assert answer.rc == 1 and "in use" in answer.stderr, answer
        assert result(process).rc == 3
        assert {one["name"] for one in daemon.get("/v1/sessions").json["sessions"]} == {"own", name}
    assert aliquot(user, "rm", "own", name).rc == 0


@pytest.mark.needs("file systems in user space")
def test_the_doctor_waits_for_no_process(served, tenant):
    daemon = served()
    with standing(daemon.sim, lambda words: tenant(daemon).start(words, preload=False)) as process:
        answer = aliquot(daemon.sim, "doctor", str(process.pid), "--json")
        assert answer.rc == 1 and "nobody look at it" in json.loads(answer.stdout)[0]["text"], answer
