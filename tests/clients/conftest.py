# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests with programs that others wrote, on the simulated card, unmodified.

    client      client("nvtop") is its path, client("numba-cuda") that of a Python which can import
                it; the test is skipped, with the reason, where the client cannot be had
    share       runs or starts a command in a share, by each of the two doors in turn: `aliquot run`
                (a preload), and the facades in LD_LIBRARY_PATH
    trainer     starts a program in a share that holds memory there
    screen      what a program draws on a terminal of 100 columns and 30 lines

Clients and versions: docs/clients.md, which says for each what it calls.
"""
import functools
import pathlib
import subprocess

import pytest

import place
from cli import UNSET, Command

HERE = pathlib.Path(__file__).parent
FETCH_SECONDS = 900  # PyCUDA is built from its source
SCREEN_SECONDS = 30


class Share:
    """One of the doors to a share. HOME is empty there: the tools keep their settings in it."""
    def __init__(self, sim, facades=False):
        self.sim, self.facades = sim, facades

    def _call(self, command, memory, session, variables):
        """The words and the options with which the node starts the command in the share."""
        options = {"HOME": self.sim.folder, "LANG": "C.UTF-8", "LC_ALL": None, **variables}
        if self.facades:
            wishes = {"ALIQUOT_MEMORY": memory, "ALIQUOT_SESSION": session}
            return command, {"shims": True, **wishes, **options}
        flags = [word for flag, value in (("--memory", memory), ("--session", session)) if value
                 for word in (flag, value)]
        return Command(self.sim).words("run", *flags, "--", *command), {**UNSET, **options}

    def run(self, command, memory=None, session=None, **variables):
        words, options = self._call(command, memory, session, variables)
        return self.sim.run(words, **options)

    def start(self, command, memory=None, session=None, **variables):
        words, options = self._call(command, memory, session, variables)
        return self.sim.start(words, **options)


@pytest.fixture(params=("aliquot-run", "facades"))
def share(sim, request):
    return Share(sim, request.param == "facades")


@pytest.fixture(scope="session")
def fetch(build):
    """Makes sure of the clients named, or of all; {name: (path, why not)}."""
    def fetch_clients(*names):
        done = subprocess.run([build.source / "tools/fetch-clients", *names], capture_output=True,
                              text=True, timeout=FETCH_SECONDS, check=True)
        rows = [(line + "\t").split("\t") for line in done.stdout.splitlines()]
        return {name: (path, why) for name, path, why, *_ in rows}
    return fetch_clients


@pytest.fixture(scope="session")
def client(fetch):
    @functools.cache
    def client_path(name):
        return fetch(name)[name]

    def client_or_skip(name):
        path, why = client_path(name)
        if not path:
            pytest.skip(f"{name} is not installed: {why}")
        return pathlib.Path(path)
    return client_or_skip


@pytest.fixture
def trainer(sim, build, hold):
    """Starts ./trainer in a share; gives the process and what its context and the bytes come to."""
    def trainer_start(share, size, **where):
        program = sim.folder / "trainer"
        if not program.exists():
            program.symlink_to(build.program("sim/hold"))
        return hold(0, size, start=share.start, program="./trainer", **where)
    return trainer_start


@pytest.fixture
def screen(client):
    """The words that draw a command on a terminal, to be run instead of it."""
    place.need("terminals")
    def screen_words(pattern, command):
        return [client("pyte"), HERE / "programs/screen.py", SCREEN_SECONDS, pattern, *command]
    return screen_words
