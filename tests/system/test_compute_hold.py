# SPDX-License-Identifier: Apache-2.0
"""While a session is held nothing of it touches a device's memory, once its processes said that they are drained
(docs/compute.md): who moves its memory relies on that. The daemon, the library and programs in virtual time; the
session is held by a stand-in (programs/compute/hold.c).
"""
import signal

import pytest

from company import MS, US, Company
from hang import IS_SLOW
from node import finished
from stopped import stop

ALWAYS = 100_000  # seconds
TIMES = 3 if IS_SLOW else 8  # each by the same code


class Scene(Company):
    """Programs in one session of the daemon."""
    def __init__(self, sim, programs=1, **terms):
        super().__init__(sim, [terms], programs=programs, device="1GB/s")

    def hold(self, *, patience_ms=1000, held_ms=10, times=TIMES):
        folder = self.sim.runtime / "sessions/s0"
        assert all(program.poll() is None for program in self.programs)
        return finished(self.sim.start([self.sim.build.program("compute/hold"), folder, "50", str(patience_ms),
                                        str(held_ms), str(times)]), self.said)


@pytest.mark.parametrize("terms", ({}, {"compute": 30}), ids=("free", "capped"))
@pytest.mark.parametrize("load", (
    {"kind": "kernel", "ns": 200 * US}, {"kind": "script", "do": "o k100000 s", "threads": 3}, {"kind": "graph", "ns": 50 * US},
    {"kind": "both", "ns": 50 * US}, {"kind": "cuMemcpyHtoDAsync_v2", "ns": 50 * US}, {"kind": "cuMemcpyDtoH_v2", "ns": 50 * US},
    {"kind": "script", "do": "T h w2m k200u w2m"}, {"kind": "copied", "ns": 50 * US}, {"kind": "cuMemcpyAsync_ptsz", "ns": 50 * US}), ids=lambda load: load.get("do", load["kind"]))
def test_nothing_touches_the_device_once_a_session_is_drained(sim, load, terms):
    scene = Scene(sim, **terms).load(0, seconds=ALWAYS, **load)
    got = scene.hold()
    assert got["drained"] == TIMES and got["touched_ns"] == 0, got
    assert got["worked_ns"] > 0, got


def test_calls_of_every_kind_wait_until_the_hold_ends(sim):
    """Allocations and frees of all kinds, contexts, graphs, copies: and they answer what they would answer without."""
    sim.configure(clock="virtual")
    words = [sim.build.program("compute/sequence"), 7, 12000]
    bare = sim.run(words)
    scene = Scene(sim, memory="512MiB")
    told = sim.folder / "told"  # a pipe that nobody reads would stop it
    program = sim.start(["sh", "-c", 'exec "$@" >"$0"', told, *words], preload=True, ALIQUOT_SESSION="s0")
    scene.programs.append(program)
    got = scene.hold(patience_ms=5000)
    assert got["drained"] == TIMES and got["touched_ns"] == 0 and got["worked_ns"] > 0, got
    assert program.wait() == 0 and told.read_text() == bare.stdout


def test_every_process_of_a_session_answers(sim):
    scene = Scene(sim, programs=2)
    for kind in ("kernel", "cuMemcpyHtoDAsync_v2"):
        scene.load(0, kind=kind, ns=50 * US, seconds=ALWAYS)
    got = scene.hold()
    assert got["drained"] == TIMES and got["touched_ns"] == 0, got


def test_who_waits_for_ever_is_not_drained_and_nobody_hangs(sim):
    """A kernel of half a minute: each hold is taken back, and the program goes on."""
    scene = Scene(sim).load(0, kind="kernel", ns=30_000 * MS, seconds=ALWAYS)
    got = scene.hold(patience_ms=100, times=3)
    assert got["drained"] == 0 and got["worked_ns"] >= 3 * 9 * MS, got


def test_a_process_that_is_stopped_is_not_drained(sim):
    """Nobody knows whether one of its threads is past the gate."""
    scene = Scene(sim, programs=2)
    for _ in range(2):
        scene.load(0, kind="kernel", ns=50 * US, seconds=ALWAYS)
    scene.hold(times=1)
    stop(scene.programs[0].pid)
    assert scene.hold(patience_ms=100, times=3)["drained"] == 0
    scene.programs[0].send_signal(signal.SIGCONT)
    assert scene.hold()["drained"] == TIMES
