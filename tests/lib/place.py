# SPDX-License-Identifier: Apache-2.0
"""What this place (a container, a chroot, a user without root) does not let a test do, each asked once, by trying it.

    @pytest.mark.needs("mounts", "other users")     # a story that is skipped, with the reason, where one is missing
    place.need("terminals")                         # the same in a fixture or a helper
    python3 tests/lib/place.py                      # says what is missing, a line each, and nothing where nothing is

A story asks for what it does, never for the place: the reason is the kernel's own answer.
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
# PTRACE_TRACEME, in a child that then ends.
TRACE_ME = "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); " \
           "raise SystemExit(os.strerror(ctypes.get_errno()) if c.ptrace(0, 0, 0, 0) else 0)"


def attempt(*words, **how):
    """None, or in one line why the command failed."""
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
    """To other users, whose programs run what was built: a clone in /root is not."""
    if lacks("other users"):
        return lacks("other users")
    build = pathlib.Path(os.environ.get("ALIQUOT_BUILD", pathlib.Path(__file__).parents[2] / "build")).resolve()
    if attempt("test", "-x", str(build / "src/cli/aliquot"), user=NOBODY, group=NOBODY, extra_groups=[], cwd="/"):
        return f"{build} is closed to other users"
    return None


def reach_other_users():
    """As the daemon does, to see what a program of theirs has mapped, and to end it (CAP_SYS_PTRACE, CAP_KILL)."""
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
    """As a container's runtime does, in each version that is mounted here."""
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
    """In this very namespace."""
    with tempfile.TemporaryDirectory() as folder:
        return attempt("mount", "-t", "tmpfs", "x", folder) or attempt("umount", "-l", folder)


def filter_calls():
    """Linux answers EFAULT to a filter that is nowhere, where it takes one at all."""
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
    """One on a terminal of its own, to its end."""
    if not shutil.which("tmux"):
        return "tmux is not installed"
    with tempfile.TemporaryDirectory() as folder:
        why = attempt("tmux", "-S", f"{folder}/socket", "-f", "/dev/null", "new-session", "-d", "true",
                      env={**os.environ, "LC_ALL": "C.UTF-8"})
    return why and f"tmux: {why}"


def keeps_locks(folder):
    """Those of files that are mapped (store/liveness.h): overlayfs does not."""
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


# What a story can need: how it is tried, and what is said before the reason.
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
    """None: it is here; else why not."""
    return NEEDS[name]()


def need(*names):
    """Skips the story that runs where one of these is missing."""
    import pytest  # the tool itself runs without

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
