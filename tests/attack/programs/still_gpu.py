# SPDX-License-Identifier: Apache-2.0
"""FILE: a context on the GPU, and then execve() with that file open, whose closing is never answered (still.py)."""
import ctypes
import os
import sys

os.open(sys.argv[1], os.O_RDWR)  # first: what is opened later, the driver's too, is closed after it
driver = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert driver.cuInit(0) == 0
assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
os.execv("/bin/sleep", ["sleep", "1000"])
