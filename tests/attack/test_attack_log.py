# SPDX-License-Identifier: Apache-2.0
"""How many lines of the log are about one user is not for that user to say."""
import time

from daemon import wait_for
from tenant import create, holding, needs_root

pytestmark = needs_root

ROWS, CHANGES = 1000, 3000
EVENTS_BURST, EVENTS_A_SECOND = 1000, 50  # src/daemon/base/owner_log.h


def test_slots_that_lie_are_one_line_of_a_search(served, tenant):
    """A thousand slots name a living process, each with a start that is not its own."""
    daemon = served()
    attacker = tenant(daemon)
    create(attacker, "theirs", "4KiB")
    with holding(attacker, "lying_rows.py", ROWS, attacker.folder("theirs") / "slots"):
        before = daemon.said().count("\n")
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=true").status == 202
        wait_for(lambda: daemon.session("theirs") is None, daemon.said)
    wait_for(lambda: f"{ROWS} slots of sessions of user {attacker.uid}" in daemon.said(), daemon.said)
    assert daemon.said().count("\n") - before < 20


def lines_about(daemon, user):
    return [line for line in daemon.said().splitlines() if f"slots of sessions of user {user.uid} " in line]


def test_what_two_users_do_wrong_is_told_of_each(served, tenant, neighbour):
    """How many lines each of them has: tests/unit/daemon/test_owner_log.c."""
    daemon = served()
    users = tenant(daemon), neighbour(daemon)
    for user in users:
        create(user, f"of-{user.uid}", "4KiB")
        with holding(user, "lying_rows.py", 10, user.folder(f"of-{user.uid}") / "slots"):
            assert user.ask("DELETE", f"/v1/sessions/of-{user.uid}?force=true").status == 202
            wait_for(lambda user=user: daemon.session(f"of-{user.uid}") is None, daemon.said)
    # A search ends after its session.
    wait_for(lambda: [len(lines_about(daemon, user)) for user in users] == [1, 1], daemon.said)


def test_lines_about_what_a_user_asks_for_have_a_rate(served, tenant):
    """The audit trail has all of it; the log says how much it leaves out."""
    daemon = served("[audit]\nkeep_rows = 100000\n")
    attacker = tenant(daemon)
    attacker.create("theirs", "4KiB")
    began = time.monotonic()
    assert attacker.python("flood_trail.py", daemon.socket, "theirs", CHANGES, preload=False).rc == 0
    most = EVENTS_BURST + (time.monotonic() - began) * EVENTS_A_SECOND + 50
    assert EVENTS_BURST < daemon.said().count("theirs changed by") < most < CHANGES
    assert f"lines about user {attacker.uid} were left out" in daemon.said()
    assert daemon.get("/v1/sessions/theirs").json["version"] == CHANGES + 1
