# SPDX-License-Identifier: Apache-2.0
"""Terms that a tenant asks the daemon for, and what it is told of others' sessions."""
import json
import signal

from hang import HANG_SECONDS
from tenant import needs_root

MIB = 1 << 20
pytestmark = needs_root


def ask(who, **fields):
    return who.ask("POST", "/v1/sessions", json.dumps({"name": "theirs", "memory": "256MiB", **fields}))


def test_a_bounded_time_is_not_outlived_by_asking_for_a_mild_end(served, tenant):
    """Else the end of the session would take no memory from its programs, and its promise would stay."""
    daemon = served("[admission]\nttl_most = 1h\non_end = kill\n")
    attacker = tenant(daemon)
    refused = ask(attacker, on_end="deny-new")
    assert (refused.status, refused.json["field"]) == (400, "on_end"), refused
    assert ask(attacker).status == 201
    with attacker.script("theirs") as gpu:
        gpu.ready().do(f"alloc 1 {64 * MIB}")
        assert attacker.ask("PATCH", "/v1/sessions/theirs", '{"on_end":"term"}').status == 400
        assert daemon.patch("/v1/sessions/theirs", {"ttl": "100ms"}).status == 200
        assert gpu.process.wait(HANG_SECONDS) == -signal.SIGKILL


def test_contexts_without_a_charge_are_for_administrators(served, tenant):
    """Else many programs of a session of 1 MiB would take what is promised to a neighbour."""
    daemon = served()
    refused = ask(tenant(daemon), memory="1MiB", context="free")
    assert (refused.status, refused.json["field"]) == (400, "context"), refused
    assert ask(tenant(daemon), memory="1MiB", context="charge").status == 201
    assert daemon.create("roots", "1MiB", context="free", owner=tenant(daemon).uid)["context"] == "free"


def test_the_nodes_owner_may_let_all_have_contexts_without_a_charge(served, tenant):
    daemon = served("[admission]\ncontext_free = yes\n")
    answer = ask(tenant(daemon), context="free")
    assert (answer.status, answer.json["context"]) == (201, "free"), answer


def test_metrics_of_sessions_are_told_to_their_owners_alone(served, tenant, neighbour):
    daemon = served("[metrics]\nsessions = yes\n")
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("theirs")
    other.create("others")
    told = attacker.ask("GET", "/metrics").text
    assert 'session="theirs"' in told and "others" not in told
    told = daemon.get("/metrics").text
    assert 'session="theirs"' in told and 'session="others"' in told
