# SPDX-License-Identifier: Apache-2.0
"""Whoever takes part in sharing a GPU's time may be stopped, or killed, at any step of it (docs/compute.md).

The daemon, the library and programs in virtual time: two programs in one capped session, one in another. One
thread of one of them is run to a step, so many system calls and instructions on (tests/kill/stop_step.c), and its
process is stopped there, or killed. The others have what is theirs meanwhile and afterwards; and so has whoever
goes on, or comes in its place. Nobody waits for a wake-up that was lost.
"""
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from company import POINT, US, Company
from daemon import HANG_SECONDS, wait_for

if "ALIQUOT_SANITIZER" in os.environ:
    pytest.skip("a sanitizer's own instructions would be stepped, too", allow_module_level=True)

CAP = 0.4
LOAD = {"kind": "kernel", "ns": 200 * US, "seconds": 100_000}
BOUND = 6 * POINT


def names_of_threads(pid):
    return [path.read_text().strip() for path in pathlib.Path(f"/proc/{pid}/task").glob("*/comm")]


class Scene(Company):
    """A victim and its neighbour in s0, and another session."""
    def __init__(self, sim):
        self.reached = 0
        super().__init__(sim, [{"compute": 100 * CAP}, {}], programs=3)
        for at in (0, 0, 1):
            self.load(at, **LOAD)
        self.watch()

    def watch(self):
        """What the sessions have of the next virtual second."""
        seen = self.observe(1)
        return seen.share("s0", 0.3, 1), seen.share("s1", 0.3, 1)

    def check(self, step, seconds=3):
        """Within so many seconds: a session may have saved a fifth of a second for the next one."""
        for _ in range(seconds):
            mine, other = self.watch()
            if abs(mine - CAP) < BOUND and abs(other - (1 - CAP)) < BOUND:
                return
        raise AssertionError((step, mine, other))

    def to_step(self, pid, thread, number, how):
        wait_for(lambda: thread in names_of_threads(pid), self.daemon.said)
        calls, instructions = number * 5 % 13, number * 137 % 1200
        result = subprocess.run([self.sim.build.folder / "tests/kill/stop-step", str(pid), thread, str(calls),
                                 str(instructions), str(int(how))], capture_output=True, text=True,
                                timeout=HANG_SECONDS)
        if result.returncode == 77:
            pytest.skip("another process may not be traced here")
        assert result.returncode == 0, result
        self.reached += result.stdout == "there\n"
        return thread, how.name, calls, instructions, result.stdout.strip()

    @property
    def victim(self):
        return self.programs[0]


@pytest.fixture
def scene(sim):
    scene = Scene(sim)
    yield scene
    assert scene.reached >= 3  # a thread may sleep for longer than is waited


HEARS = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
print("ready", flush=True)
while True:
    pass
"""


def is_traced(pid):
    return "TracerPid:\t0\n" not in pathlib.Path(f"/proc/{pid}/status").read_text()


def test_a_signal_that_comes_between_two_steps_is_not_lost(build):
    """Of the tool: a program that is run to a step is told what it would have been told without it."""
    with subprocess.Popen([sys.executable, "-c", HEARS], stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout.readline() == "ready\n"
            thread, = names_of_threads(program.pid)
            with subprocess.Popen([build.folder / "tests/kill/stop-step", str(program.pid), thread, "0", "300000",
                                   str(int(signal.SIGCONT))]) as tool:
                wait_for(lambda: is_traced(program.pid) or tool.poll() is not None)
                program.send_signal(signal.SIGUSR1)
                if tool.wait(HANG_SECONDS) == 77:
                    pytest.skip("another process may not be traced here")
            program.send_signal(signal.SIGTERM)
            assert program.stdout.read() == "heard\n"
        finally:
            program.kill()


@pytest.mark.parametrize("thread", ("load", "aliquot"))
def test_a_program_that_is_stopped_at_any_step_holds_nobody_up(scene, thread):
    for number in range(10):
        step = scene.to_step(scene.victim.pid, thread, number, signal.SIGSTOP)
        scene.check(step)
        scene.victim.send_signal(signal.SIGCONT)
        scene.check(step)


@pytest.mark.parametrize("thread", ("load", "aliquot"))
def test_a_program_that_is_killed_at_any_step_holds_nobody_up(scene, thread):
    for number in range(8):
        step = scene.to_step(scene.victim.pid, thread, number, signal.SIGKILL)
        scene.victim.wait(HANG_SECONDS)  # a busy machine takes its time to end it
        scene.check(step)
        del scene.programs[0]
        scene.load(0, **LOAD)
        scene.programs.insert(0, scene.programs.pop())


def test_a_scheduler_that_is_stopped_at_any_step_is_not_waited_for(scene):
    """After half a second every session goes by its own cap. When it goes on it is obeyed again, and
    the time that it was away is nobody's."""
    for number in range(8):
        step = scene.to_step(scene.daemon.process.pid, "aliquot-sched", number, signal.SIGSTOP)
        scene.watch()
        mine, other = scene.watch()
        assert mine < CAP + BOUND and mine + other > 0.9, (step, mine, other)
        scene.daemon.process.send_signal(signal.SIGCONT)
        scene.check(step)


def test_a_scheduler_that_is_killed_at_any_step_is_followed_by_another(scene):
    for number in range(4):
        step = scene.to_step(scene.daemon.process.pid, "aliquot-sched", number, signal.SIGKILL)
        scene.watch()
        scene.daemon.process.wait(HANG_SECONDS)
        scene.daemon.start()
        scene.check(step, seconds=10)
