"""RocksDB's own db_bench with a block cache over two memories, beside one in DRAM alone.

    ./bench tier counts|gain|rules|servers|trace [--quick] [--out=FOLDER]
    ./bench tier VARIANT... [--load=NAME] [--fill=order|random] [--keys=N] [--operations=N] [--shards=N] [--rounds=N] [--out=FOLDER]

A variant is the size of RocksDB's block cache; after a plus come the words of the tier below it, as in its URI (docs/two_memories.md). Sizes
are bytes, as in 16Mi and 16M, or a share of a shard's database, as in 9%:

    ./bench tier 32Mi 16Mi+size=16Mi 1.4%+far=model:optane,size=7.6%,promote=2

A round runs every variant once, in random order, each on a fresh copy of its database. build/tier keeps the databases. Reads and writes
bypass the kernel's cache of files. A run fails if the tier has not served, or if its hits are not those that RocksDB counts.

    counts      the misses of near + far memory beside those of DRAM of the same total, for databases written in order and at random
    gain        near 1.4 % of the data, near + far 9 %, and what counts times measured costs predict; with two controls, a half of puts
    rules       which blocks far memory takes, and when they go up again, on three media
    servers     small DRAM, hybrid and large DRAM as 2:0, 1:8 and 8:0 % of a shard's data, on three loads, with 1, 2 and 4 shards a machine
    trace       counts of a model in Python, of one recorded trace of accesses to blocks, beside those of the tier; its rules are more

    --load      prefix-dist (the default), mixgraph with its published parameters of ZippyDB; social-graph, with those of the social graph;
                prefix-dist-95, gets .95; half-writes, gets .5 and puts .5, with flushes and compactions; half-writes-uniform, without them, and
                with all keys alike. All but the first are our reconstructions
    --fill      order (the default): db_bench writes each key, in order; random: it writes 63 % of them
    --keys      of a shard's database, 2 M; --operations of a run, 400,000; --quick has fewer of both, and fewer rounds
    --shards    processes of db_bench, each with a database and its part of both memories

FOLDER, by default experiments/results/tier or tier-NAME, gets results.jsonl (a line for each run), and figure.svg for gain, rules and servers. Kept results
count: a run whose point and round are there is not run again. The text on stdout has medians with the least and the most of the rounds:
operations a second, the percentiles of a get, data blocks read from the device (misses), blocks that far memory gave (far hits) and took,
bytes that the processes read from the device, and the share of time that the whole machine kept it busy.

Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import InputError, end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("tier")   # before the other imports
import difflib
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, replace

import block_trace
import db_bench
import tier_cost
from db_bench import RunFailed
from kept import Runs, draw_if_possible, shown

TREE = pathlib.Path(__file__).resolve().parents[1]
RESULTS = TREE / "experiments/results"
CACHE = TREE / "build/tier"
PERCENTS = (50, 95, 99)


@dataclass(frozen=True)
class Point:
    variant: str
    load: str = "prefix-dist"
    fill: str = "order"
    keys: int = 2_000_000
    operations: int = 400_000
    shards: int = 1

    @property
    def near(self):
        return self.variant.partition("+")[0]

    @property
    def far(self):
        """The words of the tier; empty without one."""
        return self.variant.partition("+")[2]

    @property
    def name(self):
        shards = f", {self.shards} shards" if self.shards > 1 else ""
        return f"{self.load}, {self.fill}{shards}: {self.variant}"


UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)(%|[kKMGT]i?|)")


def count(text, what):
    """Returns the number that a text such as 400k or 16Mi stands for. Raises InputError."""
    found = SIZE.fullmatch(text)
    value = float(found[1]) * UNITS[found[2]] if found and found[2] in UNITS else 0
    if value < 1 or value != int(value):
        raise InputError(f"{what}='{text}' is no whole number from 1; write it as in 400k or 2M")
    return int(value)


def size(text, of):
    """Returns the bytes of a size, which may be a share of `of` bytes. Raises InputError."""
    found = SIZE.fullmatch(text)
    if not found or found[2] not in (*UNITS, "%") or float(found[1]) == 0:
        raise InputError(f"'{text}' is no size; write it as in 16Mi, 16M or 9%")
    return round(float(found[1]) * (of / 100 if found[2] == "%" else UNITS[found[2]]))


def checked(point):
    """Returns the point if its words can be right. Raises InputError. The tier itself refuses what is wrong in its words."""
    size(point.near, 1)
    if "+" in point.variant:
        sizes = [word for word in point.far.split(",") if word.startswith("size=")]
        if len(sizes) != 1:
            raise InputError(f"'{point.variant}': the tier needs one size=, as in 16Mi+size=16Mi")
        size(sizes[0].removeprefix("size="), 1)
        if "stats=" in point.far:
            raise InputError(f"'{point.variant}': stats= is ours")
    return point


def uri_of(point, data, stats):
    """Returns the URI of the tier of one shard. `data`: the bytes of a shard's database."""
    words = [f"size={size(word.removeprefix('size='), data) // point.shards}" if word.startswith("size=") else word for word in point.far.split(",")]
    return f"latchlab://{','.join(words)},stats={stats}"


class Tool:
    """Runs points: the library of the tier, db_bench and its databases."""

    def __init__(self, library, cache):
        self.library, self.cache = library, cache
        self.program = db_bench.found()
        self.databases = db_bench.Databases(cache / "databases", self.program)
        self.build = {**tree_build(), "db_bench": db_bench.version(self.program)}

    def measure(self, point):
        """Runs a point. Returns what is kept of it and the build, or None and None after a line about why there is nothing."""
        try:
            return self.outcome(point), self.build
        except RunFailed as wrong:
            print(f"tier: {point.name}: {wrong}", file=sys.stderr)
            return None, None

    def outcome(self, point):
        """Runs the shards of a point side by side. Raises RunFailed."""
        database = self.databases.of(point.keys, point.fill)
        data = db_bench.bytes_of(database)
        with tempfile.TemporaryDirectory(prefix="run-", dir=self.cache) as scratch:
            folders = [pathlib.Path(scratch) / str(shard) for shard in range(point.shards)]
            for folder in folders:
                folder.mkdir()
                self.databases.copy(database, folder / "db")
            busy, began = db_bench.busy_ms(scratch), time.monotonic()
            ended = db_bench.run_together([self.command(point, folder, data, number) for number, folder in enumerate(folders)])
            seconds = time.monotonic() - began
            busy = None if busy is None else (db_bench.busy_ms(scratch) - busy) / 1000 / seconds
            printed = [db_bench.parsed(text) for text, _ in ended]
            tiers = [counts_of(folder / "stats.json") for folder in folders if point.far]
        for one, tier in zip(printed, tiers, strict=False):
            see_that_it_served(one, tier)
        return outcome_of(printed, tiers, [usage for _, usage in ended]) | {"device_busy": busy, "database_bytes": data, "wall_s": seconds}

    def trace(self, point):
        """Returns the file with a trace of the accesses to blocks under the point's load. Raises RunFailed."""
        database = self.databases.of(point.keys, point.fill)
        path = self.cache / "traces" / f"{database.name}-{point.load}-{point.operations}"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="run-", dir=self.cache) as scratch:
                folder = pathlib.Path(scratch) / "0"
                folder.mkdir()
                self.databases.copy(database, folder / "db")
                words, _ = self.command(replace(point, variant="1.4%"), folder, db_bench.bytes_of(database), 0)
                db_bench.run([*words, f"--block_cache_trace_file={folder}/trace"])
                (folder / "trace").rename(path)
        return path

    def command(self, point, folder, data, shard):
        """Returns the words of db_bench for a shard, and its environment."""
        words = [self.program, f"--db={folder}/db", "--use_existing_db=true", f"--num={point.keys}", f"--seed={db_bench.SEED + shard}",
                 f"--cache_size={size(point.near, data) // point.shards}", "--statistics=true", "--histogram=true", *db_bench.COMMON,
                 *db_bench.load_options(point.load, point.keys, point.operations)]
        if not point.far:
            return words, None
        return ([*words, f"--secondary_cache_uri={uri_of(point, data, folder / 'stats.json')}"],
                {**os.environ, "LD_PRELOAD": str(self.library)})


def tree_build():
    """Returns the commit of this tree, and whether it has changes."""
    def git(*words):
        return db_bench.output(["git", "-C", str(TREE), *words])
    return {"commit": git("rev-parse", "--short=12", "HEAD") or "unknown", "dirty": bool(git("status", "--porcelain"))}


def counts_of(path):
    """Returns the counts that a tier has written. Raises RunFailed."""
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise RunFailed(f"the tier wrote no counts: {error.strerror}") from None


def see_that_it_served(printed, tier):
    """Raises RunFailed if the tier gave no block, or if its counts are not RocksDB's."""
    theirs = printed.tickers["secondary.cache.hits"]
    if tier["hits"] == 0:
        raise RunFailed(f"the tier served no block of {tier['lookups']} lookups; is near memory too large, or far memory too small?")
    if tier["hits"] != theirs:
        raise RunFailed(f"the tier counts {tier['hits']} hits, and RocksDB {theirs}")


def outcome_of(printed, tiers, usages):
    """Returns the outcome of the shards of a run."""
    ticker = lambda name: sum(one.tickers[name] for one in printed)
    histogram = db_bench.merged(one.read_histogram for one in printed)
    reads_us = [one.block_read_us for one in printed if one.block_read_us is not None]
    far = {name: sum(tier[name] for tier in tiers) for name in ("hits", "inserts", "blocks_read", "bytes_read", "blocks_written", "bytes_written",
                                                                "charged", "index_bytes", "passed")} if tiers else None
    return {"operations_s": sum(one.operations_s for one in printed),
            **{f"p{percent}_us": db_bench.percentile(histogram, percent) for percent in PERCENTS},
            "gets": sum(one.gets for one in printed), "puts": sum(one.puts for one in printed), "seeks": sum(one.seeks for one in printed),
            "near_hits": ticker("block.cache.data.hit") - ticker("secondary.cache.hits"), "far_hits": ticker("secondary.cache.hits"),
            "misses": ticker("block.cache.data.miss"), "block_read_us": statistics.mean(reads_us) if reads_us else None,
            "seconds": max(one.seconds for one in printed), "processor_s": sum(usage.ru_utime + usage.ru_stime for usage in usages),
            "device_read_bytes": 512 * sum(usage.ru_inblock for usage in usages), "far": far,
            **{what: tiers[0][what] if tiers else None for what in ("medium", "model", "copies")}, "read_histogram": histogram}


def report(runs):
    """Returns the text of all runs: a line for each point."""
    lines = [f"{'':72} {'operations/s':>26} {'P50, us':>8} {'P95, us':>22} {'P99, us':>8} {'misses':>27} {'far hits':>9} {'far written':>12} "
             f"{'read, MB':>9} {'busy':>5}"]
    for point in sorted(runs.points(), key=order):
        middle = lambda what, scale=1, digits=0, point=point: \
            f"{statistics.median(values) * scale:,.{digits}f}" if (values := runs.values(point, what)) else "-"
        written = [far["blocks_written"] for far in runs.values(point, "far")]
        lines.append(f"{point.name:72} {shown(runs.values(point, 'operations_s')):>26} {middle('p50_us', 1, 1):>8} "
                     f"{shown(runs.values(point, 'p95_us'), 1):>22} {middle('p99_us'):>8} {shown(runs.values(point, 'misses')):>27} "
                     f"{middle('far_hits'):>9} {format(statistics.median(written), ',.0f') if written else '-':>12} "
                     f"{middle('device_read_bytes', 1e-6):>9} {middle('device_busy', 100):>4}%")
    return "\n".join(lines) + "\n"


def order(point):
    return point.load, point.fill, point.keys, point.shards, point.far != "", point.variant


# DRAM alone, near memory and far memory, in MiB, for 2 M keys.
TOTALS = ((32, 16, 16), (48, 16, 32))
COUNTS_BAR, EQUAL_BAR, BYTES_BAR, MORE_MISSES_BAR = .02, .001, .5, .05


def counts_points(base):
    out = []
    for fill in db_bench.FILLS:
        for sizes in TOTALS:
            # Memories have a part of the published 2 M keys' sizes, as the data have.
            dram, near, far = (f"{mebibytes * base.keys // 2_000_000}Mi" for mebibytes in sizes)
            out += [replace(base, fill=fill, variant=variant) for variant in (dram, *(f"{near}+size={far}{rule}" for rule in RULES))]
    return list(dict.fromkeys(out))


def counts_report(runs, _):
    lines = ["misses of near + far over those of DRAM of the same total; the same, and the bytes written to far memory, over those of promote=1"]
    for point in sorted(runs.points(), key=order):
        if not point.far:
            continue
        near, far = (int(re.search(pattern, point.variant)[1]) for pattern in (r"^(\d+)Mi", r"size=(\d+)Mi"))
        dram, plain = replace(point, variant=f"{near + far}Mi"), replace(point, variant=f"{near}Mi+size={far}Mi")
        line = f"{point.name:72} {shown(runs.ratios(point, dram, 'misses'), 4)}"
        if point != plain and runs.values(plain, "far"):
            written = lambda of: statistics.median(far["bytes_written"] for far in runs.values(of, "far"))
            line += f"; {shown(runs.ratios(point, plain, 'misses'), 4)}, bytes {written(point) / written(plain):.3f}"
        lines.append(line)
    spreads = [(max(misses) - min(misses)) / min(misses) for point in runs.points() if len(misses := runs.values(point, "misses")) > 1]
    if spreads:
        lines.append(f"misses of equal runs differ by up to {100 * max(spreads):.3f} %")
    return "\n".join(lines) + "\n"


RULES = ("", ",promote=2", ",rule=second-touch", ",rule=second-touch,promote=2")

# Near memory of 1.4 % of the data, and near and far memory of 9 %; a smaller far memory, whose run tells what a copy costs; a model.
PUBLISHED = (1.8, .8)   # "up to 80 %" more throughput, "up to 20 %" less P95
SMALL, LARGE, COPIES, HYBRID, MODEL = "1.4%", "9%", "1.4%+size=3%", "1.4%+size=7.6%", "1.4%+far=model:optane,size=7.6%"
CONTROLS = {"half-writes": (SMALL, "2.8%", HYBRID), "half-writes-uniform": (SMALL, HYBRID)}


def gain_points(base):
    controls = [replace(base, load=load, operations=base.operations // 2, variant=variant) for load, variants in CONTROLS.items() for variant in variants]
    return [replace(base, variant=variant) for variant in (SMALL, LARGE, COPIES, HYBRID, MODEL)] + controls


def gain_report(runs, _):
    """Returns the ratios of the bars, and what the counts predict beside what was measured, each of one round."""
    base = [point for point in runs.points() if point.load == "prefix-dist"]
    lines = ["over near memory alone: misses; operations a second; P95"]
    for point in sorted(runs.points(), key=order):
        alone = replace(point, variant=SMALL)
        if point != alone:
            lines.append(f"{point.name:72} {shown(runs.ratios(point, alone, 'misses'), 4)}; {shown(runs.ratios(point, alone, 'operations_s'), 2)}; "
                         f"{shown(runs.ratios(point, alone, 'p95_us'), 2)}")
    lines.append(f"published, as maxima: operations a second {PUBLISHED[0]}, P95 {PUBLISHED[1]}: near and far memory on Optane beside a server with "
                 "twice as much DRAM as near memory, on their loads")
    of = {point.variant: tier_cost.together(runs.outcomes(point)) for point in base}
    if {SMALL, LARGE, COPIES} <= set(of) and of[SMALL]["misses"] != of[LARGE]["misses"]:
        costs = tier_cost.costs_of(of[SMALL], of[LARGE], of[COPIES])
        lines += ["", f"costs in us: rest {costs.rest:.1f}, miss {costs.miss:.1f} beside its read, copy {costs.copy:.1f}",
                  "measured over predicted by counts times costs: operations a second, in each round; P95, of all rounds together"]
        for point in base:
            if point.variant in (HYBRID, MODEL):
                preset = "optane" if point.variant == MODEL else None
                rates = [outcome["operations_s"] * tier_cost.predicted_us(costs, outcome, preset) / 1e6 for outcome in runs.outcomes(point)]
                tail = tier_cost.predicted_percentile(costs, of[SMALL], of[LARGE], of[point.variant], 95, preset)
                lines.append(f"{point.name:72} {shown(rates, 2)}; {db_bench.percentile(of[point.variant]['read_histogram'], 95) / tail:.2f}")
    return "\n".join(lines) + "\n"


MEDIA = {"DRAM": "", "a model of CXL": "far=model:cxl,", "a model of Optane": "far=model:optane,"}


def rules_points(base):
    return [replace(base, variant=variant) for variant in
            (SMALL, LARGE, *(f"{SMALL}+{medium}size=7.6%{rule}" for medium in MEDIA.values() for rule in RULES))]


def rules_report(runs, _):
    lines = ["over the usual rule (near-first,promote=1) on the same medium: misses; bytes written to far memory; operations a second"]
    for medium, words in MEDIA.items():
        usual = Point(f"{SMALL}+{words}size=7.6%")
        for rule in RULES:
            point = next((one for one in runs.points() if one.variant == usual.variant + rule), None)
            plain = next((one for one in runs.points() if one.variant == usual.variant), None)
            if point and plain:
                written = lambda of: statistics.median(far["bytes_written"] for far in runs.values(of, "far"))
                lines.append(f"{medium + ', ' + (rule.lstrip(',') or 'promote=1'):50} {shown(runs.ratios(point, plain, 'misses'), 3)}; "
                             f"{written(point) / written(plain):.3f}; {shown(runs.ratios(point, plain, 'operations_s'), 2)}")
    return "\n".join(lines) + "\n"


# In the ratio of DRAM to far memory of the servers with 64 and 0, 32 and 256, and 256 and 0 GB (docs/two_memories.md).
SERVERS = {"small DRAM": "2%", "hybrid": "1%+far=model:optane,size=8%", "large DRAM": "8%"}
LOADS = ("prefix-dist", "social-graph", "prefix-dist-95")


def servers_points(base):
    shards = (1, 2) if base.keys < Point.keys else (1, 2, 4)
    return [replace(base, load=load, variant=variant, shards=number, operations=base.operations // 2 if load == "social-graph" else base.operations)
            for load in LOADS for variant in SERVERS.values() for number in shards]


def servers_report(runs, _):
    lines = ["over the server with small DRAM: operations a second; P95; misses; bytes read from the device"]
    names = {variant: name for name, variant in SERVERS.items()}
    for point in sorted(runs.points(), key=order):
        small = replace(point, variant=SERVERS["small DRAM"])
        if point != small:
            ratios = "; ".join(shown(runs.ratios(point, small, what), 2) for what in ("operations_s", "p95_us", "misses", "device_read_bytes"))
            lines.append(f"{f'{point.load}, shards: {point.shards}, {names[point.variant]}':42} {ratios}")
    return "\n".join(lines) + "\n"


# The rules of the model: their words, and those of the tier if it has the rule.
MODELLED = {"near-first,promote=1": ({}, ""), "near-first,promote=2": ({"promote": 2}, ",promote=2"), "near-first,promote=never": ({"promote": 0}, None),
            "far-first,promote=2": ({"first": "far", "promote": 2}, None), "second-touch,promote=1": ({"second_touch": True}, ",rule=second-touch"),
            "second-touch,promote=2": ({"second_touch": True, "promote": 2}, ",rule=second-touch,promote=2")}


def trace_points(base):
    return [point for point in counts_points(base) if point.fill == "order"]


def trace_report(runs, tool):
    """Returns what the model says of the trace of the points' load, beside what the tier did."""
    lines = [f"{'the model; over the tier in parentheses':45} {'misses':>20} {'far hits':>20} {'far writes':>20}"]
    points = runs.points()
    accesses, sizes = block_trace.read(tool.trace(points[0]))
    lines.append(f"{len(accesses):,} accesses to {len(sizes):,} blocks")
    usual = [point for point in points if point.far and "promote" not in point.far and "rule" not in point.far]
    for plain in sorted(usual, key=order):
        near, far = (count(text, "size") for text in (plain.near, plain.far.removeprefix("size=")))
        for rule, (words, ours) in [("DRAM of the total", (None, None)), *MODELLED.items()]:
            tiers = block_trace.Tiers(near + far, 0) if words is None else block_trace.Tiers(near, far, **words)
            tiers.run(accesses, sizes)
            real = replace(plain, variant=f"{(near + far) >> 20}Mi" if words is None else f"{plain.variant}{ours}")
            known = runs.values(real, "misses") and (words is None or ours is not None)
            row = f"{plain.variant + ', ' + rule:45}"
            for what, modelled in (("misses", tiers.misses), ("far_hits", tiers.far_hits), ("blocks_written", tiers.far_writes)):
                measured = [far["blocks_written"] for far in runs.values(real, "far")] if what == "blocks_written" else runs.values(real, what)
                beside = f" ({modelled / statistics.median(measured):.3f})" if known and measured and statistics.median(measured) else ""
                row += f" {f'{modelled:,}{beside}':>20}"
            lines.append(row)
    return "\n".join(lines) + "\n"


EXPERIMENTS = {"counts": (counts_points, counts_report), "gain": (gain_points, gain_report), "rules": (rules_points, rules_report),
               "servers": (servers_points, servers_report), "trace": (trace_points, trace_report)}
ROUNDS = {"counts": {"quick": 1, "full": 3}, "gain": {"quick": 3, "full": 10}, "rules": {"quick": 1, "full": 5}, "servers": {"quick": 1, "full": 5},
          "trace": {"quick": 1, "full": 1}}
QUICK = {"keys": 500_000, "operations": 100_000}


FIGURES = ("gain", "rules", "servers")


def draw(experiment, runs, folder):
    import tier_figure   # only the drawing needs the modules of build/python
    tier_figure.draw(experiment, runs, folder)


def words_of(arguments):
    """Returns the experiment, the mode, the points, the rounds and the folder. Raises InputError. With --help it prints the docstring, and
    exits."""
    if "--help" in arguments:
        print(__doc__.strip())
        sys.exit()
    given, names = {}, []
    for word in arguments:
        if not word.startswith("--"):
            names.append(word)
            continue
        option, equals, value = word.partition("=")
        if option not in OPTIONS or (equals and option == "--quick"):
            near = difflib.get_close_matches(option, OPTIONS, 1)
            raise InputError(f"'{word}' has no meaning here; {f'did you mean {near[0]}?' if near else 'there are ' + ', '.join(OPTIONS)}")
        if value == "" and option != "--quick":
            raise InputError(f"'{word}' has no value; write {option}={'FOLDER' if option == '--out' else 'VALUE'}")
        if option in given:
            raise InputError(f"{option} is given twice")
        given[option] = value
    if not names:
        raise InputError(f"name an experiment ({', '.join(EXPERIMENTS)}) or variants, such as 32Mi 16Mi+size=16Mi")
    folder = pathlib.Path(given.pop("--out", RESULTS / ("tier" if names[0] not in EXPERIMENTS else f"tier-{names[0]}")))
    if names[0] in EXPERIMENTS:
        if len(names) > 1:
            raise InputError(f"'{names[1]}' is too much; an experiment has its own variants")
        mode = "full" if given.pop("--quick", None) is None else "quick"
        if given:
            raise InputError(f"{next(iter(given))} is for variants of your own; an experiment has its own points")
        points = EXPERIMENTS[names[0]][0](Point("", **(QUICK if mode == "quick" else {})))
        return names[0], mode, points, ROUNDS[names[0]][mode], folder
    return None, "own", *own_points(names, given), folder


OPTIONS = ("--quick", "--out", "--load", "--fill", "--keys", "--operations", "--shards", "--rounds")


def own_points(variants, given):
    """Returns the points of variants, and the rounds. Raises InputError."""
    base = Point("", **(QUICK if given.pop("--quick", None) is not None else {}))
    for name, choices in (("load", db_bench.MIXES), ("fill", db_bench.FILLS)):
        value = given.get(f"--{name}", getattr(base, name))
        if value not in choices:
            raise InputError(f"--{name}={value}: there are {', '.join(choices)}")
        base = replace(base, **{name: value})
    for name in ("keys", "operations", "shards"):
        if f"--{name}" in given:
            base = replace(base, **{name: count(given[f"--{name}"], f"--{name}")})
    for variant in variants:
        if not variant[:1].isdigit():
            near = difflib.get_close_matches(variant, EXPERIMENTS, 1)
            raise InputError(f"there is no experiment '{variant}'; {f'did you mean {near[0]}?' if near else 'there are ' + ', '.join(EXPERIMENTS)}"
                             ", and variants such as 16Mi+size=16Mi")
    points = [checked(replace(base, variant=variant)) for variant in variants]
    if len(set(points)) < len(points):
        raise InputError("a variant is given twice")
    return points, count(given.get("--rounds", "3"), "--rounds")


def main(library, *arguments):
    experiment, mode, points, rounds, folder = words_of(arguments)
    if not library:   # ./bench asks whether the words are right before it builds
        return 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        CACHE.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: {error.strerror}") from None
    runs, tool = Runs(folder, Point, mode), Tool(pathlib.Path(library).absolute(), CACHE)
    right = runs.run_rounds(points, rounds, tool.measure)
    print(report(runs), end="")
    if experiment:
        try:
            print("\n" + EXPERIMENTS[experiment][1](runs, tool), end="")
        except RunFailed as wrong:
            print(f"tier: {experiment}: {wrong}", file=sys.stderr)
            return 1
        if experiment in FIGURES:
            draw_if_possible("tier", lambda runs, folder: draw(experiment, runs, folder), runs, folder)
    return int(not right)


if __name__ == "__main__":
    run_script("tier", main, *sys.argv[1:])
