# SPDX-License-Identifier: Apache-2.0
"""The daemon comes and goes; sessions and programs stay."""
import contextlib
import http.client
import os
import shutil
import socket
import sqlite3
import threading
import time
import uuid
from itertools import count
from random import Random

import pytest

from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from script import MIB, OUT_OF_MEMORY, SUCCESS, Script

TENANTS = 4
KILLS = 25
SEED = 4


@pytest.fixture
def daemon(sim):
    sim.configure(gpus=2, memory="1GiB")
    return Daemon(sim).start()


def steady(session):
    """What no restart changes."""
    return {key: session[key] for key in ("id", "name", "owner", "version", "created_at", "expires_at", "labels")}


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_restart_under_running_programs(daemon, sim, how):
    for i in range(TENANTS):
        daemon.create(f"t{i}", "192MiB", labels={"n": str(i)}, ttl="1h")
    before = [steady(session) for session in daemon.get("/v1/sessions").json["sessions"]]
    tenants = [Script(sim, ALIQUOT_SESSION=f"t{i}").__enter__() for i in range(TENANTS)]
    on = {s["name"]: s["devices"][0]["uuid"] for s in daemon.get("/v1/sessions").json["sessions"]}
    index = {d["uuid"]: d["index"] for d in daemon.get("/v1/devices").json["devices"]}
    for i, gpu in enumerate(tenants):
        gpu.do("init", f"context 0 {index[on[f't{i}']]}", f"alloc 1 {64 * MIB}")
    for round_ in range(3):
        assert getattr(daemon, how)() in (daemon, 0)
        for gpu in tenants:  # while it is away: the last limits hold
            gpu.do(f"alloc 2 {32 * MIB}", "free 2")
            assert gpu.code(f"alloc 3 {192 * MIB}") == OUT_OF_MEMORY
        daemon.start()
        for gpu in tenants:
            gpu.do(f"alloc 2 {32 * MIB}", "free 2")
        assert [steady(s) for s in daemon.get("/v1/sessions").json["sessions"]] == before, round_
    assert daemon.patch("/v1/sessions/t0", {"memory": "256MiB"}).status == 200
    assert tenants[0].values("info")[1] == 256 * MIB
    assert [s["processes"] for s in daemon.get("/v1/sessions").json["sessions"]] == [1] * TENANTS
    for gpu in tenants:
        gpu.__exit__()


def crowd(database):
    """The one session of the database, 4096 times more."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        session, = connection.execute("SELECT * FROM session").fetchall()
        share, = connection.execute("SELECT * FROM share").fetchall()
        for i in range(4096):
            other = uuid.uuid4().bytes
            for table, row in ("session", (other, f"copy{i}", *session[2:])), ("share", (other, *share[1:])):
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def test_more_sessions_than_a_node_has_stop_the_start_and_nothing_else(daemon, sim):
    """What cannot be restored would be promised to others too: no daemon is better than that one."""
    daemon.create("a", "300MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.do("init", "context 0 0", f"alloc 1 {64 * MIB}")
        daemon.stop()
        crowd(daemon.state / "aliquot.db")
        refused = sim.run(daemon.words())
        assert refused.rc == 1, refused
        assert "makes no sense (there are too many); --reset-database" in refused.stderr
        gpu.do(f"alloc 2 {64 * MIB}")  # its folder was not taken for nobody's


def test_after_a_reboot_sessions_are_made_again(daemon, sim):
    made = daemon.create("a", "300MiB", gpus=["1"], ttl="1h")
    daemon.kill()
    shutil.rmtree(sim.runtime)
    sim.runtime.mkdir(mode=0o700)
    daemon.start()
    assert steady(daemon.session("a")) == steady(made)
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.do("init", "context 0 1")
        assert gpu.values("info")[1] == 300 * MIB


def test_what_expires_while_it_is_away_ends_when_it_is_back(daemon, sim):
    daemon.create("short", on_end="kill", ttl=1)
    daemon.create("long", ttl="1h")
    with Script(sim, ALIQUOT_SESSION="short") as gpu:
        gpu.do("init")
        assert gpu.code("context 0 0") == SUCCESS or gpu.code("context 0 1") == SUCCESS
        daemon.kill()
        gone = time.time()
        wait_for(lambda: time.time() > gone + 1)
        daemon.start()
        assert gpu.process.wait(HANG_SECONDS) == -9
    wait_for(lambda: daemon.names() == ["long"], daemon.said)


def test_a_second_daemon_is_refused_with_the_pid_of_the_first(daemon, sim):
    second = sim.run(daemon.words(), ALIQUOT_SIM=None)
    assert second.rc == 1 and f"(pid {daemon.process.pid})" in second.stderr, second
    assert daemon.is_up()
    daemon.kill().start()


def test_a_second_daemon_is_refused_also_where_the_lock_was_deleted(daemon, sim):
    """It would hold all sessions for nobody's, and remove their folders."""
    daemon.create("a")
    for state in (sim.folder / "other-state", daemon.state):
        (sim.runtime / "daemon.lock").unlink(missing_ok=True)
        words = [state if word == daemon.state else word for word in daemon.words()]
        second = sim.run(words, ALIQUOT_SIM=None)
        assert second.rc == 1 and f"another aliquotd (pid {daemon.process.pid}) serves" in second.stderr, second
        assert not (sim.runtime / "daemon.lock").exists()  # one that nobody holds would tell of no daemon
    assert daemon.is_up() and daemon.names() == daemon.folders() == ["a"]
    assert daemon.kill().start().names() == ["a"]


def test_two_runtime_folders_do_not_share_a_database(daemon, sim):
    """Root's daemons have the same one by default: the second would make the first's sessions again, and
    promise their memory twice."""
    other = sim.folder / "other"
    other.mkdir(mode=0o700)
    words = [*daemon.words(), "--runtime-dir", other]
    words.remove("--runtime-dir")
    words.remove(sim.runtime)
    beside = sim.run(words, ALIQUOT_SIM=None)
    assert beside.rc == 1 and f"(pid {daemon.process.pid}: " in beside.stderr, beside
    assert "another process has it open" in beside.stderr and "--state-dir" in beside.stderr, beside
    daemon.create("a")
    daemon.stop()
    after = sim.run(words, ALIQUOT_SIM=None)
    assert after.rc == 1 and f"holds the sessions of {sim.runtime}, where a is" in after.stderr, after
    assert not (other / "sessions/a").exists()
    assert daemon.start().names() == ["a"]


def replace_by_a_users_own(sim, name):
    """As after a reboot, when its user was faster than the daemon."""
    shutil.rmtree(sim.runtime / "sessions" / name, ignore_errors=True)
    elsewhere = sim.folder / "elsewhere"
    made = sim.aliquot("create", name, "--memory", "64MiB", ALIQUOT_RUNTIME_DIR=elsewhere)
    assert made.rc == 0, made
    (elsewhere / "sessions" / name).rename(sim.runtime / "sessions" / name)


def failed_actions(daemon):
    return daemon.metrics()["aliquot_actions_failed_total"]


def test_a_session_that_a_user_made_is_left_alone_and_ours_waits_for_its_end(daemon, sim):
    daemon.create("a")
    daemon.kill()
    replace_by_a_users_own(sim, "a")
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready()
        daemon.start()
        assert daemon.patch("/v1/sessions/a", {"memory": "128MiB"}).status == 503
        gpu.do("alloc 1 1048576")
        shown = sim.aliquot("show", "a", "--json").json
        assert shown["made_by"] == "user" and shown["devices"][0]["memory_bytes"] == 64 * MIB, shown
    failed = failed_actions(daemon)
    wait_for(lambda: failed_actions(daemon) >= failed + 3)
    assert daemon.said().count("error: session a: ") == 1 and "its user's own session" in daemon.said(), daemon.said()
    assert sim.aliquot("rm", "a").rc == 0
    wait_for(lambda: daemon.folders() == ["a"], daemon.said)
    assert sim.aliquot("show", "a", "--json").json["made_by"] == "daemon"


def test_a_session_whose_folder_is_a_users_ends_without_it(daemon, sim):
    daemon.create("a")
    replace_by_a_users_own(sim, "a")
    answer = daemon.delete("/v1/sessions/a")
    assert answer.status == 204, answer
    assert daemon.names() == [] and daemon.folders() == ["a"]
    assert "error:" not in daemon.said(), daemon.said()
    assert sim.aliquot("show", "a", "--json").json["made_by"] == "user"
    assert sim.aliquot("set", "a", "--memory", "96MiB").rc == 0


def test_a_folder_that_is_nobodys_is_kept_aside(daemon, sim):
    daemon.create("a")
    daemon.kill()
    with open(sim.runtime / "sessions/a/limits", "r+b") as limits:
        limits.write(bytes(64))
    daemon.start()
    assert "is kept as" in daemon.said()
    kept = [p for p in (sim.runtime / "sessions").iterdir() if p.name.startswith(".kept-")]
    assert len(kept) == 1 and (kept[0] / "limits").exists()
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.do("init")
        assert 0 in (gpu.code("context 0 0"), gpu.code("context 0 1"))
        assert gpu.values("info")[1] == 256 * MIB


def test_a_damaged_database_is_refused_and_programs_go_on(daemon, sim):
    daemon.create("a", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready()
        daemon.kill()
        database, = daemon.state.glob("*.db")
        for journal in daemon.state.glob("*.db-*"):
            journal.unlink()
        database.write_bytes(b"not a database, " * 1000)
        refused = sim.run(daemon.words(), ALIQUOT_SIM=None)
        assert refused.rc == 1 and "--reset-database" in refused.stderr, refused
        gpu.do("alloc 1 1048576")
        daemon.start("--reset-database")
        assert daemon.names() == ["a"] and len(list(daemon.state.iterdir())) > 1
        gpu.do("free 1")


def test_the_config_is_read_again_on_sighup(daemon):
    daemon.reload("[admission]\nreserve = 512MiB\n")
    refused = daemon.post("/v1/sessions", {"memory": "768MiB"})
    assert refused.status == 409 and refused.json["free_bytes"] == 512 * MIB, refused
    daemon.reload("[admission]\nreserve = rubbish\n")
    refused = daemon.said().split("config read again", 1)[1]
    assert "reserve" in refused and "the config is as before" in refused and "config read again" not in refused, refused
    assert daemon.post("/v1/sessions", {"memory": "768MiB"}).status == 409


def test_without_a_driver_it_runs_says_so_and_admits_nothing(sim, tmp_path):
    daemon = Daemon(sim)
    daemon.words = lambda *flags: [daemon.program, "--config", daemon.config, "--runtime-dir", sim.runtime,
                                   "--state-dir", daemon.state, *flags]
    daemon.start(ALIQUOT_REAL_LIBNVML=tmp_path / "none.so")
    ready = daemon.get("/readyz")
    assert ready.status == 503 and "driver" in ready.json["detail"], ready
    assert daemon.get("/v1/devices").json["devices"] == []
    refused = daemon.post("/v1/sessions", {"memory": "1MiB"})
    assert refused.status == 409 and refused.json["type"] == "/problems/no-gpu", refused


def test_a_service_manager_is_told(sim):
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = sim.folder / "notify"
    told.bind(str(path))
    told.settimeout(60)
    daemon = Daemon(sim).start(NOTIFY_SOCKET=path)
    assert told.recv(100) == b"READY=1"
    daemon.reload("")
    assert [told.recv(100), told.recv(100)] == [b"RELOADING=1", b"READY=1"]
    assert daemon.stop() == 0 and told.recv(100) == b"STOPPING=1"
    assert not daemon.socket.exists()
    told.close()


def test_a_database_that_is_deleted_under_it_is_written_anew(daemon):
    daemon.create("a")
    (daemon.state / "aliquot.db").unlink()
    wait_for(lambda: daemon.said().count("it is written anew, whole") == 1, daemon.said)
    (daemon.state / "aliquot.db").unlink()
    daemon.create("b")  # also where nobody has looked since
    assert daemon.said().count("it is written anew, whole") == 2 and daemon.get("/readyz").status == 200
    assert daemon.kill().start().names() == daemon.folders() == ["a", "b"]


def test_a_database_whose_folder_is_deleted_waits_for_it(daemon):
    """It may be meant: nothing is made again for which nobody asked."""
    daemon.create("a")
    daemon.state.rename(daemon.state.with_name("gone"))  # at once: a look could fall between two deletions
    refused = daemon.post("/v1/sessions", {"name": "b", "memory": "1MiB"})
    assert refused.status == 503 and f"{daemon.state}: No such file or directory" in refused.json["detail"], refused
    assert daemon.get("/readyz").status == 503 and not daemon.state.exists() and daemon.folders() == ["a"]
    daemon.state.mkdir(mode=0o700)
    wait_for(lambda: daemon.get("/readyz").status == 200, daemon.said)
    assert daemon.kill().start().names() == ["a"]


def test_a_database_that_is_replaced_under_it_is_left_alone_and_nothing_is_promised(daemon):
    path = daemon.state / "aliquot.db"
    daemon.create("a")
    shutil.copy(path, daemon.state / "copy")
    (daemon.state / "copy").rename(path)
    theirs = path.read_bytes()
    for _ in range(3):
        refused = daemon.post("/v1/sessions", {"name": "b", "memory": "1MiB"})
        assert refused.status == 503 and f"{path} was replaced under this daemon" in refused.json["detail"], refused
    ready = daemon.get("/readyz")
    assert ready.status == 503 and f"{path} was replaced" in ready.json["detail"], ready
    assert daemon.said().count(f"{path} was replaced") == 2, daemon.said()  # of itself, and of what failed
    assert path.read_bytes() == theirs and daemon.names() == daemon.folders() == ["a"]
    path.unlink()
    wait_for(lambda: daemon.get("/readyz").status == 200, daemon.said)
    daemon.create("b")
    assert daemon.kill().start().names() == ["a", "b"]


@pytest.mark.needs("mounts")
def test_a_full_disk_refuses_changes_and_loses_nothing(sim, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    assert os.system(f"mount -t tmpfs -o size=2m none {small}") == 0
    try:
        daemon = Daemon(sim)
        daemon.state = small / "state"
        daemon.start()
        daemon.create("kept")
        with open(small / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                pass
        answers = [daemon.post("/v1/sessions", {"name": f"n{i}", "memory": "1MiB"}) for i in range(50)]
        refused = [answer for answer in answers if answer.status == 503]
        for word in ("nothing was changed", "is full"):  # said, and said once
            assert all(answer.json["detail"].count(word) == 1 for answer in refused), refused
        assert refused and refused[0].json["type"] == "/problems/unavailable", answers
        assert daemon.names() == daemon.folders() == sorted(
            ["kept"] + [f"n{i}" for i, answer in enumerate(answers) if answer.status == 201])
        (small / "filler").unlink()
        daemon.create("after")
        names = daemon.names()
        daemon.kill().start()
        assert daemon.names() == names
        daemon.stop()
    finally:
        os.system(f"umount -l {small}")


def test_killed_at_any_instant_it_loses_nothing_that_it_granted(daemon, sim):
    """Tenants make, change and end sessions while the daemon is killed again and again. What was
    answered is so, what was not is whole or not at all, and a program in the midst of it works on."""
    daemon.create("steady", "64MiB", gpus=["0"])
    random = Random(SEED)
    sure, unsure = {"steady"}, set()
    with Script(sim, ALIQUOT_SESSION="steady") as gpu:
        gpu.ready()
        for round_ in range(KILLS):
            threading.Timer(random.uniform(0, 0.05), daemon.process.kill).start()
            for i in count():
                name, verb = f"r{round_}-{i}", random.choice(["create", "change", "end"])
                target = name if verb == "create" else random.choice(sorted(sure))
                if verb == "end" and target == "steady":
                    continue
                try:
                    answer = attempt(daemon, verb, target)
                except (OSError, http.client.HTTPException):
                    unsure.add(target)
                    sure.discard(target)
                    break
                if answer.status == 201:
                    sure.add(name)
                elif answer.status in (202, 204):
                    sure.discard(target)
                else:
                    assert answer.status in (200, 409), answer
            daemon.process.wait(HANG_SECONDS)
            gpu.do("alloc 1 1048576", "free 1")
            daemon.start()
            wait_for(lambda: set(daemon.names()) == set(daemon.folders()), daemon.said)
            there = set(daemon.names())
            assert sure <= there | {"steady"} and there <= sure | unsure, (round_, sure ^ there, unsure)
            if "steady" in unsure:
                assert "steady" in there
            sure, unsure = there, set()
        promised = sum(d["promised_bytes"] for d in daemon.get("/v1/devices").json["devices"])
        assert promised == sum(d["memory_bytes"] for s in daemon.get("/v1/sessions?limit=1000").json["sessions"]
                               for d in s["devices"])


def attempt(daemon, verb, name):
    if verb == "create":
        return daemon.post("/v1/sessions", {"name": name, "memory": "1MiB"})
    if verb == "change":
        return daemon.patch(f"/v1/sessions/{name}", {"memory": "2MiB" if name != "steady" else "80MiB"})
    return daemon.delete(f"/v1/sessions/{name}")
