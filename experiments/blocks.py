"""Blocks of an experiment, and the tasks that run them.

A block is every point once, in random order, under one seed; it is what pairs the points, so one machine runs all of it. There are as
many blocks as replicates. A task is one attempt to run what is missing of a block on a kind of machine. It has three files:

    NAME.json       what it is (this program reads it after an interruption)
    NAME.points     the command of each point, for block.sh
    NAME.records    what came of them, written by block.sh; NAME.records.part while they run
"""
import json
import random
import shlex
from dataclasses import dataclass, field

import columns
import definition
from input_error import InputError
from results import is_document, is_words

KEPT = {"kind": str, "replicate": int, "attempt": int, "arguments": list, "node": str, "engine": str, "handle": dict}   # of a task
COUNTS = ("ok", "modelled", "noisy", "degraded", "skipped")


def order(experiment, replicate):
    """Returns the points of a block in their order."""
    block = experiment.distinct()
    random.Random(replicate).shuffle(block)
    return block


def command(point, replicate, place):
    """Returns the words of a run. `place` is its place in the order of its block."""
    if point.arguments[0] in definition.COMMANDS:
        return [*point.arguments, "--json", "--progress=none"]
    words = definition.merged(point.arguments, [f"--seed={definition.seed_of(point.arguments, replicate)}"])
    return [*words, "--json", "--progress=none", f"--block={replicate}", f"--order={place}", f"--replicate={replicate}"]


@dataclass
class Outcome:
    """What came of one point: a document, or the reason why there is none."""

    arguments: tuple
    document: dict | None
    failure: str
    run: dict   # node, began, ended


@dataclass
class Task:
    kind: str
    replicate: int
    attempt: int
    arguments: list   # of each point that shall run, by its number in .points
    folder: object
    node: str = ""    # empty: any node of the kind
    engine: str = ""  # the name of the one that started it
    handle: dict = field(default_factory=dict)   # how the engine finds it again
    read: int = 0     # bytes of the records that were read
    done: set = field(default_factory=set)       # the numbers of points with an outcome
    running: int | None = None                   # the number of the point that began last, and has no outcome
    where: str = ""                              # the node that runs it
    since: float = 0                             # when the point began, in seconds since 1970

    @property
    def name(self):
        return "-".join([*([self.kind] if self.kind else []), f"block{self.replicate}", f"try{self.attempt}"])

    def file(self, ending):
        return self.folder / f"{self.name}.{ending}"

    @property
    def left(self):
        """The numbers of the points without an outcome."""
        return [number for number in range(len(self.arguments)) if number not in self.done]

    def save(self):
        """Writes the file that finds this task again."""
        kept = {key: getattr(self, key) for key in KEPT}
        whole = self.file("json")
        part = whole.with_suffix(".json.part")
        part.write_text(json.dumps(kept), encoding="utf-8")
        part.rename(whole)

    def write(self, places):
        """Writes the task's files; `places` are those of its points in the order of the block."""
        lines = []
        for number, (arguments, place) in enumerate(zip(self.arguments, places, strict=True)):
            point = definition.Point(0, "", None, arguments)
            lines.append(f"{number} {shlex.join(command(point, self.replicate, place))}\n")
        self.file("points").write_text("".join(lines), encoding="utf-8")
        self.save()

    @property
    def is_whole(self):
        return self.file("records").exists()

    @property
    def has_begun(self):
        return self.is_whole or self.file("records.part").exists()

    def news(self):
        """Returns the outcomes since the last call."""
        for ending in ("records", "records.part"):   # in this order, since the second becomes the first
            try:
                with open(self.file(ending), "rb") as file:
                    file.seek(self.read)
                    text = file.read()
                break
            except FileNotFoundError:
                continue
        else:
            return []
        text = text[: text.rfind(b"\n") + 1]   # the rest is still being written
        self.read += len(text)
        out = []
        for line in text.decode(errors="replace").splitlines():
            try:
                record = json.loads(line)
                if "begins" in record:
                    self.running, self.where, self.since = record["begins"], record["node"], record["at"]
                elif record["point"] not in self.done and not is_interrupted(record):
                    out.append(self.outcome(record))
            except (json.JSONDecodeError, KeyError, TypeError, IndexError):
                continue   # a run that was killed while it printed; its point stays without an outcome
        return out

    def outcome(self, record):
        """Reads a record of block.sh. Raises InputError if the user asked for something that is no single run."""
        number = record["point"]
        arguments, document, said = self.arguments[number], record["document"], record["said"]
        run = {key: record[key] for key in ("node", "began", "ended")}
        self.done.add(number)
        self.running = None
        if document is None and said == "several runs":
            raise InputError(f"{' '.join(arguments)}: makes several runs of one point; give no lists, and no --reps")
        if document is None:
            return Outcome(arguments, None, said or f"exit status {record['exit']}", run)
        if "status" not in document and is_words(document.get("notes")):   # a document of limits, whose notes say what disturbed it
            document |= {"status": "noisy" if document["notes"] else "ok", "reason": "; ".join(document["notes"])}
        if (other := columns.other_schema(document)) is not None:   # --binary brought a harness of another tree
            return Outcome(arguments, None, f"its document has schema {other}; this tree has {columns.VERSION}", run)
        if not is_document(document):
            return Outcome(arguments, None, "it printed something else than a document of this schema", run)
        if document["status"] not in COUNTS:
            return Outcome(arguments, None, f"{document['status']}: {document.get('reason', '')}", run)
        return Outcome(arguments, document, "", run)

    def forget(self):
        """Removes the task's files."""
        for ending in ("json", "points", "records", "records.part", "records.stderr", "log", "joblog"):
            self.file(ending).unlink(missing_ok=True)


def is_interrupted(record):
    """True if a run was stopped by the user, so that its point has no outcome."""
    return record["exit"] == 130 or bool((record["document"] or {}).get("interrupted"))


def tasks_in(folder):
    """Returns the tasks that an earlier program left in the folder."""
    tasks = []
    for path in sorted(folder.glob("*.json")):
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if not all(map(is_words, kept["arguments"])) or not all(isinstance(kept[key], KEPT[key]) for key in kept):
                raise ValueError
            kept["arguments"] = [tuple(arguments) for arguments in kept["arguments"]]
            tasks.append(Task(folder=folder, **kept))
            if tasks[-1].file("json") != path:   # its other names would be those of other files
                raise ValueError
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{path}: is no task of a sweep; remove it, or give another --out") from None
    return tasks
