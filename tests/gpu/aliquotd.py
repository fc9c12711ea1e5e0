# SPDX-License-Identifier: Apache-2.0
"""The daemon that came along, on the card under check, for as long as a story lasts.

    with Daemon(t) as daemon:       # a skip, with the reason, where it cannot be started
        status, answer = daemon.ask("POST", "/v1/sessions", {"name": "a", "memory": "1GiB"})
        daemon.kill()
        daemon.start()

Its sessions live where the story's others do; its database in the story's own folder.
"""
import http.client
import json
import os
import socket
import subprocess
import time

PATIENCE_SECONDS = 30


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemon:
    def __init__(self, teller):
        self.teller, self.process = teller, None
        self.program = teller.home / "bin/aliquotd"
        self.runtime = os.environ["ALIQUOT_RUNTIME_DIR"]
        self.config, self.log = teller.scratch / "aliquotd.conf", teller.scratch / "aliquotd.log"
        self.config.write_text("[metrics]\nsessions = yes\n", encoding="utf-8")
        self.config.chmod(0o600)

    def __enter__(self):
        if not self.program.exists():
            self.teller.skip("the daemon was not built where this bundle was made")
        self.start()
        return self

    def __exit__(self, *error):
        self.kill()

    def start(self):
        """Seconds from its start until it answers; for as long it may have waited for the driver."""
        older = os.environ.get("LD_LIBRARY_PATH")
        libraries = str(self.teller.home / "lib/aliquotd") + (f":{older}" if older else "")
        words = [self.program, "--config", self.config, "--runtime-dir", self.runtime, "--state-dir",
                 self.teller.scratch / "state"]
        if self.teller.is_rehearsal:
            words.append(f"--sim={os.environ['ALIQUOT_SIM']}")
        began = time.monotonic()
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env={**os.environ, "LD_LIBRARY_PATH": libraries})
        while not self.is_up():
            if self.process.poll() is not None or time.monotonic() - began > PATIENCE_SECONDS:
                last = (self.log.read_text(encoding="utf-8", errors="replace").splitlines() or ["no reason given"])[-1]
                self.teller.skip(f"the daemon that came along does not start here: {last}")
            time.sleep(0.005)
        return time.monotonic() - began

    def is_up(self):
        try:
            return self.ask("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        return self.process.wait(PATIENCE_SECONDS)

    def ask(self, method, path, body=None):
        """The status, and what was answered: JSON, or text."""
        connection = Connection(f"{self.runtime}/aliquotd.sock")
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {} if body is None else {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
            is_json = "json" in answer.headers.get("Content-Type", "")
            return answer.status, json.loads(text) if is_json else text
        finally:
            connection.close()

    def session(self, name):
        return self.ask("GET", f"/v1/sessions/{name}")[1]

    def used(self, name):
        return sum(device["used_bytes"] for device in self.session(name)["devices"])

    def holders(self, name):
        """{pid: bytes charged}"""
        listed = self.ask("GET", f"/v1/sessions/{name}/processes")[1]
        return {one["pid"]: sum(device["bytes"] for device in one["devices"]) for one in listed}

    def metrics(self):
        """{name with labels: value}"""
        lines = [line for line in self.ask("GET", "/metrics")[1].splitlines() if line and line[0] != "#"]
        return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in lines)}
