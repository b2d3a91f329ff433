"""Documents of the real binary: their numbers, the commands that read them, and nulls with a reason.

Run by CTest, which says where the binary is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 harness/smoke/documents_test.py
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from smoke_testing import HARNESS, SHORT, TREE, Runs, jsonschema, run


class Documents(Runs):
    def test_limits_are_measured_on_pages_of_the_same_size(self):
        for pages in ("none", "thp"):
            with self.subTest(pages=pages):
                (document,) = self.documents(f"--hugepages={pages}", "--records=1M", "--ops=2000", "--warmup=0")
                self.assertEqual(document["limits"]["page_bytes"], document["memory"]["page_bytes"])

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

    def test_each_point_and_repetition_has_a_document(self):
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

    def test_options_that_do_not_reach_an_index_are_null_with_a_reason(self):
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
        done = run("--sync={none,rwspin}", "--threads=2", "--workload=insert", "--records=1000", "--json")
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
            (document,) = self.documents(f"--keys=file:{file.name}", "--ops=2000", "--warmup=0")
            self.assertEqual(document["config"]["key_file"], {"lines": 7, "empty": 2, "repeated": 2})
            people = run(f"--keys=file:{file.name}", "--ops=2000", "--warmup=0").stdout
            self.assertIn("of the key file's 7 lines 2 are empty", people)
        if any(policy == "olc" for _, policy, _ in self.pairs):
            (document,) = self.documents(
                "--sync=olc", "--workload=mix:insert=50,erase=50", "--ops=100000", "--warmup=0", "--records=20000"
            )
            reclaim = document["sync"]["reclaim"]
            self.assertGreater(reclaim["retired"], 0)
            self.assertGreater(reclaim["freed"], 0)
            self.assertEqual(reclaim["stalled"], 0)

    def test_a_comparison_matches_its_schema(self):
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

    def test_existing_results_are_compared(self):
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
                self.assertEqual(document["variants"][1]["verdict"], "withheld")   # there is one replicate of each variant
            done = run("compare", f"{folder}/none", f"{folder}/olc")
            self.assertIn("1 replicate is too few", done.stdout)

    def test_the_limits_command_matches_its_schema(self):
        done = run("limits", "--footprint=1Mi", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        schema = json.loads((TREE / "harness/commands/limits.schema.json").read_text())
        self.conforms(jsonschema.Draft7Validator(schema), json.loads(done.stdout), "limits")

    def test_events_are_counted_or_say_why_not(self):
        words = ["--pmu=tsx,cache,CYCLES:u", "--pmu=TC_deliver_mode:DD", "--pmu=off"]   # the second is of a processor of 2000
        mixed, elsewhere, off = self.documents(*words, *SHORT, count=3)
        self.assertEqual([d["config"]["pmu"] for d in (mixed, elsewhere, off)], [word[len("--pmu="):] for word in words])
        families = [event["family"] for event in mixed["pmu"]["events"]]
        self.assertEqual(families, ["software"] * 3 + ["tsx"] * 13 + ["cache"] * 4 + ["named"])
        for event in mixed["pmu"]["events"]:
            if event["count"] is not None:
                self.assertGreater(event["count"]["enabled_ns"], 0, event)
            elif event["family"] in ("software", "cache", "named"):   # the kernel decides whether to count these
                self.assertRegex(event["count_reason"], "^E[A-Z]+: |^never scheduled", event)
        self.assertIn("netburst", elsewhere["pmu"]["events"][-1]["count_reason"])
        self.assertEqual((off["pmu"], off["pmu_reason"]), (None, "--pmu=off"))

    def test_events_of_transactions_have_names_on_every_processor_with_tsx(self):
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


if __name__ == "__main__":
    unittest.main()
