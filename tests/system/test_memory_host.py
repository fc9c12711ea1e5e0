# SPDX-License-Identifier: Apache-2.0
"""Oversubscription: memory of the host for what has no room on the card (docs/oversubscription.md)."""
import json
import os
import select
import shutil
import sys

import pytest

from cli import Command
from hang import HANG_SECONDS
from script import INVALID_VALUE, MIB, OUT_OF_MEMORY, Script

CONTEXT = 16 * MIB
CARD, HOST = 256 * MIB, 128 * MIB
BOTH = {"ALIQUOT_MEMORY": "256MiB", "ALIQUOT_OVERSUBSCRIBE": "128MiB", "ALIQUOT_SESSION": "s"}
DEVICE = "02000000"  # CU_MEMORYTYPE_DEVICE


def host_used(sim):
    return sim.aliquot("show", "s", "--json").json["host"]["used_bytes"]


def test_what_has_no_room_on_the_card_lies_in_the_hosts_memory(sim):
    """And the card holds no more than its limit: what the driver granted there says so."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}")
        books = gpu.look()
        assert books.charged == books.granted == CONTEXT + 200 * MIB
        assert host_used(sim) == 100 * MIB


@pytest.mark.parametrize("words", (["--oversubscribe=128MiB"], ["--oversubscribe"], ["--session", "s", "--oversubscribe=128MiB"]),
                         ids=("size", "yes", "named"))
def test_by_the_command_as_by_the_environment(sim, build, words):
    result = sim.run([build.aliquot, "run", "--memory", "256MiB", *words, "--", build.program("hooks/script")],
                     stdin=f"init\ncontext 0 0\nalloc 1 {200 * MIB}\nalloc 2 {100 * MIB}\n")
    assert (result.rc, result.stdout) == (0, "0\n" * 4), result


def test_by_the_facades(sim):
    with Script(sim, preload=False, shims=True, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}", "free 1", "free 2")


def test_both_together_are_the_card_that_the_program_sees(sim):
    """What is called free can be had in one block: one lies in one of the two."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do("nvml", f"alloc 1 {200 * MIB}", f"alloc 2 {60 * MIB}")
        left, whole = HOST - 60 * MIB, CARD + HOST
        assert gpu.values("info") == [left, whole]
        assert gpu.values("total 0") == [whole]
        assert gpu.values("card 0") == [left, whole, whole - left]
        gpu.do(f"alloc 3 {left}")
        left = CARD - CONTEXT - 200 * MIB
        assert gpu.values("info") == [left, whole]
        gpu.do(f"alloc 4 {left}")
        assert gpu.values("info") == [0, whole]


def test_a_limit_that_nobody_set_is_the_card_itself(sim):
    """A card that is full, by whomever, is no reason to refuse: the driver's word counts, not a limit alone."""
    with Script(sim, preload=False) as other, Script(sim, ALIQUOT_OVERSUBSCRIBE="128MiB") as gpu:
        gpu.ready()
        other.ready().do(f"alloc 1 {other.values('info')[0]}")
        assert gpu.values("info") == [HOST, 1024 * MIB + HOST]
        gpu.do(f"alloc 1 {HOST}")
        assert gpu.code("alloc 2 1") == OUT_OF_MEMORY


def test_more_than_both_is_refused_to_the_byte(sim):
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {CARD - CONTEXT}", f"alloc 2 {HOST - 1}", "alloc 3 1")
        assert gpu.code("alloc 4 1") == OUT_OF_MEMORY
        refused = sim.aliquot("doctor", "--json")
        assert refused.rc in (0, 1), refused
        gpu.do("free 3", "alloc 4 1")


def test_what_is_freed_is_free_where_it_was(sim):
    """The card is asked first, each time."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}", "free 1", f"alloc 1 {100 * MIB}")
        assert (gpu.look().charged, host_used(sim)) == (CONTEXT + 100 * MIB, 100 * MIB)
        gpu.do("free 2")
        assert (gpu.look().charged, host_used(sim)) == (CONTEXT + 100 * MIB, 0)


def test_the_program_is_told_that_it_is_memory_of_the_device(sim):
    """Frameworks ask, and take no other; anywhere in the block, whichever call asks."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}")
        on_card, in_host = gpu.say("attributes 1"), gpu.say("attributes 2")
        assert [word[:8] for word in in_host[1:3]] == [word[:8] for word in on_card[1:3]]
        assert in_host[1].startswith(DEVICE)


def test_a_handle_for_other_processes_is_refused_as_the_driver_does(sim):
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}", "ipc-get 1 1")
        assert gpu.code("ipc-get 2 2") == INVALID_VALUE


@pytest.mark.parametrize("ends", ("destroy 0", "kill"))
def test_it_goes_with_its_context_and_with_its_process(sim, ends):
    with Script(sim, **BOTH) as gpu, Script(sim, **BOTH) as other:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}")
        if ends == "kill":
            gpu.kill()
        else:
            gpu.do(ends)
        assert other.ready().values("info")[0] >= CARD - 2 * CONTEXT
        other.do(f"alloc 1 {CARD - 2 * CONTEXT}", f"alloc 2 {HOST}")


def test_it_is_freed_by_whoever_may_free_memory_of_the_card(sim):
    """A thread without a context, and in the order of a stream; and not twice, nor from its middle."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", "stream 1", f"alloc 2 {100 * MIB}", "thread free 2")
        assert host_used(sim) == 0
        gpu.do(f"alloc 2 {100 * MIB}", "free-async 2 1", "sync")
        assert host_used(sim) == 0
        gpu.do(f"alloc 2 {100 * MIB}", f"alloc 3 {CARD - CONTEXT - 200 * MIB}", "free 2", f"alloc 2 {100 * MIB}")
        assert host_used(sim) == 100 * MIB


def answers(gpu, line):
    """Does what others wait for, so it must not wait for them. A program that hangs is ended."""
    gpu.send(line)
    if not select.select([gpu.process.stdout], [], [], HANG_SECONDS)[0]:
        gpu.kill()
        pytest.fail(f"{line}: no answer")
    assert gpu.hear() == ["0"], line


def test_a_free_in_the_order_of_a_stream_waits_for_nothing(sim):
    """The program may write the word for which the stream waits after the free. The block is charged until the
    stream got there, and a request that has no room without it waits for it."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do("gates", f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}", "stream 1", "gate 1 1")
        answers(gpu, "free-async 2 1")
        assert host_used(sim) == 100 * MIB
        gpu.do("open 1", f"alloc 3 {100 * MIB}")
        assert host_used(sim) == 100 * MIB
        gpu.do("free-async 3 1", "sync")
        assert host_used(sim) == 0


def test_a_request_waits_two_seconds_for_what_a_stream_frees(sim):
    """Then it is refused, and the next one finds the room when the stream got there."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do("gates", f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}", "stream 1", "gate 1 1", "free-async 2 1")
        assert gpu.code(f"alloc 3 {100 * MIB}") == OUT_OF_MEMORY
        gpu.do("open 1", f"alloc 3 {100 * MIB}")


def test_a_wait_for_one_stream_does_not_wait_for_another_on_behalf_of_a_free(sim):
    """The driver may wait for all of the device when it unpins memory."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do("gates", f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}", "stream 1", "stream 2", "gate 2 2",
                       "free-async 2 1")
        answers(gpu, "sync 1")
        gpu.do("open 2", "sync")
        assert host_used(sim) == 0


def test_what_a_stream_freed_goes_with_its_context(sim):
    """Its address may be another block's afterwards, which is not freed in its place."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}", "stream 1", "free-async 2 1", "sync 1", "destroy 0")
        assert host_used(sim) == 0
        gpu.do("context 0 0", f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}", "sync")
        assert host_used(sim) == 100 * MIB
        gpu.do("free 2")
        assert host_used(sim) == 0


def test_it_is_freed_beside_a_capture_that_allows_it(sim):
    """As memory of the card is; the capture goes on."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {50 * MIB}", f"alloc 3 {50 * MIB}", "stream 1", "stream 2",
                       "capture 1 2", "free 2", "free-async 3 2", f"alloc 4 {HOST}", "end-capture 1")
        assert host_used(sim) == HOST


def test_in_a_capture_it_is_not_freed(sim):
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}", "stream 1", "capture 1")
        assert gpu.code("free-async 2 1") != 0
        assert host_used(sim) == 100 * MIB


def test_the_programs_of_a_session_share_it(sim):
    """Exactly, as the memory of a card."""
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}")
        with Script(sim, **BOTH) as other:
            other.ready()
            assert other.code(f"alloc 1 {HOST}") == OUT_OF_MEMORY
            other.do(f"alloc 1 {HOST - 100 * MIB}")
        assert host_used(sim) == 100 * MIB


def test_a_driver_that_cannot_pin_refuses_and_nothing_stays_charged(sim):
    sim.configure(fail="cuMemHostAlloc:1:2")
    with Script(sim, **BOTH) as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}")
        assert gpu.code(f"alloc 2 {100 * MIB}") == OUT_OF_MEMORY
        assert host_used(sim) == 0
        gpu.do(f"alloc 2 {100 * MIB}")
        assert host_used(sim) == 100 * MIB


def test_nothing_is_pinned_that_the_machine_cannot_spare(sim):
    """A session may be given more than there is: the program hears out-of-memory, and the kernel kills nobody."""
    with Script(sim, **{**BOTH, "ALIQUOT_OVERSUBSCRIBE": "1024TiB"}) as gpu:
        left, whole = gpu.ready().values("info")
        assert whole == CARD + (1 << 50) and left < 1 << 46
        assert gpu.code(f"alloc 1 {1 << 49}") == OUT_OF_MEMORY
        assert gpu.code(f"alloc 1 {left + left // 8}") == OUT_OF_MEMORY


def said(program):
    """What tests/gpu/programs/bytes.py says at its end."""
    out, err = program.communicate("\n", timeout=HANG_SECONDS)
    assert program.returncode == 0, (out, err)
    return json.loads(out.removeprefix("@ "))


@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="Python itself is not sanitized")
def test_two_programs_each_larger_than_half_of_the_card_run_at_once(sim):
    """In a session each, on one card; every byte of both is right at the end."""
    sim.configure(memory="136MiB")
    programs = sim.build.source / "tests/gpu/programs"
    both = [sim.start([sys.executable, "-B", programs / "bytes.py", 20, 5 * MIB, seed], preload=True,
                      ALIQUOT_MEMORY="64MiB", ALIQUOT_OVERSUBSCRIBE="64MiB", ALIQUOT_SESSION=f"s{seed}",
                      PYTHONPATH=programs) for seed in range(2)]
    for found in map(said, both):
        assert (found["blocks"], found["wrong"]) == (20, 0) and found["host_bytes"] > 25 * MIB, found
        assert found["told"] == [[0, 2, 1, 0, 2, 0]], "of all blocks the same: the device's, without a host's pointer"


@pytest.mark.parametrize("name, value", (
    ("NVSHARE_ENABLE_SINGLE_OVERSUB", "1"), ("XPUSHARE_ENABLE_SINGLE_OVERSUB", "1"), ("CUDA_OVERSUBSCRIBE", "true"),
    ("CUDA_MEM_OVERSOLD", "TRUE"), ("CUDA_MEM_OVERSOLD_0", "TRUE")))
def test_the_names_of_other_systems_ask_for_it(sim, name, value):
    """As much as the host can spare."""
    with Script(sim, ALIQUOT_MEMORY="64MiB", **{name: value}) as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")


def test_without_asking_there_is_none(sim):
    with Script(sim, ALIQUOT_MEMORY="64MiB", ALIQUOT_OVERSUBSCRIBE="0", CUDA_OVERSUBSCRIBE="true") as gpu:
        assert gpu.ready().code(f"alloc 1 {100 * MIB}") == OUT_OF_MEMORY


def test_the_command_makes_shows_and_keeps_it(sim):
    cli = Command(sim)
    assert cli("create", "s", "--memory", "64MiB", "--oversubscribe=1GiB").rc == 0
    assert cli("show", "s", "--json").json["host"] == {"limit_bytes": 1 << 30, "used_bytes": 0}
    assert "host       0 B used of 1 GiB" in cli("show", "s").stdout
    assert len(cli("show", "s", "--json").json["devices"]) == 1
    joined = cli("run", "--session", "s", "--memory", "64MiB", "--", "true")
    assert joined.rc == 125 and "oversubscribe=1GiB" in joined.stderr, joined
    assert cli("run", "--session", "s", "--memory", "64MiB", "--oversubscribe=1GiB", "--", "true").rc == 0
    changed = cli("set", "s", "--oversubscribe=2GiB")
    assert changed.rc == 2 and "fixed when the session is made" in changed.stderr, changed
    assert cli("set", "s", "--memory", "32MiB").rc == 0
    assert cli("show", "s", "--json").json["host"]["limit_bytes"] == 1 << 30
    assert cli("rm", "s").rc == 0


# -- With a daemon ---------------------------------------------------------------------------------


def test_a_session_of_a_daemon_has_it_too(daemon, sim, cli):
    daemon.create("s", oversubscribe="128MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="s") as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}", f"alloc 2 {100 * MIB}")
        assert gpu.values("info")[1] == CARD + HOST
        told = daemon.session("s")
        assert told["host"] == {"limit_bytes": HOST, "used_bytes": 100 * MIB}
        assert [device["used_bytes"] for device in told["devices"]] == [CONTEXT + 200 * MIB]
        process, = daemon.get("/v1/sessions/s/processes").json
        assert [device["bytes"] for device in process["devices"]] == [CONTEXT + 200 * MIB]
        assert cli("show", "s", "--json").json["host"] == told["host"]
        assert "host       100 MiB used of 128 MiB" in cli("show", "s").stdout


def test_the_command_asks_the_daemon_for_it(daemon, cli, build):
    result = cli.sim.run([build.aliquot, "run", "--session", "s", "--memory", "256MiB", "--oversubscribe=128MiB", "--",
                          build.program("hooks/script")], stdin=f"init\ncontext 0 0\nalloc 1 {200 * MIB}\nalloc 2 {100 * MIB}\n")
    assert (result.rc, result.stdout) == (0, "0\n" * 4), result
    assert daemon.session("s")["host"]["limit_bytes"] == HOST
    assert cli("run", "--session", "s", "--memory", "256MiB", "--", "true").rc == 125
    assert cli("run", "--session", "s", "--memory", "256MiB", "--oversubscribe=128MiB", "--", "true").rc == 0
    assert cli("create", "t", "--memory", "64MiB", "--oversubscribe").rc == 0
    assert daemon.session("t")["host"]["limit_bytes"] > 256 * MIB


@pytest.mark.parametrize("keeps", ("database", "folders"))
def test_a_daemon_that_starts_again_knows_of_it(daemon, sim, keeps):
    """Also where it has nothing but the sessions' folders."""
    daemon.create("s", "256MiB", oversubscribe=HOST)
    daemon.kill()
    if keeps == "folders":
        shutil.rmtree(daemon.state)
    daemon.start()
    assert daemon.session("s")["host"] == {"limit_bytes": HOST, "used_bytes": 0}
    with Script(sim, ALIQUOT_SESSION="s") as gpu:
        gpu.ready().do(f"alloc 1 {300 * MIB - 200 * MIB}")


@pytest.mark.parametrize("value, limit", ((None, 0), (False, 0), (1 << 20, 1 << 20), ("1MiB", 1 << 20), ("half", None), (0, None),
                                          (-1, None), ("50%", None), ({}, None), (1.5, None), ("0", None)))
def test_what_is_asked_of_a_daemon(daemon, value, limit):
    answer = daemon.post("/v1/sessions", {"name": "s", "memory": "64MiB", "oversubscribe": value})
    if limit is None:
        assert answer.status == 400 and "oversubscribe: expected" in str(answer.json), answer
    else:
        assert answer.status == 201 and answer.json["host"] == (limit and {"limit_bytes": limit, "used_bytes": 0} or None)
        assert daemon.patch("/v1/sessions/s", {"oversubscribe": "2MiB"}).status == 400, "it is fixed"
