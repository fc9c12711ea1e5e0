#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/page-layout.md says the offsets that src/proto/page.c asserts, all of them and no others."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
constants = {"PAGE_DEVICES": "16", "PAGE_SLOTS": "4096"}


def asserted():
    for struct, field, offset in re.findall(r"^AT\((\w+), (\w+), ([^)]+)\);",
                                            (root / "src/proto/page.c").read_text(), re.M):
        for name, value in constants.items():
            offset = offset.replace(name, value)
        yield struct, field, sum(eval_product(term) for term in offset.split("+"))


def eval_product(term):
    product = 1
    for factor in term.split("*"):
        product *= int(factor)
    return product


def documented():
    struct = None
    for line in (root / "docs/page-layout.md").read_text().splitlines():
        if heading := re.match(r"### (\w+)", line):
            struct = heading[1]
        if row := re.match(r"\| (\d+) \| `(\w+)`", line):
            yield struct, row[2], int(row[1])


code, docs = set(asserted()), set(documented())
assert len(code) > 30
for struct, field, offset in sorted(code ^ docs):
    where = "page.c only" if (struct, field, offset) in code else "docs only"
    print(f"{struct}.{field} at {offset}: {where}")
sys.exit(code != docs)
