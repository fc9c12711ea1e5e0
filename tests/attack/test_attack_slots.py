# SPDX-License-Identifier: Apache-2.0
"""What a tenant does to its own `slots`, the one file of the node that it may write."""
from tenant import needs_root

MIB = 1 << 20
pytestmark = needs_root


def test_a_tenant_uses_its_share_and_a_neighbour_its_own(served, tenant, neighbour):
    """The ground that every attack starts from."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("theirs")
    other.create("others")
    with attacker.script("theirs") as one, other.script("others") as two:
        one.ready().do(f"alloc 1 {64 * MIB}")
        two.ready().do(f"alloc 1 {64 * MIB}")
        assert daemon.session("theirs")["processes"] == daemon.session("others")["processes"] == 1
