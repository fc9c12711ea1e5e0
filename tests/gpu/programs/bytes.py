# SPDX-License-Identifier: Apache-2.0
"""Blocks that hold what was last written to them, by whichever call, wherever they lie.

    bytes.py BLOCKS BYTES SEED

takes BLOCKS of BYTES each, writes, copies and frees them at random, and compares every byte with a copy of its own.
Says at the end how many blocks it holds, how often one was wrong, how many bytes lie in the host's memory, and what
kinds of memory the driver told of them.
"""
import ctypes
import random
import sys
from ctypes import byref, c_uint, c_uint64

from driver import Driver
from said import hold

STEPS = 300
LEGACY = None
TYPE, HOST_POINTER = 2, 4


def told(gpu, address):
    """What kind of memory it is, by either call; a host's pointer is none of the card's."""
    kind, host = c_uint(), c_uint64(1)
    alone = [gpu.code("cuPointerGetAttribute", byref(kind), TYPE, address), kind.value,
             gpu.code("cuPointerGetAttribute", byref(host), HOST_POINTER, address)]
    kinds, host = c_uint(), c_uint64(1)
    places = (ctypes.c_void_p * 2)(ctypes.addressof(kinds), ctypes.addressof(host))
    together = gpu.code("cuPointerGetAttributes", c_uint(2), (c_uint * 2)(TYPE, HOST_POINTER), places, address)
    return (*alone, together, kinds.value, host.value)


def main(count, size, seed):
    gpu = Driver().ready()
    rng = random.Random(seed)
    words = size // 4
    blocks = {gpu.alloc(size): 0 for _ in range(count)}
    for block in blocks:
        gpu.fill(block, 0, words)
    wrong = 0

    def is_wrong(block, word):
        room = (c_uint * words)()
        gpu.call("cuMemcpyDtoH_v2", room, block, size)
        return bytes(room) != word.to_bytes(4, "little") * words

    for _ in range(STEPS):
        to, source = rng.sample(list(blocks), 2)
        word = rng.randrange(1 << 32)
        way = rng.randrange(6)
        if way == 0:
            gpu.fill(to, word, words)
        elif way == 1:
            gpu.call("cuMemcpyHtoD_v2", to, ctypes.create_string_buffer(word.to_bytes(4, "little") * words, size), size)
        elif way == 2:
            gpu.call("cuMemcpyDtoD_v2", to, source, size)
            word = blocks[source]
        elif way == 3:
            gpu.call("cuMemcpyAsync", to, source, size, LEGACY)
            word = blocks[source]
        elif way == 4:
            gpu.call("cuMemsetD32Async", to, c_uint(word), words, LEGACY)
        else:
            wrong += is_wrong(to, blocks[to])
            gpu.free(to)
            del blocks[to]
            to = gpu.alloc(size)
            gpu.fill(to, word, words)
        blocks[to] = word
        wrong += is_wrong(to, word) if rng.randrange(4) == 0 else 0
    wrong += sum(is_wrong(block, word) for block, word in blocks.items())
    host = 0
    for block in blocks:
        base, bytes_ = c_uint64(), c_uint64()
        gpu.call("cuMemGetAddressRange_v2", byref(base), byref(bytes_), block + size // 2)
        assert (base.value, bytes_.value) == (block, size), (base, bytes_)
        host += size if gpu.code("cuMemHostGetFlags", byref(c_uint()), block) == 0 else 0
    kinds = {told(gpu, block + at) for block in blocks for at in (0, size // 2)}
    hold("end", blocks=len(blocks), wrong=wrong, host_bytes=host, told=sorted(kinds), free=gpu.info()[0], total=gpu.info()[1])


main(*map(int, sys.argv[1:]))
