# SPDX-License-Identifier: Apache-2.0
"""A process that is killed: how long the driver takes to give its memory back, and that nobody of its
session is refused what is free by then."""
import random
import time

from story import MIB, story

PATIENCE = 20


def drain(t, size):
    """Seconds from SIGKILL until the ledger, NVML's list and the card's used bytes forget it."""
    with t.start("limits.py", "part", size, limit=t.capacity) as program:
        program.until("holds")
        held, idle_level = t.books.card(), t.books.card() - size
        began = time.monotonic()
        program.kill()
        seen = {"ledger": None, "list": None, "memory": None}
        while None in seen.values() and time.monotonic() - began < PATIENCE:
            gone = {"ledger": not t.books.holders(program.session).get(program.pid),
                    "list": program.pid not in t.books.nvml.processes(),
                    "memory": t.books.card() <= idle_level + MIB}
            for what, is_gone in gone.items():
                if is_gone and seen[what] is None:
                    seen[what] = time.monotonic() - began
        return {**seen, "held": held, "left": t.books.card()}


@story("draining", "from SIGKILL until NVML shows a process's memory free: the delay that waits for the dead "
                   "must cover", priority=2, seconds=150)
def how_long_memory_drains(t):
    rows = t.table(("bytes held", "ledger forgets after s", "NVML's list", "card's memory"))
    for size in (64 * MIB, t.capacity // 2):
        for _ in range(t.rounds):
            seen = drain(t, size)
            rows.append([size, seen["ledger"], seen["list"], seen["memory"]])
            t.save()
    times = [row[3] for row in rows]
    t.figure("longest until the card's memory is free", None if None in times else max(times), "s",
             at_most=2)


@story("churn", "programs killed in the middle of taking and giving back: nothing stays charged", priority=2,
       seconds=120)
def killed_in_the_middle(t):
    session, dice = t.session(), random.Random(1)
    with t.start("limits.py", "part", MIB, limit=t.capacity, session=session) as keeper:
        keeper.until("holds")
        own = t.books.ledger(session)
        for turn in range(2 * t.rounds):
            with t.start("limits.py", "churn", limit=t.capacity, session=session, settle=False) as program:
                program.until("churns")
                time.sleep(dice.uniform(0.01, 0.2))
                program.kill()
            holders = {pid: size for pid, size in t.books.holders(session).items() if size}
            t.claim(f"turn {turn + 1}: the dead one holds nothing", holders == {keeper.pid: own}, holders)
        with t.start("limits.py", "bytes", limit=t.capacity, session=session) as next_one:
            free = next_one.until("report")["free"]
            t.claim("all but the living's bytes are free", free == t.capacity - t.books.ledger(session),
                    (free, t.books.ledger(session)))
        t.books.settle(t.ended)
        seen = t.books.process(keeper.pid)
        if seen is not None:
            t.figure("of the card's used bytes, not the keeper's, afterwards", t.books.card() - seen, "B")


@story("successor", "whoever comes right after a killed process gets its bytes", priority=1, seconds=120)
def the_next_one_is_served(t):
    size, session = t.capacity * 7 // 10, t.session()
    with t.start("limits.py", "part", MIB, limit=t.capacity, session=session) as keeper:
        keeper.until("holds")
        for turn in range(t.rounds):
            with t.start("limits.py", "part", size, limit=t.capacity, session=session,
                         settle=False) as program:
                t.claim(f"turn {turn + 1}: the bytes of the dead are granted",
                        program.until("holds")["rc"] == 0)
                program.kill()


@story("replaced", "two sessions full to the byte, one program killed and replaced: the next one fills that session "
                   "again, and nothing changes for the other", priority=1, seconds=90)
def one_of_two_is_replaced(t):
    half, killed = t.capacity // 2, t.session()
    with t.start("limits.py", "reach", limit=half) as other:
        other.until("full")
        before = t.books.ledger(other.session)
        t.claim("the other is full to the byte", before == half, before)
        for name in ("the first", "its successor"):
            with t.start("limits.py", "reach", limit=half, session=killed, settle=False) as program:
                full = program.until("full")
                charged = t.books.ledger(killed)
                t.claim(f"{name} gets its session's limit to the byte", charged == half and full["free"] == 0, (charged, full))
                program.kill()
            t.claim(f"when {name} is dead, the other's books stand still", t.books.ledger(other.session) == before)
        other.go_on()
        after = other.until("after")
        t.claim("the other's data is right, and it goes on", after["right"] and after["again"] == 0, after)
