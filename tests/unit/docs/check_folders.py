#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each folder of src/ has one row of the table in docs/architecture.md, and each row has its folder.

    check_folders.py ROOT

A folder with a build file alone needs no row, but the page must name it.
"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
page = (root / "docs/architecture.md").read_text()
named = collections.Counter(folder for row in page.splitlines() if row.startswith("| `src/")
                            for folder in re.findall(r"`(src/[\w/]+)/`", row.split("|")[1]))

folders = {path.relative_to(root).as_posix(): {entry.name for entry in path.iterdir()}
           for path in (root / "src").rglob("*") if path.is_dir() and any(path.glob("*"))}
builds_only = {folder for folder, entries in folders.items() if entries == {"meson.build"}}

wrong = [f"{folder} has no row" for folder in sorted(folders.keys() - builds_only - named.keys())]
wrong += [f"{folder} is no folder" for folder in sorted(named.keys() - folders.keys())]
wrong += [f"{folder} has {count} rows" for folder, count in sorted(named.items()) if count > 1]
wrong += [f"{folder} is not named" for folder in sorted(builds_only)
          if not re.search(rf"`(src/[\w/]+/)?{pathlib.Path(folder).name}`", page)]
assert len(folders) > 40 and builds_only, folders
print("\n".join(f"docs/architecture.md: {line}" for line in wrong))
sys.exit(bool(wrong))
