# SPDX-License-Identifier: Apache-2.0
"""`aliquot bench share`: the real daemon, library and programs, drawn beside what was promised.

In virtual time, where a run hardly depends on the machine; what is drawn of a record, to the cell, is
tests/unit/cli/test_bench_chart.c's.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import time
import xml.etree.ElementTree
import zlib

import pytest

from cli import Command
from daemon import Daemon, wait_for
from hang import LONG_HANG_SECONDS as HANG_SECONDS
from printed import printed
from stopped import stop

POINT = 1.0


@pytest.fixture
def bench(sim, build):
    """The command, each run on a node of its own."""
    if not (build.folder / "src/daemon/aliquotd").exists():
        pytest.skip("aliquotd was not built here: libevent, SQLite, jansson or inih is missing")
    cli = Command(sim)
    left_over.place = sim.folder

    def bench_run(*words, sim="--sim", start=False, **more):
        words = ("share", *([sim] if sim else []), *words)
        more.setdefault("TMPDIR", left_over.place)
        if start:
            return cli.start("bench", *words, sim=False, **more)
        return cli("bench", *words, sim=False, timeout=HANG_SECONDS, **more)
    return bench_run


def left_over(ours=()):
    """Folders of runs of this test."""
    return set(left_over.place.glob("aliquot-bench-*")) - set(ours)


def sessions(result):
    assert result.rc == 0 and result.stderr == "", result
    return result.json["sessions"]


# --- what is measured ---------------------------------------------------------------------------

@pytest.mark.figures
@pytest.mark.parametrize("mix, shares", [("rt batch", [99, 1]), ("normal batch", [99.5, 0.5]), ("rt normal batch", [99, 0.5, 0.5])])
def test_one_percent_is_divided_evenly_below_rt(bench, mix, shares):
    """What docs/settings.md and the manual say of --priority: the class before counts among those that share it."""
    got = sessions(bench(*mix.split(), "--seconds", "5", "--json"))
    assert [one["promised_percent"] for one in got] == shares, got
    assert all(abs(one["delivered_percent"] - share) < 0.2 for one, share in zip(got, shares)), got


@pytest.mark.figures
@pytest.mark.parametrize("mix", ("40 kernel,+4s", "70,graph sync,+3s", "10 80 kernel,+4s", "40,weight=10 kernel,+4s", "kernel 40,+4s"))
def test_who_comes_late_takes_nothing_that_another_one_was_promised(bench, mix):
    """What a session had while it was alone, under a cap of its own, is not taken from it: nobody saves up (docs/compute.md).
    A program that comes begins some hundredths of a second late: 1.5 points of what it should have of four seconds."""
    got = sessions(bench(*mix.split(), "--seconds", "8", "--json"))
    assert all(abs(one["delivered_percent"] - one["promised_percent"]) < 2.5 * POINT for one in got), got


def test_a_pair_is_measured_drawn_and_gone(bench):
    before = left_over()
    result = bench("30", "70", "--seconds", "3", "--ascii")
    assert result.rc == 0 and result.stderr == "", result
    lines = result.stdout.splitlines()
    assert "virtual time, judged by the simulator's engine" in lines[1]
    table = [line.split() for line in lines if line[:1] in "ab" and line[1:2] == " "]
    assert [(row[0], row[1], row[2]) for row in table] == [("a", "30", "30.00"), ("b", "70", "70.00")], result
    assert all(abs(float(row[3]) - float(row[2])) < POINT for row in table), result
    assert max(map(len, lines)) <= 80 and "\033" not in result.stdout
    assert left_over(before) == set()


def test_the_same_every_time(bench):
    """To the byte on an idle machine; on a busy one a change of a cap, and the daemon's turns, may come a little later."""
    mix = ("30,40@1s", "50,graph,200us", "+1s,-2s,sync,10", "--seconds", "3", "--json")
    for first, second in zip(sessions(bench(*mix)), sessions(bench(*mix))):
        assert first["mix"] == second["mix"] and len(first["at_us"]) == len(second["at_us"]) == 30
        assert abs(first["delivered_percent"] - second["delivered_percent"]) < 2 * POINT, (first, second)


def test_a_change_and_a_neighbour_come_when_they_are_to(bench):
    changed, neighbour = sessions(bench("20,60@2s", "30,+1s,-3s", "--seconds", "4", "--json", "--period", "50ms"))

    def share(session, from_seconds, until_seconds):
        at, busy = session["at_us"], session["busy_us"]
        first, last = at.index(int(from_seconds * 1e6)), at.index(int(until_seconds * 1e6))
        return 100 * (busy[last] - busy[first]) / (at[last] - at[first])
    # Less than two seconds each: a turn more or less is half a point.
    assert abs(share(changed, 0.5, 2) - 20) < 2 * POINT and abs(share(changed, 2.1, 4) - 60) < 2 * POINT, changed
    assert share(neighbour, 0.05, 0.95) == 0 and abs(share(neighbour, 1.2, 3) - 30) < 2 * POINT, neighbour
    assert share(neighbour, 3.1, 4) == 0, neighbour


@pytest.mark.parametrize("mix, promised", [
    (("guarantee=40,weight=50", "weight=150"), [40, 60]),
    (("weight=300", "weight=100"), [75, 25]),
    (("rt", "priority=batch"), [99, 1]),
])
def test_terms_of_all_kinds(bench, mix, promised):
    told = sessions(bench(*mix, "--seconds", "3", "--json"))
    assert [session["promised_percent"] for session in told] == promised
    assert all(abs(session["delivered_percent"] - session["promised_percent"]) < 2 * POINT for session in told), told


@pytest.mark.figures
@pytest.mark.parametrize("kind", ("ex", "cooperative", "sync", "poll", "step", "streams"))
def test_every_kind_of_program(bench, kind):
    one, = sessions(bench(f"30,200us,{kind}", "--seconds", "4", "--json"))
    assert abs(one["delivered_percent"] - 30) < POINT, one


def test_on_the_machine_s_clock(bench):
    """Nothing is said about how exact it is."""
    result = bench("30", "--seconds", "1", "--json", sim="--sim=clock=real")
    one, = sessions(result)
    assert result.json["clock"] == "real" and len(one["at_us"]) == 10
    assert one["delivered_percent"] > 0, one


def test_with_the_daemon_that_is_there(sim, bench):
    """On its node, and what was there before stays."""
    sim.configure(clock="virtual", begin_with=2)
    daemon = Daemon(sim).start()
    daemon.create("other")
    two = sessions(bench("30", "50", "--seconds", "4", "--json", "--daemon", sim=f"--sim={sim.spec}"))
    assert all(abs(session["delivered_percent"] - promised) < POINT for session, promised in zip(two, (30, 50))), two
    wait_for(lambda: daemon.names() == ["other"])
    created = [event["session"] for event in daemon.events(0, 4) if event["type"] == "created"]
    assert len(created) == 3, created


# --- what is written ----------------------------------------------------------------------------

def test_a_record_is_drawn_again_as_it_was(bench, tmp_path):
    record = tmp_path / "mix.json"
    first = bench("30", "60,2ms", "--seconds", "2", f"--json={record}")
    again = bench("--from", record, sim=None)
    assert first.rc == again.rc == 0 and again.stdout == first.stdout, (first, again)
    assert json.loads(record.read_text())["sessions"][1]["mix"] == "60,2ms"


def test_the_records_of_the_comparison_s_pictures_can_be_drawn(bench, build):
    records = sorted((build.source / "docs/results/2026-11-21-compute").glob("share-*.json"))
    assert [record.stem for record in records] == ["share-change", "share-neighbour"]
    for record in records:
        assert f"pictures/{record.stem}.png" in (build.source / "docs/comparison.md").read_text()
        result = bench("--from", record, "--ascii", sim=None)
        off, = re.findall(r"^Mean error ([\d.]+) points", result.stdout, re.MULTILINE)
        assert result.rc == 0 and float(off) < 0.5, result  # what is drawn is what was reached


def unpack(png):
    """Width, height, and the rows of its pixels with their filter bytes."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        data += png[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    return width, height, zlib.decompress(data)


@pytest.fixture
def pictures(build):
    if not (build.folder / "src/plot/aliquot-plot").exists():
        pytest.skip("aliquot-plot was not built here: cairo is missing")


def test_a_picture(bench, pictures, tmp_path):
    for name, mix in (("one.png", ["30"]), ("two.png", ["30", "70"])):
        result = bench(*mix, "--seconds", "2", "--png", tmp_path / name, "--title", "A title")
        assert result.rc == 0 and result.stderr == "", result
    one, two = ((tmp_path / name).read_bytes() for name in ("one.png", "two.png"))
    assert unpack(one)[:2] == unpack(two)[:2] == (960, 400)
    assert len(set(unpack(two)[2])) > 50 and one != two
    assert len(two) < 100_000


def test_a_picture_is_an_svg_where_its_name_says_so(build, pictures, tmp_path):
    figure = {"title": "A title", "x": {"label": "seconds", "to": 2}, "y": {"label": "percent", "to": 100},
              "lines": [{"name": "a session", "style": "line", "colour": 0, "points": [0, 30, 2, 40]}]}
    for name in ("a.svg", "a.png"):
        subprocess.run([build.folder / "src/plot/aliquot-plot", tmp_path / name], input=json.dumps(figure), text=True,
                       timeout=HANG_SECONDS, check=True)
    root = xml.etree.ElementTree.parse(tmp_path / "a.svg").getroot()
    assert root.tag.endswith("}svg") and float(root.get("width").removesuffix("pt")) == 960
    assert unpack((tmp_path / "a.png").read_bytes())[:2] == (960, 400)


@pytest.mark.parametrize("flag", ("--json=", "--png="))
def test_a_file_that_cannot_be_written_is_said_before_anything_is_measured(bench, pictures, tmp_path, flag):
    """In real time it would be an hour too late."""
    before = left_over()
    for path, why in ((tmp_path / "no/where", "No such file"), (tmp_path, "is a folder")):
        result = bench("30", "--seconds", "3600", f"{flag}{path}", sim="--sim=clock=real")
        assert result.rc == 1 and result.stdout == "", result
        assert f"{flag.strip('=')} {path}: {why}" in result.stderr, result
    assert left_over(before) == set()


def test_what_cannot_be_measured_leaves_files_as_they_were(bench, pictures, tmp_path):
    """One that was there keeps what it has; one that was not is not there."""
    (tmp_path / "old.json").write_text("old")
    result = bench("30", f"--json={tmp_path}/old.json", "--png", tmp_path / "new.png", sim="--sim=model=none")
    assert result.rc == 1 and "model=none" in result.stderr, result
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("old.json", "old")]


def test_a_full_disk_takes_the_file_and_not_the_figures(bench):
    result = bench("30", "--seconds", "1", "--json=/dev/full", "--ascii")
    assert result.rc == 1 and "--json /dev/full: No space left" in result.stderr, result
    assert "judged by the simulator's engine" in result.stdout, result


def test_without_cairo_nothing_is_measured_for_nothing(bench, build, tmp_path):
    """The drawing program is not there, as in an installation without it: a copy of the command beside the library."""
    folder = tmp_path / "src/cli"
    folder.mkdir(parents=True)
    shutil.copy(build.aliquot, folder)
    for name in ("shim", "sim", "cudart", "daemon", "load"):
        (tmp_path / "src" / name).symlink_to(build.folder / "src" / name)
    begin = time.monotonic()
    done = subprocess.run([folder / "aliquot", "bench", "share", "--sim", "30", "--seconds", "3600", "--png", "x.png"],
                          capture_output=True, text=True, timeout=HANG_SECONDS, check=False, cwd=tmp_path)
    assert done.returncode == 1 and "no aliquot-plot" in done.stderr and "--from" in done.stderr, done
    assert time.monotonic() - begin < HANG_SECONDS and not (tmp_path / "x.png").exists()


def test_colours_on_a_terminal_only_and_not_where_they_are_not_wanted(bench, build, tmp_path):
    record = tmp_path / "mix.json"
    assert bench("30", "--seconds", "1", f"--json={record}").rc == 0

    def on_a_terminal(*more):
        return printed([build.aliquot, "bench", "share", "--from", record, *more])
    assert b"\033[0;36m" in on_a_terminal() and b"\033" not in on_a_terminal("--no-colour")


# --- what is refused ----------------------------------------------------------------------------

@pytest.mark.parametrize("words, said", [
    ([], "which mix?"),
    (["fast"], "fast: expected a percentage"),
    (["30,101%"], "101% in 30,101%: "),
    (["30", "weight=0"], "weight=0: expected 1 to 10000"),
    (["30", "70,+20s"], "70,+20s: the run is over by then"),
    (["guarantee=60", "guarantee=50"], "guarantees of 110 % together"),
    (["30", "--seconds", "0"], "--seconds 0: expected 1 to 3600"),
    (["30", "--seconds", "ten"], "--seconds ten: expected 1 to 3600"),
    (["30", "--period", "2s"], "--period 2s: expected 5ms to 1s"),
    (["30", "--seconds", "3600", "--period", "5ms"], "more than 36000 samples"),
    (["30", "--from", "x.json"], "--from and a mix: choose one"),
    (["30", "--title", "x"], "--title is for --png"),
    (["30", "--json=x", "--png=x"], "one file cannot be both"),
    (["10"] * 9, "more than 8 sessions"),
])
def test_what_is_wrong_is_named_and_nothing_is_started(bench, words, said):
    before = left_over()
    result = bench(*words)
    assert result.rc == 2 and said in result.stderr and result.stdout == "", result
    assert left_over(before) == set()


@pytest.mark.parametrize("name", ("", "speed"))
def test_another_benchmark_is_refused(sim, name):
    result = Command(sim)("bench", *filter(None, [name]), sim=False)
    assert result.rc == 2 and "expected share" in result.stderr, result


@pytest.mark.parametrize("words, said", [
    (["--from", "nowhere.json"], "nowhere.json"),
    (["30", "--gpu", "7"], "--gpu 7"),
    (["30", "--gpu", "any"], "--gpu: expected one GPU"),
    (["30", "--gpu", "0,1"], "--gpu: expected one GPU"),
    (["30", "--daemon"], "start aliquotd"),
])
def test_what_cannot_be_is_said(bench, tmp_path, words, said):
    """On a node of its own: with --daemon it would be the machine's usual one."""
    result = bench(*words, sim=None if "--from" in words else f"--sim=gpus=2,state={tmp_path}/sim")
    assert result.rc in (1, 3) and said in result.stderr, result


def test_without_a_gpu_the_simulated_one_is_named(bench):
    result = bench("30", sim=None, ALIQUOT_REAL_LIBNVML="/nowhere/libnvidia-ml.so.1")
    assert result.rc == 1 and "--sim uses a simulated one" in result.stderr, result


def test_a_node_that_others_have_otherwise_is_said(bench, sim, build):
    sim.configure(gpus=1)
    holder = sim.start([build.program("sim/hold"), "0", "1048576"])
    assert holder.stdout.readline().startswith("ready ")
    result = bench("30", sim=f"--sim=state={sim.state}")
    assert result.rc == 1 and "other processes use this node" in result.stderr, result
    assert "leave state= out" in result.stderr and "expected such as" not in result.stderr, result


def test_a_simulation_that_does_not_begin_is_said(bench):
    before = left_over()
    result = bench("30", sim="--sim=model=none")
    assert result.rc == 1 and "model=none" in result.stderr, result
    assert left_over(before) == set()


# --- the end ------------------------------------------------------------------------------------

@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
def test_interrupted_it_leaves_nothing(bench, number):
    before = left_over()
    process = bench("30", "70", "--seconds", "3600", start=True, sim="--sim=clock=real")
    wait_for(lambda: left_over(before))
    folder, = left_over(before)
    wait_for(lambda: [path for path in folder.glob("bench-*-2.log") if path.stat()])
    process.send_signal(number)
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == -number and out == "" and err == "", (process.returncode, out, err)
    assert left_over(before) == set()
    assert_gone(folder)


def test_a_daemon_that_does_not_end_is_killed(bench):
    before = left_over()
    process = bench("30", "--seconds", "3600", start=True, sim="--sim=clock=real")
    wait_for(lambda: left_over(before))
    folder, = left_over(before)
    wait_for(lambda: list(folder.glob("bench-*-1.log")))
    stop(daemon_in(folder))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == -signal.SIGTERM and left_over(before) == set()
    assert_gone(folder)


def daemon_in(folder):
    """Not its sink, which is a process of its own."""
    pids = [int(process.name) for process in naming(folder)
            if (process / "comm").read_text() == "aliquotd\n"]
    assert len(pids) == 1, pids
    return pids[0]


def naming(folder):
    """The processes that name the folder in their command line."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder).encode() in (process / "cmdline").read_bytes():
                found.append(process)
    return found


def assert_gone(folder):
    wait_for(lambda: not naming(folder), lambda: naming(folder))


def test_killed_it_takes_all_its_processes_with_it(bench):
    before = left_over()
    process = bench("30", "--seconds", "3600", start=True, sim="--sim=clock=real")
    wait_for(lambda: left_over(before))
    folder, = left_over(before)
    wait_for(lambda: list(folder.glob("bench-*-1.log")))
    process.kill()
    process.communicate(timeout=HANG_SECONDS)
    assert_gone(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("number, said", [
    (signal.SIGSTOP, "was stopped; what {} had of the GPU is no result"),
    (signal.SIGKILL, "ended early"),
])
@pytest.mark.parametrize("who", ("program", "aliquotd"))
def test_a_program_that_is_stopped_or_killed_is_no_result(bench, who, number, said):
    """Neither is the run of a daemon that no longer keeps what was promised."""
    before = left_over()
    process = bench("30", "70", "--seconds", "3600", start=True, sim="--sim=clock=real")
    wait_for(lambda: left_over(before))
    folder, = left_over(before)
    wait_for(lambda: loads_in(folder))
    os.kill(daemon_in(folder) if who == "aliquotd" else loads_in(folder)[0], number)
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 1 and out == "", (process.returncode, out, err)
    if who == "program":
        assert "30: its program " in err or "70: its program " in err, err
        assert said.format("it") in err, err
    else:
        assert f"aliquotd {said.format('sessions')}" in err, err
    assert left_over(before) == set()
    assert_gone(folder)


def loads_in(folder):
    """Once both are what their processes have become."""
    pids = [int(process.name) for process in naming(folder) if b"aliquot-load" in (process / "cmdline").read_bytes().split(b"\0")[0]]
    return pids if len(pids) == 2 else []


def test_a_program_that_dies_ends_it_with_its_last_words(bench):
    """As the device is lost under it."""
    before = left_over()
    result = bench("30", "--seconds", "5", sim="--sim=lost=1s")
    assert result.rc == 1 and "30: its program ended early: aliquot-load: a launch answered" in result.stderr, result
    assert left_over(before) == set()
