# SPDX-License-Identifier: Apache-2.0
"""Many sessions of one tenant that end at one instant, or that cannot be ended: others are served all the same."""
import signal
import sys
import time

from daemon import wait_for
from stopped import stop
from tenant import holding, needs_root

pytestmark = needs_root

MANY = 400
REST_SECONDS = 4  # after which the daemon owes nothing for what it looked at
TTL_SECONDS = 20
MANY_EACH = f"[admission]\nsessions_per_owner = {MANY}\n"


def start_ends(attacker, daemon, must_hold):
    """Returns when all were made, each to live for TTL_SECONDS from the first one on at most."""
    program = daemon.sim.build.source / "tests/attack/programs/many_ends.py"
    words = [sys.executable, program, daemon.socket, daemon.sim.runtime, MANY, TTL_SECONDS, int(must_hold)]
    process = attacker.start(words, preload=False)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def test_sessions_that_end_at_one_instant_are_ended_a_few_at_a_time(served, tenant):
    """A request that comes at that instant is answered before most of them are gone."""
    daemon = served(MANY_EACH)
    program = start_ends(tenant(daemon), daemon, False)
    connection = daemon.connection()
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    before = len(daemon.names())
    stop(daemon.process.pid)
    time.sleep(TTL_SECONDS + 1)
    connection.request("GET", "/metrics")
    daemon.process.send_signal(signal.SIGCONT)
    text = connection.getresponse().read().decode()
    left = int(text.split('\naliquot_sessions{state="open"} ', 1)[1].split()[0])
    assert left > before - 4 * 64 > 0, (left, before)
    wait_for(lambda: not daemon.names(), daemon.said)
    program.kill()


def test_sessions_that_cannot_be_ended_are_tried_more_and_more_seldom(served, tenant, neighbour):
    """Nobody can be found who holds their locks, and looking takes long: there are many processes."""
    daemon = served(MANY_EACH)
    attacker, other = tenant(daemon), neighbour(daemon)
    crowd = attacker.start(["/bin/sh", "-c", "for i in $(seq 200); do sleep 1000 & done; echo ready; wait"],
                           preload=False)
    assert crowd.stdout.readline() == "ready\n"
    program = start_ends(attacker, daemon, True)
    wait_for(lambda: "expired by daemon" in daemon.said(), daemon.said)
    other.create("others", "64MiB")
    wait_for(lambda: daemon.names() == ["others"], daemon.said)
    assert program.poll() is None
    crowd.kill()
    program.kill()


def test_programs_that_die_together_are_looked_after_once(served, tenant):
    """A look at the session takes long, for the locks on its `slots`; hundreds of its programs end at one instant."""
    daemon = served()
    attacker = tenant(daemon)
    attacker.create("theirs", memory="1MiB")
    with holding(attacker, "die_together.py", attacker.folder("theirs"), 400, 20000) as program:
        assert attacker.ask("DELETE", "/v1/sessions/theirs?force=false").status in (202, 409)
        assert attacker.ask("PATCH", "/v1/sessions/theirs", '{"ttl":"100ms"}').status == 200
        wait_for(lambda: daemon.session("theirs")["state"] != "open", daemon.said)
        time.sleep(REST_SECONDS)
        before = daemon.seconds()
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline() == "dead\n"
        assert daemon.get("/healthz").status == 200
        time.sleep(1)
        assert daemon.seconds() - before < 0.4, "one look for each that died"


def test_mappings_that_take_long_to_read_do_not_keep_the_daemon_from_looking(served, tenant, neighbour):
    """Some 250 MB of them in each of six programs: each look reads a bounded part, and a neighbour's program is known by
    the next one or two."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("theirs")
    other.create("others", "64MiB")
    room = daemon.sim.folder / "room"
    room.mkdir()
    room.chmod(0o777)
    program = daemon.sim.build.source / "tests/attack/programs/mapped_gpu.py"
    crowd = [attacker.start([sys.executable, program, room], preload=True, ALIQUOT_SESSION="theirs") for _ in range(6)]
    for process in crowd:
        assert process.stdout.readline() == "ready\n", process.stderr.read()

    def seen(name):
        return [one["pid"] for one in daemon.get("/v1/processes").json["processes"] if one["session"] == name]

    with other.script("others") as gpu:
        gpu.ready()
        before = daemon.reads()
        wait_for(lambda: gpu.process.pid in seen("others"), daemon.said)
        assert daemon.reads() - before < 200_000  # the mappings of the six are a million
        for process in crowd:
            process.kill()
    assert "does not answer" not in daemon.said()
