# SPDX-License-Identifier: Apache-2.0
"""What the driver takes beyond what it was asked for is measured by NVML, and charged (docs/memory-remainder.md).

The simulator grants by a driver's own rules: a block of 1 MiB and a byte takes 2 MiB.
"""
import sys
import time

import pytest

from hang import LOOKED_SECONDS
from script import KIB, MIB, OUT_OF_MEMORY, SUCCESS, Script

CONTEXT = 16 * MIB
BLOCK = MIB + 1


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


def test_a_limit_is_not_passed_by_more_than_a_page(hardware):
    """By however many blocks, and however quickly."""
    room = 240 * MIB
    with limited(hardware, room) as gpu:
        taken = fill_with(gpu, f"alloc {{}} {BLOCK}")
        assert room <= PAGE * (taken + 1)
        assert gpu.look().granted <= CONTEXT + room + PAGE


SMALL = 64 * KIB
PAGE = 2 * MIB
TRIES = 500


def at_once(gpu, lines):
    """The codes of many calls, made more quickly than NVML is asked by the clock."""
    gpu.send(*lines)
    return [int(gpu.hear()[0]) for _ in lines]


def fill_with(gpu, line, tries=TRIES):
    """How many of them there was room for."""
    return at_once(gpu, [line.format(number + 1) for number in range(tries)]).count(SUCCESS)


def test_small_arrays_take_a_page_each_and_pass_no_limit(hardware):
    """By more than the page of the last one."""
    with limited(hardware, 64 * MIB) as gpu:
        assert fill_with(gpu, "array {} 128 64 0") in (32, 33)
        assert gpu.look().granted <= CONTEXT + 64 * MIB + PAGE


def test_each_program_of_a_session_holds_little_that_was_not_looked_at(hardware):
    room = 256 * MIB
    variables = {"ALIQUOT_MEMORY": str(3 * CONTEXT + room), "ALIQUOT_SESSION": "three"}
    with Script(hardware, **variables).ready() as one, Script(hardware, **variables).ready() as two, \
            Script(hardware, **variables).ready() as three:
        programs, taken = [one, two, three], 0
        while programs:
            for gpu in programs[:]:
                if gpu.code(f"array {taken + 1} 128 64 0") != SUCCESS:
                    programs.remove(gpu)
                taken += 1
        assert sum(gpu.look().granted for gpu in (one, two, three)) <= 3 * (CONTEXT + 4 * MIB + PAGE) + room


def test_pages_with_holes_are_charged_before_what_comes_next(hardware):
    """Of pages that are full of small blocks all but one each are freed: the pages stay taken."""
    room, of_a_page = 16 * MIB, PAGE // SMALL
    with limited(hardware, room) as gpu:
        count = fill_with(gpu, f"alloc {{}} {SMALL}", 2 * room // SMALL)
        assert count > (room - PAGE) // SMALL, "the rest of the last page is taken, so it is charged"
        frees = [f"free {number + 1}" for number in range(count) if number % of_a_page]
        assert at_once(gpu, [*frees, f"alloc 1 {8 * MIB}"]) == [SUCCESS] * len(frees) + [OUT_OF_MEMORY]
        assert gpu.look().granted <= CONTEXT + room


@pytest.mark.parametrize("whole", ("alloc 1 {}", "async 1 {} 0"))
def test_what_was_given_back_can_be_had_at_once(hardware, whole):
    """Pages that were charged beyond what was asked are no reason to refuse when they are back, of memory or of a pool."""
    large = PAGE + 1
    with limited(hardware, 64 * MIB) as gpu:
        gpu.do("stream 0")
        assert fill_with(gpu, f"alloc {{}} {large}") == 16
        assert at_once(gpu, ["info", *(f"free {number + 1}" for number in range(16)), whole.format(64 * MIB)]) == [SUCCESS] * 18


def test_nvml_that_does_not_answer_is_not_asked_for_each_block(hardware):
    """It fails 200 times from some question on: 300 blocks, made in no time, do not wait for so many."""
    hardware.configure(fail="nvmlDeviceGetComputeRunningProcesses:8:999:200")
    with limited(hardware, 900 * MIB) as gpu:
        assert fill_with(gpu, "array {} 128 64 0", 300) == 300
        books = gpu.look()
        assert books.charged < books.granted - 300 * MIB, "it was not asked often enough to answer again"


def test_what_graphs_have_reserved_hides_nothing_of_what_is_taken(hardware):
    """It is launched, and waits in its stream: the driver has taken its memory."""
    graph = 64 * MIB
    with limited(hardware, 256 * MIB) as gpu:
        gpu.do("gates", "stream 1", f"graph 1 {graph} 0", "gate 1 1", "launch 1 1")
        before = gpu.look()
        assert before.charged >= CONTEXT + graph
        take(gpu, 20)
        time.sleep(LOOKED_SECONDS)
        gpu.values("info")
        books = gpu.look()
        assert books.charged == books.granted == before.granted + 40 * MIB
        gpu.do("open 1", "sync 1")


def test_a_program_is_told_what_is_free_by_what_is_taken(hardware):
    with limited(hardware, 256 * MIB) as gpu:
        take(gpu, 5)
        assert gpu.values("info")[0] == 256 * MIB - 5 * PAGE
        gpu.do("free 1")
        assert gpu.values("info")[0] == 256 * MIB - 4 * PAGE


STACKS = """
from driver import Driver, STACK_SIZE
gpu = Driver().ready()
gpu.call("cuCtxSetLimit", STACK_SIZE, 4096)
print(gpu.alloc_code(1))
gpu.call("cuCtxSetLimit", STACK_SIZE, 1024)
print(gpu.alloc_code(1), flush=True)
"""


def test_a_program_that_replaces_itself_has_all_of_its_limit_again(hardware):
    """The driver gives back what it had before exec() a little later: that is nothing that the new one took."""
    hardware.configure(draining="300ms")
    with limited(hardware, 240 * MIB) as gpu:
        gpu.do(f"alloc 1 {200 * MIB}", "exec")
        gpu.ready().do(f"alloc 1 {200 * MIB}")
        assert gpu.look().charged == CONTEXT + 200 * MIB


def test_who_is_over_the_limit_is_refused_until_enough_was_given_back(hardware, tmp_path):
    """Stacks: the driver takes 3 KiB more for each thread that the card can run."""
    program = tmp_path / "stacks.py"
    program.write_text(STACKS)
    result = hardware.run([sys.executable, "-B", program], preload=True, ALIQUOT_MEMORY=str(CONTEXT + 256 * MIB),
                          PYTHONPATH=str(hardware.build.source / "tests/gpu/programs"))
    assert (result.rc, result.stdout.split()) == (0, [str(OUT_OF_MEMORY), str(SUCCESS)]), result


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


LAZY = """
import sys
from ctypes import byref, c_char_p, c_void_p
from driver import MIB, PTX, Driver
gpu, library = Driver().ready(), c_void_p()
gpu.call("cuLibraryLoadData", byref(library), c_char_p(PTX), None, None, 0, None, None, 0)
kernel = c_void_p(gpu.value(c_void_p, "cuLibraryGetKernel", library, c_char_p(b"nothing")))
gpu.free(gpu.alloc(1))  # NVML is asked now, and not by the clock for a while
before = gpu.info()[0]
assert gpu.launch(kernel) == 0
if sys.argv[1] == "view":
    print(before - gpu.info()[0] >= 32 * MIB)
else:
    print(gpu.alloc_code(before - 32 * MIB + 1) != 0)
"""


@pytest.mark.parametrize("first", ("view", "grant"))
@pytest.mark.parametrize("question", ("0us", "2ms"))
def test_code_that_a_launch_loads_is_charged_before_the_next_memory_is_granted(hardware, tmp_path, first, question):
    """PyTorch's first fill of a tensor loads 92 MiB (H200, 2026-11-27). However long NVML takes to answer."""
    hardware.configure(ptx="noop", process_list=question)
    program = tmp_path / "lazy.py"
    program.write_text(LAZY)
    result = hardware.run([sys.executable, "-B", program, first], preload=True, ALIQUOT_MEMORY=str(CONTEXT + 256 * MIB),
                          PYTHONPATH=str(hardware.build.source / "tests/gpu/programs"))
    assert (result.rc, result.stdout.split()) == (0, ["True"]), result


HEAP = 64 * MIB
MALLOCS = """.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 n);
.visible .entry f() { ret; }
"""


@pytest.fixture
def mallocs(hardware, tmp_path):
    """A module that needs the heap."""
    hardware.configure(ptx="noop")
    module = tmp_path / "mallocs.ptx"
    module.write_text(MALLOCS)
    return module


def test_a_heap_that_is_set_hides_nothing_before_and_after_it_is_taken(hardware, mallocs):
    """It is charged when the limit is set, and the driver takes it with the first module that needs it."""
    with limited(hardware, 512 * MIB) as gpu:
        gpu.do(f"heap {8 * MIB + HEAP}")
        assert gpu.look()[:2] == (CONTEXT + HEAP, CONTEXT)
        take(gpu, 20)
        gpu.values("info")
        assert gpu.look()[:2] == (CONTEXT + HEAP + 40 * MIB, CONTEXT + 40 * MIB)
        gpu.do(f"module-file 1 {mallocs}")
        charged, granted, *_ = gpu.look()
        assert charged == granted > CONTEXT + HEAP + 40 * MIB
        gpu.do("free 1")
        gpu.values("info")
        assert gpu.look()[:2] == (charged - 2 * MIB, granted - 2 * MIB)
        gpu.do("destroy 0")
        assert gpu.look()[:2] == (0, 0)


def test_each_context_has_a_heap_that_is_charged_once(hardware, mallocs):
    with limited(hardware, 512 * MIB) as gpu:
        gpu.do(f"heap {8 * MIB + HEAP}", "context 1 0", f"heap {8 * MIB + HEAP}", f"module-file 1 {mallocs}",
               "current 0", f"module-file 2 {mallocs}")
        gpu.values("info")
        charged, granted, *_ = gpu.look()
        assert charged == granted > 2 * (CONTEXT + HEAP)


def test_a_heap_goes_with_its_context_untaken(hardware):
    with limited(hardware, 512 * MIB) as gpu:
        gpu.do(f"heap {8 * MIB + HEAP}", "destroy 0", "context 0 0")
        take(gpu, 20)
        gpu.values("info")
        assert gpu.look()[:2] == (CONTEXT + 40 * MIB, CONTEXT + 40 * MIB)
