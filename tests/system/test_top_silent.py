# SPDX-License-Identifier: Apache-2.0
"""aliquot top, where the daemon hangs or is gone: it says so and since when, its keys work, and it goes on
when the daemon answers again."""
import re
import signal
import time

import pytest

from cli import Command
from daemon import Daemon
from hang import HANG_SECONDS
from node import Node
from stopped import stop
from terminal import Tops, names

TENANT = 1234
SILENT = r"^no answer from the daemon for (\d+) s$"


@pytest.fixture
def cli(sim):
    sim.configure(memory="4GiB", model="t4")
    return Command(sim)


@pytest.fixture
def daemon(cli):
    served = Daemon(cli.that_asks_daemons().sim).start()
    served.create("s", "1GiB", ttl="1h", labels={"owner": "ann"})
    return served


def silence(terminal):
    return int(re.search(SILENT, terminal.wait(SILENT), re.MULTILINE).group(1))


@pytest.fixture
def until_told(build):
    """Waits for as long as it takes until a screen beside this one, whose daemon is killed now, says so:
    what is not said here by then is not said."""
    node = Node(build)
    node.configure(memory="1GiB")
    killed = Daemon(node).start()
    tops = Tops(Command(node))
    beside = tops("--all", columns=120)
    beside.wait("no session")

    def wait():
        killed.kill()
        silence(beside)
    yield wait
    tops.close()
    node.close()


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}, {"TERM": "vt100"}], ids=["colours", "NO_COLOR", "vt100"])
def test_a_daemon_that_hangs_is_told_and_since_when(daemon, top, variables):
    """What it alone knows is not shown meanwhile; all of it is when it answers again."""
    terminal = top("--all", columns=120, **variables)
    told = r"^ +ends in 59m\d\ds, then deny-new  owner=ann$"
    terminal.wait(told)
    stop(daemon.process.pid)
    first = silence(terminal)
    assert "owner=ann" not in terminal.screen() and names(terminal.screen()) == ["s"]
    terminal.wait(rf"^no answer from the daemon for (?!{first} )\d+ s$")
    daemon.process.send_signal(signal.SIGCONT)
    assert "no answer" not in terminal.wait(told)


def test_a_daemon_that_is_killed_is_told_until_there_is_one_again(daemon, top):
    terminal = top("--all", columns=120)
    terminal.wait("owner=ann")
    daemon.kill()
    silence(terminal)
    daemon.start()
    assert "no answer" not in terminal.wait("owner=ann")


def test_a_killed_daemon_without_sessions_is_told_and_one_that_ended_is_not(daemon, top, until_told):
    """It says good-bye by taking its socket with it."""
    assert daemon.delete("/v1/sessions/s").status == 204
    terminal = top(columns=120)
    terminal.wait("no session")
    daemon.kill()
    silence(terminal)
    daemon.start()
    terminal.wait(r"CARD.*\n.*\n\n")
    assert daemon.stop() == 0
    until_told()
    assert "no answer" not in terminal.screen()


def test_its_keys_work_while_the_daemon_hangs(daemon, top):
    terminal = top(columns=120)
    terminal.wait(r"^>[+] s ")
    stop(daemon.process.pid)
    silence(terminal)
    terminal.press("?")
    terminal.wait("its keys")
    terminal.press("x", "n")
    terminal.wait(r"SESSION\^")
    terminal.press("l")
    terminal.type("2GiB")
    terminal.press("Enter")
    terminal.wait("^setting memory of s: 2GiB")
    terminal.press("l")
    terminal.wait("^memory of s, such as")
    terminal.type("3GiB")
    terminal.press("Enter")
    terminal.wait("^memory of s: 2GiB: not done yet")
    daemon.process.send_signal(signal.SIGCONT)
    terminal.wait(r"^memory of s: 2GiB +$|^memory of s: 2GiB$")
    terminal.wait(r"^>[+] s +0 +0 B +2 GiB ")


def test_a_change_that_the_daemon_does_not_answer_is_said(daemon, top):
    terminal = top(columns=150)
    terminal.wait(r"^>[+] s ")
    stop(daemon.process.pid)
    terminal.press("l")
    terminal.type("2GiB")
    terminal.press("Enter")
    terminal.wait("^the daemon of .* does not answer")


@pytest.mark.parametrize("pending", [False, True], ids=["at rest", "in a change"])
def test_q_quits_at_once_while_the_daemon_hangs(daemon, top, pending):
    """A question to it takes seconds to be given up, a change ten."""
    terminal = top(columns=120)
    terminal.wait(r"^>[+] s ")
    stop(daemon.process.pid)
    silence(terminal)
    if pending:
        terminal.press("l")
        terminal.type("2GiB")
        terminal.press("Enter")
        terminal.wait("^setting memory of s")
    begin = time.monotonic()
    terminal.press("q")
    assert terminal.has_ended()
    assert time.monotonic() - begin < HANG_SECONDS / 2


def test_it_starts_while_the_daemon_hangs(daemon, cli, top):
    """Not known is since when; of one look it is said as well."""
    stop(daemon.process.pid)
    silence(top(columns=120))
    result = cli("top", "--once", f"--sim={cli.sim.spec}", sim=False)
    assert result.rc == 0 and "\nno answer from the daemon\n" in result.stdout and result.stderr == "", result


def test_a_narrow_screen_has_room_for_it(daemon, top):
    daemon.kill()
    silence(top(columns=40, rows=10))


def test_without_a_daemon_nothing_is_missed(cli, top, until_told):
    assert cli("create", "own", "--memory", "1GiB").rc == 0
    terminal = top(columns=120)
    terminal.wait(r"^>[+] own ")
    until_told()
    assert "no answer" not in terminal.screen()
