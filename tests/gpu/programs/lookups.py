# SPDX-License-Identifier: Apache-2.0
"""Asks cuGetProcAddress for what a CUDA runtime asks for, and dlsym for the same.

lookups.txt, beside this file in the bundle: "name version [suffix]" a line (src/abi/cuda.versions).
"""
import pathlib
from ctypes import byref, c_char_p, c_int, c_void_p, cast

from driver import Driver
from said import say

gpu = Driver()
PER_THREAD = 2
EXPORT_SUFFIXES = ("", "_v2", "_v3", "_v4", "_ptsz", "_ptds", "_v2_ptsz", "_v2_ptds")


def look(name, version, flags):
    found, status = c_void_p(), c_int()
    rc = gpu.code("cuGetProcAddress_v2", c_char_p(name.encode()), byref(found), version, flags,
                  byref(status))
    return rc, found.value


def exports_of(name):
    return {cast(getattr(gpu.library, name + suffix), c_void_p).value
            for suffix in EXPORT_SUFFIXES if gpu.has(name + suffix)}


def main():
    gpu.call("cuInit", 0)
    lines = pathlib.Path(__file__).with_name("lookups.txt").read_text(encoding="utf-8").splitlines()
    found, equal, unequal = [], 0, set()
    for line in lines:
        if not line or line[0] == "#":
            continue
        name, version, *suffix = line.split()
        rc, address = look(name, int(version), PER_THREAD if suffix else 0)
        if rc == 0 and address:
            found.append([name, int(version), bool(suffix)])
            if address in exports_of(name):
                equal += 1
            else:
                unequal.add(name)
    say("lookups", found=found, equal=equal, unequal=sorted(unequal))


main()
