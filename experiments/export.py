"""Writes results as a table; `./bench export` runs it.

    ./bench export RESULTS... [--format=csv|jsonl|parquet] [--series[=throughput|rows]] [--out=FILE]

RESULTS are documents that --json printed, or folders that --out wrote. Results of `ab` and of experiments are accepted, too. There is
one row for each run. With --series there is one row for each interval of throughput.series, with --series=rows one for each row of the
document. docs/columns.md describes the columns. The default is CSV on standard output. Parquet needs --out.

Exit status: 0, or 2 for wrong input; then nothing is written.
"""
import csv
import io
import json
import os
import pathlib
import sys
from dataclasses import dataclass

import columns
from input_error import InputError, run_script

KEPT = "results.jsonl"   # of sweeps and experiments, which make the run of an incomplete line again
FORMATS = ("csv", "jsonl", "parquet")


@dataclass
class Request:
    results: list
    format: str = "csv"
    series: str = ""   # empty: one row for each run
    out: pathlib.Path | None = None


def parse(arguments):
    request = Request([])
    for argument in arguments:
        name, _, value = argument.partition("=")
        if not argument.startswith("--"):
            request.results.append(pathlib.Path(argument))
        elif name == "--format":
            if value not in FORMATS:
                raise InputError(f"{argument}: there are {', '.join(FORMATS)}")
            request.format = value
        elif argument == "--series":
            request.series = "throughput"
        elif name == "--series":
            if value not in columns.SERIES:
                raise InputError(f"{argument}: there are {', '.join(columns.SERIES)}")
            request.series = value
        elif name == "--out" and value:
            request.out = pathlib.Path(value)
        else:
            raise InputError(f"there is no '{argument}' here; there are --format={'|'.join(FORMATS)}, "
                             f"--series[={'|'.join(columns.SERIES)}], --out=FILE")
    if not request.results:
        raise InputError("name results to export: files of --json, or a folder of --out")
    if request.format == "parquet" and request.out is None:
        raise InputError("--format=parquet: the output is not text; name its file with --out=FILE")
    return request


def is_result(document):
    return isinstance(document, dict) and all(
        key in document and isinstance(document[key], dict | None) for key in ("throughput", "sync")
    )


def results_in(value):
    """Returns the documents in a JSON value: a result, a line of an experiment's results.jsonl, or a comparison of `ab`."""
    if is_result(value):
        return [value]
    if not isinstance(value, dict):
        return []
    kept = [value] if "document" in value else []
    for variant in value.get("variants") or []:
        kept += variant.get("replicates") or []
    return [document for each in kept if is_result(document := each.get("document"))]


def read_file(path):
    """Returns the documents of a file, each with the place where it stands."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"'{path}' is not text; harness --json prints results, one a line") from None
    try:
        parts = [(1, json.loads(text))]
    except json.JSONDecodeError:
        parts = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                parts += [(number, json.loads(line))] if line.strip() else []
            except json.JSONDecodeError:
                if path.name == KEPT:
                    print(f"export: '{path}', line {number}: left out; a killed program or a full disk left it incomplete", file=sys.stderr)
                else:
                    parts.append((number, None))
    out = []
    for number, part in parts:
        found = results_in(part)
        if not found:
            raise InputError(f"'{path}', line {number}: not a result; harness --json prints one a line")
        for document in found:
            if (version := document.get("schema_version", 0)) > columns.VERSION:
                known = f"this tree knows those up to {columns.VERSION}"
                raise InputError(f"'{path}', line {number}: a result of schema {version}; {known}")
        out += [(f"'{path}', line {number}", document) for document in found]
    if not out:
        raise InputError(f"'{path}' is empty")
    return out


def read(path):
    """Returns the documents of a file, or of a folder in the order in which they were measured."""
    if not path.is_dir():
        return read_file(path)
    files = sorted([*path.glob("*.json"), *path.glob("*.jsonl")])
    if (path / "sweep.json").exists():   # of a sweep or an experiment, whose other files hold no results that count
        files = sorted([*path.glob(KEPT), *path.glob(f"*/{KEPT}")])
        if not files:
            raise InputError(f"'{path}' holds no {KEPT}; the sweep has no result yet")
    if not files:
        raise InputError(f"'{path}' holds no .json file; harness --out={path} writes them")
    return sorted((each for file in files for each in read_file(file)), key=lambda each: str(each[1].get("started", "")))


def table(series, documents):
    """Returns the columns, name -> kind, and the rows, each name -> value. Columns with fixed names are always present. `documents`
    has each document with its place."""
    patterns = columns.series_columns(series) if series else columns.run_columns()
    rows, names = [], {pattern.name: {} for pattern in patterns}
    for where, document in documents:
        try:
            found = columns.series_rows(series, patterns, document) if series else [columns.flat(columns.SCHEMA, document)]
        except (AttributeError, IndexError, KeyError, TypeError):
            raise InputError(f"{where}: a result that is not as harness/result/result.schema.json says") from None
        for row in found:
            for name, (pattern, _) in row.items():
                names[pattern][name] = True
            rows.append({name: value for name, (_, value) in row.items()})
    kinds = {}
    for pattern in patterns:
        for name in names[pattern.name] if "<" in pattern.name else [pattern.name]:
            kinds[name] = pattern.kind
    return kinds, rows


def word(value):
    """Returns a value as text of CSV; true and false are spelled as in JSON."""
    return str(value).lower() if isinstance(value, bool) else value


def as_csv(kinds, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(kinds)
    writer.writerows([word(row.get(name)) for name in kinds] for row in rows)
    return out.getvalue().encode()


def as_jsonl(kinds, rows):
    return "".join(json.dumps({name: row.get(name) for name in kinds}) + "\n" for row in rows).encode()


def as_parquet(kinds, rows):
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(f"--format=parquet: {error}; ./bench export installs it, or take --format=jsonl") from None
    types = {str: pyarrow.string(), bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
    arrays = {}
    for name, kind in kinds.items():
        values = [row.get(name) for row in rows]
        large = kind is int and any(value is not None and value >= 1 << 63 for value in values)   # a seed may be as large
        try:
            arrays[name] = pyarrow.array(values, pyarrow.uint64() if large else types[kind])
        except (pyarrow.ArrowException, TypeError) as error:
            raise InputError(f"--format=parquet: {name}: {error}") from None
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays), out)
    return out.getvalue()


def keep(path, data):
    """Writes the whole file or nothing."""
    part = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"--out={path}: {error.strerror}") from None


def export_main(arguments):
    request = parse(arguments)
    kinds, rows = table(request.series, [document for path in request.results for document in read(path)])
    data = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}[request.format](kinds, rows)
    if request.out is not None:
        keep(request.out, data)
        print(f"export: {len(rows)} rows in {request.out}", file=sys.stderr)
        return 0
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:   # the reader, such as `| head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("--help", "-h"):
        print(__doc__.strip())
        sys.exit(0)
    run_script("harness: export", export_main, sys.argv[1:])
