# SPDX-License-Identifier: Apache-2.0
"""What the interposer costs: a call, a lookup, and a program that never touches a GPU."""
import os
import pathlib
import subprocess
import time

from report import Report, paired
from stage import BUILD, LIBRARY

DRIVER = BUILD / "tests/programs/interpose/fake/fake-cuda-same.so"
DOORS = BUILD / "bench/programs/doors"
VERSIONS = pathlib.Path(__file__).resolve().parents[1] / "src/abi/cuda.versions"
STARTS, ROUNDS = 20, 61


def requests():
    """What a CUDA runtime asks at its start: every name, for the newest version, both streams."""
    for line in VERSIONS.read_text(encoding="utf-8").splitlines():
        if line and line[0] != "#":
            name, version, *suffix = line.split()
            yield f"{name} {version} {2 if suffix else 0}"


def start_ms(library):
    """Wall time of one start of /bin/true, the mean of a few."""
    env = {"PATH": os.environ["PATH"]}
    if library:
        env["LD_PRELOAD"] = str(library)
    start = time.perf_counter()
    for _ in range(STARTS):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], env), 0)
    return (time.perf_counter() - start) / STARTS * 1e3


report = Report("doors", "added time: in one process, the same driver function with Aliquot and without Aliquot in "
                         f"turns, median of 101 rounds; start-up: {ROUNDS} rounds of {STARTS} starts "
                         "of /bin/true each way in turns")
done = subprocess.run([DOORS, DRIVER], input="\n".join(requests()), text=True, check=True,
                      capture_output=True, timeout=600,
                      env={"PATH": os.environ["PATH"], "LD_PRELOAD": str(LIBRARY),
                           "ALIQUOT_REAL_LIBCUDA": str(DRIVER)})
figures = {words[0]: list(map(float, words[1:])) for words in map(str.split, done.stdout.splitlines())}
report.row("direct call", figures["call-again"][0], "ns")
report.row("the same again, added (noise)", figures["call-again"][2], "ns")
report.row("a function we do not hook, added", figures["call-pass"][2], "ns", 1.5)
report.row("a function behind an open gate, added", figures["call-gate"][2], "ns", 2)
report.row("cuGetProcAddress", figures["lookup-by-version"][1], "ns", 100, "HAMi-core: 212 string compares")
report.row("dlsym of a name that is not ours, added", figures["dlsym-other"][2], "ns")
report.row("dlsym of a driver function, added", figures["dlsym-driver"][2], "ns")
start = paired(start_ms, None, LIBRARY, ROUNDS)
report.row("start of a program without CUDA", start["base"], "ms")
report.row("start of a program without CUDA, added", start["added"], "ms", 0.3, raw=start["raw"])
report.finish()
