# SPDX-License-Identifier: Apache-2.0
"""Driver programs that stay within a limit, reach it, and go on.

    limits.py reach         to the last byte, one byte more, and on with what it holds
    limits.py part BYTES    takes so much and holds it
    limits.py bytes         everything that reports memory
    limits.py follow BYTES  takes so much, and says what memory there is as often as it is told to go on
    limits.py churn         takes and gives back in every way until it is killed
"""
import sys
from ctypes import byref, c_size_t, c_uint64

from driver import MIB, Driver
from said import hold, must_be_limited, say

gpu = Driver()


def reach():
    gpu.ready()
    free, total = gpu.info()
    say("card", free=free, total=total,
        device_total=gpu.value(c_size_t, "cuDeviceTotalMem_v2", 0))
    step = max(free // 8 // (2 * MIB) * 2 * MIB, 2 * MIB)
    most, held = must_be_limited(total, step), []
    while gpu.info()[0] >= step and len(held) < most:
        block = gpu.alloc(step)
        gpu.fill(block, len(held) + 1, 1024)
        held.append(block)
    rest = gpu.info()[0]
    last = gpu.alloc(rest) if rest else None
    over = gpu.alloc_code(1)
    hold("full", blocks=len(held), free=gpu.info()[0], over=over)
    right = all(set(gpu.words(block, 1024)) == {at + 1} for at, block in enumerate(held))
    if last:
        gpu.free(last)
    gpu.free(held.pop())
    again = gpu.alloc_code(step)
    say("after", right=right, again=again)


def part(size):
    gpu.ready()
    rc = gpu.alloc_code(int(size))
    hold("holds", rc=rc, free_total=gpu.info())


def report():
    gpu.ready()
    gpu.alloc(64 * MIB)
    free, total = gpu.info()
    hold("report", free=free, total=total,
         device_total=gpu.value(c_size_t, "cuDeviceTotalMem_v2", 0))


def follow(size):
    gpu.ready()
    gpu.alloc(int(size))
    told = True
    while told:
        free, total = gpu.info()
        say("follows", hold=True, free=free, total=total,
            device_total=gpu.value(c_size_t, "cuDeviceTotalMem_v2", 0))
        told = sys.stdin.readline()


def churn():
    gpu.ready()
    stream, pooled, size = gpu.stream(), c_uint64(), 8 * MIB
    say("churns")
    while True:
        block, handle = gpu.alloc(size), gpu.create(size)
        gpu.call("cuMemAllocAsync", byref(pooled), size, stream)
        address = gpu.map(handle, size)
        gpu.call("cuMemFreeAsync", pooled, stream)
        gpu.free(block)
        gpu.unmap(address, size)
        gpu.call("cuMemRelease", handle)


if __name__ == "__main__":
    {"reach": reach, "part": part, "bytes": report, "follow": follow,
     "churn": churn}[sys.argv[1]](*sys.argv[2:])
