# SPDX-License-Identifier: Apache-2.0
"""Sessions that swap (docs/swap.md), as a daemon makes, admits, shows and keeps them."""
import shutil
import struct

import pytest

from script import GIB, MIB

CARD = GIB  # of each of the two
DEVICE_AT, DEVICE_BYTES, ROOM_AT, GATE_AT = 1344, 128, 88, 1280
CONTEXT_FREE, SWAPS = 1, 2
UNLIMITED = 2**64 - 1


class Page:
    """What `limits` says (docs/page-layout.md)."""

    def __init__(self, sim, name="s"):
        page = (sim.runtime / "sessions" / name / "limits").read_bytes()
        self.flags, = struct.unpack_from("<I", page, 36)
        self.gate, = struct.unpack_from("<I", page, GATE_AT)
        self.rows, self.room = [], []
        for at in range(DEVICE_AT, DEVICE_AT + 16 * DEVICE_BYTES, DEVICE_BYTES):
            uuid, limit, card = struct.unpack_from("<16s2Q", page, at)
            if any(uuid):
                self.rows.append((uuid, limit, card))
                self.room.append(struct.unpack_from("<3Q", page, at + ROOM_AT))


def device(daemon):
    return daemon.get("/v1/devices").json["devices"][0]


def swap(daemon, name="s", memory="256MiB", **fields):
    return daemon.create(name, memory, gpus=["0"], swap=True, **fields)


# -- The words -------------------------------------------------------------------------------------


def test_its_page_has_a_gpu_and_two_rows_that_stand_for_no_card(daemon, sim):
    told = swap(daemon)
    page = Page(sim)
    assert page.flags == SWAPS and page.gate == 0
    assert [row[1] for row in page.rows] == [256 * MIB, 256 * MIB, UNLIMITED]
    assert [row[0] for row in page.rows[1:]] == [b"aliquot host mem", b"aliquot swap mem"]
    assert page.room[0][1] == 256 * MIB, "what it may have at most is known at once"
    assert told["swap"] is not None and told["host"] == {"limit_bytes": 256 * MIB, "used_bytes": 0}
    assert len(told["devices"]) == 1


def test_without_a_size_it_is_what_one_session_may_have_of_the_card(daemon, sim):
    daemon.reload("[admission]\nreserve = 64MiB\n")
    answer = daemon.post("/v1/sessions", {"name": "s", "swap": True})
    assert answer.status == 201, answer
    assert answer.json["devices"][0]["memory_bytes"] == CARD - 64 * MIB == Page(sim).rows[0][1]


def test_the_command_makes_joins_and_shows_it(daemon, cli):
    assert cli("run", "--session", "s", "--gpu", "0", "--swap", "--", "true").rc == 0
    told = daemon.session("s")
    assert told["devices"][0]["memory_bytes"] == CARD and told["swap"] is not None
    assert cli("run", "--session", "s", "--gpu", "0", "--swap", "--", "true").rc == 0, "the same again"
    for words in (["--swap", "--memory", "256MiB"], ["--memory", "1GiB"]):
        joined = cli("run", "--session", "s", "--gpu", "0", *words, "--", "true")
        assert joined.rc == 125 and "swap=yes" in joined.stderr and "other limits" in joined.stderr, joined
    shown = cli("show", "s")
    assert "swap       " in shown.stdout and "in place of" not in shown.stdout, shown
    seen = cli("show", "s", "--json").json
    assert seen["swap"] == told["swap"] and seen["host"] == told["host"]
    assert cli("create", "t", "--gpu", "1", "--memory", "25%", "--swap", ALIQUOT_SWAP="no").rc == 0
    assert daemon.session("t")["host"]["limit_bytes"] == CARD // 4
    assert cli("run", "--gpu", "1", "--memory", "64MiB", "--swap=no", "--", "true", ALIQUOT_SWAP="true").rc == 0
    changed = cli("set", "s", "--swap")
    assert changed.rc != 0 and "--swap: fixed when the session is made" in changed.stderr, changed


def test_run_starts_a_daemon_for_it(cli, build):
    """As for whatever a daemon alone can do."""
    if not (build.folder / "src/daemon/aliquotd").exists():
        pytest.skip("aliquotd was not built here: libevent, SQLite, jansson or inih is missing")
    result = cli("run", "--gpu", "0", "--swap", "--", "sh", "-c", f"{build.aliquot} show $ALIQUOT_SESSION --json")
    assert result.rc == 0 and result.json["made_by"] == "daemon" and result.json["swap"]["out_bytes"] == 0, result


@pytest.mark.parametrize("words, why", (
    (["--swap", "--oversubscribe", "--gpu", "0", "--memory", "64MiB"], "ALIQUOT_OVERSUBSCRIBE"),
    (["--swap", "--memory", "64MiB"], "one GPU"),
    (["--swap"], "one GPU"),
    (["--swap", "--gpu", "any=2"], "one GPU"),
    (["--swap=maybe", "--gpu", "0"], "true or false"),
))
def test_the_command_refuses_what_cannot_swap(daemon, cli, words, why):
    result = cli("run", *words, "--", "true")
    assert result.rc == 125 and "--swap" in result.stderr and why in result.stderr, result


def test_an_environment_has_no_such_word(sim):
    """A program with it alone could ask no daemon (test_settings.py)."""
    printed = sim.aliquot("env", "--swap", "--memory", "64MiB")
    assert printed.rc != 0 and "--swap: a program with this environment alone" in printed.stderr, printed


@pytest.mark.parametrize("fields, field", (
    ({"swap": "yes"}, "swap"),
    ({"swap": None}, "swap"),
    ({"swap": True, "oversubscribe": "64MiB"}, "swap"),
    ({"swap": True, "memory": {"0": "64MiB", "1": "64MiB"}}, "swap"),
    ({"swap": True, "gpus": {"count": 2}}, "swap"),
    ({"memory": ...}, "memory"),
    ({"memory": ..., "swap": False}, "memory"),
))
def test_the_api_refuses_what_cannot_swap(daemon, fields, field):
    body = {"name": "s", "memory": "64MiB", **fields}
    answer = daemon.post("/v1/sessions", {key: value for key, value in body.items() if value is not ...})
    assert answer.status == 400 and answer.json["field"] == field, answer
    assert daemon.session("s") is None


def test_it_is_fixed(daemon):
    swap(daemon)
    assert daemon.patch("/v1/sessions/s", {"swap": False}).status == 400


def test_others_have_none(daemon, cli):
    told = daemon.create("s", gpus=["0"])
    assert told["swap"] is None and cli("show", "s", "--json").json["swap"] is None
    assert "swap " not in cli("show", "s").stdout


# -- Admission -------------------------------------------------------------------------------------


def test_sessions_that_swap_count_as_the_largest_of_them(daemon, cli):
    for name, memory in (("a", "600MiB"), ("b", "768MiB"), ("c", "768MiB")):
        swap(daemon, name, memory)
    told = device(daemon)
    assert told["promised_bytes"] == 768 * MIB and told["room_bytes"] == 256 * MIB
    assert [value for key, value in daemon.metrics().items() if "promised" in key and told["uuid"] in key] == [768 * MIB]
    assert "768 MiB" in cli("gpus").stdout
    refused = daemon.post("/v1/sessions", {"name": "plain", "memory": "300MiB", "gpus": ["0"]})
    assert refused.status == 409 and refused.json["free_bytes"] == 256 * MIB, refused
    daemon.create("plain", "256MiB", gpus=["0"])
    refused = daemon.post("/v1/sessions", {"name": "d", "memory": "800MiB", "gpus": ["0"], "swap": True})
    assert refused.status == 409 and refused.json["free_bytes"] == 768 * MIB, refused
    swap(daemon, "d", "768MiB")


def test_a_change_of_its_memory_is_admitted_alike(daemon, sim):
    swap(daemon, "s", "256MiB")
    swap(daemon, "other", "512MiB")
    daemon.create("plain", "512MiB", gpus=["0"])
    assert daemon.patch("/v1/sessions/s", {"memory": "600MiB"}).status == 409
    assert daemon.patch("/v1/sessions/s", {"memory": "512MiB"}).status == 200
    assert [row[1] for row in Page(sim).rows] == [512 * MIB, 512 * MIB, UNLIMITED]
    assert daemon.patch("/v1/sessions/s", {"memory": "128MiB"}).status == 200
    assert [row[1] for row in Page(sim).rows] == [128 * MIB, 512 * MIB, UNLIMITED], "what is out stays out"


def test_a_command_counts_them_so_while_the_daemon_is_away(daemon, cli):
    swap(daemon, "a", "600MiB")
    swap(daemon, "b", "768MiB")
    daemon.kill()
    made = cli("run", "--gpu", "0", "--memory", "256MiB", "--", "true")
    assert made.rc == 0 and "768 MiB" in made.stderr, made
    refused = cli("run", "--gpu", "0", "--memory", "300MiB", "--", "true")
    assert refused.rc == 125 and "768 MiB is promised" in refused.stderr, refused


# -- A daemon that starts again --------------------------------------------------------------------


@pytest.mark.parametrize("keeps", ("database", "folders"))
def test_a_daemon_that_starts_again_knows_of_it(daemon, sim, keeps):
    """Also where it has nothing but the sessions' folders."""
    swap(daemon, "s", "768MiB")
    swap(daemon, "t", "768MiB")
    daemon.kill()
    if keeps == "folders":
        shutil.rmtree(daemon.state)
    daemon.start()
    assert daemon.session("s")["swap"] is not None
    assert device(daemon)["promised_bytes"] == 768 * MIB
    assert Page(sim).flags == SWAPS and len(Page(sim).rows) == 3
