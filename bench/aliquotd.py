# SPDX-License-Identifier: Apache-2.0
"""A daemon on simulated GPUs for the scripts of bench/, and programs in its sessions.

The programs meet the toy driver, under the UUID of the card that their session has, or the simulator
where its books are to be compared.
"""
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

from stage import BUILD, LIBRARY, TOY

SIMULATED = BUILD / "src/sim/driver"
TENANTS = BUILD / "bench/programs/tenants"
PATIENCE_SECONDS = 120


class Client(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def say(self, method, path, body=None):
        """The status, and what was answered."""
        self.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    def ask(self, method, path, body=None):
        status, answer = self.say(method, path, body)
        assert status < 300, answer
        return answer


class Daemon:
    """Starts when made; kill() and start() as often as one likes."""
    def __init__(self, folder, spec, config=""):
        self.folder, self.runtime = folder, folder / "run"
        self.config = folder / "conf"
        self.config.write_text(f"[daemon]\nlog = warn\n{config}")
        self.config.chmod(0o600)
        for made in (self.runtime, folder / "sim"):
            made.mkdir(mode=0o700, exist_ok=True)
        self.spec = f"{spec},state={folder / 'sim'}"
        self.socket = self.runtime / "aliquotd.sock"
        self.start()

    def start(self):
        self.process = subprocess.Popen([BUILD / "src/daemon/aliquotd", "--config", self.config, "--runtime-dir",
                                         self.runtime, "--state-dir", self.folder / "state", f"--sim={self.spec}"])
        end = time.monotonic() + PATIENCE_SECONDS
        while not self.is_up():
            assert self.process.poll() is None and time.monotonic() < end
            time.sleep(0.001)

    def is_up(self):
        try:
            return self.client().say("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def client(self):
        return Client(self.socket)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def uuids(self):
        return [device["uuid"] for device in self.client().ask("GET", "/v1/devices")["devices"]]

    def environment(self, session, uuid=None, visible=""):
        """Of a program in the session: on the toy driver as the card `uuid`, or on the simulator, where it
        takes the first card that is visible."""
        driver = TOY.parent if uuid else SIMULATED
        env = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(LIBRARY), "LD_LIBRARY_PATH": str(driver),
               "ALIQUOT_REAL_LIBCUDA": str(driver / "libcuda.so.1"), "ALIQUOT_RUNTIME_DIR": str(self.runtime),
               "ALIQUOT_SESSION": session}
        return env | ({"TOY_UUID": uuid} if uuid else {"ALIQUOT_SIM": self.spec, "CUDA_VISIBLE_DEVICES": visible})

    def program(self, session, *arguments, **how):
        """bench/programs/tenants; see environment() for `how`."""
        return subprocess.Popen([TENANTS, *map(str, arguments)], env=self.environment(session, **how),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def cpu_seconds(self):
        schedstat = pathlib.Path(f"/proc/{self.process.pid}/schedstat").read_text(encoding="ascii")
        return int(schedstat.split()[0]) / 1e9

    def percent_of_a_core(self, seconds):
        before = self.cpu_seconds()
        time.sleep(seconds)
        return 100 * (self.cpu_seconds() - before) / seconds

    def resident_mib(self):
        pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextlib.contextmanager
def daemon(spec, config=""):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        one = Daemon(pathlib.Path(name), spec, config)
        try:
            yield one
        finally:
            one.stop()


def begun(program):
    """When all of a program's processes do what it is for."""
    assert program.stdout.readline() == "0\n"
    return program


def end(programs):
    for program in programs:
        program.stdin.close()
    for program in programs:
        program.wait(PATIENCE_SECONDS)


def numbers(program):
    """To its end; what it printed, one number a line."""
    out, _ = program.communicate(timeout=PATIENCE_SECONDS)
    assert program.returncode == 0
    return [int(line) for line in out.split()]


TOKEN = "of-a-bench-and-of-nobody-else-0123456789"
WRK_SCRIPT = """
local number = 0
function request()
        number = (number + 1) %% %d
        return wrk.format("GET", string.format("%s", number))
end
function done(summary, latency)
        local errors = summary.errors
        io.write(string.format("%%d %%d %%d %%g %%g", summary.requests, summary.duration,
                               errors.status + errors.connect + errors.read + errors.write + errors.timeout,
                               latency:percentile(50), latency:percentile(99)))
end
"""


def http_config(folder):
    """Lines for a daemon that also listens on TCP with our token; and its port."""
    token = pathlib.Path(folder) / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return f"[http]\naddress = 127.0.0.1:{port}\ntoken_file = {token}\n", port


def read_by_wrk(port, connections, sessions, seconds, path="/v1/sessions/s%04d"):
    """Reads of s0000, s0001, ... with wrk: how many, in how many seconds, and the ms that half of them and
    99 of 100 took."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(WRK_SCRIPT % (sessions, path))
        script.flush()
        told = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}", "-s", script.name,
                               "-H", f"Authorization: Bearer {TOKEN}", f"http://127.0.0.1:{port}"],
                              check=True, capture_output=True, text=True).stdout
    count, us, failed, p50_us, p99_us = map(float, told.splitlines()[-1].split())
    assert failed == 0, told
    return count, us / 1e6, p50_us / 1e3, p99_us / 1e3


def read_all(path, request, connections, count):
    """`request` over all connections, each asking again when it was answered: milliseconds that each
    took, and seconds for all."""
    selector, samples, started = selectors.DefaultSelector(), [], {}
    for i in range(connections):
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(str(path))
        selector.register(raw, selectors.EVENT_READ)
        started[raw] = time.perf_counter()
        raw.sendall(request(i))
    begin = time.perf_counter()
    while len(samples) < count:
        for key, _ in selector.select():
            answer = key.fileobj.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"}")
            now = time.perf_counter()
            samples.append((now - started[key.fileobj]) * 1e3)
            started[key.fileobj] = now
            key.fileobj.sendall(request(len(samples)))
    return samples, time.perf_counter() - begin
