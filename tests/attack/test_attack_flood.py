# SPDX-License-Identifier: Apache-2.0
"""A user who sends more requests than the daemon can serve at once keeps nobody waiting: peers are served by the time
that their requests take. What counts is the order of the changes in the audit trail, or what was done before an answer."""
import contextlib
import os
import signal

import pytest

from daemon import wait_for
from hang import HANG_SECONDS
from tenant import holding, needs_root, standing_still

pytestmark = needs_root

CONNECTIONS = 120  # below http.max_peer_connections
OF_EACH = 3
HANDFUL = 5
SOCKETS, KNOCKS = 50, 100
HEARD_MAX = 64  # in a turn of the loop, src/daemon/tenant/tenant_queue.c
REFUSED = "aliquot_joins_refused_total"
TURNS = 6  # from a request that has arrived to its answer, at most


def asking(who, connections, count, method, target, body):
    return holding(who, "pipeline.py", who.daemon.socket, connections, count, method, target, body)


def sessions_changed(daemon, count):
    """Of each creation or change of a session that the audit trail has, in order, its name."""
    changes = (event["session"] for event in daemon.events() if event["type"] in ("created", "changed"))
    return [next(changes) for _ in range(count)]


def test_a_flood_of_changes_delays_others_by_a_handful_of_requests(served, tenant, neighbour):
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("flood", memory="4KiB")
    with contextlib.ExitStack() as stack:
        with standing_still(daemon):
            flood = stack.enter_context(asking(attacker, CONNECTIONS, OF_EACH, "PATCH", "/v1/sessions/flood", '{"memory": @}'))
            create = stack.enter_context(asking(other, 1, 1, "POST", "/v1/sessions", '{"name": "neighbour", "memory": @}'))
            root = stack.enter_context(contextlib.closing(daemon.raw()))
            body = b'{"name": "root", "memory": 65536}'
            root.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert create.stdout.readline() == "1\n"
        assert root.recv(12) == b"HTTP/1.1 201"
        assert flood.stdout.readline() == f"{CONNECTIONS * OF_EACH}\n"  # it is served too, to the last
    order = sessions_changed(daemon, 1 + CONNECTIONS * OF_EACH + 2)
    assert order.count("flood") == 1 + CONNECTIONS * OF_EACH
    assert order.index("neighbour") <= HANDFUL
    assert order.index("root") <= HANDFUL


def refused(metrics):
    """Joins that were, of the text of /metrics."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in metrics.splitlines() if line.startswith(REFUSED))


def test_knocking_at_all_of_ones_sessions_delays_others_by_a_few_turns(served, tenant):
    """However many sockets have connections that wait, a turn of the loop takes a bounded number of all together."""
    daemon = served()
    attacker = tenant(daemon)
    for name in range(SOCKETS):
        attacker.create(str(name), memory="4KiB")
    with contextlib.ExitStack() as stack:
        root = stack.enter_context(contextlib.closing(daemon.raw()))
        with standing_still(daemon):
            stack.enter_context(holding(attacker, "knock.py", daemon.sim.runtime / "sessions", SOCKETS, KNOCKS))
            root.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert refused(b"".join(iter(lambda: root.recv(1 << 16), b"")).decode()) <= TURNS * HEARD_MAX
        wait_for(lambda: refused(daemon.get("/metrics").text) == SOCKETS * KNOCKS)


@pytest.mark.parametrize("words", [("set", "s", "--memory", "8KiB"), ("events", "--since", "0", "--count", "1")], ids=lambda words: words[0])
def test_the_command_waits_where_others_fill_the_queue_of_connections(served, tenant, words):
    """A non-blocking connect() fails at once there."""
    daemon = served()
    assert daemon.sim.aliquot("create", "s", "--memory", "4KiB").rc == 0
    with standing_still(daemon), holding(tenant(daemon), "fill_queue.py", daemon.socket):
        command = daemon.sim.start([daemon.sim.build.aliquot, *words])
        assert "waiting for it" in command.stderr.readline()
        os.kill(daemon.process.pid, signal.SIGCONT)
        assert command.wait(HANG_SECONDS) == 0, command.stderr.read()
