# SPDX-License-Identifier: Apache-2.0
"""DOOR PROCS LEADER: moves itself to the control group of PROCS, asks at DOOR, and says the answer. LEADER "exits": its first
thread has exited by then, so that /proc/PID/cgroup tells nothing of version 1."""
import ctypes
import os
import pathlib
import platform
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).parents[2] / "lib"))
import joiner  # pylint: disable=wrong-import-position

SYS_EXIT = 60 if platform.machine() == "x86_64" else 93
door, procs, leader = sys.argv[1:]


def ask():
    while leader == "exits" and " Z " not in pathlib.Path(f"/proc/self/task/{os.getpid()}/stat").read_text(encoding="ascii"):
        time.sleep(0.01)
    peer = joiner.connect(door)
    peer.send(joiner.hello())
    answer = joiner.hear(peer)
    print("no answer" if answer is None else answer.name if answer.type == joiner.WELCOME else f"{answer.code} {answer.reason}",
          flush=True)
    time.sleep(1000)


pathlib.Path(procs).write_text("0", encoding="ascii")
if leader == "exits":
    threading.Thread(target=ask, daemon=True).start()
    ctypes.CDLL(None).syscall(SYS_EXIT, 0)
ask()
