# SPDX-License-Identifier: Apache-2.0
"""Peers that mean harm to the daemon, or do it: it goes on serving everybody else."""
import collections
import json
import os
import resource
import select
import socket
import time

import pytest

from daemon import Daemon, wait_for
from script import MIB

CROWD = 2000
BODY = json.dumps({"name": "a", "memory": "1MiB"})


@pytest.fixture
def daemon(sim):
    sim.configure(memory="1GiB")
    return Daemon(sim).start("--http", "127.0.0.1:0")


@pytest.fixture
def hasty(sim):
    """Whose patience ends soon."""
    return Daemon(sim, "[http]\nrequest_timeout = 300ms\nidle_timeout = 1s\nmax_connections = 64\n").start()


def talk(raw, data):
    """All that is answered until the other side closes."""
    raw.sendall(data)
    return listen(raw)


def listen(raw):
    heard = b""
    try:
        while True:
            more = raw.recv(65536)
            if not more:
                return heard
            heard += more
    except ConnectionResetError:
        return heard


def head(*lines, host="x"):
    return "\r\n".join(("GET /v1 HTTP/1.1", f"Host: {host}", *lines, "", "")).encode()


BAD_HEADS = {
    "no version": (b"GET /v1\r\n\r\n", 400), "rubbish": (b"\x16\x03\x01\x02\x00\r\n\r\n", 400), "bare feeds": (b"GET /v1 HTTP/1.1\nHost: x\n\r\n\r\n", 400),
    "another version": (b"GET /v1 HTTP/2.0\r\nHost: x\r\n\r\n", 505), "no host": (b"GET /v1 HTTP/1.1\r\n\r\n", 400),
    "two hosts": (head("Host: y"), 400), "a folded line": (head("A: b", " c"), 400), "a space before the colon": (head("A : b"), 400),
    "no colon": (head("A"), 400), "a control character": (head("A: \x01"), 400), "a NUL": (head("A: \x00"), 400),
    "two lengths": (head("Content-Length: 1", "Content-Length: 2"), 400), "a signed length": (head("Content-Length: +1"), 400),
    "an endless length": (head("Content-Length: 99999999999999999999"), 400), "a huge length": (head("Content-Length: 9999999999"), 413),
    "chunks": (head("Transfer-Encoding: chunked"), 411), "chunks and a length": (head("Transfer-Encoding: chunked", "Content-Length: 3"), 411),
    "a full target": (b"GET http://x/v1 HTTP/1.1\r\nHost: x\r\n\r\n", 400), "no target": (b"GET  HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "a huge head": (head("A: " + "b" * 20000), 431), "many headers": (head(*["A: b"] * 100), 431),
    "a user in the host": (head(host="127.0.0.1:80@evil"), 400), "two ports": (head(host="127.0.0.1:80:80"), 400),
    "a name for a port": (head(host="localhost:http"), 400), "a bare IPv6 host": (head(host="::1"), 400),
    "a name in brackets": (head(host="[localhost]"), 400), "a path in the host": (head(host="localhost/v1"), 400),
    "a list of hosts": (head(host="localhost, evil"), 400), "a port that is none": (head(host="localhost:65536"), 400),
    "a long target": (b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431),
}


@pytest.mark.parametrize("data, status", BAD_HEADS.values(), ids=BAD_HEADS)
def test_a_bad_head_is_refused_and_ends_the_connection(sane, data, status):
    with sane.raw() as raw:
        answer = talk(raw, data)
        first, _, rest = answer.partition(b"\r\n")
        assert first.startswith(f"HTTP/1.1 {status} ".encode()), answer
        assert b"application/problem+json" in rest and b"Connection: close" in rest
    assert sane.is_up()


@pytest.fixture(scope="module")
def sane(build):
    from node import Node
    node = Node(build)
    daemon = Daemon(node).start()
    yield daemon
    assert daemon.names() == []
    node.close()


def test_requests_in_one_go_are_answered_in_order(sane):
    with sane.raw() as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 50 + b"GET /v1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = listen(raw)
    assert answer.count(b"HTTP/1.1 200 OK") == 51 and answer.count(b'{"alive":true}') == 50
    assert answer.rindex(b'"name"') > answer.rindex(b'"alive"')


def test_a_request_byte_by_byte_is_one_request(sane):
    with sane.raw() as raw:
        for byte in b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":
            raw.sendall(bytes([byte]))
        assert listen(raw).startswith(b"HTTP/1.1 200")


def test_an_old_client_and_one_that_waits_for_continue(sane):
    with sane.raw() as raw:
        assert talk(raw, b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200")
    with sane.raw() as raw:
        raw.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
                    b"Content-Length: 2\r\nConnection: close\r\n\r\n")
        assert raw.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert talk(raw, b"{}").startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("half", [b"G", b"GET /v1 HTTP/1.1\r\nHost: x\r\n", b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"])
def test_half_a_message_is_not_waited_for(hasty, half):
    with hasty.raw() as raw:
        assert talk(raw, half).startswith(b"HTTP/1.1 408"), half


def test_a_message_that_drips_is_not_waited_for(hasty):
    """Each byte comes in time, the whole does not."""
    with hasty.raw() as raw:
        try:
            for _ in range(600):
                raw.sendall(b"x")
                if select.select([raw], [], [], 0.1)[0]:
                    break
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert listen(raw).startswith(b"HTTP/1.1 408")


def test_an_idle_connection_is_closed(hasty):
    with hasty.raw() as raw:
        assert listen(raw) == b""


def test_a_crowd_that_says_nothing_keeps_nobody_out(hasty):
    crowd = []
    for _ in range(CROWD):
        try:
            raw = hasty.raw()
        except OSError:
            break
        crowd.append(raw)
        if len(crowd) % 500 == 0:
            assert hasty.get("/v1").status == 200
    assert len(crowd) > 100
    hasty.create("a", "1MiB")
    assert hasty.get("/metrics").status == 200
    for raw in crowd:
        raw.close()


def test_a_crowd_of_half_messages_keeps_nobody_out(daemon):
    crowd = []
    for i in range(CROWD):
        try:
            raw = daemon.raw(tcp=i % 2 == 0)
            raw.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Le")
        except OSError:
            continue
        crowd.append(raw)
    assert daemon.get("/v1").status == 200
    daemon.create("a", "1MiB")
    for raw in crowd:
        raw.close()


HOSTILE = [
    b"", b"G", b"\x16\x03\x01\x02\x00" * 40, bytes(1000), b"GET /v1 HTTP/1.1\r\nHost: x\r\nA: ",
    b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{",
    b"GET /v9 HTTP/9.9\r\n\r\n", b"GET /v1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n",
    b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20, b"GET /v1/events?since=0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


def test_ten_thousand_hostile_connections(sim):
    """Silent, half, rubbish, of another version, with a wrong token, and such as ask for much and read nothing:
    none is closed from their side, and who means well is answered all along."""
    daemon = Daemon(sim).start("--http", "127.0.0.1:0")
    daemon.create("good", "1MiB")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most[1], most[1]))
    held = collections.deque(maxlen=min(10000, most[1] - 500))
    for number in range(10000):
        try:
            raw = daemon.raw(tcp=number % 2 == 0)
            held.append(raw)
            raw.sendall(HOSTILE[number // 2 % len(HOSTILE)])
        except (BrokenPipeError, ConnectionResetError):
            pass
        if number % 500 == 0:
            assert daemon.get("/v1/sessions/good").status == daemon.get("/v1", tcp=True).status == 200
            assert daemon.patch("/v1/sessions/good", {"weight": number + 1}).status == 200
    assert daemon.names() == ["good"] and daemon.session("good")["weight"] == 9501
    assert "ALIQUOT_SANITIZER" in os.environ or resident_bytes(daemon) < 64 * MIB  # a sanitizer keeps what is freed
    for raw in held:
        raw.close()
    wait_for(lambda: daemon_count(daemon) == 1, daemon.said)
    resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_of_one_peer_the_oldest_connection_makes_room(sim):
    daemon = Daemon(sim, "[http]\nmax_peer_connections = 8\n").start("--http", "127.0.0.1:0")
    crowd = [daemon.raw(tcp=True) for _ in range(9)]
    assert listen(crowd[0]) == b""
    assert talk(crowd[8], head("Connection: close").replace(b"Host: x", b"Host: localhost")).startswith(b"HTTP/1.1 200")
    assert daemon.get("/v1").status == 200
    for raw in crowd:
        raw.close()


def daemon_count(daemon):
    text = daemon.get("/metrics").text
    return int(text.split("\naliquot_http_connections ")[1].split()[0])


def test_a_peer_that_asks_too_often_is_told_when_to_come_back(sim):
    daemon = Daemon(sim, "[http]\nrate = 1\nburst = 20\n").start()
    answers = [daemon.get("/healthz") for _ in range(40)]
    refused = [answer for answer in answers if answer.status == 429]
    assert refused and int(refused[0].headers["Retry-After"]) >= 1
    assert refused[0].json["type"] == "/problems/too-many-requests"
    assert answers[0].status == 200


def test_a_listener_that_does_not_read_is_cut_off(sim):
    daemon = Daemon(sim, "[daemon]\nlog = warn\n").start()
    daemon.create("a", "1MiB")
    with daemon.raw() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        weight = 1
        connection = daemon.connection()

        def change():
            nonlocal weight
            for _ in range(500):
                weight = weight % 10000 + 1
                connection.request("PATCH", "/v1/sessions/a", json.dumps({"weight": weight}), {"Content-Type": "application/json"})
                connection.getresponse().read()
            return daemon_count(daemon) == 2  # this one and the one that asks

        wait_for(change, daemon.said)
    assert daemon.is_up()


def test_a_reader_that_does_not_read_holds_up_nobody(sane):
    with sane.raw() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.setblocking(False)
        try:
            for _ in range(10000):
                deaf.send(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n")
        except BlockingIOError:
            pass
        assert sane.get("/v1").status == 200
    assert resident_bytes(sane) < 64 * MIB


def resident_bytes(daemon):
    with open(f"/proc/{daemon.process.pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def test_without_descriptors_it_waits_and_goes_on(sim):
    """A limit just above what the daemon itself needs."""
    daemon = Daemon(sim).start()
    daemon.create("a", "1MiB")
    used = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    before = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (used + 4, before[1]))
    crowd = [daemon.raw() for _ in range(50)]
    ticks = cpu_ticks(daemon)
    time.sleep(0.5)
    assert cpu_ticks(daemon) - ticks < 25  # it does not spin
    for raw in crowd:
        raw.close()
    wait_for(daemon.is_up, daemon.said)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, before)
    daemon.create("b", "1MiB")
    assert daemon.names() == ["a", "b"]


def test_few_descriptors_from_the_start(sim):
    """Under a hard limit that it cannot raise: a crowd makes room for who comes. What is answered for is so."""
    daemon = Daemon(sim)
    words = daemon.words
    daemon.words = lambda *flags: ["prlimit", "--nofile=40:40", *words(*flags)]
    daemon.start()
    crowd, made = [], []
    for number in range(20):
        crowd += [daemon.raw() for _ in range(10)]
        answer = daemon.post("/v1/sessions", {"name": f"n{number:02}", "memory": "1MiB"})
        assert answer.status in (201, 503), answer
        made += [f"n{number:02}"] * (answer.status == 201)
    assert made
    for raw in crowd:
        raw.close()
    wait_for(daemon.is_up, daemon.said)
    daemon.create("after", "1MiB")
    assert daemon.names() == daemon.folders() == sorted([*made, "after"])
    daemon.kill().start()
    assert daemon.names() == daemon.folders() == sorted([*made, "after"])


def cpu_ticks(daemon):
    with open(f"/proc/{daemon.process.pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test_who_leaves_in_the_middle_leaves_nothing(daemon):
    for i in range(200):
        with daemon.raw(tcp=i % 2 == 0) as raw:
            raw.sendall(f"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(BODY)}\r\n\r\n{BODY[:i % len(BODY)]}".encode())
    assert daemon.names() == []
    wait_for(lambda: daemon_count(daemon) == 1, daemon.said)


def test_sizes_are_bounded_as_configured(sim):
    daemon = Daemon(sim, "[http]\nmax_body = 2KiB\nmax_header = 1KiB\n").start()
    assert daemon.post("/v1/sessions", " " * 2000 + BODY).status == 201
    assert daemon.post("/v1/sessions", " " * 2048 + BODY).status == 413
    assert daemon.get("/v1", A="b" * 1000).status == 431
    assert daemon.get("/v1", A="b" * 500).status == 200
