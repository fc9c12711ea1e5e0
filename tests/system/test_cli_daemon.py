# SPDX-License-Identifier: Apache-2.0
"""The command where a daemon serves the folder: the same words and the same output as without, and what
only a daemon can do."""
import fcntl
import json
import os
import pathlib
import re
import signal
from itertools import count, takewhile

import pytest

from cli import AWAY, Command, expect_away
from daemon import Daemon, wait_for
from fakedaemon import HANG, FakeDaemon
from hang import HANG_SECONDS
from node import Node
from stopped import stop

MIB = 1 << 20


@pytest.fixture
def cli(cli):
    return cli.that_asks_daemons()


@pytest.fixture
def live(cli, holder):
    """A program that holds memory in session s for as long as its input is open."""
    def start(size=64 * MIB, gpu=0):
        process = cli.start("run", "--session", "s", "--", holder, gpu, size)
        assert process.stdout.readline().startswith("ready ")
        return process
    return start


# -- The same words, the same output ---------------------------------------------------------------

STORY = """
    create s --memory 256MiB
    create s --memory 128MiB
    ls
    show s
    show s -o gpu,limit
    gpus
    run --session s -- HOLD 0 64000000
    run --session s -- HOLD 1 300000000
    run --session s --memory 256MiB -- HOLD 0 64000000
    run --session s --memory 128MiB -- HOLD 0 64000000
    set s --memory 512MiB
    run --session s --memory 512MiB -- true
    run --session s --memory 0=512MiB,1=256MiB -- true
    set s --memory 1=64MiB
    set s --memory 2GiB
    set s --device-name other
    set s
    ls
    ls --json
    rm nobody
    show nobody
    set nobody --memory 1MiB
    ps nobody
    ps
    create t --memory 100MiB --gpu 1
    run --session t -- HOLD 0 64000000
    run --session t --gpu 0 -- true
    create u --memory lots
    create u
    create run-0123456789abcdef --memory 1MiB
    run --memory 128MiB -- HOLD 0 64000000
    run --session v --memory 64MiB -- HOLD 0 32000000
    run --session w -- true
    status v
    release v
    rm s
    rm s
    rm t
    ls
"""


def tell(cli, holder):
    """What every line of the story printed, with what may differ (folders, names made up) put aside."""
    lines = []
    for line in filter(None, map(str.strip, STORY.splitlines())):
        result = cli(*line.replace("HOLD", str(holder)).split())
        text = "\n".join([line, f"exit {result.rc}", result.stdout, result.stderr])
        text = text.replace(str(cli.sim.folder), "FOLDER")
        # Where it stands among others is a daemon's word.
        text = re.sub(r'"(guarantee_percent|weight|priority)": ?("?\w+"?)', r'"\1": TOLD', text)
        # The default is not the same: a daemon's session has its own GPUs alone.
        lines.append(re.sub(r"run-[0-9a-f]{16}", "run-FRESH", text))
    return lines


def test_a_story_is_the_same_with_and_without(cli, holder, build):
    alone = tell(cli, holder)
    node = Node(build)
    try:
        node.configure(**cli.sim.settings)
        served = Daemon(node).start()
        together = tell(Command(node), holder)
        assert served.names() == [] and served.session("s") is None
        assert sum(event["type"] == "created" for event in served.events(most=12)) >= 3
    finally:
        node.close()
    for without, with_one in zip(alone, together):
        assert without == with_one


def test_who_lives_in_it_is_the_same_too(cli, daemon, live):
    assert cli("create", "s", "--memory", "256MiB").rc == 0
    process = live()
    shown, = cli("ps", "s", "--json").json
    assert shown["pid"] == process.pid and shown["command"] == "hold"
    held = max(device["bytes"] for device in shown["devices"])
    assert held >= 64 * MIB and cli("show", "s", "--json").json["devices"][0]["used_bytes"] == held
    assert daemon.session("s")["devices"][0]["used_bytes"] == held
    result = cli("rm", "s")
    assert result.rc == 1 and "in use" in result.stderr and "--force" in result.stderr, result
    result = cli("rm", "s", "--force")
    assert result.rc == 0 and "aliquot rm --force s kills them" in result.stderr, result
    process.communicate("")
    assert process.returncode == 0
    wait_for(lambda: daemon.session("s") is None)


@pytest.mark.parametrize("on_end, words, code", [("deny-new", "run on, without new memory", None),
                                                 ("term", "SIGTERM", -signal.SIGTERM),
                                                 ("kill", "are killed", -signal.SIGKILL)])
def test_rm_says_what_force_does_to_the_programs(cli, daemon, live, on_end, words, code):
    assert cli("create", "s", "--memory", "256MiB", "--on-end", on_end).rc == 0
    process = live()
    result = cli("rm", "s")
    assert result.rc == 1 and words in result.stderr, result
    result = cli("rm", "s", "--force")
    assert result.rc == 0, result
    if code is None:
        assert daemon.session("s")["state"] == "ending" and process.poll() is None
        assert "aliquot rm --force s kills them" in cli("create", "s", "--memory", "256MiB").stderr
        result = cli("rm", "s", "--force")
        assert result.rc == 0 and not result.stderr, result
    process.wait(HANG_SECONDS)
    assert process.returncode in (code or -signal.SIGKILL, 128 + abs(code or signal.SIGKILL)), process.returncode
    wait_for(lambda: daemon.session("s") is None)


# -- What a daemon does ----------------------------------------------------------------------------

def test_a_refusal_is_one_line_with_what_is_free(cli, daemon):
    assert cli("create", "a", "--memory", "0=768MiB,1=256MiB").rc == 0
    result = cli("create", "b", "--memory", "512MiB")
    assert result.rc == 1 and len(result.stderr.splitlines()) == 1, result
    for words in ("memory", "512 MiB asked for", "free: GPU 0 256 MiB, GPU 1 768 MiB"):
        assert words in result.stderr, result
    assert cli("ls", "-o", "session").stdout.split() == ["SESSION", "a"]
    ran = cli.run("--memory", "512MiB", "--", "echo", "ran")
    assert ran.rc == 125 and ran.stdout == "" and "free: GPU 0 256 MiB" in ran.stderr, ran
    # What is left, and what the daemon finds room for.
    assert cli("create", "b", "--memory", "512MiB", "--gpu", "1").rc == 0
    assert cli("create", "c", "--memory", "200MiB", "--gpu", "any=2").rc == 0
    assert cli("create", "d", "--memory", "56MiB", "--gpu", "any").rc == 0
    assert [len(daemon.session(name)["devices"]) for name in "abcd"] == [2, 1, 2, 1]
    result = cli("create", "e", "--memory", "1MiB", "--gpu", "any=3")
    assert result.rc == 1 and "3 GPUs asked for, 2 here" in result.stderr, result
    result = cli("create", "e", "--memory", "0=1MiB,1=1MiB", "--gpu", "any")
    assert result.rc == 1 and "--gpu any" in result.stderr and "--memory SIZE" in result.stderr, result


def test_time_labels_and_what_comes_at_the_end(cli, daemon):
    assert cli("create", "s", "--memory", "64MiB", "--ttl", "1h", "--on-end", "term",
               "--label", "team=a", "--label", "for=b=c").rc == 0
    shown = cli("show", "s", "--json").json
    assert (shown["state"], shown["ttl_seconds"], shown["on_end"]) == ("open", 3600, "term"), shown
    assert shown["labels"] == {"team": "a", "for": "b=c"} and shown["made_by"] == "daemon"
    text = cli("show", "s").stdout
    assert f"ends       {shown['expires_at']}, then term\n" in text, text
    assert "label      team=a\n" in text and "label      for=b=c\n" in text, text
    renewed = cli("renew", "s", "--ttl", "2h", "--json").json
    assert renewed["ttl_seconds"] == 7200 and renewed["expires_at"] > shown["expires_at"]
    assert cli("renew", "s").rc == 0
    changed = cli("set", "s", "--label", "team=", "--label", "more=x", "--on-end", "kill", "--json").json
    assert changed["labels"] == {"for": "b=c", "more": "x"} and changed["on_end"] == "kill"
    assert changed["devices"][0]["memory_bytes"] == 64 * MIB  # as it was
    unending = cli("set", "s", "--ttl", "none", "--json").json
    assert unending["expires_at"] is None and unending["ttl_seconds"] is None
    assert cli("create", "t", "--memory", "64MiB", "--ttl", "200ms").rc == 0
    wait_for(lambda: cli("show", "t").rc == 1)


def test_labels_are_kept_as_they_were_given(cli, daemon):
    """In any script, also when another is changed, and with nothing behind the =; what a terminal would obey is not shown to it."""
    given = {"owner": "ünï 漢字", "empty": "", "bell": "\u009b31m", "longest": "漢" * 21}
    daemon.create("s", labels=given)
    assert cli("show", "s", "--json").json["labels"] == given
    shown = cli("show", "s", LC_ALL="C.UTF-8").stdout
    assert "label      owner=ünï 漢字\n" in shown and "label      empty=\n" in shown and "label      bell=??31m\n" in shown, shown
    assert cli("set", "s", "--label", "x=y", "--label", "bell=").rc == 0
    del given["bell"]
    assert daemon.session("s")["labels"] == {**given, "x": "y"}


@pytest.mark.parametrize("label", ["a=x\ny", "a=\x1b[31mred", "a=\udcff\udcfe", "a\t=b"], ids=["line", "escape", "bytes", "key"])
def test_labels_that_are_no_plain_text_are_refused(cli, daemon, label):
    """And not left out without a word."""
    result = cli("create", "s", "--memory", "1MiB", "--label", label)
    assert result.rc == 2 and "--label a" in result.stderr and "UTF-8 without control characters" in result.stderr, result
    assert daemon.names() == []


def test_a_cap_and_a_guarantee_are_taken_back_by_none(cli, daemon):
    assert cli("create", "s", "--memory", "64MiB", "--compute", "30", "--guarantee", "10").rc == 0
    assert cli("set", "s", "--compute", "none", "--guarantee", "none").rc == 0
    device, = [device for device in daemon.session("s")["devices"] if device["memory_bytes"] > 1][:1]
    assert device["compute_percent"] in (None, 100) and not device["guarantee_percent"], device


def caps_of(daemon, name):
    return [device["compute_percent"] for device in daemon.session(name)["devices"] if device["memory_bytes"] > 1]


@pytest.mark.parametrize("flags, variables", [
    (["--gpu", "0", "--compute", "0=30"], {}), (["--gpu", "0", "--compute", "0=30,1=50"], {}),
    (["--compute", "0=30,1=30"], {}), (["--compute", "30,1=30"], {}), (["--gpu", "any", "--compute", "30,1=30"], {}),
    (["--gpu", "0"], {"CUDA_DEVICE_SM_LIMIT_0": "30"}), (["--gpu", "1"], {"CUDA_CORE_LIMIT_1": "30"}),
    ([], {"TENSOR_FUSION_CUDA_UP_LIMIT": '{"0": 30, "1": 30}'}), ([], {"ALIQUOT_COMPUTE": "0=30,1=30"})])
def test_caps_by_gpu_that_come_to_one_are_a_daemons_too(cli, daemon, flags, variables):
    assert cli("create", "s", "--memory", "64MiB", *flags, **variables).rc == 0
    assert set(caps_of(daemon, "s")) == {30}
    assert cli("run", "--memory", "64MiB", *flags, "--", "true", **variables).rc == 0


@pytest.mark.parametrize("flags, variables, words", [
    (["--compute", "0=30"], {}, "--compute 0=30%: 30% of GPU-"),
    (["--compute", "50,1=30"], {}, "--compute 50%,1=30%: 50% of GPU-"),
    ([], {"CUDA_DEVICE_SM_LIMIT_0": "30"}, "CUDA_DEVICE_SM_LIMIT_0 0=30%: 30% of GPU-"),
    ([], {"CUDA_CORE_LIMIT_1": "30"}, "CUDA_CORE_LIMIT_1 1=30%: 100% of GPU-"),
    ([], {"TENSOR_FUSION_CUDA_UP_LIMIT": '{"0": 30, "1": 40}'}, "TENSOR_FUSION_CUDA_UP_LIMIT 0=30%,1=40%: 30% of GPU-"),
    (["--gpu", "any", "--compute", "0=30"], {}, "--compute 0=30%: the daemon chooses the GPUs")])
def test_caps_by_gpu_that_differ_are_refused_by_the_name_that_said_them(cli, daemon, flags, variables, words):
    made = cli("create", "s", "--memory", "64MiB", *flags, **variables)
    ran = cli("run", "--memory", "64MiB", *flags, "--", "true", **variables)
    assert (made.rc, ran.rc) == (1, 125) and words in made.stderr and words in ran.stderr, (made, ran)
    assert len(made.stderr.splitlines()) == 1 and daemon.names() == []


def test_a_cap_by_gpu_changes_a_daemons_session_where_it_is_the_cap_of_all(cli, daemon):
    assert cli("create", "one", "--memory", "64MiB", "--gpu", "1").rc == 0
    assert cli("create", "two", "--memory", "64MiB", "--compute", "50").rc == 0
    assert cli("set", "one", "--compute", "1=30").rc == 0 and caps_of(daemon, "one") == [30]
    refused = cli("set", "one", "--compute", "0=20")
    assert refused.rc == 1 and "--compute 0=20%: the session has none of these GPUs" in refused.stderr, refused
    refused = cli("set", "two", "--compute", "0=30")
    assert refused.rc == 1 and "30% of GPU-" in refused.stderr and "50% of GPU-" in refused.stderr, refused
    assert cli("set", "two", "--compute", "0=50").rc == 0 and caps_of(daemon, "two") == [50, 50]
    assert cli("set", "two", "--compute", "0=30,1=30").rc == 0 and caps_of(daemon, "two") == [30, 30]


def test_a_simulated_gpu_that_the_daemon_does_not_have(cli, daemon):
    result = cli("run", f"--sim=gpus=4,state={cli.sim.folder}/others", "--memory", "64MiB", "--", "true", sim=False)
    assert result.rc == 125 and "has GPUs of its own, whatever --sim says" in result.stderr, result


NO_MEMORY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int is_programs(const void *caller)
{
        Dl_info info;
        const char *name = dladdr(caller, &info) ? strrchr(info.dli_fname, '/') : 0;
        return name && !strcmp(name, "/aliquot");
}
static int is_over(const void *caller)
{
        static int asked;
        if (!is_programs(caller) || asked++ != atoi(getenv("FAILING")))
                return 0;
        errno = ENOMEM;
        return 1;
}
void *malloc(size_t bytes)
{
        static void *(*real)(size_t);
        if (!real)
                real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
        return is_over(__builtin_return_address(0)) ? 0 : real(bytes);
}
void *reallocarray(void *at, size_t count, size_t bytes)
{
        return is_over(__builtin_return_address(0)) ? 0 : realloc(at, count * bytes);
}
"""


@pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="a sanitizer has an allocator of its own")
def test_without_memory_nothing_is_left_out(cli, daemon, compile_c):
    """Of a wish, of an answer, of a list: the n-th piece of memory that the command asks for is not there. What it
    then does is what was asked for, or an error."""
    library = compile_c("nomemory.so", NO_MEMORY, "-shared", "-fPIC", "-ldl")
    for i in range(70):  # more than fit the first piece of a list
        daemon.create(f"s{i:02}", "1MiB", labels={"a": "b"})
    whole = cli("ls", "-o", "session").stdout
    for words in (["set", "s00", "--label", "n={}", "--weight", "1{:03}"], ["ls", "-o", "session"]):
        failed = []
        for nth in takewhile(lambda nth, failed=failed: nth < 30 + max(failed, default=30), count(1, 3)):
            result = cli(*(word.format(nth) for word in words), LD_PRELOAD=library, FAILING=nth)
            session = daemon.session("s00")
            assert result.rc in (0, 1), result
            failed += [nth] if result.rc else []
            assert result.rc == 0 or "memory" in result.stderr, result
            if words[0] == "ls":
                assert result.rc or result.stdout == whole, result
            else:
                done = session["weight"], session["labels"].get("n", "0"), session["labels"]["a"]
                assert done[0] in (100, 1000 + int(done[1])) and done[2] == "b", (nth, done)
                assert done[0] == 1000 + nth or result.rc, (nth, result, done)
        assert failed, words


def test_events_as_they_happen(cli, daemon):
    follower = cli.start("events", "--since", "2", "--count", "3", "--json", sim=False)
    for words in (["create", "s", "--memory", "64MiB"], ["set", "s", "--memory", "32MiB"], ["rm", "s"]):
        assert cli(*words).rc == 0
    out = cli("events", "--since", "0", "--count", "5")
    assert out.rc == 0 and [line.split()[2] for line in out.stdout.splitlines()] == [
        "gpu-here", "gpu-here", "created", "changed", "released"], out
    mine = cli("events", "s", "--since", "0", "--count", "1").stdout.split()
    assert mine[2:4] == ["created", "s"] and mine[4:6] == ["uid", str(os.getuid())], mine
    last = [line.split()[2] for line in cli("events", "--last", "2", "--count", "2").stdout.splitlines()]
    assert last == ["released", "gone"] and cli("events", "--last", "9", "--count", "1").stdout.startswith("1 ")
    assert cli("events", "--last", "1", "--since", "1").rc == 2
    told, _ = follower.communicate(timeout=HANG_SECONDS)
    assert [json.loads(line)["type"] for line in told.splitlines()] == ["created", "changed", "released"], told
    assert follower.returncode == 0
    assert cli("events", "--since", "x").rc == 2 and cli("events", "a b").rc == 2


def test_an_interrupt_ends_the_following(cli, daemon):
    follower = cli.start("events", "--since", "0", sim=False)
    assert "gpu-here" in follower.stdout.readline()
    follower.send_signal(signal.SIGINT)
    assert follower.wait(HANG_SECONDS) == -signal.SIGINT


def test_the_following_ends_when_nobody_reads_it_any_more(cli, daemon):
    """Also while nothing happens."""
    follower = cli.start("events", "--since", "0", sim=False)
    assert "gpu-here" in follower.stdout.readline() and "gpu-here" in follower.stdout.readline()
    follower.stdout.close()
    assert follower.wait(HANG_SECONDS) == 0 and follower.stderr.read() == ""
    follower.stdout = None


def test_the_end_of_the_daemon_is_told_to_who_follows(cli, daemon):
    follower = cli.start("events", "--since", "0", sim=False)
    assert "gpu-here" in follower.stdout.readline()
    daemon.kill()
    _, error = follower.communicate(timeout=HANG_SECONDS)
    assert follower.returncode == AWAY and "does not answer" in error, error


def test_ls_asks_a_daemon_that_hangs_once(cli, daemon, live):
    """And not for each session that it alone can tell of."""
    for name in "st":
        assert cli("create", name, "--memory", "256MiB").rc == 0
    process = live()
    assert cli("rm", "s", "--force").rc == 0
    daemon.kill()
    daemon.socket.unlink()
    with FakeDaemon(cli.sim, [HANG]) as fake:
        listed = cli("ls", "-o", "session")
    assert listed.rc == 0 and listed.stdout.split() == ["SESSION", "t"] and len(fake.heard) == 1, (listed, fake.heard)
    process.communicate("")


def test_a_daemon_that_hangs_is_told_to_who_follows(cli, daemon):
    """Before its first word, and after."""
    follower = cli.start("events", "--since", "0", sim=False)
    assert "gpu-here" in follower.stdout.readline()
    stop(daemon.process.pid)
    try:
        late = cli("events")
        assert late.rc == AWAY and "waiting for it" in late.stderr and "sends nothing" in late.stderr, late
        _, error = follower.communicate(timeout=HANG_SECONDS)
        assert follower.returncode == AWAY and "sends nothing" in error, error
    finally:
        os.kill(daemon.process.pid, signal.SIGCONT)


def test_one_that_is_ending_is_shown_until_its_programs_have_ended(cli, daemon, live):
    assert cli("create", "s", "--memory", "256MiB", "--ttl", "1h").rc == 0
    process = live()
    assert cli("set", "s", "--ttl", "100ms").rc == 0
    wait_for(lambda: daemon.session("s")["state"] == "ending")
    assert "state      ending, with deny-new\n" in cli("show", "s").stdout
    assert "256 MiB, ending" in cli("ls").stdout
    listed, = cli("ls", "--json").json
    assert listed["name"] == "s" and listed["processes"] == 1 and listed["used_bytes"] >= 64 * MIB
    refusals = [cli.run("--session", "s", "--", "true")] + [cli(*words) for words in (
        ["rm", "s"], ["set", "s", "--memory", "128MiB"], ["renew", "s"], ["create", "s", "--memory", "1MiB"])]
    assert [refused.rc for refused in refusals] == [125, 1, 1, 1, 1], refusals
    for refused in refusals:  # what it says can be done
        assert "rm" in refused.stderr and "--force" in refused.stderr and "force=" not in refused.stderr, refused
        assert "aliquot set" not in refused.stderr.partition(": ")[2], refused
    daemon.kill()
    expect_away(cli("rm", "s", "--force"), "start aliquotd")
    daemon.start()
    assert cli("rm", "s", "--force").rc == 0
    assert process.wait(HANG_SECONDS) == -signal.SIGKILL
    wait_for(lambda: cli("ls", "--json").json == [])


def test_a_run_whose_time_is_over_says_so(cli, daemon, holder):
    """A killed program tells nothing, and neither does a shell."""
    process = cli.start("run", "--memory", "64MiB", "--ttl", "4s", "--on-end", "kill", "--", holder, 0, MIB)
    assert process.stdout.readline().startswith("ready ")
    assert process.wait(HANG_SECONDS) == -signal.SIGKILL
    assert re.fullmatch(r"aliquot run: note: session run-\w+ ended before its program: its TTL of 4s was over \(kill\)\n", process.stderr.read())
    wait_for(lambda: not daemon.names())
    removed = cli.start("run", "--memory", "64MiB", "--ttl", "1h", "--", holder, 0, MIB)
    assert removed.stdout.readline().startswith("ready ")
    name, = daemon.names()
    assert cli("rm", name, "--force").rc == 0
    _, said = removed.communicate("", timeout=HANG_SECONDS)
    assert said == f"aliquot run: note: session {name} ended before its program\n" and removed.returncode == 0
    assert cli.run("--memory", "64MiB", "--ttl", "1h", "--", holder, 0, MIB).stderr == ""


def test_a_program_of_a_run_whose_session_has_gone_is_told_that(cli, daemon, holder):
    """Advice to make such a session would be wrong."""
    waits = f"while [ -e {cli.sim.runtime}/sessions/$ALIQUOT_SESSION ]; do sleep 0.05; done; {holder} 0 {MIB}"
    result = cli.run("--memory", "64MiB", "--ttl", "1s", "--", "sh", "-c", waits)
    assert result.rc != 0 and re.search(r"session run-\w+ has ended: it was that of one aliquot run", result.stderr), result
    assert "aliquot create" not in result.stderr, result


# -- Programs --------------------------------------------------------------------------------------

def test_programs_see_the_gpus_that_their_session_has(cli, daemon):
    uuids = [gpu["uuid"] for gpu in cli("gpus", "--json").json]
    assert cli("create", "s", "--memory", "64MiB", "--gpu", "1").rc == 0
    say = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES $ALIQUOT_MEMORY"]
    assert cli.run("--session", "s", "--", *say).stdout.split() == [uuids[1]]
    assert cli.run("--session", "s", "--", *say, CUDA_VISIBLE_DEVICES="1,0").stdout.split() == [uuids[1]]
    result = cli.run("--session", "s", "--", *say, CUDA_VISIBLE_DEVICES="0")
    assert result.rc == 125 and "none of the GPUs of session s" in result.stderr, result
    result = cli.run("--session", "s", "--gpu", "0", "--", *say)
    assert result.rc == 125 and "--gpu 0: session s does not have" in result.stderr, result
    assert cli.run("--session", "v", "--gpu", "0", "--memory", "64MiB", "--", *say).stdout.split() == [uuids[0]]
    assert [device["uuid"] for device in daemon.session("v")["devices"]] == [uuids[0]]


def test_a_session_of_one_run_goes_with_it(cli, daemon, holder):
    result = cli.run("--memory", "64MiB", "--", holder, 0, MIB)
    assert result.rc == 0 and daemon.names() == [] and cli.sessions() == [], result
    killed = cli.start("run", "--memory", "64MiB", "--", holder, 0, MIB)
    assert killed.stdout.readline().startswith("ready ")
    name, = daemon.names()
    assert name.startswith("run-") and daemon.session(name)["processes"] == 1
    killed.kill()
    killed.wait(HANG_SECONDS)
    wait_for(lambda: daemon.session(name)["processes"] == 0)
    old = cli.sim.runtime / "sessions" / name
    os.utime(old, (1, 1))  # older than the minute that a run may take to start
    assert cli("ls", "--json").json == [] and daemon.names() == []


def test_what_was_taken_back_is_not_made_again(cli, daemon, build, holder):
    """A program that starts when its session has ended is refused, whatever limits it once had."""
    again = ["sh", "-c", f"{build.aliquot} rm s >/dev/null; {holder} 0 1000"]
    result = cli.run("--session", "s", "--memory", "64MiB", "--", *again)
    assert result.rc != 0 and "no such session" in result.stderr and cli.sessions() == [], result


def test_a_run_with_a_time_starts_the_daemon_and_it_goes_with_the_last_session(cli, holder):
    Daemon(cli.sim)  # skips where there is none
    first = cli.start("run", "--session", "a", "--memory", "64MiB", "--ttl", "1h", "--", holder, 0, MIB)
    second = cli.start("run", "--session", "b", "--memory", "64MiB", "--ttl", "1h", "--", holder, 1, MIB)
    for process in (first, second):
        assert process.stdout.readline().startswith("ready "), process.stderr.read()
    assert [session["name"] for session in cli("ls", "--json").json] == ["a", "b"]
    assert cli("show", "a", "--json").json["ttl_seconds"] == 3600
    lock = cli.sim.runtime / "daemon.lock"
    pid = int(lock.read_text())
    wait_for(lambda: daemons_of(cli.sim) == {pid})  # each run starts one; the second finds the lock taken
    for process in (first, second):
        process.communicate("")
        assert process.returncode == 0
    for name in "ab":
        assert cli("rm", name).rc == 0
    wait_for(lambda: is_free(lock))
    assert "no session" in (cli.sim.runtime / "aliquotd.log").read_text() and pid > 1
    assert cli("create", "c", "--memory", "64MiB").rc == 0 and cli("show", "c", "--json").json["made_by"] == "user"


def test_the_time_of_the_run_that_started_the_daemon_is_no_other_sessions(cli, holder):
    Daemon(cli.sim)  # skips where there is none
    first = cli.start("run", "--session", "a", "--memory", "64MiB", "--", holder, 0, MIB, GPUSLICE_DEFAULT_TTL=3600)
    assert first.stdout.readline().startswith("ready "), first.stderr.read()
    assert cli("create", "b", "--memory", "64MiB").rc == 0
    assert [cli("show", name, "--json").json["ttl_seconds"] for name in "ab"] == [3600, None]
    first.communicate("")
    for name in "ab":
        assert cli("rm", name).rc == 0
    wait_for(lambda: is_free(cli.sim.runtime / "daemon.lock"))


def daemons_of(sim):
    """The processes of aliquotd that serve this node's runtime folder, or are about to."""
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if folder.joinpath("comm").read_text() == "aliquotd\n" and str(sim.runtime) in (
                    folder.joinpath("cmdline").read_text() + folder.joinpath("environ").read_text()):
                found.add(int(folder.name))
        except OSError:
            continue
    return found


def is_free(lock):
    with open(lock, encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_other_words_and_names_of_gpu_slice(cli, daemon):
    """One path is changed: that of the socket."""
    slice_names = {"GPUSLICE_IPC_SOCK": daemon.socket, "ALIQUOT_RUNTIME_DIR": None,
                   "GPUSLICE_IPC_TOKEN": "hunter2", "GPUSLICE_IPC_TOKEN_REQUIRED": "1",
                   "GPUSLICE_DEFAULT_TTL": "120"}
    result = cli("allocate", f"--sim={cli.sim.spec}", "s", "--memory", "134217728", **slice_names)
    assert result.rc == 0, result
    shown = cli("status", "s", "--json", **slice_names).json
    assert shown["ttl_seconds"] == 120 and shown["devices"][0]["memory_bytes"] == 128 * MIB
    result = cli.run("--", "sh", "-c", "echo $ALIQUOT_SESSION $GPUSLICE_SESSION", GPUSLICE_SESSION="s",
                     **slice_names)
    assert result.stdout.split() == ["s"], result  # the time is that of sessions to be made
    result = cli.run("--session", "s", "--ttl", "1h", "--", "true", **slice_names)
    assert result.rc == 125 and "--ttl: session s is there already" in result.stderr, result
    assert cli("release", "s", **slice_names).rc == 0 and daemon.names() == []


def test_where_a_session_stands_among_others(cli, daemon):
    """Said at the command, kept by the daemon, changed live; without a daemon it is not promised."""
    assert cli("create", "s", "--memory", "64MiB", "--compute", "60", "--guarantee", "20", "--weight", "300",
               "--priority", "rt", "--gang", "ranks").rc == 0

    def stands():
        told = daemon.get("/v1/sessions/s").json
        device, = {(d["compute_percent"], d["guarantee_percent"]) for d in told["devices"]}
        return *device, told["weight"], told["priority"], told["gang"]
    assert stands() == (60, 20, 300, "rt", "ranks")
    shown = cli("show", "s", "--json").json
    assert (shown["devices"][0]["guarantee_percent"], shown["weight"], shown["priority"], shown["gang"]) == (20, 300, "rt", "ranks"), shown
    assert re.search(r"guarantee +20%\nweight +300\npriority +rt\ngang +ranks\n", cli("show", "s").stdout)
    assert "compute=60 guarantee=20 weight=300 priority=rt gang=ranks" in cli("events", "--last", "1", "--count", "1").stdout
    line, = cli("ls").stdout.splitlines()[1:]
    assert line.endswith("64 MiB, compute 20%-60%, weight 300, rt, gang ranks") and len(line) <= 80, line
    listed, = cli("ls", "--json").json
    assert (listed["devices"][0]["guarantee_percent"], listed["weight"], listed["priority"], listed["gang"]) == \
        (20, 300, "rt", "ranks"), listed
    assert cli("set", "s", "--weight", "50", "--guarantee", "0").rc == 0
    assert re.search(r"64 MiB, compute 60%, weight 50, rt, gang ranks$", cli("ls").stdout, re.MULTILINE), cli("ls")
    assert stands() == (60, None, 50, "rt", "ranks")
    assert cli("set", "s", "--gang", "none").rc == 0
    assert stands() == (60, None, 50, "rt", None) and cli("show", "s", "--json").json["gang"] is None
    assert cli("set", "s", "--gang", "a b").rc == 2
    assert cli("set", "s", "--priority", "BATCH", "--on-end", "TERM").rc == 0
    assert (daemon.session("s")["priority"], daemon.session("s")["on_end"]) == ("batch", "term")
    assert cli("set", "s", "--priority", "Rt").rc == 0
    result = cli("set", "s", "--guarantee", "70")
    assert result.rc != 0 and "guarantee: 70 % is more than its cap (compute), 60 %" in result.stderr, result
    assert stands() == (60, None, 50, "rt", None)
    assert cli("set", "s", "--guarantee", "20").rc == 0
    result = cli("set", "s", "--compute", "10.5")
    assert result.rc != 0 and "compute: 10.5 % is less than its guarantee, 20 %" in result.stderr, result
    assert stands() == (60, 20, 50, "rt", None)
