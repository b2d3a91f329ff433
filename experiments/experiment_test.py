"""Tests of experiments: runs are interleaved, resumed and left out as experiments/run.py says.

CTest runs it and names the harness. By hand:
LATCHLAB_HARNESS=build/release/harness python3 experiments/experiment_test.py
"""

import contextlib
import io
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from experiment_testing import FAKE, HARNESS, LIMITS, TREE, fake_in, measured_once, run_policies

import definition  # noqa: E402
import gaps as missing  # noqa: E402
import run as runner  # noqa: E402
from driver import Driver  # noqa: E402
from engines.local import Local  # noqa: E402
from hold import Hold  # noqa: E402
from plan import Plan  # noqa: E402
from results import last_run  # noqa: E402
from smoke_testing import kill_with_child  # noqa: E402


class Limits(unittest.TestCase):
    """Tests with limits.toml, whose points are numbers of few documents. The machine has two processors."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.experiment = definition.load("limits", "quick", (), 2)

    def measured(self, text):
        """Measures each run once by a fake harness. Returns the numbers and gaps of the figure."""
        harness = fake_in(self.folder, text)
        self.experiment.replicates = 1
        results = runner.Results(self.folder / "out", "binary")
        with contextlib.redirect_stderr(io.StringIO()):
            plan = Plan(self.experiment, {"": results})
            with Hold(self.folder / "out") as hold:
                Driver(plan, Local(harness), self.folder / "out", hold).run()
        return runner.rows(self.experiment, results, plan.failures)

    def test_all_points_of_a_document_come_from_one_run(self):
        drawn, gaps = self.measured(LIMITS)
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual(sorted(calls), [f"limits --footprint=256Mi --threads={n} --json --progress=none" for n in (1, 2)])
        ys = {(row["panel"], row["curve"], row["x"]): row["y"] for row in drawn}
        self.assertEqual(ys[0, "one thread", 4], 50)
        self.assertEqual(ys[0, "a thread for each processor", 24], 200 / 24)
        self.assertEqual([ys[1, curve, 2] for curve in ("chase", "operation", "independent", "locked")], [200, 30, 16, 24])
        self.assertEqual([ys[2, curve, 1] for curve in ("random", "read")], [4, 9])
        self.assertEqual([ys[3, curve, "mutex"] for curve in ("a number for each thread", "one number for all")], [13, 50])
        said = [missing.lines(gaps, self.experiment, number) for number in range(4)]
        self.assertEqual(said[0], ["left out: all at 32: the document has no ns of lines 32 in batches"])
        self.assertEqual(said[1], ["left out: transaction: no transactions"])
        self.assertEqual(said[2], ["left out: write: the document has no write_gb_per_second"])
        self.assertEqual(missing.noise([row for row in drawn if row["panel"] == 0]), ["noisy: other programs disturbed 2 of 2 runs"])
        text = runner.summary(self.experiment, drawn, gaps)
        self.assertIn("medians of 1 runs, each a process of its own; thin lines", text)

    def test_a_failed_run_leaves_out_all_its_points(self):
        drawn, gaps = self.measured(LIMITS.split("print(")[0] + "sys.exit('harness: out of luck')")
        self.assertEqual(len((self.folder / "calls").read_text().splitlines()), 2)
        self.assertEqual(drawn, [])
        self.assertEqual(len(gaps), len(self.experiment.points))
        self.assertEqual({gap.reason for gap in gaps}, {"failed: harness: out of luck"})

    def test_a_wrong_file_is_refused_in_one_line(self):
        good = (TREE / "experiments/limits.toml").read_text()
        folder = definition.FOLDER
        for wrong, said in (
            (good.replace('command = "limits"', 'command = "doctor"'), "there is no command 'doctor'; there is limits"),
            (good.replace('each = "batches.lines"', 'each = "batches"'), "'each' names a list and a property of its entries"),
            (good.replace('y = { title = "nanoseconds" }', 'y = "throughput"'), "with 'each', y is a table"),
            (good.replace('at = "write_gb_per_second"', ""), "curve 3: 'at' is missing"),
            (good.replace('line, for each thread", scale = "log" }', 'line", scale = "steps" }'), "y: there is no scale 'steps'; there are linear, log"),
            (good.replace('at = "ns"', 'at = "ns"\nto = 1', 1), "there is no key 'to' here"),
        ):
            with tempfile.TemporaryDirectory() as there, self.subTest(said=said):
                self.assertNotEqual(wrong, good)
                definition.FOLDER = pathlib.Path(there)
                try:
                    (definition.FOLDER / "limits.toml").write_text(wrong)
                    with self.assertRaises(definition.InputError) as caught:
                        definition.load("limits", "quick")
                finally:
                    definition.FOLDER = folder
                self.assertIn(said, str(caught.exception))
                self.assertEqual(len(str(caught.exception).splitlines()), 1)


class Runs(unittest.TestCase):
    """Tests with policies.toml, whose four curves include one that is degraded at every x."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.harness = fake_in(self.folder)
        self.out = self.folder / "out"
        self.points = definition.load("policies", "quick").points
        self.counted = [point for point in self.points if point.curve != "rtm:20"]
        self.degraded = len(self.points) - len(self.counted)

    def experiment(self, *arguments):
        return run_policies(self.folder, *arguments)

    def calls(self):
        return [json.loads(line) for line in (self.folder / "calls").read_text().splitlines()]

    def forget_calls(self):
        (self.folder / "calls").unlink()

    def test_each_block_has_every_point_once_in_an_order_of_its_own(self):
        self.assertEqual(self.experiment().returncode, 0)
        orders = []
        for replicate in range(3):
            block = [c for c in self.calls() if f"--block={replicate}" in c]
            arguments = [tuple(a for a in call if a.split("=")[0] not in ("--block", "--order", "--replicate")) for call in block]
            seed = f"--seed={1 + replicate}"
            expected = [(*point.arguments, seed, "--json", "--progress=none") for point in self.counted]
            own = [a for a in arguments if "--sync=rtm:20" not in a]
            self.assertEqual(sorted(own), sorted(expected))
            orders.append(own)
        self.assertEqual(len({tuple(order) for order in orders}), 3)
        calls = self.calls()
        blocks = [next(a for a in call if a.startswith("--block=")) for call in calls]
        self.assertEqual(blocks, sorted(blocks))

    def test_a_degraded_point_runs_once_and_is_left_out_with_its_reason(self):
        done = self.experiment()
        self.assertEqual(len([call for call in self.calls() if "--sync=rtm:20" in call]), self.degraded)
        self.assertIn("left out: rtm:20: no transactions", done.stdout)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one processor: there is one x")
    def test_a_point_that_does_not_fit_is_left_out_but_not_the_rest_of_its_curve(self):
        (self.folder / "narrow").write_text("")
        done = self.experiment()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len([call for call in self.calls() if {"--sync=olc", "--threads=2"} <= set(call)]), 1)
        self.assertIn("left out: olc at 2: too few processors", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^ +olc +threads=1 +0.001 ")
        self.assertNotRegex(done.stdout, r"(?m)^ +olc +threads=2 ")

    def test_a_second_run_measures_nothing_again(self):
        first = self.experiment()
        self.forget_calls()
        second = self.experiment()
        self.assertFalse((self.folder / "calls").exists())
        self.assertEqual(second.stdout, first.stdout)

    def test_it_continues_where_it_was_stopped(self):
        (self.folder / "stop").write_text("6")
        stopped = self.experiment()
        self.assertEqual(stopped.returncode, 130)
        self.assertIn("the same command goes on", stopped.stderr)
        (self.folder / "stop").unlink()
        before = len(self.calls()) - 1   # the run that was stopped is repeated
        self.assertEqual(self.experiment().returncode, 0)
        self.assertEqual(len(self.calls()) - 1, 3 * len(self.counted) + self.degraded)
        self.assertEqual(before, 5)

    def test_only_the_run_of_an_incomplete_line_is_measured_again(self):
        self.experiment()
        results = self.out / "results.jsonl"
        text = results.read_text()
        results.write_text(text[:-20])
        self.forget_calls()
        self.assertEqual(self.experiment().returncode, 0)
        self.assertLessEqual(len(self.calls()), 1)   # none if the line belongs to the curve that is left out
        for line in results.read_text().splitlines()[-1:]:
            json.loads(line)

    def test_results_of_other_options_do_not_count_and_those_of_another_binary_are_refused(self):
        self.experiment()
        self.forget_calls()
        self.experiment("--", "--seed=2")
        self.assertEqual(len(self.calls()), 3 * len(self.counted) + self.degraded)
        seeds = {f"--block={block}": f"--seed={2 + block}" for block in range(3)}
        self.assertTrue(all(seeds[call[-3]] in call for call in self.calls()))
        self.harness.write_text(FAKE + "\n# another build\n")
        self.forget_calls()
        done = self.experiment()
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1))
        self.assertIn("has results of another binary; give another --out", done.stderr)
        self.assertFalse((self.folder / "calls").exists())

    def test_results_of_another_seed_do_not_count(self):
        self.experiment()
        self.forget_calls()
        results = self.out / "results.jsonl"
        results.write_text(results.read_text().replace('"seed": 2', '"seed": 1'))   # as if all blocks had the same seed
        self.experiment()
        self.assertEqual([call[-3] for call in self.calls()], ["--block=1"] * len(self.counted))

    def test_a_failed_run_is_reported_at_the_end_and_repeated(self):
        (self.folder / "fail").write_text("4")
        done = self.experiment()
        self.assertEqual(done.returncode, 1)
        self.assertIn("harness: out of luck", done.stderr.splitlines()[-1])
        self.assertRegex(done.stdout, r"left out: .* at . in 1 of 3 runs: failed: harness: out of luck")
        self.assertIn("none", done.stdout)
        (self.folder / "fail").unlink()
        self.forget_calls()
        self.assertEqual(self.experiment().returncode, 0)
        self.assertEqual(len(self.calls()), 1)

    def test_numbers_are_medians_in_their_unit(self):
        done = self.experiment()
        line = next(line for line in done.stdout.splitlines() if line.split()[:2] == ["none", "threads=1"])
        self.assertEqual(line.split()[2:], ["0.001", "(0.001", "to", "0.001;", "3)"])

    def test_speedup_is_relative_to_the_first_of_the_same_replicate(self):
        experiment = definition.load("haswell-insert-alloc", "quick")
        panel = experiment.panels[0]
        panel.x = [1, 2]
        experiment.points = [definition.Point(0, "arena", x, (f"--threads={x}",)) for x in (1, 2)]
        known = {}
        for replicate, (one, two) in enumerate([(10, 15), (20, 50)]):
            for x, rate in ((1, one), (2, two)):
                known[(f"--threads={x}",), replicate] = {"status": "ok", "throughput": {"per_second": rate}}
        results = runner.Results(self.out, "binary")
        results.known = known
        drawn, gaps = runner.rows(experiment, results)
        self.assertEqual([(r["x"], r["y"]) for r in drawn], [(1, 1), (1, 1), (2, 1.5), (2, 2.5)])
        self.assertEqual(gaps, [])
        del known[("--threads=1",), 0]   # the base has failed
        drawn, gaps = runner.rows(experiment, results)
        self.assertEqual([(r["x"], r["y"]) for r in drawn], [(1, 1), (2, 2.5)])
        said = missing.lines(gaps, experiment, 0)
        self.assertEqual(said, ["left out: arena at 2 in 1 of 3 runs: nothing at 1 to compare with"])

    def test_a_gain_is_relative_to_the_first_curve_of_the_same_replicate(self):
        experiment = definition.load("wiscer-seven", "quick")
        number, panel = next((i, p) for i, p in enumerate(experiment.panels) if p.y == "gain")
        names = [curve.name for curve in panel.curves]
        place = "wiscer:static-low-skew"
        experiment.points = [definition.Point(number, name, place, (f"--index={name}",)) for name in names]
        results = runner.Results(self.out, "binary")
        for replicate, rates in enumerate([(10, 15), (20, 16)]):
            for name, rate in zip(names, rates, strict=True):
                results.known[(f"--index={name}",), replicate] = {"status": "ok", "throughput": {"per_second": rate}}
        drawn, gaps = runner.rows(experiment, results)
        self.assertEqual([(r["curve"], round(r["y"], 9)) for r in drawn], [(names[1], 50), (names[1], -20)])
        self.assertEqual(gaps, [])
        self.assertEqual(missing.noise(drawn, "gain"), ["too noisy: 1 of 1 points vary more than 1.5-fold from run to run"])
        self.assertEqual(missing.noise(drawn[:1], "gain"), [])
        del results.known[(f"--index={names[0]}",), 1]
        drawn, gaps = runner.rows(experiment, results)
        self.assertEqual(len(drawn), 1)
        self.assertEqual(missing.lines(gaps, experiment, number),
                         [f"left out: {names[1]} at {place} in 1 of 3 runs: nothing of {names[0]} to compare with"])

    def test_a_point_is_one_run(self):
        point = definition.load("policies", "quick", ("--records=2000", "--ops=2000", "--reps=2")).points[0]
        with self.assertRaisesRegex(definition.InputError, "makes several runs of one point"):
            measured_once(point)

    def test_missing_results_for_redraw_are_reported(self):
        self.experiment()
        lines = (self.out / "results.jsonl").read_text().splitlines()
        (self.out / "results.jsonl").write_text("\n".join(lines[:-2]) + "\n")
        self.assertEqual(self.experiment("--redraw", "--dry-run").stdout, "")
        self.assertRegex(self.experiment("--redraw").stderr, r"experiment: [12] of \d+ runs are not in ")
        done = self.experiment("--redraw", "--", "--records=9")
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no run with these options; its last run had --index=art", done.stderr)

    def test_a_redrawn_figure_has_the_processors_of_the_machine_that_measured(self):
        (self.out).mkdir()
        document = {"status": "ok", "machine": {"processors": 56}}
        record = {"binary": "b", "arguments": ["--threads=1"], "replicate": 0, "document": document}
        (self.out / "results.jsonl").write_text(json.dumps(record) + "\n{\"binary\": \"cut")
        self.assertEqual(last_run(self.out), ("b", 56, ["--threads=1"]))
        self.assertEqual(definition.load("policies", "quick", (), 56).panels[0].x, [1, 2, 4, 8, 16, 32, 56])

    def test_a_killed_runner_takes_its_child_along(self):
        self.harness.write_text("#!/bin/sh\nexec sleep 300\n")
        command = ["/usr/bin/python3", "-B", str(TREE / "experiments/run.py"), str(self.harness), "policies", f"--out={self.folder}/out"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            self.assertTrue(kill_with_child(process))

    def test_results_are_kept_where_no_figure_can_be_drawn(self):
        done = self.experiment()   # Debian's own Python, which has no packages for drawing
        if "figure:" in done.stdout:
            self.skipTest("this Python draws")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no figure is drawn", done.stderr)
        self.assertTrue((self.out / "results.jsonl").stat().st_size > 0)


class Gaps(unittest.TestCase):
    """Tests with latency-vs-load.toml, which has no number at some bounds."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.experiment = definition.load("latency-vs-load", "quick")
        self.results = runner.Results(pathlib.Path(scratch.name), "binary")

    def known(self, curve, x, replicate, answer, status="ok"):
        (point,) = (p for p in self.experiment.points if (p.curve, p.x) == (curve, x))
        self.results.known[point.arguments, replicate] = {
            "status": status, "reason": "no rate keeps it twice" if status == "degraded" else "", "slo": {"answer": answer},
            "throughput": {"per_second": 5e6},
        }
        return point

    def said(self):
        drawn, gaps = runner.rows(self.experiment, self.results)
        return {(r["curve"], r["x"], r["replicate"]) for r in drawn}, missing.lines(gaps, self.experiment, 0)

    def test_a_bound_that_no_rate_keeps_is_named(self):
        for replicate in range(3):
            self.known("olc", "p99:2us", replicate, "none-keeps", status="degraded")
            self.known("olc", "p99:10us", replicate, "found" if replicate == 1 else "none-keeps")
        drawn, said = self.said()
        self.assertEqual(drawn, {("olc", "p99:10us", 1)})
        why = "not even the lowest rate that was tried keeps the bound"
        self.assertEqual(said, [f"left out: olc at p99:2us, p99:10us in 2 of 3 runs: {why}"])

    def test_an_unfinished_search_leaves_out_only_itself(self):
        point = self.known("olc", "p99:2us", 0, "unsteady", status="degraded")
        self.known("olc", "p99:2us", 1, "found")
        self.assertIsNone(self.results.why_left_out(point))
        drawn, said = self.said()
        self.assertEqual(drawn, {("olc", "p99:2us", 1)})
        self.assertEqual(said, ["left out: olc at p99:2us in 1 of 3 runs: no rate keeps it twice"])

    def test_a_gap_of_all_curves_at_one_x_is_one_line(self):
        for curve in ("rwspin", "rtm:20", "olc"):
            for replicate in range(3):
                self.known(curve, "p99:2us", replicate, "none-keeps")
        why = "not even the lowest rate that was tried keeps the bound"
        self.assertEqual(self.said()[1], [f"left out: all at p99:2us: {why}"])

    def test_a_policy_that_cannot_run_leaves_out_its_point(self):
        point = self.known("rtm:20", "p99:2us", 0, "found", status="degraded")
        self.results.known[point.arguments, 0]["slo"] = None
        self.assertEqual(self.results.why_left_out(point), "no rate keeps it twice")

    def test_a_null_has_a_reason(self):
        document = {"memory": {"bytes_per_key": None, "bytes_per_key_reason": "it keeps none"}, "sync": {"aborts": None}}
        with self.assertRaisesRegex(missing.NoNumber, "^it keeps none$"):
            definition.METRICS["bytes"][1](document)
        document["sync"]["aborts_reason"] = "it elides nothing"
        with self.assertRaisesRegex(missing.NoNumber, "^it elides nothing$"):
            definition.METRICS["zeros"][1](document)
        document["memory"]["bytes_per_key"] = 8
        self.assertEqual(definition.METRICS["bytes"][1](document), 8)

    def test_kernel_entries_are_faults_and_switches_or_why_they_are_not_counted(self):
        entries = definition.METRICS["entries"][1]
        events = [{"name": name, "family": "software", "count": {"per_operation": rate}}
                  for name, rate in (("page-faults", .5), ("context-switches", .25), ("cpu-migrations", 8))]
        document = {"pmu": {"events": events}}
        self.assertEqual(entries(document), .75)
        events[1].update(count=None, count_reason="EACCES")
        with self.assertRaisesRegex(missing.NoNumber, "^EACCES$"):
            entries(document)
        with self.assertRaisesRegex(missing.NoNumber, "^--pmu=off$"):
            entries({"pmu": None, "pmu_reason": "--pmu=off"})

    def test_aborts_of_all_causes_are_summed(self):
        document = {"sync": {"aborts": {"conflict": 3, "zero": 1}}, "throughput": {"operations": 8}}
        self.assertEqual(definition.METRICS["aborts"][1](document), .5)

    def test_points_that_vary_too_much_are_counted(self):
        rows = [{"curve": c, "x": 1, "y": y, "run": y, "noisy": False} for c, y in (("a", 2), ("a", 3), ("b", 2), ("b", 3.1))]
        self.assertEqual(missing.noise(rows), ["too noisy: 1 of 2 points vary more than 1.5-fold from run to run"])
        self.assertEqual(missing.noise(rows[:2]), [])


    def test_a_noisy_run_is_drawn_and_counted(self):
        for replicate in range(3):
            self.known("olc", "p99:2us", replicate, "found", status="noisy" if replicate == 1 else "ok")
        drawn, gaps = runner.rows(self.experiment, self.results)
        self.assertEqual([r["replicate"] for r in drawn], [0, 1, 2])
        self.assertEqual(gaps, [])
        line = "noisy: other programs disturbed 1 of 3 runs"
        self.assertEqual(missing.noise(drawn), [line])
        self.assertIn(f"  {line}", runner.summary(self.experiment, drawn, gaps).splitlines())

    def test_a_noisy_run_is_kept(self):
        point = self.experiment.points[0]
        folder = self.results.path.parent
        for status, kept in (("noisy", True), ("invalid", False)):
            harness = folder / status
            document = {"status": status, "reason": "why", "interrupted": False}
            harness.write_text(f"#!/usr/bin/python3\nprint({json.dumps(json.dumps(document))})\n")
            harness.chmod(0o755)
            measured, failure = measured_once(point, harness)
            self.assertEqual((measured is not None, failure == ""), (kept, kept))


class Wiscer(unittest.TestCase):
    def test_only_published_numbers_are_called_published(self):
        """Wiscer's README has requests per second and gains; the numbers of nodes come from a run of its code."""
        for panel in definition.load("wiscer-seven", "quick").panels:
            for name, points in panel.beside:
                self.assertEqual(name.endswith("(published)"), panel.y in ("throughput", "gain"), name)
                self.assertEqual({x for x, _ in points} - set(panel.x), set())
        panels = {panel.y: dict(panel.beside) for panel in definition.load("wiscer-seven", "quick").panels if panel.beside}
        self.assertEqual(set(panels), {"nodes", "throughput", "gain"})
        gains = dict(map(tuple, panels["gain"]["vip (published)"]))
        self.assertEqual(gains["wiscer:static-low-skew"], 21.8)
        self.assertEqual(gains["wiscer:static-medium-skew"], 114.6)
        rates = [dict(map(tuple, panels["throughput"][f"{index} (published)"])) for index in ("chained", "vip")]
        for workload, gain in gains.items():   # the README rounds both
            self.assertAlmostEqual((rates[1][workload] / rates[0][workload] - 1) * 100, gain, delta=.6)

    def test_the_notes_on_shifts_of_popularity_are_true(self):
        """The number of requests and Wiscer's files decide whether popularity shifts."""
        for mode, shifts in (("quick", {"high": 1, "medium": 0}), ("full", {"high": 10, "medium": 1})):
            experiment = definition.load("wiscer-seven", mode)
            (ops,) = {a for point in experiment.points for a in point.arguments if a.startswith("--ops=")}
            requests = int(ops.removeprefix("--ops=").removesuffix("M")) * 1_000_000
            for name, times in shifts.items():
                file = (TREE / f"workloads/wiscer/{name}-churn.txt").read_text()
                every = int(next(line for line in file.splitlines() if line.startswith("distShiftFreq=")).split("=")[1])
                self.assertEqual((requests - 1) // every, times)
            note = experiment.panels[0].note
            self.assertIn(f"{requests // 1_000_000} M requests", note)
            self.assertIn("medium-churn has not yet, since it shifts after 100 M" if mode == "quick" else "medium-churn once", note)


class Words(unittest.TestCase):
    def told(self, *arguments):
        return subprocess.run([HARNESS, "experiment", *arguments], capture_output=True, text=True, check=False, timeout=60)

    def test_wrong_input_is_one_line_and_exit_status_2(self):
        for arguments, said in (
            (["haswell"], "there is no experiment 'haswell'; there are abort-anatomy,"),
            (["policies", "--quik"], "there is no '--quik' here; there are --quick,"),
            (["policies", "--quick", "--full"], "--quick and --full: give one of them"),
            (["--quick"], "the name is missing"),
            (["policies", "--", "records=3"], "behind '--' stand options of a run"),
            (["policies", "--", "--profile=x.svg"], "--profile=x.svg: a picture shows one run; give it to harness"),
            (["policies", "--", "--history=h"], "--history=h: a file has the calls of one run; give it to harness"),
            (["policies", "--", "--threads=1"], "--threads tells the points of 'Uniform lookups' apart"),
            (["policies", "--out=/proc/nowhere"], "--out: /proc/nowhere"),
            (["policies", "--paper", "--width=wide"], "--width=wide: a number of points from 72 to 2000"),
            (["policies", "--font-size=9"], "--font-size=9: the size of a figure with --paper; this is one without"),
            (["policies", "--redraw", "--out=/proc/nowhere"], "--redraw: there is no result in /proc/nowhere/results.jsonl"),
            (["policies", "--", "--seed=two"], "--seed=two: the seed of the first block is a whole number"),
        ):
            with self.subTest(arguments=arguments):
                done = self.told(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)

    def test_it_lists_experiments_and_the_runs_of_a_dry_run(self):
        said = self.told().stdout
        self.assertEqual([line.split()[0] for line in said.splitlines()], definition.names())
        self.assertRegex(said, r"(?m)^policies +A reader-writer lock keeps lookups from scaling;")
        done = self.told("policies", "--dry-run")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.splitlines()), len(definition.load("policies", "quick").points))
        self.assertIn("--sync=rtm:20", done.stdout)

    def test_an_interruption_is_reported_and_nothing_is_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [HARNESS, "experiment", "policies", f"--out={folder}", "--", "--records=2000", "--ops=2000", "--warmup=0"],
                stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
            )
            for _ in range(3):
                process.stderr.readline()
            os.killpg(process.pid, signal.SIGINT)
            rest = process.communicate()[1]
            self.assertEqual(process.returncode, 130)
            self.assertIn("interrupted; the same command goes on", rest)
            self.assertGreaterEqual(len((pathlib.Path(folder) / "results.jsonl").read_text().splitlines()), 2)


if __name__ == "__main__":
    unittest.main()
