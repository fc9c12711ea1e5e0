# SPDX-License-Identifier: Apache-2.0
"""A few driver calls by ctypes, as a Python program makes them. Every call gives the result code."""
import ctypes

MIB = 1 << 20
SUCCESS, OUT_OF_MEMORY, NOT_INITIALIZED = 0, 2, 3


class Gpu:
    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.context = ctypes.c_void_p()
        self.blocks = []

    def begin(self, device=0):
        return self.driver.cuInit(0) or self.driver.cuCtxCreate_v2(
            ctypes.byref(self.context), 0, device)

    def use(self):
        """For a further thread."""
        return self.driver.cuCtxSetCurrent(self.context)

    def alloc(self, size):
        block = ctypes.c_uint64()
        rc = self.driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size))
        if rc == SUCCESS:
            self.blocks.append(block)
        return rc

    def free(self):
        return self.driver.cuMemFree_v2(self.blocks.pop())

    def end(self):
        return self.driver.cuCtxDestroy_v2(self.context)
