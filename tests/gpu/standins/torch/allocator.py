# SPDX-License-Identifier: Apache-2.0
"""The three ways in which PyTorch obtains memory: cached blocks of cuMemAlloc, expandable segments of
cuMemCreate behind one range of addresses, and stream-ordered blocks of the default pool.

    choose(gpu, stream, conf)   conf: PYTORCH_CUDA_ALLOC_CONF
    take(bytes) -> address, give(address), empty(), reserved, allocated
"""
from ctypes import byref, c_uint64

from driver import GIB, MIB, OUT_OF_MEMORY, RELEASE_THRESHOLD, SUCCESS, DriverError

SMALL, LARGE = 2 * MIB, 20 * MIB  # segments for requests up to 1 MiB, up to 10 MiB


class OutOfMemoryError(RuntimeError):
    pass


def refuse(gpu, size):
    free, total = gpu.info()
    raise OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size} bytes. GPU 0 has a total "
                           f"capacity of {total} bytes of which {free} bytes is free.")


def segment_bytes(size):
    if size <= MIB:
        return SMALL
    if size < 10 * MIB:
        return LARGE
    return -(-size // (2 * MIB)) * 2 * MIB


class Caching:
    backend = "native"

    def __init__(self, gpu):
        self.gpu, self.free, self.held = gpu, {}, {}
        self.reserved = self.allocated = 0

    def take(self, size):
        want = segment_bytes(size)
        address = self.free[want].pop() if self.free.get(want) else self.obtain(want, size)
        self.held[address] = want
        self.allocated += want
        return address

    def obtain(self, want, size):
        """From the driver; if it has none, once more when what is cached was given back."""
        for again in (False, True):
            block = c_uint64()
            rc = self.gpu.code("cuMemAlloc_v2", byref(block), want)
            if rc == SUCCESS:
                self.reserved += want
                return block.value
            if rc != OUT_OF_MEMORY:
                raise DriverError("cuMemAlloc", rc)
            if not again:
                self.empty()
        return refuse(self.gpu, size)

    def give(self, address):
        want = self.held.pop(address)
        self.allocated -= want
        self.free.setdefault(want, []).append(address)

    def empty(self):
        for want, addresses in self.free.items():
            for address in addresses:
                self.drop(address, want)
                self.reserved -= want
        self.free = {}

    def drop(self, address, _):
        self.gpu.free(address)


class Expandable(Caching):
    """Each segment is a handle of its own, mapped one behind the other."""
    def __init__(self, gpu):
        super().__init__(gpu)
        self.range = gpu.value(c_uint64, "cuMemAddressReserve", 64 * GIB, 0, 0, 0)
        self.end = self.range

    def obtain(self, want, size):
        for again in (False, True):
            handle = c_uint64()
            rc = self.gpu.code("cuMemCreate", byref(handle), want, byref(self.gpu.prop()), 0)
            if rc == SUCCESS:
                address = self.gpu.map(handle.value, want, at=self.end)
                self.gpu.call("cuMemRelease", handle.value)
                self.end += want
                self.reserved += want
                return address
            if rc != OUT_OF_MEMORY:
                raise DriverError("cuMemCreate", rc)
            if not again:
                self.empty()
        return refuse(self.gpu, size)

    def drop(self, address, want):
        self.gpu.unmap(address, want, release_address=False)


class Async(Caching):
    backend = "cudaMallocAsync"

    def __init__(self, gpu, stream):
        super().__init__(gpu)
        self.stream = stream
        gpu.call("cuMemPoolSetAttribute", gpu.default_pool(), RELEASE_THRESHOLD,
                 byref(c_uint64(64 * GIB)))

    def take(self, size):
        block = c_uint64()
        rc = self.gpu.code("cuMemAllocAsync", byref(block), size, self.stream)
        if rc == OUT_OF_MEMORY:
            refuse(self.gpu, size)
        if rc != SUCCESS:
            raise DriverError("cuMemAllocAsync", rc)
        self.gpu.call("cuStreamSynchronize", self.stream)
        self.held[block.value] = size
        self.allocated += size
        self.reserved = self.gpu.reserved(self.gpu.default_pool())
        return block.value

    def give(self, address):
        self.allocated -= self.held.pop(address)
        self.gpu.call("cuMemFreeAsync", c_uint64(address), self.stream)
        self.gpu.call("cuStreamSynchronize", self.stream)

    def empty(self):
        self.gpu.call("cuMemPoolTrimTo", self.gpu.default_pool(), 0)
        self.reserved = self.gpu.reserved(self.gpu.default_pool())


def choose(gpu, stream, conf):
    if "cudaMallocAsync" in conf:
        return Async(gpu, stream)
    return Expandable(gpu) if "expandable_segments:True" in conf else Caching(gpu)
