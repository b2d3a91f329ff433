"""Tests of ./bench locks with a fake harness and a fake valgrind. Run by CTest; by hand: python3 experiments/locks_test.py"""
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

TREE = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TREE / "experiments"))

import budget  # noqa: E402
import locks  # noqa: E402
from input_error import InputError  # noqa: E402
from locks import ALONE, Point  # noqa: E402

# A fake harness. It records its words. An operation takes 10 ns with one thread and 40 with two, and 5 less under `none`, which refuses two
# threads that write. `ticket` is skipped. Its PMU counts instructions if the file `pmu` exists. It fails if the file `fail` exists.
HARNESS = r"""#!/usr/bin/python3
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
with open(folder / "calls", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\n")
if (folder / "fail").exists():
    sys.exit("harness: out of luck")
of = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
none, two = of["--sync"] == "none", of["--threads"] == "2"
if none and two and of["--workload"] != "lookup":
    sys.exit(2)
refused = of["--sync"] == "ticket"
pmu = {"events": [{"name": "cycles", "count": None, "count_reason": "lost"}, {"name": "instructions", "count": {"per_operation": 123}}]}
print(json.dumps({
    "status": "skipped" if refused else "ok", "reason": "too few processors" if refused else "", "interrupted": False,
    "build": {"commit": "c0ffee", "dirty": False},
    "throughput": None if refused else {"per_second": 1e9 / ((40 if two else 10) - 5 * none)},
    "pmu": pmu if (folder / "pmu").exists() else None, "pmu_reason": "there is no PMU here",
}))
"""

# A fake valgrind: 20 instructions an operation, and 17 more of which two are locked under a policy but `none`; and 1000 besides.
VALGRIND = r"""#!/usr/bin/python3
import sys
of = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
operations, none = int(of["--ops"]), of["--sync"] == "none"
counts = [1000 + operations * (20 if none else 37), 0, 0, 0 if none else 2 * operations]
open(of["--callgrind-out-file"], "w").write(f"events: Ir DLmr DLmw Ge\ntotals: {' '.join(map(str, counts))}\n")
"""


class Locks(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.harness = self.fake("harness", HARNESS)
        (self.folder / "bin").mkdir()
        self.addCleanup(mock.patch.stopall)
        mock.patch.dict(os.environ, {"PATH": str(self.folder / "bin")}).start()

    def fake(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def locks(self, *words):
        """Returns the exit status and the output."""
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
            status = locks.main(self.harness, *words, f"--out={self.folder}/results", "--quick")
        return status, out.getvalue(), error.getvalue()

    def calls(self):
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]

    def test_a_table_has_what_a_lock_takes_beyond_none(self):
        self.fake("bin/valgrind", VALGRIND)
        (self.folder / "pmu").touch()
        status, out, error = self.locks("mcs")
        self.assertEqual((status, error), (0, ""))
        lines = out.splitlines()
        self.assertEqual({line.count("|") for line in lines[:4]}, {10})
        self.assertEqual(lines[2], "| none | 0 / 0 | 0 / 0 | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 35.0 (35.0 to 35.0) | - | 123 (123 to 123) | - |")
        self.assertEqual(lines[3], "| mcs | 17 / 2 | 17 / 2 | 5.0 (5.0 to 5.0) | 5.0 (5.0 to 5.0) | 40.0 (40.0 to 40.0) | 40.0 (40.0 to 40.0) "
                                   "| 123 (123 to 123) | 123 (123 to 123) |")
        self.assertEqual(lines[4:], ["", "-: it allows one writing thread (none, update, 2 threads)"])

    def test_what_is_missing_is_left_out_with_its_reason(self):
        status, out, _ = self.locks("mcs", "ffwd")
        self.assertEqual(status, 0)
        self.assertIn("| mcs | - | - | 5.0 (5.0 to 5.0) |", out)
        self.assertIn("\n-: valgrind is not installed (", out)
        self.assertIn("\n-: two threads share the work, so counts of one of them say nothing (ffwd, lookup, alone; ffwd, update, alone)\n", out)
        self.assertIn("\n-: there is no PMU here\n", out)
        self.assertNotIn("nan", out)

    def test_a_skipped_run_is_left_out_with_its_reason(self):
        status, out, _ = self.locks("ticket")
        self.assertEqual(status, 0)
        self.assertIn("| ticket | - | - | - | - | - | - | - | - |\n", out)
        self.assertIn("\n-: too few processors (ticket, lookup, 1 thread; ticket, update, 1 thread; ", out)

    def test_rounds_are_interleaved_and_kept_runs_do_not_run_again(self):
        self.locks("mcs", "spin")
        calls = self.calls()
        self.assertEqual(len(calls), 1 + 2 * (3 * 2 * 2 - 1))   # for the build; rounds, policies, operations, threads; none has one writer
        first, second = calls[1:12], calls[12:]
        self.assertEqual(sorted(first), sorted(second))
        self.assertNotEqual(first, second)
        self.locks("mcs", "spin")
        self.assertEqual(self.calls(), [*calls, calls[0]])
        kept = [json.loads(line) for line in (self.folder / "results/results.jsonl").read_text().splitlines()]
        self.assertEqual({run["outcome"]["reason"] for run in kept if run["point"]["threads"] == ALONE}, {"valgrind is not installed"})

    def test_counts_that_are_added_to_kept_times_have_their_build(self):
        self.locks("mcs")
        path = self.folder / "results/results.jsonl"
        kept = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in kept if f'"{ALONE}"' not in line))
        self.fake("bin/valgrind", VALGRIND)
        status, out, error = self.locks("mcs")
        self.assertEqual((status, error), (0, ""))
        self.assertIn("| mcs | 17 / 2 | 17 / 2 |", out)

    def test_a_run_that_fails_is_a_line_and_the_exit_status(self):
        (self.folder / "fail").touch()
        status, _, error = self.locks("mcs")
        self.assertEqual(status, 1)
        self.assertIn("ended with status 1: harness: out of luck\n", error)

    def test_wrong_words_are_refused_in_one_line(self):
        for words, said in ((["msc"], "'msc' is no policy with a global lock; did you mean mcs?"), (["olc"], "there are none, atomic,"),
                            (["mcs", "mcs"], "mcs is given twice"), (["--quik"], "'--quik' has no meaning"), (["mcs", "--reps=2"], "has no meaning")):
            with self.subTest(words=words):
                done = subprocess.run([sys.executable, "-B", TREE / "experiments/locks.py", "", *words], capture_output=True, text=True, check=False)
                self.assertEqual((done.stdout, done.returncode), ("", 2))
                self.assertRegex(done.stderr, r"\Alocks: [^\n]+\n\Z")
                self.assertIn(said, done.stderr)

    def test_without_a_harness_it_says_what_to_build(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(locks.main("", "gcr:1", "mcs", "--quick", "--out=/no/such"), 0)
        self.assertEqual(out.getvalue().split(), ["--index=null", "--sync=none", "--sync=gcr:1", "--sync=mcs"])
        with self.assertRaises(InputError):
            locks.words_of(["rtm"])

    def test_the_policies_are_those_of_the_null_index(self):
        matrix = (TREE / "cmake/matrix.cmake").read_text()
        self.assertEqual(re.search(r"^set\(locks (.*)\)$", matrix, re.M)[1].split(), list(locks.POLICIES))
        self.assertLessEqual(set(locks.OPERATIONS), set(budget.OPERATIONS))

    def test_a_point_is_named(self):
        self.assertEqual([locks.named(Point("mcs", "lookup", threads)) for threads in (ALONE, 1, 2)], ["alone", "1 thread", "2 threads"])


if __name__ == "__main__":
    unittest.main()
