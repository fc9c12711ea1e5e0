# SPDX-License-Identifier: Apache-2.0
"""What nvidia-ml-py is told of card 0, and by an end that it knows to be the end, as a line of JSON."""
import json

import pynvml as n

n.nvmlInit()
card = n.nvmlDeviceGetHandleByIndex(0)
uuid = n.nvmlDeviceGetUUID(card)
memory = n.nvmlDeviceGetMemoryInfo(card)
memory_v2 = n.nvmlDeviceGetMemoryInfo(card, version=n.nvmlMemory_v2)
processes = [[p.pid, p.usedGpuMemory] for p in n.nvmlDeviceGetComputeRunningProcesses(card)]
seen = {
    "count": n.nvmlDeviceGetCount(), "name": n.nvmlDeviceGetName(card), "uuid": uuid,
    "same": n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(uuid)),
    "capability": n.nvmlDeviceGetCudaComputeCapability(card),
    "driver": n.nvmlSystemGetDriverVersion(), "cuda": n.nvmlSystemGetCudaDriverVersion(),
    "memory": [memory.total, memory.used, memory.free],
    "memory_v2": [memory_v2.total, memory_v2.used, memory_v2.free, memory_v2.reserved],
    "processes": processes, "graphics": len(n.nvmlDeviceGetGraphicsRunningProcesses(card)),
    "commands": [n.nvmlSystemGetProcessName(pid) for pid, _ in processes],
}
n.nvmlShutdown()
try:
    n.nvmlDeviceGetCount()
except n.NVMLError_Uninitialized:
    seen["after"] = "uninitialized"
print(json.dumps(seen))
