"""How unevenly servers are loaded that share the keys by consistent hashing; experiments/imbalance runs it.

    experiments/imbalance [--quick] [--out=FOLDER]

KV-Direct gives each of ten cards a part of the keys, and says that the imbalance is "not significant with a small number of partitions".
Here the client's index `remote` deals gets to servers that keep nothing (null), and each server counts those that it was asked. Nothing is
timed, so the numbers do not depend on the machine.

    servers     1 2 4 8 16 32 64; --quick: 1 4 16
    popularity  uniform, zipf:0.5, zipf:0.99, zipf:1.2; --quick: uniform, zipf:0.99
    records     1 M; --quick: 100 K
    gets        1 M; --quick: 200 K
    rounds      10; --quick: 3. Servers have other names in each round, so they get other parts

The imbalance is what the server with the most has, over what all have in the mean: of the keys, and of the gets. If all servers are as fast,
that many times fewer gets a second are served than there could be.

FOLDER, by default experiments/results/imbalance, gets results.jsonl (a line for each run), figure.svg and .png. The text on stdout has
medians with the least and the most of the rounds. Kept results count, as those of experiments/multiget do.

Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("imbalance")   # before the other imports
import contextlib
import itertools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import served
from child import ends_with_us
from kept import Runs, draw_if_possible, parse, shown

FOLDER = pathlib.Path(__file__).resolve().parent / "results/imbalance"
SERVERS = {"quick": (1, 4, 16), "full": (1, 2, 4, 8, 16, 32, 64)}
POPULARITY = {"quick": ("uniform", "zipf:0.99"), "full": ("uniform", "zipf:0.5", "zipf:0.99", "zipf:1.2")}
RECORDS = {"quick": 100_000, "full": 1_000_000}
GETS = {"quick": 200_000, "full": 1_000_000}
ROUNDS = {"quick": 3, "full": 10}
KEYS = 64           # keys a call of the client
SIGNIFICANT = 1.1   # times the imbalance of the keys alone


@dataclass(frozen=True)
class Point:
    popularity: str
    servers: int


def most_over_mean(counts):
    return max(counts) / statistics.mean(counts)


def measure(bench, point, mode):
    """Runs a point. Returns what is kept of it and the build, or None and None after a line about why there is nothing."""
    with tempfile.TemporaryDirectory(prefix="imbalance-") as scratch, contextlib.ExitStack() as ends:
        servers = []
        for number in range(point.servers):
            place = pathlib.Path(scratch, str(number))
            place.mkdir()
            servers.append(served.Server(bench, "null", served.NULL_STORE, "unix", place))
            ends.callback(servers[-1].end)
        addresses = "+".join(server.address for server in servers)
        ran = subprocess.run(
            [bench, f"--index=remote:addr={addresses},keeps=0", "--sync=own", f"--workload=mix:multi_get=100,multi_get_keys={KEYS}",
             f"--dist={point.popularity}", f"--records={RECORDS[mode]}", f"--ops={GETS[mode] // KEYS}", "--warmup=0", "--pmu=off",
             "--validate=off", "--json", "--progress=none"],
            stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_us(), check=False)
        document = json.loads(ran.stdout) if ran.stdout else None
        if document is None or not document["throughput"]:
            why = document["reason"] if document else f"the client ended with status {ran.returncode}"
            print(f"{point.servers} servers, {point.popularity}: {why}", file=sys.stderr)
            return None, None
        counts = [server.counts() for server in servers]
    phases = {phase["name"]: phase["operations"] for phase in document["phases"]}
    keys = [of["cmd_set"] for of in counts]
    # The client looks each key up once before it measures.
    gets = [of["cmd_get"] - of["cmd_set"] * bool(phases.get("verify")) for of in counts]
    if sum(keys) != RECORDS[mode] or sum(gets) != GETS[mode] // KEYS * KEYS:
        print(f"{point.servers} servers, {point.popularity}: they counted {sum(keys)} sets and {sum(gets)} gets", file=sys.stderr)
        return None, None
    return {"keys": most_over_mean(keys), "gets": most_over_mean(gets)}, document["build"]


def report(runs):
    """Returns the text of all runs."""
    points = sorted(runs.points(), key=lambda point: (point.popularity, point.servers))
    lines = [f"{'the most over the mean':24} {'keys':>22} {'gets':>22}"]
    lines += [f"{point.popularity:12} {point.servers:3} servers {shown(runs.values(point, 'keys'), 2):>22} "
              f"{shown(runs.values(point, 'gets'), 2):>22}" for point in points]
    lines.append("")
    for popularity in dict.fromkeys(point.popularity for point in points):
        lines.append(f"{popularity}: {first_significant(runs, [point for point in points if point.popularity == popularity])}")
    return "\n".join(lines) + "\n"


def first_significant(runs, points):
    """Returns from how many servers on the popularity of keys matters; `points` are in the order of that number."""
    for point in points:
        beyond = statistics.median(gets / keys for gets, keys in zip(runs.values(point, "gets"), runs.values(point, "keys"), strict=True))
        if beyond >= SIGNIFICANT:
            return f"from {point.servers} servers on the gets are {beyond:.2f} times as uneven as the keys"
    return f"up to {points[-1].servers} servers the gets are less than {SIGNIFICANT} times as uneven as the keys"


def draw(runs, folder):
    """Draws figure.svg and figure.png: the imbalance of gets by the number of servers."""
    import altair   # only the drawing needs the modules of build/python
    import vl_convert
    data = [{"popularity": point.popularity, "servers": point.servers, "middle": statistics.median(values), "least": min(values),
             "most": max(values)} for point in runs.points() if (values := runs.values(point, "gets"))]
    base = altair.Chart(altair.Data(values=data)).encode(x=altair.X("servers:Q", title="servers", scale=altair.Scale(type="log", base=2)),
                                                         color=altair.Color("popularity:N", title=None))
    title = "the server with the most gets, over the mean"
    lines = base.mark_line(point=True).encode(y=altair.Y("middle:Q", title=title, scale=altair.Scale(type="log", nice=False)))
    spread = base.mark_rule().encode(y=altair.Y("least:Q", title=title), y2="most:Q")
    spec = altair.layer(spread, lines).properties(title="Servers that share the keys by consistent hashing", width=480, height=320,
                                                  background="white").to_dict()
    (folder / "figure.svg").write_text(vl_convert.vegalite_to_svg(spec))
    (folder / "figure.png").write_bytes(vl_convert.vegalite_to_png(spec, ppi=144))


def main(bench, *arguments):
    mode, folder = parse(arguments, FOLDER)
    if not served.build(bench, {"null": served.NULL_STORE}):
        return 1
    runs = Runs(folder, Point, mode)
    points = [Point(*of) for of in itertools.product(POPULARITY[mode], SERVERS[mode])]
    right = runs.run_rounds(points, ROUNDS[mode], lambda point: measure(bench, point, mode))
    print(report(runs), end="")
    draw_if_possible("imbalance", draw, runs, folder)
    return int(not right)


if __name__ == "__main__":
    run_script("imbalance", main, *sys.argv[1:])
