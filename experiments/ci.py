"""Compares two commits; `./bench ci` runs it.

    ./bench ci BASE HEAD [--effect=3%] [--replicates=40] [--seed=1] [--markdown=FILE] [--strict] [OPTIONS OF RUNS]

Both commits are built in git work trees, build/ci/HASH, from the same list of pairs. A row is one point of the product
of all lists among the options of runs. A block runs every row that is not yet decided, once with each binary:

    rows                     in random order
    both binaries of a row   one after the other, in random order
    runs                     in a process of their own each

`harness compare --effect` of this tree judges. This script only decides when to ask. docs/ci.md is the manual.

Exit status:
    0      no row is slower
    1      a row is slower, or a run of it failed, or with --strict a row cannot be decided here
    2      wrong use, or a commit does not build
    130    interrupted
"""

import fcntl
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

from child import ends_with_us
from input_error import InputError

TREE = pathlib.Path(__file__).resolve().parents[1]
FOLDER = TREE / "build/ci"
SIDES = ("base", "head")
COUNTS = ("ok", "noisy", "degraded")
UNDECIDED = "cannot be decided here"
FEWEST, MOST = 20, 10_000
FIRST_LOOK = 10
USAGE = "./bench ci BASE HEAD [--effect=3%] [--replicates=40] [--seed=1] [--markdown=FILE] [--strict] [OPTIONS OF RUNS]"

# Options of runs, unless the command line gives them. Runs are short, since a block has two for each row.
DEFAULTS = {
    "index": ["{art,cuckoo,chained}"],
    "sync": ["olc"],
    "workload": ["{lookup,mix:read=90,insert=5,erase=5}"],
    "threads": sorted({"1", str(len(os.sched_getaffinity(0)))}),
    "records": ["1M"],
    "warmup": ["100ms"],
    "time": ["500ms"],
}
# Options of runs that mean nothing here, each with its replacement.
INSTEAD = {
    "reps": "--replicates=N",
    "replicate": "--replicates=N",
    "block": "--seed=N",
    "order": "--seed=N",
    "out": "--markdown=FILE",
    "json": "--markdown=FILE",
    "profile": "harness --profile=FILE",
    "progress": "nothing",
    "fit": "fewer --threads",
    "topology": "harness --topology=MACHINE",
}


@dataclass
class Request:
    commits: list
    effect: str = "3%"
    replicates: int = 40
    seed: int = 1
    markdown: pathlib.Path | None = None
    strict: bool = False
    options: list = field(default_factory=list)  # options of runs, as --name=value


@dataclass
class Row:
    name: str
    arguments: list
    pair: str
    documents: dict = field(default_factory=lambda: {side: [] for side in SIDES})
    failed: str = ""
    comparison: dict | None = None

    @property
    def verdict(self):
        if self.failed:
            return "withheld"
        verdict = self.comparison["variants"][1]["verdict"] if self.comparison else UNDECIDED
        return UNDECIDED if verdict == "too noisy" else verdict

    @property
    def done(self):
        return self.verdict != UNDECIDED


@dataclass
class Commit:
    side: str
    hash: str
    subject: str

    def __str__(self):
        return f"{self.side} {self.hash[:12]}"

    @property
    def folder(self):
        """The work tree. Its path is equally long for every commit: a longer one shifts the stack and constants."""
        return FOLDER / self.hash[:12]

    @property
    def binary(self):
        return self.folder / "build/release/harness"


def say(text):
    print(f"ci: {text}", file=sys.stderr, flush=True)


# The command line


def number(name, text, least, most):
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise InputError(f"--{name}: '{text}' is not a whole number from {least} to {most}")
    return int(text)


def read_own(request, name, text):
    """Reads an option of this command into `request`. Returns false for others."""
    if name == "effect":
        if not re.fullmatch(r"\d+([.]\d+)?%", text) or not 0 < float(text[:-1]) < 100:
            raise InputError(f"--effect: '{text}' is not a percentage between 0 and 100; write --effect=3%")
        request.effect = text
    elif name == "replicates":
        request.replicates = number(name, text, FEWEST, MOST)
    elif name == "seed":
        request.seed = number(name, text, 0, 2**64 - 1)
    elif name == "markdown":
        request.markdown = pathlib.Path(text)
    else:
        return False
    return True


def parse(arguments):
    """Reads the command line; what is no option of this command is one of runs, which the harness reads."""
    commits = [argument for argument in arguments[:2] if not argument.startswith("-")]
    if len(commits) < 2:
        raise InputError(f"two commits come first: {USAGE}")
    request = Request(commits)
    given, names = [], set()
    for argument in arguments[2:]:
        if argument == "--strict":
            request.strict = True
            continue
        option = re.fullmatch(r"--([a-z-]+)=(.+)", argument)
        if option is None:
            raise InputError(f"'{argument}': behind the commits stand --strict and options as --name=value; {USAGE}")
        name, text = option.groups()
        if name in INSTEAD:
            raise InputError(f"--{name} has no meaning in ci; write {INSTEAD[name]}")
        if not read_own(request, name, text):
            given.append(argument)
            names.add(name)
    if {"time", "ops"} <= names:
        raise InputError("--time and --ops: a run ends by time or after a number of operations; give one of them")
    replaced = names | ({"time"} if "ops" in names else set())
    usual = [f"--{name}={value}" for name, values in DEFAULTS.items() if name not in replaced for value in values]
    request.options = given + usual
    return request


def rows_of(harness, options):
    """Returns the product of all lists in the words of `options`, which the harness itself expands."""
    done = subprocess.run([harness, "points", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError((done.stderr.strip().splitlines() or ["harness points failed"])[-1].removeprefix("harness: "))
    points = [json.loads(line) for line in done.stdout.splitlines()]
    words = [point["words"] for point in points]
    for each in words:
        if words.count(each) > 1:
            raise InputError(f"{' '.join(each)} is there twice; a row is not compared with itself")
    common = [word for word in words[0] if all(word in each for each in words)]
    usual = tuple(f"--{name}=" for name in ("index", "sync", "workload", "threads"))
    return [
        Row(
            name=" ".join(
                word.removeprefix("--")
                for word in point["words"]
                if (word not in common if len(points) > 1 else word.startswith(usual))
            ),
            arguments=point["words"],
            pair=point["pair"],
        )
        for point in points
    ]


# Two commits, built


def git(*arguments, folder=TREE):
    return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)


def commits_of(names):
    found = []
    for side, name in zip(SIDES, names):
        done = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if done.returncode != 0:
            raise InputError(
                f"there is no commit '{name}' in this repository; a shallow clone has few: git fetch it first"
            )
        full = done.stdout.strip()
        found.append(Commit(side, full, git("log", "-1", "--format=%s", full).stdout.strip()))
    if git("status", "--porcelain", "--untracked-files=no").stdout:
        say("this tree has changes that are not committed; they are not measured: work trees hold commits only")
    if found[0].hash == found[1].hash:
        say("both are the same commit, so only noise can differ")
    return found


def check_out(commit):
    folder = commit.folder
    if not folder.exists():
        # --force: a work tree whose folder was removed is still registered.
        done = git("worktree", "add", "--force", "--detach", str(folder), commit.hash)
        if done.returncode != 0:
            raise InputError(f"{commit}: git cannot make a work tree: {done.stderr.strip().splitlines()[-1]}")
        return
    at = git("rev-parse", "--show-toplevel", "HEAD", folder=folder).stdout.split("\n")[:2]
    if at != [str(folder), commit.hash] or git("status", "--porcelain", "--untracked-files=no", folder=folder).stdout:
        raise InputError(f"{folder} differs from {commit}; remove it: rm -r {folder}")


def run_build(commit, log, command):
    with open(log, "ab") as file:
        done = subprocess.run(
            command, cwd=commit.folder, stdout=file, stderr=file, stdin=subprocess.DEVNULL, check=False
        )
        return done.returncode == 0


def build(commit, pairs):
    """Brings the binary of a commit up to date, by the commit's own preset. The list of pairs is the same for both
    commits, since any other code in a binary moves the code that is measured."""
    check_out(commit)
    log = commit.folder.with_suffix(".log")
    log.write_bytes(b"")
    begun = time.monotonic()
    configured = commit.folder / "build/release/ci-pairs"
    fits = configured.exists() and configured.read_text() == pairs
    if not commit.binary.exists() or not fits:
        say(f"building {commit}: {commit.subject}")
    good = fits or run_build(commit, log, ["cmake", "--preset", "release", f"-DLATCHLAB_PAIRS={pairs}"])
    if good and not fits:
        configured.write_text(pairs)
    if not good or not run_build(commit, log, ["cmake", "--build", "build/release", "--target", "harness"]):
        sys.stderr.write("".join(log.read_text(errors="replace").splitlines(keepends=True)[-30:]))
        raise InputError(f"{commit} does not build with the pairs {pairs.replace(';', ' ')}: see above, and {log}")
    if not commit.binary.exists():
        raise InputError(f"{commit} does not build {commit.binary.relative_to(commit.folder)}, which ci runs")
    if (seconds := time.monotonic() - begun) > 5:
        say(f"built in {seconds:.0f} s")


def build_all(commits, rows):
    pairs = ";".join(sorted({row.pair for row in rows}))
    for commit in commits:
        build(commit, pairs)


def alone():
    """Locks build/ci until the returned file is closed: two calls would disturb each other's runs."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lock = open(FOLDER / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("waiting for another ci in this tree")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


# Runs


def kept(folder, side):
    return folder / f"{side}.jsonl"


def measure(commit, row, block, order, folder):
    """Makes one run in a process of its own. Sets row.failed if the run withholds the verdict on its row."""
    command = [str(commit.binary), *row.arguments, "--json", "--progress=none"]
    command += [f"--block={block}", f"--order={order}", f"--replicate={block}"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, preexec_fn=ends_with_us()
    )
    said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode == 2:
        raise InputError(f"{commit} does not run {' '.join(row.arguments)}: {said}")
    try:
        document = json.loads(done.stdout)
        status, config = document["status"], document["config"]
    except (ValueError, TypeError, KeyError):
        row.failed = f"a run of {commit} failed: {said}"
        return
    if status not in COUNTS:
        row.failed = f"a run of {commit} is {status}: {document.get('reason')}"
        return
    # The command line identifies a row, since the two commits may spell a configuration differently. `compare` reads
    # rate and slo to know how a run is judged.
    document["config"] = {"row": row.name, **{key: config.get(key) for key in ("rate", "slo")}}
    row.documents[commit.side].append(document)
    with open(kept(folder, commit.side), "a", encoding="utf-8") as file:
        file.write(json.dumps(document) + "\n")


def judge(harness, request, rows, folder):
    """Gives each row its comparison. One call judges all rows, so that their tests are corrected for their number."""
    if all(row.failed for row in rows):
        return
    command = [harness, "compare", "--json", f"--effect={request.effect}", f"--seed={request.seed}"]
    command += [str(kept(folder, side)) for side in SIDES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise InputError((done.stderr.strip().splitlines() or [f"harness compare: exit status {done.returncode}"])[-1])
    by_name = {row.name: row for row in rows}
    for line in done.stdout.splitlines():
        comparison = json.loads(line)
        by_name[comparison["variants"][0]["replicates"][0]["document"]["config"]["row"]].comparison = comparison


def looks_of(replicates):
    """Returns after how many blocks the rows are judged: at most five times, since each look may be wrong."""
    return sorted({max(FIRST_LOOK, replicates * eighths // 8) for eighths in (2, 3, 4, 6, 8)})


def run_block(commits, rows, block, seed, folder):
    order = random.Random(f"{seed} {block}")
    for row in order.sample(rows, len(rows)):
        for place, commit in enumerate(order.sample(commits, len(commits))):
            if not row.failed:
                measure(commit, row, block, place, folder)


def measure_all(harness, request, commits, rows, folder):
    begun, block = time.monotonic(), 0
    for look in looks_of(request.replicates):
        left = [row for row in rows if not row.done]
        while left and block < look:
            run_block(commits, left, block, request.seed, folder)
            block += 1
            minutes = (time.monotonic() - begun) / block * (look - block) / 60
            open_rows = f"{len(left)} of {len(rows)} rows are open"
            say(f"block {block} of at most {request.replicates}; {open_rows}; next look in about {minutes:.1f} min")
        judge(harness, request, rows, folder)


# The report


def three(value):
    return "-" if value is None else f"{value:.3f}"


def speed(variant):
    if variant["response_ns"] is not None:
        return f"p99 {variant['response_ns'] / 1000:.4g} us"
    return three(variant["median_per_second"] and variant["median_per_second"] / 1e6)


def cells(text):
    return text.replace("|", "\\|")


def line_of(row):
    verdict = f"**{row.verdict}**" if row.verdict in ("slower", "faster", "withheld") else row.verdict
    if row.failed:
        return [cells(row.name), "-", "-", "-", "-", str(len(row.documents["head"])), verdict]
    base, head = row.comparison["variants"]
    interval = head["interval"] and " .. ".join(map(three, head["interval"]))
    compared = str(head["compared"] or 0)
    return [cells(row.name), speed(base), speed(head), three(head["ratio"]), interval or "-", compared, verdict]


def notes_of(rows):
    """Returns the notes below the table, each once."""
    notes = {}
    for row in rows:
        if row.failed:
            notes[f"{row.name}: withheld: {row.failed}"] = True
            continue
        for note in row.comparison["notes"]:
            note = note.replace("(a)", "(base)").replace("(b)", "(head)")
            if not any(known in note for known in ("build/commit", "do not differ", "not compared")):
                notes[note if note.startswith("the results differ in") else f"{row.name}: {note}"] = True
        for side, variant in zip(SIDES, row.comparison["variants"]):
            notes.update({f"{row.name}: {side}: {reason}": True for reason in variant["reasons"]})
        if why := row.comparison["variants"][1]["withheld"]:
            notes[f"{row.name}: withheld: {why}"] = True
    replicates = [r for row in rows if not row.failed for v in row.comparison["variants"] for r in v["replicates"]]
    if disturbed := sum(r["status"] == "noisy" or bool(r["flags"]) for r in replicates):
        notes[f"{disturbed} of {len(replicates)} runs were disturbed; they count"] = True
    return list(notes)


def machine_of(rows):
    for row in rows:
        for document in row.documents["head"]:
            machine = document.get("machine") or {}
            words = [machine.get(key) for key in ("model", "topology", "kernel")]
            return ", ".join(str(word) for word in words if word) or "unknown"
    return "unknown"


def counted(rows):
    return f"{len(rows)} row{'s' * (len(rows) > 1)}"


def heading(rows):
    counts = {}
    for row in rows:
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    order = ("slower", "withheld", "faster", UNDECIDED, "no difference seen")
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in order if verdict in counts)


def markdown(request, commits, rows):
    common = [word for word in rows[0].arguments if all(word in row.arguments for row in rows)]
    most, looks = request.replicates, len(looks_of(request.replicates))
    effect = request.effect.replace("%", " %")
    lines = [
        f"### Latchlab: of {counted(rows)} {heading(rows)}",
        "",
        "| row | base, M/s | head, M/s | ratio | 95 % interval | replicates | verdict |",
        "|:--|--:|--:|--:|:-:|--:|:--|",
        *(f"| {' | '.join(line_of(row))} |" for row in rows),
        "",
        *(f"- {commit.side}: `{commit.hash[:12]}` {cells(commit.subject)}" for commit in commits),
        f"- machine: {machine_of(rows)}",
        f"- all rows: `{' '.join(common)}`" if common else "- the rows have no option in common",
        f"- slower, faster: the whole interval is beyond an effect of {effect}",
        f"- no difference seen: the whole interval is within it; cannot be decided here: neither, in {most} blocks",
        f"- faster or slower is wrong in any row with at most {looks} %: {looks} looks, 1 % each over all rows (Holm)",
        f"- seed {request.seed}",
        *(f"- {cells(note)}" for note in notes_of(rows)),
    ]
    return "\n".join(lines) + "\n"


def exit_status(request, rows):
    bad = {"slower", "withheld"} | ({UNDECIDED} if request.strict else set())
    return int(any(row.verdict in bad for row in rows))


def open_markdown(path):
    """Opens the file of the table. Called before the first run, since all would be lost if it cannot be written."""
    try:
        return open(path, "a", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--markdown: {path}: {error.strerror}") from None


def ci_main(harness, arguments):
    request = parse(arguments)
    rows = rows_of(harness, request.options)
    commits = commits_of(request.commits)
    out = open_markdown(request.markdown) if request.markdown else None
    with alone():
        return compare_commits(harness, request, commits, rows, out)


def compare_commits(harness, request, commits, rows, out):
    build_all(commits, rows)
    folder = FOLDER / "-".join(commit.hash[:12] for commit in commits)
    folder.mkdir(exist_ok=True)
    for side in SIDES:
        kept(folder, side).write_text("", encoding="utf-8")
    looks = looks_of(request.replicates)
    say(f"{counted(rows)}, {looks[0]} to {looks[-1]} blocks of {2 * len(rows)} runs; documents are kept in {folder}")
    try:
        measure_all(harness, request, commits, rows, folder)
    except KeyboardInterrupt:
        files = " ".join(str(kept(folder, side)) for side in SIDES)
        say(f"interrupted, no verdict; what there is: {harness} compare --effect={request.effect} {files}")
        return 130
    text = markdown(request, commits, rows)
    if out:
        out.truncate(0)
        out.write(text)
        out.close()
        print(f"of {counted(rows)} {heading(rows)}: {request.markdown}")
    else:
        print(text, end="")
    return exit_status(request, rows)


if __name__ == "__main__":
    for interruption in (signal.SIGINT, signal.SIGTERM):  # also where a shell in the background ignores the former
        signal.signal(interruption, signal.default_int_handler)
    try:
        sys.exit(ci_main(sys.argv[1], sys.argv[2:]))
    except InputError as wrong:
        say(wrong)
        sys.exit(2)
    except OSError as error:
        say(f"{error.filename}: {error.strerror}")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
