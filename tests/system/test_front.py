# SPDX-License-Identifier: Apache-2.0
"""The front door: what the tools of the Makefile promise to someone who has just cloned this."""
import json
import os
import re
import shutil
import subprocess
import time

import pytest

import node
from daemon import wait_for
from hang import HANG_SECONDS


@pytest.fixture
def tool(build):
    """Runs a script of tools/ and gives (exit status, everything it printed)."""
    def tool_run(name, *arguments, **variables):
        env = {**os.environ, **{key: str(value) for key, value in variables.items()}}
        done = subprocess.run([build.source / "tools" / name, *map(str, arguments)], env=env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, timeout=HANG_SECONDS, check=False)
        return done.returncode, done.stdout
    return tool_run


@pytest.fixture
def tree(tmp_path):
    """A source tree of the given files."""
    def tree_make(**files):
        for name, text in files.items():
            path = tmp_path / "src" / name.replace("__", "/").replace("_h", ".h").replace("_c", ".c")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path
    return tree_make


@pytest.mark.parametrize("file, include", [
    ("common__low_c", '"proto/page.h"'),
    ("core__pure_c", '"store/store.h"'),
    ("core__pure_c", "<unistd.h>"),
    ("shim__cuda__hook_c", '"shim/nvml/front.h"'),
    ("shim__cuda__stream__capture_c", '"shim/cuda/charge/reserve.h"'),
    ("shim__cuda__graph__graph_c", '"shim/cuda/memory/pool.h"'),
    ("interpose__door_c", '"shim/charge.h"'),
    ("sim__device_c", '"proto/page.h"'),
    ("addpath__list_c", '"common/error.h"'),
    ("cli__main_c", '"main.h"'),
    ("cli__complete_c", '"cli/top/model.h"'),
    ("shim__charge_c", '"shim/time/time.h"'),
])
def test_an_arrow_that_points_up_is_refused(tool, tree, file, include):
    status, output = tool("check-layers", tree(**{file: f"#include {include}\n"}))
    assert status == 1 and include.strip('"<>') in output


def test_arrows_that_point_down_are_fine(tool, tree):
    root = tree(shim__cuda__hook_c='#include "shim/charge.h"\n#include "abi/cuda.h"\n',
                core__pure_c='#include "proto/page.h"\n#include <stdint.h>\n',
                core__pure_h="#include <stdbool.h>\n")
    assert tool("check-layers", root)[0] == 0


@pytest.mark.parametrize("text, said", [
    ("        atomic_store(&x, 1);\n", "atomic_store"),
    ("        __atomic_load_n(&x, __ATOMIC_RELAXED);\n", "__atomic_load_n"),
    ("static _Atomic int x = 1;\n\nint f(void)\n{\n        return x;\n}\n", ":5: an _Atomic variable without"),
])
def test_an_atomic_operation_that_has_no_name_of_ours_is_refused(tool, tree, text, said):
    status, output = tool("check-idioms", tree(core__one_c=text))
    assert status == 1 and said in output


def test_atomic_operations_that_have_names_of_ours_are_fine(tool, tree):
    root = tree(core__one_c="static _Atomic int x;\n/* x */\nint f(void)\n{\n        return load_relaxed(&x);\n}\n")
    assert tool("check-idioms", root)[0] == 0


def test_a_struct_name_that_another_one_has_is_refused(tool, tree):
    root = tree(core__one_c="struct rank {\n};\n", cli__two_c="struct rank {\n};\nstruct rank_text {\n};\n")
    status, output = tool("check-words", root)
    assert status == 1 and output == "struct rank is there 2 times: give each a longer name\n"


@pytest.mark.parametrize("text", ["struct lane {\n};\n", "static int lane_begin(void)\n{\n}\n"])
def test_a_retired_word_in_a_name_is_refused(tool, tree, text):
    status, output = tool("check-words", tree(core__one_c=text))
    assert status == 1 and "'lane' is a retired word" in output


def test_a_macro_that_returns_is_refused(tool, tree):
    text = "#define TRY(call) \\\n        if (call) \\\n                return 1\n"
    status, output = tool("check-macros", tree(shim__one_c=text, sim__two_c=text))
    assert status == 1 and output.splitlines() == [
        f"src/{file}: TRY hides a return: make it a function, or a row of a table" for file in ("shim/one.c", "sim/two.c")]


def test_a_macro_that_only_computes_is_fine(tool, tree):
    assert tool("check-macros", tree(shim__one_c="#define TWICE(a) ((a) + (a))\nint f(void)\n{\n        return TWICE(1);\n}\n"))[0] == 0


@pytest.mark.parametrize("parameters", [
    "int a, int b, int c, int d, int e",
    "struct page *page, int a, int b, int c, int d, int e",
    "int a, int b,\n          int c, int d, int e, struct error *err",
])
def test_a_function_of_more_than_four_parameters_is_refused(tool, tree, parameters):
    status, output = tool("check-parameters", tree(core__one_c=f"static int f({parameters})\n{{\n        return 0;\n}}\n"))
    assert status == 1 and output == "src/core/one.c:1: f() has 5 parameters, at most 4: make a struct of them\n"


@pytest.mark.parametrize("function", [
    "f(int a, int b, int c, int d)",
    "f(struct page *page, int a, int b, int c, int d, struct error *err)",
    "f(struct page *page, int a, int b, int (*each)(int a, int b, void *context), void *context)",
    "f(struct page *page, int a, int b, int c, const char *format, ...)",
    "hook_cuMemsetD2D8_v2(CUdeviceptr at, size_t pitch, int b, size_t width, size_t height, int more)",
])
def test_what_a_function_is_about_and_where_it_says_why_are_not_counted(tool, tree, function):
    assert tool("check-parameters", tree(core__one_c=f"int {function}\n{{\n        return 0;\n}}\n"))[0] == 0


LICENCE = "/* SPDX-License-Identifier: Apache-2.0 */\n"


@pytest.mark.parametrize("text, said", [
    ("int x;\n", "does not begin with its licence"),
    (LICENCE + "int x;\n", "has no contract, and no header of its own"),
    (LICENCE + "/*\n * See two.h: what it does.\n */\nint x;\n", "only sends to another file"),
])
def test_a_file_without_a_contract_is_refused(tool, tree, text, said):
    status, output = tool("check-contracts", tree(core__one_c=text))
    assert status == 1 and output.startswith(f"src/core/one.c: {said}")


def test_a_contract_may_stand_in_the_header_of_a_file(tool, tree):
    contract = "/*\n * See other.h.\n *\n * What it does.\n */\n"
    root = tree(core__one_c=LICENCE + "int x;\n", core__one_h=LICENCE + contract, core__two_c=LICENCE + contract)
    assert tool("check-contracts", root)[0] == 0


@pytest.fixture
def log(tmp_path):
    """A Meson test log of (name, result, what the test printed)."""
    def log_make(*entries):
        path = tmp_path / "build" / "meson-logs" / "testlog.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"name": name, "result": result, "stdout": text} for name, result, text in entries]
        path.write_text("\n".join(map(json.dumps, rows)))
        return path
    return log_make


def test_the_sum_counts_stories_and_says_why_some_were_skipped(tool, log):
    status, output = tool("tally", log(
        ("a", "OK", "SKIPPED [1] test_a.py:3: no GPU here\n4 passed, 1 skipped in 0.1s\n"),
        ("b", "OK", "[==========] 2 test(s) run.\n[  PASSED  ] 2 test(s).\n"),
        ("c", "OK", ""),
        ("d", "SKIP", "no nvml.h found\n")))
    assert status == 0
    assert "no GPU here" in output and "no nvml.h found" in output
    assert output.splitlines()[-1] == "7 passed, 0 failed, 2 skipped"


@pytest.mark.parametrize("result, text, last", [
    ("FAIL", "1 failed, 4 passed in 0.1s\n", "4 passed, 1 failed"),
    ("TIMEOUT", "", "0 passed, 1 failed"),
    ("ERROR", "[  PASSED  ] 2 test(s).\n", "2 passed, 1 failed"),
])
def test_a_failed_test_fails_the_sum(tool, log, result, text, last):
    status, output = tool("tally", log(("a", result, text)))
    assert status == 1 and output.splitlines()[-1] == last


PYTEST_FAILURE = """\
=================================== FAILURES ===================================
_________________________________ test_the_rule _________________________________

    def test_the_rule(sim):
>       assert sim.run("x").rc == 0, "what it said"
E       AssertionError: what it said
E       assert 1 == 0

tests/system/test_a.py:9: AssertionError
----------------------------- Captured stdout call -----------------------------
noise of the program
1 failed, 4 passed in 0.1s
"""
CMOCKA_FAILURE = """\
[ RUN      ] test_a_rule
[  ERROR   ] --- 0x1 != 0x2
[   LINE   ] --- ../tests/unit/a.c:7: error: Failure!
[  FAILED  ] test_a_rule
[ RUN      ] test_another
[       OK ] test_another
[  PASSED  ] 1 test(s).
[  FAILED  ] 1 test(s), listed below:
"""


@pytest.mark.parametrize("text, said, unsaid", [
    (PYTEST_FAILURE, ["E       AssertionError: what it said", "tests/system/test_a.py:9: AssertionError"], "noise"),
    (CMOCKA_FAILURE, ["0x1 != 0x2", "tests/unit/a.c:7"], "test_another"),
    ("first\n" * 50 + "Segmentation fault\n", ["Segmentation fault"], "first\n" * 20),
], ids=["pytest", "cmocka", "neither"])
def test_the_sum_shows_what_the_failed_story_says(tool, log, text, said, unsaid):
    """So that the end of a log is enough to see what failed."""
    _, output = tool("tally", log(("a", "FAIL", text)))
    head, *lines, _ = output.splitlines()
    assert head == "failed  build: a (fail)" and 0 < len(lines) <= 15, output
    assert all(any(one in line for line in lines) for one in said) and unsaid not in output, output


@pytest.fixture
def project(tmp_path):
    """A Meson project of shell scripts: project(name=script)."""
    def project_make(**scripts):
        for name, script in scripts.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        tests = "".join(f"test('{name}', find_program('./{name}'))\n" for name in scripts)
        (tmp_path / "meson.build").write_text("project('p')\n" + tests)
        subprocess.run(["meson", "setup", "build"], cwd=tmp_path, check=True, capture_output=True, timeout=HANG_SECONDS)
        return tmp_path / "build"
    return project_make


ONCE = "[ -e ../been ] || { touch ../been; echo 'too slow for it'; exit 1; }"


def test_a_test_that_passes_on_its_second_try_is_listed_as_flaky(tool, project):
    """It fails nothing, and is seen. Names may have spaces."""
    folder = project(**{"once more": ONCE, "once": "exit 0", "more": "exit 0"})
    assert tool("run-tests", folder)[0] == 0
    status, output = tool("tally", folder / "meson-logs/testlog.json")
    assert status == 0
    assert output.splitlines() == ["flaky  build: once more: too slow for it", "3 passed, 0 failed, 1 flaky"]
    assert tool("run-tests", folder)[0] == 0  # and nothing is left of it in the next run
    assert tool("tally", folder / "meson-logs/testlog.json")[1] == "3 passed, 0 failed\n"


def test_a_test_that_fails_twice_has_failed(tool, project):
    folder = project(once=ONCE, bad="echo no; exit 1")
    assert tool("run-tests", folder, "--logbase", "other")[0] != 0
    status, output = tool("tally", folder / "meson-logs/other.json")
    assert status == 1 and output.splitlines()[-1] == "1 passed, 1 failed, 1 flaky"
    assert "failed  build: bad (fail)\n        no\n" in output


def test_many_that_fail_are_not_tried_again(tool, project):
    """They are no accident, and time is short."""
    folder = project(**{f"bad{i}": "echo x >>../tries; exit 1" for i in range(11)})
    assert tool("run-tests", folder)[0] != 0
    assert (folder.parent / "tries").read_text() == "x\n" * 11


def test_the_parts_of_the_tests_are_all_of_them_each_once(tool, project, monkeypatch):
    folder = project(**{f"test {name}": f"echo {name} >>../ran" for name in "abcde"})
    for part, sums in (("1/2", "3 passed, 0 failed\n"), ("2/2", "2 passed, 0 failed\n")):
        monkeypatch.setenv("PART", part)
        assert tool("run-tests", folder)[0] == 0
        assert tool("tally", folder / "meson-logs/testlog.json")[1] == sums
    assert sorted((folder.parent / "ran").read_text().split()) == list("abcde")


def test_a_log_that_is_missing_fails_the_sum(tool, log, tmp_path):
    status, output = tool("tally", log(("a", "OK", "")), tmp_path / "build-asan/testlog.json")
    assert status == 1 and output.splitlines()[-1] == "1 passed, 1 failed"


@pytest.fixture
def checked(build, tmp_path):
    """A tree of its own for tools/check, with steps that do as they are told: gives the function that runs it there,
    and what ran so far."""
    root = tmp_path / "tree"
    (root / "build").mkdir(parents=True)
    (root / "tools").mkdir()
    (root / "source.c").write_text("one\n")
    for name in ("all-end", "check", "tree-state"):
        shutil.copy(build.source / "tools" / name, root / "tools")
    (root / "build-clang").mkdir()
    (root / "build-clang/build.ninja").write_text("")
    # The step lint runs tests of that suite.
    for name, word in (("check-cppcheck", "cppcheck"), ("run-tests", "lint"), ("check-tidy", "tidy"), ("ninja", "ninja")):
        script = root / "tools" / name
        script.write_text(f'#!/bin/sh\n[ "$1" != --version ] || exit 0\necho {word} >>build/ran\n. ./build/how-{word} || true\n')
        script.chmod(0o755)
        (root / f"build/how-{word}").write_text("")

    def run(*words, **variables):
        environment = {**os.environ, "PATH": f"{root / 'tools'}:{os.environ['PATH']}", **variables}
        done = subprocess.run(["tools/check", *words], cwd=root, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_SECONDS, check=False)
        ran = (root / "build/ran").read_text().split() if (root / "build/ran").exists() else []
        (root / "build/ran").write_text("")
        return done.returncode, done.stdout, ran
    run.root = root
    run.tell = lambda step, script: (root / f"build/how-{step}").write_text(script)
    run.rows = lambda: [line.split("\t") for line in (root / "build/check.tsv").read_text().splitlines()]
    return run


def test_a_step_that_passed_is_not_run_again_and_says_so(checked):
    assert sorted(checked("lint", "cppcheck")[2]) == ["cppcheck", "lint"]
    status, output, ran = checked("--resume", "lint", "cppcheck")
    assert (status, ran) == (0, []) and output.count("not run again") == 2, output
    assert [row[:2] for row in checked.rows()] == [["lint", "0"], ["cppcheck", "0"]]
    assert all("passed before" in row[2] for row in checked.rows())
    assert checked("lint")[2] == ["lint"]  # asked for without --resume, it runs


def test_a_step_that_is_left_out_says_so_and_is_not_run(checked):
    status, output, ran = checked("lint", "cppcheck", LEFT_OUT="asan lint")
    assert status == 0 and ran == ["cppcheck"], output
    assert checked.rows()[0] == ["lint", "77", "left out of this run; tools/check lint runs it"]


def test_a_step_is_run_again_when_it_failed_or_a_source_is_another(checked):
    checked.tell("cppcheck", "exit 3")
    assert checked("lint", "cppcheck")[0] == 1
    checked.tell("cppcheck", "")
    assert checked("--resume", "lint", "cppcheck")[2] == ["cppcheck"]
    source = checked.root / "source.c"
    for change in (lambda: source.write_text("two\n"), lambda: source.chmod(0o755),
                   lambda: source.rename(source.with_name("other.c"))):
        change()
        assert checked("--resume", "lint")[2] == ["lint"]


def test_a_step_that_passed_while_a_source_changed_is_run_again(checked):
    checked.tell("lint", "echo more >>source.c")
    assert checked("lint")[0] == 0
    checked.tell("lint", "")
    assert checked("--resume", "lint")[2] == ["lint"]


def test_a_step_that_hangs_ends_at_its_limit_and_the_next_one_runs(checked):
    checked.tell("lint", "sleep 100000")
    status, output, ran = checked("lint", "cppcheck", STEP_MINUTES="0.2")  # the other one takes a tenth of a second
    assert status == 1 and sorted(ran) == ["cppcheck", "lint"] and "stopped" in output, output
    assert [row[:2] for row in checked.rows()] == [["lint", "124"], ["cppcheck", "0"]]


@pytest.mark.parametrize("how", ["it ends", "it is told to end"])
def test_what_a_test_started_ends_with_it(build, tmp_path, how):
    """Also what left its session, ignores that it is told to end, and has another parent since."""
    started, left_behind = tmp_path / "started", tmp_path / "left-behind"
    left_behind.write_text(f"trap '' INT TERM; sleep 100000 & echo $$ $! >{started}; wait")
    test = f"setsid sh {left_behind} & sleep {1 if how == 'it ends' else 100000}"
    process = subprocess.Popen([build.source / "tools/all-end", "sh", "-c", test])
    wait_for(lambda: started.exists() and len(started.read_text().split()) == 2)
    if how == "it is told to end":
        process.terminate()
    assert process.wait(HANG_SECONDS) == (0 if how == "it ends" else 128 + 15)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in started.read_text().split())


def test_two_steps_run_at_a_time_and_what_they_say_is_not_mixed(checked):
    """Each waits for the other one to begin."""
    for step, other in (("lint", "cppcheck"), ("cppcheck", "lint")):
        checked.tell(step, f"until grep -q {other} build/ran; do sleep 0.1; done; echo {step} one; sleep 0.3; echo {step} two")
    status, output, _ = checked("lint", "cppcheck")
    assert status == 0 and "lint one\nlint two\n== lint: exit 0" in output and "cppcheck one\ncppcheck two\n== cppcheck: exit 0" in output


def test_a_step_does_not_run_beside_the_one_whose_folder_it_uses(checked):
    """tidy after clang, whose build is a script here."""
    checked.tell("ninja", "sleep 1; echo built >>build/ran")
    ran = checked("clang", "tidy")[2]
    assert ran[-1] == "tidy" and ran.count("built") == ran.count("ninja") > 1, ran


def test_steps_that_never_ran_fail_the_sum(checked, tool):
    """The check itself died in the middle of them."""
    checked.tell("cppcheck", "sleep 60")
    up = "pid=$$; for above in step all-end timeout check; do pid=$(ps -o ppid= -p $pid); done"
    checked.tell("lint", f"{up}; kill -9 $pid")
    checked("lint", "cppcheck")
    assert [row[:2] for row in checked.rows()] == [["lint", "not run"], ["cppcheck", "not run"]]
    status, output = tool("tally", checked.root / "build/check.tsv")
    assert status == 1 and output.splitlines()[-1] == "0 passed, 2 failed"


def test_the_sum_shows_what_a_failed_step_said_last(checked, tool):
    """Of the mutants it is the only place that names those that were missed."""
    checked.tell("cppcheck", "seq 100; echo it was this one; exit 1")
    checked("lint", "cppcheck")
    status, output = tool("tally", checked.root / "build/check.tsv")
    assert status == 1 and "it was this one" in output and " 50\n" not in output, output


def test_a_step_that_is_none_is_refused(checked):
    status, output, ran = checked("lint", "frobnicate")
    assert status == 2 and "frobnicate" in output and "asan" in output and ran == []


@pytest.fixture
def whole(build, tmp_path):
    """A tree of its own for .ci/run, whose `make test` and `make check` are scripts: gives the function that starts it."""
    root = tmp_path / "whole"
    for folder in (".ci", "tools", "build/meson-logs"):
        (root / folder).mkdir(parents=True)
    shutil.copy(build.source / ".ci/run", root / ".ci")
    shutil.copy(build.source / "tools/tally", root / "tools")
    started = []

    def start(test, check, **variables):
        (root / "Makefile").write_text(f"test:\n\t@{test}\ncheck:\n\t@{check}\n")
        started.append(subprocess.Popen([".ci/run"], cwd=root, env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        return started[-1]
    start.root = root
    yield start
    for process in started:
        process.kill()
        process.communicate()


def last_line(process):
    output, _ = process.communicate(timeout=HANG_SECONDS)
    return process.returncode, output.splitlines()[-1]


def test_the_whole_ends_with_the_sum_when_a_half_dies_or_hangs(whole):
    assert last_line(whole("kill -9 $$$$", "exit 1")) == (1, "0 passed, 3 failed")
    assert last_line(whole("sleep 100000", "sleep 100000", HALF_MINUTES="0.02")) == (1, "0 passed, 3 failed")


GROUPS = ["long", "asan", "tsan fuzz", "aarch64 mutants"]


@pytest.mark.parametrize("step_hours, runs", [(1, 17), (24, 17)])
def test_runs_of_the_whole_have_each_group_of_steps_and_each_part_by_turns(whole, monkeypatch, step_hours, runs):
    """Each leaves out all groups but one; also where it runs at the same hour of each day."""
    for name in ("LEFT_OUT", "CHECK_PART", "MUTANTS"):
        monkeypatch.delenv(name, raising=False)
    seen = set()
    for run in range(runs):
        last_line(whole("true", "echo $$LEFT_OUT/$$CHECK_PART/$$MUTANTS >left", EPOCH_SECONDS=str(run * step_hours * 3600)))
        left, part, _, faults, _ = (whole.root / "left").read_text().split("/")
        (mine,) = [mine for mine in GROUPS if left == " ".join(group for group in GROUPS if group != mine)]
        seen.add((mine, faults if "mutants" in mine else part))
    assert seen == {(mine, str(part)) for mine in GROUPS for part in (range(1, 5) if "mutants" in mine else (1, 2))}


def test_the_whole_ends_with_the_sum_when_a_log_was_cut_off(whole):
    log = "build/meson-logs/testlog.json"
    assert last_line(whole(f"echo '{{' >{log}", "true"))[0] == 1
    assert re.fullmatch(r"\d+ passed, [1-9]\d* failed", last_line(whole(f"echo '{{' >{log}", "true"))[1])


def test_the_whole_ends_with_the_sum_when_it_is_told_to_end(whole):
    process = whole("touch began; sleep 100000", "true")
    wait_for((whole.root / "began").exists)
    process.terminate()
    assert last_line(process) == (1, "0 passed, 3 failed")


def test_what_stands_before_the_cut_of_a_log_counts(tool, log):
    path = log(("a", "OK", ""))
    path.write_text(path.read_text() + '\n{"name": "b", "resu')
    status, output = tool("tally", path)
    assert status == 1 and output.splitlines()[-1] == "1 passed, 1 failed" and "is cut off" in output, output


def test_nothing_run_is_not_a_success(tool, log):
    assert tool("tally", log())[0] == 1


def test_what_is_missing_is_listed_where_it_cannot_be_installed(tool, tmp_path):
    """No apt-get, no compiler: a PATH of the few programs that the script itself needs."""
    for name in ("sh", "id", "tr", "env", "sed", "head"):
        (tmp_path / name).symlink_to(shutil.which(name))
    status, output = tool("bootstrap", "build", PATH=tmp_path)
    assert status == 1
    assert "gcc" in output and "meson" in output and "apt-get install" in output


def test_what_is_there_is_not_installed_again(tool):
    assert tool("bootstrap", "build", "test") == (0, "")


@pytest.fixture
def small(build, tmp_path):
    """A folder with tools/build and a project of one line; runs tools/build in it."""
    def small_build(folder):
        return subprocess.run([folder / "tools/build"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=HANG_SECONDS, check=False)
    folder = tmp_path / "small"
    (folder / "tools").mkdir(parents=True)
    shutil.copy(build.source / "tools/build", folder / "tools")
    (folder / "meson.build").write_text("project('small')\n")
    return folder, small_build


def test_a_folder_with_a_space_is_refused_before_anything_is_built(small):
    folder, build_in = small
    for name in ("two words", "a:b"):
        folder = folder.rename(folder.parent / name)
        done = build_in(folder)
        assert done.returncode == 2 and "move or clone" in done.stderr and name in done.stderr, done
        assert not (folder / "build").exists()


def test_a_build_folder_of_a_renamed_source_folder_is_set_up_anew(small):
    folder, build_in = small
    assert build_in(folder).returncode == 0
    (folder / "build/dist").mkdir()
    folder = folder.rename(folder.parent / "renamed")
    done = build_in(folder)
    assert done.returncode == 0 and "anew" in done.stderr, done
    assert (folder / "build/dist").exists() and str(folder) in (folder / "build/meson-info/meson-info.json").read_text()
    assert "anew" not in build_in(folder).stderr


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="no setpriv to be another user by")
def test_make_install_without_permission_says_so_before_it_builds(build, tmp_path):
    place = tmp_path / "place"
    place.mkdir(mode=0o555)
    other = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run([*other, "make", "-f", build.source / "Makefile", "install", f"PREFIX={place}/new"], cwd="/",
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode == 2 and "use sudo, or PREFIX=" in done.stderr, done
    assert "bootstrap" not in done.stderr and "Traceback" not in done.stderr, done


def test_an_installed_tree_has_the_documented_places(build, tmp_path):
    done = subprocess.run(["meson", "install", "-C", build.folder, "--no-rebuild", "--quiet",
                           "--destdir", tmp_path], capture_output=True, text=True, timeout=HANG_SECONDS,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    installed = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    for wanted in ("lib/aliquot/libaliquot-path.so", "lib/aliquot/shims/libcuda.so",
                   "lib/aliquot/shims/libnvidia-ml.so", "share/man/man7/libaliquot-path.7"):
        assert any(name.endswith(wanted) for name in installed), (wanted, installed)


@pytest.fixture
def clone(build, tmp_path):
    """The root of the sources as whoever has just cloned them has it, to compile in."""
    for folder in ("src", "examples"):
        (tmp_path / folder).symlink_to(build.source / folder)
    return tmp_path


def compile_by(build, clone, command):
    """Runs `cc ...` as a page has it."""
    assert command.split()[0] == "cc", command
    done = subprocess.run([*build.compiler, *command.split()[1:]], cwd=clone, capture_output=True, text=True, timeout=HANG_SECONDS,
                          check=False)
    # The linker itself warns of what a sanitizer's own library calls.
    said = [line for line in (done.stdout + done.stderr).splitlines() if "san.so" not in line]
    assert (done.returncode, said) == (0, []), (command, done)


def test_make_help_lists_every_target(build):
    done = subprocess.run(["make", "-s", "-C", build.source, "help"], capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    targets, = re.findall(r"^\.PHONY: all (.*)$", (build.source / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"\bmake ([a-z-]+)", done.stdout)) == set(targets.split()), done.stdout


@pytest.mark.parametrize("name, words, says", [
    ("tenant", ["me", "work", 16, 2], "result right"),
    ("share", [0.2, 2000], "% of 0.2 s"),
])
def test_the_examples_compile_and_run_as_the_pages_say(build, sim, clone, name, words, says):
    """Each of examples/, by every command for it in the README and the manual of the simulator."""
    pages = "".join((build.source / page).read_text() for page in ("README.md", "docs/simulator.md"))
    commands = re.findall(rf"`(cc [^`]*examples/{name}\.c[^`]*)`|^(cc .*examples/{name}\.c.*)$", pages, re.MULTILINE)
    assert commands, pages
    for command in map("".join, commands):
        compile_by(build, clone, command)
        result = sim.aliquot("run", f"--sim={sim.spec}", "--memory", "64MiB", "--", clone / name, *words)
        (clone / name).unlink()
        assert result.rc == 0 and says in result.stdout, result


@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="the linker warns of functions in the sanitizer's runtime")
def test_a_program_links_to_the_simulator_as_its_page_says(build, sim, clone):
    """With the flags of docs/simulator.md, where PREFIX is what was installed."""
    flags, = re.findall(r"`(-L PREFIX/lib/aliquot/sim [^`]*)`", (build.source / "docs/simulator.md").read_text())
    place = clone / "prefix/lib/aliquot"
    place.mkdir(parents=True)
    (place / "sim").symlink_to(build.driver)
    (clone / "count.c").write_text('#include "abi/cuda.h"\n#include <stdio.h>\n\nint main(void)\n{\n        int count = 0;\n\n'
                                   '        return cuInit(0) || cuDeviceGetCount(&count) || printf("%d\\n", count) < 0;\n}\n')
    compile_by(build, clone, f"cc -I src -o count count.c {flags.replace('PREFIX', 'prefix')}")
    sim.configure(gpus=3)
    result = sim.aliquot("run", f"--sim={sim.spec}", "--memory", "64MiB", "--", clone / "count")
    assert (result.rc, result.stdout) == (0, "3\n"), result


def test_folders_of_killed_runs_are_dropped(tmp_path, monkeypatch):
    """But no folder that somebody still holds or may just have made, and none that is not ours."""
    monkeypatch.setattr(node, "SHM", tmp_path)
    long_ago = time.time() - node.LEFTOVER_SECONDS - 1
    for name in ("aliquot-test-held", "aliquot-test-left", "aliquot-test-young", "other"):
        (tmp_path / name / "run").mkdir(parents=True)
        if not name.endswith("young"):
            os.utime(tmp_path / name, (long_ago, long_ago))
    held = node.lock_folder(tmp_path / "aliquot-test-held")
    node.drop_leftovers()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["aliquot-test-held", "aliquot-test-young", "other"]
    os.close(held)
    node.drop_leftovers()
    assert not (tmp_path / "aliquot-test-held").exists()
