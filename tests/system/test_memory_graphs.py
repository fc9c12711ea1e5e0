# SPDX-License-Identifier: Apache-2.0
"""Blocks that outlive the graph which made them: charged until they are freed, whoever frees them.

A block without a free node stays in use after its graph is over, so the card's graph memory may not
be promised to the next graph once more.
"""
import pytest

from script import MIB, OUT_OF_MEMORY, Script

LIMIT = 256 * MIB
BLOCK = 60 * MIB
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
