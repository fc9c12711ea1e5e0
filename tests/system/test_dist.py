# SPDX-License-Identifier: Apache-2.0
"""Releases: what `make dist` packs runs on old systems, and its install script harms nothing.

Built by tools/dist itself; skipped where its compiler cannot be had.
"""
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tarfile

import pytest

from build import SOURCE
from hang import HANG_SECONDS

ARCHITECTURES = ("x86_64", "aarch64")
OLDEST_GLIBC = (2, 28)  # RHEL 8; Ubuntu 20.04 has 2.31
LIBC = re.compile(r"(libc\.so\.6|libpthread\.so\.0|libdl\.so\.2|ld-linux-.*)")


# What is checked of the other architecture's, whose programs do not run here, is the same without optimisation, which takes the
# compiler half the time.
HOW = {arch: "2" if arch == platform.machine() else "0" for arch in ARCHITECTURES}


def make_dist(folder, arch, *words):
    done = subprocess.run([SOURCE / "tools/dist", "--to", folder, *words, arch], text=True,
                          capture_output=True, timeout=2400, check=False, env={**os.environ, "DIST_OPTIMIZATION": HOW[arch]})
    if done.returncode == 77:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    for arch in ARCHITECTURES:
        make_dist(folder, arch)
    return folder


def tarball(dist, arch):
    (path,) = dist.glob(f"aliquot-*-linux-{arch}.tar.gz")
    return path


@pytest.fixture(scope="module")
def unpacked(dist, tmp_path_factory):
    """This machine's, unpacked as a user does it."""
    if platform.machine() not in ARCHITECTURES:
        pytest.skip(f"no release for {platform.machine()}")
    folder = tmp_path_factory.mktemp("unpacked")
    subprocess.run(["tar", "-xf", tarball(dist, platform.machine()), "-C", folder], check=True)
    (inner,) = folder.iterdir()
    return inner


def digest(path):
    """Files that differ are told apart by their sums: pytest would look for minutes for where."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def elf_files(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
             and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(files) >= 8, files
    return files


def tool(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=HANG_SECONDS,
                          check=True).stdout


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_file_loads_on_old_systems(dist, tmp_path, arch):
    """No symbol newer than glibc 2.28, nothing needed but glibc itself, and of the right machine."""
    with tarfile.open(tarball(dist, arch)) as archive:
        archive.extractall(tmp_path)
    for path in elf_files(tmp_path):
        symbols, dynamic = tool("readelf", "-V", "-W", path), tool("readelf", "-h", "-d", "-W", path)
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", symbols)}
        assert versions and max(versions)[:2] <= OLDEST_GLIBC, path
        assert "AArch64" in dynamic if arch == "aarch64" else "X86-64" in dynamic, path
        needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
        assert needed and all(LIBC.fullmatch(name) for name in needed), (path, needed)
        assert "TEXTREL" not in dynamic and "RPATH" not in dynamic and "RUNPATH" not in dynamic, path
        if not {"sim", "bench", "bin"} & set(path.parts):  # what goes into programs of others
            assert "libpthread.so.0" not in needed, path


def test_the_sums_are_of_the_files(dist):
    for line in (dist / "SHA256SUMS").read_text().splitlines():
        wanted, name = line.split()
        assert digest(dist / name) == wanted
    assert len((dist / "SHA256SUMS").read_text().splitlines()) == len(ARCHITECTURES)


def test_the_same_sources_give_the_same_bytes(dist, tmp_path):
    """No time, no path, no owner of a machine goes in: the library, built again elsewhere, and the tarball, packed again."""
    library, elsewhere = "src/shim/libaliquot.so", tmp_path / "else/where"
    assert make_dist(elsewhere, "x86_64", "--part", library) == []
    assert digest(elsewhere / "x86_64" / library) == digest(dist / "x86_64" / library)
    before = digest(tarball(dist, "x86_64"))
    (dist / "x86_64.made").unlink()
    make_dist(dist, "x86_64")
    assert digest(tarball(dist, "x86_64")) == before


def test_what_is_there_is_not_made_again(dist):
    """Not even written: a release that was checked stays the file that it is."""
    before = {path: path.stat().st_mtime_ns for path in dist.glob("*.tar.gz")}
    for arch in ARCHITECTURES:
        make_dist(dist, arch)
    assert before == {path: path.stat().st_mtime_ns for path in dist.glob("*.tar.gz")}


def test_nothing_of_the_builder_is_in_it(dist):
    for arch in ARCHITECTURES:
        with tarfile.open(tarball(dist, arch)) as archive:
            for member in archive:
                assert (member.uid, member.gid, member.mode & 0o022) == (0, 0, 0), member.name
                if member.isfile():
                    content = archive.extractfile(member).read()
                    assert str(SOURCE).encode() not in content, member.name
                    assert str(dist).encode() not in content, member.name


def test_a_program_is_held_to_its_limit_by_what_was_unpacked(build, sim, unpacked):
    """Nothing installed: the command finds its library, and its simulated card, beside itself."""
    tenant = build.folder / "examples/tenant"
    result = sim.run([unpacked / "bin/aliquot", "run", f"--sim={sim.spec}", "--memory", "256MiB", "--",
                      tenant, "t", "grow", 32, 100], LD_LIBRARY_PATH=None, ALIQUOT_SIM=None,
                     ALIQUOT_REAL_LIBCUDA=None, ALIQUOT_REAL_LIBNVML=None)
    assert result.rc == 3 and "256 MiB" in result.stdout, result
    assert "CUDA_ERROR_OUT_OF_MEMORY" in result.stdout and result.stderr == "", result


# --- the install script -------------------------------------------------------------------------

def install(unpacked, *words, home=None):
    env = {"PATH": os.environ["PATH"], "HOME": str(home or "/nonexistent")}
    return subprocess.run([unpacked / "install", *map(str, words)], env=env, capture_output=True,
                          text=True, timeout=HANG_SECONDS, check=False)


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_install_and_uninstall_leave_nothing(unpacked, tmp_path):
    """As PREFIX=~/.local, with something of the user's in the same folders."""
    home = tmp_path / "home"
    mine = home / ".local/bin/mine"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    before = tree(home)
    done = install(unpacked, f"PREFIX={home}/.local", home=home)
    assert done.returncode == 0 and "Not in PATH yet" in done.stdout, done
    assert tool(home / ".local/bin/aliquot", "--version").startswith("aliquot ")
    assert (home / ".local/share/man/man1/aliquot.1").exists()
    assert (home / ".local/lib/aliquot/shims/libcuda.so").is_symlink()
    done = install(unpacked, "--uninstall", f"PREFIX={home}/.local", home=home)
    assert done.returncode == 0 and tree(home) == before, done


def test_without_a_prefix_a_user_installs_into_dot_local(unpacked, tmp_path):
    """Root's is /usr/local. DESTDIR goes before either, and is no part of what the files say."""
    home, destdir = tmp_path / "home", tmp_path / "dest"
    done = install(unpacked, f"DESTDIR={destdir}", home=home)
    prefix = pathlib.Path("/usr/local") if os.geteuid() == 0 else home / ".local"
    assert done.returncode == 0 and (destdir / prefix.relative_to("/") / "bin/aliquot").exists(), done
    assert str(destdir) not in done.stdout
    assert install(unpacked, "--uninstall", f"DESTDIR={destdir}", home=home).returncode == 0
    assert [path for path in destdir.rglob("*") if not path.is_dir()] == []


def test_what_belongs_to_others_is_not_overwritten(unpacked, tmp_path):
    prefix = tmp_path / "prefix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/aliquot").write_text("another program of that name")
    before = tree(prefix)
    done = install(unpacked, f"PREFIX={prefix}")
    assert done.returncode == 1 and f"{prefix}/bin/aliquot" in done.stderr, done
    assert tree(prefix) == before
    assert (prefix / "bin/aliquot").read_text() == "another program of that name"


def test_a_newer_version_replaces_an_older_one(unpacked, tmp_path):
    """In a new file each, so that who has the old one mapped keeps it; what went is taken away."""
    prefix = tmp_path / "prefix"
    assert install(unpacked, f"PREFIX={prefix}").returncode == 0
    library = prefix / "lib/aliquot/libaliquot.so"
    (prefix / "lib/aliquot/gone.so").write_text("of an older version")
    with open(prefix / "lib/aliquot/installed", "a", encoding="ascii") as listed:
        listed.write("f lib/aliquot/gone.so\n")
    with open(library, "rb") as old:
        assert install(unpacked, f"PREFIX={prefix}").returncode == 0
        assert os.fstat(old.fileno()).st_ino != library.stat().st_ino
    assert not (prefix / "lib/aliquot/gone.so").exists()
    assert install(unpacked, "--uninstall", f"PREFIX={prefix}").returncode == 0
    assert not prefix.exists()


@pytest.fixture
def small(build, tmp_path):
    """A folder as the release unpacks to, of two files: for what install does, whatever it copies."""
    folder = tmp_path / "small"
    for path, mode in (("bin/aliquot", 0o700), ("lib/aliquot/libaliquot.so", 0o600)):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("")
        (folder / path).chmod(mode)
    for path in ("include", "share"):
        (folder / path).mkdir()
    (folder / "VERSION").write_text(f"aliquot 1 linux {platform.machine()}\n")
    shutil.copy(build.source / "deploy/tarball/install", folder)
    return folder


def test_others_can_use_it_whatever_the_umask(small, tmp_path):
    prefix = tmp_path / "a/prefix"
    before = os.umask(0o077)
    try:
        assert install(small, f"PREFIX={prefix}").returncode == 0
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in [prefix, *prefix.rglob("*")]}
    assert modes.pop("libaliquot.so") == 0o644 and modes.pop("installed") == 0o644
    assert set(modes.values()) == {0o755}, modes


@pytest.mark.parametrize("name", ["with space", "with:colon"])
def test_where_the_loader_could_not_find_it_nothing_is_installed(small, build, tmp_path, name):
    """LD_PRELOAD is parted at both."""
    done = install(small, f"PREFIX={tmp_path}/{name}")
    assert done.returncode == 2 and "colon" in done.stderr and not (tmp_path / name).exists(), done
    done = subprocess.run(["make", "install", f"PREFIX={tmp_path}/{name}"], cwd=build.source, capture_output=True,
                          text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode != 0 and "colon" in done.stderr, done


def test_an_install_that_fails_leaves_nothing(small, tmp_path):
    prefix = tmp_path / "a/prefix"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "lib/aliquot").write_text("a file where a folder is to be")
    before = tree(prefix)
    assert install(small, f"PREFIX={prefix}").returncode != 0
    assert tree(prefix) == before


def test_install_says_how_it_is_used_and_finds_its_files_from_anywhere(small, tmp_path):
    done = install(small, "--help")
    assert done.returncode == 0 and "--uninstall" in done.stdout and done.stderr == "", done
    link = tmp_path / "link/install"
    link.parent.mkdir()
    link.symlink_to(small / "install")
    assert install(link.parent, f"PREFIX={tmp_path}/prefix").returncode == 0
    done = install(small, "--uninstall", f"PREFIX={tmp_path}/prefix")
    assert done.returncode == 0 and not (tmp_path / "prefix").exists(), done


def test_files_of_another_kind_of_install_are_named_with_their_way_out(small, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/aliquot").write_text("built here")
    done = install(small, f"PREFIX={tmp_path}")
    assert done.returncode == 1 and "make uninstall" in done.stderr, done


@pytest.mark.parametrize("words", (["PREFIX=relative"], ["--frobnicate"]))
def test_what_is_asked_wrongly_is_refused(unpacked, words):
    done = install(unpacked, *words)
    assert done.returncode == 2 and done.stderr, done


def test_uninstall_of_nothing_says_so(unpacked, tmp_path):
    done = install(unpacked, "--uninstall", f"PREFIX={tmp_path}")
    assert done.returncode == 1 and "nothing is installed" in done.stderr, done
