# SPDX-License-Identifier: Apache-2.0
"""numba-cuda in story.py's terms, and its tour: arrays over streams, host memory, events. No kernel."""
import gc

import numpy as np
from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError

import story


class Numba:
    OutOfMemory = CudaAPIError

    def __init__(self):
        self.context = cuda.current_context()

    def info(self):
        """Once everything that Numba puts off freeing is freed."""
        gc.collect()
        self.context.deallocations.clear()
        return tuple(self.context.get_memory_info())

    def alloc(self, size):
        return [cuda.device_array(size, dtype=np.uint8)]

    def release(self, block):
        block.clear()

    def tour(self):
        numbers = np.arange(1 << 16, dtype=np.float32)
        stream, begin, end = cuda.stream(), cuda.event(), cuda.event()
        pinned = cuda.pinned_array(numbers.shape, dtype=numbers.dtype)
        pinned[:] = numbers
        begin.record(stream)
        first = cuda.to_device(pinned, stream=stream)
        second = cuda.device_array_like(first)
        second.copy_to_device(first, stream=stream)
        back = second.copy_to_host(stream=stream)
        end.record(stream)
        stream.synchronize()
        managed = cuda.managed_array(16, dtype=np.int32)
        managed[:] = 7
        mapped = cuda.mapped_array(16, dtype=np.int32)
        mapped[:] = 8
        device = cuda.get_current_device()
        return {"same": bool((back == numbers).all()),
                "sliced": float(second[100:200].copy_to_host()[0]),
                "managed": int(managed.sum()), "mapped": int(mapped.sum()),
                "elapsed": begin.elapsed_time(end) >= 0, "name": device.name,
                "capability": list(device.compute_capability), "uuid": device.uuid}


if __name__ == "__main__":
    story.main(Numba)
