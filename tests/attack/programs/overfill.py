# SPDX-License-Identifier: Apache-2.0
"""Fills the file system of a file of its own through that file, in one of four ways, and keeps it open.

    overfill.py FILE write|allocate|again|lease

"write" writes behind its end, "allocate" takes the room without moving the end, "again" writes for ever,
"lease" holds a lease on it, which bars all others from opening it, and writes. It says "ready", and begins when it is
told a line; then it says "full".
"""
import ctypes
import fcntl
import os
import signal
import sys

KEEP_SIZE = 1
CHUNK = bytes(1 << 20)
fd = os.open(sys.argv[1], os.O_RDWR)
how = sys.argv[2]
if how == "lease":
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)


def fill():
    at = os.fstat(fd).st_size
    try:
        while how == "allocate":
            if ctypes.CDLL(None, use_errno=True).fallocate64(fd, KEEP_SIZE, ctypes.c_long(at), ctypes.c_long(len(CHUNK))) != 0:
                return
            at += len(CHUNK)
        while True:
            at += os.pwrite(fd, CHUNK, at)
    except OSError:
        pass


print("ready", flush=True)
sys.stdin.readline()
fill()
print("full", flush=True)
while how == "again":
    fill()
sys.stdin.read()
