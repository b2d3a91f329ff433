"""What a sweep has to run, and how much of it is done: the same for the program that runs it and for one that looks at it."""
import bisect
import json
import re
import statistics
import sys
from dataclasses import dataclass

import blocks
import definition
import gaps
import hold
from input_error import InputError
from results import Results, digest, is_words

SCHEMA = 1
SWEEP = "sweep"   # the name of what runs the lists of a command line; experiments have their own
# The names of the files that a sweep makes in its folder. A program that was killed may leave a .part; the next one writes it anew.
WHOLE = {"sweep.json", "results.jsonl", "failures.jsonl", "kinds.json"}
OURS = WHOLE | {f"{name}.part" for name in WHOLE} | {"tasks", "aside.jsonl", "sbatch", "machines.svg"}
KIND = re.compile(r"([A-Za-z0-9][\w.&-]*)?", re.ASCII)   # names of kinds, which are names of folders; a single kind may have none


@dataclass
class Block:
    left: dict   # arguments -> (place in the block, point) of each point that still has to run, in their order
    node: str    # that ran its last run


class Plan:
    """The blocks of an experiment on each kind of machine. `results` has the Results of each kind.

    The first question about a kind looks at all of its results. From then on, keep, fail and put_aside bring the answers up to date, so
    that a run costs the driver no look at the others."""

    def __init__(self, experiment, results, failures=None):
        self.experiment, self.results = experiment, results
        self.failures = failures or {}   # (kind, arguments, replicate) -> reason
        self.size = len(experiment.distinct())   # runs of a block
        self.read = {}     # kind -> its blocks
        self.took = None   # times of the runs, sorted

    def block(self, kind, replicate):
        if kind not in self.read:
            results = self.results[kind]
            gone = {arguments for (arguments, _), document in results.known.items() if gaps.of_all(document)}
            nodes = {of: run.get("node", "") for (_, of), run in results.runs.items()}
            self.read[kind] = [
                Block({
                    point.arguments: (place, point)
                    for place, point in enumerate(blocks.order(self.experiment, of))
                    if (point.arguments, of) not in results.known
                    and (kind, point.arguments, of) not in self.failures
                    and point.arguments not in gone
                }, nodes.get(of, ""))
                for of in range(self.experiment.replicates)
            ]
        return self.read[kind][replicate]

    def keep(self, kind, point, replicate, document, run):
        """Keeps a result. Raises OSError."""
        self.results[kind].add(point, replicate, document, run)
        if self.took is not None and has_time(run):
            bisect.insort(self.took, run["ended"] - run["began"])
        of_all = gaps.of_all(document)
        for of, block in enumerate(self.read.get(kind, ())):
            if of == replicate:
                block.node = run.get("node", "")
            if of == replicate or of_all:
                block.left.pop(point.arguments, None)

    def fail(self, kind, arguments, replicate, reason):
        self.failures[kind, arguments, replicate] = reason
        if replicate < self.experiment.replicates:
            self.block(kind, replicate).left.pop(arguments, None)

    def put_aside(self, kind, replicate):
        """Moves the results of a block aside, so that it begins anew. Returns how many those are. Raises OSError."""
        aside = self.results[kind].put_aside(replicate)
        self.read.pop(kind, None)
        self.took = None
        return aside

    def pending(self, kind, replicate):
        """Returns the points of a block that still have to run, each with its place in the block."""
        return list(self.block(kind, replicate).left.values())

    def blocks(self):
        return [(kind, replicate) for kind in self.results for replicate in range(self.experiment.replicates)]

    def total(self):
        return self.size * len(self.blocks())

    def left(self, kind):
        return sum(len(self.block(kind, replicate).left) for replicate in range(self.experiment.replicates))

    def done(self, kind):
        results = self.results[kind]
        return sum((point.arguments, replicate) in results.known
                   for point in self.experiment.distinct() for replicate in range(self.experiment.replicates))

    def node_of(self, kind, replicate):
        """Returns the node that ran the beginning of a block, so that it runs the rest too; "" if any may."""
        return self.block(kind, replicate).node

    def seconds(self):
        """The median time of the runs so far; None before the first."""
        if self.took is None:
            runs = [run for results in self.results.values() for run in results.runs.values()]
            self.took = sorted(run["ended"] - run["began"] for run in runs if has_time(run))
        return statistics.median(self.took) if self.took else None

    def seconds_left(self, at_once):
        """Estimates the time that is left if so many tasks run at once; None before the first result."""
        if (each := self.seconds()) is None:
            return None
        runs = [len(self.block(*block).left) for block in self.blocks()]
        return each * max(sum(runs) / at_once, max(runs, default=0))


def has_time(run):
    """True if it is known how long a run took: the clock of its node was not set back in the meantime."""
    return "began" in run and "ended" in run and run["began"] <= run["ended"]


def in_words(seconds):
    """Returns a time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def dry_run(plan, engine, seeds=""):
    """Prints the points, and how much is left of them. `seeds` is said of the blocks."""
    for point in plan.experiment.distinct():
        print(" ".join([str(engine.harness(engine.kinds[0])), *point.arguments]))
    seconds = plan.seconds_left(min(engine.width, len(plan.blocks())))
    estimate = f"about {in_words(seconds)}, as runs in this folder took" if seconds is not None else "no estimate, since none ran here yet"
    left = sum(plan.left(kind) for kind in plan.results)
    print(f"{plan.size} points, {len(plan.blocks())} blocks{seeds} on {engine.nodes()}; {left} of {plan.total()} runs left: {estimate}",
          file=sys.stderr)


def save(folder, experiment, engine, words):
    """Writes sweep.json, which tells what the folder is for. Kinds of earlier calls stay in it. Raises InputError."""
    kept = {
        "schema": SCHEMA,
        "command": words,
        "name": experiment.name,
        "replicates": experiment.replicates,
        "points": [point.arguments for point in experiment.distinct()],
        "kinds": kinds_in(folder) | {kind: digest(engine.harness(kind)) for kind in engine.kinds},
    }
    part = folder / "sweep.json.part"
    try:
        part.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        part.rename(folder / "sweep.json")
    except OSError as error:   # such as a full disk
        part.unlink(missing_ok=True)
        raise InputError(f"--out: {part}: {error.strerror}") from None


def folder_of(folder, kind):
    return folder / kind if kind else folder


def is_kept(value):
    """True if a dictionary is what `save` writes, as far as every reader relies on it."""
    kinds = {"command": list, "name": str, "replicates": int, "points": list, "kinds": dict}
    return all(isinstance(value.get(key), kind) for key, kind in kinds.items()) and is_words(value["command"]) and \
        all(map(is_words, value["points"])) and value["replicates"] > 0 and \
        all(isinstance(binary, str) for binary in value["kinds"].values()) and \
        all(map(KIND.fullmatch, value["kinds"]))


def kept_in(folder):
    """Returns what sweep.json says. Raises InputError."""
    try:
        kept = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
        if kept["schema"] != SCHEMA:
            raise InputError(f"{folder}/sweep.json: schema {kept['schema']}; this program knows {SCHEMA}")
        if is_kept(kept):
            return kept
        raise ValueError
    except OSError as error:
        if (folder / "tasks").is_dir() and hold.is_of_start(folder):
            raise InputError(f"{folder}: a sweep starts here, or was killed while it did; nothing has run yet") from None
        raise InputError(f"{folder}: is no folder of a sweep: sweep.json: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{folder}: is no folder of a sweep: its sweep.json is something else") from None


def kinds_in(folder):
    """Returns the kinds in sweep.json, each with the digest of its binary; none if there is no such file. Raises InputError."""
    kinds = kept_in(folder).get("kinds") if (folder / "sweep.json").exists() else None
    return kinds if isinstance(kinds, dict) else {}


def load(folder):
    """Returns the plan of a folder, as its files tell it now, and its command. Writes nothing. Raises InputError."""
    kept = kept_in(folder)
    points = [definition.Point(0, "", None, tuple(arguments)) for arguments in kept["points"]]
    experiment = definition.Experiment(kept["name"], "", "", "", kept["replicates"], [], points)
    results = {kind: Results(folder_of(folder, kind), binary) for kind, binary in kept["kinds"].items()}
    return Plan(experiment, results, failures_in(folder)), kept["command"]


def failures_in(folder):
    """Returns the runs that failed in the last call: (kind, arguments, replicate) -> reason."""
    failures = {}
    try:
        text = (folder / "failures.jsonl").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    for line in text.splitlines():
        try:
            record = json.loads(line)
            if isinstance(record["kind"], str) and is_words(record["arguments"]):
                failures[record["kind"], tuple(record["arguments"]), record["replicate"]] = record["reason"]
        except (ValueError, KeyError, TypeError):
            continue   # a killed program left an incomplete line
    return failures
