# SPDX-License-Identifier: Apache-2.0
"""What the small stand-ins share: a card, blocks of one byte's value, a kernel's launch."""
import functools
from ctypes import byref, c_ubyte, c_uint64, create_string_buffer

from driver import OUT_OF_MEMORY, Driver, DriverError


@functools.cache
def card():
    gpu = Driver().ready()
    gpu.nothing = gpu.function(gpu.module(), b"nothing")
    return gpu


class Block:
    """Given back when nobody has it any more; `error` is what a refusal raises."""
    def __init__(self, size, error):
        self.size, self.address = size, None
        block = c_uint64()
        rc = card().code("cuMemAlloc_v2", byref(block), size)
        if rc == OUT_OF_MEMORY:
            raise error(f"Out of memory allocating {size} bytes")
        if rc:
            raise DriverError("cuMemAlloc", rc)
        self.address = block.value

    def __del__(self):
        if getattr(self, "address", None):
            card().free(self.address)

    def fill(self, value):
        card().call("cuMemsetD8_v2", self.address, c_ubyte(value), self.size)
        return self

    def byte(self, at):
        data = create_string_buffer(1)
        card().call("cuMemcpyDtoH_v2", data, self.address + at % self.size, 1)
        return data.raw[0]


def launch():
    assert card().launch(card().nothing) == 0
    card().sync()
