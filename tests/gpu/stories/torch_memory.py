# SPDX-License-Identifier: Apache-2.0
"""PyTorch under a memory limit: its books beside ours and NVML's, and its end at the limit."""
from story import MIB, story

PROGRAM = "torch_memory.py"
APART = 32 * MIB


@story("torch-books", "PyTorch, cuBLAS, cuDNN: NVML's bytes of the process beside the ledger's, step by "
                      "step: does any allocation go around the public functions", priority=1, seconds=180)
def torch_books(t):
    t.need_torch()
    alone = books_of(t)
    ours = books_of(t, limit=t.capacity)
    rows = t.table(("step", "NVML without Aliquot", "NVML", "ledger", "apart", "torch reserved", "NVML by"))
    worst = None
    for step in ours:
        bare = next((one for one in alone if one["at"] == step["at"]), {"books": {}})
        seen, charged = step["books"]["taken"], step["books"]["ledger"]
        rows.append([step["at"], bare["books"].get("taken"), seen, charged, seen - charged,
                     step.get("reserved"), step["books"]["by"]])
        worst = max(worst or 0, abs(seen - charged))
        if "info" in step:
            free, total = step["info"]
            t.claim(f"{step['at']}: total is the limit, free what is left of it",
                    total == t.capacity and free == total - charged, (step["info"], charged))
        if "right" in step:
            t.claim(f"{step['at']}: the result is right", step["right"])
    t.figure("PyTorch: NVML's bytes of the process and the ledger's, furthest apart", worst, "B",
             at_most=APART)


def books_of(t, **how):
    with t.start(PROGRAM, "books", **how) as program:
        steps = [{**said, "books": t.books.read(program)} for said in program.holds()]
        program.finish()
        t.claim(f"it ends well, limit {how.get('limit')}", program.rc == 0, program.stderr)
        return steps


def fill(t, what, backend="native", door="run", **env):
    """To the limit and on, with some allocator; the program ends by itself."""
    t.need_torch()
    with t.start(PROGRAM, "oom", limit=t.capacity, door=door, env=env) as program:
        card, full = program.until("card"), program.until("out of memory")
        books = t.books.read(program)
        program.go_on()
        after = program.until("went on")
        program.finish()
    t.claim(f"{what}: total and device properties are the limit",
            card["total"] == card["properties"] == t.capacity, card)
    t.claim(f"{what}: it is PyTorch's backend now", card["backend"] == backend, card)
    t.claim(f"{what}: torch.OutOfMemoryError at the limit", bool(full["words"]), full)
    # What the driver takes by itself is charged above the limit; it may take that when no byte is left.
    t.claim(f"{what}: what PyTorch asked for fits the limit", full["blocks"] * 64 * MIB < t.capacity, full)
    t.claim(f"{what}: what lies beyond the limit is charged too", books["ledger"] >= books["taken"] - APART, books)
    t.claim(f"{what}: its data is right and it goes on", after["right"] and after["again"], after)
    t.claim(f"{what}: it ends well", program.rc == 0, program.stderr)
    t.figure(f"{what}: blocks of 64 MiB before the end", full["blocks"],
             raw={"words": full["words"], "books": books, "info": full["info"]})
    t.figure(f"{what}: NVML's bytes of the process beyond the limit", books["taken"] - t.capacity, "B",
             at_most=APART)


@story("torch-oom", "PyTorch's caching allocator at the limit: torch.OutOfMemoryError, and on", priority=1)
def torch_at_the_limit(t):
    fill(t, "caching allocator")


@story("torch-expandable", "the same with expandable segments", priority=2)
def torch_expandable(t):
    fill(t, "expandable segments", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")


@story("torch-async", "the same with the allocator cudaMallocAsync", priority=2)
def torch_async(t):
    fill(t, "cudaMallocAsync", "cudaMallocAsync", PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")


@story("torch-doors", "the same by the environment alone, and by the facades", priority=3, seconds=90)
def torch_by_other_doors(t):
    for door in ("preload", "facade"):
        fill(t, door, door=door)


@story("torch-fragments", "many sizes in turns: what each allocator reserves, with and without Aliquot",
       priority=3, seconds=90)
def torch_fragments(t):
    t.need_torch()
    for name, conf in (("caching", ""), ("expandable", "expandable_segments:True"),
                       ("async", "backend:cudaMallocAsync")):
        alone, ours = t.both(PROGRAM, "fragments", limit=t.capacity,
                             env={"PYTORCH_CUDA_ALLOC_CONF": conf} if conf else {})
        first, second = alone.get("fragments"), ours.get("fragments")
        t.claim(f"{name}: data is right", second.get("right"), second)
        t.claim(f"{name}: no more is refused than without Aliquot", second.get("words") == first["words"],
                (first, second))
        t.figure(f"{name}: reserved with Aliquot less reserved without",
                 second.get("reserved", 0) - first["reserved"], "B")


@story("torch-graphs", "CUDA graphs: captured, replayed, right, also after an out of memory; without a cap on GPU "
                       "time and under one, where markers of ours follow what was submitted before", priority=1)
def torch_graphs(t):
    t.need_torch()
    for cap in (None, 50):
        capture(t, f"cap {cap}", compute=cap)


def capture(t, what, **how):
    with t.start(PROGRAM, "graphs", limit=t.capacity, **how) as program:
        replayed = program.until("replayed")
        books = t.books.read(program)
        program.go_on()
        again = program.until("again")
        program.finish()
    t.claim(f"{what}: the replayed graph is right", replayed["right"])
    t.claim(f"{what}: the limit was reached, and the graph is right after it", again["words"] and again["right"],
            again)
    t.claim(f"{what}: it ends well", program.rc == 0, program.stderr)
    t.figure(f"{what}, with a graph: NVML's bytes less the ledger's", books["taken"] - books["ledger"], "B",
             at_most=APART)


@story("torch-two", "two PyTorch programs in one session", priority=2)
def two_torch_programs(t):
    t.need_torch()
    session, size = t.session(), t.capacity * 5 // 10
    with t.start(PROGRAM, "part", size, limit=t.capacity, session=session) as first:
        t.claim("the first gets half", first.until("holds")["got"])
        with t.start(PROGRAM, "part", size, limit=t.capacity, session=session) as second:
            held = second.until("holds")
            t.claim("the second hears out of memory in PyTorch's words",
                    not held["got"] and "out of memory" in held["words"].lower(), held)
            holders, charged = t.books.holders(session), t.books.ledger(session)
            t.claim("the sum is within the limit", size <= charged == sum(holders.values()) <= t.capacity,
                    (holders, charged))
            for program, name in ((first, "first"), (second, "second")):
                seen = t.books.process(program.pid)
                if seen is not None:
                    t.figure(f"{name}: NVML's bytes less the ledger's",
                             seen - holders.get(program.pid, 0), "B", at_most=APART)
