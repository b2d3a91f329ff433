"""Tests of the shares of keys for near memory. Run by CTest; by hand: python3 experiments/dispatch_test.py"""
import json
import pathlib
import stat
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dispatch
import kept
from dispatch import ALL_FAR, ALL_NEAR, Point

BUILD = {"commit": "abc", "dirty": False}


class ClosedForms(unittest.TestCase):
    def test_uniform_keys_hit_by_the_room_for_them(self):
        groups = dispatch.weights("uniform")
        for share in (.2, .5, 1):
            self.assertAlmostEqual(dispatch.hit_rate(groups, share, 10_000), 10_000 / (share * dispatch.RECORDS), places=2)
        self.assertEqual(dispatch.hit_rate(groups, .1, 10_000), 1)
        self.assertEqual(dispatch.hit_rate(groups, 0, 10_000), 0)

    def test_a_few_popular_keys_hit_more(self):
        groups = dispatch.weights("zipf:0.99")
        self.assertAlmostEqual(sum(weight * keys for weight, keys in groups), 1)
        self.assertEqual(sum(keys for _, keys in groups), dispatch.RECORDS)
        rates = [dispatch.hit_rate(groups, 1, room) for room in (100, 1000, 10_000, 90_000)]
        self.assertEqual(rates, sorted(rates))
        self.assertGreater(rates[2], .7)

    def test_the_groups_of_ranks_stand_for_the_ranks(self):
        exact = sum(rank ** -.99 for rank in range(1, dispatch.RECORDS + 1))
        self.assertAlmostEqual(dispatch.weights("zipf:0.99")[0][0], 1 / exact, places=5)

    def test_without_writes_and_near_time_the_form_is_the_published_one(self):
        for share, hits in ((.5, 64 / 92), (.3, .9)):
            self.assertAlmostEqual(1e9 / dispatch.predicted(0, 1e9 / 120, share, hits, 0), 120 / (1 - share * hits))
        self.assertAlmostEqual(120 / (1 - .5 * 64 / 92), 184, places=0)   # Mops, as KV-Direct's talk draws it

    def test_writes_of_what_leaves_make_too_large_a_share_slow(self):
        groups = dispatch.weights("uniform")
        times = {share: dispatch.predicted(400, 10_500, share, dispatch.hit_rate(groups, share, 10_000)) for share in dispatch.SHARES["full"]}
        self.assertEqual(min(times, key=times.get), .1)


class Report(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def runs(self):
        runs = kept.Runs(self.folder, Point, "quick")
        for share, ns in ((ALL_NEAR, 400), (ALL_FAR, 10_500), (.1, 9_000), (.3, 12_000), (1, 20_000)):
            for number in range(3):
                runs.add(Point("uniform", share), number, {"ns": ns + number, "near": .1}, BUILD)
        return runs

    def test_the_best_shares_are_said(self):
        self.assertIn("uniform: the best share is 0.1 by search, 0.1 by the closed form, 0.1 by KV-Direct's", dispatch.report(self.runs()))

    def test_runs_without_those_of_either_memory_alone_give_no_rows(self):
        runs = kept.Runs(self.folder, Point, "quick")
        runs.add(Point("uniform", .1), 1, {"ns": 1, "near": .1}, BUILD)
        self.assertEqual(dispatch.rows_of(runs), [])

    def bench(self, text):
        path = self.folder / "bench"
        path.write_text(f"#!/bin/sh\necho \"$@\" >>{self.folder}/calls\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def test_a_run_says_its_time_and_what_was_near(self):
        document = {"throughput": {"per_second": 1e6}, "memory": {"far": {"near_share": .25}}, "build": BUILD}
        bench = self.bench(f"echo '{json.dumps(document)}'")
        self.assertEqual(dispatch.measure(bench, Point("uniform", .3)), ({"ns": 1000, "near": .25}, BUILD))
        said = (self.folder / "calls").read_text()
        self.assertIn("--rule=fixed:0.3", said)
        self.assertIn(f"--near={dispatch.NEAR_VALUES * dispatch.BLOCK_BYTES} ", said)

    def test_a_run_that_fails_says_why(self):
        with mock.patch("sys.stderr") as errors:
            self.assertEqual(dispatch.measure(self.bench("exit 2"), Point("uniform", .3)), (None, None))
        self.assertIn("uniform, 0.3: the harness ended with status 2", "".join(call.args[0] for call in errors.write.call_args_list))


if __name__ == "__main__":
    unittest.main()
