# SPDX-License-Identifier: Apache-2.0
"""A tenant that wakes the scheduler's thread without end, or makes it wait: it costs its own sessions, others keep their
turns, and the daemon answers."""
import threading
import time

import pytest

from daemon import wait_for
from tenant import holding, needs_root

pytestmark = needs_root

ATTACKER, NEIGHBOUR = 64001, 64002
SECONDS = 2
TURNS = 5  # in that time: it had 20 to 140 on a busy machine, and one or none without the defence
ANSWER_SECONDS = 1  # no answer took a tenth of that; without the defence it was seconds


def make(daemon, name, owner, **fields):
    answer = daemon.post("/v1/sessions", {"name": name, "memory": "4KiB", "owner": owner, **fields})
    assert answer.status == 201, answer


def slowest_answer(daemon, is_over):
    """Seconds that the slowest of many requests took until then."""
    slowest = 0
    while not is_over():
        begun = time.monotonic()
        assert daemon.get("/healthz").status == 200
        slowest = max(slowest, time.monotonic() - begun)
        time.sleep(0.02)
    return slowest


def leases(daemon, name):
    return daemon.session(name)["devices"][0].get("gpu_time", {"leases": 0})["leases"]


# Sessions on two GPUs: each has its turns on both at once. In one gang all of them have.
@pytest.mark.parametrize("fields", ({}, {"gang": "all"}), ids=("each alone", "in a gang"))
def test_forged_bells_delay_neither_the_daemon_nor_a_neighbour(served, sim, build, tenant, neighbour, fields):
    """200 sessions ring without end, each time with other claims. A neighbour with a guarantee has its turns."""
    sim.configure(gpus=2)
    daemon = served("[admission]\nsessions_per_owner = 0\n")
    attacker, other = tenant(daemon), neighbour(daemon)
    make(daemon, "others", NEIGHBOUR, memory="64MiB", guarantee=50, priority="rt", gpus=["0"])
    forged = [f"forged{at}" for at in range(200)]
    for name in forged:
        make(daemon, name, ATTACKER, gpus={"count": 2}, **fields)
    with holding(attacker, "forge_bells.py", *(attacker.folder(name) / "slots" for name in forged)):
        other.start([build.folder / "examples/share", 1000, 500], preload=True, ALIQUOT_SESSION="others")
        wait_for(lambda: leases(daemon, "others") > 0, daemon.said)  # a busy machine takes its time to start it
        before, end = leases(daemon, "others"), time.monotonic() + SECONDS
        slowest = slowest_answer(daemon, lambda: time.monotonic() > end)
        assert leases(daemon, "others") - before >= TURNS
    assert slowest < ANSWER_SECONDS


def test_a_user_has_no_more_than_its_part_of_the_threads_time(served, tenant):
    """The processor time of the scheduler's thread, while one user's sessions ring without end."""
    daemon = served("[admission]\nsessions_per_owner = 0\n")
    attacker = tenant(daemon)
    forged = [f"forged{at}" for at in range(40)]
    for name in forged:
        make(daemon, name, ATTACKER)
    with holding(attacker, "forge_bells.py", *(attacker.folder(name) / "slots" for name in forged)):
        time.sleep(1)
        begun, before = time.monotonic(), daemon.thread_seconds("aliquot-sched")
        time.sleep(3)
        used = (daemon.thread_seconds("aliquot-sched") - before) / (time.monotonic() - begun)
    assert used < 0.4, used  # a quarter, and what its polling takes


def test_holes_punched_into_slots_delay_nobody(served, tenant):
    """Page faults wait for who punches, and so does a fork of who has the file mapped: the daemon does neither."""
    daemon = served("[admission]\nsessions_per_owner = 0\n")
    attacker = tenant(daemon)
    make(daemon, "theirs", ATTACKER)
    rounds = threading.Thread(target=make_and_end, args=(daemon,))
    with holding(attacker, "punch_slots.py", attacker.folder("theirs") / "slots", 8):
        rounds.start()
        slowest = slowest_answer(daemon, lambda: not rounds.is_alive())
        rounds.join()
        wait_for(lambda: f"user {ATTACKER} changes the slots of session theirs under the daemon" in daemon.said(), daemon.said)
    assert slowest < ANSWER_SECONDS


def make_and_end(daemon):
    """Each end has the daemon fork."""
    for at in range(8):
        make(daemon, f"brief{at}", NEIGHBOUR)
        assert daemon.delete(f"/v1/sessions/brief{at}").status in (202, 204)
        time.sleep(0.3)
