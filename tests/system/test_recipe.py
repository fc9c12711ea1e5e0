# SPDX-License-Identifier: Apache-2.0
"""docs/add-a-function.md: followed line by line in a copy of the tree, it gives a function that is charged."""
import os
import pathlib
import re
import subprocess

import pytest

from build import Build
from node import Node

if os.environ.get("ALIQUOT_SANITIZER") or os.environ.get("ALIQUOT_EMULATOR"):
    pytest.skip("a tree is built here: once is enough", allow_module_level=True)

BLOCK = re.compile(r"^ *```diff\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
MADE = ("src/shim/libaliquot.so", "src/sim/driver/libcuda.so.1", "src/sim/driver/libnvidia-ml.so.1", "tests/programs/hooks/families",
        "tests/unit/shim/unit-shim-table")
BUILD_SECONDS = 1800
MIB = 1 << 20


def steps_of(page):
    """(file, what stands there, with what was added) of each block."""
    recipe = page.partition("\n## Steps")[2].partition("\n## ")[0]
    for block in BLOCK.findall(recipe):
        first, *lines = (line.removeprefix("   ") for line in block.splitlines())
        assert first.startswith("--- ") and all(line[:1] in (" ", "+") for line in lines), block
        yield (first.removeprefix("--- "), "".join(line[1:] + "\n" for line in lines if line[0] == " "),
               "".join(line[1:] + "\n" for line in lines))


def command(*words, cwd):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return done.stdout


@pytest.fixture
def copy(build, tmp_path):
    listed = command("git", "ls-files", "-z", cwd=build.source) if (build.source / ".git").exists() else None
    if not listed:
        pytest.skip("the sources are no git checkout: what belongs to them is not known")
    tree = tmp_path / "aliquot"
    for file in filter(None, listed.split("\0")):
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        (tree / file).write_bytes((build.source / file).read_bytes())
        (tree / file).chmod((build.source / file).stat().st_mode)
    return tree


def test_a_function_that_is_added_by_the_recipe_is_charged(build, copy):
    files = set()
    for file, before, after in steps_of((build.source / "docs/add-a-function.md").read_text()):
        text = (copy / file).read_text()
        assert text.count(before) == 1, (file, before)
        (copy / file).write_text(text.replace(before, after))
        files.add(file)
    assert len(files) == 5
    folder = copy / "build"
    command("meson", "setup", folder, "-Ddebug=false", "-Doptimization=0", cwd=copy)
    command("ninja", "-C", folder, *MADE, cwd=copy)
    command(folder / MADE[-1], cwd=copy)
    made = Build(folder)
    node = Node(made)
    try:
        held = node.run([made.program("hooks/families"), "special"], preload=True, ALIQUOT_MEMORY="256MiB")
        over = node.run([made.program("hooks/families"), "special"], preload=True, ALIQUOT_MEMORY="32MiB")
    finally:
        node.close()
    books = {tuple(line.split()[:2]): [int(size) for size in line.split()[2:]] for line in held.stdout.splitlines()}
    taken = [size - before for size, before in zip(books["special", "held"], books["start", "context"])]
    assert held.rc == 0 and taken == [48 * MIB, 48 * MIB], held  # charged, granted
    assert books["special", "end"] == books["start", "context"], held
    assert over.rc == 1, over
