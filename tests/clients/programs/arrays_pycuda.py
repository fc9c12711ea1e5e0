# SPDX-License-Identifier: Apache-2.0
"""PyCUDA in story.py's terms, and its tour: gpuarray copies, streams, events, its own pool."""
import numpy as np
import pycuda.autoinit  # noqa: F401 (makes a context, current until the end)
import pycuda.driver as driver
from pycuda import gpuarray
from pycuda.tools import DeviceMemoryPool

import story


class PyCuda:
    OutOfMemory = driver.MemoryError

    def info(self):
        return driver.mem_get_info()

    def alloc(self, size):
        return driver.mem_alloc(size)

    def release(self, block):
        block.free()

    def fill_the_pool(self):
        """How many blocks of 64 MiB PyCUDA's own pool gets from the driver, and how it is refused."""
        pool, blocks = DeviceMemoryPool(), []
        refused = None
        while refused is None:
            try:
                blocks.append(pool.allocate(1 << 26))
            except driver.MemoryError as error:
                refused = str(error)
        count = len(blocks)
        blocks.clear()
        pool.free_held()
        return count, refused

    def tour(self):
        numbers = np.arange(1 << 16, dtype=np.float32)
        first = gpuarray.to_gpu(numbers)
        second = first.copy()
        stream, begin, end = driver.Stream(), driver.Event(), driver.Event()
        pinned = driver.pagelocked_empty(numbers.shape, numbers.dtype)
        pinned[:] = numbers[::-1]
        begin.record(stream)
        third = gpuarray.to_gpu_async(pinned, stream=stream)
        end.record(stream)
        stream.synchronize()
        before = self.info()[0]
        count, refused = self.fill_the_pool()
        device = driver.Context.get_device()
        return {"copied": bool((second.get() == numbers).all()),
                "async": bool((third.get() == numbers[::-1]).all()),
                "sliced": float(second[100:200].get()[0]), "elapsed": begin.time_till(end) >= 0,
                "name": device.name(), "capability": list(device.compute_capability()),
                "pool": count, "refused": refused, "leaked": before - self.info()[0]}


if __name__ == "__main__":
    story.main(PyCuda)
