#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each constant that docs/compute-reference.md names is in the code, and the row says its value."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
FOLDERS = ("src/shim/time", "src/core", "src/proto", "src/daemon/schedule")
DEFINED = re.compile(r"^#define (\w+) (.+?)(?: */\*.*| *//.*)?$", re.MULTILINE)
UNITS = {"SCHED_US": "1000", "SCHED_MS": "1000000"}
LENGTHS = (("s", 10**9), ("ms", 10**6), ("us", 10**3))


def defined():
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("*.[ch]")):
            yield from DEFINED.findall(path.read_text())


def value_of(text):
    """Of a product of numbers and units; None where it is something else."""
    text = re.sub(r"U?INT(?:64|32)_C\((\d+)\)", r"\1", text)
    for unit, number in UNITS.items():
        text = text.replace(unit, number)
    factors = [factor.strip("() u") for factor in text.split("*")]
    product = 1
    for factor in factors:
        if not factor.isdigit():
            return None
        product *= int(factor)
    return product


def ways_to_say(name, value):
    if not name.endswith("_NS"):
        return {str(value)}
    return {f"{value / length:g} {unit}" for unit, length in LENGTHS if value >= length}


constants = dict(defined())
page = (root / "docs/compute-reference.md").read_text()
rows = [row for row in page.splitlines() if row.startswith("| ")]
wrong, checked = [], 0
for row in rows:
    cells = row.strip("|").split("|")
    for name in re.findall(r"`([A-Z][A-Z0-9_]+)`", cells[0]):
        value = value_of(constants[name]) if name in constants else None
        checked += 1
        if name not in constants:
            wrong.append(f"{name} is not in the code")
        elif value is not None and not any(re.search(rf"(?<![\d.]){re.escape(way)}\b", " ".join(cells[1:]))
                                           for way in ways_to_say(name, value)):
            wrong.append(f"{name} is {constants[name]}, and its row says: {cells[1].strip()}")
assert checked > 20, checked
print("\n".join(wrong))
sys.exit(bool(wrong))
