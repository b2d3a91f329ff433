"""Runs every point of the lists on the command line, in blocks, on this machine or on a cluster; `./bench sweep` runs it.

    ./bench sweep --out=DIR [--on=ENGINE] [--replicates=5] [--seed=1] [--binary=[KIND:]PATH] [--emit=sbatch] [--dry-run] OPTIONS OF RUNS
    ./bench sweep status DIR

A point is one of the product of all lists among the options of runs. A block is every point once, in random order; all its runs share
a seed, and one machine runs all of it. There are as many blocks as replicates. Each run is a process of its own.

ENGINE says where the runs are made:

    local               here, one after the other; the default
    slurm[:OPTIONS]     on nodes that Slurm gives, such as slurm:partition=bench,constraint=haswell+zen4: each constraint is a kind of
                        machine. Others are account, qos, time, mem, and at the end setup=LINE OF BASH
    hosts:FILE          on the hosts of FILE by ssh; a line has a host, and the name of its kind if there are several

The results go into DIR/results.jsonl, or into DIR/KIND for each kind; without a constraint the kind is `slurm`. `./bench export DIR` reads
them. Results are kept at once, so after an interruption the same command goes on where it stopped: no run is lost, and none is made twice.

--binary=[KIND:]PATH brings a harness for all kinds or for one; otherwise each kind gets one that is built from these sources.
--emit=sbatch prints scripts for `sbatch` and starts nothing; when they have ended, the same command collects the results.
--dry-run prints the runs, and how long they would take if some ran before. `status` says from anywhere what is done and what is left.
docs/sweeps.md says the rest.

Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import InputError, end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("sweep")   # before the other imports
import json
import pathlib
import subprocess
import sys
import time
from dataclasses import dataclass, field

import begin
import blocks
import definition
import machines
import plan as plans
from driver import Driver
from engines import engine_of
from engines.local import SCRIPT
from hold import Hold, is_driven

USAGE = ("./bench sweep --out=DIR [--on=ENGINE] [--replicates=5] [--seed=1] [--binary=[KIND:]PATH] [--emit=sbatch] [--dry-run] "
         "OPTIONS OF RUNS")
MOST = 10_000
# Options of runs that mean nothing here, each with its replacement.
INSTEAD = {
    "reps": "--replicates=N",
    "replicate": "--replicates=N",
    "block": "--seed=N",
    "order": "--seed=N",
    "json": "--out=DIR",
    "progress": "nothing",
}


@dataclass
class Request:
    out: pathlib.Path | None = None
    on: str = "local"
    replicates: int = 5
    dry: bool = False
    emit: bool = False
    binaries: list = field(default_factory=list)  # values of --binary
    options: list = field(default_factory=list)   # options of runs, as --name=value


def number(name, text, least, most):
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise InputError(f"--{name}: '{text}' is not a whole number from {least} to {most}")
    return int(text)


def parse(arguments):
    request = Request()
    for argument in arguments:
        name, equals, text = argument.removeprefix("--").partition("=")
        if argument == "--dry-run":
            request.dry = True
        elif not argument.startswith("--") or not equals:
            raise InputError(f"'{argument}': there are --dry-run, and options as --name=value; {USAGE}")
        elif f"--{name}" in definition.OF_ONE_RUN:
            raise InputError(f"--{name}: {definition.OF_ONE_RUN[f'--{name}']}")
        elif name in INSTEAD:
            raise InputError(f"--{name} has no meaning in a sweep; write {INSTEAD[name]}")
        elif name == "out" and text:
            request.out = pathlib.Path(text)
        elif name == "on":
            request.on = text
        elif name == "binary":
            request.binaries.append(text)
        elif name == "emit":
            if text != "sbatch":
                raise InputError(f"--emit={text}: there is --emit=sbatch")
            request.emit = True
        elif name == "replicates":
            request.replicates = number(name, text, 1, MOST)
        elif name == "seed":
            number(name, text, 0, 2**64 - 1 - MOST)
            request.options.append(argument)
        else:
            request.options.append(argument)
    if request.out is None:
        raise InputError(f"--out=DIR is missing, the folder that gets the results; {USAGE}")
    return request


def points_of(harness, options):
    """Returns the product of all lists in the options, which the harness itself expands, and the index:policy pairs of the points."""
    done = subprocess.run([harness, "points", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError((done.stderr.strip().splitlines() or ["harness points failed"])[-1].removeprefix("harness: "))
    said = [json.loads(line) for line in done.stdout.splitlines()]
    words = [tuple(each["words"]) for each in said]
    for each in words:
        if words.count(each) > 1:
            raise InputError(f"{' '.join(each)} is there twice; a sweep runs each point once in a block")
    return [definition.Point(0, "", None, each) for each in words], {each["pair"] for each in said}


def status(folder):
    """Prints what is done and what is left."""
    plan, command = plans.load(folder)
    tasks = blocks.tasks_in(folder / "tasks")
    for task in tasks:
        for outcome in task.news():   # what no program has collected yet
            if not outcome.failure:
                plan.results[task.kind].known[outcome.arguments, task.replicate] = outcome.document
                plan.results[task.kind].runs[outcome.arguments, task.replicate] = outcome.run
    print(f"{' '.join(command)}\n{plan.size} points, {plan.experiment.replicates} blocks")
    for kind in plan.results:
        failed = sum(of == kind for of, _, _ in plan.failures)
        done, left = plan.done(kind), plan.left(kind)
        out = plan.size * plan.experiment.replicates - done - failed - left
        print(f"{kind + ': ' if kind else ''}{done} done, {failed} failed, {left} left" + (f", {out} left out" if out else ""))
    if seconds := plan.seconds_left(max(1, len(tasks))):
        print(f"about {plans.in_words(seconds)} left, as the runs so far took")
    for task in tasks:
        if task.running is not None:
            ended = task.engine == "local" and not is_driven(folder)   # its driver took the run along
            since = ": stopped; the same command goes on" if ended else f" for {max(0, time.time() - task.since):.0f} s"
            print(f"{task.name}{f' on {task.where}' if task.where else ''}: {' '.join(task.arguments[task.running])}{since}")
        elif waits := task.handle.get("waits"):
            print(f"{task.name} waits: {waits}")
    for (kind, arguments, replicate), reason in plan.failures.items():
        print(f"failed: {kind + ' ' if kind else ''}block {replicate}: {' '.join(arguments)}: {reason}")


def tell_scripts(tasks, paths, engine):
    """Prints the new scripts, and what to do with the tasks, which have not ended."""
    for path in paths:
        print(path.read_text(encoding="utf-8"), end="")
        print(f"sweep: submit it by: sbatch {path}", file=sys.stderr)
    for kind in engine.kinds if paths else ():
        print(f"sweep: {kind} runs {engine.harness(kind)}; --binary={kind}:PATH brings another", file=sys.stderr)
    begun = sum(task.has_begun for task in tasks)
    if begun:
        print(f"sweep: {begun} tasks have begun and not ended", file=sys.stderr)
    if len(tasks) > begun:
        print(f"sweep: {len(tasks) - begun} tasks are to be run. When they have ended, the same command collects the results. "
              f"Without Slurm (PBS, Flux), run for each DIR/tasks/TASK.points without a TASK.records.part, one at a time on a node: "
              f"{SCRIPT} HARNESS TASK.points TASK.records", file=sys.stderr)


def sweep_main(harness, arguments):
    if arguments[:1] == ["status"]:
        if len(arguments) != 2:
            raise InputError("status: name the folder: ./bench sweep status DIR")
        status(pathlib.Path(arguments[1]))
        return 0
    request = parse(arguments)
    points, pairs = points_of(harness, request.options)
    modelled = any(option.startswith("--machine=") for option in request.options)
    engine = engine_of(request.on, harness, request.binaries, request.out, pairs, modelled)
    if request.emit:
        begin.check_emit(engine, request.on)
    experiment = definition.Experiment(plans.SWEEP, "", "", "", request.replicates, [], points)
    begin.check_folder(request.out, plans.SWEEP, engine.kinds)
    begin.check_binaries(engine, request.on, request.binaries, request.options)
    try:
        if request.dry:
            (engine.check_script if request.emit else engine.check)()
            plans.dry_run(plans.Plan(experiment, begin.results_of(request.out, engine)), engine)
            return 0
        with Hold(request.out, engine.kinds) as hold:
            if not request.emit:
                engine.prepare()
            plan = plans.Plan(experiment, begin.results_of(request.out, engine))
            driver = Driver(plan, engine, request.out, hold)
            plans.save(request.out, experiment, engine, ["./bench", "sweep", *arguments])
            if request.emit:
                tell_scripts(*driver.emit(), engine)
            else:
                driver.run()
    except KeyboardInterrupt as interrupted:
        print(f"sweep: interrupted; {str(interrupted) or 'the same command goes on'}", file=sys.stderr)
        return 130
    for (kind, arguments, replicate), reason in plan.failures.items():
        print(f"sweep: failed: {kind + ' ' if kind else ''}block {replicate}: {' '.join(arguments)}: {reason}", file=sys.stderr)
    for kind, results in plan.results.items():
        if not request.emit:
            machines.show(results, plans.folder_of(request.out, kind))
        where = sys.stderr if request.emit else sys.stdout   # stdout has the scripts
        print(f"{plan.done(kind)} of {plan.size * experiment.replicates} runs are in {results.path}", file=where)
    return 1 if plan.failures else 0


if __name__ == "__main__":
    run_script("sweep", sweep_main, sys.argv[1], sys.argv[2:])
