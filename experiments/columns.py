"""The columns of `./bench export`, which follow from harness/result/result.schema.json.

    columns.py        writes docs/columns.md, the dictionary

The name of a column is its place in the document: throughput.per_second. In a pattern, `<name>` stands for a key of a table whose keys
are not fixed, such as the causes of aborts. It also stands for the fields that distinguish the elements of a list.
"""
import json
import pathlib
import shlex
from dataclasses import dataclass

TREE = pathlib.Path(__file__).resolve().parents[1]
SCHEMA = json.loads((TREE / "harness/result/result.schema.json").read_text(encoding="utf-8"))
VERSION = SCHEMA["properties"]["schema_version"]["const"]
KINDS = {"string": str, "boolean": bool, "integer": int, "number": float}
WORDS = {str: "text", bool: "true or false", int: "whole number", float: "number"}
KEYS = ("family", "name", "percent", "node")   # fields that distinguish the elements of a list, if the first field is one of them

# The first columns of a row with --series name its run; the columns in SERIES give the place in the run.
OF_THE_RUN = ("run_id", "point_hash", "replicate", "status", "config.index", "config.sync", "config.threads", "config.workload")
SERIES = {
    "throughput": {
        "number": (int, "number of the interval, from 0; empty if the run has no series"),
        "start_s": (float, "seconds from the start of the measured phase to the start of the interval"),
        "throughput.interval_s": (float, "length of the interval, in seconds"),
        "throughput.series": (float, "operations per second in the interval"),
    },
    "rows": {"number": (int, "number of the row, from 0; empty if the run has no rows")},
}


@dataclass(frozen=True)
class Column:
    """A pattern of columns: `<...>` in the name stands for any key."""

    name: str
    kind: type
    description: str = ""


def not_null(schema):
    """The schema of a property without the choice of null, with the description of the property."""
    if "anyOf" not in schema:
        return schema
    (kind,) = (option for option in schema["anyOf"] if option != {"type": "null"})
    return {**kind, **{key: value for key, value in schema.items() if key != "anyOf"}}


def keys_of(items):
    """Returns the fields that distinguish the elements of a list; none if there are no such fields."""
    fields = list(items.get("properties", {}))
    return [key for key in KEYS if key in fields] if fields and fields[0] in KEYS else []


def joined(*words):
    return ".".join(word for word in words if word)


def other_schema(document):
    """Returns the schema of a document; None if it is that of this tree."""
    version = document.get("schema_version", VERSION)
    return None if version == VERSION else version


def patterns(schema, place=""):
    """The columns of a place, in the order of the schema."""
    schema = not_null(schema)
    if isinstance(schema.get("additionalProperties"), dict):
        return patterns({"description": schema.get("description", ""), **schema["additionalProperties"]}, joined(place, "<name>"))
    if "properties" in schema:
        return [column for key, value in schema["properties"].items() for column in patterns(value, joined(place, key))]
    if schema.get("type") == "array":
        items = schema["items"]
        if keys := keys_of(items):
            rest = {key: value for key, value in items["properties"].items() if key not in keys}
            return patterns({"properties": rest}, joined(place, *(f"<{key}>" for key in keys)))
        return [Column(place, str, schema.get("description", ""))] if items.get("type") == "string" else []
    examples = schema.get("enum") or [schema["const"]] if "const" in schema or "enum" in schema else []
    kind = type(examples[0]) if examples else KINDS[schema["type"]]
    description = schema.get("description", "")
    if place.endswith("_reason"):
        description = f"reason why the columns {place.removesuffix('_reason')}. ... are empty"
    elif examples and kind is str:
        description = "; ".join(filter(None, [", ".join(examples), description]))
    return [Column(place, kind, description)]


def flat(schema, value, place="", pattern=""):
    """The values at a place of a document: name of the column -> (its pattern, value). A null gives nothing."""
    schema = not_null(schema)
    if value is None:
        return {}
    out = {}
    if isinstance(schema.get("additionalProperties"), dict):
        for key, each in value.items():
            out |= flat(schema["additionalProperties"], each, joined(place, key), joined(pattern, "<name>"))
    elif "properties" in schema:
        for key, each in value.items():
            if key in schema["properties"]:
                out |= flat(schema["properties"][key], each, joined(place, key), joined(pattern, key))
    elif schema.get("type") == "array":
        items = schema["items"]
        if keys := keys_of(items):
            for each in value:
                rest = {key: e for key, e in each.items() if key not in keys}
                own = [f"{each[key]:g}" if isinstance(each[key], float) else str(each[key]) for key in keys]
                out |= flat(items, rest, joined(place, *own), joined(pattern, *(f"<{key}>" for key in keys)))
        elif items.get("type") == "string":
            out[place] = pattern, shlex.join(value) if place == "command" else "; ".join(value)
    else:
        out[place] = pattern, value
    return out


def run_columns():
    return patterns(SCHEMA)


def series_columns(series):
    """Returns the columns of a row of a series."""
    of_run = [column for name in OF_THE_RUN for column in run_columns() if column.name == name]
    own = [Column(name, *rest) for name, rest in SERIES[series].items()]
    if series == "throughput":
        own += patterns(SCHEMA["properties"]["throughput_reason"], "throughput_reason")
        sync = not_null(SCHEMA["properties"]["sync"])["properties"]
        text = not_null(sync["series"])["description"]
        own += [Column("sync.series.<name>", float, text), *patterns(sync["series_reason"], "sync.series_reason")]
    else:
        own += patterns(not_null(SCHEMA["properties"]["rows"])["items"], "rows")
        own += patterns(SCHEMA["properties"]["rows_reason"], "rows_reason")
    return of_run + own


def one(columns, document):
    """Returns the row of a document, name -> (pattern, value), with these columns only."""
    wanted = {column.name for column in columns}
    return {name: found for name, found in flat(SCHEMA, document).items() if found[0] in wanted}


def series_rows(series, columns, document):
    """Returns the rows of a series of a document. Without a series it is one row that says why."""
    run = one(columns, document)
    found = document.get(series)
    if not found:
        return [run]
    if series == "rows":
        schema = not_null(SCHEMA["properties"]["rows"])["items"]
        return [{**run, "number": ("number", i), **flat(schema, row, "rows", "rows")} for i, row in enumerate(found)]
    if not found["series"]:
        return [{**run, "throughput_reason": ("throughput_reason", "the run ended within the first interval")}]
    rows = []
    for i, rate in enumerate(found["series"]):
        own = {"number": i, "start_s": i * found["interval_s"], "throughput.interval_s": found["interval_s"], "throughput.series": rate}
        row = {**run, **{name: (name, value) for name, value in own.items()}}
        for name, rates in (document["sync"].get("series") or {}).items():
            if i < len(rates):   # the last intervals may have no rate
                row[f"sync.series.{name}"] = "sync.series.<name>", rates[i]
        rows.append(row)
    return rows


def table(columns):
    """Returns lines of Markdown. A column and its _reason column share a line."""
    names = {column.name for column in columns}
    lines = ["| column | type | description |", "|---|---|---|"]
    for column in columns:
        if column.name.removesuffix("_reason") not in names - {column.name}:
            kind = WORDS[column.kind] + (", or empty" if f"{column.name}_reason" in names else "")
            lines.append(f"| `{column.name}` | {kind} | {column.description.replace('|', chr(92) + '|')} |")
    return lines


def dictionary():
    """Returns the text of docs/columns.md."""
    lines = [
        "# Columns of an export",
        "",
        "<!-- Written by experiments/columns.py from harness/result/result.schema.json. -->",
        "",
        "`./bench export RESULTS... --format=csv` writes one row for each run. `--format=jsonl` and `--format=parquet` have the same columns.",
        "The name of a column is its place in the result document. `<name>` stands for any name that occurs in the results.",
        "Lists whose elements have no name are left out: series, rows, threads, caches, histograms.",
        "",
        "A value that was not measured is empty in CSV, and null in JSON lines and Parquet. It is never zero. A column that may be empty",
        "has a second column with the suffix `_reason`, which says why. If a whole part of the document is missing, one such column",
        "gives the reason for the part: `latency_reason`.",
        "",
        "One index has the name `null`, which pandas reads as a missing value by default. Read with:",
        "`pandas.read_csv(file, keep_default_na=False, na_values=[\"\"])`.",
        "",
        "## A row of a run",
    ]
    parts = {}
    for column in run_columns():
        part = column.name.split(".")[0].removesuffix("_reason")
        parts.setdefault(part if part in SCHEMA["properties"] else column.name, []).append(column)
    alone = [c for part in parts.values() if len(part) <= 2 and "." not in part[0].name for c in part]
    lines += ["", *table(alone)]
    for part, columns in parts.items():
        if not set(columns) <= set(alone):
            text = not_null(SCHEMA["properties"][part]).get("description", "")
            lines += ["", f"### {part}", *(["", f"{text}."] if text else []), "", *table(columns)]
    for series, option in (("throughput", "--series"), ("rows", "--series=rows")):
        of = "interval of throughput.series" if series == "throughput" else "row of the document (`harness rows`)"
        lines += ["", f"## A row with `{option}`", "", f"There is one row for each {of}. `run_id` joins it with the row of its run.", ""]
        lines += table(series_columns(series))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (TREE / "docs/columns.md").write_text(dictionary(), encoding="utf-8")
