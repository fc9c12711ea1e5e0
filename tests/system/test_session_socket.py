# SPDX-License-Identifier: Apache-2.0
"""A session by its socket: whoever has it is in that session, held to its limits, and cannot change them."""
import ctypes
import mmap
import os
import signal
import subprocess
import time

import pytest

import joiner
import place
from daemon import wait_for
from joiner import READ_ONLY_MOUNT, WELCOME, hello, join, refused, script, socket_of
from joiner import daemon_of_stories, path_of_session  # noqa: F401 (fixtures)
from script import MIB, OUT_OF_MEMORY, SUCCESS, Script
from stopped import stop
from tenant import needs_root

NOBODY, STRANGER = 65534, 65533
SYS_OPEN_TREE, SYS_MOUNT_SETATTR = 428, 442
AT_EMPTY_PATH, MOUNT_ATTR_RDONLY, MS_REMOUNT, MS_BIND = 0x1000, 1, 32, 4096
WAIT_SECONDS = 5  # ASK_WAIT_NS


def open_to_others(sim):
    for folder in (sim.folder, sim.runtime):
        os.chmod(folder, 0o711)
    os.chmod(sim.state, 0o777)
    for entry in sim.state.rglob("*"):
        os.chmod(entry, 0o777)


def as_user(uid, *words):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *words]


# -- Joining

def test_a_program_that_has_the_socket_alone_is_limited(daemon, sim, path):
    with script(sim, path) as gpu:
        assert gpu.ready().values("info")[1] == 256 * MIB
        assert gpu.code(f"alloc 1 {300 * MIB}") == OUT_OF_MEMORY
        gpu.do(f"alloc 1 {100 * MIB}")
        process, = daemon.get("/v1/sessions/a/processes").json
        assert process["pid"] == gpu.process.pid and process["devices"][0]["bytes"] >= 100 * MIB
        assert process["joined_by"] == "socket" and process["cgroup"][0] == "/", process
        assert daemon.patch("/v1/sessions/a", {"memory": "512MiB"}).status == 200
        gpu.do(f"alloc 2 {300 * MIB}")
        gpu.kill()
    assert daemon.session("a")["processes"] == 0


def test_doctor_knows_a_program_that_joined_so(sim, path):
    with script(sim, path) as gpu:
        said = sim.aliquot("doctor", str(gpu.ready().process.pid)).stdout
        assert f"that of the socket {path}" in said, said


def test_by_path_and_by_socket_it_is_one_session(daemon, sim, path):
    with script(sim, path) as one, Script(sim, ALIQUOT_SESSION="a") as other:
        one.ready().do(f"alloc 1 {150 * MIB}")
        assert [process["joined_by"] for process in daemon.get("/v1/sessions/a/processes").json] == ["socket"]
        assert other.ready().code(f"alloc 1 {150 * MIB}") == OUT_OF_MEMORY
        one.kill()
        other.do(f"alloc 1 {150 * MIB}")


@needs_root
@pytest.mark.parametrize("how", ["named", "found"])
def test_another_user_joins_by_the_socket_alone(daemon, sim, how):
    """Also where its access lists are gone, and with them the way to the files."""
    daemon.create("theirs", owner=NOBODY)
    open_to_others(sim)
    place.need("a build folder for other users")
    folder = sim.runtime / "sessions/theirs"
    for entry in (folder, folder / "limits"):
        os.removexattr(entry, "system.posix_acl_access")
    os.chmod(folder, 0o711)
    os.chmod(folder / "limits", 0o600)
    named = {"ALIQUOT_SESSION_SOCKET": folder / "socket", "ALIQUOT_RUNTIME_DIR": None}
    process = sim.start(as_user(NOBODY, sim.build.program("sim/hold"), "0", str(64 * MIB)), preload=True,
                        **(named if how == "named" else {"ALIQUOT_SESSION": "theirs"}))
    line = process.stdout.readline()
    assert line.startswith("ready "), process.stderr.read()
    assert line.split()[2] == str(256 * MIB)
    assert daemon.get("/v1/sessions/theirs/processes").json[0]["uid"] == NOBODY


@needs_root
def test_a_stranger_is_refused_by_the_mode_and_by_the_kernels_word(daemon, sim):
    daemon.create("theirs", owner=NOBODY)
    open_to_others(sim)
    os.chmod(sim.runtime / "sessions/theirs", 0o711)
    path = socket_of(sim, "theirs")
    assert os.stat(path).st_uid == NOBODY and os.stat(path).st_mode & 0o777 == 0o600
    assert ask_as(STRANGER, path) == "PermissionError"
    os.chmod(path, 0o666)
    assert ask_as(STRANGER, path) == f"{joiner.NOT_YOURS} the session is another user's"
    assert ask_as(NOBODY, path) == "welcome"
    assert ask_as(0, path) == "welcome"


def ask_as(uid, path):
    """What a joiner of that user is answered."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        try:
            answer = join(path, hello())
            text = "welcome" if answer.type == WELCOME else f"{answer.code} {answer.reason}"
        except OSError as error:
            text = type(error).__name__
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as said:
        return said.read()


def test_a_name_or_limits_that_are_not_the_sockets_are_refused(sim, path):
    assert "ALIQUOT_SESSION=b: the socket" in refused(sim, path, ALIQUOT_SESSION="b")
    assert "session a" in refused(sim, path, ALIQUOT_MEMORY="1GiB")
    with script(sim, path, ALIQUOT_SESSION="a", ALIQUOT_MEMORY="256MiB") as gpu:
        gpu.ready()


def test_a_long_path_leads_there_too(daemon, sim, path):
    """An address of a socket has room for 107 characters."""
    folder = sim.folder
    for _ in range(3):
        folder = folder / ("x" * 90)
        folder.mkdir()
    os.link(path, folder / "socket")
    with script(sim, folder / "socket") as gpu:
        gpu.ready()


@pytest.mark.needs("mount namespaces")
@pytest.mark.parametrize("how", ["named", "found"])
def test_a_container_with_the_folder_read_only_joins_also_after_a_restart(daemon, sim, path, how):
    """It can write neither file by its name, and `slots` by what is handed out."""
    here = sim.folder / "guest/sessions/a"
    here.mkdir(parents=True)
    os.chmod(here.parent.parent, 0o700)
    os.chmod(here.parent, 0o700)
    named = {"ALIQUOT_SESSION_SOCKET": here / "socket", "ALIQUOT_RUNTIME_DIR": None}
    found = {"ALIQUOT_SESSION": "a", "ALIQUOT_RUNTIME_DIR": here.parent.parent}
    inside = ["unshare", "-m", "sh", "-c", f"mount --bind {path.parent} {here} && mount -o remount,bind,ro {here} && exec $0 \"$@\""]

    def start():
        return sim.start([*inside, sim.build.program("sim/hold"), "0", str(64 * MIB)], preload=True,
                         **(named if how == "named" else found))

    first = start()
    assert first.stdout.readline().split()[2:] == [str(256 * MIB)], first.communicate()
    daemon.kill().start()
    second = start()
    assert second.stdout.readline().split()[2:] == [str(256 * MIB)], second.communicate()
    assert daemon.session("a")["processes"] == 2


# -- What is handed out

def test_limits_cannot_be_written_through_what_is_handed_out(daemon, path):
    answer = join(path, hello())
    limits, slots = answer.descriptors
    assert daemon.get("/v1").json["limits_protection"] == ("mount" if answer.flags & READ_ONLY_MOUNT else "mode")
    if not answer.flags & READ_ONLY_MOUNT:
        pytest.skip("without CAP_SYS_ADMIN the daemon's own user can write its files all the same")
    libc = ctypes.CDLL(None, use_errno=True)
    again = f"/proc/self/fd/{limits}"
    for attempt in (lambda: os.open(again, os.O_RDWR), lambda: os.open(again, os.O_WRONLY | os.O_TRUNC),
                    lambda: os.write(limits, b"x"), lambda: os.ftruncate(limits, 0), lambda: os.truncate(again, 0),
                    lambda: os.fchmod(limits, 0o666), lambda: os.fchown(limits, 1, 1),
                    lambda: mmap.mmap(limits, 1024, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)):
        with pytest.raises(OSError):
            attempt()
    # Who may mount can undo neither: the mount is attached nowhere.
    assert libc.mount(None, again.encode(), None, MS_REMOUNT | MS_BIND, None) != 0
    change = (ctypes.c_uint64 * 4)(0, MOUNT_ATTR_RDONLY, 0, 0)
    assert libc.syscall(SYS_MOUNT_SETATTR, limits, b"", AT_EMPTY_PATH, change, ctypes.sizeof(change)) != 0
    assert libc.syscall(SYS_OPEN_TREE, limits, b"", AT_EMPTY_PATH | 1) == -1
    os.fstat(slots)
    answer.close()


def test_slots_that_are_handed_out_are_no_program(path):
    """Whoever is root in a container could make it one of root's on the host, and hand it to a user there."""
    answer = join(path, hello())
    if not answer.flags & READ_ONLY_MOUNT:
        pytest.skip("without CAP_SYS_ADMIN there is only the mount of the runtime folder")
    _, slots = answer.descriptors
    os.pwrite(slots, b"#!/bin/sh\n", 0)
    os.fchmod(slots, 0o4755)
    with pytest.raises(PermissionError):
        subprocess.run([f"/proc/self/fd/{slots}"], pass_fds=[slots], check=False)
    assert os.fstatvfs(slots).f_flag & os.ST_NOSUID
    answer.close()


def test_doctor_says_what_protects_limits(daemon, sim):
    said = sim.aliquot("doctor").stdout
    if "can ask no daemon" in said:
        pytest.skip("aliquot was built without libcurl or jansson")
    by_mount = daemon.get("/v1").json["limits_protection"] == "mount"
    assert ("through a read-only mount" if by_mount else "as read-only files") in said, said


@needs_root
def test_another_users_tenant_cannot_write_limits_even_without_a_mount(daemon, sim):
    daemon.create("theirs", owner=NOBODY)
    answer = join(socket_of(sim, "theirs"), hello())
    open_again = f"open('/proc/self/fd/{answer.descriptors[0]}', 'r+b')"
    done = subprocess.run(as_user(NOBODY, "/usr/bin/python3", "-c", open_again), pass_fds=answer.descriptors,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Error" in done.stderr
    answer.close()


# -- In somebody else's process

PROGRAM = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    #include <dirent.h>
    #include <sys/wait.h>
    #include "abi/cuda.h"
    #include "abi/nvml.h"

    static int low_descriptors(void)
    {
            DIR *folder = opendir("/proc/self/fd");
            struct dirent *entry;
            int count = 0;

            while ((entry = readdir(folder)))
                    count += entry->d_name[0] != '.' && atoi(entry->d_name) > 2 && atoi(entry->d_name) < 512 &&
                             atoi(entry->d_name) != dirfd(folder);
            closedir(folder);
            return count;
    }

    static int use(void)
    {
            CUcontext context;
            CUdeviceptr pointer;
            int made = cuInit(0);

            if (made == 0)
                    made = cuCtxCreate_v2(&context, 0, 0);
            return made ? made : cuMemAlloc_v2(&pointer, 1 << 20);
    }

    int main(int argc, char **argv)
    {
            unsigned count;
            char line[16];
            int status;

            if (strcmp(argv[1], "low") == 0)
                    return printf("%d %d %d\\n", low_descriptors(), use(), low_descriptors()) < 0;
            if (nvmlInit_v2() || nvmlDeviceGetCount_v2(&count))
                    return 2;
            if (strcmp(argv[1], "close") == 0)
                    for (int fd = 3; fd < 4096; fd++)
                            close(fd);
            puts("joined");
            fflush(stdout);
            if (!fgets(line, sizeof(line), stdin))
                    return 3;
            if (strcmp(argv[1], "fork") != 0)
                    return printf("%d\\n", use()) < 0;
            if (fork() == 0)
                    _exit(use());
            wait(&status);
            return printf("%d\\n", WEXITSTATUS(status)) < 0;
    }
    """


@pytest.fixture
def guest(sim, compile_c, path):
    program = compile_c("guest", PROGRAM, "-L", sim.build.driver, "-l:libcuda.so.1", "-l:libnvidia-ml.so.1")
    return lambda how, **variables: sim.start([program, how], preload=True, ALIQUOT_RUNTIME_DIR=None,
                                              **{"ALIQUOT_SESSION_SOCKET": path, **variables})


def go_on(process):
    """What a guest that has joined is answered."""
    process.stdin.write("go\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def test_no_descriptor_below_512_stays_open(guest):
    before, code, after = guest("low").stdout.readline().split()
    bare_before, bare_code, bare_after = guest("low", ALIQUOT_SESSION_SOCKET=None).stdout.readline().split()
    assert code == bare_code == "0" and int(after) - int(before) == int(bare_after) - int(bare_before)


def test_who_closes_all_descriptors_is_given_another(guest, daemon):
    process = guest("close")
    assert process.stdout.readline() == "joined\n"
    assert go_on(process) == SUCCESS
    assert daemon.session("a")["processes"] <= 1


@pytest.mark.needs("mount namespaces")
@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="a sanitizer looks into /proc itself")
def test_without_proc_each_look_is_a_question(sim, path):
    """What is asked for can be opened again only there."""
    process = sim.start(["unshare", "-m", "sh", "-c", "umount -l /proc && exec $0 0 67108864", sim.build.program("sim/hold")],
                        preload=True, ALIQUOT_RUNTIME_DIR=None, ALIQUOT_SESSION_SOCKET=path)
    assert process.stdout.readline().split()[2:] == [str(256 * MIB)], process.communicate()


def test_with_the_daemon_away_who_joined_goes_on_and_so_do_its_children(guest, daemon):
    one, other = guest("stay"), guest("fork")
    assert one.stdout.readline() == other.stdout.readline() == "joined\n"
    daemon.kill()
    assert go_on(one) == go_on(other) == SUCCESS


def test_who_closed_its_descriptors_and_has_no_daemon_is_refused_in_time(guest, daemon):
    process = guest("close")
    assert process.stdout.readline() == "joined\n"
    stop(daemon.process.pid)
    begun = time.monotonic()
    assert go_on(process) == OUT_OF_MEMORY
    assert time.monotonic() - begun < 60
    assert "closed our descriptor of its session" in process.stderr.readline()
    daemon.process.send_signal(signal.SIGCONT)


# -- Daemons that come and go

def test_after_a_restart_new_programs_join_and_old_ones_go_on(daemon, sim, path):
    with script(sim, path) as old:
        old.ready().do(f"alloc 1 {100 * MIB}")
        inode = os.stat(path).st_ino
        daemon.kill()
        old.do(f"alloc 2 {50 * MIB}", "free 2")
        daemon.start()
        wait_for(lambda: os.stat(path).st_ino != inode, daemon.said)
        with script(sim, path) as new:
            assert new.ready().code(f"alloc 1 {150 * MIB}") == OUT_OF_MEMORY
            new.do(f"alloc 1 {16 * MIB}")
            assert daemon.session("a")["processes"] == 2


def test_a_program_that_starts_while_the_daemon_does_waits_for_it(daemon, sim, path):
    daemon.stop()
    assert path.is_socket()
    with script(sim, path) as gpu:
        gpu.send("init")
        daemon.start()
        assert gpu.hear() == ["0"]


def test_without_a_daemon_it_fails_closed_with_one_line(daemon, sim, path):
    daemon.kill()
    line = refused(sim, path)
    assert str(path) in line and "no daemon listens there" in line and f"{WAIT_SECONDS} s" in line


def test_a_daemon_that_hangs_is_not_waited_for(daemon, sim, path):
    stop(daemon.process.pid)
    begun = time.monotonic()
    line = refused(sim, path)
    assert "does not answer" in line and time.monotonic() - begun < 60
    daemon.process.send_signal(signal.SIGCONT)
    assert join(path, hello()).type == WELCOME


def test_what_is_no_sessions_socket_is_told(daemon, sim, path):
    assert "No such file" in refused(sim, sim.folder / "nothing")
    assert "not the socket of a session" in refused(sim, daemon.socket)
    assert "ALIQUOT_SESSION_SOCKET=relative" in refused(sim, "relative")


def test_a_session_that_ended_lets_nobody_in(daemon, sim, path):
    with script(sim, path) as gpu:
        gpu.ready()
        assert daemon.delete("/v1/sessions/a?force=true").status == 202
        assert "session a has ended" in refused(sim, path)
        gpu.kill()
    wait_for(lambda: not path.exists(), daemon.said)


def test_a_death_ends_a_session_that_waits_for_it(daemon, sim, path):
    with script(sim, path) as gpu:
        gpu.ready()
        assert daemon.delete("/v1/sessions/a?force=true").status == 202
        gpu.kill()
    wait_for(lambda: daemon.session("a") is None, daemon.said)
