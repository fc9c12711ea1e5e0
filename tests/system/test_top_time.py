# SPDX-License-Identifier: Apache-2.0
"""aliquot top and GPU time: what sessions were promised and what they had, on a terminal (tmux).

Programs run in the simulator's virtual time, which aliquot top then goes by as well, so the figures are the
same on every machine.
"""
import re

import pytest

from cli import Command
from daemon import Daemon


@pytest.fixture
def cli(sim):
    sim.configure(memory="4GiB", model="t4", clock="virtual")
    return Command(sim)


@pytest.fixture
def worker(cli, build):
    """A program in a session that wants the whole of a GPU, in virtual time, for longer than any test."""
    def start(session, *flags):
        return cli.start("run", "--session", session, *flags, "--", build.program("compute/load"), "ns=200000",
                         "seconds=100000")
    return start


def test_what_was_promised_of_a_gpu_and_what_was_had(cli, top, worker):
    """Time is the simulator's own, so the figures are exact; a cap that was typed holds at once."""
    worker("s", "--memory", "1GiB", "--compute", "30")
    terminal = top("--sort=share")
    screen = terminal.wait(r"^>[+] s +1 +(29\.9|30\.\d)% +30% \[█+·+\] +[▂▃▄]+ +\d+\.\d% +\S+ +throttled$")
    assert "SHAREv" in screen, screen
    terminal.press("Enter")
    terminal.wait(r"^ +GPU time: at most 30%, accuracy=exact$")
    terminal.press("c")
    terminal.wait("^compute of s, ")
    terminal.type("60")
    terminal.press("Enter")
    terminal.wait("^compute of s: 60")
    terminal.wait(r"^>- s +1 +(59\.9|60\.\d)% +60% ")
    terminal.press("c")
    terminal.type("101")
    terminal.press("Enter")
    terminal.wait("^--compute 101: ")
    once = cli("top", "--once", "--interval=100ms", "--sort=share", f"--sim={cli.sim.spec}", sim=False)
    assert re.search(r"^ [+] s +1 +(-|\d+\.\d%) +60% ", once.stdout, re.MULTILINE), once


def test_caps_beside_each_other_without_a_daemon_are_not_exact(cli, top, worker):
    cli.sim.configure(begin_with=2)
    for name in ("a", "b"):
        worker(name, "--memory", "1GiB", "--compute", "40")
    terminal = top("--sort=name", "--all")
    terminal.wait(r"^>- a .* 40% degraded$")
    terminal.wait(r"^ - b .* 40% degraded$")
    terminal.wait(r"^ +GPU time: at most 40%, accuracy=degraded$")


def test_who_is_alone_and_without_a_cap_has_all_of_it(cli, top, worker):
    """As far as anybody measures it: without a daemon nobody does."""
    own = worker("own", "--memory", "1GiB")
    terminal = top()
    assert "SHARE" not in terminal.wait(r"^>[+] own +1 ")
    own.terminate()
    if "can ask no daemon" in cli("doctor").stdout:
        pytest.skip("aliquot was built without libcurl or jansson")
    Daemon(cli.sim).start().create("daemons", "1GiB")
    worker("daemons")
    terminal.wait(r"^.[+] daemons +1 .* (99\.\d|100\.0)% +-$")


def test_who_waits_for_whom_with_a_daemon(cli, top, worker):
    """Guarantees, weights and priorities are its terms, and are changed through it."""
    if "can ask no daemon" in cli("doctor").stdout:
        pytest.skip("aliquot was built without libcurl or jansson")
    cli.sim.configure(begin_with=2)
    daemon = Daemon(cli.sim).start()
    daemon.create("a", "1GiB", guarantee=20, weight=300)
    daemon.create("b", "1GiB", compute=10)
    for name in ("a", "b"):
        worker(name)
    terminal = top("--sort=share", "--all")
    terminal.wait(r"^>- a +1 +(8[89]|90)\.\d% +20%[+] .* queued$")
    terminal.wait(r"^ - b +1 +(9|10)\.\d% +10% .* throttled$")
    terminal.wait(r"^ +GPU time: at least 20%, weight 300, normal, queued \d+\.\d%, accuracy=exact$")
    for key, typed, said in (("g", "10-", "^--guarantee 10-: "), ("g", "10", r"^>- a .* 10%[+] "), ("W", "100", "weight 100, normal"),
                             ("P", "batch", "weight 100, batch")):
        terminal.press(key)
        terminal.type(typed)
        terminal.press("Enter")
        terminal.wait(said)
