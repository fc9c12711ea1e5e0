# SPDX-License-Identifier: Apache-2.0
"""A container as the daemon sees one: processes in a control group that a runtime has named.

    with Container(sim) as container:               # its first process runs until the end
        with container.script(door) as gpu:         # a program in it (lib/script.py)
            gpu.ready()
        container.ask(door, uid=1000)               # the answer to a joiner in it

This needs no runtime, only root: see place.NEEDS["control groups"].
"""
import contextlib
import os
import pathlib
import signal
import time

import joiner
from hang import HANG_SECONDS
from script import Script


def mounted(version):
    """The mount point of the whole hierarchy: of version 2, or of a version 1 one that allows any
    process; or None."""
    kind = "cgroup2" if version == 2 else "cgroup"
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        head, _, tail = line.partition(" - ")
        root, folder = head.split()[3:5]
        if tail.split()[0] == kind and root == "/" and (version == 2 or {"pids", "name=systemd"} & set(tail.split()[2].split(","))):
            return pathlib.Path(folder)
    return None


def usual_version():
    return 2 if mounted(2) else 1


class Container:
    def __init__(self, sim, name=None, version=None):
        self.sim = sim
        self.id = name or os.urandom(32).hex()
        self.parent = mounted(version or usual_version()) / f"aliquot-test-{os.getpid()}"
        self.folder = self.parent / f"libpod-{self.id}"
        self.first = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *error):
        self.stop()

    def start(self):
        with contextlib.suppress(FileExistsError):
            self.parent.mkdir()
        self.folder.mkdir()
        self.first = self.run_in(["sleep", "1000"], preload=False)
        self.wait_until(lambda: self.processes())
        return self

    def groups(self):
        """Its own group and those below it, the innermost first."""
        return sorted((path for path in self.folder.rglob("*") if path.is_dir()), key=lambda path: -len(path.parts)) + [self.folder]

    def processes(self):
        return [int(pid) for group in self.groups() for pid in (group / "cgroup.procs").read_text().split()]

    def wait_until(self, condition):
        end = time.monotonic() + HANG_SECONDS
        while not condition():
            assert time.monotonic() < end, f"hung for {HANG_SECONDS} s: {self.processes()}"
            time.sleep(0.01)

    def empty(self):
        """Ends all its processes; the control group stays."""
        def is_over():
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not self.processes()
        if self.folder.exists():
            self.wait_until(is_over)
            self.first.wait(HANG_SECONDS)

    def stop(self):
        self.empty()
        if self.folder.exists():
            for group in self.groups():
                group.rmdir()
        with contextlib.suppress(OSError):
            self.parent.rmdir()

    def below(self, name):
        """Makes a control group as its tenant can; returns the path of its cgroup.procs."""
        (self.folder / name).mkdir()
        return self.folder / name / "cgroup.procs"

    def inside(self, words, procs=None, uid=None, mount=None):
        """The words of a command that runs there as that user; `mount`: with this folder mounted at
        that one, read-only."""
        bind = f"mount --bind {mount[0]} {mount[1]} && mount -o remount,bind,ro {mount[1]} && " if mount else ""
        user = f"setpriv --reuid={uid} --regid={uid} --clear-groups " if uid else ""
        return [*(["unshare", "-m"] if mount else []), "sh", "-c",
                f'echo $$ >{procs or self.folder / "cgroup.procs"} && {bind}exec {user}"$@"', "sh", *map(str, words)]

    def run_in(self, words, *, preload=True, procs=None, uid=None, mount=None, **variables):
        return self.sim.start(self.inside(words, procs, uid, mount), preload=preload, **variables)

    def script(self, door, **how):
        """A program in the container, which has only the door's socket."""
        return Guest(self, door, **how)

    def enter(self):
        """Moves the calling process, a forked child, into the container."""
        (self.folder / "cgroup.procs").write_text("0", encoding="ascii")

    def begin_to_ask(self, door):
        """Returns once a joiner in the container has sent its HELLO; call the result for the
        answer."""
        return begin_to_ask(door, 0, self.folder / "cgroup.procs", None)

    def ask(self, door, uid=0, procs=None, message=None):
        """The answer, as text, to a joiner of that user in the container, which has the folder."""
        return ask(door, uid, procs or self.folder / "cgroup.procs", message)


class Guest(Script):
    def __init__(self, container, door, **how):  # pylint: disable=super-init-not-called
        self.process = container.run_in([container.sim.build.program("hooks/script")], ALIQUOT_RUNTIME_DIR=None,
                                        ALIQUOT_SESSION_SOCKET=door, **how)

    def refused(self):
        """The stderr line of a program that could not join."""
        assert self.code("init") != 0
        self.process.stdin.close()
        self.process.stdin = None
        self.process.wait(HANG_SECONDS)
        lines = self.process.stderr.read().splitlines()
        assert len(lines) == 1 and lines[0].endswith("GPU calls are refused"), lines
        return lines[0]


def fork(body):
    """Runs `body` in a child that always exits; returns its pid."""
    child = os.fork()
    if not child:
        try:
            body()
        finally:
            os._exit(0)
    return child


def ask(door, uid=0, procs=None, message=None):
    """"welcome NAME", or the code and the reason, for a process in the control group of `procs`
    (None: the same as this one)."""
    return begin_to_ask(door, uid, procs, message)()


def begin_to_ask(door, uid, procs, message):
    reader, writer = os.pipe()

    def body():
        try:
            text = answer_in_child(door, uid, procs, message, writer)
        except OSError as error:
            text = f"x{type(error).__name__}: {error}"
        os.write(writer, text.encode())

    child = fork(body)
    os.close(writer)
    said = os.fdopen(reader)
    assert said.read(1) == "x", "it has not asked"

    def answer():
        with said:
            text = said.read()
        os.waitpid(child, 0)
        return text
    return answer


def answer_in_child(door, uid, procs, message, told):
    folder = os.open(pathlib.Path(door).parent, os.O_PATH | os.O_DIRECTORY)
    if procs:
        pathlib.Path(procs).write_text("0", encoding="ascii")
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    peer = joiner.connect(f"/proc/self/fd/{folder}/socket")
    peer.send(message or joiner.hello())
    os.write(told, b"x")
    answer = joiner.hear(peer)
    if answer is None:
        return "no answer"
    if answer.type == joiner.WELCOME:
        return f"welcome {answer.name}"
    return f"{answer.code} {answer.retry_ms} {answer.reason}"
