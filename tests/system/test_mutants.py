# SPDX-License-Identifier: Apache-2.0
"""Faults put in on purpose: each is a file that still applies, and tools/mutants tells which a test catches."""
import collections
import os
import shutil
import subprocess

import pytest

from build import SOURCE

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git, which applies the faults, is missing")

TOOL = SOURCE / "tools/mutants"
HEAD = "breaks: a promise\nred: {red}\n"
DIFF = """--- a/src/answer.c
+++ b/src/answer.c
@@ -1,4 +1,4 @@
 int main(void)
 {
-        return 42 - 42;
+        {line}
 }
"""
FOLDERS = {"addpath", "cli", "common", "core", "daemon", "interpose", "load", "machine", "plot", "proto",
           "settings", "shim", "sim", "store"}


def mutants(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=600)


@pytest.fixture
def project(tmp_path):
    """A project of one program, which is its test as well."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "tests/unit").mkdir(parents=True)
    (root / "src/answer.c").write_text("int main(void)\n{\n        return 42 - 42;\n}\n")
    (root / "meson.build").write_text("project('one', 'c')\n"
                                      "test('answer', executable('answer', 'src/answer.c'), timeout: 1)\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def put(project, name, line="return 1;", red="answer", text=None):
    path = project / f"tests/mutants/{name}.patch"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or HEAD.format(red=red) + DIFF.replace("{line}", line))


def test_each_fault_of_this_tree_applies_and_names_its_tests():
    result = mutants("--check")
    assert result.returncode == 0, result.stderr
    counts = collections.Counter(path.parent.name for path in (SOURCE / "tests/mutants").rglob("*.patch"))
    assert FOLDERS <= {folder for folder, count in counts.items() if count >= 3}, counts


def test_the_parts_of_the_faults_are_all_of_them_each_once(project):
    for name in "abcdefg":
        put(project, f"core/{name}")
    parts = [mutants("--root", project, "--list", "--part", f"{k}/3").stdout for k in (1, 2, 3)]
    assert sorted("".join(parts).split(": a promise\n")) == ["", *(f"core/{name}" for name in "abcdefg")]
    for part in ("0/3", "4/3", "1/0", "one"):
        assert "--part is K/N" in mutants("--root", project, "--list", "--part", part).stderr


@pytest.mark.parametrize("fault, complaint", (
    ({"text": DIFF.replace("{line}", "return 1;")}, "begins with a line"),
    ({"text": HEAD.format(red="answer")}, "begins with a line"),
    ({"text": HEAD.format(red="answer") + DIFF.replace("src/", "tests/").replace("{line}", "return 1;")},
     "files of src/ only"),
    ({"text": HEAD.format(red="answer") + DIFF.replace("42", "41").replace("{line}", "return 1;")}, "does not apply"),
    ({"line": "\n+".join(12 * ["(void)0;"])}, "at most"),
    ({"red": "answer::a_story"}, "no story a_story"),
    ({"red": "tests/system/test_gone.py::test_a_story"}, "no file"),
))
def test_a_fault_that_is_not_well_formed_is_told(project, fault, complaint):
    put(project, "core/fault", **fault)
    result = mutants("--root", project, "--check")
    assert result.returncode == 1
    assert "core/fault" in result.stderr and complaint in result.stderr


def test_what_a_test_catches_is_told_from_what_it_does_not(project):
    put(project, "core/caught")
    put(project, "core/harmless", line="return 6 - 6;")
    put(project, "core/no-c", line="return;;x")
    put(project, "core/endless", line="for (;;);")
    put(project, "store/caught", line="return 2;")
    result = mutants("--root", project)
    told = dict(line.split(": ", 1) for line in result.stdout.splitlines() if ": " in line and line[0] != " ")
    assert result.returncode == 1, result
    assert told["core/caught"].startswith("caught") and told["store/caught"].startswith("caught")
    assert told["core/harmless"].startswith("MISSED: answer passes")
    assert told["core/no-c"].startswith("MISSED: ninja fails")
    assert told["core/endless"].startswith("MISSED: answer hangs")
    assert result.stdout.splitlines()[-1] == "5 mutants, 2 caught, 3 missed"


def test_what_one_fault_had_built_is_gone_with_it(project):
    """Whichever copy of the tree the next one meets, it is built of its own fault alone."""
    (project / "src/other.c").write_text("int other(void)\n{\n        return 42 - 42;\n}\n")
    (project / "meson.build").write_text("project('one', 'c')\n"
                                         "test('answer', executable('answer', 'src/answer.c', 'src/other.c'))\n")
    put(project, "core/caught")
    harmless = HEAD.format(red="answer") + DIFF.replace("answer.c", "other.c").replace("main", "other").replace("{line}", "return 6 - 6;")
    for number in range(2 * os.cpu_count()):
        put(project, f"store/harmless-{number}", text=harmless)
    result = mutants("--root", project)
    assert result.stdout.splitlines()[-1] == f"{2 * os.cpu_count() + 1} mutants, 1 caught, {2 * os.cpu_count()} missed", result


def test_a_fault_that_is_caught_the_second_time_is_listed_as_flaky(project, tmp_path):
    """What stays of the first run, with the fault, is what lets the second one fail."""
    put(project, "core/sometimes", line=f'int mkdir(); return mkdir("{tmp_path}/was-here", 0);')
    put(project, "core/caught")
    result = mutants("--root", project)
    assert result.returncode == 0, result
    assert "core/sometimes: caught, flaky: answer passes" in result.stdout.splitlines()[-3]
    assert result.stdout.splitlines()[-1] == "2 mutants, 2 caught (1 flaky), 0 missed"


def test_those_that_are_named_alone_are_tried(project):
    for name in "core/one", "core/two", "store/three":
        put(project, name)
    result = mutants("--root", project, "core/two", "store")
    assert result.returncode == 0, result
    assert result.stdout.splitlines()[-1] == "2 mutants, 2 caught, 0 missed"
    result = mutants("--root", project, "core/four")
    assert result.returncode == 1 and "no such fault: core/four" in result.stderr


def test_a_test_that_fails_without_a_fault_ends_it(project):
    with (project / "meson.build").open("a") as file:
        file.write("test('false', find_program('false'))\n")
    put(project, "core/fault", red="answer\nred: false")
    result = mutants("--root", project)
    assert result.returncode == 1 and "without a fault false" in result.stderr
