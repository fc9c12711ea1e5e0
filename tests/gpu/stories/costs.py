# SPDX-License-Identifier: Apache-2.0
"""What a call costs with Aliquot in front of the real driver: the same program in turns, with a session and
without one."""
import os
import statistics
import subprocess
import time

from program import Program
from story import MIB, story

REACH_NS = {"alloc+free": 150, "launch": 5, "unhooked": 1.5, "lookup": 100}


@story("costs", "nanoseconds added to cuMemAlloc + cuMemFree, a launch, a call that is not hooked, "
                "cuMemGetInfo, cuGetProcAddress", priority=2, seconds=180)
def what_calls_cost(t):
    for live in (0, 1000):
        def measure(limit, live=live):
            done = Program(t, [t.home / "bin/costs", live, t.batches], limit=limit, door="preload").finish()
            if done.rc != 0:
                t.claim(f"it ends well, limit {limit}", False, done.stderr)
                t.skip("no figures without an end")
            return {name: float(ns) for name, ns in map(str.split, done.other)}

        alone, ours = t.pairs(measure, t.few_rounds)
        for name in alone[0]:
            added = [o[name] - a[name] for a, o in zip(alone, ours)]
            t.figure(f"{name}, {live} live blocks, without Aliquot", statistics.median(a[name] for a in alone),
                     "ns", raw=[a[name] for a in alone])
            t.figure(f"{name}, {live} live blocks, added: median of {len(added)} pairs",
                     statistics.median(added), "ns", at_most=REACH_NS.get(name), raw=added)


@story("context-start", "seconds to the first context, with Aliquot and without, in turns", priority=3,
       seconds=120)
def what_a_start_costs(t):
    def measure(limit):
        return t.run("limits.py", "part", MIB, limit=limit, door="preload").seconds

    t.compare("a small program of the driver's interface", "s", *t.pairs(measure))


@story("no-cuda", "a program that never asks for a GPU library starts as before", priority=3)
def a_program_without_cuda(t):
    def measure(limit):
        env = {**os.environ, **({"LD_PRELOAD": str(t.library)} if limit else {})}
        began = time.perf_counter()
        for _ in range(20):
            subprocess.run(["/bin/true"], env=env, check=True)
        return (time.perf_counter() - began) / 20 * 1e3

    alone, ours = t.pairs(measure, 5 if t.is_rehearsal else 31)
    t.figure("start of /bin/true without Aliquot", statistics.median(alone), "ms")
    t.figure("start of /bin/true, added", statistics.median(o - a for a, o in zip(alone, ours)), "ms",
             at_most=0.3)
