# SPDX-License-Identifier: Apache-2.0
"""A program that wants the whole simulated GPU, in its own session and in virtual time
(programs/compute/load.c).

    got = load_alone(sim, {"device": "1GB/s"}, kind="kernel", ns=200 * US, cap=300_000, seconds=4, settle=300)
    assert abs(got["share"] - 0.3) < 0.01, got

`share` is the simulator's engine time. A program that waits for its own work keeps the device for
longer than the engine runs, so a cap promises it a part of its throughput without a cap.

    got = beside_solo(sim, {}, kind="sync", ns=20 * US, cap=300_000, seconds=4, settle=300)
    assert abs(got["of_solo"] - got["promised"]) < 0.01, got
"""
from hang import LONG_HANG_SECONDS

MILLION = 10**6
SOLO_MIX_SECONDS = 3  # without a cap, three seconds give the same pace as ten

_solo_mixes = {}  # {load: its result}


def load_alone(sim, node, **arguments):
    """Runs it to its end on a node with these settings; returns its output."""
    sim.configure(clock="virtual", **node)
    words = [f"{key}={value}" for key, value in arguments.items()]
    result = sim.run([sim.build.program("compute/load"), *words], preload=True, ALIQUOT_MEMORY="512MiB")
    assert result.rc == 0, result
    return result.json


def beside_solo(sim, node, *, cap, solo_seconds=None, **arguments):
    """Also runs the program without a cap. Adds `of_solo`, the engine time with the cap as a part
    of that without, and `promised`, the part that the cap allows (more than the cap if the program
    has nothing in flight for some of the time). Without a cap each second is the same and slowest
    to simulate, so `solo_seconds` after settling can be enough."""
    node = {**node, "flights": "on"}
    seconds = arguments["settle"] / 1000 + solo_seconds if solo_seconds else arguments["seconds"]
    solo = load_alone(sim, node, **{**arguments, "seconds": seconds})
    got = load_alone(sim, node, cap=cap, **arguments)
    of_solo = got["own"] / solo["own"]
    return {**got, "of_solo": of_solo, "promised": min(1, cap / MILLION / solo["in_flight"])}


def mixes_beside_solo(sim, load, *, cap, seconds):
    """The same for a load of programs/compute/mixes.c, with a real driver's host costs; counts
    kernels of finished steps."""
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
    """The shares of all periods of `length` seconds; each begins and ends with a window."""
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
