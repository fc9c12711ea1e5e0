#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/threads name each thread that src/ starts, each lock, and each word that threads of the library
or of the daemon share without one; and nothing that is not there."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
PAGES = ("threads.md", "threads-library.md", "threads-time.md", "threads-cuda.md")
WORDS_OF = ("src/shim", "src/daemon")
STARTS = re.compile(r'\b(?:pthread_create|make|thread_start)\(&[\w>.-]+, (?:NULL|&attributes|"[\w-]+"), (\w+), ')
LOCK = re.compile(r"^\s*(?:static )?(?:_Alignas\(64\) )?(?:struct lock|pthread_mutex_t) (\w+)(?:\[\w+\])?(?: = \w+)?;")
ATOMIC = r"(?:_Atomic \w+|_Atomic\([^)]*\)|[\w ]+\*_Atomic)"
WORD = re.compile(rf"^(?:\s+(?:_Alignas\(64\) )?|static ){ATOMIC} (\w+)(?:\[\w+\])?(?: = [^;]*)?;")
BROKEN = re.compile(r"(_Atomic \w+|struct lock|pthread_mutex_t)\n\s+")  # a declaration of two lines
OPENS = re.compile(r"^(?:static )?(?:struct|union) (\w+)$|^(?:static |typedef )?(?:struct|union) (\w+) ?(?:__attribute__\S+ )?\{")


def sources():
    for path in sorted((root / "src").rglob("*.[ch]")):
        yield path.relative_to(root).as_posix(), BROKEN.sub(r"\1 ", path.read_text()).splitlines()


def declared(pattern, folders=("src",)):
    """(file, struct or None, name) of each."""
    for file, lines in sources():
        struct = None
        for line in lines:
            if opened := OPENS.match(line):
                struct = opened[1] or opened[2]
            elif re.match(r"^\S", line) and not line.startswith(("}", "{", "#", "/")):
                struct = None
            if (found := pattern.match(line)) and file.startswith(folders):
                yield file, struct if line[0] == " " else None, found[1]


def started():
    for file, lines in sources():
        yield from ((file, name) for name in STARTS.findall("\n".join(lines)))


def rows(*kinds):
    """Of tables whose first row names one of the kinds: its files, and the names in the next cell."""
    kind = None
    for line in (line for page in PAGES for line in [*(root / "docs" / page).read_text().splitlines(), ""]):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            kind = None
        elif kind is None:
            kind = next((cell for cell in cells if cell in ("lock", "words", "function")), "")
        elif kind in kinds and not cells[0].startswith("---"):
            at = next((i for i, cell in enumerate(cells) if cell.startswith("`src/")), None)
            if at is not None:
                for file in re.findall(r"`([^`]+)`", cells[at]):
                    yield from ((file, name) for name in re.findall(r"`([^`]+)`", cells[at + 1]))


def compare(what, code, docs):
    for file, name in sorted(code ^ docs):
        print(f"{what} {name} of {file}: {'in no page of docs/threads' if (file, name) in code else 'in a page of docs/threads only'}")
    return code == docs


def said(pattern, documented, folders=("src",)):
    """What the code declares, in the page's words: STRUCT.NAME where it says so, else NAME."""
    return {(file, f"{struct}.{name}") if (file, f"{struct}.{name}") in documented else (file, name)
            for file, struct, name in declared(pattern, folders)}


locks, words = set(rows("lock")), set(rows("words"))
threads = set(started())
assert len(threads) > 5 and len(locks) > 40 and len(words) > 60
same = [compare("thread", threads, set(rows("function"))),
        compare("lock", said(LOCK, locks), locks),
        compare("word", said(WORD, words, WORDS_OF), words)]
sys.exit(not all(same))
