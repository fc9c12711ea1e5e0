# SPDX-License-Identifier: Apache-2.0
"""A simulated node of a test's own: spec, folders, environment, and its processes.

    node.configure(gpus=2, memory="1GiB", model="h200")
    result = node.run([program, "arg"], preload=True, ALIQUOT_MEMORY="256MiB")
    assert result.rc == 0, result

Doors: preload=True puts libaliquot.so in LD_PRELOAD (a path: that library), shims=True puts the
facades first in LD_LIBRARY_PATH; with neither the program uses the bare simulator. A keyword in
capitals is an environment variable; None removes it.
"""
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

import place
import still
from hang import HANG_SECONDS, IS_SLOW, LONG_HANG_SECONDS

KEPT_FROM_CALLER = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_MESSAGES", "TZ", "TMPDIR",
                    "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")
SHM = pathlib.Path("/dev/shm")
SHM_WANTED_BYTES = 1 << 30
PAGES_WANTED_BYTES = 16 << 20  # sessions' pages and the files of a daemon
LEFTOVER_SECONDS = 3600
# Real drivers crash on handles that have ended: so every story would notice a library that uses
# one.
AS_DRIVERS_DO = {"current": "measured", "ended": "crash"}


@dataclass
class Result:
    """How a program ended; printed whole when an assertion names it."""
    rc: int
    stdout: str
    stderr: str

    @property
    def json(self):
        return json.loads(self.stdout)


def drop_leftovers():
    """Removes folders of killed runs: unlocked, so that the owner is gone, and older than any test
    gets (the C tests take no lock)."""
    for folder in [*SHM.glob("aliquot-test-*"), *pathlib.Path(tempfile.gettempdir()).glob("aliquot-test-*")]:
        try:
            if time.time() - folder.stat().st_mtime < LEFTOVER_SECONDS:
                continue
            lock = lock_folder(folder)
        except OSError:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def lock_folder(folder):
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def private_folder(where=None):
    """In `where`, or among temporary files; a test may open it to another user (not so pytest's own
    folder)."""
    return pathlib.Path(tempfile.mkdtemp(prefix="aliquot-test-", dir=where))


def shm_has(size):
    return SHM.is_dir() and place.keeps_locks(SHM) and shutil.disk_usage(SHM).free > size


def finished(process, said=str):
    """The JSON output of a started program when it ends well; else `said` can add to the failure
    message."""
    out, err = process.communicate(timeout=LONG_HANG_SECONDS)
    assert process.returncode == 0, (out[-2000:], err, said()[-2000:])
    return json.loads(out)


class Node:
    """Its folder is on tmpfs, as in production; the simulated cards are on disk if /dev/shm has no
    room for them (64 MiB in many containers)."""
    def __init__(self, build):
        self.build = build
        place.need("a runtime folder")
        drop_leftovers()
        self.folder = private_folder(SHM if shm_has(PAGES_WANTED_BYTES) else None)
        self.cards = self.folder if shm_has(SHM_WANTED_BYTES) else private_folder()
        if self.cards != self.folder:
            self.cards.chmod(0o711)  # as for the other folder; a story can restrict `state`
        self.locks = [lock_folder(folder) for folder in {self.folder, self.cards}]
        self.state = self.cards / "sim"
        self.runtime = self.folder / "run"
        for folder in (self.state, self.runtime):
            folder.mkdir(mode=0o700)
        self.settings = {"gpus": 1, "memory": "1GiB", "model": "h200", **AS_DRIVERS_DO}
        self.processes = []

    def configure(self, **settings):
        """Adds to the simulator's spec: gpus, memory, model, fail, lost, clock, ..."""
        self.settings.update(settings)
        return self

    @property
    def spec(self):
        pairs = {**self.settings, "state": self.state}
        return ",".join(f"{key}={value}" for key, value in pairs.items())

    def env(self, preload=False, shims=False, **variables):
        env = {key: os.environ[key] for key in KEPT_FROM_CALLER if key in os.environ}
        libraries = [str(self.build.driver)]
        preloads = []
        if os.environ.get("ALIQUOT_SANITIZER") and (preload or shims):
            preloads.append(os.environ["ALIQUOT_SANITIZER"])
        if preload:
            preloads.append(str(self.build.library if preload is True else preload))
        if shims:
            libraries.insert(0, str(self.build.shims))
        env.update({
            "ALIQUOT_SIM": self.spec,
            "ALIQUOT_RUNTIME_DIR": str(self.runtime),
            "ALIQUOT_REAL_LIBCUDA": str(self.build.driver / "libcuda.so.1"),
            "ALIQUOT_REAL_LIBNVML": str(self.build.driver / "libnvidia-ml.so.1"),
            "LD_LIBRARY_PATH": ":".join(libraries),
        })
        if IS_SLOW:
            env["WATCH_VIEWS"] = "1"
        if preloads:
            env["LD_PRELOAD"] = ":".join(preloads)
        for key, value in variables.items():
            if value is None:
                env.pop(key, None)
            else:
                env[key] = str(value)
        return env

    def run(self, command, *, preload=False, shims=False, stdin="", cwd=None, user=None,
            timeout=HANG_SECONDS, **variables):
        """Runs to the end. A hang fails the test with what had been printed so far."""
        process = self.start(command, preload=preload, shims=shims, cwd=cwd, user=user, **variables)
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            there = still.describe()
            kill_group(process)
            out, err = process.communicate()
            raise AssertionError(f"{command} hung for {timeout} s\n{out}\n{err}\n{there}") from None
        return Result(process.returncode, out, err)

    def start(self, command, *, preload=False, shims=False, cwd=None, user=None, **variables):
        """Starts it in the background, in its own process group, which close() ends. `user`: a uid
        to become."""
        command = [str(command)] if isinstance(command, (str, pathlib.Path)) else command
        process = subprocess.Popen(
            self.build.command(command), text=True, errors="replace", start_new_session=True,
            cwd=cwd or self.folder, env=self.env(preload, shims, **variables),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            user=user, group=user, extra_groups=None if user is None else [])
        self.processes.append(process)
        return process

    def aliquot(self, *arguments, **options):
        """Runs the command on this node."""
        return self.run([self.build.aliquot, *arguments], **options)

    def oracle(self):
        """The simulator's own table of granted memory, independent of the ledger under test."""
        reader = self.build.folder / "src/sim/aliquot-sim-oracle"
        result = self.run([reader])
        assert result.rc == 0, result
        return result.json

    def close(self):
        for process in self.processes:
            kill_group(process)
            process.communicate()
        for folder in (self.folder, self.cards):
            shutil.rmtree(folder, ignore_errors=True)
        for lock in self.locks:
            os.close(lock)


def kill_group(process):
    """Kills the group as well as the process: a program under test may have left children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
