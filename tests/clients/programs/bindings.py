# SPDX-License-Identifier: Apache-2.0
"""cuda-bindings in story.py's terms, and its tour: every family of memory at the limit, copies over
streams, events, graphs, and entry points by cuGetProcAddress."""
import ctypes

from cuda.bindings import driver as cu

import story

MIB = 1 << 20


class Refused(Exception):
    """Named as the driver names its result."""


def call(function, *arguments):
    """The results of a call beside its code, of which anything but success is raised."""
    code, *values = function(*arguments)
    if code != cu.CUresult.CUDA_SUCCESS:
        raise Refused(cu.cuGetErrorName(code)[1].decode())
    return values[0] if len(values) == 1 else tuple(values)


def refusal(function, *arguments):
    try:
        call(function, *arguments)
    except Refused as error:
        return str(error)
    return None


class Bindings:
    OutOfMemory = Refused

    def __init__(self):
        call(cu.cuInit, 0)
        self.device = call(cu.cuDeviceGet, 0)
        call(cu.cuCtxSetCurrent, call(cu.cuDevicePrimaryCtxRetain, self.device))
        self.stream = call(cu.cuStreamCreate, 0)

    def info(self):
        return call(cu.cuMemGetInfo)

    def alloc(self, size):
        return call(cu.cuMemAlloc, size)

    def release(self, block):
        call(cu.cuMemFree, block)

    def physical(self, size):
        """A block that has no address yet, of the granularity asked for."""
        place = cu.CUmemAllocationProp()
        place.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        place.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        place.location.id = 0
        minimum = cu.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        unit = call(cu.cuMemGetAllocationGranularity, place, minimum)
        size = -(-size // unit) * unit
        return call(cu.cuMemCreate, size, place, 0), size

    def mapped(self, size):
        """One byte, written and read back through an address of virtual memory."""
        block, size = self.physical(size)
        address = call(cu.cuMemAddressReserve, size, 0, 0, 0)
        call(cu.cuMemMap, address, size, 0, block, 0)
        access = cu.CUmemAccessDesc()
        access.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        call(cu.cuMemSetAccess, address, size, [access], 1)
        call(cu.cuMemsetD8, address, 7, size)
        byte = bytearray(1)
        call(cu.cuMemcpyDtoH, byte, int(address) + size - 1, 1)
        call(cu.cuMemUnmap, address, size)
        call(cu.cuMemAddressFree, address, size)
        call(cu.cuMemRelease, block)
        return byte[0]

    def pooled(self, size):
        """The bytes that the pool of the device keeps once the block was given back to it."""
        pool = call(cu.cuDeviceGetDefaultMemPool, self.device)
        keep = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        call(cu.cuMemPoolSetAttribute, pool, keep, cu.cuuint64_t(1 << 40))
        block = call(cu.cuMemAllocAsync, size, self.stream)
        call(cu.cuMemFreeAsync, block, self.stream)
        call(cu.cuStreamSynchronize, self.stream)
        reserved = int(call(cu.cuMemPoolGetAttribute, pool,
                            cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT))
        call(cu.cuMemPoolTrimTo, pool, 0)
        return reserved

    def replayed(self):
        """A graph of a memset and a copy, captured from a stream: what a launch of it leaves."""
        first, second = self.alloc(MIB), self.alloc(MIB)
        relaxed = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        call(cu.cuStreamBeginCapture, self.stream, relaxed)
        call(cu.cuMemsetD8Async, first, 9, MIB, self.stream)
        call(cu.cuMemcpyDtoDAsync, second, first, MIB, self.stream)
        graph = call(cu.cuStreamEndCapture, self.stream)
        ready = call(cu.cuGraphInstantiate, graph, 0)
        call(cu.cuGraphLaunch, ready, self.stream)
        call(cu.cuStreamSynchronize, self.stream)
        byte = bytearray(1)
        call(cu.cuMemcpyDtoH, byte, second, 1)
        call(cu.cuGraphExecDestroy, ready)
        call(cu.cuGraphDestroy, graph)
        self.release(first)
        self.release(second)
        return byte[0]

    def timed(self):
        begin, end = (call(cu.cuEventCreate, 0) for _ in range(2))
        call(cu.cuEventRecord, begin, self.stream)
        call(cu.cuEventRecord, end, self.stream)
        call(cu.cuEventSynchronize, end)
        return call(cu.cuEventElapsedTime, begin, end) >= 0

    def told_by_address(self):
        """The card's size by the address that the driver gives for a name and a version."""
        address, _ = call(cu.cuGetProcAddress, b"cuDeviceTotalMem", 12000, 0)
        function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_size_t), ctypes.c_int)
        size = ctypes.c_size_t()
        assert function(int(address))(size, int(self.device)) == 0
        return size.value

    def refusals(self, size):
        """What each family of memory answers to more than there is."""
        array = cu.CUDA_ARRAY_DESCRIPTOR()
        array.Width, array.Height = 1 << 16, size >> 16
        array.Format, array.NumChannels = cu.CUarray_format.CU_AD_FORMAT_UNSIGNED_INT8, 1
        pool = call(cu.cuDeviceGetDefaultMemPool, self.device)
        answers = {
            "cuMemAlloc": refusal(cu.cuMemAlloc, size),
            "cuMemAllocPitch": refusal(cu.cuMemAllocPitch, 1 << 16, size >> 16, 4),
            "cuMemAllocAsync": refusal(cu.cuMemAllocAsync, size, self.stream),
            "cuMemAllocFromPoolAsync": refusal(cu.cuMemAllocFromPoolAsync, size, pool, self.stream),
            "cuArrayCreate": refusal(cu.cuArrayCreate, array),
        }
        try:
            self.physical(size)
        except Refused as error:
            answers["cuMemCreate"] = str(error)
        return answers


    def tour(self):
        before, total = self.info()
        answers = {"version": call(cu.cuDriverGetVersion), "by address": self.told_by_address(),
                   "total": int(call(cu.cuDeviceTotalMem, self.device)),
                   "mapped": self.mapped(8 * MIB), "pooled": self.pooled(8 * MIB),
                   "replayed": self.replayed(), "timed": self.timed(),
                   "refusals": self.refusals(total)}
        return {**answers, "leaked": before - self.info()[0]}


if __name__ == "__main__":
    story.main(Bindings)
