#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/page-layout.md and docs/protocol.md say the offsets that src/proto asserts and the numbers of
its messages, all of them and no others."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
constants = {"PAGE_DEVICES": "16", "PAGE_SLOTS": "4096"}


def asserted(source):
    for struct, field, offset in re.findall(r"^AT\((\w+), (\w+), ([^)]+)\);", (root / source).read_text(), re.M):
        for name, value in constants.items():
            offset = offset.replace(name, value)
        yield struct, field, sum(eval_product(term) for term in offset.split("+"))


def eval_product(term):
    product = 1
    for factor in term.split("*"):
        product *= int(factor)
    return product


def numbered(header):
    """The values of the enums whose numbers are sent."""
    for enum, body in re.findall(r"^enum (message_\w+) \{(.*?)\};", (root / header).read_text(), re.M | re.S):
        for name, value in re.findall(r"(\w+) = (\d+)", body):
            yield enum, name, int(value)


def documented(page):
    struct = None
    for line in (root / page).read_text().splitlines():
        if heading := re.match(r"### (\w+)", line):
            struct = heading[1]
        if row := re.match(r"\| (\d+) \| `(\w+)`", line):
            yield struct, row[2], int(row[1])


def compare(code, docs, where):
    for struct, field, offset in sorted(code ^ docs):
        side = "code only" if (struct, field, offset) in code else f"{where} only"
        print(f"{struct}.{field} at {offset}: {side}")
    return code == docs


pages = set(asserted("src/proto/page.c"))
messages = set(asserted("src/proto/message.c")) | set(numbered("src/proto/message.h"))
assert len(pages) > 30 and len(messages) > 25
same = [compare(pages, set(documented("docs/page-layout.md")), "page-layout.md"),
        compare(messages, set(documented("docs/protocol.md")), "protocol.md")]
sys.exit(not all(same))
