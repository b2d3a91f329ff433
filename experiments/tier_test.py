"""Tests of ./bench tier with a fake db_bench, and one run of the real one where rocksdb-tools and the tier are there. CTest runs them; by hand:

    LATCHLAB_ROCKSDB_TIER=build/release/liblatchlab_rocksdb.so python3 experiments/tier_test.py
"""
import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from unittest import mock

import block_trace
import db_bench
import tier
import tier_cost
from db_bench import RunFailed
from input_error import InputError
from kept import Runs
from tier import Point

TREE = pathlib.Path(__file__).resolve().parents[1]
LIBRARY = pathlib.Path(os.environ.get("LATCHLAB_ROCKSDB_TIER") or TREE / "build/release/liblatchlab_rocksdb.so").absolute()

# A fake db_bench. It makes a database of 1000 bytes, and answers a run of mixgraph with counts that its option WITH may change.
FAKE = r"""#!/usr/bin/python3
import json, os, pathlib, re, struct, sys
of = dict(word[2:].split("=", 1) for word in sys.argv[1:] if "=" in word)
with open(os.environ["FAKE_CALLS"], "a") as file:
    file.write(json.dumps([sys.argv[1:], os.environ.get("LD_PRELOAD")]) + "\n")
change = json.loads(os.environ.get("FAKE_WITH", "{}"))
if "--version" in sys.argv:
    print("db_bench version 7.8.3")
elif of["benchmarks"].startswith("fill"):
    folder = pathlib.Path(of["db"])
    folder.mkdir()
    (folder / "000009.sst").write_bytes(b"x" * 1000)
    (folder / "CURRENT").write_text("MANIFEST-1")
    (folder / "LOCK").touch()
elif "said" in change:
    print(change["said"])
    sys.exit(change.get("status", 0))
else:
    assert sorted(os.listdir(of["db"])) == ["000009.sst", "CURRENT"], os.listdir(of["db"])
    (pathlib.Path(of["db"]) / "CURRENT").write_text("changed")
    assert pathlib.Path(of["db"]).parent.parent.parent.name == "cache", of["db"]
    hits = 300 if "secondary_cache_uri" in of else 0
    if hits:
        stats = re.search("stats=(.*)", of["secondary_cache_uri"])[1]
        tier = dict.fromkeys(("inserts", "blocks_written", "bytes_written", "blocks_read", "bytes_read", "charged", "index_bytes", "passed"), 7)
        pathlib.Path(stats).write_text(json.dumps({**tier, "hits": change.get("hits", hits), "lookups": 500, "medium": "heap", "model": None,
                                                   "copies": None}))
    if "block_cache_trace_file" in of:
        block = bytes([2]) + b"ab" + (4096).to_bytes(8, "little")
        pathlib.Path(of["block_cache_trace_file"]).write_bytes(struct.pack("<QBI", 0, 9, len(block)) + block)
    print("... finished 1000 ops\r", file=sys.stderr)
    print(f'''mixgraph     :      31.992 micros/op 31251 ops/sec 12.799 seconds 1000 operations;   46.1 MB/s ( Gets:830 Puts:140 Seek:30, reads 800 in 860 found, avg size: 36.6 value, 545.7 scan)

Microseconds per read:
Count: 830 Average: 24.8628  StdDev: 99.21
(       4,      6 ]    415  50.000%  50.000% #
(       6,     10 ]    415  50.000% 100.000% #

Microseconds per write:
(       6,     10 ]     14  10.000%  10.000% #
rocksdb.block.cache.data.miss COUNT : {400 if int(of["cache_size"]) < 20 else 200}
rocksdb.block.cache.data.hit COUNT : 800
rocksdb.secondary.cache.hits COUNT : {hits}
rocksdb.read.block.get.micros P50 : 57.5 P95 : 165.0 P99 : 353.8 P100 : 5866.0 COUNT : 200 SUM : 16000''')
"""


class Words(unittest.TestCase):
    def test_wrong_words_are_refused_in_one_line(self):
        for words, said in (([], "name an experiment (counts, "), (["cuonts"], "did you mean counts?"), (["x"], "there is no experiment 'x'"),
                            (["counts", "x"], "'x' is too much"), (["counts", "--keys=3"], "--keys is for variants of your own"),
                            (["16Mi", "--lod=x"], "did you mean --load?"), (["16Mi", "--load=x"], "--load=x: there are prefix-dist, "),
                            (["16Mi", "--fill=x"], "--fill=x: there are order, random"), (["16Mi", "--keys=1.5"], "no whole number from 1"),
                            (["16Mi", "--rounds=0"], "--rounds='0'"), (["16Mi", "--quick=1"], "'--quick=1' has no meaning"), (["16Mi", "--load"], "write --load=VALUE"),
                            (["16Q"], "'16Q' is no size"), (["0"], "'0' is no size"), (["16Mi+promote=2"], "needs one size="),
                            (["16Mi+"], "needs one size="), (["16Mi+size=1X"], "'1X' is no size"), (["16Mi+size=1Mi,stats=x"], "stats= is ours"),
                            (["16Mi", "16Mi"], "a variant is given twice"), ([""], "there is no experiment ''"), (["16Mi", "--out="], "write --out=FOLDER"),
                            (["16Mi", "--out"], "write --out=FOLDER"), (["counts", "--quick", "--quick"], "--quick is given twice")):
            with self.subTest(words=words):
                done = subprocess.run([sys.executable, "-B", TREE / "experiments/tier.py", "", *words], capture_output=True, text=True, check=False)
                self.assertEqual((done.stdout, done.returncode), ("", 2))
                self.assertRegex(done.stderr, r"\Atier: [^\n]+\n\Z")
                self.assertIn(said, done.stderr)

    def test_right_words_are_accepted_and_nothing_runs_without_a_library(self):
        for words in (["counts"], ["gain", "--quick"], ["32Mi", "16Mi+size=16Mi,promote=2", "--load=half-writes", "--keys=1M", "--out=/no/such"]):
            self.assertEqual(tier.main("", *words), 0, words)

    def test_sizes_are_bytes_or_a_share(self):
        self.assertEqual([tier.size(text, 2000) for text in ("16", "1k", "1K", "2Mi", "1.5M", "9%", ".5%"[1:])],
                         [16, 1000, 1000, 2 << 20, 1_500_000, 180, 100])

    def test_shards_share_both_memories(self):
        point = Point("9%+far=model:optane,size=8Mi,promote=2", shards=2)
        self.assertEqual(tier.uri_of(point, 1000, "x.json"), f"latchlab://far=model:optane,size={4 << 20},promote=2,stats=x.json")

    def test_every_experiment_has_points_of_known_loads_and_right_words(self):
        for name, (points, _) in tier.EXPERIMENTS.items():
            for mode in ({}, tier.QUICK):
                of = points(Point("", **mode))
                self.assertEqual(len(of), len(set(of)), name)
                for point in of:
                    self.assertEqual(tier.checked(point), point)
                    db_bench.load_options(point.load, point.keys, point.operations)


class Faked(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        program = self.folder / "bin/db_bench"
        program.parent.mkdir()
        program.write_text(FAKE)
        program.chmod(0o755)
        self.calls_path = self.folder / "calls"
        for patched in (mock.patch.dict(os.environ, {"PATH": f"{program.parent}:{os.environ['PATH']}", "FAKE_CALLS": str(self.calls_path)}),
                        mock.patch.object(tier, "CACHE", self.folder / "cache")):
            patched.start()
            self.addCleanup(patched.stop)
        (self.folder / "cache").mkdir()

    def tool(self):
        return tier.Tool(pathlib.Path("the.so"), self.folder / "cache")

    def calls(self):
        return [json.loads(line) for line in self.calls_path.read_text().splitlines()]

    def failure(self, point, **change):
        """Returns the line about a run that fails."""
        said = io.StringIO()
        with mock.patch.dict(os.environ, {"FAKE_WITH": json.dumps(change)}), contextlib.redirect_stderr(said):
            self.assertEqual(self.tool().measure(point), (None, None))
        return said.getvalue()

    def test_a_run_is_parsed_and_its_database_is_kept_as_it_was(self):
        tool, point = self.tool(), Point("10%+size=20%", keys=100, operations=1000)
        for _ in range(2):
            outcome, build = tool.measure(point)
        self.assertEqual(build["db_bench"], "7.8.3")
        of = {name: outcome[name] for name in ("operations_s", "gets", "puts", "seeks", "misses", "far_hits", "near_hits", "block_read_us", "p50_us",
                                               "p99_us", "database_bytes", "medium")}
        self.assertEqual(of, {"operations_s": 31251, "gets": 830, "puts": 140, "seeks": 30, "misses": 200, "far_hits": 300, "near_hits": 500,
                              "block_read_us": 80, "p50_us": 6, "p99_us": 6 + 4 * .98, "database_bytes": 1000, "medium": "heap"})
        calls = [(words, preloaded) for words, preloaded in self.calls() if "--version" not in words]
        self.assertEqual(sum("fillseq" in " ".join(words) for words, _ in calls), 1, "the database was made again")
        runs = [(words, preloaded) for words, preloaded in calls if "--benchmarks=mixgraph" in words]
        for words, preloaded in runs:
            self.assertEqual(preloaded, "the.so")
            self.assertIn("--cache_size=100", words)
            self.assertIn("--reads=1000", words)
            self.assertRegex(words[-1], "--secondary_cache_uri=latchlab://size=200,stats=")
        database, = (self.folder / "cache/databases").iterdir()
        self.assertEqual((database / "CURRENT").read_text(), "MANIFEST-1")
        self.assertEqual(list((self.folder / "cache").glob("run-*")), [])

    def test_another_database_has_another_folder(self):
        databases = self.tool().databases
        self.assertEqual(len({databases.of(*of) for of in ((100, "order"), (100, "random"), (200, "order"), (100, "order"))}), 3)

    def test_shards_run_side_by_side_with_seeds_of_their_own(self):
        outcome, _ = self.tool().measure(Point("10%", keys=100, operations=1000, shards=2))
        self.assertEqual((outcome["operations_s"], outcome["misses"], outcome["far"]), (2 * 31251, 400, None))
        runs = [words for words, _ in self.calls() if "--benchmarks=mixgraph" in words]
        self.assertEqual({word for words in runs for word in words if word.startswith("--seed")}, {"--seed=7", "--seed=8"})
        self.assertEqual({word for words in runs for word in words if word.startswith("--cache_size")}, {"--cache_size=50"})

    def test_a_run_that_went_wrong_is_one_line(self):
        point = Point("10%+size=20%", keys=100, operations=1000)
        for change, said in (({"hits": 0}, "the tier served no block of 500 lookups"), ({"hits": 299}, "the tier counts 299 hits, and RocksDB 300"),
                             ({"said": "nothing"}, "printed no line of mixgraph"), ({"said": "oh", "status": 3}, "db_bench ended with status 3"),
                             ({"said": "No secondary cache registered matching string: x"}, "No secondary cache registered matching string"),
                             ({"said": "open error: Invalid argument: Direct I/O is not supported"}, "Direct I/O is not supported")):
            with self.subTest(change=change):
                line = self.failure(point, **change)
                self.assertRegex(line, r"\Atier: prefix-dist, order: 10%\+size=20%: [^\n]+\n\Z")
                self.assertIn(said, line)

    def test_an_experiment_keeps_its_runs_and_reports_them(self):
        for name in tier.EXPERIMENTS:
            with self.subTest(name=name), mock.patch.dict(tier.ROUNDS, {name: {"quick": 1}}), contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
                words = (name, "--quick", f"--out={self.folder}/{name}")
                self.assertEqual(tier.main("the.so", *words), 0, said.getvalue())
                runs = len(self.calls())
                self.assertEqual(tier.main("the.so", *words), 0)
                self.assertEqual({*map(tuple, (words for words, _ in self.calls()[runs:]))}, {("--version",)})   # all runs were kept
                self.assertIn("31,251", out.getvalue())

    def test_without_db_bench_there_is_one_line(self):
        with mock.patch.object(shutil, "which", return_value=None), self.assertRaisesRegex(InputError, "install rocksdb-tools"):
            self.tool()


class Parsing(unittest.TestCase):
    def test_a_percentile_lies_within_its_bucket(self):
        histogram = [[0, 10, 50], [10, 20, 50]]
        self.assertEqual([db_bench.percentile(histogram, percent) for percent in (25, 50, 75, 100)], [5, 10, 15, 20])
        self.assertIsNone(db_bench.percentile([], 50))
        self.assertEqual(db_bench.merged([histogram, [[10, 20, 1], [20, 30, 2]]]), [[0, 10, 50], [10, 20, 51], [20, 30, 2]])

    def test_a_ticker_that_is_missing_fails_the_run(self):
        line = "mixgraph : 1.0 micros/op 10 ops/sec 1.5 seconds 9 operations; 1 MB/s ( Gets:1 Puts:2 Seek:3, reads"
        with self.assertRaisesRegex(RunFailed, "no count of block.cache.data.miss"):
            db_bench.parsed(line)


class Costs(unittest.TestCase):
    def outcome(self, time, misses, blocks=0, size=4096, histogram=()):
        return {"operations_s": 1e6 / time, "gets": 1000, "puts": 0, "seeks": 0, "misses": misses, "far_hits": blocks // 2,
                "block_read_us": 70, "read_histogram": list(histogram), "far": {"blocks_read": blocks // 2, "blocks_written": blocks - blocks // 2,
                                                           "bytes_read": blocks // 2 * size, "bytes_written": (blocks - blocks // 2) * size}}

    def test_counts_times_costs_predict_what_they_were_made_of(self):
        made = lambda misses, blocks: self.outcome(5 + .08 * misses + .003 * blocks, misses, blocks)   # a miss 80 us, a copy 3 us
        costs = tier_cost.costs_of(*(tier_cost.together([run]) for run in (made(700, 0), made(100, 0), made(300, 500))))
        for got, wanted in ((costs.rest, 5), (costs.miss, 10), (costs.copy, 3)):
            self.assertAlmostEqual(got, wanted)
        run = made(150, 1000)
        self.assertAlmostEqual(tier_cost.predicted_us(costs, run), tier_cost.time_us(run))
        # 500 copies each way: .305 us, and 4096 bytes at 6.6 and at 2.3 GB/s.
        self.assertAlmostEqual(tier_cost.medium_us(run, "optane"), .5 * (.305 + 4.096 / 6.6) + .5 * (.305 + 4.096 / 2.3))

    def test_a_percentile_is_predicted_from_the_parts(self):
        made = lambda share: [[0, 10, round(1000 * (1 - share))], [100, 110, round(1000 * share)]]
        small, large = (self.outcome(1, round(1000 * share), histogram=made(share)) for share in (.6, .2))
        costs = tier_cost.Costs(0, 0, 5)
        run = self.outcome(1, 100, 1000)   # 100 misses, 500 hits in far memory, 10 us later
        for percent, wanted in ((20, 5), (40, 10), (65, 15), (95, 105)):
            self.assertAlmostEqual(tier_cost.predicted_percentile(costs, small, large, run, percent), wanted, delta=.3)


class Reports(unittest.TestCase):
    def test_the_report_of_counts_divides_by_dram_and_by_the_usual_rule(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = Runs(pathlib.Path(folder), Point, "full")
            for variant, misses, written in (("32Mi", 1000, None), ("16Mi+size=16Mi", 990, 400), ("16Mi+size=16Mi,promote=2", 1100, 100)):
                far = None if written is None else {"bytes_written": written}
                for number in (1, 2):
                    runs.kept[Point(variant), number] = {"misses": misses + number, "far": far}
            text = tier.counts_report(runs, None)
        self.assertIn("0.9900 (0.9900 to 0.9900)\n", text)
        self.assertRegex(text, r"promote=2 +1\.0999 .*; 1\.1109 .*, bytes 0\.250")
        self.assertIn("misses of equal runs differ by up to 0.101 %", text)


class Trace(unittest.TestCase):
    def write(self, records):
        file = tempfile.NamedTemporaryFile()
        self.addCleanup(file.close)
        for kind, payload in records:
            file.write(block_trace.HEAD.pack(0, kind, len(payload)) + payload)
        file.flush()
        return file.name

    def test_data_blocks_are_read(self):
        block = lambda key, size: (block_trace.DATA_BLOCK, bytes([len(key)]) + key + size.to_bytes(8, "little") + b"rest")
        accesses, sizes = block_trace.read(self.write([(1, b"head"), block(b"a", 10), block(b"bc", 20), (7, b"index"), block(b"a", 10)]))
        self.assertEqual((list(accesses), sizes), ([0, 1, 0], [10, 20]))
        with self.assertRaisesRegex(InputError, "no access to a data block"):
            block_trace.read(self.write([(1, b"head")]))

    def test_two_memories_keep_a_block_in_one_place(self):
        extra = block_trace.NEAR_EXTRA
        of = lambda **rule: block_trace.Tiers(2 * (100 + extra), 10 * (100 + block_trace.FAR_EXTRA), shards=1, **rule)
        tiers = of().run([0, 1, 2, 0, 2, 0], [100] * 3)   # 2 pushes 0 out, which comes back for 1
        self.assertEqual((tiers.misses, tiers.far_hits, tiers.near_hits, tiers.far_writes), (3, 1, 2, 2))
        never = of(promote=0).run([0, 1, 2, 0, 0, 0], [100] * 3)
        self.assertEqual((never.misses, never.far_hits, never.far_writes), (3, 3, 1))
        twice = of(promote=2).run([0, 1, 2, 0, 0, 0], [100] * 3)
        self.assertEqual((twice.misses, twice.far_hits, twice.near_hits), (3, 2, 1))
        far_first = of(first="far", promote=2).run([0, 0, 0, 0], [100])
        self.assertEqual((far_first.misses, far_first.far_hits, far_first.near_hits, far_first.far_writes), (1, 2, 1, 1))

    def test_second_touch_begins_when_far_memory_is_full(self):
        near, far = 100 + block_trace.NEAR_EXTRA, 100 + block_trace.FAR_EXTRA
        tiers = block_trace.Tiers(near, 2 * far, second_touch=True, ghosts=100, shards=1)
        tiers.run(list(range(6)), [100] * 6)
        self.assertEqual(tiers.far_writes, 3)   # two fill it, and the third finds it full; then new blocks are passed
        tiers.run([3, 9], [100] * 10)   # 3 is evicted for the second time
        self.assertEqual(tiers.far_writes, 4)


@unittest.skipUnless(shutil.which("db_bench") and LIBRARY.exists(), "there is no db_bench of rocksdb-tools, or no tier")
class Real(unittest.TestCase):
    def test_a_small_run_of_near_and_far_memory_misses_as_often_as_dram_of_the_total(self):
        # Beside the build, since the folder of temporary files may not be on a device.
        with tempfile.TemporaryDirectory(dir=LIBRARY.parent) as folder, mock.patch.object(tier, "CACHE", pathlib.Path(folder) / "cache"), \
                contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
            variants = ("2Mi", "1Mi+size=1Mi", "1Mi+size=1Mi,rule=second-touch,promote=2")
            status = tier.main(str(LIBRARY), *variants, "--keys=60k", "--operations=30k", "--rounds=1", f"--out={folder}/out")
            if "Direct I/O is not supported" in said.getvalue():
                self.skipTest("the build lies on a file system without direct I/O")
            self.assertEqual(status, 0, said.getvalue())
            runs = Runs(pathlib.Path(folder) / "out", Point, "own")
            dram, both, second = (replace(Point(variant), keys=60_000, operations=30_000) for variant in variants)
            ratio, = runs.ratios(both, dram, "misses")
            self.assertTrue(.9 < ratio < 1.1, out.getvalue())
            written = {point: runs.values(point, "far")[0]["blocks_written"] for point in (both, second)}
            self.assertLess(written[second], written[both])


if __name__ == "__main__":
    unittest.main()
