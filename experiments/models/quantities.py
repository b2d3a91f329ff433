"""Numbers with their unit, spread, source, date and tag: the inputs of a model on paper.

A file of them is TOML. A table with a `unit` is a row, and other tables group rows; the name of a row is its place:

    [dram.price]
    value = 6.25           a number, or a list of numbers
    low = 3.29             the least and the most that it may be, around the value; a row without them is exact, and a list always is
    high = 9.38
    unit = "$/GB"
    source = "..."         where the value and its spread are from
    date = "2017-01"       of the source: YYYY, YYYY-MM or YYYY-MM-DD
    tag = "P"              how well it is known: a word of TAGS
"""
import random
import re
import tomllib
from dataclasses import dataclass

from input_error import InputError

TAGS = {
    "M": "measured in this project",
    "S": "stated by the system's authors",
    "P": "read in the source",
    "P2": "read in a source that quotes another",
    "D": "read off a figure of the source",
    "A": "arithmetic on other rows",
    "R": "recalled, and not looked up",
    "H": "assumed",
    "C": "computed from numbers of the same row",
    "O": "our choice of what is shown, and no fact",
}
WEAK = ("A", "R", "H")   # tags that a table must show
DATE = re.compile(r"\d{4}(-\d\d){0,2}")
SPAN = (0.05, 0.95)      # of the draws: an interval


@dataclass(frozen=True)
class Quantity:
    name: str
    value: float | tuple
    low: float
    high: float
    unit: str
    source: str
    date: str
    tag: str

    def draw(self, number, seed):
        """Returns a value between low and high. A half of all draws are below the value, uniform on each side; so the value is their
        median. The draw depends on the name, its number and the seed alone."""
        if isinstance(self.value, tuple) or self.low == self.high:
            return self.value
        at = random.Random(f"{seed} {number} {self.name}").uniform(-1, 1)
        return self.value + at * (self.high - self.value if at > 0 else self.value - self.low)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def quantity(where, name, table):
    """Returns a row. Raises InputError."""
    place, rest = f"{where}: {name}", dict(table)

    def take(key, right, said, otherwise=None):
        value = rest.pop(key, otherwise)
        if value is None:
            raise InputError(f"{place}: '{key}' is missing")
        if not right(value):
            raise InputError(f"{place}: {key} = {value!r} is not {said}")
        return value

    is_text = lambda value: isinstance(value, str) and value != ""
    is_list = lambda value: isinstance(value, list) and len(value) > 0 and all(map(is_number, value))
    value = take("value", lambda value: is_number(value) or is_list(value), "a number, or a list of numbers")
    if isinstance(value, list):
        value, ends = tuple(value), (0, 0)
    else:
        ends = take("low", is_number, "a number", value), take("high", is_number, "a number", value)
        if not 0 <= ends[0] <= value <= ends[1]:
            raise InputError(f"{place}: low <= value <= high and 0 <= low must hold, and it has {ends[0]:g}, {value:g}, {ends[1]:g}")
    made = Quantity(name, value, *ends, take("unit", is_text, "a unit in quotes"), take("source", is_text, "a source in quotes"),
                    take("date", lambda value: is_text(value) and DATE.fullmatch(value), 'a date as in "2019-04"'),
                    take("tag", lambda value: value in TAGS, f"one of {', '.join(TAGS)}"))
    if rest:
        raise InputError(f"{place}: there is no key '{next(iter(rest))}'; a row has value, low, high, unit, source, date and tag")
    return made


def rows_of(where, table, name=""):
    """Returns the rows of a table by their names. Raises InputError."""
    if "unit" in table or "value" in table:
        return {name: quantity(where, name, table)}
    out = {}
    for key, each in table.items():
        place = f"{name}.{key}" if name else key
        if not isinstance(each, dict):
            raise InputError(f"{where}: {place} is no row; a row is a table with value, low, high, unit, source, date and tag")
        out |= rows_of(where, each, place)
    return out


def read_toml(path):
    """Returns a TOML file as a dictionary. Raises InputError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"'{path}' is not text; it should be TOML") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"'{path}': {error}") from None


def read(path):
    """Returns the rows of a file by their names. Raises InputError."""
    return rows_of(f"'{path}'", read_toml(path))


def replaced(rows, path):
    """Returns the rows with those of a reader's file in place of the rows of the same names. Each must have the unit of the row that it
    replaces. Raises InputError."""
    own = read(path)
    if not own:
        raise InputError(f"'{path}' has no row; there are {', '.join(rows)}")
    for name, row in own.items():
        if name not in rows:
            raise InputError(f"'{path}': there is no row '{name}'; there are {', '.join(rows)}")
        if row.unit != rows[name].unit:
            raise InputError(f"'{path}': {name}: the unit is '{rows[name].unit}', and not '{row.unit}'")
        if isinstance(row.value, tuple) != isinstance(rows[name].value, tuple):
            raise InputError(f"'{path}': {name}: the value is a {'list' if isinstance(rows[name].value, tuple) else 'number'}")
    return rows | own


def values_of(rows):
    """Returns the values of rows by name."""
    return {name: row.value for name, row in rows.items()}


def drawn(rows, number, seed):
    """Returns values of rows by name, each drawn from its spread."""
    return {name: row.draw(number, seed) for name, row in rows.items()}


def span(values):
    """Returns the ends of the interval that has nine tenths of the values."""
    ordered = sorted(values)
    return tuple(ordered[round(end * (len(ordered) - 1))] for end in SPAN)


def table(rows):
    """Returns lines that show rows: value, spread, unit, tag, date and source."""
    lines = []
    for name, row in rows.items():
        value = ", ".join(f"{each:g}" for each in row.value) if isinstance(row.value, tuple) else f"{row.value:,.6g}"
        spread = f" ({row.low:,.4g} to {row.high:,.4g})" if not isinstance(row.value, tuple) and row.low < row.high else ""
        lines.append(f"  {name:24} {value}{spread} {row.unit} [{row.tag}] {row.date}: {row.source}")
    return lines
