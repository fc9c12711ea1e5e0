# SPDX-License-Identifier: Apache-2.0
"""What each family of memory costs on the card, beside what we charge for it: how far every
estimate is off."""
from story import MIB, story

APART = 32 * MIB
MOMENTS = ("loaded", "looked-up", "contexts-made", "made", "instantiated", "launched", "taken", "released", "kept", "before-trim", "given-back", "refused")
COLUMNS = ("family", "moment", "asked", "taken without Aliquot", "taken", "charged", "charged less taken")


def walk(t, **how):
    """Each hold with the books then, and everything said in between."""
    steps = []
    with t.start("families.py", **how) as program:
        for said in program.holds():
            steps.append({**said, "books": t.books.read(program)})
        program.finish()
        t.claim(f"the program ends well, limit {how.get('limit')}", program.rc == 0, program.stderr)
        return steps, program.said


def change(now, before, book):
    if now["books"][book] is None or before["books"][book] is None:
        return None
    return now["books"][book] - before["books"][book]


def card_change(now, before):
    """By NVML's own line for the process if it has one, else by the whole card."""
    mine = change(now, before, "process")
    return change(now, before, "card") if mine is None else mine


def less(a, b):
    return None if a is None or b is None else a - b


def tell_family(rows, name, steps, native):
    """A row for each moment of a family: what was asked, what the card gave, what we charged."""
    before = steps["before"]
    for moment in MOMENTS:
        if moment not in steps:
            continue
        step, alone = steps[moment], native.get(moment)
        card, charged = card_change(step, before), change(step, before, "ledger")
        bare = card_change(alone, native["before"]) if alone else None
        rows.append([name, step.get("error", moment), step.get("asked", 0), bare, card, charged,
                     less(charged, card)])


def by_family(steps):
    """{family: {moment: step}}; the holds inside a family do not name it."""
    families, current = {}, None
    for step in steps:
        current = step.get("family", current)
        if current:
            families.setdefault(current, {})[step["at"]] = step
    return families


def tell_context(t, steps):
    first = {step["at"]: step for step in steps[:2]}
    if len(first) == 2:
        begun, ready = first["initialised"], first["context-first"]
        t.figure("first context: taken on the card (all processes)", change(ready, begun, "card"), "B")
        t.figure("first context: NVML's bytes of the process", ready["books"]["process"], "B")
        t.figure("first context: charged", ready["books"]["ledger"], "B")
        if ready["books"]["process"] is not None:
            t.figure("first context: charged less NVML's bytes of the process",
                     ready["books"]["ledger"] - ready["books"]["process"], "B")


def tell_claims(t, rows):
    """Within what a driver rounds and keeps: the differences are the finding, but no family may go by unseen."""
    def those(moment):
        return [(name, asked, taken, charged) for name, at, asked, _, taken, charged, _ in rows
                if at == moment and taken is not None]

    unseen = [one for one in those("taken") if one[2] >= one[1] >= MIB and one[3] < one[1]]
    beyond = [one for one in those("taken") if one[3] > max(one[1], one[2]) + APART]
    kept = [one for one in those("given-back") if one[3] > max(one[2], 0) + APART]
    t.claim("what was asked for and taken is charged", those("taken") and not unseen, unseen)
    t.claim("no more is charged than what was asked for or taken", not beyond, beyond)
    t.claim("what was given back is charged no longer", those("given-back") and not kept, kept)


@story("charges", "every family of device memory: the ledger beside NVML, taken and given back",
       priority=1, seconds=120)
def every_family(t):
    native, _ = walk(t)
    ours, said = walk(t, limit=t.capacity)
    tell_context(t, ours)
    alone = by_family(native)
    rows = t.table(COLUMNS)
    for name, steps in by_family(ours).items():
        tell_family(rows, name, steps, alone.get(name, {}))
    tell_claims(t, rows)
    t.fact("steps with Aliquot", ours)
    t.fact("steps without Aliquot", native)
    t.fact("said of pools, arrays, graphs, limits",
           [one for one in said if one["at"] in ("pool", "graph", "requirements", "limit")])
    last = ours[-1] if ours else {"books": {"process": None, "ledger": 0}}
    if last["books"]["process"] is not None:
        t.figure("at the end, charged less NVML's bytes of the process",
                 last["books"]["ledger"] - last["books"]["process"], "B")
