# SPDX-License-Identifier: Apache-2.0
"""The node's daemon and the programs of its sessions: who is admitted, with what, until when."""
import os
import subprocess

import pytest

import place
from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from script import MIB, OUT_OF_MEMORY, SUCCESS, Script
from tenant import ASK, needs_root

NOBODY = 65534


def script(sim, name, **variables):
    return Script(sim, ALIQUOT_SESSION=name, **variables)


def uuids(daemon):
    return [device["uuid"] for device in daemon.get("/v1/devices").json["devices"]]


def test_two_tenants_are_admitted_and_a_third_is_told_what_is_free(daemon, sim):
    first, second = uuids(daemon)
    daemon.create("a", "768MiB", gpus=["0"])
    daemon.create("b", "1GiB", gpus=["1"])
    refused = daemon.post("/v1/sessions", {"name": "c", "memory": "512MiB"})
    assert refused.status == 409 and refused.json["type"] == "/problems/no-room", refused
    assert refused.json["wanted_bytes"] == 512 * MIB and refused.json["free_bytes"] == 256 * MIB
    assert refused.json["gpu"] == first
    assert {d["uuid"]: d["room_bytes"] for d in refused.json["devices"]} == {first: 256 * MIB, second: 0}
    assert daemon.names() == daemon.folders() == ["a", "b"]
    with script(sim, "a") as gpu:
        assert gpu.ready().values("info")[1] == 768 * MIB
        assert gpu.code(f"alloc 1 {600 * MIB}") == SUCCESS
        assert gpu.code(f"alloc 2 {600 * MIB}") == OUT_OF_MEMORY


def test_the_environment_can_ask_for_simulated_gpus(sim):
    """As README.md has it: one variable, for the daemon and for the commands."""
    sim.configure(gpus=2, memory="1GiB")
    daemon = Daemon(sim)
    process = sim.start([daemon.program, "--config", daemon.config, "--state-dir", daemon.state])
    wait_for(lambda: process.poll() is not None or daemon.is_up())
    assert len(daemon.get("/v1/devices").json["devices"]) == 2
    assert daemon.create("a")["state"] == "open"


def test_a_session_has_the_gpus_it_was_given_and_no_other(daemon, sim):
    daemon.create("one", gpus=["1"])
    with script(sim, "one") as gpu:
        gpu.do("init", "context 1 1")
        assert gpu.code("alloc 1 1048576") == SUCCESS
    with script(sim, "one") as gpu:
        gpu.do("init")
        assert gpu.code("context 0 0") != SUCCESS or gpu.code("alloc 1 1048576") != SUCCESS


def test_memory_for_each_gpu_by_index_or_uuid(daemon):
    first, second = uuids(daemon)
    session = daemon.create("each", {"0": "25%", second[:12]: 64 * MIB})
    assert {d["uuid"]: d["memory_bytes"] for d in session["devices"]} == {first: 256 * MIB, second: 64 * MIB}


def test_as_many_gpus_as_asked_where_there_is_most_room(daemon):
    first, second = uuids(daemon)
    daemon.create("a", "512MiB", gpus=["0"])
    chosen = daemon.create("b", gpus={"choice": "least-loaded"})
    assert [d["uuid"] for d in chosen["devices"]] == [second]
    assert {d["uuid"] for d in daemon.create("c", gpus={"count": 2})["devices"]} == {first, second}
    refused = daemon.post("/v1/sessions", {"memory": "1MiB", "gpus": {"free_least": "1GiB"}})
    assert refused.status == 409, refused


def test_a_limit_is_changed_under_a_running_program(daemon, sim):
    daemon.create("a", gpus=["0"])
    with script(sim, "a") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        assert gpu.code(f"alloc 2 {300 * MIB}") == OUT_OF_MEMORY
        changed = daemon.patch("/v1/sessions/a", {"memory": "768MiB"}, If_Match='"1"')
        assert changed.status == 200 and changed.headers["ETag"] == '"2"', changed
        assert gpu.code(f"alloc 2 {300 * MIB}") == SUCCESS
        assert gpu.values("info")[1] == 768 * MIB
        assert daemon.patch("/v1/sessions/a", {"memory": "64MiB"}).status == 200
        assert gpu.code("alloc 3 1048576") == OUT_OF_MEMORY
        assert daemon.session("a")["devices"][0]["used_bytes"] >= 400 * MIB


def test_a_session_shows_who_lives_in_it_and_what_each_holds(daemon, sim):
    daemon.create("a", gpus=["0"])
    with script(sim, "a") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        process, = daemon.get("/v1/sessions/a/processes").json
        assert process["pid"] == gpu.process.pid and process["command"] == "script", process
        assert process["uid"] == os.geteuid()
        assert process["devices"][0]["bytes"] == daemon.session("a")["devices"][0]["used_bytes"] >= 100 * MIB
        gpu.kill()
    assert daemon.session("a")["processes"] == 0
    assert daemon.session("a")["devices"][0]["used_bytes"] == 0


def test_release_waits_for_nobody_and_takes_nothing_from_who_runs(daemon, sim):
    daemon.create("a", gpus=["0"])
    with script(sim, "a") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        busy = daemon.delete("/v1/sessions/a")
        assert busy.status == 409 and busy.json["type"] == "/problems/busy", busy
        assert daemon.delete("/v1/sessions/a?force=true").status == 202
        assert daemon.session("a")["state"] == "ending"
        assert gpu.code("alloc 2 1048576") == OUT_OF_MEMORY
        with script(sim, "a") as late:
            assert late.code("init") != SUCCESS or late.code("context 0 0") != SUCCESS
        gpu.do("free 1")
    wait_for(lambda: daemon.session("a") is None, daemon.said)
    assert daemon.folders() == []
    assert daemon.create("a", "1GiB", gpus=["0"])["version"] == 1


@pytest.mark.parametrize("ending, ends", [("deny-new", None), ("term", -15), ("kill", -9)])
def test_at_the_end_of_its_time_a_session_does_as_it_was_told(daemon, sim, ending, ends):
    daemon.create("a", on_end=ending, gpus=["0"], ttl=1)
    with script(sim, "a") as gpu:
        gpu.ready()
        wait_for(lambda: (daemon.session("a") or {}).get("state") != "open", daemon.said)
        if ends is None:
            assert gpu.code("alloc 1 1048576") == gpu.code("alloc 1 1048576") == OUT_OF_MEMORY
            assert gpu.process.stderr.readline() == "aliquot: session a has ended, and gets no new memory\n"
        else:
            assert gpu.process.wait(HANG_SECONDS) == ends
    assert gpu.process.stderr.read() == ""  # once
    wait_for(lambda: daemon.session("a") is None, daemon.said)
    types = [event["type"] for event in daemon.events(most=5 if ends is None else 6) if event["session"] == "a"]
    assert types[:2] == ["created", "expired"], types


def test_who_does_not_heed_sigterm_is_killed_after_the_grace(sim, compile_c):
    sim.configure(memory="1GiB")
    daemon = Daemon(sim, "[admission]\ngrace = 300ms\n").start()
    daemon.create("a", on_end="term")
    stubborn = compile_c("stubborn", """
        #include <signal.h>
        #include <stdio.h>
        #include <unistd.h>
        #include "abi/cuda.h"
        int main(void)
        {
                CUcontext context;
                signal(SIGTERM, SIG_IGN);
                if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
                        return 1;
                puts("ready");
                fflush(stdout);
                for (;;)
                        pause();
        }
        """, "-L", sim.build.driver, "-l:libcuda.so.1")
    process = sim.start([stubborn], preload=True, ALIQUOT_SESSION="a")
    assert process.stdout.readline() == "ready\n"
    assert daemon.delete("/v1/sessions/a?force=true").status == 202
    assert process.wait(HANG_SECONDS) == -9
    wait_for(lambda: daemon.session("a") is None, daemon.said)


def test_a_renewed_session_lives_on(daemon):
    made = daemon.create("a", ttl="1h")
    renewed = daemon.post("/v1/sessions/a/renew", {"ttl": "2h"})
    assert renewed.status == 200 and renewed.json["expires_at"] > made["expires_at"]
    assert renewed.json["ttl_seconds"] == 7200
    assert daemon.post("/v1/sessions/a/renew").status == 200


def test_a_forged_slot_sends_no_signal_to_a_stranger(daemon, sim):
    """A tenant writes another program's pid into its slot; the end of its session must not reach it."""
    daemon.create("a", on_end="kill", gpus=["0"])
    bystander = sim.start(["sleep", "600"])
    with script(sim, "a") as gpu:
        gpu.ready()
        slots = sim.runtime / "sessions/a/slots"
        data = slots.read_bytes()
        pid = gpu.process.pid.to_bytes(4, "little")
        at = data.index(pid)  # start ticks stand before, uid behind it
        stat = open(f"/proc/{bystander.pid}/stat", encoding="ascii").read()
        start = int(stat.rsplit(")", 1)[1].split()[19])
        with open(slots, "r+b") as file:
            file.seek(at - 8)
            file.write(start.to_bytes(8, "little") + bystander.pid.to_bytes(4, "little"))
        daemon.delete("/v1/sessions/a?force=true")
        assert gpu.process.wait(HANG_SECONDS) == -9
    wait_for(lambda: "a process that is not what they say" in daemon.said(), daemon.said)
    assert bystander.poll() is None


def test_who_scribbles_over_its_slots_is_killed_all_the_same(daemon, sim):
    daemon.create("a", on_end="kill", gpus=["0"])
    with script(sim, "a") as gpu:
        gpu.ready()
        with open(sim.runtime / "sessions/a/slots", "r+b") as file:
            file.write(b"\xff" * (4096 * 65))
        assert daemon.get("/v1/sessions/a").status == daemon.get("/v1/sessions/a/processes").status == 200
        assert daemon.delete("/v1/sessions/a?force=true").status in (202, 204)
        assert gpu.process.wait(HANG_SECONDS) == -9
    wait_for(lambda: daemon.session("a") is None, daemon.said)


def test_a_tenant_that_cuts_its_slots_short_harms_nobody_else(daemon, sim):
    daemon.create("bad")
    daemon.create("good", gpus=["0"])
    os.truncate(sim.runtime / "sessions/bad/slots", 0)
    assert daemon.session("bad")["processes"] == 0
    with script(sim, "good") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
    assert daemon.delete("/v1/sessions/bad").status == 204
    assert daemon.names() == ["good"]


def test_a_users_own_session_keeps_its_name(daemon, sim):
    made = sim.aliquot("create", "mine", "--memory", "256MiB")
    assert made.rc == 0, made
    refused = daemon.post("/v1/sessions", {"name": "mine", "memory": "1MiB"})
    assert refused.status == 409 and refused.json["type"] == "/problems/exists", refused
    assert sim.aliquot("show", "mine").rc == 0


def as_nobody(words):
    return subprocess.run([str(word) for word in words], user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=HANG_SECONDS, check=False)


def ask_as_nobody(daemon, method, path, body=""):
    """Status and text of the answer."""
    done = as_nobody(["/usr/bin/python3", "-c", ASK, daemon.socket, method, path, body])
    assert done.returncode == 0, done
    status, _, text = done.stdout.partition("\n")
    return int(status), text


LIST_OFTEN = """
import http.client, socket, sys
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(sys.argv[1])
seen = set()
for _ in range(500):
    connection.request("GET", "/v1/sessions")
    seen.add(tuple(one["name"] for one in __import__("json").loads(connection.getresponse().read())["sessions"]))
print(sorted(seen))
"""


def serve_all_users(sim, daemon):
    """It goes on for whoever comes, and has a session of root's and one of nobody's."""
    os.chmod(sim.folder, 0o711)
    daemon.stop()
    daemon.config.write_text("[socket]\nmode = 0666\n")
    daemon.start()
    daemon.create("roots")
    daemon.create("theirs", owner=NOBODY)


@needs_root
def test_a_list_that_is_kept_is_kept_for_who_may_see_it(sim, daemon):
    """Both ask the same at the same time."""
    serve_all_users(sim, daemon)
    with subprocess.Popen(["/usr/bin/python3", "-c", LIST_OFTEN, daemon.socket], stdout=subprocess.PIPE, text=True) as mine:
        theirs = as_nobody(["/usr/bin/python3", "-c", LIST_OFTEN, daemon.socket])
        assert theirs.stdout == "[('theirs',)]\n", theirs
        assert mine.communicate(timeout=HANG_SECONDS)[0] == "[('roots', 'theirs')]\n"


@needs_root
def test_another_users_session_cannot_be_read_changed_or_joined(sim, daemon):
    """The daemon is root's; a session of nobody's is nobody's alone, and root's sessions are root's."""
    serve_all_users(sim, daemon)
    _, listed = ask_as_nobody(daemon, "GET", "/v1/sessions")
    assert '"theirs"' in listed and '"roots"' not in listed, listed
    for method, path, body in (("GET", "", ""), ("GET", "/processes", ""), ("DELETE", "?force=true", ""),
                               ("PATCH", "", '{"weight":1}'), ("POST", "/renew", "")):
        assert ask_as_nobody(daemon, method, f"/v1/sessions/roots{path}", body)[0] == 404, (method, path)
    assert daemon.session("roots")["version"] == 1 and daemon.session("roots")["state"] == "open"
    assert ask_as_nobody(daemon, "PATCH", "/v1/sessions/theirs", '{"weight":7}')[0] == 200
    assert ask_as_nobody(daemon, "POST", "/v1/sessions", '{"memory":"1MiB","owner":0}')[0] == 400
    folder = sim.runtime / "sessions"
    for path, flag, answer in ((folder / "theirs/limits", "r", 0), (folder / "theirs/limits", "r+", 1),
                               (folder / "theirs/slots", "r+", 0), (folder / "roots/limits", "r", 1),
                               (folder / "roots/slots", "r", 1), (folder, "list", 1)):
        code = f"import os; os.listdir({str(path)!r})" if flag == "list" else f"open({str(path)!r}, {flag!r})"
        assert as_nobody(["/usr/bin/python3", "-c", code]).returncode == answer, (path, flag)
    assert daemon.patch("/v1/sessions/theirs", {"memory": "512MiB"}).status == 200


@pytest.mark.needs("a build folder for other users")
def test_a_session_of_another_user_is_joined_by_that_user(sim, daemon):
    daemon.create("theirs", gpus=["0"], owner=NOBODY)
    for path in (sim.folder, sim.runtime):
        os.chmod(path, 0o711)
    os.chmod(sim.state, 0o777)
    for path in sim.state.rglob("*"):
        os.chmod(path, 0o777)
    program = sim.build.program("sim/hold")
    words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", program, "0", str(64 * MIB)]
    process = sim.start(words, preload=True, ALIQUOT_SESSION="theirs")
    line = process.stdout.readline()
    assert line.startswith("ready "), (line, process.stderr.read() if process.poll() is not None else "")
    assert line.split()[2] == str(256 * MIB)
    assert daemon.session("theirs")["processes"] == 1
    assert daemon.delete("/v1/sessions/theirs?force=true").status == 202
    process.stdin.close()
    process.stdin = None
    wait_for(lambda: daemon.session("theirs") is None, daemon.said)


def start_as_nobody(sim, config="", *flags):
    place.need("a build folder for other users")
    daemon = Daemon(sim, config)
    for path in (sim.folder, sim.runtime, sim.state, daemon.config):
        os.chown(path, NOBODY, NOBODY)
    for folder in (sim.folder, sim.runtime, sim.state):
        os.chmod(folder, 0o700)
    return daemon.start(*flags, user=NOBODY)


@needs_root
def test_a_users_own_daemon_needs_no_root(sim):
    """It has no other user's word to keep: owner, limits and slots are all that user's."""
    daemon = start_as_nobody(sim)
    status, text = ask_as_nobody(daemon, "POST", "/v1/sessions", '{"name":"mine","memory":"256MiB"}')
    assert status == 201 and f'"owner":{NOBODY}' in text, text
    program = sim.build.program("sim/hold")
    held = as_nobody(["env", *(f"{key}={value}" for key, value in sim.env(preload=True, ALIQUOT_SESSION="mine").items()),
                      program, "0", str(64 * MIB)])
    assert held.returncode == 0 and held.stdout.split()[2] == str(256 * MIB), held
    assert ask_as_nobody(daemon, "POST", "/v1/sessions", '{"memory":"1MiB","owner":1}')[0] == 503
    assert ask_as_nobody(daemon, "GET", "/v1/sessions")[1].count('"name"') == 1
    assert ask_as_nobody(daemon, "DELETE", "/v1/sessions/mine")[0] == 204


@needs_root
def test_sessions_made_with_the_token_are_those_of_the_daemons_user(sim):
    """For this user `admission.sessions_per_owner` does not count, over TCP either."""
    token = sim.folder / "token"
    token.write_text("correct-horse-battery-staple\n")
    token.chmod(0o600)
    os.chown(token, NOBODY, NOBODY)
    daemon = start_as_nobody(sim, "[admission]\nsessions_per_owner = 1\n", "--http=127.0.0.1:0", "--token-file", token)
    for name in ("first", "second"):
        made = daemon.post("/v1/sessions", {"name": name, "memory": "1MiB"}, tcp=True,
                           Authorization="Bearer " + token.read_text().strip())
        assert (made.status, made.json.get("owner")) == (201, NOBODY), made


def test_a_wrong_word_for_the_simulator_is_not_blamed_on_the_driver(sim):
    sim.configure(colour="red")
    daemon = Daemon(sim).start()
    assert daemon.said().count("colour: no such key") == 1, daemon.said()
    ready = daemon.get("/readyz")
    assert ready.status == 503 and "what --sim or ALIQUOT_SIM says" in ready.json["detail"], ready
    assert "nvidia-smi" not in daemon.said()


def test_what_is_wrong_is_said_with_the_programs_name(sim):
    daemon = Daemon(sim, "[daemon]\nlog = loud\nfoo = 1\n")
    refused = sim.run(daemon.words(), ALIQUOT_SIM=None)
    assert refused.rc == 2 and [line[:10] for line in refused.stderr.splitlines()] == ["aliquotd: "] * 2, refused
    checked = sim.run(daemon.words("--check-config"), ALIQUOT_SIM=None)
    assert checked.rc == 2 and checked.stderr.startswith(f"{daemon.config}:2: "), checked
    daemon.config.write_text("")
    daemon.start().stop()
    assert all(line.startswith("aliquotd: ") for line in daemon.said().splitlines()), daemon.said()
