# SPDX-License-Identifier: Apache-2.0
"""How a program under check speaks to its story: see program.py."""
import functools
import json
import os
import sys


def say(at, **facts):
    """Each says, too, whether Aliquot is in this process: a story about it must not be told without it."""
    print("@", json.dumps({"at": at, "pid": os.getpid(), "with_us": is_with_us(), **facts}, default=str), flush=True)


@functools.cache
def is_with_us():
    """By what is loaded when first asked: the library, or a facade."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return any("/libaliquot.so" in line or "/aliquot/shims/" in line for line in maps)


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
