# SPDX-License-Identifier: Apache-2.0
"""Programs of many kinds (tests/programs/compute/mixes.c) on the simulated GPU, in virtual time and with the host costs of a
real driver: without Aliquot, in a session of their own, and beside each other in sessions of a daemon.

    bare = alone("training streams=3", seconds=3)
    capped = alone("training streams=3", seconds=3, cap=30)
    first, second = beside([("training streams=3", {"compute": 20}), ("turns ns=200000", {})], seconds=3)
    100 * capped.rate("done_ns") / bare.rate("done_ns")

The programs come from PROGRAMS and may judge another build of the library and the daemon (ALIQUOT_BUILD): they read nothing but
the simulator's books.
"""
import json
import os
import pathlib
import struct
import subprocess
import tempfile

from aliquotd import SIMULATED, daemon
from stage import BUILD, LIBRARY

PROGRAMS = pathlib.Path(os.environ.get("ALIQUOT_BENCH_PROGRAMS", BUILD)).resolve()
MIXES = PROGRAMS / "tests/programs/compute/mixes"
SPEC = "gpus=1,memory=4GiB,model=h200,clock=virtual,costs=real,flights=on,calls=on"
BILLED_AT = 1152 + 16  # meter[0].busy_ns in the page of slots, docs/page-layout.md; the same in versions 2 and 3
HANG_SECONDS = 100


class Failed(Exception):
    """Why there is no figure."""


class Got:
    """What a program had: lists by the second, `billed_ns` by its session's page (None without one), `calls` of the driver by
    name, its own and the library's."""
    def __init__(self, told, billed_ns, calls):
        self.__dict__.update(told)
        self.billed_ns, self.calls = billed_ns, calls

    def raw(self):
        return self.__dict__

    def rate(self, field, first=1, last=-1):
        """Of a list's increase, from one second to another, for each ns."""
        counted = getattr(self, field)
        return (counted[last] - counted[first]) / (self.at_ns[last] - self.at_ns[first])

    def seconds(self, field):
        return [self.rate(field, at, at + 1) for at in range(1, len(self.at_ns) - 1)]


def words(load, seconds):
    return [str(MIXES), *f"load={load} seconds={seconds}".split()]


def start(load, seconds, env):
    return subprocess.Popen(words(load, seconds), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def told(program):
    try:
        out, err = program.communicate(timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired:
        program.kill()
        program.communicate()
        raise Failed("hangs") from None
    if program.returncode:
        raise Failed(f"exit {program.returncode}: {err.strip()[-200:]}")
    return json.loads(out)


def billed(runtime, session):
    slots = runtime / "sessions" / session / "slots"
    return struct.unpack_from("<Q", slots.read_bytes(), BILLED_AT)[0]


def calls(state):
    """By session, then by function."""
    done = subprocess.run([BUILD / "src/sim/aliquot-sim-oracle", state], check=True, capture_output=True, text=True,
                          timeout=HANG_SECONDS)
    return {tag: {name: by["program"] + by["library"] for name, by in names.items()}
            for tag, names in json.loads(done.stdout)["calls"].items()}


def alone(load, seconds, cap=None, is_bare=False):
    """Without Aliquot, or in a session of its own without a daemon."""
    with tempfile.TemporaryDirectory(prefix="aliquot-bench-", dir="/dev/shm") as name:
        folder = pathlib.Path(name)
        for made in (folder / "run", folder / "sim"):
            made.mkdir(mode=0o700)
        env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(SIMULATED), "ALIQUOT_SESSION": "load",
               "ALIQUOT_SIM": f"{SPEC},state={folder / 'sim'}", "ALIQUOT_RUNTIME_DIR": str(folder / "run")}
        if not is_bare:
            env |= {"LD_PRELOAD": str(LIBRARY), "ALIQUOT_MEMORY": "2GiB", "ALIQUOT_COMPUTE": str(cap or "none"),
                    "ALIQUOT_REAL_LIBCUDA": str(SIMULATED / "libcuda.so.1"),
                    "ALIQUOT_REAL_LIBNVML": str(SIMULATED / "libnvidia-ml.so.1")}
        said = told(start(load, seconds, env))
        return Got(said, None if is_bare else billed(folder / "run", "load"), calls(folder / "sim")["load"])


def beside(programs, seconds):
    """Each in a session of one daemon: (load, terms of the session)."""
    with daemon(f"{SPEC},begin_with={len(programs)}") as node:
        for at, (_, terms) in enumerate(programs):
            node.client().ask("POST", "/v1/sessions", {"name": f"s{at}", "memory": "1GiB", **terms})
        started = [start(load, seconds, node.environment(f"s{at}", visible="0"))
                   for at, (load, _) in enumerate(programs)]
        try:
            said = [told(program) for program in started]
        finally:
            for program in started:
                program.kill()
                program.wait()
        by_session = calls(node.folder / "sim")
        return [Got(one, billed(node.runtime, f"s{at}"), by_session[f"s{at}"]) for at, one in enumerate(said)]
