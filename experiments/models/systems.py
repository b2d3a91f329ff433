"""The systems that KV-Direct was compared with, one and ten of its cards, and results of this machine, in one table.

    ./bench model systems [RESULTS...] [--out=FOLDER]

KV-Direct (Li et al., SOSP 2017) is a key-value store in a programmable network card (NIC). Its table compares it with nine other systems. This
quotes the table: throughput, operations for a watt, latency and kind. It adds the watts that the table implies (throughput over operations for
a watt), and says where the table's rows do not fit each other. Nothing published is reproduced here. The inputs are
experiments/models/systems.toml; the column `tag` says how well a row is known: S stated by the authors, C computed from numbers of the
row, M measured in this project.

RESULTS are results of this machine: files of --json or folders of --out, and results.jsonl of experiments/multiget. A run of lookups is a GET;
one of updates, upserts or inserts is a PUT; other runs have no row, and a line on the error stream says so. Runs of one point are one row: its
median, with the least and the most. Latency is the mean of timed calls (--latency).

Watts of a run are those of whole processor packages by RAPL, which the harness counts with --pmu=energy where the kernel lets it; without,
they are null with the reason. THEY ARE NOT THE TABLE'S: RAPL leaves out memory, network card, disks, fans and losses of the power supply, and
has whatever else runs on the package. How the table's watts were taken was not seen.

    --out       a folder, by default experiments/results/model-systems: systems.json (every row; what is missing is null with a reason) and
                figure.svg, which has the published rows as hollow marks and ours as filled ones

docs/model_systems.md says how far to trust it. Exit status: 0; 2 for wrong input.
"""
import json
import pathlib
import statistics
import sys
from dataclasses import dataclass, field

import export
from input_error import InputError
from models import charts, quantities
from models.card import parameters
from models.card import report as card_report

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = HERE.parent / "results/model-systems"
WAYS = ("get", "put")
NUMBERS = ("mops", "kops_w", "nic_kops_w", "us", "watts", "nic_watts")   # of each way
OF_THE_TABLE = "the published table has none"
KINDS = {"read": "get", "multi_get": "get", "update": "put", "upsert": "put", "insert": "put"}   # kinds of operations: what they are in the table
BY_VERB = {"get": "get", "set": "put"}   # of multiget
APART = 1.05   # ratio of the watts that a row implies by GET and by PUT, above which they do not fit each other
RAPL = ("watts of this machine's rows are RAPL's: of whole processor packages, without memory, network card, disks, fans and losses of the power "
        "supply, and with whatever else runs there; the published rows' watts follow from their table, and how those were taken was not seen. The "
        "two are not the same thing")
W_PER_KW, US_PER_NS = 1e3, 1e-3


@dataclass
class Row:
    name: str
    kind: str
    source: str
    tag: str
    values: dict = field(default_factory=dict)    # (way, number) -> list of values of runs
    reasons: dict = field(default_factory=dict)   # (way, number) -> why there is none

    def median(self, way, number):
        values = self.values.get((way, number))
        return statistics.median(values) if values else None

    def span(self, way, number):
        values = self.values[way, number]
        return min(values), max(values)

    def document(self):
        """Returns the row for the document: a null has a field of the same name with _reason."""
        out = {"name": self.name, "comment": self.kind, "source": self.source, "tag": self.tag}
        for way in WAYS:
            for number in NUMBERS:
                name = f"{way}_{number}"
                out[name] = self.median(way, number)
                if out[name] is None:
                    out[f"{name}_reason"] = self.reasons.get((way, number), OF_THE_TABLE)
                elif len(self.values[way, number]) > 1:
                    out[f"{name}_least"], out[f"{name}_most"] = self.span(way, number)
        return out


def number_in(table, key, where, optional=False):
    value = table.get(key)
    if (value is None and optional) or (quantities.is_number(value) and value > 0):
        return value
    raise InputError(f"{where}: '{key}' is not a number above 0")


def uniform():
    """Returns the published throughput of one card under uniform keys, of pairs of 5 bytes, in Mops: way -> number."""
    rows, *_ = card_report.read_published()
    return {way: row.value for way in WAYS for row in rows if row.row == f"uniform/{way}-5"}


def published(path=HERE / "systems.toml"):
    """Returns the rows of the published table. Raises InputError."""
    table = quantities.read_toml(path)
    rows = []
    for system in table["system"]:
        row = Row(system["name"], system["kind"], f"{table['source']}; {system['paper']}", table["tag"])
        for way in WAYS:
            where, of = f"'{path}': {row.name}: {way}", system[way]
            found = {number: number_in(of, number, where, number == "nic_kops_w") for number in ("mops", "kops_w", "us", "nic_kops_w")}
            found["watts"] = implied_watts(found["mops"], found["kops_w"])
            found["nic_watts"] = implied_watts(found["mops"], found["nic_kops_w"])
            row.values |= {(way, number): [value] for number, value in found.items() if value is not None}
        rows.append(row)
    return rows


def implied_watts(mops, kops_w):
    """Returns throughput over operations for a watt; None without the latter."""
    return None if kops_w is None else mops * W_PER_KW / kops_w


def mismatches(rows):
    """Returns lines that say where the published rows do not fit each other."""
    by_name = {row.name: row for row in rows}
    one, ten = by_name["KV-Direct"], by_name["KV-Direct, 10 NICs"]
    times = [ten.median(way, "mops") / one.median(way, "mops") for way in WAYS]
    cards, lines = int(parameters.value("nics")), []
    own = [cards * mops for mops in uniform().values()]
    lines.append(f"{cards} NICs give {times[0]:.1f} (GET) and {times[1]:.1f} (PUT) times the row of one NIC, and {ten.median('get', 'mops'):g} and "
                 f"{ten.median('put', 'mops'):g} Mops; {cards} times one NIC under uniform keys would be {own[0]:g} and {own[1]:g} [D]. "
                 "So the row of ten looks uniform, and that of one is under Zipf .99: they are not to be divided")
    for row in rows:
        for number, said in (("watts", ""), ("nic_watts", " of the NIC alone")):
            watts = [row.median(way, number) for way in WAYS]
            if None not in watts and max(watts) > APART * min(watts):
                lines.append(f"{row.name}: the watts{said} that GET and PUT imply differ: {watts[0]:.0f} and {watts[1]:.0f}")
    if all(one.median(way, "us") == ten.median(way, "us") for way in WAYS):
        lines.append("KV-Direct, 10 NICs has the latencies of one NIC; whether they were measured was not seen")
    return lines


def way_of(document):
    """Returns which way a run is, get or put, and how many keys it asked for; or None and the reason."""
    kinds = {kind: of for kind, of in document["throughput"]["per_operation"].items() if of["count"]}
    ways = {KINDS.get(kind) for kind in kinds}
    if len(ways) == 1 and None not in ways:
        return ways.pop(), sum(of.get("keys", of["count"]) for of in kinds.values())
    return None, f"its operations are {', '.join(sorted(kinds)) or 'none'}; a GET is read or multi_get, a PUT update, upsert or insert"


def energy_of(document):
    """Returns the joules of a run's packages and the seconds in which they were counted, or None and the reason."""
    pmu, throughput = document.get("pmu"), document["throughput"]
    if pmu is None:
        return None, document.get("pmu_reason", "no events were counted")
    joules = pmu["derived"].get("package_joules")
    if joules:
        return (joules, throughput["seconds"] / (throughput["timed_share"] or 1)), ""
    for event in pmu["events"]:
        if event["family"] == "energy" and event["count"] is None:
            return None, f"RAPL: {event['count_reason']}"
    return None, "the run did not count energy: --pmu=energy"


def add(row, way, found):
    """Adds numbers of a run to its row: number -> (value or None, reason)."""
    for number, (value, reason) in found.items():
        if value is None:
            row.reasons[way, number] = reason
        else:
            row.values.setdefault((way, number), []).append(value)


def add_document(rows, where, document):
    """Adds a document of a run to the rows, if the table has a place for it; says why not otherwise."""
    config = document["config"]
    if document["throughput"] is None or document["status"] in ("failed", "invalid", "skipped"):
        way, keys = None, f"its status is {document['status']}"
    else:
        way, keys = way_of(document)
    if way is None:
        print(f"model: {where} has no row: {keys}", file=sys.stderr)
        return
    said = [config["sync"], f"{config['threads']} thread{'s' * (config['threads'] > 1)}", f"{config['records'] / 1e6:g} M"]
    said += [config["dist"]] if config.get("dist") else []
    said += [f"batches of {config['batch']}"] if config["batch"] > 1 else []
    modelled = document["status"] == "modelled"
    name = f"{config['index']}, {', '.join(said)}{', modelled' * modelled}"
    row = rows.setdefault(name, Row(name, "modelled machine" if modelled else "this machine, no network", str(where), "M"))
    if document["status"] in ("noisy", "degraded") and document["status"] not in row.kind:
        row.kind += f", {document['status']}"
    energy, no_energy = energy_of(document)
    timed = (document.get("latency") or {}).get("all")
    add(row, way, {
        "mops": (keys / document["throughput"]["seconds"] / 1e6, ""),
        "kops_w": (keys / energy[0] / W_PER_KW if energy else None, no_energy),
        "watts": (energy[0] / energy[1] if energy else None, no_energy),
        "us": (timed["mean_ns"] * US_PER_NS if timed else None, document.get("latency_reason", "calls were not timed: --latency")),
        "nic_kops_w": (None, "there is no NIC in the run"),
        "nic_watts": (None, "there is no NIC in the run"),
    })


def add_multiget(rows, path, run):
    """Adds a line of multiget's results to the rows."""
    point, outcome = run["point"], run["outcome"]
    way = BY_VERB.get(point.get("verb", "get"))
    if way is None:
        return
    name = f"{point['server']}, {point['keys']} key{'s' * (point['keys'] > 1)} a request, {point['transport']}"
    row = rows.setdefault(name, Row(name, "this machine, server and clients on it", f"'{path}'", "M"))
    power = "multiget counts no energy"
    closed = not point["share"]
    if closed:
        add(row, way, {"mops": (outcome["keys_s"] / 1e6, ""), "us": (None, "multiget has response times only under a given load")})
    else:
        add(row, way, {"us": (outcome["least_mean_most_us"][1], "")})
    add(row, way, {number: (None, power) for number in ("kops_w", "watts", "nic_kops_w", "nic_watts")})


def is_multiget(value):
    return isinstance(value, dict) and isinstance(value.get("point"), dict) and {"server", "keys", "transport", "share"} <= set(value["point"]) \
        and isinstance(value.get("outcome"), dict) and "keys_s" in value["outcome"]


def multiget_lines(path):
    """Returns the runs of a results.jsonl of multiget; None if the file is something else."""
    try:
        runs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError):
        return None
    return runs if runs and all(map(is_multiget, runs)) else None


def measured(paths):
    """Returns the rows of this machine's results. Raises InputError."""
    rows = {}
    for path in map(pathlib.Path, paths):
        file = path / "results.jsonl" if (path / "results.jsonl").is_file() else path
        runs = multiget_lines(file) if file.is_file() else None
        if runs is not None:
            for run in runs:
                add_multiget(rows, file, run)
            continue
        for where, document in export.read(path):
            try:
                add_document(rows, where, document)
            except (KeyError, TypeError, ZeroDivisionError):
                raise InputError(f"{where}: a result that is not as harness/result/result.schema.json says") from None
    # A row that has response times, and no throughput, is of a load that multiget gave.
    return [row for row in rows.values() if any(("mops" in key) for key in row.values)]


COLUMNS = (("Mops", "mops"), ("Kops/W", "kops_w"), ("NIC alone", "nic_kops_w"), ("us", "us"), ("W", "watts"), ("NIC W", "nic_watts"))
OF_OURS = ", RAPL's of ours"
LEGEND = ("Mops: million operations a second; Kops/W: thousand operations a second and watt; NIC alone: the same by the NIC's power alone; us: "
          f"latency; W: implied watts of published rows [C]{OF_OURS}")


def pair(row, number):
    """Returns the numbers of GET and PUT as text, `-` for none, or one number if they are the same when rounded."""
    whole = number.endswith("watts")   # the table's are known to two or three digits
    text = lambda value: "-" if value is None else f"{value:,.0f}" if whole or value >= W_PER_KW else f"{value:,.4g}"
    texts = [text(row.median(way, number)) for way in WAYS]
    return texts[0] if texts[0] == texts[1] else "/".join(texts)


def table_lines(rows):
    wide = max(len(row.name) for row in rows) + 1
    lines = [f"{'GET/PUT':{wide}}" + "".join(f"{title:>13}" for title, _ in COLUMNS) + "  tag   comment"]
    for row in rows:
        tag = f"{row.tag}, C" if row.tag == "S" else row.tag
        lines.append(f"{row.name:{wide}}" + "".join(f"{pair(row, number):>13}" for _, number in COLUMNS) + f"  {tag:5} {row.kind}")
    return lines


def quoted():
    """Returns the lines of the published table with a title and a legend, for the model of the card."""
    said = [LEGEND.removesuffix(OF_OURS), *(f"{tag}: {quantities.TAGS[tag]}" for tag in "SC")]
    return ["Compared systems, all quoted; watts follow from throughput and operations for a watt",
            *(f"  {line}" for line in table_lines(published())), *card_report.wrapped("; ".join(said), "    ")]


def missing_lines(ours):
    """Returns lines with the columns that this machine's rows lack, by the reason."""
    missing = {}
    for title, number in COLUMNS:
        for reason in why_without(ours, number):
            missing.setdefault(reason, []).append(title)
    lines = [f"  {', '.join(titles)}: {reason}" for reason, titles in missing.items()]
    return ["not in this machine's rows", *lines] if lines else []


def why_without(ours, number):
    """Returns the reasons why rows lack a number."""
    return sorted({row.reasons[way, number] for row in ours for way in WAYS if row.median(way, number) is None and (way, number) in row.reasons})


def report(rows, ours):
    """Returns the text of all rows."""
    tags = "; ".join(f"{tag} {quantities.TAGS[tag]}" for tag in "SCDM")
    parts = [table_lines([*rows, *ours]), [LEGEND, f"tags: {tags}", RAPL],
             ["published rows that do not fit each other", *(f"  {line}" for line in mismatches(rows))], missing_lines(ours),
             ["sources", *(f"  {row.name}: {row.source}" for row in rows)]]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


PANELS = (
    ("Throughput", "million operations a second", "mops", True),
    ("Operations for a watt", "thousand operations a second and watt", "kops_w", True),
    ("The same, the NIC's power alone", "thousand operations a second and watt", "nic_kops_w", True),
    ("Latency", "microseconds", "us", True),
    ("Watts: implied (published), RAPL's packages (measured)", "watts", "watts", False),
)   # title, title of y, number, whether y is logarithmic


def panels_of(rows, ours):
    """Returns the panels of the figure, each with its points."""
    panels = []
    for title, y_title, number, y_log in PANELS:
        having = lambda of, way, number=number: [row for row in of if row.median(way, number) is not None]
        beside = [(f"{way.upper()}, published", [(row.name, row.median(way, number)) for row in found]) for way in WAYS if (found := having(rows, way))]
        points = [charts.point(f"{way.upper()}, this machine", row.name, row.median(way, number), *row.span(way, number))
                  for row in ours for way in WAYS if having([row], way)]
        x = [row.name for row in (*rows, *ours) if any(having([row], way) for way in WAYS)]
        without = why_without(ours, number)
        note = f"this machine: {'; '.join(without)}" if without and not points else ""
        panels.append((charts.panel(title, "system", x, y_title, y_log=y_log, beside=beside, note=note), points))
    return panels


def main(arguments):
    """Runs the model. Returns the exit status. Raises InputError."""
    options, words = charts.parse(arguments, {"out": "FOLDER"}, positional=True)
    rows = published()
    ours = measured(words)
    folder = charts.made_folder(options.get("out"), FOLDER)
    print(report(rows, ours), end="")
    document = {"rows": [row.document() for row in (*rows, *ours)], "mismatches": mismatches(rows), "rapl": RAPL}
    (folder / "systems.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {folder}/systems.json")
    quoted = rows[0].source.partition(";")[0]
    notes = [f"Hollow marks are quoted from: {quoted}. Nothing published is reproduced here.", *mismatches(rows), f"{RAPL}."]
    notes += [f"{row.name}: {row.kind}" for row in ours if row.kind.endswith(("noisy", "degraded"))]
    charts.draw(folder, "figure", "KV-Direct and the systems it was compared with", panels_of(rows, ours), notes)
    return 0
