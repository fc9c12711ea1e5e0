# SPDX-License-Identifier: Apache-2.0
"""Doors: a container has the share that its profile's name says, found by the kernel's word alone, for as long as it lives."""
import os
import select
import shutil
import socket
import stat
import sys
import time

import pytest

import joiner
import place
from container import Container, ask, fork, mounted
from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from joiner import ENDED, NOT_YOURS, OTHER_SESSION, TOO_MANY, WELCOME
from script import MIB, OUT_OF_MEMORY
from tenant import Tenant, needs_root, open_to_all, standing_still

SMALL, LARGE = "gpu0-256MiB-30", "512MiB-100-batch"
CONFIG = f"[profiles]\nnames = {SMALL} {LARGE}\n"
ASK_SECONDS = 5  # ASK_WAIT_NS
USER, OTHER_USER = 64001, 64002
UNUSED_LOCK = 2 * 4000  # of a slot that nobody takes here
pytestmark = pytest.mark.needs("control groups")


@pytest.fixture(name="daemon")
def daemon_with_doors(sim):
    sim.configure(memory="1GiB")
    return Daemon(sim, CONFIG).start()


@pytest.fixture(name="container")
def one_container(sim):
    with Container(sim) as container:
        yield container


def door_of(sim, profile=SMALL):
    return sim.runtime / "doors" / profile / "socket"


def session_of(daemon, container, profile=SMALL):
    """None: it has none by this profile."""
    found = [session for session in daemon.get("/v1/sessions?limit=1000").json["sessions"]
             if session["labels"].get("aliquot.dev/container") == container.id
             and session["labels"]["aliquot.dev/profile"] == profile]
    assert len(found) < 2, found
    return found[0] if found else None


def await_a_look(daemon, sim):
    """The daemon looks at all containers in one go: when one that is over has gone, the others were looked at, too."""
    daemon.post("/v1/profiles", {"name": "gpu0-1MiB-1"})
    with Container(sim) as sentinel:
        assert sentinel.ask(door_of(sim, "gpu0-1MiB-1")).startswith("welcome")
        sentinel.stop()
        wait_for(lambda: not session_of(daemon, sentinel, "gpu0-1MiB-1"), daemon.said)


def profiles(daemon):
    return {profile["name"]: profile for profile in daemon.get("/v1/profiles").json["profiles"]}


# -- Whose share it is

def test_a_container_has_the_share_that_the_profiles_name_says(daemon, sim, container):
    with container.script(door_of(sim)) as gpu:
        assert gpu.ready().values("info")[1] == 256 * MIB
        assert gpu.code(f"alloc 1 {300 * MIB}") == OUT_OF_MEMORY
        session = session_of(daemon, container)
        assert session["name"] == f"{SMALL}.{container.id[:12]}"
        share, = session["devices"]
        assert (share["memory_bytes"], share["compute_percent"]) == (256 * MIB, 30), share
        assert session["priority"] == "normal" and session["expires_at"] is None
        assert profiles(daemon)[SMALL]["sessions"] == 1


def test_the_next_program_of_a_container_is_in_the_same_share(daemon, sim, container):
    with container.script(door_of(sim)) as one, container.script(door_of(sim)) as other:
        one.ready().do(f"alloc 1 {150 * MIB}")
        assert other.ready().code(f"alloc 1 {150 * MIB}") == OUT_OF_MEMORY
        assert session_of(daemon, container)["processes"] == 2
        one.kill()
        other.do(f"alloc 1 {150 * MIB}")


def test_two_containers_have_a_share_each(daemon, sim, container):
    with Container(sim) as neighbour, container.script(door_of(sim)) as one, neighbour.script(door_of(sim)) as other:
        one.ready().do(f"alloc 1 {150 * MIB}")
        other.ready().do(f"alloc 1 {150 * MIB}")
        assert session_of(daemon, container)["id"] != session_of(daemon, neighbour)["id"]


@pytest.mark.needs("mount namespaces", "other users")
def test_all_users_of_a_container_are_in_its_share(daemon, sim, container):
    """Each has the folder of the door, read-only, and nothing else; none of them owns the session's files."""
    with container.script(door_of(sim)) as gpu:  # so that there is a simulated card, for all users
        gpu.ready().do("alloc 1 4096")
    open_to_all(sim)
    place.need("a build folder for other users")
    to = sim.folder / "door"
    to.mkdir()
    to.chmod(0o755)
    how = {"mount": (door_of(sim).parent, to)}
    with container.script(to / "socket", uid=USER, **how) as one, container.script(to / "socket", uid=OTHER_USER, **how) as other, \
            container.script(to / "socket", **how) as root:
        one.ready().do(f"alloc 1 {150 * MIB}")
        assert other.ready().code(f"alloc 1 {150 * MIB}") == OUT_OF_MEMORY
        root.ready().do(f"alloc 1 {30 * MIB}")
        session = session_of(daemon, container)
        listed = {process["uid"] for process in daemon.get(f"/v1/sessions/{session['name']}/processes").json}
        assert session["owner"] == 0 and listed == {0, USER, OTHER_USER}
        daemon.kill()  # whom who has joined needs no more: the locks in `slots` tell them of each other
        one.kill()
        other.do(f"alloc 1 {150 * MIB}")


def test_what_a_tenant_makes_below_its_control_group_changes_nothing(daemon, sim, container):
    """Whatever it is called: also as another container that there is."""
    with Container(sim) as neighbour:
        theirs = neighbour.ask(door_of(sim))
        names = [f"libpod-{neighbour.id}", f"docker-{neighbour.id}.scope", neighbour.id, f"cri-containerd-{os.urandom(32).hex()}.scope"]
        answers = {container.ask(door_of(sim), procs=container.below(name)) for name in names}
        assert answers == {f"welcome {SMALL}.{container.id[:12]}"} and theirs not in answers


@pytest.mark.parametrize("version", [1, 2])
def test_either_version_of_control_groups_will_do(daemon, sim, version):
    if not mounted(version):
        pytest.skip(f"control groups of version {version} are not mounted here")
    with Container(sim, version=version) as container:
        assert container.ask(door_of(sim)) == f"welcome {SMALL}.{container.id[:12]}"
        sub = container.below("sub")
        assert container.ask(door_of(sim), procs=sub) == f"welcome {SMALL}.{container.id[:12]}"
        container.stop()
        wait_for(lambda: not daemon.names(), daemon.said)


# -- Who is let in

def test_a_process_in_no_container_is_refused_with_a_sentence(daemon, sim):
    said = ask(door_of(sim))
    assert said == f"{NOT_YOURS} 0 share {SMALL} is for programs in containers: it is in no container that is known here"
    assert not daemon.names()


@needs_root
def test_nobody_else_reaches_a_door(daemon, sim):
    """The folder is what is mounted into a container: so all may use it, and none but root can go there."""
    open_to_all(sim)
    doors = sim.runtime / "doors"
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (doors, doors / SMALL, doors / SMALL / "socket")] == [0o700, 0o755, 0o666]
    tenant = Tenant(daemon, USER)
    done = tenant.run(["sh", "-c", f"ls {doors / SMALL} || ls {doors}"])
    assert done.rc != 0 and done.stderr.count("Permission denied") == 2, done


def test_a_container_is_in_no_other_sessions_by_its_door(daemon, sim, container):
    """Not by naming it, and not by another profile's door: there it has a share of that profile."""
    daemon.post("/v1/profiles", {"name": "gpu0-4MiB-10"})
    with Container(sim) as neighbour:
        assert neighbour.ask(door_of(sim)).startswith("welcome")
        assert container.ask(door_of(sim, "gpu0-4MiB-10")).startswith("welcome")
        theirs = bytes.fromhex(session_of(daemon, neighbour)["id"])
        daemon.create("a", "4MiB")
        for wanted in (theirs, bytes.fromhex(daemon.session("a")["id"])):
            message = joiner.hello(session_id=wanted)
            assert container.ask(door_of(sim, "gpu0-4MiB-10"), message=message).startswith(f"{OTHER_SESSION} 0 ")
        daemon.delete("/v1/sessions/a")
        assert container.ask(door_of(sim, LARGE)) == f"welcome {LARGE}.{container.id[:12]}"
        assert session_of(daemon, container, LARGE)["priority"] == "batch"
        assert len(daemon.names()) == 3


def test_a_name_that_is_taken_keeps_no_container_out(daemon, sim, container):
    name = f"{SMALL}.{container.id[:12]}"
    daemon.create(name, "4MiB")
    said = container.ask(door_of(sim))
    assert said.startswith(f"welcome {SMALL}.{container.id[:12]}-") and container.ask(door_of(sim)) == said
    assert session_of(daemon, container)["devices"][0]["memory_bytes"] == 256 * MIB


def test_what_is_no_hello_is_refused_there_too(daemon, sim, container):
    assert container.ask(door_of(sim), message=b"x" * 80).startswith(f"{joiner.MALFORMED} 0 ")
    assert container.ask(door_of(sim), message=joiner.hello(least=7, most=9)).startswith(f"{joiner.NO_VERSION} 0 ")
    assert not daemon.names()


def test_a_connection_that_is_passed_on_stays_its_makers(daemon, sim, container):
    """Who has connected is what counts, not who speaks."""
    ours, theirs = socket.socketpair()

    def body():
        container.enter()
        peer = joiner.connect(door_of(sim))
        socket.send_fds(theirs, [b"x"], [peer.fileno()])
        theirs.recv(1)  # as long as it is needed

    child = fork(body)
    _, (fd,), _, _ = socket.recv_fds(ours, 1, 1)
    with socket.socket(fileno=fd) as peer:
        peer.settimeout(HANG_SECONDS)
        peer.send(joiner.hello())
        answer = joiner.hear(peer)
    assert answer.type == WELCOME and answer.name == f"{SMALL}.{container.id[:12]}"
    answer.close()
    ours.send(b"x")
    os.waitpid(child, 0)


def test_who_is_gone_when_it_is_heard_is_let_in_nowhere(daemon, sim, container):
    ours, theirs = socket.socketpair()

    def body():
        container.enter()
        peer = joiner.connect(door_of(sim))
        socket.send_fds(theirs, [b"x"], [peer.fileno()])

    with standing_still(daemon):
        child = fork(body)
        _, (fd,), _, _ = socket.recv_fds(ours, 1, 1)
        os.waitpid(child, 0)
    with socket.socket(fileno=fd) as peer:
        peer.settimeout(HANG_SECONDS)
        peer.send(joiner.hello())
        answer = joiner.hear(peer)
    assert (answer.code, answer.retry_ms) == (NOT_YOURS, 0) and answer.reason.endswith("its process is gone"), answer.reason
    assert not daemon.names()


def test_who_says_nothing_at_doors_keeps_nobody_out(sim):
    """Neither from them nor from sessions' own sockets: the oldest makes room, each among its kind."""
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, CONFIG + "max_connections = 4\n[join]\ntimeout = 1h\n").start()
    daemon.create("a")
    early = joiner.connect(joiner.socket_of(sim, "a"))
    silent = [joiner.connect(door_of(sim)) for _ in range(12)]
    with Container(sim) as container:
        assert container.ask(door_of(sim)).startswith("welcome")
    early.send(joiner.hello())
    assert joiner.hear(early).type == WELCOME
    for peer in (early, *silent):
        peer.close()


# -- For how long

def test_a_share_outlives_programs_and_ends_with_its_container(daemon, sim, container):
    with container.script(door_of(sim)) as gpu:
        gpu.ready().kill()
    with container.script(door_of(sim)) as gpu:
        gpu.ready()
        first = session_of(daemon, container)["id"]
    sub = container.below("sub")
    last = container.run_in(["sleep", "1000"], preload=False, procs=sub)  # below, and with no part in the share
    container.wait_until(lambda: last.pid in container.processes())
    container.first.kill()
    container.first.wait()
    daemon.kill().start()
    await_a_look(daemon, sim)
    assert session_of(daemon, container)["id"] == first
    assert session_of(daemon, container)["state"] == "open"
    last.kill()
    last.wait()
    wait_for(lambda: not daemon.names(), daemon.said)
    assert not daemon.folders()
    types = [event["type"] for event in daemon.events(most=8) if (event["session"] or "").startswith(SMALL)]
    assert types == ["created", "released", "gone"]


def test_a_control_group_that_is_gone_ends_it_also_while_the_daemon_is_away(daemon, sim, container):
    assert container.ask(door_of(sim)).startswith("welcome")
    daemon.kill()
    container.stop()
    daemon.start()
    wait_for(lambda: not daemon.names(), daemon.said)


def test_a_share_stays_while_somebody_has_its_lock(daemon, sim, container):
    """What a process of the container has handed to one outside, say."""
    with container.script(door_of(sim)) as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        (mounted(2 if (container.folder / "cgroup.events").exists() else 1) / "cgroup.procs").write_text(str(gpu.process.pid))
        container.stop()
        daemon.kill().start()
        await_a_look(daemon, sim)
        session = session_of(daemon, container)
        assert session["processes"] == 1 and session["state"] == "open"
        gpu.kill()
    wait_for(lambda: not daemon.names(), daemon.said)


def test_a_container_that_is_started_again_has_a_new_share(daemon, sim, container):
    """Under its old id: the inode of its control group is another."""
    with container.script(door_of(sim, LARGE)) as gpu:
        gpu.ready().do(f"alloc 1 {400 * MIB}")
    first = session_of(daemon, container, LARGE)["id"]
    container.stop()
    with Container(sim, name=container.id) as again:
        with again.script(door_of(sim, LARGE)) as gpu:
            gpu.ready().do(f"alloc 1 {400 * MIB}")
            wait_for(lambda: len(daemon.names()) == 1, daemon.said)
            assert session_of(daemon, again, LARGE)["id"] != first


@pytest.mark.needs("mount namespaces")
def test_a_daemon_that_was_killed_finds_the_share_again(daemon, sim, container):
    """By the folder that was mounted before; what runs goes on."""
    to = sim.folder / "door"
    to.mkdir()
    how = {"mount": (door_of(sim).parent, to)}
    waits = container.script(to / "socket", **how)  # has mounted it, and asks later
    with waits, container.script(to / "socket", **how) as gpu:
        gpu.ready().do(f"alloc 1 {150 * MIB}")
        wait_for(lambda: os.readlink(f"/proc/{waits.process.pid}/exe").endswith("/script"))
        before = session_of(daemon, container)["id"]
        daemon.kill()
        gpu.do(f"alloc 2 {50 * MIB}")
        daemon.start()
        assert waits.ready().code(f"alloc 1 {150 * MIB}") == OUT_OF_MEMORY
        assert session_of(daemon, container)["id"] == before and len(daemon.names()) == 1


@pytest.mark.needs("mount namespaces", "powers over other users' programs")
@pytest.mark.parametrize("uid", [0, USER])
def test_an_administrator_ends_the_programs_of_all_its_users(sim, uid):
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, CONFIG + "[admission]\non_end = kill\n").start()
    to = sim.folder / "door"
    to.mkdir()
    to.chmod(0o755)
    with Container(sim) as container, container.script(door_of(sim)) as first:
        first.ready()  # so that there is a simulated card, for all users
        open_to_all(sim)
        place.need("a build folder for other users")
        with container.script(to / "socket", uid=uid, mount=(door_of(sim).parent, to)) as gpu:
            gpu.ready().do(f"alloc 1 {MIB}")
            name = session_of(daemon, container)["name"]
            assert daemon.delete(f"/v1/sessions/{name}?force=true").status == 202
            gpu.process.wait(HANG_SECONDS)
            wait_for(lambda: name not in daemon.names(), daemon.said)
        assert container.first.poll() is None  # which is in the container, and not in the session
        assert container.ask(door_of(sim)) == f"welcome {name}"


def keep_lock(name, sim):
    """A program of root, in no container, that was handed the lock of a container's `slots`."""
    slots = sim.runtime / "sessions" / name / "slots"
    keeper = sim.start([sys.executable, sim.build.source / "tests/attack/programs/keep_lock.py", slots, UNUSED_LOCK],
                       preload=False)
    assert keeper.stdout.readline() == "ready\n", keeper.stderr.read()
    return keeper


@pytest.mark.needs("powers over other users' programs")
def test_roots_programs_outside_a_container_do_not_end_with_its_session(sim, container):
    """A container's root can hand them a descriptor of `slots`, and its uid is theirs."""
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, CONFIG + "[admission]\non_end = kill\n").start()
    name = container.ask(door_of(sim)).removeprefix("welcome ")
    with container.script(door_of(sim)) as gpu:
        gpu.ready()
        keeper = keep_lock(name, sim)
        assert daemon.delete(f"/v1/sessions/{name}?force=true").status == 202
        gpu.process.wait(HANG_SECONDS)
        wait_for(lambda: name not in daemon.names(), daemon.said)
        assert keeper.poll() is None


def test_whoever_owns_a_containers_slots_it_takes_no_room(daemon, sim, container):
    """Root in a container may give the file away."""
    name = container.ask(door_of(sim)).removeprefix("welcome ")
    slots = sim.runtime / "sessions" / name / "slots"
    size = slots.stat().st_size
    os.chown(slots, USER, USER)
    os.truncate(slots, 64 * MIB)
    wait_for(lambda: slots.stat().st_size == size, daemon.said)


def test_a_session_of_a_container_is_adopted_for_root_whoever_owns_its_slots(daemon, sim, container):
    """The database is gone, and root in the container gave the file to a user of the node."""
    name = container.ask(door_of(sim)).removeprefix("welcome ")
    os.chown(sim.runtime / "sessions" / name / "slots", USER, USER)
    (sim.runtime / "sessions" / name / "slots").chmod(0o600)
    daemon.kill()
    shutil.rmtree(daemon.state)
    daemon.start()
    assert daemon.session(name)["owner"] == 0


@pytest.mark.parametrize("leader", ["lives", "exits"])
def test_a_control_group_of_the_same_name_elsewhere_is_no_second_container(daemon, sim, leader):
    """Where a runtime leaves a hierarchy out, root in the container can make any there."""
    if not (mounted(1) and mounted(2)):
        pytest.skip("control groups of both versions are not mounted here")
    with Container(sim, version=1) as container:
        first = container.ask(door_of(sim))
        assert first == f"welcome {SMALL}.{container.id[:12]}"
        forged = Container(sim, name=container.id if leader == "lives" else None, version=2)
        with forged:
            program = sim.start(container.inside([sys.executable, sim.build.source / "tests/attack/programs/forge_container.py",
                                                  door_of(sim), forged.folder / "cgroup.procs", leader]), preload=False)
            said = program.stdout.readline()
            assert said.startswith(str(NOT_YOURS)), said
            program.kill()
            program.wait(HANG_SECONDS)
        assert daemon.names() == [first.removeprefix("welcome ")]


def test_a_bound_of_ttls_ends_no_container(sim):
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, CONFIG + "[admission]\nttl_most = 4s\n").start()
    with Container(sim) as container:
        assert container.ask(door_of(sim)).startswith("welcome")
        before = session_of(daemon, container)
        wait_for(lambda: session_of(daemon, container)["expires_at"] > before["expires_at"], daemon.said)
        assert session_of(daemon, container)["id"] == before["id"]


# -- A full card

def test_on_a_full_card_the_program_says_why(daemon, sim, container):
    daemon.create("large", "900MiB")
    with container.script(door_of(sim)) as gpu:
        assert f"no room for share {SMALL}: 256 MiB asked for, 124 MiB free" in gpu.refused()
    assert container.ask(door_of(sim)).startswith(f"{TOO_MANY} 0 no room")
    assert daemon.names() == ["large"]


WAITING = f"[profiles]\nnames = {SMALL} {LARGE}\nwait = 10m\n"


def test_who_may_wait_has_the_share_when_there_is_room(sim):
    """For longer than any other answer is waited for; its program is in cuInit meanwhile."""
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, WAITING).start()
    daemon.create("large", "900MiB")
    with Container(sim) as container, container.script(door_of(sim)) as gpu:
        gpu.send("init")
        time.sleep(ASK_SECONDS + 1)
        assert not select.select([gpu.process.stdout], [], [], 0)[0] and daemon.names() == ["large"]
        daemon.delete("/v1/sessions/large")
        assert gpu.hear() == ["0"]
        assert session_of(daemon, container)


def test_containers_that_wait_are_served_in_the_order_in_which_they_came(sim):
    """A small share does not pass by a large one for which it leaves no room."""
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, WAITING).start()
    daemon.create("large", "700MiB")
    with Container(sim) as first, Container(sim) as second:
        with first.script(door_of(sim, LARGE)) as one, second.script(door_of(sim)) as other:
            one.send("init")
            wait_for(lambda: first.ask(door_of(sim, LARGE)).startswith(f"{TOO_MANY} 250 no room"), daemon.said)
            assert second.ask(door_of(sim)) == f"{TOO_MANY} 250 no room for share {SMALL}: others wait before it"
            other.send("init")
            daemon.delete("/v1/sessions/large")
            assert one.hear() == ["0"] and other.hear() == ["0"]
            created = [event["session"] for event in daemon.events(most=6) if event["type"] == "created"]
            assert [name.split(".")[0] for name in created] == ["large", LARGE, SMALL]


def test_who_waits_no_more_is_not_waited_for(sim):
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, WAITING).start()
    daemon.create("large", "700MiB")
    with Container(sim) as first, Container(sim) as second:
        assert first.ask(door_of(sim, LARGE)).startswith(f"{TOO_MANY} 250 ")
        wait_for(lambda: second.ask(door_of(sim)).startswith("welcome"), daemon.said)


def test_who_has_waited_for_long_enough_is_told_why(sim):
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, f"[profiles]\nnames = {SMALL} 2GiB-10\nwait = 1s\n").start()
    daemon.create("large", "900MiB")
    with Container(sim) as container:
        with container.script(door_of(sim)) as gpu:
            assert f"no room for share {SMALL}: 256 MiB asked for, 124 MiB free" in gpu.refused()
        # What is larger than the card is not waited for.
        assert container.ask(door_of(sim, "2GiB-10")).startswith(f"{TOO_MANY} 0 no room for share 2GiB-10: 2 GiB asked for, 1 GiB at most")


def test_two_hundred_containers_at_once_have_a_share_each(sim):
    """None of them is let in without its limit, and none is left out while there is room."""
    sim.configure(memory="1GiB")
    profile = "4MiB-100"
    daemon = Daemon(sim, f"[profiles]\nnames = {profile}\n").start()
    containers = [Container(sim) for _ in range(200)]
    try:
        for container in containers:
            container.start()
        with standing_still(daemon):
            asking = [container.begin_to_ask(door_of(sim, profile)) for container in containers]
        assert [answer() for answer in asking] == [f"welcome {profile}.{container.id[:12]}" for container in containers]
        assert sorted(daemon.names()) == sorted(f"{profile}.{container.id[:12]}" for container in containers)
        sessions = daemon.get("/v1/sessions?limit=1000").json["sessions"]
        assert all(session["devices"][0]["memory_bytes"] == 4 * MIB for session in sessions)
    finally:
        for container in containers:
            container.stop()


# -- Profiles

def test_profiles_are_listed_with_what_they_are(daemon, sim):
    card, = daemon.get("/v1/devices").json["devices"]
    assert profiles(daemon) == {
        SMALL: {"name": SMALL, "gpu": 0, "uuid": card["uuid"], "memory_bytes": 256 * MIB, "compute": 30, "priority": "normal",
                "door": str(door_of(sim)), "from": "config", "sessions": 0},
        LARGE: {"name": LARGE, "gpu": 0, "uuid": card["uuid"], "memory_bytes": 512 * MIB, "compute": 100, "priority": "batch",
                "door": str(door_of(sim, LARGE)), "from": "config", "sessions": 0}}


def test_a_profile_is_added_once_and_for_good(daemon, sim, container):
    name = "gpu0-128MiB-10"
    added = daemon.post("/v1/profiles", {"name": name})
    assert (added.status, added.headers["Location"], added.json["from"]) == (201, f"/v1/profiles/{name}", "api")
    assert daemon.post("/v1/profiles", {"name": name}).status == 200
    daemon.kill().start()
    assert profiles(daemon)[name] == added.json
    assert container.ask(door_of(sim, name)) == f"welcome {name}.{container.id[:12]}"


def test_a_dropped_profile_is_the_share_of_who_has_it_and_nobody_elses(daemon, sim, container):
    name = "gpu0-128MiB-10"
    daemon.post("/v1/profiles", {"name": name})
    with container.script(door_of(sim, name)) as gpu, Container(sim) as late:
        gpu.ready()
        assert daemon.delete(f"/v1/profiles/{name}").status == 204
        assert name not in profiles(daemon) and daemon.delete(f"/v1/profiles/{name}").status == 404
        daemon.kill().start()
        gpu.do(f"alloc 1 {100 * MIB}")
        assert container.ask(door_of(sim, name)) == f"welcome {name}.{container.id[:12]}"
        assert late.ask(door_of(sim, name)).startswith(f"{ENDED} 0 this profile was removed")
        container.empty()
        wait_for(lambda: late.ask(door_of(sim, name)).startswith("ConnectionRefusedError"), daemon.said)


@pytest.mark.parametrize("name, word", [("large", "expected"), ("2GiB", "expected"), ("gpu7-4MiB-10", "gpu7"), (7, "expected")])
def test_what_means_nothing_here_is_no_profile(daemon, name, word):
    answer = daemon.post("/v1/profiles", {"name": name})
    assert answer.status == 400 and word in answer.json["detail"], answer
    assert set(profiles(daemon)) == {SMALL, LARGE}


def test_a_name_without_a_gpu_is_for_nodes_with_one(two_cards):
    daemon = Daemon(two_cards, "[profiles]\nnames = 4MiB-10 gpu1-4MiB-10\n").start()
    assert "names no GPU, and here are 2" in daemon.post("/v1/profiles", {"name": "8MiB-10"}).json["detail"]
    with Container(two_cards) as container:
        assert "names no GPU, and here are 2" in container.ask(door_of(two_cards, "4MiB-10"))
        assert container.ask(door_of(two_cards, "gpu1-4MiB-10")).startswith("welcome")
        assert session_of(daemon, container, "gpu1-4MiB-10")["devices"][0]["uuid"] == daemon.get("/v1/devices").json["devices"][1]["uuid"]


def test_the_configurations_profiles_are_its_own(daemon, sim):
    answer = daemon.delete(f"/v1/profiles/{SMALL}")
    assert answer.status == 409 and "profiles.names" in answer.json["detail"], answer
    daemon.reload(f"[profiles]\nnames = {SMALL}\n")
    assert set(profiles(daemon)) == {SMALL}
    assert ask(door_of(sim, LARGE)).startswith("ConnectionRefusedError")
    daemon.reload("[profiles]\nnames = large\n")
    assert set(profiles(daemon)) == {SMALL}


@needs_root
def test_others_than_administrators_see_profiles_and_change_none(sim):
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, CONFIG + "[socket]\nmode = 0666\n").start()
    tenant = Tenant(daemon, USER)
    assert len(tenant.ask("GET", "/v1/profiles").json["profiles"]) == 2
    assert tenant.ask("POST", "/v1/profiles", '{"name":"4MiB-10"}').status == 403
    assert tenant.ask("DELETE", f"/v1/profiles/{SMALL}").status == 403
    assert set(profiles(daemon)) == {SMALL, LARGE}


@needs_root
def test_a_containers_share_is_no_users_on_the_host(daemon, sim, container):
    """Also of one whose number a program of the container has."""
    open_to_all(sim)
    assert container.ask(door_of(sim), uid=USER).startswith("welcome")
    folder = sim.runtime / "sessions" / session_of(daemon, container)["name"]
    done = Tenant(daemon, USER).run(["sh", "-c", f"cat {folder}/slots {folder}/limits; ls {folder}"])
    assert done.rc != 0 and done.stderr.count("Permission denied") == 3, done


def test_a_door_that_was_taken_away_is_made_again(daemon, sim, container):
    folder = door_of(sim).parent
    inode = folder.stat().st_ino
    door_of(sim).unlink()
    wait_for(lambda: door_of(sim).exists(), daemon.said)
    assert folder.stat().st_ino == inode
    assert container.ask(door_of(sim)).startswith("welcome")


def test_the_kernels_word_is_asked_for_after_the_process_is_held(daemon, sim, container):
    """Processes that end as they connect are never taken for others that get their numbers."""
    for _ in range(50):
        os.waitpid(fork(lambda: joiner.connect(door_of(sim)).send(joiner.hello())), 0)
        assert container.ask(door_of(sim)).startswith("welcome")
    assert daemon.names() == [f"{SMALL}.{container.id[:12]}"]
