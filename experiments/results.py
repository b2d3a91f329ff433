"""The results of an experiment, and the file that keeps them: results.jsonl, with one line for each run.

A line is written once and at once, so a killed program loses at most the line that it was writing. A result counts if it has the same
options and comes from the very same binary.
"""
import hashlib
import json
import os
import pathlib
import re

import columns
import definition
import gaps
from input_error import InputError

SEED = re.compile(r"--seed=[0-9]+")


def digest(binary):
    """Returns the hash that identifies a binary in results."""
    return hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()


class Results:
    """The results that are known, and the file that keeps them. Reading changes nothing."""

    def __init__(self, folder, binary):
        self.binary = binary
        self.known = {}  # (arguments, replicate) -> document
        self.runs = {}   # the same -> where and when: node, began, ended
        self.others = set()   # binaries of other results in the file
        self.path = folder / "results.jsonl"
        for record in records_in(self.path):
            if record.get("binary") != binary:
                self.others.add(record.get("binary"))
                continue
            arguments, replicate = tuple(record["arguments"]), record["replicate"]
            if record.get("seed") == definition.seed_of(arguments, replicate):
                self.known[arguments, replicate] = record["document"]
                self.runs[arguments, replicate] = {key: record[key] for key in ("node", "began", "ended") if key in record}

    def add(self, point, replicate, document, run):
        """Keeps a document; `run` says where and when: node, began, ended. Raises OSError, and then keeps nothing."""
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
        line = json.dumps(record).encode() + b"\n"
        try:
            with open(self.path, "ab+") as file:
                if file.tell() > 0:
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":
                        line = b"\n" + line   # a killed program, or a full disk, left an incomplete line
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from None
        self.known[point.arguments, replicate] = document
        self.runs[point.arguments, replicate] = run

    def put_aside(self, replicate):
        """Moves the results of a block to aside.jsonl, so that the block begins anew without them. Raises OSError."""
        def is_of_block(record):
            return record.get("replicate") == replicate and record.get("binary") == self.binary

        records = records_in(self.path)
        lines = [json.dumps(record) + "\n" for record in records if is_of_block(record)]
        part = self.path.with_suffix(".jsonl.part")
        with open(self.path.with_name("aside.jsonl"), "a", encoding="utf-8") as aside, open(part, "w", encoding="utf-8") as rest:
            aside.writelines(lines)
            rest.writelines(json.dumps(record) + "\n" for record in records if not is_of_block(record))
            for file in (aside, rest):   # a result is in one of them, or in both if this program is killed, and never in none
                file.flush()
                os.fsync(file.fileno())
        part.rename(self.path)
        for made in [made for made in self.known if made[1] == replicate]:
            del self.known[made]
            self.runs.pop(made, None)
        return len(lines)

    def rewrite(self):
        """Writes the file anew with the documents as they are known now, as a whole or not at all. Raises OSError."""
        part = self.path.with_suffix(".jsonl.part")
        with open(part, "w", encoding="utf-8") as file:
            for record in records_in(self.path):
                if record.get("binary") == self.binary:
                    made = tuple(record["arguments"]), record["replicate"]
                    record["document"] = self.known.get(made, record["document"])
                file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())
        part.rename(self.path)

    def why_left_out(self, point):
        """The reason why this machine cannot really run the point; None if it can."""
        for (arguments, _), document in self.known.items():
            if arguments == point.arguments and gaps.of_all(document):
                return document["reason"]
        return None


def records_in(path):
    """Returns the records of a results.jsonl; none if there is no file. Raises InputError if a line is something else."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--out: {path}: {getattr(error, 'strerror', 'is not text')}") from None
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue   # a killed run left an incomplete line
        if not is_record(records[-1]):
            raise InputError(f"--out: {path}, line {number}: is no result; move the file away, or give another folder")
    return records


def is_record(value):
    """True if a JSON value is what `add` writes, as far as every reader relies on it."""
    kinds = {"binary": str, "arguments": list, "replicate": int, "document": dict}
    if not isinstance(value, dict) or not all(isinstance(value.get(key), kind) for key, kind in kinds.items()):
        return False
    arguments, document = value["arguments"], value["document"]
    return is_words(arguments) and all(SEED.fullmatch(word) for word in arguments if definition.name_of(word) == "--seed") and \
        isinstance(value.get("node", ""), str) and all(is_number(value.get(key, 0)) for key in ("began", "ended")) and \
        "status" in document and (columns.other_schema(document) is not None or is_document(document))


def is_words(value):
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_document(value):
    """True if a dictionary is a document of this schema, as far as a sweep relies on it."""
    machine, throughput = ({} if value.get(key) is None else value[key] for key in ("machine", "throughput"))
    if not isinstance(machine, dict) or not isinstance(throughput, dict):
        return False
    rate = throughput.get("per_second")
    return isinstance(value.get("status"), str) and isinstance(value.get("reason", ""), str) and \
        all(isinstance(machine.get(key), str | None) for key in ("boot_id", "topology_digest")) and \
        (rate is None or is_number(rate) and rate >= 0)


def last_run(folder):
    """Returns the hash of the binary that wrote last into the folder, the processors of its machine, and the options of that run."""
    path = folder / "results.jsonl"
    last = None
    for record in records_in(path):
        try:
            last = record["binary"], (record["document"].get("machine") or {}).get("processors"), record["arguments"]
        except (KeyError, TypeError, AttributeError):
            continue
    if last is None:
        raise InputError(f"--redraw: there is no result in {path}; without --redraw it would be measured")
    return last
