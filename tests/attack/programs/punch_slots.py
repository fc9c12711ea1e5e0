# SPDX-License-Identifier: Apache-2.0
"""punch_slots.py SLOTS PROCESSES: has the first page of its own SLOTS mapped as often as the kernel allows by each of so many
processes, says "ready", and punches a hole there without end: for each hole the kernel goes through all mappings."""
import ctypes
import os
import signal
import sys

PUNCH_HOLE, KEEP_SIZE = 2, 1
PAGE = 4096
PR_SET_PDEATHSIG = 1
FAILED = ctypes.c_void_p(-1).value

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
slots = os.open(sys.argv[1], os.O_RDWR)
done, say = os.pipe()
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        address = libc.mmap(None, PAGE, 1, 1, slots, 0)
        while address != FAILED:
            ctypes.string_at(address, 1)
            address = libc.mmap(None, PAGE, 1, 1, slots, 0)
        os.write(say, b".")
        signal.pause()
for _ in range(int(sys.argv[2])):
    os.read(done, 1)
print("ready", flush=True)
while True:
    libc.fallocate(slots, PUNCH_HOLE | KEEP_SIZE, 0, PAGE)
