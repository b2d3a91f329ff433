"""Counts what an operation costs in instructions, locked instructions and lines, for each index and policy class.

    budget.py HARNESS                prints a table in Markdown
    budget.py HARNESS --keys         prints another table: the lines of lookups by numbers and by byte strings
    budget.py HARNESS ... --write    writes the table into docs/performance.md, between the two comments that name this script

The harness runs under callgrind, twice for each number, with one operation more in the second run for each of DIFFERENCE; the
difference of the counts is what these operations cost, the harness's loop included, which the row of `null` shows alone. Lines are
misses of a simulated cache of 1 MiB, 16 ways, in an index of a few tens of MB; callgrind takes no prefetch for an access. Inserts
take an index from half of its keys to all, so growth by one doubling is in them. callgrind knows no AVX-512 and no transactions:
lookups of `cuckoo` take the path without AVX-512, and policies are those without hardware.

With --keys the cache has 8 KiB and the index 16,384 keys, so that nearly each line that an operation touches is missed. The lines of
the harness's loop and of the caller's key are in the row of `null`, which reads the whole key, and are subtracted from the others.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from child import ends_with_us

RECORDS, DIFFERENCE = 262_144, 131_072
CLASSES = ("none", "olc", "rwspin", "striped")   # no version, one a node, one lock, versions in a table
PAIRS = [
    ("null", "none"),
    *(("cuckoo", policy) for policy in CLASSES), ("cuckoo:slots=3", "olc"), ("cuckoo:slots=7", "olc"),
    *(("chained", policy) for policy in CLASSES), ("chained_line", "olc"),
    *(("vip", policy) for policy in CLASSES),
    *(("art", policy) for policy in (*CLASSES, "rowex")),
    *(("memc3", policy) for policy in CLASSES),
    *(("kvdirect:buckets=64k", policy) for policy in ("none", "rwspin", "striped")),   # four keys a bucket
]
OPERATIONS = {"lookup": "lookup", "miss": "lookup --negative=1", "update": "mix:update=100", "insert": "insert"}
CACHE = ("--LL=1048576,16,64",)
KEYED_RECORDS, KEYED_CACHE = 16_384, ("--D1=4096,8,64", "--LL=8192,16,64")
KEYS = {"u64": "u64", "email": f"email:{2 * KEYED_RECORDS}"}   # as many again are never inserted
KEYED_INDEXES = ("cuckoo", "memc3", "simdht")
PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- Written by experiments/budget: begin -->", "<!-- Written by experiments/budget: end -->"
KEYED_BEGIN, KEYED_END = "<!-- Written by experiments/budget, keys: begin -->", "<!-- Written by experiments/budget, keys: end -->"


def counts(harness, options, cache=CACHE, keys="u64"):
    """Returns the instructions, locked instructions and missed lines of the threads' loops in one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        command = ["valgrind", "-q", "--tool=callgrind", "--cache-sim=yes", "--collect-bus=yes", *cache,
                   "--toggle-collect=latchlab::RunnerOf*::run_requests*", f"--callgrind-out-file={out}", harness, *options,
                   f"--keys={keys}", "--threads=1", "--warmup=0", "--validate=off", "--pmu=off", "--progress=none", "--json"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                              preexec_fn=ends_with_us())
        if done.returncode != 0:
            sys.exit(f"budget: {' '.join(command)} ended with exit status {done.returncode}: {done.stderr[-300:]}")
        return totals(out.read_text())


def totals(text):
    """Returns the instructions, locked instructions and missed lines in callgrind's file. Ends the program if there are none."""
    names = re.search(r"^events: (.*)$", text, re.M).group(1).split()
    values = map(int, re.search(r"^totals: (.*)$", text, re.M).group(1).split())
    all_of = dict.fromkeys(names, 0) | dict(zip(names, values))   # callgrind leaves out zeros at the end
    if all_of["Ir"] == 0:
        sys.exit("budget: callgrind met no RunnerOf::run_requests; has the compiler inlined it?")
    return [all_of["Ir"], all_of["Ge"], all_of["DLmr"] + all_of["DLmw"]]


def cost(harness, index, policy, operation):
    """Returns the counts an operation."""
    workload, *more = OPERATIONS[operation].split()
    pair = [f"--index={index}", f"--sync={policy}", f"--workload={workload}", *more]
    if operation == "insert":
        few, many = ([*pair, f"--records={records}"] for records in (RECORDS // 2, RECORDS))
        operations = RECORDS - RECORDS // 2
    else:
        few, many = ([*pair, f"--records={RECORDS}", f"--ops={ops}"] for ops in (DIFFERENCE, 2 * DIFFERENCE))
        operations = DIFFERENCE
    return [(b - a) / operations for a, b in zip(counts(harness, few), counts(harness, many))]


def table(harness):
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        of = {pair: [pool.submit(cost, harness, *pair, operation) for operation in OPERATIONS] for pair in PAIRS}
    return markdown({pair: [each.result() for each in costs] for pair, costs in of.items()})


def markdown(costs):
    """Returns the table. `costs` has for each pair of index and policy the three counts of each of OPERATIONS."""
    lines = ["| index, policy | " + " | ".join(OPERATIONS) + " |", "|---|" + "---|" * len(OPERATIONS)]
    for (index, policy), counts_of in costs.items():
        cells = (f"{max(0, instructions):.0f} / {max(0, locked):.1f} / {max(0, missed):.2f}" for instructions, locked, missed in counts_of)
        lines.append(f"| {index}, {policy} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def keyed_lines(harness, index, keys, operation):
    """Returns the lines a lookup by such keys, under no policy."""
    workload, *more = OPERATIONS[operation].split()
    options = [f"--index={index}", "--sync=none", f"--workload={workload}", *more, f"--records={KEYED_RECORDS}"]
    few, many = (counts(harness, [*options, f"--ops={ops}"], KEYED_CACHE, KEYS[keys])[2] for ops in (KEYED_RECORDS, 2 * KEYED_RECORDS))
    return (many - few) / KEYED_RECORDS


def keyed_table(harness):
    kinds = [(keys, operation) for keys in KEYS for operation in ("lookup", "miss")]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        of = {index: [pool.submit(keyed_lines, harness, index, *kind) for kind in kinds] for index in ("null", *KEYED_INDEXES)}
    return keyed_markdown({index: [each.result() for each in lines] for index, lines in of.items()})


def keyed_markdown(lines):
    """Returns the table. `lines` has for each index the lines of a hit and a miss by numbers, and of a hit and a miss by strings."""
    null = lines["null"]
    out = ["| index | u64: hit | miss | email: hit | miss | more on a hit | on a miss |", "|---|---|---|---|---|---|---|",
           f"| null, whole | {' | '.join(f'{each:.2f}' for each in null)} | | |"]
    for index in KEYED_INDEXES:
        own = [each - loop for each, loop in zip(lines[index], null)]
        out.append(f"| {index} | {' | '.join(f'{each:.2f}' for each in own)} | {own[2] - own[0]:+.2f} | {own[3] - own[1]:+.2f} |")
    return "\n".join(out)


def replaced(page, text, begin=BEGIN, end=END):
    """Returns the page with another table between its two comments."""
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def main(arguments):
    options = arguments[1:]
    if not arguments or options not in ([], ["--write"], ["--keys"], ["--keys", "--write"]):
        sys.exit("budget: the usage is budget.py HARNESS [--keys] [--write]")
    by_keys = "--keys" in options
    text = keyed_table(arguments[0]) if by_keys else table(arguments[0])
    if "--write" not in options:
        print(text)
        return
    PAGE.write_text(replaced(PAGE.read_text(), text, *((KEYED_BEGIN, KEYED_END) if by_keys else (BEGIN, END))))


if __name__ == "__main__":
    main(sys.argv[1:])
