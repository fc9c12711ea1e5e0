# SPDX-License-Identifier: Apache-2.0
"""aliquot cdi: the specification of the daemon's shares, and the files that it names.

The daemon is one that says which shares it has. What podman makes of the specification is test_podman.py's.
"""
import json
import os
import pathlib
import shutil
import stat
import time

import pytest

from cli import AWAY, Command
from fakedaemon import FakeDaemon
from hang import HANG_SECONDS
from script import MIB

SPEC = "aliquot.dev-share.json"
CODE, DATA = ["ro", "nosuid", "nodev", "bind"], ["ro", "nosuid", "nodev", "noexec", "bind"]
LOADER_FOLDERS = (f"/usr/lib/{os.uname().machine}-linux-gnu", "/usr/lib64")
FACADES = ("libcuda.so.1", "libnvidia-ml.so.1")


@pytest.fixture
def cli(two_cards):
    return Command(two_cards).that_asks_daemons()


@pytest.fixture
def uuids(cli):
    return [gpu["uuid"] for gpu in cli("gpus", "--json").json]


@pytest.fixture
def cdi(cli):
    """The command, with folders of its own, and what it asks of the daemon."""
    return Cdi(cli)


class Cdi:
    def __init__(self, cli):
        self.cli, self.sim = cli, cli.sim
        self.folder, self.libraries = self.sim.folder / "cdi", self.sim.folder / "lib"
        self.path = self.folder / SPEC

    def words(self, *arguments):
        return ["cdi", *arguments, f"--dir={self.folder}", f"--lib-dir={self.libraries}"]

    def __call__(self, *arguments, shares=(), answers=(), **how):
        with FakeDaemon(self.sim, [*answers, (200, {"profiles": list(shares)})]) as fake:
            result = self.cli(*self.words(*arguments), sim=False, **{"ALIQUOT_SIM": self.sim.spec, **how})
        result.heard = [(heard.method, heard.path) for heard in fake.heard]
        return result

    def spec(self):
        return json.loads(self.path.read_text())


def share(name, uuid, **more):
    return {"name": name, "gpu": 0, "uuid": uuid, "memory_bytes": 256 * MIB, "compute": 30, "priority": "normal",
            "door": f"/run/aliquot/doors/{name}/socket", "from": "api", "sessions": 2, **more}


@pytest.fixture
def shares(uuids):
    return [share("gpu0-256MiB-30", uuids[0]), share("gpu1-256MiB-12.5-rt", uuids[1], gpu=1, compute=12.5, priority="rt")]


def mounts(edits):
    return {mount["containerPath"]: mount for mount in edits["containerEdits"]["mounts"]}


# -- What is written

def test_a_share_is_a_device_with_its_door(cdi, shares):
    result = cdi("add", "gpu0-256MiB-30", answers=[(201, shares[0])], shares=shares)
    assert result.rc == 0 and result.stderr == "", result
    assert result.heard == [("POST", "/v1/profiles"), ("GET", "/v1/profiles")]
    assert result.stdout == "podman run --device aliquot.dev/share=gpu0-256MiB-30 IMAGE\n"
    spec = cdi.spec()
    assert (spec["cdiVersion"], spec["kind"]) == ("0.5.0", "aliquot.dev/share")
    assert {device["name"]: mounts(device) for device in spec["devices"]} == {
        name: {"/run/aliquot/self": {"hostPath": f"/run/aliquot/doors/{name}", "containerPath": "/run/aliquot/self", "options": DATA}}
        for name in ("gpu0-256MiB-30", "gpu1-256MiB-12.5-rt")}


def test_facades_stand_where_loaders_look_and_the_simulator_comes_along(cdi, build, shares):
    assert cdi("enable", shares=shares).stdout == f"{cdi.path}: 2 of 2 shares\n"
    found = mounts(cdi.spec())
    kept, = cdi.libraries.iterdir()
    for name in FACADES:
        for folder in LOADER_FOLDERS:
            mount = found[f"{folder}/{name}"]
            assert mount["options"] == CODE and pathlib.Path(mount["hostPath"]) == kept / name
        assert (kept / name).read_bytes() == (build.shims / name).read_bytes()
    assert found["/run/aliquot/driver"]["hostPath"] == str(kept / "driver")
    words = (kept / "driver/simulator").read_text()
    assert words == f"{cdi.sim.spec}\nstate=/run/aliquot/sim\n"
    assert found["/run/aliquot/sim"]["hostPath"] == str(cdi.sim.state) and found["/run/aliquot/sim"]["options"][0] == "rw"
    assert all(pathlib.Path(mount["hostPath"]).exists() for mount in found.values())


def test_by_preload_the_driver_stays_where_it_is(cdi, shares):
    assert cdi("enable", "--preload", shares=shares).rc == 0
    found = mounts(cdi.spec())
    kept, = cdi.libraries.iterdir()
    drivers = {f"{folder}/{name}": str(kept / "driver" / f"{name}.real") for folder in LOADER_FOLDERS for name in FACADES}
    assert {path: found[path]["hostPath"] for path in drivers} == drivers
    assert sorted(set(found) - set(drivers)) == ["/etc/ld.so.preload", "/run/aliquot/driver", "/run/aliquot/lib/libaliquot.so",
                                                 "/run/aliquot/sim"]
    assert pathlib.Path(found["/etc/ld.so.preload"]["hostPath"]).read_text() == "/run/aliquot/lib/libaliquot.so\n"


@pytest.fixture
def real(cdi, build):
    """A driver that is not simulated as far as we can tell, under a version's name and a link."""
    folder = cdi.sim.folder / "driver"
    folder.mkdir()
    for name in FACADES:
        numbered = folder / name.replace(".1", ".570.1")
        shutil.copy(build.driver / name, numbered)
        (folder / name).symlink_to(numbered.name)
    return folder


def test_a_real_driver_stays_nvidias_to_inject(cdi, shares, real):
    """Both of its names are covered, so that NVIDIA's device, which brings one and makes a link of the other, changes nothing."""
    result = cdi("add", "gpu0-256MiB-30", answers=[(200, shares[0])], shares=shares,
                 **{f"ALIQUOT_REAL_{name}": real / file for name, file in zip(("LIBCUDA", "LIBNVML"), FACADES)})
    assert result.rc == 0, result
    assert result.stdout == "podman run --device nvidia.com/gpu=0 --device aliquot.dev/share=gpu0-256MiB-30 IMAGE\n"
    assert all(line.startswith("aliquot cdi: note: ") for line in result.stderr.splitlines()), result
    found = mounts(cdi.spec())
    kept, = cdi.libraries.iterdir()
    for name in FACADES:
        for path in (real / name, real / name.replace(".1", ".570.1")):
            assert found[str(path)]["hostPath"] == str(kept / name)
        assert found[f"/run/aliquot/driver/{name}.real"]["hostPath"] == str(real / name.replace(".1", ".570.1"))
    assert not (kept / "driver").exists() and "/run/aliquot/sim" not in found


# -- What is kept

def test_a_second_time_nothing_changes(cdi, shares):
    def state():
        files = [path for path in cdi.libraries.rglob("*")]
        return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}
    assert cdi("enable", shares=shares).rc == 0
    spec, before = cdi.path.read_text(), state()
    assert cdi("enable", shares=shares).rc == 0
    assert (cdi.path.read_text(), state()) == (spec, before)


def test_another_version_of_ours_is_another_folder(cdi, shares):
    """What containers have mounted is not written again."""
    assert cdi("enable", shares=shares).rc == 0
    first, = cdi.libraries.iterdir()
    inodes = {path.name: path.stat().st_ino for path in first.iterdir()}
    cdi.sim.configure(memory="2GiB")
    assert cdi("enable", shares=shares).rc == 0
    assert len(list(cdi.libraries.iterdir())) == 2
    assert {path.name: path.stat().st_ino for path in first.iterdir()} == inodes
    assert str(first) not in cdi.path.read_text()


def test_a_folder_that_is_not_what_its_name_says_is_refused(cdi, shares):
    assert cdi("enable", shares=shares).rc == 0
    kept, = cdi.libraries.iterdir()
    before = cdi.path.read_text()
    with open(kept / "libcuda.so.1", "ab") as library:
        library.write(b"x")
    result = cdi("enable", shares=shares)
    assert result.rc == 1 and f"{kept}/libcuda.so.1 is not what the name of its folder says" in result.stderr, result
    assert cdi.path.read_text() == before


def test_everybody_can_read_them_whatever_the_umask(cdi, shares):
    """A container of another user has these files mounted."""
    old = os.umask(0o077)
    try:
        assert cdi("enable", shares=shares).rc == 0
    finally:
        os.umask(old)
    for path in [cdi.folder, cdi.path, cdi.libraries, *cdi.libraries.rglob("*")]:
        mode = path.stat().st_mode
        assert stat.S_IMODE(mode) == (0o755 if stat.S_ISDIR(mode) else 0o644), path


def test_no_reader_of_the_folder_sees_a_half(cdi, shares, uuids):
    """Killed wherever it is, it leaves the old specification or the new one, and nothing else that runtimes read."""
    assert cdi("enable", shares=shares).rc == 0
    many = [share(f"gpu0-{size}MiB-1", uuids[0]) for size in range(1, 400)]
    texts = {len(cdi.spec()["devices"]), len(many)}
    for number in range(8):
        with FakeDaemon(cdi.sim, [(200, {"profiles": many})]):
            process = cdi.cli.start(*cdi.words("enable"), sim=False, ALIQUOT_SIM=cdi.sim.spec)
            time.sleep(0.01 * number)
            process.kill()
            process.wait(HANG_SECONDS)
        assert len(cdi.spec()["devices"]) in texts
        assert [path.name for path in cdi.folder.iterdir() if path.suffix in (".json", ".yaml")] == [SPEC]


def test_without_a_share_there_is_no_specification(cdi, shares):
    """One without devices is refused by who reads it."""
    assert cdi("enable", shares=shares).rc == 0 and cdi.path.exists()
    result = cdi("rm", "gpu0-256MiB-30", answers=[(204, "")])
    assert result.rc == 0 and result.stdout == "" and not cdi.path.exists(), result
    assert result.heard == [("DELETE", "/v1/profiles/gpu0-256MiB-30"), ("GET", "/v1/profiles")]
    assert cdi("enable").rc == 0 and not cdi.path.exists()


# -- What is shown

def test_generate_prints_what_enable_writes(cdi, shares):
    assert cdi("enable", shares=shares).rc == 0
    written = cdi.path.read_text()
    cdi.path.unlink()
    assert cdi("generate", shares=shares).stdout == written and not cdi.path.exists()
    one = cdi("generate", "gpu0-256MiB-30", shares=shares).json
    assert [device["name"] for device in one["devices"]] == ["gpu0-256MiB-30"]


def test_the_list(cdi, shares):
    lines = cdi("ls", shares=shares).stdout.splitlines()
    assert lines[0].split() == ["SHARE", "GPU", "MEMORY", "COMPUTE", "CLASS", "FROM", "CONTAINERS"]
    assert lines[1].split() == ["gpu0-256MiB-30", "0", "256", "MiB", "30%", "normal", "api", "2"]
    assert lines[2].split() == ["gpu1-256MiB-12.5-rt", "1", "256", "MiB", "12.5%", "rt", "api", "2"]
    told = cdi("ls", "--json", shares=shares).json
    assert [(one["name"], one["device"], one["compute"]) for one in told] == \
        [("gpu0-256MiB-30", "aliquot.dev/share", 30), ("gpu1-256MiB-12.5-rt", "aliquot.dev/share", 12.5)]
    assert cdi("ls", "-o", "share", shares=shares).stdout.split() == ["SHARE", *(one["name"] for one in shares)]


def test_completion(cdi, shares):
    def complete(*words):
        with FakeDaemon(cdi.sim, [(200, {"profiles": shares})]):
            return cdi.cli("complete", "cdi", *words, sim=False).stdout.split()
    assert complete("") == ["add", "enable", "generate", "ls", "rm"] and complete("e") == ["enable"]
    assert complete("rm", "gpu1") == ["gpu1-256MiB-12.5-rt"] and complete("add", "") == []
    assert "--preload" in complete("enable", "--")


# -- What is refused

@pytest.mark.parametrize("words, says", [
    ((), "expected add, enable, generate, ls or rm"),
    (("ad", "x"), "not ad"),
    (("add",), "add: which share? expected such as gpu0-4GiB-30"),
    (("ls", "x"), "ls takes no name"),
    (("ls", "-o", "NAME"), "NAME"),
])
def test_what_is_called_wrong(cdi, words, says):
    result = cdi(*words)
    assert result.rc == 2 and result.stdout == "" and says in result.stderr and result.stderr.count("\n") == 1, result
    assert result.heard == []


def test_a_refusal_of_the_daemon_is_its_words(cdi, shares):
    problem = {"type": "/problems/bad-field", "field": "name", "detail": "name: expected a share such as gpu0-4GiB-30"}
    result = cdi("add", "gpu9", answers=[(400, problem)], shares=shares)
    assert result.rc == 1 and result.stderr == f"aliquot cdi: {problem['detail']}\n" and not cdi.path.exists(), result


@pytest.mark.parametrize("name", ["../sessions/a", "a b", "-x/", "x" * 64])
def test_a_name_that_is_none_goes_to_no_daemon(cdi, name):
    result = cdi("rm", "--", name)
    assert result.rc == 1 and result.heard == [] and "share=" in result.stderr, result


def test_a_share_of_a_card_that_is_not_here_is_refused(cdi):
    """The command's driver is another than the daemon's."""
    result = cdi("enable", shares=[share("gpu0-1GiB-5", "GPU-00000000-0000-0000-0000-000000000000")])
    assert result.rc == 1 and "say the same --sim" in result.stderr and not cdi.path.exists(), result


def test_a_share_whose_gpu_is_not_here_now_is_no_device(cdi, shares):
    """A card that failed takes none of the others' shares with it."""
    gone = share("gpu7-1GiB-5", None, gpu=None)
    assert cdi("enable", shares=[*shares, gone]).stdout == f"{cdi.path}: 2 of 3 shares\n"
    assert [device["name"] for device in cdi.spec()["devices"]] == [one["name"] for one in shares]
    assert cdi("ls", shares=[gone]).stdout.splitlines()[1].split()[:2] == ["gpu7-1GiB-5", "-"]
    assert cdi("ls", "--json", shares=[gone]).json[0]["gpu"] is None
    assert cdi("enable", shares=[gone]).rc == 0 and not cdi.path.exists()


def test_a_share_without_a_door_is_refused(cdi, uuids):
    """Of a daemon of another version."""
    result = cdi("enable", shares=[share("gpu0-1GiB-5", uuids[0], door=None)])
    assert result.rc == 1 and "says no door" in result.stderr and not cdi.path.exists(), result


def test_a_share_that_is_not_there(cdi, shares):
    result = cdi("generate", "gpu0-1GiB-5", shares=shares)
    assert result.rc == 1 and "aliquot cdi add makes it" in result.stderr and result.stdout == "", result


def test_without_a_daemon_there_are_no_shares(cdi):
    result = cdi.cli(*cdi.words("ls"), sim=False)
    assert result.rc == AWAY and result.stderr.count("\n") == 1 and "start aliquotd" in result.stderr, result
