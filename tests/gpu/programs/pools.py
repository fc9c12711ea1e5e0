# SPDX-License-Identifier: Apache-2.0
"""A pool that is destroyed while a block of it is in use, and pools that shrink by themselves."""
from ctypes import byref, c_uint64

from driver import MIB, Driver
from said import hold

gpu = Driver().ready()
stream, pool, block = gpu.stream(), gpu.pool(), c_uint64()
hold("begin")
gpu.call("cuMemAllocFromPoolAsync", byref(block), 64 * MIB, pool, stream)
gpu.call("cuStreamSynchronize", stream)
hold("in use")
gpu.call("cuMemPoolDestroy", pool)
hold("destroyed in use")
gpu.call("cuMemFreeAsync", block, stream)
hold("freed, not waited for")
gpu.call("cuStreamSynchronize", stream)
hold("freed and waited for")
gpu.info()
hold("looked at free memory")
default = gpu.default_pool()
gpu.call("cuMemAllocAsync", byref(block), 64 * MIB, stream)
gpu.call("cuMemFreeAsync", block, stream)
hold(f"default pool, freed, not waited for, reserves {gpu.reserved(default) // MIB} MiB")
gpu.call("cuStreamSynchronize", stream)
hold(f"default pool, waited for, reserves {gpu.reserved(default) // MIB} MiB")
