# SPDX-License-Identifier: Apache-2.0
"""A stand-in for CuPy in rehearsals: a pool of cached blocks, its errors, a kernel that only launches."""
from types import SimpleNamespace

from holding import Block, card, launch

uint8 = "uint8"
float32 = "float32"


class OutOfMemoryError(MemoryError):
    pass


class Pool:
    def __init__(self):
        self.cached, self.bytes = [], 0

    def take(self, size):
        for block in self.cached:
            if block.size == size:
                self.cached.remove(block)
                return block
        block = Block(size, OutOfMemoryError)
        self.bytes += size
        return block

    def free_all_blocks(self):
        self.bytes -= sum(block.size for block in self.cached)
        self.cached.clear()

    def total_bytes(self):
        return self.bytes


pool = Pool()


class ndarray:
    def __init__(self, count, value, dtype):
        self.value = value
        self.block = pool.take(-(-count // 512) * 512).fill(value)

    def __del__(self):
        if hasattr(self, "block"):
            pool.cached.append(self.block)

    def __getitem__(self, at):
        return self.block.byte(at)


def zeros(count, dtype):
    return ndarray(count, 0, dtype)


def ones(count, dtype):
    return ndarray(count, 1, dtype)


class RawKernel:
    def __init__(self, source, name):
        pass

    def __call__(self, grid, block, arguments):
        launch()
        arguments[0].block.fill(2)


def get_default_memory_pool():
    return pool


cuda = SimpleNamespace(runtime=SimpleNamespace(memGetInfo=lambda: card().info()),
                       memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError))
