# SPDX-License-Identifier: Apache-2.0
"""Peers at a session's socket that have no right to it, or mean harm: they get nothing, and nobody else
notices."""
import contextlib
import os
import resource
import socket

import pytest

import joiner
from daemon import Daemon, wait_for
from joiner import WELCOME, connect, hear, hello, join, refused, script, socket_of
from joiner import daemon_of_stories, path_of_session  # noqa: F401 (fixtures)
from script import Script

TOKEN = "a-secret-of-some-length"


# -- Tokens

@pytest.fixture
def guarded(sim):
    """A daemon that wants a token of who joins."""
    sim.configure(memory="1GiB")
    file = sim.folder / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    daemon = Daemon(sim, f"[join]\ntoken_file = {file}\ntoken_required = yes\n").start()
    daemon.create("a")
    return daemon


@pytest.mark.parametrize("name", ["ALIQUOT_JOIN_TOKEN", "GPUSLICE_IPC_TOKEN"])
def test_who_has_the_token_joins(guarded, sim, name):
    with script(sim, socket_of(sim, "a"), **{name: TOKEN}) as gpu:
        gpu.ready()


def test_who_has_none_or_a_wrong_one_does_not(guarded, sim):
    path = socket_of(sim, "a")
    assert "wants a token" in refused(sim, path)
    assert 'aliquot_joins_refused_total{reason="token"} 1\n' in guarded.get("/metrics").text
    line = refused(sim, path, ALIQUOT_JOIN_TOKEN=TOKEN[:-1] + "H")
    assert "not the daemon's token" in line and TOKEN[:-1] not in line


def test_a_new_token_counts_after_a_reload(guarded, sim):
    path = socket_of(sim, "a")
    (sim.folder / "token").write_text("another-secret-by-now")
    guarded.reload(guarded.config.read_text())
    assert join(path, hello(TOKEN.encode())).code == joiner.BAD_TOKEN
    assert join(path, hello(b"another-secret-by-now")).type == WELCOME


def test_gpu_slices_names_lead_to_the_session(guarded, sim):
    with Script(sim, GPUSLICE_IPC_SOCK=socket_of(sim, "a"), GPUSLICE_IPC_TOKEN=TOKEN, GPUSLICE_IPC_TOKEN_REQUIRED=1,
                ALIQUOT_RUNTIME_DIR=None) as gpu:
        gpu.ready()


def test_gpu_slices_documented_token_works_for_both_sides_with_a_warning(sim):
    """As its README starts the server and a program: the token is change-me."""
    sim.configure(memory="1GiB")
    daemon = Daemon(sim).start(GPUSLICE_IPC_TOKEN="change-me", GPUSLICE_IPC_TOKEN_REQUIRED="1")
    daemon.create("a")
    assert daemon.said().count("GPUSLICE_IPC_TOKEN holds a token of 9 characters, which can be guessed") == 1
    with Script(sim, GPUSLICE_IPC_SOCK=socket_of(sim, "a"), GPUSLICE_IPC_TOKEN="change-me", ALIQUOT_RUNTIME_DIR=None) as gpu:
        gpu.ready()
    assert "wants a token" in refused(sim, socket_of(sim, "a"))


def test_a_required_token_says_at_the_start_that_joins_by_path_ask_for_none(guarded, sim):
    """A session's owner, who sees the runtime folder: docs/session-sockets.md."""
    assert guarded.said().count("a session's owner still joins by its files") == 1
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready()


# -- Peers that mean harm

GARBAGE = {"nothing": b"", "a byte": b"x", "text": b"GET / HTTP/1.1\r\n\r\n", "half": hello()[:40], "too long": b"\xff" * 20000,
           "a tail": hello() + b"x", "a token beyond the end": hello(b"t")[:64] + b"\xff" * 9, "an answer": b"ALQM" + bytes(100)}


@pytest.mark.parametrize("message", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_refused_and_harms_nobody(daemon, path, message):
    answer = join(path, message)
    assert answer is None or answer.code == joiner.MALFORMED
    assert join(path, hello()).type == WELCOME and daemon.is_up()


def test_versions_without_one_in_common_are_both_named(path):
    answer = join(path, hello(least=7, most=9))
    assert answer.code == joiner.NO_VERSION and (answer.least, answer.most) == (1, 1)
    assert "7 to 9" in answer.reason and "1 to 1" in answer.reason
    assert join(path, hello(least=1, most=9)).version == 1


def test_a_message_with_descriptors_is_not_received(daemon, path):
    before = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    for _ in range(50):
        with contextlib.closing(connect(path)) as peer:
            socket.send_fds(peer, [hello()], [0, 1, 2])
            with contextlib.suppress(ConnectionResetError):
                assert hear(peer) is None
    assert join(path, hello()).type == WELCOME
    wait_for(lambda: len(os.listdir(f"/proc/{daemon.process.pid}/fd")) <= before + 5)


def test_a_thousand_that_say_nothing_keep_nobody_out(daemon, sim, path):
    crowd = []
    for i in range(1000):
        crowd.append(connect(path))
        if i % 250 == 0:
            assert join(path, hello()).type == WELCOME
    with script(sim, path) as gpu:
        gpu.ready()
    assert daemon.is_up()
    for peer in crowd:
        peer.close()


def test_who_says_nothing_is_put_out(sim):
    daemon = Daemon(sim, "[join]\ntimeout = 200ms\n").start()
    daemon.create("a")
    with contextlib.closing(connect(socket_of(sim, "a"))) as silent:
        assert hear(silent) is None


def test_too_many_joins_are_told_to_come_again_and_programs_do(sim):
    daemon = Daemon(sim, "[join]\nrate = 4\nburst = 1\n").start()
    daemon.create("a")
    path = socket_of(sim, "a")
    answers = [join(path, hello()) for _ in range(10)]
    told = [answer for answer in answers if answer.type == joiner.REFUSED]
    assert told and all(answer.code == joiner.TOO_MANY and answer.retry_ms > 0 for answer in told)
    with script(sim, path) as gpu:
        gpu.ready()


def test_without_descriptors_the_daemon_waits_and_goes_on(daemon, sim, path):
    used = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    before = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (used + 2, before[1]))
    crowd = [connect(path) for _ in range(20)]
    for peer in crowd:
        peer.close()
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, before)
    wait_for(daemon.is_up, daemon.said)
    with script(sim, path) as gpu:
        gpu.ready()
