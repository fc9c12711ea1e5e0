# SPDX-License-Identifier: Apache-2.0
"""One of those who are measured: nothing, Aliquot, or a peer's preload library.

A peer is told in a file NAME.ini of this folder: `folders` that must exist, `private` ones that each
container has for itself, and the variables of [environment], of [memory] where memory is limited and
of [compute] where GPU time is. In their values {library}, {home} (a folder of the container), {uuid}
(of the card), {memory_bytes}, {memory_mib} and {percent} are filled in.
"""
import configparser
import os
import pathlib

from stage import BUILD, LIBRARY

SIMULATED = BUILD / "src/sim/driver"
HERE = pathlib.Path(__file__).resolve().parent
ENTER = 'while [ "$1" != -- ]; do mkdir -p "$1" "$2" && mount --bind "$2" "$1" || exit 125; shift 2; done; shift; exec "$@"'


class Side:
    """Nothing in front of the driver."""
    name, commit, library = "bare", "", None
    private = ()

    def variables(self, limits):
        return {}


class Ours(Side):
    name, library = "Aliquot", LIBRARY

    def variables(self, limits):
        asked = {"ALIQUOT_MEMORY": "memory_bytes", "ALIQUOT_COMPUTE": "percent"}
        return {name: str(limits[key]) for name, key in asked.items() if key in limits}


class Peer(Side):
    def __init__(self, name, library, more=()):
        """`more`: pairs of a variable and its value, beside those of the file."""
        file = HERE / f"{name}.ini"
        if not file.exists():
            raise SystemExit(f"bench/peers: no {file.name}; there are: {', '.join(sorted(f.stem for f in HERE.glob('*.ini')))}")
        told = configparser.ConfigParser(interpolation=None)
        told.optionxform = str  # variables are told apart by case
        told.read(file, encoding="utf-8")
        self.name, self.library = name, pathlib.Path(library).resolve()
        if not self.library.exists():
            raise SystemExit(f"bench/peers: no {self.library}")
        self.commit = told["peer"]["tried_with"]
        self.private = told["peer"].get("private", "").split()
        self.parts = {part: dict(told[part]) for part in ("environment", "memory", "compute")}
        self.parts["environment"].update(more)
        for folder in told["peer"].get("folders", "").split():
            os.makedirs(folder, exist_ok=True)
        if self.private and os.geteuid() != 0:
            raise SystemExit(f"bench/peers: {name} needs root, for folders of each container's own")

    def variables(self, limits):
        parts = self.parts["environment"] | (self.parts["memory"] if "memory_bytes" in limits else {}) \
            | (self.parts["compute"] if "percent" in limits else {})
        return {name: value.format(library=self.library, **limits) for name, value in parts.items()}


def command(side, home, words):
    """`words`, where the folders of a container are its own."""
    if not side.private:
        return words
    pairs = [word for folder in side.private for word in (folder, str(home / folder.strip("/").replace("/", "-")))]
    return ["unshare", "--mount", "sh", "-c", ENTER, "sh", *pairs, "--", *words]
