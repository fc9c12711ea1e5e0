# SPDX-License-Identifier: Apache-2.0
"""Imports of which nobody tells the size: charged as far as the program says that they reach."""
import contextlib

import pytest

from script import INVALID_VALUE, MIB, OUT_OF_MEMORY, SUCCESS, Script

CONTEXT = 16 * MIB
BLOCK = 128 * MIB


@pytest.fixture
def pair(sim, tmp_path):
    """Two programs of one session of 256 MiB; the first made a block that the second was sent."""
    sim.configure(memory="2GiB", context=CONTEXT)
    with contextlib.ExitStack() as stack:
        maker, user = (stack.enter_context(Script(sim, ALIQUOT_MEMORY="256MiB")) for _ in range(2))
        user.ready().do(f"listen {tmp_path}/inbox")
        maker.ready().do(f"create 1 {BLOCK} 0", "export 1 1", f"send 1 {tmp_path}/inbox")
        user.do("receive 1")
        yield maker, user


def charged(gpu):
    """A look at free memory first: then whoever is charged may have gone."""
    gpu.values("info")
    return gpu.look().charged


def test_a_mapping_that_reaches_further_is_charged_the_rest(pair):
    """Before the driver maps: where the limit has no room for it, nothing was mapped."""
    maker, user = pair
    user.do("import 1 1", f"map 1 1 {2 * MIB}")
    maker.kill()
    assert charged(user) == CONTEXT + 2 * MIB
    user.do("alloc 1 1000000", f"alloc 2 {130 * MIB}")
    before = charged(user)
    assert user.code(f"map 2 1 {BLOCK}") == OUT_OF_MEMORY
    assert user.code(f"map 2 1 {110 * MIB}") == OUT_OF_MEMORY
    assert charged(user) == before
    user.do(f"map 4 1 {108 * MIB}")
    assert charged(user) == before + 106 * MIB
    user.do("free 2", f"map 2 1 {BLOCK}", f"map 3 1 {4 * MIB}")
    assert charged(user) == before - 4 * MIB
    user.do("unmap 2", "unmap 1", "unmap 3", "unmap 4",
            "release-handle 1", "free 1")
    assert charged(user) == CONTEXT


def test_what_the_driver_does_not_map_is_given_back(pair):
    maker, user = pair
    user.do("import 1 1", f"map 1 1 {2 * MIB}")
    maker.kill()
    assert charged(user) == CONTEXT + 2 * MIB
    for wrong in (f"map 2 1 {BLOCK + 2 * MIB}", f"map 2 1 {2 * MIB} {2 * MIB}"):
        assert user.code(wrong) == INVALID_VALUE
        assert charged(user) == CONTEXT + 2 * MIB
    assert user.code(f"map 2 1 {2 * MIB} {2**64 - 2 * MIB}") == OUT_OF_MEMORY
    assert charged(user) == CONTEXT + 2 * MIB
    user.do(f"map 2 1 {BLOCK}")
    assert charged(user) == CONTEXT + BLOCK


def test_an_import_that_states_more_is_charged_the_rest(pair):
    """External memory, stated small and then whole: one memory, charged the greatest size."""
    maker, user = pair
    user.do(f"external 1 1 {2 * MIB}")
    maker.kill()
    assert charged(user) == CONTEXT + 2 * MIB
    user.do(f"alloc 1 {120 * MIB}")
    assert user.code(f"external 2 1 {BLOCK}") == OUT_OF_MEMORY
    assert charged(user) == CONTEXT + 122 * MIB
    user.do("free 1")
    assert user.code(f"external 2 1 {BLOCK + 1}") == INVALID_VALUE
    assert charged(user) == CONTEXT + 2 * MIB
    user.do(f"external 2 1 {BLOCK}", f"external 3 1 {4 * MIB}")
    assert charged(user) == CONTEXT + BLOCK
    user.do("end-external 2", "end-external 1")
    assert charged(user) == CONTEXT + BLOCK
    user.do("end-external 3")
    assert charged(user) == CONTEXT


def test_a_mapping_and_an_import_of_one_memory(pair):
    """By whichever way more of it was stated."""
    maker, user = pair
    user.do("import 1 1", f"map 1 1 {4 * MIB}", f"external 1 1 {2 * MIB}")
    maker.kill()
    assert charged(user) == CONTEXT + 4 * MIB
    user.do(f"external 2 1 {BLOCK}")
    assert charged(user) == CONTEXT + BLOCK
    user.do(f"map 2 1 {BLOCK}")
    assert charged(user) == CONTEXT + BLOCK


def test_whoever_states_the_same_is_charged_together(pair):
    """The maker is charged for the whole: who maps the whole is not, until the maker has gone. Who
    maps less of it is charged that besides."""
    maker, user = pair
    both = 2 * CONTEXT + BLOCK
    user.do("import 1 1", f"map 1 1 {2 * MIB}")
    assert charged(user) == both + 2 * MIB
    user.do(f"map 2 1 {BLOCK}")
    assert charged(user) == both
    maker.kill()
    assert charged(user) == CONTEXT + BLOCK
    assert user.code(f"alloc 1 {BLOCK}") == OUT_OF_MEMORY


def test_another_process_that_stated_less_is_no_charge_for_more(sim, pair, tmp_path):
    """Nobody rides on a charge that is smaller than what it has."""
    maker, user = pair
    with Script(sim, ALIQUOT_MEMORY="256MiB") as third:
        third.ready().do(f"listen {tmp_path}/third")
        maker.do(f"send 1 {tmp_path}/third")
        third.do("receive 1", f"external 1 1 {2 * MIB}")
        user.do("import 1 1")
        maker.kill()
        user.do(f"map 1 1 {BLOCK}")
        assert charged(user) == 2 * CONTEXT + 2 * MIB + BLOCK
        assert user.code("external 1 1 " + str(BLOCK)) == SUCCESS
        assert charged(user) == 2 * CONTEXT + 2 * MIB + BLOCK


def test_threads_that_state_different_sizes_at_once(sim):
    """Charged the greatest size that has room, never the sum; whoever states too much is refused, and
    takes nothing from the others meanwhile."""
    sim.configure(memory="2GiB", context=CONTEXT)
    result = sim.run([sim.build.program("hooks/imports"), 500, "external"], preload=True,
                     ALIQUOT_MEMORY="44MiB")
    assert (result.rc, result.stdout) == (0, "1500 500\n"), result
