# SPDX-License-Identifier: Apache-2.0
"""SLOTS [PID]: writes there that every slot is taken, by processes of PID namespaces that are not there, with numbers
from PID on (1), and holds a lock over them all, so that each seems to live. Says when that is so, and waits."""
import fcntl
import struct
import sys
from pathlib import Path

HIGH, SLOT, ROWS, SLOTS = 64, 64, 1024, 4096  # src/proto/page.h: struct slots_page
path = Path(sys.argv[1])
first = int(sys.argv[2]) if len(sys.argv) > 2 else 1

with open(path, "r+b") as slots:
    slots.seek(HIGH)
    slots.write(struct.pack("<I", SLOTS))
    slots.seek(path.stat().st_size - SLOTS * (SLOT + ROWS))
    for number in range(SLOTS):
        slots.write(struct.pack("<QQII32sQ", 1, (1 << 60) + number, first + number, 0, b"forged", 0))
    slots.flush()
    fcntl.fcntl(slots.fileno(), 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
    print("ready", flush=True)
    sys.stdin.readline()
