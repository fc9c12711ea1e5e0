# SPDX-License-Identifier: Apache-2.0
"""A session that was seen to use what it does not say: every command that shows it has words for that.

The daemon is one that says so; how the real one finds out is tests/system/test_daemon_watch.py's and
test_compute_claims.py's.
"""
import re

import pytest

from cli import Command
from daemon import Daemon
from fakedaemon import HANG, FakeDaemon

GPU = "GPU-42d2f742-20d1-4256-8ecf-ad092f078235"
CLAMP = {"why": "understated", "since": "2026-11-21T10:00:00.000Z", "until": "2999-11-21T10:00:20.000Z", "times": 2,
         "shown_percent": 80.0, "claimed_percent": 1.0}
SHARE = {"uuid": GPU, "index": 0, "memory_bytes": 1 << 28, "used_bytes": 0, "card_bytes": 1 << 30, "compute_percent": 30,
         "compute_clamped": False}
SESSION = {"name": "s", "state": "open", "version": 7, "owner": 0, "on_end": "kill", "processes": 0, "priority": "normal",
           "weight": 100, "expires_at": None, "ttl_seconds": None, "context": "charge", "labels": {}, "clamped": False,
           "devices": [SHARE]}
OF_TIME = {**SESSION, "devices": [{**SHARE, "compute_clamped": True, "compute_clamp": CLAMP}]}
OF_MEMORY = {**SESSION, "clamped": True}


@pytest.fixture
def cli(sim):
    return Command(sim).that_asks_daemons()


def listed(*sessions):
    return 200, {"sessions": list(sessions)}


@pytest.fixture
def made(cli):
    """A session in the folder that a daemon made, which is then away."""
    daemon = Daemon(cli.sim).start()
    daemon.create("s")
    daemon.stop()
    return cli


@pytest.mark.parametrize("is_there", [True, False], ids=["here", "another's"])
@pytest.mark.parametrize("session, line", [
    (OF_TIME, rf"^clamped    time of {GPU}: it used more than it says; since 2026-\S+, until 2999-\S+ at the earliest$"),
    (OF_MEMORY, "^clamped    no new memory: it was seen to hold some that it does not say$"),
    (SESSION, None),
], ids=["time", "memory", "not at all"])
def test_show_says_why_and_until_when(request, cli, is_there, session, line):
    if is_there:
        request.getfixturevalue("made")
    with FakeDaemon(cli.sim, [(200, session)]):
        shown, json = cli("show", "s"), cli("show", "s", "--json").json
    assert shown.rc == 0 and (re.search(line, shown.stdout, re.MULTILINE) if line else "clamped" not in shown.stdout), shown
    assert json["clamped"] == session["clamped"], json
    device, = json["devices"]
    assert device["compute_clamped"] == (session is OF_TIME), json
    assert device.get("compute_clamp") == (CLAMP if session is OF_TIME else None), json


def test_another_cap_s_word_and_one_that_is_not_known(cli):
    above = {**OF_TIME, "devices": [{**SHARE, "compute_clamped": True, "compute_clamp": {**CLAMP, "why": "above-cap", "until": None}}]}
    with FakeDaemon(cli.sim, [(200, above)]):
        shown = cli("show", "s").stdout
    assert re.search(r"^clamped .*: it used more than its cap allows; since \S+$", shown, re.MULTILINE), shown
    unknown = {**OF_TIME, "devices": [{**SHARE, "compute_clamped": True}]}
    with FakeDaemon(cli.sim, [(200, unknown)]):
        assert "not believed" in cli("show", "s").stdout


def test_ls_marks_it(made):
    with FakeDaemon(made.sim, [listed(OF_TIME)]) as fake:
        assert re.search(r"^s +0 +0 B +256 MiB, clamped$", made("ls").stdout, re.MULTILINE), made("ls")
        assert [session["clamped"] for session in made("ls", "--json").json] == [True]
        assert len(fake.heard) == 2, fake.heard  # one question for all sessions
    with FakeDaemon(made.sim, [listed(SESSION)]):
        assert "clamped" not in made("ls").stdout and [session["clamped"] for session in made("ls", "--json").json] == [False]


def test_half_an_answer_is_none(made):
    status, page = listed(OF_MEMORY)
    with FakeDaemon(made.sim, [(status, {**page, "next": "s"}), (500, {})] * 2) as fake:
        shown, session = made("ls"), made("ls", "--json").json[0]
    assert [heard.path.partition("after=")[2] for heard in fake.heard] == ["", "s"] * 2, fake.heard
    assert re.search(r"^s +0 +0 B +256 MiB$", shown.stdout, re.MULTILINE), shown
    assert session["clamped"] is None and session["weight"] is None, session


def test_ls_does_not_wait_for_that(made):
    with FakeDaemon(made.sim, [HANG]):
        result = made("ls")
        assert [session["clamped"] for session in made("ls", "--json").json] == [None]
    assert result.rc == 0 and re.search(r"^s +0 +0 B +256 MiB$", result.stdout, re.MULTILINE), result


def test_doctor_names_it(cli):
    with FakeDaemon(cli.sim, [(200, {"limits_protection": "mode"}), listed(OF_TIME, {**OF_MEMORY, "name": "t"})]):
        said = cli("doctor").stdout
    assert re.search(r"clamped +2, seen to use what is not said: s, t; aliquot show says why", said), said


def test_top_tells_it(made):
    with FakeDaemon(made.sim, [listed(OF_TIME)]):
        result = made("top", "--once", "--all", "--ascii", f"--sim={made.sim.spec}", sim=False, COLUMNS=120)
    assert re.search(r"^ - s .* clamped$", result.stdout, re.MULTILINE), result
    assert re.search(r"clamped \(understated\) for \d+s at least, accuracy", result.stdout), result
