# SPDX-License-Identifier: Apache-2.0
"""A session by its socket: whoever has it is in that session, held to its limits, and cannot change them."""
import contextlib
import ctypes
import mmap
import os
import signal
import socket
import subprocess
import time

import pytest

import joiner
from daemon import Daemon, wait_for
from joiner import READ_ONLY_MOUNT, WELCOME, connect, hear, hello, join
from script import MIB, OUT_OF_MEMORY, SUCCESS, Script

NOBODY, STRANGER = 65534, 65533
SYS_OPEN_TREE, SYS_MOUNT_SETATTR = 428, 442
AT_EMPTY_PATH, MOUNT_ATTR_RDONLY, MS_REMOUNT, MS_BIND = 0x1000, 1, 32, 4096
WAIT_SECONDS = 5  # ASK_WAIT_NS
TOKEN = "a-secret-of-some-length"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")


@pytest.fixture
def daemon(sim):
    sim.configure(memory="1GiB")
    return Daemon(sim).start()


@pytest.fixture
def path(daemon, sim):
    """The socket of a session of 256 MiB."""
    daemon.create("a")
    return socket_of(sim, "a")


def socket_of(sim, name):
    return sim.runtime / "sessions" / name / "socket"


def script(sim, path, **variables):
    """A program that is told the socket and nothing else: no runtime folder, no name."""
    return Script(sim, ALIQUOT_SESSION_SOCKET=path, ALIQUOT_RUNTIME_DIR=None, **variables)


def open_to_others(sim):
    for folder in (sim.folder, sim.runtime):
        os.chmod(folder, 0o711)
    os.chmod(sim.state, 0o777)
    for entry in sim.state.rglob("*"):
        os.chmod(entry, 0o777)


def as_user(uid, *words):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *words]


def needs_open_build(sim):
    if subprocess.run(as_user(NOBODY, "test", "-x", str(sim.build.program("sim/hold"))), check=False).returncode:
        pytest.skip("the build folder is closed to other users")


def refused(sim, path, **variables):
    """The line of a program that could not join; it has no memory, and goes on."""
    with script(sim, path, **variables) as gpu:
        assert gpu.code("init") != SUCCESS
        gpu.process.stdin.close()
        gpu.process.stdin = None
        gpu.process.wait(60)
        lines = gpu.process.stderr.read().splitlines()
    assert len(lines) == 1 and lines[0].endswith("GPU calls are refused"), lines
    return lines[0]


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
    needs_open_build(sim)
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


@needs_root
@pytest.mark.parametrize("how", ["named", "found"])
def test_a_container_with_the_folder_read_only_joins_also_after_a_restart(daemon, sim, path, how):
    """It can write neither file by its name, and `slots` by what is handed out."""
    here = sim.folder / "guest/sessions/a"
    here.mkdir(parents=True)
    os.chmod(here.parent.parent, 0o700)
    os.chmod(here.parent, 0o700)
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
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


@needs_root
@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="a sanitizer looks into /proc itself")
def test_without_proc_each_look_is_a_question(sim, path):
    """What is asked for can be opened again only there."""
    if subprocess.run(["unshare", "-m", "umount", "-l", "/proc"], check=False, capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
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
    daemon.process.send_signal(signal.SIGSTOP)
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
    daemon.process.send_signal(signal.SIGSTOP)
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


# -- Tokens

@pytest.fixture
def guarded(sim):
    """A daemon that wants a token of who joins."""
    sim.configure(memory="1GiB")
    file = sim.folder / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    daemon = Daemon(sim, f"[join]\ntoken_file = {file}\ntoken_required = yes\n").start()
    daemon.create("a")
    return daemon


@pytest.mark.parametrize("name", ["ALIQUOT_JOIN_TOKEN", "GPUSLICE_IPC_TOKEN"])
def test_who_has_the_token_joins(guarded, sim, name):
    with script(sim, socket_of(sim, "a"), **{name: TOKEN}) as gpu:
        gpu.ready()


def test_who_has_none_or_a_wrong_one_does_not(guarded, sim):
    path = socket_of(sim, "a")
    assert "wants a token" in refused(sim, path)
    assert 'aliquot_joins_refused_total{reason="token"} 1\n' in guarded.get("/metrics").text
    line = refused(sim, path, ALIQUOT_JOIN_TOKEN=TOKEN[:-1] + "H")
    assert "not the daemon's token" in line and TOKEN[:-1] not in line


def test_a_new_token_counts_after_a_reload(guarded, sim):
    path = socket_of(sim, "a")
    (sim.folder / "token").write_text("another-secret-by-now")
    guarded.reload(guarded.config.read_text())
    assert join(path, hello(TOKEN.encode())).code == joiner.BAD_TOKEN
    assert join(path, hello(b"another-secret-by-now")).type == WELCOME


def test_gpu_slices_names_lead_to_the_session(guarded, sim):
    with Script(sim, GPUSLICE_IPC_SOCK=socket_of(sim, "a"), GPUSLICE_IPC_TOKEN=TOKEN, GPUSLICE_IPC_TOKEN_REQUIRED=1,
                ALIQUOT_RUNTIME_DIR=None) as gpu:
        gpu.ready()


# -- Peers that mean harm

GARBAGE = {"nothing": b"", "a byte": b"x", "text": b"GET / HTTP/1.1\r\n\r\n", "half": hello()[:40], "too long": b"\xff" * 20000,
           "a tail": hello() + b"x", "a token beyond the end": hello(b"t")[:64] + b"\xff" * 9, "an answer": b"ALQM" + bytes(100)}


@pytest.mark.parametrize("message", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_refused_and_harms_nobody(daemon, path, message):
    answer = join(path, message)
    assert answer is None or answer.code == joiner.MALFORMED
    assert join(path, hello()).type == WELCOME and daemon.is_up()


def test_versions_without_one_in_common_are_both_named(path):
    answer = join(path, hello(least=7, most=9))
    assert answer.code == joiner.NO_VERSION and (answer.least, answer.most) == (1, 1)
    assert "7 to 9" in answer.reason and "1 to 1" in answer.reason
    assert join(path, hello(least=1, most=9)).version == 1


def test_descriptors_that_a_peer_sends_along_are_nobodys(daemon, path):
    before = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    for _ in range(50):
        with contextlib.closing(connect(path)) as peer:
            socket.send_fds(peer, [hello()], [0, 1, 2])
            answer = hear(peer)
            assert answer.type == WELCOME
            answer.close()
    assert len(os.listdir(f"/proc/{daemon.process.pid}/fd")) <= before + 5


def test_a_thousand_that_say_nothing_keep_nobody_out(daemon, sim, path):
    crowd = []
    for i in range(1000):
        crowd.append(connect(path))
        if i % 250 == 0:
            assert join(path, hello()).type == WELCOME
    with script(sim, path) as gpu:
        gpu.ready()
    assert daemon.is_up()
    for peer in crowd:
        peer.close()


def test_who_says_nothing_is_put_out(sim):
    daemon = Daemon(sim, "[join]\ntimeout = 200ms\n").start()
    daemon.create("a")
    with contextlib.closing(connect(socket_of(sim, "a"))) as silent:
        assert hear(silent) is None


def test_too_many_joins_are_told_to_come_again_and_programs_do(sim):
    daemon = Daemon(sim, "[join]\nrate = 4\nburst = 1\n").start()
    daemon.create("a")
    path = socket_of(sim, "a")
    answers = [join(path, hello()) for _ in range(10)]
    told = [answer for answer in answers if answer.type == joiner.REFUSED]
    assert told and all(answer.code == joiner.TOO_MANY and answer.retry_ms > 0 for answer in told)
    with script(sim, path) as gpu:
        gpu.ready()


def test_without_descriptors_the_daemon_waits_and_goes_on(daemon, sim, path):
    import resource
    used = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    before = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (used + 2, before[1]))
    crowd = [connect(path) for _ in range(20)]
    for peer in crowd:
        peer.close()
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, before)
    wait_for(daemon.is_up, daemon.said)
    with script(sim, path) as gpu:
        gpu.ready()
