"""Which share of the keys should be dispatched to near memory; experiments/dispatch runs it.

    experiments/dispatch [--quick] [--out=FOLDER]

KV-Direct sends a share l of the keys, which a hash chooses, through the memory of its card; the others go straight to the host. With a
hit rate h of that share it gives T = far / (1 - l h). Here the rule `fixed:l` does so for values of 256 bytes in cuckoo under olc, with
room for a tenth of them near. Far memory is a model of 10 us and 2.2 GB/s, an Optane block device (MyNVM, EuroSys 2018, table 1), so
that an operation's time is that of far memory.

    shares      0 to 1 in steps of .1, with .05 and .15 besides; --quick: 0 .1 .3 1
    popularity  uniform and zipf:0.99
    records     100 K
    rounds      10; --quick: 3. A run takes 5 s

No value of ours is in both memories. So a miss of the share costs a second transfer: the value that leaves near memory is written to far
memory. With w for the time of a write over that of a read, both beside near time, the closed form is

    time(l) = near + (far - near) * ((1 - l h) + w l (1 - h))

which is KV-Direct's if near and w are 0. The times near and far are measured, all values in the one memory or in the other. h is that of an
LRU cache by the approximation of Che, Tung and Wang (2002), averaged over which keys the hash chooses. w is that of the preset.

FOLDER, by default experiments/results/dispatch, gets results.jsonl (a line for each run), figure.svg and .png. The text on stdout has
the medians with the least and the most of the rounds, both closed forms, and the best share by each closed form and by search. Kept results
count, as those of experiments/multiget do.

Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("dispatch")   # before the other imports
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
from dataclasses import dataclass

from child import ends_with_us
from kept import Runs, parse, shown
from models import charts

FOLDER = pathlib.Path(__file__).resolve().parent / "results/dispatch"
SHARES = {"quick": (0, .1, .3, 1), "full": (0, .05, .1, .15, .2, .3, .4, .5, .6, .7, .8, .9, 1)}
POPULARITY = ("uniform", "zipf:0.99")
ROUNDS = {"quick": 3, "full": 10}
RECORDS = 100_000
VALUE_BYTES = 256
BLOCK_BYTES = 320   # of such a value with its header, in a pool
NEAR_VALUES = RECORDS // 10
LATENCY_NS, READ_GBPS, WRITE_GBPS = 10_000, 2.2, 2.1
FAR = f"--far=model:optane,size=1G,lat={LATENCY_NS},read={READ_GBPS},write={WRITE_GBPS}"
WRITE_OVER_READ = (LATENCY_NS + VALUE_BYTES / WRITE_GBPS) / (LATENCY_NS + VALUE_BYTES / READ_GBPS)
ALL_NEAR, ALL_FAR = "all near", "all far"


@dataclass(frozen=True)
class Point:
    popularity: str
    share: float | str   # of the keys that may be near, or one of the two memories alone


def options(point):
    """Returns the options of a point's run."""
    words = {ALL_NEAR: ["--near=1G", "--rule=weighted:1"], ALL_FAR: ["--near=1Mi", "--rule=weighted:0"]}
    return words.get(point.share) or [f"--near={NEAR_VALUES * BLOCK_BYTES}", f"--rule=fixed:{point.share}"]


def measure(bench, point):
    """Runs a point. Returns what is kept of it and the build, or None and None after a line about why there is nothing."""
    ran = subprocess.run(
        [bench, "--index=cuckoo", "--sync=olc", "--threads=1", f"--value-size={VALUE_BYTES}", f"--records={RECORDS}", "--workload=lookup",
         f"--dist={point.popularity}", FAR, *options(point), "--warmup=3s", "--time=2s", "--pmu=off", "--json", "--progress=none"],
        stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_us(), check=False)
    document = json.loads(ran.stdout) if ran.stdout else None
    if document is None or not document["throughput"]:
        why = document["reason"] if document else f"the harness ended with status {ran.returncode}"
        print(f"{point.popularity}, {point.share}: {why}", file=sys.stderr)
        return None, None
    far = document["memory"]["far"]
    return {"ns": 1e9 / document["throughput"]["per_second"], "near": far["near_share"]}, document["build"]


def weights(popularity):
    """Returns the shares of the accesses that the keys have, as (share of one key, number of such keys). Ranks beyond 1,000 are taken
    together that differ by less than 1 %."""
    exponent = 0 if popularity == "uniform" else float(popularity.removeprefix("zipf:"))
    groups, rank = [], 1
    while rank <= RECORDS:
        end = min(RECORDS + 1, max(rank + 1, rank * 101 // 100) if rank > 1000 else rank + 1)
        groups.append((((rank + end - 1) / 2) ** -exponent, end - rank))
        rank = end
    total = math.fsum(weight * keys for weight, keys in groups)
    return [(weight / total, keys) for weight, keys in groups]


def hit_rate(groups, share, room):
    """Returns the hit rate of an LRU cache with room for so many values, for a random share of the keys. groups: of weights()."""
    if share == 0:
        return 0.0
    if share * RECORDS <= room:
        return 1.0
    low, high = 0.0, 1.0
    held = lambda age: share * math.fsum(keys * -math.expm1(-weight * age) for weight, keys in groups)
    while held(high) < room:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if held(middle) < room else (low, middle)
    return math.fsum(keys * -weight * math.expm1(-weight * high) for weight, keys in groups)


def predicted(near, far, share, hits, write=WRITE_OVER_READ):
    """Returns the time of an operation."""
    return near + (far - near) * ((1 - share * hits) + write * share * (1 - hits))


@dataclass(frozen=True)
class Row:
    popularity: str
    share: float
    hits: float         # of the closed form
    published: float    # ns an operation, by KV-Direct's form
    predicted: float    # with the writes of what leaves near memory
    measured: list      # of each round
    near: list          # the share of the reads that near memory served, of each round


def rows_of(runs):
    """Returns a row for each point of a share whose popularity was measured in either memory alone."""
    rows = []
    for popularity in POPULARITY:
        near, far = (runs.values(Point(popularity, memory), "ns") for memory in (ALL_NEAR, ALL_FAR))
        if not near or not far:
            continue
        near, far, groups = statistics.median(near), statistics.median(far), weights(popularity)
        shares = sorted(point.share for point in runs.points() if point.popularity == popularity and not isinstance(point.share, str))
        for share in shares:
            hits = hit_rate(groups, share, NEAR_VALUES)
            rows.append(Row(popularity, share, hits, predicted(0, far, share, hits, 0), predicted(near, far, share, hits),
                            runs.values(Point(popularity, share), "ns"), runs.values(Point(popularity, share), "near")))
    return rows


def best(rows, time):
    """Returns the share of the row with the least time(row) in whole ns, the least share of equal ones."""
    return min(rows, key=lambda row: (round(time(row)), row.share)).share


def median_of(row):
    return statistics.median(row.measured)


def report(runs):
    """Returns the text of all runs."""
    rows = rows_of(runs)
    lines = [f"{'popularity':12} {'share':>5} {'near reads':>22} {'l h':>6} {'ns an operation':>26} {'closed form':>12} {'KV-Direct':>10}"]
    lines += [f"{row.popularity:12} {row.share:5} {shown(row.near, 3):>22} {row.share * row.hits:6.3f} {shown(row.measured):>26} "
              f"{row.predicted:12,.0f} {row.published:10,.0f}" for row in rows]
    for popularity in dict.fromkeys(row.popularity for row in rows):
        of = [row for row in rows if row.popularity == popularity]
        lines += ["", f"{popularity}: the best share is {best(of, median_of)} by search, {best(of, lambda row: row.predicted)} by the "
                      f"closed form, {best(of, lambda row: row.published)} by KV-Direct's"]
    return "\n".join(lines) + "\n"


def draw(runs, folder):
    """Draws figure.svg and figure.png: a panel for each popularity."""
    rows, panels = rows_of(runs), []
    for popularity in dict.fromkeys(row.popularity for row in rows):
        of = [row for row in rows if row.popularity == popularity]
        panel = charts.panel(popularity, "share of the keys that may be near", [row.share for row in of], "us an operation")
        points = [charts.point("measured", row.share, median_of(row) / 1e3, min(row.measured) / 1e3, max(row.measured) / 1e3) for row in of]
        points += [charts.point("closed form", row.share, row.predicted / 1e3) for row in of]
        points += [charts.point("far / (1 - l h)", row.share, row.published / 1e3) for row in of]
        panels.append((panel, points))
    charts.draw(folder, "figure", "A fixed share of the keys in near memory, which has room for a tenth", panels, [])


def main(bench, *arguments):
    mode, folder = parse(arguments, FOLDER)
    runs = Runs(folder, Point, mode)
    points = [Point(*of) for of in itertools.product(POPULARITY, (ALL_NEAR, ALL_FAR, *SHARES[mode]))]
    right = runs.run_rounds(points, ROUNDS[mode], lambda point: measure(bench, point))
    print(report(runs), end="")
    draw(runs, folder)
    return int(not right)


if __name__ == "__main__":
    run_script("dispatch", main, *sys.argv[1:])
