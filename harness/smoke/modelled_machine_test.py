"""The harness that predicts runs on modelled machines, as a program: its documents, and the commands that take them."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import smoke_testing as smoke

HARNESS = os.path.abspath(os.environ.get("LATCHLAB_MODELLED_HARNESS") or smoke.TREE / "build/modelled/harness")
RUN = ["--index=art", "--records=20K", "--warmup=0", "--progress=none"]
ELIDED = ["--machine=haswell-ep", *RUN, "--sync=rtm:20", "--threads=56", "--time=1ms", "--json"]


def call(*arguments, harness=HARNESS, timeout=300):
    done = subprocess.run([harness, *arguments], capture_output=True, text=True, timeout=timeout, check=False)
    smoke.skip_if_lacking(done.stderr)
    return done


def document(*arguments, harness=HARNESS, timeout=300):
    done = call(*arguments, harness=harness, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def differences(a, b, where=""):
    """Returns the paths at which two documents differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [path for key in sorted({*a, *b}) for path in differences(a.get(key), b.get(key), f"{where}/{key}")]
    return [] if a == b else [where]


class ModelledMachine(unittest.TestCase):
    def test_a_run_of_56_threads_is_modelled_and_repeats(self):
        first, second = document(*ELIDED, "--seed=3"), document(*ELIDED, "--seed=3")
        self.assertEqual((first["status"], first["machine"]["modelled"]["name"], first["pmu"]), ("modelled", "haswell-ep", None))
        self.assertEqual(len(first["sync"]["per_thread"]), 56)
        for thread in first["sync"]["per_thread"]:
            self.assertGreater(thread["commits"], 0)
        differ = [path for path in differences(first, second) if not path.startswith("/health/")]
        self.assertEqual(differ, ["/run_id", "/started"])
        self.assertIn("/throughput/operations", differences(first, document(*ELIDED, "--seed=4")))

    def test_hle_elides_until_one_abort_takes_the_lock(self):
        run = document("--machine=haswell-ep", *RUN, "--sync=hle", "--threads=4", "--time=1ms", "--json")
        self.assertEqual(run["status"], "modelled")
        self.assertNotIn("lock", run["reason"])
        self.assertGreater(sum(thread["commits"] for thread in run["sync"]["per_thread"]), 0)

    def test_the_causes_add_up_to_the_threads_time(self):
        for words in (["--workload=lookup", "--ops=5K"], ["--workload=insert"]):
            with self.subTest(words=words):
                run = document("--machine=epyc", *RUN, "--sync=none", "--threads=1", "--json", *words)
                self.assertAlmostEqual(run["virtual_time"]["thread_ns"] / (run["throughput"]["seconds"] * 1e9), 1, delta=.01)
                run = document("--machine=haswell-ep", *RUN, "--sync=rtm:20", "--threads=28", "--json", *words)
                self.assertAlmostEqual(run["virtual_time"]["thread_ns"] / (run["throughput"]["seconds"] * 28e9), 1, delta=.01)

    def test_commands_take_modelled_results_and_mix_them_with_measured_ones_only_if_told(self):
        with tempfile.TemporaryDirectory() as name:
            modelled, measured = pathlib.Path(name, "modelled.json"), pathlib.Path(name, "measured.json")
            modelled.write_text(json.dumps(document(*ELIDED)))
            own = [*RUN, "--sync=none", "--ops=2K", "--json"]
            measured.write_text(json.dumps(document(*own, harness=smoke.HARNESS)))
            refused = call("compare", modelled, measured)
            self.assertEqual((refused.returncode, len(refused.stderr.splitlines())), (2, 1))
            self.assertIn(f"'{modelled}' has modelled results and '{measured}' measured ones", refused.stderr)
            mixed = call("compare", modelled, measured, "--mix")
            self.assertEqual((mixed.returncode, mixed.stderr), (0, ""))
            self.assertIn("1 modelled", mixed.stdout)
            told = call("explain", modelled)
            self.assertIn("Where the threads' virtual time went:", told.stdout)
            told = call("explain", modelled, "--hot-lines")
            self.assertIn("Lines that threads waited for each other on", told.stdout)

    def test_variants_are_machines_and_pair_by_seeds(self):
        done = call("ab", *RUN, "--sync=none", "--time=1ms", "--replicates=2", "--json",
                    "--a=--machine=haswell-ep", "--b=--machine=haswell-ep:clock.ghz_by_active=0.5x")
        self.assertEqual(done.returncode, 0, done.stderr)
        slow = json.loads(done.stdout)["variants"][1]
        self.assertLess(slow["ratio"], .9)
        self.assertEqual({run["status"] for run in slow["replicates"]}, {"modelled"})

    def test_a_scale_stands_for_records_that_are_there_by_default_and_for_no_others(self):
        for words, scale, records in ((["--keys=u16"], 1, 32768), (["--records=10K"], 1, 10_000)):
            with self.subTest(words=words):
                run = document("--machine=epyc", "--index=art", "--sync=none", "--time=1ms", "--progress=none", "--json", *words)
                self.assertEqual((run["machine"]["modelled"]["scale"], run["config"]["records"]), (scale, records))

    def test_explain_compares_results_of_one_machine(self):
        with tempfile.TemporaryDirectory() as name:
            files = []
            for machine, sync in (("haswell-ep", "rtm:20"), ("haswell-ep", "none"), ("epyc", "none")):
                files.append(pathlib.Path(name, f"{machine}-{sync}.json"))
                files[-1].write_text(json.dumps(document(f"--machine={machine}", *RUN, f"--sync={sync}", "--time=1ms", "--json")))
            self.assertIn("none takes", call("explain", files[0], files[1]).stdout)
            refused = call("explain", files[0], files[2])
            self.assertEqual((refused.returncode, len(refused.stderr.splitlines())), (2, 1))
            self.assertIn("one result is modelled on haswell-ep (", refused.stderr)

    def test_a_file_of_a_machine_takes_changes_and_a_scale(self):
        shipped = smoke.TREE / "src/model/machines/epyc.toml"
        run = [*RUN, "--sync=none", "--time=1ms", "--json"]
        by_name = document("--machine=epyc:scale=2,l1.ns=2x", *run)
        by_file = document(f"--machine=file:{shipped},scale=2,l1.ns=2x", *run)
        self.assertEqual(by_file["machine"]["modelled"], by_name["machine"]["modelled"])
        self.assertEqual(by_file["throughput"], by_name["throughput"])

    def test_wrong_use_is_one_line(self):
        for words, said in (
            ([*RUN, "--sync=none"], "this harness measures nothing; name a modelled machine"),
            (["--machine=haswell", *RUN], "did you mean 'haswell-ep'?"),
            (["--machine=haswell-ep", *RUN, "--sync=none", "--threads=57"], "haswell-ep has 56 hardware threads"),
            (["--machine=epyc", *RUN, "--sync=rtm"], "needs transactions, which epyc has not"),
            (["--machine=epyc", *RUN, "--sync=none", "--topology=pack:1 core:2 pu:1"], "a modelled machine has the topology of its file"),
            (["--machine=file:/no/such.toml,qpi.gbps=2", *RUN, "--sync=none"], "'/no/such.toml': cannot be read"),
        ):
            with self.subTest(words=words):
                done = call(*words)
                self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
