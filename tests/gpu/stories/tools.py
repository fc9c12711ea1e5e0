# SPDX-License-Identifier: Apache-2.0
"""Debuggers start programs their own way and put libraries of their own in front: both must live."""
import sys

from story import story

CUDA = "/usr/local/cuda/bin"


def answers(program):
    return [(said["call"], said["answer"]) for said in program.said]


def under(t, wrap):
    """The same program under a tool, without Aliquot and with Aliquot."""
    alone = t.run("answers.py", "right", wrap=wrap)
    if alone.rc != 0 or not alone.said:
        t.skip(f"fails without Aliquot as well ({alone.rc}): {(alone.stderr + ' '.join(alone.other))[-300:]}")
    ours = t.run("answers.py", "right", wrap=wrap, limit=t.capacity)
    t.claim("it ends well with Aliquot", ours.rc == 0, ours.stderr)
    t.claim("the program's calls answer the same", answers(alone) == answers(ours),
            (alone.said, ours.said))
    return ours


@story("sanitizer", "compute-sanitizer's memcheck on a program under a limit", priority=3, seconds=120)
def compute_sanitizer(t):
    tool = t.need_tool("compute-sanitizer", f"{CUDA}/compute-sanitizer")
    ours = under(t, [tool, "--tool", "memcheck", "--target-processes", "all"])
    summary = [line for line in ours.other if "ERROR SUMMARY" in line]
    t.claim("it checked, and found nothing", any(" 0 errors" in line for line in summary),
            ours.other[-20:])


@story("cuda-gdb", "cuda-gdb runs a program under a limit to its end", priority=3, seconds=120)
def cuda_gdb(t):
    tool = t.need_tool("cuda-gdb", f"{CUDA}/cuda-gdb")
    t.fact("interpreter", sys.executable)
    ours = under(t, [tool, "-batch", "-ex", "run", "--args"])
    t.claim("the program exited normally", any("exited normally" in line for line in ours.other),
            ours.other[-20:])
