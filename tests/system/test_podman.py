# SPDX-License-Identifier: Apache-2.0
"""Real containers of podman and runc on the simulated card, each held to its share.

What a container is given is what `aliquot cdi` wrote; its programs need no variable. The containers are those of
lib/containers.py; where podman runs none the stories are skipped, with its reason.
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from cli import UNSET, Command
from containers import Podman, libraries_of, make_root, put, skip_without
from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from script import MIB, OUT_OF_MEMORY, Script

SMALL, LARGE = "gpu0-256MiB-30", "gpu0-512MiB-50"
BYTES = {SMALL: 256 * MIB, LARGE: 512 * MIB}
GUEST, NOBODY = 1000, 65534
NO_DEVICE = 100
LIBRARIES = f"/usr/lib/{os.uname().machine}-linux-gnu"

pytestmark = pytest.mark.needs("mount namespaces", "a runtime folder")


@pytest.fixture(scope="module")
def root(build):
    with tempfile.TemporaryDirectory(prefix="aliquot-test-") as folder:
        pathlib.Path(folder).chmod(0o755)
        yield make_root(pathlib.Path(folder) / "root", build)


@pytest.fixture
def podman(sim, root):
    one = Podman(sim, root)
    try:
        skip_without(one)
        yield one
    finally:
        one.close()


@pytest.fixture
def daemon(sim, podman):
    return Daemon(sim, "[watch]\ntolerance = 16MiB\n").start()


@pytest.fixture
def shares(sim, podman, daemon):
    return Shares(sim, podman, daemon)


class Shares:
    def __init__(self, sim, podman, daemon):
        self.cli = Command(sim).that_asks_daemons()
        self.sim, self.podman, self.daemon = sim, podman, daemon

    def cdi(self, *words):
        result = self.cli("cdi", *words, f"--dir={self.podman.cdi}", f"--lib-dir={self.podman.folder}/lib", f"--sim={self.sim.spec}",
                          sim=False)
        assert result.rc == 0, result
        return result

    def containers(self):
        return {share["name"]: share["sessions"] for share in self.cdi("ls", "--json").json}

    def script(self, share, *options, **how):
        return self.podman.script(*device(share), *options, **how)


def open_to_others(sim):
    """The simulated card, to users who are not root; of a real one everybody may have the nodes."""
    for path in (sim.folder, sim.cards):
        path.chmod(0o711)
    for path in (sim.state, *sim.state.rglob("*")):
        path.chmod(0o777)


def device(share):
    return "--device", f"aliquot.dev/share={share}"


def expect_held(gpu, share):
    """It sees a card of the share's size, and gets all of that and no more."""
    free, total = gpu.ready().values("info")
    assert total == BYTES[share]
    assert gpu.code(f"alloc 1 {free + MIB}") == OUT_OF_MEMORY
    gpu.do(f"alloc 1 {free - MIB}")
    assert gpu.code(f"alloc 2 {2 * MIB}") == OUT_OF_MEMORY


# -- By CDI

@pytest.mark.parametrize("how, options", [
    ((), ()),
    (("--preload",), ()),
    ((), ("--read-only",)),
    (("--preload",), ("--read-only", "--pid=host")),
    ((), ("--ipc=host",)),
    ((), ("--user", f"{GUEST}", "--cap-drop=ALL", "--security-opt=no-new-privileges")),
    (("--preload",), ("--user", f"{GUEST}:{GUEST}")),
    ((), ("--uidmap=0:100000:65536",)),
], ids=lambda words: " ".join(words) or "plain")
def test_a_container_is_held_to_its_share(shares, how, options):
    shares.cdi("add", SMALL, *how)
    open_to_others(shares.sim)
    with shares.script(SMALL, *options) as gpu:
        expect_held(gpu, SMALL)


# Each a command that starts a program otherwise.
OTHERWISE = (
    "env -i",
    "env ALIQUOT_MEMORY=900MiB ALIQUOT_COMPUTE=100",
    "env ALIQUOT_SESSION=other ALIQUOT_RUNTIME_DIR=/tmp",
    "env ALIQUOT_SESSION_SOCKET=/tmp/socket CUDA_DISABLE_CONTROL=true",
    "env ALIQUOT_MEMROY=1 ALIQUOT_GPU=7",
    "env ALIQUOT_REAL_LIBCUDA=/nowhere ALIQUOT_REAL_LIBNVML=/nowhere ALIQUOT_SIM=memory=80GiB",
    "env LD_LIBRARY_PATH=/run/aliquot/self LD_PRELOAD=",
    "env LD_LIBRARY_PATH=/run/aliquot/driver",
    "setsid env -i bash -c 'exec \"$0\" \"$@\"'",
    "unshare --user",
    "unshare --map-root-user --mount",
)


@pytest.mark.parametrize("how", [(), ("--preload",)], ids=["facades", "preload"])
def test_no_variable_leads_out_of_it(shares, how):
    """Nor does a session of terminals, or a user namespace, where root has another number or none."""
    shares.cdi("add", SMALL, *how)
    lines = "; ".join(f"{before} /usr/bin/hold 0 {MIB} </dev/null" for before in OTHERWISE)
    result = shares.podman.run(*device(SMALL), "--security-opt=seccomp=unconfined", command=["/bin/bash", "-c", lines])
    assert result.rc == 0 and result.stderr == "", result
    assert [line.split()[2] for line in result.stdout.splitlines()] == [str(BYTES[SMALL])] * len(OTHERWISE), result


def test_two_containers_on_one_card_have_a_share_each(shares, daemon):
    """And a third, by the same share as the first, has as much again; when they end, nothing is left of them."""
    shares.cdi("add", SMALL, LARGE)
    with shares.script(SMALL) as one, shares.script(LARGE) as two, shares.script(SMALL) as three:
        for gpu, share in ((one, SMALL), (two, LARGE), (three, SMALL)):
            expect_held(gpu, share)
        assert shares.containers() == {SMALL: 2, LARGE: 1}
        used = daemon.get("/v1/devices").json["devices"][0]["used_bytes"]
        assert used <= sum(BYTES[share] for share in (SMALL, LARGE, SMALL)), used
    wait_for(lambda: shares.containers() == {SMALL: 0, LARGE: 0}, daemon.said)


def test_all_programs_of_a_container_share_its_limit(shares, podman):
    """Those that `podman exec` starts too, which have another environment."""
    shares.cdi("add", SMALL)
    with shares.script(SMALL, "--name=one") as first:
        first.ready().do(f"alloc 1 {150 * MIB}")
        with Script.of(shares.sim.start(podman.words("exec", "--interactive", "one", "/usr/bin/env", "-i", "/usr/bin/script"))) as second:
            assert second.ready().values("info")[1] == BYTES[SMALL]
            assert second.code(f"alloc 1 {150 * MIB}") == OUT_OF_MEMORY
            second.do(f"alloc 1 {50 * MIB}")


def test_doctor_knows_a_program_of_a_container(shares, daemon):
    shares.cdi("add", SMALL)
    with shares.script(SMALL) as gpu:
        gpu.ready()
        session, = daemon.get("/v1/sessions").json["sessions"]
        process, = daemon.get(f"/v1/sessions/{session['name']}/processes").json
        said = shares.cli("doctor", str(process["pid"])).stdout
    assert f"interposed, by {LIBRARIES}/lib" in said and "that of its container's share" in said, said


def test_a_container_outlives_the_daemon(shares, podman, daemon):
    """What runs goes on; what it starts meanwhile waits for the next daemon, and is held then."""
    shares.cdi("add", SMALL)
    with shares.script(SMALL, "--name=one") as first:
        first.ready().do(f"alloc 1 {150 * MIB}")
        daemon.kill()
        assert first.code(f"alloc 2 {150 * MIB}") == OUT_OF_MEMORY
        first.do("free 1", f"alloc 1 {100 * MIB}")
        daemon.start()
        with Script.of(shares.sim.start(podman.words("exec", "--interactive", "one", "/usr/bin/script"))) as second:
            assert second.ready().values("info")[1] == BYTES[SMALL]
            assert second.code(f"alloc 1 {150 * MIB}") == OUT_OF_MEMORY


def test_another_version_of_ours_disturbs_no_container(shares, podman):
    """Its libraries stay what they were, also for what it starts later."""
    shares.cdi("add", SMALL)
    with shares.script(SMALL, "--name=one") as first:
        first.ready()
        before = podman.in_container("one", "/usr/bin/stat", "-c", "%i", f"{LIBRARIES}/libcuda.so.1")
        shares.sim.settings["draining"] = "40ms"  # other words of the simulator: another folder
        shares.cdi("enable")
        assert len(list((podman.folder / "lib").iterdir())) == 2
        assert podman.in_container("one", "/usr/bin/stat", "-c", "%i", f"{LIBRARIES}/libcuda.so.1") == before
        expect_held(first, SMALL)


def test_a_container_without_a_share_has_no_driver(shares):
    shares.cdi("add", SMALL)
    result = shares.podman.run(command=["/usr/bin/hold", "0", str(MIB)])
    assert result.rc == 127 and "libcuda.so.1" in result.stderr, result


# -- With a driver that NVIDIA's own device brings

@pytest.fixture
def nvidia(shares, podman, build):
    """A driver with a version in its name, as installed here, and a CDI device that brings it into a container."""
    folder = podman.folder / "driver"
    folder.mkdir()
    mounts = []
    for name in ("libcuda.so", "libnvidia-ml.so"):
        shutil.copy(build.driver / f"{name}.1", folder / f"{name}.570.1")
        (folder / f"{name}.1").symlink_to(f"{name}.570.1")
        mounts.append({"hostPath": str(folder / f"{name}.570.1"), "containerPath": str(folder / f"{name}.570.1"),
                       "options": ["ro", "nosuid", "nodev", "bind"]})
    mounts.append({"hostPath": str(shares.sim.state), "containerPath": str(shares.sim.state), "options": ["rw", "bind"]})
    edits = {"mounts": mounts, "env": [f"ALIQUOT_SIM={shares.sim.spec}", f"LD_LIBRARY_PATH={folder}"]}
    (podman.cdi / "nvidia.json").write_text(json.dumps({
        "cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "0", "containerEdits": edits}]}))
    return folder


@pytest.mark.parametrize("order", ["after", "before"])
def test_facades_stand_before_the_driver_that_nvidias_device_brings(shares, podman, nvidia, order):
    """In the name that programs ask for, whichever device stands first."""
    result = shares.cli("cdi", "add", SMALL, f"--dir={podman.cdi}", f"--lib-dir={podman.folder}/lib", sim=False,
                        **{**UNSET, "ALIQUOT_SIM": shares.sim.spec, "ALIQUOT_REAL_LIBCUDA": nvidia / "libcuda.so.1",
                           "ALIQUOT_REAL_LIBNVML": nvidia / "libnvidia-ml.so.1"})
    assert result.rc == 0 and "--device nvidia.com/gpu=0 " in result.stdout, result
    both = [*device(SMALL)], ["--device", "nvidia.com/gpu=0"]
    words = both[1] + both[0] if order == "after" else both[0] + both[1]
    with podman.script(*words) as gpu:
        expect_held(gpu, SMALL)


def test_nvidias_own_libraries_behind_facades(shares, podman, root, build):
    """As far as they go without a card: they load from where they were given, and say that there is none."""
    done = subprocess.run([build.source / "tools/fetch-debian", "driver"], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    driver = pathlib.Path(done.stdout.strip())
    for library in libraries_of(driver / "libcuda.so.1"):
        put(root, library, library)
    shares.cdi("add", SMALL)
    given = [(driver / name, f"/run/aliquot/driver/{name}.real") for name in ("libcuda.so.1", "libnvidia-ml.so.1")]
    given += [(build.shims / name, f"{LIBRARIES}/{name}") for name in ("libcuda.so.1", "libnvidia-ml.so.1")]
    door = shares.cli("cdi", "ls", "--json", sim=False).json[0]["door"]
    given.append((pathlib.Path(door).parent, "/run/aliquot/self"))
    with podman.script(*(f"--volume={source}:{target}:ro" for source, target in given), "--pid=host") as gpu:
        assert gpu.code("init") == NO_DEVICE
        maps = podman.in_container("--latest", "/bin/bash", "-c", 'for pid in /proc/[0-9]*; do if [ "$(<$pid/comm)" = script ]; then '
                                   'echo "$(<$pid/maps)"; fi; done')
    assert "/run/aliquot/driver/libcuda.so.1.real" in maps and f"{LIBRARIES}/libcuda.so.1" in maps, maps


# -- What a container's root can do

def test_a_facade_that_is_unmounted_is_seen_from_outside(shares, daemon):
    """A root that may mount goes around it, as with any file of its image; the daemon says who has memory without a session."""
    shares.cdi("add", SMALL)
    around = f"umount {LIBRARIES}/libcuda.so.1 && exec env LD_PRELOAD=/run/aliquot/driver/libcuda.so.1.real /usr/bin/hold 0 $0"
    process = shares.podman.start(*device(SMALL), "--cap-add=SYS_ADMIN", "--pid=host", "--security-opt=seccomp=unconfined",
                                  command=["/bin/bash", "-c", around, str(600 * MIB)])
    assert process.stdout.readline().startswith("ready "), process.stderr.read()
    event = next(event for event in daemon.events() if event["type"] == "stranger")
    assert event["detail"]["command"] == "hold" and event["detail"]["driver_bytes"] >= 600 * MIB, event
    assert "libpod-" in event["detail"]["cgroup"], event


def test_without_that_right_it_stays(shares):
    """podman's default: neither the facade nor the door can be unmounted, hidden or written."""
    shares.cdi("add", SMALL)
    tries = (f"umount {LIBRARIES}/libcuda.so.1", "mount -t tmpfs none /run/aliquot/self",
             "mount --bind /tmp /run/aliquot/self", "echo x > /run/aliquot/self/socket", "echo x > /run/aliquot/driver/simulator",
             "unshare --mount true")
    script = "".join(f"({attempt}) 2>/dev/null && echo '{attempt}'; " for attempt in tries) + "exec /usr/bin/script"
    with shares.script(SMALL, command=["/bin/bash", "-c", script]) as gpu:
        expect_held(gpu, SMALL)


# -- Without CDI

def by_hand(sim, build):
    """As other systems do it: the library, LD_PRELOAD and a limit, each an argument; here with the simulator."""
    variables = {"ALIQUOT_MEMORY": "256MiB", "LD_PRELOAD": "/opt/libaliquot.so", "LD_LIBRARY_PATH": "/opt/sim",
                 "ALIQUOT_SIM": sim.spec.replace(str(sim.state), "/opt/state")}
    mounts = [f"{build.library}:/opt/libaliquot.so:ro", f"{build.driver}:/opt/sim:ro", f"{sim.state}:/opt/state"]
    return [*(f"--volume={mount}" for mount in mounts), *(f"--env={name}={value}" for name, value in variables.items())]


@pytest.mark.parametrize("before", [(), ("/usr/bin/env", "-i", "LD_LIBRARY_PATH=/opt/sim")], ids=["plain", "env -i"])
def test_a_door_by_bind_mounts(shares, sim, podman, daemon, build, before):
    """For runtimes that read no CDI. The simulator's words are mounted too, as the environment has none."""
    assert daemon.post("/v1/profiles", {"name": SMALL}).status == 201
    door = pathlib.Path(daemon.get("/v1/profiles").json["profiles"][0]["door"]).parent
    preload, words = podman.folder / "ld.so.preload", podman.folder / "simulator"
    preload.write_text("/opt/libaliquot.so\n")
    words.write_text(sim.spec.replace(str(sim.state), "/opt/state"))
    mounts = [f"{door}:/run/aliquot/self:ro", f"{build.library}:/opt/libaliquot.so:ro", f"{preload}:/etc/ld.so.preload:ro",
              f"{build.driver}:/opt/sim:ro", f"{sim.state}:/opt/state", f"{words}:/run/aliquot/driver/simulator:ro"]
    with podman.script(*(f"--volume={mount}" for mount in mounts), "--env=LD_LIBRARY_PATH=/opt/sim",
                       command=[*before, "/usr/bin/script"]) as gpu:
        expect_held(gpu, SMALL)


MUSL = """
#include <dlfcn.h>
#include <stdio.h>
int main(void) { puts(dlopen("libcuda.so.1", RTLD_NOW) || dlopen(LIBRARIES "/libcuda.so.1", RTLD_NOW) ? "a driver" : "none"); }
"""


@pytest.mark.parametrize("how", [(), ("--preload",)], ids=["facades", "preload"])
def test_a_program_with_musl_has_no_driver(shares, podman, root, how):
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc (musl-tools) is not installed")
    source = podman.folder / "musl.c"
    source.write_text(MUSL)
    subprocess.run(["musl-gcc", f'-DLIBRARIES="{LIBRARIES}"', "-o", root / "usr/bin/musl", source], check=True, timeout=HANG_SECONDS)
    loader = f"/lib/ld-musl-{os.uname().machine}.so.1"
    if not pathlib.Path(loader).exists():
        pytest.skip(f"no {loader} here")
    put(root, loader, loader)
    shares.cdi("add", SMALL, *how)
    result = podman.run(*device(SMALL), command=["/usr/bin/musl"])
    assert (result.rc, result.stdout) == (0, "none\n"), result


@pytest.mark.parametrize("options", [(), ("--read-only",), ("--pid=host",), ("--user", f"{GUEST}")],
                         ids=lambda options: " ".join(options) or "plain")
def test_by_bind_mounts_and_variables(sim, podman, build, options):
    """The session is in the container's own /dev/shm, of 64 MiB."""
    assert Command(sim)("gpus").rc == 0  # makes the simulated card
    open_to_others(sim)
    with podman.script(*by_hand(sim, build), "--shm-size=64m", *options) as gpu:
        expect_held(gpu, SMALL)


@pytest.mark.needs("other users", "a build folder for other users")
def test_rootless_by_bind_mounts_and_variables(sim, root, build):
    """By a user whose containers nobody but that user can see."""
    assert Command(sim)("gpus").rc == 0
    open_to_others(sim)
    podman = Podman(sim, root, user=NOBODY)
    try:
        skip_without(podman)
        with podman.script(*by_hand(sim, build)) as gpu:
            expect_held(gpu, SMALL)
    finally:
        podman.close()


# -- The tour

def test_the_demo(sim, podman, build):
    def left():
        return sorted(pathlib.Path(tempfile.gettempdir()).glob("aliquot-demo.*"))
    before = left()
    result = sim.run([build.source / "tools/demo-containers"], ALIQUOT_BUILD=build.folder)
    assert result.rc == 0 and result.stderr == "", result
    assert "[greedy] no: CUDA_ERROR_OUT_OF_MEMORY" in result.stdout and "round 8 of 8" in result.stdout, result
    assert left() == before
