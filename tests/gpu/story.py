# SPDX-License-Identifier: Apache-2.0
"""What a story is made of: its place in the list, and what it is given to work with.

    @story("limit", "a program gets its limit to the byte", priority=1, seconds=60)
    def a_limit_holds(t):
        with t.start("hold.py", "alloc", limit=t.capacity) as program:
            held = program.until("held")
            t.claim("the card is as large as the limit", held["total"] == t.capacity, held)
            t.figure("NVML's bytes less ours", gap, "B", at_most=32 << 20)

A claim decides the verdict. A figure never does: it says what was measured and, where there is a
figure to reach, whether it was reached. skip() ends a story that cannot be told on this machine;
so does both(), where a program fails without Aliquot as well. What was found before a crash or a hang
is kept: it is written to the story's file at once.
"""
import collections
import importlib.util
import json
import os
import pathlib
import shutil
import statistics
import sys

from parts import EXPECTED
from probe import Books
from program import Program

HERE = pathlib.Path(__file__).resolve().parent
MIB, GIB = 1 << 20, 1 << 30

Entry = collections.namedtuple("Entry", "name about priority seconds expected tell section")
STORIES = {}


def story(name, about, priority=3, seconds=60):
    """Lower priorities run first: 1 what must hold, 2 figures to reach, 3 what is to be found out,
    4 what can wait; but first those of parts.py, in its order. `seconds` bounds a hang."""
    def register(tell):
        assert name not in STORIES, name
        STORIES[name] = Entry(name, about, priority, seconds, EXPECTED.get(name, seconds), tell,
                              tell.__module__.rpartition(".")[2])
        return tell
    return register


class Skip(Exception):
    """This machine cannot tell the story; the reason is its text."""


def reason_of(program):
    """Why a program without Aliquot did not end well; "" if it did."""
    if program.rc == 0:
        return ""
    last = (program.stderr.strip().splitlines() or ["no reason given"])[-1]
    return f"{program.record['command']} fails without Aliquot as well ({program.rc}): {last}"


class Teller:
    def __init__(self, entry, into, home, scratch, is_rehearsal):
        """`home` is the bundle's folder, `scratch` one that goes when the story is over."""
        self.into, self.home, self.is_rehearsal = into, pathlib.Path(home), is_rehearsal
        self.scratch = pathlib.Path(scratch)
        self.aliquot = self.home / "bin/aliquot"
        self.library = self.home / "lib/aliquot/libaliquot.so"
        self.shims = self.home / "lib/aliquot/shims"
        self.capacity = int(os.environ.get("GPU_CHECK_CAPACITY", 8 * GIB))
        self.rounds = 2 if is_rehearsal else 7
        self.batches = 11 if is_rehearsal else 201  # of calls that are timed; what they take is the real card's to tell
        self.few_rounds = 1 if is_rehearsal else 3  # of programs that take seconds
        self.books, self.ended = Books(self), set()
        self.sessions = 0
        self.result = {"name": entry.name, "about": entry.about, "verdict": None, "claims": [],
                       "figures": [], "tables": [], "notes": [], "facts": {}, "programs": []}

    def save(self):
        text = json.dumps(self.result, indent=1, default=str)
        part = f"{self.into}.part"
        pathlib.Path(part).write_text(text + "\n", encoding="utf-8")
        os.replace(part, self.into)

    # What the story says

    def claim(self, what, holds, detail=""):
        self.result["claims"].append({"what": what, "holds": bool(holds),
                                      "detail": "" if holds else str(detail)[-1000:]})
        self.save()
        return bool(holds)

    def figure(self, what, value, unit="", at_most=None, at_least=None, raw=None):
        reached = None
        if at_most is not None:
            reached = value is not None and value <= at_most
        elif at_least is not None:
            reached = value is not None and value >= at_least
        said = {"what": what, "value": value, "unit": unit, "at_most": at_most, "at_least": at_least,
                "reached": reached, "raw": raw}
        figures = self.result["figures"]
        at = next((at for at, one in enumerate(figures) if one["what"] == what), len(figures))
        figures[at:at + 1] = [said]  # said again, it takes the place of what it was so far
        self.save()

    def table(self, columns):
        """Rows to append to, for findings that are read side by side; kept at the next save."""
        rows = []
        self.result["tables"].append({"columns": columns, "rows": rows})
        return rows

    def note(self, text):
        self.result["notes"].append(text)
        self.save()

    def fact(self, name, value):
        self.result["facts"][name] = value
        self.save()

    def skip(self, reason):
        raise Skip(reason)

    def need(self, module):
        if not importlib.util.find_spec(module):
            self.skip(f"this Python has no {module}")

    def works_alone(self, program, *arguments, **how):
        """Skips the story where the program fails without Aliquot as well; tried once for all stories."""
        known = pathlib.Path(os.environ["GPU_CHECK_SCRATCH"], "-".join((program, *arguments)) + ".alone")
        if not known.exists():
            known.write_text(reason_of(self.run(program, *arguments, **how)), encoding="utf-8")
        reason = known.read_text(encoding="utf-8")
        if reason:
            self.skip(reason)

    def need_torch(self):
        self.need("torch")
        self.works_alone("torch_work.py", "start")

    def need_tool(self, name, *places):
        """The path of a tool that lies in PATH or in one of the places."""
        found = shutil.which(name) or next((p for p in places if os.access(p, os.X_OK)), None)
        if not found:
            self.skip(f"no {name} on this machine")
        return found

    # Programs

    def session(self):
        self.sessions += 1
        return f"check-{os.getpid()}-{self.sessions}"

    def start(self, program, *arguments, **how):
        """A Python program of programs/ in the background; see Program for `how`."""
        return Program(self, [sys.executable, "-B", HERE / "programs" / program, *arguments], **how)

    def run(self, program, *arguments, **how):
        return self.start(program, *arguments, **how).finish()

    def both(self, program, *arguments, limit, **how):
        """The same without Aliquot and with Aliquot. Where it fails without Aliquot there is nothing to compare."""
        alone = self.run(program, *arguments, **how)
        if alone.rc != 0:
            self.skip(reason_of(alone))
        ours = self.run(program, *arguments, limit=limit, **how)
        self.claim(f"{program} {' '.join(map(str, arguments))} ends well with Aliquot", ours.rc == 0,
                   ours.stderr)
        return alone, ours

    def pairs(self, measure, rounds=None, so_far=None):
        """measure(limit) without Aliquot (None) and with Aliquot in turns, the first of each pair in turns too.
        Gives both lists, pair by pair; so_far(alone, ours) hears of them after each pair."""
        alone, ours = [], []
        for turn in range(rounds or self.rounds):
            for limit in (None, self.capacity) if turn % 2 == 0 else (self.capacity, None):
                (alone if limit is None else ours).append(measure(limit))
            self.fact("pairs so far", [alone, ours])
            if so_far:
                so_far(alone, ours)
        return alone, ours

    def compare(self, what, unit, alone, ours, at_most=None, at_least=None):
        """Medians of both, and the median of the ratios pair by pair, which is what is to be reached."""
        ratios = [o / a for a, o in zip(alone, ours)]
        self.figure(f"{what}, without Aliquot", statistics.median(alone), unit, raw=alone)
        self.figure(f"{what}, with Aliquot", statistics.median(ours), unit, raw=ours)
        self.figure(f"{what}, with Aliquot over without, median of the pairs", statistics.median(ratios), "x", at_most,
                    at_least, raw=ratios)
        self.figure(f"{what}, pairs", len(ratios))
        self.figure(f"{what}, the pairs' ratios, from", min(ratios), "x")
        self.figure(f"{what}, the pairs' ratios, to", max(ratios), "x")
