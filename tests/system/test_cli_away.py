# SPDX-License-Identifier: Apache-2.0
"""The command where a daemon should answer and does not, or not with what was asked for: nothing is done
without it, its sessions are joined and read, and what is said is one line."""
import fcntl
import json
import os
import re
import shutil
import signal
import threading

import pytest

from cli import AWAY, expect_away
from daemon import HANG_SECONDS
from fakedaemon import CLOSE, HANG, FakeDaemon
from stopped import stop

MIB = 1 << 20


@pytest.fixture
def cli(cli):
    return cli.that_asks_daemons()


def test_while_it_is_away_its_sessions_are_read_and_joined_and_not_changed(cli, daemon, holder):
    assert cli("create", "s", "--memory", "256MiB", "--label", "a=b").rc == 0
    before = [cli("ls").stdout, cli("show", "s", "-o", "gpu,limit").stdout]
    daemon.kill()
    assert [cli("ls").stdout, cli("show", "s", "-o", "gpu,limit").stdout] == before
    shown = cli("show", "s", "--json")
    assert shown.rc == 0 and shown.json["labels"] is None and shown.json["made_by"] == "daemon"
    result = cli.run("--session", "s", "--", holder, 0, MIB)
    assert result.rc == 0 and int(result.stdout.split()[2]) == 256 * MIB, result
    for words in (["set", "s", "--memory", "1MiB"], ["rm", "s"], ["rm", "s", "--force"], ["renew", "s"]):
        expect_away(cli(*words), "session s is a daemon's", "start aliquotd")
    expect_away(cli("events"), "start aliquotd")
    expect_away(cli("create", "t", "--memory", "64MiB", "--ttl", "1h"), "--ttl", "start aliquotd")
    assert cli("create", "t", "--memory", "64MiB").rc == 0  # one's own, as without
    daemon.start()
    assert cli("set", "s", "--memory", "128MiB").rc == 0 and cli("rm", "s").rc == 0
    assert cli("set", "t", "--memory", "32MiB").rc == 0
    for words in (["renew", "t"], ["set", "t", "--ttl", "1h"]):
        result = cli(*words)
        assert result.rc == 1 and "made without a daemon" in result.stderr, result
    assert cli("rm", "t").rc == 0


def test_no_daemon_of_a_moment_takes_over_its_sessions(cli, daemon, holder):
    """One that goes with its last session knows neither their ends nor their terms, and would bar the way of the one that does."""
    assert cli("create", "s", "--memory", "256MiB", "--weight", "300").rc == 0
    daemon.kill()
    for words in (["--ttl", "1h"], ["--gpu", "any"]):
        result = cli.run(*words, "--memory", "64MiB", "--", "true")
        assert result.rc == 125 and result.stderr.count("\n") == 1, result
        assert words[0] in result.stderr and "is away (its session: s); start aliquotd" in result.stderr, result
    words = daemon.words("--until-empty")
    words[words.index(daemon.state)] = cli.sim.folder / "else"
    refused = cli.sim.run(words, ALIQUOT_SIM=None)
    assert refused.rc == 1 and "session s is another daemon's" in refused.stderr, refused
    (cli.sim.runtime / "daemon").mkdir()  # as if one of a moment had been there
    started = cli.run("--ttl", "1h", "--memory", "64MiB", "--", "true")
    assert started.rc == 125 and "aliquotd does not start; see " in started.stderr, started
    assert "which ends with: " in started.stderr and "session s is another daemon's" in started.stderr, started
    shutil.rmtree(cli.sim.runtime / "daemon")
    daemon.start()
    assert cli("show", "s", "--json").json["weight"] == 300 and cli("rm", "s").rc == 0
    assert cli.run("--ttl", "1h", "--memory", "64MiB", "--", "true").rc == 0


@pytest.mark.needs("other users")
@pytest.mark.parametrize("words", [["gpus", "--json"], ["ps"]], ids=lambda words: words[0])
def test_one_that_hangs_is_waited_for_once_and_not_once_a_session(cli, daemon, words):
    """Of another user's sessions it alone can tell."""
    for name in ("a", "b", "c"):
        daemon.create(name, "64MiB", owner=1234)
    stop(daemon.process.pid)
    result = cli(*words)
    assert result.rc == 0 and result.stderr.count("waiting for it") == 1, result


def test_what_it_alone_knows_is_missed_aloud(cli, daemon):
    """By people; for programs it is null."""
    assert cli("create", "s", "--memory", "64MiB", "--guarantee", "20", "--weight", "300").rc == 0
    assert cli("ls").stderr == cli("show", "s").stderr == ""
    daemon.kill()
    for words in (["ls"], ["show", "s"]):
        result = cli(*words)
        assert result.rc == 0 and result.stderr.count("\n") == 1, result
        assert "no daemon answers" in result.stderr and "guarantee, weight" in result.stderr, result
        told = cli(*words, "--json")
        assert told.stderr == "" and '"weight": null' in told.stdout and '"guarantee_percent": null' in told.stdout, told
    daemon.start()
    assert cli("rm", "s").rc == 0
    daemon.stop()
    assert cli("create", "own", "--memory", "64MiB").rc == 0
    assert cli("ls").stderr == cli("show", "own").stderr == ""  # nobody knows more of that


def test_what_its_sessions_hold_is_not_given_away_a_second_time(cli, daemon, holder):
    """A session of one's own that fits is made, and it is said that nobody counts it."""
    assert cli("create", "s", "--memory", "0=768MiB,1=256MiB").rc == 0
    assert cli("create", "u", "--gpu", "0", "--memory", "128MiB").rc == 0
    daemon.kill()
    for words in (["create", "t", "--memory", "256MiB"], ["create", "t", "--memory", "0=256MiB,1=64MiB"]):
        expect_away(cli(*words), "256 MiB requested on GPU-", "896 MiB is promised to sessions",
                    "not running (s, u)", "start aliquotd")
    refused = cli.run("--gpu", "0", "--memory", "256MiB", "--", holder, 0, MIB)
    assert refused.rc == 125 and "start aliquotd" in refused.stderr, refused
    for words in (["create", "t", "--memory", "128MiB"], ["run", "--gpu", "1", "--memory", "768MiB", "--", "true"]):
        made = cli(*words)
        assert made.rc == 0 and made.stdout == "" and made.stderr.count("\n") == 1, made
        assert "hold 896 MiB of GPU-" in made.stderr and "(s, u)" in made.stderr, made
    own = cli("create", "t", "--memory", "128MiB")
    assert own.rc == 1 and "exists already" in own.stderr, own
    daemon.start()
    assert cli("create", "v", "--gpu", "0", "--memory", "128MiB").stderr == ""


@pytest.mark.parametrize("answer", [CLOSE, (200, "not JSON"), (200, "[1"), HANG],
                         ids=["closes", "no json", "half", "silent"])
def test_a_daemon_that_makes_no_sense_is_away(cli, answer):
    """Nothing is done without it."""
    with FakeDaemon(cli.sim, [answer]):
        expect_away(cli("create", "s", "--memory", "64MiB"), "does not answer",
                    "may still be applied" if answer is HANG else "(")
        assert cli.sessions() == [] and cli("top", "--once").rc == 0
        if answer is not HANG:
            result = cli.run("--memory", "64MiB", "--", "echo", "ran")
            assert result.rc == 125 and result.stdout == "" and "does not answer" in result.stderr, result
            assert cli("ls").rc == 0 and cli.run("--quiet", "--", "true").rc == 0


def test_who_waits_for_a_daemon_says_so_and_gives_up(cli, daemon):
    assert cli("create", "s", "--memory", "64MiB").rc == 0
    stop(daemon.process.pid)
    waiting = cli.start("set", "s", "--memory", "32MiB")
    assert "waiting for it, 10 s at most" in waiting.stderr.readline()
    _, said = waiting.communicate(timeout=HANG_SECONDS)
    assert waiting.returncode == AWAY and "does not answer" in said and said.count("\n") == 1, said
    gave_up = cli.run("--memory", "1MiB", "--", "true")
    assert gave_up.rc == 125 and re.search(r"session run-\w+, if it was made, goes with the next aliquot ls, ps or run after a minute", gave_up.stderr), gave_up
    # One that comes to itself in that time is answered for.
    waiting = cli.start("set", "s", "--memory", "16MiB")
    assert "waiting for it" in waiting.stderr.readline()
    daemon.process.send_signal(signal.SIGCONT)
    assert waiting.wait(HANG_SECONDS) == 0
    assert daemon.session("s")["devices"][0]["memory_bytes"] == 16 * MIB


def test_commands_that_look_for_a_daemon_keep_none_from_starting(cli, daemon):
    """They share its lock for an instant; held for longer it is another daemon's."""
    daemon.stop()
    with open(cli.sim.runtime / "daemon.lock", "r", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        release = threading.Timer(0.1, fcntl.flock, [lock, fcntl.LOCK_UN])
        release.start()
        daemon.start()
        release.join()
    assert cli("create", "s", "--memory", "64MiB").rc == 0 and daemon.names() == ["s"]


def test_one_that_holds_the_folder_and_does_not_listen_is_away(cli):
    with open(cli.sim.runtime / "daemon.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = cli("create", "s", "--memory", "64MiB")
        expect_away(result, "does not listen")
        assert "waiting for it, 5 s at most" in result.stderr, result
    assert cli("create", "s", "--memory", "64MiB").rc == 0


def test_one_that_holds_the_folder_whose_lock_file_was_deleted_is_waited_for(cli):
    folder = os.open(cli.sim.runtime, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    waiting = cli.start("create", "s", "--memory", "64MiB")
    assert "waiting for it" in waiting.stderr.readline()
    os.close(folder)
    assert waiting.wait(HANG_SECONDS) == 0


def test_a_socket_of_a_dead_daemon_is_nobody(cli, daemon):
    daemon.kill()
    assert daemon.socket.exists() and cli("create", "s", "--memory", "64MiB").rc == 0
    assert cli("show", "s", "--json").json["made_by"] == "user"


# -- What it says ----------------------------------------------------------------------------------

SEEN = {"name": "s", "state": "open", "version": 7, "owner": 0, "on_end": "kill", "processes": 0,
        "expires_at": None, "ttl_seconds": None, "context": "charge", "labels": {"a": "b"}, "devices": []}


def test_a_change_that_somebody_was_faster_with_is_made_to_what_there_is_now(cli):
    stale = {"type": "/problems/stale", "status": 412, "detail": "it has been changed since"}
    later = {**SEEN, "version": 8, "labels": {"a": "c", "d": "e"}}
    with FakeDaemon(cli.sim, [(200, SEEN), (412, stale), (200, later)]) as fake:
        assert cli("set", "s", "--label", "x=y").rc == 0
    patches = [heard for heard in fake.heard if heard.method == "PATCH"]
    assert [patch.headers["If-Match"] for patch in patches] == ['"7"', '"8"']
    assert json.loads(patches[-1].body) == {"labels": {"a": "c", "d": "e", "x": "y"}}


def test_one_that_is_never_still_is_given_up(cli):
    stale = {"type": "/problems/stale", "status": 412, "detail": "it has been changed since"}
    with FakeDaemon(cli.sim, [(200, SEEN), (412, stale)] * 50) as fake:
        result = cli("set", "s", "--label", "x=y")
    assert result.rc == 1 and "changed since" in result.stderr and len(fake.heard) == 10, result


@pytest.mark.parametrize("status,problem,words", [
    (400, {"field": "ttl", "detail": "expected a duration"}, ["ttl: expected a duration"]),
    (403, {"detail": "not yours"}, ["not yours"]),
    (429, {"detail": "too many requests"}, ["too many requests"]),
    (503, {"detail": "nothing was changed: disk full"}, ["disk full"]),
    (500, "<html>", ["answered 500"]),
    (400, {"detail": "\x1b[31mred"}, ["?[31mred"]),
], ids=lambda value: str(value)[:20])
def test_a_problem_is_one_line(cli, status, problem, words):
    with FakeDaemon(cli.sim, [(status, problem)]):
        result = cli("create", "s", "--memory", "64MiB")
    assert result.rc == 1 and len(result.stderr.splitlines()) == 1, result
    assert all(word in result.stderr for word in words), result
