# SPDX-License-Identifier: Apache-2.0
"""A wall clock that a test sets (kill/wall_clock.c).

    clock = WallClock(sim)
    daemon.start(**clock.variables)
    clock.ahead(hours=2)            # of the machine's, from now on
"""
import os


class WallClock:
    def __init__(self, sim):
        self.path = sim.folder / "wall-clock"
        self.path.write_bytes(bytes(8))
        preload = [os.environ.get("ALIQUOT_SANITIZER", ""), str(sim.build.folder / "tests/kill/wall-clock.so")]
        self.variables = {"LD_PRELOAD": ":".join(filter(None, preload)), "WALL_CLOCK": self.path}

    def ahead(self, hours):
        """Below 0: behind."""
        with open(self.path, "r+b") as file:
            file.write(int(hours * 3600 * 10**9).to_bytes(8, "little", signed=True))
