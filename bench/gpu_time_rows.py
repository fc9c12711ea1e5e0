# SPDX-License-Identifier: Apache-2.0
"""The rows of gpu_time.py, in groups that are measured together."""
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Callable

from mixes import Failed, alone, beside
from stage import BUILD

SECONDS, FEW_SECONDS, BESIDE_SECONDS = 11, 2, 6  # the first one is not counted
BARE_SECONDS = 4                                 # enough where a program is always the same
NEIGHBOUR = "turns ns=200000"
SHARE_POINTS, SECOND_POINTS, BILL_POINTS = 1, 2, 0.5
CALLS_REACH = 10                       # of the driver, for each 1,000 launches,
MARKED_NS = 2_500_000                  # or, in each 2.5 ms in flight, so many,
MARKERS, MARKERS_CAPPED = 3, 4.5       # the latter under a cap (docs/decisions/013-how-often-the-driver-is-asked.md);
MARKED_BESIDE_NS = 1_000_000           # beside others MARKERS in each 1 ms
TRAINING = "training streams=3"
LONG_LAST = "longlast threads=2 long=800000 pause=500000"
CHAINED = "chained streams=2 long=800000 pause=500000"
PHASES = "phases ns=20000 long=800000"
SERVER = "steps kernels=115 ns=20000 pause=400000 pause_most=1000000"
OVERLAP = "done_ns"  # where kernels run beside each other the engine's time is no measure of throughput


@dataclass
class Group:
    what: str
    measure: Callable
    is_virtual: bool = True


def row(what, value, unit, *, least=None, most=None, raw=None):
    return {"what": what, "value": value, "unit": unit, "least": least, "most": most, "raw": raw}


def near(wanted, points=SHARE_POINTS):
    return {"least": wanted - points, "most": wanted + points}


@functools.cache
def bare(load):
    return alone(load, BARE_SECONDS, is_bare=True)


def throughput(got, load, by="busy_ns"):
    """Percent of what the same program does without Aliquot."""
    return 100 * got.rate(by) / bare(load).rate(by)


def farthest_second(got, wanted, load, by="busy_ns"):
    whole = bare(load).rate(by)
    return max(abs(100 * one / whole - wanted) for one in got.seconds(by))


def overbilled(got):
    """What was billed less the time in flight by the simulator's own count, in points of the time."""
    return 100 * (got.billed_ns - got.end_flight_ns) / got.at_ns[-1]


def added_calls(got, load):
    """By function, for each 1,000 launches: the session's less those of the program itself."""
    base = bare(load)
    names = set(got.calls) | set(base.calls)
    return {name: 1000 * (got.calls.get(name, 0) / got.launches[-1] - base.calls.get(name, 0) / base.launches[-1])
            for name in names}


def calls_row(what, got, load, marked_ns=MARKED_NS, markers=MARKERS):
    added = added_calls(got, load)
    most = max(CALLS_REACH, 1000 * markers * got.end_flight_ns / marked_ns / got.launches[-1])
    by_name = {name: round(count, 2) for name, count in sorted(added.items(), key=lambda one: -abs(one[1])) if abs(count) > 0.1}
    return row(f"  calls of the driver added to 1,000 launches: {what}", sum(added.values()), "", most=most, raw=by_name)


# -- Alone ----------------------------------------------------------------------------------------

def uncapped(what, load, by="busy_ns"):
    def measure():
        got = beside([(load, {})], FEW_SECONDS)[0]
        yield row(f"{what}, uncapped in a daemon's session, alone: throughput", throughput(got, load, by),
                  "% of bare", least=99.5, raw=got.raw())
        yield calls_row(f"{what}, uncapped", got, load)
    return Group(f"{what}, uncapped", measure)


def capped(what, load, caps, by="busy_ns", *, seconds=SECONDS, is_even=True, has_calls=False):
    """`is_even`: its kernels are so short that each second is to be near the cap."""
    def measure_one(cap, billed):
        got = alone(load, seconds, cap=cap)
        billed.append(overbilled(got))
        yield row(f"{what}, cap {cap}: throughput", throughput(got, load, by), "% of bare",
                  **near(cap, SHARE_POINTS if is_even else 2 * SHARE_POINTS), raw=got.raw())
        if is_even:
            yield row(f"  farthest second: {what}, cap {cap}", farthest_second(got, cap, load, by), "points",
                      most=SECOND_POINTS)
        if has_calls:
            yield calls_row(f"{what}, cap {cap}", got, load, markers=MARKERS_CAPPED)

    def measure():
        billed = []
        for cap in caps:
            try:
                yield from measure_one(cap, billed)
            except Failed as why:
                yield row(f"{what}, cap {cap}: throughput", None, "% of bare", **near(cap), raw=str(why))
        if billed:
            yield row(f"  billed less in flight, worst of caps: {what}", max(billed, key=abs), "points", **near(0, BILL_POINTS))
    return Group(f"{what}, capped", measure)


def offers_less():
    load = "hostnode ns=200000"
    got = alone(load, SECONDS, cap=20)
    yield row("graph with a host node of 5 ms, which offers 7.4 %, cap 20: throughput", throughput(got, load),
              "% of bare", least=99, raw=got.raw())
    yield row("  billed: graph with a host node", 100 * got.billed_ns / got.at_ns[-1], "% of time",
              **near(100 * got.end_busy_ns / got.at_ns[-1], SHARE_POINTS))


# -- Beside others --------------------------------------------------------------------------------

def percent(got, by="busy_ns"):
    return 100 * got.rate(by)


def phases_beside():
    got, other = beside([(PHASES, {"compute": 20}), (NEIGHBOUR, {})], BESIDE_SECONDS)
    yield row("prefill/decode of one function, cap 20 beside a neighbour: engine time", percent(got), "%", **near(20),
              raw=got.raw())
    yield row("  its neighbour: prefill/decode", percent(other), "%", least=75, raw=other.raw())


def server(what, terms, batch_terms):
    def measure():
        offer = 100 * bare(SERVER).rate("busy_ns")
        got, batch = beside([(SERVER, terms), (NEIGHBOUR, batch_terms)], BESIDE_SECONDS)
        yield row(f"LLM steps of 2.3 ms, pauses of 0.4-1 ms, {what}, beside a batch job: engine time", percent(got),
                  "%", least=min(60, offer) - 2, raw=got.raw())
        yield row(f"  both together: {what}", percent(got) + percent(batch), "%", least=90, raw=batch.raw())
        yield row(f"  billed less in flight: LLM steps, {what}", overbilled(got), "points", **near(0, BILL_POINTS))
    return Group(f"LLM steps, {what}", measure)


def blocked_beside():
    _, other = beside([("blocked streams=2 ns=100000", {}), (NEIGHBOUR, {})], BESIDE_SECONDS)
    yield row("neighbour of a session all of whose streams wait: throughput", throughput(other, NEIGHBOUR),
              "% of bare", least=95, raw=other.raw())


def pair(what, terms, wanted):
    def measure():
        gots = beside([(NEIGHBOUR, one) for one in terms], BESIDE_SECONDS)
        for at, got in enumerate(gots):
            yield row(f"pair {what}, kernels of 200 us: engine time of the {('first', 'second')[at]}", percent(got), "%",
                      **near(wanted[at]), raw=got.raw())
    return Group(f"pair {what}", measure)


def turns_calls(what, load, by="busy_ns"):
    def measure():
        got, _ = beside([(load, {}), (NEIGHBOUR, {})], FEW_SECONDS)
        yield calls_row(f"{what}, beside a neighbour", got, load, MARKED_BESIDE_NS)
    return Group(f"{what}, beside", measure)


# -- On the machine's clock -----------------------------------------------------------------------

def daemon_share():
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"ALIQUOT_BENCH_JSON": folder, "ALIQUOT_BUILD": str(BUILD)}
        done = subprocess.run([sys.executable, "-B", pathlib.Path(__file__).with_name("turns.py"), "8"], env=env,
                              capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise Failed(done.stderr.strip()[-200:])
        told = json.loads((pathlib.Path(folder) / "turns.json").read_text(encoding="utf-8"))
    yield row("daemon's scheduler with 8 busy sessions, real time", told["rows"][0]["value"], "% of a core", most=1, raw=told)


GROUPS = [
    *[uncapped(f"{count} stream{'s in turns' if count > 1 else ''}, kernels of 5 us", f"turns ns=5000 streams={count}", OVERLAP)
      for count in (1, 2, 4, 8)],
    uncapped("graphs of 50 us", "graph ns=5000"),
    uncapped("kernels of 200 us", "turns ns=200000"),
    uncapped("launch and wait, 20 us", "steps ns=20000"),
    uncapped("training, three streams", TRAINING, OVERLAP),
    turns_calls("kernels of 200 us", NEIGHBOUR),
    turns_calls("training, three streams", TRAINING),
    capped("launch and wait, 20 us", "steps ns=20000", (20, 50, 80, 99), has_calls=True),
    capped("training, three streams", TRAINING, (20, 50, 80), OVERLAP, has_calls=True),
    capped("kernels of 200 us", "turns ns=200000", (50,), has_calls=True),
    capped("graphs of 50 us", "graph ns=5000", (50,), has_calls=True),
    capped("two threads with streams of their own, 800 us last", LONG_LAST, (20, 30, 50, 80), OVERLAP),
    capped("one thread, two chained streams", CHAINED, (20, 30, 50, 80)),
    Group("prefill/decode beside", phases_beside),
    capped("kernels of 5-400 us in random order", "anylength ns=5000 long=400000", (50, 80)),
    server("guarantee 60", {"guarantee": 60}, {"priority": "batch"}),
    server("weight 300", {"weight": 300}, {}),
    Group("graph with a host node", offers_less),
    Group("neighbour of a session that waits", blocked_beside),
    capped("four threads in one stream", "steps kernels=20 ns=20000 threads=4 shared", (30,)),
    capped("contexts of a moment", "contexts ns=100000", (70,)),
    capped("four threads in streams of their own", "steps kernels=20 ns=20000 threads=4", (60,), OVERLAP),
    capped("kernels of 5 us", "turns ns=5000", (20, 50, 80), has_calls=True),
    capped("kernels of 20 us", "turns ns=20000", (20, 50, 80), has_calls=True),
    capped("eager, 3-8 us", "anylength ns=3000 long=8000", (20, 50, 80)),
    capped("LLM, steps of 2.3 ms", "steps kernels=115 ns=20000", (20, 50, 80)),
    capped("prefill/decode", PHASES, (20, 50, 80)),
    capped("the same function 20 us and 1 s at random, over 60 s", "rare ns=20000 long=1000000000 of=25000", (20, 50, 80),
           seconds=61, is_even=False),
    pair("30/70", [{"compute": 30}, {"compute": 70}], (30, 70)),
    pair("weights 300/100", [{"weight": 300}, {"weight": 100}], (75, 25)),
    Group("daemon with 8 busy sessions", daemon_share, is_virtual=False),
]
