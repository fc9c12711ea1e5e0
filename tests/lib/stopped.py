# SPDX-License-Identifier: Apache-2.0
"""Stops a process and waits until all its threads stand still."""
import os
import pathlib
import signal

from daemon import wait_for


def is_stopped(pid):
    """A thread may end while its file is read."""
    try:
        states = [(task / "stat").read_text().rpartition(")")[2].split()[0]
                  for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return all(state in "TtZX" for state in states)


def stop(pid):
    """One thread receives SIGSTOP first and stops the others, which run on for a while on a busy
    machine."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: is_stopped(pid))
