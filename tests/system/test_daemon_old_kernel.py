# SPDX-License-Identifier: Apache-2.0
"""Kernels that lack what the daemon would like to have, or a filter that bars it: it does without, and says so.

A seccomp filter makes the system calls fail as they would there.
"""
import errno
import signal
import subprocess

import pytest

from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from joiner import READ_ONLY_MOUNT, WELCOME, hello, join
from script import MIB, Script

PEERPIDFD = f"peerpidfd={errno.ENOPROTOOPT}"  # before Linux 6.5
OLD = {
    "no pidfd_open": ["pidfd_open", "peerpidfd"],                       # before Linux 5.3
    "no pidfd at all": ["pidfd_open", "peerpidfd", "pidfd_send_signal"],  # before Linux 5.1
}


class Without(Daemon):
    """Started on such a kernel."""
    barred = ()

    def words(self, *flags):
        return [self.sim.build.program("daemon/without"), *self.barred, "--", *super().words(*flags)]


def barring(calls, code):
    return [PEERPIDFD if call == "peerpidfd" else f"{call}={code}" for call in calls]


@pytest.fixture
def without(sim):
    """Starts a daemon without these."""
    sim.configure(gpus=1, memory="1GiB")
    daemon = Without(sim)

    def start(barred):
        daemon.barred = barred
        return daemon.start()
    yield start
    if daemon.process:
        daemon.stop()


@pytest.fixture(params=[(name, code) for name in OLD for code in (errno.ENOSYS, errno.EPERM)],
                ids=lambda param: f"{param[0]}, {errno.errorcode[param[1]]}")
def old(request, without):
    name, code = request.param
    return without(barring(OLD[name], code))


def socket_of(sim, session):
    return sim.runtime / f"sessions/{session}/socket"


def test_it_says_what_is_missing(old):
    assert old.said().count("processes are held by their folders in /proc") == 1, old.said()


@pytest.mark.parametrize("code", (errno.ENOSYS, errno.EPERM), ids=errno.errorcode.get)
def test_doctor_says_so_too(sim, code):
    words = ["--", sim.build.folder / "src/cli/aliquot", "doctor"]
    for barred, is_said in (([f"pidfd_open={code}"], True), ([], False)):
        done = subprocess.run([sim.build.program("daemon/without"), *barred, *words], env=sim.env(), capture_output=True,
                              text=True, timeout=HANG_SECONDS, check=False)
        assert ("no pidfd_open" in done.stdout) == is_said, done


def test_nothing_is_said_where_nothing_is_missing(without):
    daemon = without([])
    if "pidfd_open" in daemon.said():
        pytest.skip("this kernel has no pidfds")
    assert "folders in /proc" not in daemon.said()


def test_who_joins_by_socket_lives_there_and_its_death_is_seen(sim, old):
    old.create("a", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION_SOCKET=socket_of(sim, "a")) as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        process, = old.get("/v1/sessions/a/processes").json
        assert process["pid"] == gpu.process.pid and process["cgroup"], process
        assert old.session("a")["devices"][0]["used_bytes"] >= 100 * MIB
        gpu.process.kill()
        wait_for(lambda: old.session("a")["processes"] == 0, old.said)
        wait_for(lambda: old.session("a")["devices"][0]["used_bytes"] == 0, old.said)


def test_an_ending_session_goes_when_its_last_program_has_died(sim, old):
    old.create("a", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION_SOCKET=socket_of(sim, "a")) as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        assert old.delete("/v1/sessions/a?force=true").status == 202
        assert old.session("a")["state"] == "ending"
        gpu.process.kill()
        wait_for(lambda: old.session("a") is None, old.said)


@pytest.mark.parametrize("ending, number", (("kill", signal.SIGKILL), ("term", signal.SIGTERM)))
def test_a_program_is_ended_with_its_session(sim, old, ending, number):
    old.create("a", gpus=["0"], on_end=ending)
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        assert old.delete("/v1/sessions/a?force=true").status in (202, 204)
        assert gpu.process.wait(HANG_SECONDS) == -number
    wait_for(lambda: old.session("a") is None, old.said)


def test_whose_a_process_on_a_gpu_is_is_known_all_the_same(sim, old):
    old.create("a", gpus=["0"])

    def holder():
        return [(one["pid"], one["session"]) for one in old.get("/v1/processes").json["processes"]]
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        wait_for(lambda: holder() == [(gpu.process.pid, "a")], old.said)
        gpu.process.kill()
        gpu.process.wait(HANG_SECONDS)
        wait_for(lambda: not holder(), old.said)


@pytest.mark.parametrize("call", ("open_tree", "mount_setattr"))
@pytest.mark.parametrize("code", (errno.ENOSYS, errno.EPERM), ids=errno.errorcode.get)
def test_without_read_only_mounts_it_goes_by_modes_and_says_so(sim, without, call, code):
    daemon = without([f"{call}={code}"])
    assert "no read-only mounts here" in daemon.said()
    assert daemon.get("/v1").json["limits_protection"] == "mode"
    daemon.create("a", gpus=["0"])
    answer = join(socket_of(sim, "a"), hello())
    assert answer.type == WELCOME and not answer.flags & READ_ONLY_MOUNT
    answer.close()
    doctor = sim.aliquot("doctor").stdout
    assert "as read-only files" in doctor or "can ask no daemon" in doctor, doctor
