# SPDX-License-Identifier: Apache-2.0
"""The card of this process, opened at the first use, as PyTorch does; and what libraries take of it."""
import contextlib
import functools
import os
from ctypes import c_size_t

from driver import MIB, Driver

from .allocator import choose


class Card:
    def __init__(self):
        self.gpu = Driver().ready()
        self.stream = self.gpu.stream()
        self.allocator = choose(self.gpu, self.stream, os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""))
        self.module = self.gpu.module()
        self.nothing = self.gpu.function(self.module, b"nothing")
        self.libraries, self.current = {}, None

    def launch(self):
        assert self.gpu.launch(self.nothing, blocks=1, threads=32, stream=self.current) == 0

    @contextlib.contextmanager
    def using(self, stream):
        before, self.current = self.current, stream.handle
        yield
        self.current = before

    def device_total(self):
        return self.gpu.value(c_size_t, "cuDeviceTotalMem_v2", 0)

    def library(self, name):
        """A library's workspace and code, at its first call."""
        if name not in self.libraries:
            self.libraries[name] = (self.gpu.alloc(8 * MIB), self.gpu.module())


class Stream:
    def __init__(self):
        self.handle = card().gpu.stream()

    def wait_stream(self, _):
        """One after another in time: stand-ins wait for each other."""
        card().gpu.sync()


@functools.cache
def card():
    return Card()
