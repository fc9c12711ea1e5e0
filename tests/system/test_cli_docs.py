# SPDX-License-Identifier: Apache-2.0
"""The manual pages and the completions say what the command does."""
import os
import re
import shutil
import subprocess

import pytest

from cli import Command

PAGES = ["aliquot.1", "aliquot-run.1", "aliquot-bench.1"]


@pytest.fixture
def cli(sim):
    sim.configure(gpus=2, memory="16GiB")
    return Command(sim)


@pytest.fixture
def page(build):
    return lambda name: (build.source / "docs/man" / name).read_text()


@pytest.fixture
def programs(build, tmp_path):
    """A PATH with the command, and what the examples call python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "aliquot").symlink_to(build.aliquot)
    python = folder / "python"
    python.write_text(f"#!/bin/sh\nexec {build.folder}/examples/tenant $1 work 64 1\n")
    python.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of_the_manual(cli, page, programs, name):
    examples = page(name).split(".Sh EXAMPLES", 1)[1].replace("\\(dq", '"')
    lines = re.findall(r"^\.Dl \$ (.*)$", examples, re.MULTILINE)
    assert len(lines) >= 6, lines
    # On a node of the test's own.
    script = ("set -e\n" + "\n".join(lines)).replace("--sim=", f"--sim=state={cli.sim.state},")
    result = cli.sim.run(["bash", "-c", script], PATH=programs, LD_LIBRARY_PATH=None,
                         ALIQUOT_REAL_LIBCUDA=None, ALIQUOT_REAL_LIBNVML=None)
    assert result.rc == 0 and result.stderr == "", (script, result)
    assert "my card: " in result.stdout or "of the GPU" in result.stdout, result


@pytest.mark.parametrize("command", ("run", "bench"))
def test_every_flag_is_in_the_manual_and_every_flag_there_is_one(cli, page, command):
    manual = page(f"aliquot-{command}.1").split(".Sh SYNOPSIS")[1].split(".Sh DESCRIPTION")[0]
    documented = set(re.findall(r"Fl -([a-z-]+)", manual))
    listed = set(re.findall(r"^ +(?:-\S, )?--([a-z-]+)", cli(command, "--help", sim=False).stdout, re.MULTILINE))
    assert documented == listed - {"help", "usage"}


@pytest.mark.parametrize("command", ("run", "top", "ls"))
def test_help_of_a_command_is_what_it_says_itself(cli, command):
    told = cli("help", command, sim=False)
    assert told.rc == 0 and told.stdout.startswith(f"Usage: aliquot {command} ")
    assert told.stdout == cli(command, "--help", sim=False).stdout


def test_every_command_is_in_the_manual(cli, page):
    documented = re.findall(r"^\.It Cm (\w+)", page("aliquot.1"), re.MULTILINE)
    assert documented == [command["name"] for command in cli("help", "--json").json]


def complete(cli, *words):
    result = cli("complete", *words, sim=False, ALIQUOT_SIM=cli.sim.spec)
    assert result.rc == 0 and result.stderr == "", result
    return result.stdout.splitlines()


def test_what_can_come_next(cli):
    assert cli("create", "team-a", "--memory", "1GiB").rc == 0
    commands = [command["name"] for command in cli("help", "--json").json]
    assert complete(cli, "") == commands and complete(cli, "sh") == ["show"]
    assert "--memory" in complete(cli, "run", "--")
    assert complete(cli, "run", "--me") == ["--memory"]
    assert complete(cli, "run", "--session", "t") == ["team-a"] == complete(cli, "show", "")
    assert complete(cli, "renew", "") == complete(cli, "events", "t") == ["team-a"]
    assert complete(cli, "run", "--on-end", "") == ["deny-new", "term", "kill"]
    assert complete(cli, "run", "--gpu", "a") == ["any"]
    assert complete(cli, "set", "team-a", "--memory", "") == []
    assert complete(cli, "run", "--gpu", "1") == ["1"]
    uuid = cli("gpus", "--json").json[0]["uuid"]
    assert complete(cli, "run", "--gpu", uuid[:10]) == [uuid]
    assert complete(cli, "bench", "") == ["share"] and complete(cli, "bench", "share", "--pn") == ["--png"]
    assert complete(cli, "nonsense", "") == [] and complete(cli, "probe", "-") == []


def test_bash(cli, build, programs):
    script = f"""source {build.source}/src/cli/completions/aliquot.bash
        COMP_WORDS=(aliquot run --se); COMP_CWORD=2; _aliquot; printf '%s\\n' "${{COMPREPLY[@]}}"
        complete -p aliquot"""
    result = cli.sim.run(["bash", "-c", script], PATH=programs, LD_LIBRARY_PATH=None)
    assert result.stdout == "--session\ncomplete -o default -F _aliquot aliquot\n", result


@pytest.mark.parametrize("shell,file", [("zsh", "_aliquot"), ("fish", "aliquot.fish")])
def test_the_other_shells_can_read_theirs(build, shell, file):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    done = subprocess.run([shell, "-n", build.source / "src/cli/completions" / file], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_fish(cli, build, programs):
    if not shutil.which("fish"):
        pytest.skip("no fish here")
    script = f"source {build.source}/src/cli/completions/aliquot.fish; complete -C 'aliquot run --se'"
    result = cli.sim.run(["fish", "-c", script], PATH=programs, LD_LIBRARY_PATH=None)
    assert result.stdout.splitlines() == ["--session"], result
