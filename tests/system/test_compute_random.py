# SPDX-License-Identifier: Apache-2.0
"""A program cannot tell by its results that it shares the GPU (docs/compute.md).

Random sequences of calls (programs/compute/sequence.c says of which kinds), in one thread and in several: each
call answers what it answers without Aliquot, and memory is the same at the end. In real time, so that threads race.

ALIQUOT_SEEDS says which sequences each story plays, as "3-11". A failure names the seed; by hand, with the node's environment:
tests/programs/compute/sequence SEED CALLS THREADS.
"""
import os

import pytest

from daemon import Daemon

FIRST, LAST = map(int, os.environ.get("ALIQUOT_SEEDS", "0-2").split("-"))
SEEDS = range(FIRST, LAST + 1)
CALLS = 500
THREADS = (1, 4)


@pytest.fixture
def play(sim):
    """The answers of a sequence, line by line."""
    sim.configure(memory="2GiB")

    def play(seed, threads, **how):
        result = sim.run([sim.build.program("compute/sequence"), seed, CALLS, threads], **how)
        assert result.rc == 0, (seed, CALLS, threads, how, result.stderr)
        return result.stdout.splitlines()
    return play


def assert_equal(bare, shared, *what):
    """In few words: there are thousands of lines."""
    different = [lines for lines in zip(bare, shared) if lines[0] != lines[1]]
    assert not different and len(bare) == len(shared), (what, len(different), different[:3])


def test_the_same_seed_gives_the_same_answers(play):
    """Of the program itself: its calls are ordered wherever that matters."""
    for threads in THREADS:
        assert_equal(play(1, threads), play(1, threads), threads)
    assert play(1, 1) != play(2, 1)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("seed", SEEDS)
def test_limits_change_no_answer(play, seed, threads):
    bare = play(seed, threads)
    for limits in ({}, {"ALIQUOT_MEMORY": "512MiB"}, {"ALIQUOT_MEMORY": "512MiB", "ALIQUOT_COMPUTE": "50"}):
        assert_equal(bare, play(seed, threads, preload=True, **limits), seed, threads, limits)


@pytest.mark.parametrize("terms", ({}, {"compute": 40}, {"priority": "rt"}), ids=("free", "capped", "rt"))
def test_turns_change_no_answer(play, sim, terms):
    """Beside a session that always wants the device."""
    daemon = Daemon(sim).start()
    for name, own in (("own", terms), ("other", {})):
        daemon.create(name, "512MiB", **own)
    sim.start([sim.build.program("compute/load"), "kind=kernel", "ns=200000", "seconds=100000"], preload=True,
              ALIQUOT_SESSION="other")
    for seed in SEEDS:
        for threads in THREADS:
            assert_equal(play(seed, threads), play(seed, threads, preload=True, ALIQUOT_SESSION="own"), seed, threads, terms)
