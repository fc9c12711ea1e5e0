# SPDX-License-Identifier: Apache-2.0
"""Tensors of one value, in the card's memory or in the host's, and graphs that fill them again."""
import contextlib
import ctypes
import math
import struct

from .card import card

float32, uint8 = ("<f", 4), ("<B", 1)
recording = []  # the graph that is being captured, if any


class Tensor:
    def __init__(self, shape, dtype, device):
        self.shape, self.dtype = shape, dtype
        self.count = math.prod(shape)
        self.bytes = self.count * dtype[1]
        self.value, self.address = 0, None
        if device is not None:
            self.address = card().allocator.take(self.bytes)

    def __del__(self):
        if getattr(self, "address", None) is not None:
            card().allocator.give(self.address)

    def fill_(self, value):
        self.value = value
        if self.address is not None:
            data = struct.pack(self.dtype[0], value)
            number = int.from_bytes(data, "little")
            name, kind = (("cuMemsetD8_v2", ctypes.c_ubyte) if len(data) == 1 else
                          ("cuMemsetD32_v2", ctypes.c_uint))
            card().gpu.call(name, self.address, kind(number), self.count)
        return self

    def read(self, at):
        """One element, from where it lies."""
        if self.address is None:
            return self.value
        data = ctypes.create_string_buffer(self.dtype[1])
        at = at % self.count
        card().gpu.call("cuMemcpyDtoH_v2", data, self.address + at * self.dtype[1], self.dtype[1])
        return struct.unpack(self.dtype[0], data.raw)[0]

    def whole(self):
        """All bytes, from where they lie."""
        data = ctypes.create_string_buffer(self.bytes)
        card().gpu.call("cuMemcpyDtoH_v2", data, self.address, self.bytes)
        return data.raw

    def extreme(self, choose):
        """Of bytes."""
        data = self.whole()
        return data[0] if data == data[:1] * len(data) else choose(set(data))

    def min(self):
        return self.extreme(min)

    def max(self):
        return self.extreme(max)

    def __getitem__(self, at):
        return self.read(at if isinstance(at, int) else 0)

    def __float__(self):
        return float(self.read(0))

    def result(self, shape, compute):
        """A new tensor that `compute` gives the value of, now and at each replay."""
        out = Tensor(shape, self.dtype, "cuda" if self.address is not None else None)

        def work():
            if out.address is not None:
                card().launch()
            out.fill_(compute())
        work()
        if recording:
            recording[-1].append(work)
        return out

    def __mul__(self, other):
        return self.result(self.shape, lambda: self.value * other)

    def __add__(self, other):
        return self.result(self.shape, lambda: self.value + other)

    def __iadd__(self, other):
        return self.fill_(self.value + float(other))

    def add_(self, other):
        """Of bytes, which begin at 0 again."""
        return self.fill_((self.value + other) % 256)

    def __mod__(self, other):
        return self.result(self.shape, lambda: self.value % other)

    def __matmul__(self, other):
        card().library("cuBLAS")
        return self.result((self.shape[0], other.shape[1]),
                           lambda: self.value * other.value * self.shape[1])

    def sum(self):
        return self.result((1,), lambda: self.value * self.count)

    def cuda(self, non_blocking=False):
        return Tensor(self.shape, self.dtype, "cuda").fill_(self.value)

    def backward(self):
        card().launch()

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self

    def tobytes(self):
        return struct.pack(self.dtype[0], self.read(0))


class Graph:
    """A graph of the driver with a block of its own, and what was done while it was captured."""
    def __init__(self):
        self.work, self.ready = [], None

    def replay(self):
        gpu = card().gpu
        gpu.call("cuGraphLaunch", self.ready, card().stream)
        gpu.call("cuStreamSynchronize", card().stream)
        for work in self.work:
            work()


@contextlib.contextmanager
def capture(graph):
    recording.append(graph.work)
    yield
    recording.pop()
    graph.ready = card().gpu.graph_with_block(4096)
