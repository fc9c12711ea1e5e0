# SPDX-License-Identifier: Apache-2.0
"""Caps of several sessions on one GPU, with a daemon that hands out leases (docs/compute.md).

The real daemon, library and programs in the simulator's virtual time: the figures are the same on every
machine. The judge is the simulator's engine time.
"""

import pytest

from daemon import Daemon
from node import finished

US, MS = 10**3, 10**6
POINT = 0.01


@pytest.fixture
def node(sim, build):
    """Sessions of a daemon with these terms (a number is a cap), a program in each that wants the whole GPU."""
    def node_run(terms, loads, seconds=3, **settings):
        sim.configure(clock="virtual", begin_with=len(terms), memory="1GiB", **settings)
        daemon = Daemon(sim).start()
        for at, term in enumerate(terms):
            body = {"name": f"s{at}", "memory": "128MiB"}
            body |= term if isinstance(term, dict) else {"compute": term}
            assert daemon.post("/v1/sessions", body).status == 201
        programs = [sim.start([build.program("compute/load"), f"kind={kind}", f"ns={ns}", f"seconds={seconds}",
                               "settle=500"], preload=True, ALIQUOT_SESSION=f"s{at}")
                    for at, (kind, ns) in enumerate(loads)]
        node_run.daemon = daemon
        return [finished(program, daemon.said) for program in programs]
    return node_run


PAIRS = [(30, 70), (30, 60), (25, 75), (10, 90)]


@pytest.mark.parametrize("ns", (200 * US, 2 * MS))
@pytest.mark.parametrize("caps", PAIRS)
def test_each_of_a_pair_gets_its_share(node, caps, ns):
    """Never a point more; up to two less, where the caps together are the whole device: hand-overs take some of it,
    as the end of a turn is seen by looks, each 50 us."""
    told = node(caps, [("kernel", ns)] * 2)
    for one, cap in zip(told, caps):
        assert -2 * POINT < one["own"] - cap / 100 < POINT, told


@pytest.mark.figures
@pytest.mark.parametrize("ns", ((100 * MS, 100 * MS), (MS, 60 * MS)))
def test_long_kernels_take_nothing_from_each_other(node, ns):
    """Each waits for the other's kernel, and what its cap gives it meanwhile is not lost."""
    first, second = node((30, 70), [("kernel", one) for one in ns], seconds=20)
    assert abs(first["own"] - 0.3) < POINT, (first, second)
    assert abs(second["own"] - 0.7) < POINT, (first, second)


def test_whoever_launches_whatever(node):
    """A program that waits for each launch beside one that keeps its stream full."""
    first, second = node((30, 60), [("sync", 200 * US), ("kernel", 2 * MS)])
    assert first["own"] < 0.31 and second["own"] < 0.61, (first, second)
    assert first["own"] > 0.25 and second["own"] > 0.50, (first, second)


def test_the_cap_of_one_is_not_the_other_s(node):
    """Beside a neighbour without a cap: that one has the rest of the GPU, and waits for nobody's quota."""
    first, second = node((20, {}), [("kernel", 200 * US)] * 2)
    assert abs(first["own"] - 0.2) < POINT, (first, second)
    assert second["own"] > 0.78, (first, second)


@pytest.mark.parametrize("ns", (200 * US, 2 * MS))
def test_sessions_without_caps_have_the_device_in_turns(node, ns):
    """Half each, and together nearly all of it."""
    told = node(({}, {}), [("kernel", ns)] * 2)
    assert all(abs(one["own"] - 0.5) < POINT for one in told), told
    assert sum(one["own"] for one in told) > 0.985, told


@pytest.mark.figures
@pytest.mark.parametrize("ns", (20 * US, 200 * US, MS))
def test_sessions_whose_threads_wake_up_late_have_most_of_it(node, ns):
    """A millisecond, the daemon too. The look that finds the end of a turn, the daemon and who is next wake up one
    after the other, so a hand-over takes 1 to 3 ms; turns of 10 ms, the longest there are, make up for most of it."""
    first, second = node(({}, {}), [("kernel", ns)] * 2, seconds=4, wake="1ms")
    assert abs(first["own"] - second["own"]) < 0.04, (first, second)
    assert first["own"] + second["own"] > 0.75, (first, second)


@pytest.mark.figures
@pytest.mark.parametrize("kind", ("kernel", "sync", "step", "streams", "graph"))
def test_who_is_alone_loses_next_to_nothing(sim, build, node, kind):
    """Beside the same program without Aliquot. What it is billed is its work; where it waits for each kernel, the calls
    count that launch it, too: 1 us each here."""
    alone, = node(({},), [(kind, 20 * US)], seconds=1)
    bare = sim.run([build.program("compute/load"), f"kind={kind}", f"ns={20 * US}", "seconds=1", "settle=500"])
    assert bare.rc == 0 and alone["own"] > 0.985 * bare.json["own"], (alone, bare)
    calls_ns = alone["launches"] * US if kind == "sync" else 0
    assert alone["billed_ns"] == pytest.approx(alone["busy_ns"] + calls_ns, rel=0.03), alone


def test_shares_go_by_weight(node):
    """Kernels of very different lengths."""
    told = node(({"weight": 100}, {"weight": 300}), [("kernel", 2 * MS), ("kernel", 200 * US)])
    assert abs(told[0]["own"] - 0.25) < 2 * POINT and abs(told[1]["own"] - 0.75) < 2 * POINT, told


def test_a_guarantee_is_kept_against_weight(node):
    told = node(({"guarantee": 60, "weight": 1}, {"weight": 10000}), [("kernel", 200 * US)] * 2)
    assert told[0]["own"] > 0.59, told


def test_rt_goes_before_batch(node):
    """Strictly, but for the floor of those below."""
    told = node(({"priority": "rt"}, {"priority": "batch"}), [("kernel", 200 * US)] * 2)
    assert told[0]["own"] > 0.97 and told[1]["own"] > 0.005, told


def test_programs_go_on_when_the_daemon_dies_under_them(sim, build, node):
    """Half a second later each goes by its own cap."""
    sim.configure(clock="virtual", begin_with=2, memory="1GiB")
    daemon = Daemon(sim).start()
    for at in range(2):
        assert daemon.post("/v1/sessions", {"name": f"s{at}", "memory": "128MiB", "compute": 30}).status == 201
    programs = [sim.start([build.program("compute/load"), "kind=kernel", f"ns={200 * US}", "seconds=4"],
                          preload=True, ALIQUOT_SESSION=f"s{at}") for at in range(2)]
    daemon.kill()
    for program in programs:
        assert 0.1 < finished(program)["own"] < 0.31


def test_metrics_tell_what_was_waited_for(node):
    node((30,), [("kernel", 200 * US)], seconds=1)
    metrics = node.daemon.metrics()
    assert metrics["aliquot_gate_waits_total"] > 10
    assert metrics["aliquot_gate_wait_seconds_total"] > 0.3
    assert metrics["aliquot_gpu_busy_seconds_total"] > 0.2
    device, = node.daemon.get("/v1/sessions/s0").json["devices"]
    assert device["gpu_time"]["held_seconds"] > 0.2 and device["gpu_time"]["debt_seconds"] >= 0, device


def test_a_node_may_have_no_leases(sim, build):
    """Each keeps its own cap, as without a daemon."""
    sim.configure(clock="virtual", begin_with=1, memory="1GiB")
    daemon = Daemon(sim, "[compute]\nleases = no\n").start()
    assert daemon.post("/v1/sessions", {"name": "s0", "memory": "128MiB", "compute": 30}).status == 201
    program = sim.start([build.program("compute/load"), "kind=kernel", f"ns={200 * US}", "seconds=1"],
                        preload=True, ALIQUOT_SESSION="s0")
    assert abs(finished(program)["own"] - 0.3) < POINT
    assert "aliquot_gate_waits_total" in daemon.get("/metrics").text
    for field, value in (("guarantee", 10), ("weight", 200), ("priority", "rt"), ("gang", "ranks")):
        refused = daemon.patch("/v1/sessions/s0", {field: value})
        assert refused.status == 400 and refused.json["field"] == field and "leases" in refused.json["detail"], refused
