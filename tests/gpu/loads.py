# SPDX-License-Identifier: Apache-2.0
"""Programs that want the card (programs/load.c), alone, under caps, and in sessions of a daemon.

    with row(t, "a cap of 30 %"):                       # whatever happens, the next row is told
        stamps, = play(t, [Load("kernel", 200 * US, compute=30)], 5)
        t.figure("delivered", stamps.delivered, "points")

What a program got is told by the time stamps of its kernels, from `SETTLE` after its first one to
the end, as part of what such a program fills of a card that it has alone without Aliquot (native()):
between two kernels of 20 us a card stands still for a while in any case, and for longer where each
is waited for.

In a rehearsal each company of programs has a simulated node of its own, in virtual time: what they
get is then exact.
"""
import array
import contextlib
import itertools
import json
import math
import os
import pathlib
import signal
import statistics
import tempfile
import threading
import time

from program import Program
from stamps import Stamps, divide
from story import HERE, Skip

US, MS, S = 10**3, 10**6, 10**9
SETTLE = S // 2
DUTY = 0.2  # of a program that asks
PATIENCE_SECONDS = 60
IMAGE = HERE / "programs/stamps.ptx"
numbers = itertools.count()


class Load:
    """What one program launches, and under what: with `compute` under that cap, in a session of its own or
    in `session`; else with `session` in one that a daemon has made; `is_free`: it meets the driver.
    `more` are further arguments of load.c."""
    def __init__(self, kind, ns, *, compute=None, session=None, is_free=False, **more):
        self.kind, self.ns, self.more = kind, ns, more
        self.how = {"compute": compute, "session": session, "door": "joined" if session and not compute else "run"}
        self.is_free = is_free


class Outcome:
    """A program's stamps, its part of the card's time, and what it said at its end."""
    def __init__(self, program, stamps, full, begin, end):
        self.said, self.stamps, self.full, self.begin, self.end = program.get("done"), stamps, full, begin, end
        self.waits = program.waits

    @property
    def percent(self):
        return 100 * self.stamps.share(self.begin, self.end) / self.full

    @property
    def on_card(self):
        """By the stamps alone, in percent."""
        return 100 * self.stamps.share(self.begin, self.end)

    def windows(self, width=S):
        return [100 * share / self.full for share in self.stamps.windows(self.begin, self.end, width)]

    @property
    def work(self):
        """Kernels done a second."""
        kernels = self.stamps.kernels
        return sum(self.begin <= end < self.end for _, end in kernels) / (self.end - self.begin) * S


def own_node(t, programs):
    """In a rehearsal: the next programs have a node in virtual time, and begin when all are there."""
    if not t.is_rehearsal:
        return
    t.books.card()  # the story's own books stay where they are
    settings = [word for word in os.environ["ALIQUOT_SIM"].split(",")
                if word.split("=")[0] not in ("clock", "begin_with", "state")]
    state = tempfile.mkdtemp(prefix="node-", dir=t.scratch)
    os.environ["ALIQUOT_SIM"] = ",".join([*settings, "clock=virtual", f"begin_with={programs}", f"state={state}"])


@contextlib.contextmanager
def row(t, what):
    """Of a story with many: one that goes wrong says so, and the next is told."""
    try:
        yield
    except Skip:
        raise
    except Exception as wrong:
        t.claim(f"{what}: it can be told", False, f"{type(wrong).__name__}: {wrong}")


def start(t, load, seconds, rate):
    files = {name: t.scratch / f"{next(numbers)}.{name}" for name in ("log", "asks")}
    words = {"kind": load.kind, "ns": load.ns, "seconds": seconds, "rate": rate, "duty": DUTY, **files,
             **load.more}
    how = {} if load.is_free else {"limit": t.capacity, **load.how}
    program = Program(t, [t.home / "bin/load", IMAGE, *(f"{key}={value}" for key, value in words.items() if value)],
                      settle=False, **how)
    program.files = files
    return program


def end_all(programs):
    for pid in {pid for program in programs for pid in (program.pid, program.process.pid)}:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def run(t, loads, seconds, rate):
    """The programs, over: begun together, killed when they take much longer than they should."""
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(start(t, load, seconds, rate)) for load in loads]
        guard = threading.Timer(3 * seconds + PATIENCE_SECONDS, end_all, [programs])
        guard.start()
        try:
            for program in programs:
                program.until("ready")
            for program in programs:
                program.go_on()
            for program in programs:
                program.until("done")
                program.finish()
        finally:
            guard.cancel()
    for program, load in zip(programs, loads):
        told = array.array("Q")
        if load.kind == "ask":
            told.frombytes(program.files["asks"].read_bytes())
        program.waits = list(zip(told[0::2], told[1::2]))[int(SETTLE * DUTY / load.ns):]
    return programs


def native(t, kind, ns):
    """Without us and alone: steps a nanosecond, and the part of the time that such kernels fill."""
    known = pathlib.Path(os.environ["GPU_CHECK_SCRATCH"], f"native-{kind}-{ns}.json")
    if known.exists():
        return json.loads(known.read_text(encoding="utf-8"))
    rate = None if (kind, ns) == ("kernel", 200 * US) else native(t, "kernel", 200 * US)["rate"]
    settings = os.environ.get("ALIQUOT_SIM")
    own_node(t, 1)
    program, = run(t, [Load(kind, ns, is_free=True)], 1, rate)
    if settings is not None:
        os.environ["ALIQUOT_SIM"] = settings
    stamps = Stamps.read(program.files["log"])
    lengths = [end - begin for begin, end in stamps.kernels]
    facts = {"rate": rate or program.get("ready")["rate"], "full": stamps.share(stamps.first, stamps.last),
             "kernel_ns": statistics.median(lengths), "longest_ns": max(lengths),
             "processors": len(stamps.processors)}
    t.fact(f"alone without Aliquot, {kind} {ns} ns", facts)
    known.write_text(json.dumps(facts), encoding="utf-8")
    return facts


# Who asks at random times is compared with kernels that follow each other.
FULL_AS = {"ask": "kernel"}


def play(t, loads, seconds, has_node=False):
    """An Outcome for each, over the time in which all of them wanted the card. has_node: own_node() was
    called for these programs, and perhaps a daemon."""
    full = [native(t, FULL_AS.get(load.kind, load.kind), load.ns)["full"] for load in loads]
    if not has_node:
        own_node(t, len(loads))
    programs = run(t, loads, seconds, native(t, "kernel", 200 * US)["rate"])
    logs = [Stamps.read(program.files["log"]) for program in programs]
    for program, log in zip(programs, logs):
        t.claim("every kernel left its stamps", log.kernels and not program.get("done")["lost"], program.get("done"))
    begin = max(log.first for log in logs) + SETTLE
    end = min(log.first for log in logs) + int(seconds * S)
    return [Outcome(program, log, one, begin, end)
            for program, log, one in zip(programs, divide(logs) if len(logs) > 1 else logs, full)]


def jain(shares):
    return sum(shares)**2 / (len(shares) * sum(share * share for share in shares))


def percentile(numbers_, part):
    ordered = sorted(numbers_)
    return ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)]


@contextlib.contextmanager
def sessions(t, daemon, terms):
    """Sessions of the daemon with these terms, for as long as it lasts; their names."""
    names = [t.session() for _ in terms]
    for name, term in zip(names, terms):
        status, answer = daemon.ask("POST", "/v1/sessions", {"name": name, "memory": t.capacity // 4,
                                                             "gpus": [t.books.nvml.uuid], **term})
        if status != 201:
            raise ValueError(f"the daemon answers {status}: {answer}")
    try:
        yield names
    finally:
        for name in names:
            daemon.ask("DELETE", f"/v1/sessions/{name}")
        time.sleep(0.2)  # the last holder has the card for itself again
