# SPDX-License-Identifier: Apache-2.0
"""Many turns, after each of which some bytes are checked, and all at the end: jobs with blocks of different sizes, in virtual time."""
import json
import random

import pytest

from daemon import Daemon
from hang import LONG_HANG_SECONDS
from script import MIB

MS = 10**6
SECONDS = 5  # that each job works
TURNS = 200  # at least; seed 1 has 500
CONTEXT = 8


@pytest.mark.parametrize("seed", (1, 2))
def test_no_byte_is_lost_in_many_turns(sim, seed):
    """Turns last a few times as long as a change, and jobs pause by chance, so changes begin at any time."""
    chance = random.Random(seed)
    sim.configure(gpus=1, memory="96MiB", context=f"{CONTEXT}MiB", clock="virtual", host="1600MB/s", begin_with=3, reserved=0)
    daemon = Daemon(sim, f"[swap]\nturn = {chance.randrange(20, 60)}ms\n").start()
    jobs = []
    for at in range(3):
        daemon.post("/v1/sessions", {"name": f"s{at}", "swap": True, "memory": "88MiB"})
        step, block = chance.randrange(2, 8) * MS, chance.choice((2, 4, 8))
        words = {"bytes": chance.randrange(5, 9) * 8 * MIB, "block": block * MIB, "steps": SECONDS * 1000 * MS // step, "ns": step,
                 "every": chance.randrange(3, 30), "pause": chance.choice((0, 1, 20)) * MS}
        jobs.append(sim.start([sim.build.program("compute/job"), sim.build.program("hooks/bytes_kernels.so"),
                               *(f"{name}={value}" for name, value in words.items())],
                              preload=True, ALIQUOT_SESSION=f"s{at}"))
    for job in jobs:
        out, err = job.communicate(timeout=LONG_HANG_SECONDS)
        assert job.returncode == 0, err
        assert json.loads(out)["wrong"] == 0
    holds = sum(daemon.session(f"s{at}")["swap"]["holds"] for at in range(3))
    print(f"{holds} turns")
    assert holds >= TURNS
