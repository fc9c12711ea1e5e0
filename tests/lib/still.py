# SPDX-License-Identifier: Apache-2.0
"""Describes the processes of a test that still run, with the state of each thread: for a story that
hangs.
"""
import os
import pathlib
import shutil
import subprocess

PROC = pathlib.Path("/proc")
MAX_PROCESSES = 40  # processes to describe
MAX_STACKS = 8  # processes to stop in a debugger


def read(path):
    """A thread may end meanwhile, and some files are root's. Do not use it for files that block
    while the process is in execve()."""
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "?"


def parents():
    """Each process's parent. A name in /proc/PID/stat may contain spaces and brackets."""
    found = {}
    for entry in PROC.iterdir():
        fields = read(entry / "stat").rpartition(")")[2].split() if entry.name.isdigit() else []
        if len(fields) > 1:
            found[int(entry.name)] = int(fields[1])
    return found


def descendants(pid):
    parent_of = parents()
    known = [pid]
    for one in known:
        known.extend(child for child, parent in parent_of.items() if parent == one)
    return known[1:]


def stacks(pid):
    """The stacks of all its threads, if gdb is installed. gdb reads the mappings, which can block
    forever: hence the timeout."""
    if not shutil.which("gdb"):
        return []
    words = ["timeout", "--signal=KILL", "20", "gdb", "-p", str(pid), "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "thread apply all bt 16"]
    said = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return [f"    {line}" for line in said.splitlines() if line.startswith(("#", "Thread"))]


def describe():
    if "ALIQUOT_HANG_SECONDS" in os.environ:  # set by tools/mutants, where stories hang on purpose
        return ""
    lines = []
    for nth, one in enumerate(descendants(os.getpid())[:MAX_PROCESSES]):
        lines.append(f"{one}: {read(PROC / str(one) / 'cmdline')[:200]}")
        for task in sorted((PROC / str(one) / "task").glob("*")):
            state = read(task / "stat").rpartition(")")[2].split()[:1]
            lines.append(f"  {task.name} {read(task / 'comm')} {' '.join(state)} {read(task / 'wchan')}")
        lines += stacks(one) if nth < MAX_STACKS else []
    return "\n".join(lines)
