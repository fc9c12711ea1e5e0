# SPDX-License-Identifier: Apache-2.0
"""What lies in the runtime folder is deleted, moved or replaced under the daemon that serves it."""
import shutil
import socket
import time

import pytest

from cli import Command
from daemon import HANG_SECONDS, Daemon, wait_for
from script import MIB, OUT_OF_MEMORY, Script


@pytest.fixture
def daemon(sim):
    return Daemon(sim).start()


def move_away(sim):
    sim.runtime.rename(sim.folder / "elsewhere")


def delete(sim):
    move_away(sim)  # at once: a look could fall between two deletions
    shutil.rmtree(sim.folder / "elsewhere")


def replace(sim):
    move_away(sim)
    sim.runtime.mkdir(mode=0o700)


def empty(sim):
    for path in sim.runtime.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("deed, said", [
    (delete, "run was deleted or moved away under this daemon"),
    (move_away, "run was deleted or moved away under this daemon"),
    (replace, "run was "),  # a look could fall in between
    (empty, "run/sessions was deleted or moved away under this daemon"),
], ids=["deleted", "moved", "replaced", "emptied"])
def test_without_its_folder_it_says_so_and_ends(daemon, sim, deed, said):
    """Programs go on; started again it makes its sessions anew."""
    daemon.create("a", "256MiB")
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready()
        deed(sim)
        assert daemon.process.wait(HANG_SECONDS) == 1
        line, = [line for line in daemon.said().splitlines() if said in line]
        assert line.startswith("aliquotd: ") and "so this daemon ends" in line, line
        gpu.do(f"alloc 1 {64 * MIB}")
        assert gpu.code(f"alloc 2 {256 * MIB}") == OUT_OF_MEMORY
        daemon.start()
        assert daemon.names() == daemon.folders() == ["a"]
        assert sim.aliquot("ls", "-o", "session").stdout.split() == ["SESSION", "a"]
        # The program, now. The daemon that ended may have told of it too, before it had these bytes.
        next(event for event in daemon.events() if event["type"] == "stranger" and
             event["detail"]["pid"] == gpu.process.pid and event["detail"]["driver_bytes"] >= 64 * MIB)


def test_one_that_began_in_its_place_is_left_alone(daemon, sim):
    """Also its socket, when the first one ends."""
    daemon.create("a")
    delete(sim)
    second = Daemon(sim)
    second.state = sim.folder / "other-state"
    second.start()
    second.create("b")
    assert daemon.process.wait(HANG_SECONDS) == 1
    assert second.is_up() and second.names() == second.folders() == ["b"]


def test_a_session_whose_folder_is_deleted_is_listed_and_made_anew_by_a_change(daemon, sim):
    """What was promised it is promised still."""
    cli = Command(sim).that_asks_daemons()
    daemon.create("a")
    daemon.create("b")
    shutil.rmtree(sim.runtime / "sessions/a")
    first, second = cli("ls").stdout.splitlines()[1:]
    assert first.startswith("a ") and "broken: its folder was deleted under its daemon; aliquot set a makes it anew" in first, first
    assert second.startswith("b ") and "broken" not in second, second
    listed = {session["name"]: session for session in cli("ls", "--json").json}
    assert listed["b"]["error"] is None and "was deleted" in listed["a"]["error"], listed
    assert cli("set", "a", "--memory", "128MiB").rc == 0
    assert cli("ls").stdout.splitlines()[1].endswith("128 MiB") and daemon.folders() == ["a", "b"]


def test_who_removes_a_broken_session_removes_what_was_promised_to_it(daemon, sim):
    """Nothing in its folder tells that it is the daemon's."""
    cli = Command(sim).that_asks_daemons()
    daemon.create("a")
    (sim.runtime / "sessions/a/slots").write_bytes(b"nothing" * 4096)
    refused = cli("rm", "a")
    assert refused.rc == 1 and "--force" in refused.stderr, refused
    assert cli("rm", "--force", "a").rc == 0
    assert daemon.names() == daemon.folders() == []


def listens_anew(daemon, times=1):
    said = f"{daemon.socket} was deleted or replaced under this daemon; it listens there anew"
    wait_for(lambda: daemon.said().count(said) == times, daemon.said)


def test_its_socket_is_made_anew_and_who_is_connected_stays(sim):
    daemon = Daemon(sim, "[socket]\nmode = 0660\n").start()
    connection = daemon.connection()
    connection.request("GET", "/healthz")
    assert connection.getresponse().read()
    daemon.socket.unlink()
    listens_anew(daemon)
    assert daemon.socket.stat().st_mode & 0o777 == 0o660
    daemon.create("a")
    connection.request("GET", "/v1/sessions/a")
    assert connection.getresponse().status == 200
    connection.close()
    assert sim.aliquot("ls", "-o", "session").stdout.split() == ["SESSION", "a"]
    assert daemon.stop() == 0 and not daemon.socket.exists()


def test_what_took_its_sockets_place_gives_way(daemon):
    daemon.socket.rename(daemon.socket.with_name("moved"))
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(daemon.socket))
        listens_anew(daemon)
    daemon.socket.unlink()
    daemon.socket.write_text("not a socket")
    listens_anew(daemon, times=2)
    assert daemon.is_up()


def test_a_place_that_it_cannot_take_is_said_once_and_tried_again(daemon):
    daemon.socket.unlink()
    daemon.socket.mkdir()
    wait_for(lambda: "cannot listen there anew" in daemon.said(), daemon.said)
    time.sleep(2)  # two more looks, by and large
    wait_for(lambda: not list(daemon.socket.parent.glob("*.new")), daemon.said)  # nothing is left of what it made
    daemon.socket.rmdir()
    listens_anew(daemon)
    assert daemon.said().count("cannot listen there anew") == 1 and daemon.is_up()


@pytest.mark.needs("other users", "mount namespaces")
@pytest.mark.parametrize("mode, is_unused", [("0666", True), ("0600", False)], ids=["for all", "for root"])
def test_a_users_daemon_says_that_the_machines_is_used_instead(sim, mode, is_unused):
    """aliquot goes to /run/aliquot where that lets the user in, whatever else serves."""
    machine = Daemon(sim, f"[socket]\nmode = {mode}\n")
    state, xdg = sim.folder / "home", sim.folder / "xdg"
    for folder in (state, xdg):
        folder.mkdir(mode=0o700)
        shutil.chown(folder, 1234, 1234)
    sim.folder.chmod(0o711)
    become = "setpriv --reuid 1234 --regid 1234 --clear-groups"
    script = f"""
        mount -t tmpfs x /run && mkdir -m 711 /run/aliquot || exit 77
        {become} {sim.build.aliquot} version >/dev/null || exit 77
        log={sim.folder}/log; : >$log
        {machine.program} --config {machine.config} --state-dir {machine.state} --sim={sim.spec} 2>$log & pid=$!
        trap 'kill $pid' EXIT
        while ! grep -q serving $log; do kill -0 $pid || exit 1; sleep 0.05; done
        chmod -R a+rwX {sim.state}
        for named in "" "--runtime-dir {xdg}/named"; do
            : >$log.own
            {become} {machine.program} $named --state-dir {state} --sim={sim.spec} 2>$log.own & own=$!
            while ! grep -q serving $log.own; do kill -0 $own || exit 1; sleep 0.05; done
            kill $own; wait $own; cat $log.own; rm -rf {state}/*
        done
        """
    result = sim.run(["unshare", "-m", "sh", "-c", script], ALIQUOT_RUNTIME_DIR=None, ALIQUOT_SIM=None, XDG_RUNTIME_DIR=xdg)
    if result.rc == 77:
        pytest.skip("another user cannot execute the build folder")
    warned = "the daemon of /run/aliquot lets this user in, and aliquot uses that one"
    assert result.stdout.count("serving /") == 2 and f"serving {xdg}/aliquot" in result.stdout, result
    assert result.stdout.count(warned) == is_unused, result
