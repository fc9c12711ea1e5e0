# SPDX-License-Identifier: Apache-2.0
"""A systemd that runs as PID 1 in its own namespaces, on a root made from this machine's /usr and
little else.

It sees no process, mount or control group of the machine, and starts only the units of the test.
"""
import os
import pathlib
import re
import shutil
import subprocess
import time

from hang import HANG_SECONDS

MANAGER = pathlib.Path("/usr/lib/systemd/systemd")
BOOT_SECONDS = 60

# Arguments: the root's folder, the control group's name, and folders that are also visible inside.
# The new root is a tmpfs of the new mount namespace, and disappears with it.
BEFORE = """
set -e
root=$1 group=$2
mount --make-rprivate /
mount -t cgroup2 cgroup2 "$root"
mkdir "$root/$group"
echo $$ >"$root/$group/cgroup.procs"
umount "$root"
shift 2
exec unshare --pid --mount --uts --ipc --net --cgroup --fork --kill-child=KILL sh -c "$WITHIN" sh "$root" "$@"
"""
WITHIN = """
set -e
root=$1
shift
mount --make-rprivate /
mount -t tmpfs -o mode=755 root "$root"
cd "$root"
mkdir etc etc/systemd etc/systemd/system usr run var var/lib var/log tmp proc sys dev root home sim old
chmod 1777 tmp sim
for link in bin sbin lib lib64; do [ ! -L "/$link" ] || ln -s "$(readlink "/$link")" "$link"; done
for file in passwd group nsswitch.conf ld.so.cache ld.so.conf ld.so.conf.d; do [ ! -e "/etc/$file" ] || cp -r "/etc/$file" etc/; done
echo ID=test >etc/os-release
od -An -N16 -tx1 /dev/urandom | tr -d ' ' >etc/machine-id
mount --bind /usr usr
mount --bind "$INSTALLED/usr/local" usr/local
cp -r "$INSTALLED"/units/* etc/systemd/system/
for folder; do mkdir -p "./$folder"; mount --bind "$folder" "./$folder"; done
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 dev dev
mkdir dev/shm dev/pts
mount -t tmpfs shm dev/shm
for device in null zero full random urandom; do touch "dev/$device"; mount --bind "/dev/$device" "dev/$device"; done
mount -t tmpfs -o mode=755 run run
printf '[Unit]\\nDefaultDependencies=no\\n' >etc/systemd/system/empty.target
pivot_root . old
umount -l old
exec env -i container=test PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin \\
        /usr/lib/systemd/systemd --system --unit=empty.target --log-target=console --show-status=0
"""


class LiveSystemd:
    """`installed` has usr/local, and `units` with the content of /etc/systemd/system."""
    def __init__(self, folder, installed, shown=()):
        self.root, self.group = folder / "root", f"aliquot-test-{os.getpid()}"
        self.root.mkdir()
        self.log = folder / "systemd.log"
        words = ["unshare", "--mount", "sh", "-c", BEFORE, "sh", self.root, self.group, *shown]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={"PATH": os.environ["PATH"], "WITHIN": WITHIN, "INSTALLED": str(installed)})

    @staticmethod
    def why_not():
        """The missing requirement, or None."""
        if os.geteuid() != 0:
            return "only root makes namespaces and mounts"
        if not MANAGER.exists():
            return "systemd is not installed"
        missing = [tool for tool in ("unshare", "nsenter", "systemctl") if shutil.which(tool) is None]
        return f"{missing[0]} is not installed" if missing else None

    def said(self):
        return self.log.read_text(errors="replace")

    def boot(self):
        """False: it cannot boot here; said() has the reason."""
        end = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            if self.pid() and self.run("systemctl", "is-system-running", check=False).stdout.strip() in ("running", "degraded"):
                return True
            time.sleep(0.05)
        return False

    def pid(self):
        """The manager's pid as the machine sees it; None: not started yet."""
        try:
            pids = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            is_it = pids and os.readlink(f"/proc/{pids[0]}/exe") == str(MANAGER.resolve())
        except FileNotFoundError:
            return None
        return int(pids[0]) if is_it else None

    def words(self, *words):
        """The words that run a command inside."""
        return ["nsenter", f"--target={self.pid()}", "--pid", "--mount", "--uts", "--ipc", "--net", "--cgroup", *map(str, words)]

    def run(self, *words, check=True):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr, self.said()[-4000:])
        return done

    def value(self, unit, key):
        return self.run("systemctl", "show", "--value", f"--property={key}", unit).stdout.strip()

    def status(self, pid):
        """/proc/PID/status of a process by its pid inside."""
        return dict(re.findall(r"^(\w+):\s*(.*)$", self.run("cat", f"/proc/{pid}/status").stdout, re.MULTILINE))

    def close(self):
        self.process.kill()  # the manager and everything that it started end too
        self.process.wait()
        sweep = ('mount -t cgroup2 cgroup2 "$1" && for try in 1 2 3 4 5 6 7 8 9; do '
                 'find "$1/$2" -depth -type d -exec rmdir {} + 2>/dev/null && break; sleep 0.2; done')
        subprocess.run(["unshare", "--mount", "sh", "-c", sweep, "sh", self.root, self.group], timeout=HANG_SECONDS, check=False)
