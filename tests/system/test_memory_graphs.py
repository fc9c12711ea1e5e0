# SPDX-License-Identifier: Apache-2.0
"""Memory of graphs: the charge is what the driver has reserved for them, whatever runs and whoever waits.

The driver takes it when a graph is launched or uploaded. Graphs of one stream share it; a block without a free
node stays in use after its graph is over, until it is freed, whoever frees it.
"""
import time

import pytest

from hang import HANG_SECONDS
from script import MIB, OUT_OF_MEMORY, SUCCESS, Script

NOT_READY = 600
LIMIT = 256 * MIB
CONTEXT = 16 * MIB  # of the simulated card
BLOCK = 60 * MIB
BIG = 96 * MIB  # three of the driver's steps; twice fits, three times does not
AUTO_FREE = 1  # CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH


def take(gpu, index, wait="sync 0"):
    """The answer to the launch of a new graph that leaves a block behind."""
    gpu.do(f"graph-block {index} {index} {BLOCK}")
    answer = gpu.code(f"launch {index} 0")
    gpu.do(wait)
    return answer


@pytest.mark.parametrize("wait", ("sync 0", "sync", "info"))
def test_blocks_of_graphs_are_charged_while_they_live(sim, wait):
    """A2: the fourth block of 60 MiB is over 256 MiB, whatever was waited for between them."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready()
        answers = [take(gpu, i, wait) for i in range(1, 9)]
        assert answers == [0, 0, 0] + 5 * [OUT_OF_MEMORY]
        gpu.do("sync 0")
        books = gpu.look()
        assert books.high <= LIMIT
        assert books.charged == books.granted


def test_a_block_that_stays_is_not_the_next_graph_s_too(sim):
    """Though graphs of one stream share what they free: it was never there for the next one."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert take(gpu.ready(), 1) == 0
        gpu.do(f"alloc 40 {144 * MIB}")
        assert take(gpu, 2) == OUT_OF_MEMORY
        assert gpu.look().high <= LIMIT


def test_a_graph_that_frees_other_blocks_than_its_own_keeps_its_own(sim):
    """Though as many, and with addresses of the same sum: a program can see to that by the sizes that it asks for."""
    small, large = 2 * MIB, 80 * MIB
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("stream 1", "graph-new 1", "graph-new 2")
        for graph, (a, b, c, d) in ((3, (10, 11, 12, 13)), (4, (20, 21, 22, 23))):
            gpu.do(f"graph-new {graph}", f"graph-alloc 1 {a} {small}", f"graph-alloc 2 9 {large - small}",
                   f"graph-alloc {graph} {b} {large}", f"graph-alloc {graph} {c} {large}", f"graph-alloc 1 {d} {small}",
                   f"graph-free {graph} {a}", f"graph-free {graph} {d}")
            assert gpu.values(f"sums-equal {a} {d} {b} {c}") == [1], "otherwise this story shows nothing"
        gpu.do("graph-make 1 1", "launch 1 1", "sync 1", "graph-make 3 3", "launch 3 1", "sync 1", "graph-make 4 4")
        assert gpu.code("launch 4 1") == OUT_OF_MEMORY
        assert gpu.look().high <= LIMIT


@pytest.mark.parametrize("free", (["free {i}"], ["free-async {i} 0", "sync 0"]))
def test_a_freed_block_makes_room(sim, free):
    """What was freed outside of the graph is there for the next one, beside a block that stays."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert take(gpu.ready(), 1) == 0
        for i in range(2, 32):
            assert take(gpu, i) == 0
            gpu.do(*(line.format(i=i) for line in free))
        books = gpu.look()
        assert books.charged == books.granted
        assert books.high <= LIMIT


def test_a_graph_that_frees_its_last_run_runs_for_ever(sim):
    """A graph holds its blocks once: the next launch of it needs no more room."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"graph-block 1 1 {150 * MIB} {AUTO_FREE}")
        for _ in range(10):
            gpu.do("launch 1 0", "sync 0")
        assert take(gpu, 2) == 0
        assert take(gpu, 3) == OUT_OF_MEMORY
        gpu.do("launch 1 0", "sync 0")
        assert gpu.look().high <= LIMIT


def test_a_graph_that_frees_runs_for_ever(sim):
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"graph 1 {200 * MIB} 0")
        for _ in range(30):
            gpu.do("launch 1 0", "sync 0")
        for i in range(2, 32):
            gpu.do(f"graph {i} {200 * MIB} 0", f"launch {i} 0", "sync 0")
        assert gpu.look().high <= LIMIT


def test_graphs_that_free_beside_a_block_that_stays(sim):
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert take(gpu.ready(), 1) == 0
        gpu.do(f"graph 2 {100 * MIB} 0", f"graph 3 {200 * MIB} 0")
        for _ in range(30):
            gpu.do("launch 2 0", "sync 0")
            assert gpu.code("launch 3 0") == OUT_OF_MEMORY
        gpu.do("free 1", "launch 3 0", "sync 0")
        assert gpu.look().high <= LIMIT


def ask(gpu, line):
    """Asks the driver until it says that all is over; the answers in between are `not ready`."""
    until = time.monotonic() + HANG_SECONDS
    while (answer := gpu.code(line)) != SUCCESS:
        assert answer == NOT_READY and time.monotonic() < until
        time.sleep(0.001)


def launch(gpu, index, stream, bytes_=BIG):
    """The answer to the launch of a new graph that frees what it takes."""
    gpu.do(f"graph {index} {bytes_} 0")
    return gpu.code(f"launch {index} {stream}")


def check(gpu):
    """No more than the limit was ever granted, and no more is granted than is charged."""
    books = gpu.look()
    assert books.granted <= books.charged
    assert books.high <= LIMIT


@pytest.mark.parametrize("after_launch, wait, after_wait", (
    ("pid", "wait-event {i}", "pid"),
    ("pid", "ask-event {i}", "pid"),
    ("pid", "ask-stream {i}", "pid"),
    ("end-stream {i}", "wait-event {i}", "pid"),
    ("end-stream {i}", "ask-event {i}", "end-graph {i}"),
    ("end-graph {i}", "ask-event {i}", "pid"),
    ("end-graph {i}", "ask-stream {i}", "end-stream {i}"),
))
def test_graphs_in_ever_new_streams_run_for_ever(sim, after_launch, wait, after_wait):
    """What is reserved for one that is over is there for the next, though nobody waits for the context."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready()
        for i in range(1, 25):
            gpu.do(f"stream {i}", f"event {i}")
            assert launch(gpu, i, i) == SUCCESS, i
            gpu.do(f"record {i} {i}")
            gpu.say(after_launch.format(i=i))
            ask(gpu, wait.format(i=i))
            gpu.say(after_wait.format(i=i))
            check(gpu)
        gpu.do("sync")
        books = gpu.look()
        assert books.charged == books.granted


def test_other_memory_has_the_room_of_graphs_that_are_over(sim):
    """A plain allocation is refused only for what still runs."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("stream 1", "stream 2", "event 1", "event 2")
        for i in (1, 2):
            assert launch(gpu, i, i) == SUCCESS
            gpu.do(f"record {i} {i}")
        for i in (1, 2):
            ask(gpu, f"ask-event {i}")
        gpu.do(f"alloc 1 {140 * MIB}")
        check(gpu)


def test_blocks_that_stay_are_charged_whatever_stream_they_are_of(sim):
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready()
        for i in range(1, 9):
            gpu.do(f"stream {i}", f"event {i}", f"graph-block {i} {i} {BLOCK}")
            assert gpu.code(f"launch {i} {i}") == (SUCCESS if i < 4 else OUT_OF_MEMORY)
            gpu.do(f"record {i} {i}")
            ask(gpu, f"ask-event {i}")
            check(gpu)
        gpu.do("free 2")
        assert launch(gpu, 9, 1, BLOCK) == SUCCESS
        gpu.do("sync")
        check(gpu)


def test_what_runs_stays_charged_and_is_not_waited_for(sim):
    """The memory of a graph that cannot be over is not given back; a launch beside it that does not fit
    is refused at once, since what it would wait for waits for this very program."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("gates", "stream 1", "stream 2", "event 1", "event 2", "gate 1 1")
        assert launch(gpu, 1, 1) == SUCCESS
        gpu.do("record 1 1")
        for i in range(2, 12):
            assert launch(gpu, i, 2) == SUCCESS
            gpu.do("record 2 2")
            ask(gpu, "ask-event 2")
            check(gpu)
        assert launch(gpu, 20, 2, 200 * MIB) == OUT_OF_MEMORY
        assert gpu.code("ask-event 1") == NOT_READY
        gpu.do("open 1")
        ask(gpu, "ask-event 1")
        gpu.do("launch 20 2", "sync")
        check(gpu)


def test_a_destroyed_graph_that_runs_stays_charged(sim):
    """Its handle may be the next graph's at once."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("gates", "stream 1", "stream 2", "event 1", "event 2", "gate 1 1")
        assert launch(gpu, 1, 1) == SUCCESS
        gpu.do("record 1 1", "end-graph 1", "end-stream 1")
        for _ in range(5):
            assert launch(gpu, 1, 2) == SUCCESS
            gpu.do("record 2 2", "end-graph 1")
            ask(gpu, "ask-event 2")
            assert launch(gpu, 2, 2, 200 * MIB) == OUT_OF_MEMORY
            gpu.do("end-graph 2")
            check(gpu)
        gpu.do("open 1")
        ask(gpu, "ask-event 1")
        assert launch(gpu, 2, 2, 200 * MIB) == SUCCESS
        gpu.do("sync")
        check(gpu)


def test_graphs_that_were_destroyed_leave_nothing_behind(sim):
    """However many there were, launched or not, waited for or not: the next ones are looked after."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("stream 1", "event 1")
        for i in range(4500):
            gpu.do(f"graph 1 {MIB} 0", *(["launch 1 1", "sync"] if i < 4200 else []), "end-graph 1")
        for i in range(2, 8):
            assert launch(gpu, i, 1, 200 * MIB) == SUCCESS
            gpu.do("record 1 1")
            ask(gpu, "ask-event 1")
        check(gpu)


def test_the_last_run_of_a_graph_counts(sim):
    """A graph that was over and runs again has its memory again."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("gates", "stream 1", "stream 2", "event 1", "event 2")
        assert launch(gpu, 1, 1) == SUCCESS
        gpu.do("record 1 1")
        ask(gpu, "ask-event 1")
        assert launch(gpu, 2, 2, 200 * MIB) == SUCCESS
        gpu.do("record 2 2")
        ask(gpu, "ask-event 2")
        gpu.do("gate 1 1", "launch 1 1", "record 1 1")
        assert gpu.code("launch 2 2") == OUT_OF_MEMORY
        gpu.do("open 1")
        ask(gpu, "ask-event 1")
        gpu.do("launch 2 2", "sync")
        check(gpu)


def test_an_upload_is_charged_when_it_is_made(sim):
    """It has the memory for the launch, which needs no more."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("gates", "stream 1", "stream 2", "event 1", f"graph 1 {BIG}", "gate 1 1", "upload 1 1")
        assert gpu.look()[:2] == (CONTEXT + BIG, CONTEXT + BIG)
        gpu.do("launch 1 1")
        assert gpu.look()[:2] == (CONTEXT + BIG, CONTEXT + BIG)
        assert launch(gpu, 2, 2, 200 * MIB) == OUT_OF_MEMORY
        gpu.do("open 1", "sync 1", "launch 2 2", "sync")
        check(gpu)


def test_graphs_of_one_stream_share_and_those_of_several_do_not(sim):
    """As the driver has it: the limit leaves room for one of them, or for two streams' worth."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("gates", "stream 1", "stream 2", "stream 3", "gate 1 1", "gate 2 2", "gate 3 3")
        for i in (1, 2, 3, 4):
            assert launch(gpu, i, 1) == SUCCESS
            assert gpu.look()[:2] == (CONTEXT + BIG, CONTEXT + BIG), "no more than what is reserved is charged"
        assert launch(gpu, 5, 2) == SUCCESS
        assert gpu.look()[:2] == (CONTEXT + 2 * BIG, CONTEXT + 2 * BIG)
        assert launch(gpu, 6, 3) == OUT_OF_MEMORY
        gpu.do("open 1", "open 2", "open 3", "sync")
        check(gpu)


def test_a_capture_goes_on_while_it_is_asked_what_is_reserved(sim):
    """Neither a launch beside a capture nor the question before a refusal is seen by it."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("stream 1", "stream 2", "stream 3", "event 1", f"graph 2 {200 * MIB}")
        assert launch(gpu, 1, 1) == SUCCESS
        gpu.do("record 1 1")
        ask(gpu, "ask-event 1")
        gpu.do("capture 3", "launch 2 2", "end-capture 3", "sync")
        check(gpu)


def test_a_launch_into_a_capture_costs_nothing(sim):
    """A graph with memory cannot become part of another: the driver's answer is the program's."""
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("stream 1", f"graph 1 {BIG} 0", "capture 1")
        before = gpu.look()
        assert gpu.code("launch 1 1") not in (SUCCESS, OUT_OF_MEMORY)
        assert gpu.look() == before


@pytest.mark.parametrize("make, end", (("context 2 0", "destroy 2"), ("retain 2 0", "release 0"),
                                       ("retain 2 0", "reset 0")))
def test_a_context_takes_its_graphs_along(sim, make, end):
    """What they had is there for the next one."""
    with Script(sim, ALIQUOT_MEMORY="512MiB", ALIQUOT_CONTEXT="free") as gpu:
        gpu.ready().do(make, "stream 2")
        for i in (1, 2, 3, 4):
            assert launch(gpu, i, 2) == SUCCESS
        gpu.do(end, "current 0")
        assert launch(gpu, 5, 0, 400 * MIB) == SUCCESS
        gpu.do("sync")
        assert gpu.look().high <= 512 * MIB


def test_a_graph_may_run_in_one_context_after_the_other(sim):
    """Its memory is the card's, whatever context it runs in."""
    with Script(sim, ALIQUOT_MEMORY="256MiB", ALIQUOT_CONTEXT="free") as gpu:
        gpu.ready().do("stream 1", f"graph 1 {BIG}", "context 2 0", "stream 2", "event 2")
        for _ in range(3):
            gpu.do("launch 1 1", "launch 1 2", "record 2 2")
            ask(gpu, "ask-event 2")
            assert launch(gpu, 2, 2, 200 * MIB) == SUCCESS
            gpu.do("record 2 2")
            ask(gpu, "ask-event 2")
        books = gpu.look()
        assert books.charged >= books.granted - 2 * CONTEXT


def test_a_graph_of_another_stream_needs_room_of_its_own(sim):
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("gates", "stream 1", "stream 2", f"alloc 1 {BIG}", "gate 1 1")
        assert launch(gpu, 1, 1) == launch(gpu, 2, 1) == SUCCESS
        assert launch(gpu, 3, 2) == OUT_OF_MEMORY
        gpu.do("open 1", "sync 1", "launch 3 2", "sync")
        check(gpu)


def test_where_the_driver_shares_nothing_what_it_took_is_charged(sim):
    """Beyond the limit, if it must be: then nothing more is granted until it was given back."""
    sim.configure(graphs_share="off")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do("gates", "stream 1", "gate 1 1")
        for i in (1, 2):
            assert launch(gpu, i, 1, 128 * MIB) == SUCCESS
        assert gpu.look()[:2] == (CONTEXT + LIMIT, CONTEXT + LIMIT)
        assert launch(gpu, 3, 1, 128 * MIB) == OUT_OF_MEMORY
        assert gpu.code("alloc 1 1") == OUT_OF_MEMORY
        gpu.do("open 1", "sync 1", f"alloc 1 {200 * MIB}")


@pytest.mark.parametrize("seed", (1, 2))
def test_threads_that_only_ask_never_exceed_the_limit(sim, seed):
    """Graphs, streams and contexts end while others are asked about; all of it is given back."""
    result = sim.run([sim.build.program("hooks/graphs"), 6, 300, seed], preload=True,
                     ALIQUOT_MEMORY="256MiB")
    assert result.rc == 0, result
    charged, granted, high = map(int, result.stdout.split())
    assert charged == granted
    assert high <= LIMIT
