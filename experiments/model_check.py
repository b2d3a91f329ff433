"""Compares this machine with the model of it; experiments/model-check runs it.

    experiments/model-check [--quick] [--out=FOLDER]

It writes the machine file of this machine (./bench limits --write-machine), and then measures each point natively and predicts it on the
model, in turn. A block runs all points once, in random order; a block is a seed. Nothing is fitted: what the file has is what the machine
said of itself, and what it has from another machine's file.

    points     none, atomic, rwspin and olc, and where there are transactions rtm:0, rtm:3 and rtm:20
               x lookup and insert x 1M, 4M and 16M keys x 1 and 2 threads; --quick: 1M keys
    insert     all keys into an empty index; under none and atomic by one thread, since they allow no more
    blocks     3; --quick: 1

FOLDER, by default experiments/results/model-check, gets machine.toml, results.jsonl (a line for each run), figure.svg and .png: modelled
over measured throughput. The text on stdout has each point, and then:

    median error          of |modelled / measured - 1|, over all points
    allowed               10 %, or half the spread of the native runs of a point over their median if that is more
    within twice that     how many points are
    wrong order           pairs of policies that differ by more than 10 % natively, and that the model has the other way round

Where other programs had the processors during native runs, the text says during how many: then the errors are theirs, too.

Kept results count, so after an interruption the same command goes on where it stopped.
Exit status: 0, however large the error is; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import InputError, end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("model-check")   # before the other imports
import itertools
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass

from child import ends_with_us

FOLDER = pathlib.Path(__file__).resolve().parent / "results/model-check"
POLICIES = ("none", "atomic", "rwspin", "olc")
ELIDING = ("rtm:0", "rtm:3", "rtm:20")   # only where there are transactions
ONE_WRITER = ("none", "atomic")
WORKLOADS = ("lookup", "insert")
RECORDS = {"quick": ("1M",), "full": ("1M", "4M", "16M")}
BLOCKS = {"quick": 1, "full": 3}
THREADS = (1, 2)
ALLOWED = 0.10        # the error that a model may have
DIFFERENT = 1.10      # the ratio of two policies beyond which their order counts
SIDES = ("native", "modelled")
COUNTS = {"native": ("ok", "noisy"), "modelled": ("modelled",)}


@dataclass(frozen=True)
class Point:
    sync: str
    workload: str
    records: str
    threads: int

    @property
    def words(self):
        """The options of its runs, but for those that a side adds."""
        # An insert ends when all keys are there, before the time does.
        time = ["--time=60min"] if self.workload == "insert" else []
        return ["--index=art", f"--sync={self.sync}", f"--workload={self.workload}", f"--records={self.records}",
                f"--threads={self.threads}", *time]

    @property
    def name(self):
        return f"{self.workload:6} {self.sync:6} {self.records:>3} keys, {self.threads} thread{'s' * (self.threads > 1)}"


@dataclass(frozen=True)
class Judged:
    """A point with the median throughput of either side, in operations a second, and the error that is allowed."""

    point: Point
    native: float
    modelled: float
    allowed: float

    @property
    def ratio(self):
        return self.modelled / self.native

    @property
    def error(self):
        return abs(self.ratio - 1)


def points_of(mode, transactions):
    """Returns the points. `transactions`: the machine has some."""
    policies = POLICIES + (ELIDING if transactions else ())
    every = (Point(*of) for of in itertools.product(policies, WORKLOADS, RECORDS[mode], THREADS))
    return [point for point in every if not (point.sync in ONE_WRITER and point.workload == "insert" and point.threads > 1)]


def judge(runs):
    """Returns the points that both sides have, judged. `runs` has (point, side, operations a second)."""
    of = {}
    for point, side, rate in runs:
        of.setdefault(point, {}).setdefault(side, []).append(rate)
    judged = []
    for point, sides in of.items():
        if len(sides) == len(SIDES):
            native = statistics.median(sides["native"])
            spread = (max(sides["native"]) - min(sides["native"])) / 2 / native
            judged.append(Judged(point, native, statistics.median(sides["modelled"]), max(ALLOWED, spread)))
    return judged


def wrong_orders(judged):
    """Returns the pairs (faster, slower) natively, by more than DIFFERENT, that the model has the other way round."""
    alike = lambda point: (point.workload, point.records, point.threads)
    return [(a, b) for a, b in itertools.permutations(judged, 2)
            if alike(a.point) == alike(b.point) and a.native > DIFFERENT * b.native and a.modelled < b.modelled]


def report(judged):
    """Returns the text of the comparison."""
    lines = [f"{'':34} {'measured':>10} {'modelled':>10}  ratio"]
    lines += [f"{j.point.name:34} {j.native / 1e6:8.2f} M {j.modelled / 1e6:8.2f} M  {j.ratio:5.2f}{'' if j.error <= j.allowed else '  *'}"
              for j in judged]
    within = sum(j.error <= 2 * j.allowed for j in judged)
    lines += ["* the error is more than is allowed", "", summary(judged), f"within twice what is allowed: {within} of {len(judged)} points"]
    wrong = wrong_orders(judged)
    lines.append(f"pairs of policies in wrong order: {len(wrong)}")
    lines += [f"  {a.point.name}: faster than {b.point.sync} by {a.native / b.native:.2f}, modelled {a.modelled / b.modelled:.2f}"
              for a, b in wrong]
    return "\n".join(lines) + "\n"


def summary(judged):
    return f"median error {100 * statistics.median(j.error for j in judged):.0f} %, over {len(judged)} points, without any fit"


def draw(judged, folder):
    """Draws modelled over measured throughput as figure.svg and figure.png."""
    import altair   # only the drawing needs the modules of build/python
    import vl_convert

    rows = [{"measured": j.native / 1e6, "ratio": j.ratio, "policy": j.point.sync, "threads": f"{j.point.threads} thread(s)",
             "workload": j.point.workload} for j in judged]
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    points = altair.Chart(altair.Data(values=rows)).mark_point(size=60, filled=True).encode(
        x=altair.X("measured:Q", scale=altair.Scale(type="log"), title="measured, million operations a second"),
        y=altair.Y("ratio:Q", scale=altair.Scale(type="log"), title="modelled / measured"),
        color=altair.Color("policy:N", scale=altair.Scale(domain=policies), title=None),
        shape=altair.Shape("threads:N", title=None))
    rule = altair.Chart(altair.Data(values=[{"ratio": 1}])).mark_rule(strokeDash=[4, 3]).encode(y="ratio:Q")
    panels = [altair.layer(rule, points.transform_filter(altair.datum.workload == workload)).properties(
        width=380, height=240, title=workload) for workload in WORKLOADS if any(row["workload"] == workload for row in rows)]
    title = altair.TitleParams(f"A model of this machine, over this machine: {summary(judged)}", anchor="start")
    spec = altair.hconcat(*panels).resolve_scale(x="shared", y="shared").properties(title=title, background="white").to_dict()
    (folder / "figure.svg").write_text(vl_convert.vegalite_to_svg(spec))
    (folder / "figure.png").write_bytes(vl_convert.vegalite_to_png(spec, ppi=144))


class Runs:
    """The runs that results.jsonl keeps, and those that are added to it."""

    def __init__(self, folder):
        self.path = folder / "results.jsonl"
        self.kept = {}
        self.noisy = 0   # runs during which other programs had the processors
        if self.path.exists():
            for number, line in enumerate(self.path.read_text().splitlines(), 1):
                try:
                    run = json.loads(line)
                    self.keep(Point(**run["point"]), run["side"], run["block"], run["document"])
                except (ValueError, KeyError, TypeError):
                    raise InputError(f"{self.path}: line {number} is not one of a run; remove it") from None

    def add(self, point, side, block, document):
        run = {"point": vars(point), "side": side, "block": block, "document": document}
        with self.path.open("a") as file:
            file.write(json.dumps(run) + "\n")
        self.keep(point, side, block, document)

    def keep(self, point, side, block, document):
        self.kept[point, side, block] = float(document["throughput"]["per_second"])
        self.noisy += document["status"] == "noisy"

    def rates(self):
        """Returns (point, side, operations a second) of all runs, in the order of the points."""
        return sorted(((point, side, rate) for (point, side, _), rate in self.kept.items()),
                      key=lambda run: (run[0].workload, RECORDS["full"].index(run[0].records), run[0].threads))


def call(words, **more):
    return subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_us(), check=False, **more)


def measure(harness, point, side, block, machine):
    """Runs a point; returns its document, or None after a line about why there is none."""
    words = [harness[side], *point.words, f"--seed={block}", "--json", "--progress=none"]
    words += [f"--machine=file:{machine}"] if side == "modelled" else ["--pmu=off"]
    ran = call(words)
    document = json.loads(ran.stdout) if ran.returncode == 0 and ran.stdout else None
    if document is not None and document["status"] in COUNTS[side] and document["throughput"]:
        return document
    why = f"is {document['status']}: {document['reason']}" if document else f"ended with status {ran.returncode}"
    print(f"model-check: {point.name}: the {side} run {why}", file=sys.stderr)
    return None


def parse(arguments):
    """Returns the mode and the folder."""
    mode, folder = "full", FOLDER
    for word in arguments:
        if word == "--quick":
            mode = "quick"
        elif re.fullmatch("--out=.+", word):
            folder = pathlib.Path(word.removeprefix("--out="))
        else:
            raise InputError(f"'{word}' has no meaning here; there are --quick and --out=FOLDER")
    return mode, folder


def main(native, modelled, *arguments):
    mode, folder = parse(arguments)
    harness = dict(zip(SIDES, (native, modelled)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: {error.strerror}") from None
    machine = folder / "machine.toml"
    if not machine.exists() and call([native, "limits", f"--write-machine={machine}", "--progress=none"]).returncode != 0:
        return 1
    runs, failed = Runs(folder), False
    points = points_of(mode, transactions="\n[htm]\n" in machine.read_text())
    for block in range(1, BLOCKS[mode] + 1):
        for point in random.Random(block).sample(points, len(points)):
            for side in random.sample(SIDES, 2):
                if (point, side, block) in runs.kept:
                    continue
                document = measure(harness, point, side, block, machine)
                failed |= document is None
                if document is not None:
                    runs.add(point, side, block, document)
    judged = judge(runs.rates())
    if judged:
        print(report(judged), end="")
        if runs.noisy:
            native = sum(side == "native" for _, side, _ in runs.kept)
            print(f"noisy: other programs had the processors during {runs.noisy} of {native} native runs; repeat it on an idle machine")
        try:
            draw(judged, folder)
            print(f"wrote {folder}/figure.svg")
        except ImportError:
            print("model-check: no figure is drawn, since the modules that draw are not installed", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    run_script("model-check", main, *sys.argv[1:])
