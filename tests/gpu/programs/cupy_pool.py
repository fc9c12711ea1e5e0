# SPDX-License-Identifier: Apache-2.0
"""CuPy: its pool, its out of memory, its view of the card, a kernel."""
import sys

import cupy

from said import hold, must_be_limited, say

MIB = 1 << 20


def kernel():
    source = 'extern "C" __global__ void twice(float *x, int n) {' \
             ' int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }'
    values = cupy.ones(1024, dtype=cupy.float32)
    cupy.RawKernel(source, "twice")((4,), (256,), (values, 1024))
    return float(values[0]) == 2.0 and float(values[-1]) == 2.0


def touch():
    say("touched", right=kernel())


def fill():
    free, total = cupy.cuda.runtime.memGetInfo()
    hold("card", free=free, total=total)
    hold("kernel", right=kernel())
    most = must_be_limited(total, 64 * MIB)
    held, words = [], None
    try:
        for _ in range(most):
            held.append(cupy.zeros(64 * MIB, dtype=cupy.uint8))
    except cupy.cuda.memory.OutOfMemoryError as error:
        words = str(error)
    hold("out of memory", words=words, blocks=len(held), pool=cupy.get_default_memory_pool().total_bytes())
    held.clear()
    cupy.get_default_memory_pool().free_all_blocks()
    hold("given back", pool=cupy.get_default_memory_pool().total_bytes())
    again = cupy.ones(64 * MIB, dtype=cupy.uint8)
    say("went on", right=int(again[-1]) == 1)


{"touch": touch, "fill": fill}[sys.argv[1]]()
