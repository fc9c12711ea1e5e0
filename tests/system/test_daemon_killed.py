# SPDX-License-Identifier: Apache-2.0
"""SIGKILL for the daemon at each step of each thing it does, while programs work in its sessions.

tests/kill/kill_daemon.c says what a step is. After each death: who was answered finds it so, what was
not answered is there whole or not at all, pages say what the API says, no program has had an error, and
the ledger is what the simulator's own books granted.
"""
import http.client
import os
import shutil
import signal
import subprocess

import pytest

from daemon import HANG_SECONDS, Daemon, wait_for
from script import MIB, Script
from wallclock import WallClock

if "ALIQUOT_SANITIZER" in os.environ:
    pytest.skip("a sanitizer's own system calls would be counted, too", allow_module_level=True)

STEPS_MAX = 400  # far more than anything takes
LOAD = """
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include "abi/cuda.h"
#define HELD 8
/* Takes and gives back until a line comes in; tells its calls and errors, and goes on at the next. */
int main(void)
{
        CUdeviceptr held[HELD] = { 0 };
        unsigned long calls = 0, errors = 0;
        CUcontext context;
        if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
                return 1;
        for (struct pollfd input = { 0, POLLIN, 0 };; calls++) {
                CUdeviceptr *one = &held[rand() % HELD];
                if (*one) {
                        errors += cuMemFree_v2(*one) != 0;
                        *one = 0;
                } else {
                        errors += cuMemAlloc_v2(one, 1 + rand() % 65536) != 0;
                }
                if (poll(&input, 1, 1) == 1) {
                        if (getchar() == EOF)
                                return 0;
                        printf("%lu %lu\\n", calls, errors);
                        fflush(stdout);
                        if (getchar() == EOF)
                                return 0;
                }
        }
}
"""


class Load:
    """Programs that take and give back all the while, each in a session of its own."""
    def __init__(self, daemon, program):
        self.daemon, self.names = daemon, ["load-0", "load-1"]
        for name in self.names:
            daemon.create(name, gpus=["0"])
        self.programs = [daemon.sim.start([program], preload=True, ALIQUOT_SESSION=name) for name in self.names]

    def say(self, program):
        program.stdin.write("\n")
        program.stdin.flush()

    def check(self):
        """Stands still, compares, and goes on."""
        for program in self.programs:
            self.say(program)
            calls, errors = map(int, program.stdout.readline().split())
            assert calls and not errors, (calls, errors)
        granted = self.daemon.sim.oracle()["tags"]
        for name in self.names:
            used = self.daemon.session(name)["devices"][0]["used_bytes"]
            assert used == granted[name][0]["current_bytes"], name
        for program in self.programs:
            self.say(program)


@pytest.fixture
def daemon(sim):
    sim.configure(memory="4GiB", context=1 * MIB)
    return Daemon(sim, "[daemon]\nlog = warn\n").start()


@pytest.fixture
def load(daemon, compile_c):
    return Load(daemon, compile_c("load", LOAD, "-L", daemon.sim.build.driver, "-l:libcuda.so.1"))


class Killer:
    """Counts the daemon's steps and kills it before the `last`."""
    def __init__(self, daemon, last, *what, **variables):
        tool = daemon.sim.build.folder / "tests/kill/kill-daemon"
        words = [str(word) for word in (tool, last, *(what or [daemon.process.pid]))]
        self.process = subprocess.Popen(words, env=daemon.sim.env(ALIQUOT_SIM=None, **variables), cwd=daemon.sim.folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ready, _, self.pid = self.process.stdout.readline().partition(" ")
        if ready != "ready":
            self.process.wait(HANG_SECONDS)
            if self.process.returncode == 77:
                pytest.skip(f"no debugging here: {self.process.stderr.read().strip()}")
            raise AssertionError(self.process.stderr.read())

    def has_ended(self):
        return self.process.poll() is not None

    def end(self):
        """Of a daemon that it has started, by a kill from outside if need be; what count() gives."""
        if not self.has_ended():
            os.kill(int(self.pid), signal.SIGKILL)
        return self.count()

    def count(self):
        """When the daemon has ended."""
        self.process.wait(HANG_SECONDS)
        assert self.process.returncode == 0, self.process.stderr.read()
        return int(self.process.stdout.read())  # communicate() would pass by what came along with "ready"


def attempt(daemon, method, path, body=None):
    """The status; None without an answer."""
    try:
        return daemon.ask(method, path, body).status
    except (OSError, http.client.HTTPException):
        return None


def limit_in_page(daemon, name, bytes_):
    return bytes_.to_bytes(8, "little") in (daemon.sim.runtime / "sessions" / name / "limits").read_bytes()


def is_created(daemon):
    session = daemon.session("x")
    assert session is None or (session["devices"][0]["memory_bytes"] == 64 * MIB and limit_in_page(daemon, "x", 64 * MIB))
    return session is not None


def is_changed(daemon):
    session = daemon.session("x")
    bytes_ = session["devices"][0]["memory_bytes"]
    assert (bytes_, session["version"]) in ((64 * MIB, 1), (192 * MIB, 2)), session
    assert limit_in_page(daemon, "x", bytes_) and session["labels"] == ({"a": "b"} if session["version"] == 2 else {})
    return session["version"] == 2


def is_renewed(daemon):
    session = daemon.session("x")
    assert session["ttl_seconds"] in (3600, 7200), session
    return session["ttl_seconds"] == 7200


def is_gone(daemon):
    wait_for(lambda: (daemon.session("x") or {}).get("state", "open") == "open", daemon.said)
    return daemon.session("x") is None


X = {"name": "x", "memory": 64 * MIB, "ttl": "1h", "gpus": ["0"]}
TRANSACTIONS = {
    "create": (None, ("POST", "/v1/sessions", X), is_created),
    "change": (X, ("PATCH", "/v1/sessions/x", {"memory": 192 * MIB, "labels": {"a": "b"}}), is_changed),
    "renew": (X, ("POST", "/v1/sessions/x/renew", {"ttl": "2h"}), is_renewed),
    "release": (X, ("DELETE", "/v1/sessions/x", None), is_gone),
}


def check_whole(daemon, expected):
    """Sessions, folders and promises are the same sessions."""
    wait_for(lambda: daemon.names() == daemon.folders(), daemon.said)
    assert daemon.names() == sorted(expected)
    sessions = daemon.get("/v1/sessions").json["sessions"]
    assert daemon.get("/v1/devices").json["devices"][0]["promised_bytes"] == \
        sum(one["devices"][0]["memory_bytes"] for one in sessions)


def take_back(daemon):
    daemon.delete("/v1/sessions/x?force=true")
    wait_for(lambda: daemon.session("x") is None, daemon.said)


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_a_transaction_is_whole_or_was_not_answered(daemon, load, name):
    before, request, has_happened = TRANSACTIONS[name]
    outcomes = set()
    for last in range(1, STEPS_MAX):
        if before:
            daemon.create(**before)
        killer = Killer(daemon, last)
        status = attempt(daemon, *request)
        assert status is None or 200 <= status < 300, status
        daemon.kill()
        steps = killer.count()
        daemon.start()
        happened = has_happened(daemon)
        assert happened or status is None, f"answered with {status} before step {last}, and not so"
        outcomes.add((happened, status is not None))
        check_whole(daemon, load.names + ["x"] * (daemon.session("x") is not None))
        load.check()
        take_back(daemon)
        if steps < last:
            break
    assert 5 < steps < last, f"{steps} steps"
    assert {(False, False), (True, False), (True, True)} <= outcomes, "a death before, in between, and after"


def test_an_ending_by_force_goes_on_after_any_death(daemon, load):
    """Its program is told to go, once or twice; nobody else is."""
    for last in range(1, STEPS_MAX):
        daemon.create(**X, on_end="kill")
        with Script(daemon.sim, ALIQUOT_SESSION="x") as gpu:
            gpu.ready()
            killer = Killer(daemon, last)
            status = attempt(daemon, "DELETE", "/v1/sessions/x?force=true")
            wait_for(lambda: killer.has_ended() or attempt(daemon, "GET", "/v1/sessions/x") == 404, daemon.said)
            daemon.kill()
            steps = killer.count()
            daemon.start()
            session = daemon.session("x")  # its end may come just now
            if status is not None or session is None or session["state"] != "open":
                assert gpu.process.wait(HANG_SECONDS) == -9
                wait_for(lambda: daemon.session("x") is None, daemon.said)
            else:
                gpu.do("alloc 1 1048576")
                take_back(daemon)
        check_whole(daemon, load.names)
        load.check()
        if steps < last:
            break
    assert 10 < steps < last, f"{steps} steps"


def test_a_start_can_be_killed_at_any_step(daemon, load):
    """One that has to end a session whose time is over, and to make another again that lost its folder."""
    clock = WallClock(daemon.sim)
    for last in range(1, STEPS_MAX):
        daemon.create("over", 64 * MIB, ttl="1h", gpus=["0"])
        daemon.create("lost", 64 * MIB, gpus=["0"])
        daemon.kill()
        shutil.rmtree(daemon.sim.runtime / "sessions/lost")
        clock.ahead(hours=2)
        killer = Killer(daemon, last, "--", *daemon.words(), **clock.variables)
        wait_for(lambda: killer.has_ended() or attempt(daemon, "GET", "/v1/sessions/over") == 404, daemon.said)
        steps = killer.end()
        daemon.start(**clock.variables)
        wait_for(lambda: daemon.session("over") is None, daemon.said)
        check_whole(daemon, [*load.names, "lost"])
        load.check()
        daemon.delete("/v1/sessions/lost")
        clock.ahead(hours=0)
        if steps < last:
            break
    assert 20 < steps < last, f"{steps} steps"
