"""Tests that take a time instead of a number of operations: phases that end by the clock, warm-ups, operations that arrive at
a rate, and signals to a run that would go on.

Run by CTest, which says where the binary is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 harness/smoke/realtime_test.py
"""

import base64
import json
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

from smoke_testing import HARNESS, Runs, child_of, kill_with_child, run

BRIEF = ["--time=10ms", "--warmup=2ms", "--sample=4ms", "--records=20000"]   # limits take as long as the measured phase


def counts_in(encoded):
    """Decodes HdrHistogram's compressed encoding: returns the count of each bucket by its largest value."""
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


class RealTime(Runs):
    def test_an_insert_run_that_ends_by_time_says_so(self):
        # There are more records than the run can insert, even if it stalls for some seconds.
        (document,) = self.documents("--workload=insert", "--records=50M", "--time=5ms")
        self.assertEqual(document["throughput"]["ended_by"], "time")
        self.assertLess(document["throughput"]["operations"], 50_000_000)
        self.assertTrue(any("--time=5ms ended the run" in note for note in document["health"]["notes"]))
        (document,) = self.documents("--workload=insert", "--records=1000")
        self.assertEqual(document["throughput"]["ended_by"], "records")

    def test_the_result_reports_what_the_warm_up_inserts(self):
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

    def test_latencies_of_an_open_loop_are_exported(self):
        (document,) = self.documents("--rate=poisson:20k", "--workload=mix:read=80,update=20", *BRIEF)
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
            # The maximum is exact, so HdrHistogram may count it in another bucket than the end of ours.
            self.assertEqual(list(counts.items())[:-1], [tuple(pair) for pair in summary["histogram"][:-1]])
            self.assertGreaterEqual(max(counts), summary["max_ns"])
        self.assertRegex(text, rf"1\.000000000000 +{latency['response']['count']}\n#\[Mean")

    def test_a_run_that_turns_out_degraded_is_a_failure_with_strict(self):
        late = ["--rate=1G", "--latency=off", "--time=50ms", "--warmup=0", "--records=20000", "--json"]
        for strict, status in ((["--strict"], 1), ([], 0)):
            done = run(*late, *strict)
            self.assertEqual(done.returncode, status, done.stderr)
            document = json.loads(done.stdout)
            self.assertEqual(document["status"], "degraded")
            self.assertTrue(document["offer"]["late"])
            self.assertIn("--latency=off", document["latency_reason"])

    def test_a_trace_is_replayed_at_its_own_times(self):
        with tempfile.TemporaryDirectory() as folder:
            recorded, ours = pathlib.Path(folder, "recorded.csv"), f"{folder}/ours.trace"
            recorded.write_text("".join(f"{second},k{second % 97},8,100,1,get,0\n" for second in range(2000)), encoding="ascii")
            self.assertEqual(run("trace", "convert", "twitter", str(recorded), ours).returncode, 0)
            (document,) = self.documents("--index=art", "--sync=olc", f"--workload=trace:{ours}", "--threads=2",
                                         "--rate=trace:10000")
        self.assertEqual(document["config"]["rate"], "trace:10000")
        self.assertEqual(document["offer"]["arrivals"], 2000)
        self.assertGreaterEqual(document["throughput"]["seconds"], .19)   # two thousand seconds, without the last operation's

    def test_slo_searches_for_a_rate_that_keeps_the_bound(self):
        (document,) = self.documents("--slo=p50:1min", *BRIEF)
        tries = document["slo"]["tries"]
        self.assertEqual(document["config"]["rate_reason"], "--slo looks for it")
        self.assertGreaterEqual(tries[-1]["served"], 0.9999 * document["throughput"]["per_second"])   # whose time may be slightly longer
        for one in tries:
            self.assertLessEqual(one["served"], one["offered"])
            self.assertTrue(one["served"] > 0.9899 * one["offered"] or not one["kept"])
        self.assertEqual(len(tries), sum(phase["name"] == "try" for phase in document["phases"]))

    def test_a_signal_ends_a_list_of_several_mallocs(self):
        words = ["--alloc={malloc,jemalloc}", "--sync=olc", "--records=20000", "--time=60s", "--warmup=0", "--json"]
        with subprocess.Popen([HARNESS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            os.close(child_of(process.pid))
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, err)
        self.assertEqual([json.loads(line)["config"]["alloc"] for line in out.splitlines()], ["malloc"])

    def test_two_stop_signals_lose_nothing(self):
        """timeout(1) signals the process, and then its group."""
        arguments = ["--json", "--progress=plain", "--records=20000", "--time=60s"]
        pipe = subprocess.PIPE
        with subprocess.Popen([HARNESS, *arguments], stdout=pipe, stderr=pipe, text=True) as process:
            process.stderr.readline()   # a phase has begun, so the handlers are there
            process.send_signal(signal.SIGINT)
            time.sleep(0.001)   # two pending signals would be delivered as one
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130)
        document = json.loads(out)
        self.conforms(self.results, document, arguments)
        self.assertTrue(document["interrupted"])

    def test_the_child_of_a_killed_comparison_dies_with_it(self):
        command = [HARNESS, "ab", "--a=--sync=none", "--b=--sync=olc", "--records=20000", "--time=5min", "--progress=none"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            self.assertTrue(kill_with_child(process))


if __name__ == "__main__":
    unittest.main()
