# SPDX-License-Identifier: Apache-2.0
"""The pictures in docs/pictures, as PNG and SVG, from the records in a folder of docs/results.

    pictures.py FOLDER              draws what is there (share.json: bench/share.py's; swap.json: bench/swap.py's)
    pictures.py FOLDER --measure    measures the records of single mixes anew before, in virtual time
"""
import json
import pathlib
import subprocess
import sys

from stage import BUILD

PICTURES = pathlib.Path(__file__).resolve().parents[1] / "docs/pictures"
# A mix of `aliquot bench share`, the picture's title, and of each session its name and what it was promised, in percent,
# from when to when, in seconds.
MIXES = {
    "share-change": (["--seconds", "10", "30,200us,60@5s", "70,200us,30@5s"],
                     "Two sessions with caps of 30 and 70 %, which change to 60 and 30 % after 5 s",
                     [("first session", [(0, 5, 30), (5, 10, 60)]), ("second session", [(0, 5, 70), (5, 10, 30)])]),
    "share-neighbour": (["--seconds", "10", "weight=300,200us", "weight=100,2ms,+3s,-7s"],
                        "A session with weight 3; a neighbour with weight 1 comes after 3 s and goes after 7 s",
                        [("weight 3", [(0, 3, 100), (3, 7, 75), (7, 10, 100)]), ("neighbour, weight 1", [(3, 7, 25)])]),
}
# What they or their users publish, measured on their machines: pairs of cap and delivered share.
PEERS = [
    ("XPUShare, alone (its docs)", "squares", 5, [(25, 27.0), (50, 56.0), (75, 77.3)]),
    ("XPUShare, in pairs (its docs)", "diamonds", 3, [(25, 25.2), (75, 54.0), (30, 30.8), (60, 51.1)]),
    ("HAMi-core, pair 30/70 (#274, #314)", "circles", 1, [(30, 46), (70, 54)]),
    ("HAMi-core, cap 50 (#274)", "crosses", 1, [(50, 99)]),
]


def aliquot(*words):
    subprocess.run([BUILD / "src/cli/aliquot", "bench", "share", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def draw(name, figure):
    for kind in ("png", "svg"):
        subprocess.run([BUILD / "src/plot/aliquot-plot", PICTURES / f"{name}.{kind}"], input=json.dumps(figure), text=True,
                       check=True)


def delivered(session, promised):
    """Percent of each sample, at the sample's middle, while the session was promised something."""
    at, busy = [0, *session["at_us"]], [0, *session["busy_us"]]
    points = [((a + b) / 2e6, 100 * (y - x) / (b - a)) for a, b, x, y in zip(at, at[1:], busy, busy[1:])]
    return [(second, got) for second, got in points if any(begin < second < end for begin, end, _ in promised)]


def draw_mixes(folder, is_measured):
    for name, (mix, title, sessions) in MIXES.items():
        record = folder / f"{name}.json"
        if is_measured:
            aliquot("--sim", f"--json={record}", *mix)
        told = json.loads(record.read_text(encoding="utf-8"))
        lines = [line(who, "line", colour, delivered(session, promised))
                 for (who, promised), session, colour in zip(sessions, told["sessions"], (0, 1))]
        for i, (_, promised) in enumerate(sessions):
            lines.append(line("" if i else "promised", "dashes", 7,
                              [point for begin, end, share in promised for point in ((begin, share), (end, share))]))
        draw(name, {
            "title": title,
            "about": f"{told['gpu'][0].upper() + told['gpu'][1:]}, {told['clock']} time; delivered GPU time in each 100 ms, by the simulator's own account",
            "note": f"Mean error {told['mean_error_points']:.2f} points; together {told['together_percent']:.1f} % of the GPU.",
            "x": {"label": "seconds", "to": 10}, "y": {"label": "percent of the GPU", "to": 100},
            "lines": lines})


def line(name, style, colour, points):
    return {"name": name, "style": style, "colour": colour, "points": [number for point in points for number in point]}


def draw_caps(folder):
    rows = {row["what"]: row["raw"] for row in json.loads((folder / "share.json").read_text(encoding="utf-8"))["rows"]}
    alone = rows["cap 10..90 % alone, kernel 200 us, mean error"]
    pairs = [(cap, got) for pair in ((30, 70), (30, 60), (25, 75), (10, 90))
             for cap, got in zip(pair, rows[f"pair {pair[0]}/{pair[1]}, kernels of 200 us, worst error"])]
    figure = {
        "title": "What a cap delivers: 10 to 90 %, beside what peers publish",
        "about": "Aliquot: simulated GPU, virtual time, kernels of 200 us, 30 s alone and 10 s in pairs, by the simulator's "
                 "own account",
        "note": "Peers: published by them or their users, on real GPUs with other programs. A point on the line is as promised.",
        "x": {"label": "cap, percent of the GPU", "to": 100}, "y": {"label": "delivered, percent of the GPU", "to": 100},
        "lines": [line("promised", "dashes", 7, [(0, 0), (100, 100)]),
                  line("Aliquot, alone (simulated)", "discs", 0, [(int(cap), got) for cap, got in alone.items()]),
                  line("Aliquot, in pairs (simulated)", "circles", 2, pairs),
                  *(line(*peer) for peer in PEERS)]}
    draw("share-caps", figure)


def progress(job, begin_ns, steps):
    return [(round((at - begin_ns) / 1e6), round(100 * done / steps, 2)) for at, done in job["done"]]


def draw_swap(folder):
    rows = {row["what"]: row["raw"] for row in json.loads((folder / "swap.json").read_text(encoding="utf-8"))["rows"]}
    raw = rows["two of 0.94 of the card, busy"]
    alone, jobs = raw["alone"][0], raw["together"]
    begin_ns = min(job["done"][0][0] for job in jobs)
    steps = max(job["done"][-1][1] for job in jobs)
    ms = alone["took_ns"] / 1e6
    figure = {
        "title": "Two jobs that each need 0.94 of a card, in turns",
        "about": "Simulated, virtual time: a card of 1 GiB with a link of 1.6 GB/s, as 16 GiB on PCIe 4. While a line is level, its job is "
                 "held and its memory moves",
        "note": f"In turns {max(job['took_ns'] for job in jobs) / (2 * alone['took_ns']):.3f} of the time that they take one after the other",
        "x": {"label": "seconds", "to": 260_000, "unit": 1000}, "y": {"label": "percent of the job done", "to": 100},
        "lines": [line("one after the other", "dashes", 7, [(0, 0), (ms, 100)]), line("", "dashes", 7, [(ms, 0), (2 * ms, 100)]),
                  *(line(name, "line", colour, progress(job, begin_ns, steps)) for name, colour, job in
                    zip(("first job", "second job"), (0, 2), jobs))]}
    draw("swap-turns", figure)


def main():
    folder = pathlib.Path(sys.argv[1])
    if (folder / "share.json").exists():
        draw_mixes(folder, "--measure" in sys.argv[2:])
        draw_caps(folder)
    if (folder / "swap.json").exists():
        draw_swap(folder)


main()
