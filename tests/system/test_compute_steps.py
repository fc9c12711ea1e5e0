# SPDX-License-Identifier: Apache-2.0
"""Whoever takes part in sharing a GPU's time may be stopped, or killed, at any step of it (docs/compute.md).

The daemon, the library and programs in virtual time: two programs in one capped session, one in another. One
thread of one of them is run to a step, so many system calls and instructions on or to a function of the slow path
(tests/kill/stop_step.c), and its process is stopped there, or killed. The others have what is theirs meanwhile and afterwards; and so has whoever
goes on, or comes in its place. Nobody waits for a wake-up that was lost.
"""
import functools
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from company import POINT, US, Company
from daemon import HANG_SECONDS, wait_for
from node import finished

if "ALIQUOT_SANITIZER" in os.environ:
    pytest.skip("a sanitizer's own instructions would be stepped, too", allow_module_level=True)

CAP = 0.4
LOAD = {"kind": "kernel", "ns": 200 * US, "seconds": 100_000}
BOUND = 6 * POINT


def names_of_threads(pid):
    return [path.read_text().strip() for path in pathlib.Path(f"/proc/{pid}/task").glob("*/comm")]


# Where a thread of the program, and the helper, are at a step of src/shim/time.
PROGRAM_STEPS = {
    "load": {"asks for its turn": "gate_wait_turn", "gate closed": "account_want", "turn held": "stream_use",
             "flight begins": "account_begin", "round closed": "window_close", "markers placed": "device_mark",
             "threads fenced": "turn_end", "flight over": "account_end", "stuck": "stuck_for_long"},
    "aliquot": {"looks": "device_look", "account settled": "account_settle", "drain asked": "drain_tend"},
}
# And aliquot-sched, in src/daemon/schedule and src/core.
SCHEDULER_STEPS = {"pages heard": "members_hear", "turn dealt": "turn_decide", "turn closed": "turn_close",
                   "drain asked": "drain_begin", "drain said": "drain_said", "page told": "seat_tell"}
INTO_IT = (0, 40)  # instructions


def address_of(pid, build, name):
    """Of a function of the library, or of the daemon, in a process that runs; None: it has neither yet."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        *_, offset, _, _, path = line.split(maxsplit=5) if line.count("/") else [None] * 4
        if path in (str(build.library), str(build.folder / "src/daemon/aliquotd")) and int(offset, 16) == 0:
            return int(line.split("-")[0], 16) + symbols_of(path)[name]
    return None


@functools.cache
def symbols_of(path):
    listed = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {name: int(at, 16) for at, kind, name in map(str.split, listed.splitlines()) if kind in "tT"}


class Scene(Company):
    """A victim and its neighbour in s0, and another session."""
    def __init__(self, sim):
        self.reached, self.is_barred = 0, False
        super().__init__(sim, [{"compute": 100 * CAP}, {}], programs=3)
        for at in (0, 0, 1):
            self.load(at, **LOAD)
        self.watch()

    def watch(self):
        """What the sessions have of the next virtual second."""
        seen = self.observe(1)
        return seen.share("s0", 0.3, 1), seen.share("s1", 0.3, 1)

    def check(self, step, seconds=1):
        """Within so many seconds. Who goes on in its session waits for nothing of a program's that was stopped."""
        for _ in range(seconds):
            mine, other = self.watch()
            if abs(mine - CAP) < BOUND and abs(other - (1 - CAP)) < BOUND:
                return
        raise AssertionError((step, mine, other))

    def to_step(self, pid, thread, number, how):
        return self.run_to(pid, thread, str(number * 5 % 13), number * 137 % 1200, how)

    def to_function(self, pid, thread, name, instructions, how):
        """Just before the function, or so many instructions into it."""
        wait_for(lambda: address_of(pid, self.sim.build, name), self.daemon.said)
        step = self.run_to(pid, thread, f"@{address_of(pid, self.sim.build, name):x}", instructions, how)
        assert step[-1] == "there", (name, step)
        return name, *step

    def run_to(self, pid, thread, where, instructions, how):
        wait_for(lambda: thread in names_of_threads(pid), self.daemon.said)
        result = subprocess.run([self.sim.build.folder / "tests/kill/stop-step", str(pid), thread, where,
                                 str(instructions), str(int(how))], capture_output=True, text=True,
                                timeout=HANG_SECONDS)
        if result.returncode == 77:
            self.is_barred = True
            pytest.skip(f"another process may not be traced here: {result.stderr.strip()}")
        assert result.returncode == 0, result
        self.reached += result.stdout == "there\n"
        return thread, how.name, where, instructions, result.stdout.strip()

    def replace_victim(self, step):
        """It was killed."""
        self.victim.wait(HANG_SECONDS)  # a busy machine takes its time to end it
        self.check(step)
        del self.programs[0]
        self.load(0, **LOAD)
        self.programs.insert(0, self.programs.pop())

    def do_without_scheduler(self, step):
        self.watch()
        mine, other = self.watch()
        assert mine < CAP + BOUND and mine + other > 0.9, (step, mine, other)

    def follow_scheduler(self, step):
        """It was killed."""
        self.watch()
        self.daemon.process.wait(HANG_SECONDS)
        self.daemon.start()
        self.check(step, seconds=10)

    @property
    def victim(self):
        return self.programs[0]


@pytest.fixture
def scene(sim):
    scene = Scene(sim)
    yield scene
    assert scene.is_barred or scene.reached >= 3  # a thread may sleep for longer than is waited


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
        scene.replace_victim(step)


@pytest.mark.parametrize("thread", PROGRAM_STEPS)
def test_a_program_that_is_stopped_in_the_slow_path_holds_nobody_up(scene, thread):
    for name in PROGRAM_STEPS[thread].values():
        for instructions in INTO_IT:
            step = scene.to_function(scene.victim.pid, thread, name, instructions, signal.SIGSTOP)
            scene.check(step)
            scene.victim.send_signal(signal.SIGCONT)
            scene.check(step)


@pytest.mark.parametrize("thread", PROGRAM_STEPS)
def test_a_program_that_is_killed_in_the_slow_path_holds_nobody_up(scene, thread):
    """Its turn is taken back."""
    for number, name in enumerate(PROGRAM_STEPS[thread].values()):
        step = scene.to_function(scene.victim.pid, thread, name, INTO_IT[number % 2], signal.SIGKILL)
        scene.replace_victim(step)


def test_a_program_that_is_stopped_as_it_answers_a_hold_is_not_waited_for(sim, scene):
    """Whoever holds the session again and again takes each hold back that is not answered, and the others of the node go on."""
    for instructions in (0, 40, 400):
        holder = sim.start([sim.build.program("compute/hold"), sim.runtime / "sessions/s0", "10", "20", "5", "200"])
        step = scene.to_function(scene.victim.pid, "aliquot", "fence_all", instructions, signal.SIGSTOP)
        _, other = scene.watch()
        assert other > 1 - CAP - BOUND, (step, other)
        scene.victim.send_signal(signal.SIGCONT)
        assert finished(holder, scene.daemon.said)["drained"] > 0, step
        scene.check(step)


def test_a_scheduler_that_is_stopped_where_it_deals_turns_is_not_waited_for(scene):
    for number, name in enumerate(SCHEDULER_STEPS.values()):
        step = scene.to_function(scene.daemon.process.pid, "aliquot-sched", name, INTO_IT[number % 2], signal.SIGSTOP)
        scene.do_without_scheduler(step)
        scene.daemon.process.send_signal(signal.SIGCONT)
        scene.check(step, seconds=3)


def test_a_scheduler_that_is_killed_where_it_deals_turns_is_followed_by_another(scene):
    for number, name in enumerate(SCHEDULER_STEPS.values()):
        step = scene.to_function(scene.daemon.process.pid, "aliquot-sched", name, INTO_IT[number % 2], signal.SIGKILL)
        scene.follow_scheduler(step)


def test_a_scheduler_that_is_stopped_at_any_step_is_not_waited_for(scene):
    """After half a second every session goes by its own cap. When it goes on it is obeyed again, and
    the time that it was away is nobody's."""
    for number in range(8):
        step = scene.to_step(scene.daemon.process.pid, "aliquot-sched", number, signal.SIGSTOP)
        scene.do_without_scheduler(step)
        scene.daemon.process.send_signal(signal.SIGCONT)
        scene.check(step, seconds=3)


def test_a_scheduler_that_is_killed_at_any_step_is_followed_by_another(scene):
    for number in range(4):
        step = scene.to_step(scene.daemon.process.pid, "aliquot-sched", number, signal.SIGKILL)
        scene.follow_scheduler(step)
