# SPDX-License-Identifier: Apache-2.0
"""What every benchmark ends with: one table, its method, and the same as JSON.

A row is a figure with what it should reach and what the peers publish beside it. The JSON goes to
the folder that ALIQUOT_BENCH_JSON names, with the raw samples, the machine and the date.

    report.py FOLDER    all that is there as one JSON object, by name
"""
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys


def percentile(values, part):
    """The value below which `part` (0..1) of the sorted values lie; nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def paired(run, base, other, rounds):
    """Runs base and other in turns; the medians of both, and of the differences round by round."""
    pairs = [(run(base), run(other)) for _ in range(rounds)]
    return {"base": statistics.median(a for a, _ in pairs),
            "other": statistics.median(b for _, b in pairs),
            "added": statistics.median(b - a for a, b in pairs),
            "raw": pairs}


def circumstances():
    return {"machine": f"{platform.machine()}, {os.cpu_count()} CPUs, Linux {platform.release()}",
            "gpu": "none: simulated or toy driver",
            "date": datetime.date.today().isoformat()}


def write_json(name, told):
    """Into the folder that ALIQUOT_BENCH_JSON names, if it does."""
    folder = os.environ.get("ALIQUOT_BENCH_JSON")
    if folder:
        text = json.dumps({"name": name, **told, **circumstances()}, indent=1)
        pathlib.Path(folder, f"{name}.json").write_text(text + "\n", encoding="utf-8")


class Report:
    def __init__(self, name, method):
        self.name, self.method, self.rows = name, method, []

    def row(self, what, value, unit, reach=None, beside="", raw=None):
        """`reach`: the highest value that is good enough, in the same unit."""
        self.rows.append({"what": what, "value": value, "unit": unit, "reach": reach,
                          "beside": beside, "raw": raw})

    def finish(self):
        print(f"\n{self.name}: {self.method}\n")
        print(f"  {'what':<58}{'measured':>14}{'reach':>12}  beside")
        for row in self.rows:
            measured = f"{row['value']:.4g} {row['unit']}"
            reach = "" if row["reach"] is None else f"<= {row['reach']:g}"
            miss = row["reach"] is not None and row["value"] > row["reach"]
            print(f"  {row['what']:<58}{measured:>14}{reach:>12}  "
                  f"{'MISSED  ' if miss else ''}{row['beside']}")
        write_json(self.name, {"method": self.method, "rows": self.rows})


if __name__ == "__main__":
    print(json.dumps({file.stem: json.loads(file.read_text(encoding="utf-8"))
                      for file in sorted(pathlib.Path(sys.argv[1]).glob("*.json"))}, indent=1))
