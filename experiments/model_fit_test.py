"""Tests of model_fit.py, with a fake harness whose rates follow from the values that are fitted.

CTest runs it; by hand: python3 experiments/model_fit_test.py
"""
import contextlib
import io
import json
import pathlib
import shutil
import tempfile
import unittest

from experiment_testing import fake_in

import model_fit  # noqa: E402
from input_error import InputError  # noqa: E402

# One thread takes dram.local + dram.socket / 10 ns; two threads take twice that with even seeds, and half of that with odd ones. Each run
# leaves its arguments in the file `calls`.
HARNESS = r"""#!/usr/bin/python3 -ISE
import json, pathlib, sys
options = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
with open(pathlib.Path(__file__).parent / "calls", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\n")
if sys.argv[1] == "model":
    sys.exit("harness: machine 'nix' is unknown" if sys.argv[2] == "nix" else 0)
if options.get("--alloc") == "malloc":
    print("harness: --alloc: malloc is not modelled", file=sys.stderr)
    sys.exit(2)
changes = [item.split("=") for item in options["--machine"].partition(":")[2].split(",") if item]
values = {"dram.local": 90, "dram.socket": 100} | dict(changes)
ns = float(values["dram.local"]) + float(values["dram.socket"]) / 10
if options["--threads"] == "2":
    ns *= 2 if int(options["--seed"]) % 2 == 0 else .5
print(json.dumps({"throughput": {"per_second": 1e9 / ns}}))
"""

POINTS = """
machine = "haswell-ep"
run = ["--index=art"]

[[fit]]
name = "local"
published = 9.2
value = "dram.local"
within = [20, 400]
run = ["--threads=1"]

[[fit]]
name = "remote"
published = 4.6
value = "dram.socket"
within = [20, 4000]
run = ["--threads=1", "--pin=socket:1"]

[[hold_out]]
name = "one again"
published = 4.6
run = ["--threads=1"]
also = { spread = ["--pin=scatter"] }

[[hold_out]]
name = "two"
published = 3
run = ["--threads=2"]

[[hold_out]]
name = "a speedup"
published = 1.5
run = ["--threads=1", "--alloc=arena"]
bases = { own = ["--pin=cluster:0"], other = ["--alloc=malloc"] }
"""


class ModelFit(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.harness = str(fake_in(self.folder, HARNESS))
        self.points = self.folder / "points.toml"
        self.points.write_text(POINTS)
        self.machine = self.folder / "haswell-ep.toml"
        shutil.copy(model_fit.MACHINES / "haswell-ep.toml", self.machine)
        machines = model_fit.MACHINES
        model_fit.MACHINES = self.folder
        self.addCleanup(setattr, model_fit, "MACHINES", machines)

    def told(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(model_fit.fit_main(self.harness, [arguments[0], str(self.points), *arguments[1:]]), 0)
        return said.getvalue()

    def calls(self):
        calls = [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]
        return [call for call in calls if call[0] != "model"]

    def test_each_value_is_found_with_those_before_it_and_written_with_its_source(self):
        before = self.machine.read_text().splitlines()
        self.told("fit", "--", "--records=9")
        changed = [line for line in self.machine.read_text().splitlines() if line not in before]
        self.assertEqual(len(changed), 2)
        local, remote = (float(line.split("v = ")[1].split(",")[0]) for line in changed)
        self.assertAlmostEqual(1e3 / (local + 10), 9.2, delta=9.2 * model_fit.NEAR)
        self.assertAlmostEqual(1e3 / (local + remote / 10), 4.6, delta=4.6 * model_fit.NEAR)
        self.assertRegex(changed[0], r'^local = \{v = [0-9.]+, unit = "ns", tag = "fitted", source = "fitted to local: 9.2 M/s published; ')
        self.assertRegex(changed[1], r"^socket = ")
        self.assertTrue(all("--records=9" in call for call in self.calls()))
        self.assertLess(len(self.calls()), 2 * model_fit.FIT_SEEDS * (model_fit.STEPS + 2) + 1)

    def test_nothing_is_written_by_a_dry_run_or_for_an_alternative(self):
        before = self.machine.read_text()
        self.assertIn("dram.local = ", self.told("fit", "--dry-run"))
        self.told("fit", "--machine=haswell-ep:home.stale_directory=false")
        self.assertEqual(self.machine.read_text(), before)
        self.assertTrue(any("--machine=haswell-ep:home.stale_directory=false,dram.local=20" in call for call in self.calls()))

    def test_all_held_out_points_are_printed_with_those_that_miss(self):
        said = self.told("hold-out", "--machine=haswell-ep:dram.local=207.4").splitlines()
        self.assertEqual(said, [
            "one again: published 4.6 M/s; 4.6 (4.6 to 4.6), -0 %",
            "one again, spread: published 4.6 M/s; 4.6 (4.6 to 4.6), -0 %",
            "two: published 3 M/s; in two states: 2 of 5 seeds at 2.3, 3 of 5 at 9.2",
            "a speedup: published 1.5 x; 1 (1 to 1), -33 %",
            "a speedup, over one thread of other: published 1.5 x; no number: "
            "--machine=haswell-ep:dram.local=207.4 --index=art --threads=1 --alloc=malloc --seed=1: --alloc: malloc is not modelled",
            "1 of 3 held-out points are within 15 % of what was published",
        ])
        seeds = {word for call in self.calls() for word in call if word.startswith("--seed=")}
        self.assertEqual(seeds, {f"--seed={n}" for n in range(1, 6)})

    def test_the_file_of_haswell_has_five_fitted_points_and_eleven_held_out_ones(self):
        fit = model_fit.read(model_fit.definition.FOLDER / "fits/haswell-ep.toml")
        self.assertEqual([point.published for point in fit.fitted], [9.2, 5.4, 3.6, 5.3, 16.1])
        self.assertEqual(sorted(point.published for point in fit.held_out), [.8, 3, 4.3, 12.2, 20.2, 24.5, 26, 26.8, 30.6, 36, 53])
        text = self.machine.read_text()
        for point in fit.fitted:
            self.assertIn('tag = "fitted"', model_fit.written(text, point.value, "1", ""))

    def test_wrong_input_is_one_line(self):
        for wrong, said in (
            (POINTS.replace("[20, 400]", "[200, 400]"), "local: no dram.local from 200 to 400 gives 9.2 M/s: these give 4.762 and 2.439"),
            (POINTS.replace("[20, 400]", "[0, 400]"), "fit 1: 'within' is a lower bound above 0, and a higher one"),
            (POINTS.replace('value = "dram.local"', 'value = "dram.near"'), "the machine file has no dram.near"),
            (POINTS.replace("bases = { own", "bases = { mine"), "hold_out 3: 'bases' has no 'own'"),
            (POINTS.replace("published = 9.2", "at = 9.2"), "fit 1: 'published' is missing"),
            (POINTS.replace("published = 3\n", "published = 3\nmore = 1\n"), "hold_out 2: there is no key 'more' here"),
            (POINTS + "[[", "points.toml: "),
        ):
            with self.subTest(said=said):
                self.points.write_text(wrong)
                with self.assertRaises(InputError) as caught:
                    self.told("fit")
                self.assertIn(said, str(caught.exception))
                self.assertEqual(len(str(caught.exception).splitlines()), 1)
        for words in (["fit"], ["mend", "x"], ["hold-out", "x", "--dry-run"], ["fit", "x", "--more"], ["fit", "/proc/nowhere"]):
            with self.assertRaises(InputError):
                model_fit.fit_main(self.harness, words)

    def test_an_unknown_machine_is_refused_before_any_point_runs(self):
        for command in ("fit", "hold-out"):
            with self.assertRaisesRegex(InputError, "^machine 'nix' is unknown$"):
                self.told(command, "--machine=nix")
        self.assertEqual(self.calls(), [])

    def test_a_harness_that_is_missing_is_named(self):
        self.harness = "/nowhere/harness"
        with self.assertRaises(InputError) as caught:
            self.told("fit")
        self.assertIn("/nowhere/harness: No such file or directory", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
