# SPDX-License-Identifier: Apache-2.0
"""Plays the daemon for a session that swaps (programs/hooks/swapping.c): writes its pages, and
reads its programs' part of them. Offsets: docs/page-layout.md.

    keeper = Keeper(sim, 512 * MIB)             # session "s", which may have all of it
    with Script(sim, **keeper.env) as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        keeper.hold()                           # shuts the gate, and all have answered
        keeper.give(resident=0)
        keeper.await_out(100 * MIB)
        keeper.give().open()                    # everything back, then the gate
"""
import ctypes
import mmap
import os
import time

from hang import HANG_SECONDS

ROOM, GATE, EPOCH = 1344 + 64 + 24, 1280, 1284
HIGH, LEDGER, METER, SLOT, SLOT_BYTES = 64, 128, 1152, 3200, 64
CARD, OUT, SWAP = range(3)
WISHES = METER + 88
FUTEX_WAKE, SYS_FUTEX = 1, 202 if os.uname().machine == "x86_64" else 98
PATIENCE = 0.0005


class Page:
    def __init__(self, path):
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.words, self.halves = memoryview(self.memory).cast("Q"), memoryview(self.memory).cast("I")
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def word(self, offset):
        return self.words[offset // 8]

    def half(self, offset):
        return self.halves[offset // 4]

    def set_half(self, offset, value):
        self.halves[offset // 4] = value
        ctypes.CDLL(None).syscall(SYS_FUTEX, ctypes.c_void_p(self.at + offset), FUTEX_WAKE, 1 << 30, None, None, 0)


class Keeper:
    holds = 0

    def __init__(self, sim, limit, name="s"):
        made = sim.run([sim.build.program("hooks/swapping"), name, str(limit)])
        assert made.rc == 0, made
        folder = made.stdout.strip()
        self.limits, self.slots, self.limit = Page(f"{folder}/limits"), Page(f"{folder}/slots"), limit
        self.env = {"ALIQUOT_SESSION": name, "BYTES_KERNELS": sim.build.program("hooks/bytes_kernels.so")}
        self.give()

    def give(self, resident=None, most=None, pinned=None):
        """A value that is not given is the limit."""
        for at, value in enumerate((resident, most, pinned)):
            self.limits.words[ROOM // 8 + at] = self.limit if value is None else value
        return self.answer()

    def answer(self):
        self.limits.words[ROOM // 8 + 3] = time.monotonic_ns()
        self.limits.set_half(EPOCH, self.limits.half(EPOCH) + 1 & 0xffffffff)
        return self

    def shut(self):
        Keeper.holds += 1
        self.limits.set_half(GATE, Keeper.holds)
        return self

    def open(self):
        self.limits.set_half(GATE, 0)
        return self

    def answers(self):
        """The last answer of every slot that was ever taken."""
        return [self.slots.half(SLOT + i * SLOT_BYTES + 56) for i in range(self.slots.half(HIGH))]

    def hold(self, dead=0):
        """Returns when all living programs have answered; `dead` slots have no program."""
        self.shut()
        wait(lambda: self.answers().count(Keeper.holds) >= max(1, len(self.answers()) - dead), self.answers)
        return self

    def used(self, row=CARD):
        return self.slots.word(LEDGER + row * 64)

    def books(self):
        return [self.used(row) for row in (CARD, OUT, SWAP)]

    def await_out(self, size):
        wait(lambda: self.used(OUT) == size, self.books)
        return self

    def wish(self):
        """(bytes on the card, pinned bytes, when)"""
        return tuple(self.slots.word(WISHES + i * 8) for i in range(3))

    def stood_at(self):
        return self.slots.word(METER + 112)


def wait(is_so, said=str):
    begun = time.monotonic()
    while not is_so():
        assert time.monotonic() - begun < HANG_SECONDS, said()
        time.sleep(PATIENCE)
