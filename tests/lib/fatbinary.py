# SPDX-License-Identifier: Apache-2.0
"""Fat binaries in the format that nvcc embeds: one image with code for several architectures."""
import struct

LZ4, ZSTANDARD = 0x2000, 0x8000
PTX, CUBIN = 1, 2
PART = 96 << 10


def head(body_bytes):
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, body_bytes)


def part_head(kind, architecture, flags=0, unpacked=0, payload_bytes=PART):
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, payload_bytes, 0, 0, 0, 0, architecture, 0, 0, flags, 0, unpacked)


def fat_binary(*parts):
    """`parts`: kind, architecture, flags, uncompressed size. Each takes PART bytes in the file."""
    body = b"".join(part_head(*part) + bytes(PART) for part in parts)
    return head(len(body)) + body
