# SPDX-License-Identifier: Apache-2.0
"""Sessions of other users, which a daemon keeps: root sees and changes them, their owner too, nobody else."""
import re
import subprocess

import pytest

from cli import AWAY, UNSET
from daemon import Daemon
from hang import HANG_SECONDS
from script import replay
from tenant import Tenant, holding

MIB = 1 << 20
TENANT = 1234  # another user

pytestmark = pytest.mark.needs("other users")


@pytest.fixture
def cli(cli):
    return cli.that_asks_daemons()


@pytest.mark.needs("a build folder for other users")
def test_another_users_session_is_shown_to_root_and_roots_to_nobody_else(cli, build):
    served = Daemon(cli.sim, "[socket]\nmode = 0666\n").start()
    cli.sim.folder.chmod(0o711)

    def as_tenant(*words):
        return subprocess.run(["setpriv", f"--reuid={TENANT}", f"--regid={TENANT}", "--clear-groups",
                               build.aliquot, *words], env=cli.sim.env(), capture_output=True, text=True, check=False, timeout=HANG_SECONDS)

    served.create("theirs", owner=TENANT, labels={"for": "them"})
    assert cli("create", "roots", "--memory", "64MiB").rc == 0
    for path in (cli.sim.state, *cli.sim.state.rglob("*")):
        path.chmod(0o777)
    assert as_tenant("ls", "-o", "session").stdout.split() == ["SESSION", "theirs"]
    taken = f"there is no session roots of this user in {cli.sim.runtime}: another user has the name"
    for words in (["show", "roots"], ["ps", "roots"], ["rm", "roots"], ["set", "roots", "--memory", "1MiB"], ["renew", "roots"],
                  ["run", "--session", "roots", "--", "true"], ["run", "--session", "roots", "--memory", "1MiB", "--", "true"]):
        assert taken in as_tenant(*words).stderr, words
    made = as_tenant("create", "roots", "--memory", "1MiB")
    assert made.returncode == 1 and "exists already: another user has the name" in made.stderr, made
    nobodys = as_tenant("run", "--session", "nobodys", "--", "true")
    assert nobodys.returncode == 125 and "nobodys does not exist" in nobodys.stderr, nobodys
    folder = next(line for line in as_tenant("doctor").stdout.splitlines() if " folder " in line)
    assert folder.startswith("ok"), folder
    assert "limits are set by the daemon of user 0, and this user cannot write them" in as_tenant("doctor").stdout
    assert "sessions belong to user 0, so limits hold against accident" in cli("doctor").stdout
    assert as_tenant("show", "roots").returncode == 1 and as_tenant("rm", "roots").returncode == 1
    assert as_tenant("show", "theirs").returncode == 0
    listed = {session["name"]: session for session in cli("ls", "--json").json}
    assert set(listed) == {"roots", "theirs"} and listed["theirs"]["error"] is None
    shown = cli("show", "theirs", "--json").json
    assert shown["labels"] == {"for": "them"} and shown["folder"] is None
    assert f"user       {TENANT}\n" in cli("show", "theirs").stdout
    assert cli("set", "theirs", "--memory", "32MiB").rc == 0
    assert served.session("theirs")["devices"][0]["memory_bytes"] == 32 * MIB
    served.kill()
    theirs, = [line for line in cli("ls").stdout.splitlines() if line.startswith("theirs ")]
    assert "another user's: its daemon can tell, and does not answer" in theirs and "broken" not in theirs, theirs
    result = as_tenant("ls")
    assert result.returncode == AWAY and "only a daemon can list" in result.stderr, result
    assert as_tenant("show", "theirs").returncode == 0
    served.start()
    assert as_tenant("rm", "theirs").returncode == 0 and served.names() == ["roots"]


@pytest.mark.needs("a build folder for other users")
def test_programs_in_another_users_session_are_told_to_root(cli, holder):
    served = Daemon(cli.sim, "[socket]\nmode = 0666\n").start()
    served.create("theirs", "256MiB", gpus=["0"], owner=TENANT)
    for path, mode in ((cli.sim.folder, 0o711), (cli.sim.state, 0o777), *((path, 0o777) for path in cli.sim.state.rglob("*"))):
        path.chmod(mode)
    as_tenant = ["setpriv", f"--reuid={TENANT}", f"--regid={TENANT}", "--clear-groups"]
    process = cli.sim.start([*as_tenant, holder, 0, 64 * MIB], preload=True, ALIQUOT_SESSION="theirs")
    assert process.stdout.readline().startswith("ready ")
    one, = cli("ps", "--json").json
    assert one == cli("ps", "theirs", "--json").json[0]
    assert cli("show", "theirs", "--json").json["processes"] == 1
    assert (one["session"], one["pid"], one["uid"], one["command"]) == ("theirs", process.pid, TENANT, "hold")
    assert one["devices"][0]["bytes"] >= 64 * MIB
    assert re.search(rf"^theirs +{process.pid} +hold +GPU-\w{{8}} +\d+ MiB$", cli("ps").stdout, re.MULTILINE)
    assert re.search(r"^GPU-\S+ +256 MiB +\d+ MiB +1 GiB$", cli("show", "theirs").stdout, re.MULTILINE)
    assert cli("show", "theirs", "--json").json["devices"][0]["card_bytes"] == 1024 * MIB
    on_card, = cli("gpus", "--json").json[0]["sessions"]
    assert on_card["name"] == "theirs" and on_card["memory_bytes"] == 256 * MIB and on_card["used_bytes"] >= 64 * MIB
    top = [*as_tenant, cli.sim.build.aliquot, "top", "--once", f"--sim={cli.sim.spec}"]
    shown = cli.sim.run(top, **UNSET)
    assert "1 session, " in shown.stdout and re.search(r"^ [+] theirs +1 ", shown.stdout, re.MULTILINE), shown
    served.kill()
    result = cli.sim.run(top, **UNSET)
    assert result.rc == AWAY and result.stdout == "" and "and none answers" in result.stderr, result
    assert cli("ps", "--json").json == [] and cli("ps", "theirs").rc == 1


@pytest.mark.parametrize("mode, words", [("0666", "only the daemon there makes sessions for user 1234; start the program with aliquot run"),
                                         ("0600", "the daemon there does not let user 1234 in; its socket.mode and socket.group"),
                                         (None, "user 1234 cannot make sessions there; start aliquotd as user 0")],
                         ids=["for all", "for root", "away"])
def test_a_program_that_cannot_make_its_session_is_told_what_makes_it(sim, mode, words):
    """A limit in the environment asks no daemon, and the folder is root's to write."""
    replay(sim, ["init", "context 0 0"], preload=False)
    served = Daemon(sim, f"[socket]\nmode = {mode or '0666'}\n").start()
    tenant = Tenant(served, TENANT)
    if not mode:
        served.kill()
    result = tenant.run([sim.build.program("hooks/script")], stdin="init\n", preload=True, ALIQUOT_MEMORY="512MiB")
    assert words in result.stderr and "GPU calls are refused" in result.stderr, result
    noted = tenant.run([sim.build.aliquot, "env", "--memory", "512MiB"])
    assert noted.rc == 0 and "export ALIQUOT_MEMORY=536870912" in noted.stdout, noted
    assert ("aliquot create makes the session" in noted.stderr) == (mode == "0666"), noted
    if mode == "0666":  # what is said to be done is right
        assert tenant.run([sim.build.aliquot, "create", "mine", "--memory", "512MiB"]).rc == 0
        joined = tenant.run([sim.build.program("hooks/script")], stdin="init\n", preload=True, ALIQUOT_SESSION="mine")
        assert (joined.rc, joined.stdout, joined.stderr) == (0, "0\n", "")


def test_who_cannot_learn_who_serves_a_folder_waits_once_and_is_told_for_what(sim):
    """The list of locks is any user's to fill, and it alone tells a user whether a daemon starts in another's folder."""
    tenant = Tenant(Daemon(sim), TENANT)
    theirs, crowd = sim.folder / "theirs", sim.folder / "crowd"
    theirs.mkdir(mode=0o711)
    crowd.mkdir(mode=0o777)
    crowd.chmod(0o777)

    def ask(*words):
        return tenant.run([sim.build.aliquot, *words], ALIQUOT_RUNTIME_DIR=theirs, **UNSET)

    said = {
        ("run", f"--sim={sim.spec}", "--memory", "64MiB", "--", "true"): (125, f"user {TENANT} cannot make sessions there"),
        ("create", "mine", f"--sim={sim.spec}", "--memory", "64MiB"): (1, f"user {TENANT} cannot make sessions there"),
        ("rm", "mine"): (1, "there is no session mine"),
    }
    for words, (rc, text) in said.items():
        result = ask(*words)
        assert result.rc == rc and text in result.stderr.splitlines()[-1], result  # others' locks may be many already
    with holding(tenant, "many_locks.py", *(crowd / str(i) for i in range(10)), word="held"):
        for words, (rc, text) in said.items():
            result = ask(*words)
            told, *refusal = result.stderr.splitlines()
            assert "too many file locks to look through; waiting for one, 5 s at most" in told, result
            assert result.rc == rc and len(refusal) == 1 and text in refusal[0], result
