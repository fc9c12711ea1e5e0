# SPDX-License-Identifier: Apache-2.0
"""How long the daemon works for a tenant, and with how many descriptors, is not for the tenant to say."""
import os
import pathlib
import resource
import sys
import time

from tenant import holding, needs_root

pytestmark = needs_root

MANY_LOCKS = pathlib.Path(__file__).parent / "programs/many_locks.py"
SLOTS, LISTED = 4096, 512
DESCRIPTORS = 64
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


def seconds_of(daemon):
    """Processor time that the daemon has used."""
    fields = pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text(encoding="ascii").rsplit(")")[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
        began, used = time.monotonic(), seconds_of(daemon)
        while time.monotonic() - began < 8:
            attacker.ask("GET", "/v1/sessions")
            assert daemon.session("honest")["processes"] == 1
            time.sleep(0.05)
        share = (seconds_of(daemon) - used) / (time.monotonic() - began)
        assert share < 0.5, f"{share:.0%} of a processor, for listings that take a thirtieth"
    program.kill()
    program.wait()
