"""Judges a claim by the documents of its runs: a number, its 95 % interval, and the outcome.

    reproduced            the whole interval keeps the bound with its tolerance
    not reproduced        the whole interval is beyond it, or a run failed
    not decided           the interval includes the bound: more blocks would tell
    not testable here     this machine or this build cannot make a run

A ratio of speeds is that of `harness compare`, with its bootstrap interval. Other numbers are medians over the blocks; their interval is
between two of the numbers themselves, which needs no assumption on how they are distributed.
"""
import json
import math
import pathlib
import re
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field

import gaps
from claims import NUMBERS, SPEED

REPRODUCED, NOT, UNDECIDED, UNTESTABLE = "reproduced", "not reproduced", "not decided", "not testable here"
FEWEST = 6   # blocks: with fewer, neither interval exists


@dataclass
class Judgement:
    outcome: str
    reason: str = ""
    value: float | None = None
    interval: tuple | None = None
    blocks: int = 0
    disturbed: int = 0   # runs that other programs disturbed
    runs: int = 0
    causes: list = field(default_factory=list)   # likely causes why it is not reproduced
    explained: list = field(default_factory=list)   # what `harness explain` says of its middle runs


def interval_of(values):
    """Returns the interval that holds the median with 95 % or more; None for too few values. By chance as many as `k` of n values lie
    below the median, as heads of n coins."""
    n, low, chance = len(values), 0, 0
    while (chance := chance + math.comb(n, low) / 2**n) <= .025:
        low += 1
    return (sorted(values)[low - 1], sorted(values)[n - low]) if low else None


def ratio(harness, blocks):
    """Returns what `harness compare` says of a and b: the ratio, its interval, and why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / letter for letter in "ba"]   # the base comes first
        for file in files:
            file.write_text("\n".join(json.dumps(of[file.name]) for of in blocks), encoding="utf-8")
        done = subprocess.run([harness, "compare", "--json", *files], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != 1:
        return None, None, (done.stderr.strip().splitlines() or ["harness compare has no comparison of a and b"])[-1]
    variant = json.loads(lines[0])["variants"][1]
    interval = variant["interval"] and tuple(variant["interval"])
    return variant["ratio"], interval, variant["withheld"] or variant.get("ratio_reason") or variant.get("interval_reason", "")


def number(claim, blocks):
    """Returns the median of the claim's number over the blocks, its interval, and why there is none."""
    try:
        of = [{letter: NUMBERS[claim.number](document) for letter, document in block.items()} for block in blocks]
    except gaps.NoNumber as why:
        return None, None, str(why)
    except (KeyError, TypeError, ZeroDivisionError):
        return None, None, f"the documents have no {claim.number}"
    values = [each["a"] if claim.form == "a" else each["a"] - each["b"] if claim.form == "a - b" else each["a"] / each["b"] for each in of]
    return statistics.median(values), interval_of(values), f"{len(values)} blocks are too few for an interval"


def missing_pair(harness, claim):
    """Returns a pair of index and policy that the build lacks; "" if it lacks none."""
    for arguments in claim.runs.values():
        done = subprocess.run([harness, "missing-pairs", *arguments], capture_output=True, text=True, check=False)
        if done.stdout.strip():
            return done.stdout.split()[0]
    return ""


def judge(harness, claim, plan):
    """Returns the Judgement of a claim. `plan` has the results, and the failures of the last call."""
    results = plan.results[""]
    for point in claim.points():
        if (why := results.why_left_out(point)) is not None:
            return Judgement(UNTESTABLE, why)
    for (_, arguments, _), reason in plan.failures.items():
        if arguments in claim.runs.values():
            return Judgement(NOT, f"a run failed: {' '.join(arguments)}: {reason}")
    blocks = {}
    for letter, arguments in claim.runs.items():
        for (of, replicate), document in results.known.items():
            if of == arguments:
                blocks.setdefault(replicate, {})[letter] = document
    whole = [blocks[replicate] for replicate in sorted(blocks) if len(blocks[replicate]) == len(claim.runs)]
    if not whole:
        return Judgement(UNDECIDED, "no block was measured")
    value, interval, why = ratio(harness, whole) if claim.number == SPEED else number(claim, whole)
    documents = [document for block in whole for document in block.values()]
    found = Judgement(UNDECIDED, "", value, interval, len(whole), sum(d["status"] == "noisy" for d in documents), len(documents))
    if value is None:
        found.outcome, found.reason = UNTESTABLE, why
    elif interval is None:
        found.reason = why
    else:
        low, high = interval
        keeps, breaks = (low >= claim.limit, high < claim.limit) if claim.at_least else (high <= claim.limit, low > claim.limit)
        found.outcome = REPRODUCED if keeps else NOT if breaks else UNDECIDED
        where = "is beyond" if breaks else "includes"
        found.reason = "" if keeps else f"the interval {where} {claim.limit:.4g}, the bound with its tolerance"
    return found


def middle(claim, letter, results):
    """Returns the document of the middle run of a command, by speed; None if none has a speed."""
    documents = [d for (of, _), d in results.known.items() if of == claim.runs[letter] and d.get("throughput")]
    return sorted(documents, key=lambda d: d["throughput"]["per_second"])[len(documents) // 2] if documents else None


def explained(harness, claim, results):
    """Returns what `harness explain` says of the middle runs of a claim: what it measured, and what cost the time."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for letter in claim.runs:
            if (document := middle(claim, letter, results)) is None:
                return [], []
            files.append(pathlib.Path(folder) / letter)
            files[-1].write_text(json.dumps(document), encoding="utf-8")
        done = subprocess.run([harness, "explain", *files], capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line and not line.startswith("Noisy")]   # `disturbed` counts the noisy runs
    return [line for line in lines if not line.startswith("- ")], [line.removeprefix("- ") for line in lines if line.startswith("- ")]


def doctored(harness):
    """Returns what `harness doctor` finds: what disturbs measurements on this machine, and what cannot be measured. Without the commands
    that would mend it."""
    done = subprocess.run([harness, "doctor"], capture_output=True, text=True, check=False)
    found = {"mind": [], "missing": []}
    for line in done.stdout.splitlines():
        if match := re.fullmatch(r"(mind|missing) +(.+?)  +(.+)", line):
            word, name, said = match.groups()
            found[word].append(f"{name}: {said}")
    return found["mind"], found["missing"]
