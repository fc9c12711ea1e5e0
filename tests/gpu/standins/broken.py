#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Aliquot broken on purpose, in the bundle of a rehearsal, by GPU_CHECK_BREAK: each story must notice.

    absent      programs meet the bare driver
    wide        limits are twice what was asked
    narrow      limits are half of it
    loose       caps on GPU time are half as much again
    unfair      a daemon's sessions have other shares of GPU time than were asked for
    forgetful   the books say that nothing is charged
    greedy      the books say that twice as much is charged
    mute        the contracts' program says nothing
    lossy       what was moved to the host does not come back: our library's copies to the card do nothing
    roomy       a daemon's sessions that swap have twice the card: nobody waits, and the card has more than it should

Where a verdict is asked for, and no figure, a story ends with the first claim that does not hold: nothing that it tells later changes
that it has failed. As a program it stands in for bin/aliquot.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

FACTORS = {"wide": ("--memory", 2), "narrow": ("--memory", 0.5), "loose": ("--compute", 1.5)}
MOST = {"--compute": 100}
CHARGES = ("used_bytes", "bytes")
BOOKS = {"forgetful": 0, "greedy": 2}
UNBROKEN = "aliquot-unbroken"
# Appended to the module that asks the daemon.
UNFAIR = '''
import itertools

ask, weights = Daemon.ask, itertools.cycle((100, 300))


def ask_unfairly(self, method, path, body=None):
    if (method, path) == ("POST", "/v1/sessions"):
        body = {"name": body["name"], "memory": body["memory"], "weight": next(weights)}
    return ask(self, method, path, body)


Daemon.ask = ask_unfairly
'''
# Likewise: the session that only promises the rest of the card promises less.
ROOMY = '''
ask = Daemon.ask


def ask_for_less(self, method, path, body=None):
    if (method, path) == ("POST", "/v1/sessions") and not body.get("swap"):
        body = {**body, "memory": body["memory"] - self.teller.capacity}
    return ask(self, method, path, body)


Daemon.ask = ask_for_less
'''
# Appended to the module that keeps claims.
HASTY = '''
claim = Teller.claim


def claim_or_end(self, what, holds, detail=""):
    if not claim(self, what, holds, detail):
        self.result["verdict"] = "failed"
        self.save()
        os._exit(0)
    return True


Teller.claim = claim_or_end
'''
# Not there: verdicts by figures, and stories that have a daemon to end before the next one starts.
WHOLE = ("loose", "unfair", "lossy", "roomy")
COPY_IN, NOTHING = b"cuMemcpyHtoDAsync_v2", b"cuCtxSynchronize"
DYNAMIC_SYMBOLS, SYMBOL_BYTES = 11, 24


def append(module, text):
    with open(module, "a", encoding="utf-8") as file:
        file.write(text)


def break_bundle(bundle, how, idle_library, driver):
    """Gives the variables that the rehearsal has besides."""
    command = bundle / "bin/aliquot"
    command.rename(command.with_name(UNBROKEN))
    shutil.copy(__file__, command)
    command.chmod(0o755)
    if how == "absent":
        shutil.copy(idle_library, bundle / "lib/aliquot/libaliquot.so")
        shutil.rmtree(bundle / "lib/aliquot/shims")
    if how == "unfair":
        append(bundle / "check/aliquotd.py", UNFAIR)
    if how == "roomy":
        append(bundle / "check/aliquotd.py", ROOMY)
    if how not in WHOLE:
        append(bundle / "check/story.py", HASTY)
    if how == "mute":
        (bundle / "check/programs/contracts.py").write_text("")
    if how == "lossy":
        lossy = bundle / "lib/aliquot/lossy.so"
        lossy.write_bytes(with_another(driver.read_bytes(), COPY_IN, NOTHING))
        return {"ALIQUOT_REAL_LIBCUDA": str(lossy)}
    return {}


def with_another(library, name, other):
    """An ELF library of 64 bits in which a name leads to the function of another one."""
    library = bytearray(library)
    sections, = struct.unpack_from("<Q", library, 40)
    size, count = struct.unpack_from("<HH", library, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", library, sections + size * at) for at in range(count)]
    symbols = next(head for head in heads if head[1] == DYNAMIC_SYMBOLS)
    names, at = heads[symbols[6]][4], {}
    for place in range(symbols[4], symbols[4] + symbols[5], SYMBOL_BYTES):
        begin = names + struct.unpack_from("<I", library, place)[0]
        at[bytes(library[begin:library.index(0, begin)])] = place + 8
    library[at[name]:at[name] + 16] = library[at[other]:at[other] + 16]
    return bytes(library)


def multiply(shown, factor):
    if isinstance(shown, list):
        return [multiply(one, factor) for one in shown]
    if isinstance(shown, dict):
        return {key: factor * value if key in CHARGES else multiply(value, factor) for key, value in shown.items()}
    return shown


def main():
    how, words = os.environ["GPU_CHECK_BREAK"], sys.argv[1:]
    unbroken = str(pathlib.Path(__file__).resolve().with_name(UNBROKEN))
    if how == "absent" and words[0] == "run":
        program = words[words.index("--") + 1:]
        os.execvp(program[0], program)
    if how in BOOKS and "--json" in words:
        done = subprocess.run([unbroken, *words], stdout=subprocess.PIPE, text=True, check=False)
        print(json.dumps(multiply(json.loads(done.stdout or "[]"), BOOKS[how])))
        sys.exit(done.returncode)
    flag, factor = FACTORS.get(how, (None, None))
    if flag in words:
        at = words.index(flag) + 1
        words[at] = str(min(int(int(words[at]) * factor), MOST.get(flag, sys.maxsize)))
    os.execv(unbroken, [unbroken, *words])


if __name__ == "__main__":
    main()
