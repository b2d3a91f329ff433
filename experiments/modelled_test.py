"""Tests of experiments and sweeps on a modelled machine: their runs, and what the figure says of them.

CTest runs it and names the harness. By hand:
LATCHLAB_HARNESS=build/modelled/harness python3 experiments/modelled_test.py
"""
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import tomllib
import unittest

from experiment_testing import DRAWS, FAKE, TREE, fake_in

import definition  # noqa: E402
import engines  # noqa: E402
import gaps as missing  # noqa: E402
import run as runner  # noqa: E402
import states  # noqa: E402
from driver import Driver  # noqa: E402
from hold import Hold  # noqa: E402
from plan import Plan  # noqa: E402
from results import Results, digest  # noqa: E402

# A fake harness that models a machine of 56 threads. `rwspin` with 56 threads ends in one of two states, by its seed.
# `--alloc=malloc` fails with the line of an allocator without a model. The digest of the machine file is the text of the file `digest`.
MODELLED = r"""#!/usr/bin/python3 -ISE
import json, pathlib, sys, time
folder = pathlib.Path(__file__).parent
digest = (folder / "digest").read_text() if (folder / "digest").exists() else "d1"
if sys.argv[1] == "model":
    if sys.argv[2].startswith("haswel-"):
        sys.exit("harness: machine 'haswel-ep' is unknown")
    print(json.dumps({"processors": 56, "digest": digest}))
    sys.exit()
with open(folder / "calls", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\n")
options = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
if options.get("--alloc") == "malloc":
    print("harness: --alloc: malloc is not modelled", file=sys.stderr)
    sys.exit(2)
threads, seed = int(options["--threads"]), int(options["--seed"])
slow = options.get("--sync") == "rwspin" and threads == 56 and seed < 4
print(json.dumps({
    "status": "modelled", "interrupted": False, "reason": "a prediction",
    "throughput": {"per_second": (threads if not slow else 1) * 1e6 + seed, "operations": 100},
    "machine": {"model": "the host", "topology": "of the host", "modelled": {"name": "haswell-ep", "digest": digest, "scale": 16,
                "topology": "56 threads", "seed": seed, "changes": ["qpi.gbps: 38.4 -> 76.8"], "fitted": []}},
    "sync": {"aborts": None},
}))
"""


class Modelled(unittest.TestCase):
    """Tests with haswell-lookup-locks.toml, which runs once for all of them."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.harness = fake_in(cls.folder, MODELLED)
        cls.done = cls.told(cls, "haswell-lookup-locks", "--machine=haswell-ep:qpi.gbps=2x")
        cls.calls = [json.loads(line) for line in (cls.folder / "calls").read_text().splitlines()]

    def setUp(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)

    def told(self, *arguments, harness=None, python="/usr/bin/python3", out="out"):
        command = [python, "-B", str(TREE / "experiments/run.py"), str(harness or self.harness), *arguments, f"--out={self.folder}/{out}"]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    def results(self):
        return Results(self.folder / "out", digest(self.harness))

    def test_the_grid_is_that_of_the_modelled_machine_under_five_seeds_and_its_own_lengths(self):
        calls = self.calls
        threads = sorted({int(a.removeprefix("--threads=")) for call in calls for a in call if a.startswith("--threads=")})
        self.assertEqual(threads, [1, 7, 14, 28, 56])
        self.assertEqual({a for call in calls for a in call if a.startswith("--seed=")}, {f"--seed={n}" for n in range(1, 6)})
        self.assertEqual(len(calls), 5 * 3 * 5)
        for call in calls:
            self.assertIn("--machine=haswell-ep:qpi.gbps=2x", call)
            self.assertEqual([a for a in call if a.split("=")[0] in ("--time", "--warmup", "--records")], [])

    def test_it_is_never_called_measured(self):
        said = self.done.stdout
        first = said.splitlines()[0]
        self.assertTrue(first.endswith("(modelled, haswell-ep, scale 16)"), first)
        self.assertRegex(said, r"(?m)^ +atomic \(modelled\) +threads=56 +56 ")
        self.assertEqual(runner.machine_of(self.results()), [
            "modelled, haswell-ep, scale 16, not measured: 56 threads; changed: qpi.gbps: 38.4 -> 76.8; nothing in it was fitted; its "
            "digest is d1"])

    def test_a_point_in_two_states_is_a_share_of_seeds(self):
        said = self.done.stdout
        self.assertIn("in two states: 3 of 5 seeds at 1, 2 of 5 at 56", said)
        self.assertNotIn("too noisy", said)

    def test_what_is_not_modelled_is_left_out_with_the_harness_own_reason(self):
        experiment = definition.load("haswell-insert-alloc", "modelled", (), 56, "haswell-ep")
        experiment.replicates = 1
        folder = self.folder / "insert"
        plan = Plan(experiment, {"": Results(folder, "binary")})
        with contextlib.redirect_stderr(io.StringIO()), Hold(folder) as hold:
            Driver(plan, engines.engine_of("local", self.harness, modelled=True), folder, hold).run()
        drawn, gaps = runner.rows(experiment, plan.results[""], plan.failures)
        self.assertIn(56, [round(row["y"]) for row in drawn if (row["curve"], row["x"]) == ("arena (modelled)", 56)])
        why = "left out: malloc (modelled): failed: harness: --alloc: malloc is not modelled"
        self.assertEqual(missing.lines(gaps, experiment, 0), [why])

    def test_measured_results_stand_beside(self):
        measured = pathlib.Path(self.folder / "measured")
        measured.mkdir()
        own = FAKE.replace('"status":', '"machine": {"model": "a host", "topology": "2 processors", "processors": 2}, "status":')
        native = self.told("haswell-lookup-locks", harness=fake_in(measured, own), out="native")
        self.assertEqual(native.returncode, 0, native.stderr)
        experiment = definition.load("haswell-lookup-locks", "modelled", (), 56, "haswell-ep")
        runner.add_beside(runner.parse(["haswell-lookup-locks", "--machine=haswell-ep", f"--beside={self.folder}/native"]), experiment)
        beside = dict(experiment.panels[0].beside)
        self.assertEqual(beside["atomic (measured)"][0], (1, .001))
        self.assertEqual(experiment.beside, ["beside: on a host: 2 processors"])
        folder, tree = definition.FOLDER, self.folder / "tree"
        (tree / "results").mkdir(parents=True)
        shutil.copy(folder / "haswell-lookup-locks.toml", tree)
        shutil.copytree(self.folder / "native", tree / "results/haswell-lookup-locks-quick")
        definition.FOLDER = tree
        self.addCleanup(setattr, definition, "FOLDER", folder)
        experiment = definition.load("haswell-lookup-locks", "modelled", (), 56, "haswell-ep")
        runner.add_beside(runner.parse(["haswell-lookup-locks", "--machine=haswell-ep"]), experiment)   # those of the tree
        self.assertEqual(dict(experiment.panels[0].beside), beside)
        done = self.told("haswell-numa", "--machine=haswell-ep", f"--beside={self.folder}/native")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"--beside: {self.folder}/native is the folder of 'haswell-lookup-locks'", done.stderr)

    def test_results_of_a_machine_file_that_has_changed_do_not_count(self):
        for machine, digest, known in (("file:mine.toml", "d1", 75), ("file:mine.toml", "d2", 0), ("haswell-ep", "d2", 75)):
            results = self.results()
            runner.forget_other_models(results, machine, {"digest": digest})
            self.assertEqual((len(results.known), results.others), (known, set() if known else {"d1"}))

    def test_wrong_input_is_one_line_and_exit_status_2(self):
        for arguments, said in (
            (["haswell-numa", "--machine=haswel-ep"], "machine 'haswel-ep' is unknown"),
            (["haswell-numa", "--machine=haswell-ep", "--full"], "--full: --machine has a mode of its own"),
            (["haswell-numa", "--", "--machine=haswell-ep"], "--machine=haswell-ep: stands before '--'"),
            (["limits", "--machine=haswell-ep"], "--machine: limits measures this machine"),
            (["haswell-numa", "--machine=haswell-ep", "--beside=/proc/nowhere"], "/proc/nowhere: is no folder of a sweep"),
        ):
            with self.subTest(arguments=arguments):
                done = self.told(*arguments, out="wrong")
                self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
                self.assertIn(said, done.stderr)

    def test_as_many_runs_go_on_at_once_as_there_are_processors(self):
        measures, models = (engines.engine_of("local", self.harness, modelled=modelled) for modelled in (False, True))
        self.assertEqual((measures.at_once, models.at_once), (1, len(os.sched_getaffinity(0))))

    def test_a_value_of_the_machine_is_an_axis_of_the_modelled_figure_alone(self):
        panels = definition.load("haswell-lookup-htm", "modelled", (), 56, "haswell-ep:qpi.gbps=2x").panels
        measured = definition.load("haswell-lookup-htm", "quick").panels
        self.assertEqual([panel.title for panel in measured], [panel.title for panel in panels[:-1]])
        points = definition.load("haswell-lookup-htm", "modelled", (), 56, "haswell-ep:qpi.gbps=2x").points
        own = [point.arguments for point in points if point.panel == len(panels) - 1 and point.x == 65536]
        for arguments in own:
            self.assertEqual([word for word in arguments if word.startswith("--machine")],
                             ["--machine=haswell-ep:qpi.gbps=2x,kernel.marks_per_s=65536"])
        self.assertEqual(len(own), len(panels[-1].curves))

    def test_where_only_the_place_of_a_label_was_published_there_is_a_bracket(self):
        (panel,) = definition.load("haswell-lookup-locks", "quick").panels
        self.assertEqual(dict(panel.between)["atomic (published)"], [[56, 25, 50]])
        self.assertEqual(panel.beside, [])

    def test_each_experiment_has_a_grid_for_a_modelled_machine_and_lengths_only_for_that(self):
        for name in definition.names():
            if name != "limits":
                experiment = definition.load(name, "modelled", (), 56, "haswell-ep")
                file = tomllib.loads((definition.FOLDER / f"{name}.toml").read_text())
                usual = file.get("modelled", {}).get("run", [])
                of_panels = [panel.get("modelled_run", usual) for panel in file["panel"]]
                for point in experiment.points:
                    lengths = [word for word in of_panels[point.panel] if word.startswith(("--time=", "--warmup="))]
                    self.assertTrue([word for word in point.arguments if word.startswith("--machine=haswell-ep")], name)
                    self.assertEqual([word for word in point.arguments if word.startswith(("--time=", "--warmup="))], lengths, name)

    @unittest.skipUnless(DRAWS.exists(), "build/python is not there: figures are drawn where PyPI can be reached")
    def test_the_picture_has_the_label_and_the_shares(self):
        done = self.told("haswell-lookup-locks", "--machine=haswell-ep:qpi.gbps=2x", python=str(DRAWS))   # nothing runs again
        self.assertEqual(done.returncode, 0, done.stderr)
        svg = (self.folder / "out/figure.svg").read_text()
        for text in ("(modelled, haswell-ep, scale 16)", "rwspin (modelled)", ">3/5<", ">2/5<", "not measured", "no sync (published)"):
            self.assertIn(text, svg)


class States(unittest.TestCase):
    def test_seeds_are_parted_at_the_widest_ratio(self):
        self.assertEqual(states.states_of([4, 1, 1.2, 4.4, 4.2]), [states.State(1.1, 2), states.State(4.2, 3)])
        self.assertEqual(states.states_of([1, 1.2, 1.4]), [states.State(1.2, 3)])
        self.assertEqual(states.states_of([0, 0, 0]), [states.State(0, 3)])
        self.assertEqual(states.words(states.states_of([1, 30, 1])), "2 of 3 seeds at 1, 1 of 3 at 30")


if __name__ == "__main__":
    unittest.main()
