# SPDX-License-Identifier: Apache-2.0
"""The driver's interface by ctypes, as a Python program uses it.

    gpu = Driver().ready()              # initialised, the primary context of card 0 current
    block = gpu.alloc(1 << 20)          # must succeed; a failure is a DriverError
    rc = gpu.code("cuMemFree_v2", block)        # the answer itself
"""
import ctypes
import threading
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

SUCCESS, OUT_OF_MEMORY = 0, 2
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
PINNED, DEVICE, POSIX_FD, READ_WRITE = 1, 1, 1, 3
NON_BLOCKING, ATTACH_GLOBAL = 1, 1
RELEASE_THRESHOLD, RESERVED_CURRENT, GRAPH_RESERVED_CURRENT = 4, 5, 2
STACK_SIZE, PRINTF_SIZE, HEAP_SIZE = 0, 1, 2
SM_RESOURCE, GREEN_DEFAULT_STREAM = 1, 1

# For the oldest card whose code a driver of CUDA 13 still makes: sm_75.
PTX = b"""
.version 6.4
.target sm_75
.address_size 64
.visible .global .align 4 .b8 zeros[33554432];
.visible .entry nothing() { ret; }
.visible .entry fill(.param .u64 to, .param .u32 value, .param .u32 count)
{
        .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<4>;
        ld.param.u64 %d0, [to]; ld.param.u32 %r0, [value]; ld.param.u32 %r1, [count];
        mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
        mad.lo.s32 %r5, %r2, %r3, %r4;
        setp.ge.u32 %p, %r5, %r1;
        @%p ret;
        mul.wide.u32 %d1, %r5, 4;
        cvta.to.global.u64 %d2, %d0;
        add.s64 %d3, %d2, %d1;
        st.global.u32 [%d3], %r0;
        ret;
}
"""

# A kernel with 16 KiB of local memory a thread, and one that calls malloc().
HUNGRY_PTX = b"""
.version 6.4
.target sm_75
.address_size 64
.extern .func (.param .b64 block) malloc(.param .b64 bytes);
.visible .entry uses_local(.param .u64 to, .param .u32 at)
{
        .reg .b32 %r<4>; .reg .b64 %d<6>;
        .local .align 16 .b8 room[16384];
        ld.param.u64 %d0, [to]; ld.param.u32 %r0, [at];
        cvta.to.global.u64 %d1, %d0;
        mov.u64 %d2, room;
        cvt.u64.u32 %d3, %r0;
        add.s64 %d4, %d2, %d3;
        st.local.u32 [%d4], %r0;
        ld.local.u32 %r1, [%d2+64];
        st.global.u32 [%d1], %r1;
        ret;
}
.visible .entry uses_heap(.param .u64 to)
{
        .reg .b64 %d<4>;
        ld.param.u64 %d0, [to];
        cvta.to.global.u64 %d1, %d0;
        {
                .param .b64 bytes; .param .b64 block;
                st.param.b64 [bytes], 64;
                call.uni (block), malloc, (bytes);
                ld.param.b64 %d2, [block];
        }
        st.global.u64 [%d1], %d2;
        ret;
}
"""


class Location(ctypes.Structure):
    _fields_ = [("type", c_int), ("id", c_int)]


class AllocationProp(ctypes.Structure):
    _fields_ = [("type", c_int), ("handle_types", c_int), ("location", Location),
                ("meta", c_void_p), ("flags", ctypes.c_ubyte * 8)]


class AccessDesc(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", c_int)]


class PoolProps(ctypes.Structure):
    _fields_ = [("type", c_int), ("handle_types", c_int), ("location", Location),
                ("security", c_void_p), ("max_size", c_size_t), ("usage", ctypes.c_ushort),
                ("reserved", ctypes.c_ubyte * 54)]


class AllocNode(ctypes.Structure):
    _fields_ = [("pool", PoolProps), ("access", c_void_p), ("access_count", c_size_t),
                ("bytes", c_size_t), ("address", c_uint64)]


class ArrayShape(ctypes.Structure):
    _fields_ = [("width", c_size_t), ("height", c_size_t), ("depth", c_size_t), ("format", c_int),
                ("channels", c_uint), ("flags", c_uint)]


class ArrayNeeds(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("alignment", c_size_t), ("reserved", c_uint * 4)]


class DevResource(ctypes.Structure):
    """Room for what the driver writes: it is passed on as it is."""
    _fields_ = [("bytes", ctypes.c_ubyte * 256)]


class IpcHandle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 64)]


class DriverError(Exception):
    def __init__(self, name, rc):
        super().__init__(f"{name} answered {rc}")
        self.rc = rc


def convert(argument):
    """Python numbers as 64 bits: right for sizes and addresses, and for anything shorter in a
    register."""
    if isinstance(argument, int):
        return c_uint64(argument & (1 << 64) - 1)
    return argument


class Driver:
    def __init__(self, name="libcuda.so.1"):
        self.library = ctypes.CDLL(name)
        self.context = c_void_p()

    def has(self, name):
        return hasattr(self.library, name)

    def code(self, name, *arguments):
        return getattr(self.library, name)(*map(convert, arguments))

    def call(self, name, *arguments):
        rc = self.code(name, *arguments)
        if rc != SUCCESS:
            raise DriverError(name, rc)

    def ready(self):
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", byref(self.context), 0)
        self.call("cuCtxSetCurrent", self.context)
        return self

    def in_thread(self, mode, call):
        """The answer of `call` in a thread that has the context, and exchanged its capture mode if one is given."""
        answers = []

        def work():
            self.call("cuCtxSetCurrent", self.context)
            if mode is not None:
                self.call("cuThreadExchangeStreamCaptureMode", byref(c_int(mode)))
            answers.append(call())
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return answers[0] if answers else "raised"

    def value(self, kind, name, *arguments, first=True):
        """What a call puts where its first (or last) argument points to."""
        result = kind()
        where = (byref(result), *arguments) if first else (*arguments, byref(result))
        self.call(name, *where)
        return result.value if hasattr(result, "value") else result

    # Memory

    def info(self):
        free, total = c_size_t(), c_size_t()
        self.call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def alloc(self, size):
        return self.value(c_uint64, "cuMemAlloc_v2", size)

    def free(self, block):
        self.call("cuMemFree_v2", block)

    def alloc_code(self, size):
        """The answer alone; a block that was granted stays."""
        return self.code("cuMemAlloc_v2", byref(c_uint64()), size)

    def stream(self):
        return c_void_p(self.value(c_void_p, "cuStreamCreate", NON_BLOCKING))

    def sync(self):
        self.call("cuCtxSynchronize")

    def granularity(self):
        return self.value(c_size_t, "cuMemGetAllocationGranularity", byref(self.prop()), 0)

    @staticmethod
    def prop():
        return AllocationProp(type=PINNED, handle_types=POSIX_FD, location=Location(DEVICE, 0))

    def create(self, size):
        return self.value(c_uint64, "cuMemCreate", size, byref(self.prop()), 0)

    def map(self, handle, size, at=None):
        address = at or self.value(c_uint64, "cuMemAddressReserve", size, 0, 0, 0)
        self.call("cuMemMap", address, size, 0, handle, 0)
        access = AccessDesc(Location(DEVICE, 0), READ_WRITE)
        self.call("cuMemSetAccess", address, size, byref(access), 1)
        return address

    def unmap(self, address, size, release_address=True):
        self.call("cuMemUnmap", address, size)
        if release_address:
            self.call("cuMemAddressFree", address, size)

    def pool(self):
        props = PoolProps(type=PINNED, location=Location(DEVICE, 0))
        return c_void_p(self.value(c_void_p, "cuMemPoolCreate", byref(props)))

    def default_pool(self):
        return c_void_p(self.value(c_void_p, "cuDeviceGetDefaultMemPool", 0))

    def reserved(self, pool):
        return self.value(c_uint64, "cuMemPoolGetAttribute", pool, RESERVED_CURRENT, first=False)

    def graph_reserved(self):
        return self.value(c_uint64, "cuDeviceGetGraphMemAttribute", 0, GRAPH_RESERVED_CURRENT,
                          first=False)

    def graph_with_block(self, size):
        """A graph that takes a block of `size` and gives it back, ready to launch."""
        graph, node, end, ready = c_void_p(), c_void_p(), c_void_p(), c_void_p()
        props = PoolProps(type=PINNED, location=Location(DEVICE, 0))
        params = AllocNode(pool=props, bytes=size)
        self.call("cuGraphCreate", byref(graph), 0)
        self.call("cuGraphAddMemAllocNode", byref(node), graph, None, 0, byref(params))
        self.call("cuGraphAddMemFreeNode", byref(end), graph, byref(node), 1, params.address)
        self.call("cuGraphInstantiateWithFlags", byref(ready), graph, 0)
        return ready

    # Code

    def module(self, image=PTX):
        return c_void_p(self.value(c_void_p, "cuModuleLoadData", c_char_p(image)))

    def function(self, module, name):
        return c_void_p(self.value(c_void_p, "cuModuleGetFunction", module, c_char_p(name)))

    def launch(self, function, *parameters, blocks=1, threads=1, stream=None):
        addresses = (c_void_p * max(len(parameters), 1))(
            *(ctypes.addressof(each) for each in parameters))
        return self.code("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, stream,
                         addresses, None)

    # Bytes

    def fill(self, block, value, count):
        self.call("cuMemsetD32_v2", block, c_uint(value), count)

    def words(self, block, count):
        room = (c_uint * count)()
        self.call("cuMemcpyDtoH_v2", room, block, count * 4)
        return list(room)
