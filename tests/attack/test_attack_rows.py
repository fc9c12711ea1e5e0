# SPDX-License-Identifier: Apache-2.0
"""How long the daemon works for a tenant, and with how many descriptors, is not for the tenant to say."""
import os
import pathlib
import resource
import sys
import time

import pytest

from daemon import wait_for
from tenant import holding, needs_root

pytestmark = needs_root

MANY_LOCKS = pathlib.Path(__file__).parent / "programs/many_locks.py"
SLOTS, LISTED = 4096, 512
DESCRIPTORS = 64
SHORT, LOCKS = 400, 400
REST_SECONDS = 4  # after which the daemon owes nothing for what it looked at
CROWD = """
import pathlib, socket, sys
local, sessions = sys.argv[1:]
crowd = []
for path, kind in [(local, socket.SOCK_STREAM)] * 100 + [
        (path, socket.SOCK_SEQPACKET) for path in pathlib.Path(sessions).glob("crowd-*/socket") for _ in range(30)]:
    one = socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK)
    crowd.append(one)
    try:
        one.connect(str(path))
        if kind == socket.SOCK_STREAM:
            one.send(b"GET /v1/events HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
    except OSError:
        pass # whoever is turned away stays in the crowd
print("here", flush=True)
sys.stdin.read()
"""


def processes_here():
    return sum(name.isdigit() for name in os.listdir("/proc"))


def test_forged_slots_do_not_decide_how_often_proc_is_read(served, tenant):
    """Each slot tells of another process in a foreign PID namespace; one lock makes all of them look alive."""
    daemon = served()
    attacker = tenant(daemon)
    attacker.create("forged")
    with holding(attacker, "forge_rows.py", attacker.folder("forged") / "slots"):
        before = daemon.reads()
        answer = attacker.ask("GET", "/v1/sessions/forged/processes")
        made = daemon.reads() - before
        assert answer.status == 200 and len(answer.json) == LISTED
        assert made < 20 * processes_here() + 2000, "not one pass over /proc, but one for each slot"
        assert daemon.session("forged")["processes"] == SLOTS


def test_few_descriptors_are_never_all_a_tenants(served, tenant):
    """Sessions, streams and silent connections without end: root is served meanwhile, and everybody after."""
    daemon = served()
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    attacker = tenant(daemon)
    for i in range(48):
        attacker.create(f"crowd-{i}", memory="1MiB")
    crowd = attacker.start([sys.executable, "-c", CROWD, daemon.socket, attacker.folder(".")])
    assert crowd.stdout.readline() == "here\n", crowd.communicate()
    daemon.create("roots", memory="1MiB")
    assert daemon.session("roots")["state"] == "open"
    crowd.kill()
    crowd.wait()
    attacker.create("after")
    with attacker.script("after") as gpu:
        gpu.ready().do("alloc 1 4096")
    assert "Too many open files" not in daemon.said(), daemon.said()[-1500:]


def test_locks_of_many_sessions_together_cost_a_share_of_the_daemons_time(served, tenant, neighbour):
    """Each listing would take long, of twenty sessions at each request; the neighbour's is listed meanwhile."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    names = [f"many-{i}" for i in range(20)]
    for name in names:
        attacker.create(name, memory="1MiB")
    other.create("honest")
    program = attacker.start([sys.executable, MANY_LOCKS, *(attacker.folder(name) / "slots" for name in names)])
    with other.script("honest") as gpu:
        gpu.ready().do("alloc 1 4096")
        assert program.stdout.readline() == "held\n", program.communicate()
        began, used = time.monotonic(), daemon.seconds()
        while time.monotonic() - began < 8:
            attacker.ask("GET", "/v1/sessions")
            assert daemon.session("honest")["processes"] == 1
            time.sleep(0.05)
        share = (daemon.seconds() - used) / (time.monotonic() - began)
        assert share < 0.5, f"{share:.0%} of a processor, for listings that take a thirtieth"
    program.kill()
    program.wait()


@pytest.mark.parametrize("path", ["/v1/sessions?limit=1000", "/metrics"])
def test_short_looks_at_many_sessions_cost_a_bounded_part_of_a_turn(served, tenant, neighbour, path):
    """Each look takes a millisecond or two. One answer looks for a bounded time; what it did not look at is as last known,
    and says since when."""
    daemon = served("[admission]\nsessions_per_owner = 1000\n[metrics]\nsessions = yes\n")
    attacker, other = tenant(daemon), neighbour(daemon)
    other.create("honest", memory="64MiB")
    with holding(attacker, "short_locks.py", daemon.socket, attacker.folder("."), SHORT, LOCKS), other.script("honest") as gpu:
        gpu.ready().do("alloc 1 4096")
        for _ in range(2):
            time.sleep(REST_SECONDS)
            before = daemon.seconds()
            answer = daemon.get(path)
            assert answer.status == 200 and daemon.seconds() - before < 0.4
        shown = {one["name"]: one for one in daemon.get("/v1/sessions?limit=1000").json["sessions"]}
        assert len(shown) == SHORT + 1
        assert shown["honest"]["processes"] == 1 and "looked_at" not in shown["honest"]
        assert sum("looked_at" in one for one in shown.values()) > SHORT / 2
        assert daemon.metrics()['aliquot_session_processes{session="honest"}'] == 1


def test_a_forged_ledger_is_found_though_its_slots_take_long_to_list(served, tenant):
    """What the daemon may look at is used up all the time, by the same user's other sessions and this one's locks."""
    daemon = served("[watch]\ntolerance = 16MiB\n[admission]\nsessions_per_owner = 1000\n")
    attacker = tenant(daemon)
    attacker.create("forged", memory="512MiB")
    with holding(attacker, "short_locks.py", daemon.socket, attacker.folder("."), SHORT, LOCKS), attacker.script("forged") as gpu:
        gpu.ready().do(f"alloc 1 {256 << 20}")
        locks = attacker.start([sys.executable, MANY_LOCKS, attacker.folder("forged") / "slots"], preload=False)
        assert locks.stdout.readline() == "held\n", locks.communicate()
        attacker.python("zero_ledger.py", attacker.folder("forged") / "slots", preload=False)

        def is_clamped():
            daemon.get("/v1/sessions?limit=1000")
            return daemon.session("forged")["clamped"]

        wait_for(is_clamped, daemon.said)
        assert "looked_at" in daemon.session("forged")
        locks.kill()
        locks.wait()
