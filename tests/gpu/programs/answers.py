# SPDX-License-Identifier: Apache-2.0
"""Calls of every kind, right and wrong, and what each answers: the same with Aliquot and without.

    answers.py right    only such as a checker has nothing to say about
    answers.py wrong    arguments that no driver takes, orders that no program should give
    answers.py sticky   an illegal access, and what everything answers after it
"""
import sys
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

from driver import MIB, AllocationProp, AllocNode, ArrayShape, Driver, DriverError, PoolProps
from said import say

gpu = Driver()


def note(what, value):
    """One by one: what was said before a crash is known."""
    say("answer", call=what, answer=value)


def code(name, *arguments):
    note(name, gpu.code(name, *arguments))


def right():
    gpu.ready()
    block = gpu.alloc(MIB)
    function = gpu.function(gpu.module(), b"fill")
    note("launch", gpu.launch(function, c_uint64(block), c_uint(77), c_uint(1024), blocks=4, threads=256))
    gpu.sync()
    # The simulated driver accepts the kernel and does nothing: this is what both runs share.
    note("filled", len(set(gpu.words(block, 1024))))
    stream = gpu.stream()
    handle = gpu.create(gpu.granularity())
    address = gpu.map(handle, gpu.granularity())
    note("memset", gpu.code("cuMemsetD32_v2", address, c_uint(3), 1024))
    note("read", gpu.words(address, 4))
    gpu.unmap(address, gpu.granularity())
    code("cuMemRelease", handle)
    pooled = c_uint64()
    code("cuMemAllocAsync", byref(pooled), 4096, stream)
    code("cuMemFreeAsync", pooled, stream)
    code("cuStreamSynchronize", stream)
    code("cuMemFree_v2", block)


def wrong():
    out, size = c_uint64(), c_size_t()
    code("cuMemAlloc_v2", byref(out), 1)  # before cuInit
    code("cuMemGetInfo_v2", byref(size), byref(size))
    gpu.call("cuInit", 0)
    code("cuMemAlloc_v2", byref(out), 1)  # without a context
    code("cuDevicePrimaryCtxRetain", byref(gpu.context), 99)
    code("cuDeviceTotalMem_v2", byref(size), 99)
    gpu.ready()
    code("cuMemAlloc_v2", byref(out), 0)
    code("cuMemAlloc_v2", None, 4096)
    code("cuMemFree_v2", 0)
    code("cuMemFree_v2", 4097)
    code("cuMemAllocPitch_v2", byref(out), byref(size), 0, 16, 4)
    code("cuMemAllocPitch_v2", byref(out), byref(size), 64, 16, 3)
    code("cuMemAllocManaged", byref(out), 4096, 77)
    code("cuMemAllocManaged", byref(out), 0, 1)
    code("cuMemCreate", byref(out), 4096 + 1, byref(gpu.prop()), 0)
    code("cuMemCreate", byref(out), 2 * MIB, byref(AllocationProp()), 0)
    code("cuMemCreate", byref(out), 0, byref(gpu.prop()), 0)
    code("cuMemUnmap", 2 * MIB, 2 * MIB)
    code("cuMemAllocFromPoolAsync", byref(out), 4096, None, None)
    code("cuMemPoolCreate", byref(out), byref(PoolProps()))
    code("cuArray3DCreate_v2", byref(out), byref(ArrayShape(0, 0, 0, 0x20, 1, 0)))
    code("cuArray3DCreate_v2", byref(out), byref(ArrayShape(16, 16, 0, 0x20, 3, 0)))
    code("cuArrayDestroy", None)
    code("cuMipmappedArrayCreate", byref(out), byref(ArrayShape(16, 16, 0, 0x20, 4, 0)), 0)
    code("cuModuleUnload", None)
    code("cuGraphAddMemAllocNode", byref(out), None, None, 0, byref(AllocNode()))
    code("cuMemGetInfo_v2", None, None)
    code("cuCtxSetLimit", 77, 4096)
    block = gpu.alloc(MIB)
    code("cuMemFree_v2", block + 4096)
    code("cuMemFree_v2", block)
    code("cuMemFree_v2", block)
    code("cuIpcGetMemHandle", byref((c_uint64 * 8)()), block)
    pool, stream, pooled = gpu.pool(), gpu.stream(), c_uint64()
    code("cuMemAllocFromPoolAsync", byref(pooled), MIB, pool, stream)
    code("cuMemPoolDestroy", pool)  # in use
    code("cuMemFreeAsync", pooled, stream)
    code("cuStreamSynchronize", stream)


def sticky():
    gpu.ready()
    block = gpu.alloc(MIB)
    function = gpu.function(gpu.module(), b"fill")
    code("cuMemsetD32_v2", block, c_uint(1), 16)
    note("launch", gpu.launch(function, c_uint64(8), c_uint(1), c_uint(1)))
    code("cuCtxSynchronize")
    after()
    other = c_void_p()
    code("cuCtxCreate_v2", byref(other), 0, 0)
    after()
    code("cuDevicePrimaryCtxReset_v2", 0)
    code("cuDevicePrimaryCtxRetain", byref(other), 0)
    code("cuCtxSetCurrent", other)
    after()


def after():
    out, size, which = c_uint64(), c_size_t(), c_int()
    code("cuMemAlloc_v2", byref(out), 4096)
    code("cuMemGetInfo_v2", byref(size), byref(size))
    code("cuMemCreate", byref(out), 2 * MIB, byref(gpu.prop()), 0)
    code("cuMemAllocAsync", byref(out), 4096, None)
    code("cuCtxGetDevice", byref(which))
    code("cuDeviceTotalMem_v2", byref(size), 0)


try:
    {"right": right, "wrong": wrong, "sticky": sticky}[sys.argv[1]]()
except DriverError as error:
    note("ended", str(error))
