# SPDX-License-Identifier: Apache-2.0
"""aliquot top, on a terminal (tmux) and as text: what it shows of real processes on the simulated card,
and what its keys do to them."""
import os
import re
import signal
import time

import pytest

from cli import Command
from daemon import Daemon
from hang import HANG_SECONDS, IS_SLOW, LONG_HANG_SECONDS
from terminal import names

MIB = 1 << 20
GIB = 1 << 30
MANY = 60 if IS_SLOW else 300  # sessions: more than a screen has lines
TELL_TOTAL = r"""
#include <stdio.h>
#include "abi/cuda.h"

/* The size of the card, whenever a line comes in. */
int main(void)
{
        char line[16];
        CUdevice device;
        CUcontext context;
        size_t free_bytes, total_bytes;

        if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate_v2(&context, 0, device))
                return 1;
        do {
                if (cuMemGetInfo_v2(&free_bytes, &total_bytes))
                        return 1;
                printf("%zu\n", total_bytes);
                fflush(stdout);
        } while (fgets(line, sizeof(line), stdin));
        return 0;
}
"""


@pytest.fixture
def cli(sim):
    sim.configure(gpus=2, memory="4GiB", model="t4")
    return Command(sim)


@pytest.fixture
def tenant(cli, build):
    """A program in a session that holds memory for as long as its input is open."""
    def start(session, limit, size, *more, gpu=0):
        process = cli.start("run", "--session", session, "--memory", limit, "--", build.program("sim/hold"), gpu,
                            size, *more)
        assert process.stdout.readline().startswith("ready ")
        return process
    return start


@pytest.fixture
def stranger(cli, build):
    """A program on the card that no session has."""
    def start(size):
        process = cli.sim.start([build.program("sim/hold"), 0, size])
        assert process.stdout.readline().startswith("ready ")
        return process
    return start


def test_two_sessions_at_work(top, tenant, stranger):
    tenant("train", "2GiB", GIB, "busy")
    serve = tenant("serve", "512MiB", 256 * MIB, gpu=1)
    stranger(512 * MIB)
    screen = top("--sort=name", columns=120).wait(r"^ [+] train")
    assert re.search(r"^aliquot top  2 sessions, 2 processes", screen), screen
    # Two parts of the card's bar: what sessions have and what others have.
    assert re.search(r"^0 +Tesla T4 +\[█+▒+·+\] +1\.\d+ GiB +4 GiB +\d+.*\d+% .*\d+C +\d+/70W$", screen, re.MULTILINE), screen
    assert re.search(r"^1 +Tesla T4 +\[█+·+\] +\d+ MiB +4 GiB +0 B +0%", screen, re.MULTILINE), screen
    assert re.search(r"^>[+] serve +1 +\d+ MiB +512 MiB \[█+·+\] +\d+% .*1$", screen, re.MULTILINE), screen
    terminal = top("--sort=name")
    terminal.wait(r"^>[+] serve")
    terminal.press("Enter")
    screen = terminal.wait(rf"^ +{serve.pid} \S+ +\d+ MiB hold$")
    assert re.search(r"^ +GPU 1 +\d+ MiB +512 MiB", screen, re.MULTILINE), screen


def test_a_busy_card_has_a_history(top, tenant):
    tenant("train", "2GiB", GIB, "busy")
    terminal = top()
    terminal.wait(r"^0 .* \d+% +[▂▃▄▅▆▇█]+ +\d+C ")
    terminal.wait(r"^>[+] train .* +[▂▃▄▅▆▇█]+ 0$")


def test_sort_and_reverse(top, tenant):
    tenant("a", "2GiB", 100 * MIB)
    tenant("b", "1GiB", 300 * MIB)
    tenant("c", "3GiB", 200 * MIB)
    terminal = top()
    terminal.wait(r"USEDv", ["b", "c", "a"])
    terminal.press("n")
    terminal.wait(r"SESSION\^", ["a", "b", "c"])
    terminal.press("m")
    terminal.wait(r"LIMITv", ["c", "a", "b"])
    terminal.press("r")
    terminal.wait(r"LIMIT\^", ["b", "a", "c"])


def test_filter_while_typing(top, tenant):
    tenant("team-a", "1GiB", MIB)
    tenant("other", "1GiB", MIB)
    terminal = top()
    terminal.wait(r"team-a")
    terminal.press("/")
    terminal.type("te")
    terminal.wait(r"^filter: te_", ["team-a"])
    terminal.type("zz")
    terminal.wait("nothing here matches tezz")
    terminal.press("BSpace", "BSpace", "Enter")
    terminal.wait(r"^filter: te  ", ["team-a"])
    terminal.press("Escape")
    terminal.wait(r"^.[+] other")


def test_a_running_program_sees_the_limit_that_was_typed(cli, top, compile_c, build):
    program = compile_c("total", TELL_TOTAL, "-L", build.driver, "-l:libcuda.so.1")
    process = cli.start("run", "--session", "s", "--memory", "1GiB", "--", program)
    assert int(process.stdout.readline()) == GIB
    terminal = top()
    terminal.wait(r"^>[+] s ")
    terminal.press("l")
    terminal.wait(r"^memory of s")
    terminal.type("1536MiB")
    terminal.press("Enter")
    terminal.wait(r"^memory of s: 1536MiB")
    process.stdin.write("\n")
    process.stdin.flush()
    assert int(process.stdout.readline()) == 1536 * MIB
    terminal.wait(r"^>[+] s .* 1\.50 GiB ")


@pytest.mark.parametrize("text,words", [("0", "is zero"), ("9GiB", "more than the card"), ("7=1MiB", "'7'"),
                                        ("--force", "--memory")])
def test_a_limit_that_set_refuses_is_refused_with_its_words(cli, top, text, words):
    assert cli("create", "s", "--memory", "1GiB").rc == 0
    before = cli("show", "s", "--json").json
    terminal = top(columns=150)
    terminal.wait(r"^>[+] s ")
    terminal.press("l")
    terminal.type(text)
    terminal.press("Enter")
    terminal.wait(rf"^--memory.*{words}" if words != "--memory" else "^--memory --force")
    assert cli("show", "s", "--json").json == before


def test_a_process_is_ended_after_a_yes(top, tenant):
    first, second = tenant("s", "1GiB", MIB), tenant("s", "1GiB", 2 * MIB)
    terminal = top()
    terminal.wait(r"^>[+] s +2 ")
    terminal.press("Enter")
    screen = terminal.wait(rf"^ +{second.pid} ")
    lines = screen.splitlines()
    steps = next(i for i, line in enumerate(lines) if f" {second.pid} " in line) - \
        next(i for i, line in enumerate(lines) if line.startswith(">"))
    terminal.press(*["Down"] * steps)
    terminal.press("t")
    terminal.wait(rf"^SIGTERM to hold \(process {second.pid}\) of s\? y or n")
    terminal.press("n")
    terminal.wait("^no signal was sent")
    assert second.poll() is None
    terminal.press("t", "y")
    terminal.wait("^SIGTERM sent to 1 process of s")
    assert second.wait(HANG_SECONDS) in (-signal.SIGTERM, 128 + signal.SIGTERM) and first.poll() is None
    terminal.wait(r"^.- s +1 ")
    # The session's row: all that are in it.
    terminal.press("Home", "K")
    terminal.wait(rf"^SIGKILL to hold \(process {first.pid}\)")
    terminal.press("y")
    assert first.wait(HANG_SECONDS) in (-signal.SIGKILL, 128 + signal.SIGKILL)
    terminal.wait(r"^>- s +0 +0 B")


def slots_with_pid(slots, pid):
    """Where in the file the slot of this process begins."""
    data = slots.read_bytes()
    at = data.find(pid.to_bytes(4, "little") + os.getuid().to_bytes(4, "little"))
    assert at > 16, "no slot has this pid"
    return at


def test_a_process_that_claims_to_be_another_gets_no_signal(cli, top, tenant):
    """What a slot says is its owner's word: it may name an innocent's pid and start."""
    liar = tenant("s", "1GiB", MIB)
    innocent = cli.sim.start(["sleep", "60"])
    stat = open(f"/proc/{innocent.pid}/stat", encoding="utf-8").read()
    ticks = int(stat.rsplit(")", 1)[1].split()[19])
    slots = cli.sim.runtime / "sessions/s/slots"
    at = slots_with_pid(slots, liar.pid)
    with open(slots, "r+b") as file:
        file.seek(at - 8)
        file.write(ticks.to_bytes(8, "little") + innocent.pid.to_bytes(4, "little"))
    terminal = top("--all")
    terminal.wait(rf"^ +{innocent.pid} ")
    terminal.press("K", "y")
    terminal.wait(rf"^SIGKILL to hold \({innocent.pid}\) of s: .*not what it says it is")
    assert innocent.poll() is None


def test_a_file_that_is_cut_short_is_a_broken_session_and_nothing_else(cli, top, tenant):
    tenant("a", "1GiB", MIB)
    assert cli("create", "b", "--memory", "1GiB").rc == 0
    terminal = top()
    terminal.wait(r"^ [+] b +0 ")
    os.truncate(cli.sim.runtime / "sessions/b/slots", 4096)
    screen = terminal.wait(r"^ [+] b +broken: ")
    assert re.search(r"^>[+] a +1 ", screen, re.MULTILINE), screen


def test_sessions_come_and_go(cli, top):
    terminal = top()
    terminal.wait("no session; aliquot run")
    assert cli("create", "s", "--memory", "1GiB").rc == 0
    terminal.wait(r"^>[+] s +0 +0 B +1 GiB")
    assert cli("rm", "s").rc == 0 and cli("create", "s", "--memory", "2GiB").rc == 0
    terminal.wait(r"^>[+] s +0 +0 B +2 GiB")
    assert cli("rm", "s").rc == 0
    terminal.wait("no session; aliquot run")


def test_resize(cli, top):
    assert cli("create", "s", "--memory", "1GiB").rc == 0
    terminal = top()
    terminal.wait(r"^>[+] s ")
    terminal.tmux("resize-window", "-x", 39, "-y", 24)
    assert "too small: 40x10 needed" in terminal.wait("too small")
    terminal.tmux("resize-window", "-x", 40, "-y", 10)
    screen = terminal.wait(r"^>[+] s +0 B +1 GiB$")
    assert max(map(len, screen.splitlines())) <= 40
    terminal.tmux("resize-window", "-x", 140, "-y", 30)
    terminal.wait(r"OTHERS")


def test_help_and_the_end(cli, top):
    terminal = top()
    terminal.wait("no session")
    terminal.press("?")
    terminal.wait("^aliquot top: its keys")
    terminal.press("x")
    terminal.wait("no session")
    terminal.press("q")
    assert terminal.has_ended()


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "vt100"}], ids=["NO_COLOR", "vt100"])
def test_without_colours_nothing_is_lost(top, tenant, variables):
    """Colours are in the escapes of the picture, unless they are not wanted or not there."""
    tenant("s", "1GiB", 512 * MIB)
    colours = r"\x1b\[[0-9;]*3[1-7]m"
    pictures = []
    for terminal in (top(), top(**variables)):
        terminal.wait(r"^>[+] s +1 .*\[█+·+\]")
        pictures.append(terminal.screen("-e"))
    assert re.search(colours, pictures[0]) and not re.search(colours, pictures[1]), pictures


@pytest.mark.parametrize("how", [["--ascii"], []], ids=["asked for", "by its locale"])
def test_in_ascii(top, tenant, how):
    tenant("s", "1GiB", 512 * MIB)
    screen = top(*how, LC_ALL="C.UTF-8" if how else "C").wait(r"^>[+] s +1 .*\[#+\.+\]")
    assert screen.isascii()


def test_once_is_text_for_scripts(cli, tenant):
    process = tenant("train", "2GiB", GIB)
    assert cli("create", "empty", "--memory", "25%").rc == 0
    result = cli("top", "--once", "--all", "--ascii", f"--sim={cli.sim.spec}", sim=False)
    lines = result.stdout.splitlines()
    assert result.rc == 0 and result.stderr == "" and max(map(len, lines)) <= 80, result
    assert "\x1b" not in result.stdout and lines[0].startswith("aliquot top  2 sessions, 1 process")
    assert names(result.stdout) == ["train", "empty"]
    assert re.search(rf"^ +{process.pid} \S+ +1\.\d+ GiB hold$", result.stdout, re.MULTILINE), result
    only = cli("top", "--once", "--filter=EMP", f"--sim={cli.sim.spec}", sim=False, COLUMNS=120)
    assert names(only.stdout) == ["empty"] and "OTHERS" in only.stdout, only


def test_without_a_driver_the_sessions_tell(cli, tenant):
    tenant("train", "2GiB", GIB)
    result = cli("top", "--once", "--ascii", sim=False, COLUMNS=120)
    assert result.rc == 0 and "no NVIDIA driver here" in result.stdout, result
    assert re.search(r"^- +GPU-\w{8} +\[#+\.+\] +1\.\d+ GiB +4 GiB +- ", result.stdout, re.MULTILINE), result


@pytest.mark.parametrize("words,said", [
    (["--interval", "5ms"], "100ms to 1h"), (["--interval", "soon"], "--interval soon"), (["--sort", "colour"], "used, limit"),
    (["--filter", "x" * 60], "too long"), (["extra"], "too many")])
def test_called_wrong(cli, words, said):
    result = cli("top", "--once", *words, sim=False)
    assert result.rc == 2 and result.stdout == "" and said in result.stderr, result


def test_without_a_terminal(cli):
    result = cli("top", sim=False)
    assert result.rc == 1 and result.stdout == "" and "--once" in result.stderr, result


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_node_of_many_sessions(cli, top, tenant, build):
    process = tenant("s000", "1GiB", MIB)
    made = cli.sim.run(["sh", "-c", f"i=1; while [ $i -lt {MANY} ]; do "
                        f"{build.aliquot} create $(printf 's%03d' $i) --memory 64MiB --compute 50 >/dev/null || exit 1; i=$((i + 1)); done"],
                       timeout=LONG_HANG_SECONDS)
    assert made.rc == 0, made
    terminal = top("--sort=name", "--interval=100ms")
    screen = terminal.wait(r"^>[+] s000 +1 ")
    assert f"{MANY} sessions, 1 process" in screen
    terminal.press("End")
    screen = terminal.wait(rf"^>[+] s{MANY - 1:03}")
    assert screen.splitlines()[-2].startswith(f">+ s{MANY - 1:03}"), screen
    pid = int(terminal.tmux("list-panes", "-F", "#{pane_pid}"))
    before, looked = cpu_seconds(pid), time.monotonic()
    time.sleep(3)
    looks = (time.monotonic() - looked) * 10
    print(f"{(cpu_seconds(pid) - before) / looks * 1000:.1f} ms a look at {MANY} sessions")
    terminal.press("/")
    terminal.type(str(process.pid))
    terminal.wait(rf"^filter: {process.pid}_$", ["s000"])


def test_sessions_of_a_daemon(cli, top):
    """A GPU that was not granted is not shown; limits go through the daemon, and while that is away nothing
    is changed and everything still shown."""
    if "can ask no daemon" in cli("doctor").stdout:
        pytest.skip("aliquot was built without libcurl or jansson")
    daemon = Daemon(cli.sim).start()
    assert cli("create", "s", "--memory", "1=1GiB").rc == 0
    terminal = top("--all", columns=120)
    screen = terminal.wait(r"^>- s +0 +0 B +1 GiB ")
    assert "GPU 0" not in screen and "GPU 1" not in screen, screen
    terminal.press("l")
    terminal.type("1=2GiB")
    terminal.press("Enter")
    terminal.wait(r"^>- s +0 +0 B +2 GiB ")
    assert str(2 * GIB) in daemon.get("/v1/sessions/s").text
    daemon.kill()
    terminal.press("l")
    terminal.type("1=1GiB")
    terminal.press("Enter")
    screen = terminal.wait("daemon")
    assert re.search(r"^>- s +0 +0 B +2 GiB ", screen, re.MULTILINE), screen


def test_what_only_a_daemon_knows_of_a_session(cli, top, tenant):
    """Until when it lives, its labels, and that it ends though a program still runs."""
    if "can ask no daemon" in cli("doctor").stdout:
        pytest.skip("aliquot was built without libcurl or jansson")
    daemon = Daemon(cli.sim).start()
    daemon.create("s", "1GiB", ttl="1h", on_end="deny-new", labels={"owner": "ann", "job": "7"})
    daemon.create("t", "1GiB")
    terminal = top(columns=160)
    terminal.wait("^.[+] t ")
    terminal.press("e")
    terminal.wait(r"created +s +uid \d+ .*memory=GPU-")
    daemon.create("u", "1MiB")
    terminal.wait(r"created +u ")
    terminal.press("e")
    terminal.wait("^.[+] u ")
    assert daemon.delete("/v1/sessions/u").status == 204
    process = tenant("s", "1GiB", MIB)
    terminal = top("--sort=name", columns=120)
    terminal.wait(r"^>[+] s +1 .* 59m\d\ds$")
    terminal.press("Enter")
    terminal.wait(r"^ +ends in 59m\d\ds, then deny-new  job=7 owner=ann$")
    terminal.press("/")
    terminal.type("ann")
    terminal.wait("^filter: ann_", ["s"])
    assert daemon.delete("/v1/sessions/s?force=true").status == 202
    screen = terminal.wait(r"^>- s +1 .* ending$")
    assert "ending: deny-new  job=7 owner=ann" in screen, screen
    terminal.press("Enter", "K")
    terminal.wait("cannot end the processes of s")
    assert process.poll() is None
    daemon.kill()
    terminal.press("Escape")
    terminal.wait(r"^.[+-] t +0 .* 1 GiB ")


@pytest.mark.needs("other users")
def test_another_users_session_is_shown_as_the_daemon_tells_of_it(cli):
    if "can ask no daemon" in cli("doctor").stdout:
        pytest.skip("aliquot was built without libcurl or jansson")
    daemon = Daemon(cli.sim).start()
    daemon.create("theirs", "1GiB", owner=1234, labels={"for": "them"})
    once = ["top", "--once", "--all", "--ascii", f"--sim={cli.sim.spec}"]
    shown = cli(*once, sim=False).stdout
    assert re.search(r"^ - theirs +0 +0 B +1 GiB \[\.+\] +0% -", shown, re.MULTILINE), shown
    assert "for=them" in shown, shown
    daemon.kill()
    shown = cli(*once, sim=False).stdout
    assert re.search(r"^ - theirs +another user's", shown, re.MULTILINE), shown


def test_every_flag_is_in_the_manual(cli, build):
    manual = (build.source / "docs/man/aliquot-top.1").read_text().split(".Sh SYNOPSIS")[1].split(".Sh DESCRIPTION")[0]
    documented = set(re.findall(r"Fl -([a-z-]+)", manual))
    listed = set(re.findall(r"^ +(?:-\S, )?--([a-z-]+)", cli("top", "--help", sim=False).stdout, re.MULTILINE))
    assert documented == listed - {"help", "usage"}
