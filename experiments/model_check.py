"""Compares this machine with the model of it; experiments/model-check runs it.

    experiments/model-check [--quick] [--out=FOLDER]

It writes the machine file of this machine (./bench limits --write-machine) and measures each point, in blocks: a block runs all points
once, in random order, and is a seed. Then it fits two values of the file, and predicts each point once, on as many processors as there
are: virtual time does not depend on what else runs, so the model does not run between measurements, and does not heat the machine either.

    points     none, atomic, rwspin and olc, and where there are transactions rtm:0, rtm:3 and rtm:20
               x lookup and insert x 1M, 4M and 16M keys x 1 and 2 threads; --quick: 1M keys
    insert     all keys into an empty index; under none and atomic by one thread, since they allow no more
    blocks     3; --quick: 1
    fit        none, one thread, 4M keys (--quick: 1M) and nothing else: core.run_ahead, the overlap, to lookups, and core.per_operation,
               the instructions, to inserts, in turn, twice. The two points do not count in what follows

FOLDER, by default experiments/results/model-check, gets machine.toml, fitted-4M.toml, results.jsonl (a line for each run), figure.svg and
.png: modelled over measured throughput. The text on stdout has each point, and then:

    median error          of |modelled / measured - 1|, over all points that were not fitted
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
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import definition
import model_fit
from child import ends_with_us
from kept import draw_if_possible, parse

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
FIT_RECORDS = {"quick": "1M", "full": "4M"}
FITTED = (("core.run_ahead", "lookup", 0, 1, 1), ("core.per_operation", "insert", 1, 2000, -1))   # bounds; where the rate rises: up or down
ROUNDS, STEPS = 2, 4   # of the fit, and narrowings of a value's bounds in each
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


def fitted_value(low, high, rises, published, rates_at, at_once):
    """Returns the value from `low` to `high` whose rate is nearest to the published one. rates_at(values) -> rates, which rise with the
    value, or fall if `rises` is -1. Each step looks at so many values at once, and keeps the part between the two that matter."""
    tried = dict(zip((low, high), rates_at((low, high)), strict=True))
    for _ in range(STEPS):
        inner = [low + (high - low) * i / (at_once + 1) for i in range(1, at_once + 1)]
        tried.update(zip(inner, rates_at(inner), strict=True))
        of = sorted(value for value in tried if low <= value <= high)
        too_slow = [value for value in of if tried[value] < published]
        too_fast = [value for value in of if tried[value] >= published]
        below, above = (too_slow, too_fast) if rises > 0 else (too_fast, too_slow)
        low, high = max(below, default=low), min(above, default=high)
        if low >= high:
            break
    return min(tried, key=lambda value: abs(math.log(tried[value] / published)))


def fit(measured, rates_of, at_once):
    """Returns key -> text of the values that are fitted. measured: workload -> operations a second; rates_of(workload, changes) -> those of
    the model, for each of these changes."""
    values = {}
    for _ in range(ROUNDS):
        for key, workload, low, high, rises in FITTED:
            def rates_at(tried, key=key, workload=workload):
                return rates_of(workload, [values | {key: f"{value:.4g}"} for value in tried])

            values[key] = f"{fitted_value(low, high, rises, measured[workload], rates_at, at_once):.4g}"
    return values


def report(judged):
    """Returns the text of the comparison."""
    lines = [f"{'':34} {'measured':>10} {'modelled':>10}  ratio"]
    lines += [f"{j.point.name:34} {j.native / 1e6:8.2f} M {j.modelled / 1e6:8.2f} M  {j.ratio:5.2f}{'' if j.error <= j.allowed else '  *'}"
              for j in judged]
    within = sum(j.error <= 2 * j.allowed for j in judged)
    lines += ["* the error is more than is allowed", "", f"{summary(judged)}; {100 * bar_of(judged):.0f} % is allowed",
              f"within twice what is allowed: {within} of {len(judged)} points"]
    wrong = wrong_orders(judged)
    lines.append(f"pairs of policies in wrong order: {len(wrong)}")
    lines += [f"  {a.point.name}: faster than {b.point.sync} by {a.native / b.native:.2f}, modelled {a.modelled / b.modelled:.2f}"
              for a, b in wrong]
    return "\n".join(lines) + "\n"


def bar_of(judged):
    """Returns the median error that is allowed: 10 %, or the median of what the points are allowed if that is more."""
    return max(ALLOWED, statistics.median(j.allowed for j in judged))


def summary(judged):
    return f"median error {100 * statistics.median(j.error for j in judged):.0f} %, over {len(judged)} points that were not fitted"


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
        """Returns false if there is no document."""
        if document is None:
            return False
        run = {"point": vars(point), "side": side, "block": block, "document": document}
        with self.path.open("a") as file:
            file.write(json.dumps(run) + "\n")
        self.keep(point, side, block, document)
        return True

    def median(self, point, side):
        """Returns the median rate of a point, in operations a second; None if it has no run."""
        return statistics.median(rates) if (rates := [rate for (*of, _), rate in self.kept.items() if of == [point, side]]) else None

    def keep(self, point, side, block, document):
        self.kept[point, side, block] = float(document["throughput"]["per_second"])
        self.noisy += document["status"] == "noisy"

    def rates(self):
        """Returns (point, side, operations a second) of all runs, in the order of the points."""
        return sorted(((point, side, rate) for (point, side, _), rate in self.kept.items()),
                      key=lambda run: (run[0].workload, RECORDS["full"].index(run[0].records), run[0].threads))


def call(words, stdout=subprocess.PIPE):
    return subprocess.run(list(map(str, words)), stdout=stdout, text=True, preexec_fn=ends_with_us(), check=False)


def measure(harness, point, side, block, machine):
    """Runs a point; returns its document, or None after a line about why there is none."""
    words = [harness, *point.words, f"--seed={block}", "--json", "--progress=none"]
    words += [f"--machine={machine}"] if side == "modelled" else ["--pmu=off"]
    ran = call(words)
    document = json.loads(ran.stdout) if ran.returncode == 0 and ran.stdout else None
    if document is not None and document["status"] in COUNTS[side] and document["throughput"]:
        return document
    why = f"is {document['status']}: {document['reason']}" if document else f"ended with status {ran.returncode}"
    print(f"model-check: {point.name}: the {side} run {why}", file=sys.stderr)
    return None


def write_fitted(harness, machine, fitted, measured, records):
    """Writes the machine file with the values that fit what was measured. Raises InputError if the model gives no rate."""
    def rate(job):
        workload, changes = job
        changed = definition.with_changes(f"file:{machine}", changes)
        document = measure(harness, Point("none", workload, records, 1), "modelled", 1, changed)
        if document is None:
            raise InputError(f"{machine}: no fit without a run of {workload}")
        return float(document["throughput"]["per_second"])

    processors = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(processors) as pool:
        values = fit(measured, lambda workload, all_changes: list(pool.map(rate, [(workload, changes) for changes in all_changes])),
                     min(4, max(2, processors)))
    text = machine.read_text()
    for key, value in values.items():
        text = model_fit.written(text, key, value, f"fitted to none, one thread, {records} keys on this machine; experiments/model-check")
        ends = next(of[2:4] for of in FITTED if of[0] == key)
        at_its_end = ", the end of its range: nothing in it gives what was measured" if float(value) in ends else ""
        print(f"fitted: {key} = {value}{at_its_end}", flush=True)
    fitted.write_text(text)


def main(native, modelled, *arguments):
    mode, folder = parse(arguments, FOLDER)
    machine = folder / "machine.toml"
    if not machine.exists() and call([native, "limits", f"--write-machine={machine}", "--progress=none"]).returncode != 0:
        return 1
    points = points_of(mode, transactions="\n[htm]\n" in machine.read_text())
    pairs = ["--index=art", f"--sync={{{','.join(dict.fromkeys(point.sync for point in points))}}}", "--records=1M", "--dry-run"]
    for words in ([native, *pairs], [modelled, f"--machine=file:{machine}", *pairs]):
        if call(words, stdout=subprocess.DEVNULL).returncode != 0:   # builds all pairs at once, before anything is timed
            return 1
    runs, failed = Runs(folder), False
    for block in range(1, BLOCKS[mode] + 1):
        for point in random.Random(block).sample(points, len(points)):
            if (point, "native", block) not in runs.kept:
                failed |= not runs.add(point, "native", block, measure(native, point, "native", block, ""))
    records = FIT_RECORDS[mode]
    to_fit = {workload: Point("none", workload, records, 1) for workload in WORKLOADS}
    fitted = folder / f"fitted-{records}.toml"
    if not fitted.exists():
        measured = {workload: runs.median(point, "native") for workload, point in to_fit.items()}
        if None in measured.values():
            return 1
        write_fitted(modelled, machine, fitted, measured, records)
    side = f"modelled, {fitted.name}"
    todo = [point for point in points if (point, side, 1) not in runs.kept]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for point, document in zip(todo, pool.map(lambda point: measure(modelled, point, "modelled", 1, f"file:{fitted}"), todo), strict=True):
            failed |= not runs.add(point, side, 1, document)
    judged = judge((point, of.partition(",")[0], rate) for point, of, rate in runs.rates()
                   if of in ("native", side) and point not in to_fit.values())
    if judged:
        print(report(judged), end="")
        if runs.noisy:
            all_native = sum(of == "native" for _, of, _ in runs.kept)
            print(f"noisy: other programs had the processors during {runs.noisy} of {all_native} native runs; repeat it on an idle machine")
        draw_if_possible("model-check", draw, judged, folder)
    return int(failed)


if __name__ == "__main__":
    run_script("model-check", main, *sys.argv[1:])
