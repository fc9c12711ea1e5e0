# SPDX-License-Identifier: Apache-2.0
"""Triton, CuPy, Numba, JAX under a limit: each sees the limit as the card, gets its own kind of
out-of-memory error at it, and goes on."""
from story import MIB, story

APART = 32 * MIB


def follow(t, program, *arguments, **how):
    """Every hold of a limited program with the books; what it said, by place."""
    rows = t.table(("moment", "NVML", "ledger", "apart"))
    steps = {}
    with t.start(program, *arguments, limit=t.capacity, **how) as running:
        for said in running.holds():
            books = t.books.read(running)
            rows.append([said["at"], books["taken"], books["ledger"], books["taken"] - books["ledger"]])
            t.claim(f"{said['at']}: charged no more than the limit", books["ledger"] <= t.capacity, books)
            if "right" in said:
                t.claim(f"{said['at']}: right", said["right"])
            steps[said["at"]] = {**said, "books": books}
        running.finish()
        steps["went on"] = running.get("went on")
    t.claim("it ends well", running.rc == 0, running.stderr)
    t.figure("NVML's bytes and the ledger's, furthest apart",
             max((abs(row[3]) for row in rows), default=None), "B", at_most=APART)
    return steps


def at_the_limit(t, steps, name):
    t.claim(f"{name} sees the limit as the card", steps.get("card", {}).get("total") == t.capacity,
            steps.get("card"))
    t.claim(f"{name} hears of the limit in its own words",
            bool(steps.get("out of memory", {}).get("words")), steps.get("out of memory"))
    t.claim(f"{name}: what it took fits the limit",
            steps.get("out of memory", {}).get("blocks", 0) * 64 * MIB < t.capacity,
            steps.get("out of memory"))
    t.claim(f"{name} goes on", steps["went on"].get("right"), steps["went on"])


@story("triton", "a Triton kernel, compiled and launched under a limit", priority=2, seconds=120)
def a_triton_kernel(t):
    t.need_torch()
    t.need("triton")
    t.works_alone("triton_add.py")
    follow(t, "triton_add.py")


@story("cupy", "CuPy's pool to the limit, its own out of memory, and on", priority=2, seconds=90)
def cupy_pool(t):
    t.need("cupy")
    t.works_alone("cupy_pool.py", "touch")
    at_the_limit(t, follow(t, "cupy_pool.py", "fill"), "CuPy")


@story("numba", "Numba's arrays to the limit, its own out of memory, and on", priority=2, seconds=90)
def numba_arrays(t):
    t.need("numba")
    t.need("numpy")
    t.works_alone("numba_arrays.py", "touch")
    at_the_limit(t, follow(t, "numba_arrays.py", "arrays"), "Numba")


@story("numba-kernel", "a Numba kernel, compiled and launched under a limit", priority=3, seconds=90)
def numba_kernel(t):
    t.need("numba")
    t.need("numpy")
    t.works_alone("numba_arrays.py", "kernel")
    follow(t, "numba_arrays.py", "kernel")


@story("jax", "JAX takes three quarters of the card ahead: of the limit, not of the real one", priority=3,
       seconds=90)
def jax_takes_ahead(t):
    t.need("jax")
    steps = follow(t, "jax_arrays.py")
    t.claim("what it took is within the limit",
            (steps.get("ready", {}).get("limit") or t.capacity + 1) <= t.capacity, steps.get("ready"))
