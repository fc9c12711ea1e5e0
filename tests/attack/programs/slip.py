# SPDX-License-Identifier: Apache-2.0
"""BYTES: takes memory of the GPU in its session and then leaves `slots`: memory of its own lies where that was mapped, and
no descriptor of it is open. On a line of input it ends."""
import ctypes
import os
import sys

PRIVATE_ANONYMOUS_FIXED = 0x32
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
driver = ctypes.CDLL("libcuda.so.1")
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
assert driver.cuInit(0) == 0
assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(int(sys.argv[1]))) == 0
with open("/proc/self/maps", encoding="utf-8") as maps:
    mappings = [line.split()[0] for line in maps if line.rstrip().endswith("/slots")]
for mapping in mappings:
    first, end = (int(part, 16) for part in mapping.split("-"))
    copy = ctypes.string_at(first, end - first)
    libc.mmap(first, end - first, 3, PRIVATE_ANONYMOUS_FIXED, -1, 0)
    ctypes.memmove(first, copy, len(copy))
for number in os.listdir("/proc/self/fd"):
    try:
        if os.readlink(f"/proc/self/fd/{number}").endswith("/slots"):
            os.close(int(number))
    except OSError:
        pass  # that of the folder that was listed
print("ready", flush=True)
sys.stdin.readline()
