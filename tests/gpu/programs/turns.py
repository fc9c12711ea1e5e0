# SPDX-License-Identifier: Apache-2.0
"""A program that has most of a card and works in rounds, each when it is told to: for sessions that take turns.

    turns.py work BYTES SECONDS SEED    blocks of BYTES together; a round is what it does in SECONDS the first time
    turns.py link                       what the link does with pinned memory, each way, in bytes a second

Each chunk of a block holds a word of its own that was written last, by whichever call, and every byte is compared with
it at the end of a round. Nothing is managed memory: it says how many blocks the driver calls so.
"""
import ctypes
import random
import sys
import time
from ctypes import byref, c_uint, c_uint64, c_void_p

from contracts_swap import COPY
from driver import MIB, Driver
from said import hold, say, uvm_bytes

CHUNK, SHARES = 4 * MIB, (4, 2, 1, 1, 1)
PAGE_LESS = 4096  # of the last block: not a whole number of pages
IN_FLIGHT, CALM_ROUNDS = 32, 3
IS_MANAGED = 8
LINK_BYTES, LINK_ROUNDS = 256 * MIB, 5
compare = ctypes.CDLL(None).memcmp
compare.argtypes = [c_void_p, c_void_p, ctypes.c_size_t]


class Memory:
    def __init__(self, gpu, size, rng):
        self.gpu, self.rng, self.wrong = gpu, rng, 0
        self.host = c_void_p()
        gpu.call("cuMemHostAlloc", byref(self.host), CHUNK, 0)
        self.copy = gpu.function(gpu.module(COPY), b"copy_words")
        self.sizes = [size * share // sum(SHARES) for share in SHARES]
        self.sizes[-1] -= PAGE_LESS
        self.words = {}  # of each chunk: (its block's number, where it is there)
        self.blocks = [None] * len(self.sizes)
        for number in range(len(self.sizes)):
            self.take(number)

    def take(self, number):
        """Writes the whole block anew."""
        self.blocks[number] = self.gpu.alloc(self.sizes[number])
        for at in range(0, self.sizes[number], CHUNK):
            self.write((number, at))

    def place(self, chunk):
        number, at = chunk
        return self.blocks[number] + at, min(CHUNK, self.sizes[number] - at)

    def write(self, chunk):
        at, size = self.place(chunk)
        self.words[chunk] = self.rng.randrange(1 << 32)
        self.gpu.call("cuMemsetD32Async", at, c_uint(self.words[chunk]), size // 4, None)

    def write_from_host(self, chunk):
        at, size = self.place(chunk)
        self.words[chunk] = self.rng.randrange(1 << 32)
        self.gpu.call("cuMemcpyHtoD_v2", at, self.words[chunk].to_bytes(4, "little") * (size // 4), size)

    def move(self, to, source, is_by_kernel):
        (at, size), (place, there) = self.place(to), self.place(source)
        if size != there:
            return
        self.words[to] = self.words[source]
        if not is_by_kernel:
            self.gpu.call("cuMemcpyDtoDAsync_v2", at, place, size, None)
        elif self.gpu.launch(self.copy, c_uint64(at), c_uint64(place), c_uint(size // 4), blocks=size // 1024, threads=256):
            self.wrong += 1

    def check(self, chunk):
        at, size = self.place(chunk)
        self.gpu.call("cuMemcpyDtoH_v2", self.host, at, size)
        first, host = c_uint.from_address(self.host.value).value, self.host.value
        self.wrong += first != self.words[chunk] or compare(host, host + 4, size - 4) != 0

    def check_all(self):
        for chunk in self.words:
            self.check(chunk)

    def step(self, number):
        chunks = list(self.words)
        chunk, other = self.rng.sample(chunks, 2)
        way = number % 16
        if way == 0:
            self.check(chunk)
        elif way == 1:
            self.write_from_host(chunk)
        elif way < 6:
            self.write(chunk)
        else:
            self.move(chunk, other, way < 11)
        if number % IN_FLIGHT == 0:
            self.gpu.sync()

    def replace_last(self):
        """Its block is freed and had anew, while others want the room."""
        number = len(self.sizes) - 1
        self.gpu.free(self.blocks[number])
        self.take(number)

    def managed(self):
        told = 0
        for block in self.blocks:
            value = c_uint()
            self.gpu.call("cuPointerGetAttribute", byref(value), IS_MANAGED, block)
            told += value.value & 1
        return told


def work(size, seconds, seed):
    gpu, rng = Driver().ready(), random.Random(int(seed))
    gpu.free(gpu.alloc(MIB))
    hold("ready", uvm=uvm_bytes())
    began = time.perf_counter()
    memory = Memory(gpu, int(size), rng)
    gpu.sync()
    say("filled", seconds=time.perf_counter() - began)
    steps, rounds, told = None, 0, True
    while told:
        began = time.perf_counter()
        memory.check((0, 0))  # waits until it has the card
        say("begins", waited=time.perf_counter() - began)
        if rounds > CALM_ROUNDS:
            memory.replace_last()
        number = 0
        while number != steps if steps else time.perf_counter() - began < float(seconds):
            number += 1
            memory.step(number)
        gpu.sync()
        steps = steps or number
        memory.check_all()
        rounds += 1
        say("round", hold=True, number=rounds, steps=steps, seconds=time.perf_counter() - began, wrong=memory.wrong,
            managed=memory.managed(), uvm=uvm_bytes())
        told = sys.stdin.readline()
    memory.check_all()
    say("end", rounds=rounds, wrong=memory.wrong)


def link():
    gpu, host = Driver().ready(), c_void_p()
    gpu.call("cuMemHostAlloc", byref(host), LINK_BYTES, 0)
    block, rates = gpu.alloc(LINK_BYTES), {}
    for way, ends in (("DtoH", (host, block)), ("HtoD", (block, host))):
        times = []
        for _ in range(LINK_ROUNDS):
            began = time.perf_counter()
            gpu.call(f"cuMemcpy{way}_v2", *ends, LINK_BYTES)
            times.append(time.perf_counter() - began)
        rates[way] = LINK_BYTES / min(times)
    say("link", **rates)


if __name__ == "__main__":
    {"work": work, "link": link}[sys.argv[1]](*sys.argv[2:])
