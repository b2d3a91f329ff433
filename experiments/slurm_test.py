"""Tests of sweeps on a cluster of two nodes on this machine (slurm_testing.py): what crashes, is cancelled or needs too much memory loses
no run, and none counts twice.

.ci/slurm runs it, since it takes two minutes and needs root, slurm-wlm, munge and submitit.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from experiment_testing import TREE, fake_in

import results  # noqa: E402
import slurm_testing  # noqa: E402
from slurm_testing import wait_for  # noqa: E402

# A fake harness, in bash since that starts at once. It expands lists as `harness points` does, and notes its runs in the file `runs`.
# Before a run on a node, it waits while the file `hold-NODE` has the number of the runs there before it. A run whose number of threads is
# in the file `grow` takes memory without end.
FAKE = r"""#!/bin/bash
here=${0%/*} node=${SLURMD_NODENAME:-here}
[ "$1" != points ] || exec /usr/bin/python3 -c '
import itertools, json, re, sys
def values(text):
    text = re.sub("^{(.*)}$", r"\1", text)
    least, dots, most = text.partition("..")
    return range(int(least), int(most) + 1) if dots else text.split(",")
lists = [word.split("=") for word in sys.argv[1:]]
for words in itertools.product(*[[f"{name}={value}" for value in values(text)] for name, text in lists]):
    print(json.dumps({"words": words, "pair": "art:olc"}))' "${@:2}"
for word; do
  case $word in --index=*) index=${word#*=} ;; --threads=*) threads=${word#*=} ;; --seed=*) seed=${word#*=} ;; esac
  words+=${words+, }\"$word\"
done
hold=$here/hold-$node
while [ -e "$hold" ] && [ "$(cat "$hold")" = "$(grep -sc "^$node " "$here/runs")" ]; do sleep .02; done
while [ -e "$here/grow" ] && [ "$(cat "$here/grow")" = "$threads" ]; do taken+=$(head -c 20M /dev/zero | tr '\0' x); done
echo "$node $index $threads $seed" >>"$here/runs"
printf '{"status": "ok", "reason": "", "interrupted": false, "throughput": {"per_second": 1000}, "of": [%s]}\n' "$words"
"""
LISTS = ["--index={art,cuckoo}", "--threads=1..20"]
POINTS = 40


def setUpModule():
    global cluster
    if why := slurm_testing.why_not():
        raise unittest.SkipTest(why)
    scratch = tempfile.TemporaryDirectory(prefix="latchlab-slurm-")
    unittest.addModuleCleanup(scratch.cleanup)
    cluster = slurm_testing.Cluster(scratch.name)
    unittest.addModuleCleanup(cluster.stop)


class Slurm(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="latchlab-sweep-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.harness = fake_in(self.folder, FAKE)
        self.out = self.folder / "out"
        self.addCleanup(cluster.ask, "scancel", "--user=root")

    def command(self, *arguments):
        return [sys.executable, "-B", str(TREE / "experiments/sweep.py"), str(self.harness), *arguments]

    def words(self, on="slurm:constraint=zen4+skylake", *more, out=None, lists=tuple(LISTS), replicates=2):
        own = [f"--out={out or self.out}", f"--on={on}", f"--replicates={replicates}", f"--binary={self.harness}"]
        return self.command(*own, *lists, *more)

    def sweep(self, *words, **named):
        command = self.words(*words, **named)
        return subprocess.run(command, env=cluster.environment, capture_output=True, text=True, check=False, timeout=150)

    def started(self, *words, **named):
        self.said = self.folder / "said"
        with open(self.said, "w") as said:
            process = subprocess.Popen(self.words(*words, **named), env=cluster.environment, stdout=said, stderr=said)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def hold(self, node, before):
        (self.folder / f"hold-{node}").write_text(str(before))

    def release(self, node):
        (self.folder / f"hold-{node}").unlink()

    def runs(self):
        path = self.folder / "runs"
        return path.read_text().splitlines() if path.exists() else []

    def held(self, node, before):
        """Waits until a run of the node waits behind so many others."""
        try:
            wait_for(lambda: sum(run.startswith(node) for run in self.runs()) == before, 30, f"run {before} on {node}")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.said.read_text()}\n{self.queue()}\n{cluster.ask('sinfo', '-N', '-l')}") from None
        time.sleep(.3)   # the next one begins

    def kept(self, path):
        return results.records_in(path)

    def points_in(self, path):
        """Returns the points of a file and what came of each, without where and when."""
        return sorted(json.dumps([each["replicate"], each["seed"], each["arguments"], each["document"]]) for each in self.kept(path))

    def says(self, text, seconds=60):
        return wait_for(lambda: re.search(text, self.said.read_text()), seconds, f"'{text}' in:\n{self.said.read_text()}")

    def queue(self):
        return [line.split("|") for line in cluster.ask("squeue", "-h", "-r", "-o", "%F_%K|%T|%N").splitlines()]

    def job_on(self, node):
        (job,) = [job for job, state, where in self.queue() if where == node and state == "RUNNING"]
        return job

    def test_faults_lose_no_run_and_none_counts_twice(self):
        self.hold("n1", 5)
        self.hold("n2", 8)
        driver = self.started()
        self.held("n1", 5)
        self.held("n2", 8)
        driver.kill()   # its jobs go on
        driver.wait()
        driver = self.started()

        cluster.ask("scancel", self.job_on("n2"))
        self.says(r"sweep: skylake-block0-try1: cancelled on n2; 32 of its 40 runs are left")
        self.release("n2")
        cluster.kill_node("n1")
        self.says(r"sweep: zen4-block0-try1: the node failed on n1; 35 of its 40 runs are left", 90)
        self.release("n1")
        (self.folder / "grow").write_text("7")   # two points of each block that is left
        cluster.start_node("n1")
        self.assertEqual(driver.wait(120), 1)
        self.says(r"sweep: failed: skylake block 0: .*: cancelled on n2")
        self.says(r"sweep: failed: zen4 block 1: .*--threads=7: out of memory on n1: .*exceeded memory limit")

        (self.folder / "grow").unlink()
        self.assertEqual(self.sweep().returncode, 0)
        local = self.sweep("local", out=self.folder / "local")
        self.assertEqual(local.returncode, 0, local.stderr)
        wanted = self.points_in(self.folder / "local/results.jsonl")
        self.assertEqual(len(wanted), 2 * POINTS)
        for kind, node in (("zen4", "n1"), ("skylake", "n2")):
            kept = self.kept(self.out / kind / "results.jsonl")
            self.assertEqual(self.points_in(self.out / kind / "results.jsonl"), wanted)
            self.assertEqual({each["node"] for each in kept}, {node})
            runs = [run for run in self.runs() if run.startswith(node)]
            self.assertEqual((len(runs), len(set(runs))), (2 * POINTS, 2 * POINTS))   # none was made twice
        self.assertFalse(list(self.out.glob("*/aside.jsonl")))

    def test_a_block_whose_node_is_down_begins_anew_on_another(self):
        self.hold("n1", 3)
        self.hold("n2", 3)
        driver = self.started("slurm:constraint=x86", lists=["--index=art", "--threads=1..6"], replicates=1)
        ((job, _, node),) = wait_for(lambda: [job for job in self.queue() if job[1] == "RUNNING"], 30, "job")
        other = {"n1": "n2", "n2": "n1"}[node]
        self.held(node, 3)
        self.release(other)
        cluster.kill_node(node)
        self.assertEqual(driver.wait(120), 0, self.said.read_text())
        cluster.start_node(node)
        self.says(rf"x86 block0: node {node} is down; 3 results are put aside, and the block begins anew on another")
        self.assertEqual([each["node"] for each in self.kept(self.out / "x86/results.jsonl")], [other] * 6)
        self.assertEqual([each["node"] for each in self.kept(self.out / "x86/aside.jsonl")], [node] * 3)
        wait_for(lambda: cluster.ask("sinfo", "-h", "-o", "%T %D").split() == ["idle", "2"], 30, "idle cluster")

    def test_an_interrupted_driver_lists_its_jobs_and_collects_them_later(self):
        self.hold("n1", 1)
        driver = self.started("slurm:constraint=zen4", lists=["--threads=1..3", "--index=art"], replicates=1)
        self.held("n1", 1)
        driver.send_signal(signal.SIGINT)
        self.assertEqual(driver.wait(30), 130)
        array = self.job_on("n1").partition("_")[0]
        self.assertEqual(list((self.out / "tasks").glob("*.driver")), [])
        self.says(rf"sweep: interrupted; jobs go on, and the same command collects them; to end them: scancel {array}\n")
        self.release("n1")
        wait_for(lambda: not self.queue(), 30, "empty queue")
        again = self.sweep("slurm:constraint=zen4", lists=["--threads=1..3", "--index=art"], replicates=1)
        self.assertEqual(again.returncode, 0)
        self.assertEqual(len(self.runs()), 3)
        self.assertFalse(list((self.out / "tasks").glob("*.json")))

    def test_a_job_that_can_never_run_is_told_with_slurms_reason(self):
        driver = self.started("slurm:constraint=zen4,time=120", lists=["--threads=1..3", "--index=art"], replicates=1)
        self.says(r"sweep: 1 jobs wait: PartitionTimeLimit")
        status = subprocess.run(self.command("status", str(self.out)), capture_output=True, text=True, check=False, timeout=60)
        self.assertIn("zen4-block0-try1 waits: PartitionTimeLimit\n", status.stdout)
        driver.send_signal(signal.SIGINT)
        self.assertEqual(driver.wait(30), 130)

    def test_a_plain_script_runs_without_python_and_the_same_command_collects(self):
        emit = ("slurm:constraint=zen4,time=5,mem=200", "--emit=sbatch")
        done = self.sweep(*emit, lists=["--threads=1..3", "--index=art"])
        self.assertEqual(done.returncode, 0, done.stderr)
        (script,) = (self.out / "sbatch").iterdir()
        self.assertEqual(done.stdout, script.read_text())
        self.assertNotIn("python", done.stdout)
        self.assertIn(f"submit it by: sbatch {script}", done.stderr)
        self.assertRegex(done.stderr, r"2 tasks are to be run.*\(PBS, Flux\)")
        self.assertIn("2 tasks are to be run", self.sweep(*emit, lists=["--threads=1..3", "--index=art"]).stderr)
        self.assertEqual(len(list((self.out / "sbatch").iterdir())), 1)   # the script still holds
        cluster.ask("sbatch", str(script))
        wait_for(lambda: len(self.runs()) == 6 and not self.queue(), 30, "run of the script")
        done = self.sweep(*emit, lists=["--threads=1..3", "--index=art"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", f"6 of 6 runs are in {self.out}/zen4/results.jsonl\n"))

    def test_a_job_on_a_node_builds_the_harness_of_its_kind_once(self):
        tools = self.folder / "tools"   # a fake cmake "builds" the fake harness
        tools.mkdir()
        (tools / "cmake").write_text(f"""#!/bin/bash
            [ "$1" = --build ] || exit 0
            echo "$SLURMD_NODENAME" >>{self.folder}/built
            [ ! -e {self.folder}/broken ] || {{ echo 'x.h:1: error: no such header' >&2; exit 1; }}
            cp {self.harness} "$2/harness"; echo "# $RANDOM" >>"$2/harness"\n""")
        (tools / "cmake").chmod(0o755)
        environment = cluster.environment | {"PATH": f"{tools}:{os.environ['PATH']}", "CXXFLAGS": str(self.folder)}
        (tools / "c++").write_text(f"#!/bin/bash\necho 'c++ of {self.folder}'\n")   # no other call has this kind
        (tools / "c++").chmod(0o755)
        words = [word for word in self.words("slurm:constraint=skylake", lists=["--threads=1..2", "--index=art"]) if "--binary" not in word]

        def sweep():
            return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=100)

        (self.folder / "broken").touch()
        done = sweep()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr.splitlines()[-1], "skylake: no harness could be built on n2: x.h:1: error: no such header")
        (self.folder / "broken").unlink()
        done = sweep()
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = json.loads((self.out / "kinds.json").read_text())
        whole = pathlib.Path(kept["binaries"]["skylake"])
        self.addCleanup(lambda: [path.unlink() for path in whole.parent.iterdir()] and whole.parent.rmdir())
        self.assertEqual(whole.parent.parent, TREE / "build/kinds")
        self.assertEqual((self.folder / "built").read_text().split(), ["n2", "n2"])
        self.assertEqual([each["binary"] for each in self.kept(self.out / "skylake/results.jsonl")], [results.digest(whole)] * 4)
        self.assertEqual(sweep().returncode, 0)   # nothing is built again, and the runs are there
        (self.out / "kinds.json").unlink()
        self.assertEqual(sweep().returncode, 0)   # another job finds the build
        self.assertEqual(len((self.folder / "built").read_text().split()), 2)
        self.assertEqual(len((whole.parent / "runs").read_text().splitlines()), 4)

    def test_errors_are_one_line_and_nothing_stays_submitted(self):
        for on, said in (
            ("slurm:constraint=zen9", "no node of the partition has zen9; features of nodes are avx512, skylake, tsx, x86, zen4"),
            ("slurm:constraint=zen4+zen9", "no node of the partition has zen9"),
            ("slurm:constraint=zen4&tsx", "no node of the partition has zen4&tsx"),
            ("slurm:partition=gold", "there is no partition 'gold'; there are bench"),
            ("slurm:color=red", "'color=red' is no option; there are constraint=, partition="),
            ("slurm:time=", "'time=' is no option"),
            ("slurm:mem=1G,mem=2G", "mem= is there twice"),
            ("slurm:constraint=a b", "'a b' must be a feature"),
            ("slurm:constraint=zen4+zen4", "be there once"),
            ("slurm:constraint=tasks", "'tasks' must be a feature"),
            ("slurm:mem=100G", "Batch job submission failed: Requested node configuration is not available; none of these tasks is submitted"),
            ("slurm:constraint=zen4,time=soon", "Invalid --time specification; none of these tasks is submitted"),
        ):
            with self.subTest(on=on):
                out = self.folder / f"out{on.count('=')}{len(on)}"
                done = self.sweep(on, out=out)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertEqual(self.queue(), [])
                self.assertFalse(out.exists())
        self.assertIn("there is no such file", self.sweep("slurm", "--binary=zen4:/nowhere").stderr)
        dry = self.sweep("slurm:constraint=zen4+skylake", "--dry-run")
        self.assertIn("40 points, 4 blocks on 1 nodes of zen4 and 1 nodes of skylake; 160 of 160 runs left", dry.stderr)
        cluster.stop_control()
        done = self.sweep()
        cluster.start_control()
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertIn("Unable to contact slurm controller", done.stderr)
        nowhere = subprocess.run(self.words(), env=cluster.environment | {"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
        self.assertEqual((nowhere.returncode, len(nowhere.stderr.splitlines())), (2, 1))
        self.assertIn("there is no sbatch here, so this machine is no login node of a cluster with Slurm", nowhere.stderr)


if __name__ == "__main__":
    unittest.main()
