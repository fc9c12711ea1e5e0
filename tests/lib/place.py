# SPDX-License-Identifier: Apache-2.0
"""Finds the operations that this place (a container, a chroot, a user without root) forbids to
tests, each tried once.

    @pytest.mark.needs("mounts", "other users")     # skips the story, with the reason, if one is missing
    place.need("terminals")                         # the same in a fixture or a helper
    python3 tests/lib/place.py                      # prints what is missing, one per line

A story names operations, never a kind of place: the reason is the kernel's own answer.
"""
import ctypes
import errno
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

NOBODY = 65534
TRY_SECONDS = "60"
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
# PTRACE_TRACEME, in a child that then exits.
TRACE_ME = "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); " \
           "raise SystemExit(os.strerror(ctypes.get_errno()) if c.ptrace(0, 0, 0, 0) else 0)"


def attempt(*words, **how):
    """None, or one line with the reason why the command failed."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=float(TRY_SECONDS),
                              check=False, **how)
    except (OSError, subprocess.SubprocessError) as why:
        return str(why)
    said = (done.stderr or done.stdout).strip().splitlines()
    return None if done.returncode == 0 else said[0] if said else f"{words[0]} ended with {done.returncode}"


def become_another_user():
    if os.geteuid() != 0:
        return "only root becomes another user"
    return attempt("true", user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")


def open_build_folder():
    """Other users must be able to run the built programs: not from a clone in /root."""
    if lacks("other users"):
        return lacks("other users")
    build = pathlib.Path(os.environ.get("ALIQUOT_BUILD", pathlib.Path(__file__).parents[2] / "build")).resolve()
    if attempt("test", "-x", str(build / "src/cli/aliquot"), user=NOBODY, group=NOBODY, extra_groups=[], cwd="/"):
        return f"{build} is closed to other users"
    return None


def reach_other_users():
    """The daemon's operations on their programs: reading their mappings, and ending them
    (CAP_SYS_PTRACE, CAP_KILL)."""
    if lacks("other users"):
        return lacks("other users")
    other = subprocess.Popen(["sleep", TRY_SECONDS], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
    try:
        with open(f"/proc/{other.pid}/environ", "rb") as environ:
            environ.read()
        other.kill()
        other.wait()
    except OSError as why:
        return str(why)
    return None


def give_files_away():
    if os.geteuid() != 0:
        return "only root gives files away"
    with tempfile.NamedTemporaryFile() as file:
        try:
            os.chown(file.name, NOBODY, NOBODY)
        except OSError as why:
            return str(why)
    return None


def make_control_group():
    """As a container runtime does, in each version that is mounted here."""
    import container  # it imports this file

    found = [container.mounted(version) for version in (2, 1)]
    if os.geteuid() != 0:
        return "only root makes control groups"
    if not any(found):
        return "none is mounted"
    for folder in filter(None, found):
        group = folder / f"aliquot-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as why:
            return str(why)
        why = attempt("sh", "-c", f"echo $$ >{group}/cgroup.procs")
        group.rmdir()
        if why:
            return why
    return None


def mount_in_namespace(*flags):
    with tempfile.TemporaryDirectory() as folder:
        return attempt("unshare", *flags, "mount", "-t", "tmpfs", "x", folder)


def mount():
    """Mounts in this very namespace."""
    with tempfile.TemporaryDirectory() as folder:
        return attempt("mount", "-t", "tmpfs", "x", folder) or attempt("umount", "-l", folder)


def filter_calls():
    """With an invalid filter address Linux answers EFAULT if filters are allowed at all."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, None)
    code = ctypes.get_errno()
    return None if code == errno.EFAULT else os.strerror(code)


def open_terminal():
    try:
        for end in os.openpty():
            os.close(end)
    except OSError as why:
        return f"a terminal cannot be opened: {why}"
    return None


def start_tmux():
    """Runs one on a terminal of its own, to its end."""
    if not shutil.which("tmux"):
        return "tmux is not installed"
    with tempfile.TemporaryDirectory() as folder:
        why = attempt("tmux", "-S", f"{folder}/socket", "-f", "/dev/null", "new-session", "-d", "true",
                      env={**os.environ, "LC_ALL": "C.UTF-8"})
    return why and f"tmux: {why}"


def keeps_locks(folder):
    """Whether the file system keeps locks of mapped files (store/liveness.h): overlayfs does not.
    """
    told = subprocess.run(["stat", "--file-system", "--format=%T", folder], capture_output=True, text=True, check=False)
    return os.access(folder, os.W_OK | os.X_OK) and told.stdout.strip() != "overlayfs"


def have_runtime_folder():
    usual = ("/dev/shm", tempfile.gettempdir())
    return None if any(map(keeps_locks, usual)) else f"{' and '.join(usual)} are on overlayfs"


def open_for_reading_and_writing(path):
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return str(error)
    return None


# The needs of stories: how to try each, and the text before the reason.
NEEDS = {
    "other users": become_another_user,
    "a build folder for other users": open_build_folder,
    "powers over other users' programs": reach_other_users,
    "chown": give_files_away,
    "control groups": make_control_group,
    "mounts": mount,
    "mount namespaces": lambda: mount_in_namespace("--mount"),
    "user namespaces": lambda: mount_in_namespace("--map-root-user", "--mount"),
    "PID namespaces": lambda: attempt("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"),
    "time namespaces": lambda: attempt("unshare", "--map-root-user", "--time", "--monotonic", "-1", "true"),
    "file systems in user space": lambda: mount() or open_for_reading_and_writing("/dev/fuse"),
    "filters of system calls": filter_calls,
    "tracing": lambda: attempt(sys.executable, "-c", TRACE_ME),
    "terminals": open_terminal,
    "tmux": lambda: open_terminal() or start_tmux(),
    "a runtime folder": have_runtime_folder,
}


@functools.cache
def lacks(name):
    """None: available; else the reason."""
    return NEEDS[name]()


def need(*names):
    """Skips the running story if one of these is missing."""
    import pytest  # the command-line use works without pytest

    for name in names:
        why = lacks(name)
        if why:
            pytest.skip(f"no {name} here: {why}")


def main():
    for name in NEEDS:
        why = lacks(name)
        if why:
            print(f"This place lacks {name} ({why}): the stories that need it are skipped.")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
