# SPDX-License-Identifier: Apache-2.0
"""Is a share of the GPU's time kept? The engine time of the simulator is the judge, on the real clock."""
import json
import subprocess
import sys

from scene import Scene, finish
from stage import BUILD

LOAD = BUILD / "tests/programs/compute/load"
LIMIT = 4 << 30
CAPS, PAIR = (20, 50, 80), (30, 70)
SECONDS, SETTLE_SECONDS = 8, 2
KERNEL_NS = 1_000_000
BLOCKS, RESIDENT_BLOCKS = 1280, 160  # of a T4: many for each of its 40 multiprocessors, and four
HANG_SECONDS = 3 * SECONDS  # a program that is throttled ends late
BUSY_LOOPS = 20


def load(box, kind="kernel", blocks=BLOCKS):
    return box.start(LOAD, f"kind={kind}", f"ns={KERNEL_NS}", f"blocks={blocks}", f"seconds={SECONDS}",
                     f"settle={SETTLE_SECONDS * 1000}")


def share(process):
    """In percent of the GPU's time."""
    return 100 * json.loads(finish(process, HANG_SECONDS))["own"]


def capped(side, cap, kind="kernel", blocks=BLOCKS):
    with Scene(side) as scene:
        return {"value": share(load(scene.container(memory=LIMIT, percent=cap), kind, blocks))}


def pair(side):
    """Two containers at once."""
    with Scene(side) as scene:
        both = [load(scene.container(name, memory=LIMIT, percent=cap)) for name, cap in zip("ab", PAIR)]
        return {"values": [share(each) for each in both]}


def beside_busy_loops(side):
    """A cap of 20 on a machine whose processors have other work."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY_LOOPS)]
    try:
        return capped(side, CAPS[0])
    finally:
        for process in busy:
            process.kill()
            process.wait()
