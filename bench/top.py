# SPDX-License-Identifier: Apache-2.0
"""aliquot top on a node of 300 sessions with a program in each: what watching costs."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import tempfile
import termios
import time

from report import Report
from stage import BUILD, environment, prove_limit_holds, start

SESSIONS = 300
SECONDS = 30
ROWS, COLUMNS = 24, 80

report = Report("top", f"{SESSIONS} sessions with a program in each, looked at once a second on a terminal of "
                       f"{COLUMNS} columns and {ROWS} lines; CPU time of aliquot top over {SECONDS} seconds, the "
                       "bytes that it sent to the terminal meanwhile, and its memory at the end. The toy driver "
                       "has no NVML: GPUs are those that the sessions know")


def open_top(runtime):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "ALIQUOT_RUNTIME_DIR": runtime}
    # Else a machine with a card would measure that, too.
    env["ALIQUOT_REAL_LIBNVML"] = "/nowhere"
    process = subprocess.Popen([BUILD / "src/cli/aliquot", "top"], env=env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    return process, master


def drain(master, seconds):
    """How many bytes came in that time."""
    count, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if not select.select([master], [], [], left)[0]:
            break
        try:
            count += len(os.read(master, 1 << 16))
        except OSError:  # nobody has the other end any more
            break
    return count


def cpu_seconds(pid):
    with open(f"/proc/{pid}/schedstat", encoding="utf-8") as file:
        return int(file.read().split()[0]) / 1e9


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:")) / 1024


def watch(runtime):
    top, master = open_top(runtime)
    drain(master, 3)
    before = cpu_seconds(top.pid)
    sent = drain(master, SECONDS)
    spent, resident = cpu_seconds(top.pid) - before, resident_mib(top.pid)
    os.write(master, b"q")
    drain(master, 0.5)
    if top.wait(timeout=30) != 0:
        raise SystemExit("aliquot top did not end well")
    os.close(master)
    return spent, sent, resident


with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    prove_limit_holds(folder)
with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    programs = [start(environment(folder, "64MiB", ALIQUOT_SESSION=f"s{i:03}"), "hold") for i in range(SESSIONS)]
    for program in programs:
        if program.stdout.readline() != "0\n":
            raise SystemExit("a program did not start")
    cpu, sent_bytes, memory = watch(folder)
    for program in programs:
        program.stdin.close()
    for program in programs:
        program.wait(timeout=60)
report.row("of a core, looking once a second", cpu / SECONDS * 100, "%", 1)
report.row("to the terminal, a second", sent_bytes / SECONDS, "bytes")
report.row("its own memory (private, not file)", memory, "MiB")
report.finish()
