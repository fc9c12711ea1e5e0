# SPDX-License-Identifier: Apache-2.0
"""FILE BYTES: takes memory of the GPU in its session, and then maps FILE below all else, as a program may that another user hands
its data to. On a line of input it ends."""
import sys

from gpu import libc, take

LOW, PROT_READ, MAP_SHARED = 1 << 28, 1, 1

take(int(sys.argv[2]))
with open(sys.argv[1], "rb") as file:
    assert libc.mmap(LOW, 4096, PROT_READ, MAP_SHARED, file.fileno(), 0) == LOW
print("ready", flush=True)
sys.stdin.readline()
