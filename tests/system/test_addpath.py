# SPDX-License-Identifier: Apache-2.0
"""libaliquot-path.so in real processes: the documented commands, nested shells, repeated exec."""
import os
import shutil
import subprocess

import pytest

from hang import HANG_SECONDS

PATH = "/usr/local/bin:/usr/bin:/bin"
DOCUMENTED = {"PATH": PATH, "LD_LIBRARY_PATH": "/usr/lib64:/lib64"}


@pytest.fixture
def shell(run, build):
    """Runs a shell line with the library preloaded, and gives the variables it printed."""
    def shell_run(line, **variables):
        result = run(["sh", "-c", line], preload=build.path_library, **{**DOCUMENTED, **variables})
        assert result.rc == 0 and result.stderr == "", result
        return dict(row.split("=", 1) for row in result.stdout.splitlines())
    return shell_run


@pytest.fixture
def preloaded(sim, build):
    """LD_PRELOAD as these tests start it: the library (behind a sanitizer's, where there is one)."""
    return sim.env(preload=build.path_library)["LD_PRELOAD"]


# The commands of vgpu.rs's own document, word for word; only the library's path is another.

def test_document_adds_a_path_to_path(shell):
    seen = shell("TF_PATH=/usr/custom/bin env | grep PATH")
    assert seen["PATH"] == PATH + ":/usr/custom/bin"


def test_document_adds_a_path_to_ld_preload(shell, preloaded):
    seen = shell("TF_LD_PRELOAD=/path/to/custom.so env | grep LD_PRELOAD")
    assert seen["LD_PRELOAD"] == preloaded + ":/path/to/custom.so"


def test_document_adds_a_path_to_ld_library_path(shell):
    seen = shell("TF_LD_LIBRARY_PATH=/usr/local/cuda/lib64 env | grep LD_LIBRARY_PATH")
    assert seen["LD_LIBRARY_PATH"] == "/usr/lib64:/lib64:/usr/local/cuda/lib64"


def test_document_prepends_a_path_to_path(shell):
    seen = shell("TF_PREPEND_PATH=/opt/custom/bin env | grep PATH")
    assert seen["PATH"] == "/opt/custom/bin:" + PATH


# What the original gets wrong.

def test_nothing_grows_over_a_hundred_execs(shell, preloaded):
    """Lists of several entries, in all six variables, applied again by every exec."""
    again = """n=$((${n:-0} + 1)); export n; if [ $n -lt 100 ]; then exec sh -c "$again"; fi; exec env"""
    seen = shell('exec sh -c "$again"', again=again, TF_PATH="/t/a:/t/b", TF_PREPEND_PATH="/t/c:/t/d",
                 TF_LD_LIBRARY_PATH="/t/e:/t/f", TF_PREPEND_LD_LIBRARY_PATH="/t/g:/t/h")
    assert seen["n"] == "100"
    assert seen["PATH"] == f"/t/c:/t/d:{PATH}:/t/a:/t/b"
    assert seen["LD_LIBRARY_PATH"] == "/t/g:/t/h:/usr/lib64:/lib64:/t/e:/t/f"
    assert seen["LD_PRELOAD"] == preloaded


def test_nested_shells_see_the_lists_once(shell):
    seen = shell("sh -c 'sh -c \"sh -c env\"'", TF_PATH="/t/a:/t/b", TF_PREPEND_PATH="/t/c")
    assert seen["PATH"] == f"/t/c:{PATH}:/t/a:/t/b"


def test_an_entry_that_is_there_moves_to_the_front(shell):
    seen = shell("env", TF_PREPEND_PATH="/bin:/usr/bin")
    assert seen["PATH"] == "/bin:/usr/bin:/usr/local/bin"


def test_an_empty_list_gains_no_stray_colon(shell):
    seen = shell("env", LD_LIBRARY_PATH="", TF_LD_LIBRARY_PATH="/t/a")
    assert seen["LD_LIBRARY_PATH"] == "/t/a"


def test_an_unset_list_becomes_the_value(shell):
    seen = shell("env", LD_LIBRARY_PATH=None, TF_PREPEND_LD_LIBRARY_PATH="/t/a")
    assert seen["LD_LIBRARY_PATH"] == "/t/a"


def test_a_preload_list_may_be_separated_by_spaces(shell, compile_c, build, preloaded):
    other = compile_c("other.so", "int other;", "-shared", "-fPIC")
    seen = shell("sh -c env", LD_PRELOAD=f"{other} {preloaded}", TF_LD_PRELOAD=f"{other}",
                 TF_PREPEND_LD_PRELOAD=f"{build.path_library}" if ":" not in preloaded else None)
    expected = f"{other} {preloaded}" if ":" in preloaded else f"{build.path_library}:{other}"
    assert seen["LD_PRELOAD"] == expected


# What it must not do to the program it is loaded into.

def test_the_rest_of_the_environment_is_untouched(run, build):
    plain = run(["env"])
    loaded = run(["env"], preload=build.path_library)
    rows = [row for row in loaded.stdout.splitlines() if not row.startswith("LD_PRELOAD=")]
    assert rows == plain.stdout.splitlines()


def test_path_counts_at_once_for_the_program_itself(run, build, tmp_path):
    """timeout(1) finds its command in PATH by execvp: the entry added before main is searched."""
    tool = tmp_path / "only-here"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    result = run(["timeout", "20", "only-here"], preload=build.path_library, TF_PATH=tmp_path)
    assert result.stdout == "found\n", result


def test_a_list_too_long_to_be_passed_on_is_left_alone(run, build):
    """Two legal variables may add up to one that exec refuses; the child must still start."""
    long = ":".join(f"/t/{n:060d}" for n in range(1600))
    result = run(["sh", "-c", "exec sh -c 'echo $LD_LIBRARY_PATH'"], preload=build.path_library,
                 LD_LIBRARY_PATH=long, TF_LD_LIBRARY_PATH=long.replace("/t/", "/u/"))
    assert result.rc == 0 and result.stdout.strip() == long, result.stderr


@pytest.mark.needs("other users")
@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="the program itself is not sanitized")
def test_a_setuid_program_keeps_its_environment(build, public_folder):
    """Linked with the library, since the loader itself drops LD_PRELOAD for such a program."""
    library = shutil.copy(build.path_library, public_folder)
    text = '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv("PATH")); }'
    program = build.compile_c(public_folder / "tool", text, "-Wl,--no-as-needed", library,
                              f"-Wl,-rpath,{public_folder}")
    seen = {}
    for mode in (0o755, 0o4755):
        program.chmod(mode)
        done = subprocess.run([program], user=65534, group=65534, extra_groups=[],
                              env={"PATH": PATH, "TF_PREPEND_PATH": "/t/evil"},
                              capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
        seen[mode] = done.stdout.strip()
    assert seen == {0o755: f"/t/evil:{PATH}", 0o4755: PATH}
