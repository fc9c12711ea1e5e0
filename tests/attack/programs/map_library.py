# SPDX-License-Identifier: Apache-2.0
"""FOLDER KIND OURS: maps FOLDER/libcuda.so.1 and deletes it, so that the kernel tells it as "libcuda.so.1 (deleted)"; of
that name there is then what KIND says. OURS is a library of Aliquot's. Says "ready"."""
import mmap
import os
import shutil
import sys

folder, kind, ours = sys.argv[1:]
path = f"{folder}/libcuda.so.1"
other = path + " (deleted)"
with open(path, "w+b") as library:
    if kind == "ours":
        shutil.copyfile(ours, path)
    library.truncate(1 << 43 if kind == "huge" else max(os.path.getsize(path), mmap.PAGESIZE))
    mapped = mmap.mmap(library.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ)
    if kind != "huge":
        os.unlink(path)
    if kind == "link":
        os.symlink(ours, other)
    elif kind == "copy":
        shutil.copyfile(ours, other)
    elif kind == "fifo":
        os.mkfifo(other)
    print("ready", flush=True)
    if kind == "cut":
        shutil.copyfile(ours, other)
        with open(other, "r+b") as decoy:
            while True:
                for file in (library, decoy):
                    file.truncate(1 << 28)
                    file.truncate(0)
    sys.stdin.read()
