"""Measures the cost of every global lock: to acquire and release it, and to hand it over; `./bench locks` runs it.

    ./bench locks [POLICY...] [--quick] [--out=FOLDER]

The index is `null`, so an operation under a policy is an empty critical section. POLICY is one of those below, with its options, as in gcr:1;
without one all of them are measured.

    none atomic                        no lock: what is left of an operation; one locked instruction
    mutex spin ticket mcs cna reciprocating hapax gcr combine
    ffwd                               a server runs the operations: one thread more
    rwspin shared_mutex bravo tbb-rw   lookups share the lock

    alone       instructions and locked instructions of an uncontended lookup and update beyond those of `none`, which callgrind counts in one
                run; left out where valgrind is not installed
    1 thread    ns of an operation beyond that of `none` of the same round: an uncontended acquire and release
    2 threads   ns from one operation to the next, of whichever thread. A fair lock is handed over at each; an unfair one stays with a thread
                for a while. On one node and with two threads there is nothing that `cna` and `gcr` could make better
    PMU         instructions of an operation with two threads, loops of waiting among them; left out where the PMU is not there

Runs are interleaved: a round runs every point once, in random order. 10 rounds of 200 ms; --quick: 2 rounds of 50 ms. FOLDER, by default
experiments/results/locks, gets results.jsonl (a line for each run), and kept results count: a run whose point and round are there is not run
again. The text on stdout is a table in Markdown: medians, with the least and the most of the rounds.

Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import InputError, end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("locks")   # before the other imports
import concurrent.futures
import difflib
import json
import os
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass

import budget
from child import ends_with_us
from kept import Runs, parse, shown

FOLDER = pathlib.Path(__file__).resolve().parent / "results/locks"
POLICIES = ("none", "atomic", "mutex", "spin", "ticket", "mcs", "cna", "reciprocating", "hapax", "gcr", "combine", "ffwd", "rwspin",
            "shared_mutex", "bravo", "tbb-rw")
ONE_WRITER = ("none", "atomic")
OPERATIONS = ("lookup", "update")   # of budget.OPERATIONS
ALONE = "alone"                     # counted, in place of a number of threads
ROUNDS = {"quick": 2, "full": 10}
TIMES = {"quick": ["--warmup=20ms", "--time=50ms"], "full": ["--warmup=50ms", "--time=200ms"]}
COUNTS = ("instructions", "locked")
COUNTED = 16_384   # operations by which two counted runs differ


@dataclass(frozen=True)
class Point:
    policy: str
    operation: str
    threads: int | str


def runnable(point):
    """Returns false if the policy of a timed point allows one writing thread, and the point has two."""
    return not (point.policy in ONE_WRITER and point.operation == "update" and point.threads == 2)


def nothing(reason):
    """Returns the outcome of a run that was not measured."""
    return {"ns": None, "instructions": None, "locked": None, "reason": reason, "pmu_reason": None}


def counted(harness, point):
    """Returns the outcome of a point alone: the counts of an operation, or why there are none."""
    if point.policy.startswith("ffwd"):
        return nothing("two threads share the work, so counts of one of them say nothing")
    if shutil.which("valgrind") is None:
        return nothing("valgrind is not installed")
    few, many = (budget.counts(harness, ["--index=null", f"--sync={point.policy}", f"--workload={budget.OPERATIONS[point.operation]}",
                                         f"--records={COUNTED}", f"--ops={operations}"]) for operations in (COUNTED, 2 * COUNTED))
    return nothing("callgrind has no time") | {what: (more - less) / COUNTED for what, less, more in zip(COUNTS, few, many)}


def run(harness, point, mode):
    """Returns the document of a run, or None after a line about why."""
    words = [harness, "--index=null", f"--sync={point.policy}", f"--threads={point.threads}",
             f"--workload={budget.OPERATIONS[point.operation]}", "--records=1k", *TIMES[mode], "--validate=off", "--json", "--progress=none"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=ends_with_us())
    try:
        return json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().splitlines()
        print(f"locks: {' '.join(words[1:])} ended with status {done.returncode}: {said[-1] if said else 'it said nothing'}", file=sys.stderr)
        return None


def timed(document):
    """Returns the outcome of a document."""
    if document["throughput"] is None:
        return nothing(document["reason"])   # skipped
    of = nothing(None) | {"ns": 1e9 / document["throughput"]["per_second"]}
    if document["pmu"] is None:
        return of | {"pmu_reason": document["pmu_reason"]}
    event = next((event for event in document["pmu"]["events"] if event["name"] == "instructions"), None)
    if event is None or event["count"] is None:
        return of | {"pmu_reason": "the PMU does not count instructions" if event is None else event["count_reason"]}
    return of | {"instructions": event["count"]["per_operation"]}


def measured(harness, mode, point):
    """Returns the outcome of a run by the clock and its build, or None and None after a line about why."""
    document = run(harness, point, mode)
    return (None, None) if document is None or document["interrupted"] else (timed(document), document["build"])


def above(runs, point, what):
    """Returns by round what a point has beyond `none`, but for rounds that lack one of the two."""
    base = Point("none", point.operation, point.threads)
    rounds = sorted({number for _, number in runs.kept})
    pairs = [[runs.kept.get((of, number), {}).get(what) for of in (point, base)] for number in rounds]
    return [own - loop for own, loop in pairs if own is not None and loop is not None]


def table(runs, policies):
    """Returns the table, and below it a line for each reason why something is left out."""
    lines = ["| policy | alone: lookup | update | 1 thread: lookup, ns | update, ns | 2 threads: lookup, ns | update, ns | PMU: lookup | update |",
             "|---" * 9 + "|"]
    reasons = {}

    def lacks(point, values, key):
        """Keeps the reason why a point has no values."""
        if not values:
            for outcome in runs.outcomes(point) or [{key: "no run has ended" if runnable(point) else "it allows one writing thread"}]:
                of = reasons.setdefault(outcome[key] or "there is no run of `none` beside it", {})
                of[f"{point.policy}, {point.operation}, {named(point)}"] = None   # in order, and once

    def cells(policy):
        for operation in OPERATIONS:
            point = Point(policy, operation, ALONE)
            found = [above(runs, point, what) for what in COUNTS]
            lacks(point, found[0], "reason")
            yield " / ".join(f"{values[0]:.0f}" for values in found) if all(found) else "-"
        for threads in (1, 2):
            for operation in OPERATIONS:
                point = Point(policy, operation, threads)
                values = above(runs, point, "ns") if threads == 1 else runs.values(point, "ns")
                lacks(point, values, "reason")
                yield shown(values, 1)
        for operation in OPERATIONS:
            point = Point(policy, operation, 2)
            values = runs.values(point, "instructions")
            if runs.values(point, "ns"):
                lacks(point, values, "pmu_reason")
            yield shown(values)

    for policy in policies:
        lines.append(f"| {policy} | " + " | ".join(cells(policy)) + " |")
    return "\n".join(lines) + "\n" + "".join(f"\n-: {reason}{where(points)}" for reason, points in reasons.items()) + "\n"


def named(point):
    return "alone" if point.threads == ALONE else f"{point.threads} thread{'s' * (point.threads > 1)}"


def where(points):
    """Returns the points of a reason, if they are few."""
    return f" ({'; '.join(points)})" if len(points) <= 4 else ""


def words_of(arguments):
    """Returns the policies, with `none` as the first, and the other words. Raises InputError."""
    policies = [word for word in arguments if not word.startswith("--")]
    for number, policy in enumerate(policies):
        name = policy.partition(":")[0]
        if name not in POLICIES:
            near = difflib.get_close_matches(name, POLICIES, 1)
            raise InputError(f"'{policy}' is no policy with a global lock; {f'did you mean {near[0]}?' if near else 'there are ' + ', '.join(POLICIES)}")
        if policy in policies[:number]:
            raise InputError(f"{policy} is given twice")
    policies = [policy for policy in policies if policy != "none"] or list(POLICIES[1:])
    return ["none", *policies], [word for word in arguments if word.startswith("--")]


def main(harness, *arguments):
    policies, options = words_of(arguments)
    if not harness:   # ./bench asks whether the words are right, and what to build
        for word in options:
            if word != "--quick" and not word.startswith("--out=") and word != "--help":
                raise InputError(f"'{word}' has no meaning here; there are --quick, --out=FOLDER and --help")
        print("--index=null", *(f"--sync={policy}" for policy in policies), sep="\n")
        return 0
    mode, folder = parse(options, FOLDER)
    runs = Runs(folder, Point, mode)
    document = run(harness, Point("none", OPERATIONS[0], 1), mode)   # runs under callgrind print none, and have the same build
    if document is None:
        return 1
    alone = [point for policy in policies for operation in OPERATIONS for point in [Point(policy, operation, ALONE)] if (point, 1) not in runs.kept]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:   # counts do not depend on what else runs
        for point, outcome in zip(alone, pool.map(lambda point: counted(harness, point), alone)):
            runs.add(point, 1, outcome, document["build"])
    points = [Point(policy, operation, threads) for policy in policies for operation in OPERATIONS for threads in (1, 2)]
    right = runs.run_rounds([point for point in points if runnable(point)], ROUNDS[mode], lambda point: measured(harness, mode, point))
    print(table(runs, policies), end="")
    return int(not right)


if __name__ == "__main__":
    run_script("locks", main, *sys.argv[1:])
