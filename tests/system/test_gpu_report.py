# SPDX-License-Identifier: Apache-2.0
"""tools/gpu-report: results of several runs become one page, and what is unproven is said."""
import json
import subprocess

import pytest

RECORDED = "docs/results/2026-11-26-h200"


def story(name, verdict="passed", figures=(), **more):
    return {"name": name, "about": f"about {name}", "verdict": verdict, "claims": [], "figures": list(figures), "tables": [],
            "notes": [], "facts": {}, "programs": [], "seconds": 1, **more}


def figure(what, value, unit="", at_most=None, raw=None):
    return {"what": what, "value": value, "unit": unit, "at_most": at_most, "at_least": None, "raw": raw,
            "reached": None if at_most is None else value <= at_most}


@pytest.fixture
def report(build, tmp_path):
    """Writes runs, {path: (its begin, its stories)}, and gives what is said of them, and the page."""
    def tell(runs=None, folder=tmp_path / "runs", rehearsal=False, rc=0):
        for place, (began, stories) in (runs or {}).items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(json.dumps({"date": "2026-12-01", **({"began": began} if began else {}), "stories": stories,
                                                    "rehearsal": rehearsal, "command": f"check.py {place}"}))
        page = tmp_path / "page.md"
        done = subprocess.run([build.source / "tools/gpu-report", folder, "--page", page], capture_output=True, text=True,
                              check=False)
        assert done.returncode == rc, done
        return done.stdout + done.stderr, page.read_text() if page.exists() else None
    return tell


def line_with(said, word):
    return next(line for line in said.splitlines() if word in line)


def test_questions_are_proven_by_their_stories(report):
    said, _ = report({"results.json": ("2026-12-01T10:00", [
        story("contracts"), story("draining", "failed", claims=[{"what": "it is over", "holds": False, "detail": ""}]),
        story("nvidia-smi"), story("pynvml", "skipped", notes=["no pynvml"])])})
    assert "`contracts`" not in said, "proven, and all its figures are reached"
    assert "`draining` failed: it is over" in said
    assert line_with(said, "`pynvml`").endswith("`pynvml` skipped: no pynvml"), "the story beside it is not named"
    assert "`sticky` not told" in said


def test_the_last_telling_that_came_to_an_end_counts(report):
    said, page = report({
        "b/results.json": ("2026-12-01T10:00", [story("draining", "failed"), story("contracts")]),
        "a/results.json": ("2026-12-01T11:00", [story("draining"), story("contracts", "not reached")])})
    assert "draining" not in said.partition("Rows")[0] and "contracts" not in said.partition("Rows")[0], said
    assert "From a/results.json; told in b/results.json (failed) as well" in page


def test_runs_without_their_begin_are_ordered_by_their_names(report):
    said, _ = report({"fourth.json": (None, [story("contracts")]), "third.json": (None, [story("contracts", "failed")]),
                      "second.json": (None, [story("sticky", "failed")]), "first.json": (None, [story("sticky")])})
    assert "`contracts` failed" not in said and "`sticky` failed" in said


def test_figures_become_rows_and_misses(report):
    said, page = report({"results.json": ("2026-12-01T10:00", [
        story("machine", facts={"card": "NVIDIA B1"}),
        story("compute-pairs", figures=[figure("30/70, kernels of 2 ms: worst error (others: 1/2)", 2.25, "points", 1, [29.31, 67.75])]),
        story("torch-oom", figures=[figure("caching allocator: NVML's bytes of the process beyond the limit", -3 << 20, "B", 32 << 20)])])})
    assert ("| two sessions capped at 30/70, kernels of 2 ms | 29.3/67.8, worst error 2.25 points: misses its target (<= 1 points) | | "
            "NVIDIA B1, 12-01 |") in said
    assert "beyond it | -3.0 MiB (<= 32.0 MiB) |" in said
    assert "`compute-pairs`: 30/70" in said.partition("Figures that miss")[2].partition("Rows")[0]
    assert page.startswith("# 2026-12-01: NVIDIA B1") and "## compute-pairs: passed" in page


def test_a_killed_runs_last_story_is_told(report, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/in-progress.json").write_text(json.dumps(story("sticky", None, [figure("found", 7)])))
    said, page = report()
    assert "`sticky` cut off" in said and "| found | 7 |" in page


def test_a_rehearsal_proves_nothing(report):
    said, page = report({"results.json": ("2026-12-01T10:00", [story("contracts")])}, rehearsal=True, rc=1)
    assert "no results of a card" in said and page is None


def test_the_recorded_runs_become_a_page(build, report):
    said, page = report(folder=build.source / RECORDED)
    assert "Left out, as no results of a card: contracts.json" in said
    assert "| two sessions capped at 30/60, kernels of 200 us | 29.6/60.0, worst error 0.4487 points (<= 1 points) |" in said
    assert "`torch-throughput` not told" in said
    assert page.startswith("# 2026-11-26: NVIDIA H200") and "## torch-books: passed" in page
