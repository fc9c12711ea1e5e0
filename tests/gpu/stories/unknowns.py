# SPDX-License-Identifier: Apache-2.0
"""What docs/memory-gaps.md and docs/ledger.md leave open until a real driver is asked."""
from story import story


def compare_answers(t, which):
    alone = t.run("answers.py", which)
    ours = t.run("answers.py", which, limit=t.capacity)
    first, second = ([(said["call"], said["answer"]) for said in program.said]
                     for program in (alone, ours))
    t.claim("both runs end alike", alone.rc == ours.rc and len(first) == len(second),
            (alone.rc, ours.rc, ours.stderr))
    differences = [(a, b) for a, b in zip(first, second) if a != b]
    rows = t.table(("call", "without Aliquot", "with Aliquot"))
    rows.extend([a[0], str(a[1]), str(b[1])] for a, b in zip(first, second))
    t.figure("calls that answer otherwise with Aliquot", len(differences), raw=differences)
    return differences


@story("answers", "wrong arguments and wrong orders: every answer is the driver's own", priority=1)
def wrong_calls_answer_the_same(t):
    differences = compare_answers(t, "wrong")
    t.claim("every answer is the same", not differences, differences)


@story("sticky", "after an illegal access: what the context, a new one, and one made after a reset answer",
       priority=3)
def after_an_illegal_access(t):
    differences = compare_answers(t, "sticky")
    t.claim("every answer is the same", not differences, differences)


@story("descriptors", "exported descriptors: is there an inode of their own, by which an import could be "
                      "known", priority=3)
def descriptors_and_inodes(t):
    done = t.run("exports.py", "inodes", limit=t.capacity)
    t.claim("it ends well", done.rc == 0, done.stderr)
    inodes = done.get("inodes").get("descriptors", [])
    rows = t.table(("descriptor", "leads to", "device", "inode"))
    rows.extend([one["what"], one["link"], one["device"], one["inode"]] for one in inodes)
    if len(inodes) == 3:
        first, again, other = inodes
        place = [(one["device"], one["inode"]) for one in inodes]
        t.figure("two exports of one block have the same inode", str(place[0] == place[1]))
        t.figure("exports of two blocks have different inodes", str(place[0] != place[2]))
        t.fact("links", [first["link"], again["link"], other["link"]])


@story("imports", "memory of another process of the session by descriptor and by IPC handle: charged once?",
       priority=3)
def shared_between_processes(t):
    for how in ("descriptor", "ipc"):
        with t.start("exports.py", how, limit=t.capacity) as program:
            rows = t.table((f"by {how}: moment", "ledger", "NVML, the card", "holders", "NVML, processes"))
            for said in program.holds():
                if said.get("error"):
                    t.note(f"by {how}: {said['error']}")
                rows.append([said["at"], t.books.ledger(program.session), t.books.card(),
                             str(t.books.holders(program.session)), str(t.books.nvml.processes())])
            program.finish()
        t.claim(f"by {how}: it ends well", program.rc == 0, program.stderr)


@story("pool-ends", "a pool destroyed while a block is in use: when does its memory go, with Aliquot and without",
       priority=3)
def deferred_end_of_a_pool(t):
    alone, ours = (follow_pool(t, limit) for limit in (None, t.capacity))
    rows = t.table(("moment", "card without Aliquot", "card with Aliquot", "charged"))
    for name, books in ours.items():
        rows.append([name, alone.get(name, {}).get("card"), books["card"], books["ledger"]])


def follow_pool(t, limit):
    with t.start("pools.py", limit=limit) as program:
        seen, base = {}, None
        for said in program.holds():
            books = t.books.read(program)
            base = base or books
            seen[said["at"]] = {"card": books["card"] - base["card"],
                                "ledger": limit and books["ledger"] - base["ledger"]}
        program.finish()
    t.claim(f"it ends well, limit {limit}", program.rc == 0, program.stderr)
    return seen
