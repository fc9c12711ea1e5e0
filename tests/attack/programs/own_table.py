# SPDX-License-Identifier: Apache-2.0
"""Holds a lock over all of a file by a descriptor that a thread has in a table of its own (CLONE_FILES ended): the
first thread, and so /proc/PID/fd, has it no more."""
import ctypes
import fcntl
import os
import struct
import sys
import threading

F_OFD_SETLK, CLONE_FILES = 37, 0x400
file = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
has_own = threading.Event()


def keep():
    assert ctypes.CDLL(None).unshare(CLONE_FILES) == 0
    has_own.set()
    threading.Event().wait()


threading.Thread(target=keep, daemon=True).start()
has_own.wait()
os.close(file)
print("ready", flush=True)
sys.stdin.read()
