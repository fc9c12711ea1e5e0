# SPDX-License-Identifier: Apache-2.0
"""Holds a lease on a file of its own, and does not heed those who want it back."""
import fcntl
import os
import signal
import sys

signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("ready", flush=True)
sys.stdin.read()
