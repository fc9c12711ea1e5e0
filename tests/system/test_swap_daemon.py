# SPDX-License-Identifier: Apache-2.0
"""Sessions that swap (docs/swap.md), as a daemon makes, admits, shows and keeps them."""
import fcntl
import mmap
import os
import re
import shutil
import struct
import time

import pytest

from daemon import wait_for
from script import GIB, MIB, SUCCESS, Script

CARD = GIB  # of each of the two
DEVICE_AT, DEVICE_BYTES, ROOM_AT, GATE_AT = 1344, 128, 88, 1280
VERSION_AT, PLAIN_VERSION, SWAP_VERSION = 8, 3, 4  # PAGE_VERSION, PAGE_VERSION_SWAP
CONTEXT_FREE, SWAPS = 1, 2
UNLIMITED = 2**64 - 1


class Page:
    """What `limits` says (docs/page-layout.md)."""

    def __init__(self, sim, name="s"):
        page = (sim.runtime / "sessions" / name / "limits").read_bytes()
        self.version, = struct.unpack_from("<I", page, VERSION_AT)
        self.flags, = struct.unpack_from("<I", page, 36)
        self.gate, = struct.unpack_from("<I", page, GATE_AT)
        self.rows, self.room = [], []
        for at in range(DEVICE_AT, DEVICE_AT + 16 * DEVICE_BYTES, DEVICE_BYTES):
            uuid, limit, card = struct.unpack_from("<16s2Q", page, at)
            if any(uuid):
                self.rows.append((uuid, limit, card))
                self.room.append(struct.unpack_from("<3Q", page, at + ROOM_AT))


SLOTS_HIGH_AT, LEDGER_AT, METER_AT, SLOT_AT, ROW_AT = 64, 128, 1152, 3200, 3200 + 4096 * 64
WANTED_AT, WISHED_AT, DRAINED_GATE_AT = 32, 88, 56
F_OFD_SETLK, LIVE, NEVER_LIVE = 37, fcntl.F_WRLCK, fcntl.F_UNLCK
GPU, HOST, SWAP = range(3)


class Player:
    """A program's library, as far as the daemon sees it: what it writes into `slots`."""

    def __init__(self, sim, name, slot=0):
        self.sim, self.name, self.slot = sim, name, slot
        self.fd = os.open(sim.runtime / "sessions" / name / "slots", os.O_RDWR)
        self.page = mmap.mmap(self.fd, 0)
        self.lock(LIVE)
        high, = struct.unpack_from("<I", self.page, SLOTS_HIGH_AT)
        struct.pack_into("<I", self.page, SLOTS_HIGH_AT, max(high, slot + 1))

    def lock(self, kind):
        fcntl.fcntl(self.fd, F_OFD_SETLK, struct.pack("<hh4xqqi4x", kind, os.SEEK_SET, 2 * self.slot, 1, 0))

    def die(self):
        """Its charges stay."""
        self.lock(NEVER_LIVE)

    def hold(self, gpu=None, host=None, swap=None):
        """So much in all, of that in the host, of that fit to leave the card."""
        for row, held in ((GPU, gpu), (HOST, host), (SWAP, swap)):
            if held is None:
                continue
            own = ROW_AT + (self.slot * 16 + row) * 64
            before, = struct.unpack_from("<Q", self.page, own + 16)
            used, = struct.unpack_from("<Q", self.page, LEDGER_AT + row * 64)
            struct.pack_into("<2Q", self.page, own + 16, held, held)  # both charges: whatever was committed last
            struct.pack_into("<Q", self.page, LEDGER_AT + row * 64, used + held - before)

    def wish(self, resident, pinned=0):
        struct.pack_into("<3Q", self.page, METER_AT + WISHED_AT, resident, pinned, time.monotonic_ns())

    def answer(self):
        """It has drained, for the hold that its page tells of."""
        struct.pack_into("<I", self.page, SLOT_AT + self.slot * 64 + DRAINED_GATE_AT, self.limits().gate)

    def holds(self, row):
        return struct.unpack_from("<Q", self.page, ROW_AT + (self.slot * 16 + row) * 64 + 16)[0]

    def play(self):
        """Answers a hold, and moves out what it is told to, and in what it may."""
        page = self.limits()
        if not page.gate:
            return
        self.answer()
        used, out, room = self.holds(GPU), self.holds(HOST), page.room[GPU][0]
        wanted = min(max(used - room, 0), self.holds(SWAP))
        if wanted != out and self.limits().gate == page.gate:
            self.hold(host=wanted)

    def want(self):
        """A thread waits."""
        struct.pack_into("<Q", self.page, METER_AT + WANTED_AT, time.monotonic_ns())

    def limits(self):
        return Page(self.sim, self.name)

    def resident(self):
        return self.limits().room[GPU][0]

    def wait(self, what, each=lambda: None):
        def looks():
            each()
            return what(self.limits())
        wait_for(looks)


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
    assert page.room[0][1] >= 256 * MIB, "what it may have at most is known at once"
    assert told["swap"] is not None and told["host"] == {"limit_bytes": 256 * MIB, "used_bytes": 0}
    assert len(told["devices"]) == 1


def test_a_library_from_before_swap_refuses_its_pages(daemon, sim):
    """By their version, which is not that of other sessions: these go on with such programs (docs/decisions/012)."""
    swap(daemon)
    daemon.create("plain", "256MiB")
    assert Page(sim).version == SWAP_VERSION and Page(sim, "plain").version == PLAIN_VERSION
    for name, version in (("s", SWAP_VERSION), ("plain", PLAIN_VERSION)):
        slots = (sim.runtime / "sessions" / name / "slots").open("rb").read(16)
        assert struct.unpack_from("<I", slots, VERSION_AT) == (version,)


def test_pages_that_swap_without_saying_so_in_their_version_are_put_aside(daemon, sim):
    swap(daemon)
    daemon.kill()
    for name in ("limits", "slots"):
        with open(sim.runtime / "sessions/s" / name, "r+b") as file:
            file.seek(VERSION_AT)
            file.write(struct.pack("<I", PLAIN_VERSION))
    (sim.runtime / "sessions/s/socket").unlink()
    with Script(sim, ALIQUOT_SESSION="s") as gpu:
        assert gpu.code("init") != SUCCESS
    assert "version is 3 in a session that swaps" in gpu.process.stderr.read()
    daemon.start()
    assert "a folder named s was not its session's; it is kept as" in daemon.said()
    assert Page(sim).version == SWAP_VERSION


def test_a_program_that_waits_in_a_held_session_without_a_daemon_says_so(daemon, sim):
    """Nobody can bring its memory in: it would seem to hang. It goes on when a daemon is back."""
    swap(daemon)
    kernels = sim.build.program("hooks/bytes_kernels.so")
    with Script(sim, ALIQUOT_SESSION="s", BYTES_KERNELS=kernels) as gpu:
        gpu.ready().do("kernels", f"alloc 1 {MIB}")
        daemon.kill()
        with open(sim.runtime / "sessions/s/limits", "r+b") as file:
            file.seek(GATE_AT)
            file.write(struct.pack("<I", 1))
        gpu.send(f"fill 1 {MIB} 1")
        said = gpu.process.stderr.readline()
        assert "session s has no turn of memory, and its daemon has ended" in said, said
        daemon.start()
        assert gpu.hear()[0] == "0"


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
    (["--swap=maybe", "--gpu", "0"], "yes or no"),
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


# -- Turns -----------------------------------------------------------------------------------------


@pytest.fixture
def players(daemon, sim):
    """Two sessions that fit on the card one at a time; the first one has its memory there, and is idle."""
    for name in "ab":
        swap(daemon, name, "768MiB")
    first, second = Player(sim, "a"), Player(sim, "b")
    first.wait(lambda page: page.room[GPU][0] >= 700 * MIB, lambda: first.wish(700 * MIB))
    first.hold(gpu=700 * MIB, swap=690 * MIB)
    return first, second


def let_in(second, *others):
    """It is given its memory, which it fills."""
    def each():
        second.wish(600 * MIB)
        second.play()
        for other in others:
            other.play()
    second.wait(lambda page: page.room[GPU][0] >= 600 * MIB and page.gate == 0, each)
    second.hold(gpu=600 * MIB, swap=600 * MIB)


def test_who_waits_gets_the_room_of_who_is_idle(daemon, players, cli):
    """The whole way: a gate shuts, its session drains and moves out, the other one comes in; and back."""
    first, second = players
    let_in(second, first)
    assert first.limits().gate
    told = daemon.session("a")["swap"]
    out = told["out_bytes"]
    assert out >= 276 * MIB and told["resident_bytes"] == 700 * MIB - out and told["pinned_bytes"] == 10 * MIB, told
    assert told["state"] == "held" and told["holds"] == 1 and told["held_seconds"] > 0, told
    wait_for(lambda: daemon.session("a")["swap"]["moved_bytes"] == out)
    assert daemon.session("a")["host"] == {"limit_bytes": 768 * MIB, "used_bytes": out}
    assert 0 < told["hold_seconds"] <= told["held_seconds"], told
    shown = cli("show", "a").stdout
    assert re.search(rf"on the card, {out // MIB} MiB in the host; held for \d+s; 1 hold, \d+s in all$", shown, re.MULTILINE), shown
    assert re.search(r"^a .* 768 MiB, swaps, held \d+s$", cli("ls").stdout, re.MULTILINE), cli("ls")
    other = daemon.session("b")["swap"]
    assert other["state"] != "runs" or other["hold_seconds"] == 0, other
    assert re.search(r"^b .* swaps(, held \d+s)?$", cli("ls").stdout, re.MULTILINE), (other, cli("ls"))
    assert "a 768 MiB swaps, b " in cli("gpus").stdout, cli("gpus")
    # And back: the second one is idle.
    first.wait(lambda page: page.gate == 0, lambda: (first.want(), first.play(), second.play()))
    assert first.holds(HOST) == 0 and second.holds(HOST) >= 276 * MIB and second.limits().gate


def test_nobody_comes_in_before_the_bytes_have_left(daemon, players):
    first, second = players
    def waits():
        second.wish(600 * MIB)
        second.play()
    first.wait(lambda page: page.gate != 0, waits)
    assert second.resident() <= 324 * MIB
    first.answer()
    first.wait(lambda page: page.room[GPU][0] <= 424 * MIB, waits)
    for _ in range(20):
        waits()
        time.sleep(0.005)
        assert second.resident() <= 324 * MIB, "the first one was told to move, and has not"
    let_in(second, first)


def test_a_process_that_does_not_answer_is_told_of(daemon, players, cli):
    first, second = players
    def waits():
        second.wish(600 * MIB)
        second.play()
    wait_for(lambda: waits() or daemon.session("a")["swap"]["state"] == "stuck")
    first.wait(lambda page: page.gate == 0)
    assert re.search(r"; stuck( for \d+s)?; \d+ holds?, \d+s in all", cli("show", "a").stdout)
    wait_for(lambda: "swap.stuck" in daemon.said())
    event = next(event for event in daemon.events() if event["type"] == "swap.stuck")
    assert event["session"] == "a"


def test_what_a_dead_process_held_is_on_no_card(daemon, sim, players):
    """It gives nothing back itself, and nobody of its session is there to do it."""
    first, second = players
    Player(sim, "a", slot=70).die()
    first.die()
    let_in(second)
    first.wait(lambda page: page.gate == 0)


def test_who_is_dead_holds_nobody_up(daemon, sim, players):
    """Nor who had a slot and never answered; and it takes more than one look to see all slots."""
    first, second = players
    for slot in (3, 70, 130):
        Player(sim, "a", slot=slot).die()
    let_in(second, first)


def test_a_second_process_has_to_answer_too(daemon, sim, players):
    first, second = players
    other = Player(sim, "a", slot=130)
    def waits():
        second.wish(600 * MIB)
        second.play()
        first.play()
    wait_for(lambda: waits() or daemon.session("a")["swap"]["state"] == "stuck")
    assert first.holds(HOST) == 0, "nothing moves while one has not drained"
    let_in(second, first, other)


def test_a_daemon_that_starts_again_keeps_a_session_held(daemon, players):
    """Its memory is out. The next daemon brings it in when it has room."""
    first, second = players
    let_in(second, first)
    gate = first.limits().gate
    assert daemon.stop() == 0
    assert first.limits().gate == gate != 0 and second.limits().gate == 0
    daemon.start()
    wait_for(lambda: daemon.session("a")["swap"]["state"] == "held")
    assert first.limits().gate == gate
    second.die()
    first.wait(lambda page: page.gate == 0, lambda: (first.want(), first.play()))
    assert first.holds(HOST) == 0


def test_a_session_that_ends_has_its_turns_still(daemon, players):
    """Its programs keep what they have, and need it."""
    first, second = players
    let_in(second, first)
    assert daemon.delete("/v1/sessions/a?force=true").status == 202
    assert daemon.session("a")["state"] == "ending"
    assert [row[1] for row in first.limits().rows] == [1, 768 * MIB, UNLIMITED], "nothing new, but it may be moved"
    second.die()
    first.wait(lambda page: page.gate == 0, lambda: (first.want(), first.play()))
    assert first.holds(HOST) == 0


def test_plain_sessions_take_from_what_all_that_swap_have(daemon, sim):
    swap(daemon, "a", "512MiB")
    first = Player(sim, "a")
    first.wait(lambda page: page.room[GPU][1] == CARD)
    daemon.create("plain", "256MiB", gpus=["0"])
    first.wait(lambda page: page.room[GPU][1] == CARD - 256 * MIB)
    assert daemon.delete("/v1/sessions/plain").status == 204
    first.wait(lambda page: page.room[GPU][1] == CARD)


@pytest.mark.parametrize("memory", ("64MiB", "1GiB"))
def test_a_claim_of_pinned_memory_leaves_others_most_of_the_card(daemon, sim, memory):
    """A ledger is believed up to what its session was admitted with, and up to a quarter of the card."""
    for name, size in (("liar", memory), ("honest", "1GiB")):
        swap(daemon, name, size)
    liar, honest = Player(sim, "liar"), Player(sim, "honest")
    liar.hold(gpu=CARD)
    honest.hold(gpu=16 * MIB)
    honest.wait(lambda page: 0 < page.room[GPU][1] < CARD)
    claimed = 64 * MIB if memory == "64MiB" else CARD // 4
    time.sleep(0.3)
    assert honest.limits().room[GPU][1] > CARD - claimed - 96 * MIB, honest.limits().room


def test_a_block_that_is_being_charged_takes_nothing_from_others(daemon, sim):
    """It is charged to two rows, one after the other, and its process may be stopped in between."""
    for name in "ab":
        swap(daemon, name, "1GiB")
    first, second = Player(sim, "a"), Player(sim, "b")
    for player in (first, second):
        player.hold(gpu=16 * MIB)
    second.wait(lambda page: 0 < page.room[GPU][1] < CARD)
    time.sleep(0.3)
    before = second.limits().room[GPU][1]
    for _ in range(5):
        first.hold(gpu=700 * MIB)
        least = min(before if time.sleep(0.002) else second.limits().room[GPU][1] for _ in range(15))
        first.hold(swap=684 * MIB)
        assert least >= before - 32 * MIB, (least, before)
        first.hold(swap=0)
        first.hold(gpu=16 * MIB)
        time.sleep(0.08)  # it is looked at each 20 ms


def test_the_metrics_of_turns(daemon, sim):
    daemon.reload("[metrics]\nsessions = yes\n")
    swap(daemon, "a")
    daemon.create("plain", "64MiB")
    wait_for(lambda: daemon.session("a")["swap"]["state"] == "runs")
    names = {series.partition("{")[0] for series in daemon.metrics() if series.startswith("aliquot_swap_")}
    assert len(names) == 7 and not any("plain" in series for series in daemon.metrics() if "_swap_" in series)


@pytest.mark.parametrize("damage", ("cut", "zero", "ones"))
def test_a_page_of_nonsense_harms_its_own_session_alone(daemon, sim, damage):
    for name in "ab":
        swap(daemon, name, "768MiB")
    second = Player(sim, "b")
    path = sim.runtime / "sessions" / "a" / "slots"
    if damage == "cut":
        os.truncate(path, 100)
    else:
        with open(path, "r+b") as file:
            file.write((b"\0" if damage == "zero" else b"\xff") * 300000)
    if damage != "ones":
        second.wait(lambda page: page.room[GPU][0] >= 600 * MIB, lambda: second.wish(600 * MIB))
    wait_for(lambda: daemon.session("b")["swap"]["state"] in ("runs", "drains", "held"))
    assert daemon.is_up()


def test_whether_a_session_swaps_is_said_when_it_is_made_and_not_later(daemon, cli):
    daemon.create("a", memory="64MiB", swap=True, gpus=["0"])
    daemon.create("b", memory="64MiB", gpus=["0"])
    refused = cli("run", "--session", "a", "--swap=no", "--", "true")
    assert refused.rc == 125 and "--swap=no: session a swaps" in refused.stderr, refused
    for words in (["--session", "a"], ["--session", "a", "--swap"], ["--session", "b", "--swap=no"]):
        assert cli("run", *words, "--", "true").rc == 0, words
    assert cli("run", "--session", "a", "--", "true", ALIQUOT_SWAP="no").rc == 0  # a variable that is off asks for nothing
    fixed = cli("set", "a", "--swap")
    assert fixed.rc == 2 and "fixed when the session is made" in fixed.stderr, fixed
    assert "--swap[" not in cli("set", "--help", sim=False).stdout and "--swap[" in cli("run", "--help", sim=False).stdout
