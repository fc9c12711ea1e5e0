#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check.py [--out DIR] [--part N] [--minutes N] [--skip-done] [--list] [NAME...]

Tells the stories of stories/ on this machine's GPU, one process each, the most important first, and
writes DIR/results.json and DIR/page.md after every one. Needs nothing but Python's standard
library; a story that needs more says so and is skipped. NAME: of a story, or of a section, which is
a file of stories/; all, if none is given. SIGTERM cuts off the story that is being told; what it has
found is kept. Exit: 0 nothing failed, 1 something did.

    --part N      the first, second or third of three parts that take nine minutes at most (parts.py)
    --minutes N   begin no story that is expected to take longer than what is left of N minutes, and cut
                  off the one that does (a part: 9; else 60)
    --skip-done   go on in DIR where an earlier run stopped
"""
import argparse
import ctypes
import os
import pathlib
import signal
import sys
import tempfile
import traceback

PR_SET_PDEATHSIG = 1
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import parts  # noqa: E402 (the path comes first)
from program import Ended  # noqa: E402
from runner import Runner  # noqa: E402
from story import STORIES, Skip, Teller  # noqa: E402


def load_stories():
    """Those of stories/, and of further files (tests of the runner): GPU_CHECK_STORIES."""
    extra = os.environ.get("GPU_CHECK_STORIES")
    if extra:
        sys.path.insert(0, str(pathlib.Path(extra).parent))
        __import__(pathlib.Path(extra).stem)
    else:
        __import__("stories")
    return sorted(STORIES.values(), key=parts.by_worth)


def tell_one(name, into, is_rehearsal):
    """In the process that is the story's own. A crash is for the runner to see; its death ends this one."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    load_stories()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="story-", dir=os.environ["GPU_CHECK_SCRATCH"]))
    t = Teller(STORIES[name], into, HERE.parent, scratch, is_rehearsal)
    try:
        STORIES[name].tell(t)
        t.result["verdict"] = "passed"
    except Skip as reason:
        t.result["verdict"] = "skipped"
        t.note(str(reason))
    except Ended as ended:
        t.result["verdict"] = "failed"
        t.claim("its program goes on to the end", False, ended)
    except Exception:  # a story that breaks has no verdict; what it found is kept
        t.result["verdict"] = "crashed"
        t.result["traceback"] = traceback.format_exc()[-4000:]
    if t.result["verdict"] in ("passed", "skipped") and not all(claim["holds"] for claim in t.result["claims"]):
        t.result["verdict"] = "failed"
    t.save()


def why_no_gpu():
    """None where a driver answers with a card. Asked in a child: nobody keeps the driver open."""
    pid = os.fork()
    if pid == 0:
        try:
            driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
            rc = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
            os._exit(0 if rc == 0 and count.value else 2)
        except OSError:
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    return {0: None, 1: "no NVIDIA driver"}.get(os.waitstatus_to_exitcode(status),
                                                "the NVIDIA driver has no card for us")


def say_what_would_be_done(entries, reason):
    for entry in entries:
        print(f"skipped  {entry.name:<20} would show: {entry.about}")
    print(f"\n{len(entries)} stories skipped: {reason}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu-check-results"))
    parser.add_argument("--part", type=int, choices=parts.PARTS)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--only", default="")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--skip-done", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rehearsal", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--story", help=argparse.SUPPRESS)
    parser.add_argument("--into", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.minutes is None:
        options.minutes = parts.MINUTES if options.part else 60
    return options


def choose(entries, part, names):
    if part:
        entries = [entry for entry in entries if parts.OF.get(entry.name) == part]
    wanted = set(filter(None, names))
    unknown = wanted - {name for entry in entries for name in (entry.name, entry.section)}
    if unknown:
        sys.exit(f"check.py: no such story: {', '.join(sorted(unknown))}; see --list")
    return [entry for entry in entries if not wanted or wanted & {entry.name, entry.section}]


def main():
    options = arguments()
    if options.story:
        tell_one(options.story, options.into, options.rehearsal)
        return 0
    entries = choose(load_stories(), options.part, options.only.split(",") + options.names)
    if options.list:
        for entry in entries:
            part = parts.OF.get(entry.name, "-")
            print(f"{part}  {entry.name:<20} {entry.section:<13} {entry.expected:>3} s  {entry.about}")
        return 0
    reason = why_no_gpu()
    if reason:
        say_what_would_be_done(entries, reason)
        return 0
    return Runner(entries, options, HERE).run()


if __name__ == "__main__":
    sys.exit(main())
