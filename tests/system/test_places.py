# SPDX-License-Identifier: Apache-2.0
"""Places that confine a program (docs/places.md): a filter of system calls, file systems that are read-only,
small or missing, namespaces. The limit holds there, or the GPU is refused with one line on standard error.
"""
import errno
import os
import shutil
import subprocess

import pytest

import place
from cli import UNSET
from daemon import Daemon
from joiner import daemon_of_stories, path_of_session  # noqa: F401 (fixtures)
from node import Result
from script import MIB, NOT_PERMITTED, OUT_OF_MEMORY, Script

# What a sanitizer's runtime cannot do without is barred in some.
unsanitized = pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="a sanitizer needs what is missing here")

LIMIT = 256 * MIB
OWN_WAYS = ("environment", "aliquot run")
WAYS = (*OWN_WAYS, "a session's files", "a session's socket")
NOBODY = 65534
STUB_LIBRARY = 34
QUESTIONS = f"init\ncontext 0 0\ninfo\nalloc 1 {100 * MIB}\nalloc 2 {LIMIT}\n"


@pytest.fixture
def ask(sim, request):
    """ask(way, *place): what the driver answers to QUESTIONS where these words start the program."""
    def ask_there(way, *words, **variables):
        program = sim.build.program("hooks/script")
        if way == "aliquot run":
            command = [sim.build.aliquot, "run", f"--sim={sim.spec}", "--memory", f"{LIMIT}B", "--", program]
            return sim.run([*words, *command], stdin=QUESTIONS, **{**UNSET, **variables})
        if way == "environment":
            variables["ALIQUOT_MEMORY"] = LIMIT
        elif way == "a session's files":
            request.getfixturevalue("path")
            variables["ALIQUOT_SESSION"] = "a"
        else:
            variables.update(ALIQUOT_SESSION_SOCKET=request.getfixturevalue("path"), ALIQUOT_RUNTIME_DIR=None)
        return sim.run([*words, program], preload=True, stdin=QUESTIONS, **variables)
    return ask_there


def expect_held(result):
    init, context, info, within, beyond = (line.split() for line in result.stdout.splitlines())
    assert (init, context, within, beyond) == (["0"], ["0"], ["0"], [str(OUT_OF_MEMORY)]), result
    assert info[2] == str(LIMIT) and result.stderr == "", result


def expect_refused(result, *said):
    """By aliquot run, which starts nothing, or by the calls of a program that gets no context."""
    line, = result.stderr.splitlines()
    assert all(word in line for word in ("aliquot", *said)), result
    if result.rc:
        assert (result.rc, result.stdout) == (125, ""), result
    else:
        assert result.stdout.splitlines()[1] in (str(NOT_PERMITTED), str(OUT_OF_MEMORY)), result


# -- Another driver

OPENS = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "abi/cuda.h"

#define CALL(name, ...) ((__typeof__(name) *)dlsym(driver, #name))(__VA_ARGS__)

int main(int argc, char **argv)
{
        void *driver = dlopen(argv[1], RTLD_NOW);
        FILE *maps = fopen("/proc/self/maps", "r");
        CUcontext context;
        CUdeviceptr block;
        char line[4096];
        size_t free_bytes, total = 0;

        printf("%d\n", CALL(cuInit, 0));
        printf("%d\n", CALL(cuCtxCreate_v2, &context, 0, 0));
        CALL(cuMemGetInfo_v2, &free_bytes, &total);
        printf("0 0 %zu\n", total);
        printf("%d\n", CALL(cuMemAlloc_v2, &block, 100 << 20));
        printf("%d\n", CALL(cuMemAlloc_v2, &block, 256 << 20));
        while (fgets(line, sizeof(line), maps))
                if (strstr(line, "libcuda.so") && strstr(line, "r-xp"))
                        fputs(strchr(line, '/'), stdout);
        return 0;
}
"""


@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="a sanitizer puts its own dlopen before ours")
def test_with_a_driver_by_its_path_the_limit_holds(sim, build, compile_c, tmp_path):
    """And no other driver is loaded."""
    driver = shutil.copy(build.driver / "libcuda.so.1", tmp_path)
    result = sim.run([compile_c("opens", OPENS), driver], preload=True, ALIQUOT_MEMORY=LIMIT, ALIQUOT_REAL_LIBCUDA=None)
    *lines, loaded = result.stdout.splitlines()
    expect_held(Result(result.rc, "\n".join(lines), result.stderr))
    assert loaded == str(driver), result


# -- A filter of system calls

# What filters of containers bar, or are too old to know, of all that the library, the daemon or a driver may use.
BARRED = ("close_range", "futex_waitv", "io_uring_setup", "membarrier", "memfd_create", "openat2", "pidfd_open",
          "process_vm_readv", "ptrace", "sched_getaffinity", "statx", "userfaultfd")


def filtered(build, *calls, code=errno.EPERM):
    """The C library makes threads without clone3 where it is told that there is none: all filters tell it so."""
    return [build.program("daemon/without"), f"clone3={errno.ENOSYS}", *(f"{call}={code}" for call in calls), "--"]


@unsanitized
@pytest.mark.needs("filters of system calls")
@pytest.mark.parametrize("code", (errno.EPERM, errno.ENOSYS), ids=errno.errorcode.get)
@pytest.mark.parametrize("way", WAYS)
def test_behind_a_containers_filter_the_limit_holds(ask, build, way, code):
    expect_held(ask(way, *filtered(build, *BARRED, code=code)))


@unsanitized
@pytest.mark.needs("filters of system calls")
@pytest.mark.parametrize("call, said", (
    ("faccessat2", "cannot be written: Operation not permitted"),
    ("renameat2", "Operation not permitted"),
    ("getrandom", "random bytes"),
    ("F_OFD_GETLK", "cannot be opened or locked"),
    ("MADV_WIPEONFORK", "MADV_WIPEONFORK"),
))
def test_a_call_that_the_library_cannot_do_without_is_said(ask, build, call, said):
    expect_refused(ask("environment", *filtered(build, call)), said)


BARS_LATER = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "abi/cuda.h"

static void bar(unsigned call)
{
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
                perror("filter");
}

static void bar_all(void)
{
        static const unsigned calls[] = { SYS_openat, SYS_fcntl, SYS_membarrier, SYS_madvise, SYS_clone, SYS_clone3 };

        for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
                bar(calls[i]);
}

int main(int argc, char **argv)
{
        int is_early = argv[1][0] == 'e';
        size_t free_bytes, total = 0;
        CUdeviceptr block;
        CUcontext context;

        printf("%d\n", cuInit(0));
        if (is_early)
                bar_all();
        printf("%d\n", cuCtxCreate_v2(&context, 0, 0));
        if (!is_early)
                bar_all();
        cuMemGetInfo_v2(&free_bytes, &total);
        printf("0 0 %zu\n", total);
        printf("%d\n", cuMemAlloc_v2(&block, 100 << 20));
        printf("%d\n", cuMemAlloc_v2(&block, 256 << 20));
        return 0;
}
"""


@unsanitized
@pytest.mark.needs("filters of system calls")
@pytest.mark.parametrize("when", ("early", "late"))
def test_a_program_that_bars_calls_itself_keeps_its_limit(sim, build, compile_c, when):
    """Between two driver calls: before its process is counted in the session, when it gets no memory, and after."""
    program = compile_c("bars", BARS_LATER, "-L", build.driver, "-l:libcuda.so.1")
    result = sim.run([program, when], preload=True, ALIQUOT_MEMORY=LIMIT)
    if when == "late":
        expect_held(result)
    else:
        expect_refused(result, "memory is refused")


# -- File systems

@pytest.fixture
def confined(sim, public_folder):
    """confined(script, user): the words that start a program there. The simulated card lies where it can be written."""
    place.need("mount namespaces")
    sim.state = public_folder / "sim"
    sim.state.mkdir(mode=0o700)

    def words(script, user=None):
        become = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        if user is not None:
            place.need("a build folder for other users")
            sim.state.chmod(0o777)
        return ["unshare", "--mount", "sh", "-ec", f'card={sim.state}\n{script}\nexec "$@"', "sh", *become]
    return words


READ_ONLY = """
for folder in /tmp /run; do mount --bind $folder $folder; mount -o remount,bind,ro $folder; done
mount --bind $card $card
mount -o remount,bind,rw $card
mount -o remount,bind,ro /
"""
SHM = "mount -t tmpfs -o mode=1777,{} x /dev/shm\n"
USUAL = {"ALIQUOT_RUNTIME_DIR": None, "XDG_RUNTIME_DIR": None}  # no folder is named
USERS = pytest.mark.parametrize("user", (None, NOBODY), ids=("root", "nobody"))


@USERS
@pytest.mark.parametrize("way", OWN_WAYS)
def test_with_a_root_that_is_read_only_shm_serves(ask, confined, way, user):
    """With /run and /tmp read-only too, and 64 MiB of /dev/shm, as containers have it."""
    expect_held(ask(way, *confined(READ_ONLY + SHM.format("size=64m"), user), **USUAL))


@USERS
@pytest.mark.parametrize("way", OWN_WAYS)
@pytest.mark.parametrize("shm, said", (
    (SHM.format("size=4k"), "No space left on device"),
    (SHM.format("size=1m") + "cat /dev/zero >/dev/shm/filler 2>/dev/null || true\n", "No space left on device"),
    (SHM.format("size=1m,nr_inodes=1"), "No space left on device"),
    (SHM.format("ro"), "Read-only file system"),
    ("mkdir $card/dev; : >$card/dev/null; mount --bind /dev/null $card/dev/null; mount --rbind $card/dev /dev\n",
     "No such file or directory"),
), ids=("one page", "full", "no inode", "read-only", "absent"))
def test_a_shm_that_has_no_room_for_a_session_is_said(ask, confined, shm, said, way, user):
    expect_refused(ask(way, *confined(READ_ONLY + shm, user), **USUAL), "/dev/shm", said)


@pytest.mark.parametrize("way", OWN_WAYS)
def test_a_shm_that_the_user_cannot_write_is_said(ask, confined, way):
    expect_refused(ask(way, *confined(READ_ONLY + SHM.format("mode=755"), NOBODY), **USUAL), "/dev/shm", "Permission denied")


@pytest.mark.parametrize("way", ("a session's files", "a session's socket"))
def test_a_runtime_folder_that_is_read_only_lets_its_sessions_be_joined(ask, sim, confined, way):
    """As a container has the machine's: all its other file systems are read-only, too."""
    script = f"mount --bind {sim.runtime} {sim.runtime}\nmount -o remount,bind,ro {sim.runtime}\n"
    expect_held(ask(way, *confined(script + READ_ONLY.replace("/run", "/run /dev/shm"))))


# -- Namespaces, and no /proc

in_namespaces = pytest.mark.parametrize("flags", (
    pytest.param(["--map-root-user"], id="its root"),
    pytest.param(["--user"], id="nobody in it"),
    pytest.param(["--map-root-user", "--pid", "--fork", "--mount-proc"], id="processes of its own", marks=unsanitized),
))


@pytest.mark.needs("user namespaces")
@pytest.mark.parametrize("way", WAYS)
@in_namespaces
def test_in_a_user_namespace_the_limit_holds(ask, way, flags):
    expect_held(ask(way, "unshare", *flags))


@unsanitized
@pytest.mark.needs("mount namespaces")
def test_without_proc_the_limit_holds_and_the_command_says_what_it_needs(ask):
    words = ["unshare", "--mount", "sh", "-ec", 'umount -l /proc\nexec "$@"', "sh"]
    expect_held(ask("environment", *words))
    expect_held(ask("a session's files", *words))
    expect_refused(ask("aliquot run", *words), "mount /proc")


# -- The GPU's time

def expect_cap(sim, *words, **variables):
    """Of a program that wants the whole card, in the simulator's virtual time."""
    load = [sim.build.program("compute/load"), "kind=kernel", "ns=200000", "seconds=4", "settle=300"]
    result = sim.run([*words, *load], preload=True, **variables)
    assert result.rc == 0 and abs(result.json["share"] - 0.3) < 0.01, result


@pytest.fixture
def expect_cap_there(sim):
    """By the environment alone, and in the session of a daemon."""
    sim.configure(clock="virtual")

    def expect(*words):
        expect_cap(sim, *words, ALIQUOT_MEMORY=LIMIT, ALIQUOT_COMPUTE=30)
        Daemon(sim).start().create("a", compute=30)
        expect_cap(sim, *words, ALIQUOT_SESSION="a")
    return expect


@unsanitized
@pytest.mark.needs("filters of system calls")
@pytest.mark.parametrize("code", (errno.EPERM, errno.ENOSYS), ids=errno.errorcode.get)
def test_behind_a_containers_filter_the_cap_holds(expect_cap_there, build, code):
    expect_cap_there(*filtered(build, *BARRED, code=code))


@pytest.mark.needs("user namespaces")
@in_namespaces
def test_in_a_user_namespace_the_cap_holds(expect_cap_there, flags):
    expect_cap_there("unshare", *flags)


# -- Another C library

@unsanitized
def test_a_musl_program_does_not_start_with_the_library(sim, tmp_path):
    """Its loader refuses a library of glibc, aloud: by preload, and as a facade."""
    if shutil.which("musl-gcc") is None:
        pytest.skip("no musl-gcc here")
    source = tmp_path / "musl.c"
    source.write_text('#include <dlfcn.h>\nint main(void) { return dlopen("libcuda.so.1", RTLD_NOW) ? 0 : 3; }\n')
    subprocess.run(["musl-gcc", "-o", source.with_suffix(""), source], check=True)
    words = ["sh", "-c", 'LD_PRELOAD=$0 exec "$@"', sim.build.library, source.with_suffix("")]
    preloaded = sim.run(words, ALIQUOT_MEMORY=LIMIT)
    assert preloaded.rc == 127 and "symbol not found" in preloaded.stderr, preloaded
    assert sim.run([source.with_suffix("")], shims=True, ALIQUOT_MEMORY=LIMIT).rc == 3


def test_our_file_where_no_driver_is_says_what_is_missing(sim):
    """As a folder of ours alone in LD_LIBRARY_PATH: cuInit's code is all that the program sees."""
    with Script(sim, preload=False, shims=True, ALIQUOT_MEMORY=LIMIT, LD_LIBRARY_PATH=sim.build.shims,
                ALIQUOT_REAL_LIBCUDA="/none/libcuda.so.1", ALIQUOT_REAL_LIBNVML="/none/libnvidia-ml.so.1") as gpu:
        assert gpu.code("init") == gpu.code("init") == STUB_LIBRARY
    told = "aliquot: there is no libcuda.so.1 of a driver behind ours; install the driver, or name its file in ALIQUOT_REAL_LIBCUDA\n"
    assert gpu.process.stderr.read() == told
