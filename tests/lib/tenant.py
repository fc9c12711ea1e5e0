# SPDX-License-Identifier: Apache-2.0
"""Another user of the machine, who shares the node with root's daemon.

    tenant = Tenant(daemon, uid=64001)
    tenant.create("a", memory="256MiB")             # over the daemon's socket, as that user
    result = tenant.python("scribble.py", path)     # tests/attack/programs/scribble.py, to its end
    with tenant.script("a") as gpu:                 # a program in session a (lib/script.py)
        gpu.ready()
    create(tenant, "b", ttl="1s")                   # a session that ends its programs when it ends
    with holding(tenant, "keep_lock.py", path):     # as python(), in the background
        ...
    hidden(text)                                    # its characters that disturb a terminal or deceive
    with still_file(sim) as (file, told):           # a process that runs STAYS_IN_EXEC with it blocks readers
    kinds(daemon, "gone")                           # audit event types, up to the first of this type

Only root can become another user: `needs_root` skips a story elsewhere.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import unicodedata

import pytest

import place
from daemon import Answer
from hang import HANG_SECONDS
from node import Result
from script import Script
from stopped import stop

needs_root = pytest.mark.needs("other users")

ASK = """
import http.client, socket, sys
path, method, target, body = sys.argv[1:]
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
connection.request(method, target, body, {"Content-Type": "application/json"})
answer = connection.getresponse()
print(answer.status, answer.read().decode(), sep="\\n")
"""


def open_to_all(sim):
    """Lets other users reach the node's folders, as with /run/aliquot and a real driver's devices.
    """
    sim.folder.chmod(0o711)
    sim.runtime.chmod(0o711)
    sim.state.chmod(0o777)
    for path in sim.state.rglob("*"):
        path.chmod(0o777)


class Tenant:
    def __init__(self, daemon, uid):
        self.daemon, self.sim, self.uid = daemon, daemon.sim, uid
        open_to_all(self.sim)
        place.need("a build folder for other users")

    def start(self, words, **options):
        """Starts it in the background; options as of Node.start()."""
        return self.sim.start(words, user=self.uid, cwd="/", **options)

    def run(self, words, **options):
        return self.sim.run(words, user=self.uid, cwd="/", **options)

    def python(self, name, *words, **options):
        """Runs a program of tests/attack/programs to its end."""
        return self.run([sys.executable, self.sim.build.source / "tests/attack/programs" / name, *words], **options)

    def script(self, session, preload=True, **variables):
        return Script(self.sim, preload=preload, user=self.uid, cwd="/", ALIQUOT_SESSION=session, **variables)

    def ask(self, method, path, body=""):
        done = subprocess.run([sys.executable, "-c", ASK, str(self.daemon.socket), method, path, body],
                              user=self.uid, group=self.uid, extra_groups=[], cwd="/", stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        assert done.returncode == 0, Result(done.returncode, done.stdout, done.stderr)
        status, _, text = done.stdout.partition("\n")
        return Answer(int(status), {}, text)

    def create(self, name, memory="256MiB"):
        """Creates a session of the tenant."""
        answer = self.ask("POST", "/v1/sessions", f'{{"name":"{name}","memory":"{memory}"}}')
        assert answer.status == 201, answer
        return answer.json

    def folder(self, name):
        return self.sim.runtime / "sessions" / name


@contextlib.contextmanager
def holding(tenant, name, *words, word="ready"):
    """Starts a program of tests/attack/programs, waits until it prints `word`, and ends it at the
    end of the block."""
    program = tenant.sim.build.source / "tests/attack/programs" / name
    process = tenant.start([sys.executable, program, *words], preload=False)
    assert process.stdout.readline() == f"{word}\n", process.stderr.read()
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(HANG_SECONDS)


STAYS_IN_EXEC = "import os, sys; os.open(sys.argv[1], os.O_RDWR); os.execv('/bin/sleep', ['sleep', '1000'])"


@contextlib.contextmanager
def still_file(sim):
    """A file whose close never ends: a process that calls execve() with it open (close-on-exec)
    stays there. Never read before."""
    folder = sim.folder / "still"
    folder.mkdir()
    with subprocess.Popen([sys.executable, sim.build.source / "tests/attack/programs/still.py", folder], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == "ready\n"
        yield folder / "file", server.stdout
        server.stdin.close()


def create(tenant, name, memory="256MiB", **fields):
    """Creates a session that ends its programs when it ends."""
    answer = tenant.ask("POST", "/v1/sessions", json.dumps({"name": name, "memory": memory, "on_end": "kill", **fields}))
    assert answer.status == 201, answer


def hidden(text):
    """Characters that a terminal interprets or that are invisible."""
    return [char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")]


def kinds(daemon, until):
    """Types of the audit trail's events, up to the first one of type `until`."""
    found = []
    for event in daemon.events():
        found.append(event["type"])
        if found[-1] == until:
            return found


@contextlib.contextmanager
def standing_still(daemon):
    """Stops the daemon: all messages sent meanwhile have arrived before it reads the first."""
    stop(daemon.process.pid)
    try:
        yield
    finally:
        os.kill(daemon.process.pid, signal.SIGCONT)
