# SPDX-License-Identifier: Apache-2.0
"""What a tenant does with the names of sessions, which are of all users together.

A program that has limits and no name in its environment looks for a session that is named by a hash of its user
and its limits. Anybody can work that name out; here it is read where the program made its session.
"""
import os

import pytest

from cli import AWAY
from script import MIB, NOT_PERMITTED, Script
from tenant import needs_root

LIMIT = "200MiB"
pytestmark = needs_root


@pytest.fixture
def attacked(served, tenant):
    """The attacker, and the name that root's next program with LIMIT will look for."""
    daemon = served()
    attacker = tenant(daemon)
    with roots_program(daemon.sim) as gpu:
        gpu.ready()
        name, = (folder.name for folder in (daemon.sim.runtime / "sessions").iterdir())
    assert name.startswith("env-")
    assert daemon.sim.aliquot("rm", name).rc == 0
    return attacker, name


def roots_program(sim):
    return Script(sim, ALIQUOT_MEMORY=LIMIT)


def command(tenant, *words):
    return tenant.run([tenant.sim.build.aliquot, *words])


def test_nobody_is_given_the_name_that_a_program_will_look_for(attacked):
    """Its owner would list root's program, change its limits, and kill it by cutting `slots` short."""
    attacker, name = attacked
    body = f'{{"name":"{name}","memory":"{LIMIT}","on_end":"kill"}}'
    for answer in (attacker.ask("POST", "/v1/sessions", body), attacker.daemon.post("/v1/sessions", body)):
        assert answer.status == 400 and "name: expected another beginning than env-" in answer.json["detail"], answer
    with roots_program(attacker.sim) as gpu:
        assert gpu.ready().values("info")[1] == 200 * MIB
        assert attacker.folder(name).stat().st_uid == 0 and (attacker.folder(name) / "slots").stat().st_uid == 0
        assert attacker.ask("GET", "/v1/sessions").json["sessions"] == []
        assert attacker.run(["truncate", "-s", "0", attacker.folder(name) / "slots"]).rc == 1
        gpu.do(f"alloc 1 {100 * MIB}")


def test_a_program_does_not_join_another_users_session_that_it_was_not_given(attacked):
    """Whatever put it there: root is let in at any session's socket, so that the program asks there is wrong already."""
    attacker, name = attacked
    attacker.create("theirs", memory=LIMIT)
    attacker.folder(name).mkdir(mode=0o700)
    for part in ("limits", "slots", "socket"):
        os.link(attacker.folder("theirs") / part, attacker.folder(name) / part)
    with roots_program(attacker.sim) as gpu:
        assert gpu.code("init") == NOT_PERMITTED
        gpu.kill()
        said = gpu.process.stderr.read()
    assert f"slots belongs to user {attacker.uid}, expected 0" in said and "GPU calls are refused" in said, said
    assert attacker.ask("GET", "/v1/sessions/theirs/processes").json == []


def test_root_is_in_another_users_session_where_it_says_so(served, tenant):
    """Root may act for a tenant; the name is then in the program's environment."""
    attacker = tenant(served())
    attacker.create("theirs", memory=LIMIT)
    with Script(attacker.sim, ALIQUOT_SESSION="theirs") as gpu:
        assert gpu.ready().values("info")[1] == 200 * MIB
        process, = attacker.ask("GET", "/v1/sessions/theirs/processes").json
        assert process["pid"] == gpu.process.pid


@pytest.mark.parametrize("is_away", [False, True], ids=["served", "away"])
def test_a_session_with_slots_cut_short_is_removed_by_the_daemon_alone(cli, served, tenant, is_away):
    """Its owner cannot write the folder, so the command does not try."""
    cli.that_asks_daemons()
    daemon = served()
    attacker = tenant(daemon)
    attacker.create("theirs")
    os.truncate(attacker.folder("theirs") / "slots", 0)
    if is_away:
        daemon.kill()
    removal = command(attacker, "rm", "--force", "theirs")
    if is_away:
        assert removal.rc == AWAY and "session theirs is a daemon's, and none serves" in removal.stderr, removal
        unknown = command(attacker, "rm", "--force", "nobodys")
        assert unknown.rc == 1 and "Bad file descriptor" not in unknown.stderr, unknown
    else:
        assert removal.rc == 0, removal
    assert attacker.folder("theirs").exists() == is_away
