# SPDX-License-Identifier: Apache-2.0
"""still.py FOLDER: mounts a file system in user space there, of one file whose closing and reading are never answered.

Whoever has that file open with close-on-exec and executes a program stays in execve(), where the kernel lets nobody look
into it. Whoever reads memory that the file is mapped to stays there, in whatever system call that is. As root, since /dev/fuse is root's in places; a user mounts one in a user namespace likewise. Prints "ready",
and "closing" or "reading" when somebody is there; unmounts at the end of its standard input. The protocol is that of linux/fuse.h, version 7.31.
"""
import ctypes
import os
import struct
import sys
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, FLUSH, INIT, INTERRUPT, DESTROY, BATCH_FORGET = 1, 2, 3, 14, 15, 25, 26, 36, 38, 42
UNANSWERED = (FORGET, READ, FLUSH, INTERRUPT, DESTROY, BATCH_FORGET)
TOLD = {FLUSH: "closing", READ: "reading"}
FILE_BYTES = 4096
ROOT, FILE = 1, 2
REQUEST_BYTES = 1 << 17
DETACH = 2
FOREVER = 3600


def attributes(inode):
    mode = 0o40755 if inode == ROOT else 0o100666
    return struct.pack("<6Q10I", inode, FILE_BYTES, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(kind, inode):
    if kind == INIT:
        return struct.pack("<4I2H2I2HI28x", 7, 31, 65536, 0, 12, 10, 65536, 1, 0, 0, 0)
    if kind == LOOKUP:
        return struct.pack("<4Q2I", FILE, 0, FOREVER, FOREVER, 0, 0) + attributes(FILE)
    if kind == GETATTR:
        return struct.pack("<Q2I", FOREVER, 0, 0) + attributes(inode)
    return struct.pack("<Q2I", 1, 0, 0) if kind == OPEN else b""


def serve(device):
    while True:
        _, kind, unique, inode = struct.unpack_from("<2I2Q", os.read(device, REQUEST_BYTES))
        if kind in TOLD:
            print(TOLD[kind], flush=True)
        if kind in UNANSWERED:
            continue
        text = answer(kind, inode)
        os.write(device, struct.pack("<IiQ", 16 + len(text), 0, unique) + text)


def main():
    folder = sys.argv[1].encode()
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"still", folder, b"fuse", 0, options):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    threading.Thread(target=serve, args=(device,), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    libc.umount2(folder, DETACH)
    os._exit(0)  # which ends whoever waits for an answer


main()
