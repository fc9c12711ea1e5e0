# SPDX-License-Identifier: Apache-2.0
"""aliquot run: the program sees its share, behaves as it would without Aliquot, and leaves nothing."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from daemon import wait_for
from hang import HANG_SECONDS
from stopped import stop

MIB = 1 << 20
GIB = 1 << 30


@pytest.fixture
def tenant(build):
    return build.folder / "examples/tenant"


def environment(result):
    assert result.rc == 0, result
    return dict(line.split("=", 1) for line in result.stdout.splitlines() if "=" in line)


def uuids(cli):
    return [gpu["uuid"] for gpu in cli("gpus", "--json").json]


# What the program sees

def test_the_card_is_as_large_as_the_limit(cli, holder, tenant):
    result = cli.run("--memory", "256MiB", "--", holder, 0, MIB)
    assert result.rc == 0 and int(result.stdout.split()[2]) == 256 * MIB, result
    result = cli.run("--memory", "256MiB", "--", tenant, "t", "grow", 64, 100)
    assert result.rc == 3 and "256 MiB, of which" in result.stdout, result
    assert "CUDA_ERROR_OUT_OF_MEMORY" in result.stdout, result


def test_each_gpu_may_have_a_limit_of_its_own(cli, holder):
    first, second = uuids(cli)
    for limits in ("0=128MiB,1=256MiB", f"{first}=128MiB,256MiB", f"{second[:12].upper()}=25%,128MiB"):
        for gpu, limit in ((0, 128), (1, 256)):
            result = cli.run("--memory", limits, "--", holder, gpu, MIB)
            assert result.rc == 0 and int(result.stdout.split()[2]) == limit * MIB, (limits, result)


def test_a_chosen_gpu_is_named_by_its_uuid(cli, holder):
    first, second = uuids(cli)
    for selector in ("1", second, second[4:12], second.upper()):
        seen = environment(cli.run("--gpu", selector, "--", "env"))
        assert seen["CUDA_VISIBLE_DEVICES"] == second, selector
    assert environment(cli.run("--gpu", "1,0", "--", "env"))["CUDA_VISIBLE_DEVICES"] == \
        f"{second},{first}"
    # The limit follows the card, not its number in the program.
    result = cli.run("--gpu", "1", "--memory", "1=256MiB,0=128MiB", "--", holder, 0, MIB)
    assert result.rc == 0 and int(result.stdout.split()[2]) == 256 * MIB, result


def test_a_gpu_may_be_chosen_among_those_that_are_visible(cli):
    first, second = uuids(cli)
    seen = environment(cli.run("--gpu", second, "--", "env", CUDA_VISIBLE_DEVICES=f"{second},{first}"))
    assert seen["CUDA_VISIBLE_DEVICES"] == second


def test_the_environment_holds_the_session_and_no_other_wish(cli, sim, build):
    seen = environment(cli.run("--", "env", VCUDA_MEMORY_LIMIT="128m", LD_PRELOAD="/lib/none.so"))
    assert seen["LD_PRELOAD"] == f"{build.library}:/lib/none.so"
    assert re.fullmatch("run-[0-9a-f]{16}", seen["ALIQUOT_SESSION"])
    assert seen["ALIQUOT_RUNTIME_DIR"] == str(sim.runtime)
    assert seen["ALIQUOT_MEMORY"] == str(128 * MIB)
    assert "VCUDA_MEMORY_LIMIT" not in seen


def test_the_simulators_libraries_are_found_first_and_once(cli, build):
    """Before the toolkit's, whose runtime does not work there, also by a run in a run."""
    again = [build.aliquot, "run", "--", "env"]
    seen = environment(cli.run("--", *again, LD_LIBRARY_PATH="/usr/local/cuda/lib64"))
    folders = seen["LD_LIBRARY_PATH"].split(":")
    assert folders == [str(build.driver), *map(str, build.runtimes.values()), "/usr/local/cuda/lib64"]


def test_flags_are_stronger_than_variables_and_those_than_aliases(cli):
    def memory(*flags, **variables):
        return environment(cli.run(*flags, "--", "env", **variables))["ALIQUOT_MEMORY"]

    assert memory("--memory", "1MiB", ALIQUOT_MEMORY="2MiB", VCUDA_MEMORY_LIMIT="3m") == str(MIB)
    assert memory(ALIQUOT_MEMORY="2MiB", VCUDA_MEMORY_LIMIT="3m") == str(2 * MIB)
    assert memory(VCUDA_MEMORY_LIMIT="3m") == str(3 * MIB)


def test_a_program_linked_with_nvml_finds_the_simulated_one(cli, compile_c, build):
    program = compile_c("list", """
        #include <stdio.h>
        #include "abi/nvml.h"
        int main(void) { unsigned n = 0; nvmlMemory_t m; nvmlDevice_t d;
            return nvmlInit_v2() || nvmlDeviceGetCount_v2(&n) || nvmlDeviceGetHandleByIndex_v2(0, &d)
                || nvmlDeviceGetMemoryInfo(d, &m) || printf("%u %llu\\n", n, m.total) < 0; }
        """, "-L", build.driver, "-lnvidia-ml")
    result = cli.run("--memory", "64MiB", "--", program)
    assert result.rc == 0 and result.stdout == f"2 {64 * MIB}\n", result


def test_the_example_is_out_of_memory_where_its_limit_was_lowered_below_what_it_has(cli, tenant):
    """Nothing is left of its card then."""
    assert cli("create", "s", "--memory", "512MiB").rc == 0
    process = cli.start("run", "--session", "s", "--", tenant, "t", "grow", 64, 100)
    while "holds 192 MiB" not in process.stdout.readline():
        assert process.poll() is None
    assert cli("set", "s", "--memory", "128MiB").rc == 0
    output, _ = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 3 and "no: CUDA_ERROR_OUT_OF_MEMORY" in output and "all of it right" in output, output


def test_the_card_may_have_another_name(cli, tenant):
    result = cli.run("--device-name", "Some card", "--", tenant, "t", "work", 1, 1)
    assert result.rc == 0 and "my card: Some card" in result.stdout, result


def test_contexts_may_be_free(cli, holder):
    free = [int(cli.run("--memory", "64MiB", "--context", mode, "--", holder, 0, MIB)
                .stdout.split()[1]) for mode in ("charge", "free")]
    assert free[0] < free[1] == 63 * MIB


def test_a_run_that_limits_nothing_says_so(cli):
    """One line, on standard error, which is not in the way of the program's output."""
    for flags in ([], ["--device-name", "Card"], ["--gpu", "0"], ["--context", "free"]):
        result = cli.run(*flags, "--", "echo", "ran")
        assert result.rc == 0 and result.stdout == "ran\n", result
        line, = result.stderr.splitlines()
        assert line.startswith("aliquot run: note: ") and "--memory" in line and "--quiet" in line
        for quiet in ("--quiet", "-q"):
            assert cli.run(*flags, quiet, "--", "echo", "ran").stderr == ""


def test_a_run_with_a_limit_is_silent(cli):
    """Whoever set it: a flag, a variable, the session that is joined, for one card or all."""
    assert cli.run("--memory", "1MiB", "--", "true").stderr == ""
    assert cli.run("--memory", "1=1MiB", "--", "true").stderr == ""
    assert cli.run("--", "true", VCUDA_MEMORY_LIMIT="1m").stderr == ""
    assert cli("create", "s", "--memory", "1MiB").rc == 0
    assert cli.run("--session", "s", "--", "true").stderr == ""
    assert cli.run("--", "true", ALIQUOT_SESSION="s").stderr == ""


# How it runs

def test_the_exit_status_is_the_programs_own(cli):
    for status in (0, 1, 42, 125, 255):
        assert cli.run("--", "sh", "-c", f"exit {status}").rc == status
        assert cli.run("--session", "s", "--memory", "1MiB", "--", "sh", "-c",
                       f"exit {status}").rc == status


def test_a_program_that_dies_of_a_signal_takes_us_along(cli):
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGINT):
        assert cli.run("--", "sh", "-c", f"kill -{int(number)} $$").rc == -number
    shell = cli.sim.run(["sh", "-c", '"$@"; echo $?', "sh", *cli.words("run", "--", "sh", "-c",
                                                                      "kill -TERM $$")])
    assert shell.stdout == "143\n", shell


def test_arguments_and_standard_streams_pass_through(cli):
    result = cli.run("-q", "--", "sh", "-c", 'cat; echo "$0|$1|$#" >&2', "a b", "--memory", "", stdin="in")
    assert result.rc == 0 and result.stdout == "in" and result.stderr == "a b|--memory|2\n", result
    # Without -- the first word that is no option begins the command.
    assert cli.run("echo", "--memory").stdout == "--memory\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1,
                                    signal.SIGQUIT, signal.SIGWINCH])
@pytest.mark.parametrize("session", [[], ["--session", "s", "--memory", "1MiB"]],
                         ids=["fresh", "named"])
def test_signals_reach_the_program(cli, number, session):
    name = number.name.removeprefix("SIG")
    process = cli.start("run", *session, "--", "bash", "-c",
                        f"trap 'echo got {name}; exit 7' {name}; echo ready; "
                        "while :; do sleep 0.02; done")
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.stdout.readline() == f"got {name}\n"
    assert process.wait(HANG_SECONDS) == 7


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def test_we_stop_and_go_on_with_the_program(cli):
    """So that a shell sees its job stop, and its fg and bg reach the program."""
    process = cli.start("run", "--", "sh", "-c", "echo $$; exec sleep 60")
    program = int(process.stdout.readline())
    assert program != process.pid
    stop(program)
    wait_for(lambda: state(program) == "T" and state(process.pid) == "T", lambda: "both stop")
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: state(program) == "S" and state(process.pid) == "S", lambda: "both go on")


def test_our_death_is_the_programs(cli):
    process = cli.start("run", "--", "sh", "-c", "echo $$; exec sleep 60")
    program = int(process.stdout.readline())
    process.kill()
    process.wait(HANG_SECONDS)
    wait_for(lambda: not os.path.exists(f"/proc/{program}") or state(program) == "Z", lambda: "it dies")


def test_a_run_that_dies_at_any_moment_leaves_no_program(cli):
    """Also between its making and its asking to die with us."""
    seconds = f"{os.getpid()}.5"
    for nth in range(60):
        process = cli.start("run", "--", "sleep", seconds)
        time.sleep(nth * 0.0002)
        process.kill()
        process.wait(HANG_SECONDS)
    wait_for(lambda: not programs(["sleep", seconds]), lambda: "all die")


def programs(words):
    """Processes with these words."""
    line = "".join(f"{word}\0" for word in words).encode()
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            found += [process.name] if (process / "cmdline").read_bytes() == line else []
    return found


def test_signal_masks_and_dispositions_are_those_we_got(cli):
    words = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    for prepare in ("", "trap '' HUP CHLD;"):
        script = f'{prepare} exec "$@"'
        alone = cli.sim.run(["bash", "-c", script, "bash", *words])
        under_us = cli.sim.run(["bash", "-c", script, "bash", *cli.words("run", "--", *words)])
        assert alone.rc == 0 and under_us.stdout == alone.stdout, (alone, under_us)


def test_no_descriptor_of_ours_is_left_open(cli):
    for session in ([], ["--session", "s", "--memory", "1MiB"]):
        result = cli.run(*session, "--", "sh", "-c", "ls /proc/$$/fd")
        assert result.stdout.split() == ["0", "1", "2"], result


# What it leaves

def test_a_fresh_session_goes_with_its_program(cli):
    assert cli.run("--memory", "1MiB", "--", "true").rc == 0
    assert cli.run("--memory", "1MiB", "--", "false").rc == 1
    assert cli.run("--memory", "1MiB", "--", "sh", "-c", "kill -9 $$").rc == -9
    assert cli.sessions() == []


def test_what_goes_on_in_the_background_keeps_its_session(cli, holder, tmp_path):
    """The child is started by a run that ends, and first touches the GPU after that."""
    go, done = tmp_path / "go", tmp_path / "done"
    later = f"while [ ! -e {go} ]; do sleep 0.02; done; {holder} 0 {MIB} </dev/null >{done}.new; " \
            f"mv {done}.new {done}"
    assert cli.run("--memory", "64MiB", "--", "sh", "-c", f"({later}) >/dev/null 2>&1 &").rc == 0
    session, = cli.sessions()
    assert [s["name"] for s in cli("ls", "--json").json] == [session]
    go.touch()
    wait_for(done.exists, lambda: "the background program ends")
    assert int(done.read_text().split()[2]) == 64 * MIB


def test_what_outlived_its_run_is_swept_away_later(cli, sim):
    """The run is killed by its own program, which ends, too: one that goes on would keep the session."""
    assert cli.run("--memory", "1MiB", "--", "sh", "-c", "kill -9 $PPID").rc == -9
    session, = cli.sessions()
    os.utime(sim.runtime / "sessions" / session, (1, 1))  # a run that is just starting is younger
    wait_for(lambda: cli("ls", "--json").json == [], lambda: "the session is swept away")


def test_a_run_that_is_under_way_is_not_swept_away(cli, sim):
    process = cli.start("run", "--memory", "1MiB", "--", "env", "-u", "ALIQUOT_SESSION",
                        "sh", "-c", "echo; read x")
    process.stdout.readline()
    session, = cli.sessions()
    os.utime(sim.runtime / "sessions" / session, (1, 1))
    assert [s["name"] for s in cli("ls", "--json").json] == [session]
    process.communicate("\n")
    assert process.returncode == 0 and cli.sessions() == []


# Sharing

def test_runs_of_one_session_share_its_limit(cli, holder):
    first = cli.start("run", "--session", "team", "--memory", "128MiB", "--", holder, 0, 64 * MIB)
    first.stdout.readline()
    result = cli.run("--session", "team", "--", holder, 0, 64 * MIB)
    assert result.rc == 1 and "cuMemAlloc: 2" in result.stderr, result
    result = cli.run("--session", "team", "--memory", "128MiB", "--", holder, 0, 16 * MIB)
    assert result.rc == 0 and int(result.stdout.split()[1]) <= 48 * MIB, result
    first.communicate("")
    assert cli.run("--session", "team", "--", holder, 0, 64 * MIB).rc == 0


def test_two_that_make_one_session_at_once(cli, holder):
    racers = [cli.start("run", "--session", "both", "--memory", "512MiB", "--", holder, 0, MIB)
              for _ in range(8)]
    for racer in racers:
        out, err = racer.communicate("", timeout=HANG_SECONDS)
        assert racer.returncode == 0 and int(out.split()[2]) == 512 * MIB, (out, err)


def test_other_limits_are_refused_not_merged(cli):
    assert cli.run("--session", "s", "--memory", "64MiB", "--", "true").rc == 0
    for flags in (["--memory", "65MiB"], ["--memory", "64MiB", "--context", "free"],
                  ["--memory", "64MiB", "--device-name", "Other"]):
        result = cli.run("--session", "s", *flags, "--", "true")
        assert result.rc == 125 and "session s exists with other limits" in result.stderr, result
        assert "aliquot set" in result.stderr, result


@pytest.mark.parametrize("change,same", [
    ("100%", ["1GiB", "0=1GiB,1=1GiB", "100%"]),
    ("512MiB", ["50%", "0=512MiB,1=512MiB", "0=50%,1=512MiB"]),
])
def test_limits_that_come_to_what_it_has_now_are_the_same(cli, change, same):
    assert cli("create", "s", "--memory", "256MiB").rc == 0
    assert cli("set", "s", "--memory", change).rc == 0
    for limits in same:
        result = cli.run("--session", "s", "--memory", limits, "--", "true")
        assert result.rc == 0, (limits, result)


def test_the_refusal_says_what_the_session_has_now(cli):
    assert cli("create", "s", "--memory", "256MiB").rc == 0
    assert cli("set", "s", "--memory", "512MiB").rc == 0
    result = cli.run("--session", "s", "--memory", "128MiB", "--", "true")
    assert result.rc == 125 and "it has memory=512MiB," in result.stderr, result
    assert "asked was memory=128MiB;" in result.stderr, result


def test_children_are_in_the_session(cli, holder):
    result = cli.run("--memory", "128MiB", "--", "sh", "-c",
                     f"(echo; sleep 5) | {holder} 0 {64 * MIB} & sleep 1; {holder} 0 {64 * MIB} </dev/null")
    assert result.rc == 1 and "cuMemAlloc: 2" in result.stderr, result


def test_a_run_inside_a_run_stays_in_its_session(cli, build, holder):
    inner = [build.aliquot, "run"]
    result = cli.run("--memory", "128MiB", "--", *inner, "--", holder, 0, MIB)
    assert result.rc == 0 and int(result.stdout.split()[2]) == 128 * MIB, result
    result = cli.run("--memory", "128MiB", "--", *inner, "--memory", "512MiB", "--", "true")
    assert result.rc == 125 and "other limits" in result.stderr, result


def test_env_is_the_same_for_a_shell(cli, sim, holder):
    lines = cli("env", "--session", "shell", "--memory", "64MiB", "--device-name", "it's one")
    assert lines.rc == 0 and cli.sessions() == [], lines
    script = f"{lines.stdout}\nprintf '%s\\n' \"$ALIQUOT_DEVICE_NAME\"; {holder} 0 {MIB}"
    result = sim.run(["sh", "-c", script], LD_LIBRARY_PATH=None)
    assert result.rc == 0 and result.stdout.startswith("it's one\n"), result
    assert int(result.stdout.split()[-1]) == 64 * MIB and cli.sessions() == ["shell"], result


def test_env_needs_no_driver(cli, build):
    result = cli("env", "--memory", "64MiB", sim=False)
    assert result.rc == 0 and "export ALIQUOT_MEMORY=67108864\n" in result.stdout, result
    assert f"export LD_PRELOAD={build.library}\n" in result.stdout, result
    assert cli("env", "--memory", "0=64MiB", sim=False).rc == 125


@pytest.mark.needs("terminals")
def test_a_terminal_s_interrupt_reaches_the_program_once(cli):
    """Ctrl-C goes to the whole job: we must neither die of it nor pass it on a second time."""
    controller, terminal = os.openpty()
    process = subprocess.Popen(
        [str(w) for w in cli.words("run", "--", "bash", "-c",
                                   "trap 'echo int' INT; trap 'exit 9' TERM; echo ready; "
                                   "while :; do sleep 0.02; done")],
        stdin=terminal, stdout=terminal, stderr=terminal, env=cli.sim.env(), start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
    os.close(terminal)
    cli.sim.processes.append(process)
    with os.fdopen(controller, "rb", buffering=0) as screen:
        text = b""
        while b"ready" not in text:
            text += screen.read(1024)
        os.write(controller, b"\x03")
        while b"int" not in text:
            text += screen.read(1024)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        try:
            while chunk := screen.read(1024):
                text += chunk
        except OSError:  # the terminal's other side is closed
            pass
    assert process.wait(HANG_SECONDS) == 9 and text.count(b"int") == 1, text
