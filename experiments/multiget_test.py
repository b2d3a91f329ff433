"""The experiments with servers. Run by CTest; by hand: python3 experiments/multiget_test.py"""
import contextlib
import io
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import co_runner
import imbalance
import kept
import multiget
import served
import vectors_served
from input_error import InputError
from multiget import Point

TREE = pathlib.Path(__file__).resolve().parents[1]
BUILD = {"commit": "abc", "dirty": False}
SHORT = {"quick": "300ms"}


def outcome(server_ns, keys_s=1e6, times=(None, None, None), extent=None):
    return {"server_ns": server_ns, "keys_s": keys_s, "parts": dict.fromkeys(served.PARTS, server_ns / 5),
            **dict(zip(("p50_us", "p95_us", "p99_us"), times, strict=True)), "least_mean_most_us": extent}


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)


class Kept(Folder):
    def test_runs_are_kept_by_point_and_round(self):
        runs = kept.Runs(self.folder, Point, "quick")
        a, b = Point("cuckoo, turn", 64), Point("memcached", 64)
        for number, (ours, theirs) in enumerate(((100, 400), (200, 600)), 1):
            runs.add(a, number, outcome(ours), BUILD)
            runs.add(b, number, outcome(theirs), BUILD)
        runs.add(a, 3, outcome(1), BUILD)
        again = kept.Runs(self.folder, Point, "quick")
        self.assertEqual(again.kept, runs.kept)
        self.assertEqual(again.values(a, "server_ns"), [100, 200, 1])
        self.assertEqual(again.values(a, "p95_us"), [])
        self.assertEqual(again.ratios(b, a, "server_ns"), [4, 3])   # the third round lacks one

    def test_runs_of_another_build_are_not_mixed(self):
        kept.Runs(self.folder, Point, "quick").add(Point("null", 1), 1, outcome(1), BUILD)
        for other in ({"commit": "abd", "dirty": False}, {"commit": "abc", "dirty": True}):
            with self.assertRaisesRegex(InputError, "has runs of commit abc, and this is ab[cd].?: give another --out"):
                kept.Runs(self.folder, Point, "quick").add(Point("null", 1), 2, outcome(1), other)

    def test_runs_of_another_mode_are_not_mixed(self):
        kept.Runs(self.folder, Point, "quick").add(Point("null", 1), 1, outcome(1), BUILD)
        with self.assertRaisesRegex(InputError, "has runs in the mode quick, and this is full: give another --out"):
            kept.Runs(self.folder, Point, "full")

    def test_a_line_that_is_no_run_is_refused(self):
        (self.folder / "results.jsonl").write_text('{"round": 1}\n')
        with self.assertRaisesRegex(InputError, "line 1 is not one of a run"):
            kept.Runs(self.folder, Point, "quick")

    def test_a_reader_that_leaves_is_no_error(self):
        for script in ("multiget", "imbalance", "co_runner"):
            reads, writes = os.pipe()
            os.close(reads)
            done = subprocess.run([sys.executable, "-B", TREE / f"experiments/{script}.py", "bench", "--help"], stdout=writes, stderr=subprocess.PIPE,
                                  text=True, check=False)
            os.close(writes)
            self.assertEqual((done.stderr, done.returncode), ("", 0), script)

    def test_another_pipe_that_breaks_is_an_error(self):
        words = "import input_error\ndef call(): raise BrokenPipeError('of a child')\ninput_error.run_script('x', call)"
        done = subprocess.run([sys.executable, "-B", "-c", words], cwd=TREE / "experiments", capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("BrokenPipeError: of a child", done.stderr)

    def test_wrong_use_is_one_line(self):
        for words, said in ((["--fast"], "'--fast' has no meaning here"), (["--quick", "--quick"], "--quick is given twice"), (["--out=/proc/no/such"], "--out: /proc/no/such: ")):
            with self.assertRaisesRegex(InputError, said):
                kept.parse(words, self.folder)


class Multiget(Folder):
    def test_points(self):
        by_isa = multiget.simdht_servers("full", ["scalar", "avx2"])
        self.assertEqual(list(by_isa)[:5], ["2x4 scalar, turn", "2x4 scalar, off", "2x4 avx2, turn", "2x4 avx2, off", "2x1 avx2, turn"])
        self.assertEqual(len(by_isa), 4 + 8)
        closed, loaded = multiget.points_of("full", ["memcached", "redis"], by_isa)
        self.assertEqual(len(closed), 7 * 8 + 7 * 3 + 5 * 3 + 5 * 2 * 2 + 12)
        self.assertEqual(len(loaded), 6 * 2 * 4)
        self.assertEqual(len({*closed, *loaded}), len(closed) + len(loaded))
        by_ucx, _ = multiget.points_of("quick", ["redis"], {}, ("shm", "ucx"))
        self.assertEqual({point.server for point in by_ucx if point.transport == "ucx"}, {*multiget.OURS, "null"})
        self.assertEqual(multiget.points_of("quick", ["redis"], {})[1], [])   # nothing says how much memcached serves

    def test_percentiles_and_extent_of_a_histogram(self):
        histogram = [(1000, 50), (2000, 45), (9000, 5)]
        self.assertEqual([multiget.percentile(histogram, percent) for percent in (50, 95, 99, 100)], [1000, 2000, 9000, 9000])
        self.assertEqual(multiget.extent(histogram), [1, 1.85, 9])

    def test_report_has_ratios_of_rounds(self):
        runs = kept.Runs(self.folder, Point, "quick")
        for number in (1, 2):
            runs.add(Point("cuckoo, turn", 64), number, outcome(100 * number), BUILD)
            runs.add(Point("memcached", 64), number, outcome(500), BUILD)
            runs.add(Point("memcached", 64, "tcp", .8), number, outcome(600, 1e6, (10, 20, 30), [1, 12, 40]), BUILD)
            runs.add(Point("cuckoo, turn", 64, "tcp", .8), number, outcome(600, 1e6, (1, 2 * number, 3), [1, 2, 4]), BUILD)
            for server, rate in (("cuckoo, turn", 12e6), ("cuckoo, off", 3e6), ("memc3, turn", 4e6), ("memc3, off", 2e6)):
                runs.add(Point(server, 64, "shm"), number, outcome(1, rate), BUILD)
            for isa, rate in (("scalar", 2e6), ("avx2", 3e6)):
                runs.add(Point(f"2x4 {isa}, turn", 64, "shm"), number, outcome(1, rate), BUILD)
        text = multiget.report(runs)
        self.assertIn(" 64 keys: memcached's server time over ours with batches: 3.75 (2.50 to 5.00)\n", text)
        self.assertIn(" 64 keys: simdht 2x4, avx2 over scalar, --gather=turn: throughput in shared memory: 1.50 (1.50 to 1.50)\n", text)
        self.assertRegex(text, r"get memcached +64 keys, tcp, 80 % load +10 20 30; 1 12 40\n")
        self.assertIn(" 64 keys: memcached's p95 over ours with batches, under 80 % of memcached's most: 7.50 (5.00 to 10.00)\n", text)
        for what, ratio in (("cuckoo over memc3, both with batches", 3), ("memc3 with batches over without", 2),
                            ("cuckoo over memc3, both without batches", 1.5), ("cuckoo with batches over memc3 without", 6)):
            self.assertRegex(text, rf" 64 keys: {what}: throughput in shared memory[^:]*: {ratio:.2f} \(")
        self.assertRegex(text, r"get cuckoo, turn +64 keys, tcp +receive 30 \(20 to 40\)  parse 30 \(20 to 40\)  lookup ")

    def test_a_server_that_leaves_is_one_line(self):
        server = served.Server.__new__(served.Server)
        server.name, server.resp = "null", False
        server.control, other = socket.socketpair()
        with server.control, other:
            other.shutdown(socket.SHUT_WR)
            with self.assertRaisesRegex(InputError, "null has closed its connection"):
                server.counts()

    def test_a_phase_is_found_by_the_keys_that_were_counted(self):
        watch = served.Watch(None, "get")
        watch.looks = [{"keys": keys} for keys in (0, 90, 100, 150, 190, 200, 210)]
        self.assertEqual([look["keys"] for look in watch.within(100, 200)], [100, 200])
        self.assertIsNone(watch.within(101, 160))


class CoRunner(Folder):
    def test_the_neighbour_is_on_the_servers_core_if_it_can_be(self):
        for all_, siblings, expected in (({0, 1}, {0, 1}, (1, [1])), ({0, 1, 2, 3}, {0, 2}, (2, [1, 3])), ({4, 5, 6}, {4}, (5, [6]))):
            with mock.patch("os.sched_getaffinity", lambda _, all_=all_: all_):
                neighbour, clients, words = co_runner.layout(lambda _, siblings=siblings: siblings)
            self.assertEqual((neighbour, clients), expected)
            self.assertEqual("shares its processor" in words, neighbour in clients)
            self.assertEqual("on its other hardware thread" in words, neighbour in siblings)

    def test_a_piece_counts_if_it_lies_between_two_moments(self):
        neighbour = co_runner.Neighbour("none", 0)
        neighbour.pieces = [(100, 60), (200, 90), (300, 95), (400, 80)]
        self.assertEqual(neighbour.piece_ns(105, 300), 92.5)
        self.assertIsNone(neighbour.piece_ns(330, 400))

    def test_report_divides_by_the_same_round_without_neighbour(self):
        runs = kept.Runs(self.folder, co_runner.Point, "quick")
        for number, (alone, beside) in enumerate(((100, 150), (200, 220)), 1):
            for neighbour, ns, loses in (("none", alone, None), ("memory", beside, 1.25)):
                runs.add(co_runner.Point("null", neighbour), number, {"server_ns": ns, "keys_s": 1e6, "loses": loses}, BUILD)
        self.assertRegex(co_runner.report(runs, "here"), r"null +memory +185 \(150 to 220\) +1\.30 \(1\.10 to 1\.50\) .* 25 \(25 to 25\)\n")

    def test_neighbours_work(self):
        for kind in ("scalar", "memory"):
            neighbour = co_runner.Neighbour(kind, min(os.sched_getaffinity(0)))
            neighbour.work(3)
            neighbour.end()
            self.assertGreater(neighbour.piece_ns(0, 1 << 63), 0)


class Imbalance(Folder):
    def test_the_first_number_of_servers_at_which_popularity_matters(self):
        runs = kept.Runs(self.folder, imbalance.Point, "quick")
        points = [imbalance.Point("zipf:0.99", servers) for servers in (1, 4, 16)]
        for point, gets in zip(points, (1, 1.29, 1.32), strict=True):
            runs.add(point, 1, {"keys": 1 if point.servers == 1 else 1.2, "gets": gets}, BUILD)
        self.assertIn("from 16 servers on the gets are 1.10 times as uneven", imbalance.first_significant(runs, points))
        self.assertIn("up to 4 servers", imbalance.first_significant(runs, points[:2]))


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two processors")
class End(Folder):
    """The experiments with real servers, through a ./bench that builds nothing."""

    def setUp(self):
        super().setUp()
        server = os.environ.get("LATCHLAB_SERVER") or TREE / "build/release/server_tested"
        harness = os.environ.get("LATCHLAB_HARNESS") or TREE / "build/release/harness"
        self.bench = self.folder / "bench"
        self.bench.write_text(f'#!/bin/sh\nif [ "$1" = serve ]; then shift; exec "{server}" "$@"; fi\nexec "{harness}" "$@"\n')
        self.bench.chmod(0o755)
        words = [harness, "--index=remote", "--sync=own", "--dry-run"]
        told = subprocess.run(words, capture_output=True, text=True, check=False).stderr
        if "is not in this build, which has a part of all pairs" in told and not os.environ.get("LATCHLAB_SKIP_NOTHING"):
            self.skipTest(told.strip())
        counts = {"RECORDS": {"quick": 1000}, "GETS": {"quick": 6400}, "SERVERS": {"quick": (1, 3)}, "ROUNDS": {"quick": 1}}
        for module, settings in ((imbalance, counts), (multiget, {"RECORDS": {"quick": "10K"}, "WINDOW": SHORT, "ROUNDS": {"quick": 1}}), (co_runner, {"PIECES": 2}),
                                 (vectors_served, {"ROUNDS": {"quick": 1}, "REPEATS": {"quick": 2}, "TOTAL": {"quick": 1 << 12}})):
            patched = mock.patch.multiple(module, **settings)
            patched.start()
            self.addCleanup(patched.stop)

    def run_script(self, script):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(sys.stderr):
            status = script.main(str(self.bench), "--quick", f"--out={self.folder}/out")
        return status, out.getvalue()

    def test_multiget_measures_and_goes_on(self):
        points = ([Point("cuckoo, turn", 16), Point("null", 16, "shm"), Point("cuckoo, turn", 16, verb="set"),
                   Point("cuckoo, turn", 16, verb="incr"), Point("2x4 scalar, off", 64, "shm")],
                  [Point("cuckoo, turn", 1, "tcp", .5)])
        if served.has_ucx(str(self.bench)):
            points[0].append(Point("cuckoo, turn", 16, "ucx"))
        self.assertEqual(kept.Runs(self.folder, Point, "quick").points(), [])
        with mock.patch.object(multiget, "points_of", lambda *_: points), mock.patch.object(multiget, "draw", mock.Mock(side_effect=ImportError)), \
             mock.patch.object(multiget, "isas_here", lambda: ["scalar"]), mock.patch.object(served, "build", lambda *_: True), \
             mock.patch.object(kept.Runs, "values", lambda runs, point, what, values=kept.Runs.values:
                               values(runs, point, what) or ([1e4] if point == Point("memcached", 1) and what == "keys_s" else [])):
            status, out = self.run_script(multiget)
            self.assertEqual(status, 0, out)
            for point in (point for part in points for point in part):
                self.assertIn(point.name, out)
            path = self.folder / "out/results.jsonl"
            lines = path.read_text()
            self.assertEqual(len(lines.splitlines()), sum(map(len, points)))
            self.run_script(multiget)
            self.assertEqual(path.read_text(), lines)
        [loaded] = points[1]
        self.assertGreater(kept.Runs(self.folder / "out", Point, "quick").values(loaded, "p95_us")[0], 0)

    def test_a_build_says_nothing_of_runs(self):
        words = f"import served; raise SystemExit(not served.build({str(self.bench)!r}, {{'null': served.NULL_STORE}}))"
        done = subprocess.run([sys.executable, "-B", "-c", words], capture_output=True, text=True, check=False,
                              env=os.environ | {"PYTHONPATH": str(TREE / "experiments")})
        self.assertEqual((done.stderr, done.returncode), ("", 0))

    def test_imbalance_counts_all_gets(self):
        with mock.patch.object(served, "build", lambda *_: True), mock.patch.object(imbalance, "draw", mock.Mock(side_effect=ImportError)):
            status, out = self.run_script(imbalance)
        self.assertEqual(status, 0, out)
        runs = kept.Runs(self.folder / "out", imbalance.Point, "quick")
        for popularity in imbalance.POPULARITY["quick"]:
            self.assertEqual([runs.values(imbalance.Point(popularity, 1), of) for of in ("keys", "gets")], [[1], [1]])
            self.assertGreater(runs.values(imbalance.Point(popularity, 3), "gets")[0], 1)
        self.assertIn("zipf:0.99", out)

    def test_co_runner_measures_both(self):
        with mock.patch.object(multiget, "OURS", {"cuckoo, turn": ["--index=cuckoo", "--sync=olc"]}), mock.patch.object(multiget, "NULL", {}), \
             mock.patch.object(multiget, "isas_here", list), mock.patch.object(served, "installed_peers", lambda _: []), \
             mock.patch.object(served, "build", lambda *_: True):
            status, out = self.run_script(co_runner)
        self.assertEqual(status, 0, out)
        runs = kept.Runs(self.folder / "out", co_runner.Point, "quick")
        self.assertEqual(len(runs.kept), 3)
        self.assertEqual({point.neighbour for point in runs.points()}, set(co_runner.NEIGHBOURS))

    def test_vectors_served_measures_each_way(self):
        with mock.patch.object(served, "build", lambda *_: True):
            status, out = self.run_script(vectors_served)
        self.assertEqual(status, 0, out)
        self.assertEqual(len(vectors_served.WAYS), sum(" ns of the server an element" in line for line in out.splitlines()))
        self.assertIn("elements over update, 1024 elements:", out)

    def test_vectors_served_ends_at_an_error(self):
        with mock.patch.object(served, "build", lambda *_: True), mock.patch.object(vectors_served, "loads_of", lambda *_: []), \
             self.assertRaisesRegex(InputError, "the server answers"):
            self.run_script(vectors_served)


if __name__ == "__main__":
    unittest.main()
