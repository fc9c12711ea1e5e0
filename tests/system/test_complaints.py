# SPDX-License-Identifier: Apache-2.0
"""What users of other systems ran into, played again here: those of docs/complaints.md that no test
of a single part shows. The numbers are the rows of that page.
"""
import os
import random
import select
import shutil
import signal

import pytest

from cli import Command
from script import MIB, OUT_OF_MEMORY, Script
from stopped import stop

LIMIT = 256 * MIB
CONTEXT = 16 * MIB
STOPS = 40
PLAIN = pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ,
                           reason="a sanitizer has doors, signals and threads of its own")


def test_views_keep_within_a_limit_below_what_is_used(sim):
    """4: no view goes below zero or past the card, and the refusals end when memory is freed."""
    with Script(sim, ALIQUOT_MEMORY="256MiB", ALIQUOT_SESSION="s") as gpu:
        gpu.ready().do("nvml", f"alloc 1 {100 * MIB}")
        assert sim.aliquot("set", "s", "--memory", "64MiB").rc == 0
        assert gpu.values("info") == [0, 64 * MIB]
        assert gpu.values("card 0") == [0, 64 * MIB, 64 * MIB]
        assert gpu.values("card-v2 0") == [0, 64 * MIB, 64 * MIB, 0]
        assert gpu.code("alloc 2 1") == OUT_OF_MEMORY
        gpu.do("free 1")
        assert gpu.values("info") == [64 * MIB - CONTEXT, 64 * MIB]
        gpu.do(f"alloc 2 {64 * MIB - CONTEXT}")


@pytest.mark.parametrize("before", ((), ("graph-block 1 1 62914560", "launch 1 0", "sync 0"),
                                    ("async 1 10000000 0", "sync"), ("create 1 4194304 0",)),
                         ids=("nothing", "graph", "pool", "vmm"))
def test_what_is_called_free_is_granted(sim, before):
    """6, 11: the budget is in cuMemGetInfo, to the byte, also when a graph has taken of it."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(*before)
        left, total = gpu.values("info")
        assert total == LIMIT and left == LIMIT - gpu.look().charged
        gpu.do(f"alloc 9 {left}")
        assert gpu.values("info") == [0, LIMIT]
        assert gpu.code("alloc 8 1") == OUT_OF_MEMORY


def test_everybody_sees_everybody_after_many_came_and_went(sim):
    """9: whoever left, and whoever came in its place, what each sees as free is the session's."""
    living = []
    with Script(sim, ALIQUOT_MEMORY="256MiB") as last:
        living.append((last.ready(), 0))
        for generation in range(1, 9):
            gpu = Script(sim, ALIQUOT_MEMORY="256MiB")
            living.append((gpu.ready(), generation * MIB))
            gpu.do(f"alloc 1 {generation * MIB}")
            if generation % 3 == 0:
                leaves, _ = living.pop(len(living) // 2)
                leaves.kill()
            left = LIMIT - sum(CONTEXT + size for _, size in living)
            assert [each.values("info")[0] for each, _ in living] == [left] * len(living)


@pytest.mark.parametrize("where", ("", "thread "), ids=("here", "thread"))
@pytest.mark.parametrize("first", ([], ["context 0 1"]), ids=("bare", "other card"))
def test_physical_memory_is_charged_to_the_card_it_names(sim, where, first):
    """13, 14: cuMemCreate names its card; which context is current, or none, does not matter."""
    devices = (0, 1, 2, 3, 7, -1, 1 << 20)
    script = ["init", *first, *(f"{where}create {i} {(i + 1) * 2 * MIB} {device}"
                                for i, device in enumerate(devices))]
    sim.configure(gpus=3)
    with Script(sim, preload=False) as bare:
        wanted = [bare.say(line)[0] for line in script]
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert [gpu.say(line)[0] for line in script] == wanted
        for card in range(3):
            held = (card + 1) * 2 * MIB + (CONTEXT if first and card == 1 else 0)
            assert gpu.values(f"books {card}")[:2] == [held, held]


IMPLEMENTATION = "int cudnnCreate(void); int cudnnCreate(void) { return 7; }"
FRONT = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cudnnCreate(void);
int cudnnCreate(void)
{
        int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "cudnnCreate");
        int (*again)(void) = (int (*)(void))dlsym(RTLD_NEXT, "cudnnCreate");
        return next && next == again && next != cudnnCreate ? next() + 100 : -1;
}
"""
ASKS = """
#include <dlfcn.h>
#include <stdio.h>
int cudnnCreate(void);
static int ask(void *where)
{
        int (*f)(void) = (int (*)(void))dlsym(where, "cudnnCreate");
        return f ? f() : -2;
}
int main(void)
{
        void *driver = dlopen("libcuda.so.1", RTLD_NOW);
        printf("%d %d %d %d\\n", cudnnCreate(), ask(RTLD_DEFAULT), ask(dlopen("libops.so", RTLD_NOW)),
               ask(driver));
        return 0;
}
"""


@PLAIN
def test_names_that_begin_like_the_drivers_are_found_where_they_are(machine, build, tmp_path):
    """16: cudnnCreate and its like are found where they are, wherever our file lies."""
    machine.install("cuda-same")
    ops = build.compile_c(machine.drivers / "libops.so", IMPLEMENTATION, "-shared", "-fPIC",
                          "-Wl,-soname,libops.so")
    front = build.compile_c(machine.drivers / "libcudnn.so.9", FRONT, "-Wl,--no-as-needed", ops,
                            "-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9")
    main = build.compile_c(tmp_path / "main", ASKS, front)
    elsewhere = shutil.copy(build.library, tmp_path / "any-name.so")
    alone = machine.run([main])
    assert alone.stdout == "107 107 7 -2\n", alone
    for library in (build.library, elsewhere, "./any-name.so"):
        assert machine.run([main], preload=[library], cwd=tmp_path).stdout == alone.stdout


NEWER = ("cuMemAllocAsync", "cuMemFreeAsync", "cuMemPoolCreate", "cuDeviceGetMemPool",
         "cuDeviceGetDefaultMemPool", "cuArrayGetMemoryRequirements", "cuMemCreate",
         "cuGetProcAddress", "cuGetProcAddress_v2", "cuDeviceGetUuid_v2", "cuLibraryLoadData",
         "cuStreamGetDevice", "cuCtxCreate_v4")
OLD_PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include "abi/cuda.h"
#define FIND(name) __typeof__(&name) p_##name = dlsym(h, #name)
int main(void)
{
        void *h = dlopen("libcuda.so.1", RTLD_NOW);
        FIND(cuInit); FIND(cuDeviceGet); FIND(cuCtxCreate_v2); FIND(cuMemAlloc_v2);
        FIND(cuMemGetInfo_v2); FIND(cuMemFree_v2);
        CUcontext context;
        CUdeviceptr at;
        CUdevice device;
        size_t left, total;
        int rc;

        if (p_cuInit(0) || p_cuDeviceGet(&device, 0) || p_cuCtxCreate_v2(&context, 0, device) ||
            p_cuMemGetInfo_v2(&left, &total) || p_cuMemAlloc_v2(&at, left))
                return 1;
        rc = p_cuMemAlloc_v2(&at, 1);
        printf("%zu %d %d\\n", total, rc, dlsym(h, "cuMemAllocAsync") != NULL);
        return 0;
}
"""


def test_a_driver_that_lacks_newer_functions_is_limited_all_the_same(sim, compile_c, tmp_path):
    """19: a limited program starts and is limited; what the driver lacks is not found."""
    image = (sim.build.driver / "libcuda.so.1").read_bytes()
    for name in NEWER:
        assert b"\0" + name.encode() + b"\0" in image
        image = image.replace(b"\0" + name.encode() + b"\0", b"\0xx" + name[2:].encode() + b"\0")
    old = tmp_path / "old" / "libcuda.so.1"
    old.parent.mkdir()
    old.write_bytes(image)
    program = compile_c("program", OLD_PROGRAM)
    result = sim.run([program], preload=True, ALIQUOT_MEMORY="256MiB", ALIQUOT_REAL_LIBCUDA=old,
                     LD_LIBRARY_PATH=old.parent)
    assert (result.rc, result.stdout, result.stderr) == (0, f"{LIMIT} 2 0\n", ""), result


STATE = """
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "abi/cuda.h"
extern char **environ;
static volatile sig_atomic_t heard;
static void hear(int number) { heard += number; }
int main(void)
{
        CUcontext context;
        CUdeviceptr at, pooled;
        size_t left, total;
        char line[256];
        FILE *status;

        umask(0137);
        signal(SIGUSR1, hear);
        signal(SIGUSR2, hear);
        if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&at, 1 << 20) ||
            cuMemAllocAsync(&pooled, 1 << 20, 0) || cuMemGetInfo_v2(&left, &total))
                return 1;
        raise(SIGUSR1);
        raise(SIGUSR2);
        printf("umask %o heard %d\\n", umask(0), (int)heard);
        status = fopen("/proc/self/status", "r");
        while (status && fgets(line, sizeof(line), status))
                /* SigQ counts the signals of all programs of the user. */
                if ((strncmp(line, "Sig", 3) == 0 && line[3] != 'Q') || strncmp(line, "Threads", 7) == 0)
                        fputs(line, stdout);
        for (char **e = environ; *e; e++)
                if (strncmp(*e, "LD_PRELOAD=", 11) != 0 && strncmp(*e, "ALIQUOT_MEMORY=", 15) != 0)
                        puts(*e);
        return 0;
}
"""


@PLAIN
def test_a_program_that_uses_the_card_keeps_its_own_ways(sim, compile_c):
    """20: its umask, signal handlers, threads and environment, with a limit as without Aliquot."""
    program = compile_c("state", STATE, sim.build.driver / "libcuda.so.1")
    bare = sim.run([program])
    assert bare.rc == 0 and bare.stdout.startswith("umask 137 heard 22\n"), bare
    limited = sim.run([program], preload=True, ALIQUOT_MEMORY="256MiB")
    assert (limited.rc, limited.stdout, limited.stderr) == (0, bare.stdout, ""), limited


BY_ADDRESS = """
#include <dlfcn.h>
#include <stdio.h>
#include "abi/cuda.h"
typedef CUresult (*lookup)(const char *, void **, int, cuuint64_t, void *);
#define FIND(name, plain) __typeof__(&name) p_##name; \\
        if (find(plain, (void **)&p_##name, 12000, flags, NULL) != 0) return 1
int main(int argc, char **argv)
{
        void *h = dlopen("libcuda.so.1", RTLD_NOW);
        lookup find = (lookup)dlsym(h, "cuGetProcAddress_v2");
        cuuint64_t flags = argc > 1 ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0;
        CUcontext context;
        CUdeviceptr at;
        size_t left, total;
        int rc;

        (void)argv;
        if (find("cuGetProcAddress", (void **)&find, 12000, flags, NULL) != 0)
                return 1;
        FIND(cuInit, "cuInit");
        FIND(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
        FIND(cuCtxSetCurrent, "cuCtxSetCurrent");
        FIND(cuMemGetInfo_v2, "cuMemGetInfo");
        FIND(cuMemAlloc_v2, "cuMemAlloc");
        FIND(cuMemAllocAsync, "cuMemAllocAsync");
        if (p_cuInit(0) || p_cuDevicePrimaryCtxRetain(&context, 0) || p_cuCtxSetCurrent(context) ||
            p_cuMemGetInfo_v2(&left, &total))
                return 2;
        rc = p_cuMemAllocAsync(&at, left + 1, 0);
        printf("%zu %d %d\\n", total, rc, p_cuMemAlloc_v2(&at, left + 1));
        return 0;
}
"""


@pytest.mark.parametrize("stream", ([], ["per-thread"]), ids=("legacy", "per-thread"))
def test_a_program_that_finds_everything_by_cugetprocaddress_is_limited(sim, compile_c, stream):
    """22: as the CUDA runtime does since 11.3, also for the per-thread default stream."""
    program = compile_c("program", BY_ADDRESS)
    for door in ({"preload": True}, {"shims": True}):
        result = sim.run([program, *stream], ALIQUOT_MEMORY="256MiB", **door)
        assert (result.rc, result.stdout) == (0, f"{LIMIT} 2 2\n"), result


WHATEVER = [f"alloc 1 {MIB}", f"async 2 {MIB} 0", "free-async 2 0", "sync 0", "info", "processes 0 8", "free 1"]


def stop_outside_the_simulator(busy, stranger):
    """The simulator's locks are shared memory's, so that a process can be stopped with one. A driver's are the
    kernel's, where no process stops. A program without the library is kept waiting by the simulator alone."""
    waits = True
    while waits:
        stop(busy.pid)
        for line in WHATEVER:
            stranger.send(line)
            waits = not select.select([stranger.process.stdout], [], [], 2)[0]
            if waits:
                busy.send_signal(signal.SIGCONT)
            stranger.hear()  # perhaps that the card is full: what is killed is not yet gone
            if waits:
                break


def test_a_stopped_process_stops_nobody(sim):
    """23: wherever one stands still, or is killed while it does, the others go on."""
    session = {"ALIQUOT_MEMORY": "512MiB", "ALIQUOT_SESSION": "s"}
    rng = random.Random(23)
    sim.configure(context="4MiB")
    with Script(sim, **session) as gpu, Script(sim, preload=False) as stranger:
        stranger.ready().do("nvml")
        alone = gpu.ready().values("info")
        gpu.do("nvml")
        for seed in range(STOPS):
            busy = sim.start([sim.build.program("hooks/threads"), 2, 200_000, seed], preload=True,
                             **session)
            while gpu.values("info") == alone:
                assert busy.poll() is None
            for _ in range(rng.randrange(100)):
                gpu.do(f"alloc 1 {MIB}", "free 1")
            assert busy.poll() is None
            stop_outside_the_simulator(busy, stranger)
            gpu.do(*WHATEVER)
            busy.kill()
            busy.communicate()
        gpu.do("info")
        assert sim.aliquot("show", "s", "--json").json["devices"][0]["used_bytes"] == 4 * MIB


def test_what_is_used_is_shown_without_a_limit(sim, build):
    """34: a session that limits nothing is accounted and listed as any other."""
    cli = Command(sim)
    process = cli.start("run", "--", build.program("sim/hold"), 0, 64 * MIB)
    assert process.stdout.readline().startswith("ready ")
    shown, = cli("ps", "--json").json
    assert shown["command"] == "hold"
    assert shown["devices"][0]["bytes"] == CONTEXT + 64 * MIB
    gpu, = cli("gpus", "--json").json
    assert [session["used_bytes"] for session in gpu["sessions"]] == [CONTEXT + 64 * MIB]
    process.communicate("")


def test_who_uses_a_card_is_listed_under_that_card(sim):
    """36: nothing is put down to card 0, neither inside nor outside."""
    sim.configure(gpus=3)
    session = {"ALIQUOT_MEMORY": "256MiB", "ALIQUOT_SESSION": "s"}
    with Script(sim, **session) as one, Script(sim, **session) as two:
        pids = [gpu.say("pid")[0] for gpu in (one, two)]
        one.ready(1).do("nvml", f"alloc 1 {MIB}")
        two.ready(2).do(f"alloc 1 {2 * MIB}")
        held = [None, CONTEXT + MIB, CONTEXT + 2 * MIB]
        assert one.say("processes 0 8") == ["0", "0"]
        assert one.say("processes 1 8") == ["0", "1", f"{pids[0]}={held[1]}"]
        assert one.say("processes 2 8") == ["0", "1", f"{pids[1]}={held[2]}"]
        outside = {str(each["pid"]): [device["bytes"] for device in each["devices"]]
                   for each in sim.aliquot("ps", "s", "--json").json}
        assert outside == {pids[0]: [0, held[1], 0], pids[1]: [0, 0, held[2]]}
