# SPDX-License-Identifier: Apache-2.0
"""Fat binaries, as nvcc puts them in a program: one image with code for several architectures."""
import struct

LZ4, ZSTANDARD = 0x2000, 0x8000
PTX, CUBIN = 1, 2
PART = 96 << 10


def fat_binary(*parts):
    """Parts are: kind, architecture, flags, uncompressed size. Each has PART bytes in the file."""
    body = b"".join(struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, PART, 0, 0, 0, 0, architecture, 0, 0, flags, 0, unpacked)
                    + bytes(PART) for kind, architecture, flags, unpacked in parts)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
