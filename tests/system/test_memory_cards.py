# SPDX-License-Identifier: Apache-2.0
"""Several cards in one program, several sessions on one card: each charge is its own."""
import collections

import pytest

from hang import HANG_SECONDS, IS_SLOW
from script import GIB, MIB, OUT_OF_MEMORY, Script

OPERATIONS = 2_000 if IS_SLOW else 10_000  # of each crowded thread
CONTEXT = 16 * MIB
End = collections.namedtuple("End", "charged granted high refused")


@pytest.fixture
def uuids(sim):
    """Of three cards, in physical order."""
    sim.configure(gpus=3, memory="1GiB", context=CONTEXT)
    with Script(sim, preload=False) as bare:
        bare.do("init")
    return [gpu["uuid"] for gpu in sim.oracle()["devices"]]


def ends(stdout):
    return [End(*(int(word) for word in line.split())) for line in stdout.splitlines()]


@pytest.mark.parametrize("door", ("preload", "shims"))
@pytest.mark.parametrize("form", ("index", "uuid", "both"))
def test_threads_go_from_card_to_card(sim, uuids, form, door):
    """Two cards have a limit each, the third has none; whatever thread is on whatever card, what a
    card was granted is what is charged for it, and no card is taken for another."""
    names = {"index": ("0", "2"), "uuid": (uuids[0], uuids[2]), "both": (uuids[0], "2")}[form]
    result = sim.run([sim.build.program("hooks/cards"), 6, 20000, 1], **{door: True},
                     ALIQUOT_MEMORY=f"{names[0]}=48MiB,{names[1]}=64MiB")
    assert result.rc == 0, result
    first, second, third = ends(result.stdout)
    assert first.charged == first.granted == third.charged == third.granted == CONTEXT
    assert second.granted == CONTEXT and second.refused == 0
    assert first.high <= 48 * MIB and third.high <= 64 * MIB
    assert first.refused > 0 and third.refused > 0, "a limit was never reached"


def test_processes_with_their_cards_in_another_order(sim, uuids):
    """One session, and each process numbers the cards in its own way."""
    orders = ("0,1,2", "2,1,0", "1,2,0", "2,0")
    fleet = [sim.start([sim.build.program("hooks/cards"), 2, 10000, seed], preload=True,
                       CUDA_VISIBLE_DEVICES=order, ALIQUOT_SESSION="box",
                       ALIQUOT_MEMORY="0=256MiB,1=288MiB,2=320MiB")
             for seed, order in enumerate(orders)]
    for process in fleet:
        _, err = process.communicate(timeout=HANG_SECONDS)
        assert process.returncode == 0, err
    tags = sim.oracle()["tags"]["box"]
    assert [tag["current_bytes"] for tag in tags] == [0, 0, 0]
    assert all(tag["high_bytes"] <= limit * MIB for tag, limit in zip(tags, (256, 288, 320)))
    shown = sim.aliquot("show", "box", "--json").json
    assert {device["uuid"]: device["used_bytes"] for device in shown["devices"]} == dict.fromkeys(
        uuids, 0)


def test_two_sessions_on_one_card(sim):
    """Neither sees, takes or frees anything of the other's."""
    sim.configure(memory="1GiB", context=CONTEXT)
    small = {"ALIQUOT_SESSION": "small", "ALIQUOT_MEMORY": "96MiB"}
    large = {"ALIQUOT_SESSION": "large", "ALIQUOT_MEMORY": "512MiB"}
    with Script(sim, **small) as one, Script(sim, **large) as two:
        one.ready().do(f"alloc 1 {80 * MIB}")
        two.ready()
        assert one.code("alloc 2 1") == OUT_OF_MEMORY
        assert one.values("info") == [0, 96 * MIB]
        assert two.values("info") == [512 * MIB - CONTEXT, 512 * MIB]
        two.do(f"alloc 1 {400 * MIB}")
        one.kill()
        assert two.values("info") == [96 * MIB, 512 * MIB]
        assert two.code(f"alloc 2 {96 * MIB + 1}") == OUT_OF_MEMORY


def test_two_crowded_sessions_on_one_card(sim):
    """Both at their limits at once; the card itself has room for both."""
    sim.configure(memory=1 * GIB, context="4MiB")
    limits = {"small": 96, "large": 160}
    fleet = [sim.start([sim.build.program("hooks/cards"), 3, OPERATIONS, seed], preload=True,
                       ALIQUOT_SESSION=name, ALIQUOT_MEMORY=f"{limit}MiB")
             for seed in range(3) for name, limit in limits.items()]
    refused = 0
    for process in fleet:
        out, err = process.communicate(timeout=HANG_SECONDS)
        assert process.returncode == 0, err
        refused += ends(out)[0].refused
    assert refused > 0, "neither limit was ever reached"
    tags = sim.oracle()["tags"]
    for name, limit in limits.items():
        assert tags[name][0]["current_bytes"] == 0
        assert limit * MIB // 2 < tags[name][0]["high_bytes"] <= limit * MIB


def test_how_large_a_card_is_is_asked_of_nobody_where_the_session_knows(sim):
    """A first context waits for as little of the driver as can be."""
    sim.configure(calls="on", model="h200", memory="140GiB")
    with Script(sim, ALIQUOT_MEMORY="1GiB", ALIQUOT_SESSION="known") as gpu:
        gpu.ready()
        calls = sim.oracle()["calls"]["known"]
        assert any(by["library"] for by in calls.values()), calls
        assert calls.get("cuDeviceTotalMem_v2", {"library": 0})["library"] == 0, calls
