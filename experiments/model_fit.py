"""Fits a modelled machine to published numbers, and reports what it predicts of the others.

    model_fit.py HARNESS fit FILE [--dry-run] [--machine=MODEL] [-- OPTIONS OF EVERY RUN]
    model_fit.py HARNESS hold-out FILE [--machine=MODEL] [-- OPTIONS OF EVERY RUN]

`fit` takes the points of [[fit]] in their order. For each it finds one value of the machine by bisection, with the values before it as
found, so that the median of 3 seeds is the published number. Then it writes all values into src/model/machines/MACHINE.toml, with the tag
`fitted`; with --dry-run it only prints them. Commit that file alone, build, and only then run `hold-out`, once: it runs each point of
[[hold_out]] under 5 seeds, and prints all of them, those that miss too. A point whose seeds end in two states is printed as such.

--machine names what to start from or to judge instead: alternatives, such as haswell-ep:home.stale_directory=false. It writes nothing.

FILE is a table of TOML, such as experiments/fits/haswell-ep.toml:

    machine              the machine that is fitted
    run                  options of every run
    [[fit]]              one fitted point
      name, published    what was published: million operations a second, or with `bases` a speedup
      run                its options
      bases              name -> options that replace those of the point, for the run that a speedup is over. `own` counts in the fit
      value, within      the value that is found, and its bounds. The number must fall while the value rises
    [[hold_out]]         the same without value and within; also: name -> options that replace those of the point, for another reading

Exit status: 0, also if points miss; 2 for wrong input, such as a published number that no value within the bounds gives.
"""
from input_error import InputError, end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("model_fit")   # before the other imports
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import definition
import states

MACHINES = definition.FOLDER.parent / "src/model/machines"
USAGE = "model_fit.py HARNESS fit|hold-out FILE [--dry-run] [--machine=MODEL] [-- OPTIONS OF EVERY RUN]"
LISTED = "experiments/model_fit.py"
FIT_SEEDS, SEEDS = 3, 5
STEPS = 12        # bisections of a value at most
NEAR = .003       # share of the published number at which a bisection ends


@dataclass
class Point:
    name: str
    published: float
    run: list
    bases: dict            # name -> options; empty: the number is a rate
    value: str = ""        # what is fitted
    within: tuple = ()
    also: dict = field(default_factory=dict)

    @property
    def unit(self):
        return "x" if self.bases else "M/s"


@dataclass
class Fit:
    machine: str
    run: list
    fitted: list
    held_out: list


def options_by_name(table, key):
    """Takes a table of name -> options."""
    given = definition.Table(f"{table.where}: {key}", table.take(key, dict, {}), LISTED)
    return {name: given.options(name) for name in list(given.rest)}


def read_point(table, fits):
    name, published = table.take("name", str), float(table.take("published", int | float))
    point = Point(name, published, table.options(), options_by_name(table, "bases"))
    if point.bases and "own" not in point.bases:
        raise InputError(f"{table.where}: 'bases' has no 'own'")
    if fits:
        point.value = table.take("value", str)
        point.within = tuple(table.take("within", list))
        if len(point.within) != 2 or not 0 < point.within[0] < point.within[1]:
            raise InputError(f"{table.where}: 'within' is a lower bound above 0, and a higher one")
    else:
        point.also = options_by_name(table, "also")
    table.done()
    return point


def read(path):
    """Reads a file of points. Raises InputError."""
    try:
        table = definition.Table(str(path), tomllib.loads(path.read_text(encoding="utf-8")), LISTED)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    fit = Fit(table.take("machine", str), table.options(),
              [read_point(point, fits=True) for point in table.tables("fit")],
              [read_point(point, fits=False) for point in table.tables("hold_out")])
    table.done()
    return fit


class Runs:
    """Runs of the harness, each made once."""

    def __init__(self, harness, common, own):
        self.harness, self.common, self.own = harness, common, own
        self.known = {}

    def check(self, machine):
        """Asks the harness for the machine. Raises InputError if there is no such harness, or no such machine."""
        try:
            done = subprocess.run([self.harness, "model", machine], capture_output=True, text=True, check=False)
        except OSError as error:
            raise InputError(f"{self.harness}: {error.strerror}; it must be a harness that models: build/modelled/harness") from None
        if done.returncode != 0:
            raise InputError((done.stderr.strip().splitlines() or ["harness model failed"])[-1].removeprefix("harness: "))

    def rates(self, machine, options, seeds):
        """Returns the rate under each seed, in million operations a second. Raises InputError."""
        words = definition.merged([f"--machine={machine}"], self.common, options, self.own)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return list(pool.map(lambda seed: self.rate((*words, f"--seed={seed}")), range(1, seeds + 1)))

    def rate(self, words):
        if words not in self.known:
            done = subprocess.run([self.harness, *words, "--json", "--progress=none"], capture_output=True, text=True, check=False)
            try:
                document = json.loads(done.stdout)
                self.known[words] = document["throughput"]["per_second"] / 1e6
            except (ValueError, KeyError, TypeError):
                said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1].removeprefix("harness: ")
                raise InputError(f"{' '.join(words)}: {said}") from None
        return self.known[words]

    def numbers(self, machine, point, seeds, base="own", run=None):
        """Returns the number of a point under each seed. Raises InputError."""
        options = definition.merged(point.run, run or [])
        rates = self.rates(machine, options, seeds)
        if not point.bases:
            return rates
        below = self.rates(machine, definition.merged(options, point.bases[base]), seeds)
        return [rate / of for rate, of in zip(rates, below, strict=True)]


def found_by_bisection(point, number_at):
    """Returns the value, as text, at which the number is the published one, and the number there. Raises InputError."""
    low, high = point.within
    at_low, at_high = number_at(f"{low:.4g}"), number_at(f"{high:.4g}")
    if not at_high <= point.published <= at_low:
        raise InputError(f"{point.name}: no {point.value} from {low:g} to {high:g} gives {point.published:g} {point.unit}: these give "
                         f"{at_low:.4g} and {at_high:.4g}")
    best = min((abs(at_low - point.published), f"{low:.4g}", at_low), (abs(at_high - point.published), f"{high:.4g}", at_high))
    for _ in range(STEPS):
        text = f"{math.sqrt(low * high):.4g}"
        number = number_at(text)
        best = min(best, (abs(number - point.published), text, number))
        if best[0] <= NEAR * point.published:
            break
        low, high = (float(text), high) if number > point.published else (low, float(text))
    return best[1], best[2]


def fit_all(fit, runs, machine):
    """Fits the points in their order, and returns value -> (text, source)."""
    values, found = {}, {}
    for point in fit.fitted:
        def number_at(text, point=point):
            return statistics.median(runs.numbers(definition.with_changes(machine, values | {point.value: text}), point, FIT_SEEDS))

        text, number = found_by_bisection(point, number_at)
        values[point.value] = text
        found[point.value] = text, f"fitted to {point.name}: {point.published:g} {point.unit} published; experiments/model_fit.py"
        print(f"{point.value} = {text}: {point.name} {number:.4g} {point.unit}, published {point.published:g}", flush=True)
    return found


def written(text, key, value, source):
    """Returns the text of a machine file with a value that was fitted. Raises InputError."""
    table, _, name = key.rpartition(".")
    part = re.search(rf"^\[{re.escape(table)}\]\n((?!\[).*\n?)*", text, re.MULTILINE)
    line = part and re.search(rf'^{re.escape(name)} = {{v = [^,]+, unit = ("[^"]*"), .*}}$', part[0], re.MULTILINE)
    if not line:
        raise InputError(f"the machine file has no {key}")
    new = f'{name} = {{v = {value}, unit = {line[1]}, tag = "fitted", source = "{source}"}}'
    at = part.start() + line.start()
    return text[:at] + new + text[at + len(line[0]) :]


def report(fit, runs, machine):
    """Prints what the machine predicts of each point, and returns how many points there are and how many are within 15 %."""
    near = total = 0
    for point in fit.held_out:
        readings = [(f", over one thread of {base}" if base != "own" else "", base, None) for base in point.bases or ["own"]]
        readings += [(f", {name}", "own", run) for name, run in point.also.items()]
        for said, base, run in readings:
            try:
                numbers = runs.numbers(machine, point, SEEDS, base, run)
            except InputError as error:
                print(f"{point.name}{said}: published {point.published:g} {point.unit}; no number: {error}", flush=True)
                total += not said
                continue
            of = states.states_of(numbers)
            middle = statistics.median(numbers)
            if len(of) > 1:
                text = f"in two states: {states.words(of)}"
            else:
                text = f"{middle:.4g} ({min(numbers):.4g} to {max(numbers):.4g}), {(middle / point.published - 1) * 100:+.0f} %"
            print(f"{point.name}{said}: published {point.published:g} {point.unit}; {text}", flush=True)
            if not said:
                total += 1
                near += len(of) == 1 and abs(middle / point.published - 1) <= .15
    print(f"{near} of {total} held-out points are within 15 % of what was published")
    return near, total


def fit_main(harness, arguments):
    own = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, own = arguments[:at], arguments[at + 1 :]
    dry, machine, words = False, "", []
    for argument in arguments:
        if argument == "--dry-run":
            dry = True
        elif argument.startswith("--machine=") and argument != "--machine=":
            machine = argument.removeprefix("--machine=")
        elif argument.startswith("-"):
            raise InputError(f"there is no '{argument}' here; {USAGE}")
        else:
            words.append(argument)
    if len(words) != 2 or words[0] not in ("fit", "hold-out") or (dry and words[0] != "fit"):
        raise InputError(f"the usage is {USAGE}")
    fit = read(pathlib.Path(words[1]))
    runs = Runs(harness, fit.run, own)
    runs.check(machine or fit.machine)
    if words[0] == "hold-out":
        report(fit, runs, machine or fit.machine)
        return 0
    path = MACHINES / f"{fit.machine}.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{words[1]}: machine: {path}: {error.strerror}") from None
    for point in fit.fitted:
        written(text, point.value, "0", "")   # raises before anything runs if there is no such value
    found = fit_all(fit, runs, machine or fit.machine)
    for key, (value, source) in found.items():
        text = written(text, key, value, source)
    if not dry and not machine:
        path.write_text(text, encoding="utf-8")
        print(f"{path} has these values. Commit it alone, build, and run hold-out once.")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(f"model_fit: the usage is {USAGE}", file=sys.stderr)
        sys.exit(2)
    run_script("model_fit", fit_main, sys.argv[1], sys.argv[2:])
