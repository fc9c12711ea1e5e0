# SPDX-License-Identifier: Apache-2.0
"""A limit, by every door: what a program of the driver's interface sees, gets, and is refused."""
import contextlib

from story import MIB, story

OUT_OF_MEMORY = 2


def reach(t, **how):
    with t.start("limits.py", "reach", **how) as program:
        card, full = program.until("card"), program.until("full")
        books = t.books.read(program)
        program.go_on()
        return card, full, books, program.until("after")


@story("limit", "a program gets its limit to the byte, hears out of memory for the next, and goes on; "
                "by aliquot run, by the environment alone, and by the facades", priority=1)
def a_limit_holds(t):
    for door in ("run", "preload", "facade"):
        card, full, books, after = reach(t, limit=t.capacity, door=door)
        t.claim(f"{door}: total is the limit", card["total"] == t.capacity, card)
        t.claim(f"{door}: cuDeviceTotalMem is the limit", card["device_total"] == t.capacity, card)
        t.claim(f"{door}: full to the byte", full["free"] == 0 and books["ledger"] == t.capacity,
                (full, books))
        t.claim(f"{door}: one byte more is out of memory", full["over"] == OUT_OF_MEMORY, full)
        t.claim(f"{door}: data is right, and what was freed can be had again",
                after["right"] and after["again"] == 0, after)
        t.fact(f"{door} books at the limit", books)
        t.figure(f"{door}: NVML's bytes of the process beyond the limit", books["taken"] - t.capacity, "B",
                 at_most=32 * MIB)


@story("caps", "limits of 10 to 90 % of an artificial capacity, beyond what a context takes, each reached to the byte",
       priority=3)
def limits_of_every_size(t):
    with t.start("limits.py", "part", MIB, limit=t.capacity) as program:
        program.until("holds")
        context = t.books.ledger(program.session)
    for percent in range(10, 100, 10):
        limit = (context + t.capacity * percent // 100) // (2 * MIB) * 2 * MIB
        card, full, books, _ = reach(t, limit=limit)
        t.claim(f"{percent} %: total and charge are the limit, the next byte is refused",
                card["total"] == limit == books["ledger"] and full["over"] == OUT_OF_MEMORY,
                (card, full, books))
        t.figure(f"{percent} %: NVML's bytes of the process beyond the limit", books["taken"] - limit,
                 "B", raw=limit)


@story("sharing", "two programs of one session: what one has the other has not", priority=1)
def two_programs_share(t):
    session, most = t.session(), t.capacity * 6 // 10
    with t.start("limits.py", "part", most, limit=t.capacity, session=session) as first:
        t.claim("the first gets six tenths", first.until("holds")["rc"] == 0)
        with t.start("limits.py", "part", most, limit=t.capacity, session=session) as second:
            held = second.until("holds")
            t.claim("the second does not", held["rc"] == OUT_OF_MEMORY, held)
            charged, holders = t.books.ledger(session), t.books.holders(session)
            t.claim("the sum is what the holders hold, no less than what the first took, and within the limit",
                    most <= charged == sum(holders.values()) <= t.capacity, (charged, holders))
            t.claim("both are listed", {first.pid, second.pid} <= set(holders), holders)
        first.finish()
    with t.start("limits.py", "part", most, limit=t.capacity, session=session) as third:
        t.claim("when the first has ended there is room", third.until("holds")["rc"] == 0)


@story("neighbours", "two sessions on one card: one at its limit changes nothing for the other", priority=2)
def two_sessions(t):
    half = t.capacity // 2
    with t.start("limits.py", "part", half // 2, limit=half) as calm:
        calm.until("holds")
        before = t.books.ledger(calm.session)
        card, full, books, after = reach(t, limit=half)
        t.claim("the greedy one gets its own limit", card["total"] == half == books["ledger"], (card, books))
        t.claim("and hears of it", full["over"] == OUT_OF_MEMORY and after["again"] == 0, (full, after))
        t.claim("the other's books stand still", t.books.ledger(calm.session) == before)


@story("crowd", "eight programs of a session begin at once: each gets its context, and the sum is right",
       priority=2, seconds=120)
def many_begin_at_once(t):
    session, limit = t.session(), 2 * t.capacity
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(t.start("limits.py", "part", MIB, limit=limit, session=session,
                                             settle=False)) for _ in range(8)]
        for program in crowd:
            t.claim("its byte is granted", program.until("holds")["rc"] == 0, program.said)
        charged, holders = t.books.ledger(session), t.books.holders(session)
        t.claim("the sum is what eight hold", len(holders) == 8 and charged == sum(holders.values()),
                (charged, holders))
        seen = [t.books.process(program.pid) for program in crowd]
        if None not in seen:
            t.figure("NVML's bytes of all eight less the ledger's", sum(seen) - charged, "B",
                     raw=[seen, holders])


@story("live", "a limit changes while a program runs, in both directions", priority=2)
def a_limit_changes(t):
    with t.start("limits.py", "bytes", limit=t.capacity) as program:
        program.until("report")
        for limit in (t.capacity // 2, t.capacity * 2):
            t.books.command("set", program.session, "--memory", str(limit))
            with t.start("limits.py", "bytes", limit=t.capacity, session=program.session) as other:
                seen = other.until("report")
            t.claim(f"{limit} bytes: total follows", seen["total"] == seen["device_total"] == limit,
                    seen)
