# SPDX-License-Identifier: Apache-2.0
"""For programs beside this one: map_many() makes some 60,000 mappings whose names are as long as a name can be."""
import ctypes
import os

PAGE, READ, SHARED, FAILED = 4096, 1, 1, 2**64 - 1
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def map_page(file, page=0):
    """Whether it could be mapped."""
    return libc.mmap(None, PAGE, READ, SHARED, file, page * PAGE) != FAILED


def map_many(folder):
    os.chdir(folder)
    for _ in range(15):
        name = "\n" * 60 + "x" * 180  # each line break is told as four characters
        os.makedirs(name, exist_ok=True)
        os.chdir(name)
    file = os.open("file", os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, 2 * PAGE)
    made = 0
    while made < 60000 and map_page(file, made % 2):
        made += 1
