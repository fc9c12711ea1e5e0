# SPDX-License-Identifier: Apache-2.0
"""Doors: whatever way a program takes to a driver function, it gets what it would have got without
us, but for the functions that we stand before, which are ours. Fake drivers play the driver.
"""
import collections
import os
import pathlib
import random
import re
import shutil

import pytest

from build import SOURCE
from machine import CUDA, NVML, OURS, VERSIONS, expect_as_without_us, is_ours, lookups

# What is told apart here is who stands where among loaded objects; the unit tests run sanitized.
if "ALIQUOT_SANITIZER" in os.environ:
    pytest.skip("a sanitizer puts its own dlopen before ours: none of these means anything",
                allow_module_level=True)


# --- C1: by name and version ------------------------------------------------------------------

@pytest.mark.parametrize("fake", ["cuda-same", "cuda-old", "cuda-new", "cuda-strict"])
def test_lookup_by_version_answers_the_same_abi_as_the_driver(machine, fake):
    """C1: every name, version, flag and both ABIs; twice, in different orders, since answers are
    remembered."""
    machine.install(fake)
    asked = lookups()
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
    asked = [r for r in lookups() if r.split()[2] in ranked]
    answers = machine.probe(["open libcuda.so.1"] + asked)[1:]
    ours = 0
    for command, answer in zip(asked, answers):
        _, _, name, version, flags = command.split()
        fits = [r for r in ranked[name] if r[0] <= int(version) and (not r[1] or int(flags) & 2)]
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


def test_the_table_has_every_name_that_a_driver_exports():
    """Those of drivers 535 to 595 and of CUDA 13.5, and every prototype of our own headers."""
    lines = (SOURCE / "src/sim/cuda.names").read_text().splitlines()
    names = {line.split()[0] for line in lines if line[:1] != "#"}
    assert len(names) >= 736 and names <= set(CUDA)
    for api, table, prefix in (("cuda", CUDA, "cu"), ("nvml", NVML, "nvml")):
        text = (SOURCE / "src/abi" / f"{api}.h").read_text()
        declared = set(re.findall(rf"\b({prefix}[A-Z]\w*)\(", text))
        assert len(declared) > 300 and declared <= set(table)


def test_an_abi_newer_than_the_table_is_passed_on(machine):
    """A newer driver gives cuMemAlloc a form that we do not know: the program gets the driver's, as
    a function of ours would take its arguments for something else."""
    machine.install("cuda-new")
    answers = machine.probe(["open libcuda.so.1", "proc 2 cuMemAlloc 12000 0",
                             "proc 2 cuMemAlloc 13070 0", "proc 2 cuMemAlloc 13060 0",
                             "proc 2 cuFresh 13060 0", "proc 2 cuMemAlloc 13070 0"])[1:]
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


def test_the_driver_under_another_name_is_ours(machine):
    """By path: a link whatever it is called, and a copy whose name still says what it is."""
    machine.install("cuda-same", "libcuda.so.580.65.06")
    machine.install("cuda-same", "libcuda.so.580.65.06.bak")
    machine.install("cuda-same")
    machine.install("nvml", "libnvidia-ml.so.1")
    (machine.drivers / "link.so").symlink_to("libcuda.so.580.65.06")
    (machine.drivers / "links.so").symlink_to("link.so")
    (machine.drivers / "ml.so").symlink_to(machine.drivers / "libnvidia-ml.so.1")
    for name in ("link.so", "links.so", "ml.so", "libcuda.so.580.65.06.bak"):
        path = machine.drivers / name
        assert machine.probe([f"open {path}"]) == [OURS], name
        assert machine.probe([f"newns {path}"]) == [OURS], name
        assert machine.probe([f"open {path}"], us=False) == [name]


def test_names_that_only_look_like_the_drivers(machine):
    """A path is read before it is taken for the driver's; what cannot be opened fails as ever."""
    machine.install("cuda-same")
    other = machine.build.compile_c(machine.drivers / "libcuda.so.fake", "int cuCtxGetDevice;",
                                    "-shared", "-fPIC", "-Wl,-soname,libother.so.1")
    (machine.drivers / "libcuda.so.text").write_text("not a library")
    (machine.drivers / "dangling.so").symlink_to("nowhere")
    (machine.drivers / "loop.so").symlink_to("loop.so")
    for path in (other, *(machine.drivers / name for name in ("libcuda.so.text", "dangling.so", "loop.so",
                                                             "nothing.so", "libcuda.so.nothing"))):
        assert machine.probe([f"open {path}"]) == machine.probe([f"open {path}"], us=False), path


def test_a_program_under_thread_sanitizer_starts(machine, tmp_path):
    """Its runtime asks dlsym(), our door, before its own replacements of the C library work."""
    try:
        program = machine.build.compile_c(tmp_path / "program", "int main(void) { return 7; }",
                                          "-fsanitize=thread")
    except AssertionError as error:
        pytest.skip(f"no libtsan: {str(error)[-200:]}")
    if machine.run([program]).returncode != 7:
        pytest.skip("not even without Aliquot")
    done = machine.run([program], preload=[machine.build.library])
    assert done.returncode == 7, done


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


def test_dlmopen_of_a_driver_with_static_thread_local_storage(machine):
    """The loader has room for one more, not for two: it is opened in the new namespace alone."""
    machine.build.compile_c(
        machine.drivers / "libcuda.so.1",
        "static __thread volatile char room[1056] __attribute__((tls_model(\"initial-exec\")));"
        "int cuCtxGetDevice(void); int cuCtxGetDevice(void) { return 41 + ++room[7]; }",
        "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    commands = ["newns libcuda.so.1", "call cuCtxGetDevice", "call cuCtxGetDevice"]
    alone = machine.probe(commands, us=False)
    assert alone == ["libcuda.so.1", "42", "43"]
    assert machine.probe(commands) == [OURS, *alone[1:]]


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
