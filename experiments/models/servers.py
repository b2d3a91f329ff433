"""What a server with little DRAM and much slower memory costs, and what it does, beside servers with DRAM alone.

    ./bench model servers [--prices=FILE] [--counts=FILE] [--out=FOLDER]

Kassa et al. (USENIX ATC 2021, ACM TOS 2022) give a server with one socket a second, slower memory for RocksDB's block cache. They find it 43
to 48 % cheaper than a server with two sockets and much DRAM, and up to 80 % faster than one with one socket and little DRAM. Nobody can
borrow these servers. So this derives three of them: small (one socket, little DRAM), hybrid (one socket, DRAM and far memory) and large (two
sockets, much DRAM), for three loads and several numbers of shards.

    counts      the share of block look-ups that hit, by the size of the cache: published for mixgraph, or a reader's (--counts)
    costs       time of an operation and of a miss, by a line through the published rates of the same runs; Optane's latency and bandwidth
    prices      of parts, and power, in experiments/models/prices.toml

Every input has a source, a date and a tag in experiments/models/servers.toml and prices.toml: P read in the source, P2 quoted by another, M
measured by this project, A arithmetic, R recalled, H assumed. An input with a spread is drawn from it; intervals have nine tenths of the
draws. experiments/models/server_model.py has the equations. Nothing is fitted to the servers' published results.

    --prices    a TOML file of rows as in prices.toml, which replace those of the same names; units must be the same
    --counts    results.jsonl of `./bench tier`: its loads replace the published ones. A line has
                {"point": {"load": "prefix-dist", "variant": "16Mi+size=16Mi", "shards": 1},
                 "outcome": {"database_bytes": 1, "gets": 1, "puts": 1, "seeks": 1, "near_hits": 1, "far_hits": 1, "misses": 1}}
                where a variant is the size of near memory and, after +size=, that of far memory: bytes, or % of one shard's database.
                Lines of one load are added up, whatever else they differ in
    --out       a folder, by default experiments/results/model-servers. It gets servers.json, with every number and the inputs; figure.svg:
                throughput, cost and power; prices.svg: the price of far memory at which it pays, by its latency

docs/model_servers.md says how far to trust it. Exit status: 0; 2 for wrong input.
"""
import functools
import json
import math
import pathlib
import re
from dataclasses import dataclass

from input_error import InputError
from models import charts, quantities
from models import server_model as model
from models.server_model import MACHINES, Load

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent / "results/model-servers"
UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)(%|[kKMGT]i?|)")
COUNTED = ("database_bytes", "gets", "puts", "seeks", "near_hits", "far_hits", "misses")
PURCHASES = tuple(f"{part}.price" for part in ("processor", "dram", "far", "flash", "server", "socket"))
MISSING = ("the cost table of the paper, with its processor, drives and prices, was not seen", "so our prices stand in its place")
SERVER, ENERGY = "a server", "with energy"   # how machines are compared: their prices, and those with the energy of their life


@dataclass(frozen=True)
class Inputs:
    rows: dict     # name -> Quantity
    loads: list    # Load

    def values(self, number=None):
        """Returns numbers by name: as they stand, or of a draw."""
        if number is None:
            return quantities.values_of(self.rows)
        return quantities.drawn(self.rows, number, self.rows["draws.seed"].value)


def size_of(text, data, where):
    """Returns the bytes of a size, which may be a share of `data`. Raises InputError."""
    found = SIZE.fullmatch(text)
    if not found:
        raise InputError(f"{where}: '{text}' is no size; write it as in 16Mi or 9%")
    return float(found[1]) * (data / 100 if found[2] == "%" else UNITS[found[2]])


def read_counts(path):
    """Returns the loads in a results.jsonl of `./bench tier`, whose lines are as the help says. Counts of equal sizes are added up; far memory
    counts as more of the same cache. Raises InputError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--counts: '{path}' cannot be read: {getattr(error, 'strerror', 'it is not text')}") from None
    totals = {}   # (load, share of the data) -> [look-ups, misses, operations]
    for number, line in enumerate(lines, 1):
        where = f"--counts: '{path}', line {number}"
        try:
            run = json.loads(line)
            point, counted = run["point"], [run["outcome"][name] for name in COUNTED]
            load, (near, _, far), shards = point["load"], point["variant"].partition("+"), point.get("shards", 1)
            data, gets, puts, seeks, near_hits, far_hits, misses = counted
            lookups, operations = near_hits + far_hits + misses, gets + puts + seeks
            right = isinstance(load, str) and min(counted) >= 0 and data > 0 and lookups > 0 and operations > 0 and shards >= 1
        except (ValueError, KeyError, TypeError, AttributeError):
            right = False
        if not right:
            raise InputError(f"{where}: no counts of ./bench tier; its outcome has {', '.join(COUNTED)}, numbers from 0 on")
        sizes = [near, *(word.removeprefix("size=") for word in far.split(",") if word.startswith("size="))]
        share = sum(size_of(text, data, where) for text in sizes) / shards / data
        total = totals.setdefault((load, float(f"{share:.4g}")), [0, 0, 0])
        for at, more in enumerate((lookups, misses, operations)):
            total[at] += more
    loads = []
    for name in dict.fromkeys(load for load, _ in totals):
        of = sorted((share, *counts) for (load, share), counts in totals.items() if load == name)
        shares, lookups, misses, operations = zip(*of, strict=True)
        hits = tuple(1 - missed / asked for missed, asked in zip(misses, lookups, strict=True))
        loads.append(Load(name, shares, hits, sum(lookups) / sum(operations)))
    if not loads:
        raise InputError(f"--counts: '{path}' has no counts")
    return loads


def published_loads(values):
    """Returns the loads whose counts are rows."""
    shares = tuple(gb / values["mixgraph.data"] for gb in values["mixgraph.cache"])
    return [Load(name.removeprefix("load."), shares, tuple(percent / model.PERCENT for percent in value))
            for name, value in values.items() if name.startswith("load.")]


def fitted(rows):
    """Returns rows with the costs of an operation and of a miss: the line through the rates of prefix_dist."""
    misses = [1 - percent / model.PERCENT for percent in rows["load.prefix_dist"].value]
    times = [model.US_PER_S / rate for rate in rows["mixgraph.ops"].value]
    source = "line through the times of mixgraph.ops by the misses of load.prefix_dist; the spread leaves one point out"
    names = ("cost.operation", "us an operation"), ("cost.miss", "us an operation if all look-ups miss")
    return {name: quantities.Quantity(name, *costs, unit, source, rows["mixgraph.ops"].date, "A")
            for (name, unit), costs in zip(names, model.fit(misses, times), strict=True)}


def inputs_of(prices=None, counts=None):
    """Returns the inputs; `prices` and `counts` are a reader's files. Raises InputError."""
    costs = quantities.read(HERE / "prices.toml")
    rows = (quantities.replaced(costs, pathlib.Path(prices)) if prices else costs) | quantities.read(HERE / "servers.toml")
    rows |= fitted(rows)
    return Inputs(rows, read_counts(pathlib.Path(counts)) if counts else published_loads(quantities.values_of(rows)))


class Estimates:
    """What follows from the inputs as they stand, with the interval that follows from their spreads."""

    def __init__(self, inputs):
        self.inputs, self.loads = inputs, inputs.loads
        self.values = inputs.values()
        self.draws = [inputs.values(number) for number in range(int(self.values["draws.number"]))]
        self.shards = [int(shards) for shards in self.values["axis.shards"]]
        self.full = {machine: model.most_shards(self.values, machine) for machine in MACHINES}

    def of(self, compute):
        """Returns compute(values) with its interval: (value, low, high)."""
        return compute(self.values), *quantities.span(map(compute, self.draws))

    @functools.cache
    def rate(self, machine, load, shards):
        return self.of(lambda values: model.outcome(values, machine, load, shards).rate)

    @functools.cache
    def gain(self, load, shards, machine="hybrid", than="small"):
        """Returns by how many percent a machine serves more than another."""
        return self.of(lambda values: model.gain(values, load, shards, machine, than))

    @functools.cache
    def cost(self, machine, with_energy):
        return self.of(lambda values: lifetime_at_full_load(values, machine) if with_energy else model.purchase(values, machine))

    @functools.cache
    def cheaper(self):
        """Returns by how many percent the hybrid is cheaper than the large machine, by what is compared: name -> (value, low, high)."""
        out = {SERVER: self.of(model.cheaper), ENERGY: self.of(lambda values: model.cheaper(values, lifetime_at_full_load))}
        equal = dict.fromkeys(MACHINES, self.full["hybrid"])
        for load in self.loads:
            for said, shards in (("equal shards", equal), ("all flash", self.full)):
                out[f"{load.name}, {said}"] = self.of(
                    lambda values, load=load, shards=shards: model.cheaper_an_operation(values, load, shards))
        return out

    @functools.cache
    def watts(self, machine, load):
        """Returns the power of a machine with all its flash in use."""
        return self.of(lambda values: model.watts(values, machine, model.outcome(values, machine, load, self.full[machine]).busy))

    @functools.cache
    def kops_w(self, machine, load):
        """Returns thousand operations for a joule, with all flash in use."""
        def compute(values):
            out = model.outcome(values, machine, load, self.full[machine])
            return out.rate / model.watts(values, machine, out.busy) / 1e3
        return self.of(compute)

    @functools.cache
    def break_even(self, load, latency, than):
        """Returns the price of far memory below which it pays, in $/GB; None if it would not if it were free."""
        value, low, high = self.of(lambda values: model.break_even(values | {"far.latency": latency}, load, self.full, than))
        return (value, max(0, low), high) if value >= 0 else None

    def movers(self, compute):
        """Returns the inputs that move compute(values) most, each alone: (name, at its least, at its most), the widest first."""
        ends = [(name, *(compute(self.values | {name: end}) for end in (row.low, row.high)))
                for name, row in self.inputs.rows.items() if not isinstance(row.value, tuple) and row.low < row.high]
        return sorted((of for of in ends if of[1] != of[2]), key=lambda of: -abs(of[1] - of[2]))

    def needed(self):
        """Returns for each price what it would have to be for the published ends, alone: name -> (for the least, for the most)."""
        ends = self.values["published.cheaper_least"], self.values["published.cheaper_most"]
        return {name: tuple(model.needed(self.values, name, percent) for percent in ends) for name in PURCHASES}


def lifetime_at_full_load(values, machine):
    return model.lifetime(values, machine, 1)


def shown(estimate, digits=0):
    """Returns an estimate with its interval."""
    return "none" if estimate is None else f"{estimate[0]:,.{digits}f} ({estimate[1]:,.{digits}f} to {estimate[2]:,.{digits}f})"


def throughput_lines(estimates):
    lines = [f"{'thousand operations/s':31} {'small':>36} {'hybrid':>36} {'large':>36}"]
    for load in estimates.loads:
        for shards in estimates.shards:
            cells = []
            for machine in MACHINES:
                if shards > estimates.full[machine]:
                    cells.append(f"holds {estimates.full[machine]} shards")
                    continue
                rate = [each / 1e3 for each in estimates.rate(machine, load, shards)]
                out = model.outcome(estimates.values, machine, load, shards)
                cells.append(f"{shown(rate)} {out.limit}{'' if out.counted else '*'}")
            lines.append(f"{load.name:20} {shards:3} shards {cells[0]:>36} {cells[1]:>36} {cells[2]:>36}")
    limits = ", ".join(model.LIMITS)
    return [*lines, f"with the limit, one of {limits}; * a cache is smaller or larger than all that were counted"]


def cost_lines(estimates):
    power = "".join(f"{f'W, {load.name}':>26}{'Kops/W':>20}" for load in estimates.loads)
    lines = [f"{'machine':10} {'shards':>6} {'purchase, $':>24} {'with energy, $':>24}{power}"]
    for machine in MACHINES:
        costs = [estimates.cost(machine, with_energy) for with_energy in (False, True)]
        power = "".join(f"{shown(estimates.watts(machine, load)):>26}{shown(estimates.kops_w(machine, load), 2):>20}" for load in estimates.loads)
        lines.append(f"{machine:10} {estimates.full[machine]:6} {shown(costs[0]):>24} {shown(costs[1]):>24}{power}")
    return lines


def saving_lines(estimates):
    least, most = (estimates.inputs.rows[f"published.cheaper_{end}"] for end in ("least", "most"))
    found = estimates.cheaper()
    off = max(least.value - found[SERVER][0], found[SERVER][0] - most.value, 0)
    lines = [f"hybrid cheaper than large, %: published {least.value:g} to {most.value:g} [{least.tag}]",
             *(f"  {name:34} {shown(estimate, 1)}" for name, estimate in found.items()),
             f"  {SERVER} is {f'{off:.1f} points away' if off else 'inside'}, but {'; '.join(MISSING)}",
             "", f"what one price would have to be for {least.value:g} and {most.value:g} %, all else as it is"]
    for name, ends in estimates.needed().items():
        row = estimates.inputs.rows[name]
        text = " and ".join("no price" if end is None else f"{end:,.2f}" for end in ends)
        lines.append(f"  {name:18} {text} {row.unit}; ours is {row.value:,.2f} ({row.low:,.2f} to {row.high:,.2f}) [{row.tag}]")
    return lines


def gain_lines(estimates):
    published, p95 = (estimates.inputs.rows[f"published.{name}_most"] for name in ("gain", "p95"))
    fitting = [shards for shards in estimates.shards if shards <= min(estimates.full["small"], estimates.full["hybrid"])]
    gain, load, shards = max((estimates.gain(load, shards), load.name, shards) for load in estimates.loads for shards in fitting)
    return [f"hybrid over small, throughput at most: {shown(gain)} % more, {load} with {shards} shards; published up to {published.value:g} % "
            f"[{published.tag}]",
            "P95: none; counts say how many look-ups miss, and not which operation they are of; published up to "
            f"{p95.value:g} % lower [{p95.tag}]"]


def mover_lines(estimates):
    load, shards = estimates.loads[0], estimates.full["hybrid"]
    compared = {"hybrid cheaper than large, a server": model.cheaper,
                f"hybrid over small, {load.name} with {shards} shards, throughput": lambda values: model.gain(values, load, shards)}
    lines = []
    for said, compute in compared.items():
        moves = "; ".join(f"{name} {low:.1f} to {high:.1f}" for name, low, high in estimates.movers(compute))
        lines.append(f"{said}, %, with one input at its least and at its most, the widest first: {moves}")
    return lines


def price_lines(estimates):
    lines = []
    for than in ("small", "large"):
        lines.append(f"price of far memory, $/GB, below which an operation/s costs less than on {than}, by latency in ns; all flash in use")
        for load in estimates.loads:
            at = [f"{latency:g}: {shown(estimates.break_even(load, latency, than), 1)}" for latency in estimates.values["axis.latency"]]
            lines.append(f"  {load.name:18} {'; '.join(at)}")
    return lines


def report(estimates):
    """Returns the text of all estimates, which begins with the inputs."""
    tags = "; ".join(f"{tag} {said}" for tag, said in quantities.TAGS.items())
    parts = [["inputs: value (spread) unit [tag] date: source", *quantities.table(estimates.inputs.rows)], [f"tags: {tags}"],
             *(lines(estimates) for lines in (throughput_lines, cost_lines, saving_lines, gain_lines, mover_lines, price_lines))]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def document(estimates):
    """Returns every number as a dictionary."""
    value = lambda estimate: None if estimate is None else dict(zip(("value", "low", "high"), estimate, strict=True))
    throughput = []
    for load in estimates.loads:
        for machine in MACHINES:
            for shards in estimates.shards:
                row = {"load": load.name, "machine": machine, "shards": shards, "operations_s": None, "p95_us": None,
                       "p95_us_reason": "counts do not say which operation a miss is of"}
                if shards > estimates.full[machine]:
                    throughput.append(row | {"operations_s_reason": f"its flash holds {estimates.full[machine]} shards"})
                    continue
                out = model.outcome(estimates.values, machine, load, shards)
                throughput.append(row | {"operations_s": value(estimates.rate(machine, load, shards)), "limit": out.limit, "counted": out.counted,
                                         "limits": {name: None if math.isinf(rate) else rate for name, rate in out.limits.items()},
                                         "latency_us": out.latency_us, "busy": out.busy})
    return {
        "status": "modelled",
        "inputs": {name: vars(row) for name, row in estimates.inputs.rows.items()},
        "published": {name: row.value for name, row in estimates.inputs.rows.items() if name.startswith("published.")},
        "throughput": throughput,
        "cost": {machine: {"purchase_usd": value(estimates.cost(machine, False)), "lifetime_usd": value(estimates.cost(machine, True))}
                 for machine in MACHINES},
        "watts": {machine: {load.name: value(estimates.watts(machine, load)) for load in estimates.loads} for machine in MACHINES},
        "cheaper_percent": {name: value(estimate) for name, estimate in estimates.cheaper().items()},
        "missing": MISSING[0],
        "needed": estimates.needed(),
        "break_even": [{"load": load.name, "than": than, "latency_ns": latency, "usd_gb": value(estimates.break_even(load, latency, than))}
                       for than in ("small", "large") for load in estimates.loads for latency in estimates.values["axis.latency"]],
    }


def panels_of(estimates):
    """Returns the panels of figure.svg, each with its points."""
    values, panels = estimates.values, []
    for load in estimates.loads:
        points = [charts.point(machine, shards, *(each / 1e3 for each in estimates.rate(machine, load, shards)))
                  for machine in MACHINES for shards in estimates.shards if shards <= estimates.full[machine]]
        panels.append((charts.panel(f"{load.name}: throughput", "shards a machine", estimates.shards, "thousand operations a second", scale="log",
                                    y_log=True), points))
    both = [shards for shards in estimates.shards if shards <= min(estimates.full["small"], estimates.full["hybrid"])]
    gains = [charts.point(load.name, shards, *estimates.gain(load, shards)) for load in estimates.loads for shards in both]
    most = [(shards, values["published.gain_most"]) for shards in both]
    panels.append((charts.panel("Hybrid over small: throughput", "shards a machine", both, "percent more", scale="log",
                                beside=[("published, at most", most)]), gains))
    found = estimates.cheaper()
    ends = values["published.cheaper_least"], values["published.cheaper_most"]
    panels.append((charts.panel("Hybrid beside large: cost", "what is compared", found, "percent cheaper", between=[("published", [(SERVER, *ends)])],
                                note=f"{MISSING[0]}; {MISSING[1]}"), [charts.point("modelled", name, *estimate) for name, estimate in found.items()]))
    costs = {"purchase": False, "purchase and energy of its life": True}
    points = [charts.point(name, machine, *estimates.cost(machine, with_energy)) for name, with_energy in costs.items() for machine in MACHINES]
    panels.append((charts.panel("Cost of a machine", "machine", MACHINES, "US dollars"), points))
    names = [load.name for load in estimates.loads]
    panels.append((charts.panel("Power, all flash in use", "load", names, "watts"),
                   [charts.point(machine, load.name, *estimates.watts(machine, load)) for machine in MACHINES for load in estimates.loads]))
    panels.append((charts.panel("Operations for a watt, all flash in use", "load", names, "thousand operations a second and watt"),
                   [charts.point(machine, load.name, *estimates.kops_w(machine, load)) for machine in MACHINES for load in estimates.loads]))
    return panels


def price_panels_of(estimates):
    """Returns the panels of prices.svg, each with its points."""
    values, panels = estimates.values, []
    media = [(name, [(values[f"{row}.latency"], values[f"{row}.price"])]) for name, row in (("Optane", "far"), ("CXL", "cxl"))]
    for than in ("small", "large"):
        points, never = [], {}
        for load in estimates.loads:
            for latency in values["axis.latency"]:
                estimate = estimates.break_even(load, latency, than)
                if estimate is None:
                    never.setdefault(load.name, f"{load.name} from {latency:g} ns")
                else:
                    points.append(charts.point(load.name, latency, *estimate))
        notes = ["below a curve the hybrid gives an operation a second for fewer dollars; curves have Optane's bandwidth"]
        if never:
            notes.append(f"left out: {', '.join(never.values())}: far memory would not pay if it were free")
        panels.append((charts.panel(f"Far memory pays beside {than}", "latency of far memory, ns", values["axis.latency"],
                                    "its price, US dollars a GB", scale="log", beside=media, note="; ".join(notes)), points))
    return panels


def notes_of(estimates):
    """Returns the lines below the figures."""
    rows = estimates.inputs.rows
    weak = {tag: [name for name, row in rows.items() if row.tag == tag] for tag in quantities.WEAK}
    said = "; ".join(f"{quantities.TAGS[tag]} [{tag}]: {', '.join(names)}" for tag, names in weak.items() if names)
    return ["Modelled, not measured. Each input has its source in experiments/models/servers.toml and prices.toml. Thin lines hold nine tenths "
            f"of the results of {len(estimates.draws)} draws of all inputs from their spreads.", f"The weakest inputs: {said}."]


def main(arguments):
    """Runs the model. Returns the exit status. Raises InputError."""
    options, _ = charts.parse(arguments, {"prices": "FILE", "counts": "FILE", "out": "FOLDER"})
    estimates = Estimates(inputs_of(options.get("prices"), options.get("counts")))
    folder = charts.made_folder(options.get("out"), FOLDER)
    print(report(estimates), end="")
    (folder / "servers.json").write_text(json.dumps(document(estimates), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {folder}/servers.json")
    charts.draw(folder, "figure", "Servers with little DRAM, with far memory, and with much DRAM", panels_of(estimates), notes_of(estimates))
    charts.draw(folder, "prices", "Where far memory breaks even, by its price and latency", price_panels_of(estimates), notes_of(estimates))
    return 0
