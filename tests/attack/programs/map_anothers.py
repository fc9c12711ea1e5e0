# SPDX-License-Identifier: Apache-2.0
"""FILE BYTES: takes memory of the GPU in its session, and then maps FILE below all else, as a program may that another user hands
its data to. On a line of input it ends."""
import ctypes
import sys

LOW, PROT_READ, MAP_SHARED = 1 << 28, 1, 1
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

driver = ctypes.CDLL("libcuda.so.1")
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
assert driver.cuInit(0) == 0
assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(int(sys.argv[2]))) == 0
with open(sys.argv[1], "rb") as file:
    assert libc.mmap(LOW, 4096, PROT_READ, MAP_SHARED, file.fileno(), 0) == LOW
print("ready", flush=True)
sys.stdin.readline()
