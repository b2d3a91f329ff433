"""The harness as a user meets it: runs every pair by the real binary, and checks every result against the committed schema. Other
tests of the binary: its documents (documents_test.py), its process (process_test.py), runs that end by time (realtime_test.py) and
wrong input (wrong_input_test.py).

Run by CTest, which says where the binary is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 harness/smoke/cli_test.py
"""

import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from smoke_testing import HARNESS, IN_TURN, MEASURED, SHORT, Runs, as_zstd, cover, run

WORDS = pathlib.Path("/usr/share/dict/words")


class EveryPair(Runs):
    def mix_of(self, traits):
        parts = {"insert": 20, "update": 10, "upsert": 10}
        if "no erase" not in traits:
            parts["erase"] = 10
        if "no modify" not in traits:
            parts["modify"] = 10
        if "ordered" in traits:
            parts["scan"] = 10
        parts["read"] = 100 - sum(parts.values())
        return "mix:" + ",".join(f"{kind}={percent}" for kind, percent in parts.items())

    def run_mix(self, index, policy, traits, *arguments):
        """Runs the mix with two threads. If only one may write, two are refused in one line, and one thread runs it."""
        wanted = [
            f"--index={index}",
            f"--sync={policy}",
            f"--workload={self.mix_of(traits)}",
            *SHORT,
            *IN_TURN.get(policy, []),
            *arguments,
        ]
        refused = run(*wanted, "--threads=2", "--json")
        if refused.returncode == 2:
            self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)
            return self.documents(*wanted, "--threads=1")[0]
        return self.documents(*wanted, "--threads=2")[0]

    def test_every_index_and_every_policy_runs_a_mix(self):
        self.assertTrue(self.pairs)
        for index, policy, traits in cover(self.pairs):
            with self.subTest(index=index, policy=policy):
                document = self.run_mix(index, policy, traits)
                self.assertEqual(document["config"]["index"], index)

    def test_lookups_by_more_threads_than_processors(self):
        one_writes = ("none", "atomic")   # an index that learns from lookups writes in them
        pairs = (pair for pair in self.pairs if pair[1] not in one_writes or "learns from lookups" not in pair[2])
        for index, policy, _ in cover(pairs):
            with self.subTest(index=index, policy=policy):
                pair = (f"--index={index}", f"--sync={policy}")
                (document,) = self.documents(*pair, "--threads=8", *SHORT, *IN_TURN.get(policy, []))
                self.assertEqual(document["config"]["threads"], 8)
                self.assertEqual(document["placement"]["oversubscribed"], len(os.sched_getaffinity(0)) < 8)

    @unittest.skipUnless(WORDS.exists(), f"{WORDS} is missing (package wamerican)")
    def test_real_words_are_keys(self):
        # nr takes integers only.
        for index, policy, traits in cover(pair for pair in self.pairs if "byte-string keys" in pair[2] and pair[1] != "nr"):
            with self.subTest(index=index, policy=policy):
                document = self.run_mix(index, policy, traits, f"--keys=file:{WORDS}")
                self.assertEqual(document["config"]["key_kind"], "bytes")

    def test_every_workload_and_every_kind_of_memory(self):
        for arguments in (
            ["--workload=lookup", "--negative=0.5"],
            ["--workload=lookup", "--keys=dense", "--dist=zipf:0.99"],
            ["--workload=insert", "--threads=2"],
            ["--workload=insert", "--threads=2", "--alloc=malloc"],
            ["--workload=insert", "--keys=dense", "--alloc=arena"],
            ["--workload=mix:read=50,erase=25,insert=25", "--hugepages=thp", "--threads=3", "--pin=scatter"],
            ["--workload=lookup", "--ops=5000", "--validate=off"],
        ):
            with self.subTest(arguments=arguments):
                self.documents("--index=art", "--sync=olc", *SHORT, *arguments)

    def test_every_way_to_reclaim(self):
        documents = self.documents(
            "--index=art",
            "--sync=olc",
            "--reclaim={epoch,epoch-fence,qsbr,leak}",
            "--threads=2",
            "--workload=mix:read=50,erase=25,insert=25",
            "--ops=100000",
            "--warmup=0",
            "--records=20000",
            count=4,
        )
        for document in documents:
            reclaim = document["sync"]["reclaim"]
            with self.subTest(reclaim=document["config"]["reclaim"]):
                self.assertEqual(reclaim["freed"] == 0, document["config"]["reclaim"] == "leak")
                self.assertGreater(reclaim["retired"], 0)

    def test_values_of_any_size(self):
        documents = self.documents(
            "--index=art",
            "--sync=olc",
            "--threads=2",
            "--workload=mix:read=40,update=40,scan=20",
            "--value-size={8,0,7,64,1001}",
            *SHORT,
            count=5,
        )
        records = documents[0]["config"]["records"]
        self.assertEqual([d["config"]["value_size"] for d in documents], [8, 0, 7, 64, 1001])
        live = [d["memory"]["values_live_bytes"] for d in documents]
        self.assertEqual(live[:3], [None, 0, 0])
        self.assertGreaterEqual(live[3], 72 * records)
        self.assertGreaterEqual(live[4], 1009 * records)
        for document in documents:
            self.assertIn(document["status"], MEASURED)
            self.assertTrue(document["validation"]["passed"])

    def test_batches_of_lookups(self):
        for sync in ("none", "rwspin", "rtm:2", "olc", "rowex", "hybrid"):
            with self.subTest(sync=sync):
                documents = self.documents(
                    "--index=art", f"--sync={sync}", "--batch={1,16,64,8:in-turn}", "--negative=.2", *SHORT, count=4
                )
                self.assertEqual([d["config"]["batch"] for d in documents], [1, 16, 64, 8])
                self.assertEqual(
                    [d["config"]["batch_order"] for d in documents], [None, "side-by-side", "side-by-side", "in-turn"]
                )

    def test_batches_of_changes(self):
        for index in ("chained", "cuckoo"):
            for workload in ("insert", "mix:update=100", "mix:insert=100"):
                with self.subTest(index=index, workload=workload):
                    documents = self.documents(
                        f"--index={index}",
                        "--sync=olc",
                        "--threads=2",
                        f"--workload={workload}",
                        "--batch={16,8:in-turn}",
                        *(SHORT if workload != "insert" else ["--records=20000"]),
                        count=2,
                    )
                    self.assertEqual([d["config"]["batch"] for d in documents], [16, 8])

    def test_a_shape_of_cuckoo_is_one_of_simdht(self):
        if not {"cuckoo", "simdht"} <= {index for index, _, _ in self.pairs}:
            self.skipTest("cuckoo or simdht is not in this build")
        (document,) = self.documents("--index=cuckoo:shape=2x4,key=32", "--keys=u32", *SHORT)
        self.assertEqual(document["config"]["index"], "simdht:shape=2x4,key=32")

    def test_contradictory_options_of_an_index_skip_only_their_own_point(self):
        if "simdht" not in {index for index, _, _ in self.pairs}:
            self.skipTest("simdht is not in this build")
        words = ("--index=simdht:shape={2x1,2x4},kernel={vertical,selective,horizontal}", "--sync=rwspin", "--json", *SHORT)
        done = run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        documents = [json.loads(line) for line in done.stdout.splitlines()]
        skipped = [d["config"]["index"] for d in documents if d["status"] == "skipped"]
        self.assertEqual(len(documents), 6)
        self.assertEqual(skipped, [f"simdht:shape=2x4,kernel={kernel}" for kernel in ("vertical", "selective")])
        for document in documents:
            self.conforms(self.results, document, words)
            if document["status"] == "skipped":
                self.assertIn("needs a shape with one slot", document["reason"])
        alone = run("--index=simdht:shape=2x4,kernel=vertical", "--sync=rwspin", "--json", *SHORT)
        self.assertEqual((alone.returncode, alone.stdout, len(alone.stderr.splitlines())), (2, "", 1))

    def test_a_note_says_that_an_option_is_inert(self):
        note = "--warmup=20ms is inert: --workload=insert begins with an empty index"
        arguments = ["--workload={lookup,insert}", "--records=20000", "--ops=2000", "--warmup=20ms"]
        for document in self.documents(*arguments, count=2):
            self.assertEqual(note in document["health"]["notes"], document["config"]["workload"] == "insert")
            self.assertEqual(document["config"]["warmup_s"], 0 if document["config"]["workload"] == "insert" else .02)
        self.assertIn(f"row 2: {note}", run(*arguments).stdout)

    def test_paths_in_a_file_of_options_are_relative_to_the_current_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "defaults").write_text("# ours\n--sync={none,olc}\n--keys=file:words\n--json\n", encoding="ascii")
            pathlib.Path(folder, "words").write_text("a\nb\nc\n", encoding="ascii")
            command = [HARNESS, "@defaults", "--ops=2000", "--warmup=0", "--threads=1"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            documents = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([d["config"]["sync"] for d in documents], ["none", "olc"])
            self.assertEqual(documents[0]["command"][1], "@defaults")

    def test_an_insert_run_that_ends_with_a_full_index_says_so(self):
        if not any((index, policy) == ("cuckoo", "olc") for index, policy, _ in self.pairs):
            self.skipTest("cuckoo is not in this build")
        table = "--index=cuckoo:most_slots=7000"  # so there are 6144, which is three times a power of two
        for batch in ("1", "16"):
            (document,) = self.documents(
                table, "--sync=olc", "--workload=insert", "--records=20000", "--threads=2", f"--batch={batch}"
            )
            self.assertIn(document["status"], MEASURED)
            self.assertEqual(document["throughput"]["ended_by"], "full")
            keys = document["memory"]["keys"]
            self.assertGreater(keys, 0.9 * 6144)
            self.assertEqual(keys, document["throughput"]["per_operation"]["insert"]["succeeded"])
            self.assertTrue(any("full, with" in note for note in document["health"]["notes"]))

    def test_transactions_are_attempted_and_committed_where_they_work(self):
        if not any(policy == "rtm" for _, policy, _ in self.pairs):
            self.skipTest("there is no rtm in this build")
        for workload in ("lookup", "insert"):
            (document,) = self.documents("--index=art", "--sync=rtm:20", f"--workload={workload}", *SHORT)
            counters = document["sync"]["counters"]
            if self.rtm_works:
                self.assertIn(document["status"], MEASURED, document["reason"])
                self.assertGreater(counters["begins"], 0)
                self.assertGreater(counters["commits"], 0.9 * counters["ops"])
            else:
                self.assertEqual(document["status"], "degraded")
                self.assertIsNone(document["sync"]["aborts"])   # no transaction was begun, which is not the same as no abort
                self.assertEqual(counters["begins"], 0)
                self.assertEqual(counters["fallbacks"], counters["ops"])
                self.assertEqual(document["sync"]["fallback_rate"], 1)
                self.assertNotIn("zero", counters)   # aborts are only in their own section
                refused = run("--index=art", "--sync=rtm:20", "--strict", *SHORT)
                self.assertEqual(refused.returncode, 2)
                self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)

    def test_an_index_that_keeps_nothing_has_no_bytes(self):
        (document,) = self.documents("--index=null", "--sync=none", *SHORT)
        for part, name in (("memory", "index_live_bytes"), ("memory", "bytes_per_key"), ("limits", "chase_ratio")):
            self.assertIsNone(document[part][name])
            self.assertEqual(document[part][f"{name}_reason"], "this index keeps nothing")
        self.assertNotIn("0 bytes", run("--index=null", "--sync=none", *SHORT).stdout)

    def test_a_wiscer_file_runs_directly_or_is_written_as_a_trace_and_replayed(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = ("initialSize=5000\noperationCount=20000\nfetchProportion=.6\ninsertProportion=.3\ndeleteProportion=.1\n"
                     "keyPattern=sequential\n")
            runs, writes, written = f"{folder}/runs.txt", f"{folder}/writes.txt", f"{folder}/requests.trace"
            pathlib.Path(runs).write_text(lines, encoding="ascii")
            pathlib.Path(writes).write_text(f"{lines}storageEngine=none\noutputFile={written}\n", encoding="ascii")
            (ran,) = self.documents(f"--workload=wiscer:{runs}")
            self.assertEqual(ran["config"]["index"], "chained")
            (other,) = self.documents(f"--workload=wiscer:{writes}", "--index=art")
            notes = [note for note in other["health"]["notes"] if "the file's" in note]
            self.assertEqual(notes[0], "--index=art overrides the file's storageEngine=none")
            self.assertIn(f"outputFile={written} is not written", notes[1])
            self.assertFalse(os.path.exists(written))
            done = run(f"--workload=wiscer:{writes}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"written to +\S+requests.trace; --workload=trace:\S+requests.trace replays it")
            self.assertIn("5,000 were there before", done.stdout)
            (replayed,) = self.documents("--index=art", f"--workload=trace:{written}")
            self.assertEqual(replayed["validation"]["found_keys"], ran["validation"]["found_keys"])
            counts = [{name: o["succeeded"] for name, o in d["throughput"]["per_operation"].items()} for d in (ran, replayed)]
            self.assertEqual(counts[0], counts[1])
            self.assertFalse([note for note in replayed["health"]["notes"] if "values" in note])
            itself = f"{folder}/itself.txt"
            pathlib.Path(itself).write_text(f"{lines}storageEngine=none\noutputFile={itself}\n", encoding="ascii")
            self.assertEqual(run(f"--workload=wiscer:{itself}").returncode, 2)
            self.assertEqual(sorted(os.listdir(folder)), ["itself.txt", "requests.trace", "runs.txt", "writes.txt"])

    def test_a_trace_is_converted_and_replayed_by_any_number_of_threads(self):
        lines = []
        for second in range(2000):
            lines.append(f"{second},user:{second % 97},8,100,1,{'set' if second % 5 == 0 else 'get'},0")
            lines.append(f"{second},item:{second % 13},8,100,2,{'delete' if second % 7 == 0 else 'add'},0")
        with tempfile.TemporaryDirectory() as folder:
            recorded, ours = f"{folder}/recorded.csv", f"{folder}/ours.trace"
            pathlib.Path(recorded).write_text("\n".join(lines), encoding="ascii")
            info = run("trace", "convert", "twitter", recorded, ours)
            self.assertEqual(info.returncode, 0, info.stderr)
            self.assertIn("operations   4,000: read 40.0 %, insert 42.9 %, upsert 10.0 %, erase 7.2 %", info.stdout)
            self.assertIn("keys         110,", info.stdout)
            self.assertEqual(run("trace", "info", ours).stdout, info.stdout)
            # Standard input and compressed files give the same trace, whatever the name.
            plain, before = pathlib.Path(recorded).read_bytes(), pathlib.Path(ours).read_bytes()
            half = len(plain) // 2
            packed = pathlib.Path(f"{folder}/packed")
            for content in (plain, gzip.compress(plain), gzip.compress(plain[:half]) + gzip.compress(plain[half:]), as_zstd(plain)):
                packed.write_bytes(content)
                for source in (packed, "-"):
                    to = pathlib.Path(f"{folder}/again.trace")
                    done = subprocess.run([HARNESS, "trace", "convert", "twitter", source, to], input=content, capture_output=True,
                                          timeout=300, check=False)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(to.read_bytes(), before)
                    to.unlink()
            packed.unlink()
            with open(recorded, "rb") as source:
                done = subprocess.run([HARNESS, "trace", "convert", "twitter", "-", recorded], stdin=source, capture_output=True,
                                      timeout=300, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"is the file that is converted", done.stderr)
            prints = set()
            for threads in (1, 2, 3):
                (document,) = self.documents("--index=art", "--sync=olc", f"--workload=trace:{ours}", f"--threads={threads}")
                self.assertEqual(document["throughput"]["operations"], 4000)
                self.assertEqual(document["throughput"]["ended_by"], "workload")
                self.assertTrue(document["validation"]["passed"])
                self.assertEqual(document["throughput"]["per_operation"]["erase"]["count"], 286)
                prints.add((document["stream"]["fingerprint"], document["validation"]["found_keys"]))
            self.assertEqual(len(prints), 1)   # the order on each key is kept, so the same keys are left
            pathlib.Path(recorded).write_text("no such line", encoding="ascii")
            for to in (ours, recorded, "/dev/null", folder):
                self.assertEqual(run("trace", "convert", "twitter", recorded, to).returncode, 2, to)
            self.assertEqual(pathlib.Path(ours).read_bytes(), before)
            self.assertEqual(sorted(os.listdir(folder)), ["ours.trace", "recorded.csv"])
            self.assertFalse(pathlib.Path("/dev/null").is_file())

    def test_each_phase_of_a_file_is_a_row_for_any_number_of_threads(self):
        with tempfile.TemporaryDirectory() as folder:
            phases, result = pathlib.Path(folder) / "shift.txt", pathlib.Path(folder) / "result.json"
            phases.write_text("warm 20k lookup zipf:1\nshift 30k mix:read=60,insert=20,erase=20 zipf:1 drift:5k\ngrow 256 mix:insert=100\n",
                              encoding="ascii")
            prints = set()
            for threads in (1, 2, 5):
                (document,) = self.documents("--index=art", "--sync=olc", f"--workload=phases:{phases}", "--records=20000",
                                             f"--threads={threads}")
                rows = [(row["phase"], row["operations"]) for row in document["rows"]]
                self.assertEqual(rows, [("warm", 20224), ("shift", 30208), ("grow", 256)])
                self.assertEqual(document["throughput"]["ended_by"], "workload")
                self.assertTrue(document["validation"]["passed"])
                prints.add((document["stream"]["fingerprint"], document["validation"]["found_keys"]))
            self.assertEqual(len({fingerprint for fingerprint, _ in prints}), 1)
            said = document["config"]["phases"]
            self.assertEqual(said[1], {"name": "shift", "operations": 30208, "workload": "mix:read=60,insert=20,erase=20",
                                       "dist": "zipf:1", "churn": "drift:5k"})
            self.assertIsNone(said[2]["dist"])
            self.assertIsNone(document["config"]["churn"])
            result.write_text(json.dumps(document), encoding="ascii")
            table, reasons = run("rows", str(result)).stdout.split("\n\n")
            lines = table.splitlines()
            self.assertEqual([line.split(" | ")[-1] for line in lines], ["Phase", "warm", "shift", "grow"])
            self.assertIn("L2 Misses", reasons)   # --pmu did not ask for them
            (document,) = self.documents("--index=art", "--sync=olc", f"--workload=phases:{phases}", "--records=20000", "--ops=1000")
            self.assertIn("the run stopped in phase 1 of 3, warm", document["health"]["notes"])

    def test_the_fingerprint_is_the_same_for_any_number_of_threads(self):
        for workload in (["--workload=mix:read=50,insert=25,erase=25"], ["--workload=ycsb-d"], ["--workload=wiscer:steady-state"]):
            prints = set()
            for threads in (1, 2, 3):
                size = [] if "wiscer" in workload[0] else ["--records=20000"]
                (document,) = self.documents("--index=art", "--sync=olc", *workload, *size, f"--threads={threads}", "--ops=300000",
                                              "--warmup=0")
                self.assertEqual(document["stream"]["operations"], 1_000_000)
                prints.add(document["stream"]["fingerprint"])
            self.assertEqual(len(prints), 1, workload)


if __name__ == "__main__":
    unittest.main()
