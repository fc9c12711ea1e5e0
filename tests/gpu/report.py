#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpu-report FOLDER... [--page FILE]

Turns the results of one or more runs of gpu-check into one page in the form of docs/results (FILE),
and says which questions of docs/gpu-check.md remain unproven on hardware, and which rows
docs/comparison.md can have. FOLDER: every results.json below it, under whatever name; files can be
given, too.

Of several tellings of a story the last one counts that came to an end. Runs are ordered by their
begin; those that do not have it (2026-11-26) by the ordinal number that their file's name begins
with. A rehearsal proves nothing: it is left out.
"""
import argparse
import collections
import json
import pathlib
import re
import sys

import page
from runner import FINAL, IN_PROGRESS, stories_of

HERE = pathlib.Path(__file__).resolve().parent
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
MIB = 1 << 20

Run = collections.namedtuple("Run", "place name command stories")

# A row of docs/comparison.md: what it says, the story, and the figure's name, of which a group stands in the text.
ROWS = (
    ("{}: ledger and NVML, furthest apart", "torch-books", r"(PyTorch): NVML's bytes .*furthest apart"),
    ("PyTorch at its limit, {}: NVML's bytes beyond it", "torch-oom torch-expandable torch-async",
     r"(.*): NVML's bytes of the process beyond the limit"),
    ("PyTorch training, metered, alone in a daemon's session, over bare: {}", "torch-metered",
     r"(.*): training steps a second.*over without.*"),
    ("PyTorch training under a limit on memory over bare: {}", "torch-throughput",
     r"(.*): training steps a second.*over without.*"),
    ("caps of 10 to 90 %, kernels of 200 us, by the kernels' time stamps: {}", "compute-caps",
     r"kernel, 200 us, caps 10 to 90 %: (mean error|worst second)"),
    ("cap of 30 % on {}: error", "compute-kinds", r"(.*), 30 %: error"),
    ("two sessions capped at {}", "compute-pairs", r"(.*): worst error.*"),
    ("{}", "compute-weights", r"(four of weights.*|the four together)"),
    ("{}", "compute-full", r"(two without caps, .*: together, of one alone without (?:us|Aliquot)|.*over without.*)"),
    ("a cap changed, {}", "compute-change", r"(\d+ to \d+ %: .*)"),
    ("a killed program's bytes are back in the ledger after{}", "daemon", r"a dead program's bytes are back in the ledger after()"),
    ("launch, added: {}", "compute-launch", r"(.*): launch-p50, added.*"),
    ("call, added: {}", "costs", r"(.*), added: median.*"),
)


def place_of(began, name):
    ordinal = next((at for at, word in enumerate(ORDINALS) if name.startswith(word)), len(ORDINALS))
    return began, ordinal, name


def read_runs(paths):
    """(the runs in their order, names of files that are none)"""
    runs, left_out = [], []
    for path in paths:
        files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
        for file in files:
            whole, stories = (stories_of(file.parent) if file.name in ("results.json", IN_PROGRESS) else
                              (json.loads(file.read_text(encoding="utf-8")), None))
            if file.name == IN_PROGRESS and whole:
                continue  # its results.json has told of it
            if stories is None and "stories" in whole:
                stories = {story["name"]: story for story in whole["stories"]}
            whole = whole or {}
            name = str(file.relative_to(path)) if path.is_dir() else file.name
            if not stories or whole.get("rehearsal"):
                left_out.append(name)
                continue
            began = whole.get("began", whole.get("date", ""))
            runs.append(Run(place_of(began, name), name, whole.get("command", "not known"), stories))
    return sorted(runs), left_out


def merge(runs):
    """{name: story}, each with the runs that have told it."""
    merged, told = {}, collections.defaultdict(list)
    for run in runs:
        for name, story in run.stories.items():
            told[name].append((run.name, story["verdict"]))
            if name not in merged or story["verdict"] in FINAL or merged[name][1]["verdict"] not in FINAL:
                merged[name] = run.name, story
    whole = {}
    for name, (source, story) in merged.items():
        others = ", ".join(f"{run} ({verdict})" for run, verdict in told[name] if run != source)
        whole[name] = {**story, "told": f"From {source}" + (f"; told in {others} as well" if others else "")}
    return whole


def questions():
    """[(question, names of stories)] of the documentation's tables, which lies elsewhere in a bundle."""
    places = (HERE.parents[1] / "docs/gpu-check.md", HERE.parent / "README.md")
    lines = next(place for place in places if place.exists()).read_text(encoding="utf-8").splitlines()
    found, within = [], False
    for line in lines:
        within = line.startswith("| question | story |") or within and line.startswith("|")
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if within and "`" in line:
            found.append((cells[0], re.findall(r"`([^`]+)`", cells[1])))
    return found


def why_unproven(story):
    """"" where it passed."""
    if story is None:
        return "not told"
    if story["verdict"] == "passed":
        return ""
    broken = [claim["what"] for claim in story["claims"] if not claim["holds"]]
    reason = "; ".join(broken) or (story["notes"] or [""])[-1]
    return f"{story['verdict']}{': ' if reason else ''}{reason[:200]}"


def missed(story):
    return [f"{figure['what']} {page.number(figure['value'], figure['unit'])} ({page.reach(figure)[0]})"
            for figure in story["figures"] if figure["reached"] is False]


def judge(stories):
    """(how many questions there are, lines for those unproven, lines for those whose figures miss)"""
    unproven, short, asked = [], [], questions()
    for question, names in asked:
        reasons = {name: why_unproven(stories.get(name)) for name in names}
        if any(reasons.values()):
            unproven.append(f"- {question} " + "; ".join(f"`{name}` {reason}" for name, reason in reasons.items() if reason))
        figures = [f"`{name}`: {figure}" for name in names if name in stories for figure in missed(stories[name])]
        if figures:
            short.append(f"- {question} " + "; ".join(figures))
    return len(asked), unproven, short


def amount(value, unit):
    if unit == "B" and value is not None and abs(value) >= MIB:
        return f"{value / MIB:.1f} MiB"
    return page.number(value, unit)


def shown(figure):
    """The value, for a pair what each has, and what was to be reached."""
    value, unit, raw = figure["value"], figure["unit"], figure["raw"]
    text = amount(value, unit)
    if "worst error" in figure["what"] and raw:
        text = f"{'/'.join(f'{one:.1f}' for one in raw)}, worst error {text}"
    for key, sign in (("at_most", "<="), ("at_least", ">=")):
        if figure[key] is not None:
            return f"{text}{'' if figure['reached'] else ': misses its target'} ({sign} {amount(figure[key], unit)})"
    return text


def readme_rows(stories, card, date):
    rows = []
    for text, names, pattern in ROWS:
        for name in names.split():
            for figure in stories.get(name, {"figures": []})["figures"]:
                match = re.fullmatch(pattern, figure["what"])
                if match:
                    rows.append(f"| {text.format(match.group(1))} | {shown(figure)} | | {card}, {date[5:]} |")
    return rows


def write_page(file, whole, runs, judged, folders):
    count, unproven, short = judged
    intro = ["Runs, in their order:", "", *(f"- `{run.name}`: `{run.command}`" for run in runs), "",
             f"Of {count} questions of docs/gpu-check.md {count - len(unproven)} are answered as they should be.", ""]
    for heading, lines in (("## Unproven", unproven), ("## Figures that miss what was to be reached", short)):
        intro += [heading, "", *(lines or ["None."]), ""]
    command, raw = " ".join(["tools/gpu-report", *folders]), ", ".join(folders)
    stories = [{**story, "notes": [*story["notes"], story["told"]]} for story in whole["stories"]]
    file.write_text(page.render({**whole, "command": command, "raw": raw, "stories": stories}, intro), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("folders", type=pathlib.Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--page", type=pathlib.Path)
    options = parser.parse_args()
    gone = [str(path) for path in options.folders if not path.exists()]
    if gone:
        sys.exit(f"gpu-report: {', '.join(gone)}: not there")
    runs, left_out = read_runs(options.folders)
    if left_out:
        print(f"Left out, as no results of a card: {', '.join(left_out)}\n")
    if not runs:
        sys.exit("gpu-report: no results of a card")
    stories = merge(runs)
    whole = {"date": runs[-1].place[0][:10], "rehearsal": False, "stories": list(stories.values())}
    card = stories.get("machine", {"facts": {}})["facts"].get("card", "a GPU")
    judged = count, unproven, short = judge(stories)
    print(f"{count} questions, unproven {len(unproven)}:", *unproven, sep="\n")
    print("\nFigures that miss what was to be reached:", *short, sep="\n")
    print("\nRows for docs/comparison.md:", *readme_rows(stories, card, whole["date"]), sep="\n")
    if options.page:
        write_page(options.page, whole, runs, judged, [str(path) for path in options.folders])
        print(f"\nPage: {options.page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
