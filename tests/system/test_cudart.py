# SPDX-License-Identifier: Apache-2.0
"""Programs of the CUDA runtime on the simulated GPU, with and without the library in front.

The stand-in runtime finds the driver as NVIDIA's does (dlopen, cuGetProcAddress_v2), so every story
told bare and under a limit is one of the doors too. Programs of nvcc run where it is installed.
"""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from cli import Command

MIB = 1 << 20
LIMIT = 200 * MIB
OUT_OF_MEMORY = 3
LAYOUT = "tests/abi/cudart_layout.c"
STORIES = ["memory", "errors", "devices", "reset", "default-streams", "threads", "peers", "missing",
           "entry-points"]
EXAMPLES = {
    "vector_add": "1048576 elements, all of them right",
    "streams": "two streams in order, 262144 elements right",
    "streams_per_thread": "two streams in order, 262144 elements right",
    "graph": "20 launches of a captured graph and of a built one, results right",
    "pools": "8 rounds in one pool, all of it given back",
}
DOORS = {"bare": {}, "preload": {"preload": True, "ALIQUOT_MEMORY": "200MiB"},
         "shims": {"shims": True, "ALIQUOT_MEMORY": "200MiB"}}


@pytest.fixture
def example(sim):
    """Runs a program of nvcc's; skipped where there is no nvcc to have built it."""
    folder = sim.build.folder / "examples/nvcc"
    sim.configure(memory="1GiB", kernels=folder / "nvcc_kernels.so")

    def example_run(name, *words, door="bare", **variables):
        if "ALIQUOT_SANITIZER" in os.environ:
            pytest.skip("the program itself is not sanitized")
        if not (folder / name).exists():
            pytest.skip("no nvcc was found when this was built")
        options = {**DOORS[door], **variables}
        libraries = sim.env(shims=options.get("shims", False))["LD_LIBRARY_PATH"]
        return sim.run([folder / name, *words], LD_LIBRARY_PATH=f"{libraries}:{sim.build.runtimes[13]}",
                       **options)
    return example_run


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("major", [12, 13])
@pytest.mark.parametrize("story", STORIES)
def test_a_story_is_the_same_bare_and_under_a_limit(sim, story, major, door):
    """A1: each version's calls answer as documented; charge equals grant at every step."""
    sim.configure(gpus=2 if door == "bare" else 1)
    result = sim.run([sim.build.program(f"cudart/calls{major}"), story], **DOORS[door])
    assert result.rc == 0, result


@pytest.mark.parametrize("major", [12, 13])
def test_an_error_of_the_context_stays(sim, major):
    sim.configure(lost="300ms")
    result = sim.run([sim.build.program(f"cudart/calls{major}"), "sticky"])
    assert result.rc == 0, result


def test_what_is_not_modelled_says_so_once(sim):
    result = sim.run([sim.build.program("cudart/calls13"), "missing"], ALIQUOT_SIM_LOG="1")
    assert result.stderr.count("cudaGraphAddNode is not modelled: cudaErrorNotSupported") == 1


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_program_of_nvcc_runs(sim, example, name, door):
    result = example(name, door=door)
    assert result.rc == 0, result
    assert EXAMPLES[name] in result.stdout


@pytest.mark.parametrize("door", ["preload", "shims"])
def test_the_limit_is_the_card(sim, example, door):
    """A1, A2: at the limit the program gets the runtime's own error, keeps what it has, and the
    simulator granted not a byte more than the limit."""
    result = example("fill_memory", "8", door=door, ALIQUOT_SESSION="box")
    assert result.rc == OUT_OF_MEMORY, result
    lines = result.stdout.splitlines()
    total, free = map(int, re.findall(r"\d+", lines[0]))
    assert total == LIMIT and free < LIMIT
    assert lines[1] == f"{free // (8 * MIB)} blocks, then: out of memory (cudaErrorMemoryAllocation)"
    assert lines[2] == f"when full: total {LIMIT}, free {free % (8 * MIB)}"
    assert lines[3] == f"when all is freed: total {LIMIT}, free {free}"
    tag, = sim.oracle()["tags"]["box"]
    assert LIMIT - 8 * MIB < tag["high_bytes"] <= LIMIT


def test_the_card_is_shown_by_its_properties(sim, example):
    result = example("vector_add", "1000", door="preload")
    assert "200 MiB" in result.stdout.splitlines()[0], result


def test_without_a_limit_the_card_is_the_card(example):
    result = example("fill_memory")
    assert result.rc == OUT_OF_MEMORY and f"total {1024 * MIB}," in result.stdout, result


def test_the_command_puts_the_stand_in_before_the_toolkit(sim, example):
    """As the page says: --sim puts the stand-in in the program's way, also before the toolkit's."""
    example("pools")
    program = sim.build.folder / "examples/nvcc/vector_add"
    for toolkit in (None, "/usr/local/cuda/lib64"):
        result = Command(sim).run("--memory", "200MiB", "--", program, LD_LIBRARY_PATH=toolkit)
        assert result.rc == 0 and "200 MiB" in result.stdout, result


def test_kernels_that_nobody_wrote_are_refused(sim, example):
    """The driver's error, and one line that says what to do."""
    sim.settings.pop("kernels")
    result = example("vector_add")
    assert result.rc == 1 and "(cudaErrorNoKernelImageForDevice)" in result.stdout, result
    assert result.stderr.count("machine code does not run here") == 1
    result = example("streams")
    assert result.rc == 1 and "(cudaErrorNoKernelImageForDevice)" in result.stdout, result


def test_kernels_can_be_timed_no_ops(sim, example):
    """The program goes on, and finds that its kernel computed nothing."""
    sim.settings.pop("kernels")
    sim.configure(fatbin="noop", ptx_time="1ms")
    result = example("graph")
    assert result.rc == 1 and "not so: host[0] == launches" in result.stdout, result


def test_a_missing_kernel_is_named(sim, example, compile_c):
    sim.configure(kernels=compile_c("other.so", '#include "sim/aliquot_sim.h"\n'
                                    "ALIQUOT_SIM_KERNEL(other, 8) { }\n", "-shared", "-fPIC"))
    result = example("streams")
    assert result.rc == 1 and "(cudaErrorInvalidDeviceFunction)" in result.stdout, result
    assert "has no kernel _Z4fillPjjj" in result.stderr


def layout(build, tmp_path, name, *flags):
    program = tmp_path / name
    done = subprocess.run(["cc", "-std=gnu17", "-w", *map(str, flags), "-I", build.source / "src",
                           "-o", program, build.source / LAYOUT], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def test_types_and_values_are_those_of_the_headers(build, tmp_path):
    """Against whichever toolkit is installed, 12 or 13."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    include = pathlib.Path(nvcc).resolve().parents[1] / "include"
    if not (include / "cuda_runtime_api.h").exists():
        pytest.skip("no headers of the CUDA runtime are installed")
    real = layout(build, tmp_path, "real", "-DREAL", f"-I{include}")
    major = int(real[0].split()[-1]) // 1000
    assert layout(build, tmp_path, "ours", f"-DCUDART_MAJOR={major}")[1:] == real[1:]


def exported(library):
    text = subprocess.run(["readelf", "-W", "--dyn-syms", library], capture_output=True, text=True,
                          check=True).stdout
    return set(re.findall(r"(?:FUNC|OBJECT) .* (\w*cuda\w+@@\S+)", text))


def test_the_page_lists_what_is_not_modelled(build):
    table = (build.source / "src/cudart/cudart.api").read_text()
    page = (build.source / "docs/simulator-cudart.md").read_text()
    listed = page.split("The other functions return")[1].split("## What differs")[0]
    assert set(re.findall(r"`(\w*cuda[A-Z_]\w+)`", listed)) - {"cudaErrorNotSupported"} \
        == set(re.findall(r"^(?:1[23] )?! (\w+)", table, re.M))


@pytest.mark.parametrize("major", [12, 13])
def test_symbols_carry_the_version_that_programs_ask_for(build, major):
    ours = exported(build.runtimes[major] / f"libcudart.so.{major}")
    assert ours and all(name.endswith(f"@@libcudart.so.{major}") for name in ours)


def test_every_function_of_the_real_library_is_there(build):
    real = pathlib.Path("/usr/local/cuda/lib64/libcudart.so.13")
    if not real.exists():
        pytest.skip("no libcudart.so.13 is installed")
    assert exported(real) - exported(build.runtimes[13] / "libcudart.so.13") == set()
