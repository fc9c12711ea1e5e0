# SPDX-License-Identifier: Apache-2.0
"""Oversubscription: memory of the host in place of the card's (docs/oversubscription.md)."""
from story import MIB, story

APART = 32 * MIB


@story("host-memory", "blocks beyond the limit lie in the host's memory: every byte right after 300 writes, copies and "
                      "frees at random, and no more taken of the card than its limit", priority=1)
def blocks_beyond_the_limit(t):
    limit, blocks = t.capacity // 8, 24
    size = limit // 16
    with t.start("bytes.py", blocks, size, 1, limit=limit, env={"ALIQUOT_OVERSUBSCRIBE": str(limit)}) as program:
        end = program.until("end")
        books = t.books.read(program)
        program.go_on()
    t.claim("every byte is right", end["wrong"] == 0 and end["blocks"] == blocks, end)
    t.claim("what has no room on the card lies in the host's memory", end["host_bytes"] >= blocks * size - limit, end)
    t.claim("of all blocks the program is told the same", len(end["told"]) == 1, end)
    t.claim("the card it sees is both together", end["total"] == 2 * limit, end)
    t.claim("the card's ledger holds no more than its limit", books["ledger"] <= limit, books)
    t.figure("NVML's bytes of the process beyond the limit", books["taken"] - limit, "B", at_most=APART)


@story("torch-host", "PyTorch with twice its limit: tensors beyond it are right, and torch.OutOfMemoryError comes at both "
                     "together", priority=2)
def torch_beyond_the_limit(t):
    t.need_torch()
    limit = t.capacity // 2
    with t.start("torch_memory.py", "oom", limit=limit, env={"ALIQUOT_OVERSUBSCRIBE": str(limit)}) as program:
        card, full = program.until("card"), program.until("out of memory")
        books = t.books.read(program)
        program.go_on()
        after = program.until("went on")
        program.finish()
    t.claim("total and device properties are both together", card["total"] == card["properties"] == 2 * limit, card)
    t.claim("more was had than the limit", limit < full["blocks"] * 64 * MIB <= 2 * limit, full)
    t.claim("torch.OutOfMemoryError at both together", bool(full["words"]), full)
    t.claim("its data is right and it goes on", after["right"] and after["again"], after)
    t.claim("it ends well", program.rc == 0, program.stderr)
    t.figure("NVML's bytes of the process beyond the limit", books["taken"] - limit, "B", at_most=APART)
