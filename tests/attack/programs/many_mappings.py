# SPDX-License-Identifier: Apache-2.0
"""Has a file mapped beyond some 60,000 mappings whose names are as long as a name can be: FILE FOLDER."""
import ctypes
import os
import sys

PAGE, READ, SHARED, FAILED = 4096, 1, 1, 2**64 - 1
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
slots = os.open(sys.argv[1], os.O_RDWR)
libc.mmap(None, PAGE, READ, SHARED, slots, 0)  # the highest, and so the last that /proc/PID/maps tells of
os.chdir(sys.argv[2])
for _ in range(15):
    name = "\n" * 60 + "x" * 180  # each line break is told as four characters
    os.mkdir(name)
    os.chdir(name)
file = os.open("file", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 2 * PAGE)
made = 0
while made < 60000 and libc.mmap(None, PAGE, READ, SHARED, file, made % 2 * PAGE) != FAILED:
    made += 1
print("ready", flush=True)
sys.stdin.read()
