# SPDX-License-Identifier: Apache-2.0
"""A process that stands still, all of it."""
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
    """One of its threads hears of SIGSTOP first, and tells the others: on a busy machine those run on for a while."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: is_stopped(pid))
