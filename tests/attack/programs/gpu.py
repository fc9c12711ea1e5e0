# SPDX-License-Identifier: Apache-2.0
"""A context and memory of a GPU, and mappings at a chosen place, for the programs here."""
import ctypes

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def make_context():
    """Loads the driver, makes a context, and gives the driver."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    return driver


def take(size):
    pointer = ctypes.c_uint64()
    assert make_context().cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
