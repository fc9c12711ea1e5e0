# SPDX-License-Identifier: Apache-2.0
"""Debian packages: what `make deb` builds works in a clean system, is replaced under programs that run,
and goes without a trace.

Built by tools/deb itself, but not optimised: what is checked is the same, and the compiler takes half
the time. Installed into the smallest system of this machine's release (tools/fetch-root). No service
manager runs there: the scripts of the packages do without one.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from build import SOURCE
from daemon import UnixConnection, wait_for
from hang import HANG_SECONDS

VERSION = re.search(r"^ *version: '(.*)',", (SOURCE / "meson.build").read_text(), re.MULTILINE)[1]
SPEC = "gpus=1,memory=1GiB,model=h200,state=/sim"
# What dpkg and its scripts write down for themselves; sysusers' group stays, as is Debian's custom.
OF_THE_SYSTEM = re.compile(r"(var/(lib/dpkg|log|cache)|etc/(group|gshadow|\.pwd\.lock)|proc|dev|sim)\b")


def tool(*command, timeout=HANG_SECONDS):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=timeout, check=False,
                          env={**os.environ, "DEB_BUILD_OPTIONS": "noopt"})
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """The two files, by the packages' names."""
    for program in ("dpkg-deb", "dpkg-buildpackage", "dh"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (tools/bootstrap deb)")
    folder = tmp_path_factory.mktemp("deb")
    tool(SOURCE / "tools/deb", "--to", folder, timeout=2400)
    return {path.name.split("_")[0]: path for path in folder.glob("*.deb")}


def test_what_is_there_is_not_made_again(packages):
    """Not even written: packages that were checked stay the files that they are."""
    times = {path: path.stat().st_mtime_ns for path in packages.values()}
    assert str(packages["aliquot"]) in tool(SOURCE / "tools/deb", "--to", packages["aliquot"].parent)
    assert times == {path: path.stat().st_mtime_ns for path in packages.values()}


def field(package, name):
    return tool("dpkg-deb", "-f", package, name).strip()


@pytest.fixture(scope="module")
def unpacked(packages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    for name, path in packages.items():
        tool("dpkg-deb", "-x", path, folder / name)
    return folder


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


# --- what is in them ----------------------------------------------------------------------------

def test_each_file_is_in_the_package_of_its_job(packages, unpacked):
    assert set(packages) == {"aliquot", "aliquot-daemon"}
    product, daemon = files(unpacked / "aliquot"), files(unpacked / "aliquot-daemon")
    assert product >= {
        "usr/bin/aliquot", "usr/lib/aliquot/libaliquot.so", "usr/lib/aliquot/libaliquot-path.so",
        "usr/lib/aliquot/shims/libcuda.so.1", "usr/lib/aliquot/shims/libnvidia-ml.so.1",
        "usr/lib/aliquot/sim/libcuda.so.1", "usr/lib/aliquot/sim/libcudart.so.13",
        "usr/lib/aliquot/bench/aliquot-load", "usr/lib/aliquot/bench/aliquot-plot",
        "usr/share/man/man1/aliquot.1.gz", "usr/share/bash-completion/completions/aliquot"}
    assert daemon >= {
        "usr/bin/aliquotd", "etc/aliquot/aliquotd.conf", "lib/systemd/system/aliquotd.service",
        "lib/systemd/system/aliquot-cdi.service",
        "usr/lib/systemd/user/aliquotd.service", "usr/lib/sysusers.d/aliquot.conf",
        "usr/lib/tmpfiles.d/aliquot.conf", "usr/share/man/man8/aliquotd.8.gz"}
    assert not product & daemon
    for name in packages:
        assert (unpacked / name / f"usr/share/doc/{name}/copyright").exists()


def test_the_version_is_that_of_the_sources_and_libraries_are_named(packages):
    needs = field(packages["aliquot-daemon"], "Depends")
    assert {field(package, "Version") for package in packages.values()} == {VERSION}
    assert f"aliquot (= {VERSION})" in needs
    for library in ("libc6", "libevent", "libsqlite3", "libjansson", "libinih"):
        assert library in needs, needs


def test_only_pictures_need_cairo(packages):
    assert "libcairo2" in field(packages["aliquot"], "Suggests")
    assert not any("cairo" in field(package, "Depends") for package in packages.values())


def test_owners_and_modes_are_as_the_system_has_them(packages):
    for package in packages.values():
        for line in tool("dpkg-deb", "-c", package).splitlines():
            mode, owner, _, _, _, path = line.split(maxsplit=5)
            program = path.startswith(("./usr/bin/", "./usr/lib/aliquot/bench/")) or path.endswith("-oracle")
            wanted = {"d": "drwxr-xr-x", "l": "lrwxrwxrwx"}.get(mode[0], "-rwxr-xr-x" if program else "-rw-r--r--")
            assert (mode, owner) == (wanted, "root/root"), line


def test_nothing_of_the_builder_is_in_them(packages, unpacked):
    folder = packages["aliquot"].parent
    for path in unpacked.rglob("*"):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            for mine in (SOURCE, folder):
                assert str(mine).encode() not in content, path


def test_lintian_has_nothing_to_say(packages):
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed (tools/bootstrap deb)")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *packages.values()],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and done.stdout == "", done.stdout + done.stderr


# --- in a clean system --------------------------------------------------------------------------

class Root:
    """A system in a folder. Its /proc is mounted for one command at a time, in that one's own view."""

    def __init__(self, tarball, packages):
        self.packages = [packages["aliquot"], packages["aliquot-daemon"]]
        # A short name, for the sockets' sake.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="aliquot-root-"))
        self.started = []
        tool("tar", "-xf", tarball, "-C", self.folder, timeout=300)
        for path in self.packages:
            shutil.copy(path, self.folder)

    def words(self, *command):
        enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
        return ["unshare", "--mount", "sh", "-c", enter, self.folder, *map(str, command)]

    def env(self):
        return {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}

    def run(self, *command):
        return subprocess.run(self.words(*command), env=self.env(), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=300, check=False)

    def start(self, *command):
        """It is its own process: nothing stands between it and the signals."""
        with open(self.folder / "started.log", "ab") as log:
            self.started.append(subprocess.Popen(self.words(*command), env=self.env(), stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=log))
        return self.started[-1]

    def dpkg(self, *words):
        done = self.run("dpkg", "--force-unsafe-io", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def install(self):
        return self.dpkg("-i", *(f"/{path.name}" for path in self.packages))

    def ask(self, method, path, body=None):
        connection = UnixConnection(self.folder / "run/aliquot/aliquotd.sock")
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def is_up(self):
        try:
            return self.ask("GET", "/healthz")[0] == 200
        except OSError:
            return False

    def start_daemon(self):
        process = self.start("aliquotd", f"--sim={SPEC}")
        wait_for(lambda: process.poll() is not None or self.is_up(), self.said)
        assert process.poll() is None, self.said()
        return process

    def said(self):
        return (self.folder / "started.log").read_text(errors="replace")

    def close(self):
        for process in self.started:
            process.kill()
            process.wait(HANG_SECONDS)
        shutil.rmtree(self.folder)


@pytest.fixture(scope="module")
def tarball(packages):
    """The clean system, with what the packages depend on; systemd itself is not needed."""
    if os.geteuid() != 0:
        pytest.skip("only root can enter a system in a folder")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mounts of one's own here (unshare --mount)")
    needs = {"systemd-standalone-sysusers"}
    for package in packages.values():
        needs |= {re.split(r"[ (]", need.strip())[0] for need in field(package, "Depends").split(",")}
    done = subprocess.run([SOURCE / "tools/fetch-root", *sorted(needs - {"aliquot", "systemd"})],
                          capture_output=True, text=True, timeout=2400, check=False)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.fixture
def root(build, tarball, packages):
    root = Root(tarball, packages)
    try:
        shutil.copy(build.folder / "examples/tenant", root.folder / "usr/local/bin/tenant")
        (root.folder / "sim").mkdir()
        yield root
    finally:
        root.close()


def tree(folder):
    """Every path but the system's own books, and what it holds."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if not OF_THE_SYSTEM.match(name):
            is_file = path.is_file() and not path.is_symlink()
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if is_file else ""
    return found


def work_in_session(root):
    """The daemon, and a program that holds memory of its session "s"."""
    daemon = root.start_daemon()
    status, body = root.ask("POST", "/v1/sessions", '{"name": "s", "memory": "256MiB"}')
    assert status == 201, body
    program = root.start("aliquot", "run", f"--sim={SPEC}", "--session", "s", "--", "tenant", "t", "work", 64, 1000000)
    wait_for(lambda: program.poll() is not None or works(root), root.said)
    assert program.poll() is None, root.said()
    return daemon, program


def works(root):
    status, body = root.ask("GET", "/v1/sessions/s/processes")
    return status == 200 and '"tenant"' in body


def test_a_program_is_held_to_its_limit(root):
    root.install()
    done = root.run("aliquot", "run", f"--sim={SPEC}", "--memory", "256MiB", "--", "tenant", "t", "grow", 32, 100)
    assert done.returncode == 3 and "256 MiB" in done.stdout and done.stderr == "", done
    assert "CUDA_ERROR_OUT_OF_MEMORY" in done.stdout, done


def test_a_mix_is_measured_and_pictures_say_what_they_need(root):
    """No cairo is in the clean system: it is only suggested."""
    root.install()
    done = root.run("aliquot", "bench", "share", "--sim", "--seconds", "4", "--ascii", "30", "70")
    assert done.returncode == 0 and done.stderr == "" and "Mean error 0." in done.stdout, done
    done = root.run("aliquot", "bench", "share", "--sim", "--png", "/x.png", "30")
    assert done.returncode == 1 and "apt-get install libcairo2" in done.stderr, done


def test_the_daemon_is_enabled_and_answers(root):
    """At the next boot, as there is no service manager here to start it at once."""
    root.install()
    assert (root.folder / "etc/systemd/system/multi-user.target.wants/aliquotd.service").is_symlink()
    assert not list(root.folder.glob("etc/systemd/user/*/aliquotd.service"))
    assert re.search(r"^aliquot:", (root.folder / "etc/group").read_text(), re.MULTILINE)
    done = root.run("aliquotd", "--check-config")
    assert done.returncode == 0 and done.stderr == "", done
    assert root.start_daemon().poll() is None


def test_an_upgrade_disturbs_no_program_and_keeps_the_config(root):
    """Both packages over themselves, which replaces every file; then the new daemon takes over."""
    root.install()
    library, config = root.folder / "usr/lib/aliquot/libaliquot.so", root.folder / "etc/aliquot/aliquotd.conf"
    config.write_text("[audit]\nkeep_days = 7\n")
    daemon, program = work_in_session(root)
    with open(library, "rb") as old:
        root.install()
        assert os.fstat(old.fileno()).st_ino != library.stat().st_ino
    assert config.read_text() == "[audit]\nkeep_days = 7\n"
    assert daemon.poll() is None and works(root)
    daemon.terminate()
    assert daemon.wait(HANG_SECONDS) == 0
    root.start_daemon()
    assert program.poll() is None and works(root), root.said()


def test_removal_keeps_what_is_known_and_purge_keeps_nothing(root):
    clean = tree(root.folder)
    root.install()
    daemon, program = work_in_session(root)
    root.dpkg("--remove", "aliquot-daemon", "aliquot")
    assert program.poll() is None and works(root), root.said()
    assert not (root.folder / "usr/bin/aliquot").exists() and not (root.folder / "usr/lib/aliquot").exists()
    assert (root.folder / "etc/aliquot/aliquotd.conf").exists()
    assert (root.folder / "var/lib/aliquot/aliquot.db").exists()
    for process in (program, daemon):
        process.terminate()
        process.wait(HANG_SECONDS)
    root.dpkg("--purge", "aliquot-daemon", "aliquot")
    (root.folder / "started.log").unlink()
    left = tree(root.folder)
    assert left == clean, sorted(set(left.items()) ^ set(clean.items()))
