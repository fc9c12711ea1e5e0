# SPDX-License-Identifier: Apache-2.0
"""aliquotd on a simulated node, and a client of its API.

    daemon = Daemon(sim).start()
    answer = daemon.post("/v1/sessions", {"name": "a", "memory": "256MiB"})
    assert answer.status == 201, answer
    daemon.kill().start()       # as a crash, and again

Requests go over the Unix socket, or over TCP with tcp=True.
"""
import http.client
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time
from dataclasses import dataclass, field

import pytest

from hang import HANG_SECONDS

PATIENCE = 0.02


@dataclass
class Answer:
    status: int
    headers: dict = field(repr=False)
    text: str = ""

    @property
    def json(self):
        return json.loads(self.text)


def connect_unix(path):
    """Waits if the kernel's queue of connections is full: with a timeout of Python's it would be
    refused at once instead."""
    sock = socket.socket(socket.AF_UNIX)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", HANG_SECONDS, 0))
    sock.connect(str(path))
    sock.settimeout(HANG_SECONDS)
    return sock


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=HANG_SECONDS)
        self.path = str(path)

    def connect(self):
        self.sock = connect_unix(self.path)


class Daemon:
    def __init__(self, sim, config=""):
        self.sim = sim
        self.program = sim.build.folder / "src/daemon/aliquotd"
        if not self.program.exists():
            pytest.skip("aliquotd was not built here: libevent, SQLite, jansson or inih is missing")
        self.socket = sim.runtime / "aliquotd.sock"
        self.state = sim.folder / "state"
        self.config = sim.folder / "aliquotd.conf"
        self.config.write_text(config)
        self.config.chmod(0o600)
        self.log = sim.folder / "aliquotd.log"
        self.process = None
        self.port = None

    def words(self, *flags):
        return [self.program, "--config", self.config, "--runtime-dir", self.sim.runtime,
                "--state-dir", self.state, f"--sim={self.sim.spec}", *flags]

    def start(self, *flags, user=None, **variables):
        """Returns when the daemon answers. Its log goes to a file, since no thread reads a pipe
        here."""
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [str(word) for word in self.words(*flags)], env=self.sim.env(ALIQUOT_SIM=None, **variables),
                cwd=self.sim.folder, start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                user=user, group=user, extra_groups=None if user is None else [])
        self.sim.processes.append(self.process)
        wait_for(lambda: self.process.poll() is not None or self.is_up(), self.said)
        assert self.process.poll() is None, self.said()
        if any("--http" in str(flag) for flag in flags):
            self.port = int(self.said().rsplit(", port ", 1)[1].split()[0])
        return self

    def is_up(self):
        try:
            return self.get("/healthz").status == 200
        except OSError:
            return False

    def said(self):
        return self.log.read_text(errors="replace")

    def seconds(self):
        """Processor time of the daemon."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rsplit(")")[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def reads(self):
        """The number of read calls of the daemon, as the kernel counts them."""
        text = pathlib.Path(f"/proc/{self.process.pid}/io").read_text(encoding="ascii")
        return int(text.split("syscr: ")[1].split()[0])

    def thread_seconds(self, name):
        """Processor time of its thread of this name, as the kernel counts it."""
        for thread in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            if (thread / "comm").read_text().strip() == name:
                fields = (thread / "stat").read_text().rpartition(")")[2].split()
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        raise AssertionError(f"no thread {name}")

    def kill(self):
        self.process.kill()
        self.process.wait(HANG_SECONDS)
        return self

    def stop(self):
        """As a service manager does; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(HANG_SECONDS)

    def reload(self, config):
        self.config.write_text(config)
        def answers():
            return self.said().count("config read again") + self.said().count("the config is as before")
        before = answers()
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: answers() > before, self.said)

    def connection(self, tcp=False):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS) if tcp \
            else UnixConnection(self.socket)

    def raw(self, tcp=False):
        """A connected socket without HTTP."""
        if tcp:
            return socket.create_connection(("127.0.0.1", self.port), timeout=HANG_SECONDS)
        return connect_unix(self.socket)

    def ask(self, method, path, body=None, *, tcp=False, **headers):
        headers = {key.replace("_", "-"): value for key, value in headers.items()}
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = self.connection(tcp)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read().decode())
        finally:
            connection.close()

    def get(self, path, **how):
        return self.ask("GET", path, **how)

    def post(self, path, body=None, **how):
        return self.ask("POST", path, body, **how)

    def patch(self, path, body, **how):
        return self.ask("PATCH", path, body, **how)

    def delete(self, path, **how):
        return self.ask("DELETE", path, **how)

    def create(self, name, memory="256MiB", **fields):
        answer = self.post("/v1/sessions", {"name": name, "memory": memory, **fields})
        assert answer.status == 201, answer
        return answer.json

    def session(self, name):
        """None if there is none."""
        answer = self.get(f"/v1/sessions/{name}")
        assert answer.status in (200, 404), answer
        return answer.json if answer.status == 200 else None

    def names(self):
        return [session["name"] for session in self.get("/v1/sessions?limit=1000").json["sessions"]]

    def folders(self):
        """Folders of sessions; one that is being created, or was put aside, has a name with a
        leading dot."""
        return sorted(p.name for p in (self.sim.runtime / "sessions").iterdir() if p.name[0] != ".")

    def metrics(self):
        """{series: value}"""
        answer = self.get("/metrics")
        assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer
        values = {}
        for line in answer.text.splitlines():
            if not line.startswith("#"):
                series, value = line.rsplit(" ", 1)
                assert series not in values, f"{series} is there twice"
                values[series] = float(value)
        return values

    def events(self, since=0, most=None):
        """The events after `since`, then new ones, until `most` or the caller stops."""
        connection = self.connection()
        connection.request("GET", f"/v1/events?since={since}")
        stream = connection.getresponse()
        assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
        for line in stream:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])
                most = None if most is None else most - 1
                if most == 0:
                    connection.close()
                    return


def wait_for(condition, told=lambda: ""):
    """The timeout is a bound on hangs, never a measure of speed."""
    end = time.monotonic() + HANG_SECONDS
    while not condition():
        assert time.monotonic() < end, f"hung for {HANG_SECONDS} s\n{told()}"
        time.sleep(PATIENCE)
