#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each link of a page to a file, a heading or a picture of the tree leads to one that is there.

    check_links.py ROOT

Headings are named as GitHub names them. Links to other machines are not looked at.
"""
import functools
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def pages():
    yield from root.glob("*.md")
    for folder in ("docs", "deploy", "examples", "tests", "bench", "src"):
        yield from (root / folder).rglob("*.md")


@functools.lru_cache(None)
def anchors_of(path):
    seen, anchors = {}, set()
    for heading in HEADING.findall(FENCED.sub("", path.read_text())):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        anchors.add(f"{slug}-{count}" if count else slug)
    return anchors


def wrong_links(page):
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists():
            yield f"{page.relative_to(root)}: {link}: no such file"
        elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
            yield f"{page.relative_to(root)}: {link}: no such heading"


checked = sorted(pages())
wrong = [line for page in checked for line in wrong_links(page)]
assert len(checked) > 30, checked
print("\n".join(wrong))
sys.exit(bool(wrong))
