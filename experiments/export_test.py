"""Tests of `./bench export`: the table has all values of the documents, under the names that docs/columns.md lists.

Run by CTest, which says where the harness is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 experiments/export_test.py
"""
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]
HARNESS = os.environ.get("LATCHLAB_HARNESS") or str(TREE / "build/release/harness")
PYTHON = TREE / "build/python/bin/python"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TREE / "experiments"))

import columns  # noqa: E402


def has(module):
    return PYTHON.exists() and subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def export(*arguments, python=sys.executable):
    command = [python, "-B", TREE / "experiments/export.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def leaves(value, place=""):
    """Returns each number, word or null of a document with its place. Lists are left out."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{place}.{key}" if place else key)
    elif not isinstance(value, list):
        yield place, value


class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.out = cls.folder / "results"
        short = ["--index=art", "--records=2000", "--warmup=0", "--progress=none", f"--out={cls.out}"]
        cls.run_harness(*short, "--sync=none", "--sync=olc", "--ops=20000", "--sample=10s", "--rows=4000", "--latency=sample:0.1")
        cls.run_harness(*short, "--sync=olc", "--time=300ms", "--sample=5ms")
        files = [json.loads(file.read_text()) for file in cls.out.glob("*.json")]
        cls.documents = sorted(files, key=lambda document: document["started"])

    @staticmethod
    def run_harness(*arguments):
        subprocess.run([HARNESS, *arguments], check=True, stdout=subprocess.DEVNULL, timeout=60)

    def rows(self, *arguments):
        done = export(*arguments, "--format=jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_a_run_is_a_row_with_every_named_value_of_its_document(self):
        rows = self.rows(self.out)
        self.assertEqual(len(rows), 3)
        for row, document in zip(rows, self.documents, strict=True):
            for place, value in leaves(document):
                if value is None:
                    self.assertTrue(row[f"{place}_reason"], place)
                    self.assertIsNone(row.get(place), place)
                else:
                    self.assertEqual(row[place], value, place)
        timed = self.documents[0]["latency"]["all"]
        self.assertEqual(rows[0]["latency.all.percentiles.50.ns"], timed["percentiles"][0]["ns"])
        event = self.documents[0]["pmu"]["events"][0]
        self.assertEqual(rows[0][f"pmu.events.{event['family']}.{event['name']}.count.raw"], event["count"]["raw"])
        self.assertIn(f"--out={self.out}", rows[0]["command"])

    def test_csv_has_the_same_values_and_missing_ones_are_empty(self):
        done = export(self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = list(csv.DictReader(done.stdout.splitlines()))
        for row, own in zip(self.rows(self.out), table, strict=True):
            self.assertEqual(list(row), list(own))
            for name, value in row.items():
                text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
                self.assertEqual(own[name], text, name)
        self.assertEqual([row["sync.restart_rate"] for row in table][0], "")
        self.assertEqual([row["config.sync"] for row in table], ["none", "olc", "olc"])

    @unittest.skipUnless(has("pyarrow"), "build/python has no pyarrow: it is there where PyPI can be reached")
    def test_parquet_has_the_same_values_with_types(self):
        file = self.folder / "a.parquet"
        done = export(self.out, "--format=parquet", f"--out={file}", python=PYTHON)
        self.assertEqual(done.returncode, 0, done.stderr)
        code = ("import json, sys; from pyarrow import parquet; t = parquet.read_table(sys.argv[1]); "
                "print(json.dumps([t.to_pylist(), {f.name: str(f.type) for f in t.schema}]))")
        rows, types = json.loads(subprocess.run([PYTHON, "-c", code, file], capture_output=True, check=True, timeout=60).stdout)
        self.assertEqual(rows, self.rows(self.out))
        wanted = {"run_id": "string", "config.threads": "int64", "throughput.per_second": "double", "interrupted": "bool",
                  "offer.late": "bool"}   # no run here has the last one
        self.assertEqual({name: types[name] for name in wanted}, wanted)

    def test_a_series_is_a_row_for_each_interval(self):
        rows = self.rows(self.out, "--series")
        last = self.documents[2]
        own = [row for row in rows if row["run_id"] == last["run_id"]]
        self.assertGreater(len(own), 1)
        self.assertEqual([row["throughput.series"] for row in own], last["throughput"]["series"])
        self.assertEqual([row["number"] for row in own], list(range(len(own))))
        self.assertAlmostEqual(own[1]["start_s"], last["throughput"]["interval_s"])
        rates = last["sync"]["series"]["restarts"]
        self.assertEqual([row["sync.series.restarts"] for row in own][: len(rates)], rates)
        none = next(row for row in rows if row["config.sync"] == "none")
        self.assertTrue(none["sync.series_reason"])
        self.assertEqual((none["number"], none["throughput_reason"]), (None, "the run ended within the first interval"))

    def test_rows_of_a_document_are_rows_and_a_run_without_rows_gives_the_reason(self):
        rows = self.rows(self.out, "--series=rows")
        for document in self.documents:
            own = [row for row in rows if row["run_id"] == document["run_id"]]
            if document["rows"] is None:
                (row,) = own
                self.assertEqual((row["number"], row["rows_reason"]), (None, document["rows_reason"]))
            else:
                self.assertEqual([row["rows.operations"] for row in own], [row["operations"] for row in document["rows"]])
                self.assertGreater(len(own), 2)
                self.assertTrue(own[0]["rows.nodes_per_fetch_reason"])

    def test_of_the_folder_of_a_sweep_only_results_that_count_are_read(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            for name, text in (("sweep.json", "{}"), ("failures.jsonl", ""), ("haswell/aside.jsonl", "x"), ("zen4/results.jsonl", "")):
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(text)
            self.assertIn("zen4/results.jsonl' is empty", export(folder).stderr)
            for kind in ("haswell", "zen4"):
                (folder / kind / "results.jsonl").write_text(json.dumps({"document": self.documents[0]}) + "\n")
            self.assertEqual([row["run_id"] for row in self.rows(folder)], [self.documents[0]["run_id"]] * 2)
            torn = folder / "zen4/results.jsonl"   # in the middle, since the sweep has gone on, and at the end
            line = torn.read_text()
            torn.write_text(f"{line[:50]}\n{line}{line[:70]}")
            for results, rows in ((folder, 2), (torn, 1)):
                done = export(results)
                self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 1 + rows), done.stderr)
                self.assertEqual([said.split(": ")[1] for said in done.stderr.splitlines()], [f"'{torn}', line {n}" for n in (1, 3)])
            (folder / "sweep.json").unlink()
            self.assertIn("failures.jsonl", export(folder).stderr)

    def test_the_dictionary_has_every_column(self):
        self.assertEqual((TREE / "docs/columns.md").read_text(), columns.dictionary(), "run: python3 experiments/columns.py")
        for arguments in ((), ("--series",), ("--series=rows",)):
            # A reason shares the line of its column.
            told = re.findall(r"(?m)^\| `([^`]+)` \|", columns.dictionary())
            told = [re.sub(r"<\w+>", "[^ ]+", re.escape(name).replace(r"\<", "<").replace(r"\>", ">")) for name in told]
            pattern = re.compile(f"({'|'.join(told)})(_reason)?")
            for name in self.rows(self.out, *arguments)[0]:
                self.assertRegex(name, pattern)
                self.assertTrue(pattern.fullmatch(name), name)

    def test_columns_with_fixed_names_do_not_depend_on_the_results(self):
        one = set(self.rows(next(iter(sorted(self.out.glob("*.json")))))[0])
        fixed = {column.name for column in columns.run_columns() if "<" not in column.name}
        self.assertLessEqual(fixed, one)

    def test_results_of_experiments_and_comparisons_are_accepted_too(self):
        kept = self.folder / "kept"
        kept.mkdir()
        lines = [json.dumps({"binary": "b", "document": document}) for document in self.documents]
        (kept / "results.jsonl").write_text("\n".join(lines) + "\n")
        replicates = [{"document": document} for document in self.documents]
        (kept / "ab.json").write_text(json.dumps({"variants": [{"replicates": replicates}, {"replicates": replicates}]}))
        self.assertEqual(len(self.rows(kept)), 9)
        self.assertEqual(self.rows(kept / "results.jsonl"), self.rows(self.out))

    def test_wrong_input_is_one_line_and_leaves_the_file_unchanged(self):
        out = self.folder / "table.csv"
        out.write_text("mine")
        bad = self.folder / "bad.json"
        text = json.dumps(self.documents[0])
        empty = self.folder / "empty"
        empty.mkdir()
        for content, arguments, said in (
            (text[:-9], (bad,), f"'{bad}', line 1: not a result"),
            (f"{text}\n[]\n", (bad,), f"'{bad}', line 2: not a result"),
            ("", (bad,), f"'{bad}' is empty"),
            (text.replace('"config": {', '"config": 7, "": {'), (bad,), f"'{bad}', line 1: a result that is not as"),
            (text.replace('"schema_version": ', '"schema_version": 9'), (bad,), "a result of schema 9"),
            ("", (self.folder / "nosuch.json",), "cannot be read: No such file"),
            ("", (empty,), "holds no .json file; harness --out="),
            ("", (), "name results to export"),
            ("", (self.out, "--format=xlsx"), "--format=xlsx: there are csv, jsonl, parquet"),
            ("", (self.out, "--series=latency"), "--series=latency: there are throughput, rows"),
            ("", (self.out, "--csv"), "there is no '--csv' here; there are --format="),
            ("", (self.out, "--out=/proc/nowhere"), "--out=/proc/nowhere: "),
        ):
            bad.write_text(content)
            with self.subTest(said=said):
                done = export(*arguments, *([f"--out={out}"] if not any("--out=" in str(a) for a in arguments) else []))
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertEqual(out.read_text(), "mine")
        self.assertEqual(list(self.folder.glob(".*")), [])
        done = export(self.out, "--format=parquet")
        self.assertEqual((done.returncode, "--out=FILE" in done.stderr), (2, True))

    def test_it_needs_no_build(self):
        tree = self.folder / "tree"
        scripts = [f"experiments/{name}.py" for name in ("export", "columns", "definition", "gaps", "input_error")]
        for name in ("bench", "cmake/setup.sh", "harness/result/result.schema.json", *scripts):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TREE / name, tree / name)
        shutil.copytree(TREE / "docs/help", tree / "docs/help")   # names the commands
        done = subprocess.run([tree / "bench", "--no-install", "export", "results"], cwd=self.folder, capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 4)
        self.assertFalse((tree / "build").exists())


if __name__ == "__main__":
    unittest.main()
