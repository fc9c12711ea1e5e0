# SPDX-License-Identifier: Apache-2.0
"""A card that is full to the last promised byte, where the simulated driver takes memory by a driver's own rules
(grants=real): what is promised can be had, by everybody at once, and again when somebody has died.
"""
import contextlib

import pytest

from daemon import Daemon
from script import MIB, OUT_OF_MEMORY, Script

CARD = 4096 * MIB  # CUDA's total
RESERVED = 64 * MIB  # what NVML shows beyond it
CONTEXT = 64 * MIB
PROMISABLE = CARD - RESERVED // 4


@pytest.fixture
def daemon(sim):
    sim.configure(memory="4GiB", grants="real", draining="200ms")
    return Daemon(sim).start()


def filled(sim, name, limit):
    """A program of the session that has taken all of its limit."""
    gpu = Script(sim, ALIQUOT_SESSION=name).ready()
    free, total = gpu.values("info")
    assert (free, total) == (limit - CONTEXT, limit)
    gpu.do(f"alloc 1 {free - 2 * MIB}", f"alloc 2 {2 * MIB}")
    assert gpu.code("alloc 3 1") == OUT_OF_MEMORY
    return gpu


def device(daemon):
    return daemon.get("/v1/devices").json["devices"][0]


def test_what_the_card_keeps_for_itself_is_never_promised(daemon):
    """Neither what NVML calls reserved, which CUDA cannot give, nor what is left to the driver."""
    assert device(daemon)["memory_bytes"] == CARD + RESERVED  # as NVML says
    assert device(daemon)["room_bytes"] == PROMISABLE
    assert daemon.post("/v1/sessions", {"name": "a", "memory": PROMISABLE + 1}).status != 201
    daemon.create("a", "100%")
    assert device(daemon)["promised_bytes"] == PROMISABLE


def test_two_sessions_that_fill_the_card_both_get_what_they_were_promised(daemon, sim):
    for name in ("a", "b"):
        daemon.create(name, "50%")
    assert device(daemon)["room_bytes"] == 0
    with contextlib.ExitStack() as stack:
        for name in ("a", "b"):
            stack.enter_context(filled(sim, name, PROMISABLE // 2))
        oracle = sim.oracle()["devices"][0]
        assert oracle["current_bytes"] == PROMISABLE
