"""Checks how reliable the verdicts of `harness ab --replicates=auto` are, by many comparisons with a known outcome.

    verdicts.py HARNESS self [OPTIONS]       compares a configuration with itself: at most 1 of 20 may differ
    verdicts.py HARNESS planted [OPTIONS]    compares it with one that is 5 % slower: at least 19 of 20 must say so

OPTIONS apply to all runs. TIMES=N in the environment sets another number than 20.

The slowdown of 5 % is real work: --latency=sample:S times a share S of the calls, and the cost is proportional to S. Separate blocks
measure that cost first, and S follows from it. At the end the script prints the actual slowdown, estimated from the blocks of all
comparisons together.
"""
import json
import os
import statistics
import subprocess
import sys

from child import ends_with_us

SLOWDOWN = .05
TRIED = .1  # share of calls that is timed to measure the cost of timing
BASE = "--sync=olc"


def compare(harness, variant, options, replicates, seed):
    """Compares BASE with this variant, and returns the document of the comparison."""
    command = [harness, "ab", f"--a={BASE}", f"--b={variant}", f"--replicates={replicates}", f"--seed={seed}", "--json"]
    done = subprocess.run(command + options, stdout=subprocess.PIPE, check=False, preexec_fn=ends_with_us())
    if done.returncode != 0:
        sys.exit(f"verdicts: {' '.join(command + options)} ended with exit status {done.returncode}")
    return json.loads(done.stdout)


def pairs(document):
    """Returns the ratio of each block."""
    base, variant = ([r["per_second"] for r in v["replicates"]] for v in document["variants"])
    return [b / a for a, b in zip(base, variant, strict=True)]


def planted(harness, options):
    """Returns a variant that is slower by SLOWDOWN, because one call in so many is timed."""
    ratio = compare(harness, f"{BASE} --latency=sample:{TRIED}", options, 20, 0)["variants"][1]["ratio"]
    if ratio >= 1:
        sys.exit(f"verdicts: timing {TRIED:.0%} of the calls costs no time here (ratio {ratio:.3f}), so no slowdown can be planted")
    cost = (1 / ratio - 1) / TRIED  # extra time of a timed call, in calls
    every = max(1, round(cost / (1 / (1 - SLOWDOWN) - 1)))
    print(f"a timed call takes {cost:.2f} more: one in {every} is timed", flush=True)
    return f"{BASE} --latency={'all' if every == 1 else f'sample:{1 / every:.9f}'}"


def main(arguments):
    if len(arguments) < 2 or arguments[1] not in ("self", "planted"):
        sys.exit("verdicts: the usage is verdicts.py HARNESS self|planted [OPTIONS]")
    harness, kind, *options = arguments
    times = int(os.environ.get("TIMES", "20"))
    variant = BASE if kind == "self" else planted(harness, options)
    ratios, verdicts = [], []
    for seed in range(1, times + 1):
        document = compare(harness, variant, options, "auto", seed)
        b = document["variants"][1]
        verdicts.append(b["verdict"])
        ratios += pairs(document)
        print(f"{seed:3}  {b['ratio']:.4f}  {b['interval'][0]:.4f} .. {b['interval'][1]:.4f}  {b['compared']:3} blocks  "
              f"{b['verdict']}", flush=True)
    found = sum(v in ("faster", "slower") for v in verdicts) if kind == "self" else verdicts.count("slower")
    noisy = sum(v in ("too noisy", "cannot be decided here") for v in verdicts)
    print(f"{found} of {times} {'differ' if kind == 'self' else 'slower'}, {noisy} too noisy to tell; over all "
          f"{len(ratios)} blocks the ratio is {statistics.median(ratios):.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
