"""Threads, memory and transactions on a machine of four NUMA nodes and two sockets (src/testing/emulated_machine.py): the
harness must observe there what it was asked for. The machine boots once for all tests. The tests are skipped without QEMU,
unless LATCHLAB_SKIP_NOTHING is set, as .ci/run does.

Run by CTest; by hand: LATCHLAB_HARNESS=build/release/harness python3 harness/smoke/emulated_machine_test.py
"""

import json
import os
import pathlib
import sys
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "src/testing"))
import emulated_machine  # noqa: E402

HARNESS = os.environ.get("LATCHLAB_HARNESS") or str(TREE / "build/release/harness")
RECORDS = 50_000
SHORT = f"--json --records={RECORDS} --ops=2000 --warmup=0 --progress=none"

HITS = "grep numa_hit /sys/devices/system/node/node*/numastat | grep -o '[0-9]*$'"   # pages that each node has allocated so far

# The options that each run adds to SHORT.
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
    "on one node": "--threads=2 --pin=cluster:3",
    "local": "--threads=2 --pin=cluster:1-2 --mem=local",
    "interleave": "--threads=1 --mem=interleave",
    "interleave socket": "--threads=1 --pin=socket:1 --mem=interleave:pin",
    "interleave untouched": "--threads=2 --mem=interleave --alloc=arena",
    "bind": "--threads=4 --mem=bind:2",
    "bind huge": "--threads=4 --mem=bind:2 --hugepages=thp",
    "bind two": "--threads=2 --pin=list:0,6 --mem=bind:1,3",
}
LINES = {run: f"harness {SHORT} {options}" for run, options in RUNS.items()}
LINES |= {
    run: f"{HITS}; harness {SHORT} {options}; {HITS}"
    for run, options in {
        "malloc": "--threads=2 --mem=bind:3 --alloc=malloc",
        "own memory": "--index=simdht:slots=1M --sync=rwspin --mem=bind:3",   # a table of 16 MB, built before a thread joins
        "own memory, first touched": "--index=simdht:slots=1M --sync=rwspin --pin=cluster:2",
    }.items()
}
FAR = f"harness {SHORT} --index=cuckoo --sync=olc --value-size=256 --near=2Mi"
LINES["far"] = f"{HITS}; {FAR} --far=node:1,size=64Mi --threads=1 --pin=cluster:2; {HITS}"
LINES["far beside near"] = f"{FAR} --far=node:1,size=64Mi --threads=2 --pin=cluster:0-1"
LINES["far too large"] = f"{FAR} --far=node:1,size=1G"
LINES["no such far node"] = f"{FAR} --far=node:4,size=64Mi"
LINES["limits"] = f"{HITS}; harness limits --json --progress=none --footprint=32Mi --threads=2; {HITS}"
LINES["limits bound"] = f"{HITS}; harness limits --json --progress=none --footprint=32Mi --threads=1 --mem=bind:2; {HITS}"
LINES["no such node"] = f"harness {SHORT} --mem=bind:4"


def setUpModule():
    global results
    results = dict(zip(LINES, emulated_machine.run(HARNESS, list(LINES.values())), strict=True))


class Machine(unittest.TestCase):
    def document(self, run):
        done = results[run]
        self.assertEqual(done.status, 0, f"{LINES[run]}: {done.stderr}")
        (document,) = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
        self.assertIn(document["status"], ("ok", "noisy", "degraded"), document["reason"])
        return document

    def processors(self, run):
        """Checks that the threads ran on the requested processors, and returns these."""
        threads = self.document(run)["placement"]["threads"]
        observed = [thread["observed_cpu"] for thread in threads]
        self.assertEqual(observed, [thread["requested_cpu"] for thread in threads])
        return observed

    def nodes(self, run, by):
        """Checks how the run says that memory was placed, and returns the nodes of the index's pages with their shares."""
        memory = self.document(run)["placement"]["memory"]
        self.assertEqual(memory["by"], by)
        self.assertGreater(memory["observed"]["pages"], 100)
        return {place["node"]: place["share"] for place in memory["observed"]["shares"]}

    def test_the_machine_is_the_described_one(self):
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

    def test_memory_lies_where_mem_says(self):
        self.assertEqual(self.nodes("on one node", by=None), {3: 1})
        self.assertEqual(self.nodes("bind", by="chunks"), {2: 1})
        self.assertEqual(self.nodes("bind huge", by="chunks"), {2: 1})
        everywhere = [self.nodes("interleave", by="chunks"), self.nodes("interleave untouched", by="chunks")]
        local, two = self.nodes("local", by="chunks"), self.nodes("bind two", by="chunks")
        socket = self.nodes("interleave socket", by="chunks")
        for places, shares in (([0, 1, 2, 3], everywhere[0]), ([0, 1, 2, 3], everywhere[1]), ([1, 2], local), ([1, 3], two),
                               ([2, 3], socket)):
            self.assertEqual(sorted(shares), places)
            for share in shares.values():
                self.assertAlmostEqual(share, 1 / len(places), delta=0.1)

    def came_from(self, node, run, least_bytes):
        """Checks that nearly all of the memory allocated during the run is from this node."""
        hits = [int(line) for line in results[run].stdout.splitlines() if line.isdigit()]
        given = [after - before for before, after in zip(hits[:4], hits[4:], strict=True)]
        self.assertGreater(given[node], least_bytes // 4096)
        self.assertLess(sum(given) - given[node], given[node] / 4)

    def test_memory_of_malloc_comes_from_the_node_that_mem_says(self):
        memory = self.document("malloc")["placement"]["memory"]
        self.assertEqual(memory["by"], "threads")
        self.assertIn("malloc", memory["observed_reason"])
        self.came_from(3, "malloc", RECORDS * 16)   # at least a key and its value

    def test_memory_taken_before_threads_join_is_placed_as_theirs(self):
        if "there is no 'simdht'" in results["own memory"].stderr:
            self.skipTest("this build has no simdht")
        self.assertEqual(self.document("own memory")["placement"]["memory"]["by"], "threads")
        self.came_from(3, "own memory", 16_000_000)
        self.came_from(2, "own memory, first touched", 16_000_000)

    def test_the_limits_are_those_of_the_memory_that_threads_would_use(self):
        # Two threads of compact are on nodes 0 and 1; one of them places the buffer of the limits.
        for run, nodes in (("limits", (0, 1)), ("limits bound", (2,))):
            done = results[run]
            self.assertEqual(done.status, 0, done.stderr)
            hits = [int(line) for line in done.stdout.splitlines() if line.isdigit()]
            given = [after - before for before, after in zip(hits[:4], hits[4:], strict=True)]
            for node in nodes:
                self.assertGreater(given[node], (32 << 20) // 4096 // len(nodes), f"{run}: {given}")

    def far(self, run):
        """Returns the document of a run with far memory, and what it says of that."""
        if "there is no 'cuckoo'" in results[run].stderr:
            self.skipTest("this build has no cuckoo")
        document = self.document(run)
        return document, document["memory"]["far"]

    def test_far_values_lie_on_the_far_node_and_near_ones_where_the_thread_is(self):
        document, far = self.far("far")
        self.assertEqual([far["medium"], far["words"]], ["node", "node:1,size=64Mi"])
        self.assertGreater(far["live_bytes"], RECORDS * 256 - (2 << 20))
        self.assertEqual(far["observed"]["shares"], [{"node": 1, "share": 1}])
        self.assertEqual([place["node"] for place in document["placement"]["memory"]["observed"]["shares"]], [2])
        # The measurement of the far node takes 64 MiB there, too.
        hits = [int(line) for line in results["far"].stdout.splitlines() if line.isdigit()]
        given = [after - before for before, after in zip(hits[:4], hits[4:], strict=True)]
        self.assertGreater(given[1] * 4096, (64 << 20) + far["live_bytes"])
        self.assertLess(given[3] * 4096, 16 << 20)

    def test_far_pages_are_locked_on_their_node(self):
        document, far = self.far("far")
        self.assertEqual(far["locked_bytes"], far["reserved_bytes"])
        self.assertEqual([note for note in document["health"]["notes"] if "far memory" in note], [])

    def test_hwloc_is_asked_what_the_far_node_is(self):
        _, far = self.far("far")
        if far["hwloc"] is None:
            self.assertIn("hwloc does not say what the memory of node 1 is", far["hwloc_reason"])
        else:
            self.assertEqual(far["hwloc"], "DRAM")

    def test_a_far_node_that_is_also_near_is_noted(self):
        document, _ = self.far("far beside near")
        self.assertIn("node 1 has far memory, and near memory, too, which lies on nodes 0-1", document["health"]["notes"])

    def test_a_node_that_does_not_exist_is_wrong_input(self):
        for run, said in (
            ("no such node", "there is no node 4; this process may use nodes 0-3"),
            ("no such far node", "--far=node:4,size=64Mi: there is no node 4; this process may use nodes 0-3"),
            ("far too large", "--far=node:1,size=1G: 1.0 GB; "),
        ):
            done = results[run]
            self.assertEqual((done.status, done.stderr.count("\n")), (2, 1), done)
            self.assertIn(said, done.stderr)

    def test_a_far_node_has_less_memory_than_the_machine(self):
        self.assertRegex(results["far too large"].stderr, r"; \d+\.\d MB of memory are available on node 1$")


if __name__ == "__main__":
    if missing := emulated_machine.why_not():
        print(f"skipped: there is no emulated machine here: {missing}")
        sys.exit(1 if os.environ.get("LATCHLAB_SKIP_NOTHING") else 77)
    unittest.main(argv=[sys.argv[0]])
