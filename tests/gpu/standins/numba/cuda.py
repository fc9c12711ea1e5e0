# SPDX-License-Identifier: Apache-2.0
"""Arrays whose bytes all have one value; a kernel only launches, and its result is filled in."""
from types import SimpleNamespace

from holding import Block, card, launch


class CudaAPIError(Exception):
    pass


cudadrv = SimpleNamespace(driver=SimpleNamespace(CudaAPIError=CudaAPIError))


class DeviceArray:
    def __init__(self, size, value):
        self.block, self.value = Block(size, CudaAPIError), value
        self.block.fill(int(value))

    def copy_to_host(self):
        return [self.block.byte(0)]


def current_context():
    return SimpleNamespace(get_memory_info=lambda: SimpleNamespace(**dict(zip(("free", "total"),
                                                                             card().info()))))


def stream():
    made = card().stream()
    return SimpleNamespace(synchronize=lambda: card().call("cuStreamSynchronize", made))


def to_device(values, stream=None):
    return DeviceArray(len(values), values[0])


def device_array(size, dtype):
    return DeviceArray(size, 0)


class jit:
    def __init__(self, function):
        pass

    def __getitem__(self, shape):
        def run(array):
            launch()
            array.block.fill(int(array.value * 2))
        return run
