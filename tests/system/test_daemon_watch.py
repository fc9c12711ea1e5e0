# SPDX-License-Identifier: Apache-2.0
"""What the daemon sees of the GPUs from outside: who is on them without a session, who holds more
than its ledger says, and what comes of that."""
import os
import pathlib
import signal
import subprocess
import time

import pytest

from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from script import MIB, OUT_OF_MEMORY, SUCCESS, Script

NOBODY = 65534
LEDGER = 128  # src/proto/page.h: slots_page.ledger[0].used_bytes
CGROUPS = next((path for path in map(pathlib.Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"))
                if (path / "cgroup.procs").exists()), None)
LOOKS = 3  # in which an innocent program stays so

# A session's page is mapped, and the driver is asked without the library: what it holds is in no ledger.
AROUND = """
import ctypes, mmap, os, sys
slots, driver, size = sys.argv[1:]
page = mmap.mmap(os.open(slots, os.O_RDWR), 4096)
cuda = ctypes.CDLL(driver)
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(size))) == 0
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def watched(two_cards):
    """A daemon with these keys in [watch]."""
    return lambda **keys: Daemon(two_cards, config(**keys)).start()


def config(**keys):
    keys = {"tolerance": "16MiB", **keys}
    return "[watch]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())


@pytest.fixture
def cgroup():
    """A cgroup of our own, and a second one beside it whose name begins the same."""
    if CGROUPS is None:
        pytest.skip("no cgroups of version 2 here")
    folders = [CGROUPS / f"aliquot-test-{os.getpid()}{end}" for end in ("", "-other")]
    try:
        for folder in folders:
            folder.mkdir()
    except OSError as why:
        pytest.skip(f"no cgroup can be made here: {why}")
    yield folders
    for folder in folders:
        def is_gone(folder=folder):
            try:
                folder.rmdir()
            except OSError:
                return False
            return True
        for pid in (folder / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        wait_for(is_gone)


def start_in(sim, cgroup, words, **how):
    """A program that was in the cgroup before it could touch a GPU."""
    inner = ["sh", "-c", f'echo $$ >{cgroup}/cgroup.procs && exec "$@"', "sh", *words]
    return sim.start(inner, **how)


def hold(sim, size, device=0, cgroup=None, **how):
    """A program that holds so much of a GPU until it is told to end; without a preload it goes around us."""
    words = [sim.build.program("sim/hold"), device, size]
    process = start_in(sim, cgroup, words, **how) if cgroup else sim.start(words, **how)
    line = process.stdout.readline()
    assert line.startswith("ready "), (line, process.stderr.read())
    return process


def go_around(sim, daemon, name, size):
    process = sim.start(["/usr/bin/python3", "-c", AROUND, daemon.sim.runtime / f"sessions/{name}/slots",
                         sim.build.driver / "libcuda.so.1", size])
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def end(process):
    process.stdin.close()
    process.stdin = None
    assert process.wait(HANG_SECONDS) == 0


def event_of(daemon, kind, **detail):
    """The first such event, that there is or comes; one that never comes hangs, and fails so."""
    for event in daemon.events():
        if event["type"] == kind and all(event["detail"].get(key) == value for key, value in detail.items()):
            return event
    return None


def kinds_until(daemon, kind):
    kinds = []
    for event in daemon.events():
        kinds.append(event["type"])
        if event["type"] == kind:
            return kinds
    return None


def forget(daemon, name, at=LEDGER, value=0):
    """Writes over what the session's ledger says of its first GPU, as its owner can."""
    with open(daemon.sim.runtime / f"sessions/{name}/slots", "r+b") as file:
        file.seek(at)
        file.write(value.to_bytes(8, "little"))


def holders(daemon):
    return {process["pid"]: process for process in daemon.get("/v1/processes").json["processes"]}


def wait_for_looks(daemon, sim):
    """So many whole looks begin after this: each finds a program that was not there before."""
    for _ in range(LOOKS):
        process = hold(sim, MIB, 1)
        event_of(daemon, "stranger", pid=process.pid)
        end(process)


# -- Strangers -------------------------------------------------------------------------------------

def test_a_program_that_goes_around_us_is_told_of_once(watched, sim):
    daemon = watched()
    process = hold(sim, 100 * MIB, 1)
    event = event_of(daemon, "stranger")
    detail = event["detail"]
    assert event["session"] is None and event["who"] == "daemon"
    assert detail["pid"] == process.pid and detail["action"] == "report" and detail["command"] == "hold"
    assert detail["driver_bytes"] >= 100 * MIB and detail["uid"] == os.geteuid()
    assert detail["uuid"] == daemon.get("/v1/devices").json["devices"][1]["uuid"]
    wait_for_looks(daemon, sim)
    assert [e["detail"]["pid"] for e in daemon.events(most=1 + 2 + LOOKS) if e["type"] == "stranger"].count(process.pid) == 1
    assert daemon.metrics()["aliquot_strangers_seen_total"] == 1 + LOOKS
    assert process.poll() is None and daemon.metrics()["aliquot_signals_sent_total"] == 0


def test_a_program_of_a_session_is_no_stranger(watched, sim):
    daemon = watched()
    daemon.create("a", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        wait_for(lambda: holders(daemon).get(gpu.process.pid, {}).get("session") == "a")
        wait_for_looks(daemon, sim)
        assert gpu.process.pid not in [e["detail"].get("pid") for e in daemon.events(most=3 + LOOKS) if e["type"] in ("stranger", "forged")]


def test_in_a_managed_cgroup_a_stranger_is_stopped_and_nowhere_else(watched, sim, cgroup):
    managed, other = cgroup
    daemon = watched(strangers="kill", managed_cgroups=f"/nothing, /{managed.name}")
    outside = hold(sim, MIB)
    beside = hold(sim, MIB, cgroup=other)
    inside = hold(sim, MIB, cgroup=managed)
    assert inside.wait(HANG_SECONDS) == -signal.SIGKILL
    assert event_of(daemon, "stranger", pid=inside.pid)["detail"]["action"] == "kill"
    for process in (outside, beside):
        detail = event_of(daemon, "stranger", pid=process.pid)["detail"]
        assert detail["action"] == "report", detail
    wait_for_looks(daemon, sim)
    assert outside.poll() is None and beside.poll() is None
    assert daemon.metrics()["aliquot_signals_sent_total"] == 1


def test_below_a_managed_cgroup_is_in_it(watched, sim, cgroup):
    inner = cgroup[0] / "job"
    inner.mkdir()
    try:
        daemon = watched(strangers="kill", managed_cgroups=f"/{cgroup[0].name}")
        process = hold(sim, MIB, cgroup=inner)
        assert process.wait(HANG_SECONDS) == -signal.SIGKILL
        assert event_of(daemon, "stranger")["detail"]["cgroup"] == f"/{cgroup[0].name}/job"
    finally:
        wait_for(lambda: not (inner / "cgroup.procs").read_text())
        inner.rmdir()


@pytest.mark.parametrize("levels", [5, 15], ids=["long", "as long as the kernel tells"])
def test_a_long_path_hides_no_cgroup(watched, sim, cgroup, levels):
    inner = cgroup[0]
    for _ in range(levels):
        inner = inner / (f"{inner.name[:1]}" * 250)
        inner.mkdir()
    daemon = watched(strangers="kill", managed_cgroups=f"/{cgroup[0].name}")
    process = hold(sim, MIB, cgroup=inner)
    try:
        assert event_of(daemon, "stranger")["detail"]["action"] == "kill"
        assert process.wait(HANG_SECONDS) == -signal.SIGKILL
    finally:
        process.kill()
        wait_for(lambda: not (inner / "cgroup.procs").read_text())
        while inner != cgroup[0]:
            inner.rmdir()
            inner = inner.parent


def test_who_does_not_heed_sigterm_is_killed_after_the_grace(watched, sim, cgroup):
    daemon = watched(strangers="term", managed_cgroups=f"/{cgroup[0].name}")
    daemon.reload(config(strangers="term", managed_cgroups=f"/{cgroup[0].name}") + "[admission]\ngrace = 1s\n")
    code = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True)); " + AROUND
    process = start_in(sim, cgroup[0], ["/usr/bin/python3", "-c", code, "/dev/zero", sim.build.driver / "libcuda.so.1", str(MIB)])
    assert [process.stdout.readline(), process.stdout.readline()] == ["ready\n", "asked\n"], process.stderr.read()
    assert process.wait(HANG_SECONDS) == -signal.SIGKILL
    assert daemon.metrics()["aliquot_signals_sent_total"] == 2


def test_strangers_can_be_nobodys_business(watched, sim):
    daemon = watched(strangers="ignore")
    ignored = hold(sim, MIB)
    wait_for(lambda: ignored.pid in holders(daemon))
    daemon.reload(config(strangers="report"))
    event_of(daemon, "stranger", pid=ignored.pid)
    assert kinds_until(daemon, "stranger").count("stranger") == 1


# -- Forged use ------------------------------------------------------------------------------------

def test_a_tenant_that_forges_its_ledger_can_be_told_of_alone(watched, sim):
    daemon = watched(forged="report")
    daemon.create("a", "512MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready().do(f"alloc 1 {200 * MIB}")
        wait_for_looks(daemon, sim)
        forget(daemon, "a")
        event = event_of(daemon, "forged")
        assert event["session"] == "a" and event["detail"]["action"] == "report"
        assert event["detail"]["driver_bytes"] >= 200 * MIB > event["detail"]["ledger_bytes"]
        assert gpu.code(f"alloc 2 {MIB}") == SUCCESS
        assert daemon.metrics()["aliquot_forged_seen_total"] == 1


def test_a_tenant_that_scribbles_over_all_of_its_slots_is_stopped(watched, sim):
    daemon = watched(forged="kill")
    daemon.create("a", "512MiB", gpus=["0"])
    daemon.create("b", "256MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu, Script(sim, ALIQUOT_SESSION="b") as other:
        gpu.ready().do(f"alloc 1 {200 * MIB}")
        other.ready().do(f"alloc 1 {200 * MIB}")
        with open(sim.runtime / "sessions/a/slots", "r+b") as file:
            file.write(bytes(4096 * 80))
        assert gpu.process.wait(HANG_SECONDS) == -signal.SIGKILL
        assert event_of(daemon, "forged")["detail"]["pid"] == gpu.process.pid
        wait_for_looks(daemon, sim)
        assert other.code(f"alloc 2 {MIB}") == SUCCESS


def test_slots_that_were_cut_short_explain_nothing(watched, sim):
    daemon = watched(forged="kill")
    daemon.create("a", "512MiB", gpus=["0"])
    process = go_around(sim, daemon, "a", 200 * MIB)
    os.truncate(sim.runtime / "sessions/a/slots", 0)
    assert process.wait(HANG_SECONDS) == -signal.SIGKILL


def test_who_goes_around_us_from_inside_a_session_is_found(watched, sim):
    daemon = watched()
    daemon.create("a", "512MiB", gpus=["0"])
    process = go_around(sim, daemon, "a", 200 * MIB)
    event = event_of(daemon, "forged")
    assert event["session"] == "a" and event["detail"]["pid"] == process.pid and event["detail"]["ledger_bytes"] == 0
    holder = holders(daemon)[process.pid]
    assert holder["session"] == "a" and holder["devices"][0]["unexplained_bytes"] >= 200 * MIB
    share = daemon.session("a")["devices"][0]
    assert share["used_bytes"] == 0 and share["unexplained_bytes"] == share["driver_bytes"] >= 200 * MIB


def test_a_ledger_above_the_limit_does_not_explain_what_is_above_the_limit(watched, sim):
    daemon = watched()
    daemon.create("a", "128MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready().do(f"alloc 1 {64 * MIB}")
        forget(daemon, "a", value=1 << 40)
        go_around(sim, daemon, "a", 200 * MIB)
        assert event_of(daemon, "forged")["session"] == "a"


def test_a_clamped_session_gets_no_more_until_all_is_explained(watched, sim):
    daemon = watched(forged="clamp")
    daemon.create("a", "512MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        cheat = go_around(sim, daemon, "a", 200 * MIB)
        assert event_of(daemon, "clamped")["session"] == "a"
        assert daemon.session("a")["clamped"] and gpu.code(f"alloc 2 {MIB}") == OUT_OF_MEMORY
        daemon.create("b", "1MiB")
        for is_clamped, names in (("true", ["a"]), ("false", ["b"])):
            listed = daemon.get(f"/v1/sessions?clamped={is_clamped}").json["sessions"]
            assert [session["name"] for session in listed] == names, listed
        # A change of its limits does not get it out; they are as they were changed to, afterwards.
        assert daemon.patch("/v1/sessions/a", {"memory": "600MiB"}).status == 200
        assert gpu.code(f"alloc 2 {MIB}") == OUT_OF_MEMORY
        end(cheat)
        assert event_of(daemon, "unclamped")["session"] == "a"
        assert not daemon.session("a")["clamped"]
        assert gpu.code(f"alloc 2 {MIB}") == SUCCESS and gpu.values("info")[1] == 600 * MIB
    assert kinds_until(daemon, "unclamped").count("clamped") == daemon.metrics()["aliquot_clamps_total"] == 1


def test_a_lowered_limit_makes_nobody_a_forger(watched, sim):
    daemon = watched(forged="kill")
    daemon.create("a", "512MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready().do(f"alloc 1 {300 * MIB}")
        assert daemon.patch("/v1/sessions/a", {"memory": "64MiB"}).status == 200
        wait_for_looks(daemon, sim)
        # Nor a daemon that has not seen the former limit.
        daemon.kill().start()
        wait_for_looks(daemon, sim)
        assert gpu.process.poll() is None and gpu.code("free 1") == SUCCESS


def test_a_program_that_allocates_and_frees_all_the_time_is_innocent(watched, sim):
    daemon = watched(forged="kill", tolerance="8MiB")
    daemon.create("a", "512MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready()
        stop = time.monotonic() + 6
        while time.monotonic() < stop:
            lines = [f"alloc 1 {200 * MIB}", "free 1"] * 50
            gpu.send(*lines)
            assert {gpu.hear()[0] for _ in lines} == {"0"}
        assert gpu.process.poll() is None and daemon.metrics()["aliquot_forged_seen_total"] == 0


def test_another_program_in_the_same_process_is_looked_at_anew(watched, sim):
    """exec keeps the pid and its start, and loses the session."""
    daemon = watched()
    daemon.create("a", "512MiB", gpus=["0"])
    code = ("import os, ctypes; cuda = ctypes.CDLL('libcuda.so.1'); context = ctypes.c_void_p(); assert cuda.cuInit(0) == 0; "
            "assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0; print('in', flush=True); input(); "
            f"del os.environ['LD_PRELOAD']; os.execl({str(sim.build.program('sim/hold'))!r}, 'hold', '0', '{64 * MIB}')")
    process = sim.start(["/usr/bin/python3", "-c", code], preload=True, ALIQUOT_SESSION="a")
    assert process.stdout.readline() == "in\n", process.stderr.read()
    wait_for(lambda: holders(daemon).get(process.pid, {}).get("session") == "a")
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline().startswith("ready ")
    assert event_of(daemon, "stranger", pid=process.pid)["detail"]["command"] == "hold"


# -- What is shown ---------------------------------------------------------------------------------

def test_devices_show_what_the_driver_tells(watched, sim):
    daemon = watched()
    daemon.create("a", "512MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="a") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        other = hold(sim, 50 * MIB)
        wait_for(lambda: {gpu.process.pid, other.pid} <= set(holders(daemon)))
        tenant, stranger = (holders(daemon)[pid]["devices"][0]["driver_bytes"] for pid in (gpu.process.pid, other.pid))
        assert tenant >= 100 * MIB and stranger >= 50 * MIB
        first, second = daemon.get("/v1/devices").json["devices"]
        assert (first["processes"], first["strangers"], second["processes"]) == (2, 1, 0)
        assert first["driver_bytes"] == tenant + stranger and first["unexplained_bytes"] == stranger
        assert first["free_bytes"] == 1024 * MIB - tenant - stranger and second["unexplained_bytes"] == 0
        assert first["celsius"] > 0 and first["power_watts"] > 0 and first["sm_mhz"] > 0 and "last_xid" not in first
        process, = daemon.get("/v1/sessions/a/processes").json
        assert process["devices"][0]["driver_bytes"] == process["devices"][0]["bytes"] == tenant
        daemon.reload("[metrics]\nsessions = yes\n")
        text = daemon.get("/metrics").text
        assert f'aliquot_gpu_memory_unexplained_bytes{{gpu="{first["uuid"]}"}} {stranger}\n' in text
        assert f'aliquot_session_memory_driver_bytes{{session="a",gpu="{first["uuid"]}"}} {tenant}\n' in text
        assert "aliquot_nvml_up 1\n" in text


def test_who_is_busy(watched, sim):
    daemon = watched()
    process = sim.start([sim.build.program("sim/hold"), 0, MIB, "busy"])
    assert process.stdout.readline().startswith("ready ")
    wait_for(lambda: holders(daemon).get(process.pid, {"devices": [{}]})["devices"][0].get("busy_percent", 0) > 0)
    wait_for(lambda: daemon.get("/v1/devices").json["devices"][0].get("busy_percent", 0) > 0)


@pytest.mark.needs("other users")
def test_users_see_their_own_processes_alone(watched, sim):
    daemon = watched()
    daemon.stop()
    os.chmod(sim.folder, 0o711)
    daemon.config.write_text("[socket]\nmode = 0666\n" + config())
    daemon.start()
    process = hold(sim, MIB)
    event_of(daemon, "stranger", pid=process.pid)
    ask = f"curl -s --unix-socket {daemon.socket} http://localhost/v1/processes"
    mine = subprocess.run(ask.split(), user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    assert mine.stdout == '{"processes":[],"known":true}', mine
    heard = subprocess.run(f"curl -s -N -m 2 --unix-socket {daemon.socket} http://localhost/v1/events?since=0".split(), user=NOBODY,
                           group=NOBODY, extra_groups=[], cwd="/", capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert "gpu-here" in heard.stdout and "stranger" not in heard.stdout, heard


def test_a_critical_error_is_told_of(sim):
    sim.configure(gpus=1, memory="1GiB", lost="3s")
    daemon = Daemon(sim).start()
    process = sim.start([sim.build.program("sim/hold"), 0, MIB])
    assert process.stdout.readline().startswith("ready ")
    assert event_of(daemon, "gpu-error")["detail"]["xid"] == 79


def test_what_programs_count_is_told_of_all_sessions_together(watched, sim):
    daemon = watched()
    for name, refused in (("a", 2), ("b", 3)):
        daemon.create(name, "128MiB", gpus=["0"])
        with Script(sim, ALIQUOT_SESSION=name) as gpu:
            gpu.ready()
            for _ in range(refused):
                assert gpu.code(f"alloc 1 {512 * MIB}") == OUT_OF_MEMORY
    # As soon as they are gone, if not before; and what was forged is not counted.
    assert daemon.delete("/v1/sessions/a").status == daemon.delete("/v1/sessions/b").status == 204
    assert daemon.metrics()["aliquot_refused_charges_total"] == 5
    daemon.create("c", "128MiB", gpus=["0"])
    with Script(sim, ALIQUOT_SESSION="c") as gpu:
        gpu.ready()
        forget(daemon, "c", at=LEDGER + 32, value=1 << 63)
    daemon.delete("/v1/sessions/c")
    assert daemon.metrics()["aliquot_refused_charges_total"] == 5
