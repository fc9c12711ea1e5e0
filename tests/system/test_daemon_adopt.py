# SPDX-License-Identifier: Apache-2.0
"""The database loses what the daemon answered for, and no session is forgotten: at its start the daemon
compares the database with the folders of the sessions, and adopts, or refuses."""
import os
import shutil
from random import Random

import pytest

from daemon import Daemon, wait_for
from script import MIB, OUT_OF_MEMORY, Script

REMOVED = 1288  # docs/page-layout.md
CARD = 1024 * MIB
DAMAGES = 80
SEED = 6


@pytest.fixture
def daemon(sim):
    sim.configure(gpus=2, memory="1GiB")
    return Daemon(sim).start()


def grants(session):
    """What a session's folder knows of it too."""
    return {**{key: session[key] for key in ("id", "name", "owner", "context")},
            "devices": [{key: device[key] for key in ("uuid", "memory_bytes", "compute_percent", "guarantee_percent")}
                        for device in session["devices"]]}


def test_sessions_that_the_database_has_lost_are_adopted_from_their_folders(daemon, sim):
    daemon.create("a", "300MiB", compute=40, guarantee=30, context="free", labels={"n": "1"}, on_end="kill", ttl="1h")
    daemon.create("b", gpus=["0", "1"])
    before = [grants(session) for session in daemon.get("/v1/sessions").json["sessions"]]
    daemon.kill()
    shutil.rmtree(daemon.state)
    with Script(sim, ALIQUOT_SESSION="b") as gpu:
        gpu.ready()
        daemon.start()
        adopted = daemon.get("/v1/sessions").json["sessions"]
        assert sorted(map(str, map(grants, adopted))) == sorted(map(str, before))
        for session in adopted:  # what no folder says ends nobody
            assert (session["labels"], session["ttl_seconds"], session["on_end"]) == ({}, None, "deny-new"), session
        assert daemon.said().count("adopted from its folder") == 2
        assert {(e["type"], e["session"]) for e in daemon.events(most=2)} == {("adopted", "a"), ("adopted", "b")}
        gpu.do("alloc 1 1048576")
    assert daemon.kill().start().names() == ["a", "b"] and daemon.said().count("adopted from") == 2


def test_a_session_that_was_ending_is_adopted_as_one_that_ends(daemon, sim):
    daemon.create("empty")
    daemon.create("busy")
    with Script(sim, ALIQUOT_SESSION="busy") as gpu:
        gpu.ready()
        assert daemon.delete("/v1/sessions/busy?force=true").status == 202
        daemon.kill()
        with open(sim.runtime / "sessions/empty/limits", "r+b") as limits:  # shut, and killed before it was renamed
            limits.seek(REMOVED)
            limits.write(b"\1")
        shutil.rmtree(daemon.state)
        daemon.start()
        assert daemon.names() == daemon.folders() == ["busy"] and daemon.session("busy")["state"] == "ending"
        assert gpu.code("alloc 1 1048576") == OUT_OF_MEMORY
    wait_for(lambda: daemon.names() == daemon.folders() == [], daemon.said)


def test_a_folder_that_is_newer_than_the_database_holds(daemon, sim):
    """The end of a WAL was lost: limits are as they were changed last, and a name is whose it is now."""
    daemon.create("changed", "256MiB", gpus=["0"])
    daemon.create("again", "128MiB", gpus=["0"])
    daemon.create("ended", "512MiB", gpus=["0"])
    older = keep_database(daemon)
    assert daemon.patch("/v1/sessions/changed", {"memory": "320MiB"}).status == 200
    for name in ("again", "ended"):
        assert daemon.delete(f"/v1/sessions/{name}").status == 204
    again = daemon.create("again", "384MiB", gpus=["0"])
    daemon.create("new", "320MiB", gpus=["0"])
    daemon.kill()
    older()
    daemon.start()
    assert {s["name"]: s["devices"][0]["memory_bytes"] // MIB for s in daemon.get("/v1/sessions").json["sessions"]} \
        == {"changed": 320, "again": 384, "new": 320}
    assert daemon.session("again")["id"] == again["id"]
    assert daemon.get("/v1/devices").json["devices"][0]["promised_bytes"] == 1024 * MIB
    assert daemon.said().count("session ended has no folder, and no room") == 1
    assert daemon.kill().start().names() == daemon.folders()


def keep_database(daemon):
    """A copy of the database as it is; the answer puts it back. Not while it runs."""
    kept = daemon.state.with_name("older")
    daemon.stop()
    shutil.copytree(daemon.state, kept)
    daemon.start()

    def put_back():
        shutil.rmtree(daemon.state)
        kept.rename(daemon.state)
    return put_back


def test_a_folder_that_cannot_be_read_and_is_in_use_stops_the_start(daemon, sim):
    daemon.create("a", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready()
        daemon.kill()
        shutil.rmtree(daemon.state)
        with open(sim.runtime / "sessions/a/limits", "r+b") as limits:
            limits.write(bytes(8))
        refused = sim.run(daemon.words(), ALIQUOT_SIM=None)
        assert refused.rc == 1 and "programs run in a session that the database does not know" in refused.stderr
    daemon.start()
    assert daemon.names() == [] and "left alone: the folder a is no session's" in daemon.said()


def damage(daemon, random):
    """What happened, in words."""
    name = random.choice(["aliquot.db", "aliquot.db-wal", "aliquot.db-wal"])
    path = daemon.state / name
    kind = random.choice(["overwrite"] * 8 + ["cut", "delete", "delete all"])
    size = path.stat().st_size if path.exists() else 0
    if kind == "delete all":
        shutil.rmtree(daemon.state)
    elif kind == "delete":
        path.unlink(missing_ok=True)
    elif size and kind == "cut":
        os.truncate(path, random.randrange(size))
    elif size:
        with open(path, "r+b") as file:
            file.seek(random.randrange(size))
            file.write(random.randbytes(64))
    return f"{kind} {name} of {size}"


def change(daemon, random, sure):
    """Some changes; `sure` is what was answered for: the memory of each session."""
    for _ in range(random.randrange(1, 5)):
        name = f"s{random.randrange(8)}"
        mib = random.randrange(1, 64)
        if name not in sure:
            answer = daemon.post("/v1/sessions", {"name": name, "memory": f"{mib}MiB", "gpus": ["0"]})
            assert answer.status in (201, 409), answer
            if answer.status == 201:
                sure[name] = mib * MIB
        elif random.random() < 0.5:
            assert daemon.delete(f"/v1/sessions/{name}").status == 204
            del sure[name]
        else:
            answer = daemon.patch(f"/v1/sessions/{name}", {"memory": f"{mib}MiB"})
            assert answer.status in (200, 409), answer
            if answer.status == 200:
                sure[name] = mib * MIB


def starts(daemon):
    """Whether it does; else it has said why in one line."""
    daemon.log.write_text("")
    try:
        daemon.start()
    except AssertionError:
        lines = daemon.said().splitlines()
        assert daemon.process.returncode == 1, daemon.said()
        assert len([line for line in lines if line.startswith("aliquotd: ")]) == 1, daemon.said()
        return False
    return True


def test_whatever_is_damaged_every_session_is_known_or_the_start_is_refused(daemon):
    """A program holds most of a card while the daemon is killed and the database or its WAL damaged, again and again."""
    random = Random(SEED)
    sure = {"steady": 640 * MIB}
    refusals = adoptions = 0
    made = daemon.create("steady", "640MiB", gpus=["0"])
    kept = daemon.state.with_name("kept")
    with Script(daemon.sim, ALIQUOT_SESSION="steady") as gpu:
        gpu.do("init", "context 0 0", f"alloc 1 {384 * MIB}")
        for round_ in range(DAMAGES):
            change(daemon, random, sure)
            daemon.kill()
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(daemon.state, kept)
            what = f"round {round_}: {damage(daemon, random)}"
            if not starts(daemon):
                refusals += 1
                shutil.rmtree(daemon.state, ignore_errors=True)
                kept.rename(daemon.state)
                assert starts(daemon), (what, daemon.said())
            adoptions += daemon.said().count("its folder")
            known = {s["name"]: s["devices"][0]["memory_bytes"] for s in daemon.get("/v1/sessions").json["sessions"]}
            assert sure.items() <= known.items(), (what, sure, known, daemon.said())
            assert daemon.session("steady")["id"] == made["id"], what
            promised = sum(known.values())
            assert promised <= CARD, (what, known)
            # What a lost change had granted counts until the daemon has seen that it is not held.
            wait_for(lambda total=promised: daemon.get("/v1/devices").json["devices"][0]["promised_bytes"] == total,
                     lambda what=what, known=known: (what, known, daemon.get("/v1/devices").json))
            over = daemon.post("/v1/sessions", {"name": "over", "gpus": ["0"], "memory": CARD - promised + MIB})
            assert over.status == 409, (what, over)
            for name in known.keys() - sure.keys():  # removed in what was lost, and there again
                assert daemon.delete(f"/v1/sessions/{name}").status == 204
            gpu.do("alloc 2 1048576", "free 2")
    assert refusals and adoptions, (refusals, adoptions)
