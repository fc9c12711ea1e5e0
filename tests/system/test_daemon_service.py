# SPDX-License-Identifier: Apache-2.0
"""The daemon does all of its work with what the system's unit leaves it, and needs each power that it keeps."""
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

import place
from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from joiner import READ_ONLY_MOUNT, WELCOME, hello, join
from script import MIB

NOBODY = 65534
UNIT = pathlib.Path(__file__).parents[2] / "deploy/system/aliquotd.service.in"

pytestmark = pytest.mark.needs("other users")


def unit_values(key):
    """Every value of a key, in the order of the unit."""
    return re.findall(rf"^{key}=(.*)$", UNIT.read_text(), re.MULTILINE)


def unit_powers():
    return [word.removeprefix("CAP_").lower() for word in unit_values("CapabilityBoundingSet")[0].split()]


class Confined(Daemon):
    """With these powers of root's alone, behind `wrapper`."""
    powers = ()
    wrapper = ()

    def words(self, *flags):
        kept = ",".join(["-all", *(f"+{power}" for power in self.powers)])
        return ["setpriv", f"--bounding-set={kept}", "--no-new-privs", *self.wrapper, *super().words(*flags)]


@pytest.fixture
def confined(sim):
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is not installed")
    sim.configure(gpus=2, memory="1GiB")
    for path in (sim.folder, sim.runtime):
        os.chmod(path, 0o711)
    daemon = Confined(sim, "[socket]\nmode = 0666\n")
    daemon.powers = unit_powers()
    return daemon


def start_as_nobody(sim, session):
    """A program of nobody's that holds memory of a session."""
    os.chmod(sim.state, 0o777)
    for path in sim.state.rglob("*"):
        os.chmod(path, 0o777)
    program = sim.build.program("sim/hold")
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    place.need("a build folder for other users")
    process = sim.start([*become, program, "0", str(64 * MIB)], preload=True, ALIQUOT_SESSION=session)
    line = process.stdout.readline()
    assert line.startswith("ready "), (line, process.stderr.read() if process.poll() is not None else "")
    return process


def live_a_day(sim, daemon):
    """A session of another user's from its beginning to its end by force."""
    daemon.create("theirs", gpus=["0"], owner=NOBODY, on_end="kill")
    process = start_as_nobody(sim, "theirs")
    assert daemon.get("/v1/sessions/theirs/processes").json[0]["uid"] == NOBODY
    answer = join(sim.runtime / "sessions/theirs/socket", hello())
    assert answer.type == WELCOME and not answer.flags & READ_ONLY_MOUNT
    answer.close()
    assert daemon.patch("/v1/sessions/theirs", {"memory": "512MiB"}).status == 200
    daemon.reload(daemon.config.read_text() + "[admission]\nttl = 1h\n")
    assert daemon.get("/metrics").status == 200
    assert daemon.delete("/v1/sessions/theirs?force=true").status in (202, 204)
    assert process.wait(HANG_SECONDS) == -signal.SIGKILL
    wait_for(lambda: daemon.session("theirs") is None, daemon.said)


@pytest.mark.needs("powers over other users' programs")
def test_the_powers_that_the_unit_leaves_are_enough(sim, confined):
    assert sorted(unit_powers()) == ["chown", "dac_override", "kill", "sys_ptrace"]
    confined.start()
    live_a_day(sim, confined)
    assert confined.stop() == 0


@pytest.mark.parametrize("power", ("chown", "dac_override"))
def test_without_them_no_session_of_another_user_is_made(confined, power):
    confined.powers = [kept for kept in unit_powers() if kept != power]
    confined.start()
    answer = confined.post("/v1/sessions", {"name": "theirs", "memory": "256MiB", "owner": NOBODY})
    assert answer.status >= 500, answer
    left = confined.session("theirs")  # what cannot be cleared away either is not open, at least
    assert left is None or left["state"] != "open"


@pytest.mark.parametrize("power", ("kill", "sys_ptrace"))
def test_without_them_no_program_of_another_user_is_ended(sim, confined, power):
    confined.powers = [kept for kept in unit_powers() if kept != power]
    confined.start()
    confined.create("theirs", gpus=["0"], owner=NOBODY, on_end="kill")
    process = start_as_nobody(sim, "theirs")
    assert confined.delete("/v1/sessions/theirs?force=true").status == 202
    process.stdin.close()
    process.stdin = None
    assert process.wait(HANG_SECONDS) == 0  # by itself, not by a signal that came before the answer


def calls_of(group):
    """The system calls of a group of systemd's, those of its inner groups too."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    calls = set()
    for line in listed.stdout.splitlines()[1:]:
        word = line.strip()
        calls |= calls_of(word) if word.startswith("@") else {word} if word and not word.startswith("#") else set()
    return calls


def calls_of_unit():
    allowed = set()
    for value in unit_values("SystemCallFilter"):
        named = set().union(*(calls_of(word) for word in value.lstrip("~").split()))
        allowed = allowed - named if value.startswith("~") else allowed | named
    return allowed


@pytest.mark.needs("powers over other users' programs")
@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="a sanitizer makes system calls of its own")
def test_the_unit_bars_no_system_call_that_the_daemon_makes(sim, confined):
    for tool in ("strace", "systemd-analyze"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    place.need("tracing")
    trace = sim.folder / "trace"
    confined.wrapper = ["strace", "-D", "-f", "-qq", "-o", trace]  # -D: the daemon, not strace, is our child
    confined.start("--http=127.0.0.1:0")
    live_a_day(sim, confined)
    assert confined.stop() == 0
    wait_for(lambda: "exit_group(0)" in trace.read_text(errors="replace"))
    made = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(errors="replace"), re.MULTILINE))
    assert "pidfd_send_signal" in made and "fdatasync" in made
    assert made - calls_of_unit() == set()
