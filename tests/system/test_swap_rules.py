# SPDX-License-Identifier: Apache-2.0
"""How turns of memory are dealt on a node, and what becomes of a session that gives its memory back never (docs/swap-node.md)."""
import itertools
import os
import signal
import subprocess

import pytest

from cli import Command
from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from script import MIB, SUCCESS, Script
from test_swap_daemon import Player, swap

NOBODY = 65534


@pytest.fixture
def sim(sim):
    return sim.configure(gpus=1, memory="1GiB")


@pytest.fixture
def daemon(sim):
    return Daemon(sim).start()


@pytest.fixture
def cli(sim):
    return Command(sim)


def rules(daemon):
    return daemon.get("/v1/swap").json


# -- The rules -------------------------------------------------------------------------------------


def test_the_command_and_the_api_say_how_turns_are_dealt(daemon, cli):
    swap(daemon)
    assert rules(daemon) == {"mode": "auto", "turn_seconds": None}
    assert "mode" not in cli("show", "s").stdout
    done = cli("set", "--swap-mode", "serial", "--swap-turn", "30s")
    assert done.rc == 0 and done.stdout == "mode       serial\nturn       30 s\n", done
    assert rules(daemon) == {"mode": "serial", "turn_seconds": 30}
    seen = daemon.session("s")["swap"]
    assert (seen["mode"], seen["turn_seconds"]) == ("serial", 30)
    assert "serial mode; turns of 30 s" in cli("show", "s").stdout
    assert cli("show", "s", "--json").json["swap"] == seen
    done = cli("set", "--swap-turn", "none", "--json")
    assert done.json == {"mode": "serial", "turn_seconds": None}, "what is not said stays"
    assert daemon.patch("/v1/swap", {"mode": "parallel", "turn": 0.5}).json == {"mode": "parallel", "turn_seconds": 0.5}


def test_the_config_says_how_they_are_dealt_when_it_is_read(daemon):
    daemon.reload("[swap]\nmode = parallel\nturn = 5s\n")
    assert rules(daemon) == {"mode": "parallel", "turn_seconds": 5}
    assert daemon.patch("/v1/swap", {"mode": "serial"}).status == 200
    daemon.reload("")
    assert rules(daemon) == {"mode": "auto", "turn_seconds": None}


def test_serial_lets_one_session_run_at_a_time(daemon, sim):
    """Though both fit; in auto mode both run."""
    players = []
    for name in ("a", "b"):
        swap(daemon, name)
        players.append(Player(sim, name))
        players[-1].hold(gpu=64 * MIB, host=0, swap=64 * MIB)

    def each():
        for player in players:
            player.want()
            player.play()

    def open_ones():
        return [player.limits().gate == 0 for player in players]

    def come(what):
        def looks():
            each()
            return what(open_ones())
        wait_for(looks, daemon.said)
    come(all)
    assert daemon.patch("/v1/swap", {"mode": "serial"}).status == 200
    for turn in ([True, False], [False, True], [True, False]):
        come(lambda seen, turn=turn: seen == turn)
    assert sum(daemon.session(name)["swap"]["moved_bytes"] for name in ("a", "b")) == 0
    assert daemon.patch("/v1/swap", {"mode": "auto"}).status == 200
    come(all)


@pytest.mark.parametrize("body, field", (
    ({"mode": "some"}, "mode"), ({"mode": None}, "mode"), ({"turn": 0}, "turn"), ({"turn": "2h"}, "turn"), ({"turn": True}, "turn"),
    ({"other": 1}, "other"),
))
def test_a_bad_rule_is_refused_and_changes_nothing(daemon, body, field):
    answer = daemon.patch("/v1/swap", {"turn": 1, **body} if field != "turn" else body)
    assert answer.status == 400 and answer.json["field"] == field, answer
    assert rules(daemon) == {"mode": "auto", "turn_seconds": None}


def test_the_command_refuses_what_it_cannot_do(daemon, cli):
    assert "leave the session and its limits out" in cli("set", "s", "--swap-mode", "auto").stderr
    assert "mode: expected auto, serial or parallel" in cli("set", "--swap-mode", "fast").stderr
    daemon.stop()
    away = cli("set", "--swap-mode", "auto")
    assert away.rc != 0 and "daemon" in away.stderr, away


@pytest.mark.needs("other users")
def test_only_an_administrator_may_say_it(sim):
    daemon = Daemon(sim, "[socket]\nmode = 0666\n").start()
    sim.folder.chmod(0o755)
    sim.runtime.chmod(0o755)
    ask = f"curl -s --unix-socket {daemon.socket} -X PATCH -d {{\"mode\":\"serial\"}} -H Content-Type:application/json http://x/v1/swap"
    done = subprocess.run(ask.split(), user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", capture_output=True, text=True,
                          timeout=HANG_SECONDS, check=True)
    assert "an administrator's to say" in done.stdout, done
    assert rules(daemon)["mode"] == "auto"


# -- Who is stopped --------------------------------------------------------------------------------


def stop_the_holder(sim, daemon):
    """One program has most of the card and is stopped; another one wants it."""
    for name in ("holder", "other"):
        swap(daemon, name, "900MiB")
    holder = Script(sim, ALIQUOT_SESSION="holder")
    other = Script(sim, ALIQUOT_SESSION="other")
    for gpu in (holder, other):
        gpu.do("init", "context 0 0")
    holder.do(f"alloc 1 {800 * MIB}")
    os.kill(holder.process.pid, signal.SIGSTOP)
    return holder, other


def test_with_kill_the_others_go_on_without_a_stopped_holder(sim):
    daemon = Daemon(sim, "[swap]\nstuck = kill\n").start()
    holder, other = stop_the_holder(sim, daemon)
    code = None
    while code != SUCCESS:  # a request is refused when nobody has made room for long
        code = other.code(f"alloc 1 {700 * MIB}")
    assert holder.process.wait(HANG_SECONDS) == -signal.SIGKILL
    told = (event for event in daemon.events() if event["type"].startswith("swap."))
    first, *_ = stuck = list(itertools.takewhile(lambda event: event["type"] != "swap.killed", told))
    assert first["type"] == "swap.stuck" and {event["session"] for event in stuck} == {"holder"}
    assert daemon.session("holder")["state"] == "open", "its programs are ended, and not the session"
    other.do("free 1")


def test_by_itself_the_daemon_ends_nobody(sim):
    """It is told of, and its memory comes back when it goes on."""
    daemon = Daemon(sim).start()
    holder, other = stop_the_holder(sim, daemon)
    other.send(f"alloc 1 {700 * MIB}")
    wait_for(lambda: daemon.session("holder")["swap"]["state"] == "stuck", daemon.said)
    assert holder.process.poll() is None
    os.kill(holder.process.pid, signal.SIGCONT)
    assert int(other.hear()[0]) == SUCCESS
    holder.do("free 1")
