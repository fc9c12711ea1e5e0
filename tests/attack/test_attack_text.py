# SPDX-License-Identifier: Apache-2.0
"""What a tenant writes where others read it: labels, the name of its program, names that it asks for."""
import json

import pytest

from daemon import wait_for
from tenant import hidden, needs_root

pytestmark = needs_root

TURNED, ESCAPE, INVISIBLE, TAG = "\u202e", "\x9b2J", "\u200b\u2060\ufeff", "\U000e0041"
LABEL = f"safe{TURNED}{ESCAPE}{INVISIBLE}{TAG}\u00e9"


@pytest.fixture
def labelled(served, tenant):
    daemon = served()
    answer = tenant(daemon).ask("POST", "/v1/sessions", json.dumps({"name": "theirs", "memory": "64MiB", "labels": {"a": LABEL}}))
    assert answer.status == 201, answer
    return daemon


@pytest.mark.parametrize("words", [("ls",), ("ls", "--json"), ("show", "theirs"), ("show", "theirs", "--json"), ("ps",), ("top", "--once"),
                                   ("events", "--since", "0", "--count", "1"), ("events", "--since", "0", "--count", "1", "--json")], ids=" ".join)
def test_a_label_cannot_turn_or_hide_what_root_reads(labelled, words):
    shown = labelled.sim.aliquot(*words)
    assert shown.rc == 0 and not hidden(shown.stdout), shown


def test_what_is_shown_otherwise_is_as_it_was_written(labelled):
    assert "\u00e9" in labelled.sim.aliquot("show", "theirs", LC_ALL="C.UTF-8").stdout
    assert json.loads(labelled.sim.aliquot("show", "theirs", "--json").stdout)["labels"] == {"a": LABEL}


def test_the_log_shows_no_more_than_a_terminal_does(labelled, tenant):
    """Also of what was refused."""
    tenant(labelled).ask("POST", "/v1/sessions", json.dumps({"name": f"x{TURNED}", "memory": f"1{ESCAPE}", "labels": {TURNED: "a"}}))
    wait_for(lambda: "theirs created" in labelled.said(), labelled.said)
    assert not hidden(labelled.said())


def test_a_programs_name_is_shown_without_what_a_terminal_obeys(labelled, tenant, public_folder):
    attacker = tenant(labelled)
    program = public_folder / f"a\x1b[2J{TURNED}"
    program.write_bytes(labelled.sim.build.program("hooks/script").read_bytes())
    program.chmod(0o755)
    process = attacker.start([program], preload=True, ALIQUOT_SESSION="theirs")
    process.stdin.write("init\ncontext 0 0\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(2)] == ["0\n", "0\n"]
    for words in (("ps",), ("ps", "--json"), ("top", "--once"), ("show", "theirs")):
        shown = labelled.sim.aliquot(*words)
        assert shown.rc == 0 and not hidden(shown.stdout), shown
    assert not hidden(labelled.get("/v1/sessions/theirs/processes").text)
