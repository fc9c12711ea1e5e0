# SPDX-License-Identifier: Apache-2.0
"""The node's daemon with 1,000 sessions and 5,000 processes: what it costs when nothing happens, and how
fast it answers, also while programs work."""
import shutil
import tempfile
import time

from aliquotd import begun, daemon, end, http_config, read_all, read_by_wrk
from report import Report, percentile

SESSIONS = 1000
PROCESSES = 5  # of each session
CONNECTIONS = 64
READS = 40000
WRK_SECONDS = 5
CHANGES = 500
IDLE_SECONDS = 30
WORKING = 100
NAP_US = 10000
SPEC = "gpus=8,memory=80GiB,model=h200"

report = Report("daemon", f"aliquotd with {SESSIONS} sessions on 8 simulated GPUs, its database on tmpfs; "
                          f"{IDLE_SECONDS} s of rest, without programs and with {PROCESSES} in each session that hold "
                          f"memory of a toy driver; {READS} reads of one session each over {CONNECTIONS} connections "
                          f"of the socket, each asking again when answered, by one Python client on the same machine, at "
                          f"rest and while a program in each of {WORKING} sessions takes and gives back memory every "
                          f"{NAP_US // 1000} ms; where wrk is installed the same for {WRK_SECONDS} s by one thread of it "
                          f"over TCP, with the token, and the first 100 sessions likewise, as one list; {CHANGES} changes of a limit, one after the other, each read from the page "
                          f"when it is answered")


def request(number):
    return b"GET /v1/sessions/s%04d HTTP/1.1\r\nHost: localhost\r\n\r\n" % (number % SESSIONS)


def change_all(client, limits):
    """Milliseconds until the change is answered; the page has it then."""
    samples = []
    with open(limits, "rb") as page:
        for i in range(CHANGES):
            mib = 100 + i % 100
            begin = time.perf_counter()
            client.ask("PATCH", "/v1/sessions/s0000", {"memory": f"{mib}MiB"})
            samples.append((time.perf_counter() - begin) * 1e3)
            page.seek(0)
            assert (mib << 20).to_bytes(8, "little") in page.read()
    return samples


def create_all(client):
    """The card of each session."""
    made = [client.ask("POST", "/v1/sessions", {"name": f"s{number:04}", "memory": "100MiB", "ttl": "1h"})
            for number in range(SESSIONS)]
    return {one["name"]: one["devices"][0]["uuid"] for one in made}


def report_reads(node, when):
    before = node.cpu_seconds()
    reads, seconds = read_all(node.socket, request, CONNECTIONS, READS)
    report.row(f"a read of one session, all connections, {when}", seconds / READS * 1e6, "us", 100, "10,000 a second")
    report.row(f"a read of one session, CPU time of the daemon, {when}", (node.cpu_seconds() - before) / READS * 1e6, "us")
    report.row(f"a read of one session, p50, {when}", percentile(reads, 0.5), "ms")
    report.row(f"a read of one session, p99, {when}", percentile(reads, 0.99), "ms", 5)


def report_wrk(node, port):
    before = node.cpu_seconds()
    count, seconds, p50_ms, p99_ms = read_by_wrk(port, CONNECTIONS, SESSIONS, WRK_SECONDS)
    report.row("a read of one session, all connections, wrk", seconds / count * 1e6, "us", 100, "10,000 a second")
    report.row("a read of one session, CPU time of the daemon, wrk", (node.cpu_seconds() - before) / count * 1e6, "us")
    report.row("a read of one session, p50, wrk", p50_ms, "ms")
    report.row("a read of one session, p99, wrk", p99_ms, "ms", 5)
    before = node.cpu_seconds()
    count, seconds, p50_ms, p99_ms = read_by_wrk(port, CONNECTIONS, SESSIONS, WRK_SECONDS, "/v1/sessions")
    report.row("a list of 100 sessions, CPU time of the daemon, wrk", (node.cpu_seconds() - before) / count * 1e6, "us")
    report.row("a list of 100 sessions, p50, wrk", p50_ms, "ms")
    report.row("a list of 100 sessions, p99, wrk", p99_ms, "ms")


def report_processes(node, cards):
    programs = [begun(node.program(name, "hold", PROCESSES, uuid=uuid)) for name, uuid in cards.items()]
    alive = [node.client().ask("GET", f"/v1/sessions/{name}")["processes"] for name in cards]
    assert alive == [PROCESSES] * SESSIONS, alive
    report.row(f"at rest with {sum(alive)} processes, of one core", node.percent_of_a_core(IDLE_SECONDS), "%", 1,
               "vcuda-hook 8 processes")
    report.row(f"memory of the daemon with {sum(alive)} processes", node.resident_mib(), "MiB", 64)
    end(programs)


secrets = tempfile.TemporaryDirectory()
http, port = http_config(secrets.name)
with secrets, daemon(SPEC, "[admission]\novercommit = none\n" + http) as node:
    client = node.client()
    cards = create_all(client)
    report.row("at rest, of one core", node.percent_of_a_core(IDLE_SECONDS), "%", 1)
    report_reads(node, "at rest")
    if shutil.which("wrk"):
        report_wrk(node, port)
    programs = [begun(node.program(name, "work", 1, NAP_US, uuid=uuid)) for name, uuid in list(cards.items())[:WORKING]]
    report_reads(node, f"{WORKING} sessions work")
    end(programs)
    changes = change_all(client, node.runtime / "sessions/s0000/limits")
    report.row("a live change of a limit, p50", percentile(changes, 0.5), "ms")
    report.row("a live change of a limit, p99", percentile(changes, 0.99), "ms", 5, "XPUShare 5 s", changes)
    report.row("memory of the daemon", node.resident_mib(), "MiB", 64)
    report_processes(node, cards)
    node.stop()
    began = time.perf_counter()
    node.start()
    node.client().ask("GET", "/v1/sessions/s0999")
    report.row("from its start until it answers again", (time.perf_counter() - began) * 1e3, "ms")
report.finish()
