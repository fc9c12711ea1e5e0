# SPDX-License-Identifier: Apache-2.0
"""The command as a user types it: without ALIQUOT_ variables, the simulated card given by --sim.

    cli = Command(sim)
    result = cli("ls", "--json")
    result = cli.run("--memory", "1GiB", "--", program)     # aliquot run --sim=... --memory ...
"""
import pytest

UNSET = {"LD_LIBRARY_PATH": None, "ALIQUOT_SIM": None,
         "ALIQUOT_REAL_LIBCUDA": None, "ALIQUOT_REAL_LIBNVML": None}
AWAY = 3  # the exit status of a command that needs a daemon when none runs
TAKES_SIM = {"run", "env", "create", "set", "gpus", "doctor"}


class Command:
    def __init__(self, sim):
        self.sim = sim

    def that_asks_daemons(self):
        """Returns itself; skips the test if this build cannot ask a daemon."""
        if "can ask no daemon" in self("doctor").stdout:
            pytest.skip("aliquot was built without libcurl or jansson")
        return self

    def words(self, name, *arguments, sim=True):
        with_sim = [f"--sim={self.sim.spec}"] if sim and name in TAKES_SIM else []
        return [self.sim.build.aliquot, name, *with_sim, *arguments]

    def __call__(self, name, *arguments, sim=True, **options):
        return self.sim.run(self.words(name, *arguments, sim=sim), **{**UNSET, **options})

    def start(self, name, *arguments, sim=True, **options):
        return self.sim.start(self.words(name, *arguments, sim=sim), **{**UNSET, **options})

    def run(self, *arguments, **options):
        return self("run", *arguments, **options)

    def sessions(self):
        """The folders that exist, independent of what the command lists."""
        folder = self.sim.runtime / "sessions"
        return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []


def expect_away(result, *words):
    """Expects one line, after the line that it waits for the daemon."""
    lines = [line for line in result.stderr.splitlines() if "waiting for it" not in line]
    assert result.rc == AWAY and result.stdout == "" and len(lines) == 1, result
    assert all(word in lines[0] for word in words), result
