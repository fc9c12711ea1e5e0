# SPDX-License-Identifier: Apache-2.0
"""What a limit costs a program: calls by the call, and the start of many programs at once."""
import selectors
import time

from scene import HANG_SECONDS, HANGS, Failed, Scene
from stage import ALLOC

LIMIT = 8 << 30
MANY = 100_000
PROGRAMS = 100


def per_call(side, *words):
    with Scene(side) as scene:
        return {"value": float(scene.container(memory=LIMIT).run(ALLOC, *words))}


def alloc(side):
    return per_call(side, "pair", 1, 500)


def alloc_many(side):
    return per_call(side, "pair", MANY, 20)


def launch(side):
    return per_call(side, "launch", 200)


def start(side):
    """From the first program's start until the last has its context and its first block."""
    with Scene(side, context=1 << 20) as scene, selectors.DefaultSelector() as ready:
        box = scene.container(memory=LIMIT)
        began = time.monotonic()
        for _ in range(PROGRAMS):
            ready.register(box.start(ALLOC, "hold").stdout, selectors.EVENT_READ)
        while ready.get_map():
            events = ready.select(HANG_SECONDS)
            if not events:
                raise Failed(HANGS)
            for key, _ in events:
                if not key.fileobj.readline():
                    raise Failed("a program ends")
                ready.unregister(key.fileobj)
        return {"value": time.monotonic() - began}
