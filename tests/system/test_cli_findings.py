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
REPORT = {"since": "2026-11-21T10:00:00.000Z", "why": "understated", "shown_percent": 80.0, "claimed_percent": 1.0}
SHARE = {"uuid": GPU, "index": 0, "memory_bytes": 1 << 28, "used_bytes": 0, "card_bytes": 1 << 30, "compute_percent": 30,
         "compute_reported": False}
SESSION = {"name": "s", "state": "open", "version": 7, "owner": 0, "on_end": "kill", "processes": 0, "priority": "normal",
           "weight": 100, "expires_at": None, "ttl_seconds": None, "context": "charge", "labels": {}, "clamped": False,
           "devices": [SHARE]}
OF_TIME = {**SESSION, "devices": [{**SHARE, "compute_reported": True, "compute_report": REPORT}]}
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
    (OF_TIME, rf"^reported   time of {GPU}: it uses more than it says; since 2026-\S+$"),
    (OF_MEMORY, "^clamped    no new memory: the driver shows more memory than its ledger accounts for$"),
    (SESSION, None),
], ids=["time", "memory", "not at all"])
def test_show_says_what_was_seen(request, cli, is_there, session, line):
    if is_there:
        request.getfixturevalue("made")
    with FakeDaemon(cli.sim, [(200, session)]):
        shown, json = cli("show", "s"), cli("show", "s", "--json").json
    assert shown.rc == 0, shown
    assert re.search(line, shown.stdout, re.MULTILINE) if line else not re.search("clamped|reported", shown.stdout), shown
    assert json["clamped"] == session["clamped"], json
    device, = json["devices"]
    assert device["compute_reported"] == (session is OF_TIME), json
    assert device.get("compute_report") == (REPORT if session is OF_TIME else None), json


def test_another_cap_s_word_and_one_that_is_not_known(cli):
    above = {**OF_TIME, "devices": [{**SHARE, "compute_reported": True, "compute_report": {**REPORT, "why": "above-cap"}}]}
    with FakeDaemon(cli.sim, [(200, above)]):
        shown = cli("show", "s").stdout
    assert re.search(r"^reported .*: it uses more than its cap allows; since \S+$", shown, re.MULTILINE), shown
    unknown = {**OF_TIME, "devices": [{**SHARE, "compute_reported": True}]}
    with FakeDaemon(cli.sim, [(200, unknown)]):
        assert "for no known reason" in cli("show", "s").stdout


@pytest.mark.parametrize("session, word", ((OF_TIME, "reported"), (OF_MEMORY, "clamped")))
def test_ls_marks_it(made, session, word):
    with FakeDaemon(made.sim, [listed(session)]) as fake:
        assert re.search(rf"^s +0 +0 B +256 MiB, {word}$", made("ls").stdout, re.MULTILINE), made("ls")
        told, = made("ls", "--json").json
        assert {key: told[key] for key in ("clamped", "reported")} == {"clamped": False, "reported": False, word: True}, told
        assert len(fake.heard) == 2, fake.heard  # one question for all sessions
    with FakeDaemon(made.sim, [listed(SESSION)]):
        assert word not in made("ls").stdout and [session[word] for session in made("ls", "--json").json] == [False]


def test_half_an_answer_is_none(made):
    status, page = listed(OF_MEMORY)
    with FakeDaemon(made.sim, [(status, {**page, "next": "s"}), (500, {})] * 2) as fake:
        shown, session = made("ls"), made("ls", "--json").json[0]
    assert [heard.path.partition("after=")[2] for heard in fake.heard] == ["", "s"] * 2, fake.heard
    assert re.search(r"^s +0 +0 B +256 MiB$", shown.stdout, re.MULTILINE), shown
    assert session["clamped"] is session["reported"] is session["weight"] is None, session


def test_ls_does_not_wait_for_that(made):
    with FakeDaemon(made.sim, [HANG]):
        result = made("ls")
        assert [session["clamped"] for session in made("ls", "--json").json] == [None]
    assert result.rc == 0 and re.search(r"^s +0 +0 B +256 MiB$", result.stdout, re.MULTILINE), result


def test_doctor_names_it(cli):
    with FakeDaemon(cli.sim, [(200, {"limits_protection": "mode"}), listed({**OF_MEMORY, "name": "t"}), listed(OF_TIME)]) as fake:
        said = cli("doctor").stdout
    assert re.search(r"clamped +sessions that use more than they report or may use: 1 \(t\); aliquot show says why", said), said
    assert re.search(r"reported +sessions that use more than they report or may use: 1 \(s\); aliquot show says why", said), said
    assert ["clamped=true" in heard.path for heard in fake.heard[1:]] == [True, False], fake.heard
    assert "reported=true" in fake.heard[2].path, fake.heard


def test_top_tells_it(made):
    with FakeDaemon(made.sim, [listed(OF_TIME)]):
        result = made("top", "--once", "--all", "--ascii", f"--sim={made.sim.spec}", sim=False, COLUMNS=120)
    assert re.search(r"^ - s .* reported$", result.stdout, re.MULTILINE), result
    assert "reported (understated), accuracy" in result.stdout, result
