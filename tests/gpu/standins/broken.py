#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Aliquot broken on purpose, in the bundle of a rehearsal, by GPU_CHECK_BREAK: each story must notice.

    absent      programs meet the bare driver
    wide        limits are twice what was asked
    narrow      limits are half of it
    forgetful   the books say that nothing is charged
    mute        the contracts' program says nothing

As a program it stands in for bin/aliquot.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

FACTORS = {"wide": 2, "narrow": 0.5}
CHARGES = ("used_bytes", "bytes")
UNBROKEN = "aliquot-unbroken"


def break_bundle(bundle, how, idle_library):
    command = bundle / "bin/aliquot"
    command.rename(command.with_name(UNBROKEN))
    shutil.copy(__file__, command)
    command.chmod(0o755)
    if how == "absent":
        shutil.copy(idle_library, bundle / "lib/aliquot/libaliquot.so")
        shutil.rmtree(bundle / "lib/aliquot/shims")
    if how == "mute":
        (bundle / "check/programs/contracts.py").write_text("")


def forget(shown):
    if isinstance(shown, list):
        return [forget(one) for one in shown]
    if isinstance(shown, dict):
        return {key: 0 if key in CHARGES else forget(value) for key, value in shown.items()}
    return shown


def main():
    how, words = os.environ["GPU_CHECK_BREAK"], sys.argv[1:]
    unbroken = str(pathlib.Path(__file__).resolve().with_name(UNBROKEN))
    if how == "absent" and words[0] == "run":
        program = words[words.index("--") + 1:]
        os.execvp(program[0], program)
    if how == "forgetful" and "--json" in words:
        done = subprocess.run([unbroken, *words], stdout=subprocess.PIPE, text=True, check=False)
        print(json.dumps(forget(json.loads(done.stdout or "[]"))))
        sys.exit(done.returncode)
    if how in FACTORS and "--memory" in words:
        at = words.index("--memory") + 1
        words[at] = str(int(int(words[at]) * FACTORS[how]))
    os.execv(unbroken, [unbroken, *words])


if __name__ == "__main__":
    main()
