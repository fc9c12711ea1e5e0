# SPDX-License-Identifier: Apache-2.0
"""The system's unit under a systemd that lives: what it bars is barred, and the daemon does its work all the same.

The card is simulated, so a drop-in says where, and lets the daemon write there. What strace saw and the powers one by
one: test_daemon_service.py.
"""
import json
import os
import shutil
import signal
import subprocess

import pytest

import place
from daemon import wait_for
from hang import HANG_SECONDS
from livesystemd import LiveSystemd

NOBODY = 65534
SPEC = "gpus=1,memory=1GiB,model=h200,state=/sim"
DROP_IN = f"[Service]\nEnvironment=ALIQUOT_SIM={SPEC}\nReadWritePaths=/sim\n"
UNIT, CDI_UNIT = "aliquotd.service", "aliquot-cdi.service"

pytestmark = pytest.mark.skipif("ALIQUOT_SANITIZER" in os.environ, reason="a sanitizer needs what the unit bars")


@pytest.fixture
def machine(build, tmp_path):
    why = LiveSystemd.why_not()
    if why:
        pytest.skip(why)
    installed = tmp_path / "installed"
    done = subprocess.run(["meson", "install", "-C", build.folder, "--no-rebuild", "--quiet", "--destdir", installed],
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    if not (installed / "usr/local/bin/aliquotd").exists():
        pytest.skip("this build is not for /usr/local, or is without the daemon")
    for unit in (UNIT, CDI_UNIT):
        (installed / "units" / f"{unit}.d").mkdir(parents=True)
        (installed / "units" / f"{unit}.d/simulated.conf").write_text(DROP_IN)
        shutil.copy(build.folder / "deploy/system" / unit, installed / "units")
    one = LiveSystemd(tmp_path, installed, [build.folder])
    try:
        if not one.boot():
            pytest.skip(f"no systemd lives here: {(one.said().strip().splitlines() or ['it says nothing'])[-1]}")
        yield one
    finally:
        one.close()


def aliquot(machine, *words):
    return machine.run("env", f"ALIQUOT_SIM={SPEC}", "aliquot", *words).stdout


def test_the_unit_starts_is_confined_and_serves(machine):
    machine.run("systemctl", "start", UNIT)  # Type=notify: it has said that it is ready
    assert machine.value(UNIT, "ActiveState") == "active" and machine.value(UNIT, "SubState") == "running"
    status = machine.status(machine.value(UNIT, "MainPID"))
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    powers = int(status["CapBnd"], 16)
    assert powers == sum(1 << bit for bit in (0, 1, 5, 19)) and int(status["CapEff"], 16) == powers, status
    aliquot(machine, "create", "theirs", "--memory", "256MiB", "--ttl", "1h")
    assert json.loads(aliquot(machine, "show", "theirs", "--json"))
    assert machine.run("stat", "-c", "%a", "/run/aliquot", "/var/lib/aliquot").stdout.split() == ["711", "700"]


ASK = """
import http.client, json, socket, sys
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect("/run/aliquot/aliquotd.sock")
connection.request("POST", "/v1/sessions", sys.argv[1], {"Content-Type": "application/json"})
sys.exit(connection.getresponse().status != 201)
"""


def test_a_program_of_another_user_is_ended_with_its_session(machine, build):
    """Which takes all that the unit leaves: CHOWN, DAC_OVERRIDE, KILL, SYS_PTRACE, and their system calls."""
    machine.run("systemctl", "start", UNIT)
    machine.run("/usr/bin/python3", "-c", ASK, json.dumps(
        {"name": "theirs", "memory": "256MiB", "owner": NOBODY, "on_end": "kill"}))
    machine.run("chmod", "-R", "a+rwX", "/sim")
    become = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    program = build.program("sim/hold")
    place.need("a build folder for other users")
    words = [*become, "env", f"ALIQUOT_SIM={SPEC}", "ALIQUOT_RUNTIME_DIR=/run/aliquot",
             "aliquot", "run", "--session", "theirs", "--", program, "0", str(64 << 20)]
    with subprocess.Popen(machine.words(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout.readline().startswith("ready "), machine.said()[-2000:]
        aliquot(machine, "rm", "theirs", "--force")
        assert one.wait(HANG_SECONDS) == -signal.SIGKILL or one.returncode == 128 + signal.SIGKILL


def test_programs_live_on_while_the_unit_is_killed_reloaded_and_stopped(machine, build):
    machine.run("systemctl", "start", UNIT)
    aliquot(machine, "create", "lasting", "--memory", "256MiB")
    words = ["env", f"ALIQUOT_SIM={SPEC}", "aliquot", "run", "--session", "lasting", "--",
             build.program("sim/hold"), "0", str(64 << 20)]
    with subprocess.Popen(machine.words(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline().startswith("ready "), machine.said()[-2000:]
        first = machine.value(UNIT, "MainPID")
        machine.run("systemctl", "kill", "--signal=KILL", UNIT)
        wait_for(lambda: machine.value(UNIT, "MainPID") not in ("0", first) and machine.value(UNIT, "ActiveState") == "active",
                 machine.said)
        assert "lasting" in aliquot(machine, "ps"), "the one that came instead does not know it"
        machine.run("systemctl", "reload", UNIT)
        assert machine.value(UNIT, "ActiveState") == "active"
        machine.run("systemctl", "stop", UNIT)
        assert machine.value(UNIT, "Result") == "success"
        assert program.poll() is None
        machine.run("systemctl", "start", UNIT)
        aliquot(machine, "set", "lasting", "--memory", "128MiB")
        program.stdin.close()
        assert program.wait(HANG_SECONDS) == 0


def test_shares_are_cdi_devices_whenever_the_daemon_has_started(machine):
    """The service makes the specification, and writes nothing else."""
    machine.run("systemctl", "start", UNIT)
    aliquot(machine, "cdi", "add", "gpu0-256MiB-30")
    written = machine.run("cat", "/etc/cdi/aliquot.dev-share.json").stdout
    wait_for(lambda: machine.value(CDI_UNIT, "ActiveState") == "inactive", machine.said)  # one that runs is not started
    machine.run("rm", "-r", "/etc/cdi", "/var/lib/aliquot/lib")
    machine.run("systemctl", "restart", UNIT)
    wait_for(lambda: machine.run("cat", "/etc/cdi/aliquot.dev-share.json", check=False).stdout == written, machine.said)
    wait_for(lambda: machine.value(CDI_UNIT, "ActiveState") == "inactive", machine.said)
    assert machine.value(CDI_UNIT, "Result") == "success", machine.said()[-4000:]
    kept = json.loads(written)["containerEdits"]["mounts"][0]["hostPath"]
    assert machine.run("stat", "-c", "%a", kept, "/etc/cdi", "/var/lib/aliquot/lib", "/var/lib/aliquot").stdout.split() == \
        ["644", "755", "755", "700"]
