"""Runs of the real binary whose values lie in two memories: what does not fit is refused or named, and a result says what the kernel
did with far pages.

Run by CTest, which says where the binary is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 harness/smoke/two_memories_test.py
"""

import ctypes
import json
import resource
import subprocess
import unittest

from smoke_testing import HARNESS, SHORT, Runs, run, skip_if_lacking

VALUES = ["--index=cuckoo", "--sync=olc", "--value-size=256", "--near=1Mi"]
PR_CAPBSET_DROP, CAP_IPC_LOCK = 24, 14
LOCKED = 64 << 10


def limit_locks():
    """Lets a process that is about to start lock 64 KiB, also if it is root's."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (LOCKED, LOCKED))


class TwoMemories(Runs):
    def refusal(self, *arguments):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done)
        return done.stderr

    def on_node(self, *arguments, what=VALUES, **process):
        """Returns the document of a run whose far memory is node 0. `what`: the index, and which of it is far."""
        words = ["--json", *what, "--far=node:0,size=32Mi", "--threads=1", *SHORT, *arguments]
        done = subprocess.run([HARNESS, *words], capture_output=True, text=True, timeout=300, check=False, **process)
        skip_if_lacking(done.stderr)
        if "does not let this process place memory" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.checked(json.loads(done.stdout), words)

    def test_sizes_that_the_machine_has_not_are_refused(self):
        far = "--far=model:cxl,size=4Mi"
        self.assertRegex(self.refusal(*VALUES[:3], "--near=64T", far), r"--near: 64000\.0 GB; [\d.]+ [GM]B of memory are available")
        self.assertIn("lies in this machine's memory, as --near does: 64000.0 GB", self.refusal(*VALUES, "--far=model:cxl,size=64T"))
        self.assertRegex(self.refusal(*VALUES, "--far=node:0,size=64T"), r"--far=node:0,size=64T: 64000\.0 GB; .* available on node 0")
        said = self.refusal(*VALUES, "--far=node:1000,size=1G")
        self.assertIn("--far=node:1000,size=1G: there is no node 1000; this process may use", said)

    def test_by_default_as_many_records_are_loaded_as_two_memories_hold(self):
        (document,) = self.documents(*VALUES, "--far=model:cxl,size=4Mi", "--ops=2000", "--warmup=0")
        self.assertEqual(document["config"]["records"], 5 * (1 << 20) // 264 // 2)

    def test_values_that_do_not_fit_say_which_memory_is_out(self):
        done = run("--json", *VALUES, "--far=model:cxl,size=4Mi", "--ops=2000", "--warmup=0", "--records=19800")
        document = json.loads(done.stdout)
        self.assertEqual((done.returncode, document["status"]), (1, "failed"))
        said = "memory ran out in phase load: near and far memory are full, --near=1Mi and --far=model:cxl,size=4Mi"
        self.assertIn(said, document["reason"])
        far_first = [*VALUES[:3], "--near=16Mi", "--far=model:cxl,size=4Mi", "--rule=far-first", "--records=15850"]
        done = run("--json", *far_first, "--ops=2000", "--warmup=0")
        said = "memory ran out in phase load: far memory is full, --near=16Mi and --far=model:cxl"
        self.assertIn(said, json.loads(done.stdout)["reason"])

    def test_far_pages_that_the_kernel_does_not_lock_are_counted_and_noted(self):
        far = self.on_node()["memory"]["far"]
        document = self.on_node(preexec_fn=limit_locks)
        limited = document["memory"]["far"]
        self.assertGreater(far["reserved_bytes"], 1 << 20)
        self.assertGreater(limited["reserved_bytes"], 1 << 20)
        self.assertLessEqual(limited["locked_bytes"], LOCKED)
        notes = [note for note in document["health"]["notes"] if note.startswith("the kernel locks")]
        self.assertEqual(len(notes), 1, document["health"])
        self.assertTrue(notes[0].endswith("RLIMIT_MEMLOCK is 64 KiB"), notes)

    def test_far_memory_on_the_threads_own_node_is_noted(self):
        document = self.on_node("--mem=bind:0")
        if document["machine"]["numa_nodes"] == 1:
            self.assertIn("near and far memory are the same node, 0: they differ in no speed", document["health"]["notes"])
        self.assertEqual(document["memory"]["far"]["observed"]["shares"], [{"node": 0, "share": 1.0}])

    def test_leaves_are_far_and_a_result_says_so(self):
        leaves = ["--index=art", "--sync=olc", "--rule=leaves"]
        for workload in ("lookup", "mix:insert=50,erase=50"):
            with self.subTest(workload=workload):
                document = self.on_node(f"--workload={workload}", what=leaves)
                far = document["memory"]["far"]
                self.assertEqual((far["medium"], far["rule"]), ("node", "leaves"))
                self.assertIsNone(far["near_limit_bytes"])
                self.assertIsNone(far["far_reads"])
                self.assertGreater(far["latency_ns"], 0)
        loaded = self.on_node("--workload=lookup", what=leaves)
        records = loaded["config"]["records"]
        # A leaf has a key and a value. Few values are in inner nodes, since the keys are random.
        self.assertGreater(loaded["memory"]["far"]["live_bytes"], records * 14)
        self.assertIn("leaves: inner nodes are near", run("--far=node:0,size=32Mi", *leaves, "--threads=1", *SHORT).stdout)


if __name__ == "__main__":
    unittest.main()
