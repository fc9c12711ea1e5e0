# SPDX-License-Identifier: Apache-2.0
"""The page of a run, in the form of docs/results: what was run on what, every figure with what it
should reach, every claim that did not hold, and why each story was skipped."""

HEADING = {"passed": "passed", "failed": "**failed**", "skipped": "skipped", "crashed": "**crashed**",
           "hung": "**hung**", "cut off": "**cut off**", "not reached": "not reached"}


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def number(value, unit):
    if value is None:
        return "not known"
    if isinstance(value, float):
        return f"{value:.4g} {unit}".strip()
    return f"{value:,} {unit}".strip() if isinstance(value, int) else f"{value} {unit}".strip()


def reach(figure):
    for key, sign in (("at_most", "<="), ("at_least", ">=")):
        if figure[key] is not None:
            return f"{sign} {figure[key]:,}", "yes" if figure["reached"] else "**no**"
    return "", ""


def machine(stories):
    facts = next((story["facts"] for story in stories if story["name"] == "machine"), {})
    lines = []
    for name in ("card", "driver", "cuda", "kernel", "libc", "cpus", "python", "capacity"):
        if name in facts:
            lines.append(f"| {name} | {cell(facts[name])} |")
    for package, version in facts.get("packages", {}).items():
        lines.append(f"| {package} | {version} |")
    return ["| machine | |", "|---|---|", *lines, ""] if lines else []


def tell_story(story, is_rehearsal):
    lines = [f"## {story['name']}: {HEADING.get(story['verdict'], story['verdict'])}", "",
             story["about"] + ".", ""]
    held = [claim for claim in story["claims"] if claim["holds"]]
    for claim in story["claims"]:
        if not claim["holds"]:
            lines += [f"- **not so**: {cell(claim['what'])}: `{cell(claim['detail'])[:400]}`"]
    if held:
        lines += [f"- {len(held)} of {len(story['claims'])} claims hold: " +
                  "; ".join(cell(claim["what"]) for claim in held)]
    lines += [f"- {cell(note)}" for note in story["notes"]]
    if story.get("traceback"):
        lines += ["", "```", story["traceback"].strip(), "```"]
    if story["figures"]:
        lines += ["", "| what | measured | to reach | reached |", "|---|---|---|---|"]
        for figure in story["figures"]:
            wanted, reached = reach(figure)
            lines.append(f"| {cell(figure['what'])} | {number(figure['value'], figure['unit'])} | "
                         f"{wanted} | {'' if is_rehearsal else reached} |")
    for table in story["tables"]:
        lines += ["", "| " + " | ".join(map(cell, table["columns"])) + " |",
                  "|---" * len(table["columns"]) + "|"]
        lines += ["| " + " | ".join(cell(value) if isinstance(value, str) else number(value, "")
                                    for value in row) + " |"
                  for row in table["rows"]]
    return lines + [""]


def render(whole, intro=()):
    """`intro`: lines that come before the stories."""
    stories = whole["stories"]
    facts = next((story["facts"] for story in stories if story["name"] == "machine"), {})
    card = "simulated card, a rehearsal" if whole["rehearsal"] else facts.get("card", "a GPU")
    counts = {}
    for story in stories:
        counts[story["verdict"]] = counts.get(story["verdict"], 0) + 1
    lines = [f"# {whole['date']}: {card}", "", f"`{whole['command']}`", ""]
    if whole["rehearsal"]:
        lines += ["Nothing here ran on hardware: the driver is the simulated one, and stand-ins play the",
                  "frameworks. It shows that the script works; its figures mean nothing.", ""]
    lines += machine(stories)
    lines += [", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) +
              f". Raw data, with every program's command, end and last words: `{whole.get('raw', 'results.json')}`.", ""]
    lines += intro
    for story in stories:
        lines += tell_story(story, whole["rehearsal"])
    return "\n".join(lines)
