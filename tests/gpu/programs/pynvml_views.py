# SPDX-License-Identifier: Apache-2.0
"""pynvml_views.py UUID: what pynvml tells of a card."""
import sys

import pynvml as nvml

from said import say


def text(value):
    return value.decode() if isinstance(value, bytes) else value


nvml.nvmlInit()
card = nvml.nvmlDeviceGetHandleByUUID(sys.argv[1])
memory = nvml.nvmlDeviceGetMemoryInfo(card)
newer = nvml.nvmlDeviceGetMemoryInfo(card, version=nvml.nvmlMemory_v2)
say("views", total=memory.total, used=memory.used, free=memory.free, total_v2=newer.total,
    reserved=newer.reserved, name=text(nvml.nvmlDeviceGetName(card)), uuid=text(nvml.nvmlDeviceGetUUID(card)),
    count=nvml.nvmlDeviceGetCount(),
    processes={process.pid: process.usedGpuMemory
               for process in nvml.nvmlDeviceGetComputeRunningProcesses(card)})
