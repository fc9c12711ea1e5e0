# SPDX-License-Identifier: Apache-2.0
"""What the daemon's API is asked wrongly is refused by the name of the field, and nothing is changed."""
import json

import pytest

from daemon import Daemon
from node import Node

GOOD = {"name": "new", "memory": "1MiB"}
BAD_FIELDS = [
    ("name", 7), ("name", ""), ("name", ".hidden"), ("name", "a/b"), ("name", "env-0123456789abcdef"), ("name", "x" * 64),
    ("memory", 0), ("memory", -1), ("memory", 1.5), ("memory", "lots"), ("memory", None), ("memory", []), ("memory", {}),
    ("memory", {"9": "1MiB"}), ("memory", {"GPU-ffff": "1MiB"}), ("memory", {"0": 0}), ("memory", "101%"), ("memory", {"0,1": "1MiB"}),
    ("gpus", "0"), ("gpus", []), ("gpus", ["7"]), ("gpus", [0]), ("gpus", ["0", "0"]), ("gpus", {"color": 1}),
    ("gpus.count", {"gpus": {"count": 0}}), ("gpus.count", {"gpus": {"count": 17}}), ("gpus.choice", {"gpus": {"choice": "best"}}),
    ("gpus.free_least", {"gpus": {"free_least": "much"}}), ("compute", 0), ("compute", 0.0999), ("compute", 100.1), ("compute", "33.3333%"),
    ("compute", 101), ("compute", -1), ("compute", "0"), ("compute", "101%"), ("compute", "fast"), ("compute", "NaN"), ("compute", True),
    ("compute", []), ("guarantee", True), ("guarantee", 101), ("guarantee", 0.01), ("guarantee", "nan"),
    ("weight", 0), ("weight", 10001), ("weight", "1"), ("priority", "high"), ("priority", 1), ("context", "none"),
    ("gang", 1), ("gang", ["a"]), ("gang", "a b"), ("gang", ".a"), ("gang", "x" * 64),
    ("ttl", 0), ("ttl", -5), ("ttl", "soon"), ("ttl", []), ("ttl", 1e300), ("ttl", 3.2e9), ("ttl", "99999999h"), ("on_end", "explode"), ("on_end", None),
    ("labels", []), ("labels", {"a": 1}), ("labels", {"": "x"}), ("labels", {"a": "x" * 65}), ("labels", {"x" * 64: "a"}), ("labels", {"a": "two\nlines"}),
    ("labels", {str(i): "x" for i in range(17)}), ("labels", {str(i): "x" * 60 for i in range(10)}),
    ("owner", -1), ("owner", "root"), ("colour", "blue"), ("Memory", "1MiB"),
]


@pytest.fixture(scope="module")
def bad_input(build):
    """One daemon for all: that is the point, nothing may come of any of it."""
    node = Node(build)
    node.configure(gpus=2, memory="1GiB")
    daemon = Daemon(node).start()
    daemon.create("there")
    yield daemon
    assert daemon.session("there")["version"] == 1
    node.close()


@pytest.mark.parametrize("field, value", BAD_FIELDS, ids=lambda v: str(v)[:24])
def test_a_bad_field_is_named(bad_input, field, value):
    body = {**GOOD, **value} if "." in field else {**GOOD, field: value}
    answer = bad_input.post("/v1/sessions", body)
    assert answer.status == 400 and answer.json["field"] == field, answer
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert field in answer.json["detail"] and "\n" not in answer.json["detail"]
    assert bad_input.names() == ["there"] == bad_input.folders()


def test_a_misspelt_field_is_named_and_not_the_one_that_is_missed_for_it(bad_input):
    answer = bad_input.post("/v1/sessions", {"memori": "1MiB"})
    assert answer.status == 400 and answer.json["field"] == "memori" and "unknown-field" in answer.json["type"], answer


@pytest.mark.parametrize("field, value", [
    ("name", "other"), ("gpus", ["1"]), ("context", "free"), ("owner", 1), ("memory", {"GPU-ffff": 1}), ("memory", {"1": "1MiB"}),
    ("memory", "none"), ("colour", 1), ("body", None)], ids=str)
def test_a_bad_change_is_named(bad_input, field, value):
    answer = bad_input.patch("/v1/sessions/there", {} if field == "body" else {field: value})
    assert answer.status == 400 and answer.json["field"] == field, answer


@pytest.mark.parametrize("body, status", [
    ("", 400), ("{", 400), ("[]", 400), ("7", 400), ('{"name":"a","name":"b","memory":1}', 400), (b'{"name":"\xff","memory":1}', 400),
    ('{"memory":1}x', 400), ("[" * 100000, 413), ("[" * 3000, 400), ('{"name":"a\\u0000b","memory":1}', 400)],
    ids=lambda v: str(v)[:16])
def test_a_body_that_is_no_json_object(bad_input, body, status):
    assert bad_input.post("/v1/sessions", body).status == status
    assert bad_input.names() == ["there"]


def test_other_media_types_are_refused(bad_input):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        answer = bad_input.post("/v1/sessions", json.dumps(GOOD), Content_Type=kind)
        assert answer.status == 415 and answer.json["field"] == "Content-Type", answer


@pytest.mark.parametrize("query, field", [
    ("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("after=.", "after"), ("owner=me", "owner"),
    ("label=x", "label"), ("clamped=1", "clamped"), ("reported=1", "reported"), ("colour=1", "colour"), ("limit=%zz", "query")])
def test_a_bad_parameter_is_named(bad_input, query, field):
    answer = bad_input.get(f"/v1/sessions?{query}")
    assert answer.status == 400 and answer.json["field"] == field, answer


@pytest.mark.parametrize("said", ["1", '"x"', '"1', 'W/"1"', '"99999999999999999999"', '"0"'])
def test_a_bad_if_match_is_named(bad_input, said):
    answer = bad_input.patch("/v1/sessions/there", {"weight": 5}, If_Match=said)
    assert answer.status == 400 and answer.json["field"] == "If-Match", answer
