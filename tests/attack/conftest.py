# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the attacks: root's daemon that serves every user, and two of them.

    served      aliquotd of root on a simulated card of 1 GiB; served("[watch]\\n...") adds to its config
    tenant      the user who attacks; tenant(daemon)
    neighbour   another user, who must not notice; neighbour(daemon)
"""
import pytest

from daemon import Daemon
from script import replay
from tenant import Tenant

ATTACKER, NEIGHBOUR = 64001, 64002
OPEN_TO_ALL = "[socket]\nmode = 0666\n"


@pytest.fixture
def served(sim):
    def start(config="", *flags):
        replay(sim, ["init", "context 0 0"], preload=False)  # the card's files are there, for Tenant to open
        return Daemon(sim, OPEN_TO_ALL + config).start(*flags)
    return start


@pytest.fixture
def tenant():
    return lambda daemon: Tenant(daemon, ATTACKER)


@pytest.fixture
def neighbour():
    return lambda daemon: Tenant(daemon, NEIGHBOUR)
