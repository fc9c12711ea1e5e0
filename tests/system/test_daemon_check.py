# SPDX-License-Identifier: Apache-2.0
"""aliquotd --check-config says what a start would say, and changes nothing."""
import os

import pytest

from daemon import Daemon

NOBODY = 65534


def write(path, text="x" * 40, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def lines_of(sim, words):
    done = sim.run(words, ALIQUOT_SIM=None)
    return done.rc, [line.removeprefix("aliquotd: ") for line in done.stderr.splitlines()]


def tree(sim):
    return sorted((str(path), path.lstat().st_mode, path.lstat().st_ino) for path in sim.folder.rglob("*"))


def check(sim, daemon, *flags):
    """The one line that the check and the start say."""
    before = tree(sim)
    rc, said = lines_of(sim, daemon.words("--check-config", *flags))
    assert rc == 2 and len(said) == 1, said
    assert tree(sim) == before
    rc, started = lines_of(sim, daemon.words(*flags))
    assert rc == 1 and started[-1] == said[0], (started, said)
    return said[0]


@pytest.mark.parametrize("key, fault, told", [
    *((key, *said) for key in ("[http]\ntoken_file", "[join]\ntoken_file") for said in
      (("missing", "No such file"), ("open", "by others"), ("folder", "not a plain file"), ("blank", "visible ASCII"))),
    ("[http]\ntoken_file", "short", "less than")])
def test_a_token_file_that_a_start_refuses_is_told(sim, key, fault, told):
    path = sim.folder / "token"
    if fault == "folder":
        path.mkdir(0o700)
    elif fault != "missing":
        write(path, {"short": "x", "blank": "x y" * 20}.get(fault, "x" * 40), 0o604 if fault == "open" else 0o600)
    assert told in check(sim, Daemon(sim, f"{key} = {path}\n"))


def test_the_token_file_of_the_flag_is_looked_at(sim):
    assert "No such file" in check(sim, Daemon(sim), f"--token-file={sim.folder}/none")


def test_the_token_in_the_environment_is_looked_at(sim):
    daemon = Daemon(sim)
    done = sim.run(daemon.words("--check-config"), ALIQUOT_SIM=None, GPUSLICE_IPC_TOKEN="x y")
    assert done.rc == 2 and "GPUSLICE_IPC_TOKEN" in done.stderr, done


@pytest.mark.needs("chown")
def test_what_belongs_to_another_user_is_told(sim):
    token = write(sim.folder / "token")
    os.chown(token, NOBODY, NOBODY)
    assert f"belongs to user {NOBODY}, expected root" in check(sim, Daemon(sim, f"[http]\ntoken_file = {token}\n"))
    os.chown(token, 0, 0)
    os.chown(sim.runtime, NOBODY, NOBODY)
    assert "runtime folder" in check(sim, Daemon(sim, f"[http]\ntoken_file = {token}\n"))


def test_a_group_that_is_none_is_told(sim):
    assert "there is no such group" in check(sim, Daemon(sim, "[socket]\ngroup = no-such-group-here\n"))


def test_a_runtime_folder_that_is_another_thing_is_told(sim):
    daemon = Daemon(sim)
    write(sim.runtime / "somebodys")
    assert "in use for other things" in check(sim, daemon)


def test_a_path_too_long_for_a_socket_is_told(sim):
    daemon = Daemon(sim)
    sim.runtime = sim.folder / ("x" * 90)
    assert "the path of the socket" in check(sim, daemon)


def test_every_fault_is_told_at_once(sim):
    """By file, line and key, also behind faults of the text itself."""
    daemon = Daemon(sim, "[http]\ntoken_file = /none/http\naddress = 0.0.0.0:80\n[join]\ntoken_file = /none/join\n"
                         "[socket]\ngroup = no-such-group-here\n[daemon]\ncolour = red\nlog = loud\n")
    write(sim.runtime / "somebodys")
    rc, said = lines_of(sim, daemon.words("--check-config"))
    places = [f"{daemon.config}:{line}: {key}" for line, key in (
        (2, "http.token_file: token file /none/http"), (3, "http.address = 0.0.0.0:80: other machines"),
        (5, "join.token_file: token file /none/join"), (7, "socket.group = no-such-group-here"),
        (9, "[daemon] colour = red: no such key"), (10, "daemon.log = loud"))]
    places.append("--runtime-dir: daemon.runtime_dir: ")
    assert rc == 2 and len(said) == len(places), said
    assert all(any(line.startswith(place) for line in said) for place in places), said


def test_a_value_that_is_refused_is_not_looked_at_as_its_default(sim):
    daemon = Daemon(sim, "[http]\ntoken_file = here\ntoken_required = yes\n[daemon]\nruntime_dir = here\n")
    words = [word for word in daemon.words("--check-config") if word not in ("--runtime-dir", sim.runtime)]
    rc, said = lines_of(sim, words)
    assert rc == 2 and [line.partition(" = here: expected")[0] for line in said] == [
        f"{daemon.config}:2: http.token_file", f"{daemon.config}:5: daemon.runtime_dir"], said


@pytest.mark.needs("chown")
def test_where_nothing_is_wrong_nothing_is_said_or_made(sim):
    token = write(sim.folder / "token")
    daemon = Daemon(sim, f"[http]\ntoken_file = {token}\n[join]\ntoken_file = {token}\n[socket]\ngroup = 0\n")
    before = tree(sim)
    assert lines_of(sim, daemon.words("--check-config")) == (0, [])
    sim.runtime = sim.folder / "not-made-yet"
    assert lines_of(sim, daemon.words("--check-config")) == (0, [])
    assert tree(sim) == before
    # Also while a daemon is there.
    sim.runtime = sim.folder / "run"
    daemon.start()
    assert lines_of(sim, daemon.words("--check-config")) == (0, [])
