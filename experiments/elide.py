"""A program as it is, with the locks of pthread_mutex_lock elided by hardware transactions.

    ./bench elide [--emulate-aborts[=RATE]] [--seed=N] [--out=FILE] PROGRAM [ARGS...]

PROGRAM and the programs that it starts run with a library that stands in front of glibc's mutexes (LD_PRELOAD). It elides normal mutexes:
a thread runs a section in a transaction and leaves the lock free, as long as no other thread touches the same data. How often it retries
before it takes the lock is learned for each lock. Recursive, errorcheck, robust, priority and shared mutexes are left alone. docs/elide.md
has the rules, and what the numbers mean.

When the program has ended, a table on stderr has the ten worst locks of each process: those with the most aborts, then those with the most
acquisitions that were not elided. Numbers are of the whole process:

    locked      acquisitions; calls that did not get the lock (a failed try, a timeout) are not among them
    elided      committed transactions of the lock
    inside      acquisitions inside the transaction of another lock
    fallback    the lock was taken after aborts; direct: it was taken at once, since the lock is learned or known to be better so;
                passed: mutexes of the kinds that are left alone
    conflict    and the further columns: aborts by cause. held: the lock was held; nested: an inner lock was held; wait: a condition wait;
                trylock, unlock: such a call inside, of which docs/elide.md tells; other: system calls, faults, interrupts
    retries     the budgets that threads have learned, least to most

    --out               writes all locks of all processes as one JSON document
    --emulate-aborts    for tests, on any processor: a share RATE of the begins, 1 by default, fails with a cause by the seed; after the
                        others the lock is taken and counts as elided. No section is ever elided. Every line says `emulated aborts`
    --seed              of these causes, 1 by default

Where the processor does not elide, the command refuses. A process that ends by _exit, exec or a signal leaves no numbers, and a static or
set-uid program does not load the library. The last lines say so.

Exit status: that of the program; 128 + N if signal N ended it; 2 for wrong input, and where the processor does not elide.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from input_error import INTERRUPTIONS, InputError, run_script

CAUSES = ("conflict", "capacity", "held", "nested", "wait", "trylock", "unlock", "other")
COLUMNS = {"locked": "acquisitions", "elided": "commits", "inside": "inside", "fallback": "fallbacks", "direct": "direct", "passed": "passed"}
WORST = 10
KINDS = {0: "", 1: "recursive", 2: "errorcheck", 3: "adaptive"}
ROBUST, INHERIT, PROTECT, SHARED, NORMAL = 16, 32, 64, 128, 512   # bits of glibc's __kind
USAGE = "./bench elide [--emulate-aborts[=RATE]] [--seed=N] [--out=FILE] PROGRAM [ARGS...]"


def words_of(arguments):
    """Returns the options and the words of the program. Raises InputError. With --help it prints the docstring, and exits."""
    options = {}
    left = list(arguments)
    while left and left[0].startswith("-"):
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if word in ("--help", "-h"):
            print(__doc__.strip())
            sys.exit()
        if name not in ("--emulate-aborts", "--seed", "--out") or (not value and (equals or name != "--emulate-aborts")):
            raise InputError(f"'{word}' has no meaning here; write {USAGE}")
        if name in options:
            raise InputError(f"{name} is given twice")
        options[name] = value
    if not left:
        raise InputError(f"name a program: {USAGE}")
    if "--seed" in options and "--emulate-aborts" not in options:
        raise InputError("--seed is of --emulate-aborts")
    rate, seed = options.get("--emulate-aborts"), options.get("--seed", "1")
    if rate is not None:
        try:
            number = float(rate or "1")
        except ValueError:
            number = -1
        if not 0 <= number <= 1:
            raise InputError(f"--emulate-aborts={rate}: the share of begins that fail is a number from 0 to 1")
        rate = number
    if not seed.isdecimal() or int(seed) >= 1 << 64:
        raise InputError(f"--seed={seed}: a seed is a whole number below 2^64")
    if shutil.which(left[0]) is None:
        raise InputError(f"there is no program '{left[0]}' that can be run")
    return rate, int(seed), options.get("--out"), left


def kind_of(kind):
    """Returns the words for a mutex whose __kind is not 0."""
    bits = ((ROBUST, "robust"), (INHERIT, "priority"), (PROTECT, "priority"), (SHARED, "shared"), (NORMAL, "explicitly normal"))
    return " ".join(filter(None, (KINDS.get(kind & 3, ""), *(word for bit, word in bits if kind & bit))))


def where(lock):
    """Returns the words that name a lock."""
    if lock["address"] is None:
        return "(locks beyond the first 65,536 of a thread)"
    if lock["symbol"]:
        return f"{lock['symbol']} in {os.path.basename(lock['object'])}"
    if lock["object"]:
        return f"{os.path.basename(lock['object'])}+{lock['offset']:#x}"
    return lock["address"]


def not_elided(lock):
    return lock["fallbacks"] + lock["direct"] + lock["passed"]


def worst_of(locks):
    """Returns the locks with the most aborts, and of equal ones those that were elided least."""
    return sorted(locks, key=lambda lock: (-sum(lock["aborts"].values()), -not_elided(lock), -lock["acquisitions"], lock["address"] or ""))[:WORST]


def retries_of(lock):
    learned = [int(budget) for budget, threads in lock["retries"].items() if threads]
    if not learned or lock["begins"] == 0:
        return "-"
    return str(learned[0]) if len(learned) == 1 else f"{learned[0]}..{learned[-1]}"


def note_of(lock):
    return ", ".join(filter(None, (kind_of(lock["kind"]), "not elided after a condition wait" if lock["waits"] else "")))


def table(process):
    """Yields the lines for one process."""
    locks = process["locks"]
    total = {name: sum(lock[key] for lock in locks) for name, key in COLUMNS.items()}
    yield f"process {process['pid']}, {process['program']}: {len(locks):,} locks, " + ", ".join(f"{name} {number:,}" for name, number in total.items())
    if not locks:
        return
    rows = [[*COLUMNS, *CAUSES, "retries", "lock"]]
    for lock in worst_of(locks):
        note = note_of(lock)
        rows.append([*(f"{lock[key]:,}" for key in COLUMNS.values()), *(f"{lock['aborts'][cause]:,}" for cause in CAUSES), retries_of(lock),
                     where(lock) + (f" ({note})" if note else "")])
    if len(locks) > WORST:
        yield f"the {WORST} worst:"
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths)), row[-1]])


def read_reports(folder):
    """Returns the documents of the processes, and the process ids that left a mark and no document."""
    processes = []
    for file in folder.glob("*.json"):
        processes.append(json.loads(file.read_text()))
        processes[-1]["worst"] = [lock["address"] for lock in worst_of(processes[-1]["locks"])]
    processes.sort(key=lambda process: (-sum(lock["acquisitions"] for lock in process["locks"]), process["pid"]))
    marked = {int(file.stem) for file in folder.glob("*.started")}
    return processes, sorted(marked - {process["pid"] for process in processes})


def lines_of(processes, lost, first, program):
    """Yields the lines that the user sees. `first`: the process id of the program."""
    for process in processes:
        yield from table(process)
    if lost:
        some = ", ".join(map(str, lost[:5])) + (", ..." if len(lost) > 5 else "")
        yield (f"no numbers of {len(lost)} {'process' if len(lost) == 1 else 'processes'} ({some}): ended by _exit, exec or a signal, or still running; "
               "what they locked is lost")
    if first not in [*lost, *(process["pid"] for process in processes)]:
        yield f"{program} has not loaded the library: it is static or set-uid, or has cleared its environment"


def run_program(words, environment):
    """Runs the program and returns its process id and its exit status. Interruptions are the program's to answer."""
    started, waiting = [], []   # a signal may come before the program has started

    def forward(number, _):
        if number == signal.SIGTERM:   # from the terminal the program has SIGINT as well; SIGTERM has come here alone
            (started[0].send_signal if started else waiting.append)(number)

    for interruption in INTERRUPTIONS:
        signal.signal(interruption, forward)
    with subprocess.Popen(words, env=environment) as child:
        started.append(child)
        for number in waiting:
            child.send_signal(number)
        status = child.wait()
    for interruption in INTERRUPTIONS:
        signal.signal(interruption, signal.default_int_handler)
    return child.pid, status if status >= 0 else 128 - status


def main(library, probe, *arguments):
    rate, seed, out, words = words_of(arguments)
    if not library:   # ./bench asks whether the words are right before it builds
        return 0
    if rate is None:
        asked = subprocess.run([probe], capture_output=True, text=True, check=False, timeout=600)
        if asked.returncode != 0:
            why = asked.stdout.strip() or f"the probe ended with status {asked.returncode}"
            raise InputError(f"this machine does not elide: {why}; for tests --emulate-aborts runs the program with aborts instead")
    label = "elide" if rate is None else "emulated aborts"
    with tempfile.TemporaryDirectory(prefix="elide.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o1777)   # a program may change its user
        preload = f"{pathlib.Path(library).absolute()}:{os.environ.get('LD_PRELOAD', '')}".rstrip(":")
        environment = os.environ | {"LD_PRELOAD": preload, "LD_BIND_NOW": "1", "LATCHLAB_ELIDE_REPORTS": name}
        environment.pop("LATCHLAB_ELIDE_ABORTS", None)
        if rate is not None:
            environment["LATCHLAB_ELIDE_ABORTS"] = f"{rate}:{seed}"
        try:
            first, status = run_program(words, environment)
        except OSError as error:
            raise InputError(f"{words[0]}: {error.strerror}") from None
        processes, lost = read_reports(folder)
    if out is not None:
        document = {"schema": 1, "mode": "hardware" if rate is None else "emulated aborts", "program": words, "exit_status": status,
                    "emulated": None if rate is None else {"rate": rate, "seed": seed}, "processes": processes, "without_numbers": lost}
        try:
            pathlib.Path(out).write_text(json.dumps(document, indent=1) + "\n")
        except OSError as error:
            raise InputError(f"--out: {out}: {error.strerror}") from None
    for line in lines_of(processes, lost, first, words[0]):
        print(f"{label}: {line}", file=sys.stderr)
    return status


if __name__ == "__main__":
    run_script("elide", main, *sys.argv[1:])
