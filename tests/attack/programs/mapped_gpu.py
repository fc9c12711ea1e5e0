# SPDX-License-Identifier: Apache-2.0
"""FOLDER: some 60,000 mappings, and then a context on the GPU."""
import ctypes
import sys

from long_mappings import map_many

map_many(sys.argv[1])
driver = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert driver.cuInit(0) == 0
assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
print("ready", flush=True)
sys.stdin.readline()
