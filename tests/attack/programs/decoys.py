# SPDX-License-Identifier: Apache-2.0
"""SLOTS BYTES COUNT: maps COUNT files named slots of its own making below all else, and then SLOTS; takes memory of the GPU past
the library, and zeroes the ledger. Says "ready"."""
import mmap
import sys
import tempfile
import time

from gpu import libc, take

LOW, PROT_READ, MAP_SHARED = 1 << 28, 1, 1
LEDGER = slice(128, 144)

for number in range(int(sys.argv[3])):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, open(f"{folder}/slots", "w+b") as decoy:
        decoy.truncate(mmap.PAGESIZE)
        place = LOW + number * 8192
        assert libc.mmap(place, mmap.PAGESIZE, PROT_READ, MAP_SHARED, decoy.fileno(), 0) == place
with open(sys.argv[1], "r+b", buffering=0) as file:
    slots = mmap.mmap(file.fileno(), mmap.PAGESIZE)
take(int(sys.argv[2]))
slots[LEDGER] = bytes(16)
print("ready", flush=True)
time.sleep(1000)
