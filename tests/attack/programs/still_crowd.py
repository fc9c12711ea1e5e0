# SPDX-License-Identifier: Apache-2.0
"""FILE FIRST COUNT: as root. A process each of COUNT users from FIRST on makes a context on the GPU and then stays in
execve(), with that file open (still.py). Says "ready" when all are on the GPU, and waits; they end with it."""
import ctypes
import os
import signal
import sys

from gpu import make_context

PR_SET_PDEATHSIG = 1
file, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def stay(uid, end):
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.open(file, os.O_RDWR)
    make_context()
    os.write(end, b"x")
    os.execv("/bin/sleep", ["sleep", "1000"])


for number in range(count):
    begun, here = os.pipe()
    if not os.fork():
        stay(first + number, here)
    os.close(here)
    assert os.read(begun, 1) == b"x"
    os.close(begun)
print("ready", flush=True)
sys.stdin.readline()
