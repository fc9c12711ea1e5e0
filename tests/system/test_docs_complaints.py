# SPDX-License-Identifier: Apache-2.0
"""docs/complaints.md cannot rot: what it cites is there, and no row is without an answer."""
import re

import pytest

from build import SOURCE

PAGE = SOURCE / "docs/complaints.md"
CITATION = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


@pytest.fixture(scope="module")
def text():
    return PAGE.read_text()


def stories_of(file):
    return set(re.findall(r"^def (test_\w+)\(", (SOURCE / "tests/system" / file).read_text(), re.MULTILINE))


def rows(text):
    """(number, the other cells) of each row of the tables; a row without a number goes on."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in text.splitlines() if line.startswith("|")]
    return [(row[0], row[1:]) for row in cells if row[0] != "#" and not row[0].startswith("---")]


def test_every_test_that_is_named_is_there(text):
    cited = set(CITATION.findall(text))
    assert len(cited) > 30
    missing = {f"{file}::{name}" for file, name in cited if name not in stories_of(file)}
    assert not missing, missing
    unusual = set(re.findall(r"`(test_\w+\.py::[^`]*)`", text)) - {"::".join(each) for each in cited}
    assert not unusual, "a citation that is not checked"


def test_every_test_that_the_page_of_shares_names_is_there():
    """There a name without its file goes on in the file before it."""
    file, missing = None, []
    for other, name in re.findall(r"`(?:(test_\w+\.py)::)?(test_\w+)`", (SOURCE / "docs/compute-promises.md").read_text()):
        file = other or file
        missing += [] if name in stories_of(file) else [f"{file}::{name}"]
    assert file and not missing, missing


def test_the_rows_are_whole(text):
    found = rows(text)
    assert [number for number, _ in found if number] == [str(i) for i in range(1, 37)]
    for number, cells in found:
        complaint, reason, shown, left = cells
        assert re.search(r"#\d+", complaint), f"{number}: no source"
        assert (reason and CITATION.search(shown)) or left == "not built yet", (number, cells)


def test_the_stories_of_complaints_are_on_the_page(text):
    """Both ways: a story of test_complaints.py answers a row, by the row's number."""
    stories = (SOURCE / "tests/system/test_complaints.py").read_text()
    told = re.findall(r'^def (test_\w+)\(.*\n    """([\d, ]+):', stories, re.MULTILINE)
    assert {name for name, _ in told} == stories_of("test_complaints.py")
    by_number = {number: " ".join(cells) for number, cells in rows(text) if number}
    for name, numbers in told:
        for number in numbers.split(", "):
            assert f"test_complaints.py::{name}`" in by_number[number], (name, number)
