"""The experiment on slabs. Run by CTest; by hand: LATCHLAB_SLAB_TRACE=build/release/slab_trace python3 experiments/slabs_test.py"""
import contextlib
import io
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import kept
import slabs
from slabs import Point

TREE = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("LATCHLAB_SLAB_TRACE") or TREE / "build/release/slab_trace"
BUILD = {"commit": "abc", "dirty": False}
SHORT = {"OPERATIONS": {"quick": "300K"}, "LIVE": {"quick": "256Ki"}, "SLOTS": {"quick": "64Ki"}, "ROUNDS": {"quick": 1}}


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)


class Points(Folder):
    def test_words_of_a_point(self):
        self.assertEqual(Point("pool", 2).words("quick"), "replay:alloc=pool,threads=2,ops=6M,live=8Mi")
        self.assertEqual(Point("merge", 1, .5).words("full"), "merge:slots=16Mi,free=0.5")

    def test_two_threads_need_two_processors(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            points = slabs.points_of(["slabs", "malloc"], 1)
        self.assertEqual(points, [Point("slabs", 1), Point("malloc", 1), Point("merge", 1, 1.0), Point("merge", 1, .5)])
        self.assertIn("2 threads are left out: there is one processor", said.getvalue())
        self.assertEqual(len(slabs.points_of(["slabs", "malloc"], 2)), 6)

    def test_report_has_medians(self):
        runs = kept.Runs(self.folder, Point, "quick")
        for number, ns in ((1, 10), (2, 30), (3, 11)):
            held = dict.fromkeys(slabs.HELD, ns / 10)
            runs.add(Point("slabs", 2), number, {"ns": ns, "busy_ns": ns, "merges": 4, "accesses_op": .01, "lines_op": .05, "splits_op": .2, **held}, BUILD)
            runs.add(Point("malloc", 2), number, {"ns": 3 * ns, "busy_ns": 2 * ns, **held}, BUILD)
            runs.add(Point("merge", 1, 1.0), number, {"slots_s": 1e7 * ns}, BUILD)
        text = slabs.report(runs)
        self.assertRegex(text, r"slabs +2 threads +11\.0 \(10\.0 to 30\.0\) +11\.0 \(10\.0 to 30\.0\) +1\.10 \(1\.00 to 3\.00\)")
        self.assertRegex(text, r"malloc +2 threads +22\.0 \(20\.0 to 60\.0\)")
        self.assertIn("shared accesses 0.0100 (0.0100 to 0.0100), their lines 0.0500", text)
        self.assertIn("merge, 100 % of the slots free: 110 (100 to 300) M slots/s", text)


@unittest.skipUnless(pathlib.Path(PROGRAM).exists(), "slab_trace is not built")
class Program(Folder):
    def test_wrong_use_is_one_line(self):
        for words, said in (("replay:alloc=arena", "alloc=arena"), ("replay:threads=0", "threads='0' must be a whole number"), ("sort", "'sort' is neither replay nor merge"),
                            ("merge:ops=3", "ops")):
            ran = slabs.run(PROGRAM, words)
            self.assertEqual((ran.returncode, ran.stdout, ran.stderr.count("\n")), (2, "", 1), words)
            self.assertIn(said, ran.stderr)

    def test_an_allocator_that_is_not_installed_is_left_out(self):
        with mock.patch.object(slabs, "MALLOCS", ("malloc", "tcmalloc")), contextlib.redirect_stderr(io.StringIO()) as said, \
             mock.patch.dict(os.environ, {"LATCHLAB_PRELOADED": "so that it looks as if it could not be"}):
            self.assertEqual(slabs.installed(PROGRAM), ["slabs", "pool", "malloc"])
        self.assertRegex(said.getvalue(), r"slabs: tcmalloc is left out: --alloc=tcmalloc: .*\n$")

    def test_the_trace_does_not_depend_on_the_run(self):
        with mock.patch.multiple(slabs, **SHORT):
            of = [slabs.measure(PROGRAM, Point("slabs", 1), "quick")[0] for _ in range(2)]
        self.assertEqual(of[0]["operations"], 300_000)
        self.assertEqual(of[0]["operations"], of[1]["operations"])

    def test_measures_and_goes_on(self):
        with mock.patch.multiple(slabs, **SHORT), contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(slabs.main(PROGRAM, "--quick", f"--out={self.folder}"), 0)
            lines = (self.folder / "results.jsonl").read_text()
            self.assertEqual(slabs.main(PROGRAM, "--quick", f"--out={self.folder}"), 0)
            self.assertEqual((self.folder / "results.jsonl").read_text(), lines)
        runs = kept.Runs(self.folder, Point, "quick")
        self.assertLess(runs.values(Point("slabs", 1), "accesses_op")[0], slabs.MOST_ACCESSES)
        self.assertEqual(runs.values(Point("pool", 1), "accesses"), [])
        for point in runs.points():
            if point.allocator != "merge":
                self.assertGreater(runs.values(point, "held_at_peak")[0], 1, point)
        self.assertEqual(runs.values(Point("merge", 1, 1.0), "joins"), [65536 - 65536 // 16])
        self.assertIn("shared accesses", out.getvalue())


if __name__ == "__main__":
    unittest.main()
