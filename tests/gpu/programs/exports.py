# SPDX-License-Identifier: Apache-2.0
"""Memory that leaves a process by a descriptor or an IPC handle.

    exports.py inodes                what a descriptor is to the kernel
    exports.py descriptor|ipc        a child of its own opens it; holds at every step
"""
import os
import subprocess
import sys
from ctypes import byref, c_int, c_uint64, c_void_p

from driver import MIB, POSIX_FD, Driver, DriverError, IpcHandle
from said import hold, say

SIZE = 64 * MIB
gpu = Driver()


def export(handle):
    return gpu.value(c_int, "cuMemExportToShareableHandle", handle, POSIX_FD, 0)


def describe(what, descriptor):
    status = os.fstat(descriptor)
    return {"what": what, "link": os.readlink(f"/proc/self/fd/{descriptor}"),
            "device": f"{status.st_dev:#x}", "inode": str(status.st_ino)}


def inodes():
    gpu.ready()
    first, other = gpu.create(2 * MIB), gpu.create(2 * MIB)
    say("inodes", descriptors=[describe("one block", export(first)),
                               describe("the same again", export(first)),
                               describe("another block", export(other))])


def child(how, word):
    """Opens, tells its parent, waits, lets go."""
    gpu.ready()
    try:
        if how == "descriptor":
            handle = gpu.value(c_uint64, "cuMemImportFromShareableHandle", c_void_p(int(word)), POSIX_FD)
            address = gpu.map(handle, SIZE)
        else:
            address = c_uint64()
            named = IpcHandle.from_buffer_copy(bytes.fromhex(word))
            gpu.call("cuIpcOpenMemHandle_v2", byref(address), named, 1)
        print("opened", flush=True)
    except DriverError as error:
        print(error, flush=True)
    sys.stdin.readline()


def share(how):
    gpu.ready()
    hold("begin")
    if how == "descriptor":
        handle = gpu.create(SIZE)
        descriptor = export(handle)
        word, passed = str(descriptor), (descriptor,)
    else:
        block, handle = gpu.alloc(SIZE), IpcHandle()
        gpu.call("cuIpcGetMemHandle", byref(handle), block)
        word, passed = bytes(handle).hex(), ()
    hold("exported")
    with subprocess.Popen([sys.executable, "-B", __file__, f"child-{how}", word], pass_fds=passed, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        said = other.stdout.readline().strip()
        hold("opened by another process", error=None if said == "opened" else said)
        if how == "descriptor":  # what an IPC handle names may be freed only after all have closed it
            gpu.call("cuMemRelease", handle)
            hold("given back by its maker")
        other.communicate("\n")
    gpu.info()
    hold("given back by the other")
    if how == "ipc":
        gpu.free(block)
        hold("given back by its maker")


which = sys.argv[1]
if which == "inodes":
    inodes()
elif which.startswith("child-"):
    child(which.split("-")[1], sys.argv[2])
else:
    share(which)
