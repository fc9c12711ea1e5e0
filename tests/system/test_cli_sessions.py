# SPDX-License-Identifier: Apache-2.0
"""Sessions seen and changed from outside: create, ls, ps, show, set, rm, gpus; for people and as JSON."""
import os
import re

import pytest

from cli import AWAY
from daemon import Daemon

MIB = 1 << 20


@pytest.fixture
def live(cli, holder):
    """A program that holds memory in session s, for as long as its input is open."""
    def start(*before, limit="256MiB", size=64 * MIB, gpu=0):
        process = cli.start("run", "--session", "s", "--memory", limit, "--", *before, holder, gpu, size)
        assert process.stdout.readline().startswith("ready ")
        return process
    return start


def expect_schema(value, schema):
    """A dict says a key's type, a list that of its items, a tuple the choices."""
    if isinstance(schema, dict):
        assert isinstance(value, dict) and set(value) == set(schema), (value, schema)
        for key in schema:
            expect_schema(value[key], schema[key])
    elif isinstance(schema, list):
        assert isinstance(value, list), value
        for item in value:
            expect_schema(item, schema[0])
    else:
        assert isinstance(value, schema) and not (schema is int and value is True), (value, schema)


NONE = type(None)
DEVICE_USE = {"uuid": str, "bytes": int}
PROCESS = {"session": str, "pid": (int, NONE), "uid": int, "command": str, "cgroup": (str, NONE), "devices": [DEVICE_USE]}
SESSION = {
    "name": str, "created_as": str, "folder": str, "owner": int, "made_by": str, "device_name": (str, NONE),
    "context": str, "host": NONE, "swap": NONE, "default_memory_bytes": (int, NONE), "epoch": int,
    "state": NONE, "expires_at": NONE, "ttl_seconds": NONE, "on_end": NONE, "labels": NONE,  # a daemon's
    "priority": NONE, "gang": NONE, "weight": NONE, "clamped": NONE,
    "devices": [{"uuid": str, "memory_bytes": (int, NONE), "used_bytes": int, "card_bytes": int,
                 "compute_percent": (int, float, NONE), "guarantee_percent": NONE, "compute_reported": NONE,
                 "remainder": (str, NONE)}],
    "processes": int,
}
LISTED = {"name": str, "processes": (int, NONE), "used_bytes": (int, NONE),
          "created_as": (str, NONE), "clamped": (bool, NONE), "reported": (bool, NONE), "error": (str, NONE),
          "priority": NONE, "gang": NONE, "weight": NONE,  # a daemon's
          "devices": [{"uuid": str, "memory_bytes": (int, NONE), "compute_percent": (int, float, NONE), "guarantee_percent": NONE}]}
GPU = {"index": int, "is_instance": bool, "uuid": str, "name": str, "total_bytes": int,
       "used_bytes": int, "unexplained_bytes": int,
       "sessions": [{"name": str, "memory_bytes": (int, NONE), "used_bytes": int, "swaps": bool}]}


def test_what_programs_read(cli, live):
    live()
    for words, schema in ((["ls"], [LISTED]), (["ps"], [PROCESS]), (["ps", "s"], [PROCESS]),
                          (["show", "s"], SESSION), (["gpus"], [GPU]),
                          (["set", "s", "--memory", "200MiB"], SESSION),
                          (["create", "t", "--memory", "1MiB"], SESSION),
                          (["rm", "t"], {"removed": str}),
                          (["version"], {"version": str}),
                          (["help"], [{"name": str, "alias": (str, NONE), "summary": str}]),
                          (["doctor"], [{"about": str, "verdict": str, "text": str}])):
        result = cli(*words, "--json")
        assert result.rc == 0 and result.stderr == "", result
        expect_schema(result.json, schema)
    env = cli("env", "--session", "s", "--json").json
    assert env["ALIQUOT_SESSION"] == "s" and env["LD_PRELOAD"].endswith("/libaliquot.so")


def test_what_no_session_explains_is_told_of_each_gpu(cli, sim, holder, live):
    live()
    other = sim.start([holder, 0, 5 << 20])
    assert other.stdout.readline().startswith("ready ")
    first = cli("gpus", "--json").json[0]
    explained = sum(session["used_bytes"] for session in first["sessions"])
    assert explained > 0 and first["unexplained_bytes"] == first["used_bytes"] - explained >= 5 << 20


def test_the_list_says_what_holds_now(cli):
    """By name, with the limits of this moment, not those of the beginning."""
    for name in ("b", "c", "a"):
        assert cli("create", name, "--memory", "256MiB").rc == 0
    assert cli("set", "b", "--memory", "64MiB").rc == 0
    assert cli("set", "c", "--memory", "0=128MiB,1=1GiB").rc == 0
    uuids = [gpu["uuid"] for gpu in cli("gpus", "--json").json]
    _, *lines = cli("ls").stdout.splitlines()
    assert [(line.split()[0], line.split("  ")[-1].strip()) for line in lines] == [
        ("a", "256 MiB"), ("b", "64 MiB"),
        ("c", f"{uuids[0][:12]}=128 MiB, {uuids[1][:12]}=1 GiB")]
    listed = cli("ls", "--json").json
    assert [session["name"] for session in listed] == ["a", "b", "c"]
    assert [[device["memory_bytes"] for device in session["devices"]] for session in listed] == [
        [256 * MIB] * 2, [64 * MIB] * 2, [128 * MIB, 1 << 30]]


def test_nothing_is_an_answer_too(cli):
    for name in ("ls", "ps"):
        assert cli(name, "--json").json == []
        result = cli(name)
        assert result.rc == 0 and len(result.stdout.splitlines()) == 1, result


def test_who_holds_what(cli, live):
    process = live()
    first, second = [gpu["uuid"] for gpu in cli("gpus", "--json").json]
    shown, = cli("ps", "s", "--json").json
    held = {device["uuid"]: device["bytes"] for device in shown["devices"]}
    assert shown["pid"] == process.pid and shown["command"] == "hold" and shown["session"] == "s"
    assert held[second] == 0 and held[first] >= 64 * MIB
    session = cli("show", "s", "--json").json
    assert session["devices"][0]["used_bytes"] == held[first]
    assert session["processes"] == 1
    listed, = cli("ls", "--json").json
    assert (listed["processes"], listed["used_bytes"]) == (1, held[first])
    gpu = cli("gpus", "--json").json[0]
    assert gpu["sessions"] == [{"name": "s", "memory_bytes": 256 * MIB, "used_bytes": held[first], "swaps": False}]
    # The card as the driver sees it: all that was granted.
    assert gpu["used_bytes"] == held[first] and gpu["total_bytes"] == 1024 * MIB
    lines = cli("ps").stdout.splitlines()
    assert lines[0].split() == ["SESSION", "PID", "COMMAND", "GPU", "MEMORY"]
    assert lines[1].split()[:4] == ["s", str(process.pid), "hold", first[:12]], lines
    process.communicate("")
    assert cli("ps", "--json").json == []
    assert cli("show", "s", "--json").json["devices"][0]["used_bytes"] == 0


def test_show_says_whether_what_the_driver_takes_is_measured(cli, live):
    def shown():
        lines = [line for line in cli("show", "s").stdout.splitlines() if line.startswith("driver ")]
        return cli("show", "s", "--json").json["devices"][0]["remainder"], " ".join("".join(lines).split()[3:-2])

    measured = live()
    assert shown() == ("measured", "measured")
    estimated = live("env", "ALIQUOT_REAL_LIBNVML=/none")
    assert shown() == ("estimated", "estimated for 1 of 2 processes")
    measured.communicate("")
    assert shown() == ("estimated", "estimated")
    estimated.communicate("")
    assert shown() == (None, "")
    assert cli("show", "s", "--json").json["devices"][1]["remainder"] is None


def test_the_cards_are_the_cards_also_inside_a_session(cli, build):
    result = cli.run("--memory", "1MiB", "--", build.aliquot, "gpus", "--json")
    assert [gpu["total_bytes"] for gpu in result.json] == [1024 * MIB] * 2


def test_chosen_columns_of_a_list(cli, live):
    """In the order that was asked for; a script needs no more than its own fields."""
    process = live()
    uuids = [gpu["uuid"] for gpu in cli("gpus", "--json").json]
    expected = {
        ("ls", "-o", "limits,session"): [["LIMITS", "SESSION"], ["256", "MiB", "s"]],
        ("ps", "-o", "pid,COMMAND"): [["PID", "COMMAND"], [str(process.pid), "hold"]],
        ("ps", "s", "--columns=memory"): [["MEMORY"], ["80", "MiB"]],
        ("gpus", "-o", "gpu,sessions"): [["GPU", "SESSIONS"], ["0", "s", "256", "MiB"],
                                         ["1", "s", "256", "MiB"]],
        ("show", "s", "-o", "card,gpu"): [["CARD", "GPU"]] + [["1", "GiB", uuid] for uuid in uuids],
    }
    for words, lines in expected.items():
        result = cli(*words)
        assert result.rc == 0 and result.stderr == "", result
        assert [line.split() for line in result.stdout.splitlines()] == lines, words
        assert not re.search(r" $", result.stdout, re.MULTILINE), words


def test_columns_with_spaces_between(cli):
    assert cli("create", "s", "--memory", "64MiB").rc == 0
    result = cli("ls", "-o", "session, used ,limits")
    assert result.rc == 0 and result.stdout.split()[:3] == ["SESSION", "USED", "LIMITS"], result


def test_a_card_with_many_sessions_names_the_first_and_counts_the_rest(cli):
    for i in range(11):
        assert cli("create", f"s{i:02}-{'x' * 56}", "--memory", "64MiB").rc == 0
    lines = cli("gpus", "-o", "sessions").stdout.splitlines()[1:]
    assert len(lines) == 2 and len(set(lines)) == 1, lines
    assert lines[0].count("64 MiB") == 8 and lines[0].endswith(", +3 more"), lines


FIELDS = {"ls": "session, processes, used, limits", "ps": "session, pid, command, gpu, memory",
          "gpus": "gpu, uuid, name, memory, used, sessions", "show": "gpu, limit, used, card"}


@pytest.mark.parametrize("name", FIELDS)
def test_columns_that_are_not_there(cli, name):
    """Called wrong: nothing is printed but the fields there are."""
    session = ["s"] if name == "show" else []
    for columns in ("colour", "used,colour", "", ",", "use", "gpu,gpu,gpu,gpu,gpu,gpu,gpu,gpu,gpu,gpu,"
                    "gpu,gpu,gpu"):
        result = cli(name, *session, "-o", columns)
        assert result.rc == 2 and result.stdout == "", result
        assert f"-o {columns}" in result.stderr and FIELDS[name] in result.stderr, result
    result = cli(name, *session, "-o", "gpu", "--json")
    assert result.rc == 2 and result.stdout == "" and "--json" in result.stderr, result


def test_a_live_change_of_the_limit(cli, holder, live):
    process = live(limit="128MiB")
    assert cli.run("--session", "s", "--", holder, 0, 128 * MIB).rc == 1
    assert cli("set", "s", "--memory", "512MiB").rc == 0
    result = cli.run("--session", "s", "--", holder, 0, 128 * MIB)
    assert result.rc == 0 and int(result.stdout.split()[2]) == 512 * MIB, result
    # Below what is used: nothing is taken back, nothing new is granted.
    assert cli("set", "s", "--memory", "32MiB").rc == 0
    assert cli("show", "s", "--json").json["devices"][0]["used_bytes"] >= 64 * MIB
    assert cli.run("--session", "s", "--", holder, 0, MIB).rc == 1
    process.communicate("")
    assert process.returncode == 0
    assert cli("show", "s", "--json").json["epoch"] == 2


def test_one_gpu_of_several_is_set(cli):
    assert cli("create", "s", "--memory", "256MiB").rc == 0
    first, second = [gpu["uuid"] for gpu in cli("gpus", "--json").json]

    def limits():
        return [d["memory_bytes"] // MIB for d in cli("show", "s", "--json").json["devices"]]

    assert cli("set", "s", "--memory", "1=64MiB").rc == 0 and limits() == [256, 64]
    assert cli("set", "s", "--memory", f"{first}=50%").rc == 0 and limits() == [512, 64]
    assert cli("set", "s", "--memory", f"128MiB,{second[:12]}=96MiB").rc == 0
    assert limits() == [128, 96]
    # Its own rows stand for the GPUs where this machine has none of them.
    assert cli("set", "s", "--memory", "1=32MiB", sim=False).rc == 0 and limits() == [128, 32]


def caps(cli):
    return [device["compute_percent"] for device in cli("show", "s", "--json").json["devices"]]


def test_caps_on_compute_change_apart_from_memory(cli):
    """A cap that was not spoken of stays, and so does memory."""
    assert cli("create", "s", "--memory", "256MiB", "--compute", "30").rc == 0
    assert caps(cli) == [30, 30]
    assert re.search(r"^s +0 +0 B +256 MiB, compute 30%$", cli("ls").stdout, re.MULTILINE), cli("ls").stdout
    assert cli("set", "s", "--compute", "1=12.5").rc == 0 and caps(cli) == [30, 12.5]
    assert cli("set", "s", "--memory", "128MiB").rc == 0 and caps(cli) == [30, 12.5]
    shown = cli("show", "s")
    assert "at most 30% of GPU-" in shown.stdout and "at most 12.5% of GPU-" in shown.stdout, shown
    assert cli("set", "s", "--compute", "100").rc == 0 and caps(cli) == [None, None]
    assert all(device["memory_bytes"] == 128 * MIB for device in cli("show", "s", "--json").json["devices"])


def test_joining_with_another_cap_is_refused(cli):
    assert cli("create", "s", "--memory", "256MiB", "--compute", "30").rc == 0
    assert cli.run("--session", "s", "--memory", "256MiB", "--compute", "30", "--", "true").rc == 0
    result = cli.run("--session", "s", "--memory", "256MiB", "--compute", "40", "--", "true")
    assert result.rc == 125 and "compute=30%" in result.stderr and "compute=40%" in result.stderr, result


@pytest.mark.parametrize("flags,status,words", [
    (["--memory", "2GiB"], 1, ["--memory", "more than the card"]),
    (["--memory", "0"], 2, ["--memory 0", "is zero"]),
    (["--memory", "7=1MiB"], 1, ["'7'"]),
    (["--memory", "1MiB", "--compute", "0"], 2, ["--compute 0", "0.1 to 100"]),
    (["--compute", "7=50"], 1, ["--compute", "'7'"]),
    (["--device-name", "Other"], 2, ["--device-name Other", "fixed"]),
    (["--context", "free"], 2, ["--context free", "fixed"]),
    ([], 2, ["nothing to set"]),
])
def test_a_change_that_cannot_be_leaves_all_as_it_was(cli, flags, status, words):
    assert cli("create", "s", "--memory", "256MiB").rc == 0
    before = cli("show", "s", "--json").json
    result = cli("set", "s", *flags)
    assert result.rc == status and all(word in result.stderr for word in words), result
    assert cli("show", "s", "--json").json == before


def test_a_session_is_made_once(cli):
    assert cli("create", "s", "--memory", "64MiB").rc == 0
    result = cli("create", "s", "--memory", "64MiB")
    assert result.rc == 1 and "exists already" in result.stderr and "aliquot set" in result.stderr
    assert cli("create", "t").rc == 1  # without limits there is nothing to make
    assert cli.sessions() == ["s"]


def test_a_session_in_use_is_not_removed_by_accident(cli, holder, live):
    process = live()
    result = cli("rm", "s")
    assert result.rc == 1 and "in use" in result.stderr and "--force: they run on" in result.stderr, result
    assert cli("rm", "s", "--force").rc == 0 and cli.sessions() == []
    process.communicate("")
    assert process.returncode == 0


def test_a_program_that_has_yet_to_touch_the_gpu_uses_its_session(cli):
    process = cli.start("run", "--session", "s", "--memory", "64MiB", "--", "sh", "-c", "echo ready; exec cat")
    assert process.stdout.readline() == "ready\n"
    result = cli("rm", "s")
    assert result.rc == 1 and "in use" in result.stderr and "--force" in result.stderr, result
    assert cli.sessions() == ["s"] and cli("ls", "-o", "session,processes").rc == 0
    process.communicate("")
    assert cli("rm", "s").rc == 0 and cli.sessions() == []


def test_rm_takes_several_and_goes_on_behind_one_that_cannot_be_removed(cli, live):
    for name in ("a", "b", "c"):
        assert cli("create", name, "--memory", "64MiB").rc == 0
    process = live()
    result = cli("rm", "a", "s", "none", "b", "--json")
    assert result.rc == 1 and result.json == {"removed": ["a", "b"]}, result
    assert [("s is in use" in line, "no session none" in line) for line in result.stderr.splitlines()] == [(True, False), (False, True)]
    assert cli.sessions() == ["c", "s"] and cli("rm", "c", "--force").stdout == ""
    process.communicate("")
    assert cli("rm").rc == 2 and cli("rm", "s").rc == 0 and cli.sessions() == []


def test_rm_of_the_unused_takes_what_nobody_named(cli, holder):
    """A session with a name was made to be joined, perhaps later."""
    def hold(limit):
        process = cli.sim.start([holder, 0, MIB], preload=True, ALIQUOT_MEMORY=limit)
        assert process.stdout.readline().startswith("ready ")
        return process
    assert cli("rm", "--unused").rc == 0 and cli("create", "kept", "--memory", "64MiB").rc == 0
    hold("128MiB").communicate("")
    over, = [name for name in cli.sessions() if name != "kept"]
    joined = cli.sim.start([cli.sim.build.program("hooks/script")], preload=True, ALIQUOT_MEMORY="512MiB")  # and holds nothing yet
    joined.stdin.write("init\n")
    joined.stdin.flush()
    assert joined.stdout.readline() == "0\n"
    lives = hold("256MiB")
    result = cli("rm", "--unused")
    assert (result.rc, result.stdout, result.stderr) == (0, f"{over}\n", ""), result
    assert len(cli.sessions()) == 3 and over not in cli.sessions()
    assert joined.communicate("context 0 0\n")[0] == "0\n"
    lives.communicate("")
    used = cli("rm", "--unused").stdout.split()
    assert len(used) == 2 and all(re.fullmatch(r"env-[0-9a-f]{16}", name) and name != over for name in used)
    assert cli.sessions() == ["kept"]


def test_a_session_of_this_name_elsewhere_is_another(cli):
    other = cli.sim.folder / "other"
    process = cli.start("run", "--session", "s", "--memory", "64MiB", "--", "sh", "-c", "echo ready; exec cat",
                        ALIQUOT_RUNTIME_DIR=other)
    assert process.stdout.readline() == "ready\n"
    assert cli("create", "s", "--memory", "64MiB").rc == 0 and cli("rm", "s").rc == 0
    process.communicate("")


def test_a_program_that_says_no_folder_is_in_a_usual_one(cli):
    """Whatever else runs on the machine with that name is no reason to keep a session of a folder of one's own."""
    stranger = cli.sim.start(["sh", "-c", "echo ready; exec cat"], ALIQUOT_SESSION="s", ALIQUOT_RUNTIME_DIR=None)
    assert stranger.stdout.readline() == "ready\n"
    assert cli("create", "s", "--memory", "64MiB").rc == 0 and cli("rm", "s").rc == 0
    usual = cli.sim.folder / "aliquot"  # as $XDG_RUNTIME_DIR/aliquot
    assert cli("create", "s", "--memory", "64MiB", ALIQUOT_RUNTIME_DIR=usual).rc == 0
    result = cli("rm", "s", ALIQUOT_RUNTIME_DIR=usual)
    assert result.rc == 1 and "in use" in result.stderr, result
    stranger.communicate("")
    assert cli("rm", "s", ALIQUOT_RUNTIME_DIR=usual).rc == 0


@pytest.mark.needs("other users", "mount namespaces")
def test_what_reads_finds_the_folder_that_was_written_to(cli, sim, build):
    """/run/aliquot is root's: another user's commands go on to the next folder, all of them."""
    xdg = sim.folder / "xdg"
    xdg.mkdir(mode=0o700)
    sim.folder.chmod(0o711)
    for folder in (xdg, sim.state):
        os.chown(folder, 1234, 1234)
    script = f"""
        mount -t tmpfs x /run && mkdir -m 700 /run/aliquot || exit 77
        become="setpriv --reuid 1234 --regid 1234 --clear-groups"
        $become {build.aliquot} version >/dev/null || exit 77
        exec $become sh -ec '
            aliquot={build.aliquot}
            $aliquot ls
            $aliquot create s --memory 64MiB --sim={sim.spec}
            $aliquot ls -o session
            $aliquot show s
            $aliquot ps
            $aliquot rm s'
        """
    result = sim.run(["unshare", "-m", "sh", "-c", script], ALIQUOT_RUNTIME_DIR=None, XDG_RUNTIME_DIR=xdg,
                     LD_LIBRARY_PATH=None)
    if result.rc == 77:
        pytest.skip("another user cannot execute the build folder")
    assert result.rc == 0 and "s" in result.stdout.split() and "denied" not in result.stderr, result


@pytest.mark.needs("other users", "mount namespaces")
@pytest.mark.parametrize("mode, is_told", [("0600", True), ("0666", False), (None, False)], ids=["for root", "for all", "none serves"])
def test_who_is_kept_out_by_the_machines_daemon_is_told_that_it_does_not_count(cli, sim, build, mode, is_told):
    """A session beside it is made all the same, and not without a word."""
    daemon = Daemon(sim, f"[socket]\nmode = {mode or '0666'}\n")
    xdg = sim.folder / "xdg"
    xdg.mkdir(mode=0o700)
    sim.folder.chmod(0o711)
    for folder in (xdg, sim.state):
        os.chown(folder, 1234, 1234)
    serve = f"""{daemon.program} --config {daemon.config} --state-dir {daemon.state} --sim={sim.spec} 2>{daemon.log} &
        trap "kill $!" EXIT
        while ! grep -q serving {daemon.log}; do kill -0 $! || exit 1; sleep 0.05; done"""
    script = f"""
        mount -t tmpfs x /run && mkdir -m 711 /run/aliquot || exit 77
        become="setpriv --reuid 1234 --regid 1234 --clear-groups"
        $become {build.aliquot} version >/dev/null || exit 77
        {serve if mode else ""}
        chmod -R a+rwX {sim.state}
        $become sh -ec '
            aliquot={build.aliquot}
            $aliquot create s --memory 64MiB --sim={sim.spec}
            $aliquot run --memory 64MiB --sim={sim.spec} -- true
            $aliquot run --quiet --memory 64MiB --sim={sim.spec} -- true
            $aliquot doctor --sim={sim.spec} || true'
        """
    result = sim.run(["unshare", "-m", "sh", "-c", script], ALIQUOT_RUNTIME_DIR=None, XDG_RUNTIME_DIR=xdg, LD_LIBRARY_PATH=None)
    if result.rc == 77:
        pytest.skip("another user cannot execute the build folder")
    notes = [line for line in result.stderr.splitlines() if "does not count session" in line]
    assert result.rc == 0 and len(notes) == (2 if is_told else 0), result
    assert all("/run/aliquot does not let this user in" in note and f"made in {xdg}/aliquot" in note for note in notes), result
    assert ("one serves /run/aliquot and does not let this user in" in result.stdout) == is_told, result


@pytest.mark.needs("other users", "mount namespaces")
@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_a_user_reaches_their_sessions_while_the_machines_daemon_is_away(cli, sim, build, holder, signal):
    """By name, in the folder that they may neither list nor write. What they make meanwhile is beside it, and not without a word."""
    daemon = Daemon(sim, "[socket]\nmode = 0666\n")
    xdg = sim.folder / "xdg"
    xdg.mkdir(mode=0o700)
    sim.folder.chmod(0o711)
    for folder in (xdg, sim.state):
        os.chown(folder, 1234, 1234)
    script = f"""
        serve() {{
            : >{daemon.log}
            {daemon.program} --config {daemon.config} --state-dir {daemon.state} --sim={sim.spec} 2>{daemon.log} & pid=$!
            while ! grep -q serving {daemon.log}; do kill -0 $pid || exit 1; sleep 0.05; done
            chmod -R a+rwX {sim.state}
        }}
        as() {{ echo "== $*"; setpriv --reuid 1234 --regid 1234 --clear-groups "$@" 2>&1; echo "rc $?"; }}
        aliquot={build.aliquot}
        mount -t tmpfs x /run && mkdir -m 711 /run/aliquot || exit 77
        setpriv --reuid 1234 --regid 1234 --clear-groups $aliquot version >/dev/null || exit 77
        trap 'kill $pid' EXIT
        serve
        as $aliquot create mine --memory 256MiB --sim={sim.spec}
        kill -{signal} $pid; wait $pid
        as $aliquot run --session mine --sim={sim.spec} -- {holder} 0 1048576 </dev/null
        as $aliquot show mine
        as $aliquot ps mine
        as $aliquot ls
        as $aliquot gpus --sim={sim.spec}
        as $aliquot rm mine
        as $aliquot set mine --memory 1MiB
        as $aliquot create mine --memory 64MiB --sim={sim.spec}
        as $aliquot create beside --memory 64MiB --sim={sim.spec}
        as $aliquot run --memory 64MiB --sim={sim.spec} -- true
        as $aliquot ls --json
        as $aliquot doctor --sim={sim.spec}
        serve
        as $aliquot ls -o session
        as $aliquot rm mine
        """
    result = sim.run(["unshare", "-m", "sh", "-c", script], ALIQUOT_RUNTIME_DIR=None, XDG_RUNTIME_DIR=xdg, LD_LIBRARY_PATH=None)
    if result.rc == 77:
        pytest.skip("another user cannot execute the build folder")
    said = [part.partition("\n")[2] for part in result.stdout.split("== ")[1:]]
    created, ran, shown, listed_one, listed, cards, removed, changed, again, beside, run, json_list, checked, last, gone = said
    unlisted = "the daemon of /run/aliquot is away, and sessions that it keeps for this user are not listed"
    uncounted = "the daemon of /run/aliquot is away, and does not count session "
    assert created == gone == "rc 0\n" and ran.startswith("ready ") and ran.split()[2] == str(256 * MIB), result
    assert "folder     /run/aliquot/sessions/mine\n" in shown and listed_one.endswith("rc 0\n"), result
    assert all(unlisted in part and part.endswith("rc 0\n") for part in (listed, cards)), result
    assert all("session mine is a daemon's" in part and part.endswith(f"rc {AWAY}\n") for part in (removed, changed)), result
    assert "session mine exists already" in again and again.endswith("rc 1\n"), result
    assert f"{uncounted}beside, which is made in {xdg}/aliquot" in beside and beside.endswith("rc 0\n"), result
    assert f"{uncounted}run-" in run and run.endswith("rc 0\n"), result
    assert '"beside"' in json_list and "note" not in json_list and "/run/aliquot is away" in checked, result
    assert last.split() == ["SESSION", "mine", "rc", "0"], result


@pytest.mark.parametrize("words", (["ls"], ["ps"], ["show", "s"], ["doctor"]), ids=" ".join)
def test_a_misspelled_folder_is_not_passed_over_for_another(cli, words):
    result = cli(*words, ALIQUOT_RUNTIMEDIR=cli.sim.folder / "here")
    assert result.rc == 1 and "did you mean ALIQUOT_RUNTIME_DIR" in result.stdout + result.stderr, result
    # A misspelled limit is a program's matter, and looking on is not.
    assert cli("ls", ALIQUOT_MEMROY="1GiB").rc == 0


def test_a_session_that_is_not_there(cli):
    for words in (["show", "s"], ["rm", "s"], ["ps", "s"], ["set", "s", "--memory", "1MiB"]):
        result = cli(*words)
        assert result.rc == 1 and "no session s" in result.stderr, result
        assert "aliquot ls" in result.stderr and result.stdout == "", result


@pytest.mark.parametrize("words", [
    [], ["nonsense"], ["ls", "extra"], ["ls", "--nonsense"], ["show"], ["rm"],
    ["set"], ["create"], ["ps", "a", "b"], ["gpus", "extra"], ["doctor", "not-a-pid"],
    ["help", "nonsense"]], ids=" ".join)
def test_called_wrong(sim, build, words):
    result = sim.run([build.aliquot, *words])
    assert result.rc == 2 and result.stdout == "" and "aliquot" in result.stderr, result


def test_other_names(cli):
    assert cli("allocate", "s", "--memory", "1MiB", sim=False, ALIQUOT_SIM=cli.sim.spec).rc == 0
    assert cli("status", "s", "--json").json["name"] == "s"
    assert cli("release", "s").rc == 0 and cli.sessions() == []


def test_help_fits_one_screen(cli):
    names = [command["name"] for command in cli("help", "--json").json]
    assert {"run", "env", "gpus", "ls", "ps", "show", "set", "rm", "doctor"} <= set(names)
    for words in [["help"]] + [[name, "--help"] for name in names if name not in ("help", "version")]:
        result = cli(*words, sim=False)
        lines = result.stdout.splitlines()
        assert result.rc == 0 and 1 < len(lines) <= 24, (words, len(lines))
        assert max(map(len, lines)) <= 80, (words, result.stdout)
    listed = re.findall(r"^  (\w+)", cli("help").stdout, re.MULTILINE)
    assert listed == names


PRINTED = ["ls", "ls --json", "gpus --json", "help", "help --json", "help run", "--help", "--version",
           "version --json", "run --help", "run --usage", "env --help", "show --help", "doctor --help"]


@pytest.mark.parametrize("output", (">/dev/full", ">&-"))
@pytest.mark.parametrize("words", PRINTED)
def test_what_could_not_be_printed_is_no_success(build, run, words, output):
    """A full disk behind standard output, or nothing: exit 1 and the reason, not a silent 0."""
    done = run(["/bin/sh", "-c", f"{build.aliquot} {words} {output}"])
    assert done.rc == 1
    assert re.fullmatch("aliquot: standard output: .*\n", done.stderr), done


@pytest.mark.parametrize("words", ("--help", "--usage", "--version", "--print-config"))
def test_what_the_daemon_could_not_print_is_no_success(build, run, words):
    daemon = build.folder / "src/daemon/aliquotd"
    if not daemon.exists():
        pytest.skip("aliquotd was not built here: libevent, SQLite, jansson or inih is missing")
    done = run(["/bin/sh", "-c", f"{daemon} {words} >/dev/full"])
    assert done.rc == 1 and "aliquotd: standard output: " in done.stderr, done
