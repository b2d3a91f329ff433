"""Runs an experiment: what `harness experiment` does.

    ./bench experiment                    which there are
    ./bench experiment NAME [--quick|--full] [--dry-run] [--out=FOLDER] [-- OPTIONS OF EVERY RUN]

Every run is a process of its own. A block has every point of the figure once, in random order; there are as many blocks as
replicates. A result is kept as soon as it is there, so that the same command goes on where a run before it was stopped or
killed: results of this very binary with the same options count, others do not. What this machine cannot really run
(status degraded) is left out from its first result on, and the figure says why.

In the folder (experiments/results/NAME-MODE, unless --out says another): results.jsonl, and figure.svg, .png, .pdf, .html.
Exit status: 0; 1 if a run failed; 2 for wrong input; 130 when interrupted.
"""
import hashlib
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import definition
from definition import METRICS, InputError

COUNTS = ("ok", "degraded")


@dataclass
class Request:
    name: str
    mode: str = "quick"
    dry: bool = False
    out: pathlib.Path | None = None
    own: tuple = ()


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
    for argument in arguments[1:]:
        if argument in modes:
            request.mode = argument[2:]
        elif argument == "--dry-run":
            request.dry = True
        elif argument.startswith("--out=") and argument != "--out=":
            request.out = pathlib.Path(argument[len("--out=") :])
        else:
            raise InputError(f"there is no '{argument}' here; there are --quick, --full, --dry-run, --out=FOLDER, -- OPTIONS")
    return request


class Results:
    """What is known, and the file that remembers it."""

    def __init__(self, folder, binary):
        self.binary = binary
        self.known = {}  # (arguments, replicate) -> document
        self.path = folder / "results.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+", encoding="utf-8") as file:
                file.seek(0)
                text = file.read()
                if text and not text.endswith("\n"):
                    file.write("\n")  # a line that a kill cut off
        except OSError as error:
            raise InputError(f"--out: {error.filename or folder}: {error.strerror}") from None
        for line in text.splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(record, dict) and record.get("binary") == binary:
                self.known[tuple(record["arguments"]), record["replicate"]] = record["document"]

    def add(self, point, replicate, document):
        self.known[point.arguments, replicate] = document
        record = {
            "binary": self.binary,
            "curve": point.curve,
            "x": point.x,
            "arguments": point.arguments,
            "replicate": replicate,
            "document": document,
        }
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def why_left_out(self, experiment):
        """{(panel, curve): reason} of what this machine cannot really run."""
        out = {}
        for point in experiment.points:
            for replicate in range(experiment.replicates):
                document = self.known.get((point.arguments, replicate))
                if document and document["status"] == "degraded":
                    out[point.panel, point.curve] = document["reason"]
        return out


def measure(harness, point, replicate, order):
    """The result document of one process, or a line that says why there is none."""
    command = [harness, *point.arguments, "--json", "--progress=none"]
    command += [f"--block={replicate}", f"--order={order}", f"--replicate={replicate}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 130:
        raise KeyboardInterrupt
    if len(done.stdout.splitlines()) > 1:
        raise InputError(f"{' '.join(point.arguments)}: makes several runs of one point; give no lists, and no --reps")
    try:
        document = json.loads(done.stdout)
    except json.JSONDecodeError:
        return None, (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    if document["status"] not in COUNTS:
        return None, f"{document['status']}: {document['reason']}"
    if document["interrupted"]:
        raise KeyboardInterrupt
    return document, ""


def run(experiment, harness, results):
    """Measures what is not known yet. Returns a line for each run that failed."""
    failures = []
    begun, made = time.monotonic(), 0
    plan = []
    for replicate in range(experiment.replicates):
        block = list(experiment.points)
        random.Random(replicate).shuffle(block)
        plan += [(point, replicate, order) for order, point in enumerate(block)]
    left_out = results.why_left_out(experiment)
    for at, (point, replicate, order) in enumerate(plan):
        if (point.arguments, replicate) in results.known or (point.panel, point.curve) in left_out:
            continue
        left = (time.monotonic() - begun) / made * (len(plan) - at) if made else None
        ready = f", at most {left / 60:.1f} min left" if left else ""
        print(f"[{at + 1}/{len(plan)}{ready}] {' '.join(point.arguments)}", file=sys.stderr)
        document, failure = measure(harness, point, replicate, order)
        made += 1
        if failure:
            failures.append(f"{' '.join(point.arguments)}: {failure}")
            continue
        results.add(point, replicate, document)
        if document["status"] == "degraded":
            left_out[point.panel, point.curve] = document["reason"]
    return failures


def rows(experiment, results):
    """One for each run that is drawn: panel, curve, x, replicate, y."""
    left_out = results.why_left_out(experiment)
    out = []
    for point in experiment.points:
        if (point.panel, point.curve) in left_out:
            continue
        metric = METRICS[experiment.panels[point.panel].y][1]
        for replicate in range(experiment.replicates):
            document = results.known.get((point.arguments, replicate))
            y = None if document is None else metric(document)
            if y is not None:
                out.append({"panel": point.panel, "curve": point.curve, "x": point.x, "replicate": replicate, "y": y})
    for i, panel in enumerate(experiment.panels):
        if panel.y == "speedup":
            first = {(r["curve"], r["replicate"]): r["y"] for r in out if r["panel"] == i and r["x"] == panel.x[0]}
            out = [r for r in out if r["panel"] != i or (r["curve"], r["replicate"]) in first]
            for row in out:
                if row["panel"] == i:
                    row["y"] /= first[row["curve"], row["replicate"]]
    return out


def summary(experiment, drawn, left_out):
    lines = [experiment.title, f"source: {experiment.source}"]
    for i, panel in enumerate(experiment.panels):
        lines += ["", f"{panel.title}: {METRICS[panel.y][0]}, median (least to most) over replicates"]
        for curve in panel.curves:
            for x in panel.x:
                ys = [r["y"] for r in drawn if (r["panel"], r["curve"], r["x"]) == (i, curve.name, x)]
                if ys:
                    middle = statistics.median(ys)
                    lines.append(
                        f"  {curve.name:24} {panel.option}={x!s:12} {middle:10.4g}  ({min(ys):.4g} to {max(ys):.4g}; {len(ys)})"
                    )
        lines += [f"  {line}" for line in definition.reasons(left_out, i)]
        if panel.order:
            lines.append(f"  published, from the best: {', '.join(panel.order)}")
    return "\n".join(lines)


def experiment_main(harness, arguments):
    if not arguments:
        names = definition.names()
        width = max(map(len, names))
        print("\n".join(f"{name:{width}}  {definition.load(name, 'quick').title}" for name in names))
        return 0
    request = parse(arguments)
    experiment = definition.load(request.name, request.mode, request.own)
    if request.dry:
        for point in experiment.points:
            print(" ".join([str(harness), *point.arguments]))
        print(f"{len(experiment.points)} points, {experiment.replicates} replicates", file=sys.stderr)
        return 0
    folder = request.out or definition.FOLDER / "results" / f"{request.name}-{request.mode}"
    results = Results(folder, hashlib.sha256(pathlib.Path(harness).read_bytes()).hexdigest())
    try:
        failures = run(experiment, harness, results)
    except KeyboardInterrupt:
        print(f"experiment: interrupted; the same command goes on ({results.path})", file=sys.stderr)
        return 130
    left_out = results.why_left_out(experiment)
    drawn = rows(experiment, results)
    print(summary(experiment, drawn, left_out))
    try:
        import figure
    except ImportError as error:
        print(f"experiment: no figure is drawn: {error}; ./bench experiment installs it", file=sys.stderr)
    else:
        print(f"\n{figure.save(experiment, drawn, left_out, folder)}")
    for failure in failures:
        print(f"experiment: failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    for interruption in (signal.SIGINT, signal.SIGTERM):
        signal.signal(interruption, signal.default_int_handler)
    try:
        sys.exit(experiment_main(sys.argv[1], sys.argv[2:]))
    except InputError as wrong:
        print(f"harness: experiment: {wrong}", file=sys.stderr)
        sys.exit(2)
