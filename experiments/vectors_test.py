"""The experiment of vectors. Run by CTest; by hand: LATCHLAB_VECTORS_BENCH=PROGRAM python3 experiments/vectors_test.py"""
import contextlib
import io
import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import kept
import vectors
from vectors import Point

PROGRAM = os.environ.get("LATCHLAB_VECTORS_BENCH") or vectors.TREE / "build/release/vectors_bench"
BUILD = {"commit": "abc", "dirty": False}


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)


class Report(Folder):
    def test_ratios_are_of_one_round_and_have_bars(self):
        runs = kept.Runs(self.folder, Point, "quick")
        for number, (ours, bare) in enumerate(((90, 100), (300, 400), (70, 100)), 1):
            for contender, rate, total in (("map", ours, 64 << 20), ("bare", bare, 64 << 20), ("elements", 10, 8 << 20)):
                point = Point(contender, "update", 4096, total, 1)
                runs.add(point, number, {"elements_s": rate, "bytes_s": rate * 1e9, "kernel": "avx2"}, BUILD)
        text = vectors.report(runs)
        self.assertIn("kernel: avx2\n", text)
        self.assertRegex(text, r"map +update +4 KiB of +64 MiB, 1 thread +90\.0 \(70\.0 to 300\.0\) +0\.75 \(0\.70 to 0\.90\) missed +- "
                               r"+9\.00 \(7\.00 to 30\.00\) met +-\n")

    def test_points(self):
        with mock.patch("os.sched_getaffinity", lambda _: set(range(8))):
            points = vectors.points_of("full")
        self.assertEqual(len(points), len(set(points)))
        self.assertEqual(len(points), 2 * 2 * (2 * (7 * 2 + 1) + 2 * (5 * 2 + 1)))
        self.assertEqual({point.threads for point in points}, {1, 4})


@unittest.skipUnless(pathlib.Path(PROGRAM).exists() or os.environ.get("LATCHLAB_SKIP_NOTHING"), "vectors_bench is not built")
class Program(Folder):
    def test_every_contender_does_every_operation(self):
        settings = {"TOTAL": {"quick": (1 << 16,)}, "OF_ELEMENTS": {"quick": 1 << 16}, "BYTES": (4 << 10,), "ROUNDS": {"quick": 1},
                    "MILLISECONDS": {"quick": 5}}
        with mock.patch.multiple(vectors, **settings), mock.patch.object(vectors, "build", lambda: BUILD), \
             contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(vectors.main(str(PROGRAM), "--quick", f"--out={self.folder}"), 0)
        runs = kept.Runs(self.folder, Point, "quick")
        self.assertEqual(len(runs.kept), 2 * 8 + 2 * 6)
        self.assertEqual({point.contender for point in runs.points()}, set(vectors.CONTENDERS))
        self.assertTrue(all(outcome["vectors_s"] > 0 for outcome in runs.kept.values()))
        self.assertEqual(len(out.getvalue().splitlines()), 3 + 2 * len(vectors.OURS) + 2 * 2)

    def test_wrong_words_are_one_line(self):
        for words, said in ((["cloud", "update", "4096", "8192", "1", "1"], "'cloud' is none of map in-place batch in-place-batch modify bare bare-copy elements"),
                            (["map", "update", "4097", "8194", "1", "1"], "BYTES: is no whole number of elements of 4 bytes"),
                            (["map", "update", "4096", "x", "1", "1"], "TOTAL: 'x' is no number above 0"),
                            (["map"], "needs CONTENDER OPERATION BYTES TOTAL THREADS MILLISECONDS")):
            ran = subprocess.run([PROGRAM, *words], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((ran.returncode, ran.stderr), (2, f"vectors_bench: {said}\n"))


if __name__ == "__main__":
    unittest.main()
