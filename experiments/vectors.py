"""Operations on vectors in a map, beside the machine's best and beside a key for each element; experiments/vectors runs it.

    experiments/vectors [--quick] [--out=FOLDER]

A run is one contender and one operation (experiments/vectors_bench.cc):

    map        a map whose values are vectors of f32, by update_vector and reduce_vector
    in-place   a map under one lock (spin) whose vectors change where they lie
    batch, in-place-batch   the same two, with updates in batches of 16
    modify     the first map, by modify, which copies the vector twice more
    bare       the same vectors in an array, changed where they lie by the same kernels, in the same order
    bare-copy  the same, but an update writes another vector, as the map does
    elements   a map from numbers to f32: a key for each element, in batches of 64

    operations  update (adds a number), each (adds a vector), mix (update and reduce in turn), reduce (sum)
    vectors     of 4 and 64 KiB; --quick: the same
    in all      1 MiB, which caches hold, and 256 MiB (elements: 16 MiB); --quick: 64 MiB (8 MiB)
    threads     1, and as many as there are processors, at most 4; --quick: 1
    rounds      9 of 500 ms; --quick: 3 of 150 ms. In each, every point runs once, in random order

FOLDER, by default experiments/results/vectors, gets results.jsonl (a line for each run). The text on stdout has medians of the ratios of
one round, with the least and the most. Two bars stand beside them: at least .8 of `bare`, and at least 4 times `elements`. Rates are per
second of the threads' processor time, so programs that run beside it count only for what they do to caches.

Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
from dataclasses import dataclass, replace

from child import ends_with_us
from input_error import run_script
from kept import Runs, parse, shown

TREE = pathlib.Path(__file__).resolve().parents[1]
FOLDER = TREE / "experiments/results/vectors"
CONTENDERS = ("map", "in-place", "batch", "in-place-batch", "modify", "bare", "bare-copy", "elements")
OURS = ("map", "in-place", "batch", "in-place-batch")
OPERATIONS = ("update", "each", "mix", "reduce")
BYTES = (4 << 10, 64 << 10)
TOTAL = {"quick": (64 << 20,), "full": (1 << 20, 256 << 20)}
OF_ELEMENTS = {"quick": 8 << 20, "full": 16 << 20}   # a pair takes many times the four bytes of its element
ROUNDS = {"quick": 3, "full": 9}
MILLISECONDS = {"quick": 150, "full": 500}
OF_BARE, OF_ELEMENT_KEYS = .8, 4   # the bars


@dataclass(frozen=True)
class Point:
    contender: str
    operation: str
    bytes: int
    total: int
    threads: int


def threads_of(mode):
    return (1,) if mode == "quick" else tuple(sorted({1, min(4, len(os.sched_getaffinity(0)))}))


def points_of(mode):
    """Returns the points of a mode. Those of `elements` are of a smaller total, and are compared with all."""
    points = []
    for operation, size, threads in itertools.product(OPERATIONS, BYTES, threads_of(mode)):
        points += [Point(contender, operation, size, total, threads) for contender in CONTENDERS[:-1] for total in TOTAL[mode]
                   if operation in ("update", "each") or not contender.endswith("batch")]   # only updates come in batches
        points.append(Point("elements", operation, size, OF_ELEMENTS[mode], threads))
    return points


def build():
    """Returns the commit of this tree, and whether it has changes."""
    def git(*words):
        return subprocess.run(["git", "-C", TREE, *words], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    return {"commit": git("rev-parse", "--short=12", "HEAD") or "unknown", "dirty": bool(git("status", "--porcelain"))}


def measure(program, point, mode, of):
    """Runs a point. Returns its outcome and the build, or None and None after a line about why there is none."""
    words = [program, point.contender, point.operation, *map(str, (point.bytes, point.total, point.threads, MILLISECONDS[mode]))]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=ends_with_us(), check=False)
    if ran.returncode != 0:
        print(f"{' '.join(words[1:])}: ended with status {ran.returncode}: {ran.stderr.strip()}", file=sys.stderr)
        return None, None
    return json.loads(ran.stdout), of


def words_of(point):
    return f"{point.operation:7} {point.bytes >> 10:3} KiB of {point.total >> 20:4} MiB, {point.threads} thread{'s' * (point.threads > 1)}"


def with_bar(ratios, bar):
    """Returns the ratios, and whether their median reaches the bar."""
    if not ratios:
        return "-"
    return f"{shown(ratios, 2)} {'met' if statistics.median(ratios) >= bar else 'missed'}"


def report(runs):
    """Returns the text of all runs."""
    ours = [point for point in runs.points() if point.contender in OURS]
    ours.sort(key=lambda point: (point.threads, point.total, point.bytes, OPERATIONS.index(point.operation), OURS.index(point.contender)))
    kernels = sorted({outcome["kernel"] for outcome in runs.kept.values()})
    lines = [f"kernel: {', '.join(kernels)}", "",
             f"{'':57} {'GB/s':>20} {f'of bare (>= {OF_BARE})':>26} {'of bare-copy':>20} {f'of elements (>= {OF_ELEMENT_KEYS})':>32} {'of modify':>20}"]
    for point in ours:
        of = {other: runs.ratios(point, replace(point, contender=other), "elements_s") for other in ("bare", "bare-copy", "modify")}
        elements = [other for other in runs.points()
                    if other.contender == "elements" and replace(other, contender=point.contender, total=point.total) == point]
        by_key = runs.ratios(point, elements[0], "elements_s") if elements else []
        rate = [value / 1e9 for value in runs.values(point, "bytes_s")]
        lines.append(f"{point.contender:14} {words_of(point):42} {shown(rate, 1):>20} {with_bar(of['bare'], OF_BARE):>26} {shown(of['bare-copy'], 2):>20} "
                     f"{with_bar(by_key, OF_ELEMENT_KEYS):>32} {shown(of['modify'], 2):>20}")
    return "\n".join(lines) + "\n"


def main(program, *arguments):
    mode, folder = parse(arguments, FOLDER)
    runs, of = Runs(folder, Point, mode), build()
    right = runs.run_rounds(points_of(mode), ROUNDS[mode], lambda point: measure(program, point, mode, of))
    print(report(runs), end="")
    return int(not right)


if __name__ == "__main__":
    run_script("vectors", main, *sys.argv[1:])
