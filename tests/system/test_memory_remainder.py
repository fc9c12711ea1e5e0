# SPDX-License-Identifier: Apache-2.0
"""What the driver takes beyond what it was asked for is measured by NVML, and charged (docs/memory.md).

The simulator grants by a driver's own rules: a block of 1 MiB and a byte takes 2 MiB.
"""
import itertools
import sys
import time

import pytest

from script import MIB, OUT_OF_MEMORY, SUCCESS, Script

CONTEXT = 16 * MIB
BLOCK = MIB + 1
STEP = 32 * MIB  # what is charged more than ever by this is looked at
LOOKED_SECONDS = 0.05  # NVML is asked each 20 ms at most


@pytest.fixture
def hardware(sim):
    return sim.configure(grants="real", context=f"{CONTEXT}")


def limited(sim, room, **variables):
    return Script(sim, ALIQUOT_MEMORY=str(CONTEXT + room), **variables).ready()


def take(gpu, count):
    for number in range(count):
        assert gpu.code(f"alloc {number + 1} {BLOCK}") == SUCCESS, number


def test_what_is_taken_beyond_what_is_asked_is_charged_at_the_next_look(hardware):
    with limited(hardware, 256 * MIB) as gpu:
        take(gpu, 20)
        time.sleep(LOOKED_SECONDS)
        free, _ = gpu.values("info")
        books = gpu.look()
        assert books.charged == books.granted == CONTEXT + 40 * MIB
        assert free == 256 * MIB - 40 * MIB


def test_a_limit_is_not_passed_by_more_than_a_step(hardware):
    """By however many blocks, and however quickly."""
    with limited(hardware, 256 * MIB) as gpu:
        taken = next(number for number in itertools.count() if gpu.code(f"alloc {number + 1} {BLOCK}") != SUCCESS)
        assert 256 * MIB <= 2 * MIB * (taken + 1)
        assert gpu.look().granted <= CONTEXT + 256 * MIB + STEP


def test_who_is_over_the_limit_is_refused_until_enough_was_given_back(hardware):
    with limited(hardware, 48 * MIB) as gpu:
        take(gpu, 28)
        time.sleep(LOOKED_SECONDS)
        assert gpu.code(f"alloc 29 {BLOCK}") == OUT_OF_MEMORY
        for number in range(20):
            gpu.do(f"free {number + 1}")
        time.sleep(LOOKED_SECONDS)
        assert gpu.code(f"alloc 29 {BLOCK}") == SUCCESS


def test_it_goes_with_the_context(hardware):
    with limited(hardware, 256 * MIB) as gpu:
        take(gpu, 20)
        time.sleep(LOOKED_SECONDS)
        gpu.values("info")
        gpu.do("destroy 0")
        assert gpu.look().charged == gpu.look().granted == 0


@pytest.mark.parametrize("variables", ({"ALIQUOT_REAL_LIBNVML": "/none"}, {"ALIQUOT_CONTEXT": "free"}), ids=("no NVML", "free"))
def test_where_it_is_not_measured_what_is_asked_is_charged(hardware, variables):
    with limited(hardware, 256 * MIB, **variables) as gpu:
        before = gpu.look().charged
        take(gpu, 20)
        time.sleep(LOOKED_SECONDS)
        gpu.values("info")
        assert gpu.look().charged == before + 20 * BLOCK


def test_managed_memory_is_charged_as_asked_wherever_it_is(hardware):
    """NVML shows it of no process."""
    with limited(hardware, 256 * MIB) as gpu:
        gpu.do(f"managed 100 {64 * MIB}")
        take(gpu, 20)
        time.sleep(LOOKED_SECONDS)
        gpu.values("info")
        assert gpu.look().charged == CONTEXT + 64 * MIB + 40 * MIB
        gpu.do("free 100")
        time.sleep(LOOKED_SECONDS)
        gpu.values("info")
        assert gpu.look().charged == CONTEXT + 40 * MIB


RESTLESS = """
import sys, threading, time
from driver import Driver
gpu = Driver().ready()
def churn():
    gpu.call("cuCtxSetCurrent", gpu.context)
    while True:
        gpu.free(gpu.alloc(1 << 16))
for _ in range(3):
    threading.Thread(target=churn, daemon=True).start()
blocks = [gpu.alloc((1 << 20) + 1) for _ in range(20)]
end = time.monotonic() + 60
while gpu.info()[0] > int(sys.argv[1]) and time.monotonic() < end:
    time.sleep(0.001)
print(gpu.info()[0], flush=True)
import os; os._exit(0)
"""


def test_a_program_that_never_stands_still_hides_nothing(hardware, tmp_path):
    """NVML is asked while charges come and go: so much at least is taken, by several answers."""
    program = tmp_path / "restless.py"
    program.write_text(RESTLESS)
    room = 256 * MIB
    wanted = room - 36 * MIB  # of 40 MiB that are taken; 20 are asked for
    result = hardware.run([sys.executable, "-B", program, str(wanted)], preload=True, ALIQUOT_MEMORY=str(CONTEXT + room),
                          PYTHONPATH=str(hardware.build.source / "tests/gpu/programs"))
    assert result.rc == 0, result
    assert int(result.stdout) <= wanted


CLOSES = """
import ctypes, os, time
from driver import Driver
gpu = Driver().ready()
nvml = ctypes.CDLL("libnvidia-ml.so.1")
while nvml.nvmlShutdown() == 0:
    pass
blocks = [gpu.alloc((1 << 20) + 1) for _ in range(20)]
time.sleep(0.05)
print(gpu.info()[0], flush=True)
os._exit(0)
"""


def test_a_program_that_shuts_nvml_down_is_measured_on(hardware, tmp_path):
    program = tmp_path / "closes.py"
    program.write_text(CLOSES)
    room = 256 * MIB
    result = hardware.run([sys.executable, "-B", program], preload=True, ALIQUOT_MEMORY=str(CONTEXT + room),
                          PYTHONPATH=str(hardware.build.source / "tests/gpu/programs"))
    assert result.rc == 0, result
    assert int(result.stdout) == room - 40 * MIB
