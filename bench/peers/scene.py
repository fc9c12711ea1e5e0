# SPDX-License-Identifier: Apache-2.0
"""A simulated node of one measurement's own, containers on it with limits, and programs in these.

    with Scene(side, memory="16GiB") as scene:
        box = scene.container("a", memory=1 << 30, percent=30)
        text = box.run(program, "arg")          # Failed when it hangs, is killed or refuses
        scene.high("a")                         # the most bytes that the simulator ever granted it
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from side import SIMULATED, command
from stage import BUILD

HANG_SECONDS = 120
MIB = 1 << 20
HANGS = "hangs"


class Failed(Exception):
    """Why there is no figure, in few words."""


class Container:
    def __init__(self, scene, name, memory, percent):
        self.scene = scene
        self.home = scene.folder / name
        self.home.mkdir()
        limits = {"home": self.home, "uuid": scene.uuid}
        if memory:
            limits |= {"memory_bytes": memory, "memory_mib": memory // MIB}
        if percent:
            limits |= {"percent": percent}
        side = scene.side
        self.env = scene.env | {"ALIQUOT_SESSION": name, "ALIQUOT_RUNTIME_DIR": str(self.home)} | side.variables(limits)
        self.preload = str(side.library) if side.library else None

    def start(self, *words):
        env = self.env | ({"LD_PRELOAD": self.preload} if self.preload else {})
        words = command(self.scene.side, self.home, ["env", f"LD_PRELOAD={self.preload}", *map(str, words)]) \
            if self.scene.side.private else list(map(str, words))
        if self.scene.side.private:
            env.pop("LD_PRELOAD")
        process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.scene.processes.append(process)
        return process

    def run(self, *words, seconds=HANG_SECONDS):
        return finish(self.start(*words), seconds)


def finish(process, seconds=HANG_SECONDS):
    """What it printed."""
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(HANGS) from None
    if process.returncode < 0:
        raise Failed(f"ends with signal {-process.returncode}")
    if process.returncode:
        raise Failed(f"exit {process.returncode}")
    return text


class Scene:
    def __init__(self, side, **spec):
        self.side, self.processes = side, []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="aliquot-peers-", dir="/dev/shm"))
        state = self.folder / "sim"
        state.mkdir(mode=0o700)
        told = {"gpus": 1, "model": "t4", "memory": "16GiB", "clock": "real", "state": state} | spec
        self.env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(SIMULATED),
                    "ALIQUOT_RUNTIME_DIR": str(self.folder),
                    "ALIQUOT_REAL_LIBCUDA": str(SIMULATED / "libcuda.so.1"),
                    "ALIQUOT_REAL_LIBNVML": str(SIMULATED / "libnvidia-ml.so.1"),
                    "ALIQUOT_SIM": ",".join(f"{key}={value}" for key, value in told.items())}
        self.uuid = self.ask("src/cli/aliquot", "gpus", "--json")[0]["uuid"]

    def ask(self, program, *words):
        done = subprocess.run([BUILD / program, *words], env=self.env, check=True, capture_output=True, text=True,
                              timeout=HANG_SECONDS)
        return json.loads(done.stdout)

    def container(self, name="a", memory=None, percent=None):
        return Container(self, name, memory, percent)

    def high(self, name="a"):
        rows = self.ask("src/sim/aliquot-sim-oracle")["tags"].get(name)
        return rows[0]["high_bytes"] if rows else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, 9)
            process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)
