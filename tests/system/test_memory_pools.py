# SPDX-License-Identifier: Apache-2.0
"""Stream-ordered memory up to the limit: a pool grows by 32 MiB at a time, and what is left of the limit below that is served too."""
import pytest

from script import MIB, OUT_OF_MEMORY, SUCCESS, Script

LIMIT = 256 * MIB
BLOCKS = {1: 256, 2: 128, 4: 64, 8: 32, 24: 11}  # MiB of a block: more of them than any limit here has room for


def filled(gpu, mib, verb="async {slot} {bytes} 0"):
    """How many bytes it got by blocks of so many MiB until it was refused."""
    for count in range(BLOCKS[mib]):
        code = gpu.code(verb.format(slot=count, bytes=mib * MIB))
        assert code in (SUCCESS, OUT_OF_MEMORY)
        if code == OUT_OF_MEMORY:
            return count * mib * MIB
    raise AssertionError("it was never refused")


def pool_rest(gpu):
    reserved, used = gpu.values("in-pool 0")
    return reserved - used


@pytest.mark.parametrize("context", [16, 104], ids="context {} MiB".format)
@pytest.mark.parametrize("mib", BLOCKS, ids="blocks of {} MiB".format)
def test_a_limit_is_filled_as_a_card_of_that_size(sim, mib, context):
    """Refused is only what fits neither in the pool nor in the rest of the limit; at no instant is the limit exceeded."""
    sim.configure(memory="1GiB", context=f"{context}MiB")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready()
        got = filled(gpu, mib)
        books, in_pool = gpu.look(), pool_rest(gpu)
        assert books.charged == books.granted <= books.high <= LIMIT
        assert LIMIT - books.charged < mib * MIB and in_pool < mib * MIB
    sim.configure(memory="256MiB", context=f"{context}MiB")
    with Script(sim, preload=False) as bare:
        card = filled(bare.ready(), mib)
    print(f"blocks of {mib} MiB: {got // MIB} of {LIMIT // MIB - context} MiB; a card of that size: {card // MIB}")
    assert card - got in (0, mib * MIB) and (got == card or mib > 8), (got, card)


@pytest.fixture
def full(sim):
    """Stream-ordered blocks up to the limit but for 24 MiB, which is less than a pool grows by."""
    sim.configure(memory="1GiB", context="104MiB")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"async 1 {128 * MIB} 0")
        yield gpu


@pytest.mark.parametrize("give", ["free {}", "free-async {} 0"])
def test_the_rest_of_the_limit_is_given_back_as_it_was_taken(full, give):
    before = full.look()
    for _ in range(5):
        full.do(f"async 2 {24 * MIB} 0")
        assert full.look().charged == full.look().granted == LIMIT
        assert full.code("async 3 1 0") == OUT_OF_MEMORY
        full.do(give.format(2), "sync 0")
        assert full.look()[:2] == before[:2]
    assert full.look().high <= LIMIT


def test_the_rest_of_the_limit_goes_with_its_context(full):
    full.do(f"async 2 {24 * MIB} 0", "free-async 1 0", "sync 0", "destroy 0")
    assert full.look()[:2] == (0, 0)


def test_the_rest_of_the_limit_is_not_for_pools_with_rules_of_their_own(sim):
    """Where a pool may be opened to another device later, a block of it must be of the pool."""
    sim.configure(gpus=2, memory="1GiB", context="104MiB")
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready().do(f"async 1 {128 * MIB} 0")
        assert gpu.code(f"async 2 {MIB} 0") == OUT_OF_MEMORY
        gpu.do(f"alloc 2 {24 * MIB}")
        assert gpu.look().high <= LIMIT


@pytest.mark.parametrize("share", [[], ["ipc-get 2 2"]], ids=["alone", "exported"])
@pytest.mark.parametrize("take", ["alloc {} {}", "async {} {} 0"])
def test_memory_freed_behind_running_work_is_charged_until_then(full, take, share):
    """Plain memory too: it is the driver's until the stream gets to the free."""
    for _ in range(1 if share else 3):  # a spin loads its module, which takes a little
        full.do(take.format(2, 20 * MIB), *share, "spin 200000000 on", "free-async 2 0")
        assert full.code(take.format(3, 20 * MIB)) in (SUCCESS, OUT_OF_MEMORY)
        full.say("free 3")
        full.do("sync 0")
        books = full.look()
        assert books.charged == books.granted < LIMIT - 20 * MIB and books.high <= LIMIT, books


@pytest.mark.parametrize("work", [[], ["spin 10000000 on"]], ids=["idle", "busy"])
def test_a_loop_that_never_waits_is_served_each_time(full, work):
    """A pool would give it the block that it freed before, in stream order; plain memory is waited for."""
    for _ in range(20):
        full.do(f"async 2 {16 * MIB} 0", *work, "free-async 2 0")
    full.do("sync 0")
    assert full.look().high <= LIMIT
