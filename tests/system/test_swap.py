# SPDX-License-Identifier: Apache-2.0
"""A session that swaps: its memory leaves the card while it is held, and is back before it goes on. The daemon is played
(lib/keeper.py)."""
import random
import select
import time

import pytest

from hang import HANG_SECONDS, IS_SLOW
from keeper import OUT, SWAP, Keeper, wait
from node import finished
from script import INVALID_VALUE, MIB, NOT_INITIALIZED, OUT_OF_MEMORY, Script, replay

CONTEXT = 16 * MIB
LIMIT = 768 * MIB
ROUNDS = 10 if IS_SLOW else 20  # of a story by chance
SIZES = (66, 3, 1, 2)  # five segments: what is written and moved takes most of these stories' time
ALL = sum(SIZES) + 2  # MiB, in whole pages of 2
LARGE, ALL_LARGE = (200, 64, 3, 70), 338  # eight


@pytest.fixture
def keeper(sim):
    return Keeper(sim, LIMIT)


def ready(gpu, keeper):
    """With all that its kernels take; how much it has then."""
    gpu.ready().do("kernels")
    return keeper.used()


def fill(gpu, sizes=SIZES):
    for at, size in enumerate(sizes):
        gpu.do(f"alloc {at} {size * MIB}", f"fill {at} {size * MIB} {at}")


def assert_whole(gpu, sizes=SIZES):
    for at, size in enumerate(sizes):
        assert gpu.values(f"wrong {at} {size * MIB} {at}") == [0]


def answers_within(gpu, seconds):
    return bool(select.select([gpu.process.stdout], [], [], seconds)[0])


def out(keeper, size=ALL * MIB):
    return keeper.give(resident=keeper.used() - size).await_out(size)


def granted(gpu):
    """By the card's own word."""
    return gpu.look().granted


# -- Moving ----------------------------------------------------------------------------------------


def test_every_byte_is_back_when_the_program_goes_on(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready(), LARGE)
        for _ in range(2):
            out(keeper.hold(), ALL_LARGE * MIB)
            keeper.give().await_out(0).open()
            assert_whole(gpu, LARGE)


def test_what_is_out_is_not_on_the_card(sim, keeper):
    """And the ledgers say so, of all of it and of each part."""
    with Script(sim, **keeper.env) as gpu, Script(sim, preload=False) as other:
        other.ready()
        base = ready(gpu, keeper)
        fill(gpu)
        free, _ = other.values("info")
        out(keeper.hold())
        assert keeper.books() == [base + ALL * MIB, ALL * MIB, ALL * MIB]
        assert other.values("info")[0] == free + ALL * MIB
        other.do(f"alloc 0 {free + (ALL - 8) * MIB}")
        keeper.give()
        time.sleep(0.1)
        assert keeper.used(OUT), "it has no room on the card, and is patient"
        other.do("free 0")
        keeper.await_out(0).open()
        assert_whole(gpu)


def test_only_what_is_too_much_leaves_and_only_what_has_room_comes(sim, keeper):
    """In whole segments."""
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready(), LARGE)
        keeper.hold().give(resident=keeper.used() - 100 * MIB)
        wait(lambda: keeper.used(OUT) >= 100 * MIB)
        time.sleep(0.05)
        first = keeper.used(OUT)
        assert 100 * MIB <= first < 164 * MIB
        keeper.give(resident=keeper.used() - first + 70 * MIB)
        wait(lambda: keeper.used(OUT) <= first - 6 * MIB)
        time.sleep(0.05)
        assert first - 70 * MIB <= keeper.used(OUT) < first
        keeper.give().await_out(0).open()
        assert_whole(gpu, LARGE)


def test_a_program_does_not_run_with_memory_missing_whatever_its_gate_says(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready())
        out(keeper.hold())
        keeper.open()
        gpu.send(f"wrong 0 {SIZES[0] * MIB} 0")
        assert not answers_within(gpu, 0.2)
        keeper.give()
        assert gpu.hear() == ["0", "0"] and keeper.used(OUT) == 0
        assert_whole(gpu)


def test_a_gate_that_opens_and_shuts_in_the_middle_of_a_move_loses_nothing(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready(), LARGE)
        for step in range(8):
            keeper.hold().give(resident=CONTEXT)
            time.sleep(0.015 * step)
            keeper.open()
            gpu.send(f"wrong 0 {LARGE[0] * MIB} 0")
            time.sleep(0.005)
            keeper.give()
            assert gpu.hear() == ["0", "0"]
        assert_whole(gpu, LARGE)


def test_who_stands_at_the_gate_says_so(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready())
        assert not keeper.stood_at()
        keeper.hold()
        gpu.send("alloc 10 4096")
        wait(keeper.stood_at)
        first = keeper.stood_at()
        wait(lambda: keeper.stood_at() > first)
        keeper.open()
        assert gpu.hear() == ["0"]


def test_streams_that_are_busy_are_waited_for(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready())
        gpu.do("spin 500000000 on")
        keeper.shut().give(resident=CONTEXT)
        time.sleep(0.1)
        assert keeper.used(OUT) == 0 and keeper.answers() == [0]
        keeper.await_out(ALL * MIB).give().await_out(0).open()
        assert_whole(gpu)


@pytest.mark.parametrize("mode", (0, 2))
def test_a_capture_that_is_open_stays_whole(sim, keeper, mode):
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready())
        gpu.do("stream 1", f"capture 1 {mode}")
        out(keeper.hold())
        keeper.give().await_out(0).open()
        gpu.do("end-capture 1")
        assert_whole(gpu)


def test_each_process_of_a_session_moves_what_is_its_own(sim, keeper):
    with Script(sim, **keeper.env) as gpu, Script(sim, **keeper.env) as other:
        fill(gpu.ready(), (100, 20))
        fill(other.ready(), (100, 50))
        for _ in range(2):
            out(keeper.hold(), 270 * MIB)
            keeper.give(resident=keeper.used() - 100 * MIB)
            wait(lambda: keeper.used(OUT) <= 164 * MIB)
            assert keeper.used() - keeper.used(OUT) <= keeper.used() - 100 * MIB
            keeper.give().await_out(0).open()
            assert_whole(gpu, (100, 20))
            assert_whole(other, (100, 50))


def test_a_process_that_is_new_in_a_held_session_answers(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready())
        out(keeper.hold())
        with Script(sim, **keeper.env) as other:
            other.do("init")
            other.send("context 0 0")
            wait(lambda: len(keeper.answers()) == 2 and keeper.answers()[1] == Keeper.holds, keeper.answers)
            assert not answers_within(other, 0.05)
            keeper.give().await_out(0).open()
            assert other.hear() == ["0"]
        assert_whole(gpu)


def test_memory_comes_back_beside_a_dead_process(sim, keeper):
    """The daemon has no room for what the dead hold, so who moves takes it off the ledger."""
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready())
        alive = keeper.used()
        other = Script(sim, **keeper.env)
        other.ready().do(f"alloc 0 {64 * MIB}")
        out(keeper.hold())
        other.kill()
        keeper.give(resident=alive).await_out(0).open()
        assert_whole(gpu)
        assert keeper.used() == alive


def test_a_program_ends_when_its_memory_is_back(sim, keeper):
    """Its libraries clean up at its exit: they do so in order. It asks for a turn as a thread at the gate does, or an
    idle neighbour would keep the card."""
    gpu = Script(sim, **keeper.env)
    fill(gpu.ready())
    out(keeper.hold())
    assert not keeper.stood_at()
    gpu.process.stdin.close()
    gpu.process.stdin = None
    wait(keeper.stood_at)
    first = keeper.stood_at()
    wait(lambda: keeper.stood_at() > first)
    assert gpu.process.poll() is None
    keeper.give().open()
    assert gpu.process.wait(20) == 0


def test_a_program_that_is_killed_gives_everything_back(sim, keeper):
    """Wherever it was: its session goes on without it."""
    for step in range(6):
        gpu = Script(sim, **keeper.env)
        fill(gpu.ready(), LARGE)
        keeper.hold(dead=step).give(resident=CONTEXT)
        time.sleep(0.012 * step)
        gpu.kill()
        keeper.give().open()
        with Script(sim, **keeper.env) as other:
            free, total = other.ready().values("info")
            assert (free, total) == (LIMIT - CONTEXT, LIMIT)
            other.do(f"alloc 0 {700 * MIB}", "free 0")
            assert keeper.books() == [CONTEXT, 0, 0]


def test_a_child_has_none_of_its_parents_memory(sim, keeper):
    """It is told what it is told without a session: here that a driver is of no use to it. And it ends."""
    with Script(sim, **keeper.env) as gpu:
        base = ready(gpu, keeper)
        fill(gpu)
        bare = replay(sim, ["init", "context 0 0", f"fork {4 * MIB}"], preload=False)[2]
        assert gpu.say(f"fork {4 * MIB}") == [bare]
        out(keeper.hold())
        assert gpu.say(f"fork {4 * MIB}") == [bare]
        keeper.give().await_out(0).open()
        assert_whole(gpu)
        assert keeper.books() == [base + ALL * MIB, 0, ALL * MIB]


@pytest.mark.parametrize("fault", ("cuMemHostAlloc:1:2:3", "cuMemcpyDtoHAsync:1:2:3", "cuEventRecord:1:2:2", "cuMemUnmap:1:1:2"))
def test_what_cannot_leave_stays_and_is_tried_again(sim, keeper, fault):
    with Script(sim.configure(fail=fault), **keeper.env) as gpu:
        fill(gpu.ready())
        out(keeper.hold())
        keeper.give().await_out(0).open()
        assert_whole(gpu)


@pytest.mark.parametrize("fault", ("cuMemCreate:6:2:3", "cuMemMap:6:2:3", "cuMemSetAccess:6:2:3", "cuMemcpyHtoDAsync:1:2:4",
                                   "cuMemcpyHtoDAsync:2:999:2", "cuEventRecord:6:2:3", "cuEventSynchronize:6:2"))
def test_what_cannot_come_back_is_tried_until_it_does(sim, keeper, fault):
    """Five segments in four blocks were made, and left by as many copies."""
    with Script(sim.configure(fail=fault), **keeper.env) as gpu:
        base = ready(gpu, keeper)
        fill(gpu)
        out(keeper.hold())
        keeper.give().await_out(0).open()
        assert_whole(gpu)
        assert keeper.books() == [base + ALL * MIB, 0, ALL * MIB]


def test_a_program_whose_device_is_lost_meanwhile_hears_of_it(sim, keeper):
    """It does not wait for memory that cannot come back."""
    with Script(sim.configure(lost="8s"), **keeper.env) as gpu:
        begun = time.monotonic()
        fill(gpu.ready(), (40,))
        out(keeper.hold(), 40 * MIB)
        time.sleep(max(0, begun + 8.5 - time.monotonic()))
        keeper.give().await_out(0).open()
        assert gpu.code(f"wrong 0 {40 * MIB} 0") != 0


def test_a_context_that_failed_for_good_does_not_hold_its_program(sim, keeper):
    """Its driver copies nothing any more. The program goes on without the bytes, and is told so by the driver."""
    failed = "cuMemcpyHtoDAsync:1:700:1000000,fail=cuStreamQuery:1:700:1000000"
    with Script(sim.configure(fail=failed), **keeper.env) as gpu:
        base = ready(gpu, keeper)
        fill(gpu)
        out(keeper.hold())
        keeper.give().await_out(0).open()
        gpu.send("alloc 10 4096")
        assert answers_within(gpu, 10)
        assert keeper.books()[OUT] == 0 and keeper.used() >= base + ALL * MIB


def test_a_child_that_uses_the_card_itself_answers_holds(sim, keeper):
    """Its parent found the session, and started the helper, before it forked."""
    with Script(sim, **keeper.env) as gpu:
        assert gpu.code("alloc 0 4096") == NOT_INITIALIZED
        gpu.send(f"fork-and-rest {4 * MIB}")
        wait(lambda: keeper.used(SWAP) == 4 * MIB, keeper.books)
        time.sleep(0.1)
        out(keeper.hold(), 4 * MIB)
        keeper.give().await_out(0).open()
        gpu.process.stdin.close()
        gpu.process.stdin = None
        assert gpu.process.wait(20) == 0


# -- Admission -------------------------------------------------------------------------------------


def test_a_request_waits_for_room_on_the_card(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready()
        keeper.give(resident=100 * MIB)
        gpu.send(f"alloc 0 {200 * MIB}")
        wait(lambda: keeper.wish()[0] == CONTEXT + 200 * MIB, keeper.wish)
        first = keeper.wish()[2]
        keeper.answer()
        wait(lambda: keeper.wish()[2] > first)
        assert not answers_within(gpu, 0.1) and keeper.used() == CONTEXT
        keeper.give(resident=300 * MIB)
        assert gpu.hear() == ["0"]
        assert keeper.books() == [CONTEXT + 200 * MIB, 0, 200 * MIB]


def test_who_waits_for_room_does_not_hold_up_a_hold(sim, keeper):
    """Other memory of its program leaves, and is back before it goes on; so is its wish there all the while."""
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready())
        keeper.give(resident=keeper.used())
        gpu.send(f"alloc 10 {200 * MIB}")
        wait(lambda: keeper.wish()[2])
        out(keeper.hold())
        first = keeper.wish()[2]
        wait(lambda: keeper.wish()[2] > first)
        keeper.give()
        assert not answers_within(gpu, 0.05)
        keeper.await_out(0).open()
        assert gpu.hear() == ["0"]
        assert_whole(gpu)


def test_memory_that_stays_is_refused_when_the_answer_is_no(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready()
        keeper.give(pinned=100 * MIB)
        gpu.send(f"managed 0 {200 * MIB}")
        wait(lambda: keeper.wish()[1] == CONTEXT + 200 * MIB, keeper.wish)
        assert not answers_within(gpu, 0.1)
        keeper.answer()
        assert gpu.hear() == [str(OUT_OF_MEMORY)] and keeper.used() == CONTEXT
        gpu.send(f"managed 0 {200 * MIB}")
        time.sleep(0.05)
        keeper.give(pinned=300 * MIB)
        assert gpu.hear() == ["0"]
        assert keeper.books() == [CONTEXT + 200 * MIB, 0, 0]


@pytest.mark.parametrize("line", ("alloc 0 {}", "managed 0 {}", "create 0 {} 0"))
def test_more_than_the_session_may_ever_have_is_refused_at_once(sim, keeper, line):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready()
        keeper.give(most=100 * MIB)
        assert gpu.code(line.format(100 * MIB)) == OUT_OF_MEMORY
        assert not keeper.wish()[2] and keeper.used() == CONTEXT
        gpu.do(line.format(64 * MIB))
        assert gpu.values("info") == [100 * MIB - CONTEXT - 64 * MIB, LIMIT]


def test_a_daemon_that_is_away_is_not_waited_for(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready()
        keeper.give(resident=100 * MIB)
        begun = time.monotonic()
        assert gpu.code(f"alloc 0 {200 * MIB}") == OUT_OF_MEMORY
        assert 4 < time.monotonic() - begun < 15 and keeper.used() == CONTEXT


@pytest.mark.parametrize("line", ("async 0 {} 1", "create 0 {} 0", "pitch 0 65536 {rows}", "array 0 4096 {rows} 0", "context 2 0"))
def test_memory_of_every_kind_waits_for_room(sim, keeper, line):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready().do("stream 1")
        keeper.give(resident=keeper.used() + 8 * MIB)
        gpu.send(line.format(64 * MIB, rows=1024))
        wait(lambda: keeper.wish()[2])
        assert not answers_within(gpu, 0.05)
        keeper.give()
        assert gpu.hear()[0] == "0"
        assert keeper.used(SWAP) == 0


@pytest.mark.parametrize("line", ["context 0 0", "retain 0 0"])
def test_contexts_that_wait_for_room_do_not_hold_up_a_hold(sim, keeper, line):
    """Of the session's first context one process waits for room, the other for its turn to make one."""
    with Script(sim, **keeper.env) as gpu, Script(sim, **keeper.env) as other:
        keeper.give(resident=0)
        gpu.do("init")
        other.do("init")
        gpu.send(line)
        wait(lambda: keeper.wish()[2])
        other.send(line)
        time.sleep(0.05)
        begun = time.monotonic()
        keeper.shut()
        wait(lambda: keeper.answers() == [Keeper.holds] * len(keeper.answers()), keeper.answers)
        assert time.monotonic() - begun < 2
        keeper.give().open()
        assert gpu.hear() == other.hear() == ["0"]


def test_threads_that_import_one_memory_do_not_hold_up_a_hold(sim, keeper):
    """Of several that open it at one moment one charges it, and waits for room; the others wait for that one."""
    keeper.give(resident=CONTEXT + 4 * MIB)
    with sim.start([sim.build.program("hooks/imports"), 1, "external"], preload=True, **keeper.env) as program:
        wait(lambda: keeper.wish()[2])
        time.sleep(0.05)
        keeper.hold().give().open()
        assert program.communicate(timeout=HANG_SECONDS)[0] == "4 0\n" and program.returncode == 0


def test_a_primary_context_waits_without_a_lock(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        keeper.give(resident=0)
        gpu.do("init")
        gpu.send("retain 0 0")
        wait(lambda: keeper.wish()[2])
        keeper.shut()
        wait(lambda: keeper.answers() == [Keeper.holds], keeper.answers)
        keeper.give().open()
        assert gpu.hear() == ["0"]


# -- What a block is -------------------------------------------------------------------------------


def test_which_memory_can_leave(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready()
        for line, swappable in (("alloc 0 1048576", 2), ("alloc 1 1048575", 0), ("alloc 2 3145728", 4), ("managed 3 4194304", 0),
                                ("pitch 4 65536 64", 0), ("create 0 4194304 0", 0)):
            before = keeper.used(SWAP)
            gpu.do(line) if not line.startswith("pitch") else gpu.say(line)
            assert keeper.used(SWAP) - before == swappable * MIB, line
        gpu.do("free 0", "free 1", "free 2", "free 3", "free 4", "release-handle 0")
        assert keeper.books() == [CONTEXT, 0, 0]


WITHOUT_IPC = 2  # an attribute and its answer in a list: the one that such a block lacks


def test_the_program_is_told_what_it_is_told_of_other_memory(sim, keeper):
    lines = ["init 0", "context 0 0", f"alloc 0 {5 * MIB}", "told 0 0", f"told 0 {5 * MIB - 1}", f"alloc 1 {200 * MIB}",
             "told 1 4096", f"told 1 {150 * MIB}", f"as-mapping 0 {6 * MIB} 0", f"as-mapping 1 {64 * MIB} {64 * MIB}",
             "free-within 1 2097152", "stream 1", "free-within-async 1 2097152 1", "free-within 0 4096"]
    bare, told = replay(sim, lines, preload=False), replay(sim, lines, **keeper.env)
    assert [line for line, a, b in zip(lines, bare, told) if a != b and not line.startswith("told")] == []
    for line, a, b in zip(lines, bare, told):
        differ = [(i, x, y) for i, (x, y) in enumerate(zip(a.split(), b.split())) if x != y]
        assert len(differ) in ((0,) if not line.startswith("told") else (0, WITHOUT_IPC)), (line, differ)


def test_a_block_has_a_number_of_its_own_wherever_it_is(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready())
        numbers = [gpu.values(f"number-of {at} 0") for at in range(4)] + [gpu.values("number-of 0 69000000")]
        out(keeper.hold())
        assert [gpu.values(f"number-of {at} 0") for at in range(4)] == numbers[:4], "nobody need wait to be told"
        keeper.give().await_out(0).open()
        assert numbers[4] == numbers[0] and len({number for number, in numbers[:4]}) == 4
        assert [gpu.values(f"number-of {at} 0") for at in range(4)] == numbers[:4]


def test_a_handle_for_other_processes_is_refused(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready().do(f"alloc 0 {4 * MIB}")
        assert gpu.code("ipc-get 0 0") == INVALID_VALUE


def test_a_block_whose_place_others_know_stays_there(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready().do(f"alloc 0 {100 * MIB}", f"alloc 1 {100 * MIB}")
        assert gpu.code(f"tell-place 0 1 {MIB}") == INVALID_VALUE and keeper.used(SWAP) == 200 * MIB
        gpu.do(f"tell-place 0 {70 * MIB} {MIB}")
        assert keeper.books() == [CONTEXT + 200 * MIB, 0, 100 * MIB]
        keeper.hold().give(resident=0).await_out(100 * MIB)
        time.sleep(0.05)
        keeper.give().await_out(0).open()
        gpu.do("free 0", "free 1")
        assert keeper.books() == [CONTEXT, 0, 0]


@pytest.mark.parametrize("ends", (["free 0"], ["thread free 0"], ["free-async 0 1", "sync"], ["destroy 0"]), ids=lambda ends: ends[0])
def test_a_block_is_freed_as_other_memory_is(sim, keeper, ends):
    with Script(sim, **keeper.env) as gpu:
        base = ready(gpu, keeper)
        gpu.do("stream 1", f"alloc 0 {100 * MIB}", f"fill 0 {100 * MIB} 1")
        out(keeper.hold(), 100 * MIB)
        keeper.give().await_out(0).open()
        gpu.do(*ends)
        assert keeper.books() == [0 if ends == ["destroy 0"] else base, 0, 0]
        assert gpu.code("free 0") == (0 if ends != ["destroy 0"] else INVALID_VALUE)


@pytest.mark.parametrize("ends", ("release 0", "reset 0"))
def test_a_block_goes_with_its_primary_context(sim, keeper, ends):
    with Script(sim, **keeper.env) as gpu:
        gpu.do("init", "retain 0 0", f"alloc 0 {100 * MIB}", ends)
        assert keeper.books() == [0, 0, 0]
        gpu.do("retain 0 0", f"alloc 0 {100 * MIB}", f"fill 0 {100 * MIB} 1")
        out(keeper.hold(), 100 * MIB)
        keeper.give().await_out(0).open()
        assert gpu.values(f"wrong 0 {100 * MIB} 1") == [0]


def test_a_free_waits_for_what_uses_the_block(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready().do("gates", "stream 1", f"alloc 0 {100 * MIB}", "gate 1 1")
        gpu.send("thread free 0")
        assert not answers_within(gpu, 0.1) and keeper.used(SWAP) == 100 * MIB
        gpu.process.kill()


def test_a_free_in_the_order_of_a_stream_waits_for_nothing(sim, keeper):
    """The block is there until the stream got there, also across a hold; and it is not freed twice."""
    with Script(sim, **keeper.env) as gpu:
        base = ready(gpu, keeper)
        gpu.do("gates", f"alloc 0 {100 * MIB}", f"alloc 1 {100 * MIB}", "stream 1", "gate 1 1", "free-async 0 1")
        assert keeper.used(SWAP) == 200 * MIB
        gpu.do("open 1")
        keeper.hold().give(resident=CONTEXT)
        wait(lambda: keeper.used(OUT) >= 100 * MIB)
        keeper.give().await_out(0).open()
        gpu.do("sync", f"fill 1 {100 * MIB} 1")
        assert keeper.books() == [base + 100 * MIB, 0, 100 * MIB]


def test_a_free_waits_for_the_end_of_a_hold(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        fill(gpu.ready())
        out(keeper.hold())
        gpu.send("free 0")
        assert not answers_within(gpu, 0.1)
        keeper.give().open()
        assert gpu.hear() == ["0"]
        assert keeper.used(SWAP) == (ALL - SIZES[0]) * MIB


def test_beside_a_capture_blocks_are_plain_and_are_freed(sim, keeper):
    with Script(sim, **keeper.env) as gpu:
        gpu.ready().do("stream 1", "stream 2", f"alloc 0 {10 * MIB}", f"alloc 3 {10 * MIB}", "capture 1 2",
                       f"alloc 1 {10 * MIB}", "free 0", "free-async 3 2", "end-capture 1", "sync 2")
        assert keeper.books() == [CONTEXT + 10 * MIB, 0, 0] or gpu.do("sync") or keeper.books() == [CONTEXT + 10 * MIB, 0, 0]


def test_in_a_capture_that_forbids_it_nothing_is_allocated(sim, keeper):
    lines = ["init", "context 0 0", "stream 1", "capture 1 0", f"alloc 0 {10 * MIB}"]
    assert replay(sim, lines, preload=False) == replay(sim, lines, **keeper.env)


@pytest.mark.parametrize("fault", ("cuMemCreate:2:2", "cuMemMap:2:2", "cuMemSetAccess:1:2", "cuMemAddressReserve:1:2", "cuMemCreate:1:999"))
def test_a_block_that_cannot_be_made_leaves_nothing(sim, keeper, fault):
    with Script(sim.configure(fail=fault + ":500"), **keeper.env) as gpu:
        gpu.ready()
        left = granted(gpu)
        assert gpu.code(f"alloc 0 {200 * MIB}") == int(fault.split(":")[2])
        assert keeper.books() == [CONTEXT, 0, 0] and granted(gpu) == left


@pytest.mark.parametrize("fault", ("cuMemCreate:1:801", "cuMemGetAllocationGranularity:1:801", "cuStreamCreate:1:801"))
def test_a_driver_that_cannot_map_memory_gives_plain_blocks(sim, keeper, fault):
    with Script(sim.configure(fail=fault), **keeper.env) as gpu:
        base = ready(gpu, keeper)
        gpu.do(f"alloc 0 {200 * MIB}", f"fill 0 {200 * MIB} 1")
        assert keeper.books() == [base + 200 * MIB, 0, 0]
        gpu.do("free 0")
        assert keeper.books() == [base, 0, 0]


def test_the_card_that_the_program_sees(sim, keeper):
    """As large as its limit, however much others have of it now."""
    with Script(sim, preload=False) as other, Script(sim, **keeper.env) as gpu:
        other.ready().do(f"alloc 0 {600 * MIB}")
        gpu.ready().do(f"alloc 0 {100 * MIB}")
        assert gpu.values("info") == [LIMIT - CONTEXT - 100 * MIB, LIMIT]
        keeper.give(most=400 * MIB)
        assert gpu.values("info") == [300 * MIB - CONTEXT, LIMIT]


def test_what_is_out_is_not_taken_for_the_drivers_own(sim, keeper):
    """NVML shows less while memory is out: that is no remainder, and what the driver takes by itself stays charged."""
    with Script(sim.configure(grants="real"), **keeper.env) as gpu:
        fill(gpu.ready())
        gpu.values("info")
        before = keeper.books()
        for _ in range(3):
            out(keeper.hold())
            gpu.do("sync")
            keeper.give().await_out(0).open()
            gpu.do("sync")
            gpu.values("info")
            assert keeper.books() == before


# -- By chance -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_programs_that_never_rest_keep_every_byte(sim, keeper, seed):
    """Two of several threads each, while the session is held and let go, its memory out in part or whole, its room short at
    times."""
    chance = random.Random(seed)
    programs = [sim.start([sim.build.program("hooks/swapped"), 3, 10 * seed + i, 40], preload=True, **keeper.env) for i in range(2)]
    for program in programs:
        assert program.stdout.readline() == "ready\n"
    for _ in range(ROUNDS):
        time.sleep(chance.random() * 0.05)
        if chance.random() < 0.3:
            keeper.give(resident=int(keeper.used() * (0.5 + chance.random())), pinned=LIMIT)
            time.sleep(chance.random() * 0.05)
        keeper.hold()
        for _ in range(chance.randrange(4)):
            keeper.give(resident=int(keeper.used() * chance.random()))
            time.sleep(chance.random() * 0.05)
        if chance.random() < 0.2:
            keeper.open()
        keeper.give().await_out(0).open()
    keeper.give()
    told = [finished(program) for program in programs]
    assert all(one["looks"] > 10 and one["wrong"] == 0 for one in told), told
    assert keeper.used(OUT) == 0


# -- With a daemon ---------------------------------------------------------------------------------


def test_sessions_that_do_not_fit_together_take_turns(sim, daemon):
    """Three of two thirds of a card each: all get on, and every byte is right."""
    kernels = {"BYTES_KERNELS": sim.build.program("hooks/bytes_kernels.so")}
    for name in "abc":
        daemon.create(name, memory="700MiB", swap=True, gpus=["0"])
    programs = [sim.start([sim.build.program("hooks/swapped"), 2, seed, 80], preload=True, ALIQUOT_SESSION=name, **kernels)
                for seed, name in enumerate("abc")]
    for program in programs:
        assert program.stdout.readline() == "ready\n"
    while sum(daemon.session(name)["swap"]["holds"] for name in "abc") < 2:
        time.sleep(0.1)
    for program in programs:
        program.stdin.close()
        program.stdin = None
    told = [finished(program, daemon.said) for program in programs]
    assert all(one["looks"] > 1 and one["wrong"] == 0 for one in told), told
