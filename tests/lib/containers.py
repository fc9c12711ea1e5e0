# SPDX-License-Identifier: Apache-2.0
"""Real containers of podman and runc, with their storage in the test's own folder.

    podman = Podman(sim, rootfs)
    aliquot cdi add ... --dir podman.cdi
    with podman.script("--device", "aliquot.dev/share=0") as gpu:       # lib/script.py, in a container
        gpu.ready()
    result = podman.run("--user", "1000", command=["/bin/id", "-u"])

podman 4 reads CDI specifications only in /etc/cdi and /run/cdi, so it runs in a mount namespace of
its own where /run is an empty file system with `cdi` in it. To avoid fetching images, a container's
root is made from this machine's own C library, shell and tools, and our test programs, in less than
a second. Each container has a copy of it by hard links, since runc creates mount points in it.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

from hang import HANG_SECONDS
from script import Script

TOOLS = ("bash", "env", "id", "mount", "setsid", "stat", "umount", "unshare")
# Enough for our programs; runc's defaults exceed root's limits on some machines.
BOUNDS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096")


def libraries_of(program):
    """Each at the path where the loader finds it, including the loader; a driver is left to the
    code that injects one."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    found = re.findall(r"(/\S+) \(0x", done.stdout)
    return [path for path in found if not os.path.basename(path).startswith(("libcuda.", "libnvidia-ml."))]


def put(root, source, target):
    target = root / target.lstrip("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(source), target)


def make_root(root, build):
    """Debian's layout: /bin and /lib are links into /usr."""
    for name in ("usr/bin", "usr/lib", "usr/lib64", "dev", "etc", "proc", "run", "sys", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "tmp").chmod(0o1777)
    (root / "etc/passwd").write_text("root:x:0:0::/:/bin/bash\nguest:x:1000:1000::/:/bin/bash\n")
    programs = {shutil.which(name): f"/usr/bin/{name}" for name in TOOLS}
    programs.update({build.program("hooks/script"): "/usr/bin/script", build.program("sim/hold"): "/usr/bin/hold"})
    for source, target in programs.items():
        put(root, source, target)
        for library in libraries_of(source):
            put(root, library, library)
    return root


class Podman:
    """`user`: rootless, as that user of this machine."""
    def __init__(self, sim, root, user=None):
        self.sim, self.root, self.user, self.count = sim, root, user, 0
        # podman accepts no runroot longer than 50 characters.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="aliquot-test-"))
        self.folder.chmod(0o755)  # also for a root with another uid outside
        self.cdi = self.folder / "cdi"
        self.cdi.mkdir()
        if user:
            os.chown(self.folder, user, user)
        held = f"mount -t tmpfs none /run && mkdir /run/cdi && mount --bind {self.cdi} /run/cdi && echo ready && exec sleep inf"
        self.place = sim.start(["unshare", "--mount", "--propagation", "private", "sh", "-c", held])
        assert self.place.stdout.readline() == "ready\n", self.place.stderr.read()

    def words(self, *arguments):
        places = [f"--{name}={self.folder / name}" for name in ("root", "runroot", "tmpdir")]
        become = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "env", f"HOME={self.folder}",
                  f"XDG_RUNTIME_DIR={self.folder}"] if self.user else []
        return ["nsenter", f"--mount=/proc/{self.place.pid}/ns/mnt", "--wd=/", *become, "podman", *places, "--log-level=fatal",
                "--storage-driver=vfs", "--runtime=runc", "--cgroup-manager=cgroupfs", "--events-backend=none", *arguments]

    def run_words(self, *options, command):
        self.count += 1
        root = self.folder / f"root{self.count}"
        owner = next((option.split(":")[1] for option in options if option.startswith("--uidmap=0:")), self.user)
        subprocess.run(["cp", "-a" if owner else "-al", self.root, root], timeout=HANG_SECONDS, check=True)
        if owner:
            subprocess.run(["chown", "-R", f"{owner}:{owner}", root], timeout=HANG_SECONDS, check=True)
        return self.words("run", "--rm", "--interactive", "--network=none", "--log-driver=none", *BOUNDS, *options,
                          "--rootfs", root, *command)

    def run(self, *options, command):
        return self.sim.run(self.run_words(*options, command=command))

    def start(self, *options, command):
        return self.sim.start(self.run_words(*options, command=command))

    def script(self, *options, command=("/usr/bin/script",)):
        return Script.of(self.start(*options, command=command))

    def in_container(self, name, *command):
        """The output of a command in a running container."""
        result = self.sim.run(self.words("exec", name, *command))
        assert result.rc == 0, result
        return result.stdout

    def close(self):
        """podman itself may have ended while its containers still run."""
        subprocess.run(list(map(str, self.words("rm", "--all", "--force", "--time=0"))), capture_output=True,
                       timeout=HANG_SECONDS, check=False)
        for pause in self.folder.rglob("pause.pid"):  # holds a rootless podman's user namespace
            os.kill(int(pause.read_text()), signal.SIGKILL)
        self.place.kill()
        self.place.wait(HANG_SECONDS)
        shutil.rmtree(self.folder, ignore_errors=True)


def skip_without(podman):
    """Skips if no container can run, with podman's own reason."""
    for tool in ("podman", "runc"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    result = podman.run(command=["/bin/id", "-u"])
    if result.rc != 0 or result.stdout != "0\n":
        pytest.skip(f"podman runs no container here: {(result.stderr.strip() or result.stdout).splitlines()[-1:]}")
