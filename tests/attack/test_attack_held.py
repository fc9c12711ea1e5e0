# SPDX-License-Identifier: Apache-2.0
"""What a tenant holds on to so that others go without: its ended session's memory, places, the audit trail's rows."""
from daemon import wait_for
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


# -- The audit trail -------------------------------------------------------------------------------

def test_a_flood_of_events_pushes_out_its_own_alone(served, tenant, neighbour):
    """While there are more than `audit.keep_rows`, the user with the most rows loses its oldest."""
    daemon = served("[audit]\nkeep_rows = 100\n")
    attacker, other = tenant(daemon), neighbour(daemon)
    other.create("others", "64MiB")
    attacker.create("theirs", "64MiB")
    assert attacker.python("flood_trail.py", daemon.socket, "theirs", 600, preload=False).rc == 0
    end = daemon.get("/v1/sessions/theirs").json["version"]

    def rows():
        found = []
        for event in daemon.events():
            found.append(event)
            if event["session"] == "theirs" and event["detail"]["version"] == end:
                return found

    wait_for(lambda: len(rows()) <= 100, daemon.said)
    kept = [(event["session"], event["type"]) for event in rows()]
    assert ("others", "created") in kept and ("theirs", "created") not in kept and len(kept) == 100, kept
