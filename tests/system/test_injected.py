# SPDX-License-Identifier: Apache-2.0
"""What a container was given at /run/aliquot beats its programs' environment (src/common/injected.h).

Each program runs in a mount namespace with those files: what a container's runtime makes of a CDI device
(test_podman.py), without a container.
"""

import pathlib

import pytest

from joiner import daemon_of_stories, path_of_session, socket_of  # noqa: F401 (fixtures)
from script import MIB, NOT_PERMITTED, OUT_OF_MEMORY, Script
from tenant import needs_root

pytestmark = pytest.mark.needs("mount namespaces")
SHARE, OTHER = 256 * MIB, 100 * MIB


class Given:
    """The words before a program's: it then has /run/aliquot as it is made here."""

    def __init__(self, sim):
        self.sim = sim
        self.steps = ["mount -t tmpfs -o mode=755 none /run", "mkdir -p /run/aliquot/driver"]

    def do(self, *steps):
        self.steps += steps
        return self

    def door(self, path):
        return self.do("mkdir /run/aliquot/self", f"mount --bind {path.parent} /run/aliquot/self", "mount -o remount,bind,ro /run/aliquot/self")

    def before(self, *words):
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "; ".join([*self.steps, 'exec "$@"']), "-",
                *map(str, words)]

    def script(self, *before, **how):
        how.setdefault("preload", True)
        return Script.of(self.sim.start(self.before(*before, self.sim.build.program("hooks/script")), **how))


@pytest.fixture
def given(sim):
    return Given(sim)


@pytest.mark.parametrize("variables", [
    {},
    {"ALIQUOT_MEMORY": "900MiB"},
    {"ALIQUOT_SESSION": "other"},
    {"ALIQUOT_SESSION_SOCKET": "theirs"},
    {"ALIQUOT_RUNTIME_DIR": "/nowhere", "ALIQUOT_SESSION": "no such"},
    {"ALIQUOT_MEMROY": "900MiB", "ALIQUOT_COMPUTE": ""},
    {"ALIQUOT_GPU": "7", "CUDA_DISABLE_CONTROL": "true", "VCUDA_MEMORY_LIMIT": "nonsense"},
    {"ALIQUOT_LOG": "nonsense", "ALIQUOT_JOIN_TOKEN": "x" * 5000},
], ids=lambda variables: "+".join(variables) or "none")
def test_the_share_holds_whatever_the_environment_says(daemon, sim, path, given, variables):
    daemon.create("other", "700MiB")
    if variables.get("ALIQUOT_SESSION_SOCKET"):
        variables = {"ALIQUOT_SESSION_SOCKET": socket_of(sim, "other")}
    with given.door(path).script(**{"ALIQUOT_RUNTIME_DIR": None, **variables}) as gpu:
        assert gpu.ready().values("info")[1] == SHARE
        assert gpu.code(f"alloc 1 {SHARE}") == OUT_OF_MEMORY
        assert [process["pid"] for process in daemon.get("/v1/sessions/a/processes").json] == [gpu.process.pid]


def test_of_its_own_words_those_about_the_log_count(sim, path, given):
    log = sim.folder / "log"
    with given.door(path).script(ALIQUOT_LOG_FILE=log, ALIQUOT_MEMORY="1GiB") as gpu:
        gpu.ready()
    assert "session a in /run/aliquot/self/socket" in log.read_text()


def test_a_share_whose_daemon_is_away_is_no_way_around(daemon, path, given):
    """It is waited for, and then there is no GPU: nothing else is tried."""
    daemon.stop()
    with given.door(path).script(ALIQUOT_MEMORY="900MiB") as gpu:
        assert gpu.code("init") == NOT_PERMITTED
    said = gpu.process.stderr.read()
    assert said.count("\n") == 1 and "/run/aliquot/self/socket" in said, said


@pytest.mark.parametrize("self", ["true", "chmod 0 /run/aliquot/self"], ids=["empty", "closed"])
def test_a_share_without_a_socket_is_no_gpu(given, self):
    """The door was taken away, or this user may not go through it."""
    with given.do("mkdir /run/aliquot/self", self).script("setpriv", "--bounding-set=-all", "--inh-caps=-all", ALIQUOT_MEMORY="900MiB") as gpu:
        assert gpu.code("init") == NOT_PERMITTED
    said = gpu.process.stderr.read()
    assert said.count("\n") == 1 and "/run/aliquot/self/socket" in said, said


def test_run_makes_no_session_that_nobody_would_be_in(build, sim, path, given):
    result = sim.run(given.door(path).before(build.aliquot, "run", "--memory", "100MiB", "--", "true"))
    assert result.rc == 125 and result.stdout == "" and result.stderr.count("\n") == 1, result
    assert "programs of this container are in its share (/run/aliquot/self)" in result.stderr


@needs_root
@pytest.mark.parametrize("spoil", ["chmod 0777 /run/aliquot", "chmod 0775 /run/aliquot", "chown 1000 /run/aliquot"])
def test_a_folder_that_others_can_write_is_not_believed(path, given, spoil):
    """Then a program that makes one leaves its session by it."""
    with given.door(path).do(spoil).script(ALIQUOT_MEMORY="100MiB") as gpu:
        assert gpu.ready().values("info")[1] == OTHER


@needs_root
@pytest.mark.needs("user namespaces")
@pytest.mark.parametrize("how", ["--user", "--map-root-user"])
def test_in_a_user_namespace_the_share_holds_too(path, given, how):
    """Where root has no number, the folder belongs to a stranger."""
    with given.door(path).script("unshare", how, ALIQUOT_MEMORY="100MiB") as gpu:
        assert gpu.ready().values("info")[1] == SHARE


@pytest.mark.parametrize("driver", [None, "/nowhere", "own"])
def test_the_driver_that_was_given_is_the_real_one(build, sim, given, compile_c, driver):
    """Also where facades are all that the loader can find, and whatever the variable says."""
    if driver == "own":
        driver = compile_c("own.so", "int cuInit(unsigned flags); int cuInit(unsigned flags) { return 77; }",
                           "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    given.do("touch /run/aliquot/driver/libcuda.so.1.real /run/aliquot/driver/libnvidia-ml.so.1.real",
             *(f"mount --bind {build.driver}/{name} /run/aliquot/driver/{name}.real" for name in ("libcuda.so.1", "libnvidia-ml.so.1")))
    with given.script(preload=False, shims=True, ALIQUOT_MEMORY="100MiB", LD_LIBRARY_PATH=build.shims,
                      ALIQUOT_REAL_LIBCUDA=driver, ALIQUOT_REAL_LIBNVML=driver) as gpu:
        assert gpu.ready().values("info")[1] == OTHER
        maps = pathlib.Path(f"/proc/{gpu.process.pid}/maps").read_text(encoding="utf-8")
    assert "own.so" not in maps and "/run/aliquot/driver/libcuda.so.1.real" in maps, maps


def test_a_facade_that_was_given_in_its_place_is_passed_over(build, given):
    """It would lead to itself."""
    given.do("touch /run/aliquot/driver/libcuda.so.1.real", f"mount --bind {build.shims}/libcuda.so.1 /run/aliquot/driver/libcuda.so.1.real")
    with given.script(ALIQUOT_MEMORY="100MiB") as gpu:
        assert gpu.ready().values("info")[1] == OTHER


def test_the_simulated_gpu_that_was_given_is_the_one_there_is(sim, given):
    words = sim.folder / "words"
    words.write_text(f"{sim.spec}\n")
    given.do("touch /run/aliquot/driver/simulator", f"mount --bind {words} /run/aliquot/driver/simulator")
    for spec in (None, "memory=8GiB,gpus=3", "nonsense", "/nowhere"):
        with given.script(preload=False, ALIQUOT_SIM=spec) as gpu:
            assert gpu.ready().values("info")[1] == 1024 * MIB
