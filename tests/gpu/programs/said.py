# SPDX-License-Identifier: Apache-2.0
"""How a program under check speaks to its story: see program.py."""
import json
import os
import sys


def say(at, **facts):
    """Each says, too, whether a session of Aliquot's is on: a story about it must not be told without one."""
    print("@", json.dumps({"at": at, "pid": os.getpid(), "with_us": is_with_us(), **facts}, default=str), flush=True)


def is_with_us():
    """By what is mapped: a session's page. It is there when the driver has been initialised."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return any(line.endswith("/slots\n") for line in maps)


def uvm_bytes():
    """Addresses that lead to the driver's device for managed memory: managed blocks have theirs there."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        ranges = [line.split(maxsplit=1)[0].split("-") for line in maps if line.endswith("/dev/nvidia-uvm\n")]
    return sum(int(end, 16) - int(begin, 16) for begin, end in ranges)


def hold(at, **facts):
    """Says it, and waits until the story has read the books."""
    say(at, hold=True, **facts)
    sys.stdin.readline()


def must_be_limited(total, block):
    """Before a program fills the card that it sees with blocks of so many bytes: a card is never filled
    for real, should a limit fail to be in force. Gives the most blocks to take."""
    most = 2 * int(os.environ.get("GPU_CHECK_CAPACITY", 8 << 30))
    if total > most:
        sys.exit(f"the card shows {total} bytes, so no limit is on: it is not filled")
    return most // block
