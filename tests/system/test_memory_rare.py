# SPDX-License-Identifier: Apache-2.0
"""Ways to device memory that few programs use: charged to the byte as well (A1, A2)."""
import collections

import pytest

from script import MIB

Look = collections.namedtuple("Look", "moment card charged granted")
CONTEXT = 16 * MIB


@pytest.fixture
def rare(sim):
    """The looks of a story on two cards, each with a limit of 256 MiB unless the test says so."""
    def rare_run(story, memory="256MiB", door="preload", **settings):
        sim.configure(**{"gpus": 2, "memory": "1GiB", "context": "16MiB", **settings})
        result = sim.run([sim.build.program("hooks/rare"), story], ALIQUOT_MEMORY=memory,
                         **{door: True})
        assert result.rc == 0, result
        looks = []
        for line in result.stdout.splitlines():
            _, *moment, card, charged, granted = line.split()
            looks.append(Look(" ".join(moment), int(card), int(charged), int(granted)))
        assert all(each.charged == each.granted == 0 for each in looks if each.moment == "empty")
        return looks
    return rare_run


def check(looks, *ahead):
    """The two books agree at every moment; at those named `ahead` the charge may come first."""
    for each in looks:
        if each.moment in ahead:
            assert each.charged >= each.granted, each
        else:
            assert each.charged == each.granted, (each, looks)
    return {each.moment: each.charged for each in looks if each.card == 0}


@pytest.mark.parametrize("door", ("preload", "shims"))
def test_the_heap_of_kernels(rare, door):
    """What goes beyond the default, up and down; a refusal leaves the limit as it was."""
    charged = check(rare("heap", door=door))
    assert charged["smaller than it was"] == CONTEXT
    assert charged["held"] == charged["refused"] == CONTEXT + 64 * MIB
    assert charged["less"] == charged["stack"] == charged["end"] == CONTEXT + 32 * MIB


def test_the_interface_of_32_bits(rare):
    """Old programs, with 32-bit addresses: the same charge, the same views."""
    looks = rare("narrow")
    info, = (each for each in looks if each.moment == "info")
    charged = check([each for each in looks if each.moment != "info"])
    assert info.granted == 256 * MIB and info.charged == 256 * MIB - charged["refused"]
    assert charged["plain"] == CONTEXT + 5 * MIB + 3
    assert charged["refused"] == charged["deep"] > charged["flat"] > charged["pitched"]
    assert charged["pitched"] == charged["plain"] + 1024 * 333


@pytest.mark.parametrize("door", ("preload", "shims"))
def test_memory_of_another_interface(rare, door):
    """External memory is charged as stated, from its import until it is destroyed; its buffers are
    freed as any other, and are no charge of their own."""
    charged = check(rare("external", door=door))
    assert charged["imported"] == charged["wrong"] == charged["buffer freed"] == CONTEXT + 24 * MIB
    assert charged["destroyed"] == CONTEXT


def test_graphs_that_are_uploaded_when_they_are_made(rare):
    """The need of every card is granted ahead of the call, or nothing is made."""
    looks = rare("upload")
    check(looks, "uploaded", "uploaded again")
    for card in range(2):
        charged = {each.moment: each.charged for each in looks if each.card == card}
        assert charged["refused"] == charged["wrong"] == charged["context"]
        assert charged["uploaded"] == charged["context"] + 64 * MIB
        assert charged["ran"] > charged["trimmed"] == charged["context"]


def test_a_graph_of_several_cards(rare):
    """Each node's memory is its own card's, and one wait settles them all."""
    looks = rare("cards")
    check(looks, "launched")
    for card in range(2):
        charged = {each.moment: each.charged for each in looks if each.card == card}
        assert charged["launched"] == charged["context"] + 96 * MIB
        assert charged["trimmed"] == charged["context"]


def test_memory_of_a_locality_domain(rare):
    """A part of a card's memory is that card's: blocks, pools, and the nodes of graphs, which come by
    the newest way to add one."""
    looks = rare("domain")
    check([each for each in looks if each.card == 0])
    charged = {each.moment: each.charged for each in looks if each.card == 1}
    granted = {each.moment: each.granted for each in looks if each.card == 1}
    assert charged == granted
    assert charged["no block"] == charged["block released"] == charged["pool gone"] == 0
    assert charged["block"] == 24 * MIB
    assert charged["pool"] == 64 * MIB
    assert charged["no graph"] == charged["trimmed"] == 0 < charged["ran"]


@pytest.mark.parametrize("door", ("preload", "shims"))
def test_a_pointer_of_a_pool_in_two_processes(rare, door):
    """Charged once for the session, to the pool that it came from."""
    charged = check(rare("pointer", door=door))
    assert charged["held"] == charged["imported"] == charged["import freed"]
    assert charged["held"] >= 2 * CONTEXT + 24 * MIB
    assert charged["freed"] == 2 * CONTEXT
