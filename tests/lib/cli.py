# SPDX-License-Identifier: Apache-2.0
"""The command as a user types it: no variable of ours set, the simulated card asked for by --sim.

    cli = Command(sim)
    result = cli("ls", "--json")
    result = cli.run("--memory", "1GiB", "--", program)     # aliquot run --sim=... --memory ...
"""
UNSET = {"LD_LIBRARY_PATH": None, "ALIQUOT_SIM": None,
         "ALIQUOT_REAL_LIBCUDA": None, "ALIQUOT_REAL_LIBNVML": None}
TAKES_SIM = {"run", "env", "create", "set", "gpus", "doctor"}


class Command:
    def __init__(self, sim):
        self.sim = sim

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
        """The folders there are, whatever the command says of them."""
        folder = self.sim.runtime / "sessions"
        return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
