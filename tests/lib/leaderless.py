# SPDX-License-Identifier: Apache-2.0
"""Ends the first thread of the process, so that /proc/PID shows no mapping and no control group of version 1.

Libc and Python only: it runs in programs that a story starts as another user.
"""
import ctypes
import os
import pathlib
import platform
import threading
import time

SYS_EXIT = 60 if platform.machine() == "x86_64" else 93


def run(function):
    """Calls the function in another thread, once the first thread has ended. Does not return."""
    def begin():
        while " Z " not in pathlib.Path(f"/proc/self/task/{os.getpid()}/stat").read_text(encoding="ascii"):
            time.sleep(0.01)
        function()
    threading.Thread(target=begin, daemon=True).start()
    ctypes.CDLL(None).syscall(SYS_EXIT, 0)  # of this thread alone
