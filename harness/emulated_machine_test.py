"""Threads, memory and transactions on a machine of four NUMA nodes and two sockets (src/testing/emulated_machine.py): what
the harness observes there is what it was asked for. Booted once for all tests, and skipped where there is no QEMU.

Run by CTest; by hand: LATCHLAB_HARNESS=build/release/harness python3 harness/emulated_machine_test.py
"""

import json
import os
import pathlib
import sys
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "src/testing"))
import emulated_machine  # noqa: E402

HARNESS = os.environ.get("LATCHLAB_HARNESS") or str(TREE / "build/release/harness")
SHORT = "--index=art --sync=none --json --records=20000 --ops=2000 --warmup=0 --progress=none"

# What each run adds to SHORT.
RUNS = {
    "compact": "--threads=8",
    "scatter": "--threads=4 --pin=scatter",
    "socket": "--threads=2 --pin=socket:1",
    "sockets": "--threads=5 --pin=socket:1,0",
    "cluster": "--threads=3 --pin=cluster:3,1",
    "list": "--threads=3 --pin=list:6,1,3",
    "compact packed": "--threads=3 --smt=pack",
    "scatter packed": "--threads=6 --pin=scatter --smt=pack",
    "per cluster": "--threads=1 --threads-per=cluster",
    "per socket": "--threads=3 --threads-per=socket --pin=socket:1,0",
}


def setUpModule():
    lines = [f"harness {SHORT} {options}" for options in RUNS.values()]
    global results
    results = dict(zip(RUNS, emulated_machine.run(HARNESS, lines), strict=True))


class Machine(unittest.TestCase):
    def document(self, run):
        done = results[run]
        self.assertEqual(done.status, 0, f"{RUNS[run]}: {done.stderr}")
        document = json.loads(done.stdout)
        self.assertIn(document["status"], ("ok", "degraded"), document["reason"])
        return document

    def processors(self, run):
        """That the threads ran on, after a look that it is where they were to run."""
        threads = self.document(run)["placement"]["threads"]
        observed = [thread["observed_cpu"] for thread in threads]
        self.assertEqual(observed, [thread["requested_cpu"] for thread in threads])
        return observed

    def test_the_machine_is_the_one_that_is_drawn(self):
        machine = self.document("compact")["machine"]
        self.assertEqual([machine["sockets"], machine["numa_nodes"], machine["cores"], machine["processors"]], [2, 4, 4, 8])

    def test_transactions_execute_and_always_abort(self):
        self.assertEqual(self.document("compact")["machine"]["rtm"]["probe"], "always-aborts")

    def test_threads_run_where_pin_says(self):
        self.assertEqual(self.processors("compact"), [0, 2, 4, 6, 1, 3, 5, 7])
        self.assertEqual(self.processors("scatter"), [0, 4, 2, 6])
        self.assertEqual(self.processors("socket"), [4, 6])
        self.assertEqual(self.processors("sockets"), [4, 6, 0, 2, 5])
        self.assertEqual(self.processors("cluster"), [6, 2, 7])
        self.assertEqual(self.processors("list"), [6, 1, 3])

    def test_second_hardware_threads_are_used_when_smt_says(self):
        self.assertEqual(self.processors("compact packed"), [0, 1, 2])
        self.assertEqual(self.processors("scatter packed"), [0, 4, 2, 6, 1, 5])

    def test_each_cluster_or_socket_has_its_threads(self):
        self.assertEqual(self.processors("per cluster"), [0, 2, 4, 6])
        self.assertEqual(self.processors("per socket"), [4, 6, 5, 0, 2, 1])
        self.assertEqual(self.document("per socket")["config"]["threads"], 6)

    def test_a_thread_says_on_which_node_and_cluster_it_ran(self):
        places = self.document("compact")["placement"]["threads"]
        self.assertEqual([place["node"] for place in places], [0, 1, 2, 3, 0, 1, 2, 3])
        self.assertEqual([place["cluster"] for place in places], [0, 1, 2, 3, 0, 1, 2, 3])
        self.assertEqual([place["socket"] for place in places], [0, 0, 1, 1, 0, 0, 1, 1])


if __name__ == "__main__":
    if missing := emulated_machine.why_not():
        print(f"skipped: there is no emulated machine here: {missing}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]])
