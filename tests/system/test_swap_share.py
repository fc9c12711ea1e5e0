# SPDX-License-Identifier: Apache-2.0
"""Programs that have the library in LD_PRELOAD and no setting share the card of a daemon that says so (docs/swap-node.md)."""
import pytest

from cli import Command
from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from script import GIB, MIB, SUCCESS, Script

SHARES = "[default]\nswap = yes\n"


@pytest.fixture
def daemon(sim):
    """With one GPU of 1 GiB."""
    return Daemon(sim).start()


@pytest.fixture
def shares(sim):
    return Daemon(sim, SHARES).start()


def shared(daemon):
    return [name for name in daemon.names() if name.startswith("share-")]


def begin(sim, **variables):
    gpu = Script(sim, **variables)
    gpu.do("init", "context 0 0")
    return gpu


def end(gpu):
    gpu.process.stdin.close()
    gpu.process.stdin = None
    assert gpu.process.wait(HANG_SECONDS) == 0, gpu.process.stderr.read()


# -- With the daemon's word ------------------------------------------------------------------------


def test_each_program_has_a_session_that_swaps_and_ends_with_it(sim, shares):
    first, second = begin(sim), begin(sim)
    names = shared(shares)
    assert len(names) == 2
    for name in names:
        session = shares.session(name)
        assert session["swap"] is not None and session["devices"][0]["memory_bytes"] == GIB, session
        assert session["processes"] == 1
    end(first)
    wait_for(lambda: len(shared(shares)) == 1, shares.said)
    second.do(f"alloc 1 {64 * MIB}")
    end(second)
    wait_for(lambda: not shared(shares), shares.said)
    assert not list((sim.runtime / "sessions").iterdir())


def test_two_programs_each_take_most_of_the_card(sim, shares):
    """The second gets its memory while the first is idle, and both find theirs."""
    first, second = begin(sim), begin(sim)
    for gpu in (first, second):
        gpu.do(f"alloc 1 {700 * MIB}")
    for gpu in (first, second):
        gpu.do("free 1")
        end(gpu)


def test_a_program_that_is_killed_leaves_no_session(sim, shares):
    gpu = begin(sim)
    gpu.do(f"alloc 1 {64 * MIB}")
    gpu.process.kill()
    gpu.process.wait()
    wait_for(lambda: not shared(shares), shares.said)


def test_a_session_outlives_a_restart_of_the_daemon_with_its_program(sim, shares):
    gpu = begin(sim)
    gpu.do(f"alloc 1 {64 * MIB}")
    name, = shared(shares)
    shares.stop()
    shares.start()
    assert shared(shares) == [name]
    gpu.do("free 1", f"alloc 1 {128 * MIB}")
    assert shares.session(name)["processes"] == 1
    end(gpu)


def test_programs_of_other_sessions_do_not_come_by_it(sim, shares):
    shares.create("plain", "64MiB", swap=False)
    gpu = begin(sim, ALIQUOT_SESSION="plain")
    assert not shared(shares) and shares.session("plain")["swap"] is None
    end(gpu)


def test_a_program_that_gets_no_session_is_told_and_runs_on(sim, shares):
    """As it would have run without the daemon."""
    shares.create("plain", "1GiB", swap=False)
    gpu = begin(sim)
    gpu.do(f"alloc 1 {64 * MIB}")
    end(gpu)
    said = gpu.process.stderr.read()
    assert "do not swap have the memory of the GPU" in said and "GPU calls are passed on" in said, said
    assert len(said.splitlines()) == 1


def test_of_several_gpus_none_is_chosen(sim):
    shares = Daemon(sim.configure(gpus=2), SHARES).start()
    gpu = begin(sim)
    end(gpu)
    assert "2 GPUs are here" in gpu.process.stderr.read() and not shared(shares)


def test_the_socket_goes_when_the_config_says_no_more(sim, shares):
    socket = sim.runtime / "share"
    assert socket.is_socket() and socket.stat().st_mode & 0o777 == 0o600
    shares.reload("")
    assert not socket.exists()
    gpu = begin(sim)
    end(gpu)
    assert not gpu.process.stderr.read()
    shares.reload(SHARES)
    assert socket.is_socket()
    shares.stop()
    assert not socket.exists(), "programs do not wait for a daemon that has ended"


# -- Without --------------------------------------------------------------------------------------


def test_a_daemon_that_does_not_say_so_is_not_asked(sim, daemon):
    gpu = begin(sim)
    end(gpu)
    assert not daemon.names() and not gpu.process.stderr.read()


def test_a_program_that_asks_for_swap_gets_it_or_is_refused(sim, daemon):
    """It was promised something, so it does not run without."""
    with Script(sim, ALIQUOT_SWAP="true") as gpu:
        assert gpu.code("init") != SUCCESS
    assert "ALIQUOT_SWAP: no daemon shares a GPU this way" in gpu.process.stderr.read()
    daemon.reload(SHARES)
    gpu = begin(sim, ALIQUOT_SWAP="true")
    assert len(shared(daemon)) == 1
    end(gpu)


def test_beside_another_setting_it_is_refused(sim, shares):
    with Script(sim, ALIQUOT_SWAP="true", ALIQUOT_MEMORY="64MiB") as gpu:
        assert gpu.code("init") != SUCCESS
    assert "beside another setting only aliquot run --swap" in gpu.process.stderr.read()


# -- Sessions that are asked for --------------------------------------------------------------------


def test_a_session_without_a_word_about_swap_gets_it(sim, shares):
    cli = Command(sim)
    answer = shares.post("/v1/sessions", {"name": "whole"})
    assert answer.status == 201 and answer.json["devices"][0]["memory_bytes"] == GIB, answer
    assert shares.delete("/v1/sessions/whole").status == 204
    assert shares.create("s", "64MiB")["swap"] is not None
    assert shares.create("no", "64MiB", swap=False)["swap"] is None
    assert shares.create("host", "64MiB", oversubscribe="64MiB")["swap"] is None, "it could not"
    assert cli("create", "t", "--memory", "64MiB").rc == 0 and shares.session("t")["swap"] is not None
    assert cli("create", "u", "--memory", "64MiB", "--swap=no").rc == 0 and shares.session("u")["swap"] is None
    again = cli("run", "--session", "t", "--memory", "64MiB", "--", "true")
    assert again.rc == 0, again
    other = cli("run", "--session", "t", "--memory", "64MiB", "--swap=no", "--", "true")
    assert other.rc == 125 and "session t swaps" in other.stderr, other
