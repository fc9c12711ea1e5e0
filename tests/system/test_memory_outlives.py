# SPDX-License-Identifier: Apache-2.0
"""Memory that outlives what it was made with: charged for as long as the card holds it."""
from script import MIB, OUT_OF_MEMORY, Script

CONTEXT = 16 * MIB
RUNNING = "spin 1500000000 on"


def covered(gpu):
    books = gpu.look()
    assert books.charged >= books.granted_tag, books
    return books


def settled(gpu, wanted):
    books = gpu.look()
    assert (books.charged, books.granted_tag) == (wanted, wanted), books


def test_a_pool_destroyed_behind_a_running_kernel(sim):
    """Freed, yet the stream has not got there: not even the refusal's own effort frees it."""
    sim.configure(memory="2GiB", context=CONTEXT)
    with Script(sim, ALIQUOT_MEMORY="512MiB") as gpu:
        gpu.ready().do(RUNNING)
        before = gpu.look().charged
        for i in range(1, 4):
            gpu.do(f"pool {i} 0", f"from-pool {i} {150 * MIB} {i} 0", f"free-async {i} 0",
                   f"end-pool {i}")
            assert covered(gpu).charged >= before + i * 150 * MIB
        gpu.do("pool 4 0")
        assert gpu.code(f"from-pool 4 {150 * MIB} 4 0") == OUT_OF_MEMORY
        assert gpu.code(f"alloc 5 {150 * MIB}") == OUT_OF_MEMORY
        covered(gpu)
        gpu.do("sync 0")
        settled(gpu, before)
        gpu.do(f"alloc 5 {400 * MIB}")


def test_a_pool_destroyed_before_its_blocks(sim):
    """The charge goes with the last block, without the pool's name."""
    sim.configure(memory="2GiB", context=CONTEXT)
    with Script(sim, ALIQUOT_MEMORY="512MiB") as gpu:
        gpu.ready().do("pool 1 0", f"from-pool 1 {96 * MIB} 1 0", f"from-pool 2 {32 * MIB} 1 0",
                       "end-pool 1")
        assert covered(gpu).charged == CONTEXT + 128 * MIB
        gpu.do("free-async 1 0", "sync 0")
        covered(gpu)
        gpu.do("free 2", "sync 0")
        settled(gpu, CONTEXT)


def test_more_ended_pools_than_can_be_noted(sim):
    """Those that are empty by now make room for new ones."""
    sim.configure(memory="2GiB", context=CONTEXT)
    with Script(sim, ALIQUOT_MEMORY="512MiB") as gpu:
        gpu.ready()
        for _ in range(1100):
            gpu.do("pool 1 0", "from-pool 1 4096 1 0", "end-pool 1", "free-async 1 0", "sync 0")
        settled(gpu, CONTEXT)


def test_the_current_pool_is_destroyed(sim):
    """The device has its default pool again, as without a session; an ended pool is not a pool."""
    script = ["init", "context 0 0", "pool 1 0", "use-pool 1 0", "async 1 1000000 0", "end-pool 1",
              "end-pool 1", "current-pool 0", "free-async 1 0", "sync", "current-pool 0"]
    with Script(sim, preload=False) as bare:
        wanted = [bare.say(line) for line in script]
    with Script(sim, ALIQUOT_MEMORY="256MiB") as gpu:
        assert [gpu.say(line) for line in script] == wanted
        books = gpu.look()
        assert books.charged == books.granted
