"""Tests of what a sweep and an experiment refuse before they begin: foreign folders, results of others, and binaries that are no harness.

CTest runs it. By hand: python3 experiments/begin_test.py
"""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from experiment_testing import TREE, fake_in, run_policies

import begin  # noqa: E402
import blocks  # noqa: E402
import columns  # noqa: E402
import plan as plans  # noqa: E402
import results  # noqa: E402
import sweep  # noqa: E402
from engines import ENGINES  # noqa: E402
from engines.local import Local  # noqa: E402
from input_error import InputError  # noqa: E402

SWEEP = {"schema": plans.SCHEMA, "name": "sweep", "command": [], "replicates": 1, "points": [], "kinds": {}}
RECORD = {"binary": "another", "arguments": ["--threads=1"], "replicate": 0, "document": {"status": "ok"}}


class Beginning(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.out = self.folder / "out"
        self.out.mkdir()
        (self.out / "tasks").mkdir()
        self.sweep = self.out / "sweep.json"
        self.sweep.write_text(json.dumps(SWEEP))

    def refused(self, said, call, *arguments):
        with self.assertRaises(InputError) as caught:
            call(*arguments)
        self.assertIn(said, str(caught.exception))
        self.assertEqual(len(str(caught.exception).splitlines()), 1)

    def test_a_path_that_is_no_folder_is_refused(self):
        for path in (self.sweep, self.sweep / "x", self.sweep / "x/y"):
            self.refused(f"{self.sweep} is no folder", begin.check_folder, path, "sweep", [""])

    def test_our_files_are_known_wherever_a_killed_program_left_them(self):
        for name in ("results.jsonl", "results.jsonl.part", "sweep.json.part", "machines.svg", "aside.jsonl", "kinds.json"):
            (self.out / name).touch()
        for name in ("0123456789ab.driver", "block0-try1.json", "zen4-block10-try2.records.part", "slurm"):
            (self.out / "tasks" / name).touch()
        (self.out / "zen4").mkdir()
        (self.out / "zen4/results.jsonl").touch()
        begin.check_folder(self.out, "sweep", ["zen4"])
        self.sweep.write_text(json.dumps(SWEEP | {"name": "policies"}))
        for name in ("figure.svg", "policies.png", "policies-2.caption.txt", "zen4/figure.html"):
            (self.out / name).touch()
        begin.check_folder(self.out, "policies", ["zen4"])

    def test_foreign_files_are_refused_wherever_they_lie(self):
        for name, said in (
            ("thesis.tex", "thesis.tex is no file of a sweep; move it away"),
            ("zen4/thesis.tex", "zen4/thesis.tex is no file of a sweep; move it away"),
            ("tasks/mine.json", "mine.json: is no task of a sweep; remove it"),
            ("failures.jsonl/x", "failures.jsonl is no file of a sweep"),
            ("zen4/tasks/x", "zen4/tasks is no file of a sweep"),
        ):
            with self.subTest(name=name):
                path = self.out / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
                self.refused(said, begin.check_folder, self.out, "sweep", ["zen4"])
                first = self.out / path.relative_to(self.out).parts[0]
                shutil.rmtree(first) if first.is_dir() else first.unlink()

    def test_a_sweep_json_of_others_is_refused_and_stays(self):
        for text, said in (
            (b"mine", "its sweep.json is something else"),
            (b"\xff", "its sweep.json is something else"),
            (b"[]", "its sweep.json is something else"),
            (json.dumps(SWEEP | {"schema": 2}).encode(), "sweep.json: schema 2; this program knows 1"),
            (b'{"schema": 1}', "its sweep.json is something else"),
            *((json.dumps(SWEEP | wrong).encode(), "its sweep.json is something else") for wrong in (
                {"replicates": "x"}, {"replicates": 0}, {"points": [[3]]}, {"points": ["--threads=1"]}, {"kinds": {"../../x": "binary"}},
                {"kinds": {"..": "binary"}}, {"kinds": {"\0": "binary"}}, {"kinds": {"zen4": 3}},
                {"command": 3}, {"command": [3]}, {"name": None})),
            (json.dumps(SWEEP | {"name": "policies"}).encode(), "is the folder of the experiment 'policies'; give another"),
        ):
            with self.subTest(text=text):
                self.sweep.write_bytes(text)
                self.refused(said, begin.check_folder, self.out, "sweep", [""])
                if "of the experiment" not in said:
                    self.refused(said, plans.load, self.out)   # for `status`
                self.assertEqual(self.sweep.read_bytes(), text)
        self.sweep.write_text(json.dumps(SWEEP))
        self.refused("is the folder of a sweep; give another", begin.check_folder, self.out, "policies", [""])

    def test_a_task_whose_name_is_not_its_own_is_refused(self):
        task = {"kind": "", "replicate": "0/../../../victim", "attempt": 1, "arguments": []}
        (self.out / "tasks/block0-try1.json").write_text(json.dumps(task))
        self.refused("is no task of a sweep; remove it", blocks.tasks_in, self.out / "tasks")

    def test_a_task_with_other_values_is_refused(self):
        task = {"kind": "", "replicate": 0, "attempt": 1, "arguments": [["--threads=1"]]}
        file = self.out / "tasks/block0-try1.json"
        file.write_text(json.dumps(task))
        self.assertEqual(blocks.tasks_in(self.out / "tasks")[0].arguments, [("--threads=1",)])
        for wrong in ({"read": "x"}, {"read": 1}, {"handle": []}, {"handle": None}, {"node": 3}, {"engine": None}, {"arguments": [[3]]},
                      {"arguments": ["--threads=1"]}, {"attempt": "1"}):
            with self.subTest(wrong=wrong):
                file.write_text(json.dumps(task | wrong))
                self.refused("is no task of a sweep; remove it", blocks.tasks_in, self.out / "tasks")

    def test_lines_that_are_no_results_are_refused_and_torn_ones_are_not(self):
        file = self.out / "results.jsonl"
        good = json.dumps(RECORD)
        file.write_text(f"{good}\n{good[:30]}\n{good}\n")
        self.assertEqual(results.records_in(file), [RECORD, RECORD])
        for key, wrong in (("arguments", None), ("arguments", [1]), ("arguments", ["--seed=x"]),
                           ("document", None), ("document", {}), ("replicate", "0"),
                           ("began", "x"), ("began", None), ("ended", True), ("node", 3), ("document", {"status": 3}),
                           *(("document", {"status": "ok", key: wrong}) for key, wrong in (
                               ("reason", 3), ("machine", "x"), ("machine", {"boot_id": []}), ("machine", {"topology_digest": []}),
                               ("throughput", "x"), ("throughput", {"per_second": "x"}), ("throughput", {"per_second": -1})))):
            with self.subTest(key=key, wrong=wrong):
                file.write_text(f"{good}\n{json.dumps(RECORD | {key: wrong})}\n")
                self.refused("results.jsonl, line 2: is no result; move the file away", results.records_in, file)
        other = RECORD | {"document": {"status": "ok", "schema_version": 1, "machine": "as it was then"}}
        file.write_text(json.dumps(other))
        self.assertEqual(results.records_in(file), [other])
        file.write_bytes(b"\xff\n")
        self.refused("results.jsonl: is not text", results.records_in, file)

    def test_failures_that_are_something_else_are_none(self):
        failure = {"kind": "", "arguments": ["--threads=1"], "replicate": 0, "reason": "killed"}
        for line in (b"\xff", *(json.dumps(failure | wrong).encode() for wrong in ({"kind": 3}, {"arguments": [3]}, {"arguments": "x"}))):
            (self.out / "failures.jsonl").write_bytes(line + b"\n")
            self.assertEqual(plans.failures_in(self.out), {})
        (self.out / "failures.jsonl").write_text(json.dumps(failure))
        self.assertEqual(plans.failures_in(self.out), {("", ("--threads=1",), 0): "killed"})

    def test_results_of_another_binary_or_schema_are_refused(self):
        engine = Local(fake_in(self.folder))
        file = self.out / "results.jsonl"
        file.write_text(json.dumps(RECORD) + "\n")
        self.refused("has results of another binary; give another --out", begin.results_of, self.out, engine)
        self.assertEqual(begin.results_of(self.out, engine, apart=True)[""].known, {})
        own = RECORD | {"binary": results.digest(engine.harness("")), "seed": 1}
        file.write_text(json.dumps(own | {"document": {"status": "ok", "schema_version": 1}}) + "\n")
        self.refused(f"has documents of schema 1; this tree has {columns.VERSION}", begin.results_of, self.out, engine)

    def test_a_document_of_another_schema_is_a_failure(self):
        task = blocks.Task("", 0, 1, [("--threads=1",)], self.out)
        record = {"point": 0, "node": "n", "began": 0, "ended": 1, "exit": 0, "said": "", "document": {"status": "ok", "schema_version": 1}}
        self.assertEqual(task.outcome(record).failure, f"its document has schema 1; this tree has {columns.VERSION}")

    def test_a_run_that_prints_something_else_than_a_document_has_failed(self):
        for document in ({}, {"notes": 3}, {"status": 3}, {"status": "ok", "throughput": "x"}, {"status": "ok", "machine": []}):
            with self.subTest(document=document):
                task = blocks.Task("", 0, 1, [("--threads=1",)], self.out / "tasks")
                record = {"point": 0, "node": "n", "began": 0, "ended": 1, "exit": 0, "said": "", "document": document}
                task.file("records").write_text(json.dumps(record) + "\n")
                self.assertEqual([outcome.failure for outcome in task.news()], ["it printed something else than a document of this schema"])

    def test_a_binary_that_is_no_harness_is_refused(self):
        other = self.folder / "other"
        other.write_bytes(b"\x7fELF of another machine")
        other.chmod(0o755)
        harness = fake_in(self.folder, '#!/usr/bin/python3\nprint(\'{"words": [], "pair": "art:olc"}\')\n')
        text = self.folder / "text"
        text.touch()
        for binary, on, said in (
            (text, "local", "text is no harness for these runs: Permission denied"),
            (text, "slurm", "text is no harness for these runs: Permission denied"),
            ("/bin/true", "slurm", "is no harness for these runs: it printed something else"),
            ("/bin/false", "slurm", "is no harness for these runs"),
            (other, "local", "other is no harness for these runs: Exec format error"),
            (other, "slurm", ""),
            (harness, "local", ""),
        ):
            with self.subTest(binary=binary, on=on):
                if said:
                    self.refused(said, begin.check_binaries, Local(binary), on, [str(binary)])
                else:
                    begin.check_binaries(Local(binary), on, [str(binary)])
        begin.check_binaries(Local("/bin/true"), "local", [])   # ours, which --binary does not bring

    def test_emitted_scripts_are_collected_and_drawn_by_the_same_command(self):
        harness, calls = fake_in(self.folder), self.folder / "calls"
        shutil.rmtree(self.out)

        def emit():
            calls.unlink(missing_ok=True)
            with mock.patch.dict(os.environ, PATH=str(self.folder)):   # where no Slurm is
                done = run_policies(self.folder, "--emit=sbatch", "--on=slurm")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual({json.loads(call)[0] for call in calls.read_text().splitlines()}, {"points"})   # nothing ran
            return done.stdout

        self.assertTrue(emit().startswith("#!"))
        tasks = sorted((self.out / "tasks").glob("*.points"))
        self.assertEqual(len(tasks), 3)
        for points in tasks:
            block = [str(TREE / "experiments/block.sh"), str(harness), str(points), str(points.with_suffix(".records"))]
            subprocess.run(block, check=True, timeout=300)
        self.assertIn("left out: rtm:20: no transactions", emit())
        self.assertIn("--emit=sbatch needs --on=slurm; this is --on=local", run_policies(self.folder, "--emit=sbatch").stderr)

    def test_a_dry_run_of_scripts_needs_no_slurm_that_answers(self):
        harness = fake_in(self.folder, '#!/usr/bin/python3\nprint(\'{"words": ["--threads=1"], "pair": "art:olc"}\')\n')
        sweep = ["/usr/bin/python3", "-B", str(TREE / "experiments/sweep.py"), str(harness), f"--out={self.folder}/new"]
        more = ["--emit=sbatch", "--on=slurm:constraint=zen4+skylake", "--dry-run"]
        shutil.rmtree(self.out)
        for tools in ((), ("sbatch", "sinfo", "squeue")):   # no Slurm, and one whose controller does not answer
            for tool in tools:
                (self.folder / tool).write_text("#!/bin/sh\nexit 1\n")
                (self.folder / tool).chmod(0o755)
            with mock.patch.dict(os.environ, PATH=str(self.folder)):
                for done in (subprocess.run([*sweep, *more], capture_output=True, text=True, check=False, timeout=300),
                             run_policies(self.folder, *more)):
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("on nodes of zen4 and skylake, whose number Slurm does not tell here; ", done.stderr)
        self.assertFalse(self.out.exists() or (self.folder / "new").exists())

    def test_the_help_names_what_an_engine_needs(self):
        for word in (*ENGINES, "--binary", "--emit"):
            self.assertRegex(sweep.__doc__, rf"(?m)^ *{word}")
        for word in ("--on=", "--binary=", "--emit="):
            self.assertIn(word, (TREE / "docs/help/experiment.txt").read_text())

    def test_an_interruption_during_the_start_is_one_line(self):
        harness = fake_in(self.folder, '#!/usr/bin/bash\necho\nkill -INT $PPID\nsleep 60\n')   # it answers `points`, which comes first
        command = ["/usr/bin/python3", "-B", str(TREE / "experiments/sweep.py"), str(harness), f"--out={self.folder}/new"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (130, "", "sweep: interrupted\n"))

    def test_an_interruption_while_modules_are_imported_is_one_line(self):
        for number in ("SIGINT", "SIGTERM"):
            (self.folder / "json.py").write_text(f"import signal\nsignal.raise_signal(signal.{number})\n")
            for script, name in (("sweep", "sweep"), ("run", "harness: experiment")):
                with self.subTest(script=script, number=number):
                    command = ["/usr/bin/python3", "-B", str(TREE / f"experiments/{script}.py"), "harness"]
                    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60,
                                          env={**os.environ, "PYTHONPATH": str(self.folder)})
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (130, "", f"{name}: interrupted\n"))

    def test_both_commands_check_before_they_change_anything(self):
        harness = fake_in(self.folder, '#!/usr/bin/python3\nprint(\'{"words": ["--threads=1"], "pair": "art:olc"}\')\n')
        self.sweep.write_text("mine")
        sweep = ["/usr/bin/python3", "-B", str(TREE / "experiments/sweep.py"), str(harness), f"--out={self.out}"]
        for more, said in (
            ([], "its sweep.json is something else"),
            (["--history=h"], "--history: a file has the calls of one run"),
            (["--topology=pack:2"], "--topology: it only plans"),
            ([f"--out={self.folder}/new", "--binary=/bin/true"], "true is no harness for these runs"),
        ):
            for done in [subprocess.run([*sweep, *more], capture_output=True, text=True, check=False, timeout=300)] + \
                    ([] if more else [run_policies(self.folder)]):
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual(self.sweep.read_text(), "mine")
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), ["sweep.json", "tasks"])
        self.assertFalse((self.folder / "new").exists())


if __name__ == "__main__":
    unittest.main()
