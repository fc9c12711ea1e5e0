# SPDX-License-Identifier: Apache-2.0
"""Does the limit on memory hold? The simulator's own count of what it granted is the judge."""
import functools
import random
import subprocess
import time

from scene import HANGS, MIB, Failed, Scene, finish
from stage import BUILD

PROGRAMS = BUILD / "bench/programs"
LIMIT, BLOCK, CONTEXT = 256 * MIB, 32 * MIB, 2 * MIB
CROWD, KILLED, CROWD_SECONDS, CROWD_LIMIT = 48, 24, 3, 2048 * MIB
CROWD_PATIENCE_SECONDS = 20 * CROWD_SECONDS
OUT_OF_MEMORY = 2


@functools.cache
def names(program):
    """The words that the program knows, by itself."""
    from side import Side  # the bare simulator
    with Scene(Side()) as scene:
        return scene.container().run(PROGRAMS / program).splitlines()


def judge_family(side, name):
    """What is wrong with it: escapes, or is counted too much, or not given back; "" when nothing is.

    A context takes as much as a block there where contexts are the family."""
    context = BLOCK if name == "context" else CONTEXT
    with Scene(side, context=context) as scene:
        try:
            text = scene.container(memory=LIMIT).run(PROGRAMS / "families", name, BLOCK)
        except Failed as failure:
            return str(failure)
        high = scene.high()
    (first, code), (second, _) = (map(int, line.split()) for line in text.splitlines())
    if high > LIMIT + context:
        return f"escapes: {high // MIB} MiB"
    if first < LIMIT // BLOCK // 2:
        return f"only {first} blocks"
    if code != OUT_OF_MEMORY:
        return f"error {code}"
    return "" if second == first else f"{first} blocks, then {second}"


def families(side):
    """Families of calls that escape, or are counted wrongly."""
    return wrong({name: judge_family(side, name) for name in names("families")})


def judge_way(side, name):
    with Scene(side, context=CONTEXT) as scene:
        try:
            scene.container(memory=LIMIT).run(PROGRAMS / "ways", name, 2 * LIMIT)
        except Failed as failure:
            return str(failure) if scene.high() <= LIMIT else f"escapes, then {failure}"
        return "escapes" if scene.high() > LIMIT + CONTEXT else ""


def ways(side):
    """Ways to obtain cuMemAlloc by which it is not limited."""
    return wrong({name: judge_way(side, name) for name in names("ways")})


def wrong(verdicts):
    faults = {name: verdict for name, verdict in verdicts.items() if verdict}
    escapes = sum(verdict.startswith("escapes") for verdict in faults.values())
    return {"values": [escapes, len(faults) - escapes], "of": len(verdicts), "faults": faults}


def crowd(side):
    """Processes of one container at its limit, half of them killed: the peak; and of the others the
    errors other than out of memory, those that hang, those that end."""
    with Scene(side, context=MIB) as scene:
        box = scene.container(memory=CROWD_LIMIT)
        processes = [box.start(PROGRAMS / "churn", CROWD_SECONDS, seed) for seed in range(CROWD)]
        try:
            processes[-1].wait(CROWD_SECONDS / 2)
        except subprocess.TimeoutExpired:
            pass
        dead = random.Random(1).sample(range(CROWD), KILLED)
        for index in dead:
            processes[index].kill()
        end, errors, stuck, ended = time.monotonic() + CROWD_PATIENCE_SECONDS, 0, 0, 0
        for index, process in enumerate(processes):
            if index in dead:
                continue
            try:
                errors += int(finish(process, max(0.1, end - time.monotonic())).split()[2])
            except Failed as failure:
                stuck += str(failure) == HANGS
                ended += str(failure) != HANGS
        return {"value": scene.high() / CROWD_LIMIT, "wrong": {"errors": errors, "hang": stuck, "end": ended}}
