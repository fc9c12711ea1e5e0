# SPDX-License-Identifier: Apache-2.0
"""What a tenant does so that a daemon grants memory which the card has not: it holds more than it counts for."""
import contextlib
import signal

import pytest

from daemon import wait_for
from hang import HANG_SECONDS
from tenant import holding, needs_root

MIB = 1 << 20
pytestmark = needs_root


def promised(daemon):
    return daemon.get("/v1/devices").json["devices"][0]["promised_bytes"]


def lower(tenant, name):
    assert tenant.ask("PATCH", f"/v1/sessions/{name}", '{"memory":"1MiB"}').status == 200


@pytest.mark.parametrize("restarts", [False, True])
def test_a_lowered_limit_gives_nothing_to_others_while_it_is_held(served, tenant, neighbour, restarts):
    """Four times 240 MiB, of which 180 are held: not a byte of these is promised to anybody else."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    with contextlib.ExitStack() as stack:
        programs = []
        for number in range(4):
            attacker.create(f"s{number}", "240MiB")
            programs.append(stack.enter_context(attacker.script(f"s{number}")))
            programs[-1].ready().do(f"alloc 1 {180 * MIB}")
            lower(attacker, f"s{number}")
            assert promised(daemon) >= (number + 1) * 180 * MIB
        if restarts:
            daemon.kill().start()
        wait_for(lambda: promised(daemon) < 4 * 240 * MIB, daemon.said)  # what was never held
        assert promised(daemon) >= 4 * 180 * MIB
        refused = other.ask("POST", "/v1/sessions", '{"name":"b","memory":"400MiB"}')
        assert refused.status == 409, refused
        for program in programs:
            program.do("free 1")
        wait_for(lambda: promised(daemon) < 4 * 100 * MIB, daemon.said)
        other.create("b", "512MiB")
        with other.script("b") as gpu:
            gpu.ready().do(f"alloc 1 {400 * MIB}")


@pytest.mark.parametrize("restarts", [False, True])
def test_a_forged_ledger_gives_nothing_of_a_lowered_limit_to_others(served, tenant, neighbour, restarts):
    """The ledger says that nothing is held; the driver shows what is."""
    daemon = served("[watch]\nforged = ignore\n")
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("s", "640MiB")
    with attacker.script("s") as gpu:
        gpu.ready().do(f"alloc 1 {560 * MIB}")
        attacker.python("zero_ledger.py", attacker.folder("s") / "slots")
        lower(attacker, "s")
        if restarts:
            daemon.kill().start()
        wait_for(lambda: promised(daemon) < 640 * MIB, daemon.said)
        assert promised(daemon) >= 560 * MIB
        assert other.ask("POST", "/v1/sessions", '{"name":"b","memory":"512MiB"}').status == 409
    wait_for(lambda: promised(daemon) == MIB, daemon.said)
    other.create("b", "512MiB")


@pytest.mark.parametrize("forged", ["clamp", "kill"])
def test_a_ledger_that_was_forged_while_the_daemon_was_away_explains_no_more_than_the_limit(served, tenant, forged):
    """The highest limit that may be in use still is in the daemon's database, and not in the tenant's page."""
    daemon = served(f"[watch]\ntolerance = 16MiB\nforged = {forged}\n")
    attacker = tenant(daemon)
    attacker.create("s", "64MiB")
    daemon.kill()
    with holding(attacker, "forge_ledger.py", attacker.folder("s") / "slots", 700 * MIB) as program:
        daemon.start()
        if forged == "kill":
            assert program.wait(HANG_SECONDS) == -signal.SIGKILL
        else:
            wait_for(lambda: daemon.session("s")["clamped"], daemon.said)
