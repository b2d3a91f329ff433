"""The comparison of a machine with its model. Run by CTest; by hand: python3 experiments/model_check_test.py"""
import contextlib
import io
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

import model_check
from input_error import InputError
from model_check import Point

# A harness that notes how it was called, writes a machine file, and answers with the number of its threads.
HARNESS = """#!/usr/bin/env python3
import json, pathlib, sys
words = dict(word.removeprefix("--").partition("=")[::2] for word in sys.argv[1:])
with open(pathlib.Path(sys.argv[0]).parent / "calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "limits":
    pathlib.Path(words["write-machine"]).write_text('''[core]
same_block = {v = 1, unit = "share", tag = "assumed", source = "a test"}
run_ahead = {v = 0, unit = "share", tag = "assumed", source = "a test"}
per_operation = {v = 60, unit = "instructions", tag = "assumed", source = "a test"}
''')
elif "dry-run" in words:
    pass
elif words["sync"] == "olc" and "machine" not in words:
    print(json.dumps({"status": "failed", "reason": "out of luck", "throughput": None}))
else:
    changed = dict(change.split("=") for change in words.get("machine", "").split(",")[1:])
    slower = 2 - float(changed.get("core.run_ahead", .75)) + float(changed.get("core.per_operation", 100)) / 400 - .5
    print(json.dumps({"status": "modelled" if "machine" in words else "noisy", "reason": "", "throughput": {"per_second": 1e6 * int(words["threads"]) / (slower if changed else 1)}}))
"""


def judged(*runs):
    return model_check.judge([(Point(*point), side, rate) for point, side, rate in runs])


class ModelCheck(unittest.TestCase):
    def test_points(self):
        self.assertEqual(len(model_check.points_of("full", transactions=False)), 4 * 2 * 3 * 2 - 6)
        self.assertEqual(len(model_check.points_of("full", transactions=True)), 7 * 2 * 3 * 2 - 6)
        self.assertNotIn(Point("atomic", "insert", "1M", 2), model_check.points_of("quick", transactions=False))

    def test_a_point_is_judged_by_its_medians_and_by_the_spread_of_native_runs(self):
        a = ("none", "lookup", "1M", 1)
        [point] = judged((a, "native", 9), (a, "native", 10), (a, "native", 14), (a, "modelled", 8), (("olc", *a[1:]), "native", 1))
        self.assertAlmostEqual(point.ratio, .8)
        self.assertAlmostEqual(point.error, .2)
        self.assertAlmostEqual(point.allowed, .25)   # (14 - 9) / 2 / 10
        [point] = judged((a, "native", 10), (a, "modelled", 12))
        self.assertAlmostEqual(point.error, .2)
        self.assertEqual(point.allowed, model_check.ALLOWED)

    def test_wrong_order_counts_only_if_the_native_runs_differ(self):
        def pairs(native, modelled, threads=1):
            return model_check.wrong_orders(judged(
                (("none", "lookup", "1M", 1), "native", native), (("none", "lookup", "1M", 1), "modelled", modelled),
                (("olc", "lookup", "1M", threads), "native", 100), (("olc", "lookup", "1M", threads), "modelled", 100)))

        self.assertEqual(len(pairs(120, 90)), 1)
        self.assertEqual(len(pairs(80, 110)), 1)
        self.assertEqual(pairs(120, 110), [])
        self.assertEqual(pairs(109, 90), [])
        self.assertEqual(pairs(120, 90, threads=2), [])

    def test_the_report_names_what_is_beyond_what_is_allowed(self):
        a, b = ("none", "lookup", "1M", 1), ("olc", "lookup", "1M", 1)
        text = model_check.report(judged((a, "native", 4e6), (a, "modelled", 5e6), (b, "native", 3e6), (b, "modelled", 6e6)))
        self.assertIn("median error 62 %, over 2 points that were not fitted; 10 % is allowed\n", text)
        self.assertIn("within twice what is allowed: 0 of 2 points\n", text)
        self.assertIn("pairs of policies in wrong order: 1\n  lookup none    1M keys, 1 thread: faster than olc by 1.33, modelled 0.83\n", text)
        self.assertEqual(text.count("  *\n"), 2)

    def test_a_value_is_fitted_within_its_bounds(self):
        rates = lambda values: [10 + value for value in values]
        self.assertAlmostEqual(model_check.fitted_value(0, 1, 1, 10.7, rates, 2), .7, delta=.02)
        self.assertAlmostEqual(model_check.fitted_value(0, 1, -1, 10.7, lambda values: [11 - value for value in values], 3), .3, delta=.02)
        self.assertEqual(model_check.fitted_value(0, 1, 1, 99, rates, 2), 1)   # the nearest that there is
        self.assertEqual(model_check.fitted_value(0, 1, 1, 1, rates, 2), 0)

    def test_wrong_use_is_one_line(self):
        for words, said in ((["--fast"], "'--fast' has no meaning here"), (["--out="], "'--out=' has no meaning here")):
            with self.assertRaisesRegex(InputError, said):
                model_check.parse(words, pathlib.Path("unused"))

    def test_a_run_is_kept_and_not_run_again(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            harness = folder / "harness"
            harness.write_text(HARNESS)
            harness.chmod(harness.stat().st_mode | stat.S_IXUSR)

            def run():
                with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
                    status = model_check.main(harness, harness, "--quick", f"--out={folder}/out")
                calls = (folder / "calls").read_text().splitlines()
                (folder / "calls").unlink()
                return status, out.getvalue(), said.getvalue(), calls

            status, out, said, calls = run()
            self.assertEqual(status, 1)   # native runs of olc fail
            self.assertIn("model-check: lookup olc     1M keys, 2 threads: the native run is failed: out of luck\n", said)
            [values] = [values for values in [re.findall(r"^fitted: (core\.\w+) = (\S+)$", out, re.MULTILINE)] if values]
            self.assertEqual([key for key, _ in values], ["core.run_ahead", "core.per_operation"])
            self.assertAlmostEqual(1.5 - float(values[0][1]) + float(values[1][1]) / 400, 1, delta=.05)   # the rates that were measured
            self.assertEqual(calls[0], f"limits --write-machine={folder}/out/machine.toml --progress=none")
            measured = [call for call in calls if "--pmu=off" in call]
            predicted = [call for call in calls if f"--machine=file:{folder}/out/fitted-1M.toml" in call]
            self.assertEqual((len(measured), len(predicted)), (14, 14))
            self.assertLess(max(map(calls.index, measured)), min(map(calls.index, predicted)))
            fitted = (folder / "out/fitted-1M.toml").read_text()
            self.assertIn('tag = "fitted", source = "fitted to none, one thread, 1M keys on this machine; experiments/model-check"', fitted)
            self.assertIn("median error 0 %, over 8 points that were not fitted", out)
            self.assertIn("noisy: other programs had the processors during 10 of 10 native runs; repeat it on an idle machine\n", out)
            status, out, said, calls = run()
            self.assertEqual(status, 1)
            self.assertEqual(len(calls), 2 + 4)   # only those that failed
            (folder / "out/results.jsonl").write_text("{}\n")
            with self.assertRaisesRegex(InputError, "results.jsonl: line 1 is not one of a run; remove it"):
                run()

    def test_the_script_refuses_in_one_line(self):
        script = pathlib.Path(model_check.__file__)
        told = subprocess.run([sys.executable, "-B", script, "x", "x", "--fast"], capture_output=True, text=True, check=False)
        self.assertEqual((told.returncode, told.stdout), (2, ""))
        self.assertEqual(told.stderr, "model-check: '--fast' has no meaning here; there are --quick, --out=FOLDER and --help\n")


if __name__ == "__main__":
    unittest.main()
