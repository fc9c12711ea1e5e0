# SPDX-License-Identifier: Apache-2.0
"""What a user says to a setuid program of root's in its environment, with the facades in front of its driver.

The program has root's rights and the user's variables. The loader drops LD_PRELOAD for it, so the
facade is what a bind mount over the driver gives it: the libcuda.so.1 that it is linked with.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

from hang import HANG_SECONDS
from joiner import daemon_of_stories, path_of_session  # noqa: F401 (fixtures)
from tenant import needs_root

USER = 64001
INIT = """
#include <stdio.h>
int cuInit(unsigned flags);
int main(void) { printf("cuInit: %d\\n", cuInit(0)); }
"""
DRIVER = "int cuInit(unsigned flags); int cuInit(unsigned flags) { return 0; }"
EVIL = """
#include <fcntl.h>
#include <unistd.h>
int cuInit(unsigned flags);
int cuInit(unsigned flags) { return 0; }
__attribute__((constructor)) static void grab(void) { close(open("%s", O_CREAT | O_WRONLY, 0600)); }
"""
WORKS, REFUSED = "cuInit: 0\n", "cuInit: 800\n"


class Setuid:
    """A program of root's that any user may start, in a folder that any user can reach."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.private = folder / "private"  # root's; what appears in it was made with root's rights
        self.private.mkdir(mode=0o700)
        self.program = self.link(build.shims, folder / "driver")

    def link(self, *folders):
        driver = self.folder / "driver"
        if not driver.exists():
            driver.mkdir()
            self.build.compile_c(driver / "libcuda.so.1", DRIVER, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
        program = self.folder / f"program{len(list(self.folder.iterdir()))}"
        # DT_RPATH, not DT_RUNPATH: the facade looks for the driver by the path of who loaded it.
        paths = ",".join(f"-rpath,{folder}" for folder in folders)
        self.build.compile_c(program, INIT, driver / "libcuda.so.1", f"-Wl,--disable-new-dtags,{paths}")
        program.chmod(0o4755)
        return program

    def start(self, program=None, **variables):
        done = subprocess.run([program or self.program], user=USER, group=USER, extra_groups=[], cwd="/",
                              env={name: str(value) for name, value in variables.items()},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        assert done.returncode == 0, done
        return done

    def made(self):
        return sorted(path.name for path in self.private.rglob("*"))


@pytest.fixture
def setuid(build):
    if "ALIQUOT_SANITIZER" in os.environ:
        pytest.skip("the program itself is not sanitized")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip(f"{folder} is mounted nosuid: no program there gets its owner's rights")
        yield Setuid(build, folder)


def hostile(folder):
    """Whatever names a file, each in a folder that only root can write."""
    return [
        {"ALIQUOT_LOG": "debug", "ALIQUOT_LOG_FILE": folder / "log"},
        {"VCUDA_LOG_LEVEL": "debug", "VCUDA_LOG_SINK": f"file:{folder}/log"},
        {"VCUDA_LOG_SINK": "file", "VCUDA_LOG_FILE": folder / "log"},
        {"ALIQUOT_RUNTIME_DIR": folder / "run", "ALIQUOT_DEVICE_NAME": "mine"},
        {"XDG_RUNTIME_DIR": folder, "VCUDA_DEVICE_NAME": "mine", "ALIQUOT_CONTEXT": "free"},
        {"ALIQUOT_SIM": f"state={folder}/sim"},
        {"ALIQUOT_JOIN_TOKEN": "x", "ALIQUOT_SIM_LOG": "1", "CUDA_MEM_LIMIT": ""},
    ]


@needs_root
def test_no_file_is_made_where_the_user_says(setuid):
    for variables in hostile(setuid.private):
        done = setuid.start(**variables)
        assert (done.stdout, done.stderr) == (WORKS, ""), variables
    assert setuid.made() == []


@pytest.mark.needs("a build folder for other users")
def test_the_same_variables_hold_without_the_raised_rights(setuid):
    """The ground of the story before: the log is made as soon as the program is nobody's but the user's."""
    own = setuid.folder / "own"
    own.mkdir()
    os.chown(own, USER, USER)
    setuid.program.chmod(0o755)
    assert setuid.start(ALIQUOT_LOG="debug", ALIQUOT_LOG_FILE=own / "log").stdout == WORKS
    assert (own / "log").stat().st_uid == USER


@pytest.mark.needs("a build folder for other users")
def test_no_library_is_loaded_that_the_user_names(setuid):
    evil = setuid.build.compile_c(setuid.folder / "evil.so", EVIL % (setuid.private / "grabbed"), "-shared", "-fPIC",
                                  "-Wl,-soname,libcuda.so.1")
    done = setuid.start(ALIQUOT_REAL_LIBCUDA=evil, ALIQUOT_REAL_LIBNVML=evil, LD_LIBRARY_PATH=setuid.folder)
    assert (done.stdout, done.stderr, setuid.made()) == (WORKS, "", [])
    setuid.private.chmod(0o777)
    setuid.program.chmod(0o755)
    setuid.start(ALIQUOT_REAL_LIBCUDA=evil)
    assert setuid.made() == ["grabbed"]  # an ordinary program's user may


@needs_root
@pytest.mark.needs("mount namespaces")
@pytest.mark.parametrize("variables", [{}, {"ALIQUOT_MEMORY": "1GiB"}, {"ALIQUOT_SESSION": "mine", "ALIQUOT_LOG": "debug"}])
def test_in_a_container_it_has_the_containers_share(daemon, path, setuid, variables):
    """Nothing of its user's environment is read, so none of it is refused either."""
    given = f"mount -t tmpfs -o mode=755 none /run; mkdir -p /run/aliquot/self; mount --bind {path.parent} /run/aliquot/self"
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-ec", f'{given}; exec "$@"', "-", "setpriv",
                           f"--reuid={USER}", f"--regid={USER}", "--clear-groups", setuid.program],
                          env={"ALIQUOT_LOG_FILE": str(setuid.private / "log"), **variables}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert (done.stdout, done.stderr, setuid.made()) == (WORKS, "", [])
    joined = [line for line in daemon.metrics().items() if "join" in line[0]]
    assert any(value == 1 for _, value in joined), joined


LIMITS = [
    {"ALIQUOT_MEMORY": "1GiB"},
    {"ALIQUOT_MEMORY": ""},
    {"ALIQUOT_COMPUTE": "50"},
    {"ALIQUOT_SESSION": "mine"},
    {"ALIQUOT_GPU": "0"},
    {"GPUSLICE_SESSION": "mine"},
    {"TENSOR_FUSION_CUDA_MEM_LIMIT": '{"0": 1}'},
    {"TENSOR_FUSION_CUDA_UP_LIMIT": '{"0": 1}'},
    {"VCUDA_MEMORY_LIMIT": "1g"},
    {"XPUSHARE_GPU_MEMORY_LIMIT": "1Gi"},
    {"CUDA_DEVICE_MEMORY_LIMIT_0": "1g"},
    {"CUDA_DEVICE_SM_LIMIT": "50"},
    {"CUDA_MEM_LIMIT_0": "1g"},
    {"CUDA_CORE_LIMIT": "30"},
    {"ALIQUOT_MEMROY": "1GiB"},
]


@needs_root
@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: next(iter(limit)))
def test_a_limit_is_neither_lifted_nor_written_down_with_roots_rights(setuid, limit):
    """Passed over, it would be the way out of a session; made, it would be folders of root's without end."""
    name, = limit
    done = setuid.start(ALIQUOT_RUNTIME_DIR=setuid.private / "run", XDG_RUNTIME_DIR=setuid.private,
                        ALIQUOT_LOG_FILE=setuid.private / "log", **limit)
    line, = done.stderr.splitlines()
    assert done.stdout == REFUSED and line.startswith("aliquot: ") and name.removesuffix("_0") in line, done
    assert setuid.made() == []


@needs_root
@pytest.mark.parametrize("variable", ["ALIQUOT_SESSION_SOCKET", "GPUSLICE_IPC_SOCK"])
def test_a_socket_of_the_users_is_not_spoken_to(setuid, variable):
    path = setuid.folder / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen()
        listener.setblocking(False)
        done = setuid.start(**{variable: path, "ALIQUOT_JOIN_TOKEN": "x"})
        assert done.stdout == REFUSED and f"{variable}: " in done.stderr, done
        with pytest.raises(BlockingIOError):
            listener.accept()


@needs_root
def test_the_simulator_keeps_its_own_node(setuid):
    """Its libraries are for tests, and may still be found by root's programs."""
    usual = pathlib.Path("/dev/shm/aliquot-sim-0")
    is_new = not usual.exists()
    program = setuid.link(setuid.build.driver)
    try:
        done = setuid.start(program, ALIQUOT_SIM=f"gpus=1,state={setuid.private}/sim", ALIQUOT_SIM_LOG="1")
        assert (done.stdout, setuid.made()) == (WORKS, [])
    finally:
        if is_new:
            shutil.rmtree(usual, ignore_errors=True)


# -- The rule itself ------------------------------------------------------------------------------

IN_OTHERS_PROGRAMS = ["abi", "addpath", "common", "core", "cudart", "interpose", "proto", "settings", "shim", "sim", "store"]
PROGRAMS_OF_OURS = ["cli", "daemon", "load", "machine", "plot"]
ENVIRONMENT = re.compile(r"\b(?:(?:secure_)?getenv|_*environ|envp)\b(?!\.h)")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def sources(build, folders):
    for folder in folders:
        for path in sorted((build.source / "src" / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".S", ".inc") or "gen-" in path.name:
                yield str(path.relative_to(build.source / "src")), COMMENT.sub("", path.read_text())


def uses(build, pattern):
    return {(name, found) for name, text in sources(build, IN_OTHERS_PROGRAMS) for found in re.findall(pattern, text)}


def test_every_folder_is_known_to_run_in_others_programs_or_not(build):
    folders = sorted(path.name for path in (build.source / "src").iterdir() if path.is_dir())
    assert folders == sorted(IN_OTHERS_PROGRAMS + PROGRAMS_OF_OURS)


def test_the_environment_is_read_in_one_header(build):
    """So that nothing escapes the rule for privileged programs: a new getenv() goes through it or fails here."""
    assert uses(build, ENVIRONMENT) == {
        ("common/environment.h", "getenv"),
        ("common/environment.h", "environ"),
        ("shim/initial.c", "environ"),  # /proc/self/environ, for the reader below
        ("addpath/addpath.c", "getenv"),  # stands alone: it looks at AT_SECURE itself
    }
    assert uses(build, r"\benvironment_all\(\)") == {("shim/session.c", "environment_all()")}
    assert {found for _, found in uses(build, r'(?<!char \*)environment_get_restriction\((.*?)\)')} == {
        '"CUDA_VISIBLE_DEVICES"'}
