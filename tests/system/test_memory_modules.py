# SPDX-License-Identifier: Apache-2.0
"""Memory of modules: code, and the variables of it that begin as zeros and are in no file."""
import sys
import time

import pytest

from daemon import wait_for
from fatbinary import CUBIN, LZ4, PART, PTX, ZSTANDARD, fat_binary, head, part_head
from script import MIB, OUT_OF_MEMORY, Script

LIMIT = 256 * MIB
SOURCE = """
#include "sim/aliquot_sim.h"
__attribute__((visibility("default"))) char big[100 << 20];
ALIQUOT_SIM_KERNEL(touch, 8) { big[0] = 1; }
"""
WAYS = {"module-file": "end-module", "module-data": "end-module", "library-data": "end-library"}


@pytest.fixture(name="image")
def make_image(compile_c):
    return compile_c("big.so", SOURCE, "-shared", "-fPIC")


@pytest.mark.parametrize("load", WAYS)
def test_variables_of_zeros_are_charged(sim, image, load):
    """A2: a small file with 100 MiB of zeros takes 100 MiB, and is refused a third time."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        before = gpu.ready().look()
        gpu.do(f"{load} 1 {image}")
        books = gpu.look()
        assert books.charged == books.granted > before.charged + 100 * MIB
        gpu.do(f"{load} 2 {image}")
        assert gpu.code(f"{load} 3 {image}") == OUT_OF_MEMORY
        books = gpu.look()
        assert books.charged == books.granted
        assert books.high <= LIMIT
        gpu.do(f"{WAYS[load]} 1", f"{load} 3 {image}", f"{WAYS[load]} 2", f"{WAYS[load]} 3")
        assert gpu.look()[:2] == before[:2]


HOPPER = "h200"
FAT = {
    "machine-code": ([(CUBIN, 80, 0, 0), (CUBIN, 90, 0, 0), (PTX, 90, 0, 0), (CUBIN, 100, 0, 0)], PART),
    "compressed": ([(CUBIN, 80, 0, 0), (CUBIN, 90, ZSTANDARD, 5 * MIB), (PTX, 100, 0, 0)], 5 * MIB),
    "text": ([(CUBIN, 80, 0, 0), (PTX, 70, LZ4, 3 * MIB), (PTX, 80, LZ4, 4 * MIB), (CUBIN, 100, 0, 0)], 4 * MIB),
}
FAT_WAYS = {"module-file": "end-module", "module-data": "end-module", "module-fat": "end-module",
            "library-data": "end-library", "library-file": "end-library"}


CONTEXT = 16 * MIB
NO_NVML = {"ALIQUOT_REAL_LIBNVML": "/none"}


@pytest.fixture(name="hopper")
def make_hopper(sim):
    return sim.configure(model=HOPPER, grants="real", fatbin="noop", ptx="noop", context=f"{CONTEXT}")


@pytest.mark.parametrize("load", FAT_WAYS)
@pytest.mark.parametrize("kind", FAT)
def test_of_a_fat_binary_the_part_for_the_device_is_charged(hopper, tmp_path, kind, load):
    """Where NVML lists nobody, so that what is charged is what is estimated."""
    parts, loaded = FAT[kind]
    path = tmp_path / "fat"
    path.write_bytes(fat_binary(*parts))
    with Script(hopper, ALIQUOT_MEMORY="256MiB", **NO_NVML) as gpu:
        before = gpu.ready().look().charged
        gpu.do(f"{load} 1 {path}")
        assert gpu.look().charged == before + loaded
        gpu.do(f"{FAT_WAYS[load]} 1")
        assert gpu.look().charged == before


@pytest.mark.parametrize("load", FAT_WAYS)
def test_a_fat_binary_whose_part_has_no_room_is_refused(hopper, tmp_path, load):
    path = tmp_path / "fat"
    path.write_bytes(fat_binary((CUBIN, 80, 0, 0), (CUBIN, 90, ZSTANDARD, 20 * MIB)))
    with Script(hopper, ALIQUOT_MEMORY=str(32 * MIB)) as gpu:
        gpu.ready()
        assert gpu.code(f"{load} 1 {path}") == OUT_OF_MEMORY


TAKES = 40 * MIB


@pytest.fixture(name="large")
def make_large(tmp_path):
    """A small file that is TAKES on the device."""
    path = tmp_path / "large"
    path.write_bytes(fat_binary((CUBIN, 90, ZSTANDARD, TAKES)))
    return path


def test_a_library_is_charged_when_the_driver_loads_it(hopper, large):
    """Lazily: what is estimated is not charged for as long as the library is there."""
    with Script(hopper, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"library-file 1 {large}")
        assert gpu.look()[:2] == (CONTEXT, CONTEXT)
        gpu.do("use-library 1")

        def is_charged():  # by a question of NVML, which on a busy machine is asked less often
            gpu.values("info")
            return gpu.look()[:2] == (CONTEXT + TAKES, CONTEXT + TAKES)
        wait_for(is_charged)
        gpu.do("end-library 1")
        assert gpu.look()[:2] == (CONTEXT, CONTEXT)


def test_a_library_that_is_loaded_at_once_is_charged_as_it_is(hopper, large):
    with Script(hopper, ALIQUOT_MEMORY="256MiB", CUDA_MODULE_LOADING="EAGER") as gpu:
        gpu.ready().do(f"library-file 1 {large}")
        assert gpu.look()[:2] == (CONTEXT + TAKES, CONTEXT + TAKES)
        gpu.do(f"module-file 1 {large}")
        assert gpu.look()[:2] == (CONTEXT + 2 * TAKES, CONTEXT + 2 * TAKES)
        gpu.do("end-module 1", "end-library 1")
        assert gpu.look()[:2] == (CONTEXT, CONTEXT)


def test_a_library_without_a_context_is_an_estimate_until_there_is_one(hopper, large):
    """NVML cannot list a process before it has something on the device."""
    with Script(hopper, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.do("init", f"library-file 1 {large}", f"library-file 2 {large}", "end-library 2")
        assert gpu.look()[:2] == (TAKES, 0)
        gpu.do("context 0 0")
        charged, granted, *_ = gpu.look()
        assert charged == granted


def test_where_nvml_lists_nobody_a_library_stays_charged_as_estimated(hopper, large):
    with Script(hopper, ALIQUOT_MEMORY="256MiB", **NO_NVML) as gpu:
        before = gpu.ready().look().charged
        gpu.do(f"library-file 1 {large}")
        assert gpu.look().charged == before + TAKES
        gpu.do("use-library 1")
        gpu.values("info")
        assert gpu.look().charged == before + TAKES
        gpu.do("end-library 1")
        assert gpu.look().charged == before


@pytest.fixture(name="busy")
def make_busy(hopper):
    """A program with 120 MiB beside its context, in which a block is on its way back: behind a gate that is shut."""
    with Script(hopper, ALIQUOT_MEMORY=str(CONTEXT + 120 * MIB)) as gpu:
        gpu.ready().do("gates", "stream 1", f"alloc 1 {100 * MIB}", f"async 2 {8 * MIB} 1", "free 1", "gate 1 1",
                       "free-async 2 1")
        gpu.values("info")
        yield gpu


def test_a_module_is_charged_once_while_something_is_on_its_way(busy, large):
    """By its estimate, until there is an answer of NVML that replaces it."""
    before, *_ = busy.look()
    busy.do(f"module-file 1 {large}")
    time.sleep(0.05)
    busy.values("info")
    books = busy.look()
    assert books.charged == books.granted == before + TAKES
    busy.do("open 1", "sync 1", f"alloc 3 {60 * MIB}")


def test_what_was_estimated_and_not_taken_is_no_reason_to_refuse(busy, large):
    """A library that the driver has not taken yet: its estimate goes with the first look that may replace it."""
    busy.do(f"library-file 1 {large}")
    assert busy.look().charged >= busy.look().granted + TAKES
    busy.send("open 1", "sync 1", f"alloc 3 {100 * MIB}")
    assert [int(busy.hear()[0]) for _ in range(3)] == [0, 0, 0]


def test_what_is_looked_up_again_and_again_is_looked_behind_once(hopper, large):
    """Programs do so before each launch. NVML answers 300 questions, and no more: of 1000 calls it is asked at few, so
    that it still tells what blocks take beyond what was asked."""
    hopper.configure(fail="nvmlDeviceGetComputeRunningProcesses:300:999:1000000")
    with Script(hopper, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"library-file 1 {large}")
        gpu.send(*["use-library 1"] * 1000)
        assert [gpu.hear() for _ in range(1000)] == [["0"]] * 1000
        gpu.do(*(f"alloc {number} {MIB + 1}" for number in range(4)))
        gpu.values("info")
        assert gpu.look()[:2] == (CONTEXT + TAKES + 8 * MIB, CONTEXT + TAKES + 8 * MIB)


def test_a_fat_binary_that_says_that_it_is_huge_is_refused(hopper, tmp_path):
    """It lies in memory, and nobody but its headers tells where it ends."""
    path = tmp_path / "huge"
    path.write_bytes(head(1 << 37) + part_head(CUBIN, 10, payload_bytes=1 << 36))
    with Script(hopper, ALIQUOT_MEMORY="256MiB") as gpu:
        assert gpu.ready().code(f"module-data 1 {path}") == OUT_OF_MEMORY


# Libraries are loaded by several threads at once, while others give and take memory without a pause if RESTLESS.
THREADS = """
import ctypes, os, sys, threading, time
from driver import Driver
path, restless = sys.argv[1].encode(), int(sys.argv[2])
gpu = Driver().ready()
before = gpu.info()[0]
def churn():
    gpu.call("cuCtxSetCurrent", gpu.context)
    while True:
        gpu.free(gpu.alloc(1 << 16))
def load():
    gpu.call("cuCtxSetCurrent", gpu.context)
    for _ in range(5):
        library = ctypes.c_void_p()
        gpu.call("cuLibraryLoadFromFile", ctypes.byref(library), path, None, None, 0, None, None, 0)
for _ in range(restless):
    threading.Thread(target=churn, daemon=True).start()
loaders = [threading.Thread(target=load) for _ in range(3)]
for loader in loaders:
    loader.start()
for loader in loaders:
    loader.join()
end = time.monotonic() + 60
while gpu.info()[0] < before - restless * (2 << 20) and time.monotonic() < end:
    time.sleep(0.001)
print(before - gpu.info()[0], flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("restless", (0, 2))
def test_estimates_of_libraries_that_are_loaded_at_once_are_replaced(hopper, large, tmp_path, restless):
    program = tmp_path / "threads.py"
    program.write_text(THREADS)
    result = hopper.run([sys.executable, "-B", program, large, str(restless)], preload=True, ALIQUOT_MEMORY="1GiB",
                        PYTHONPATH=str(hopper.build.source / "tests/gpu/programs"))
    assert result.rc == 0, result
    assert int(result.stdout) <= restless * 2 * MIB
