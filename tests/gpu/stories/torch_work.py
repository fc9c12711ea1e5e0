# SPDX-License-Identifier: Apache-2.0
"""PyTorch at work with Aliquot in front: the same bytes, the same speed, the same tools."""
from aliquotd import Daemon
from loads import sessions
from story import MIB, story

PROGRAM = "torch_work.py"
DETERMINISTIC = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


@story("torch-same", "ten deterministic training steps: the same losses and parameters, byte for byte, with "
                     "us and without", priority=1, seconds=150)
def the_same_bytes(t):
    t.need_torch()
    alone, ours = t.both(PROGRAM, "step", limit=t.capacity, env=DETERMINISTIC)
    again = t.run(PROGRAM, "step", env=DETERMINISTIC)
    first, second, third = (each.get("trained") for each in (alone, ours, again))
    if first.get("digest") != third.get("digest"):
        t.skip("two runs without Aliquot differ from each other: there is nothing to compare with")
    t.claim("the losses are the same", first.get("losses") == second.get("losses"), (first, second))
    t.claim("the parameters are the same", first.get("digest") == second.get("digest"), (first, second))
    t.fact("digest", first.get("digest"))


def compare_rates(t, what, **how):
    """Training steps a second of every kind, without Aliquot and as `how` says. A process measures every kind, as
    most of its time goes into importing torch; what is found is told anew after each pair."""
    def rates(limit):
        done = t.run(PROGRAM, "throughput", 0.1 if t.is_rehearsal else 0.5, limit=limit, **(how if limit else {}))
        if done.rc != 0:
            t.claim(f"it ends well, limit {limit}", False, done.stderr)
            t.skip("no rate without an end")
        return {said["kind"]: said["steps_per_second"] for said in done.said if said["at"] == "rate"}

    def tell(alone, ours):
        for kind in alone[0]:
            t.compare(f"{kind}: training steps a second, {what}", "1/s", [one[kind] for one in alone],
                      [one[kind] for one in ours], at_least=0.995)

    t.pairs(rates, 2 if t.is_rehearsal else 3, tell)


@story("torch-throughput", "training steps a second under a limit on memory and without Aliquot, in turns: eager, a graph, "
                           "two and four streams", priority=2, seconds=300)
def the_same_speed(t):
    t.need_torch()
    compare_rates(t, "with a limit on memory")


@story("torch-metered", "the same metered: alone in a session of a daemon, with a guarantee", priority=1, seconds=300)
def the_same_speed_metered(t):
    t.need_torch()
    with Daemon(t) as daemon, sessions(t, daemon, [{"guarantee": 50, "memory": t.capacity}]) as names:
        compare_rates(t, "metered, alone in a daemon's session", session=names[0], door="joined")


@story("torch-start", "import torch; torch.zeros(1).cuda(), with Aliquot and without, in turns", priority=2,
       seconds=240)
def the_same_start(t):
    t.need_torch()

    def wall(limit):
        done = t.run(PROGRAM, "start", limit=limit, door="preload")
        if done.rc != 0:
            t.claim(f"it ends well, limit {limit}", False, done.stderr)
        return done.seconds

    wall(None)  # the first fills the caches of the disk
    t.compare("import torch; torch.zeros(1).cuda()", "s", *t.pairs(wall, 2 if t.is_rehearsal else 8),
              at_most=1.01)


@story("torch-loaders", "DataLoader workers by fork and by spawn, beside a process that uses the card",
       priority=2, seconds=120)
def data_loaders(t):
    t.need_torch()
    for method in ("fork", "spawn"):
        with t.start(PROGRAM, "loader", method, limit=t.capacity) as program:
            loaded = program.until("loaded")
            holders = t.books.holders(program.session)
            program.finish()
        t.claim(f"{method}: the sum is right", loaded["right"])
        t.claim(f"{method}: only the program itself is charged",
                {pid for pid, size in holders.items() if size} == {program.pid}, holders)
        t.claim(f"{method}: it ends well", program.rc == 0, program.stderr)


@story("torch-profiler", "the PyTorch profiler sees the same kernels with Aliquot and without", priority=3,
       seconds=90)
def the_profiler(t):
    t.need_torch()
    alone, ours = t.both(PROGRAM, "profiler", limit=t.capacity)
    first, second = alone.get("profiled"), ours.get("profiled")
    t.claim("the same kernels are seen", first.get("names") == second.get("names"), (first, second))
    t.figure("kernels seen", second.get("kernels"))


@story("nccl", "NCCL with one rank: a reduction, and what it takes by NVML beside the ledger", priority=2,
       seconds=90)
def nccl_with_one_rank(t):
    t.need_torch()
    t.works_alone(PROGRAM, "nccl")
    rows = t.table(("moment", "NVML", "ledger", "apart"))
    with t.start(PROGRAM, "nccl", limit=t.capacity) as program:
        worst = None
        for said in program.holds():
            books = t.books.read(program)
            apart = books["taken"] - books["ledger"]
            worst = max(worst or 0, abs(apart))
            rows.append([said["at"], books["taken"], books["ledger"], apart])
            if "right" in said:
                t.claim("the reduction is right", said["right"])
        program.finish()
    t.claim("it ends well", program.rc == 0, program.stderr)
    t.figure("NCCL: NVML's bytes and the ledger's, furthest apart", worst, "B", at_most=32 * MIB)
