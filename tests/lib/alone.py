# SPDX-License-Identifier: Apache-2.0
"""A program that wants the whole simulated GPU, in a session of its own and in virtual time (programs/compute/load.c).

    got = load_alone(sim, {"device": "1GB/s"}, kind="kernel", ns=200 * US, cap=300_000, seconds=4, settle=300)
    assert abs(got["share"] - 0.3) < 0.01, got

What it got is the simulator's engine time. A program that waits for its own work keeps the device for longer than the engine
is at it: what a cap promises it is a part of what it does without one.

    got = beside_solo(sim, {}, kind="sync", ns=20 * US, cap=300_000, seconds=4, settle=300)
    assert abs(got["of_solo"] - got["promised"]) < 0.01, got
"""
from hang import LONG_HANG_SECONDS

MILLION = 10**6
SOLO_MIX_SECONDS = 3  # without a cap its pace is the same as in ten

_solo_mixes = {}  # {load: what it got}


def load_alone(sim, node, **arguments):
    """On a node with these settings, to the program's end: what it tells."""
    sim.configure(clock="virtual", **node)
    words = [f"{key}={value}" for key, value in arguments.items()]
    result = sim.run([sim.build.program("compute/load"), *words], preload=True, ALIQUOT_MEMORY="512MiB")
    assert result.rc == 0, result
    return result.json


def beside_solo(sim, node, *, cap, solo_seconds=None, **arguments):
    """Also `of_solo`, how much of its work it gets done beside the same program without a cap, by the engine; and `promised`, how
    much it may: as the cap says, or more where the program has nothing in flight for some of the time. Without a cap it is
    the same from second to second, and takes the longest to simulate: `solo_seconds` after it has settled may do."""
    node = {**node, "flights": "on"}
    seconds = arguments["settle"] / 1000 + solo_seconds if solo_seconds else arguments["seconds"]
    solo = load_alone(sim, node, **{**arguments, "seconds": seconds})
    got = load_alone(sim, node, cap=cap, **arguments)
    of_solo = got["own"] / solo["own"]
    return {**got, "of_solo": of_solo, "promised": min(1, cap / MILLION / solo["in_flight"])}


def mixes_beside_solo(sim, load, *, cap, seconds):
    """The same of a load of programs/compute/mixes.c, with the host costs of a real driver; by the kernels of finished steps."""
    sim.configure(clock="virtual", costs="real", flights="on")

    def play(percent, seconds):
        words = [sim.build.program("compute/mixes"), *f"load={load}".split(), f"seconds={seconds}"]
        result = sim.run(words, preload=True, ALIQUOT_MEMORY="512MiB", ALIQUOT_COMPUTE=percent, timeout=LONG_HANG_SECONDS)
        assert result.rc == 0, result
        return result.json

    def rate(field, got):
        return (got[field][-1] - got[field][1]) / (got["at_ns"][-1] - got["at_ns"][1])
    if load not in _solo_mixes:
        _solo_mixes[load] = play(None, SOLO_MIX_SECONDS)
    solo, got = _solo_mixes[load], play(str(cap / MILLION * 100), seconds)
    of_solo = rate("done_ns", got) / rate("done_ns", solo)
    in_flight = solo["end_flight_ns"] / max(solo["at_ns"])
    return {"of_solo": of_solo, "promised": min(1, cap / MILLION / min(1, in_flight)), **got}


def seconds_of(got, length=1):
    """The shares of all seconds that begin with a window, or of such stretches; each ends with a window, too."""
    shares, ns = got["windows"], got["windows_ns"]
    found = []
    for first in range(len(ns)):
        took = busy = 0
        for share, window_ns in zip(shares[first:], ns[first:]):
            took, busy = took + window_ns, busy + share * window_ns
            if took >= length * 1e9:
                found.append(busy / took)
                break
    assert found, got
    return found
