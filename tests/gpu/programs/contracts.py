# SPDX-License-Identifier: Apache-2.0
"""What our code assumes of the driver, asked of the driver. It is run without Aliquot.

    contracts.py SECTION...     each in a process of its own; says an *answer* for each question:
                                {"at": "answer", "section": ..., "what": ..., "value": ...}

    calls     error codes of calls without a current context, and with another one current
    capture   which calls fail in, and which invalidate, a stream capture: by mode, by thread
    events    events across contexts and streams, before their time and after it
    ends      handles of what has ended: streams, events, contexts
    queues    how much may be in flight before a launch blocks; streams that share a queue
    timers    steps of event times and of the kernels' clock
    memory    what the card has less of after a call, in bytes; nobody else may use it meanwhile
    host      what can be done with pinned, mapped memory by its address alone, as with the device's own
    swap      what moving memory between card and host needs: contracts_swap.py

A code is the driver's CUresult. What a driver has no function for is answered by "absent".
"""
import os
import sys
import threading
import time
from ctypes import (CFUNCTYPE, Structure, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p,
                    create_string_buffer)

from contracts_swap import ask_swap
from driver import KIB, MIB, NON_BLOCKING, POSIX_FD, RESERVED_CURRENT, STACK_SIZE, Driver
from said import say

NO_TIMING = 2
GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2
MODES = {"global": GLOBAL, "thread-local": THREAD_LOCAL, "relaxed": RELAXED}
LEGACY, PER_THREAD = c_void_p(1), c_void_p(2)
PORTABLE, DEVICEMAP, GREATER_OR_EQUAL = 1, 2, 0
POINTER_CONTEXT, POINTER_TYPE, POINTER_IS_MANAGED, POINTER_DEVICE, POINTER_RANGE_START, POINTER_RANGE_SIZE = 1, 2, 8, 9, 11, 12
MANY_LAUNCHES, MANY_STREAMS = 4000, 64
BLOCKED_SECONDS = 0.4
BLOCK_SIZES = (1, 64 * KIB, 512 * KIB, MIB - 512, MIB, MIB + 1, 1100 * KIB, 3 * MIB // 2, 2 * MIB, 2 * MIB + 1, 5 * MIB // 2)

CODE = b"""
.version 6.4
.target sm_75
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry ticks(.param .u64 to, .param .u32 count)
{
        .reg .pred %p; .reg .b32 %n; .reg .b64 %to, %now, %was;
        ld.param.u64 %to, [to]; ld.param.u32 %n, [count];
        cvta.to.global.u64 %to, %to;
        mov.u64 %was, %globaltimer;
look:
        mov.u64 %now, %globaltimer;
        setp.eq.u64 %p, %now, %was;
        @%p bra look;
        mov.u64 %was, %now;
        st.global.u64 [%to], %now;
        add.s64 %to, %to, 8;
        sub.s32 %n, %n, 1;
        setp.gt.s32 %p, %n, 0;
        @%p bra look;
        ret;
}
"""


class Section:
    def __init__(self, name):
        self.name = name

    def answer(self, what, value):
        say("answer", section=self.name, what=what, value=value)


class Gpu(Driver):
    """With whatever the questions are about."""
    def code(self, name, *arguments):
        return super().code(name, *arguments) if self.has(name) else "absent"

    def event(self, flags=NO_TIMING):
        return c_void_p(self.value(c_void_p, "cuEventCreate", flags))

    def new_context(self):
        return c_void_p(self.value(c_void_p, "cuCtxCreate_v2", 0, 0))

    def use(self, context):
        self.call("cuCtxSetCurrent", context)

    def mapped_word(self):
        """Four bytes that host and card see: the host's address, and the card's."""
        host = c_void_p()
        self.call("cuMemHostAlloc", byref(host), 4096, DEVICEMAP)
        word = c_uint.from_address(host.value)
        word.value = 0
        return word, self.value(c_uint64, "cuMemHostGetDevicePointer_v2", host, 0)

    def wait_for(self, stream, address):
        self.call("cuStreamWaitValue32_v2", stream, address, c_uint(1), GREATER_OR_EQUAL)


class Things:
    """One of each, made in the context that is current, with nothing to do."""
    def __init__(self, gpu):
        self.stream, self.event, self.first, self.second = gpu.stream(), gpu.event(), gpu.event(0), gpu.event(0)
        self.block, self.host = gpu.alloc(MIB), create_string_buffer(64)
        self.module = gpu.module(CODE)
        self.function = gpu.function(self.module, b"nothing")
        self.pool = gpu.default_pool()
        for event in (self.event, self.first, self.second):
            gpu.call("cuEventRecord", event, self.stream)
        graph, node = c_void_p(), c_void_p()
        gpu.call("cuGraphCreate", byref(graph), 0)
        gpu.call("cuGraphAddEmptyNode", byref(node), graph, None, 0)
        self.graph, self.ready = graph, c_void_p()
        gpu.call("cuGraphInstantiateWithFlags", byref(self.ready), graph, 0)
        gpu.sync()


nothing_done = CFUNCTYPE(None, c_void_p)(lambda _: None)


def calls(gpu, things):
    """Name, and what makes the call; things that a call makes are leaked, since this process is short."""
    stream, event, room = things.stream, things.event, create_string_buffer(256)
    word = c_uint64()
    return {
        "cuEventQuery": lambda: gpu.code("cuEventQuery", event),
        "cuEventRecord": lambda: gpu.code("cuEventRecord", event, stream),
        "cuEventSynchronize": lambda: gpu.code("cuEventSynchronize", event),
        "cuEventElapsedTime": lambda: gpu.code("cuEventElapsedTime", byref(c_float()), things.first, things.second),
        "cuEventCreate": lambda: gpu.code("cuEventCreate", byref(c_void_p()), NO_TIMING),
        "cuStreamQuery": lambda: gpu.code("cuStreamQuery", stream),
        "cuStreamQuery, null": lambda: gpu.code("cuStreamQuery", None),
        "cuStreamQuery, per thread": lambda: gpu.code("cuStreamQuery", PER_THREAD),
        "cuStreamSynchronize": lambda: gpu.code("cuStreamSynchronize", stream),
        "cuStreamWaitEvent": lambda: gpu.code("cuStreamWaitEvent", stream, event, 0),
        "cuStreamGetCtx": lambda: gpu.code("cuStreamGetCtx", stream, byref(c_void_p())),
        "cuStreamGetId": lambda: gpu.code("cuStreamGetId", stream, byref(word)),
        "cuStreamGetFlags": lambda: gpu.code("cuStreamGetFlags", stream, byref(c_uint())),
        "cuStreamIsCapturing": lambda: gpu.code("cuStreamIsCapturing", stream, byref(c_int())),
        "cuStreamIsCapturing, null": lambda: gpu.code("cuStreamIsCapturing", None, byref(c_int())),
        "cuStreamGetCaptureInfo": lambda: gpu.code("cuStreamGetCaptureInfo_v2", stream, byref(c_int()), byref(word),
                                                   None, None, None),
        "cuStreamCreate": lambda: gpu.code("cuStreamCreate", byref(c_void_p()), NON_BLOCKING),
        "cuStreamDestroy": lambda: gpu.code("cuStreamDestroy_v2", spare["stream"].pop()),
        "cuEventDestroy": lambda: gpu.code("cuEventDestroy_v2", spare["event"].pop()),
        "cuLaunchKernel": lambda: gpu.launch(things.function, stream=stream),
        "cuLaunchKernel, null stream": lambda: gpu.launch(things.function),
        "cuLaunchHostFunc": lambda: gpu.code("cuLaunchHostFunc", stream, nothing_done, None),
        "cuGraphLaunch": lambda: gpu.code("cuGraphLaunch", things.ready, stream),
        "cuGraphInstantiate": lambda: gpu.code("cuGraphInstantiateWithFlags", byref(c_void_p()), things.graph, 0),
        "cuMemGetInfo": lambda: gpu.code("cuMemGetInfo_v2", byref(c_size_t()), byref(c_size_t())),
        "cuMemAlloc": lambda: gpu.alloc_code(512),
        "cuMemFree": lambda: gpu.code("cuMemFree_v2", spare["block"].pop()),
        "cuMemAllocManaged": lambda: gpu.code("cuMemAllocManaged", byref(c_uint64()), 4096, 1),
        "cuMemHostAlloc": lambda: gpu.code("cuMemHostAlloc", byref(c_void_p()), 4096, 0),
        "cuMemAllocAsync": lambda: gpu.code("cuMemAllocAsync", byref(c_uint64()), 512, stream),
        "cuMemCreate": lambda: gpu.code("cuMemCreate", byref(c_uint64()), 2 * MIB, byref(gpu.prop()), 0),
        "cuMemcpyDtoH": lambda: gpu.code("cuMemcpyDtoH_v2", things.host, things.block, 64),
        "cuMemcpyHtoDAsync": lambda: gpu.code("cuMemcpyHtoDAsync_v2", things.block, things.host, 64, stream),
        "cuMemcpyDtoDAsync": lambda: gpu.code("cuMemcpyDtoDAsync_v2", things.block, things.block + 4096, 64, stream),
        "cuMemsetD8": lambda: gpu.code("cuMemsetD8_v2", things.block, 0, 64),
        "cuMemsetD8Async": lambda: gpu.code("cuMemsetD8Async", things.block, 0, 64, stream),
        "cuMemPoolGetAttribute": lambda: gpu.code("cuMemPoolGetAttribute", things.pool, RESERVED_CURRENT, byref(word)),
        "cuMemPoolTrimTo": lambda: gpu.code("cuMemPoolTrimTo", things.pool, 0),
        "cuPointerGetAttribute": lambda: gpu.code("cuPointerGetAttribute", byref(word), POINTER_CONTEXT, things.block),
        "cuMemGetAddressRange": lambda: gpu.code("cuMemGetAddressRange_v2", byref(word), byref(c_size_t()), things.block),
        "cuModuleLoadData": lambda: gpu.code("cuModuleLoadData", byref(c_void_p()), c_char_p(CODE)),
        "cuModuleUnload": lambda: gpu.code("cuModuleUnload", spare["module"].pop()),
        "cuModuleGetFunction": lambda: gpu.code("cuModuleGetFunction", byref(c_void_p()), things.module,
                                                c_char_p(b"nothing")),
        "cuFuncGetAttribute": lambda: gpu.code("cuFuncGetAttribute", byref(c_int()), 0, things.function),
        "cuCtxGetCurrent": lambda: gpu.code("cuCtxGetCurrent", byref(c_void_p())),
        "cuCtxGetDevice": lambda: gpu.code("cuCtxGetDevice", byref(c_int())),
        "cuCtxGetLimit": lambda: gpu.code("cuCtxGetLimit", byref(c_size_t()), STACK_SIZE),
        "cuCtxSynchronize": lambda: gpu.code("cuCtxSynchronize"),
        "cuDevicePrimaryCtxGetState": lambda: gpu.code("cuDevicePrimaryCtxGetState", 0, byref(c_uint()), byref(c_int())),
        "cuDevicePrimaryCtxRetain": lambda: gpu.code("cuDevicePrimaryCtxRetain", byref(c_void_p()), 0),
        "cuDevicePrimaryCtxRelease": lambda: gpu.code("cuDevicePrimaryCtxRelease_v2", 0),
        "cuDeviceGetUuid": lambda: gpu.code("cuDeviceGetUuid_v2", room, 0),
    }


spare = {"stream": [], "event": [], "block": [], "module": []}


def fill_spares(gpu, count):
    for _ in range(count):
        spare["stream"].append(gpu.stream())
        spare["event"].append(gpu.event())
        spare["block"].append(gpu.alloc(512))
        spare["module"].append(gpu.module(CODE))


def ask_calls(section):
    gpu = Gpu().ready()
    things = Things(gpu)
    fill_spares(gpu, 2)
    other = gpu.new_context()
    for what, current in (("none current", None), ("another current", other)):
        for name, call in calls(gpu, things).items():
            gpu.use(current)
            section.answer(f"{what}: {name}", call())
    gpu.use(gpu.context)
    gpu.sync()


def ask_capture(section):
    gpu = Gpu().ready()
    things = Things(gpu)
    situations = [(f"{mode}, another thread", MODES[mode], True, None) for mode in MODES]
    situations += [("global, a relaxed thread", GLOBAL, True, RELAXED), ("thread-local, a relaxed thread", THREAD_LOCAL, True, RELAXED)]
    situations += [(f"{mode}, its own thread", MODES[mode], False, None) for mode in MODES]
    fill_spares(gpu, len(situations))
    stream = gpu.stream()
    for what, mode, is_other, exchanged in situations:
        for name, call in calls(gpu, things).items():
            gpu.call("cuStreamBeginCapture_v2", stream, mode)
            code = gpu.in_thread(exchanged, call) if is_other else call()
            graph = c_void_p()
            section.answer(f"{what}: {name}", [code, gpu.code("cuStreamEndCapture", stream, byref(graph))])
        gpu.sync()
    ask_blocking_capture(gpu, section, things)


def ask_blocking_capture(gpu, section, things):
    """A stream that the legacy stream waits for is captured."""
    stream = c_void_p(gpu.value(c_void_p, "cuStreamCreate", 0))
    for name, call in (("cuLaunchKernel, null stream", lambda: gpu.launch(things.function)),
                       ("cuStreamQuery, null", lambda: gpu.code("cuStreamQuery", None)),
                       ("cuEventRecord, null stream", lambda: gpu.code("cuEventRecord", things.event, None)),
                       ("cuStreamIsCapturing, null", lambda: gpu.code("cuStreamIsCapturing", None, byref(c_int())))):
        for who, exchanged in (("another thread", None), ("a relaxed thread", RELAXED)):
            gpu.call("cuStreamBeginCapture_v2", stream, GLOBAL)
            code = gpu.in_thread(exchanged, call)
            section.answer(f"global, a blocking stream, {who}: {name}",
                           [code, gpu.code("cuStreamEndCapture", stream, byref(c_void_p()))])


def ask_events(section):
    gpu = Gpu().ready()
    stream, elsewhere = gpu.stream(), gpu.stream()
    other = gpu.new_context()
    theirs, their_event = gpu.stream(), gpu.event()
    gpu.use(gpu.context)
    section.answer("record another context's event", gpu.code("cuEventRecord", their_event, stream))
    section.answer("wait for another context's event", gpu.code("cuStreamWaitEvent", stream, their_event, 0))
    section.answer("query another context's event", gpu.code("cuEventQuery", their_event))
    section.answer("query another context's stream", gpu.code("cuStreamQuery", theirs))
    fresh = gpu.event()
    section.answer("query an event never recorded", gpu.code("cuEventQuery", fresh))
    word, address = gpu.mapped_word()
    module = gpu.module(CODE)
    function = gpu.function(module, b"nothing")
    before, behind, timed = gpu.event(), gpu.event(), gpu.event(0)
    gpu.call("cuEventRecord", before, stream)
    gpu.wait_for(stream, address)
    for event in (behind, timed):
        gpu.call("cuEventRecord", event, stream)
    time.sleep(0.02)
    section.answer("behind a waiting word: event before, event behind, stream, other stream",
                   [gpu.code("cuEventQuery", event) for event in (before, behind)] +
                   [gpu.code("cuStreamQuery", each) for each in (stream, elsewhere)])
    section.answer("elapsed: to one not timed, to one not reached",
                   [gpu.code("cuEventElapsedTime", byref(c_float()), before, timed),
                    gpu.code("cuEventElapsedTime", byref(c_float()), timed, timed)])
    section.answer("launch into another stream meanwhile", gpu.launch(function, stream=elsewhere))
    section.answer("that one is done", done_within(gpu, elsewhere))
    section.answer("null stream of a non-blocking stream that waits", [gpu.launch(function), done_within(gpu, None)])
    section.answer("destroy an event not reached", gpu.code("cuEventDestroy_v2", timed))
    gpu.call("cuEventRecord", behind, elsewhere)
    done_within(gpu, elsewhere)
    section.answer("an event recorded anew in a stream that is done", gpu.code("cuEventQuery", behind))
    word.value = 1
    section.answer("the word is written: the stream is done", done_within(gpu, stream))
    ask_host_functions(gpu, section, stream)
    ids = []
    for _ in range(3):
        made = gpu.stream()
        number = c_uint64()
        gpu.call("cuStreamGetId", made, byref(number))
        ids.append([hex(made.value), number.value])
        gpu.call("cuStreamDestroy_v2", made)
    section.answer("three streams made and destroyed in turns: handle, id", ids)
    section.answer("ids: null, legacy, per thread", [stream_id(gpu, None), stream_id(gpu, LEGACY), stream_id(gpu, PER_THREAD)])
    gpu.use(other)
    section.answer("ids in another context: null, legacy, per thread",
                   [stream_id(gpu, None), stream_id(gpu, LEGACY), stream_id(gpu, PER_THREAD)])


def stream_id(gpu, stream):
    number = c_uint64()
    code = gpu.code("cuStreamGetId", stream, byref(number))
    return code or number.value


def done_within(gpu, stream, seconds=0.05):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if gpu.code("cuStreamQuery", stream) == 0:
            return True
    return False


def ask_host_functions(gpu, section, stream):
    event, codes, go = gpu.event(), {}, threading.Event()

    def work(_):
        codes["cuEventQuery"] = gpu.code("cuEventQuery", event)
        codes["cuStreamIsCapturing"] = gpu.code("cuStreamIsCapturing", stream, byref(c_int()))
        codes["cuMemGetInfo"] = gpu.code("cuMemGetInfo_v2", byref(c_size_t()), byref(c_size_t()))
        go.wait(1)
    function = CFUNCTYPE(None, c_void_p)(work)
    before, behind = gpu.event(), gpu.event()
    gpu.call("cuEventRecord", before, stream)
    gpu.call("cuLaunchHostFunc", stream, function, None)
    gpu.call("cuEventRecord", behind, stream)
    time.sleep(0.05)
    section.answer("behind a host function that runs: event before, event behind, stream",
                   [gpu.code("cuEventQuery", before), gpu.code("cuEventQuery", behind), gpu.code("cuStreamQuery", stream)])
    go.set()
    gpu.sync()
    section.answer("in a host function", codes)


def ask_ends(section):
    """Each in a process of its own: it may be killed by its question."""
    for name, ask in ENDS.items():
        end, begin = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                answer = ask(Gpu().ready())
            except Exception as error:  # the answer is that it raised
                answer = repr(error)
            os.write(begin, repr(answer).encode())
            os._exit(0)
        os.close(begin)
        answer = os.read(end, 4096).decode()
        os.close(end)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        section.answer(name, answer if status == 0 else f"its process ended with {status}")


def context_gone(gpu):
    other = gpu.new_context()
    stream, event, word = gpu.stream(), gpu.event(), c_uint64()
    gpu.call("cuEventRecord", event, stream)
    gpu.call("cuCtxDestroy_v2", other)
    gpu.use(gpu.context)
    return stream, event, other, word


def query_event_of_a_dead_context(gpu):
    return gpu.code("cuEventQuery", context_gone(gpu)[1])


def query_stream_of_a_dead_context(gpu):
    return gpu.code("cuStreamQuery", context_gone(gpu)[0])


def destroy_event_of_a_dead_context(gpu):
    return gpu.code("cuEventDestroy_v2", context_gone(gpu)[1])


def version_of_a_dead_context(gpu):
    return gpu.code("cuCtxGetApiVersion", context_gone(gpu)[2], byref(c_uint()))


def query_stream_destroyed(gpu):
    stream = gpu.stream()
    gpu.call("cuStreamDestroy_v2", stream)
    return gpu.code("cuStreamQuery", stream)


def id_of_a_stream_destroyed(gpu):
    stream = gpu.stream()
    gpu.call("cuStreamDestroy_v2", stream)
    return gpu.code("cuStreamGetId", stream, byref(c_uint64()))


def query_event_destroyed(gpu):
    event = gpu.event()
    gpu.call("cuEventDestroy_v2", event)
    return gpu.code("cuEventQuery", event)


def event_outlives_its_stream(gpu):
    stream, event = gpu.stream(), gpu.event()
    word, address = gpu.mapped_word()
    gpu.wait_for(stream, address)
    gpu.call("cuEventRecord", event, stream)
    code = gpu.code("cuStreamDestroy_v2", stream)
    before = gpu.code("cuEventQuery", event)
    word.value = 1
    time.sleep(0.05)
    return [code, before, gpu.code("cuEventQuery", event)]


def context_destroyed_under_work(gpu):
    other, stream = gpu.new_context(), gpu.stream()
    word, address = gpu.mapped_word()
    gpu.wait_for(stream, address)
    timer = threading.Timer(0.2, setattr, (word, "value", 1))
    timer.start()
    began = time.monotonic()
    code = gpu.code("cuCtxDestroy_v2", other)
    return [code, "waited" if time.monotonic() - began > 0.15 else "did not wait"]


def primary_released(gpu):
    stream, event = gpu.stream(), gpu.event()
    gpu.call("cuEventRecord", event, stream)
    gpu.sync()
    released = gpu.code("cuDevicePrimaryCtxRelease_v2", 0)
    active = c_int()
    gpu.code("cuDevicePrimaryCtxGetState", 0, byref(c_uint()), byref(active))
    return [released, active.value, gpu.code("cuEventQuery", event), gpu.code("cuStreamQuery", stream),
            gpu.alloc_code(512)]


ENDS = {"event of a destroyed context: query": query_event_of_a_dead_context,
        "event of a destroyed context: destroy": destroy_event_of_a_dead_context,
        "stream of a destroyed context: query": query_stream_of_a_dead_context,
        "destroyed context: cuCtxGetApiVersion": version_of_a_dead_context,
        "destroyed stream: query": query_stream_destroyed,
        "destroyed stream: id": id_of_a_stream_destroyed,
        "destroyed event: query": query_event_destroyed,
        "stream destroyed under work: destroy, its event before the work ends and after": event_outlives_its_stream,
        "context destroyed under work": context_destroyed_under_work,
        "primary context released: release, active, event, stream, cuMemAlloc": primary_released}


def ask_queues(section):
    gpu = Gpu().ready()
    function = gpu.function(gpu.module(CODE), b"nothing")
    stream = gpu.stream()
    word, address = gpu.mapped_word()
    gpu.wait_for(stream, address)
    section.answer("launches in one stream before one blocks", first_that_blocks(word, lambda: gpu.launch(function, stream=stream)))
    gpu.sync()
    word.value = 0
    streams = [gpu.stream() for _ in range(MANY_STREAMS)]
    stuck = 0
    for number, one in enumerate(streams[:-1]):
        gpu.wait_for(one, address)
        gpu.launch(function, stream=one)
        gpu.launch(function, stream=streams[-1])
        if not done_within(gpu, streams[-1], 0.05):
            stuck = number + 1
            break
    section.answer(f"streams with a waiting word before another stream waits behind them, of {MANY_STREAMS - 1}", stuck or "none")
    word.value = 1
    gpu.sync()


def first_that_blocks(word, launch):
    for number in range(MANY_LAUNCHES):
        began = time.monotonic()
        launch_guarded(word, launch)
        if time.monotonic() - began > BLOCKED_SECONDS / 2:
            word.value = 1  # where the machine was busy and the guard never came
            return number
    word.value = 1
    return f"none of {MANY_LAUNCHES}"


def launch_guarded(word, launch):
    """Should the launch block, the word is written after a while."""
    guard = threading.Timer(BLOCKED_SECONDS, setattr, (word, "value", 1))
    guard.daemon = True
    guard.start()
    launch()
    guard.cancel()


def ask_timers(section):
    gpu = Gpu().ready()
    module = gpu.module(CODE)
    stream, first, second = gpu.stream(), gpu.event(0), gpu.event(0)
    function, seen = gpu.function(module, b"nothing"), set()
    for _ in range(400):
        gpu.call("cuEventRecord", first, stream)
        gpu.launch(function, stream=stream)
        gpu.call("cuEventRecord", second, stream)
        gpu.call("cuEventSynchronize", second)
        elapsed = c_float()
        gpu.call("cuEventElapsedTime", byref(elapsed), first, second)
        seen.add(round(elapsed.value * 1e6))
    ordered = sorted(seen)
    steps = [b - a for a, b in zip(ordered, ordered[1:])]
    section.answer("elapsed over an empty kernel, ns: least, median", [ordered[0], ordered[len(ordered) // 2]])
    section.answer("elapsed: least step between two different answers, ns", min(steps, default=0))
    if not gpu.code("cuModuleGetFunction", byref(c_void_p()), module, c_char_p(b"ticks")):
        count = 1000
        block = gpu.alloc(8 * count)
        gpu.launch(gpu.function(module, b"ticks"), c_uint64(block), c_uint(count))
        room = (c_uint64 * count)()
        gpu.call("cuMemcpyDtoH_v2", room, block, 8 * count)
        steps = sorted(b - a for a, b in zip(room, room[1:]))
        section.answer("%globaltimer: steps, ns: least, median, most", [steps[0], steps[len(steps) // 2], steps[-1]])


class Taken:
    """By how much the card's free memory has fallen since the last look."""
    def __init__(self, gpu):
        self.gpu, self.free = gpu, gpu.info()[0]

    def look(self):
        before, self.free = self.free, self.gpu.info()[0]
        return before - self.free


def ask_memory(section):
    gpu = Gpu().ready()
    gpu.free(gpu.alloc(MIB))
    taken = Taken(gpu)
    ask_blocks(gpu, section, taken)
    ask_exports(gpu, section, taken)
    ask_graphs(gpu, section, taken)


def ask_blocks(gpu, section, taken):
    """Each size twice: a second one may fit in the page of the first."""
    for size in BLOCK_SIZES:
        blocks, looks = [], []
        for _ in range(2):
            blocks.append(gpu.alloc(size))
            looks.append(taken.look())
        section.answer(f"two blocks of {size} B: taken by each", looks)
        for block in blocks:
            gpu.free(block)
        taken.look()
    blocks = [gpu.alloc(64 * KIB) for _ in range(256)]
    looks = [taken.look()]
    for number, block in enumerate(blocks):
        if number % 32:
            gpu.free(block)
    section.answer("256 blocks of 64 KiB, then all but each 32nd freed: taken", [*looks, taken.look()])
    for block in blocks[::32]:
        gpu.free(block)
    taken.look()


def ask_exports(gpu, section, taken):
    handle = gpu.create(64 * MIB)
    looks = [taken.look()]
    descriptor = gpu.value(c_int, "cuMemExportToShareableHandle", handle, POSIX_FD, 0)
    gpu.call("cuMemRelease", handle)
    looks.append(taken.look())
    os.close(descriptor)
    section.answer("64 MiB made, exported and released, the descriptor closed: taken", [*looks, taken.look()])


def ask_graphs(gpu, section, taken):
    """Does a graph's memory come at its launch, or when it runs? Two that are not waited for, in one stream and in two."""
    streams = [gpu.stream(), gpu.stream()]
    for name, other in (("one stream", streams[0]), ("two streams", streams[1])):
        word, address = gpu.mapped_word()
        graphs = [gpu.graph_with_block(64 * MIB) for _ in range(2)]
        gpu.call("cuDeviceGraphMemTrim", 0)
        taken.look()
        looks = [gpu.graph_reserved()]
        for stream in (streams[0], other):
            gpu.wait_for(stream, address)
        for graph, stream in zip(graphs, (streams[0], other)):
            gpu.call("cuGraphLaunch", graph, stream)
            looks.append(gpu.graph_reserved())
        looks.append(taken.look())
        word.value = 1
        gpu.sync()
        section.answer(f"graphs behind a word, {name}: reserved before, launched, two of them, taken; ran, taken",
                       [*looks, gpu.graph_reserved(), taken.look()])


class Box(Structure):
    """CUDA_MEMCPY2D."""
    _fields_ = [("src_x", c_size_t), ("src_y", c_size_t), ("src_type", c_int), ("src_host", c_void_p),
                ("src", c_uint64), ("src_array", c_void_p), ("src_pitch", c_size_t),
                ("dst_x", c_size_t), ("dst_y", c_size_t), ("dst_type", c_int), ("dst_host", c_void_p),
                ("dst", c_uint64), ("dst_array", c_void_p), ("dst_pitch", c_size_t),
                ("width", c_size_t), ("height", c_size_t)]


def ask_host(section):
    gpu = Gpu().ready()
    gpu.free(gpu.alloc(MIB))
    taken, host = Taken(gpu), c_void_p()
    gpu.call("cuMemHostAlloc", byref(host), 64 * MIB, PORTABLE | DEVICEMAP)
    block = host.value
    section.answer("64 MiB pinned: taken of the card", taken.look())
    section.answer("the device's address is the host's",
                   gpu.value(c_uint64, "cuMemHostGetDevicePointer_v2", host, 0) == block)
    ask_host_attributes(gpu, section, block)
    ask_host_bytes(gpu, section, block)
    section.answer("cuIpcGetMemHandle", gpu.code("cuIpcGetMemHandle", create_string_buffer(64), block))
    section.answer("cuMemFree", gpu.code("cuMemFree_v2", block))
    section.answer("cuMemFreeHost", gpu.code("cuMemFreeHost", c_void_p(block)))
    context = gpu.new_context()
    gpu.call("cuMemHostAlloc", byref(host), MIB, PORTABLE | DEVICEMAP)
    gpu.call("cuCtxDestroy_v2", context)
    gpu.use(gpu.context)
    section.answer("its context has ended: type",
                   gpu.code("cuPointerGetAttribute", byref(c_uint()), POINTER_TYPE, host.value))
    ask_host_waits(gpu, section)


def ask_host_waits(gpu, section):
    """A block is freed while a stream that will write to it waits for a word, which is written a little later."""
    host, stream = c_void_p(), gpu.stream()
    word, address = gpu.mapped_word()
    gpu.call("cuMemHostAlloc", byref(host), MIB, PORTABLE | DEVICEMAP)
    gpu.wait_for(stream, address)
    gpu.call("cuMemsetD32Async", c_uint64(host.value), c_uint(1), c_size_t(MIB // 4), stream)
    threading.Timer(BLOCKED_SECONDS, setattr, (word, "value", 1)).start()
    section.answer("cuMemFreeHost of a block in use: code, the word when it returns, code of the wait for the context",
                   [gpu.code("cuMemFreeHost", host), word.value, gpu.code("cuCtxSynchronize")])


def ask_host_attributes(gpu, section, block):
    for name, kind, attribute in (("type", c_uint, POINTER_TYPE), ("device", c_int, POINTER_DEVICE),
                                  ("is managed", c_uint, POINTER_IS_MANAGED)):
        value = kind()
        section.answer(f"{name}: code, value", [gpu.code("cuPointerGetAttribute", byref(value), attribute, block), value.value])
    for name, address in (("first", block), ("last", block + 64 * MIB - 1)):
        start, size = c_uint64(), c_size_t()
        section.answer(f"range of its {name} byte: codes, begins at its beginning, bytes",
                       [gpu.code("cuPointerGetAttribute", byref(start), POINTER_RANGE_START, address),
                        gpu.code("cuPointerGetAttribute", byref(size), POINTER_RANGE_SIZE, address),
                        start.value == block, size.value])
    start, size = c_uint64(), c_size_t()
    section.answer("cuMemGetAddressRange: code",
                   gpu.code("cuMemGetAddressRange_v2", byref(start), byref(size), block + 5))


def ask_host_bytes(gpu, section, block):
    """Each call that takes a device's address: its code, and whether the bytes are right afterwards."""
    size, card, other, stream = 4 * MIB, gpu.alloc(4 * MIB), block + 32 * MIB, gpu.stream()
    room = create_string_buffer(size)

    def right(at, value):
        gpu.sync()
        gpu.call("cuMemcpyDtoH_v2", room, at, size)
        return room.raw == value.to_bytes(4, "little") * (size // 4)

    def box(to, source):
        return Box(src_type=2, src=source, src_pitch=MIB, dst_type=2, dst=to, dst_pitch=MIB, width=MIB, height=4)

    ways = [
        ("cuMemsetD32", block, 1, lambda: gpu.code("cuMemsetD32_v2", block, c_uint(1), size // 4)),
        ("cuMemcpyDtoD, host to card", card, 1, lambda: gpu.code("cuMemcpyDtoD_v2", card, block, size)),
        ("cuMemsetD32Async", block, 2, lambda: gpu.code("cuMemsetD32Async", block, c_uint(2), size // 4, stream)),
        ("cuMemcpyDtoDAsync, host to host", other, 2, lambda: gpu.code("cuMemcpyDtoDAsync_v2", other, block, size, stream)),
        ("cuMemcpyDtoD, card to host", other, 1, lambda: gpu.code("cuMemcpyDtoD_v2", other, card, size)),
        ("cuMemcpyHtoD", block, 3, lambda: gpu.code("cuMemcpyHtoD_v2", block, create_string_buffer(bytes([3, 0, 0, 0]) * (size // 4), size), size)),
        ("cuMemcpy, host to card", card, 3, lambda: gpu.code("cuMemcpy", card, block, size)),
        ("cuMemcpy2D, type device, host to host", other, 3, lambda: gpu.code("cuMemcpy2D_v2", byref(box(other, block)))),
        ("cuMemcpy2D, type device, card to host", block, 3, lambda: gpu.code("cuMemcpy2D_v2", byref(box(block, card)))),
        ("cuMemsetD2D32", other, 4, lambda: gpu.code("cuMemsetD2D32_v2", other, MIB, c_uint(4), MIB // 4, 4)),
    ]
    for name, at, value, do in ways:
        section.answer(f"{name}: code, bytes are right", [do(), right(at, value)])
    fill = gpu.function(gpu.module(), b"fill")
    code = gpu.launch(fill, c_uint64(block), c_uint(5), c_uint(size // 4), blocks=size // 4 // 256, threads=256)
    section.answer("a kernel writes: code, bytes are right", [code, right(block, 5)])


SECTIONS = {"calls": ask_calls, "capture": ask_capture, "events": ask_events, "ends": ask_ends, "queues": ask_queues,
            "timers": ask_timers, "memory": ask_memory, "host": ask_host, "swap": lambda section: ask_swap(section, Gpu().ready())}


def main():
    for name in sys.argv[1:] or SECTIONS:
        pid = os.fork()
        if pid == 0:
            try:
                SECTIONS[name](Section(name))
                os._exit(0)
            except Exception as error:  # what was answered before stands
                say("broke", section=name, error=repr(error))
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        say("section", section=name, ended=status)


main()
