# SPDX-License-Identifier: Apache-2.0
"""subordinate.py FILE: as keep_lock.py, in a user namespace of its user's, and then as another user of that namespace.
Says "made", or "not made"; once a line has come, which is when users are mapped, "ready"."""
import ctypes
import fcntl
import os
import struct
import sys

CLONE_NEWUSER, F_OFD_SETLK = 0x10000000, 37
is_made = ctypes.CDLL(None).unshare(CLONE_NEWUSER) == 0
print("made" if is_made else "not made", flush=True)
sys.stdin.readline()
file = open(sys.argv[1], "r+b")  # pylint: disable=consider-using-with
fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
os.setresuid(1, 1, 1)
print("ready", flush=True)
sys.stdin.read()
