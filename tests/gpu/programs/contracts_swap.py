# SPDX-License-Identifier: Apache-2.0
"""What moving memory between the card and the host assumes of the driver (src/shim/cuda/swap): a section of contracts.py.

A segment is addresses that stay (cuMemAddressReserve), with a physical allocation mapped there while it is on the card.
Nothing here takes more than SEGMENTS of 64 MiB of the card, or a block of 256 MiB, and 512 MiB of the host's memory.
"""
import ctypes
import os
import pathlib
import statistics
import sys
import time
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p, create_string_buffer

from driver import DEVICE, MIB, PINNED, READ_WRITE, AccessDesc, AllocationProp, Location

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
VMM_SUPPORTED, MINIMUM, RECOMMENDED = 102, 0, 1
PORTABLE, NO_TIMING, BLOCKING_SYNC = 1, 2, 1
PAGE, SEGMENT, SEGMENTS = 2 * MIB, 64 * MIB, 4
TIMED_SIZES = (2 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)
ROUNDS = 5
LINK_BYTES, HOST_BYTES = 256 * MIB, 512 * MIB
PATIENCE_SECONDS = 1
# Attributes of a pointer: number, and the type that cuda.h gives its value.
CONTEXT, BUFFER_ID, BLOCK_ID = 1, 7, 20
RELATIVE = {3, 11, 19}  # addresses
ATTRIBUTES = {"context": (1, c_uint64), "memory type": (2, c_uint), "device pointer": (3, c_uint64),
              "host pointer": (4, c_uint64), "sync memops": (6, c_int), "buffer id": (7, c_uint64),
              "is managed": (8, c_uint), "device ordinal": (9, c_int), "is legacy IPC capable": (10, c_uint),
              "range start": (11, c_uint64), "range size": (12, c_size_t), "mapped": (13, c_uint),
              "allowed handle types": (14, c_uint64), "is GPU direct RDMA capable": (15, c_uint),
              "access flags": (16, c_uint), "pool": (17, c_uint64), "mapping size": (18, c_size_t),
              "mapping base": (19, c_uint64), "memory block id": (20, c_uint64)}

COPY = b"""
.version 6.4
.target sm_75
.address_size 64
.visible .entry copy_words(.param .u64 to, .param .u64 source, .param .u32 count)
{
        .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<8>;
        ld.param.u64 %d0, [to]; ld.param.u64 %d1, [source]; ld.param.u32 %r0, [count];
        mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
        mad.lo.s32 %r5, %r2, %r3, %r4;
        setp.ge.u32 %p, %r5, %r0;
        @%p ret;
        mul.wide.u32 %d2, %r5, 4;
        cvta.to.global.u64 %d3, %d0; cvta.to.global.u64 %d4, %d1;
        add.s64 %d5, %d3, %d2; add.s64 %d6, %d4, %d2;
        ld.global.u32 %r1, [%d6];
        st.global.u32 [%d5], %r1;
        ret;
}
"""


def prop():
    """As a segment is made: for this device, to be shared with nobody."""
    return AllocationProp(type=PINNED, location=Location(DEVICE, 0))


def now_ns():
    return time.perf_counter_ns()


class Segment:
    """Addresses, and what is mapped there or not; each call as src/shim/cuda/swap/segment.c makes it."""
    def __init__(self, gpu, size, at=None):
        self.gpu, self.size, self.handle = gpu, size, None
        self.at = at or gpu.value(c_uint64, "cuMemAddressReserve", size, PAGE, 0, 0)

    def create(self):
        handle = c_uint64()
        code = self.gpu.code("cuMemCreate", byref(handle), self.size, byref(prop()), 0)
        self.handle = handle.value if code == 0 else None
        return code

    def map(self):
        return self.gpu.code("cuMemMap", self.at, self.size, 0, self.handle, 0)

    def open(self, size=None):
        access = AccessDesc(Location(DEVICE, 0), READ_WRITE)
        return self.gpu.code("cuMemSetAccess", self.at, size or self.size, byref(access), 1)

    def unmap(self):
        return self.gpu.code("cuMemUnmap", self.at, self.size)

    def release(self):
        handle, self.handle = self.handle, None
        return self.gpu.code("cuMemRelease", handle)

    def come(self):
        must(self.create(), self.map(), self.open())
        return self

    def go(self):
        must(self.unmap(), self.release())

    def end(self):
        return self.gpu.code("cuMemAddressFree", self.at, self.size)


def must(*codes):
    if any(codes):
        raise ValueError(f"answered {codes}")


class Host:
    """Pinned memory as the mover takes it."""
    def __init__(self, gpu, size):
        self.gpu, self.size, self.at = gpu, size, c_void_p()
        gpu.call("cuMemHostAlloc", byref(self.at), size, PORTABLE)

    def end(self):
        self.gpu.call("cuMemFreeHost", self.at)

    def word(self, at):
        return c_uint.from_address(self.at.value + at).value


def ask_swap(section, gpu):
    gpu.free(gpu.alloc(MIB))
    is_supported, size = c_int(), c_size_t()
    section.answer("virtual memory management supported: code, value",
                   [gpu.code("cuDeviceGetAttribute", byref(is_supported), VMM_SUPPORTED, 0), is_supported.value])
    for name, option in (("minimum", MINIMUM), ("recommended", RECOMMENDED)):
        section.answer(f"granularity, {name}: code, bytes",
                       [gpu.code("cuMemGetAllocationGranularity", byref(size), byref(prop()), option), size.value])
    if not is_supported.value:
        return
    for ask in (ask_times, ask_access, ask_again, ask_link, ask_pinning, ask_captures, ask_books, ask_attributes):
        ask(section, gpu)


def ask_times(section, gpu):
    """Medians; the first of a size may make the driver take page tables."""
    for size in TIMED_SIZES:
        rows = []
        for _ in range(ROUNDS):
            times = [now_ns()]
            segment = Segment(gpu, size)
            times.append(now_ns())
            for step in (segment.create, segment.map, segment.open, segment.unmap, segment.release, segment.end):
                must(step())
                times.append(now_ns())
            rows.append([end - begin for begin, end in zip(times, times[1:])])
        section.answer(f"{size // MIB} MiB, ns: reserve, create, map, access, unmap, release, free addresses",
                       [int(statistics.median(column)) for column in zip(*rows)])
        section.answer(f"{size // MIB} MiB, ns, the first time: the same", rows[0])


def whole_and_parts(gpu, count):
    whole = Segment(gpu, count * SEGMENT)
    return whole, [Segment(gpu, SEGMENT, whole.at + part * SEGMENT) for part in range(count)]


def ask_access(section, gpu):
    """One call for all mappings of a block."""
    whole, parts = whole_and_parts(gpu, SEGMENTS)
    for part in parts:
        must(part.create(), part.map())
    began = now_ns()
    section.answer(f"cuMemSetAccess over {SEGMENTS} mappings at once: code", whole.open())
    section.answer(f"cuMemSetAccess over {SEGMENTS} mappings at once, ns", now_ns() - began)
    section.answer("a fill across all of them: code", gpu.code("cuMemsetD32_v2", whole.at, c_uint(7), whole.size // 4))
    section.answer("a word at each of their ends", [gpu.words(part.at + SEGMENT - 4, 1)[0] for part in parts])
    section.answer("cuMemSetAccess again: code", whole.open())
    parts[1].go()
    section.answer("cuMemSetAccess over a gap: code", whole.open())
    section.answer("a fill across a gap: code", gpu.code("cuMemsetD32_v2", whole.at, c_uint(8), whole.size // 4))
    section.answer("cuMemAddressFree of addresses in use: code", whole.end())
    section.answer("beside the gap it still is what it was", [gpu.words(parts[0].at, 1)[0], gpu.words(parts[2].at, 1)[0]])
    for part in (parts[0], *parts[2:]):
        part.go()
    section.answer("cuMemAddressFree when nothing is mapped: code", whole.end())


class Reader:
    """A kernel that copies words, and a graph of it that was instantiated when the block was first there."""
    def __init__(self, gpu, source):
        self.gpu, self.source, self.count = gpu, source, MIB // 4
        self.to = gpu.alloc(MIB)
        self.function = gpu.function(gpu.module(COPY), b"copy_words")
        self.stream, graph, self.ready = gpu.stream(), c_void_p(), c_void_p()
        gpu.call("cuStreamBeginCapture_v2", self.stream, RELAXED)
        must(self.launch(self.stream))
        gpu.call("cuStreamEndCapture", self.stream, byref(graph))
        gpu.call("cuGraphInstantiateWithFlags", byref(self.ready), graph, 0)

    def launch(self, stream=None):
        return self.gpu.launch(self.function, c_uint64(self.to), c_uint64(self.source), c_uint(self.count),
                               blocks=self.count // 256, threads=256, stream=stream)

    def read(self, way):
        """The code, and the words that it copied at both ends."""
        self.gpu.fill(self.to, 0, self.count)
        self.gpu.sync()  # streams here wait for no other one, as the mover's
        code = self.launch() if way == "kernel" else self.gpu.code("cuGraphLaunch", self.ready, self.stream)
        return [code, self.gpu.code("cuCtxSynchronize"), *(self.gpu.words(self.to + at, 1)[0] for at in (0, MIB - 4))]


def copied(gpu, name, stream, *arguments):
    must(gpu.code(name, *arguments, stream), gpu.code("cuStreamSynchronize", stream))


def ask_again(section, gpu):
    """Out and in again: other physical memory at the same address."""
    segment, host, stream = Segment(gpu, SEGMENT).come(), Host(gpu, SEGMENT), gpu.stream()
    gpu.fill(segment.at, 0xA11C0A7E, SEGMENT // 4)
    gpu.sync()
    reader = Reader(gpu, segment.at)
    section.answer("before, a kernel: codes, words", reader.read("kernel"))
    section.answer("before, a graph: codes, words", reader.read("graph"))
    copied(gpu, "cuMemcpyDtoHAsync_v2", stream, host.at, segment.at, SEGMENT)
    section.answer("copied out: words at both ends", [host.word(0), host.word(SEGMENT - 4)])
    segment.go()
    section.answer("out: a copy from there: code", gpu.code("cuMemcpyDtoH_v2", create_string_buffer(64), segment.at, 64))
    section.answer("out: memory type of its address: code",
                   gpu.code("cuPointerGetAttribute", byref(c_uint()), 2, segment.at))
    section.answer("out: the same addresses are given to nobody else",
                   gpu.value(c_uint64, "cuMemAddressReserve", SEGMENT, PAGE, 0, 0) != segment.at)
    decoy = Segment(gpu, SEGMENT).come()
    gpu.fill(decoy.at, 0xDEC0DEC0, SEGMENT // 4)
    segment.come()
    copied(gpu, "cuMemcpyHtoDAsync_v2", stream, segment.at, host.at, SEGMENT)
    section.answer("in again, a copy: words at both ends", [gpu.words(segment.at, 1)[0], gpu.words(segment.at + SEGMENT - 4, 1)[0]])
    section.answer("in again, a kernel: codes, words", reader.read("kernel"))
    section.answer("in again, the graph of before: codes, words", reader.read("graph"))
    for one in (segment, decoy):
        one.go()
    host.end()


def ask_link(section, gpu):
    """Pinned, with a stream for each way, as bytes a second; and 64 MiB with all calls of a move around it."""
    segments = [Segment(gpu, LINK_BYTES // 2).come() for _ in range(2)]
    hosts, streams = [Host(gpu, LINK_BYTES // 2) for _ in range(2)], [gpu.stream(), gpu.stream()]

    def begin(way, at, stream):
        ends = (segments[at].at, hosts[at].at) if way == "HtoD" else (hosts[at].at, segments[at].at)
        gpu.call(f"cuMemcpy{way}Async_v2", *ends, LINK_BYTES // 2, stream)

    def rate(*ways):
        rates = []
        for _ in range(ROUNDS):
            began = now_ns()
            for number in range(4):
                begin(ways[number % len(ways)], number % 2, streams[number % len(ways)])
            gpu.sync()
            rates.append(2 * LINK_BYTES / (now_ns() - began) * 1e9)
        return int(statistics.median(rates))
    for name, ways in (("out", ("DtoH",)), ("in", ("HtoD",)), ("both at once, together", ("DtoH", "HtoD"))):
        section.answer(f"{LINK_BYTES // MIB} MiB of pinned memory, B/s: {name}", rate(*ways))
    for segment in segments:
        segment.go()
    segment, stream, event = Segment(gpu, SEGMENT).come(), streams[0], gpu.event(NO_TIMING | BLOCKING_SYNC)

    def move(name, *ends):
        gpu.call(name, *ends, SEGMENT, stream)
        gpu.call("cuEventRecord", event, stream)
        gpu.call("cuEventSynchronize", event)
    rows = []
    for _ in range(ROUNDS):
        began = now_ns()
        move("cuMemcpyDtoHAsync_v2", hosts[0].at, segment.at)
        segment.go()
        out = now_ns()
        segment.come()
        move("cuMemcpyHtoDAsync_v2", segment.at, hosts[0].at)
        rows.append([out - began, now_ns() - out])
    section.answer("a segment of 64 MiB with all its calls, ns: out, in", [int(statistics.median(column)) for column in zip(*rows)])
    segment.go()
    for host in hosts:
        host.end()


def ask_pinning(section, gpu):
    """Of memory that the process has not touched, twice: the second time the kernel may have it at hand."""
    for size in (SEGMENT, HOST_BYTES):
        for time_of in ("first", "second"):
            began = now_ns()
            hosts = [Host(gpu, size) for _ in range(HOST_BYTES // size)]
            pinned = now_ns()
            for host in hosts:
                host.end()
            section.answer(f"{HOST_BYTES // MIB} MiB pinned in pieces of {size // MIB} MiB, the {time_of} time, s a GiB: to have, to free",
                           [round((end - begin) / 1e9 * 1024 * MIB / HOST_BYTES, 4)
                            for begin, end in ((began, pinned), (pinned, now_ns()))])


def steps(gpu):
    """All calls of moving, in their order; each after those before it."""
    segment, stream, event, host = None, gpu.stream(), gpu.event(NO_TIMING | BLOCKING_SYNC), c_void_p()
    address = c_uint64()

    def reserve():
        nonlocal segment
        code = gpu.code("cuMemAddressReserve", byref(address), PAGE, PAGE, 0, 0)
        segment = Segment(gpu, PAGE, address.value)
        return code

    return {
        "cuMemAddressReserve": reserve,
        "cuMemCreate": lambda: segment.create(),
        "cuMemMap": lambda: segment.map(),
        "cuMemSetAccess": lambda: segment.open(),
        "cuMemHostAlloc": lambda: gpu.code("cuMemHostAlloc", byref(host), PAGE, PORTABLE),
        "cuMemcpyDtoHAsync": lambda: gpu.code("cuMemcpyDtoHAsync_v2", host, segment.at, PAGE, stream),
        "cuEventRecord": lambda: gpu.code("cuEventRecord", event, stream),
        "cuEventSynchronize": lambda: gpu.code("cuEventSynchronize", event),
        "cuMemcpyHtoDAsync": lambda: gpu.code("cuMemcpyHtoDAsync_v2", segment.at, host, PAGE, stream),
        "cuStreamSynchronize": lambda: gpu.code("cuStreamSynchronize", stream),
        "cuStreamQuery": lambda: gpu.code("cuStreamQuery", stream),
        "cuMemUnmap": lambda: segment.unmap(),
        "cuMemRelease": lambda: segment.release(),
        "cuMemFreeHost": lambda: gpu.code("cuMemFreeHost", host),
        "cuMemAddressFree": lambda: segment.end(),
        "cuCtxPopCurrent and cuCtxPushCurrent": lambda: pop_and_push(gpu),
    }


def pop_and_push(gpu):
    context = c_void_p()
    return gpu.code("cuCtxPopCurrent_v2", byref(context)) or gpu.code("cuCtxPushCurrent_v2", context)


def ask_captures(section, gpu):
    """Each call in a capture of its own that the main thread has open: its code, and that of the capture's end."""
    captured, function = gpu.stream(), gpu.function(gpu.module(COPY), b"copy_words")
    block = gpu.alloc(MIB)

    def launch():
        return gpu.launch(function, c_uint64(block), c_uint64(block), c_uint(1), stream=captured)

    for name, mode, exchanged in (("global", GLOBAL, RELAXED), ("thread-local", THREAD_LOCAL, RELAXED),
                                  ("relaxed", RELAXED, RELAXED)):
        for what, step in steps(gpu).items():
            gpu.call("cuStreamBeginCapture_v2", captured, mode)
            codes = [launch(), gpu.in_thread(exchanged, step), launch(),
                     gpu.code("cuStreamEndCapture", captured, byref(c_void_p()))]
            section.answer(f"{name}, a relaxed thread: {what}: launch, code, launch, end", codes)
        gpu.sync()


def nvml():
    """NVML's bytes of this process and of the card, as functions; of None where there is no NVML."""
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
    try:
        from probe import Books
        books = Books(None)
        books.card()
    except (ImportError, OSError):
        return (lambda: None), (lambda: None)
    return (lambda: books.process(os.getpid())), books.card


def until(look, value):
    """ms until it is so; "never" within a second."""
    began = time.perf_counter()
    while look() != value:
        if time.perf_counter() - began > PATIENCE_SECONDS:
            return "never"
    return round(1e3 * (time.perf_counter() - began), 3)


def ask_books(section, gpu):
    process, card = nvml()

    def free():
        return gpu.info()[0]

    for size in (SEGMENT, LINK_BYTES):
        segment, rows, late = Segment(gpu, size), [], []
        first = [look() for look in (free, process, card)]
        for step in (segment.come, segment.go, segment.come, segment.go):
            step()
            seen = [look() for look in (free, process, card)]
            rows.append([None if now is None else (now - before) // MIB for now, before in zip(seen, first)])
            if step == segment.go:
                late.append([until(free, first[0]), until(process, first[1])])
        section.answer(f"{size // MIB} MiB mapped, out, in, out: MiB more of free, NVML's process, NVML's card", rows)
        section.answer(f"{size // MIB} MiB released: ms until free has all of it, until NVML's process has none of it", late)
        segment.end()


def pointer_answers(gpu, base, address, context):
    """{attribute: [code, value]}; an address is told from the block's beginning, a context by whether it is ours."""
    answers = {}
    for name, (number, kind) in ATTRIBUTES.items():
        value = kind()
        code = gpu.code("cuPointerGetAttribute", byref(value), number, address)
        told = value.value
        if code == 0 and number in RELATIVE:
            told -= base
        elif code == 0 and number == CONTEXT:
            told = told == context
        elif code == 0 and number in (BUFFER_ID, BLOCK_ID):
            told = told != 0
        answers[name] = [code, told if code == 0 else None]
    return answers


def ask_attributes(section, gpu):
    """Of an address in the second segment of a block: what a program is told of cuMemAlloc's memory, and of mapped memory."""
    size = 2 * SEGMENT
    plain, (whole, parts) = gpu.alloc(size), whole_and_parts(gpu, 2)
    for part in parts:
        must(part.create(), part.map())
    must(whole.open())
    at = SEGMENT + 4096
    for kind, base in (("cuMemAlloc", plain), ("mapped", whole.at)):
        for name, answer in pointer_answers(gpu, base, base + at, gpu.context.value).items():
            section.answer(f"{kind}, {name}: code, value", answer)
        start, length = c_uint64(), c_size_t()
        section.answer(f"{kind}, cuMemGetAddressRange: code, beginning, bytes",
                       [gpu.code("cuMemGetAddressRange_v2", byref(start), byref(length), base + at), start.value - base, length.value])
        kinds, ordinal, managed = c_uint(), c_int(), c_uint(9)
        places = (c_void_p * 3)(*(ctypes.addressof(one) for one in (kinds, ordinal, managed)))
        section.answer(f"{kind}, cuPointerGetAttributes of type, device, is managed: code, values",
                       [gpu.code("cuPointerGetAttributes", c_uint(3), (c_uint * 3)(2, 9, 8), places, base + at),
                        kinds.value, ordinal.value, managed.value & 1])
        ids = []
        for part in (0, SEGMENT):
            number = c_uint64()
            gpu.code("cuPointerGetAttribute", byref(number), BUFFER_ID, base + part)
            ids.append(number.value)
        section.answer(f"{kind}, buffer ids of both segments are one", ids[0] == ids[1])
        section.answer(f"{kind}, cuIpcGetMemHandle: code", gpu.code("cuIpcGetMemHandle", create_string_buffer(64), base))
        section.answer(f"{kind}, cuMemFree: code", gpu.code("cuMemFree_v2", base))
    for part in parts:
        part.unmap()  # the driver may have taken the free of it
    whole.end()
