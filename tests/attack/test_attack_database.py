# SPDX-License-Identifier: Apache-2.0
"""The daemon's database is lost, and a tenant hopes to be forgotten with it: its programs would hold memory
that is promised to others. The daemon knows its sessions by files that no tenant can write."""
import shutil

import pytest

from script import MIB
from tenant import needs_root

pytestmark = needs_root

DEEDS = {
    "nothing": lambda slots: None,
    "opened to all": lambda slots: ["chmod", "666", slots],
    "closed to itself": lambda slots: ["chmod", "0", slots],
    "cut short": lambda slots: ["truncate", "-s", "0", slots],
}


@pytest.mark.parametrize("deed", DEEDS.values(), ids=DEEDS)
def test_a_session_is_adopted_for_its_owner_whatever_that_did_to_its_slots(served, tenant, neighbour, deed):
    daemon = served()
    attacker = tenant(daemon)
    made = attacker.create("a", "640MiB")
    words = deed(attacker.folder("a") / "slots")
    if words:
        done = attacker.run(words)
        assert done.rc == 0, done
    daemon.kill()
    shutil.rmtree(daemon.state)
    daemon.start()
    adopted = daemon.session("a")
    assert (adopted["id"], adopted["owner"], adopted["devices"][0]["memory_bytes"]) == \
        (made["id"], attacker.uid, 640 * MIB), adopted
    other = neighbour(daemon)
    refused = other.ask("POST", "/v1/sessions", '{"name":"b","memory":"512MiB"}')
    assert refused.status == 409 and refused.json["free_bytes"] == 384 * MIB, refused
    assert other.ask("GET", "/v1/sessions/a").status == 404


def test_a_tenant_cannot_make_the_folder_of_a_session_to_be_adopted(served, tenant):
    daemon = served()
    attacker = tenant(daemon)
    attacker.create("a")
    made = attacker.run(["cp", "-r", attacker.folder("a"), attacker.folder("b")])
    assert made.rc != 0 and "Permission denied" in made.stderr, made
    written = attacker.run(["truncate", "-s", "0", attacker.folder("a") / "limits"])
    assert written.rc != 0, written
    assert daemon.kill().start().names() == ["a"]
