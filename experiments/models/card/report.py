"""The report: published numbers beside the model's, with the reason where they differ, and the source of each input."""
import math
import pathlib
import textwrap
import tomllib
from dataclasses import dataclass

from models.card.parameters import INPUTS, TAGS

FOLDER = pathlib.Path(__file__).resolve().parent
WIDTH = 140
NEAR = 0.05   # a row that differs by more is a mismatch, unless its group says otherwise
# Groups in their order: title, and the difference from which on a row is a mismatch.
GROUPS = {
    "accesses": ("Accesses of 64 bytes an operation; a record counts once", NEAR),
    "uniform": ("Throughput, uniform keys", NEAR),
    "zipf": ("Throughput, Zipf .99, with the station and load dispatch", NEAR),
    "station": ("The reservation station, and operations that wait instead", NEAR),
    "dispatch": ("Load dispatch, by flows of accesses", 0.02),
    "batching": ("Packets with one operation, and full packets", NEAR),
    "vectors": ("Vectors", NEAR),
    "host": ("The host beside a busy card", NEAR),
    "nics": ("Ten cards", NEAR),
    "parts": ("Numbers that should follow from each other", NEAR),
}


@dataclass(frozen=True)
class Published:
    """A row of published.toml."""

    row: str
    says: str
    unit: str
    tag: str
    value: float | None = None
    most: float | None = None
    why: str = ""
    quoted: bool = False
    digits: int | None = None   # behind the point, if the number was published with few: the model's is near if it is rounded to it

    @property
    def group(self):
        return self.row.partition("/")[0]

    @property
    def shown(self):
        return f"<= {self.most:g}" if self.value is None else f"{self.value:,g}"

    def difference(self, number):
        """Returns the share by which a number of the model is off; 0 for one that keeps its bound."""
        if self.value is None:
            return 0.0 if number <= self.most else number / self.most - 1
        return number / self.value - 1

    def is_near(self, number):
        return abs(self.difference(number)) <= GROUPS[self.group][1] or self.digits is not None and round(number, self.digits) == self.value


def shown(number):
    """Returns a number with four digits or more."""
    if number is None:
        return "-"
    if number == 0 or not math.isfinite(number):
        return f"{number:g}"
    return f"{number:,.{max(0, 3 - math.floor(math.log10(abs(number))))}f}"


def read_published():
    """Returns the rows of published.toml, and its notes by group."""
    tables = tomllib.loads((FOLDER / "published.toml").read_text())
    rows = []
    for group in GROUPS:
        for row in tables[group]:
            name = f"{group}/{row.pop('name')}"
            rows.append(Published(name, why=tables["why"].get(name, ""), **row))
    if wrong := [row.row for row in rows if row.tag not in TAGS] + sorted(set(tables["why"]) - {row.row for row in rows}):
        raise ValueError(f"published.toml: {wrong[0]}: there is no such tag, or no such row")
    return rows, tables["notes"]


def wrapped(text, indent):
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def line_of(row, number):
    """Returns the line of a row; `number` is None if it is only quoted."""
    left = f"  {row.says:52} {row.unit:12} {row.shown:>9}"
    if number is None:
        return f"{left} {'-':>9} {'-':>9} {'quoted':>10}  {row.why}"
    if row.value is None:
        outcome = "kept" if row.is_near(number.best) else "above !"
    else:
        outcome = f"{100 * row.difference(number.best):+.1f} %" + ("" if row.is_near(number.best) else " !")
    return f"{left} {shown(number.closed):>9} {shown(number.simulated):>9} {outcome:>10}  {number.limit:20} {row.tag}".rstrip()


def table(rows, notes, numbers):
    """Returns the lines of all groups. Below each stand its note and the reasons of its mismatches."""
    lines = [f"  {'':52} {'unit':12} {'published':>9} {'closed':>9} {'simulated':>9} {'difference':>10}  {'limit':20} tag"]
    for group, (title, _) in GROUPS.items():
        lines += ["", title]
        of_group = [row for row in rows if row.group == group]
        reasons = {}
        for row in of_group:
            number = None if row.quoted else numbers[row.row]
            lines.append(line_of(row, number))
            if number is not None and not row.is_near(number.best):
                reasons.setdefault(row.why or "no reason is known", []).append(row.says)
        if group in notes:
            lines += wrapped(f"note: {notes[group]}", "    ")
        for why, where in reasons.items():
            lines += wrapped(f"! {'; '.join(where)}: {why}", "    ")
    return lines


def latencies(numbers):
    """Returns the lines of the latencies of batching, of which the figure's numbers are not published but for the averages."""
    lines = ["", "Latency in us, at 95 % of the highest rate; the average of single operations is the published one, and an input",
             f"  {'':24} {'least':>8} {'average':>8} {'most':>8}"]
    for name, says in (("alone", "one operation a packet"), ("batched", "full packets")):
        values = " ".join(f"{numbers[f'batching/{of}-{name}'].simulated:8.2f}" for of in ("least", "average", "most"))
        lines.append(f"  {says:24} {values}")
    return lines


def inputs():
    """Returns the lines of all inputs with their sources."""
    lines = ["", "Inputs: value, tag (stated: paper; talk: slides; digitised: figures; derived; inferred from a published number), source"]
    for given in INPUTS.values():
        lines += line_of_input(given)
    return lines


def line_of_input(given):
    """Returns the lines of an input with its source."""
    value = str(given.value).lower() if isinstance(given.value, bool) else f"{given.value:.6g}"
    left = f"  {given.name:22} {value:>11}  {given.tag:10} "
    return textwrap.wrap(given.source, WIDTH, initial_indent=left, subsequent_indent=" " * len(left))


def mismatches(rows, numbers):
    """Returns the rows that are not near."""
    return [row for row in rows if not row.quoted and not row.is_near(numbers[row.row].best)]


def summary(rows, numbers, worst, gap):
    """Returns the last lines: how many rows agree, and how far seeds and methods are apart. `worst`: rows.apart of rows without pauses, and
    with them; `gap`: a share and a row."""
    derived = [row for row in rows if not row.quoted]
    off = mismatches(rows, numbers)
    unknown = [row for row in off if not row.why]
    return ["", f"{len(derived) - len(off)} of {len(derived)} rows agree; {len(off)} do not (!), {len(unknown)} of them for no known "
            f"reason; {len(rows) - len(derived)} are quoted.",
            f"Two seeds differ by {100 * worst[0][0]:.1f} % at most, in {worst[0][1]}; in rows of few and long pauses by "
            f"{100 * worst[1][0]:.1f} %, in {worst[1][1]}.",
            f"Closed forms and simulator differ by {100 * gap[0]:.1f} % at most, in {gap[1]}."]
