# SPDX-License-Identifier: Apache-2.0
"""Memory that outlives what it was made with: charged for as long as the card holds it."""
import pytest

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


def pair(sim, memory="512MiB"):
    sim.configure(memory="2GiB", context=CONTEXT)
    return Script(sim, ALIQUOT_MEMORY=memory), Script(sim, ALIQUOT_MEMORY=memory)


def test_freed_by_its_owner_while_another_process_holds_it(sim):
    """The owner stays charged until nobody holds it any more, and finds that out by itself."""
    owner, other = pair(sim)
    with owner as one, other as two:
        one.ready()
        two.ready()
        for i in range(1, 5):
            one.do(f"alloc {i} {100 * MIB}", f"ipc-get {i} {i}")
            handle = one.say(f"ipc-print {i}")[0]
            two.do(f"ipc-parse {i} {handle}", f"ipc-open {i} {i}")
            one.do(f"free {i}")
            assert covered(one).granted_tag == 2 * CONTEXT + i * 100 * MIB
        assert one.code(f"alloc 5 {100 * MIB}") == two.code(f"alloc 5 {100 * MIB}") == OUT_OF_MEMORY
        two.do("ipc-close 1", "ipc-close 2")
        covered(one)
        one.do(f"alloc 5 {100 * MIB}")
        settled(one, 2 * CONTEXT + 300 * MIB)


def test_an_owner_that_ends_while_its_freed_memory_is_held(sim):
    """Whoever holds it is charged before it is granted anything more."""
    owner, other = pair(sim)
    with owner as one, other as two:
        one.ready().do(f"alloc 1 {200 * MIB}", "ipc-get 1 1")
        handle = one.say("ipc-print 1")[0]
        two.ready().do(f"ipc-parse 1 {handle}", "ipc-open 1 1")
        one.do("free 1")
        covered(two)
        one.kill()
        assert two.code(f"alloc 2 {300 * MIB}") == OUT_OF_MEMORY
        assert two.look()[:2] == (CONTEXT + 200 * MIB,) * 2
        two.do("ipc-close 1", f"alloc 2 {300 * MIB}")
        assert two.look()[:2] == (CONTEXT + 300 * MIB,) * 2


@pytest.mark.parametrize("end", (("context 0 0", "destroy 0"), ("retain 0 0", "reset 0")))
def test_a_context_ends_with_memory_that_another_process_holds(sim, end):
    owner, other = pair(sim)
    with owner as one, other as two:
        one.do("init", end[0], "current 0", f"alloc 1 {200 * MIB}", "ipc-get 1 1")
        handle = one.say("ipc-print 1")[0]
        two.ready().do(f"ipc-parse 1 {handle}", "ipc-open 1 1")
        one.do(end[1])
        covered(two)
        assert two.look().charged == CONTEXT + 200 * MIB
        two.do("ipc-close 1")
        one.do("context 0 0", "info")
        settled(two, 2 * CONTEXT)


def test_the_charged_importer_closes_first(sim):
    """Two importers, the owner gone: the charge does not end with the one that had it."""
    owner, other = pair(sim)
    with owner as one, other as two, Script(sim, ALIQUOT_MEMORY="512MiB") as three:
        one.ready().do(f"alloc 1 {200 * MIB}", "ipc-get 1 1")
        handle = one.say("ipc-print 1")[0]
        for gpu in two, three:
            gpu.ready().do(f"ipc-parse 1 {handle}", "ipc-open 1 1")
        one.kill()
        two.values("info")
        assert two.look().charged == 2 * CONTEXT + 200 * MIB
        two.do("ipc-close 1")
        assert two.look().charged == 2 * CONTEXT + 200 * MIB
        three.do("ipc-close 1")
        two.values("info")
        assert two.look().charged == 2 * CONTEXT


def test_released_by_its_owner_while_another_process_maps_it(sim):
    """The same for memory that is passed on as a descriptor, mapped or only held."""
    sim.configure(memory="2GiB", context=CONTEXT)
    result = sim.run([sim.build.program("hooks/rare"), "handed"], preload=True,
                     ALIQUOT_MEMORY="512MiB")
    assert result.rc == 0, result
    looks = [line.split() for line in result.stdout.splitlines()]
    books = {" ".join(words[1:-3]): (int(words[-2]), int(words[-1])) for words in looks}
    assert books["held"] == books["released"] == books["mapped"]
    assert books["held"][0] == books["held"][1] == 2 * CONTEXT + 100 * MIB
    assert books["let go"] == (2 * CONTEXT, 2 * CONTEXT)
