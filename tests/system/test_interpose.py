# SPDX-License-Identifier: Apache-2.0
"""The interposer as a whole: where it finds the driver, the facades, what the doctor is told, wrong
tables, programs that never touch a GPU, and the session's gate.
"""
import os
import pathlib
import re
import select
import shutil
import subprocess
import time

import pytest

import place
from build import SOURCE
from hang import HANG_SECONDS
from machine import CUDA, NVML, OURS

# What is told apart here is who stands where among loaded objects; the unit tests run sanitized.
if "ALIQUOT_SANITIZER" in os.environ:
    pytest.skip("a sanitizer puts its own dlopen before ours: none of these means anything",
                allow_module_level=True)


# --- where the real library is ----------------------------------------------------------------

def answer_of(machine, **how):
    return machine.probe(["open libcuda.so.1", "sym cuFresh"], **how)


def test_the_variable_wins_and_is_never_replaced(machine, tmp_path):
    machine.install("cuda-same")
    other = tmp_path / "other"
    other.mkdir()
    new = machine.install("cuda-new", "the-driver.so", folder=other)
    assert answer_of(machine)[1].startswith("!")
    assert answer_of(machine, ALIQUOT_REAL_LIBCUDA=str(new))[1] == "the-driver.so cuFresh"
    assert answer_of(machine, ALIQUOT_REAL_LIBCUDA="/nowhere/lib.so")[0].startswith("!")
    assert answer_of(machine, ALIQUOT_REAL_LIBCUDA=str(machine.build.library))[0].startswith("!")


def test_the_search_passes_over_ourselves(machine, tmp_path):
    """Facades first on the path, or standing in the driver's own place: the driver is found behind
    them."""
    machine.install("cuda-new")
    path = f"{machine.build.shims}:{machine.drivers}"
    assert answer_of(machine, path=path)[1] == "libcuda.so.1 cuFresh"
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    shutil.copy(machine.build.library, mounted / "libcuda.so.1")
    machine.install("cuda-same", "libcuda.so.470.1", folder=mounted)
    machine.install("cuda-new", "libcuda.so.535.261.03", folder=mounted)
    machine.install("cuda-same", "libcuda.so.535.99", folder=mounted)
    assert answer_of(machine, path=mounted)[1] == "libcuda.so.535.261.03 cuFresh"


def compat(machine):
    """Another driver than the one of the search path, as CUDA's compatibility package has."""
    folder = machine.folder / "compat"
    folder.mkdir()
    return machine.install("cuda-new", folder=folder)


FROM_COMPAT = "libcuda.so.1 cuFresh"  # a function that only that one has


def test_an_absolute_path_names_the_driver(machine):
    """Of both libraries: the functions that we do not stand before are those of the file at that path."""
    machine.install("cuda-same")
    machine.install("nvml", "libnvidia-ml.so.1")
    path = compat(machine)
    other = machine.install("nvml", "libnvidia-ml.so.999.1", folder=path.parent)
    link = path.with_name("link.so")
    link.symlink_to(path)
    for asked in (path, link, f"{path.parent}/../compat/libcuda.so.1"):
        answers = machine.probe(["open libnvidia-ml.so.1", "call nvmlInit_v2", f"open {asked}", "sym cuLaunchKernel", "sym cuFresh"])
        assert answers[2:4] == [OURS, f"{OURS} cuLaunchKernel"], asked
        assert answers[4] == f"{pathlib.Path(asked).name} cuFresh", asked
    assert machine.probe([f"open {other}", "sym nvmlErrorString", "sym nvmlFresh"]) == [
        OURS, f"{OURS} nvmlErrorString", f"{other.name} nvmlFresh"]


def test_a_search_path_names_the_driver(machine):
    """LD_LIBRARY_PATH of a program that asks by name: the folder that comes first."""
    machine.install("cuda-same")
    folder = compat(machine).parent
    assert answer_of(machine, path=f"{folder}:{machine.drivers}") == [OURS, FROM_COMPAT]
    assert answer_of(machine, path=f"{machine.drivers}:{folder}")[1].startswith("!")


def test_the_driver_that_was_opened_first_stays(machine):
    """Another one is opened by path: we stand before both, so its functions are those of the first."""
    machine.install("cuda-same")
    path = compat(machine)
    answers = machine.probe(["open libcuda.so.1", f"open {path}", "sym cuLaunchKernel", "sym cuFresh"])
    assert answers[:3] == [OURS, OURS, f"{OURS} cuLaunchKernel"] and answers[3].startswith("!"), answers
    assert machine.probe([f"open {path}", "open libcuda.so.1", "sym cuFresh"])[2] == FROM_COMPAT


def test_a_path_that_is_no_driver_leads_to_the_driver(machine):
    """It must not lead around us: a file that is not there yet, text, or a facade."""
    machine.install("cuda-new")
    folder = machine.folder / "elsewhere"
    folder.mkdir()
    (folder / "libcuda.so").write_text("INPUT(libcuda.so.1)\n")
    shutil.copy(machine.build.shims / "libcuda.so.1", folder / "libcuda.so.2")
    for name in ("libcuda.so.1", "libcuda.so", "libcuda.so.2"):
        assert machine.probe([f"open {folder / name}", "sym cuFresh"]) == [OURS, FROM_COMPAT], name


def test_a_relative_and_an_empty_search_path(machine):
    machine.install("cuda-new")
    for path in (".", ":", "nowhere:.:"):
        assert answer_of(machine, path=path, cwd=machine.drivers)[1] == "libcuda.so.1 cuFresh", path


def test_a_file_that_is_no_library_is_passed_over(machine, tmp_path):
    bad = tmp_path / "bad"
    bad.mkdir()
    machine.install("cuda-new")
    good = (machine.drivers / "libcuda.so.1").read_bytes()
    other_machine = good[:18] + b"\xf7\x00" + good[20:]
    for content in (b"", b"\x7fELF", b"INPUT(libcuda.so.1)\n", other_machine):
        (bad / "libcuda.so.1").write_bytes(content)
        assert answer_of(machine, path=f"{bad}:{machine.drivers}")[1] == "libcuda.so.1 cuFresh"
    # One that the loader itself takes for a library and fails on, fails in its words.
    (bad / "libcuda.so.1").write_bytes(good[:100])
    path = f"{bad}:{machine.drivers}"
    assert (machine.probe(["open libcuda.so.1"], path=path)
            == machine.probe(["open libcuda.so.1"], us=False, path=path))


# --- facades ----------------------------------------------------------------------------------

def test_facades_by_library_path(machine):
    """Without a preload: the loader finds the facade by its file name. Each exports its own API
    only, and no doors."""
    machine.install("cuda-same")
    machine.install("nvml", "libnvidia-ml.so.1")
    path = f"{machine.build.shims}:{machine.drivers}"
    answers = machine.probe(["open libcuda.so.1", "sym cuLaunchKernel", "call cuCtxGetDevice",
                             "open libnvidia-ml.so.1", "sym nvmlErrorString", "call nvmlDeviceGetName",
                             "sym aliquot_is_us"], us=False, path=path)
    alone = machine.probe(["open libcuda.so.1", "call cuCtxGetDevice", "open libnvidia-ml.so.1"], us=False)
    assert answers[1] == "libcuda.so.1 cuLaunchKernel"
    assert answers[2] == alone[1]
    assert answers[4] == "libnvidia-ml.so.1 nvmlErrorString"
    assert answers[6] == "libnvidia-ml.so.1 aliquot_is_us"
    for facade, own, other in (("libcuda.so.1", CUDA, NVML), ("libnvidia-ml.so.1", NVML, CUDA)):
        done = subprocess.run(["nm", "-D", "--defined-only", str(machine.build.shims / facade)],
                              capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
        exported = {line.split()[-1] for line in done.stdout.splitlines()}
        assert exported >= set(own)
        assert not exported & set(other)
        assert not exported & {"dlopen", "dlmopen", "dlsym", "dlvsym"}
        assert all(name in own or name.startswith("aliquot_") for name in exported)


@pytest.mark.parametrize("fake", ["cuda-11", "cuda-10"])
def test_a_facade_answers_lookups_that_its_driver_lacks(machine, fake):
    """It exports cuGetProcAddress in both forms, so a runtime of CUDA 12 or 13 finds them where the driver
    alone has the older form only (before 12.0), or none (before 11.3)."""
    machine.install(fake)
    asked = ["proc 2 cuMemAlloc 13000 0", "proc 1 cuMemAlloc 13000 0", "proc 2 cuMemAlloc 2000 0",
             "proc 2 cuStreamSynchronize 12000 2", "proc 2 cuMemAllocAsync 11020 0", "proc 2 cuNoSuch 13000 0",
             "proc 2 cuGetProcAddress 12000 0", "proc 2 cuGetProcAddress 11030 0", "proc 2 cuCtxGetId 13000 0"]
    answers = machine.probe(["open libcuda.so.1"] + asked, us=False, path=f"{machine.build.shims}:{machine.drivers}")
    has_async = fake == "cuda-11"
    assert answers[1:] == [
        "0 0 libcuda.so.1 cuMemAlloc_v2", "0 -1 libcuda.so.1 cuMemAlloc_v2", "0 0 libcuda.so.1 cuMemAlloc",
        "0 0 libcuda.so.1 cuStreamSynchronize_ptsz", "0 0 libcuda.so.1 cuMemAllocAsync" if has_async else "0 2 - -",
        "0 1 - -", "0 0 libcuda.so.1 cuGetProcAddress_v2", "0 0 libcuda.so.1 cuGetProcAddress", "0 2 - -"]


def test_facades_by_the_name_without_a_version(machine):
    """Some programs load libcuda.so; with no such name of ours they would meet the bare driver. It
    is the same object as by the other name."""
    for file, fake, symbol in (("libcuda.so", "cuda-same", "cuLaunchKernel"),
                               ("libnvidia-ml.so", "nvml", "nvmlErrorString")):
        machine.install(fake, f"{file}.1")
        machine.install(fake, file)
        path = f"{machine.build.shims}:{machine.drivers}"
        answers = machine.probe([f"open {file}", "sym aliquot_is_us", f"sym {symbol}",
                                 f"open {file}.1", "sym aliquot_is_us"], us=False, path=path)
        assert answers[1] == answers[4] == f"{file} aliquot_is_us"
        assert answers[2] == f"{file} {symbol}"


def test_a_program_linked_to_the_driver_meets_us_by_every_way(machine, tmp_path):
    driver = machine.install("cuda-same")
    main = machine.build.compile_c(
        tmp_path / "main", "#include <stdio.h>\nint cuCtxGetDevice(void);"
        "int main(void) { printf(\"%d\\n\", cuCtxGetDevice()); return 0; }", driver)
    alone = machine.run([main]).stdout
    assert alone
    assert machine.run([main], preload=[machine.build.library]).stdout == alone
    assert machine.run([main], path=f"{machine.build.shims}:{machine.drivers}").stdout == alone
    # With us but no driver it starts, and every call says that there is none.
    driver.unlink()
    assert machine.run([main], preload=[machine.build.library]).stdout == "34\n"


# --- what the doctor is told --------------------------------------------------------------------

DOCTOR = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include "interpose/doctor.h"
static void say(const char *name, void *arg) { printf("unknown %s\\n", name); }
int main(int argc, char **argv)
{
        void *us = argc > 1 ? dlopen(argv[1], RTLD_NOW) : RTLD_DEFAULT;
        __typeof__(&aliquot_doctor_api) api = dlsym(us, "aliquot_doctor_api");
        __typeof__(&aliquot_doctor_row) row = dlsym(us, "aliquot_doctor_row");
        __typeof__(&aliquot_doctor_door) door = dlsym(us, "aliquot_doctor_door");
        __typeof__(&aliquot_doctor_unknown) unknown = dlsym(us, "aliquot_doctor_unknown");
        struct doctor_api a;
        struct doctor_row r;
        struct doctor_door d;
        for (unsigned i = 0; api(i, &a); i++) {
                printf("api %s [%s] %d %u %u %u\\n", a.name, a.library, a.is_open, a.row_count,
                       a.missing_count, a.unknown_count);
                for (unsigned j = 0; row(i, j, &r); j++)
                        if (!r.is_in_library) printf("missing %s %s\\n", r.symbol, r.kind);
                unknown(i, say, 0);
        }
        for (unsigned i = 0; door(i, &d); i++)
                printf("door %s %d\\n", d.name, d.is_ours);
        return 0;
}
"""


def test_the_doctor_is_told_what_is_there(machine, tmp_path):
    driver = machine.install("cuda-new")
    main = machine.build.compile_c(tmp_path / "main", DOCTOR)
    lines = machine.run([main], preload=[machine.build.library]).stdout.splitlines()
    lacking = [line for line in lines if line.startswith("missing cu")]
    assert lines[0] == f"api cuda [{driver}] 1 {len(CUDA)} {len(lacking)} 5"
    assert lacking == [f"missing cuEventCreateFromEGLSync {CUDA['cuEventCreateFromEGLSync'][1]}"]
    assert {line.split()[1] for line in lines if line.startswith("unknown")} == {
        "cuFresh", "cuMemAlloc_v3", "cuLaunchKernel_v2", "cuUnlisted", "cuPrivate"}
    assert f"api nvml [] 0 {len(NVML)} {len(NVML)} 0" in lines
    for door in ("dlopen", "dlmopen", "dlsym", "dlvsym", "libcuda.so.1"):
        assert f"door {door} 1" in lines
    assert "door libnvidia-ml.so.1 0" in lines
    # Only opened, not preloaded: the doors are the C library's, and the doctor says so.
    lines = machine.run([main, machine.build.library]).stdout.splitlines()
    assert "door dlopen 0" in lines and "door dlsym 0" in lines


# --- the generator ------------------------------------------------------------------------------

@pytest.mark.parametrize("line, complaint", [
    ("toyA 1 hook", "says why"),
    ("toyA 1 grasp why not", "expected one of pass, hook"),
    ("toyA 1 hook no prototype", "needs a prototype"),
    ("toyA one pass", "invalid literal"),
    ("toyA 1", "not enough values"),
    ("toyB 1 pass\ntoyA 1 pass", "unsorted or repeated"),
    ("toyA 1 pass\ntoyA 1 pass", "unsorted or repeated"),
    ("toyOther 1 pass\n  (a) shape(a)", "a hook is made once, after its row"),
    ("toyOther 1 hook why\n  (a) shape", "expected: (NAMES) SHAPE(ARGUMENTS)"),
    ("toyOther 1 hook why\n  (a)\n  shape(a", "expected: (NAMES) SHAPE(ARGUMENTS)"),
    ("toyOther 1 hook why\n  (a) shape(a)", "no shape shape was declared"),
    ("~ shape -\ntoyOther 1 hook why\n  (a, b) shape(a)", "not as many names"),
    ("~ shape int again", "only a struct can decide about the call"),
    ("~ shape -\ntoyOther 1 hook why\n  (a) shape(a)\n  (a) shape(a)", "a hook is made once"),
])
def test_a_wrong_table_is_refused_with_its_line(tmp_path, line, complaint):
    (tmp_path / "toy.api").write_text("# a table\n" + line + "\n")
    (tmp_path / "toy.h").write_text("int toyOther(int);\n")
    done = subprocess.run([SOURCE / "tools/gen-api", tmp_path,
                           f"toy={tmp_path}/toy.api:{tmp_path}/toy.h"],
                          capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode != 0
    assert complaint in done.stderr and "toy.api:" in done.stderr, done


def test_a_hook_that_is_not_written_does_not_link(machine, tmp_path):
    """A `hook` line without its function fails the build, not the program."""
    (tmp_path / "abi").mkdir()
    (tmp_path / "shim").mkdir()
    (tmp_path / "abi/toy.h").write_text("int toyA(int);\n")
    (tmp_path / "toy.api").write_text("toyA 1 hook to be missed\n")
    subprocess.run([SOURCE / "tools/gen-api", tmp_path / "shim",
                    f"toy={tmp_path}/toy.api:{tmp_path}/abi/toy.h"], timeout=HANG_SECONDS, check=True)
    machine_name = os.uname().machine
    done = subprocess.run(["cc", "-shared", "-fPIC", f"-I{tmp_path}", f"-I{SOURCE}/src",
                           f'-DTHUNK_MACROS="interpose/{machine_name}_thunks.inc"', "-Wl,-z,defs",
                           "-o", tmp_path / "x.so", tmp_path / "shim/thunks.S",
                           tmp_path / "shim/entries.c"],
                          capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode != 0 and "hook_toyA" in done.stderr


def test_loads_on_older_c_libraries(build):
    """It is copied into containers: no symbol newer than glibc 2.27, or a preload is refused there
    and the limit is not there either. What is needed beyond is in src/shim/oldlibc.c."""
    for library in (build.library, build.shims / "libcuda.so.1", build.shims / "libnvidia-ml.so.1"):
        done = subprocess.run(["objdump", "-T", library], capture_output=True, text=True, timeout=HANG_SECONDS,
                              check=True)
        newer = {(version, line.split()[-1]) for line in done.stdout.splitlines()
                 for version in re.findall(r"GLIBC_2\.(\d+)", line) if int(version) > 27}
        assert not newer, library
        needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, timeout=HANG_SECONDS,
                                check=True).stdout
        assert re.findall(r"NEEDED.*\[(.*)\]", needed) in (["libc.so.6"], ["libc.so.6", "ld-linux-x86-64.so.2"])


# --- B6: programs that never touch a GPU ------------------------------------------------------

def test_a_program_without_gpu_notices_nothing(machine):
    """Preloaded into everything (as by /etc/ld.so.preload): no file is opened, no thread made, no
    signal touched, no byte written, beyond loading the library itself."""
    if not shutil.which("strace"):
        pytest.skip("strace is not here")
    place.need("tracing")
    machine.install("cuda-same")
    plain = machine.run(["strace", "-f", "-E", "LD_PRELOAD=", "/bin/true"])
    ours = machine.run(["strace", "-f", "-E", f"LD_PRELOAD={machine.build.library}", "/bin/true"])
    assert plain.returncode == ours.returncode == 0
    # From the last page protection of the loader on, both do the same.
    def calls(done):
        names = [re.sub(r"^\[pid +\d+\] ", "", line).split("(")[0] for line in done.stderr.splitlines()]
        return [n for n in names if n in ("clone", "clone3", "fork", "rt_sigaction", "rt_sigprocmask",
                                          "umask", "write", "socket", "futex", "ioctl")]
    assert calls(plain) == calls(ours)
    opened = [line for line in ours.stderr.splitlines() if line.startswith("open")]
    before = [line for line in plain.stderr.splitlines() if line.startswith("open")]
    extra = [line for line in opened if line not in before]
    assert all(str(machine.build.library) in line or "libaliquot" in line for line in extra), extra


def test_ls_answers_the_same(machine):
    alone = machine.run(["ls", "-la", machine.drivers])
    ours = machine.run(["ls", "-la", machine.drivers], preload=[machine.build.library])
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, alone.stdout, "")


# --- the gate -----------------------------------------------------------------------------------

FILLS = """
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
#include "abi/cuda.h"
#include "abi/nvml.h"
int main(void)
{
        void *h = dlopen("libcuda.so.1", RTLD_NOW);
        __typeof__(&cuInit) init = dlsym(h, "cuInit");
        __typeof__(&cuDevicePrimaryCtxRetain) retain = dlsym(h, "cuDevicePrimaryCtxRetain");
        __typeof__(&cuCtxSetCurrent) current = dlsym(h, "cuCtxSetCurrent");
        __typeof__(&cuMemAlloc_v2) alloc = dlsym(h, "cuMemAlloc_v2");
        __typeof__(&cuMemsetD2D8_v2) fill = dlsym(h, "cuMemsetD2D8_v2");
        __typeof__(&cuMemcpyWithAttributesAsync) copy = dlsym(h, "cuMemcpyWithAttributesAsync");
        struct timespec pause = { .tv_nsec = 5000000 };
        CUcontext context;
        CUdeviceptr p;
#ifdef NVML_FIRST
        void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        __typeof__(&nvmlInit_v2) nvml_init = dlsym(nvml, "nvmlInit_v2");

        if (nvml_init())
                return 3;
#endif
        if (init(0) || retain(&context, 0) || current(context) || alloc(&p, 4096))
                return 1;
        for (int i = 0; i < 2000; i++) {
#ifdef COPIES
                CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
                if (copy(p, p + 2048, 64, &how, 0))
                        return 2;
#else
                if (fill(p, 64, 1, 64, 2))
                        return 2;
#endif
                printf("%d\\n", i);
                fflush(stdout);
                nanosleep(&pause, 0);
        }
        return 0;
}
"""


def waits_on(process, path):
    """Whether the process sleeps in a futex (system call 202) that lies in this mapped file."""
    words = pathlib.Path(f"/proc/{process.pid}/syscall").read_text().split()
    if words[0] != "202":
        return False
    for line in pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines():
        first, last = (int(word, 16) for word in line.split()[0].split("-"))
        if line.endswith(str(path)) and first <= int(words[1], 16) < last:
            return True
    return False


@pytest.mark.parametrize("flags", ([], ["-DNVML_FIRST"], ["-DCOPIES"]), ids=("cuda", "nvml", "copies"))
def test_a_shut_gate_of_the_session_holds_its_work(sim, start, compile_c, flags):
    """Writing the gate of the session's `limits` stops the work of its processes, whichever library
    they called first, and clearing it lets them go on, even if nobody wakes them."""
    where = compile_c("where", "#include <stdio.h>\n#include \"proto/page.h\"\nint main(void)"
                      "{ printf(\"%zu\", offsetof(struct limits_page, gate)); return 0; }")
    offset = int(subprocess.run([where], capture_output=True, text=True, timeout=HANG_SECONDS, check=True).stdout)
    process = start([compile_c("fills", FILLS, *flags)], preload=True, ALIQUOT_MEMORY="256MiB")
    lines = process.stdout.fileno()

    def arrives(seconds):
        """Whether a line comes within the time; all that has come is taken."""
        return bool(select.select([lines], [], [], seconds)[0]) and len(os.read(lines, 65536)) > 0

    assert arrives(30)
    limits, = sim.runtime.rglob("limits")
    with open(limits, "r+b", buffering=0) as page:
        page.seek(offset)
        page.write(b"\1")
        until = time.monotonic() + HANG_SECONDS
        while not waits_on(process, limits):
            assert process.poll() is None and time.monotonic() < until, "the gate does not hold it"
            arrives(0)
        while arrives(0):
            pass
        assert not arrives(0.3)
        assert process.poll() is None
        page.seek(offset)
        page.write(b"\0")
        assert arrives(30)
