# SPDX-License-Identifier: Apache-2.0
"""What is shown of a session: on terminals of any width, and the same to programs wherever they ask."""
import re

import pytest

from cli import UNSET, Command
from daemon import Daemon, wait_for
from printed import printed

MIB = 1 << 20


@pytest.fixture
def cli(sim):
    sim.configure(gpus=2)
    return Command(sim)


@pytest.fixture
def daemon(cli):
    cli.that_asks_daemons()
    return Daemon(cli.sim).start()


# -- On a terminal ---------------------------------------------------------------------------------

LONG, ALIKE = "long-" + "x" * 58, "many-" + "y" * 57 + "z"


def on_terminal(cli, columns, *words, **variables):
    """The lines that it prints there."""
    env = cli.sim.env(**{**UNSET, "LC_ALL": "C.UTF-8", **variables})
    return printed(cli.words(*words), columns=columns, env=env).decode().splitlines()


@pytest.fixture
def made(cli):
    for name in (LONG, ALIKE, "short"):
        assert cli("create", name, "--memory", "0=64MiB,1=128MiB", "--compute", "30").rc == 0
    return cli


def test_names_give_way_where_a_terminal_is_narrow(made):
    title, *lines = on_terminal(made, 80, "ls")
    assert title.split() == ["SESSION", "PROCESSES", "USED", "LIMITS"] and all(len(line) <= 80 for line in lines), lines
    assert [line.split()[1:3] for line in lines] == [["0", "0"]] * 3, lines  # numbers are whole
    assert [line.split()[0][-1] for line in lines] == ["…", "…", "t"] and lines[0].startswith("long-xxxx"), lines
    assert len({line.index("0 B") for line in [*lines, title.replace("USED", " 0 B")]}) == 1, lines
    assert all(line.split("  ")[-1].startswith("GPU-") for line in lines), lines
    assert on_terminal(made, 80, "ls", LC_ALL="C")[1].split()[0].endswith("xx~")


def test_nothing_is_cut_that_fits_or_is_for_programs(made):
    piped = made("ls").stdout.splitlines()
    assert piped[1].startswith(LONG + " ") and piped[2].startswith(ALIKE + " ") and "…" not in "".join(piped)
    assert on_terminal(made, 300, "ls") == piped
    assert on_terminal(made, 0, "ls") == piped  # one that does not say how wide it is
    assert on_terminal(made, 63, "ls", "-o", "session")[1:] == [LONG, ALIKE, "short"]
    assert on_terminal(made, 62, "ls", "-o", "session")[1] == LONG[:61] + "…"


def test_of_numbers_nothing_is_cut_however_narrow(made):
    for line in on_terminal(made, 1, "ls", "-o", "used,session,processes")[1:]:
        used, _, name, processes = line.split()
        assert (used, processes) == ("0", "0") and len(name) <= 12, line


# -- For programs ----------------------------------------------------------------------------------

KINDS = {"plain": [], "whole": ["--compute", "100"], "back": ["--compute", "50", "--guarantee", "10"],
         "some": ["--compute", "60.125", "--guarantee", "20", "--weight", "300", "--priority", "rt", "--gang", "g",
                  "--ttl", "1h", "--label", "a=b"]}


PAGES_ALONE = {"made_by", "created_as", "folder", "device_name", "default_memory_bytes", "epoch"}
DAEMON_ALONE = {"id", "version", "created_at", "ended_at"}
DEVICE_PAGES_ALONE = {"remainder"}
DRIVER_AND_TIME = {"gpu_time", "driver_bytes", "unexplained_bytes"}


@pytest.mark.parametrize("name", KINDS)
def test_the_command_and_the_daemon_say_the_same_under_the_same_names(cli, daemon, holder, name):
    """With and without a program in the session; also of what is not said: no cap and no guarantee are null, the usual
    weight is 100."""
    assert cli("create", name, "--memory", "0=256MiB,1=128MiB", *KINDS[name]).rc == 0
    if name == "back":
        assert cli("set", "back", "--compute", "none", "--guarantee", "none").rc == 0
    program = cli.sim.start([holder, 0, 64 * MIB], preload=True, ALIQUOT_SESSION=name)
    assert program.stdout.readline().startswith("ready ")
    for processes in (1, 0):
        if not processes:
            program.communicate("")
            wait_for(lambda: daemon.session(name)["processes"] == 0)
        told, shown = daemon.session(name), cli("show", name, "--json").json
        listed, = cli("ls", "--json").json
        assert set(shown) - set(told) == PAGES_ALONE and set(told) - set(shown) == DAEMON_ALONE
        for mine, theirs in zip(shown["devices"], told["devices"], strict=True):
            assert set(theirs) - DRIVER_AND_TIME == set(mine) - DEVICE_PAGES_ALONE
            assert {key: theirs[key] for key in mine if key in theirs} == {key: mine[key] for key in mine if key in theirs}
        assert {key: told[key] for key in shown if key in told and key != "devices"} == \
            {key: shown[key] for key in shown if key in told and key != "devices"}
        assert shown["processes"] == processes and (shown["devices"][0]["used_bytes"] >= 64 * MIB) == bool(processes), shown
        same = (set(listed) & set(told)) - {"devices"}
        assert same == {"name", "processes", "weight", "priority", "gang", "clamped"} and \
            {key: listed[key] for key in same} == {key: told[key] for key in same}
        for mine, theirs in zip(listed["devices"], told["devices"], strict=True):
            assert mine == {key: theirs[key] for key in ("uuid", "memory_bytes", "compute_percent", "guarantee_percent")}
    usual = {(d["compute_percent"], d["guarantee_percent"]) for d in told["devices"]} == {(None, None)} and told["weight"] == 100
    assert usual == (name != "some"), told


def test_a_time_to_live_is_told_with_its_fraction(cli, daemon):
    assert cli("create", "s", "--memory", "64MiB", "--ttl", "3600.25s").rc == 0
    assert cli("show", "s", "--json").json["ttl_seconds"] == daemon.session("s")["ttl_seconds"] == 3600.25


def test_what_nothing_fits_in_is_none_and_not_one_byte(cli, daemon):
    assert cli("create", "theirs", "--gpu", "0", "--memory", "64MiB").rc == 0
    daemon.kill()
    assert cli("create", "own", "--gpu", "0", "--memory", "64MiB").rc == 0
    assert cli("create", "both", "--memory", "64MiB").rc == 0
    shown = {name: cli("show", name, "--json").json for name in ("theirs", "own", "both")}
    assert [shown[name]["default_memory_bytes"] for name in shown] == [0, 0, 64 * MIB], shown
    assert [device["memory_bytes"] for device in shown["own"]["devices"]] == [64 * MIB, 0], shown["own"]
    assert [line.split()[1:3] for line in cli("show", "own").stdout.splitlines()[-2:]] == [["64", "MiB"], ["0", "B"]]
    for words in (["ls"], ["gpus"], ["top", "--once", "--all", "--ascii", f"--sim={cli.sim.spec}"]):
        result = cli(*words)
        assert result.rc == 0 and "own" in result.stdout and not re.search(r"[ =]1 B", result.stdout), result
    listed = {session["name"]: session for session in cli("ls", "--json").json}
    assert [device["memory_bytes"] for device in listed["own"]["devices"]] == [64 * MIB, 0], listed["own"]
