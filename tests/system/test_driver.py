# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own driver library behind us, on a machine without a card: the real thing as far as it goes.

libcuda.so and libnvidia-ml.so load anywhere, export what they export, answer lookups by name and
version, and say that there is no card. Whatever they answer is what a program gets with Aliquot, but for
the functions that we stand before, which are ours.

Debian's driver is fetched (tools/fetch-debian); ALIQUOT_DRIVERS names folders of others, with colons
between, for example of the packages libnvidia-compute-580 of Ubuntu, unpacked.
"""
import os
import pathlib
import platform
import re
import shutil
import subprocess

import pytest

from hang import HANG_SECONDS
from machine import CUDA, NVML, OURS, expect_as_without_us, lookups

if "ALIQUOT_SANITIZER" in os.environ:
    pytest.skip("a sanitizer puts its own dlopen before ours: none of these means anything",
                allow_module_level=True)

OTHERS = [folder for folder in os.environ.get("ALIQUOT_DRIVERS", "").split(":") if folder]
CUDA_SONAME, NVML_SONAME = "libcuda.so.1", "libnvidia-ml.so.1"

HAS_CARD = pathlib.Path("/proc/driver/nvidia/version").exists()

# Of other parts of the driver, by no header; no program calls them.
PRIVATE = re.compile(r"cudbg\w+|nvmlRetry_NvRmControl")


@pytest.fixture(scope="module", params=["debian", *OTHERS], ids=lambda folder: "debian" if folder == "debian" else
                re.search(r"\d+[\d.]*|$", max(map(str, pathlib.Path(folder).glob("libcuda.so.*")), key=len)[-20:]).group())
def driver(request, build):
    if request.param != "debian":
        return pathlib.Path(request.param)
    done = subprocess.run([build.source / "tools/fetch-debian", "driver"], capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    return pathlib.Path(done.stdout.strip())


@pytest.fixture
def machine(machine, driver):
    machine.drivers = driver
    return machine


@pytest.fixture(scope="module", autouse=True)
def device_node():
    """As root the driver makes one, card or none; it goes with us."""
    node = pathlib.Path("/dev/nvidiactl")
    was_there = node.exists()
    yield
    if not was_there:
        node.unlink(missing_ok=True)


def compare(machine, soname, commands):
    """Bare and with Aliquot; how many answers were functions of ours."""
    commands = [f"open {soname}", *commands]
    alone, answers = machine.probe(commands, us=False), machine.probe(commands)
    for command, before, answer in list(zip(commands, alone, answers))[1:]:
        if before.startswith("!"):
            assert answer.startswith("!"), (command, answer)
        else:
            expect_as_without_us(command, before, answer, soname)
    return sum(answer != before for before, answer in zip(alone, answers))


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    return sorted({words[2].split("@")[0] for words in map(str.split, done.stdout.splitlines()) if words[1] == "T"})


@pytest.mark.parametrize("soname, table", [(CUDA_SONAME, CUDA), (NVML_SONAME, NVML)])
def test_the_table_has_every_function_that_the_driver_exports(driver, soname, table):
    """What it lacked would pass unseen."""
    names = [name for name in exported(driver / soname) if not PRIVATE.fullmatch(name)]
    assert len(names) > 200 and not set(names) - set(table)


@pytest.mark.parametrize("soname, table", [(CUDA_SONAME, CUDA), (NVML_SONAME, NVML)])
def test_a_function_by_its_name_is_the_drivers_or_ours(machine, driver, soname, table):
    names = sorted({*exported(driver / soname), *table, "cuNoSuch", "nvmlNoSuch"})
    ours = compare(machine, soname, [f"sym {name}" for name in names])
    assert ours > (100 if table is CUDA else 5)


def test_a_lookup_by_version_is_the_drivers_or_ours(machine, driver):
    """The newer form of cuGetProcAddress is there since CUDA 12, the older since 11.3."""
    ours = compare(machine, CUDA_SONAME, lookups())
    assert ours > 1000 or "cuGetProcAddress" not in exported(driver / CUDA_SONAME)


def test_a_driver_in_a_namespace_of_its_own_has_us_before_it(machine):
    answers = machine.probe([f"newns {CUDA_SONAME}", "sym cuMemAlloc_v2", "sym cuDriverGetVersion"])
    assert answers[1:] == [f"{OURS} cuMemAlloc_v2", f"{OURS} cuDriverGetVersion"]


ASK = r"""
#include <dlfcn.h>
#include <stdio.h>
#include "abi/cuda.h"
#include "abi/nvml.h"

#define GET(library, name) __typeof__(name) *ask_##name = dlsym(library, #name)

int main(void)
{
        void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        GET(cuda, cuInit);
        GET(cuda, cuDriverGetVersion);
        GET(cuda, cuDeviceGetCount);
        GET(cuda, cuCtxGetCurrent);
        GET(cuda, cuMemAlloc_v2);
        GET(cuda, cuMemGetInfo_v2);
        GET(cuda, cuLaunchKernel);
        GET(cuda, cuStreamSynchronize);
        GET(cuda, cuGetErrorName);
        GET(nvml, nvmlInit_v2);
        GET(nvml, nvmlDeviceGetCount_v2);
        GET(nvml, nvmlErrorString);
        int number = -1;
        unsigned count = 0;
        CUcontext context;
        CUdeviceptr address;
        size_t free_bytes, all_bytes;
        const char *text = "";

        printf("version %d", ask_cuDriverGetVersion(&number));
        printf(" %d\n", number);
        printf("before: %d %d\n", ask_cuDeviceGetCount(&number), ask_cuMemAlloc_v2(&address, 4096));
        printf("init %d\n", ask_cuInit(0));
        printf("after: %d %d %d %d\n", ask_cuDeviceGetCount(&number), ask_cuCtxGetCurrent(&context),
               ask_cuMemAlloc_v2(&address, 4096), ask_cuMemGetInfo_v2(&free_bytes, &all_bytes));
        printf("launch %d sync %d\n", ask_cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), ask_cuStreamSynchronize(0));
        ask_cuGetErrorName(CUDA_ERROR_NO_DEVICE, &text);
        printf("%s\n", text);
        number = ask_nvmlInit_v2();
        printf("nvml %d %d %s\n", number, ask_nvmlDeviceGetCount_v2(&count), ask_nvmlErrorString((nvmlReturn_t)number));
        return 0;
}
"""


def ways(machine):
    """How a program meets the driver: with Aliquot in front of it by a preload, by the facades, under limits."""
    limits = {"ALIQUOT_MEMORY": "1GiB", "ALIQUOT_COMPUTE": "30"}
    shims = f"{machine.build.shims}:{machine.drivers}"
    return [{"preload": [machine.build.library]}, {"preload": [machine.build.library], **limits},
            {"path": shims}, {"path": shims, **limits}]


def expect_alike(machine, program):
    """The program is told the same by whatever way; what it was told."""
    alone = machine.run([program])
    assert alone.returncode == 0 and alone.stdout, alone
    for way in ways(machine):
        done = machine.run([program], **way)
        assert (done.returncode, done.stdout) == (0, alone.stdout), (way, done)
    return alone.stdout


@pytest.mark.skipif(HAS_CARD, reason="there is a card here")
def test_without_a_card_a_program_is_told_so_as_without_us(machine, tmp_path):
    told = expect_alike(machine, machine.build.compile_c(tmp_path / "ask", ASK, "-ldl"))
    assert list(machine.runtime.glob("sessions/env-*")), "the session of the limits is in no folder of the test"
    assert "init 100\n" in told and "CUDA_ERROR_NO_DEVICE\n" in told and "nvml 9 " in told


RUNTIME = r"""
#include <stdio.h>
#include <cuda_runtime.h>

__global__ void fill(int *p) { *p = 1; }

int main(void)
{
        int count = -1, version = 0;
        void *block = NULL;
        size_t free_bytes, all_bytes;

        printf("%d", cudaDriverGetVersion(&version));
        printf(" %d %d", version, cudaGetDeviceCount(&count));
        printf(" %d %d", cudaMalloc(&block, 1 << 20), cudaMemGetInfo(&free_bytes, &all_bytes));
        fill<<<1, 1>>>((int *)block);
        printf(" %d %d\n", cudaGetLastError(), cudaDeviceSynchronize());
        return 0;
}
"""


@pytest.mark.skipif(HAS_CARD, reason="there is a card here")
def test_nvidias_own_runtime_finds_its_driver_behind_us(machine, tmp_path):
    """Its static form, which is what PyTorch and most programs have: by dlopen, cuGetProcAddress and
    private tables. It says that the driver is too old (35), or that there is no card (100)."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc or platform.machine() != "x86_64":
        pytest.skip("no nvcc here")
    source = tmp_path / "runtime.cu"
    source.write_text(RUNTIME)
    subprocess.run([nvcc, "-cudart", "static", "-o", tmp_path / "runtime", source], capture_output=True, timeout=HANG_SECONDS,
                   check=True)
    told = expect_alike(machine, tmp_path / "runtime").split()
    assert told[0] == "0" and int(told[1]) >= 10000 and told[2] in ("35", "100")


def test_the_doctor_finds_the_driver_and_says_what_is_wrong(machine):
    done = machine.run([machine.build.aliquot, "doctor"])
    lines = done.stdout.splitlines()
    assert any(re.match(rf"ok +cuda +the driver's is {re.escape(str(machine.drivers))}/", line) for line in lines), done
    ways_in = [line.split() for line in lines if line.split()[1] == "preload" and "finds no driver, as without Aliquot" not in line]
    assert len(ways_in) >= 5 and all(words[0] == "ok" for words in ways_in), done
    if not HAS_CARD:
        assert any(line.startswith("BAD   gpus") and "Driver Not Loaded" in line for line in lines), done
        refused = machine.run([machine.build.aliquot, "run", "--memory", "1GiB", "--", "true"])
        assert refused.returncode == 125 and "Driver Not Loaded" in refused.stderr, refused
