# SPDX-License-Identifier: Apache-2.0
"""Takes and gives back device memory of every family, and holds at each step so that the story can
read what the card says and what was charged.

    families.py [NAME...]
"""
import contextlib
import sys
import time
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

from driver import (ATTACH_GLOBAL, GIB, GREEN_DEFAULT_STREAM, HEAP_SIZE, HUNGRY_PTX, KIB, MIB, NON_BLOCKING, PRINTF_SIZE,
                    PTX, RELEASE_THRESHOLD, SM_RESOURCE, STACK_SIZE, ArrayNeeds, ArrayShape, DevResource, Driver,
                    DriverError)
import said
from said import is_with_us, say

HALF, FLOAT = 0x10, 0x20

# Where does a block begin to have pages of its own?
STEPS = (64 * KIB, 256 * KIB, 512 * KIB, 700 * KIB, MIB - 512, MIB, MIB + 1, 5 * MIB // 4, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1)

# What the driver takes by itself is asked for each 20 ms, at calls.
LOOK_SECONDS = 0.03

gpu = Driver()


def hold(at, **facts):
    """The books are read when what was taken has been asked for."""
    if is_with_us():
        time.sleep(LOOK_SECONDS)
        gpu.info()
    said.hold(at, **facts)


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
def library(image, contexts):
    """Loaded, looked up, launched: when does the driver take what it needs? In each context?"""
    made = c_void_p()
    gpu.call("cuLibraryLoadData", byref(made), c_char_p(image), None, None, 0, None, None, 0)
    hold("loaded", asked=len(image))
    kernel = c_void_p(gpu.value(c_void_p, "cuLibraryGetKernel", made, c_char_p(b"nothing")))
    hold("looked-up", asked=len(image))
    others = [c_void_p(gpu.value(c_void_p, "cuCtxCreate_v2", 0, 0)) for _ in range(contexts - 1)]
    if others:
        hold("contexts-made", asked=len(image))
    for context in [*others, gpu.context]:
        gpu.call("cuCtxSetCurrent", context)
        assert gpu.launch(kernel) == 0
        gpu.sync()
        hold("launched", asked=len(image))
    yield len(image)
    gpu.call("cuLibraryUnload", made)
    for context in others:
        gpu.call("cuCtxDestroy_v2", context)
    gpu.call("cuCtxSetCurrent", gpu.context)


@contextlib.contextmanager
def hungry(name, *parameters):
    """A kernel that needs more of its context than others do."""
    module, block = gpu.module(HUNGRY_PTX), gpu.alloc(MIB)
    hold("loaded", asked=0)
    assert gpu.launch(gpu.function(module, name), c_uint64(block), *parameters) == 0
    gpu.sync()
    yield 0
    gpu.call("cuModuleUnload", module)
    gpu.free(block)


@contextlib.contextmanager
def managed_by_kernel(size):
    block, module = gpu.value(c_uint64, "cuMemAllocManaged", size, ATTACH_GLOBAL), gpu.module()
    count = size // 4
    assert gpu.launch(gpu.function(module, b"fill"), c_uint64(block), c_uint(1), c_uint(count), blocks=-(-count // 256),
                      threads=256) == 0
    gpu.sync()
    yield size
    gpu.free(block)
    gpu.call("cuModuleUnload", module)


@contextlib.contextmanager
def many(make, end):
    made = [c_void_p(gpu.value(c_void_p, *make)) for _ in range(256)]
    yield 0
    for one in made:
        gpu.call(end, one)


@contextlib.contextmanager
def kernel_graphs():
    """Of one kernel each, instantiated and launched."""
    module, graph_, stream = gpu.module(), c_void_p(), gpu.stream()
    gpu.call("cuStreamBeginCapture_v2", stream, 0)
    assert gpu.launch(gpu.function(module, b"nothing"), stream=stream) == 0
    gpu.call("cuStreamEndCapture", stream, byref(graph_))
    ready = [c_void_p(gpu.value(c_void_p, "cuGraphInstantiateWithFlags", graph_, 0)) for _ in range(64)]
    hold("instantiated", asked=0)
    for one in ready:
        gpu.call("cuGraphLaunch", one, stream)
    gpu.call("cuStreamSynchronize", stream)
    yield 0
    for one in ready:
        gpu.call("cuGraphExecDestroy", one)
    gpu.call("cuModuleUnload", module)


@contextlib.contextmanager
def green_context():
    """On eight multiprocessors, with a stream."""
    whole, part, count, description = DevResource(), DevResource(), c_uint(1), c_void_p()
    gpu.call("cuDeviceGetDevResource", 0, byref(whole), SM_RESOURCE)
    gpu.call("cuDevSmResourceSplitByCount", byref(part), byref(count), byref(whole), None, c_uint(0), c_uint(8))
    gpu.call("cuDevResourceGenerateDesc", byref(description), byref(part), c_uint(1))
    green = c_void_p(gpu.value(c_void_p, "cuGreenCtxCreate", description, c_int(0), c_uint(GREEN_DEFAULT_STREAM)))
    hold("made", asked=0)
    stream = c_void_p(gpu.value(c_void_p, "cuGreenCtxStreamCreate", green, c_uint(NON_BLOCKING), c_int(0)))
    assert gpu.launch(gpu.function(gpu.module(), b"nothing"), stream=stream) in (0, 400)
    yield 0
    gpu.call("cuStreamDestroy_v2", stream)
    gpu.call("cuGreenCtxDestroy", green)


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
    **{f"alloc-16x{size}": lambda size=size: blocks(size, 16) for size in STEPS},
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
    "library": lambda: library(PTX, 1),
    "library-two-contexts": lambda: library(PTX, 2),
    "local-16KiB": lambda: hungry(b"uses_local", c_uint(128)),
    "heap-used": lambda: hungry(b"uses_heap"),
    "managed-by-kernel": lambda: managed_by_kernel(64 * MIB),
    "streams-256": lambda: many(("cuStreamCreate", NON_BLOCKING), "cuStreamDestroy_v2"),
    "events-256": lambda: many(("cuEventCreate", 0), "cuEventDestroy_v2"),
    "graphs-64": kernel_graphs,
    "green-context": green_context,
    "context": second_context,
}


def main():
    gpu.call("cuInit", 0)
    said.hold("initialised")
    gpu.ready()
    hold("context-first", free_total=gpu.info())
    for name in sys.argv[1:] or FAMILIES:
        hold("before", family=name)
        try:
            with FAMILIES[name]() as asked:
                hold("taken", family=name, asked=asked)
        except (DriverError, AttributeError, AssertionError) as error:
            hold("refused", family=name, error=str(error))
            continue
        hold("given-back", family=name)
    hold("end")


main()
