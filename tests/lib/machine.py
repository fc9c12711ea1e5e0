# SPDX-License-Identifier: Apache-2.0
"""A machine of a test's own with fake drivers, for tests of the ways to obtain entry points.

    machine.install("cuda-old")                       # as libcuda.so.1 in a folder of its own
    machine.probe(["open libcuda.so.1", "sym cuInit"])  # the answers of programs/interpose/probe.c

With us=False the program runs on the bare driver: the expected answers.
"""
import os
import shutil
import subprocess

from build import SOURCE
from hang import HANG_SECONDS

VERSIONS = SOURCE / "src/abi/cuda.versions"
OURS = "libaliquot.so"
FLAGS = (0, 1, 2, 3)  # default, legacy stream, per-thread stream, both (taken as per-thread)


def rows(api):
    """{symbol: (since, class)} from the table's text."""
    table = {}
    for line in (SOURCE / "src/shim" / api / f"{api}.api").read_text().splitlines():
        words = line.split()
        if words and line[0] not in "#!=~ ":
            table[words[0]] = (0 if words[1] == "-" else int(words[1]), words[2])
    return table


CUDA, NVML = rows("cuda"), rows("nvml")


def is_ours(symbol):
    return {**CUDA, **NVML}.get(symbol, (0, "pass"))[1] != "pass"


class Machine:
    """A folder with drivers under their own names, and programs run on it."""
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.fakes = build.folder / "tests/programs/interpose/fake"
        self.drivers = folder / "driver"
        self.drivers.mkdir()
        self.runtime = folder / "aliquot-runtime"
        self.runtime.mkdir(mode=0o700)

    def install(self, fake, soname="libcuda.so.1", folder=None):
        target = (folder or self.drivers) / soname
        shutil.copy(self.fakes / f"fake-{fake}.so", target)
        return target

    def env(self, preload=(), path=None, **more):
        env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(path or self.drivers),
               "ALIQUOT_RUNTIME_DIR": str(self.runtime), **more}
        if preload:
            env["LD_PRELOAD"] = ":".join(map(str, preload))
        return env

    def run(self, command, text="", cwd=None, **how):
        return subprocess.run(self.build.command(command), input=text, env=self.env(**how), cwd=cwd,
                              capture_output=True, text=True, timeout=HANG_SECONDS, check=False)

    def probe(self, commands, us=True, **how):
        """Answers to the probe's commands, one each."""
        if us:
            how.setdefault("preload", [self.build.library])
        program = self.build.program("interpose/interpose-probe")
        done = self.run([program], "\n".join(commands) + "\n", **how)
        assert done.returncode == 0 and done.stderr == "", done
        answers = done.stdout.splitlines()
        assert len(answers) == len(commands), done
        return answers


def expect_as_without_us(command, alone, answer, driver="libcuda.so.1"):
    """`alone` is the bare driver's answer; only the object may differ, and only if it is ours."""
    words = alone.split()
    if not alone.startswith("!") and words[-2] == driver and is_ours(words[-1]):
        words[-2] = OURS
    assert answer == " ".join(words), f"{command}: {alone!r} without Aliquot"


def lookups():
    """The probe's commands for every name at, and just below, every version, with every flag, in
    both ABIs."""
    versions = {11030, 11040, 11080, 12000, 12080, 12999, 13000, 13060, 13070}
    names = set()
    for line in VERSIONS.read_text().splitlines():
        if line and line[0] != "#":
            name, version, *_ = line.split()
            names.add(name)
            if int(version) >= 11030:
                versions |= {int(version), int(version) - 1}
    names |= {"cuNoSuchFunction", "cuMemAlloc_v2", "cublasCreate"}
    return [f"proc {abi} {name} {version} {flags}" for name in sorted(names)
            for version in sorted(versions) for flags in FLAGS for abi in (1, 2)]
