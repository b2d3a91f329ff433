"""Runs an experiment; `harness experiment` calls it.

    ./bench experiment                    lists the experiments
    ./bench experiment NAME [--quick|--full] [--dry-run] [--redraw] [--out=FOLDER] [--on=ENGINE] [--emit=sbatch]
                                          [-- OPTIONS OF EVERY RUN]
    ./bench experiment NAME --paper [--width=240] [--height=POINTS] [--font-size=8] ...
    ./bench experiment NAME --machine=MODEL [--beside=FOLDER] ...

Every run is a process of its own. A block runs every point of the figure once, in random order; all its runs share a seed, and each
block has another one. There are as many blocks as replicates.

Each result is kept at once, so after an interruption the same command continues where it stopped. Kept results count if they have the
same options and come from this very binary; a folder that --out names is refused if it has results of another one. The status of a run
decides what the figure shows:
    degraded    this machine cannot really run the point: it is left out from its first result on, with the reason
    skipped     the point does not fit this machine (--fit): likewise
    noisy       other programs had a processor of the run: it is drawn, and the figure says how many such runs there are

The output folder is experiments/results/NAME-MODE, or that of --out. It gets results.jsonl, and figure.svg, .png, .pdf and .html. With
--paper each panel gets its own files instead: NAME.svg, .png and .pdf have no title and exactly the requested size; NAME.caption.txt
says what was measured, on which machine, and what is missing.

--on=slurm[:OPTIONS] or --on=hosts:FILE runs the blocks on other machines, as a sweep does (docs/sweeps.md), with the harness that
--binary=[KIND:]PATH brings, if it is given. Where several kinds of machines are named, each has a folder of its own in the output folder,
with its results and figures. machines.svg compares the machines of a kind, if there are several. --emit=sbatch prints plain scripts for
Slurm; when they have ended, the same command collects their results, and draws them.

--machine=haswell-ep predicts the figure on a modelled machine, with as many threads as that one has. Its curves are called `modelled`,
and stand beside those that were measured: the results in --beside=FOLDER, or else those of the same experiment in this tree, if there are
any. Each point has 5 seeds, a time in the file does not count, and as many runs go on at once as this machine has processors. A point
whose seeds end in two states is shown by both, with the share of seeds in each. The output folder is NAME-modelled-MODEL.

--redraw measures nothing. It draws the results of the binary that wrote last into the folder, even if that is another binary or ran on
another machine.
Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import InputError, end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("harness: experiment")   # before the other imports
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass, field

import begin
import definition
import gaps as missing
import machines
import plan as plans
import states
from driver import Driver
from engines import engine_of
from gaps import Gap, NoNumber
from hold import Hold
from plan import Plan
from results import Results, last_run
from sweep import tell_scripts

SIZES = {"--width": (72, 2000), "--height": (72, 2000), "--font-size": (4, 40)}   # in points: the least and the most
NAMES_PAIR = ("--index", "--sync", "--workload", "--reclaim")   # options that tell which pair a run needs


@dataclass
class Request:
    name: str
    mode: str = "quick"
    dry: bool = False
    redraw: bool = False
    paper: bool = False
    sizes: dict = field(default_factory=lambda: {"--width": 240, "--height": None, "--font-size": 8})
    out: pathlib.Path | None = None
    on: str = "local"
    emit: bool = False
    binaries: list = field(default_factory=list)   # values of --binary
    machine: str = ""                              # the modelled machine; its mode is `modelled`
    beside: pathlib.Path | None = None
    own: tuple = ()

    @property
    def folder(self):
        """The folder of the results."""
        model = f"-{re.sub(r'[^A-Za-z0-9_.=,-]+', '-', self.machine)}" if self.machine else ""
        return self.out or definition.FOLDER / "results" / f"{self.name}-{self.mode}{model}"


def parse(arguments):
    own = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, own = arguments[:at], arguments[at + 1 :]
    for option in own:
        if not option.startswith("--") or "=" not in option:
            raise InputError(f"behind '--' stand options of a run, as --name=value: '{option}'")
    if not arguments or arguments[0].startswith("-"):
        raise InputError(f"the name is missing; there are {', '.join(definition.names())}")
    request = Request(name=arguments[0], own=tuple(own))
    modes = [argument for argument in arguments[1:] if argument in ("--quick", "--full")]
    if len(modes) > 1:
        raise InputError(f"{' and '.join(modes)}: give one of them")
    sized = []
    for argument in arguments[1:]:
        name, _, value = argument.partition("=")
        if argument in modes:
            request.mode = argument[2:]
        elif argument == "--dry-run":
            request.dry = True
        elif argument == "--redraw":
            request.redraw = True
        elif argument == "--paper":
            request.paper = True
        elif name in SIZES and value:
            request.sizes[name] = points(name, value)
            sized.append(argument)
        elif argument.startswith("--out=") and argument != "--out=":
            request.out = pathlib.Path(argument[len("--out=") :])
        elif name == "--on" and value:
            request.on = value
        elif name == "--binary" and value:
            request.binaries.append(value)
        elif argument == "--emit=sbatch":
            request.emit = True
        elif name == "--machine" and value:
            request.machine = value
        elif name == "--beside" and value:
            request.beside = pathlib.Path(value)
        else:
            raise InputError(f"there is no '{argument}' here; there are --quick, --full, --machine=MODEL, --beside=FOLDER, --dry-run, "
                             "--redraw, --paper, --width=POINTS, --height=POINTS, --font-size=POINTS, --out=FOLDER, --on=ENGINE, "
                             "--binary=[KIND:]PATH, --emit=sbatch, -- OPTIONS")
    if request.machine and modes:
        raise InputError(f"{modes[0]}: --machine has a mode of its own; options behind '--' change it, such as -- --records=64M")
    if request.machine:
        request.mode = "modelled"
    if request.redraw and (request.on != "local" or request.binaries or request.emit):
        raise InputError("--redraw measures nothing, so --on, --binary and --emit mean nothing; --out=FOLDER/KIND names the folder of a "
                         "kind")
    if sized and not request.paper:
        raise InputError(f"{sized[0]}: the size of a figure with --paper; this is one without")
    return request


def points(name, value):
    """Returns the number of points that an option asks for."""
    least, most = SIZES[name]
    try:
        number = float(value)
    except ValueError:
        number = 0
    if not least <= number <= most:
        raise InputError(f"{name}={value}: a number of points from {least} to {most}")
    return number


def rows(experiment, results, failures=None, kind=""):
    """The rows to draw, one for each run of a point: panel, curve, x, replicate, run, y, noisy; and the gaps. `failures` are those of a
    plan, of which the rows have those of the kind."""
    out = []
    failed = {(arguments, replicate): reason for (of, arguments, replicate), reason in (failures or {}).items() if of == kind}
    gaps = []
    for point in experiment.points:
        place = (point.panel, point.curve, point.x)
        if (why := results.why_left_out(point)) is not None:
            gaps.append(Gap(*place, None, why))
            continue
        for replicate in range(experiment.replicates):
            made = (point.arguments, replicate)
            document = results.known.get(made)
            if document is None:
                if made in failed:
                    gaps.append(Gap(*place, replicate, f"failed: {failed[made]}"))
                continue
            try:
                if (none := missing.why_none(document)) is not None:
                    raise NoNumber(none)
                y = experiment.panels[point.panel].number(point.curve, point.x, document)
            except NoNumber as why:
                gaps.append(Gap(*place, replicate, str(why)))
            else:
                of = {"replicate": replicate, "run": made, "noisy": document["status"] == "noisy"}
                out.append({"panel": point.panel, "curve": point.curve, "x": point.x, "y": y, **of})
    for i, panel in enumerate(experiment.panels):
        if panel.y in ("speedup", "gain"):
            own, alone = relative(panel, [row for row in out if row["panel"] == i])
            out = [row for row in out if row["panel"] != i] + own
            gaps += alone
    return out, gaps


def relative(panel, rows):
    """Returns the rows of one panel relative to their base, for `speedup` and `gain`; and a gap for each row whose base is missing."""
    if panel.y == "speedup":
        first, base, same = f"at {panel.x[0]}", lambda row: row["x"] == panel.x[0], lambda row: (row["curve"], row["replicate"])
    else:
        name = panel.curves[0].name
        first, base, same = f"of {name}", lambda row: row["curve"] == name, lambda row: (row["x"], row["replicate"])
    bases = {same(row): row["y"] for row in rows if base(row)}
    out, gaps = [], []
    for row in rows:
        if same(row) not in bases:
            gaps.append(Gap(row["panel"], row["curve"], row["x"], row["replicate"], f"nothing {first} to compare with"))
        elif panel.y == "speedup":
            out.append({**row, "y": row["y"] / bases[same(row)]})
        elif not base(row):
            out.append({**row, "y": (row["y"] / bases[same(row)] - 1) * 100})
    return out, gaps


def label_of(model):
    """Names a modelled machine. `model` is what a document says of it."""
    return f"modelled, {model['name']}, scale {model['scale']:g}"


def label(results, machine=""):
    """Says how the results were made, for titles and names of curves. `machine` is the modelled machine that was asked for."""
    models = [(document.get("machine") or {}).get("modelled") for document in results.known.values()]
    return "; ".join(dict.fromkeys(label_of(model) for model in models if model)) or (f"modelled, {machine}" if machine else "measured")


def machine_of(results):
    """Returns a line for each machine that has results, and one for the effect of each, if there are several."""
    seen = {}
    for document in results.known.values():
        if model := (document.get("machine") or {}).get("modelled"):
            changes = f"; changed: {'; '.join(model['changes'])}" if model["changes"] else ""
            fitted = f"; fitted to published results: {', '.join(model['fitted'])}" if model["fitted"] else "; nothing in it was fitted"
            seen[f"{label_of(model)}, not measured: {model['topology']}{changes}{fitted}; its digest is {model['digest']}"] = True
        elif machine := document.get("machine"):
            seen[f"on {machine['model'] or 'an unknown processor'}: {machine['topology']}"] = True
    return [*seen, *(effect.words for effect in machines.effects(results))]


def summary(experiment, drawn, gaps):
    lines = [experiment.title, f"source: {experiment.source}", *experiment.notes()]
    for i, panel in enumerate(experiment.panels):
        lines += ["", f"{panel.title}: {panel.y_title}, median (least to most; how many runs)"]
        if panel.note:
            lines.append(f"  {panel.note}")
        for curve in panel.curves:
            for x in panel.x:
                ys = [r["y"] for r in drawn if (r["panel"], r["curve"], r["x"]) == (i, curve.name, x)]
                found = states.states_of(ys) if ys and experiment.machine else []
                if len(found) > 1:
                    lines.append(f"  {curve.name:24} {panel.option}={x!s:12} in two states: {states.words(found)}")
                elif ys:
                    middle = statistics.median(ys)
                    lines.append(
                        f"  {curve.name:24} {panel.option}={x!s:12} {middle:10.4g}  ({min(ys):.4g} to {max(ys):.4g}; {len(ys)})"
                    )
        of_panel = [row for row in drawn if row["panel"] == i]
        noise = [] if experiment.machine else missing.noise(of_panel, panel.y)
        lines += [f"  {line}" for line in [*missing.lines(gaps, experiment, i), *noise]]
        if panel.order:
            lines.append(f"  published, from the best: {', '.join(panel.order)}")
    return "\n".join(lines)


def check_known(experiment, results, ran):
    """Prints how many runs of the figure are missing. Raises InputError if all are. `ran` has the options of a run that is there."""
    runs = [(point, replicate) for point in experiment.distinct() for replicate in range(experiment.replicates)]
    absent = [r for r in runs if (r[0].arguments, r[1]) not in results.known and results.why_left_out(r[0]) is None]
    if len(absent) == len(runs):
        raise InputError(f"--redraw: {results.path} has no run with these options; its last run had {' '.join(ran)}")
    if absent:
        print(f"experiment: {len(absent)} of {len(runs)} runs are not in {results.path}", file=sys.stderr)


def draw(request, experiment, drawn, gaps, results, folder):
    """Draws the figure. Returns false if a figure that was asked for by --paper or --redraw cannot be drawn here."""
    try:
        import figure
        import page
    except ImportError as error:
        print(f"experiment: no figure is drawn: {error}; ./bench experiment installs it", file=sys.stderr)
        return not request.paper and not request.redraw
    machine = machine_of(results)
    if request.paper:
        said = figure.save_paper(experiment, drawn, gaps, machine, folder, tuple(request.sizes.values()))
    else:
        said = figure.save(experiment, drawn, gaps, machine, folder)
        page.save(experiment, drawn, gaps, machine, results, folder)
    print(f"\n{said}")
    return True


def experiment_main(harness, arguments):
    if not arguments:
        names = definition.names()
        width = max(map(len, names))
        print("\n".join(f"{name:{width}}  {definition.load(name, 'quick').title}" for name in names))
        return 0
    request = parse(arguments)
    folder = request.folder
    binary, processors, ran = None, None, ()
    if request.redraw:
        binary, processors, ran = last_run(folder)
    model = model_of(harness, request.machine) if request.machine else {}
    experiment = definition.load(request.name, request.mode, request.own, model.get("processors", processors), request.machine)
    add_beside(request, experiment)
    if request.redraw:
        return redraw(request, experiment, Results(folder, binary), ran)
    pairs = pairs_of(harness, experiment) if request.on.startswith(("slurm", "hosts")) else ()   # a build for each kind
    engine = engine_of(request.on, harness, request.binaries, folder, pairs, bool(request.machine))
    if request.emit:
        begin.check_emit(engine, request.on)
    begin.check_folder(folder, experiment.name, engine.kinds)
    begin.check_binaries(engine, request.on, request.binaries)
    apart = request.out is None   # the folder of this tree outlives its builds
    if request.dry:
        (engine.check_script if request.emit else engine.check)()
        seeds = "" if experiment.command else ", each with a seed of its own,"
        plans.dry_run(Plan(experiment, begin.results_of(folder, engine, apart)), engine, seeds)
        return 0
    try:
        with Hold(folder, engine.kinds) as hold:
            if not request.emit:
                engine.prepare()
            plan = Plan(experiment, begin.results_of(folder, engine, apart))
            for results in plan.results.values():
                forget_other_models(results, request.machine, model)
                if results.others:
                    print(f"experiment: {results.path}: results of {len(results.others)} other builds or machine files do not count", file=sys.stderr)
            driver = Driver(plan, engine, folder, hold)
            plans.save(folder, experiment, engine, ["./bench", "experiment", *arguments])
            waiting = []
            if request.emit:
                waiting, paths = driver.emit()
                tell_scripts(waiting, paths, engine)
            else:
                driver.run()
    except KeyboardInterrupt as interrupted:
        print(f"experiment: interrupted; {str(interrupted) or 'the same command goes on'} ({folder}/results.jsonl)", file=sys.stderr)
        return 130
    # Each kind is drawn, whatever comes of another one. While tasks wait to be run, stdout has their scripts alone.
    drawing = [show(request, experiment, plan, kind, folder) for kind in plan.results if not waiting]
    for (kind, failed, _), reason in plan.failures.items():
        print(f"experiment: failed: {kind + ': ' if kind else ''}{' '.join(failed)}: {reason}", file=sys.stderr)
    return 1 if plan.failures or not all(drawing) else 0


def model_of(harness, machine):
    """Returns the processors and the digest of a modelled machine, which the harness itself tells. Raises InputError."""
    done = subprocess.run([harness, "model", machine], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError((done.stderr.strip().splitlines() or ["harness model failed"])[-1].removeprefix("harness: "))
    return json.loads(done.stdout)


def forget_other_models(results, machine, model):
    """Leaves out results of a machine file that has changed since. A shipped machine is part of the binary."""
    if not machine.startswith("file:"):
        return
    for made, document in list(results.known.items()):
        digest = ((document.get("machine") or {}).get("modelled") or {}).get("digest")
        if digest not in (None, model["digest"]):
            del results.known[made]
            results.others.add(digest)


def add_beside(request, experiment):
    """Adds the results in --beside, or else what was measured in this tree, to the numbers of other sources that the panels show.
    Raises InputError for a folder that --beside names and that has none."""
    folders = [request.beside]
    if request.beside is None:
        trees = [dataclasses.replace(request, machine="", mode=mode, out=None).folder for mode in ("full", "quick")]
        folders = [folder for folder in trees if request.machine and (folder / "results.jsonl").exists()][:1]
    for folder in folders:
        try:
            kept = plans.kept_in(folder)
        except InputError as error:
            raise InputError(f"--beside: {error}") from None
        if kept["name"] != request.name:
            raise InputError(f"--beside: {folder} is the folder of '{kept['name']}'")
        binary, processors, _ = last_run(folder)
        asked = parse(kept["command"][2:])
        if asked.machine:
            processors = None
        other = definition.load(request.name, asked.mode, asked.own, processors, asked.machine)
        results = Results(folder, binary)
        drawn, _ = rows(other, results)
        origin = label(results)
        experiment.beside += [f"beside: {line}" for line in machine_of(results)]
        own = {panel.title: panel for panel in experiment.panels}   # a modelled machine has panels of its own
        for i, of in enumerate(other.panels):
            panel = own.get(of.title)
            for curve in of.curves if panel else ():
                ys = {}
                for row in drawn:
                    if (row["panel"], row["curve"]) == (i, curve.name):
                        ys.setdefault(row["x"], []).append(row["y"])
                if ys:
                    panel.beside.append((f"{curve.name} ({origin})", [(x, statistics.median(ys[x])) for x in ys]))


def pairs_of(harness, experiment):
    """Returns the index:policy pairs of the points, which the harness itself tells."""
    pairs = set()
    for words in {tuple(w for w in point.arguments if definition.name_of(w) in NAMES_PAIR) for point in experiment.points}:
        done = subprocess.run([harness, "points", *words], capture_output=True, text=True, check=False)
        pairs |= {json.loads(line)["pair"] for line in done.stdout.splitlines()}
    return sorted(pairs)


def redraw(request, experiment, results, ran):
    if request.dry:
        print("0 runs: --redraw measures nothing", file=sys.stderr)
        return 0
    check_known(experiment, results, ran)
    return 0 if show(request, experiment, Plan(experiment, {"": results}), "", results.path.parent) else 1


def show(request, experiment, plan, kind, folder):
    """Prints and draws the results of a kind. Returns false as draw does."""
    results, folder = plan.results[kind], plans.folder_of(folder, kind)
    if experiment.machine:
        experiment = dataclasses.replace(experiment, title=f"{experiment.title} ({label(results, experiment.machine)})")
    drawn, gaps = rows(experiment, results, plan.failures, kind)
    if kind:
        print(f"\nkind {kind}:")
    print(summary(experiment, drawn, gaps))
    machines.show(results, folder)
    return draw(request, experiment, drawn, gaps, results, folder)


if __name__ == "__main__":
    run_script("harness: experiment", experiment_main, sys.argv[1], sys.argv[2:])
