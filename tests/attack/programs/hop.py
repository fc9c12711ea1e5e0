# SPDX-License-Identifier: Apache-2.0
"""Has a file mapped and holds a lock on it, and goes from process to process: each forks and ends at once. Until its
standard input ends."""
import fcntl
import mmap
import os
import select
import signal
import struct
import sys

F_OFD_SETLK = 37
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
mapping = mmap.mmap(fd, mmap.PAGESIZE)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
ended = select.poll()
ended.register(0, select.POLLHUP)
while not ended.poll(0):
    if os.fork():
        os._exit(0)
