# SPDX-License-Identifier: Apache-2.0
"""Python programs of the driver API in a share: NVIDIA's cuda-bindings 13.0.3 (the simulator's own
CUDA version) and cuda-core 1.2.2, numba-cuda 0.30.4 (arrays; no kernel, the simulator compiles none),
PyCUDA 2026.1.

    all             cuInit, cuDeviceGetCount, cuMemGetInfo_v2, cuMemAlloc_v2, cuMemFree_v2,
                    cuMemcpyDtoH_v2, cuStreamCreate, cuEventRecord, cuEventElapsedTime_v2
    cuda-bindings   each function by cuGetProcAddress_v2; cuDevicePrimaryCtxRetain, cuMemAllocPitch_v2,
                    cuArrayCreate_v2, cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemPoolSetAttribute,
                    cuMemPoolTrimTo, cuMemCreate, cuMemAddressReserve, cuMemMap, cuMemSetAccess,
                    cuStreamBeginCapture_v2, cuGraphInstantiateWithFlags, cuGraphLaunch
    cuda-core       through cuda-bindings; cuMemAllocFromPoolAsync, cuMemFreeAsync, cuMemcpyAsync
    numba-cuda      through cuda-bindings; cuMemHostAlloc, cuMemHostGetDevicePointer_v2,
                    cuMemAllocManaged, cuMemcpyHtoDAsync_v2, cuMemcpyDtoDAsync_v2, cuDeviceGetUuid_v2
    PyCUDA          linked with libcuda.so.1; cuCtxCreate_v4, cuCtxDetach, cuMemHostAlloc,
                    cuMemcpyDtoD_v2, cuMemcpyHtoDAsync_v2; its own pool of blocks

programs/story.py is what they are asked to do, programs/CLIENT.py how each does it.
"""
import json

import pytest

MIB = 1 << 20
CONTEXT = 16 * MIB
OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"
POOLED = 32 * MIB  # what a pool takes of the card at once
PROGRAMS = {
    "cuda-bindings": ("bindings.py", OUT_OF_MEMORY),
    "numba-cuda": ("arrays_numba.py", f"[2] Call to cuMemAlloc results in {OUT_OF_MEMORY}"),
    "pycuda": ("arrays_pycuda.py", "cuMemAlloc failed: out of memory"),
    "cuda-core": ("core.py", OUT_OF_MEMORY),
}
FILLING = ("cuda-bindings", "numba-cuda", "pycuda")


class Program:
    def __init__(self, python, path, refusal):
        self.command, self.refusal = [python, path], refusal

    def run(self, share, *words, **where):
        result = share.run([*self.command, *words], **where)
        complaints = [line for line in result.stderr.splitlines() if "aliquot run: note: " not in line]
        assert result.rc == 0 and not complaints, result
        return result.json

    def hold(self, share, size, **where):
        """Holds until the end of the test; what it was told of the card then."""
        process = share.start([*self.command, "hold", size], **where)
        line = process.stdout.readline()
        assert line, process.communicate()
        return json.loads(line)


@pytest.fixture
def program(client, request):
    def program_of(name):
        file, refusal = PROGRAMS[name]
        return Program(client(name), request.path.parent / "programs" / file, refusal)
    return program_of


@pytest.fixture(params=FILLING)
def each(program, request):
    return program(request.param)


def test_the_limit_is_the_card_and_its_end_the_drivers_out_of_memory(share, each):
    """What is said to be free is granted at once, the next byte is not, and all of it comes back."""
    free = 512 * MIB - CONTEXT
    assert each.run(share, "fill", memory="512MiB") == {
        "total": 512 * MIB, "free": free, "refused": each.refusal,
        "full": [0, 512 * MIB], "after": [free, 512 * MIB]}


def test_without_a_limit_it_is_the_whole_card(share, each):
    seen = each.run(share, "fill")
    assert seen["total"] == 1024 * MIB and seen["free"] == 1024 * MIB - CONTEXT
    assert seen["refused"] == each.refusal and seen["full"] == [0, 1024 * MIB]


def test_programs_of_one_session_see_each_others_bytes(share, each):
    """And not those of another session on the same card."""
    each.hold(share, 200 * MIB, memory="256MiB", session="other")
    first = each.hold(share, 100 * MIB, memory="512MiB", session="s")
    second = each.hold(share, 50 * MIB, session="s")
    assert first == {"total": 512 * MIB, "free": 512 * MIB - CONTEXT - 100 * MIB}
    assert second == {"total": 512 * MIB, "free": first["free"] - CONTEXT - 50 * MIB}


def test_cuda_bindings_are_refused_in_every_family_of_memory(share, program):
    seen = program("cuda-bindings").run(share, "tour", memory="256MiB")
    assert seen.pop("refusals") == dict.fromkeys(
        ("cuMemAlloc", "cuMemAllocPitch", "cuMemAllocAsync", "cuMemAllocFromPoolAsync",
         "cuArrayCreate", "cuMemCreate"), OUT_OF_MEMORY)
    assert seen == {"version": 13000, "total": 256 * MIB, "by address": 256 * MIB, "mapped": 7,
                    "pooled": 32 * MIB, "replayed": 9, "timed": True, "leaked": 0}


def test_cuda_core_buffers_come_from_a_pool_that_ends_at_the_limit(share, program):
    seen = program("cuda-core").run(share, "tour", memory="512MiB")
    assert seen.pop("uuid")
    assert seen == {"name": "NVIDIA H200", "capability": [9, 0], "copied": 7, "timed": True,
                    "buffers": (512 * MIB - CONTEXT) // POOLED, "refused": OUT_OF_MEMORY,
                    "free": (512 * MIB - CONTEXT) % POOLED, "total": 512 * MIB}


def test_numba_arrays_hold_what_was_copied(share, program):
    seen = program("numba-cuda").run(share, "tour", memory="256MiB")
    assert seen.pop("uuid").startswith("GPU-")
    assert seen == {"same": True, "sliced": 100.0, "managed": 16 * 7, "mapped": 16 * 8,
                    "elapsed": True, "name": "NVIDIA H200", "capability": [9, 0]}


def test_pycuda_arrays_hold_what_was_copied(share, program):
    """Its pool takes seven blocks of 64 MiB of 512: the eighth would go over with the context."""
    seen = program("pycuda").run(share, "tour", memory="512MiB")
    assert "out of memory" in seen.pop("refused")
    assert seen == {"copied": True, "async": True, "sliced": 100.0, "elapsed": True,
                    "name": "NVIDIA H200", "capability": [9, 0], "pool": 7, "leaked": 0}
