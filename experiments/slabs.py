"""What KV-Direct's slab allocator costs beside other allocators; experiments/slabs runs it.

    experiments/slabs [--quick] [--out=FOLDER]

Each run is a process of slab_trace (slab_trace.cc says what a trace is). Runs of all points are interleaved: a round runs each point once, in
random order. All have the same trace, whose sizes move from small to large and back, so that blocks must be split and merged.

    allocators  slabs, with a merging thread; pool, the allocator of sized values; malloc of the GNU C library; jemalloc, mimalloc and
                tcmalloc where they are installed, preloaded
    threads     1 2; 2 need two processors
    operations  60 M, with up to 64 MiB of live blocks; --quick: 6 M, with 8 MiB
    merge       one merge (the median of three) of slabs of 32 bytes by one thread, in its processor time, all of them free, or a half of
                them at random: 16 M slots; --quick: 1 M
    rounds      10; --quick: 3

    busy        processor time of a thread an operation, which is a block taken or freed, and its first eight bytes written or read
    wall        the same by the clock: with waits for the other thread, and for other programs
    accesses    of the shared part an operation, and the lines of 64 bytes that they take; only slabs count them
    held        memory of the process since the trace began, over the bytes in live blocks: where it held the most, and at the end of each
                phase. It has the free blocks, the bytes by which sizes are rounded up, and the allocator's own

FOLDER, by default experiments/results/slabs, gets results.jsonl (a line for each run). The text on stdout has medians with the least and
the most of the rounds. Kept results count, as those of experiments/multiget do.

Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("slabs")   # before the other imports
import itertools
import json
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

from child import ends_with_us
from kept import Runs, parse, shown

FOLDER = pathlib.Path(__file__).resolve().parent / "results/slabs"
OURS = ("slabs", "pool")
MALLOCS = ("malloc", "jemalloc", "mimalloc", "tcmalloc")
THREADS = (1, 2)
OPERATIONS = {"quick": "6M", "full": "60M"}
LIVE = {"quick": "8Mi", "full": "64Mi"}
SLOTS = {"quick": "1Mi", "full": "16Mi"}
FREE = (1.0, 0.5)   # shares of the slots
ROUNDS = {"quick": 3, "full": 10}
HELD = {"held_at_peak": "peak", "held_small": "small", "held_large": "large", "held_again": "small again"}
MOST_ACCESSES, SLOTS_S = 0.07, 2**32 / 30   # published: accesses an operation are fewer; 4 G slots are merged in 30 s


@dataclass(frozen=True)
class Point:
    allocator: str      # or merge
    threads: int
    free: float = 0     # the share of free slots of a merge

    def words(self, mode):
        if self.allocator == "merge":
            return f"merge:slots={SLOTS[mode]},free={self.free}"
        return f"replay:alloc={self.allocator},threads={self.threads},ops={OPERATIONS[mode]},live={LIVE[mode]}"


def run(program, words):
    return subprocess.run([program, words], capture_output=True, text=True, preexec_fn=ends_with_us(), check=False)


def installed(program):
    """Returns the allocators that can run here. Says which cannot, and why."""
    here = list(OURS)
    for name in MALLOCS:
        ran = run(program, f"replay:alloc={name},ops=6000,live=64Ki")
        if ran.returncode == 0:
            here.append(name)
        else:
            print(f"slabs: {name} is left out: {ran.stderr.strip().removeprefix('slab_trace: ')}", file=sys.stderr)
    return here


def points_of(allocators, processors):
    threads = [count for count in THREADS if count <= processors]
    for count in THREADS:
        if count not in threads:
            print(f"slabs: {count} threads are left out: there is one processor", file=sys.stderr)
    return [*(Point(*of) for of in itertools.product(allocators, threads)), *(Point("merge", 1, free) for free in FREE)]


def measure(program, point, mode):
    """Runs a point. Returns what is kept of it and the build, or None and None after a line about why there is nothing."""
    ran = run(program, point.words(mode))
    if ran.returncode != 0:
        print(f"slabs: {point.words(mode)}: {ran.stderr.strip() or f'it ended with status {ran.returncode}'}", file=sys.stderr)
        return None, None
    outcome = json.loads(ran.stdout)
    build = outcome.pop("build")
    if outcome.get("operations"):
        outcome |= {f"{what}_op": outcome[what] / outcome["operations"] for what in ("accesses", "lines", "splits")}
    return outcome, build


def report(runs):
    """Returns the text of all runs."""
    traces = [point for point in runs.points() if point.allocator != "merge"]
    traces.sort(key=lambda point: (point.threads, (*OURS, *MALLOCS).index(point.allocator)))
    lines = [f"{'ns an operation':22} {'busy':>22} {'wall':>22} " + " ".join(f"{'held, ' + name:>20}" for name in HELD.values())]
    for point in traces:
        held = " ".join(f"{shown(runs.values(point, what), 2):>20}" for what in HELD)
        lines.append(f"{point.allocator:10} {point.threads} {'threads' if point.threads > 1 else 'thread':9} "
                     f"{shown(runs.values(point, 'busy_ns'), 1):>22} {shown(runs.values(point, 'ns'), 1):>22} {held}")
    lines.append("")
    for point in traces:
        if point.allocator == "slabs":
            of = {what: shown(runs.values(point, f"{what}_op"), 4) for what in ("accesses", "lines", "splits")}
            lines.append(f"slabs, {point.threads} {'threads' if point.threads > 1 else 'thread'}, an operation: shared accesses {of['accesses']}, "
                         f"their lines {of['lines']} (published: under {MOST_ACCESSES}), splits {of['splits']}; "
                         f"merges of the run {shown(runs.values(point, 'merges'))}")
    for point in sorted((point for point in runs.points() if point.allocator == "merge"), key=lambda point: -point.free):
        rates = [rate / 1e6 for rate in runs.values(point, "slots_s")]
        lines.append(f"merge, {100 * point.free:.0f} % of the slots free: {shown(rates)} M slots/s on one core "
                     f"(published: {SLOTS_S / 1e6:.0f})")
    return "\n".join(lines) + "\n"


def main(program, *arguments):
    mode, folder = parse(arguments, FOLDER)
    points = points_of(installed(program), len(os.sched_getaffinity(0)))
    runs = Runs(folder, Point, mode)
    right = runs.run_rounds(points, ROUNDS[mode], lambda point: measure(program, point, mode))
    print(report(runs), end="")
    return int(not right)


if __name__ == "__main__":
    run_script("slabs", main, *sys.argv[1:])
