# SPDX-License-Identifier: Apache-2.0
"""A user who sends the daemon descriptors whose closing takes long keeps nobody waiting: the daemon receives none, and
what they are closed with is closed by a process of its own, aliquot-sink."""
import contextlib
import os
import pathlib
import signal

import pytest

from daemon import wait_for
from tenant import create, holding, needs_root, standing_still

pytestmark = needs_root

SOON_SECONDS = 10  # a socket of programs/linger.py takes 30 s
CROWD = 200
MANY = 2000  # connections: more than the queue of a sink has room for
SINKS_MAX = 4
TOLD = "sent descriptors to this daemon"
SESSION_GOES = b"DELETE /v1/sessions/a?force=true HTTP/1.1\r\nHost: x\r\n\r\n"


@contextlib.contextmanager
def lingering(tenant, kind, path, connections, *first):
    """Sockets that linger are sent to the daemon on its socket or on a session's."""
    with contextlib.ExitStack() as stack:
        with standing_still(tenant.daemon):
            stack.enter_context(holding(tenant, "linger.py", kind, path, connections, *first))
        yield


def answers_soon(daemon):
    with contextlib.closing(daemon.raw()) as asking:
        asking.settimeout(SOON_SECONDS)
        asking.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        return asking.recv(12) == b"HTTP/1.1 200"


def sinks(daemon):
    """The pids of those that have not exited."""
    pids = pathlib.Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text(encoding="ascii").split()
    return [pid for pid in pids if pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="ascii") == "aliquot-sink\n"]


def is_gone(pid):
    """Whoever reaps it may take its time."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(") ", 1)[1][0] == "Z"
    except OSError:
        return True


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_with_a_request(served, tenant):
    daemon = served()
    with lingering(tenant(daemon), "stream", daemon.socket, 1):
        assert answers_soon(daemon)
        assert TOLD in daemon.said()


def test_with_an_urgent_byte(served, tenant):
    """A look that skips it would have the receive behind it drop it, and close what came with it."""
    daemon = served()
    with lingering(tenant(daemon), "urgent", daemon.socket, 1):
        assert answers_soon(daemon)
        assert TOLD in daemon.said()


def test_with_a_message_to_a_session(served, tenant):
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "a")
    with lingering(attacker, "seqpacket", attacker.folder("a") / "socket", 1):
        assert answers_soon(daemon)
        assert TOLD in daemon.said()


def test_behind_a_message_that_ends_the_connection(served, tenant):
    """It is never read: the kernel closes it with the connection."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "a")
    with lingering(attacker, "seqpacket", attacker.folder("a") / "socket", 1, "no message"):
        assert answers_soon(daemon)
        assert daemon.metrics()['aliquot_joins_refused_total{reason="malformed"}'] == 1


def test_on_connections_that_make_room_for_others(served, tenant):
    """Each is ended before it is read, where all are accepted in one turn of the loop."""
    daemon = served("[http]\nmax_peer_connections = 2\n")
    with lingering(tenant(daemon), "stream", daemon.socket, 20):
        assert answers_soon(daemon)


def test_on_connections_that_a_listener_has_not_accepted(served, tenant):
    """They are closed with the socket of a session that goes."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "a")
    with contextlib.ExitStack() as stack:
        asking = stack.enter_context(contextlib.closing(daemon.raw()))
        with standing_still(daemon):
            asking.sendall(SESSION_GOES)
            stack.enter_context(holding(attacker, "linger.py", "seqpacket", attacker.folder("a") / "socket", CROWD))
        asking.settimeout(SOON_SECONDS)
        assert asking.recv(12) == b"HTTP/1.1 204"
        assert answers_soon(daemon)


def test_a_sink_that_stands_still_is_replaced(served, tenant):
    """Meanwhile every connection ends for its peer, and the daemon keeps none of them."""
    daemon = served()
    before = descriptors(daemon.process.pid)
    first = sinks(daemon)
    assert len(first) == 1
    with lingering(tenant(daemon), "stream", daemon.socket, 1):
        for _ in range(MANY):
            with contextlib.closing(daemon.raw()) as asking:
                asking.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                while asking.recv(4096):
                    pass
        assert first != sinks(daemon) and len(sinks(daemon)) <= SINKS_MAX
        wait_for(lambda: len(sinks(daemon)) == 1)
        wait_for(lambda: descriptors(daemon.process.pid) <= before)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_sink_has_nothing_of_the_daemons_and_ends_with_it(served, tenant, end):
    daemon = served()
    sink, = sinks(daemon)
    assert descriptors(sink) == 4  # the standard ones, and its channel
    with lingering(tenant(daemon), "stream", daemon.socket, 1):
        assert answers_soon(daemon)
        daemon.process.send_signal(end)
        daemon.process.wait(SOON_SECONDS)
        wait_for(lambda: is_gone(sink))
