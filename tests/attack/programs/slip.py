# SPDX-License-Identifier: Apache-2.0
"""BYTES: takes memory of the GPU in its session and then leaves `slots`: memory of its own lies where that was mapped, and
no descriptor of it is open. On a line of input it ends."""
import ctypes
import os
import sys

from gpu import libc, take

PRIVATE_ANONYMOUS_FIXED = 0x32

take(int(sys.argv[1]))
with open("/proc/self/maps", encoding="utf-8") as maps:
    mappings = [line.split()[0] for line in maps if line.rstrip().endswith("/slots")]
for mapping in mappings:
    first, end = (int(part, 16) for part in mapping.split("-"))
    copy = ctypes.string_at(first, end - first)
    libc.mmap(first, end - first, 3, PRIVATE_ANONYMOUS_FIXED, -1, 0)
    ctypes.memmove(first, copy, len(copy))
for number in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{number}").endswith("/slots"):
            os.close(int(number))
    except OSError:
        pass  # that of the folder that was listed
print("ready", flush=True)
sys.stdin.readline()
