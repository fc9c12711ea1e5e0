# SPDX-License-Identifier: Apache-2.0
"""How soon shares are right again when something changes: a neighbour comes or goes, a cap is set (docs/compute.md).

The real daemon, library and programs in the simulator's virtual time; the judge is its engine time, which each
program reads every 5 ms.
"""
import bisect
import contextlib
import json

import pytest

from daemon import Daemon
from node import Node, finished

US, MS = 10**3, 10**6
POINT = 0.01
TRIES = 5
SOON = 50 * MS  # after which the share is right


class Told:
    """What a program said of itself."""
    def __init__(self, told):
        self.samples = told["samples"]
        self.times = [at for at, _ in self.samples]
        self.from_ns, self.to_ns = told["from_ns"], told["to_ns"]

    def busy_at(self, at):
        after = bisect.bisect(self.times, at)
        (t0, b0), (t1, b1) = self.samples[after - 1:after + 1]
        return b0 + (b1 - b0) * (at - t0) / (t1 - t0)

    def share(self, begin, end):
        return (self.busy_at(end) - self.busy_at(begin)) / (end - begin)

    def shares(self, begin, end, length):
        """Of each such time that lies in between."""
        return [self.share(at, at + length) for at in range(int(begin), int(end - length), length)]


def tell_story(sim, terms, loads, change):
    """Sessions with these terms, a load in each, and what is changed when; what the programs said."""
    program = sim.build.program
    sim.configure(clock="virtual", begin_with=len(loads) + bool(change), memory="1GiB")
    daemon = Daemon(sim).start()
    for at, term in enumerate(terms):
        assert daemon.post("/v1/sessions", {"name": f"s{at}", "memory": "128MiB", **term}).status == 201
    changer = change and sim.start([program("compute/change"), change[0], change[1], json.dumps(change[2])])
    programs = [sim.start([program("compute/load"), *(f"{key}={value}" for key, value in load.items()), "samples=5"],
                          preload=True, ALIQUOT_SESSION=f"s{at}") for at, load in enumerate(loads)]
    told = [Told(finished(one, daemon.said)) for one in programs]
    return [*told, finished(changer)] if changer else told


@pytest.fixture
def node(build):
    """Tells a story. Programs that a busy machine did not start when they should make another one."""
    def node_run(terms, loads, change=None):
        for _ in range(TRIES):
            with contextlib.closing(Node(build)) as sim:
                told = tell_story(sim, terms, loads, change)
            begins = [told[at].from_ns - load["from"] * MS for at, load in enumerate(loads)]
            if max(begins) - min(begins) < SOON:
                return told
        return pytest.skip("the machine is too busy to start programs in time")
    return node_run


def wants(ns, seconds, begin=0, kind="kernel"):
    return {"kind": kind, "ns": ns, "seconds": seconds, "from": begin}


def assert_share(told, share, begin, end, length=200 * MS):
    """Soon after the one, and until the other."""
    shares = told.shares(begin + SOON, end, length)
    assert shares and all(abs(one - share) < 2 * POINT for one in shares), (share, shares)


def queued(ns):
    """How long the work takes that a stream holds at most: a session that is alone and has no cap fills it."""
    return 1024 * ns


@pytest.mark.parametrize("ns", (200 * US, 2 * MS))
@pytest.mark.parametrize("newcomer, share", (({"guarantee": 80}, 0.8), ({"weight": 300}, 0.75)))
def test_a_newcomer_has_half_while_what_was_queued_runs_and_its_share_then(node, ns, newcomer, share):
    """The first one was alone and without a cap: all that its stream holds runs beside the newcomer, at half the
    speed. What the newcomer had less than its share in that time it has more thereafter, which takes as long again."""
    settled, begin = 4 * queued(ns), 600 + queued(ns) // MS
    come = settled / 1e9 + 2
    first, second = node(({}, newcomer), (wants(ns, begin / 1e3 + come + 1), wants(ns, come, begin)))
    assert first.share(first.from_ns + 100 * MS, second.from_ns) > 0.985
    at_first = second.shares(second.from_ns + SOON, second.from_ns + settled, 200 * MS)
    assert min(at_first) > 0.5 - 2 * POINT, at_first
    assert_share(second, share, second.from_ns + settled, second.to_ns, 500 * MS)
    assert_share(first, 1 - share, second.from_ns + settled, second.to_ns, 500 * MS)
    assert_share(first, 1, second.to_ns, first.to_ns)


def test_a_newcomer_waits_for_no_queue_of_long_kernels(node):
    """Of 20 ms each, 20 s of them: it waits for the drain timeout, which is 20 ms for who never had a turn."""
    loads = wants(20 * MS, 3), wants(20 * MS, 1, 600)
    first, second = node(({}, {"guarantee": 80}), [{**load, "settle": 0} for load in loads])
    assert first.share(first.from_ns + 100 * MS, second.from_ns) > 0.985
    assert second.busy_at(second.from_ns + 50 * MS) > 0
    assert_share(second, 0.5, second.from_ns, second.to_ns, 400 * MS)


@pytest.mark.parametrize("ns", (200 * US, 2 * MS))
def test_a_cap_that_is_set_holds_once_what_was_queued_is_paid_for(node, ns):
    """Of a session that was alone without one, by the daemon's API. What its stream holds runs all the same, is debt,
    and is paid at the rate of the cap; nothing else runs meanwhile."""
    paid = queued(ns) * 5
    told, (before, after) = node(({},), (wants(ns, paid / 1e9 + 4),), (1000, "s0", {"compute": 20}))
    assert_share(told, 1, told.from_ns + 100 * MS, before)
    assert told.share(after + queued(ns), after + paid) < 0.2
    assert abs(told.share(after, after + paid + SOON) - 0.2) < 3 * POINT
    assert_share(told, 0.2, after + paid, told.to_ns, 1000 * MS)


def test_a_cap_that_is_set_beside_another_session_holds_soon(node):
    """Over a second: the bucket holds what the cap gives in 100 ms."""
    first, second, (before, after) = node(({}, {}), [wants(200 * US, 5)] * 2, (2000, "s0", {"compute": 20}))
    assert_share(first, 0.5, first.from_ns + 800 * MS, before, 500 * MS)
    assert_share(first, 0.2, after, first.to_ns, 1000 * MS)
    assert_share(second, 0.8, after, first.to_ns, 1000 * MS)
