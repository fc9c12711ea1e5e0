# SPDX-License-Identifier: Apache-2.0
"""Tries for a lease of either kind on a file of its own, and says what came of it."""
import fcntl
import os
import sys

for flags, kind in ((os.O_RDONLY, fcntl.F_RDLCK), (os.O_RDWR, fcntl.F_WRLCK)):
    fd = os.open(sys.argv[1], flags)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, kind)
        print("taken")
    except BlockingIOError:
        print("refused")
    os.close(fd)
