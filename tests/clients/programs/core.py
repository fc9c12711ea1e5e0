# SPDX-License-Identifier: Apache-2.0
"""cuda.core's tour: buffers of the device's pool, copies over a stream, events."""
import ctypes

from cuda.bindings import driver
from cuda.core import Device, EventOptions, LegacyPinnedMemoryResource
from cuda.core._utils.cuda_utils import CUDAError

import story

MIB = 1 << 20


class Core:
    def __init__(self):
        self.device = Device(0)
        self.device.set_current()
        self.stream = self.device.create_stream()

    def copied(self):
        """A byte that was set on the device and came back by way of two buffers."""
        first, second = (self.device.allocate(MIB, stream=self.stream) for _ in range(2))
        host = LegacyPinnedMemoryResource().allocate(MIB)
        first.fill(7, stream=self.stream)
        second.copy_from(first, stream=self.stream)
        second.copy_to(host, stream=self.stream)
        self.stream.sync()
        byte = ctypes.string_at(int(host.handle) + MIB - 1, 1)[0]
        for buffer in (first, second, host):
            buffer.close()
        return byte

    def timed(self):
        begin, end = (self.stream.record(options=EventOptions(timing_enabled=True)) for _ in range(2))
        end.sync()
        return end - begin >= 0

    def fill(self):
        """How many buffers of 32 MiB, which is what the pool takes at once, and how it is refused."""
        buffers = []
        while True:
            try:
                buffers.append(self.device.allocate(32 * MIB, stream=self.stream))
            except CUDAError as error:
                return len(buffers), str(error)

    def tour(self):
        answers = {"name": self.device.name, "capability": list(self.device.compute_capability),
                   "uuid": self.device.uuid, "copied": self.copied(), "timed": self.timed()}
        count, refused = self.fill()
        _, free, total = driver.cuMemGetInfo()
        return {**answers, "buffers": count, "refused": refused.split(":")[0], "free": free, "total": total}


if __name__ == "__main__":
    story.main(Core)
