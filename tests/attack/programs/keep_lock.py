# SPDX-License-Identifier: Apache-2.0
"""FILE [BYTE]: holds a lock over all of a file, or over one byte, by a descriptor alone: it maps nothing."""
import fcntl
import struct
import sys

F_OFD_SETLK = 37
file = open(sys.argv[1], "r+b")  # pylint: disable=consider-using-with
at, size = (int(sys.argv[2]), 1) if sys.argv[2:] else (0, 0)
fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, at, size, 0))
print("ready", flush=True)
sys.stdin.read()
