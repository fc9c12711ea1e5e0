# SPDX-License-Identifier: Apache-2.0
"""Takes and gives back device memory of every family, and holds at each step so that the story can
read what the card says and what was charged.

    families.py [NAME...]
"""
import contextlib
import sys
from ctypes import byref, c_size_t, c_uint64, c_void_p

from driver import (ATTACH_GLOBAL, GIB, HEAP_SIZE, KIB, MIB, PRINTF_SIZE, PTX,
                    RELEASE_THRESHOLD, STACK_SIZE, ArrayNeeds, ArrayShape, Driver, DriverError)
from said import hold, say

HALF, FLOAT = 0x10, 0x20
gpu = Driver()


@contextlib.contextmanager
def blocks(size, count=1):
    held = [gpu.alloc(size) for _ in range(count)]
    yield size * count
    for block in held:
        gpu.free(block)


@contextlib.contextmanager
def pitch(width, height):
    block, row = c_uint64(), c_size_t()
    gpu.call("cuMemAllocPitch_v2", byref(block), byref(row), width, height, 4)
    yield row.value * height
    gpu.free(block.value)


@contextlib.contextmanager
def managed(size, touch):
    block = gpu.value(c_uint64, "cuMemAllocManaged", size, ATTACH_GLOBAL)
    if touch:
        gpu.fill(block, 1, size // 4)
        gpu.sync()
    yield size
    gpu.free(block)


@contextlib.contextmanager
def pinned_host(size):
    block = gpu.value(c_void_p, "cuMemHostAlloc", size, 0)
    yield 0
    gpu.call("cuMemFreeHost", c_void_p(block))


@contextlib.contextmanager
def array(width, height, depth, kind, channels, levels=0):
    shape = ArrayShape(width, height, depth, kind, channels, 0)
    made, needs = c_void_p(), ArrayNeeds()
    if levels:
        gpu.call("cuMipmappedArrayCreate", byref(made), byref(shape), levels)
        asked = gpu.code("cuMipmappedArrayGetMemoryRequirements", byref(needs), made, 0)
    else:
        gpu.call("cuArray3DCreate_v2", byref(made), byref(shape))
        asked = gpu.code("cuArrayGetMemoryRequirements", byref(needs), made, 0)
    say("requirements", rc=asked, size=needs.size, alignment=needs.alignment)
    yield width * max(height, 1) * max(depth, 1) * channels * (4 if kind == FLOAT else 2)
    gpu.call("cuMipmappedArrayDestroy" if levels else "cuArrayDestroy", made)


@contextlib.contextmanager
def mapped(size):
    size = -(-size // gpu.granularity()) * gpu.granularity()
    handle = gpu.create(size)
    address = gpu.map(handle, size)
    yield size
    gpu.call("cuMemRelease", handle)
    hold("released", asked=size)  # the mapping still keeps it
    gpu.unmap(address, size)


@contextlib.contextmanager
def pooled(size, pool=None):
    stream, block = gpu.stream(), c_uint64()
    pool = pool or gpu.default_pool()
    gpu.call("cuMemAllocFromPoolAsync", byref(block), size, pool, stream)
    gpu.call("cuStreamSynchronize", stream)
    say("pool", asked=size, reserved=gpu.reserved(pool))
    yield size
    gpu.call("cuMemFreeAsync", block, stream)
    gpu.call("cuStreamSynchronize", stream)
    say("pool", asked=0, reserved=gpu.reserved(pool))


@contextlib.contextmanager
def kept_pool(size):
    """A pool of our own that keeps what it has."""
    pool = gpu.pool()
    gpu.call("cuMemPoolSetAttribute", pool, RELEASE_THRESHOLD, byref(c_uint64(GIB)))
    with pooled(size, pool):
        pass
    hold("kept", asked=size)
    gpu.call("cuMemPoolTrimTo", pool, 0)
    yield 0
    gpu.call("cuMemPoolDestroy", pool)


@contextlib.contextmanager
def graph(size):
    stream, ready = gpu.stream(), gpu.graph_with_block(size)
    hold("instantiated", asked=size)
    for _ in range(2):
        gpu.call("cuGraphLaunch", ready, stream)
    gpu.call("cuStreamSynchronize", stream)
    say("graph", asked=size, reserved=gpu.graph_reserved())
    yield size
    gpu.call("cuGraphExecDestroy", ready)
    hold("before-trim", asked=size)
    gpu.call("cuDeviceGraphMemTrim", 0)


@contextlib.contextmanager
def two_graphs(size):
    """Launched one after the other in one stream: does the driver reserve for both?"""
    stream, execs = gpu.stream(), [gpu.graph_with_block(size) for _ in range(2)]
    for ready in execs:
        gpu.call("cuGraphLaunch", ready, stream)
    hold("launched", asked=2 * size)
    gpu.call("cuStreamSynchronize", stream)
    say("graph", asked=2 * size, reserved=gpu.graph_reserved())
    yield 2 * size
    for ready in execs:
        gpu.call("cuGraphExecDestroy", ready)
    gpu.call("cuDeviceGraphMemTrim", 0)


@contextlib.contextmanager
def code(image, run):
    module = gpu.module(image)
    function = gpu.function(module, b"nothing")
    if run:
        assert gpu.launch(function) == 0
        gpu.sync()
    yield len(image)
    gpu.call("cuModuleUnload", module)


@contextlib.contextmanager
def limit(which, size):
    before = gpu.value(c_size_t, "cuCtxGetLimit", which)
    say("limit", which=which, before=before)
    gpu.call("cuCtxSetLimit", which, size)
    yield size
    gpu.call("cuCtxSetLimit", which, before)


@contextlib.contextmanager
def second_context():
    other = gpu.value(c_void_p, "cuCtxCreate_v2", 0, 0)
    yield 0
    gpu.call("cuCtxDestroy_v2", c_void_p(other))
    gpu.call("cuCtxSetCurrent", gpu.context)


FAMILIES = {
    "alloc-64MiB": lambda: blocks(64 * MIB),
    "alloc-1000x4KiB": lambda: blocks(4 * KIB, 1000),
    "alloc-1B": lambda: blocks(1),
    "alloc-3MiB": lambda: blocks(3 * MIB),
    "pitch-1000x16384": lambda: pitch(1000, 16384),
    "managed-untouched": lambda: managed(64 * MIB, False),
    "managed-touched": lambda: managed(64 * MIB, True),
    "host": lambda: pinned_host(64 * MIB),
    "array-1000x1000-float4": lambda: array(1000, 1000, 0, FLOAT, 4),
    "array-100x50x30-half4": lambda: array(100, 50, 30, HALF, 4),
    "array-65536-float1": lambda: array(65536, 0, 0, FLOAT, 1),
    "mipmap-1024x1024-float4": lambda: array(1024, 1024, 0, FLOAT, 4, 5),
    "create": lambda: mapped(64 * MIB),
    "pool-1B": lambda: pooled(1),
    "pool-1MiB": lambda: pooled(MIB),
    "pool-33MiB": lambda: pooled(33 * MIB),
    "pool-65MiB": lambda: pooled(65 * MIB),
    "pool-kept": lambda: kept_pool(64 * MIB),
    "graph-1MiB": lambda: graph(MIB),
    "graph-65MiB": lambda: graph(65 * MIB),
    "graph-2x65MiB": lambda: two_graphs(65 * MIB),
    "module-loaded": lambda: code(PTX, False),
    "module-run": lambda: code(PTX, True),
    "heap-64MiB": lambda: limit(HEAP_SIZE, 64 * MIB),
    "stack-4KiB": lambda: limit(STACK_SIZE, 4 * KIB),
    "printf-16MiB": lambda: limit(PRINTF_SIZE, 16 * MIB),
    "context": second_context,
}


def main():
    gpu.call("cuInit", 0)
    hold("initialised")
    gpu.ready()
    hold("context-first", free_total=gpu.info())
    for name in sys.argv[1:] or FAMILIES:
        hold("before", family=name)
        try:
            with FAMILIES[name]() as asked:
                hold("taken", family=name, asked=asked)
        except DriverError as error:
            hold("refused", family=name, error=str(error))
            continue
        hold("given-back", family=name)
    hold("end")


main()
