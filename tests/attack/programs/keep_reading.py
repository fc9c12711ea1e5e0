# SPDX-License-Identifier: Apache-2.0
"""Writes all of FILE full, and then has it open to read alone: FILE HOW. HOW is "open" or "map"."""
import mmap
import os
import sys

path, how = sys.argv[1:]
with open(path, "r+b") as file:
    file.write(bytes(os.fstat(file.fileno()).st_size))
fd = os.open(path, os.O_RDONLY)
if how == "map":
    mapping = mmap.mmap(fd, os.fstat(fd).st_size, prot=mmap.PROT_READ)
    os.close(fd)
print("ready", flush=True)
sys.stdin.read()
