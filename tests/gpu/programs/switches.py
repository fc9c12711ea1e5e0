# SPDX-License-Identifier: Apache-2.0
"""What it costs the card to go from one process to another. It is run without Aliquot.

    switches.py IMAGE STEPS ROUNDS

Two processes launch kernels of so many steps in turns, ROUNDS each. For each way to take turns this says,
in ns, the *gaps* between kernels that follow each other, by the card's clock, and how long the host
*waited* for a kernel beyond the kernel's own length:

    alone     one process, each kernel when the one before has been waited for
    turns     each when that of the other process has been waited for: no scheduler is faster
    rested    the same, when the card has had nothing to do for a millisecond
    queued    each while that of the other process runs
"""
import ctypes
import itertools
import mmap
import multiprocessing
import os
import pathlib
import statistics
import sys
import time
from ctypes import c_uint64

from driver import Driver
from said import say

HEAD, ENTRY = 16, 24  # bytes of a log (stamps.ptx)
REST_SECONDS, RUNS_SECONDS = 1e-3, 30e-6
WARM = 20
WAYS = ("turns", "rested", "queued")


class Player:
    """One of the processes: its kernels write down when they ran."""
    def __init__(self, image, steps, rounds):
        self.gpu, self.rounds = Driver().ready(), rounds + WARM
        self.work = self.gpu.function(self.gpu.module(image), b"stamped_work")
        self.stream, self.log = self.gpu.stream(), self.gpu.alloc(HEAD + ENTRY * self.rounds)
        self.parameters = c_uint64(steps), c_uint64(self.log)

    def play(self, before=lambda at: None, launched=lambda at: None, after=lambda at: None):
        """[begin, end, waited] of each kernel but the first ones."""
        self.gpu.call("cuMemcpyHtoD_v2", self.log, (c_uint64 * 2)(0, self.rounds), HEAD)
        waited = []
        for at in range(self.rounds):
            before(at)
            began = time.perf_counter_ns()
            self.gpu.launch(self.work, *self.parameters, stream=self.stream)
            launched(at)
            self.gpu.call("cuStreamSynchronize", self.stream)
            waited.append(time.perf_counter_ns() - began)
            after(at)
        words = (c_uint64 * (ENTRY // 8 * self.rounds))()
        self.gpu.call("cuMemcpyDtoH_v2", words, self.log + HEAD, ctypes.sizeof(words))
        return list(zip(words[0::3], words[1::3], waited))[WARM:]


class Turns:
    """Of two processes, counted in a word of memory that both have."""
    def __init__(self, word, who):
        self.word, self.who = word, who

    def wait(self, at):
        self.reach(2 * at + self.who)

    def reach(self, turn):
        while self.word.value < turn:
            os.sched_yield()

    def pass_on(self, at):
        self.word.value = 2 * at + self.who + 1


def play_in_turns(player, turns, way):
    def wait(at):
        turns.wait(at)
        if way != "turns":
            time.sleep(REST_SECONDS if way == "rested" else RUNS_SECONDS)

    passing = {"launched" if way == "queued" else "after": turns.pass_on}
    kernels = player.play(before=wait, **passing)
    turns.reach(2 * player.rounds)  # both are over before the next way begins
    return kernels


def act(who, words, arguments, found):
    player = Player(*arguments)
    told = {"alone": player.play()} if who == 0 else {}
    for way, word in zip(WAYS, words):  # the other waits meanwhile: its first turn is the second one
        told[way] = play_in_turns(player, Turns(word, who), way)
    found.put(told)


def tell(way, kernels):
    gaps = [after[0] - before[1] for before, after in itertools.pairwise(sorted(kernels))]
    say("way", way=way, length=statistics.median(end - begin for begin, end, _ in kernels), gaps=gaps,
        waited=[waited - (end - begin) for begin, end, waited in kernels])


def main():
    image, steps, rounds = sys.argv[1:]
    arguments = pathlib.Path(image).read_bytes(), int(steps), int(rounds)
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    words = [c_uint64.from_buffer(shared, 64 * at) for at in range(len(WAYS))]
    fork = multiprocessing.get_context("fork")
    found = [fork.SimpleQueue() for _ in range(2)]
    actors = [fork.Process(target=act, args=(who, words, arguments, found[who])) for who in range(2)]
    for actor in actors:
        actor.start()
    told = [queue.get() for queue in found]
    for actor in actors:
        actor.join()
    tell("alone", told[0]["alone"])
    for way in WAYS:
        tell(way, told[0][way] + told[1][way])


main()
