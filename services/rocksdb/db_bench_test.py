"""The tier inside RocksDB: Debian's own db_bench, unmodified, with liblatchlab_rocksdb.so preloaded.

The library is in LATCHLAB_ROCKSDB_TIER. CTest runs the test. By hand:

    LATCHLAB_ROCKSDB_TIER=build/release/liblatchlab_rocksdb.so python3 services/rocksdb/db_bench_test.py
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
TIER = pathlib.Path(os.environ.get("LATCHLAB_ROCKSDB_TIER") or TREE / "build/release/liblatchlab_rocksdb.so").absolute()
DB_BENCH = shutil.which("db_bench")

KEYS = 30_000        # a database of 3.6 MB
READS = 30_000
NEAR = 256 << 10     # bytes of RocksDB's own cache


def why_not():
    """Returns why the test cannot run here; None if it can."""
    if DB_BENCH is None:
        return "there is no db_bench: install rocksdb-tools"
    if not TIER.exists():
        return f"{TIER} is not built: it needs librocksdb-dev 7.8"
    return None


class DbBench(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.run_db_bench("--benchmarks=fillseq,compact")

    @classmethod
    def words_of(cls, *options, tier=None, folder="db"):
        """Returns the words of db_bench for a database, and its environment."""
        words = [DB_BENCH, f"--db={cls.folder}/{folder}", f"--num={KEYS}", "--seed=7", "--compression_type=none", *options]
        if tier is None:
            return words, dict(os.environ)
        return [*words, f"--secondary_cache_uri={tier}"], {**os.environ, "LD_PRELOAD": str(TIER)}

    @classmethod
    def run_db_bench(cls, *options, tier=None, status=0):
        """Runs db_bench on the database, with the tier of this URI. Returns the process."""
        words, environment = cls.words_of(*options, tier=tier)
        done = subprocess.run(words, env=environment, capture_output=True, text=True, errors="replace", timeout=300, check=False)
        if done.returncode != status:
            raise AssertionError(f"{words} ended with {done.returncode}: {done.stderr[-2000:]} {done.stdout[-2000:]}")
        return done

    def read(self, words=None, *options):
        """Reads keys at random. Returns RocksDB's tickers, and the tier's counts if the tier has these words."""
        stats = self.folder / "stats.json"
        stats.unlink(missing_ok=True)
        tier = None if words is None else f"latchlab://{words},stats={stats}"
        done = self.run_db_bench("--benchmarks=readrandom", "--use_existing_db=true", f"--reads={READS}", f"--cache_size={NEAR}",
                                 "--cache_numshardbits=0", "--statistics=true", *options, tier=tier)
        tickers = {name: int(count) for name, count in re.findall(r"^(rocksdb[.a-z.]+) COUNT : (\d+)$", done.stdout, re.MULTILINE)}
        found = re.search(r"\((\d+) of (\d+) found\)", done.stdout)
        self.assertIsNotNone(found, done.stdout[-2000:])
        self.assertEqual(found[1], found[2], "a key was lost")
        return tickers, None if tier is None else json.loads(stats.read_text())

    def check_counts(self, tickers, tier):
        """Checks that the tier has served, and that its counts agree with RocksDB's and with each other."""
        self.assertGreater(tier["hits"], 0)
        self.assertEqual(tier["hits"], tickers["rocksdb.secondary.cache.hits"])
        self.assertEqual(tier["lookups"], tickers["rocksdb.secondary.cache.hits"] + tickers["rocksdb.block.cache.data.miss"])
        self.assertEqual(tier["puts"], tier["inserts"] + tier["present"] + tier["refused"])
        self.assertEqual(tier["blocks_read"], tier["hits"])
        self.assertGreaterEqual(tier["blocks_written"], tier["inserts"])
        self.assertEqual(tier["blocks"], tier["inserts"] - tier["taken"] - tier["evictions"] - tier["collisions"] - tier["erased"])
        self.assertEqual(tier["bytes"], tier["bytes_inserted"] - tier["bytes_removed"])
        self.assertLessEqual(tier["bytes"], tier["charged"])
        self.assertLessEqual(tier["charged"], tier["size"])

    def test_the_tier_serves_and_its_counts_agree_with_those_of_rocksdb(self):
        alone, _ = self.read()
        for promote in (1, 2):
            with self.subTest(promote=promote):
                tickers, tier = self.read(f"size=2Mi,promote={promote}")
                self.check_counts(tickers, tier)
                self.assertLess(tickers["rocksdb.block.cache.data.miss"], alone["rocksdb.block.cache.data.miss"] * .7)
                self.assertEqual((tier["medium"], tier["promote"], tier["size"]), ("heap", promote, 2 << 20))
                self.assertGreater(tier["evictions"], 0)
                if promote == 1:
                    self.assertEqual(tier["taken"], tier["hits"])
                else:
                    self.assertLess(tier["taken"], tier["hits"])

    def test_second_touch_writes_less_and_loses_little(self):
        for promote in (1, 2):
            with self.subTest(promote=promote):
                usual, every = self.read(f"size=1Mi,promote={promote}")
                tickers, tier = self.read(f"size=1Mi,promote={promote},rule=second-touch")
                self.check_counts(tickers, tier)
                self.assertEqual((every["rule"], every["passed"], every["ghost_bytes"]), ("near-first", 0, 0))
                self.assertEqual((tier["rule"], tier["ghost_bytes"]), ("second-touch", 4 * 3 * (1 << 20) // 4096))
                # All keys are alike, so that a block comes again before the ghosts have forgotten it, or not.
                self.assertGreater(tier["passed"], tier["puts"] / 4)
                self.assertLess(tier["blocks_written"], every["blocks_written"] * .8)
                self.assertLess(tickers["rocksdb.block.cache.data.miss"], usual["rocksdb.block.cache.data.miss"] * 1.05)

    def test_the_counts_tell_the_speed_of_the_medium(self):
        _, heap = self.read("size=2Mi")
        self.assertIsNone(heap["model"])
        self.assertEqual(set(heap["copies"]), {"read_ns", "write_ns", "read_gbps", "write_gbps"})
        self.assertGreater(min(heap["copies"].values()), 0)
        _, model = self.read("far=model:optane,size=4Mi,lat=20000")
        self.assertEqual(model["model"], {"latency_ns": 20000, "read_gbps": 6.6, "write_gbps": 2.3, "granule": 256})
        self.assertGreater(model["copies"]["read_ns"], 20000)
        self.assertGreater(model["copies"]["write_ns"], 20000)

    def test_a_database_whose_process_was_killed_has_no_wrong_block(self):
        shutil.copytree(self.folder / "db", self.folder / "killed")
        self.addCleanup(shutil.rmtree, self.folder / "killed")
        # The writer's blocks come and go, since its buffer is small.
        options = ["--use_existing_db=true", f"--cache_size={NEAR}", "--cache_numshardbits=0", "--write_buffer_size=262144",
                   "--max_bytes_for_level_base=1048576", "--target_file_size_base=262144"]
        words, environment = self.words_of("--benchmarks=readwhilewriting", "--threads=3", "--reads=100000000", *options,
                                           tier="latchlab://size=2Mi", folder="killed")
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            said = b""
            while b"finished 100000 ops" not in said:
                piece = os.read(process.stderr.fileno(), 65536)
                self.assertTrue(piece, said[-2000:])
                said += piece
            most = int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1]) << 10
            process.send_signal(signal.SIGKILL)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        # One of three threads alone has moved some 300 MB through far memory.
        self.assertLess(most, 80 << 20)
        for tool, arguments in (("sst_dump", [f"--file={self.folder}/killed", "--command=verify"]),
                                ("ldb", [f"--db={self.folder}/killed", "checkconsistency"])):
            done = subprocess.run([tool, *arguments], capture_output=True, text=True, errors="replace", check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotRegex((done.stdout + done.stderr).lower(), "corrupt|fail")
        words, environment = self.words_of("--benchmarks=readrandom,verifychecksum", f"--reads={READS}", "--verify_checksum=true", *options,
                                           tier="latchlab://size=2Mi", folder="killed")
        done = subprocess.run(words, env=environment, capture_output=True, text=True, errors="replace", check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertIn(f"({READS} of {READS} found)", done.stdout)
        self.assertNotRegex(done.stdout + done.stderr, "(?i)corrupt")

    def test_a_tier_that_holds_everything_reads_each_block_once_from_the_device(self):
        tickers, tier = self.read("size=64Mi", f"--reads={4 * READS}")
        self.check_counts(tickers, tier)
        self.assertEqual((tier["evictions"], tier["refused"], tier["collisions"]), (0, 0, 0))
        # Each block is in the tier or in RocksDB's own cache, which has room for fewer than NEAR / 4000.
        self.assertLessEqual(tier["blocks"], tickers["rocksdb.block.cache.data.miss"])
        self.assertGreater(tier["blocks"] + NEAR / 4000, tickers["rocksdb.block.cache.data.miss"])

    def test_threads_share_the_tier(self):
        tickers, tier = self.read("size=2Mi", "--threads=4", f"--reads={READS // 2}")
        self.check_counts(tickers, tier)

    def test_far_memory_may_be_a_medium(self):
        tickers, tier = self.read("far=model:cxl,size=4Mi")
        self.check_counts(tickers, tier)
        self.assertEqual(tier["medium"], "modelled")
        self.assertIn("model:cxl", tier["far"])

    def test_a_wrong_word_ends_the_run_with_one_line(self):
        for uri, words in (("latchlab", "begin with latchlab://"),
                           ("latchlab:size=64M", "begin with latchlab://"),
                           ("latchlab://", "needs a size"),
                           ("latchlab://sze=64M", "did you mean 'size'?"),
                           ("latchlab://size=64X", "size='64X' must be"),
                           ("latchlab://size=64M,promote=3", "promote='3' must be"),
                           ("latchlab://size=64M,rule=far-first", "RocksDB's own cache takes each block first"),
                           ("latchlab://far=tape,size=64M", "there is no medium 'tape'"),
                           ("latchlab://far=node:999,size=64M", "has no node 999"),
                           ("latchlab://size=60T,rule=second-touch", "lacks the memory for a tier of this size"),
                           ("latchlab://size=64M,stats=/no/such/folder/x", "/no/such/folder/x")):
            with self.subTest(uri=uri):
                done = self.run_db_bench("--benchmarks=readrandom", "--use_existing_db=true", tier=uri, status=2)
                self.assertRegex(done.stderr, r"\A[^\n]+\n\Z")
                self.assertTrue(done.stderr.startswith(f"{uri}: "), done.stderr)
                self.assertIn(words, done.stderr)
                self.assertNotIn("readrandom ", done.stdout)

    def test_the_library_shows_no_names_to_the_program(self):
        nm = shutil.which("nm")
        if nm is None:
            self.skipTest("there is no nm: install binutils")
        names = subprocess.run([nm, "--dynamic", "--defined-only", TIER], capture_output=True, text=True, check=True)
        self.assertEqual(names.stdout, "")


if __name__ == "__main__":
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(1 if os.environ.get("LATCHLAB_SKIP_NOTHING") else 77)
    unittest.main()
