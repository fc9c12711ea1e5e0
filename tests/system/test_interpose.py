# SPDX-License-Identifier: Apache-2.0
"""Doors: whatever way a program takes to a driver function, it gets what it would have got without
us, but for the functions that we stand before, which are ours. Fake drivers play the driver.
"""
import collections
import os
import pathlib
import random
import re
import select
import shutil
import subprocess
import time

import pytest

from build import SOURCE

# What is told apart here is who stands where among loaded objects; the unit tests run sanitized.
pytestmark = pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ,
                                reason="a sanitizer puts its own dlopen before ours")

VERSIONS = SOURCE / "src/abi/cuda.versions"
OURS = "libaliquot.so"
FLAGS = (0, 1, 2)  # default, legacy stream, per-thread stream


def rows(api):
    """{symbol: (since, class)} as the table's own text has it."""
    table = {}
    for line in (SOURCE / "src/shim" / api / f"{api}.api").read_text().splitlines():
        words = line.split()
        if words and words[0][0] not in "#!=":
            table[words[0]] = (0 if words[1] == "-" else int(words[1]), words[2])
    return table


CUDA, NVML = rows("cuda"), rows("nvml")


def is_ours(symbol):
    return {**CUDA, **NVML}.get(symbol, (0, "pass"))[1] != "pass"


class Machine:
    """A folder with drivers under their own names, and programs run on it."""
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.fakes = build.folder / "tests/programs/interpose/fake"
        self.drivers = folder / "driver"
        self.drivers.mkdir()

    def install(self, fake, soname="libcuda.so.1", folder=None):
        target = (folder or self.drivers) / soname
        shutil.copy(self.fakes / f"fake-{fake}.so", target)
        return target

    def env(self, preload=(), path=None, **more):
        env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(path or self.drivers), **more}
        if preload:
            env["LD_PRELOAD"] = ":".join(map(str, preload))
        return env

    def run(self, command, text="", cwd=None, **how):
        return subprocess.run(list(map(str, command)), input=text, env=self.env(**how), cwd=cwd,
                              capture_output=True, text=True, timeout=60, check=False)

    def probe(self, commands, us=True, **how):
        """Answers to the probe's commands, one each."""
        if us:
            how.setdefault("preload", [self.build.library])
        program = self.build.program("interpose/interpose-probe")
        done = self.run([program], "\n".join(commands) + "\n", **how)
        assert done.returncode == 0 and done.stderr == "", done
        answers = done.stdout.splitlines()
        assert len(answers) == len(commands), done
        return answers


@pytest.fixture
def machine(build, tmp_path):
    return Machine(build, tmp_path)


def expect_as_without_us(command, alone, answer, driver="libcuda.so.1"):
    """`alone` is what the bare driver answered; only the object may differ, and only for ours."""
    words = alone.split()
    if not alone.startswith("!") and words[-2] == driver and is_ours(words[-1]):
        words[-2] = OURS
    assert answer == " ".join(words), f"{command}: {alone!r} without us"


# --- C1: by name and version ------------------------------------------------------------------

def requests():
    versions = {11030, 11040, 11080, 12000, 12080, 12999, 13000}
    names = set()
    for line in VERSIONS.read_text().splitlines():
        if line and line[0] != "#":
            name, version, *_ = line.split()
            names.add(name)
            if int(version) >= 11030:
                versions |= {int(version), int(version) - 1}
    names |= {"cuNoSuchFunction", "cuMemAlloc_v2", "cublasCreate"}
    return [f"proc {abi} {name} {version} {flags}" for name in sorted(names)
            for version in sorted(versions) for flags in FLAGS for abi in (1, 2)]


@pytest.mark.parametrize("fake", ["cuda-same", "cuda-old", "cuda-new", "cuda-strict"])
def test_lookup_by_version_answers_the_same_abi_as_the_driver(machine, fake):
    """C1: every name, version, flag and both ABIs; twice, in different orders, since answers are
    remembered."""
    machine.install(fake)
    asked = requests()
    alone = dict(zip(asked, machine.probe(["open libcuda.so.1"] + asked, us=False)[1:]))
    random.Random(7).shuffle(asked)
    asked += random.Random(8).sample(asked, 5000)
    for command, answer in zip(asked, machine.probe(["open libcuda.so.1"] + asked)[1:]):
        expect_as_without_us(command, alone[command], answer)


def test_lookup_is_right_even_if_the_driver_answers_private_functions(machine):
    """Where the driver's answer is none of its exports, the table decides which ABI it is. What it
    must decide is derived here from the list of versions, by rank, not from the table."""
    machine.install("cuda-inner")
    found = collections.defaultdict(list)
    for line in VERSIONS.read_text().splitlines():
        if line and line[0] != "#":
            name, version, *suffix = line.split()
            found[name, "".join(suffix)].append(int(version))
    ranked = collections.defaultdict(list)
    for (name, suffix), versions in found.items():
        plain = sorted(found[name, ""]) if (name, "") in found else []
        for version in versions:
            rank = max(1, sum(v <= version for v in plain))
            ranked[name].append((version, suffix, name + (f"_v{rank}" if rank > 1 else "") + suffix))
    asked = [r for r in requests() if r.split()[2] in ranked]
    answers = machine.probe(["open libcuda.so.1"] + asked)[1:]
    ours = 0
    for command, answer in zip(asked, answers):
        _, _, name, version, flags = command.split()
        fits = [r for r in ranked[name] if r[0] <= int(version) and (not r[1] or flags == "2")]
        if name == "cuGraphInstantiate" and int(version) >= 12000:
            fits.append((12000, "", "cuGraphInstantiateWithFlags"))
        expected = max(fits, key=lambda r: (r[0], r[1]))[2] if fits else None
        if expected and is_ours(expected):
            assert answer.endswith(f" {OURS} {expected}"), (command, answer)
            ours += 1
        else:
            assert OURS not in answer, (command, answer)
    assert ours > 1000


def test_the_table_says_the_versions_that_the_typed_header_says(machine):
    """Each row's `since`, against the list made from CUDA's header of typed entry points."""
    counted = collections.defaultdict(list)
    for line in VERSIONS.read_text().splitlines():
        if line and line[0] != "#":
            name, version, *suffix = line.split()
            counted[name, "".join(suffix)].append(int(version))
    for (name, suffix), versions in counted.items():
        pattern = re.compile(re.escape(name) + r"(_v\d+)?" + re.escape(suffix))
        mine = sorted(since for symbol, (since, _) in CUDA.items() if pattern.fullmatch(symbol))
        assert mine == sorted(versions), name + suffix


def test_an_abi_newer_than_the_table_is_passed_on(machine):
    """A newer driver gives cuMemAlloc a form that we do not know: the program gets the driver's, as
    a function of ours would take its arguments for something else."""
    machine.install("cuda-new")
    answers = machine.probe(["open libcuda.so.1", "proc 2 cuMemAlloc 12000 0",
                             "proc 2 cuMemAlloc 13020 0", "proc 2 cuMemAlloc 13010 0",
                             "proc 2 cuFresh 13010 0", "proc 2 cuMemAlloc 13020 0"])[1:]
    assert answers[0] == answers[2] == f"0 0 {OURS} cuMemAlloc_v2"
    assert answers[1] == answers[4] == "0 0 libcuda.so.1 cuMemAlloc_v3"
    assert answers[3] == "0 0 libcuda.so.1 cuFresh"


# --- C1, C3: by name --------------------------------------------------------------------------

@pytest.mark.parametrize("fake", ["cuda-same", "cuda-old", "cuda-new"])
def test_dlsym_shows_the_driver_as_it_is(machine, fake):
    """C3: a name that only the driver has is found, one that only our table has is not; the rest
    is the driver's own function or ours, by the table."""
    machine.install(fake)
    names = sorted(CUDA) + ["cuFresh", "cuMemAlloc_v3", "cuLaunchKernel_v2", "cuUnlisted",
                            "cuPrivate", "cuNowhere", "cublasCreate", "printf", "nothing_at_all"]
    commands = ["open libcuda.so.1"] + [f"sym {n}" for n in names]
    alone = machine.probe(commands, us=False)
    lacking = 0
    for command, before, answer in list(zip(commands, alone, machine.probe(commands)))[1:]:
        if before.startswith("!"):
            lacking += 1
            # The text names the library that was asked; for a name of no API that is our file.
            assert answer.split(": ")[-1] == before.split(": ")[-1], (command, answer)
            assert answer.startswith("!")
        else:
            expect_as_without_us(command, before, answer)
    assert lacking >= (5 if fake == "cuda-old" else 1)


def test_dlvsym_shows_the_driver_as_it_is(machine):
    """The driver's exports have no version, so no version finds them; nor does it find ours."""
    machine.install("cuda-same")
    commands = ["open libcuda.so.1", "version cuInit GLIBC_2.2.5", "version cuMemAlloc_v2 LIB_1",
                "version cuLaunchKernel libcuda.so.1"]
    alone = machine.probe(commands, us=False)[1:]
    for before, answer in zip(alone, machine.probe(commands)[1:]):
        assert (before[0], answer[0]) in (("!", "!"),) or before.split()[-1] == answer.split()[-1]


def test_both_libraries_from_one_file_alone_in_a_folder(machine, tmp_path):
    """libaliquot.so is complete by itself: preloaded from an otherwise empty folder it stands
    before both libraries."""
    alone = tmp_path / "alone"
    alone.mkdir()
    library = pathlib.Path(shutil.copy(machine.build.library, alone / "libX.so"))
    machine.install("cuda-same")
    machine.install("nvml", "libnvidia-ml.so.1")
    answers = machine.probe(["open libcuda.so.1", "sym cuMemAlloc_v2", "sym cuCtxGetDevice",
                             "open libnvidia-ml.so.1", "sym nvmlErrorString", "sym nvmlFresh",
                             "sym nvmlDeviceGetFanSpeed", "sym nvmlDeviceGetFanSpeed_v2"],
                            preload=[library])
    assert answers[0] == answers[3] == "libX.so"
    assert answers[2] == "libcuda.so.1 cuCtxGetDevice"
    assert answers[4] == "libX.so nvmlErrorString"
    assert answers[5] == "libnvidia-ml.so.1 nvmlFresh"
    assert answers[6].startswith("!")
    assert answers[7] == "libnvidia-ml.so.1 nvmlDeviceGetFanSpeed_v2"


def test_global_lookups(machine):
    """RTLD_DEFAULT and RTLD_NEXT find us where the driver would stand, and never a function that
    the driver lacks."""
    machine.install("cuda-old")
    answers = machine.probe(["default cuLaunchKernel", "next cuLaunchKernel", "default cuCtxSetFlags",
                             "next cuCtxSetFlags", "default cuCheckpointProcessLock",
                             "default cublasCreate", "default printf", "next nvmlInit_v2"])
    assert answers[0] == answers[1] == f"{OURS} cuLaunchKernel"
    for answer in answers[2:6] + answers[7:]:
        assert answer.startswith("!") and "undefined symbol" in answer
    assert "printf" in answers[6]


# --- C2: by any path --------------------------------------------------------------------------

def test_every_spelling_of_the_library_is_ours(machine):
    machine.install("cuda-same")
    machine.install("cuda-same", "libcuda.so")
    machine.install("cuda-same", "libcuda.so.535.261.03")
    machine.install("cuda-same", "libcuda.so.580.65")
    machine.install("nvml", "libnvidia-ml.so.1")
    machine.install("nvml", "libnvidia-ml.so")
    for name in ("libcuda.so.1", "libcuda.so", "libcuda.so.535.261.03", "libcuda.so.580.65",
                 machine.drivers / "libcuda.so.1", machine.drivers / "libcuda.so.535.261.03",
                 machine.drivers / "libcuda.so", "libnvidia-ml.so", "libnvidia-ml.so.1",
                 machine.drivers / "libnvidia-ml.so.1", f"{machine.drivers}/../driver/libcuda.so.1"):
        assert machine.probe([f"open {name}"]) == [OURS], name
        assert OURS not in machine.probe([f"open {name}"], us=False)[0], name


def test_other_libraries_are_left_alone(machine):
    machine.install("cuda-same")
    for name in ("libcudart.so.12", "libcuda.so.1.bak", "libcuda.so.", "libcuda.so.x", "xlibcuda.so.1"):
        shutil.copy(machine.drivers / "libcuda.so.1", machine.drivers / name)
        alone = machine.probe([f"open {name}", "sym cuCtxGetDevice"], us=False)
        assert machine.probe([f"open {name}", "sym cuCtxGetDevice"]) == alone


def test_dlmopen_puts_us_before_the_driver(machine):
    machine.install("cuda-same")
    for name in ("libcuda.so.1", machine.drivers / "libcuda.so.1"):
        answers = machine.probe([f"newns {name}", "sym cuLaunchKernel", "call cuCtxGetDevice"])
        assert answers[:2] == [OURS, f"{OURS} cuLaunchKernel"]
        assert answers[2] == machine.probe([f"open {name}", "call cuCtxGetDevice"], us=False)[1]


def test_a_preload_by_relative_path(machine):
    machine.install("cuda-same")
    library = machine.build.library
    answers = machine.probe(["open libcuda.so.1", "newns libcuda.so.1", "open libnvidia-ml.so.1"],
                            preload=[f"./{library.name}"], cwd=library.parent)
    assert answers[:2] == [OURS, OURS]
    assert answers[2].startswith("!")


def test_no_driver_fails_in_the_loaders_own_words(machine):
    """Also where the loader would take our own name for the library's."""
    for name in ("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "/nowhere/libcuda.so.1",
                 "libcuda.so.535.1.2"):
        commands = [f"open {name}", f"newns {name}", f"open {name} noload", f"open {name}"]
        assert machine.probe(commands) == machine.probe(commands, us=False), name


def test_a_driver_that_does_not_load_fails_in_the_loaders_own_words(machine):
    machine.build.compile_c(machine.drivers / "libcuda.so.1", "void needed(void); int cuInit(void);"
                            "int cuInit(void) { needed(); return 0; }", "-shared", "-fPIC",
                            "-Wl,-z,now", "-Wl,-soname,libcuda.so.1")
    answer = machine.probe(["open libcuda.so.1"])[0]
    assert answer == machine.probe(["open libcuda.so.1"], us=False)[0]
    assert "undefined symbol: needed" in answer


def test_noload_tells_whether_it_is_loaded(machine):
    machine.install("cuda-same")
    commands = ["open libcuda.so.1 noload", "open libcuda.so.1", "open libcuda.so.1 noload"]
    assert machine.probe(commands) == ["! (nothing)", OURS, OURS]
    assert machine.probe(commands, us=False) == ["! (nothing)", "libcuda.so.1", "libcuda.so.1"]


def test_the_callers_runpath_counts(machine, tmp_path):
    """A library's dlopen looks along its own RUNPATH: for others' libraries, and for the driver."""
    private = tmp_path / "private"
    private.mkdir()
    machine.install("cuda-same", folder=private)
    machine.build.compile_c(private / "libpriv.so", "int x;", "-shared", "-fPIC")
    plugin = machine.build.compile_c(
        tmp_path / "libplugin.so", """
        #include <dlfcn.h>
        void *load(const char *name);
        void *load(const char *name) { return dlopen(name, RTLD_NOW); }
        """, "-shared", "-fPIC", f"-Wl,-rpath,{private}", "-Wl,--enable-new-dtags", "-O0")
    main = machine.build.compile_c(
        tmp_path / "main", """
        #include <dlfcn.h>
        #include <link.h>
        #include <stdio.h>
        void *load(const char *name);
        int main(int argc, char **argv)
        {
                for (int i = 1; i < argc; i++) {
                        struct link_map *m = load(argv[i]);
                        printf("%s\\n", m ? m->l_name : dlerror());
                        if (m && dlsym(m, "cuCtxGetDevice"))
                                printf("%d\\n", ((int (*)(void))dlsym(m, "cuCtxGetDevice"))());
                }
                return 0;
        }
        """, plugin, f"-Wl,-rpath,{tmp_path}")
    done = machine.run([main, "libpriv.so", "libcuda.so.1"], preload=[machine.build.library])
    alone = machine.run([main, "libpriv.so", "libcuda.so.1"])
    assert done.stdout.splitlines()[0] == str(private / "libpriv.so")
    assert pathlib.Path(done.stdout.splitlines()[1]).name == OURS
    assert done.stdout.splitlines()[2] == alone.stdout.splitlines()[2]


PRELOADED = """
#define _GNU_SOURCE
#include <dlfcn.h>
int cuGraphicsMapResources(void);
int cuGraphicsMapResources(void)
{
        int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "cuGraphicsMapResources");
        return next ? next() + 100000 : -1;
}
"""


def test_other_preloads_before_and_after_us(machine, tmp_path):
    """C2: a second interposer finds the next function through RTLD_NEXT on either side of us, no
    recursion and no NULL; so does a third behind it."""
    machine.install("cuda-same")
    first = machine.build.compile_c(tmp_path / "first.so", PRELOADED, "-shared", "-fPIC")
    second = machine.build.compile_c(tmp_path / "second.so", PRELOADED, "-shared", "-fPIC")
    main = machine.build.compile_c(
        tmp_path / "main", """
        #include <dlfcn.h>
        #include <stdio.h>
        int main(void)
        {
                void *h = dlopen("libcuda.so.1", RTLD_NOW);
                int (*direct)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "cuGraphicsMapResources");
                int (*own)(void) = (int (*)(void))dlsym(h, "cuGraphicsMapResources");
                printf("%d %d\\n", own(), direct());
                return 0;
        }
        """)
    us = machine.build.library
    number = int(machine.probe(["open libcuda.so.1", "call cuGraphicsMapResources"], us=False)[1])
    for preload, layers in (([us], 0), ([first, us], 1), ([us, first], 0), ([first, second, us], 2),
                            ([first, us, second], 1)):
        done = machine.run([main], preload=preload)
        assert done.stdout == f"{number} {number + 100000 * layers}\n", (preload, done)
    # Behind us, a caller's "next" is the driver, though the list holds none after it.
    behind = machine.build.compile_c(
        tmp_path / "behind.so", PRELOADED + "int behind(void); int behind(void) { return cuGraphicsMapResources(); }",
        "-shared", "-fPIC", "-Wl,-Bsymbolic")
    asks = machine.build.compile_c(tmp_path / "asks", "#include <stdio.h>\nint behind(void);"
                                   "int main(void) { printf(\"%d\\n\", behind()); return 0; }", behind,
                                   f"-Wl,-rpath,{tmp_path}")
    done = machine.run([asks], preload=[us])
    assert done.stdout == f"{number + 100000}\n", done


def test_a_plugin_that_needs_the_driver(machine, tmp_path):
    """C2: DT_NEEDED in a library opened late, with and without RTLD_DEEPBIND."""
    driver = machine.install("cuda-same")
    plugin = machine.build.compile_c(
        tmp_path / "plugin.so", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <string.h>
        int cuLaunchKernel(void);
        int cuCtxGetDevice(void);
        int ask(char *object);
        int ask(char *object)
        {
                Dl_info info;
                dladdr((void *)cuLaunchKernel, &info);
                strcpy(object, info.dli_fname);
                return cuCtxGetDevice();
        }
        """, "-shared", "-fPIC", driver)
    main = machine.build.compile_c(
        tmp_path / "main", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int argc, char **argv)
        {
                for (int deep = 0; deep < 2; deep++) {
                        char object[4096] = "";
                        void *h = dlopen(argv[1], RTLD_NOW | (deep ? RTLD_DEEPBIND : 0));
                        int (*ask)(char *) = (int (*)(char *))dlsym(h, "ask");
                        printf("%d ", ask(object));
                        printf("%s\\n", object);
                        dlclose(h);
                }
                return 0;
        }
        """)
    number = machine.probe(["open libcuda.so.1", "call cuCtxGetDevice"], us=False)[1]
    done = machine.run([main, plugin], preload=[machine.build.library])
    assert done.stdout == f"{number} {machine.build.library}\n" * 2, done


def test_calls_before_any_constructor_of_ours(machine, tmp_path):
    """A dependency's constructor opens the driver and calls it before our own would have run."""
    machine.install("cuda-same")
    early = machine.build.compile_c(
        tmp_path / "libearly.so", """
        #include <dlfcn.h>
        int early_linked, early_opened;
        int cuCtxGetDevice(void);
        #pragma weak cuCtxGetDevice
        __attribute__((constructor)) static void start(void)
        {
                void *h = dlopen("libcuda.so.1", RTLD_NOW);
                early_opened = ((int (*)(void))dlsym(h, "cuCtxGetDevice"))();
                early_linked = cuCtxGetDevice();
        }
        """, "-shared", "-fPIC")
    main = machine.build.compile_c(
        tmp_path / "main", "#include <stdio.h>\nextern int early_linked, early_opened;"
        "int main(void) { printf(\"%d %d\\n\", early_opened, early_linked); return 0; }",
        early, f"-Wl,-rpath,{tmp_path}")
    number = machine.probe(["open libcuda.so.1", "call cuCtxGetDevice"], us=False)[1]
    done = machine.run([main], preload=[machine.build.library])
    assert done.stdout == f"{number} {number}\n", done


def test_a_driver_whose_constructor_looks_for_itself(machine, tmp_path):
    """The driver's own constructor calls dlopen and its own exports while we are opening it."""
    machine.build.compile_c(
        machine.drivers / "libcuda.so.1", """
        #include <dlfcn.h>
        int cuCtxGetDevice(void);
        static int seen;
        int cuCtxGetDevice(void) { return seen; }
        __attribute__((constructor)) static void start(void)
        {
                void *h = dlopen("libcuda.so.1", RTLD_NOW);
                seen = h && dlsym(h, "cuCtxGetDevice") ? 5 : 6;
                if (cuCtxGetDevice() != seen) seen = 7;
        }
        """, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic")
    assert machine.probe(["open libcuda.so.1", "call cuCtxGetDevice"])[1] == "5"


def test_the_driver_gets_the_real_neighbour(machine):
    """What the real libraries open is theirs: neither our view nor our limits are for them."""
    machine.build.compile_c(
        machine.drivers / "libcuda.so.1", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <string.h>
        int cuCtxGetDevice(void);
        int cuCtxGetDevice(void)
        {
                void *h = dlopen("libnvidia-ml.so.1", RTLD_NOW);
                void *f = h ? dlsym(h, "nvmlErrorString") : 0;
                Dl_info info;
                return f && dladdr(f, &info) && strstr(info.dli_fname, "driver/libnvidia-ml") ? 5 : 6;
        }
        """, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    machine.install("nvml", "libnvidia-ml.so.1")
    assert machine.probe(["open libcuda.so.1", "call cuCtxGetDevice"])[1] == "5"


def test_nvml_calls_itself_not_us(machine):
    """The real NVML reaches its own exports by name, through the loader: they must stay its own."""
    machine.build.compile_c(
        machine.drivers / "libnvidia-ml.so.1", """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <string.h>
        const char *nvmlErrorString(int code);
        const char *nvmlErrorString(int code) { return "real"; }
        int nvmlUnitGetCount(void);
        int nvmlUnitGetCount(void)
        {
                Dl_info info;
                return dladdr((void *)nvmlErrorString, &info) && strstr(info.dli_fname, "driver/") ? 5 : 6;
        }
        """, "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1")
    assert machine.probe(["open libnvidia-ml.so.1", "call nvmlUnitGetCount"])[1] == "5"


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
                              capture_output=True, text=True, timeout=60, check=True)
        exported = {line.split()[-1] for line in done.stdout.splitlines()}
        assert exported >= set(own)
        assert not exported & set(other)
        assert not exported & {"dlopen", "dlmopen", "dlsym", "dlvsym"}
        assert all(name in own or name.startswith("aliquot_") for name in exported)


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
    ("toyA 1 grasp why not", "expected one of pass, gate, hook, refuse"),
    ("toyA 1 hook no prototype", "needs a prototype"),
    ("toyA one pass", "invalid literal"),
    ("toyA 1", "not enough values"),
    ("toyB 1 pass\ntoyA 1 pass", "unsorted or repeated"),
    ("toyA 1 pass\ntoyA 1 pass", "unsorted or repeated"),
])
def test_a_wrong_table_is_refused_with_its_line(tmp_path, line, complaint):
    (tmp_path / "toy.api").write_text("# a table\n" + line + "\n")
    (tmp_path / "toy.h").write_text("int toyOther(int);\n")
    done = subprocess.run([SOURCE / "tools/gen-api", tmp_path,
                           f"toy={tmp_path}/toy.api:{tmp_path}/toy.h"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert complaint in done.stderr and "toy.api:" in done.stderr, done


def test_a_hook_that_is_not_written_does_not_link(machine, tmp_path):
    """A `hook` line without its function fails the build, not the program."""
    (tmp_path / "abi").mkdir()
    (tmp_path / "shim").mkdir()
    (tmp_path / "abi/toy.h").write_text("int toyA(int);\n")
    (tmp_path / "toy.api").write_text("toyA 1 hook to be missed\n")
    subprocess.run([SOURCE / "tools/gen-api", tmp_path / "shim",
                    f"toy={tmp_path}/toy.api:{tmp_path}/abi/toy.h"], timeout=60, check=True)
    machine_name = os.uname().machine
    done = subprocess.run(["cc", "-shared", "-fPIC", f"-I{tmp_path}", f"-I{SOURCE}/src",
                           f'-DTHUNK_MACROS="interpose/{machine_name}_thunks.inc"', "-Wl,-z,defs",
                           "-o", tmp_path / "x.so", tmp_path / "shim/thunks.S",
                           tmp_path / "shim/entries.c"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "hook_toyA" in done.stderr


def test_loads_on_older_c_libraries(build):
    """It is copied into containers: no symbol newer than glibc 2.27, or a preload is refused there
    and the limit is not there either. What is needed beyond is in src/shim/oldlibc.c."""
    for library in (build.library, build.shims / "libcuda.so.1", build.shims / "libnvidia-ml.so.1"):
        done = subprocess.run(["objdump", "-T", library], capture_output=True, text=True, timeout=60,
                              check=True)
        newer = {(version, line.split()[-1]) for line in done.stdout.splitlines()
                 for version in re.findall(r"GLIBC_2\.(\d+)", line) if int(version) > 27}
        assert not newer, library
        needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, timeout=60,
                                check=True).stdout
        assert re.findall(r"NEEDED.*\[(.*)\]", needed) in (["libc.so.6"], ["libc.so.6", "ld-linux-x86-64.so.2"])


# --- B6: programs that never touch a GPU ------------------------------------------------------

def test_a_program_without_gpu_notices_nothing(machine):
    """Preloaded into everything (as by /etc/ld.so.preload): no file is opened, no thread made, no
    signal touched, no byte written, beyond loading the library itself."""
    if not shutil.which("strace"):
        pytest.skip("strace is not here")
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
int main(void)
{
        void *h = dlopen("libcuda.so.1", RTLD_NOW);
        __typeof__(&cuInit) init = dlsym(h, "cuInit");
        __typeof__(&cuDevicePrimaryCtxRetain) retain = dlsym(h, "cuDevicePrimaryCtxRetain");
        __typeof__(&cuCtxSetCurrent) current = dlsym(h, "cuCtxSetCurrent");
        __typeof__(&cuMemAlloc_v2) alloc = dlsym(h, "cuMemAlloc_v2");
        __typeof__(&cuMemsetD2D8_v2) fill = dlsym(h, "cuMemsetD2D8_v2");
        struct timespec pause = { .tv_nsec = 5000000 };
        CUcontext context;
        CUdeviceptr p;

        if (init(0) || retain(&context, 0) || current(context) || alloc(&p, 4096))
                return 1;
        for (int i = 0; i < 2000; i++) {
                if (fill(p, 64, 1, 64, 2))
                        return 2;
                printf("%d\\n", i);
                fflush(stdout);
                nanosleep(&pause, 0);
        }
        return 0;
}
"""


def test_a_shut_gate_of_the_session_holds_its_work(sim, start, compile_c, tmp_path):
    """Writing the gate of the session's `limits` stops the work of its processes, and clearing it
    lets them go on, even if nobody wakes them."""
    where = compile_c("where", "#include <stdio.h>\n#include \"proto/page.h\"\nint main(void)"
                      "{ printf(\"%zu\", offsetof(struct limits_page, gate)); return 0; }")
    offset = int(subprocess.run([where], capture_output=True, text=True, timeout=60, check=True).stdout)
    process = start([compile_c("fills", FILLS)], preload=True, ALIQUOT_MEMORY="256MiB")
    lines = process.stdout.fileno()

    def arrives(seconds):
        """Whether a line comes within the time; all that has come is taken."""
        return bool(select.select([lines], [], [], seconds)[0]) and len(os.read(lines, 65536)) > 0

    assert arrives(30)
    limits, = sim.runtime.rglob("limits")
    with open(limits, "r+b", buffering=0) as page:
        page.seek(offset)
        page.write(b"\1")
        time.sleep(0.2)
        while arrives(0):
            pass
        assert not arrives(0.3)
        assert process.poll() is None
        page.seek(offset)
        page.write(b"\0")
        assert arrives(30)
