# SPDX-License-Identifier: Apache-2.0
"""Gives FILE attributes until the file system has no room for another one: FILE LETTERS, how long each name is.

It says how many there are, and keeps the file open.
"""
import os
import sys

BYTES = 60000
fd = os.open(sys.argv[1], os.O_RDWR)
made, size = 0, BYTES
while size:
    try:
        os.setxattr(fd, "user." + str(made).zfill(int(sys.argv[2])), bytes(size))
        made += 1
    except OSError:
        size //= 2
print("ready", made, sep="\n", flush=True)
sys.stdin.read()
