# SPDX-License-Identifier: Apache-2.0
"""What those do that a test started and that are still there: where each of their threads stands. For a story that hangs."""
import os
import pathlib
import shutil
import subprocess

PROC = pathlib.Path("/proc")
MOST = 40  # processes that are described
MOST_STACKS = 8  # of which so many stop for a debugger


def read(path):
    """A thread may end meanwhile, and some of this is root's to read. No file for which the kernel makes us wait while
    somebody stands in execve()."""
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "?"


def parents():
    """Of each process: who started it. A name in /proc/PID/stat may have spaces and brackets."""
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
    """Of all its threads, where there is a gdb. One that reads what is mapped may never end."""
    if not shutil.which("gdb"):
        return []
    words = ["timeout", "--signal=KILL", "20", "gdb", "-p", str(pid), "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "thread apply all bt 16"]
    said = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return [f"    {line}" for line in said.splitlines() if line.startswith(("#", "Thread"))]


def describe():
    if "ALIQUOT_HANG_SECONDS" in os.environ:  # tools/mutants: it hangs on purpose
        return ""
    lines = []
    for nth, one in enumerate(descendants(os.getpid())[:MOST]):
        lines.append(f"{one}: {read(PROC / str(one) / 'cmdline')[:200]}")
        for task in sorted((PROC / str(one) / "task").glob("*")):
            state = read(task / "stat").rpartition(")")[2].split()[:1]
            lines.append(f"  {task.name} {read(task / 'comm')} {' '.join(state)} {read(task / 'wchan')}")
        lines += stacks(one) if nth < MOST_STACKS else []
    return "\n".join(lines)
