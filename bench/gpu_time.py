# SPDX-License-Identifier: Apache-2.0
"""GPU time: what programs of many kinds are given, what is billed, and what calls of the driver that adds; beside what the first
meter gave (it estimated the cost of each kernel; this one bills the time in which a session has work in flight).

    gpu_time.py [--json FILE] [--page FILE] [ROW...]    rows whose names contain one of the words; without words all

ALIQUOT_BUILD is the build that is measured, ALIQUOT_BENCH_PROGRAMS the one that the programs come from, if it is another.
--json writes a record like that of the first meter, --page the table as Markdown.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys

import gpu_time_rows
from mixes import BUILD, SPEC, Failed
from report import circumstances, write_json

FIRST_METER = pathlib.Path(__file__).resolve().parents[1] / "docs/results/2026-11-23-gpu-time/first-meter.json"
METHOD = f"programs of tests/programs/compute/mixes.c on the simulated GPU ({SPEC}); the first second is not counted; " \
         "throughput is that of the same program without Aliquot; the judge is the simulator"
JOBS = 2


def commit():
    done = subprocess.run(["git", "-C", BUILD.parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip() or "unknown"


def is_met(row):
    value, least, most = row["value"], row["least"], row["most"]
    return value is not None and (least is None or value >= least) and (most is None or value <= most)


def reach(row):
    least, most = row["least"], row["most"]
    if least is None:
        return "" if most is None else f"<= {most:.4g}"
    return f">= {least:.4g}" if most is None else f"{least:.4g} to {most:.4g}"


def shown(value):
    return "failed" if value is None else f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def measured(group):
    """Rows of a group, or, where a program hangs or fails, why there are none."""
    try:
        return list(group.measure())
    except Failed as why:
        return [gpu_time_rows.row(group.what, None, "", raw=str(why))]


def measure_all(groups):
    """In virtual time several at once change nothing; on the machine's clock they would."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for rows in pool.map(measured, [group for group in groups if group.is_virtual]):
            yield from rows
    for group in groups:
        if not group.is_virtual:
            yield from measured(group)


def lines(rows, before):
    for row in rows:
        old = shown(before[row["what"]]) if row["what"] in before else ""
        failed = f"FAILED: {row['raw']}" if row["value"] is None else "MISSED"
        yield row["what"], row["unit"], old, shown(row["value"]), reach(row), "" if is_met(row) else failed


def print_table(rows, before):
    print(f"\ngpu_time: {METHOD}\n")
    print(f"  {'what':<92}{'unit':<14}{'first meter':>12}{'measured':>10}{'reach':>17}")
    for what, unit, old, new, wanted, verdict in lines(rows, before):
        print(f"  {what:<92}{unit:<14}{old:>12}{new:>10}{wanted:>17}  {verdict}".rstrip())


def write_page(path, rows, before):
    told = [f"| {what.strip()} | {unit} | {old} | {new} | {wanted}{' (missed)' if verdict else ''} |"
            for what, unit, old, new, wanted, verdict in lines(rows, before)]
    text = pathlib.Path(path).read_text(encoding="utf-8")
    head = text[:text.index("| what |")]
    table = ["| what | unit | first meter | now | to reach |", "|---|---|---|---|---|", *told, ""]
    pathlib.Path(path).write_text(head + "\n".join(table), encoding="utf-8")


def write_record(path, rows):
    head = {"method": METHOD, "commit": commit(), "command": " ".join(["bench/gpu_time.py", *sys.argv[1:]]), **circumstances()}
    lines_of_rows = ",\n".join(json.dumps(row) for row in rows)
    text = json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines_of_rows}\n]}}\n'
    pathlib.Path(path).write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--page", metavar="FILE")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    asked = parser.parse_args()
    groups = [group for group in gpu_time_rows.GROUPS if not asked.rows or any(word in group.what for word in asked.rows)]
    rows = list(measure_all(groups))
    before = {row["what"]: row["value"] for row in json.loads(FIRST_METER.read_text(encoding="utf-8"))["rows"]} \
        if FIRST_METER.exists() else {}
    print_table(rows, before)
    write_json("gpu_time", {"method": METHOD, "rows": rows})
    if asked.json:
        write_record(asked.json, rows)
    if asked.page:
        write_page(asked.page, rows, before)


if __name__ == "__main__":
    main()
