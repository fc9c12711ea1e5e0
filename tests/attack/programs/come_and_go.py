# SPDX-License-Identifier: Apache-2.0
"""Programs of a session that take memory of the first GPU beside the library, each for a moment.

Usage: come_and_go.py SLOTS DRIVER BYTES

One is always there, and none for long enough to be found guilty. Says "ready" when the first has its memory.
"""
import ctypes
import mmap
import os
import signal
import sys
import time

SECONDS = 0.1

path, driver, size = sys.argv[1], sys.argv[2], int(sys.argv[3])


def hold(told):
    mapped = mmap.mmap(os.open(path, os.O_RDWR), mmap.PAGESIZE)
    cuda, context, address = ctypes.CDLL(driver), ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0
    assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0
    os.write(told, b"1")
    while os.getppid() == parent:
        time.sleep(0.1)
    mapped.close()


parent, before = os.getpid(), None
while True:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        hold(write)
        os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"1"
    os.close(read)
    if before:
        os.kill(before, signal.SIGKILL)
        os.waitpid(before, 0)
    else:
        print("ready", flush=True)
    before = child
    time.sleep(SECONDS)
