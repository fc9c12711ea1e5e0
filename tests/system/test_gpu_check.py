# SPDX-License-Identifier: Apache-2.0
"""make gpu-check, before there is a card: its script is right, and whatever a story does is reported."""
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import types

import pytest

from daemon import HANG_SECONDS, wait_for

if os.environ.get("ALIQUOT_SANITIZER"):
    pytest.skip("the bundle is of a plain build: a sanitized library needs its runtime in front",
                allow_module_level=True)

LIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1"}
MANY_SECONDS = 1800
OF_A_DAEMON = ("compute-pairs", "compute-weights", "compute-daemon", "swap", "torch-swap")
EXACT = {"compute-caps", "compute-lengths", "compute-kinds", "compute-processes", "compute-pairs", "compute-weights"}
TOY_STORIES = '''
import os, signal, subprocess, time
from story import story

@story("holds", "a claim holds", priority=3)
def holds(t):
    t.claim("one is one", True)
    t.figure("slow", 7, "s", at_most=5)

@story("fails", "a claim does not hold", priority=1)
def fails(t):
    t.claim("one is two", 1 == 2, "one")

@story("skips", "what is needed is not here", priority=2)
def skips(t):
    t.need("no_such_module")

@story("fails-first", "a claim does not hold before something turns out to be missing", priority=2)
def fails_first(t):
    t.claim("one is two", False)
    t.skip("the rest")

@story("raises", "an error of its own", priority=2)
def raises(t):
    t.claim("before", True)
    raise ValueError("of the story")

@story("dies", "a signal", priority=2)
def dies(t):
    t.figure("found before", 1)
    os.kill(os.getpid(), signal.SIGSEGV)

@story("hangs", "it never ends", priority=2, seconds=1)
def hangs(t):
    t.claim("before", True)
    time.sleep(1000)

@story("loses", "its program is over too early", priority=2)
def loses(t):
    with t.start("limits.py", "nonsense") as program:
        program.until("holds")

@story("leaves", "something runs on when it is over", priority=2)
def leaves(t):
    left = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    t.fact("left", left.pid)
'''


@pytest.fixture
def gpu_check(sim, build, tmp_path):
    """Runs tools/gpu-check with the build under test; gives how it ended and its results."""
    def check(*words, **variables):
        out = tmp_path / "results"
        done = sim.run([build.source / "tools/gpu-check", *words, "--out", out], timeout=MANY_SECONDS,
                       ALIQUOT_BUILD=build.folder, **variables)
        file = out / "results.json"
        stories = json.loads(file.read_text())["stories"] if file.exists() else []
        return done, {story["name"]: story for story in stories}, out
    return check


SLOW_STORIES = '''
import os, parts, time
from story import story

parts.EXPECTED["finds"] = 1

@story("finds", "something is found, told again, and then nothing for long", priority=1, seconds=60)
def finds(t):
    t.fact("pid", os.getpid())
    t.figure("found", 1)
    t.figure("found", 2)
    time.sleep(1000)

@story("waits", "it would come next", priority=2, seconds=60)
def waits(t):
    t.claim("it was told", True)
'''


@pytest.fixture
def toys(gpu_check, tmp_path):
    """The rehearsal with the toy stories in place of the real ones."""
    (tmp_path / "toys.py").write_text(TOY_STORIES)
    return lambda *words: gpu_check("rehearse", *words, GPU_CHECK_STORIES=tmp_path / "toys.py")


def folder_of_nvidia_smi(request):
    try:
        return f":{request.getfixturevalue('nvidia_smi').parent}"
    except pytest.skip.Exception:
        return ""


def daemon_of(build):
    program = build.folder / "src/daemon/aliquotd"
    return program if program.exists() else None


def assert_shares_are_delivered(stories):
    """In virtual time a share is the same on every machine. Its worst second is not: where a thread that holds a lock is
    not run, a look at what is in flight comes late, and is made good in the next second."""
    missed = {name: missed_shares(stories[name]) for name in EXACT & set(stories)}
    assert not any(missed.values()), missed
    assert all(stories[name]["figures"] for name in EXACT & set(stories)), "figures are there"


def missed_shares(story):
    return {figure["what"]: figure["value"] for figure in story["figures"]
            if figure["reached"] is False and not figure["what"].endswith("worst second")}


def test_every_story_is_told_to_its_end(request, gpu_check, build):
    """On the simulated card, with stand-ins for the frameworks: what is left to find out on hardware is
    the hardware, not the script."""
    smi = folder_of_nvidia_smi(request)
    done, stories, out = gpu_check("rehearse", PATH=os.environ["PATH"] + smi)
    assert done.rc == 0, done
    verdicts = {name: story["verdict"] for name, story in stories.items()}
    assert len(verdicts) >= 40
    if not smi:
        assert verdicts.pop("nvidia-smi") == "skipped"
    if not daemon_of(build):
        assert verdicts.pop("daemon") == "skipped"
        for name in OF_A_DAEMON:
            assert verdicts.pop(name) == "skipped"
    assert set(verdicts.values()) == {"passed"}, verdicts
    assert_shares_are_delivered({name: story for name, story in stories.items() if name in verdicts})
    assert "Nothing here ran on hardware" in (out / "page.md").read_text()


@pytest.mark.parametrize("card", ("0", "1"))
def test_the_rehearsals_books_agree_to_the_byte(gpu_check, card):
    """The simulated cards take what they say: a difference here is a story that reads the wrong book."""
    done, stories, _ = gpu_check("rehearse", "--only", "charges,torch-books,pynvml",
                                 CUDA_VISIBLE_DEVICES=card)
    assert done.rc == 0, done
    table, = stories["charges"]["tables"]
    assert len(table["rows"]) > 50
    apart = {row[0] for row in table["rows"] if row[-1] != 0}
    # docs/memory.md: NVML shows managed memory of no process; what a green context takes is a figure of hardware's.
    assert apart == {"managed-untouched", "managed-touched", "managed-by-kernel", "green-context"}
    assert all(row[-1] >= 0 for row in table["rows"]), "too much is charged, never too little"
    apart, = stories["torch-books"]["figures"]
    assert apart["value"] == 0


def test_a_run_that_is_cut_off_leaves_nothing_on_the_card(sim, build, tmp_path):
    stories = tmp_path / "endless.py"
    stories.write_text("""
import subprocess
from story import story

@story("endless", "it never ends")
def endless(t):
    program = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    t.fact("left", program.pid)
    program.wait()
""")
    out = tmp_path / "results"
    run = sim.start([sys.executable, "-B", build.source / "tests/gpu/check.py", "--out", out], GPU_CHECK_STORIES=str(stories),
                    LD_LIBRARY_PATH=str(build.folder / "src/sim/driver"))
    wait_for(lambda: [pid for pid in children_of(run.pid) for _ in children_of(pid)], lambda: "no story yet")
    (story,) = children_of(run.pid)
    (left,) = children_of(story)
    run.terminate()
    run.wait(HANG_SECONDS)
    assert not [pid for pid in (story, left) if os.path.exists(f"/proc/{pid}")]


def children_of(pid):
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in listed.stdout.split()]


def test_whatever_a_story_does_is_reported(toys):
    done, stories, out = toys()
    assert done.rc == 1, done
    assert {name: story["verdict"] for name, story in stories.items()} == {
        "holds": "passed", "fails": "failed", "fails-first": "failed", "skips": "skipped", "raises": "crashed", "dies": "crashed",
        "hangs": "hung", "leaves": "passed", "loses": "failed"}
    assert list(stories)[0] == "fails" and list(stories)[-1] == "holds", "by priority"
    assert "no_such_module" in stories["skips"]["notes"][0]
    assert "of the story" in stories["raises"]["traceback"]
    assert stories["dies"]["figures"][0]["what"] == "found before", "what was found is kept"
    assert stories["hangs"]["claims"][0]["holds"], "likewise"
    assert "KeyError: 'nonsense'" in stories["loses"]["claims"][0]["detail"], "the program's own words"
    assert stories["holds"]["figures"][0]["reached"] is False, "a figure missed, and no verdict"
    page = (out / "page.md").read_text()
    assert "**not so**: one is two" in page and "## hangs: **hung**" in page


def test_nothing_of_a_story_outlives_it(toys):
    _, stories, _ = toys("--only", "leaves")
    pid = stories["leaves"]["facts"]["left"]
    assert not os.path.exists(f"/proc/{pid}"), f"{pid} still runs"


def test_a_run_without_time_goes_on_where_it_stopped(toys):
    done, stories, _ = toys("--minutes", "0")
    assert done.rc == 0 and {story["verdict"] for story in stories.values()} == {"not reached"}, done
    assert "--skip-done" in done.stdout
    toys("--only", "holds")
    done, stories, _ = toys("--skip-done", "--only", "holds,skips")
    assert done.rc == 0 and {name: story["verdict"] for name, story in stories.items()} == {
        "holds": "passed", "skips": "skipped"}, done


@pytest.fixture
def slow_run(sim, build, tmp_path):
    """check.py with the slow stories in the background, once the first has found something; its results'
    folder. The driver is the simulated one; nothing else of the rehearsal is needed."""
    (tmp_path / "slow.py").write_text(SLOW_STORIES)
    out, runs = tmp_path / "out", []

    def start(*words):
        env = sim.env(GPU_CHECK_STORIES=tmp_path / "slow.py")
        command = [sys.executable, "-B", build.source / "tests/gpu/check.py", "--rehearsal", "--out", out, *words]
        runs.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
        while not (out / "in-progress.json").exists() and runs[-1].poll() is None:
            time.sleep(0.01)
        return runs[-1], out
    yield start
    for run in runs:
        run.kill()
        run.communicate()


def told(out):
    return {story["name"]: story for story in json.loads((out / "results.json").read_text())["stories"]}


def found(story):
    return [(figure["what"], figure["value"]) for figure in story["figures"]]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_both_figures(out):
    while found(json.loads((out / "in-progress.json").read_text())) != [("found", 2)]:
        time.sleep(0.01)


def test_a_run_that_is_told_to_end_keeps_what_was_found(slow_run):
    run, out = slow_run()
    wait_for_both_figures(out)
    run.terminate()
    assert run.wait(30) == 0
    stories = told(out)
    assert stories["finds"]["verdict"] == "cut off" and found(stories["finds"]) == [("found", 2)]
    assert stories["waits"]["verdict"] == "not reached"
    assert "## finds: **cut off**" in (out / "page.md").read_text()
    run, _ = slow_run("--skip-done", "waits")
    assert run.wait(30) == 0
    stories = told(out)
    assert stories["waits"]["verdict"] == "passed" and found(stories["finds"]) == [("found", 2)], "kept until told again"


def test_a_story_is_cut_off_when_the_time_of_its_run_is_over(slow_run):
    run, out = slow_run("--minutes", str(8 / 60))
    assert run.wait(30) == 0
    stories = told(out)
    assert stories["finds"]["verdict"] == "cut off" and found(stories["finds"]) == [("found", 2)]
    assert 6 < stories["finds"]["seconds"] < 20 and stories["waits"]["verdict"] == "not reached"


def test_a_run_that_is_killed_keeps_what_was_found(slow_run):
    run, out = slow_run("finds")
    wait_for_both_figures(out)
    pid = json.loads((out / "in-progress.json").read_text())["facts"]["pid"]
    run.kill()  # no signal handler runs: what was found lies beside the results
    run.wait()
    while is_alive(pid):  # its story ends with it
        time.sleep(0.01)
    run, _ = slow_run("--skip-done", "--minutes", "0")
    assert run.wait(30) == 0
    stories = told(out)
    assert stories["finds"]["verdict"] == "cut off" and found(stories["finds"]) == [("found", 2)]
    assert "killed" in stories["finds"]["notes"][-1]


def stories_of(build):
    listed = subprocess.run([sys.executable, "-B", build.source / "tests/gpu/check.py", "--list"], capture_output=True,
                            text=True, check=True).stdout.splitlines()
    return [line.split()[1] for line in listed]


def test_every_story_has_a_part_of_nine_minutes(build):
    sys.path.insert(0, str(build.source / "tests/gpu"))
    import parts
    assert stories_of(build) == list(parts.PLACE), "each story once, in the order of worth"
    assert all(sum(part.values()) <= 60 * parts.MINUTES for part in parts.PARTS.values())
    known = set()
    for file in (build.source / "docs/results/2026-11-26-h200").glob("*.json"):
        known |= {story["name"] for story in json.loads(file.read_text()).get("stories", [])
                  if story["verdict"] == "passed" and story["seconds"] <= parts.EXPECTED.get(story["name"], 0)}
    assert set(parts.PLACE) - known <= parts.GUESSED, "expected as long as it took, or guessed"


OF_MEMORY = ("limit", "sharing", "replaced", "torch-books", "torch-oom")
BROKEN = {"wide": OF_MEMORY, "narrow": ("limit", "successor"),
          "forgetful": ("limit", "sharing", "replaced", "torch-books", "charges", "daemon"), "greedy": ("charges",), "mute": ("contracts",),
          "lossy": ("swap", "torch-swap"), "roomy": ("swap", "torch-swap")}
UNSHARED = {"loose": ("compute-caps", "compute-lengths", "compute-kinds", "compute-processes"),
            "unfair": ("compute-pairs", "compute-weights", "compute-full")}
# They ask the driver, and what a start costs that never loads it.
OF_NOBODY = {"compute-native", "compute-switches", "contracts", "machine", "no-cuda"}


def test_no_story_passes_without_us(build, gpu_check):
    """Where its programs met the bare driver, whatever a story found is nothing about Aliquot."""
    names = set(stories_of(build)) - {name for names in UNSHARED.values() for name in names}  # those take long
    _, stories, _ = gpu_check("rehearse", "--only", ",".join(names), GPU_CHECK_BREAK="absent")
    verdicts = {name: story["verdict"] for name, story in stories.items() if story["verdict"] != "skipped"}
    assert len(verdicts) >= 40
    assert {name for name, verdict in verdicts.items() if verdict == "passed"} == OF_NOBODY, verdicts


@pytest.mark.parametrize("how", UNSHARED)
def test_a_share_of_time_that_is_another_one_misses_its_reach(build, gpu_check, how):
    """With Aliquot broken on purpose (standins/broken.py): by figures, which are told as missed."""
    if how == "unfair" and not daemon_of(build):
        pytest.skip("the daemon was not built")
    _, stories, _ = gpu_check("rehearse", "--only", ",".join(UNSHARED[how]), GPU_CHECK_BREAK=how)
    assert all(missed_shares(stories[name]) for name in UNSHARED[how]), stories


@pytest.mark.parametrize("how", BROKEN)
def test_no_story_of_memory_passes_for_want_of_a_check(build, gpu_check, how):
    """With Aliquot broken on purpose (standins/broken.py) each of them fails."""
    names = [name for name in BROKEN[how] if name not in ("daemon", *OF_A_DAEMON) or daemon_of(build)]
    if not names:
        pytest.skip("the daemon was not built")
    done, stories, _ = gpu_check("rehearse", "--only", ",".join(names), GPU_CHECK_BREAK=how)
    verdicts = {name: story["verdict"] for name, story in stories.items()}
    assert verdicts == {name: "failed" for name in names}, done


def test_without_a_card_it_says_what_it_would_do(gpu_check, sim):
    done, stories, _ = gpu_check(ALIQUOT_SIM=sim.spec + ",gpus=0")
    assert done.rc == 0 and stories == {}, done
    assert "would show: every family of device memory" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("stories skipped: the NVIDIA driver has no card for us")


def test_a_section_is_its_stories(toys, gpu_check, sim):
    done, stories, _ = toys("toys")
    assert len(stories) == 9, done
    done, _, _ = gpu_check("rehearse", "compute", "--list")
    assert all(line.split()[1].startswith("compute-") for line in done.stdout.splitlines()), done


def test_an_unknown_story_is_refused(toys):
    done, _, _ = toys("--only", "holds,nosuch")
    assert done.rc == 1 and "no such story: nosuch" in done.stderr, done


def test_a_card_without_a_limit_is_never_filled(sim, build):
    """Should a limit fail to be in force, the programs that go to the limit stop instead."""
    program = build.source / "tests/gpu/programs/limits.py"
    done = sim.run([sys.executable, "-B", program, "reach"], GPU_CHECK_CAPACITY=64 << 20)
    assert done.rc == 1 and "no limit is on" in done.stderr, done
    assert sim.oracle()["devices"][0]["high_bytes"] < 64 << 20


def test_programs_do_not_wait_for_others_on_the_card(build):
    """Beside who takes and gives back all the while, the card's used bytes never stand still."""
    sys.path.insert(0, str(build.source / "tests/gpu"))
    from probe import Books
    books, used = Books(None), itertools.count()
    books.card = lambda: next(used)
    books.opened = types.SimpleNamespace(processes=lambda: {1: 2} if time.monotonic() - began > 0.5 else {1: 2, 7: 8})
    for ended, least in ((set(), 0.2), ({7}, 0.4)):
        began = time.monotonic()
        books.settle(ended)
        assert least < time.monotonic() - began < 2.5, ended


def test_stamps_are_added_up(build):
    """By hand: two programs, of which the second has two streams."""
    sys.path.insert(0, str(build.source / "tests/gpu"))
    from stamps import Stamps, divide, overlap
    one, other = Stamps.of([(0, 10), (20, 30)]), Stamps.of([(5, 12), (10, 14), (40, 60)])
    assert (one.first, one.last, other.busy(0, 100)) == (0, 30, 9 + 20)
    assert one.share(0, 40) == 0.5 and one.busy(5, 25) == 10
    assert other.windows(40, 80, 20, 10) == [1, 0.5, 0]
    mine, rest = divide([one, other])
    assert mine.busy(0, 100) == 5 + 2.5 + 10 and rest.busy(0, 100) == 2.5 + 4 + 20
    assert abs(overlap([one, other], 0, 100) - 0.05) < 1e-9


@pytest.mark.parametrize("card", ("sm_75", "sm_90"))
def test_the_stamped_kernels_are_what_the_drivers_compiler_takes(build, tmp_path, card):
    ptxas = shutil.which("ptxas", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
    if not ptxas:
        pytest.skip("no ptxas found: the PTX of gpu-check is not assembled")
    subprocess.run([ptxas, f"-arch={card}", build.source / "tests/gpu/programs/stamps.ptx", "-o", tmp_path / "cubin"], check=True)


def needed(file):
    """Libraries, by their names, that an object asks for."""
    read = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True)
    return {line.split("[")[1].rstrip("]") for line in read.stdout.splitlines() if "(NEEDED)" in line}


def test_a_daemon_that_cannot_start_is_a_skip_with_its_reason(build, sim, tmp_path):
    if not daemon_of(build):
        pytest.skip("aliquotd was not built here")
    done = sim.run([build.source / "tools/gpu-check", "bundle", tmp_path], ALIQUOT_BUILD=build.folder)
    assert done.rc == 0, done
    bundle = tmp_path / "aliquot-gpu-check"
    (bundle / "bin/aliquotd").write_text("#!/bin/sh\necho 'version GLIBC_9 not found' >&2\nexit 127\n")
    done = sim.run([sys.executable, "-B", bundle / "check/check.py", "--only", "daemon", "--out", tmp_path / "out"])
    assert done.rc == 0 and "does not start here: version GLIBC_9 not found" in done.stdout, done


def test_the_bundle_needs_libc_only(build, sim, tmp_path):
    done = sim.run([build.source / "tools/gpu-check", "bundle", tmp_path], ALIQUOT_BUILD=build.folder)
    assert done.rc == 0, done
    elsewhere = tmp_path / "elsewhere"
    with tarfile.open(tmp_path / "aliquot-gpu-check.tar.gz") as tar:
        tar.extractall(elsewhere)
    bundle = elsewhere / "aliquot-gpu-check"
    for file in ("bin/aliquot", "bin/costs", "bin/load", "bin/waits", "lib/aliquot/libaliquot.so", "lib/aliquot/shims/libcuda.so.1",
                 "lib/aliquot/shims/libnvidia-ml.so.1"):
        assert needed(bundle / file) <= LIBC, (file, needed(bundle / file))
    if daemon_of(build):
        carried = {file.name: needed(file) for file in (bundle / "lib/aliquotd").iterdir()}
        wanted = needed(bundle / "bin/aliquotd").union(*carried.values())
        assert wanted <= LIBC | set(carried), (wanted, carried)
    listed = subprocess.run([sys.executable, "-B", bundle / "check/check.py", "--list"], cwd="/",
                            capture_output=True, text=True, check=True)
    told = (bundle / "README.md").read_text()
    stories = [line.split()[1] for line in listed.stdout.splitlines()]
    assert [name for name in stories if f"`{name}`" not in told] == [], "not in docs/gpu-check.md"
