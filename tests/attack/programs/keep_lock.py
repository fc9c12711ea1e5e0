# SPDX-License-Identifier: Apache-2.0
"""Holds a lock over all of a file, by a descriptor alone: it maps nothing."""
import fcntl
import struct
import sys

F_OFD_SETLK = 37
file = open(sys.argv[1], "r+b")  # pylint: disable=consider-using-with
fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
print("ready", flush=True)
sys.stdin.read()
