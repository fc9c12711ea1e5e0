# SPDX-License-Identifier: Apache-2.0
"""What another user does to the daemon by HTTP: event streams that never end, and requests made to be misread."""
import contextlib
import itertools
import sqlite3
import sys

import pytest

from daemon import wait_for
from tenant import needs_root

pytestmark = needs_root

PLACES = 512   # http.max_connections
OF_A_PEER = 128  # http.max_peer_connections
TRAIL = 36622   # events
LOOPBACK = [f"127.0.0.{last}" for last in range(2, 8)]


@pytest.fixture
def streams(sim):
    """streams(daemon, target, count, *who): programs/streams.py of user `user`, once it has all its streams."""
    def start(daemon, target, count, *who, user=None):
        program = sim.build.source / "tests/attack/programs/streams.py"
        where = daemon.port if str(who[0]).startswith("127.") else daemon.socket
        process = sim.start([sys.executable, program, str(where), target, str(count), *map(str, who)], user=user, cwd="/")
        assert process.stdout.readline() == "open\n", process.stderr.read()
        return process
    return start


def connections(daemon):
    return daemon.metrics()["aliquot_http_connections"]


def assert_all_are_served(daemon, other, name):
    assert daemon.get("/v1").status == 200
    assert other.ask("GET", "/v1").status == 200
    other.create(name, memory="1MiB")
    assert daemon.delete(f"/v1/sessions/{name}").status == 204


def test_streams_from_every_loopback_address_keep_nobody_out(served, tenant, neighbour, streams):
    """They are one peer, whichever addresses of 127.0.0.0/8 they come from."""
    daemon = served("", "--http", "127.0.0.1:0")
    attacker, other = tenant(daemon), neighbour(daemon)
    streams(daemon, "/v1/events", OF_A_PEER, *LOOPBACK, user=attacker.uid)
    assert connections(daemon) <= OF_A_PEER + 1
    assert_all_are_served(daemon, other, "n")
    assert daemon.get("/v1", tcp=True).status == 200  # one of the streams made room


@pytest.mark.parametrize("users, each", [(4, OF_A_PEER), (PLACES + 200, 1)], ids=["four-users", "as-many-users-as-places"])
def test_streams_of_several_users_keep_nobody_out(served, tenant, neighbour, streams, users, each):
    """The user with most connections loses one to who comes; root loses none, also where all have as many."""
    daemon = served()
    other = neighbour(daemon)
    tenant(daemon)  # the folders are open now
    events = daemon.events(since=0)
    next(events)
    streams(daemon, "/v1/events", each, *range(65001, 65001 + users))
    assert PLACES - OF_A_PEER < connections(daemon) <= PLACES
    for round_ in range(3):
        assert_all_are_served(daemon, other, f"n{round_}")
    wait_for(lambda: next(events)["session"] == "n2")


def test_places_are_kept_for_root(served, tenant, streams):
    """Root needs no other's place: no stream ends for its requests."""
    daemon = served()
    tenant(daemon)
    streams(daemon, "/v1/events", 1, *range(65001, 65001 + PLACES))
    before = connections(daemon)
    held = [daemon.raw() for _ in range(8)]
    assert connections(daemon) == before + len(held)
    for raw in held:
        raw.close()


def write_trail(daemon, events):
    """Events that happened before, as if a year of them; the daemon stands still meanwhile."""
    daemon.stop()
    with contextlib.closing(sqlite3.connect(daemon.state / "aliquot.db")) as database, database:
        row = database.execute("SELECT time_ns, type, session, session_id, who, detail FROM event LIMIT 1").fetchone()
        database.executemany("INSERT INTO event (time_ns, type, session, session_id, who, detail) VALUES (?, ?, ?, ?, ?, ?)",
                             itertools.repeat(row, events))
    daemon.start()


def test_streams_over_a_long_trail_hold_up_nobody(served, tenant, neighbour, streams):
    """In each turn of its loop the daemon reads a few events for all of them together: test_events.c counts
    them. So others, and another stream, hear of what happens long before those streams are through."""
    daemon = served("[daemon]\nlog = warn\n")
    attacker, other = tenant(daemon), neighbour(daemon)
    write_trail(daemon, TRAIL)
    with daemon.raw() as raw:
        raw.sendall(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        streams(daemon, "/v1/events?since=0", OF_A_PEER, attacker.uid, user=attacker.uid)
        assert_all_are_served(daemon, other, "now")
        heard = b""
        while b'"session":"now"' not in heard:
            heard += raw.recv(1 << 16)
    wait_for(lambda: connections(daemon) == OF_A_PEER + 1, daemon.said)  # and none of them was ended


@pytest.mark.parametrize("host", ["127.0.0.1:80@evil", "[::1]:80@evil", "localhost@evil", "127.0.0.1:80:evil", "[localhost]", "::1"])
def test_a_host_that_others_read_as_another_is_refused(served, host):
    """Over TCP a page in a browser could otherwise read under its own name what this machine serves (DNS rebinding)."""
    daemon = served("", "--http", "127.0.0.1:0")
    assert daemon.get("/v1", tcp=True, Host=f"127.0.0.1:{daemon.port}").status == 200
    assert daemon.get("/v1", tcp=True, Host=host).status == 400
