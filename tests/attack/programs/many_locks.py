# SPDX-License-Identifier: Apache-2.0
"""Says in each `slots` named by its arguments that every slot was taken, and holds a lock of its own on every
second byte of them. Says when that is so, and waits."""
import fcntl
import os
import struct
import sys

HIGH, SLOTS = 64, 4096  # src/proto/page.h: struct slots_page
held = []

for path in sys.argv[1:]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    held.append(fd)
    os.pwrite(fd, struct.pack("<I", SLOTS), HIGH)
    for byte in range(4 * SLOTS, 0, -2):  # the first of the file last: the kernel then finds its place at once
        fcntl.lockf(fd, fcntl.LOCK_EX, 1, byte)
print("held", flush=True)
sys.stdin.read()
