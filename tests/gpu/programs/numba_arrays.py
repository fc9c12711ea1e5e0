# SPDX-License-Identifier: Apache-2.0
"""Numba: arrays, streams, memory info, out of memory, a kernel."""
import sys

import numpy
from numba import cuda

from said import hold, must_be_limited, say

MIB = 1 << 20
# Numba 0.68 asks for it when it compiles a kernel; NumPy 2.5 has it under the other name alone.
numpy.row_stack = getattr(numpy, "row_stack", numpy.vstack)


@cuda.jit
def twice(values):
    at = cuda.grid(1)
    if at < values.size:
        values[at] *= 2


def arrays():
    info = cuda.current_context().get_memory_info()
    hold("card", free=int(info.free), total=int(info.total))
    stream = cuda.stream()
    there = cuda.to_device(numpy.ones(1024, dtype=numpy.float32), stream=stream)
    stream.synchronize()
    back = there.copy_to_host()
    hold("copied", right=float(back[0]) == 1.0)
    most = must_be_limited(int(info.total), 64 * MIB)
    held, words = [], None
    try:
        for _ in range(most):
            held.append(cuda.device_array(64 * MIB, dtype=numpy.uint8))
    except cuda.cudadrv.driver.CudaAPIError as error:
        words = str(error)
    hold("out of memory", words=words, blocks=len(held))
    del held[1:]
    say("went on", right=cuda.device_array(1024, dtype=numpy.uint8) is not None)


def touch():
    say("touched", right=float(cuda.to_device(numpy.ones(16, dtype=numpy.float32)).copy_to_host()[0]))


def kernel():
    there = cuda.to_device(numpy.ones(1024, dtype=numpy.float32))
    twice[4, 256](there)
    back = there.copy_to_host()
    hold("kernel", right=float(back[0]) == 2.0)


{"arrays": arrays, "touch": touch, "kernel": kernel}[sys.argv[1]]()
