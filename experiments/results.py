"""The results of an experiment, and the file that keeps them: results.jsonl, with one line for each run.

A line is written once and at once, so a killed program loses at most the line that it was writing. A result counts if it has the same
options and comes from the very same binary.
"""
import json
import os

import definition
import gaps
from input_error import InputError


class Results:
    """The results that are known, and the file that keeps them."""

    def __init__(self, folder, binary):
        self.binary = binary
        self.known = {}  # (arguments, replicate) -> document
        self.runs = {}   # the same -> where and when: node, began, ended
        self.path = folder / "results.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+", encoding="utf-8") as file:
                file.seek(0)
                text = file.read()
                if text and not text.endswith("\n"):
                    file.write("\n")  # a killed run left an incomplete line
        except OSError as error:
            raise InputError(f"--out: {error.filename or folder}: {error.strerror}") from None
        for record in records_in(text):
            if record.get("binary") != binary:
                continue
            arguments, replicate = tuple(record["arguments"]), record["replicate"]
            if record.get("seed") == definition.seed_of(arguments, replicate):
                self.known[arguments, replicate] = record["document"]
                self.runs[arguments, replicate] = {key: record[key] for key in ("node", "began", "ended") if key in record}

    def add(self, point, replicate, document, run):
        """Keeps a document; `run` says where and when: node, began, ended."""
        self.known[point.arguments, replicate] = document
        self.runs[point.arguments, replicate] = run
        record = {
            "binary": self.binary,
            "curve": point.curve,
            "x": point.x,
            "arguments": point.arguments,
            "replicate": replicate,
            "seed": definition.seed_of(point.arguments, replicate),
            **run,
            "document": document,
        }
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def why_left_out(self, point):
        """The reason why this machine cannot really run the point; None if it can."""
        for (arguments, _), document in self.known.items():
            if arguments == point.arguments and gaps.of_all(document):
                return document["reason"]
        return None


def records_in(text):
    """Yields the records of a results.jsonl."""
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue   # a killed run left an incomplete line
        if isinstance(record, dict):
            yield record


def last_run(folder):
    """Returns the hash of the binary that wrote last into the folder, the processors of its machine, and the options of that run."""
    path = folder / "results.jsonl"
    last = None
    try:
        for record in records_in(path.read_text(encoding="utf-8")):
            try:
                last = record["binary"], (record["document"].get("machine") or {}).get("processors"), record["arguments"]
            except (KeyError, TypeError, AttributeError):
                continue
    except OSError as error:
        raise InputError(f"--redraw: {path}: {error.strerror}; without --redraw it would be measured") from None
    if last is None:
        raise InputError(f"--redraw: there is no result in {path}; without --redraw it would be measured")
    return last
