# SPDX-License-Identifier: Apache-2.0
"""What a client of the driver is asked to do, the same for each of them.

    CLIENT.py fill          takes all that is said to be free, then one byte more
    CLIENT.py hold BYTES    holds them until its input ends
    CLIENT.py tour          what only this client does: its own round through the driver

The client gives a class with info() -> (free, total), alloc(bytes) -> block, release(block), tour()
-> anything JSON can hold, and OutOfMemory, the exception it has for that. Answers are JSON lines.
"""
import json
import sys


def show(**words):
    print(json.dumps(words), flush=True)


def fill(gpu):
    free, total = gpu.info()
    block = gpu.alloc(free)
    refused = None
    try:
        gpu.alloc(1)
    except gpu.OutOfMemory as error:
        refused = str(error)
    full = gpu.info()
    gpu.release(block)
    show(total=total, free=free, refused=refused, full=full, after=gpu.info())


def hold(gpu, size):
    block = gpu.alloc(size)
    free, total = gpu.info()
    show(total=total, free=free)
    sys.stdin.read()
    gpu.release(block)


def main(client):
    verb, *rest = sys.argv[1:]
    gpu = client()
    if verb == "fill":
        fill(gpu)
    elif verb == "hold":
        hold(gpu, int(rest[0]))
    else:
        show(**gpu.tour())
