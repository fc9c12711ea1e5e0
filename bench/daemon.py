# SPDX-License-Identifier: Apache-2.0
"""The node's daemon with 1,000 sessions: what it costs when nothing happens, and how fast it answers."""
import contextlib
import http.client
import json
import os
import pathlib
import selectors
import socket
import subprocess
import tempfile
import time

from report import Report, percentile
from stage import BUILD

SESSIONS = 1000
CONNECTIONS = 64
READS = 40000
CHANGES = 500
IDLE_SECONDS = 10
SPEC = "gpus=8,memory=80GiB,model=h200"
REQUEST = b"GET /v1/sessions/s%04d HTTP/1.1\r\nHost: localhost\r\n\r\n"

report = Report("daemon", f"aliquotd with {SESSIONS} sessions on 8 simulated GPUs, its database on tmpfs; "
                          f"{IDLE_SECONDS} s of rest; {READS} reads of one session each over {CONNECTIONS} connections "
                          f"of the socket, each asking again when answered, by one Python client on the same machine; "
                          f"{CHANGES} changes of a limit, one after the other, each read from the page when it is answered")


class Client(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def ask(self, method, path, body=None):
        self.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.getresponse()
        text = answer.read()
        assert answer.status < 300, text
        return json.loads(text)


@contextlib.contextmanager
def daemon(folder):
    config = folder / "conf"
    config.write_text("[daemon]\nlog = warn\n[admission]\novercommit = none\n")
    config.chmod(0o600)
    (folder / "sim").mkdir(exist_ok=True)
    process = subprocess.Popen([BUILD / "src/daemon/aliquotd", "--config", config, "--runtime-dir", folder / "run",
                                "--state-dir", folder / "state", f"--sim={SPEC},state={folder / 'sim'}"])
    try:
        while not (folder / "run/aliquotd.sock").exists():
            assert process.poll() is None
            time.sleep(0.01)
        yield process
    finally:
        process.terminate()
        process.wait()


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(process):
    pages = int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def read_all(path):
    """Milliseconds that each read took, and seconds for all."""
    selector, samples, started = selectors.DefaultSelector(), [], {}
    for i in range(CONNECTIONS):
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(str(path))
        selector.register(raw, selectors.EVENT_READ)
        started[raw] = time.perf_counter()
        raw.sendall(REQUEST % i)
    begun = time.perf_counter()
    while len(samples) < READS:
        for key, _ in selector.select():
            answer = key.fileobj.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"}")
            now = time.perf_counter()
            samples.append((now - started[key.fileobj]) * 1e3)
            started[key.fileobj] = now
            key.fileobj.sendall(REQUEST % (len(samples) % SESSIONS))
    return samples, time.perf_counter() - begun


def change_all(client, limits):
    """Milliseconds until the change is answered; the page has it then."""
    samples = []
    with open(limits, "rb") as page:
        for i in range(CHANGES):
            mib = 100 + i % 100
            begun = time.perf_counter()
            client.ask("PATCH", "/v1/sessions/s0000", {"memory": f"{mib}MiB"})
            samples.append((time.perf_counter() - begun) * 1e3)
            page.seek(0)
            assert (mib << 20).to_bytes(8, "little") in page.read()
    return samples


with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
    folder = pathlib.Path(name)
    (folder / "run").mkdir(mode=0o700)
    with daemon(folder) as process:
        client = Client(folder / "run/aliquotd.sock")
        for number in range(SESSIONS):
            client.ask("POST", "/v1/sessions", {"name": f"s{number:04}", "memory": "100MiB", "ttl": "1h"})
        before = cpu_seconds(process)
        time.sleep(IDLE_SECONDS)
        report.row("at rest, of one core", 100 * (cpu_seconds(process) - before) / IDLE_SECONDS, "%", 1)
        reads, seconds = read_all(folder / "run/aliquotd.sock")
        report.row("a read of one session, all connections together", seconds / READS * 1e6, "us", 100, "10,000 a second")
        report.row("a read of one session, p99", percentile(reads, 0.99), "ms", 5)
        changes = change_all(client, folder / "run/sessions/s0000/limits")
        report.row("a live change of a limit, p99", percentile(changes, 0.99), "ms", 5, "XPUShare 5 s", changes)
        report.row("memory of the daemon", resident_mib(process), "MiB", 64)
    begun = time.perf_counter()
    with daemon(folder):
        Client(folder / "run/aliquotd.sock").ask("GET", "/v1/sessions/s0999")
        report.row("from its start until it answers again", (time.perf_counter() - begun) * 1e3, "ms")
report.finish()
