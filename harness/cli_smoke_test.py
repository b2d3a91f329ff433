"""The harness as a user meets it: every pair through the real binary, every result against the committed schema. What is wrong
input and how it is refused: wrong_input_test.py.

Run by CTest, which says where the binary is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 harness/cli_smoke_test.py
"""

import base64
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

try:
    import jsonschema
except ImportError:
    sys.exit("cli_smoke: results cannot be checked against their schema: install the package python3-jsonschema")

TREE = pathlib.Path(__file__).resolve().parents[1]
HARNESS = os.environ.get("LATCHLAB_HARNESS") or str(TREE / "build/release/harness")
WORDS = pathlib.Path("/usr/share/dict/words")
SHORT = ["--time=10ms", "--warmup=2ms", "--sample=4ms", "--records=20000"]   # limits take as long as the measured phase


def run(*arguments):
    return subprocess.run([HARNESS, *arguments], capture_output=True, text=True, timeout=300, check=False)


def pairs():
    """(index, policy, traits of the index) of everything in this build, from `harness list`."""
    found = []
    for line in run("list", "indexes").stdout.splitlines()[1:]:
        match = re.fullmatch(r"  (\S+) +(.*); under (.*)", line)
        if match is None:
            continue  # an option
        for policy in match.group(3).split(", "):
            found.append((match.group(1), policy, match.group(2).split(", ")))
    return found


def cover(pairs):
    """Some of the pairs, in which every index and every policy occurs."""
    seen = set()
    out = []
    for index, policy, traits in pairs:
        if {index, policy} - seen:
            out.append((index, policy, traits))
            seen |= {index, policy}
    return out


def bare_nulls(document, path=""):
    """Where a document says null without saying why."""
    if isinstance(document, list):
        return [null for i, item in enumerate(document) for null in bare_nulls(item, f"{path}/{i}")]
    if not isinstance(document, dict):
        return [f"{path}: a null in a list"] if document is None else []
    found = []
    for key, value in document.items():
        if value is not None:
            found += bare_nulls(value, f"{path}/{key}")
        elif not document.get(f"{key}_reason"):
            found.append(f"{path}/{key}: null without a reason")
    return found


def counts_in(encoded):
    """The largest value of a bucket to how many it holds, of HdrHistogram's compressed encoding: read as its format says."""
    packed = base64.b64decode(encoded)
    cookie, length = struct.unpack(">ii", packed[:8])
    assert (cookie, length) == (0x1C849314, len(packed) - 8)
    plain = zlib.decompress(packed[8:])
    cookie, length, offset, digits, lowest, _, ratio = struct.unpack(">iiiiqqd", plain[:40])
    assert (cookie, length, offset, digits, lowest, ratio) == (0x1C849313, len(plain) - 40, 0, 2, 1, 1.0)
    found, position, word, shift = {}, 0, 0, 0
    for byte in plain[40:]:
        word |= (byte if shift == 56 else byte & 0x7F) << shift
        shift += 7
        if byte & 0x80 and shift < 63:
            continue
        count, word, shift = (word >> 1) ^ -(word & 1), 0, 0
        if count < 0:
            position -= count
            continue
        if count > 0:
            power = max(position // 128 - 1, 0)
            found[((position - power * 128 + 1) << power) - 1] = count
        position += 1
    return found


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pairs = pairs()
        cls.results, cls.comparisons = (
            jsonschema.Draft7Validator(json.loads((TREE / f"harness/{name}.schema.json").read_text()))
            for name in ("result", "comparison")
        )
        done = run("--workload=lookup", "--json", *SHORT)
        cls.rtm_works = json.loads(done.stdout)["machine"]["rtm"]["probe"] == "works"

    def documents(self, *arguments, count=1):
        done = run("--json", *arguments)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), count, arguments)
        return [self.checked(json.loads(line), arguments) for line in lines]

    def conforms(self, schema, document, arguments):
        problems = [
            f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in schema.iter_errors(document)
        ]
        self.assertEqual(problems + bare_nulls(document), [], arguments)

    def checked(self, document, arguments):
        """What must hold for every result."""
        self.conforms(self.results, document, arguments)
        self.assertIn(document["status"], ("ok", "degraded"), (arguments, document["reason"]))
        self.assertEqual(document["reason"] == "", document["status"] == "ok", arguments)
        self.assertGreater(document["throughput"]["operations"], 0, arguments)
        validation = document["validation"]
        if validation["passed"] is None:
            self.assertIn(
                validation["passed_reason"], ("this index keeps nothing", "--validate=off"), arguments
            )
        else:
            self.assertTrue(validation["passed"], (arguments, validation))
        return document

    def mix_of(self, traits):
        parts = {"insert": 20, "update": 10, "upsert": 10}
        if "no erase" not in traits:
            parts["erase"] = 10
        if "ordered" in traits:
            parts["scan"] = 10
        parts["read"] = 100 - sum(parts.values())
        return "mix:" + ",".join(f"{kind}={percent}" for kind, percent in parts.items())

    def run_mix(self, index, policy, traits, *arguments):
        """The mix with two threads, or with one where only one may write: then two are refused in one line."""
        wanted = [
            f"--index={index}",
            f"--sync={policy}",
            f"--workload={self.mix_of(traits)}",
            *SHORT,
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
        one_writes = ("none", "atomic")   # and who learns from lookups writes
        pairs = (pair for pair in self.pairs if pair[1] not in one_writes or "learns from lookups" not in pair[2])
        for index, policy, _ in cover(pairs):
            with self.subTest(index=index, policy=policy):
                (document,) = self.documents(f"--index={index}", f"--sync={policy}", "--threads=8", *SHORT)
                self.assertEqual(document["config"]["threads"], 8)
                self.assertEqual(document["placement"]["oversubscribed"], len(os.sched_getaffinity(0)) < 8)

    @unittest.skipUnless(WORDS.exists(), f"{WORDS} is missing (package wamerican)")
    def test_real_words_are_keys(self):
        for index, policy, traits in cover(pair for pair in self.pairs if "byte-string keys" in pair[2]):
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
            unfit = {"--ops=5000": "--time", "--workload=insert": "--warmup"}
            time = [s for s in SHORT if not any(a in arguments and s.startswith(u) for a, u in unfit.items())]
            with self.subTest(arguments=arguments):
                self.documents("--index=art", "--sync=olc", *time, *arguments)

    def test_limits_are_measured_on_pages_of_the_same_size(self):
        for pages in ("none", "thp"):
            with self.subTest(pages=pages):
                (document,) = self.documents(f"--hugepages={pages}", "--records=1M", "--time=50ms", "--warmup=10ms")
                self.assertEqual(document["limits"]["page_bytes"], document["memory"]["page_bytes"])

    def test_latencies_of_an_open_loop_are_exported(self):
        (document,) = self.documents("--rate=poisson:20k", "--workload=mix:read=80,update=20", *SHORT)
        self.assertEqual(document["config"]["rate"], "poisson:20000")
        self.assertGreater(document["offer"]["per_second"], 0)
        latency = document["latency"]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(document))
            file.flush()
            log = run("hdr", file.name).stdout.splitlines()
            text = run("hdr", file.name, "all.response").stdout
            self.assertEqual(run("hdr", file.name, "nothing").returncode, 2)
        self.assertEqual(log[0], "#[Histogram log format version 1.3]")
        exported = {line.split(",")[0]: counts_in(line.split(",")[4]) for line in log if line.startswith("Tag=")}
        for tag, summary in (
            ("all", latency["all"]),
            ("all.response", latency["response"]),
            ("read.response", latency["per_operation"]["read"]["response"]),
        ):
            counts = exported[f"Tag={tag}"]
            self.assertEqual(sum(counts.values()), summary["count"])
            # The largest is known better than its bucket says; where another of theirs is told from it, it stands there.
            self.assertEqual(list(counts.items())[:-1], [tuple(pair) for pair in summary["histogram"][:-1]])
            self.assertGreaterEqual(max(counts), summary["max_ns"])
        self.assertRegex(text, rf"1\.000000000000 +{latency['response']['count']}\n#\[Mean")

    def test_a_rate_that_keeps_a_bound_is_looked_for(self):
        (document,) = self.documents("--slo=p50:1min", *SHORT)
        tries = document["slo"]["tries"]
        self.assertEqual(document["config"]["rate_reason"], "--slo looks for it")
        self.assertAlmostEqual(tries[-1]["done_per_second"], document["throughput"]["per_second"])
        self.assertEqual(len(tries), sum(phase["name"] == "try" for phase in document["phases"]))

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
            prints = set()
            for threads in (1, 2, 3):
                (document,) = self.documents("--index=art", "--sync=olc", f"--workload=trace:{ours}", f"--threads={threads}")
                self.assertEqual(document["throughput"]["operations"], 4000)
                self.assertEqual(document["throughput"]["ended_by"], "trace")
                self.assertTrue(document["validation"]["passed"])
                self.assertEqual(document["throughput"]["per_operation"]["erase"]["count"], 286)
                prints.add((document["stream"]["fingerprint"], document["validation"]["found_keys"]))
            self.assertEqual(len(prints), 1)   # the order on each key is kept, so what is left is the same
            before = pathlib.Path(ours).read_bytes()
            pathlib.Path(recorded).write_text("no such line", encoding="ascii")
            for to in (ours, recorded, "/dev/null", folder):
                self.assertEqual(run("trace", "convert", "twitter", recorded, to).returncode, 2, to)
            self.assertEqual(pathlib.Path(ours).read_bytes(), before)
            self.assertEqual(sorted(os.listdir(folder)), ["ours.trace", "recorded.csv"])
            self.assertFalse(pathlib.Path("/dev/null").is_file())

    def test_threads_make_the_operations_that_the_fingerprint_is_of(self):
        for workload in (["--workload=mix:read=50,insert=25,erase=25"], ["--workload=ycsb-d"], ["--workload=wiscer:steady-state"]):
            prints = set()
            for threads in (1, 2, 3):
                size = [] if "wiscer" in workload[0] else ["--records=20000"]
                (document,) = self.documents("--index=art", "--sync=olc", *workload, *size, f"--threads={threads}", "--ops=300000")
                self.assertEqual(document["stream"]["operations"], 1_000_000)
                prints.add(document["stream"]["fingerprint"])
            self.assertEqual(len(prints), 1, workload)

    def test_a_run_is_planned_for_another_machine(self):
        done = run("--topology=pack:2 numa:2 core:7 pu:2", "--threads=7", "--threads-per=cluster", "--mem=interleave")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("socket 1  node 3  cluster 3  threads 21-27 on processors 42,44,46,48,50,52,54\n", done.stdout)
        self.assertIn("memory of the index from nodes 0-3 in turn\n", done.stdout)
        self.assertNotIn("Mops/s", done.stdout)

    def test_results_are_explained(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for policy in ("none", "olc"):
                paths.append(f"{folder}/{policy}.json")
                pathlib.Path(paths[-1]).write_text(run(f"--sync={policy}", "--json", *SHORT).stdout)
            done = run("explain", paths[1], paths[0])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith("art under olc, 1 thread, lookup: "), done.stdout)
            self.assertIn("none takes ", done.stdout)
        for pair in self.pairs:
            with self.subTest(pair=pair):
                document = run(f"--index={pair[0]}", f"--sync={pair[1]}", "--json", *SHORT).stdout
                done = subprocess.run(
                    [HARNESS, "explain", "-"], input=document, capture_output=True, text=True, check=False
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.startswith(f"{pair[0]} under {pair[1]}"), done.stdout)

    def test_every_malloc_serves_and_says_so(self):
        wanted = {
            "malloc": ("libc.so", "glibc"),
            "tcmalloc": ("libtcmalloc_minimal.so", "gperftools"),
            "jemalloc": ("libjemalloc.so", "jemalloc"),
            "mimalloc": ("libmimalloc.so", "mimalloc"),
            "tbb": ("libtbbmalloc_proxy.so", "oneTBB"),
        }
        for word, (library, version) in wanted.items():
            with self.subTest(word=word):
                (document,) = self.documents(
                    "--sync=olc", "--workload=insert", "--threads=2", f"--alloc={word}", "--records=20000"
                )
                self.assertTrue(document["memory"]["malloc"]["library"].startswith(library), document["memory"])
                self.assertTrue(document["memory"]["malloc"]["version"].startswith(version), document["memory"])
                self.assertEqual(document["config"]["alloc"], word)
        (document,) = self.documents("--alloc=arena", *SHORT)
        self.assertIsNone(document["memory"]["malloc"])
        # In lists it is the one library of the process.
        words = [d["config"]["alloc"] for d in self.documents("--alloc={arena,jemalloc}", *SHORT, count=2)]
        self.assertEqual(words, ["arena", "jemalloc"])

    def test_a_malloc_that_somebody_preloads_is_told(self):
        environment = {**os.environ, "LD_PRELOAD": "libjemalloc.so.2"}
        done = subprocess.run(
            [HARNESS, "--alloc=malloc", "--json", *SHORT], capture_output=True, text=True, env=environment, check=True
        )
        self.assertIn("jemalloc", json.loads(done.stdout)["memory"]["malloc"]["version"])

    def test_a_preloaded_malloc_that_does_not_serve_is_no_result(self):
        environment = {**os.environ, "LATCHLAB_PRELOADED": "libjemalloc.so.2"}
        done = subprocess.run(
            [HARNESS, "--alloc=jemalloc", *SHORT], capture_output=True, text=True, env=environment, check=False
        )
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(
            done.stderr,
            "harness: --alloc=jemalloc: libjemalloc.so.2 was preloaded and malloc is still that of libc.so.6\n",
        )

    def test_every_way_to_reclaim(self):
        documents = self.documents(
            "--index=art",
            "--sync=olc",
            "--reclaim={epoch,epoch-fence,qsbr,leak}",
            "--threads=2",
            "--workload=mix:read=50,erase=25,insert=25",
            "--ops=100000",   # not for so long: however slow the machine, there is something to free
            "--records=20000",
            count=4,
        )
        for document in documents:
            reclaim = document["sync"]["reclaim"]
            with self.subTest(reclaim=document["config"]["reclaim"]):
                self.assertEqual(reclaim["freed"] == 0, document["config"]["reclaim"] == "leak")
                self.assertGreater(reclaim["retired"], 0)

    def test_values_apart_from_the_index(self):
        documents = self.documents(
            "--index=art",
            "--sync=olc",
            "--threads=2",
            "--workload=mix:read=40,update=40,scan=20",
            "--value-size={8,64,1Ki}",
            *SHORT,
            count=3,
        )
        records = documents[0]["config"]["records"]
        self.assertEqual([d["config"]["value_size"] for d in documents], [8, 64, 1024])
        self.assertEqual([d["memory"]["payload_bytes"] for d in documents], [None, 64 * records, 1024 * records])
        self.assertEqual([d["status"] for d in documents], ["ok"] * 3)

    def test_lookups_by_the_batch(self):
        for sync in ("none", "rwspin", "rtm:2", "olc", "rowex", "hybrid"):
            with self.subTest(sync=sync):
                documents = self.documents(
                    "--index=art", f"--sync={sync}", "--batch={1,16,64,8:in-turn}", "--negative=.2", *SHORT, count=4
                )
                self.assertEqual([d["config"]["batch"] for d in documents], [1, 16, 64, 8])
                self.assertEqual(
                    [d["config"]["batch_order"] for d in documents], [None, "side-by-side", "side-by-side", "in-turn"]
                )

    def test_changes_by_the_batch(self):
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

    def test_lists_and_repetitions_make_a_document_each(self):
        with tempfile.TemporaryDirectory() as folder:
            documents = self.documents(
                "--index=art",
                "--sync={none,olc}",
                "--threads=1..2",
                "--reps=2",
                f"--out={folder}",
                *SHORT,
                count=8,
            )
            self.assertEqual(len({d["run_id"] for d in documents}), 8)
            self.assertEqual(len({d["point_hash"] for d in documents}), 4)
            written = [json.loads(path.read_text()) for path in pathlib.Path(folder).rglob("*.json")]
            self.assertEqual({d["run_id"] for d in written}, {d["run_id"] for d in documents})
            for document in written:
                self.checked(document, "--out")

    def test_what_does_not_reach_an_index_is_null_with_a_reason(self):
        if not any(index == "tbb" for index, _, _ in self.pairs):
            self.skipTest("there is no tbb in this build")
        (document,) = self.documents("--index=tbb", "--sync=own", *SHORT)
        config = document["config"]
        self.assertIsNone(config["alloc"])
        self.assertIn("allocator", config["alloc_reason"])
        self.assertNotIn("--alloc", config["point"])
        self.assertEqual(config["hugepages"], "none")
        self.assertEqual(document["memory"]["huge_share"] or 0, 0)
        self.assertIsNone(document["sync"]["reclaim"])
        (document,) = self.documents("--index=art", "--sync=none", *SHORT)
        self.assertEqual(document["config"]["alloc"], "arena+touch")

    def test_a_skipped_point_has_no_numbers(self):
        done = run("--sync={none,spin}", "--threads=2", "--workload=insert", "--records=1000", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        skipped = json.loads(done.stdout.splitlines()[0])
        self.assertEqual(skipped["status"], "skipped")
        self.conforms(self.results, skipped, "skipped")
        self.assertIsNone(skipped["limits"]["footprint_bytes"])
        self.assertIsNone(skipped["placement"]["processors"])
        self.assertEqual(skipped["limits"]["footprint_bytes_reason"], "the run was skipped")

    def test_lines_of_a_key_file_and_blocks_to_reclaim_are_counted(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(["one", "", "two", "one", "three", "", "two"]) + "\n")
            file.flush()
            (document,) = self.documents(f"--keys=file:{file.name}", "--time=20ms", "--warmup=1ms")
            self.assertEqual(document["config"]["key_file"], {"lines": 7, "empty": 2, "repeated": 2})
            people = run(f"--keys=file:{file.name}", "--time=20ms").stdout
            self.assertIn("of the key file's 7 lines 2 are empty", people)
        if any(policy == "olc" for _, policy, _ in self.pairs):
            # So many operations, not for so long: however slow the machine, there is something to free.
            (document,) = self.documents(
                "--sync=olc", "--workload=mix:insert=50,erase=50", "--ops=100000", "--records=20000"
            )
            reclaim = document["sync"]["reclaim"]
            self.assertGreater(reclaim["retired"], 0)
            self.assertGreater(reclaim["freed"], 0)
            self.assertEqual(reclaim["stalled"], 0)

    def test_what_cannot_be_written_loses_nothing_else(self):
        for options in (["--progress=plain"], ["--progress=plain", "--json"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([HARNESS, *options, *SHORT], stdout=subprocess.PIPE, stderr=full, text=True,
                                      timeout=300, check=False)
            self.assertEqual(done.returncode, 0)
            self.assertIn("ok", done.stdout)
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertEqual(subprocess.run([HARNESS, "--bad"], stderr=full, check=False).returncode, 2)
        with tempfile.TemporaryDirectory() as parent:
            folder = pathlib.Path(parent) / "out"
            folder.mkdir()
            running = subprocess.Popen([HARNESS, f"--out={folder}", "--threads=1..2", "--progress=plain", *SHORT],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            running.stderr.readline()   # the first run loads
            folder.rmdir()
            out, said = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 1)
            self.assertEqual(len(re.findall(r"  ok$", out, re.MULTILINE)), 2)
            self.assertIn("cannot write", said)

    def test_a_stop_that_is_asked_for_twice_loses_nothing(self):
        """timeout(1) signals the process and then its group."""
        arguments = ["--json", "--progress=plain", "--records=20000", "--time=60s"]
        pipe = subprocess.PIPE
        with subprocess.Popen([HARNESS, *arguments], stdout=pipe, stderr=pipe, text=True) as process:
            process.stderr.readline()   # a phase has begun, so the handlers are there
            process.send_signal(signal.SIGINT)
            time.sleep(0.001)   # two that wait are one
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130)
        document = json.loads(out)
        self.conforms(self.results, document, arguments)
        self.assertTrue(document["interrupted"])

    def test_an_insert_run_that_ends_by_time_says_so(self):
        # More records than a stall of some seconds lets it insert.
        (document,) = self.documents("--workload=insert", "--records=50M", "--time=5ms")
        self.assertEqual(document["throughput"]["ended_by"], "time")
        self.assertLess(document["throughput"]["operations"], 50_000_000)
        self.assertTrue(any("--time=5ms ended the run" in note for note in document["health"]["notes"]))
        (document,) = self.documents("--workload=insert", "--records=1000")
        self.assertEqual(document["throughput"]["ended_by"], "records")

    def test_an_insert_run_that_ends_with_a_full_index_says_so(self):
        if not any((index, policy) == ("cuckoo", "olc") for index, policy, _ in self.pairs):
            self.skipTest("cuckoo is not in this build")
        table = "--index=cuckoo:most_slots=7168"
        for batch in ("1", "16"):
            (document,) = self.documents(
                table, "--sync=olc", "--workload=insert", "--records=20000", "--threads=2", f"--batch={batch}"
            )
            self.assertEqual(document["status"], "ok")
            self.assertEqual(document["throughput"]["ended_by"], "full")
            keys = document["memory"]["keys"]
            self.assertGreater(keys, 0.95 * 7168)
            self.assertEqual(keys, document["throughput"]["per_operation"]["insert"]["succeeded"])
            self.assertTrue(any("full, with" in note for note in document["health"]["notes"]))

    def test_what_the_warm_up_inserts_is_said(self):
        arguments = ("--workload=mix:read=50,insert=50", "--records=1000", "--ops=1000", "--warmup=10ms")
        (document,) = self.documents(*arguments)
        (warmup,) = (phase for phase in document["phases"] if phase["name"] == "warmup")
        memory = document["memory"]
        self.assertAlmostEqual(memory["keys_at_start"], 1000 + warmup["operations"] / 2, delta=128)
        inserted = document["throughput"]["per_operation"]["insert"]["succeeded"]
        self.assertEqual(memory["keys"], memory["keys_at_start"] + inserted)
        self.assertRegex(run(*arguments).stdout, r"note +the warm-up changed the index: the measured phase began with")
        (document,) = self.documents(*arguments[:3], "--warmup=0")
        self.assertEqual(document["memory"]["keys_at_start"], 1000)
        self.assertNotIn("warm-up", run(*arguments[:3], "--warmup=0").stdout)

    def test_transactions_are_attempted_and_committed_where_they_work(self):
        if not any(policy == "rtm" for _, policy, _ in self.pairs):
            self.skipTest("there is no rtm in this build")
        for workload in ("lookup", "insert"):
            time = SHORT if workload == "lookup" else [s for s in SHORT if not s.startswith("--warmup")]
            (document,) = self.documents("--index=art", "--sync=rtm:20", f"--workload={workload}", *time)
            counters = document["sync"]["counters"]
            if self.rtm_works:
                self.assertEqual(document["status"], "ok", document["reason"])
                self.assertGreater(counters["begins"], 0)
                self.assertGreater(counters["commits"], 0.9 * counters["ops"])
            else:
                self.assertEqual(document["status"], "degraded")
                self.assertIsNone(document["sync"]["aborts"])   # none was begun, which is not the same as none aborted
                self.assertEqual(counters["begins"], 0)
                self.assertEqual(counters["fallbacks"], counters["ops"])
                self.assertEqual(document["sync"]["fallback_rate"], 1)
                self.assertNotIn("zero", counters)   # aborts stand in their own section only
                refused = run("--index=art", "--sync=rtm:20", "--strict", *SHORT)
                self.assertEqual(refused.returncode, 2)
                self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)

    def test_a_comparison_has_a_schema_too(self):
        document = self.comparison("--a=--sync=none", "--b=--sync=rtm:20 --threads=2", "--replicates=2", *SHORT)
        self.assertEqual([v["name"] for v in document["variants"]], ["a", "b"])
        plain, elided = document["variants"]
        self.assertEqual(plain["fallback_rate_reason"], "the policy has no fallback")
        self.assertEqual(plain["commits_per_begin_reason"], "the policy has no transactions")
        if self.rtm_works:
            self.assertGreater(elided["commits_per_begin"], 0.9)
            self.assertIsNotNone(elided["zero_aborts_per_operation"])
        else:
            self.assertEqual(elided["fallback_rate"], 1)
            self.assertEqual(elided["commits_per_begin_reason"], "no transaction was begun")
        self.assertEqual((plain["verdict"], elided["verdict"]), ("base", "withheld"))   # two blocks are too few

    def comparison(self, *arguments):
        done = run("ab", "--json", *arguments)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        document = json.loads(done.stdout)
        self.conforms(self.comparisons, document, arguments)
        for variant in document["variants"]:
            for replicate in variant["replicates"]:
                self.checked(replicate["document"], arguments)
        return document

    def test_results_are_compared_with_those_of_another_day(self):
        with tempfile.TemporaryDirectory() as folder:
            for policy in ("none", "olc"):
                self.documents(f"--sync={policy}", "--threads=1..2", f"--out={folder}/{policy}", *SHORT, count=2)
            done = run("compare", "--json", f"{folder}/none", f"{folder}/olc")
            self.assertEqual(done.returncode, 0, done.stderr)
            for line, threads in zip(done.stdout.splitlines(), (1, 2), strict=True):
                document = json.loads(line)
                self.conforms(self.comparisons, document, "compare")
                self.assertEqual(document["common"], f"threads={threads}")
                self.assertTrue(document["variants"][1]["command"].startswith(f"{folder}/olc  sync=olc"))
                self.assertEqual(document["variants"][1]["verdict"], "withheld")   # one replicate of each
            done = run("compare", f"{folder}/none", f"{folder}/olc")
            self.assertIn("1 replicate is too few", done.stdout)

    def test_limits_are_a_command_too(self):
        done = run("limits", "--footprint=1Mi", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        schema = json.loads((TREE / "harness/limits.schema.json").read_text())
        self.conforms(jsonschema.Draft7Validator(schema), json.loads(done.stdout), "limits")

    def test_an_index_that_keeps_nothing_has_no_bytes(self):
        (document,) = self.documents("--index=null", "--sync=none", *SHORT)
        for part, name in (("memory", "index_live_bytes"), ("memory", "bytes_per_key"), ("limits", "chase_ratio")):
            self.assertIsNone(document[part][name])
            self.assertEqual(document[part][f"{name}_reason"], "this index keeps nothing")
        self.assertNotIn("0 bytes", run("--index=null", "--sync=none", *SHORT).stdout)

    def test_events_are_counted_or_say_why_not(self):
        words = ["--pmu=tsx,cache,CYCLES:u", "--pmu=TC_deliver_mode:DD", "--pmu=off"]   # the second is an event of 2000
        mixed, elsewhere, off = self.documents(*words, *SHORT, count=3)
        self.assertEqual([d["config"]["pmu"] for d in (mixed, elsewhere, off)], [word[len("--pmu="):] for word in words])
        families = [event["family"] for event in mixed["pmu"]["events"]]
        self.assertEqual(families, ["software"] * 3 + ["tsx"] * 13 + ["cache"] * 4 + ["named"])
        for event in mixed["pmu"]["events"]:
            if event["count"] is not None:
                self.assertGreater(event["count"]["enabled_ns"], 0, event)
            elif event["family"] in ("software", "cache", "named"):   # the kernel was asked
                self.assertRegex(event["count_reason"], "^E[A-Z]+: |^never scheduled", event)
        self.assertIn("netburst", elsewhere["pmu"]["events"][-1]["count_reason"])
        self.assertEqual((off["pmu"], off["pmu_reason"]), (None, "--pmu=off"))

    def test_events_of_transactions_have_names_on_every_processor_that_has_them(self):
        for processor in ("hsw", "hsw_ep", "bdw", "skl", "skx", "clx", "icl", "icx", "spr"):
            with self.subTest(processor=processor):
                done = subprocess.run(
                    [HARNESS, "list", "pmu"], capture_output=True, text=True, timeout=60, check=True,
                    env={**os.environ, "LIBPFM_FORCE_PMU": processor},
                )
                events = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("    ")}
                for event in (
                    "cycles-t", "cycles-ct", "RTM_RETIRED:START", "RTM_RETIRED:COMMIT", "RTM_RETIRED:ABORTED",
                    "RTM_RETIRED:ABORTED_MEM", "RTM_RETIRED:ABORTED_UNFRIENDLY", "RTM_RETIRED:ABORTED_MEMTYPE",
                    "RTM_RETIRED:ABORTED_EVENTS", "TX_MEM:ABORT_CONFLICT", "TX_MEM:ABORT_CAPACITY_WRITE",
                ):
                    self.assertIn(f" {processor}::", events[event])
                self.assertRegex(events["cycles-ct"], "CPU_CLK.*:THREAD_P:intx=1:intxcp=1")

    def test_it_says_what_there_is(self):
        for arguments in (["list"], ["list", "policies"], ["doctor"], ["help"]):
            done = run(*arguments)
            self.assertEqual(done.returncode, 0, (arguments, done.stderr))
            self.assertGreater(len(done.stdout), 100)


if __name__ == "__main__":
    unittest.main()
