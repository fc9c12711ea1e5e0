# SPDX-License-Identifier: Apache-2.0
"""Who may take what: root's daemon holds other users to its rules (docs/policy.md), and says by which."""
import json
import re
import subprocess
import sys
import time

import pytest

from build import SOURCE
from cli import AWAY
from daemon import Answer, Daemon
from hang import HANG_SECONDS
from tenant import ASK, Tenant

ANNA, BERT = 64001, 64002
CREW = 64100  # a group

pytestmark = pytest.mark.needs("other users")
OPEN = "[socket]\nmode = 0666\n"


@pytest.fixture
def anna(two_cards):
    return Tenant(Daemon(two_cards, OPEN).start(), ANNA)


def create(tenant, name, **wish):
    return tenant.ask("POST", "/v1/sessions", json.dumps({"name": name, "memory": "64MiB", "gpus": ["0"], **wish}))


def expect_refused(answer, key, rule, most, asked):
    assert answer.status == 403 and answer.json["type"] == "/problems/policy", answer
    said = {member: answer.json[member] for member in ("key", "rule", "most", "asked")}
    assert said == {"key": key, "rule": rule, "most": most, "asked": asked}, answer
    assert rule in answer.json["detail"] and answer.json["detail"].startswith(f"{key}: "), answer


def in_groups(tenant, groups, method, path, body):
    """As the user, who is in these groups too."""
    done = subprocess.run([sys.executable, "-c", ASK, str(tenant.daemon.socket), method, path, json.dumps(body)],
                          user=tenant.uid, group=tenant.uid, extra_groups=groups, cwd="/", stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert done.returncode == 0, done
    status, _, text = done.stdout.partition("\n")
    return Answer(int(status), {}, text)


OFTEN = """
import collections, http.client, json, socket, sys
path, target, body, times = sys.argv[1:]
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
answers = collections.Counter()
for _ in range(int(times)):
    connection.request("POST", target, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    answers[answer.status] += 1
print(json.dumps(answers))
"""


def ask_often(tenant, target, body, times):
    """On one connection; how often there was which status."""
    done = tenant.run([sys.executable, "-c", OFTEN, tenant.daemon.socket, target, json.dumps(body), times])
    assert done.rc == 0, done
    return {int(status): count for status, count in json.loads(done.stdout).items()}


def test_by_default_a_stranger_does_not_go_before_others_and_has_one_cards_worth_in_all(anna):
    expect_refused(create(anna, "a", priority="rt"), "priority", "[policy]", "normal", "rt")
    expect_refused(create(anna, "a", guarantee=26), "guarantee_in_all", "[policy]", "25%", "26%")
    expect_refused(create(anna, "a", weight=101), "weight", "[policy]", "100", "101")
    assert create(anna, "a", memory="600MiB", guarantee=20).status == 201
    expect_refused(create(anna, "b", gpus=["1"], memory="600MiB"), "memory_in_all", "[policy]", "1GiB", "1200MiB")
    expect_refused(create(anna, "b", guarantee=6), "guarantee_in_all", "[policy]", "25%", "26%")
    assert create(anna, "b", gpus=["1"], memory="424MiB", guarantee=5, priority="batch", weight=1).status == 201


def test_root_and_the_daemons_own_user_take_anything(anna):
    served = anna.daemon
    served.create("roots", memory="900MiB", gpus={"count": 2}, priority="rt", weight=10000, guarantee=100)
    theirs = served.create("theirs", "64MiB", gpus=["1"], owner=ANNA, priority="rt")
    assert theirs["owner"] == ANNA and theirs["priority"] == "rt"


@pytest.mark.parametrize("change", [{"priority": "rt"}, {"weight": 200}, {"guarantee": 30}, {"memory": "700MiB"}, {"ttl": "2h"}],
                         ids=lambda change: next(iter(change)))
def test_a_change_obeys_the_rules_as_a_creation_does(anna, change):
    anna.daemon.reload(f"{OPEN}[policy]\nmemory = 600MiB\n[policy user {ANNA}]\nttl = 1h\n")
    assert create(anna, "a").status == 201
    before = anna.ask("GET", "/v1/sessions/a").json
    answer = anna.ask("PATCH", "/v1/sessions/a", json.dumps(change))
    assert answer.status == 403 and answer.json["type"] == "/problems/policy", answer
    after = anna.ask("GET", "/v1/sessions/a").json
    assert (after["version"], after["priority"], after["weight"]) == (before["version"], "normal", 100)
    assert anna.daemon.patch("/v1/sessions/a", change).status == 200  # root may


def test_a_renewal_obeys_the_rules(anna):
    anna.daemon.reload(f"{OPEN}[policy user {ANNA}]\nttl = 1h\n")
    assert create(anna, "a").json["ttl_seconds"] == 3600
    expect_refused(anna.ask("POST", "/v1/sessions/a/renew", '{"ttl": "2h"}'), "ttl", f"[policy user {ANNA}]", "1h", "2h")
    expect_refused(create(anna, "b", ttl=None), "ttl", f"[policy user {ANNA}]", "1h", "any")
    assert anna.ask("POST", "/v1/sessions/a/renew", '{"ttl": "30m"}').status == 200


def test_the_user_beats_the_group_and_the_group_everybody(anna):
    anna.daemon.reload(f"{OPEN}[policy]\nmemory = 100MiB\n[policy group {CREW}]\nmemory = 300MiB\n[policy group {CREW + 1}]\n"
                       f"memory = 200MiB\n[policy user {BERT}]\nmemory = 50MiB\n")
    bert = Tenant(anna.daemon, BERT)

    def most(tenant, groups):
        answer = in_groups(tenant, groups, "POST", "/v1/sessions", {"name": "a", "memory": "900MiB", "gpus": ["0"]})
        assert answer.status == 403, answer
        return answer.json["most"], answer.json["rule"]

    assert most(anna, []) == ("100MiB", "[policy]")
    assert most(anna, [CREW + 1]) == ("200MiB", f"[policy group {CREW + 1}]")
    assert most(anna, [CREW + 1, CREW]) == ("300MiB", f"[policy group {CREW}]")
    assert most(bert, [CREW + 1, CREW]) == ("50MiB", f"[policy user {BERT}]")
    assert in_groups(anna, [CREW], "POST", "/v1/sessions", {"name": "a", "memory": "300MiB", "gpus": ["0"]}).status == 201


def test_the_primary_group_counts(anna):
    """Of these users it has their own number."""
    anna.daemon.reload(f"{OPEN}[policy group {ANNA}]\npriority = rt\n")
    assert create(anna, "a", priority="rt").status == 201
    assert create(Tenant(anna.daemon, BERT), "b", priority="rt").status == 403


def test_gpus_of_others_are_refused_and_not_chosen(anna):
    first, second = (device["uuid"] for device in anna.daemon.get("/v1/devices").json["devices"])
    anna.daemon.reload(f"{OPEN}[policy user {ANNA}]\ngpus = {second[:12]}\n")
    answer = create(anna, "a", gpus=["0"])
    assert answer.status == 403 and (answer.json["key"], answer.json["asked"], answer.json["most"]) == ("gpus", first, second), answer
    for name in ("a", "b", "c"):
        assert create(anna, name, gpus={"count": 1, "choice": "least-loaded"}).json["devices"][0]["uuid"] == second
    assert create(Tenant(anna.daemon, BERT), "d", gpus=["0"]).status == 201


def test_a_rule_for_sessions_stands_in_place_of_the_usual_number(anna):
    anna.daemon.reload(f"{OPEN}[admission]\nsessions_per_owner = 1\n[policy user {ANNA}]\nsessions = 2\n")
    bert = Tenant(anna.daemon, BERT)
    assert [create(anna, name).status for name in "ab"] == [201, 201]
    expect_refused(create(anna, "c"), "sessions", f"[policy user {ANNA}]", "2", "3")
    assert create(bert, "d").status == 201
    full = create(bert, "e")
    assert full.status == 409 and "admission.sessions_per_owner" in full.json["detail"], full


def test_a_new_policy_puts_nobody_out_and_holds_for_what_comes(anna):
    assert create(anna, "a", memory="600MiB").status == 201
    anna.daemon.reload(f"{OPEN}[policy]\nmemory = 100MiB\nswap = no\npriority = batch\n")
    assert anna.ask("GET", "/v1/sessions/a").json["state"] == "open"
    assert anna.ask("PATCH", "/v1/sessions/a", '{"labels": {"for": "me"}}').status == 200
    assert anna.ask("PATCH", "/v1/sessions/a", '{"memory": "500MiB"}').status == 200
    expect_refused(anna.ask("PATCH", "/v1/sessions/a", '{"memory": "600MiB"}'), "memory", "[policy]", "100MiB", "600MiB")
    expect_refused(create(anna, "b", priority="batch", swap=True), "swap", "[policy]", "no", "yes")
    expect_refused(create(anna, "b"), "priority", "[policy]", "batch", "normal")
    anna.daemon.reload(f"{OPEN}[policy]\nmemory = lots\n")  # a mistake: as before
    expect_refused(create(anna, "b"), "priority", "[policy]", "batch", "normal")


def test_a_rule_of_nobody_stops_the_start_and_leaves_a_reload_without_effect(anna):
    anna.daemon.reload(f"{OPEN}[policy user no-such-user]\nweight = 1\n")
    assert "there is no user no-such-user" in anna.daemon.said() and "the config is as before" in anna.daemon.said()
    checked = anna.sim.run([*anna.daemon.words(), "--check-config"])
    assert checked.rc != 0 and "[policy user no-such-user]: there is no user" in checked.stderr, checked


def test_refusals_are_in_the_audit_trail_at_a_rate_and_all_are_counted(anna):
    began = time.monotonic()
    insists = ask_often(anna, "/v1/sessions", {"name": "a", "memory": "64MiB", "gpus": ["0"], "priority": "rt"}, 400)
    assert insists == {403: 400}
    at_most = 21 + (time.monotonic() - began) / 5  # one more each 5 s
    anna.daemon.create("last")
    refused = []
    for event in anna.daemon.events():
        if event["type"] == "created":
            break
        if event["type"] == "refused":
            refused.append(event)
    assert 20 <= len(refused) <= at_most
    assert sum(event["detail"]["left_out"] for event in refused) <= 400 - len(refused)
    assert refused[0]["session"] == "a" and refused[0]["who"].startswith(f"uid {ANNA} ")
    assert refused[0]["detail"] == {"key": "priority", "rule": "[policy]", "most": 1, "asked": 2, "owner": ANNA, "left_out": 0}
    metrics = anna.daemon.metrics()
    assert metrics['aliquot_policy_refusals_total{key="priority"}'] == 400
    assert metrics['aliquot_sessions_refused_total{reason="policy"}'] == 400


def test_the_command_says_who_may_take_what(anna):
    anna.daemon.reload(f"{OPEN}[policy user {ANNA}]\npriority = rt\n")
    aliquot = anna.sim.build.aliquot

    def command(*words, by=anna.run):
        return by([aliquot, "policy", *words])

    rules = json.loads(command("show", "--json").stdout)
    assert {"key": "priority", "most": "rt", "rule": f"[policy user {ANNA}]"} in rules
    assert {"key": "memory_in_all", "most": "100%", "rule": "[policy]"} in rules
    may = {row["key"]: row for row in json.loads(command("check", "--json").stdout)}
    assert may["priority"] == {"key": "priority", "most": "rt", "rule": f"[policy user {ANNA}]"}
    assert may["memory_in_all"] == {"key": "memory_in_all", "most": "1GiB", "rule": "[policy]"}
    assert may["sessions"] == {"key": "sessions", "most": "64", "rule": "admission.sessions_per_owner"}
    assert may["ttl"]["rule"] is None
    assert command("check", str(ANNA), by=anna.sim.run).stdout == command("check").stdout
    assert re.search(r"^priority +normal +\[policy\]$", command("check", str(BERT), by=anna.sim.run).stdout, re.MULTILINE)
    refused = command("check", str(BERT), "--memory", "64MiB", "--gpu", "0", "--priority", "rt", by=anna.sim.run)
    assert (refused.rc, refused.stderr) == (1, "aliquot policy: priority: rt asked for, at most normal by [policy]\n"), refused
    assert command("check", str(ANNA), "--memory", "64MiB", "--gpu", "0", "--priority", "rt", by=anna.sim.run).rc == 0
    others = command("check", str(BERT))
    assert others.rc == 1 and "for administrators to ask" in others.stderr, others
    assert command("check", "no-such-user", by=anna.sim.run).stderr == "aliquot policy: there is no user no-such-user\n"
    assert command().rc == 2 and command("show", str(BERT)).rc == 2
    refused = anna.run([aliquot, "create", "big", "--memory", "1GiB"])
    assert refused.rc == 1 and "memory_in_all: 2 GiB for all sessions of this user, at most 1 GiB by [policy]" in refused.stderr, refused
    anna.daemon.kill()
    assert command("show").rc == AWAY


def test_a_check_answers_as_the_creation_would_and_leaves_nothing(anna):
    wish = {"session": {"name": "a", "memory": "600MiB", "gpus": ["0"]}}
    before = anna.daemon.metrics()
    assert anna.ask("POST", "/v1/policy/check", json.dumps(wish)).status == 200
    assert create(anna, "a", memory="600MiB").status == 201
    tried = anna.ask("POST", "/v1/policy/check", json.dumps(wish))
    expect_refused(tried, "memory_in_all", "[policy]", "1GiB", "1200MiB")
    assert anna.daemon.names() == ["a"]
    series = 'aliquot_policy_refusals_total{key="memory_in_all"}'
    assert anna.daemon.metrics()[series] == before[series] == 0
    other = anna.ask("POST", "/v1/policy/check", json.dumps({"user": BERT}))
    assert other.status == 403 and other.json["type"] == "/problems/forbidden", other
    owner = anna.ask("POST", "/v1/policy/check", json.dumps({"session": {"memory": "1MiB", "owner": BERT}}))
    assert owner.status == 400 and owner.json["field"] == "owner", owner


def test_a_profile_is_asked_for_by_its_name(anna):
    anna.daemon.reload(f"{OPEN}[policy profile 64MiB-30]\nmemory = 64MiB\ncompute = 30%\n")
    may = anna.daemon.post("/v1/policy/check", {"user": 0, "profile": "64MiB-30"}).json
    assert not may["is_above"]
    assert {"key": "memory", "most": "64MiB", "rule": "[policy profile 64MiB-30]"} in may["may"]
    answer = anna.daemon.post("/v1/policy/check", {"user": 0, "profile": "64MiB-30", "session": {"memory": "65MiB", "gpus": ["0"]}})
    expect_refused(answer, "memory", "[policy profile 64MiB-30]", "64MiB", "65MiB")


def test_the_page_says_the_defaults_that_hold(anna):
    defaults = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", (SOURCE / "docs/policy.md").read_text(), re.MULTILINE))
    everybody = anna.daemon.get("/v1/policy").json["rules"][0]
    assert everybody["most"] == {key: most for key, most in defaults.items() if not most.startswith("admission.")}
    may = {row["key"] for row in anna.daemon.post("/v1/policy/check", {"user": BERT}).json["may"]}
    assert may == set(defaults)
