# SPDX-License-Identifier: Apache-2.0
"""However aliquot top ends or is stopped, the terminal is as it was before: a shell's, on a terminal (tmux)."""
import os
import re
import signal

import pytest

from cli import Command
from stopped import stop
from terminal import Terminal, Tops

ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]


@pytest.fixture
def cli(sim):
    sim.configure(memory="4GiB", model="t4")
    return Command(sim)


@pytest.fixture
def shell(cli):
    """One with jobs, and aliquot top as its first."""
    Tops(cli)  # skips where there is no screen
    sim = cli.sim
    terminal = Terminal(sim, 0, ["bash", "--norc", "--noprofile", "-i"], 100, 24, PS1="shell> ",
                        LD_LIBRARY_PATH=sim.env()["LD_LIBRARY_PATH"])
    terminal.wait("^shell>")
    assert cli("create", "s", "--memory", "1GiB").rc == 0
    terminal.type(f"{sim.build.aliquot} top --interval=1h --sim={sim.spec}\n")
    terminal.wait(r"^>[+] s ")
    yield terminal
    terminal.close()


def process_of(terminal):
    pid, = re.findall(r"\d+", terminal.tmux("display-message", "-p", "#{pane_pid}"))
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return int(children.read().split()[0])


def expect_a_shell(terminal, status):
    """That has its own screen again, echoes what is typed, and has a cursor."""
    terminal.wait(r"^shell> *$")
    terminal.type("echo ended with $?; stty -a | tr ';' '\\n' | grep -ow -e '-*icanon' -e '-*echo' -e '-*isig' | xargs echo modes\n")
    screen = terminal.wait("^modes .*$")
    assert re.search(rf"^ended with {status}$", screen, re.MULTILINE), screen
    assert re.search(r"^modes isig icanon echo$", screen, re.MULTILINE), screen
    assert "SESSION" not in screen and "shell> echo ended" in screen, screen
    assert terminal.tmux("display-message", "-p", "#{cursor_flag}#{alternate_on}").strip() == "10"


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_a_signal_ends_it_as_it_ends_others_and_gives_the_terminal_back(shell, number):
    """However far away the next look is."""
    os.kill(process_of(shell), number)
    expect_a_shell(shell, 128 + number)


def test_control_c_ends_it(shell):
    shell.press("C-c")
    expect_a_shell(shell, 128 + signal.SIGINT)


def test_q_ends_it_well(shell):
    shell.press("q")
    expect_a_shell(shell, 0)


def test_stopped_from_its_terminal_it_gives_that_away_and_takes_it_back(shell):
    shell.press("C-z")
    expect_a_shell(shell, 128 + signal.SIGTSTP)
    shell.type("clear; fg\n")
    shell.wait(r"^>[+] s ")
    shell.press("?")
    shell.wait("its keys")
    shell.press("x", "q")
    expect_a_shell(shell, 0)


def test_stopped_by_another_it_draws_all_of_it_when_it_goes_on(shell):
    """It could not prepare for SIGSTOP; what the shell wrote meanwhile is gone from the screen."""
    stop(process_of(shell))
    shell.wait("Stopped")
    shell.wait("^shell> *$")
    shell.type("clear; fg\n")
    assert "Stopped" not in shell.wait(r"\Aaliquot top(.*\n)*>[+] s ")
    shell.press("n")
    assert "Stopped" not in shell.wait(r"SESSION\^")
    shell.press("q")
    shell.wait("shell>")
