# SPDX-License-Identifier: Apache-2.0
"""Where the scripts of bench/ find things: the build, and an environment with Aliquot in front or not."""
import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ.get("ALIQUOT_BUILD", "build")).resolve()
LIBRARY = BUILD / "src/shim/libaliquot.so"
TOY = BUILD / "bench/programs/libcuda.so.1"
ALLOC = BUILD / "bench/programs/alloc"


def environment(folder, memory, **extra):
    """The toy driver alone (memory None), or a session of `memory` in front of it."""
    env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(TOY.parent), **extra}
    if memory:
        env |= {"LD_PRELOAD": str(LIBRARY), "ALIQUOT_REAL_LIBCUDA": str(TOY),
                "ALIQUOT_RUNTIME_DIR": str(folder), "ALIQUOT_MEMORY": memory}
    return env


def numbers(env, *arguments):
    """What the program printed, one number a line."""
    done = subprocess.run([ALLOC, *map(str, arguments)], env=env, check=True, capture_output=True,
                          text=True, timeout=600)
    return [float(line) for line in done.stdout.split()]


def prove_limit_holds(folder):
    """A figure counts only if the limit was on: 2 MiB under a limit of 1 MiB must be refused."""
    refused = subprocess.run([ALLOC, "added", "1", str(2 << 20)], env=environment(folder, "1MiB"),
                             capture_output=True, text=True, timeout=600, check=False)
    if "cuMemAlloc: error 2" not in refused.stderr:
        raise SystemExit(f"the limit was not on: {refused.stdout}{refused.stderr}")


def start(env, *arguments):
    return subprocess.Popen([ALLOC, *map(str, arguments)], env=env, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
