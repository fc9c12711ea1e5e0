# SPDX-License-Identifier: Apache-2.0
"""What a user does to its own end of a connection costs others nothing: urgent bytes, and watchers of that end."""
import contextlib
import time

from tenant import holding, needs_root

pytestmark = needs_root

SOON_SECONDS = 2


def answers_soon(daemon):
    with contextlib.closing(daemon.raw()) as asking:
        asking.settimeout(SOON_SECONDS)
        asking.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        return asking.recv(12) == b"HTTP/1.1 200"


def test_urgent_bytes_keep_the_daemon_busy_for_nobody(served, tenant):
    """A socket that is readable and has nothing to be read would wake it again and again."""
    daemon = served()
    with holding(tenant(daemon), "urgent.py", daemon.socket):
        before = daemon.seconds()
        time.sleep(2)
        assert daemon.seconds() - before < 0.5
        assert answers_soon(daemon)


def test_who_has_the_kernel_work_for_long_rests(served, tenant):
    """200,000 watch the other end of a connection: it ends with the first bytes that are read, and the next is not heard."""
    daemon = served()
    attacker = tenant(daemon)
    with holding(attacker, "watchers.py", daemon.socket) as program:
        assert program.stdout.readline() == "refused\n"
        before = daemon.seconds()
        assert answers_soon(daemon)
        assert daemon.seconds() - before < 0.5
