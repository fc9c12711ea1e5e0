# SPDX-License-Identifier: Apache-2.0
"""What the scheduling policy reaches in virtual time: the table of tests/model/sched, as JSON too."""
import json
import subprocess

from report import Report
from stage import BUILD

report = Report("sched", "the policy with a pretend GPU in virtual time, 30 s a row; no hardware")
done = subprocess.run([BUILD / "tests/model/sched/sched-model", "--json"], check=False,
                      capture_output=True, text=True, timeout=900)
for row in json.loads(done.stdout):
    beside = f">= {row['reach']:g}" if row["least"] else ""
    if row["least"] and row["value"] < row["reach"]:
        beside += " MISSED"
    report.row(row["what"], row["value"], row["unit"], None if row["least"] else row["reach"], beside)
report.finish()
