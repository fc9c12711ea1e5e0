# SPDX-License-Identifier: Apache-2.0
"""What a tenant holds on to so that others go without: its ended session's memory, places, the audit trail's rows."""
from tenant import needs_root

pytestmark = needs_root


# -- Places ----------------------------------------------------------------------------------------

def test_one_user_leaves_places_for_others(served, tenant, neighbour):
    """Without a word in the config a user has 512 sessions at most, and hears which key says so."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    result = attacker.python("take_places.py", daemon.socket, preload=False)
    made, status, told = result.stdout.split(" ", 2)
    assert (made, status) == ("512", "409") and "admission.sessions_per_owner" in told, result
    other.create("others", "64MiB")
    daemon.create("roots", "64MiB")
