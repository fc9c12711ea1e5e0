# SPDX-License-Identifier: Apache-2.0
"""forge_bells.py SLOTS...: rings the bells of its user's own sessions without end, each time with other claims of work that
wants, ran and ended on two GPUs. Says "ready" and goes on until it is killed."""
import ctypes
import itertools
import mmap
import os
import struct
import sys
import time

FUTEX_WAKE = 1
FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
# src/proto/page.h: struct slots_page, struct page_meter
BELL, METERS, METER_BYTES = 68, 1152, 128
BUSY, WANTED_AT, ACTIVE_AT, DRAINED_TURN = 16, 32, 40, 56

libc = ctypes.CDLL(None)
pages = []
for path in sys.argv[1:]:
    memory = mmap.mmap(os.open(path, os.O_RDWR), METERS + 2 * METER_BYTES)
    pages.append((memory, ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)) + BELL)))
print("ready", flush=True)
for count in itertools.count():
    memory, bell = pages[count % len(pages)]
    for meter in METERS, METERS + METER_BYTES:
        now_ns = time.monotonic_ns()
        struct.pack_into("QxxxxxxxxQQ", memory, meter + BUSY, count * 1000, now_ns if count & 1 else 0,
                         now_ns if count & 2 else 0)
        struct.pack_into("I", memory, meter + DRAINED_TURN, count)
    struct.pack_into("I", memory, BELL, count)
    libc.syscall(FUTEX, bell, FUTEX_WAKE, 1, None, None, 0)
