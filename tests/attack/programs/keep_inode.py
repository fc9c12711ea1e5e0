# SPDX-License-Identifier: Apache-2.0
"""keep_inode.py STILL PATH [BYTES]: holds the lock of the inode of PATH for as long as nobody answers for STILL.

It makes the file BYTES long first; then it writes there from memory that STILL is mapped to (still.py), or, where PATH is
a folder, reads the folder into such memory. Whatever else needs that lock waits in the kernel.
"""
import ctypes
import mmap
import os
import sys

GETDENTS64 = {"x86_64": 217, "aarch64": 61}[os.uname().machine]
BYTES = 4096

still, path = sys.argv[1:3]
libc = ctypes.CDLL(None)
is_folder = os.path.isdir(path)
file = os.open(path, os.O_RDONLY | os.O_DIRECTORY if is_folder else os.O_RDWR)
if sys.argv[3:]:
    os.ftruncate(file, int(sys.argv[3]))
memory = mmap.mmap(os.open(still, os.O_RDWR), BYTES, mmap.MAP_PRIVATE if is_folder else mmap.MAP_SHARED)
address = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
if is_folder:
    libc.syscall(GETDENTS64, file, address, BYTES)
else:
    libc.write(file, address, ctypes.c_size_t(BYTES))
