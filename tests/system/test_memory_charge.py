# SPDX-License-Identifier: Apache-2.0
"""What is charged: every way to device memory, to the byte, and nothing of it left behind.

The ledger's word is compared with what the simulator itself granted.
"""
import contextlib
import signal
import struct
import time

import pytest

from hang import HANG_SECONDS, IS_SLOW, LOOKED_SECONDS
from script import KIB, MIB, NOT_PERMITTED, OUT_OF_MEMORY, SUCCESS, Script, replay
from stopped import stop

FAMILIES = ("alloc pitch managed host array mipmap async pool vmm vmm_run shared graph capture "
            "module library context primary").split()


def looks(result):
    for line in result.stdout.splitlines():
        family, *moment, charged, granted = line.split()
        yield family, " ".join(moment), int(charged), int(granted)


@pytest.mark.parametrize("door", ("preload", "shims"))
@pytest.mark.parametrize("family", FAMILIES)
def test_charge_is_grant(sim, run, family, door):
    """A1: bytes charged are bytes granted, at every moment, and 0 after the end."""
    result = run([sim.build.program("hooks/families"), family], ALIQUOT_MEMORY="768MiB",
                 **{door: True})
    assert result.rc == 0, result
    seen = list(looks(result))
    for name, moment, charged, granted in seen:
        if (name, moment) == ("graph", "instantiated"):
            continue  # charged ahead of the launch
        assert charged == granted, (name, moment, charged, granted)
    assert seen[-1][2:] == (0, 0)
    moved = {charged for name, _, charged, _ in seen if name == family}
    assert len(moved) > 1 or family == "host", f"{family} charged nothing at all: {seen}"


@pytest.mark.parametrize("door", ({"preload": True}, {"shims": True}))
def test_every_family_in_one_process(sim, run, door):
    result = run([sim.build.program("hooks/families")], ALIQUOT_MEMORY="768MiB", **door)
    assert result.rc == 0, result
    assert {name for name, *_ in looks(result)} > set(FAMILIES)
    assert list(looks(result))[-1][2:] == (0, 0)


def test_host_memory_is_not_charged(sim, run):
    result = run([sim.build.program("hooks/families"), "host"], preload=True,
                 ALIQUOT_MEMORY="17MiB")
    assert result.rc == 0, result


OVER = {
    "alloc": ["alloc 9 {bytes}"],
    "managed": ["managed 9 {bytes}"],
    "pitch": ["pitch 9 {kib} 1024"],
    "array": ["array 9 {columns} 1024 0"],
    "mipmap": ["mipmap 9 {columns} 1024 1"],
    "async": ["async 9 {bytes} 0"],
    "async-ptsz": ["async-ptsz 9 {bytes} 0"],
    "pool": ["pool 9 0", "from-pool 9 {bytes} 9 0"],
    "vmm": ["create 9 {bytes} 0"],
    "graph": ["graph 9 {bytes} 0", "launch 9 0"],
    "context": ["alloc 8 {rest}", "context 9 0"],
}
LIMIT = 256 * MIB
CONTEXT = 16 * MIB


@pytest.mark.parametrize("family", OVER)
def test_over_the_limit(sim, family):
    """A2: exactly out-of-memory, the state as before, and the same call succeeds once there is
    room."""
    size = 200 * MIB
    names = {"bytes": size, "kib": size // KIB, "columns": size // KIB // 8,
             "rest": LIMIT - CONTEXT - size - CONTEXT // 2}
    *before, call = [line.format(**names) for line in OVER[family]]
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"alloc 1 {size}", *before)
        books = gpu.look()
        info = gpu.values("info")
        assert gpu.code(call) == OUT_OF_MEMORY
        assert gpu.look() == books, "a refusal leaves the state as it was"
        assert gpu.values("info") == info
        gpu.do("free 1", call)
        assert gpu.look().high <= LIMIT


def test_the_limit_is_exact(sim):
    """The last byte is granted, one more is not."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"alloc 1 {LIMIT - CONTEXT - 1}")
        assert gpu.code("alloc 2 2") == OUT_OF_MEMORY
        gpu.do("alloc 2 1")
        assert gpu.code("alloc 3 1") == OUT_OF_MEMORY
        assert gpu.look().granted == LIMIT


def test_processes_share_the_limit(sim):
    """What one process holds the others cannot have, and get when it is gone, whatever way."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as one, Script(sim, ALIQUOT_MEMORY="256MiB") as two:
        one.ready().do(f"alloc 1 {150 * MIB}")
        two.ready()
        assert two.code(f"alloc 1 {100 * MIB}") == OUT_OF_MEMORY
        one.kill()
        two.do(f"alloc 1 {200 * MIB}")


def test_memory_unused_in_a_pool_is_no_refusal(sim):
    """A program that keeps freed blocks in a pool gets them back as plain memory."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("default-pool 1 0", f"keep 1 {1 << 62}", f"async 1 {200 * MIB} 0",
                       "free-async 1 0", "sync")
        assert gpu.look().charged > 200 * MIB
        gpu.do(f"alloc 2 {200 * MIB}")
        books = gpu.look()
        assert books.charged == books.granted <= LIMIT


def test_a_request_that_fits_in_its_pool_needs_no_room(sim):
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("default-pool 1 0", f"keep 1 {1 << 62}", f"async 1 {96 * MIB} 0",
                       f"async 2 {20 * MIB} 0", "free-async 2 0", "sync")
        room = LIMIT - gpu.look().charged
        gpu.do(f"alloc 3 {room}")
        assert gpu.look().charged == LIMIT
        gpu.do(f"async 2 {20 * MIB} 0")
        assert gpu.look().high <= LIMIT


def test_other_processes_see_a_pool_shrink(sim):
    """A synchronisation is where a pool gives back; the room is the session's at once."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as one, Script(sim, ALIQUOT_MEMORY="256MiB") as two:
        one.ready().do(f"async 1 {192 * MIB} 0")
        two.ready()
        one.do("free-async 1 0", "sync 0")
        two.do(f"alloc 1 {200 * MIB}")


def becomes(gpu, books):
    """What the driver took by itself is looked at later where NVML is slow, as on a busy machine."""
    end = time.monotonic() + HANG_SECONDS
    while gpu.look()[:2] != books and time.monotonic() < end:
        gpu.values("info")
        time.sleep(0.01)
    return gpu.look()[:2] == books


def test_everything_goes_with_its_context(sim):
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.do("init", "retain 0 0", f"alloc 1 {100 * MIB}", f"managed 2 {MIB}",
               "array 3 100 100 0", "module 4", "mipmap 5 64 64 3")
        gpu.do("reset 0")
        charged, granted = gpu.look()[:2]
        # where NVML is slow, what the driver took for the module is looked at with the next grant
        assert granted == 0 and charged < (KIB if IS_SLOW else 1)
        gpu.do("retain 0 0", f"alloc 1 {200 * MIB}")
        books = gpu.look()
        assert books.charged == books.granted, books


@pytest.mark.parametrize("end", ("reset 0", "release 0"))
def test_a_primary_context_that_comes_back_owns_nothing_of_before(sim, end):
    """Its handle is the same one: what is charged under it is of this life of it, to the byte."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.do("init", "retain 0 0")
        alone = gpu.look()[:2]
        for i in range(1, 6):
            gpu.do(f"alloc 1 {100 * MIB}", "array 3 100 100 0", "module 4", "stream 5",
                   f"graph {i} {10 * MIB}", f"launch {i} 5", end)
            assert gpu.code("alloc 2 1") != 0
            gpu.do("retain 7 0", "graph-trim 0")
            assert becomes(gpu, alone)
            assert gpu.code("free 1") != 0
            assert gpu.look()[:2] == alone


def test_physical_memory_outlives_its_context(sim):
    """A block made with cuMemCreate belongs to no context."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"create 1 {64 * MIB} 0", "destroy 0")
        assert gpu.look()[:2] == (64 * MIB, 64 * MIB)
        gpu.do("release-handle 1")
        assert gpu.look()[:2] == (0, 0)


def test_retained_by_an_address_inside_a_mapping(sim):
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"create 1 {8 * MIB} 0", f"map 1 1 {8 * MIB}", "release-handle 1",
                       f"retain-handle 2 1 {3 * MIB}", "unmap 1")
        assert gpu.look().charged == CONTEXT + 8 * MIB
        gpu.do("release-handle 2")
        assert gpu.look()[:2] == (CONTEXT, CONTEXT)


MATRIX = [(take, give) for take in ("alloc 1 4096", "async 1 4096 0", "managed 1 4096")
          for give in ("free 1", "free-async 1 0")]


@pytest.mark.parametrize("take,give", MATRIX)
def test_freed_by_the_other_way(sim, take, give):
    """A5: the wrong free answers as the driver does, and the books stay right."""
    script = ["init", "context 0 0", take, give, give, "sync", "look 0"]
    with Script(sim, preload=False) as bare:
        wanted = [bare.say(line)[0] for line in script]
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert [gpu.say(line)[0] for line in script] == wanted
        books = gpu.look()
        assert books.charged == books.granted


@pytest.mark.parametrize("address", ("0", "1", "0x7fff00000000"))
def test_foreign_pointer(sim, address):
    with Script(sim, preload=False) as bare:
        wanted = bare.ready().code(f"free-address {address}")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert gpu.ready().code(f"free-address {address}") == wanted
        assert gpu.look().charged == CONTEXT


BAD = ["alloc - 100", "alloc 1 0", "pitch - 10 10", "pitch 1 0 10", "managed - 10", "managed 1 0",
       "async - 10 0", "async 1 0 0", "from-pool 1 10 200 0", "create - 2097152 0",
       "create 1 2097152 0 bare", "create 1 100 0", "create 1 2097152 99", "create 1 2097152 -1",
       "array - 10 10 0", "array 1 0 10 0", "mipmap - 8 8 1", "mipmap 1 8 8 0", "module -",
       "library -", "context - 0", "context 1 99", "retain - 0", "retain 1 99", "release 99",
       "reset 99", "destroy 99", "release-handle 99", "retain-handle 1 99", "total 99", "info 1",
       "info 2", "info 0", "name 0 0", "name 0 1", "name 0 4", "name 99", "end-array 99",
       "end-mipmap 99", "end-module 99", "end-library 99", "pool - 0", "pool 1 99", "end-pool 99",
       "trim 99 0", "ipc-get - 1", "ipc-get 1 99", "ipc-close 99", "launch 99 0", "end-graph 99"]


def test_wrong_arguments(sim):
    """Whatever is wrong with a call, the driver says so, not we."""
    script = ["init", "context 0 0", *BAD]
    with Script(sim, preload=False) as bare:
        wanted = [bare.say(line)[0] for line in script]
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        for line, code in zip(script, wanted):
            assert gpu.say(line)[0] == code, line
        books = gpu.look()
        assert books.charged == books.granted


NO_CONTEXT = ["alloc 1 4096", "managed 1 4096", "pitch 1 10 10", "async 1 4096 0",
              "async-ptsz 1 4096 0", "array 1 10 10 0", "mipmap 1 8 8 1", "module 1", "library 1",
              "info", "info-old", "free 9", "free-async 9 0", "sync", "sync 0", "graph 1 4096 0",
              "ipc-get 1 9", "ipc-close 9", "create 1 2097152 0", "release-handle 1", "total 0"]


@pytest.mark.parametrize("is_initialised", (True, False))
def test_thread_without_a_context(sim, is_initialised):
    """C5: the same answer as without Aliquot, and no device out of range."""
    script = (["init"] if is_initialised else []) + [f"thread {line}" for line in NO_CONTEXT]
    with Script(sim, preload=False) as bare:
        wanted = [bare.say(line)[0] for line in script]
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        for line, code in zip(script, wanted):
            assert gpu.say(line)[0] == code, line


def test_shared_memory_is_charged_once(sim):
    """Two processes of a session hold the same memory: one is charged, and when it leaves the
    other one takes over."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as one, Script(sim, ALIQUOT_MEMORY="256MiB") as two:
        one.ready().do(f"alloc 1 {100 * MIB}", "ipc-get 1 1")
        handle = one.say("ipc-print 1")[0]
        two.ready().do(f"ipc-parse 1 {handle}", "ipc-open 2 1")
        assert two.look().charged == 2 * CONTEXT + 100 * MIB
        one.kill()
        two.values("info")
        assert two.code(f"alloc 3 {150 * MIB}") == OUT_OF_MEMORY
        two.do(f"alloc 3 {140 * MIB}")
        assert two.look().charged == CONTEXT + 240 * MIB
        two.do("ipc-close 2")
        assert two.look().charged == CONTEXT + 140 * MIB


def test_memory_of_another_session_is_charged_here(sim):
    with Script(sim, preload=False) as other, Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        other.ready().do(f"alloc 1 {100 * MIB}", "ipc-get 1 1")
        handle = other.say("ipc-print 1")[0]
        gpu.ready().do(f"ipc-parse 1 {handle}", "ipc-open 2 1")
        assert gpu.look().charged == CONTEXT + 100 * MIB
        assert gpu.code(f"alloc 3 {150 * MIB}") == OUT_OF_MEMORY
        gpu.do("ipc-close 2", f"alloc 3 {150 * MIB}")


def test_an_import_over_the_limit_is_closed_again(sim):
    with Script(sim, preload=False) as other, Script(sim, ALIQUOT_MEMORY="64MiB") as gpu:
        other.ready().do(f"alloc 1 {100 * MIB}", "ipc-get 1 1")
        handle = other.say("ipc-print 1")[0]
        gpu.ready().do(f"ipc-parse 1 {handle}")
        assert gpu.code("ipc-open 2 1") == OUT_OF_MEMORY
        assert gpu.look().charged == CONTEXT
        assert gpu.code("ipc-close 2") != SUCCESS


def test_a_block_is_charged_while_an_import_of_it_lives(sim):
    """A process that imports its own export and lets the original go keeps the charge."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"create 1 {64 * MIB} 0", "export 1 1", "import 2 1", "release-handle 1")
        time.sleep(LOOKED_SECONDS)
        gpu.do(f"alloc 9 {MIB}", "free 9")  # NVML is asked: it counts the block for the process that made it
        assert gpu.look()[:2] == (CONTEXT + 64 * MIB, CONTEXT + 64 * MIB)
        gpu.do("release-handle 2")
        time.sleep(LOOKED_SECONDS)
        gpu.do(f"alloc 9 {MIB}", "free 9")
        assert gpu.look()[:2] == (CONTEXT, CONTEXT)


def test_memory_of_the_dead_is_waited_for(sim):
    """The limit has room at once, the card a little later: the program notices nothing."""
    sim.configure(memory="256MiB", context="4MiB", draining="200ms")
    with Script(sim, ALIQUOT_MEMORY="250MiB") as one, Script(sim, ALIQUOT_MEMORY="250MiB") as two:
        one.ready().do(f"alloc 1 {200 * MIB}")
        two.ready()
        one.kill()
        two.do(f"alloc 1 {200 * MIB}", "free 1", f"create 1 {200 * MIB} 0", "release-handle 1",
               f"async 1 {190 * MIB} 0")


def test_a_forked_child_owns_nothing(sim, compile_c):
    """The child of a program that used the GPU ends without giving back what its parent holds."""
    program = compile_c("forks", r"""
        #include <stdio.h>
        #include <sys/wait.h>
        #include <unistd.h>
        #include "abi/cuda.h"
        int main(void)
        {
                CUcontext context;
                CUdeviceptr a;
                size_t before, after, total;

                cuInit(0);
                cuCtxCreate_v2(&context, 0, 0);
                cuMemAlloc_v2(&a, 50 << 20);
                cuMemGetInfo_v2(&before, &total);
                if (fork() == 0) {
                        CUdeviceptr b;
                        int rc = cuMemFree_v2(a);

                        rc = rc ? cuMemAlloc_v2(&b, 1 << 20) : 0;
                        _exit(rc != 0);
                }
                wait(NULL);
                cuMemGetInfo_v2(&after, &total);
                printf("%d\n", before == after && cuMemFree_v2(a) == 0);
                return 0;
        }
        """, sim.build.driver / "libcuda.so.1")
    for how in ({"preload": True}, {"shims": True}):
        result = sim.run([program], ALIQUOT_MEMORY="256MiB", **how)
        assert result.stdout == "1\n", result


@pytest.mark.parametrize("setting", ("nonsense", "-5MiB", "900GiB", "0=1MiB,0=2MiB", "9=1MiB"))
def test_a_broken_session_refuses(sim, setting):
    """What cannot be enforced is not run: no start, and no memory for who does not look."""
    with Script(sim, ALIQUOT_MEMORY=setting) as gpu:
        assert gpu.code("init") == NOT_PERMITTED
        assert gpu.code("context 0 0") == NOT_PERMITTED
        assert gpu.code("retain 1 0") == NOT_PERMITTED
        for line in ("alloc 1 4096", "managed 1 4096", "pitch 1 10 10", "async 1 4096 0",
                     "array 1 8 8 0", "module 1"):
            assert gpu.code(line) != SUCCESS, line
        assert gpu.code("create 1 2097152 0") == NOT_PERMITTED
        for line in "count", "device 0", "device-on-bus 0000:01:00.0", "total 0", "name 0":
            assert gpu.code(line) == NOT_PERMITTED, line
        assert gpu.code("nvml") == 4, "NVML: no permission"


def test_before_its_start_the_driver_answers_for_itself(sim):
    """What it says to who has not called cuInit yet is its own, session or not."""
    lines = ["count", "device 0", "total 0", "name 0", "init", "count", "device 0", "device 1"]
    assert replay(sim, lines, ALIQUOT_MEMORY="256MiB") == replay(sim, lines, preload=False)


def test_contexts_may_be_free_of_charge(sim):
    with Script(sim, ALIQUOT_MEMORY="256MiB", ALIQUOT_CONTEXT="free") as gpu:
        gpu.ready()
        assert gpu.look().charged == 0
        gpu.do(f"alloc 1 {LIMIT}")


def test_a_context_is_measured(sim):
    """What NVML says of the first context replaces the estimate, for the whole session."""
    sim.configure(context="40MiB")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as one, Script(sim, ALIQUOT_MEMORY="256MiB") as two:
        assert one.ready().look()[:2] == (40 * MIB, 40 * MIB)
        two.ready()
        assert two.look().charged == 80 * MIB
        two.do("context 1 0")
        assert two.look().charged == 120 * MIB


@pytest.mark.parametrize("context", (24, 96), ids=("more than the estimate", "less"))
def test_contexts_made_at_once_are_charged_what_the_first_one_took(sim, context):
    """While nobody knows what a context takes here, they are made one at a time: all fit that fit,
    each is charged to the byte, and the estimate (64 MiB) stands in nobody's way."""
    sim.configure(memory="4GiB", context=context * MIB, context_time="50ms")
    box = {"ALIQUOT_SESSION": "box", "ALIQUOT_MEMORY": 5 * context * MIB}
    with contextlib.ExitStack() as stack:
        fleet = [stack.enter_context(Script(sim, **box)) for _ in range(4)]
        for gpu in fleet:
            gpu.send("init", "context 0 0")
        for gpu in fleet:
            assert [gpu.hear()[0] for _ in range(2)] == ["0", "0"]
        books = fleet[0].look()
        assert books.charged == books.granted_tag == books.high == 4 * context * MIB


def test_who_is_stopped_while_it_makes_the_first_context_is_not_waited_for_forever(sim):
    """Then the estimate has to do for the others; when it goes on, its charge is put right too."""
    sim.configure(memory="4GiB", context=24 * MIB, context_time="500ms")
    box = {"ALIQUOT_SESSION": "box", "ALIQUOT_MEMORY": "1GiB"}
    with Script(sim, **box) as stuck, Script(sim, **box) as other:
        other.do("init")
        stuck.send("init", "context 0 0")
        while not sim.oracle()["tags"].get("box", [{"current_bytes": 0}])[0]["current_bytes"]:
            time.sleep(0.01)
        stop(stuck.process.pid)
        other.do("context 0 0")
        stuck.process.send_signal(signal.SIGCONT)
        assert [stuck.hear()[0] for _ in range(2)] == ["0", "0"]
        books = stuck.look()
        assert books.charged == books.granted_tag == 48 * MIB


def counters(sim):
    """refused, reclaimed_bytes, drained, driver_refused of the first card, as the page has them."""
    slots, = sim.runtime.glob("sessions/*/slots")
    return struct.unpack_from("=4Q", slots.read_bytes(), 128 + 32)


def test_what_went_otherwise_than_asked_is_counted(sim):
    """Once for each answer that the program got, however often the limit was asked underneath."""
    sim.configure(memory="256MiB", context="4MiB", draining="200ms")
    with Script(sim, ALIQUOT_MEMORY="250MiB") as one, Script(sim, ALIQUOT_MEMORY="250MiB") as two:
        one.ready().do(f"alloc 1 {200 * MIB}")
        two.ready()
        assert counters(sim) == (0, 0, 0, 0)
        assert two.code(f"alloc 1 {100 * MIB}") == OUT_OF_MEMORY
        assert two.code(f"async 1 {100 * MIB} 0") == OUT_OF_MEMORY
        assert counters(sim) == (2, 0, 0, 0)
        one.kill()
        two.do(f"alloc 1 {200 * MIB}")
        assert counters(sim) == (2, 204 * MIB, 1, 0)


def test_a_driver_without_memory_is_counted_apart(sim):
    """The limit had room: what is missing is the card's."""
    sim.configure(fail="cuMemAlloc:1:2")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert gpu.ready().code(f"alloc 1 {MIB}") == OUT_OF_MEMORY
        assert counters(sim) == (0, 0, 0, 1)
