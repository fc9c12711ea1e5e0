# SPDX-License-Identifier: Apache-2.0
"""A daemon that was upgraded keeps the sessions of programs that began with the library before (docs/decisions/012).

The daemon, the library and programs in virtual time. A program that joined before keeps the pages that it mapped, and
asks for their version no more: one whose pages say another version from then on is a program of that version to the
daemon that comes next. What such a program reads of them is at the same offsets in both versions.
"""
import struct

import pytest

from company import POINT, US, Company
from daemon import wait_for
from script import MIB, OUT_OF_MEMORY, SUCCESS, Script

OLDER, OWN, SWAP = 2, 3, 4  # PAGE_VERSION_OLDEST, PAGE_VERSION, PAGE_VERSION_SWAP
VERSION_AT = 8  # in both files
ALWAYS = 100_000  # seconds
LOAD = {"kind": "kernel", "ns": 200 * US, "seconds": ALWAYS}
CAP = 30


class Upgrade(Company):
    """A session with a cap, whose program stays, and another one beside it."""
    def __init__(self, sim):
        super().__init__(sim, [{"compute": CAP}, {}])
        self.load(0, **LOAD).load(1, **LOAD)
        self.pages = [sim.runtime / "sessions/s0" / name for name in ("limits", "slots")]
        assert self.versions() == [OWN, OWN]
        self.observe(1)  # all have joined

    def versions(self):
        return [struct.unpack_from("<I", path.read_bytes()[:16], VERSION_AT)[0] for path in self.pages]

    def to_version(self, version):
        """A daemon that is of another version than the pages of s0 comes in place of the one that made them."""
        self.daemon.kill()
        for path in self.pages:
            with open(path, "r+b") as file:
                file.seek(VERSION_AT)
                file.write(struct.pack("<I", version))
        self.daemon.start()

    def shares(self):
        seen = self.observe(3)
        return [seen.share(name, 1, 3) for name in ("s0", "s1")]

    def end(self, at):
        self.programs[at].kill()
        self.programs[at].wait()


@pytest.fixture
def upgrade(sim):
    return Upgrade(sim)


def test_programs_of_both_versions_have_their_shares(upgrade):
    """The older one's cap holds, also when it is changed, though it takes no turns; where the driver slices, it has less than
    its cap. The other has the rest."""
    mine, other = upgrade.shares()
    assert abs(mine - CAP / 100) < POINT and mine + other > 0.98, (mine, other)
    upgrade.to_version(OLDER)
    assert f"pages of version {OLDER}, not {OWN}" in upgrade.daemon.said()
    mine, other = upgrade.shares()
    assert CAP / 200 - POINT < mine < CAP / 100 + POINT and mine + other > 0.98, (mine, other)
    assert upgrade.daemon.patch("/v1/sessions/s0", {"compute": 10}).status == 200
    mine, other = upgrade.shares()
    assert 0.05 - POINT < mine < 0.1 + POINT and mine + other > 0.98, (mine, other)
    assert upgrade.versions() == [OLDER, OLDER]


def test_memory_of_a_session_of_the_older_version_is_kept_as_ever(sim, upgrade):
    upgrade.to_version(OLDER)
    assert upgrade.daemon.session("s0")["processes"] == 1
    assert upgrade.daemon.session("s0")["devices"][0]["used_bytes"] > 0
    assert upgrade.daemon.patch("/v1/sessions/s0", {"memory": "128MiB"}).status == 200
    assert upgrade.daemon.session("s0")["devices"][0]["memory_bytes"] == 128 * MIB


def test_programs_of_two_versions_do_not_meet_in_one_session(sim, upgrade):
    """Who comes is told both versions, and that the others are to end."""
    upgrade.to_version(OLDER)
    with Script(sim, ALIQUOT_SESSION="s0") as gpu:
        assert gpu.code("init") != SUCCESS
    said = gpu.process.stderr.read()
    assert f"version {OLDER}" in said and f"{OWN}" in said, said


def test_a_session_whose_older_programs_have_ended_takes_turns_again(sim, upgrade):
    upgrade.to_version(OLDER)
    upgrade.end(0)
    wait_for(lambda: upgrade.daemon.session("s0")["processes"] == 0, upgrade.daemon.said)
    assert upgrade.daemon.patch("/v1/sessions/s0", {"compute": CAP}).status == 200
    assert upgrade.versions() == [OWN, OWN]
    del upgrade.programs[0]
    upgrade.load(0, **LOAD)
    mine, other = upgrade.shares()
    assert abs(mine - CAP / 100) < POINT and mine + other > 0.98, (mine, other)
    with Script(sim, ALIQUOT_SESSION="s0") as gpu:
        assert gpu.ready().code(f"alloc 1 {65 * MIB}") == OUT_OF_MEMORY


@pytest.mark.parametrize("version", (OLDER - 1, SWAP, SWAP + 1))
def test_pages_of_a_version_that_is_neither_are_put_aside(sim, upgrade, version):
    """With a line of the log. Whoever has mapped them keeps its cap, and who comes has new ones."""
    upgrade.to_version(version)
    assert "a folder named s0 was not its session's; it is kept as" in upgrade.daemon.said()
    assert upgrade.versions() == [OWN, OWN]
    mine, other = upgrade.shares()
    assert mine < CAP / 100 + POINT and mine + other > 0.98, (mine, other)
    with Script(sim, ALIQUOT_SESSION="s0") as gpu:
        assert gpu.ready().code(f"alloc 1 {65 * MIB}") == OUT_OF_MEMORY
