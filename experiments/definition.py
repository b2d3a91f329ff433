"""An experiment is a TOML file beside this one, checked before anything runs.

    title, source        title of the figure, and the published figure that it redraws
    command              the command of the harness that measures a point, if that is not a run: limits
    run                  options of every run
    [quick], [full]      run: options of that mode; replicates: how many runs each point has
    [modelled]           the same for runs on a modelled machine (--machine); without it, no options and 5 replicates. There --time
                         and --warmup of this file do not count: they are lengths for a real machine
    [[panel]]            one chart
      title
      x                  {option, title, quick, full, modelled}: an option of the command line and its values in each mode;
                         without full they are those of quick, and without modelled those of full. "processors" stands for
                         1, 2, 4, ... up to the processors of the machine, "oversubscribed" for 1, 2, 4 and 8 times these. "machine.KEY" is a value of the modelled machine:
                         such a panel is in the mode modelled only. scale = "log" spaces doubling values evenly; "steps" connects words that are
                         increasing amounts of one thing. {each = "batches.lines", ...} takes the points from one document:
                         from the entry of its list `batches` whose `lines` is x
      y                  a word of METRICS; or {title, scale} if each curve names its number: "log" spaces doubling values evenly
      run                options of the panel's runs; quick_run, full_run, modelled_run: further ones in that mode only
      order              names of curves from the best to the worst, if only their order was published
      note               text beside the title of the panel; quick_note, full_note, modelled_note: in that mode only
      [[panel.curve]]    name, run; only: values of x at which it is measured, if not all; or except: those at which it is not, whatever
                         the mode; at: its number in the document, or in the entry of the list, such as "best_batch.ns"
      [[panel.published]] name, points: [[x, y], ...]; or between: [[x, low, high], ...], if only the place of a label was published
      [[panel.rerun]]    the same, for unpublished numbers from a run of the original's code

In options of a mode, a panel or a curve, "processors" is the number of processors of the machine: "--threads=processors"; and
"processors-1" leaves one to something else, such as a server, but is at least 1. Where a mode says it, the user may say another number.
A later option replaces an earlier one of the same name, in this order: experiment, mode, the user's own, panel, curve, x. The user's
options must not include those that distinguish the points of the figure.
"""
import os
import pathlib
import re
import tomllib
from dataclasses import dataclass, field

from gaps import NoNumber
from input_error import InputError

COMMANDS = ("limits",)
# Options that have no meaning for one of many runs, each with what it would do. Several runs would write into one file.
OF_ONE_RUN = {
    "--history": "a file has the calls of one run; give it to harness",
    "--profile": "a picture shows one run; give it to harness",
    "--topology": "it only plans; give it to harness",
}
FOLDER = pathlib.Path(__file__).resolve().parent
MODES = ("quick", "full", "modelled")
MEASURED_LENGTHS = ("--time", "--warmup")   # options of a file that do not count in modelled runs
SEEDS = 5   # replicates of a modelled run, if the file names none


def at(*keys):
    """A function that looks up the place in a document. It raises NoNumber with the document's own reason where that is null."""

    def look(document):
        for key in keys:
            value = document[key]
            if value is None:
                raise NoNumber(document[f"{key}_reason"])
            document = value
        return document

    return look


def per_operation(cause):
    return lambda document: at("sync", "aborts")(document)[cause] / document["throughput"]["operations"]


def aborts(document):
    return sum(at("sync", "aborts")(document).values()) / document["throughput"]["operations"]


def entries(document):
    """Returns the page faults and context switches per operation."""
    events = {event["name"]: event for event in at("pmu")(document)["events"] if event["family"] == "software"}
    return sum(at("count")(events[name])["per_operation"] for name in ("page-faults", "context-switches"))


def percentile(percent, times="response"):
    """Returns a function that reads a percentile of the response times, or of the times of all calls, in nanoseconds."""

    def look(document):
        for entry in at("latency", times, "percentiles")(document):
            if entry["percent"] == percent:
                return entry["ns"]
        raise NoNumber(f"too few calls were timed for {percent} %")

    return look


# Each metric has the title of its axis, and a function that reads it from a result document or raises NoNumber. `speedup` is drawn
# relative to the first x of the same curve and replicate. `gain` is drawn relative to the first curve at the same x and replicate;
# that curve itself is not drawn.
METRICS = {
    "throughput": ("million operations a second", lambda d: d["throughput"]["per_second"] / 1e6),
    "speedup": ("times the first", lambda d: d["throughput"]["per_second"]),
    "gain": ("percent more", lambda d: d["throughput"]["per_second"]),
    "bytes": ("bytes a key", at("memory", "bytes_per_key")),
    "pause": ("the longest call, in milliseconds", lambda d: at("latency", "all", "max_ns")(d) / 1e6),
    "tail": ("99.9 % of response times are below, in microseconds", lambda d: percentile(99.9)(d) / 1e3),
    "call tail": ("99.9 % of calls take less, in microseconds", lambda d: percentile(99.9, "all")(d) / 1e3),
    "wait": ("the longest response time, in milliseconds", lambda d: at("latency", "response", "max_ns")(d) / 1e6),
    "limit": ("percent of the rate of independent random lines", lambda d: 100 / at("limits", "independent_ratio")(d)),
    "load": ("million operations a second that keep the bound", lambda d: d["throughput"]["per_second"] / 1e6),
    "nodes": ("nodes on the way of a lookup", at("nodes_per_fetch")),
    "conflicts": ("conflict aborts an operation", per_operation("conflict")),
    "capacity": ("capacity aborts an operation", per_operation("capacity")),
    "aborts": ("aborts an operation", aborts),
    "near": ("percent of the values read that were near", lambda d: 100 * at("memory", "far", "near_share")(d)),
    "entries": ("faults and switches an operation", entries),
    "zeros": ("aborts with status zero an operation", per_operation("zero")),
}


# Tables of a panel with numbers of other sources, and the words with which the figure names the source.
BESIDE = {"published": "published", "rerun": "the original's code, not published"}


@dataclass
class Curve:
    """A curve, with the options of its runs and the values of x at which it is measured."""

    name: str
    run: list
    only: list  # empty: all
    at: str = ""  # its number in the document; empty: that of the panel's metric


@dataclass
class Panel:
    title: str
    option: str
    x_title: str
    x: list
    scale: str  # linear, log or steps
    y: str  # a word of METRICS; empty if each curve names its number
    y_title: str
    curves: list
    y_log: bool = False
    each: str = ""  # the list of the document whose entries are the points; empty: each point has runs of its own
    note: str = ""
    order: list = field(default_factory=list)
    beside: list = field(default_factory=list)  # (name with its source, [(x, y), ...])
    between: list = field(default_factory=list)  # (name with its source, [(x, low, high), ...])

    @property
    def numeric(self):
        return all(isinstance(x, int | float) for x in self.x)

    @property
    def log(self):
        return self.scale == "log"

    @property
    def joined(self):
        """True if x is a quantity, so that its points are joined; false if its values are things."""
        return self.numeric or self.scale == "steps"

    def number(self, curve, x, document):
        """Returns the y of a curve at x. Raises NoNumber."""
        path = next(c.at for c in self.curves if c.name == curve)
        if not path:
            return METRICS[self.y][1](document)
        try:
            if self.each:
                entries = at(*self.each.split("."))(document)
                document = next(entry for entry in entries if entry[self.option] == x)
            return at(*path.split("."))(document)
        except (KeyError, StopIteration):   # an older harness made the document
            where = f" of {self.option} {x} in {self.each}" if self.each else ""
            raise NoNumber(f"the document has no {path}{where}") from None


@dataclass(frozen=True)
class Point:
    """A point of the figure, and the options of its runs."""

    panel: int
    curve: str
    x: object
    arguments: tuple


@dataclass
class Experiment:
    name: str
    mode: str
    title: str
    source: str
    replicates: int
    panels: list
    points: list
    command: str = ""  # empty: a run
    machine: str = ""  # the modelled machine, as --machine takes it; empty: runs are measured
    beside: list = field(default_factory=list)  # lines that say where the numbers of `Panel.beside` that are not of the file come from

    def distinct(self):
        """Returns one point for each list of options, since several points may be numbers of one run."""
        return list({point.arguments: point for point in self.points}.values())

    def notes(self):
        """Returns lines with the options that all runs share, and with the meaning of a point and its whisker."""
        common = [a for a in self.points[0].arguments if all(a in point.arguments for point in self.points)]
        return [
            f"{self.mode}: {' '.join(common)}",
            f"medians of {self.replicates} runs, each a process of its own{'' if self.command else ' with a seed of its own'}; thin "
            "lines go from the least to the most",
            *self.beside,
        ]


def names():
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def name_of(argument):
    """The name under which an option replaces another: `--time` and `--ops` both end a run."""
    name = argument.split("=")[0]
    return "--time" if name == "--ops" else name


def seed_of(arguments, replicate):
    """Returns the seed of a block. All points of a block share it, and every block has another one. So the replicates of a point also
    differ in which keys are popular and where they lie. The first block has the user's seed, or 1."""
    given = [argument.removeprefix("--seed=") for argument in arguments if name_of(argument) == "--seed"]
    return int(given[-1]) + replicate if given else 1 + replicate


def merged(*lists):
    """Merges lists of options; the last option of each name counts."""
    out = {}
    for arguments in lists:
        for argument in arguments:
            name = name_of(argument)
            out.pop(name, None)
            out[name] = argument
    return tuple(out.values())


def of_model(option):
    """True if an option is a value of the modelled machine."""
    return option.startswith("machine.")


def with_changes(machine, changes):
    """Names a modelled machine with changed values, key -> text: haswell-ep:dram.local=80. They replace earlier changes of the same keys."""
    name, _, given = machine.partition(":")
    words = [word for word in given.split(",") if word and word.partition("=")[0] not in changes]
    words += [f"{key}={text}" for key, text in changes.items()]
    return f"{name}:{','.join(words)}" if words else name


def placed(option, x, machine):
    """Returns the option of a run at x."""
    return f"--machine={with_changes(machine, {option.partition('.')[2]: x})}" if of_model(option) else f"--{option}={x}"


def processors_here():
    return len(os.sched_getaffinity(0))


def with_processors(option, processors):
    """Puts the number of processors into an option that names it."""
    return re.sub(r"=processors(-1)?$", lambda found: f"={max(1, processors - bool(found[1]))}", option)


def up_to(processors):
    """Returns 1, 2, 4, ... and the number itself."""
    out = [1 << i for i in range(processors.bit_length()) if 1 << i < processors]
    return [*out, processors]


def shared_words(values):
    """The number of characters that all values share at their beginning, in whole words of a spec."""
    prefix = os.path.commonprefix(values)
    return max(prefix.rfind(end) for end in ":,=") + 1 if len(values) > 1 else 0


def number_format(values):
    """Vega's format for an axis with these numbers."""
    return "d" if all(isinstance(value, int) for value in values) else "~g"


class Table:
    """A table of the file. The caller takes the keys that it knows; done() refuses any other. `listed` is the script that lists them."""

    def __init__(self, where, table, listed="experiments/definition.py"):
        self.where, self.rest, self.listed = where, dict(table), listed

    def take(self, key, kind, otherwise=None):
        if key not in self.rest:
            if otherwise is None:
                raise InputError(f"{self.where}: '{key}' is missing")
            return otherwise
        value = self.rest.pop(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"{self.where}: '{key}' is not a {kind.__name__}")
        return value

    def words(self, key, known, otherwise=None):
        """Takes one of the known words."""
        word = self.take(key, str, otherwise)
        if word != otherwise and word not in known:
            raise InputError(f"{self.where}: there is no {key} '{word}'; there {'is' if len(known) == 1 else 'are'} {', '.join(known)}")
        return word

    def options(self, key="run"):
        given = self.take(key, list, [])
        for option in given:
            if not isinstance(option, str) or not option.startswith("--"):
                raise InputError(f"{self.where}: {key}: {option!r} is not an option of the harness")
        return given

    def tables(self, key, otherwise=None):
        return [
            Table(f"{self.where}: {key} {i + 1}", table, self.listed) for i, table in enumerate(self.take(key, list, otherwise))
        ]

    def done(self):
        if self.rest:
            raise InputError(f"{self.where}: there is no key '{next(iter(self.rest))}' here; {self.listed} lists the keys")


def counted(options, mode):
    """Returns the options that count in a mode, of those that the file gives for all modes."""
    return [option for option in options if mode != "modelled" or option.split("=")[0] not in MEASURED_LENGTHS]


def values_of(curve, x, modes):
    """Takes `only` and `except` of a curve, and returns the values of x at which it is measured; none if at all. `modes` has the values
    of x in each mode."""
    only, left_out = curve.take("only", list, []), curve.take("except", list, [])
    if only and left_out:
        raise InputError(f"{curve.where}: 'only' and 'except': give one of them")
    for value in left_out:
        if not any(value in given for given in modes.values()):
            raise InputError(f"{curve.where}: except: {value!r} is no value of x")
    if left_out and not (only := [value for value in x if value not in left_out]):
        raise InputError(f"{curve.where}: except: no value of x is left")
    return only


def read_panel(table, mode, processors=None):
    y_scale = "linear"
    if isinstance(table.rest.get("y"), dict):
        y_axis = Table(f"{table.where}: y", table.take("y", dict))
        y, y_title, y_scale = "", y_axis.take("title", str), y_axis.words("scale", ("linear", "log"), "linear")
        y_axis.done()
    else:
        y = table.words("y", METRICS)
        y_title = METRICS[y][0]
    axis = Table(f"{table.where}: x", table.take("x", dict))
    if each := axis.take("each", str, ""):
        each, _, option = each.rpartition(".")
        if not each:
            raise InputError(f"{axis.where}: 'each' names a list and a property of its entries: \"batches.lines\"")
        if y:
            raise InputError(f"{axis.where}: with 'each', y is a table, and each curve names its number by 'at'")
    else:
        option = axis.take("option", str)
    x_title = axis.take("title", str)
    values = {"quick": axis.rest.pop("quick", None)}
    values["full"] = axis.rest.pop("full", values["quick"])
    values["modelled"] = axis.rest.pop("modelled", values["full"])
    scale = axis.words("scale", ("linear", "log", "steps"), "linear")
    axis.done()
    for m, given in values.items():
        if given not in ("processors", "oversubscribed") and (not isinstance(given, list) or not given):
            raise InputError(f"{axis.where}: '{m}' is neither a list nor \"processors\" nor \"oversubscribed\"")
    processors = processors or processors_here()
    x = {"processors": up_to(processors), "oversubscribed": [times * processors for times in (1, 2, 4, 8)]}.get(
        values[mode] if isinstance(values[mode], str) else "", values[mode])
    panel = Panel(
        title=table.take("title", str),
        option=option,
        x_title=x_title,
        x=x,
        scale=scale,
        y=y,
        y_title=y_title,
        curves=[],
        y_log=y_scale == "log",
        each=each,
        order=table.take("order", list, []),
    )
    notes = {key: table.take(key, str, "") for key in ("note", *(f"{m}_note" for m in MODES))}
    panel.note = "; ".join(note for note in (notes["note"], notes[f"{mode}_note"]) if note)
    run, of_mode = table.options(), {m: table.options(f"{m}_run") for m in MODES}
    for curve in table.tables("curve"):
        given = merged(counted(run, mode), of_mode[mode], counted(curve.options(), mode))
        options = [with_processors(option, processors) for option in given]
        path = "" if y else curve.take("at", str)
        name = curve.take("name", str)
        panel.curves.append(Curve(f"{name} (modelled)" if mode == "modelled" else name, options, values_of(curve, x, values), path))
        curve.done()
    for key, origin in BESIDE.items():
        for beside in table.tables(key, []):
            name = f"{beside.take('name', str)} ({origin})"
            if "between" in beside.rest:
                panel.between.append((name, beside.take("between", list)))
            else:
                panel.beside.append((name, beside.take("points", list)))
            beside.done()
    table.done()
    curve_names = [curve.name for curve in panel.curves]
    if len(set(curve_names)) < len(curve_names):
        raise InputError(f"{table.where}: two curves have one name")
    return panel


def load(name, mode, own=(), processors=None, machine=""):
    """Returns the experiment with its points. `own` has the user's options. `processors` is the number of processors of the machine
    that ran it, if not this one. `machine` names the modelled machine in the mode `modelled`. Raises InputError."""
    path = FOLDER / f"{name}.toml"
    if name not in names():
        raise InputError(f"there is no experiment '{name}'; there are {', '.join(names())}")
    try:
        table = Table(f"experiments/{path.name}", tomllib.loads(path.read_text()))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"experiments/{path.name}: {error}") from None
    modes = {}
    for m in MODES:
        is_modelled = m == "modelled"
        of_mode = Table(f"{table.where}: {m}", table.take(m, dict, {} if is_modelled else None))
        modes[m] = (of_mode.options(), of_mode.take("replicates", int, SEEDS if is_modelled else None))
        of_mode.done()
    run, (mode_run, replicates) = table.options(), modes[mode]
    mode_run = [with_processors(option, processors or processors_here()) for option in mode_run]
    experiment = Experiment(
        name=name,
        mode=mode,
        title=table.take("title", str),
        source=table.take("source", str),
        replicates=replicates,
        panels=[panel for panel in (read_panel(of, mode, processors) for of in table.tables("panel"))
                if mode == "modelled" or not of_model(panel.option)],
        points=[],
        command=table.words("command", COMMANDS, ""),
        machine=machine,
    )
    table.done()
    if machine and experiment.command:
        raise InputError(f"--machine: {name} measures this machine by `harness {experiment.command}`; there is nothing to model")
    for option in own:
        if name_of(option) == "--machine":
            raise InputError(f"{option}: stands before '--', since it changes the points of the figure")
        if name_of(option) in OF_ONE_RUN:
            raise InputError(f"{option}: {OF_ONE_RUN[name_of(option)]}")
        if name_of(option) == "--seed" and not option.removeprefix("--seed=").isdecimal():
            raise InputError(f"{option}: the seed of the first block is a whole number; those of the next follow")
        for panel in experiment.panels:
            if name_of(option) in [f"--{panel.option}", *(name_of(o) for curve in panel.curves for o in curve.run)]:
                raise InputError(f"{option}: {name_of(option)} tells the points of '{panel.title}' apart")
    command = [experiment.command] if experiment.command else []
    for i, panel in enumerate(experiment.panels):
        for curve in panel.curves:
            for x in panel.x:
                if not curve.only or x in curve.only:
                    place = [] if panel.each else [placed(panel.option, x, machine)]
                    model = [f"--machine={machine}"] if machine else []
                    arguments = merged(command, model, counted(run, mode), mode_run, own, curve.run, place)
                    experiment.points.append(Point(i, curve.name, x, arguments))
    return experiment
