# SPDX-License-Identifier: Apache-2.0
"""The daemon's API as its description has it: every field, events and metrics."""
import json
import os
import re
import shutil
import socket
import subprocess
import urllib.request

import pytest

from build import SOURCE
from daemon import Daemon, wait_for
from hang import HANG_SECONDS
from script import MIB, Script

SCHEMA = json.loads((SOURCE / "src/daemon/api/openapi.json").read_text())
TOKEN = "correct-horse-battery-staple"
GOOD = {"name": "new", "memory": "1MiB"}


@pytest.fixture
def tcp(sim):
    """With a token, on TCP too."""
    sim.configure(gpus=1, memory="1GiB")
    token = sim.folder / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    return Daemon(sim).start("--http", "127.0.0.1:0", "--token-file", token)


# -- Pages, versions, labels -----------------------------------------------------------------------

def test_pages_hold_every_session_once(daemon):
    for i in range(7):
        daemon.create(f"s{i}", "1MiB", labels={"odd": str(i % 2), "all": "yes"})
    seen, after = [], ""
    while after is not None:
        page = daemon.get(f"/v1/sessions?limit=3{after and '&after=' + after}").json
        assert len(page["sessions"]) <= 3
        seen += [session["name"] for session in page["sessions"]]
        after = page["next"]
    assert seen == [f"s{i}" for i in range(7)]
    odd = daemon.get("/v1/sessions?label=odd%3D1&label=all%3dyes").json["sessions"]
    assert [session["name"] for session in odd] == ["s1", "s3", "s5"]
    assert daemon.get("/v1/sessions?owner=12345").json["sessions"] == []


def listed(daemon):
    return {one["name"]: one for one in daemon.get("/v1/sessions").json["sessions"]}


def test_a_list_is_as_the_sessions_are_and_their_use_soon(daemon, sim):
    """Its texts are kept for a moment; what was changed, and who came in another's place, is never old."""
    daemon.create("a", gpus=["0"])
    assert listed(daemon) == {"a": daemon.session("a")}
    for memory in ("400MiB", "300MiB"):
        daemon.patch("/v1/sessions/a", {"memory": memory, "labels": {"now": memory}})
        assert listed(daemon) == {"a": daemon.session("a")}
    assert daemon.delete("/v1/sessions/a").status == 204
    daemon.create("b", gpus=["0"])
    assert listed(daemon) == {"b": daemon.session("b")}
    with Script(sim, ALIQUOT_SESSION="b") as gpu:
        gpu.ready().do(f"alloc 1 {100 * MIB}")
        exact = daemon.session("b")
        assert exact["processes"] == 1 and exact["devices"][0]["used_bytes"] >= 100 * MIB
        wait_for(lambda: listed(daemon) == {"b": exact})


def test_of_two_changes_by_the_same_version_one_is_refused(daemon):
    daemon.create("a")
    etag = daemon.get("/v1/sessions/a").headers["ETag"]
    assert daemon.patch("/v1/sessions/a", {"weight": 5}, If_Match=etag).status == 200
    stale = daemon.patch("/v1/sessions/a", {"weight": 6}, If_Match=etag)
    assert stale.status == 412 and daemon.session("a")["weight"] == 5, stale
    assert daemon.delete("/v1/sessions/a", If_Match=etag).status == 412
    assert daemon.patch("/v1/sessions/a", {"weight": 6}, If_Match="*").status == 200


def test_everything_that_can_be_said_of_a_session(daemon):
    first, second = (device["uuid"] for device in daemon.get("/v1/devices").json["devices"])
    made = daemon.post("/v1/sessions", {
        "name": "full", "memory": {"0": "64MiB", second: 1048576}, "compute": 50, "guarantee": "12.5%", "weight": 7,
        "priority": "rt", "context": "free", "ttl": "90m", "on_end": "term", "labels": {"b": "2", "a": "Grüße"}})
    assert made.status == 201 and made.headers["Location"] == "/v1/sessions/full", made
    session = made.json
    assert [(d["uuid"], d["memory_bytes"], d["compute_percent"], d["guarantee_percent"]) for d in session["devices"]] == [
        (first, 64 * MIB, 50, 12.5), (second, MIB, 50, 12.5)]
    assert (session["weight"], session["priority"], session["context"], session["on_end"]) == (7, "rt", "free", "term")
    assert session["labels"] == {"a": "Grüße", "b": "2"} and session["ttl_seconds"] == 5400
    changed = daemon.patch("/v1/sessions/full", {"memory": {second: "2MiB"}, "compute": 25, "ttl": None, "labels": {}}).json
    assert [(d["memory_bytes"], d["compute_percent"], d["guarantee_percent"]) for d in changed["devices"]] == [
        (64 * MIB, 25, 12.5), (2 * MIB, 25, 12.5)]
    assert changed["expires_at"] is None and changed["labels"] == {} and changed["on_end"] == "term"
    freed = daemon.patch("/v1/sessions/full", {"compute": None, "guarantee": None}).json
    assert {(d["compute_percent"], d["guarantee_percent"]) for d in freed["devices"]} == {(None, None)}
    assert session["gang"] is None
    for said, told in (("ranks", "ranks"), ("x" * 63, "x" * 63), (None, None), ("ranks", "ranks"), ("", None), ("none", None)):
        assert daemon.patch("/v1/sessions/full", {"gang": said}).json["gang"] == told
    assert daemon.post("/v1/sessions", {"name": "rank", "memory": "1MiB", "gang": "ranks"}).json["gang"] == "ranks"
    assert next(event for event in daemon.events() if event["session"] == "rank")["detail"]["gang"] == "ranks"
    shouted = daemon.post("/v1/sessions", {"name": "loud", "memory": "1MiB", "priority": "RT", "on_end": "Kill", "context": "FREE"}).json
    assert (shouted["priority"], shouted["on_end"], shouted["context"]) == ("rt", "kill", "free")
    assert daemon.patch("/v1/sessions/loud", {"priority": "Batch", "on_end": "DENY-NEW"}).json["priority"] == "batch"
    unnamed = daemon.post("/v1/sessions", {"memory": "1MiB"})
    assert re.fullmatch(r"s-[0-9a-f]{16}", unnamed.json["name"])


def test_a_cap_below_the_guarantee_is_refused_by_the_name_that_was_changed(daemon):
    daemon.create("a", compute=60, guarantee=20)
    for path, body, field, detail in (
            ("/v1/sessions/a", {"compute": 10}, "compute", "compute: 10 % is less than its guarantee, 20 %"),
            ("/v1/sessions/a", {"guarantee": 70.5}, "guarantee", "guarantee: 70.5 % is more than its cap (compute), 60 %"),
            ("/v1/sessions/a", {"compute": 10, "guarantee": 11}, "guarantee", "guarantee: 11 % is more than its cap (compute), 10 %"),
            ("/v1/sessions", {"memory": "1MiB", "compute": 10, "guarantee": 20}, "guarantee",
             "guarantee: 20 % is more than its cap (compute), 10 %")):
        refused = daemon.post(path, body) if path == "/v1/sessions" else daemon.patch(path, body)
        assert refused.status == 400 and (refused.json["field"], refused.json["detail"]) == (field, detail), refused
    assert daemon.names() == ["a"] and daemon.session("a")["version"] == 1


@pytest.mark.parametrize("given", (0.1, 33.3, "33.3%", 66.667, 99.999, 100))
def test_a_share_is_answered_as_it_was_given(daemon, given):
    """Also in the text: who compares what is written compares the same. A cap of 100 is none."""
    number = str(given).rstrip("%") + ("" if isinstance(given, (float, str)) else ".0")
    daemon.create("a", compute=given, guarantee=given)
    for path in ("/v1/sessions/a", "/v1/sessions"):
        text = daemon.get(path).text
        assert f'"compute_percent":{"null" if given == 100 else number},"guarantee_percent":{number}' in text, text
    created = next(event for event in daemon.events() if event["type"] == "created")
    assert created["detail"]["compute"] == float(number), created


# -- Methods and the description -------------------------------------------------------------------

def test_other_methods_are_told_which_there_are(daemon):
    daemon.create("a")
    for path, allowed in (("/v1/sessions", {"GET", "HEAD", "POST"}), ("/v1/sessions/a", {"GET", "HEAD", "PATCH", "DELETE"}),
                          ("/v1/sessions/a/renew", {"POST"}), ("/metrics", {"GET", "HEAD"})):
        for method in ("PUT", "OPTIONS", "TRACE", "BREW", *({"POST", "DELETE"} - allowed)):
            answer = daemon.ask(method, path)
            assert answer.status == 405 and set(answer.headers["Allow"].split(", ")) == allowed, (method, path, answer)
    assert daemon.get("/v1/nothing").status == daemon.get("/").status == daemon.get("/v1/sessions/a/").status == 404


def test_head_says_what_get_would(daemon):
    daemon.create("a")
    for path in ("/v1", "/v1/sessions", "/v1/sessions/a", "/v1/devices", "/openapi.json", "/v1/sessions/none"):
        get, head = daemon.get(path), daemon.ask("HEAD", path)
        assert head.status == get.status and head.text == "", path
        for name in ("Content-Length", "Content-Type", "ETag"):
            assert head.headers.get(name) == get.headers.get(name), (path, name)


def resolve(schema):
    while "$ref" in schema:
        target = SCHEMA
        for part in schema["$ref"].split("/")[1:]:
            target = target[part]
        schema = target
    return schema


TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def conforms(value, schema, where="$"):
    """What the description uses of JSON Schema, and no more."""
    schema = resolve(schema)
    known = {"type", "required", "properties", "additionalProperties", "items", "enum", "description", "format", "maxProperties",
             "maxLength", "minimum", "maximum", "examples"}
    assert set(schema) <= known, (where, set(schema) - known)
    if "enum" in schema:
        assert value in schema["enum"], where
    if "type" in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        good = tuple(kind for name in kinds for kind in ([TYPES[name]] if not isinstance(TYPES[name], tuple) else TYPES[name]))
        assert isinstance(value, good) and (bool in good or not isinstance(value, bool)), (where, value)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), (where, value)
        for key, part in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            assert inner is not False, f"{where}.{key} is not described"
            conforms(part, inner if isinstance(inner, dict) else {}, f"{where}.{key}")
    if isinstance(value, list):
        for part in value:
            conforms(part, schema.get("items", {}), f"{where}[]")


EXPECTED = [  # method, path, body, headers, status: every answer that the description has, but for those of other tests
    ("GET", "/v1", None, {}, 200), ("GET", "/healthz", None, {}, 200), ("GET", "/readyz", None, {}, 200),
    ("GET", "/openapi.json", None, {}, 200), ("GET", "/v1/devices", None, {}, 200), ("GET", "/v1/devices?x=1", None, {}, 400),
    ("GET", "/v1/devices/{uuid}", None, {}, 200), ("GET", "/v1/devices/{uuid}?x", None, {}, 400),
    ("GET", "/v1/policy", None, {}, 200), ("GET", "/v1/policy?x", None, {}, 400), ("POST", "/v1/policy/check", {}, {}, 200),
    ("POST", "/v1/policy/check", {"user": 7, "session": {"memory": "1MiB", "priority": "rt"}}, {}, 403),
    ("POST", "/v1/policy/check", {"user": 7, "groups": [7], "session": {"memory": "1MiB"}}, {}, 200),
    ("POST", "/v1/policy/check", {"user": "7"}, {}, 400), ("POST", "/v1/policy/check", {"groups": [-1]}, {}, 400),
    ("POST", "/v1/policy/check", {"users": 7}, {}, 400), ("POST", "/v1/policy/check", {"session": 7}, {}, 400),
    ("POST", "/v1/policy/check", {"profile": 7}, {}, 400),
    ("GET", "/v1/profiles", None, {}, 200), ("GET", "/v1/profiles?x=1", None, {}, 400), ("POST", "/v1/profiles", {"name": "gpu0-1MiB-30"}, {}, 201),
    ("POST", "/v1/profiles", {"name": "gpu0-1MiB-30"}, {}, 200), ("POST", "/v1/profiles", {"name": "large"}, {}, 400),
    ("POST", "/v1/profiles", {"name": "gpu0-1MiB-30", "x": 1}, {}, 400), ("POST", "/v1/profiles", "x" * 70000, {}, 413),
    ("POST", "/v1/profiles", "x", {"Content-Type": "a/b"}, 415), ("DELETE", "/v1/profiles/{profile}?x=1", None, {}, 400),
    ("DELETE", "/v1/profiles/{profile}", None, {}, 204), ("DELETE", "/v1/profiles/{profile}", None, {}, 404),
    ("GET", "/v1/processes", None, {}, 200), ("GET", "/v1/processes?x=1", None, {}, 400),
    ("POST", "/v1/sessions", {"name": "n", "memory": "1MiB"}, {}, 201), ("POST", "/v1/sessions", {}, {}, 400),
    ("POST", "/v1/sessions", {"name": "n", "memory": "1MiB"}, {}, 409), ("POST", "/v1/sessions", {"memory": "1TiB"}, {}, 409),
    ("POST", "/v1/sessions", {"memory": "900MiB", "gpus": {"count": 3}}, {}, 409),
    ("POST", "/v1/sessions", "x" * 70000, {}, 413), ("POST", "/v1/sessions", "x", {"Content-Type": "a/b"}, 415),
    ("GET", "/v1/sessions", None, {}, 200), ("GET", "/v1/sessions?x=1", None, {}, 400),
    ("GET", "/v1/sessions/{name}", None, {}, 200), ("PATCH", "/v1/sessions/{name}", {"weight": 1}, {}, 200),
    ("PATCH", "/v1/sessions/{name}", {"weight": 0}, {}, 400), ("PATCH", "/v1/sessions/{name}", {"memory": "2GiB"}, {}, 409),
    ("PATCH", "/v1/sessions/{name}", {"weight": 2}, {"If-Match": '"77"'}, 412), ("PATCH", "/v1/sessions/none", {"weight": 2}, {}, 404),
    ("PATCH", "/v1/sessions/{name}", "x" * 70000, {}, 413), ("PATCH", "/v1/sessions/{name}", "x", {"Content-Type": "a/b"}, 415),
    ("POST", "/v1/sessions/{name}/renew", {"ttl": "1h"}, {}, 200), ("POST", "/v1/sessions/{name}/renew", {"ttl": None}, {}, 400),
    ("POST", "/v1/sessions/none/renew", {}, {}, 404), ("GET", "/v1/sessions/{name}/processes", None, {}, 200),
    ("GET", "/v1/sessions/none/processes", None, {}, 404), ("GET", "/v1/sessions/none", None, {}, 404), ("GET", "/v1/devices/none", None, {}, 404),
    ("GET", "/v1/events?since=x", None, {}, 400), ("GET", "/v1/events?last=-1", None, {}, 400), ("GET", "/v1/events", None, {"Last-Event-ID": "x"}, 400),
    ("DELETE", "/v1/sessions/{name}?force=yes", None, {}, 400), ("DELETE", "/v1/sessions/{name}", None, {"If-Match": '"9"'}, 412),
    ("DELETE", "/v1/sessions/none", None, {}, 404), ("DELETE", "/v1/sessions/{name}", None, {}, 204),
]


def described(method, path, status):
    path = re.sub(r"\?.*", "", path)
    path = re.sub(r"^(/v1/profiles/)[^/]+", r"\1{name}", path)
    path = re.sub(r"^(/v1/sessions/)[^/]+", r"\1{name}", re.sub(r"^(/v1/devices/)[^/]+", r"\1{uuid}", path))
    return resolve(SCHEMA["paths"][path][method.lower()]["responses"][str(status)])


def test_every_answer_is_as_described(daemon):
    uuid = daemon.get("/v1/devices").json["devices"][0]["uuid"]
    for method, path, body, headers, status in EXPECTED:
        answer = daemon.ask(method, path.replace("{name}", "n").replace("{uuid}", uuid).replace("{profile}", "gpu0-1MiB-30"), body,
                            **{key.replace("-", "_"): value for key, value in headers.items()})
        assert answer.status == status, (method, path, answer)
        content = described(method, path, status).get("content", {})
        assert answer.headers.get("Content-Type") in (*content, None if not content else ""), (method, path, answer)
        for kind, entry in content.items():
            if kind.endswith("json"):
                conforms(answer.json, entry["schema"], f"{method} {path} {status}")


def test_every_path_that_is_described_is_served_and_no_other(daemon):
    served = set(re.findall(r'^        \{ "([A-Z]+)", "([^"]+)"', (SOURCE / "src/daemon/api/api.c").read_text(), re.M))
    written = {(method.upper(), re.sub(r"\{\w+\}", "{}", path)) for path, item in SCHEMA["paths"].items()
               for method in item if method != "parameters"}
    assert served == written
    assert json.loads(daemon.get("/openapi.json").text) == SCHEMA


def test_every_field_that_is_described_is_known_and_no_other():
    text = (SOURCE / "src/daemon/api/api_body.c").read_text()
    table = text[text.index("} fields[] = {"):]
    known = dict(re.findall(r'\{ "(\w+)", \w+, (true|false) \}', table[:table.index("};")]))
    schemas = SCHEMA["components"]["schemas"]
    assert set(known) == set(schemas["NewSession"]["properties"])
    assert {name for name, is_changeable in known.items() if is_changeable == "true"} == set(schemas["SessionChange"]["properties"])


# -- Over TCP --------------------------------------------------------------------------------------

def test_over_tcp_changes_take_the_token(tcp):
    """A session that is made with the token belongs to the daemon's own user."""
    body = {"name": "a", "memory": "1MiB"}
    assert tcp.get("/v1/sessions", tcp=True).status == 200
    missing = tcp.post("/v1/sessions", body, tcp=True)
    assert missing.status == 401 and missing.headers["WWW-Authenticate"].startswith("Bearer")
    for wrong in ("Bearer " + TOKEN[:-1], "Bearer " + TOKEN + "x", "Bearer ", "Basic " + TOKEN, TOKEN):
        for method, sent in (("POST", body), ("GET", None)):
            answer = tcp.ask(method, "/v1/sessions", sent, tcp=True, Authorization=wrong)
            assert answer.status == 401 and TOKEN not in answer.text, (wrong, answer)
    assert tcp.names() == []
    made = tcp.post("/v1/sessions", body, tcp=True, Authorization="Bearer " + TOKEN)
    assert (made.status, made.json["owner"]) == (201, os.getuid()), made
    assert tcp.delete("/v1/sessions/a", tcp=True, Authorization="bearer " + TOKEN).status == 204
    assert TOKEN not in tcp.said()


def test_without_a_token_file_nothing_is_changed_over_tcp(sim):
    daemon = Daemon(sim).start("--http=127.0.0.1:0")
    answer = daemon.post("/v1/sessions", GOOD, tcp=True)
    assert answer.status == 403 and "token_file" in answer.json["detail"], answer
    assert daemon.post("/v1/sessions", GOOD, tcp=True, Authorization="Bearer ").status == 401


def test_a_name_that_leads_here_from_elsewhere_is_refused(tcp):
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", ""):
        answer = tcp.get("/v1/sessions", tcp=True, Host=host)
        assert answer.status == 421 and answer.json["field"] == "Host", (host, answer)
    for host in ("127.0.0.1", f"127.0.0.1:{tcp.port}", "localhost", "[::1]:80"):
        assert tcp.get("/v1/sessions", tcp=True, Host=host).status == 200, host
    assert "Access-Control-Allow-Origin" not in tcp.get("/v1", tcp=True, Origin="http://evil.example").headers


def test_the_token_can_be_asked_for_to_read_too(tcp):
    tcp.reload("[http]\ntoken_required = yes\n")
    assert tcp.get("/v1/sessions", tcp=True).status == 401
    assert tcp.get("/metrics", tcp=True).status == 401
    assert tcp.get("/healthz", tcp=True).status == 200
    assert tcp.get("/v1/sessions", tcp=True, Authorization="Bearer " + TOKEN).status == 200
    assert tcp.get("/v1/sessions").status == 200


# -- Events and metrics ----------------------------------------------------------------------------

def test_events_go_on_over_a_restart_without_a_gap(daemon):
    daemon.create("a")
    daemon.patch("/v1/sessions/a", {"weight": 5})
    daemon.kill().start()
    daemon.delete("/v1/sessions/a")
    events = []
    for event in daemon.events():
        events.append(event)
        conforms(event, SCHEMA["components"]["schemas"]["Event"])
        if event["type"] == "gone":
            break
    assert [e["type"] for e in events if e["session"] == "a"] == ["created", "changed", "released", "gone"]
    ids = [event["id"] for event in events]
    assert ids == sorted(set(ids))
    assert events[2]["session"] == "a" and events[2]["who"].startswith("uid ")
    later = list(daemon.events(since=ids[-3], most=2))
    assert [event["id"] for event in later] == ids[-2:]


def test_who_listens_hears_at_once(daemon):
    connection = daemon.connection()
    connection.request("GET", "/v1/events?session=b")
    stream = connection.getresponse()
    daemon.create("a")
    daemon.create("b")
    lines = [stream.readline().decode().rstrip() for _ in range(4)]
    assert lines[1] == "event: created" and json.loads(lines[2][6:])["session"] == "b" and lines[3] == "", lines
    connection.close()


def test_many_events_are_read_from_the_beginning(daemon):
    daemon.create("a")
    for weight in range(2, 502):
        assert daemon.patch("/v1/sessions/a", {"weight": weight}).status == 200
    changed = [event for event in daemon.events(most=503) if event["type"] == "changed"]
    assert len(changed) == 500
    assert [event["detail"]["version"] for event in changed] == list(range(2, 502))


def test_metrics_count_what_happened(daemon):
    uuid = daemon.get("/v1/devices").json["devices"][0]["uuid"]
    before = daemon.metrics()
    daemon.create("a", "512MiB", gpus=["0"])
    daemon.post("/v1/sessions", {"memory": "2GiB"})
    daemon.post("/v1/sessions", {"memory": "900MiB", "gpus": ["0"]})
    after = daemon.metrics()
    assert after['aliquot_sessions{state="open"}'] == 1
    assert after[f'aliquot_gpu_promised_bytes{{gpu="{uuid}"}}'] == 512 * MIB
    assert after["aliquot_sessions_admitted_total"] == before["aliquot_sessions_admitted_total"] + 1
    assert after['aliquot_sessions_refused_total{reason="no-room"}'] == 1
    assert after['aliquot_sessions_refused_total{reason="no-gpu"}'] == 1
    assert after['aliquot_http_requests_total{class="sessions",code="409"}'] == 2
    assert not any("session=" in name for name in after)
    daemon.reload("[metrics]\nsessions = yes\n")
    assert daemon.metrics()[f'aliquot_session_memory_limit_bytes{{session="a",gpu="{uuid}"}}'] == 512 * MIB


def test_prometheus_finds_nothing_wrong_with_the_metrics(daemon):
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("promtool (Debian's package prometheus) is not installed")
    daemon.reload("[metrics]\nsessions = yes\n")
    daemon.create("a")
    checked = subprocess.run([promtool, "check", "metrics"], input=daemon.get("/metrics").text, capture_output=True, text=True,
                             timeout=HANG_SECONDS, check=False)
    assert checked.returncode == 0 and checked.stderr == "", checked


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_prometheus_scrapes_it(tcp, sim):
    if not shutil.which("prometheus"):
        pytest.skip("Prometheus (Debian's package prometheus) is not installed")
    config, port = sim.folder / "prometheus.yml", free_port()
    config.write_text("scrape_configs: [{job_name: aliquot, scrape_interval: 1s, scrape_timeout: 1s, "
                      f"static_configs: [{{targets: ['127.0.0.1:{tcp.port}']}}]}}]\n")
    tcp.create("a")
    sim.start(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={sim.folder / 'tsdb'}",
               f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"])

    def scraped():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query=aliquot_sessions", timeout=5) as answer:
                found = json.load(answer)["data"]["result"]
        except OSError:
            return None
        return {one["metric"]["state"]: one["value"][1] for one in found}

    wait_for(scraped, tcp.said)
    assert scraped() == {"open": "1", "ending": "0", "killing": "0"}


def test_devices_tell_what_is_promised_and_what_is_left(daemon):
    daemon.create("a", "300MiB", gpus=["1"])
    wait_for(lambda: daemon.get("/v1/devices").json["trouble"] is None)
    first, second = daemon.get("/v1/devices").json["devices"]
    assert (first["promised_bytes"], first["room_bytes"], first["sessions"]) == (0, 1024 * MIB, 0)
    assert (second["promised_bytes"], second["room_bytes"], second["sessions"]) == (300 * MIB, 724 * MIB, 1)
    assert daemon.get(f"/v1/devices/{second['uuid']}").json["index"] == 1


# -- The pages -------------------------------------------------------------------------------------

PAGE = {name: (SOURCE / "docs" / name).read_text() for name in ("api.md", "api-session.md", "api-events.md", "metrics.md")}


def test_the_page_lists_every_metric_and_no_other(daemon):
    daemon.reload("[metrics]\nsessions = yes\n")
    daemon.create("a")
    served = set(re.findall(r"^# TYPE (\w+) ", daemon.get("/metrics").text, re.M))
    assert served == set(re.findall(r"`((?:aliquot|process)_\w+)`", PAGE["metrics.md"]))


def test_the_page_lists_every_problem_path_and_field():
    source = "".join(path.read_text() for path in (SOURCE / "src/daemon").rglob("*.c"))
    kinds = set(re.findall(r'(?:api_refuse|http_problem)\([^;]*?\d{3},\s*"([a-z-]+)"', source)) | {"no-room", "no-gpu"}
    table = PAGE["api.md"][PAGE["api.md"].index("## Refusals"):]
    assert len(kinds) > 10 and kinds <= set(re.findall(r"`([a-z-]+)`", table)), kinds
    for path in SCHEMA["paths"]:
        assert f"`{path}`" in PAGE["api.md"], path
    for name in SCHEMA["components"]["schemas"]["NewSession"]["properties"]:
        assert f"`{name}`" in PAGE["api-session.md"], name
    for name in SCHEMA["components"]["schemas"]["Event"]["properties"]["type"]["enum"]:
        assert f"`{name}`" in PAGE["api-events.md"], name
