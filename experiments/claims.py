"""Claims: sentences that a number decides, and the commands that measure it. A file of claims has tables [[claim]] only, so files can
be joined:

    name        a word that names the claim
    says        a sentence: what somebody else shall find, too
    run         options of its runs
    a, b        further options of the one command, and of the other if there are two
    holds       the comparison, which is one of
                    a / b >= 1.5                      the speed of a over that of b, as `harness compare` judges it
                    a / b <= 2                        >= and <= may stand in all of them
                    bytes_per_key of a <= 46          a word of NUMBERS, of one command
                    ns_per_operation of a - b <= 4    the same, and its difference in a block; or a / b, its ratio
    tolerance   how far beyond its bound a number may be on another machine, as a share of the bound: "5%"
    quick       true if `verify --quick` measures it: its runs are short
    each        {word = [values]}: one claim for each value, which replaces {word} in all texts

A claim that this machine cannot test needs no word here: the runs say so themselves (they are degraded, or skipped by --fit).
"""
import itertools
import re
import tomllib
from dataclasses import dataclass

import definition
from definition import at, merged, name_of
from input_error import InputError

HOLDS = re.compile(r"(?:(\w+) of )?(a|a / b|a - b) (>=|<=) (\d+(?:[.]\d+)?|[.]\d+)")
TOLERANCE = re.compile(r"(\d+(?:[.]\d+)?)%")
SPEED = "speed"
# What the runner of claims itself gives to a run, or what makes several runs of one, or no run. A stranger's claim must write no file.
REFUSED = ("--seed", "--reps", "--replicate", "--block", "--order", "--json", "--out", "--progress", "--dry-run", "--strict",
           *definition.OF_ONE_RUN)


def per_begin(document):
    counters = at("sync", "counters")(document)
    return counters.get("commits", 0) / counters["begins"]


# Numbers of a document, with the names that `harness compare` and the documents have for them. A number that is missing raises
# NoNumber, as in definition.METRICS, or KeyError, or ZeroDivisionError.
NUMBERS = {
    "bytes_per_key": at("memory", "bytes_per_key"),
    "commits_per_begin": per_begin,
    "fallback_rate": at("sync", "fallback_rate"),
    "zero_aborts_per_operation": definition.METRICS["zeros"][1],
    "nodes_per_fetch": at("nodes_per_fetch"),
    "independent_ratio": at("limits", "independent_ratio"),
    "value_ratio": at("limits", "value_ratio"),
    "ns_per_operation": lambda document: 1e9 * document["config"]["threads"] / document["throughput"]["per_second"],
}


@dataclass(frozen=True)
class Claim:
    name: str
    says: str
    holds: str
    number: str      # SPEED, or a word of NUMBERS
    form: str        # "a", "a / b", "a - b"
    at_least: bool   # whether the bound is the least or the most
    bound: float
    tolerance: float
    quick: bool
    runs: dict       # "a", "b" -> the options of the command

    @property
    def limit(self):
        """The bound with its tolerance."""
        return self.bound * (1 - self.tolerance if self.at_least else 1 + self.tolerance)

    def points(self):
        return [definition.Point(0, letter, None, arguments) for letter, arguments in self.runs.items()]


def filled(value, words):
    """Returns a value of the file with the words of `each` in its texts."""
    if isinstance(value, list):
        return [filled(each, words) for each in value]
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(f"{{{word}}}", str(text))
    return value


def spread(table):
    """Returns a table for each combination of the values in `each`."""
    each = table.take("each", dict, {})
    for word, values in each.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"{table.where}: each: {word} is no list of values")
    return [
        definition.Table(table.where, {key: filled(value, dict(zip(each, values))) for key, value in table.rest.items()}, table.listed)
        for values in itertools.product(*each.values())
    ]


def options(table, key):
    given = table.options(key)
    for option in given:
        if name_of(option) in REFUSED:
            raise InputError(f"{table.where}: {key}: {name_of(option)} has no meaning in a claim; each of its runs is one, in blocks")
    return given


def read(table):
    name = table.take("name", str)
    if not re.fullmatch(r"\S+", name):
        raise InputError(f"{table.where}: the name '{name}' is not one word")
    table.where = f"{table.where.rpartition(': ')[0]}: {name}"
    says, holds = table.take("says", str), table.take("holds", str)
    found = HOLDS.fullmatch(holds)
    if not found:
        raise InputError(f"{table.where}: holds: '{holds}' is no comparison, such as 'a / b >= 1.5' or 'bytes_per_key of a <= 46'")
    number, form, sign, bound = found.groups(SPEED)
    if number != SPEED and number not in NUMBERS:
        raise InputError(f"{table.where}: holds: there is no number '{number}'; there are {', '.join(NUMBERS)}")
    if number == SPEED and form != "a / b":
        raise InputError(f"{table.where}: holds: speeds of two machines differ, so a claim needs a ratio: a / b")
    tolerance = TOLERANCE.fullmatch(table.take("tolerance", str))
    if not tolerance or float(tolerance[1]) >= 100:
        raise InputError(f"{table.where}: tolerance is a share of the bound, such as \"5%\"")
    quick = table.rest.pop("quick", False)
    if not isinstance(quick, bool):
        raise InputError(f"{table.where}: quick is true or false")
    both, own = options(table, "run"), {letter: options(table, letter) for letter in "ab" if letter in table.rest}
    table.done()
    if set(own) != set(form) & set("ab"):
        raise InputError(f"{table.where}: '{holds}' needs the options of {' and '.join(sorted(set(form) & set('ab')))}, and no others")
    runs = {letter: tuple(sorted(merged(both, words, ["--fit"]))) for letter, words in own.items()}   # sorted: claims share equal runs
    if len(set(runs.values())) < len(runs):
        raise InputError(f"{table.where}: a and b are the same command")
    return Claim(name, says, holds, number, form, sign == ">=", float(bound), float(tolerance[1]) / 100, quick, runs)


def load(path):
    """Returns the claims of a file. Raises InputError."""
    try:
        top = definition.Table(str(path), tomllib.loads(path.read_text(encoding="utf-8")), "experiments/claims.py")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:   # no TOML, or no UTF-8
        raise InputError(f"{path}: {error}") from None
    claims = [read(each) for table in top.tables("claim", []) for each in spread(table)]
    top.done()
    if not claims:
        raise InputError(f"{path}: has no [[claim]]")
    names = [claim.name for claim in claims]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: two claims have the name '{name}'")
    return claims


def groups(claims):
    """Returns the claims in groups that share runs. A group has blocks of its own, which keeps the runs of a claim close in time."""
    out = []
    for claim in claims:
        with_us = [group for group in out if any(set(claim.runs.values()) & set(other.runs.values()) for other in group)]
        out = [group for group in out if group not in with_us] + [[other for group in with_us for other in group] + [claim]]
    return out
