# SPDX-License-Identifier: Apache-2.0
"""What a tenant does to the daemon at the socket of a session."""
import contextlib
import sys

from daemon import wait_for
from hang import HANG_SECONDS
from tenant import needs_root

UNREAD_MAX = 16  # src/daemon/tenant/tenant_visit.c
JOINERS = 5 * UNREAD_MAX
pytestmark = needs_root


def socket_of(tenant, name):
    return tenant.folder(name) / "socket"


@contextlib.contextmanager
def unread(tenant, name, count):
    """Joiners of a session that do not read what the daemon answers."""
    program = tenant.sim.build.source / "tests/attack/programs/unread_welcomes.py"
    process = tenant.start([sys.executable, program, socket_of(tenant, name), count], preload=False)
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    try:
        yield process
    finally:
        process.kill()
        process.wait(HANG_SECONDS)


def read_welcomes(process):
    """How many of the joiners were let in, now that they read."""
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def joins(tenant, name):
    with tenant.script(None, ALIQUOT_SESSION_SOCKET=socket_of(tenant, name), ALIQUOT_RUNTIME_DIR=None) as gpu:
        gpu.ready()


def answered(daemon):
    """HELLOs that the daemon has answered."""
    return sum(int(line.rsplit(" ", 1)[1]) for line in daemon.get("/metrics").text.splitlines()
               if line.startswith(("aliquot_joins_total", "aliquot_joins_refused_total")))


def test_welcomes_that_nobody_reads_are_few_and_keep_nobody_out(served, tenant, neighbour):
    """Descriptors in flight are bounded by the kernel for all that the daemon sends: none may be left there in numbers."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("a")
    other.create("b")
    with unread(attacker, "a", JOINERS) as process:
        joins(other, "b")
        assert 1 <= read_welcomes(process) <= UNREAD_MAX
        joins(attacker, "a")  # what was read counts no more
    with unread(attacker, "a", JOINERS):
        joins(other, "b")
    joins(attacker, "a")  # what was closed counts no more
    assert daemon.is_up()


def test_a_session_that_goes_takes_no_unread_welcome_out_of_the_count(served, tenant, neighbour):
    """The descriptors stay in flight when their session is deleted."""
    daemon = served()
    attacker, other = tenant(daemon), neighbour(daemon)
    attacker.create("a")
    attacker.create("c")
    other.create("b")
    with unread(attacker, "a", JOINERS) as first:
        wait_for(lambda: answered(daemon) == JOINERS)
        assert attacker.ask("DELETE", "/v1/sessions/a").status in (200, 202, 204)
        wait_for(lambda: not attacker.folder("a").exists())
        with unread(attacker, "c", JOINERS) as second:
            joins(other, "b")
            assert read_welcomes(first) + read_welcomes(second) <= UNREAD_MAX
    joins(attacker, "c")
