# SPDX-License-Identifier: Apache-2.0
"""Lives in a session by its mapping and its lock, with a first thread that has ended: /proc/PID/maps is empty then."""
import fcntl
import mmap
import pathlib
import struct
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[2] / "lib"))
import leaderless  # pylint: disable=wrong-import-position

F_OFD_SETLK = 37
BYTE = 2 * 4000  # the lock of a slot that nobody takes here


def live():
    file = open(sys.argv[1], "r+b")  # pylint: disable=consider-using-with
    page = mmap.mmap(file.fileno(), 4096)
    fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, BYTE, 1, 0))
    print("ready", flush=True)
    while page:
        time.sleep(1)


leaderless.run(live)
