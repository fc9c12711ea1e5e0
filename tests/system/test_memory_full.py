# SPDX-License-Identifier: Apache-2.0
"""A card that is full to the last promised byte, where the simulated driver takes memory by a driver's own rules
(grants=real): what is promised can be had, by everybody at once, and again when somebody has died.
"""
import contextlib
import time

import pytest

from daemon import Daemon
from script import KIB, MIB, OUT_OF_MEMORY, Script

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


def test_memory_of_another_sessions_dead_is_waited_for(daemon, sim):
    """Its session is gone and its room is promised to another, before the card has its memory back."""
    daemon.create("a", "50%")
    daemon.create("b", "50%")
    with filled(sim, "a", PROMISABLE // 2):
        dying = filled(sim, "b", PROMISABLE // 2)
        dying.kill()
        assert daemon.delete("/v1/sessions/b").status == 204
        daemon.create("c", "50%")
        with filled(sim, "c", PROMISABLE // 2):
            assert sim.oracle()["devices"][0]["current_bytes"] == PROMISABLE


@pytest.mark.parametrize("call", ("alloc 3 {bytes}", "create 3 {bytes} 0", "async 3 {bytes} 0", "pitch 3 {kib} 1024",
                                  "array 3 {columns} 1024 0", "mipmap 3 {columns} 1024 1", "context 1 0"))
def test_memory_of_another_sessions_dead_is_waited_for_by_who_was_there(daemon, sim, call):
    """Its room goes to a session that has run all along, and is raised. Contexts are waited for, too."""
    size = 1900 * MIB
    daemon.create("a", "50%")
    daemon.create("b", "50%")
    with filled(sim, "a", PROMISABLE // 2) as staying:
        filled(sim, "b", PROMISABLE // 2).kill()
        assert daemon.delete("/v1/sessions/b").status == 204
        assert daemon.patch("/v1/sessions/a", {"memory": "100%"}).status == 200
        if not call.startswith("context"):
            staying.do(call.format(bytes=size, kib=size // KIB, columns=size // KIB // 8))
            return
        staying.do(call, f"alloc 3 {PROMISABLE // 2 - CONTEXT}")
        assert sim.oracle()["devices"][0]["current_bytes"] == PROMISABLE


def test_a_card_that_others_filled_is_not_waited_for_without_end(daemon, sim):
    """A program of no session holds what was promised: out of memory, two seconds after the promise."""
    stranger = Script(sim, preload=False).ready()
    stranger.do(f"alloc 1 {CARD // 2}")
    daemon.create("a", "100%")
    began = time.monotonic()
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        assert gpu.ready().code(f"alloc 1 {CARD // 2}") == OUT_OF_MEMORY
        assert 1 < time.monotonic() - began < 5
        began = time.monotonic()
        assert gpu.code(f"alloc 1 {CARD // 2}") == OUT_OF_MEMORY
        assert time.monotonic() - began < 1
