# SPDX-License-Identifier: Apache-2.0
"""Runs stories one by one, each in a process of its own, and keeps what they found whatever happens.

A story ends in one of: passed, failed (a claim did not hold), skipped (with the reason), crashed (a
signal, an exception), hung (its time was over: it was killed), cut off (the run's time was over, or it
was told to end), not reached (no time was left).
Whatever a story leaves running is killed before the next one begins, so that nothing of it is on
the card any more. results.json is complete after every story. What the story that is being told has
found lies beside it (IN_PROGRESS), for a run that is itself killed.
"""
import contextlib
import ctypes
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import page
import parts
from story import STORIES

PR_SET_CHILD_SUBREAPER = 36
FINAL = ("passed", "failed", "skipped", "crashed", "hung")
BAD = ("failed", "crashed", "hung")
IN_PROGRESS = "in-progress.json"
OURS_TO_KEEP = ("ALIQUOT_SIM", "ALIQUOT_REAL_LIBCUDA", "ALIQUOT_REAL_LIBNVML")


def tmpfs():
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def children():
    """By each process's own line: the kernel's list of children is not everywhere."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if after_name[1] == str(os.getpid()):
            found.append(int(file.parent.name))
    return found


def end_orphans():
    """Kills what the last story left; it became our child when its parent went."""
    while left := children():
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def stories_of(folder):
    """(what results.json has, or None, and all stories told in that folder), the one that a killed run was
    in the middle of too."""
    def read(name):
        try:
            return json.loads((folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    whole, last = read("results.json"), read(IN_PROGRESS)
    stories = {story["name"]: story for story in (whole or {"stories": []})["stories"]}
    if last and stories.get(last["name"], {}).get("verdict") not in FINAL:
        last = {"seconds": 0, **last, "notes": [*last["notes"], "the run was killed in the middle of it"]}
        stories[last["name"]] = {**last, "verdict": last["verdict"] or "cut off"}
    return whole, stories


class Runner:
    def __init__(self, entries, options, here):
        self.entries, self.options, self.here = entries, options, here
        self.process, self.command_line = None, " ".join(["check.py", *sys.argv[1:]])
        self.out = options.out.resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.deadline = time.monotonic() + options.minutes * 60
        self.began = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self.results = self.earlier() if options.skip_done else {}
        self.into = self.out / IN_PROGRESS
        self.into.unlink(missing_ok=True)

    def earlier(self):
        """What earlier runs in this folder have found; they and this one are told of as one."""
        whole, stories = stories_of(self.out)
        if whole:
            self.began = whole.get("began", self.began)
            self.command_line = f"{whole['command']}; {self.command_line}"
        return {name: story for name, story in stories.items() if story["verdict"] != "not reached"}

    def run(self):
        """Also when it is cut off nothing of a story is left on the card: a later run would measure it."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.cut_off)
        self.scratch = tempfile.mkdtemp(prefix="gpu-check-", dir=tmpfs())
        try:
            for entry in self.entries:
                earlier = self.results.get(entry.name)
                if earlier is None or earlier["verdict"] not in FINAL:
                    told = self.tell(entry)
                    self.results[entry.name] = earlier if earlier and told["verdict"] == "not reached" else told
                    self.write()
                self.say(self.results[entry.name])
        finally:
            end_orphans()
            shutil.rmtree(self.scratch, ignore_errors=True)
        return self.finish()

    def cut_off(self, *_):
        """Told to end: the time is over now, for the story that is being told as well."""
        self.deadline = 0
        if self.process and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def tell(self, entry):
        began = time.monotonic()
        if began + entry.expected > self.deadline:
            return self.empty(entry, "not reached", "no time was left for it")
        log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command(entry), env=self.environment(), stdout=log, stderr=log,
                                        stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            rc = self.process.wait(max(min(entry.seconds, self.deadline - began), 0))
        except subprocess.TimeoutExpired:
            rc = None
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        end_orphans()
        for left in pathlib.Path(self.scratch).glob("story-*"):
            shutil.rmtree(left, ignore_errors=True)
        log.seek(0)
        result = self.outcome(entry, rc)
        return {**result, "seconds": round(time.monotonic() - began, 2),
                "stderr": log.read()[-4000:]}

    def command(self, entry):
        words = [sys.executable, "-B", str(self.here / "check.py"), "--story", entry.name, "--into",
                 str(self.into)]
        return words + (["--rehearsal"] if self.options.rehearsal else [])

    def environment(self):
        """The caller's, less every setting of ours; sessions live in a folder of this run."""
        env = {key: value for key, value in os.environ.items()
               if not key.startswith("ALIQUOT_") or key in OURS_TO_KEEP}
        env.pop("LD_PRELOAD", None)
        # One card, by the number that NVML knows it by.
        env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        env["CUDA_VISIBLE_DEVICES"] = env.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"
        runtime = pathlib.Path(self.scratch, "run")
        runtime.mkdir(mode=0o700, exist_ok=True)
        return {**env, "ALIQUOT_RUNTIME_DIR": str(runtime), "GPU_CHECK_SCRATCH": self.scratch,
                "PYTHONUNBUFFERED": "1"}

    def empty(self, entry, verdict, note):
        return {"name": entry.name, "about": entry.about, "verdict": verdict, "claims": [],
                "figures": [], "tables": [], "notes": [note], "facts": {}, "programs": [],
                "seconds": 0}

    def outcome(self, entry, rc):
        """What the story wrote, with the verdict that its end allows."""
        try:
            result = json.loads(self.into.read_text(encoding="utf-8"))
        except FileNotFoundError:
            result = self.empty(entry, None, "it wrote nothing")
        if rc != 0 and time.monotonic() >= self.deadline:
            result["verdict"] = "cut off"
            result["notes"].append("the run's time was over")
        elif rc is None:
            result["verdict"] = "hung"
            result["notes"].append(f"killed after {entry.seconds} s")
        elif rc != 0 or result["verdict"] is None:
            result["verdict"] = "crashed"
            result["notes"].append(f"its process ended with {rc}")
        return result

    # The report

    def write(self):
        known = list(STORIES.values())
        order = {entry.name: at for at, entry in enumerate(sorted(known, key=parts.by_worth))}
        stories = sorted(self.results.values(), key=lambda one: order.get(one["name"], len(order)))
        whole = {"date": self.began[:10], "began": self.began, "rehearsal": self.options.rehearsal,
                 "command": self.command_line, "stories": stories}
        for name, text in (("results.json", json.dumps(whole, indent=1) + "\n"),
                           ("page.md", page.render(whole))):
            part = self.out / f".{name}"
            part.write_text(text, encoding="utf-8")
            part.replace(self.out / name)
        self.into.unlink(missing_ok=True)

    @staticmethod
    def say(result):
        print(f"{result['verdict']:<12}{result['name']:<20} {result['seconds']:>6} s", flush=True)
        if result["verdict"] in (*BAD, "skipped", "cut off"):
            for claim in result["claims"]:
                if not claim["holds"]:
                    print(f"    not so: {claim['what']}: {claim['detail'][-300:]}")
            for text in (result["notes"][-1:] + [result.get("traceback", "")[-600:]]):
                if text:
                    print("    " + text.strip().replace("\n", "\n    "))

    def finish(self):
        self.write()
        verdicts = [self.results[entry.name]["verdict"] for entry in self.entries]
        print("\n" + ", ".join(f"{verdicts.count(verdict)} {verdict}"
                               for verdict in (*FINAL, "cut off", "not reached")))
        left = [entry.name for entry in self.entries
                if self.results[entry.name]["verdict"] not in FINAL]
        if left:
            print(f"Go on with: --skip-done, or --only {','.join(left)}")
        print(f"Report: {self.out / 'page.md'}, {self.out / 'results.json'}")
        return 1 if any(verdict in BAD for verdict in verdicts) else 0
