# SPDX-License-Identifier: Apache-2.0
"""A stand-in for pynvml in rehearsals, where it need not be installed: the calls of one program."""
import ctypes
from types import SimpleNamespace

library = ctypes.CDLL("libnvidia-ml.so.1")
nvmlMemory_v2 = 0x2000028


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class NewerMemory(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint)] + \
               [(name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("usedGpuMemory", ctypes.c_ulonglong),
                ("instance", ctypes.c_uint), ("compute", ctypes.c_uint)]


def call(name, *arguments):
    rc = getattr(library, name)(*arguments)
    if rc:
        raise OSError(f"{name} answered {rc}")


def nvmlInit():
    call("nvmlInit_v2")


def nvmlDeviceGetHandleByUUID(uuid):
    handle = ctypes.c_void_p()
    call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(handle))
    return handle


def nvmlDeviceGetMemoryInfo(card, version=None):
    memory = NewerMemory(version=version) if version else Memory()
    call("nvmlDeviceGetMemoryInfo_v2" if version else "nvmlDeviceGetMemoryInfo", card, ctypes.byref(memory))
    return memory


def text(name, card):
    room = ctypes.create_string_buffer(128)
    call(name, card, room, 128)
    return room.value


def nvmlDeviceGetName(card):
    return text("nvmlDeviceGetName", card)


def nvmlDeviceGetUUID(card):
    return text("nvmlDeviceGetUUID", card)


def nvmlDeviceGetCount():
    count = ctypes.c_uint()
    call("nvmlDeviceGetCount_v2", ctypes.byref(count))
    return count.value


def nvmlDeviceGetComputeRunningProcesses(card):
    room, count = (Process * 64)(), ctypes.c_uint(64)
    call("nvmlDeviceGetComputeRunningProcesses_v3", card, ctypes.byref(count), room)
    return [SimpleNamespace(pid=one.pid, usedGpuMemory=one.usedGpuMemory) for one in room[:count.value]]
