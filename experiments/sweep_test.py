"""Tests of sweeps on this machine: what was killed goes on, no run is lost or made twice, and wrong input is one line.

CTest runs it. By hand: python3 experiments/sweep_test.py
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
from unittest import mock

from experiment_testing import TREE, fake_in

import hold  # noqa: E402
import results  # noqa: E402
from processes import boot, started_at  # noqa: E402

# A fake harness. It expands lists as `harness points` does, and notes its runs in the file `runs`. A run waits while the file `hold` has
# the number of the runs before it. It kills the script that started it if the file `kill` has its number of threads.
FAKE = r"""#!/usr/bin/python3
import itertools, json, os, pathlib, re, signal, sys, time
folder = pathlib.Path(__file__).parent
if sys.argv[1] == "points":
    named = [word.split("=") for word in sys.argv[2:]]
    lists = [[f"{name}={value}" for value in re.sub("^{(.*)}$", r"\1", text).split(",")] for name, text in named]
    for words in itertools.product(*lists):
        print(json.dumps({"words": words, "pair": "art:olc"}))
    sys.exit()
options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
if (folder / "kill").exists() and (folder / "kill").read_text() == options["--threads"]:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)   # the kernel ends it
runs = folder / "runs"
before = len(runs.read_text().splitlines()) if runs.exists() else 0
while (folder / "hold").exists() and (folder / "hold").read_text() == str(before):
    time.sleep(.01)
with open(runs, "a") as file:
    file.write(" ".join([options["--index"], options["--threads"], options["--block"]]) + "\n")
print(json.dumps({"status": "ok", "reason": "", "interrupted": False, "throughput": {"per_second": 1000}}))
"""
LISTS = ["--index={art,cuckoo}", "--threads={1,2,3}"]
ALL = sorted(f"{index} {threads} {block}" for index in ("art", "cuckoo") for threads in (1, 2, 3) for block in (0, 1))


class Sweeps(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.harness = fake_in(self.folder, FAKE)
        self.out = self.folder / "out"

    def command(self, *arguments):
        return ["/usr/bin/python3", "-B", str(TREE / "experiments/sweep.py"), str(self.harness), *arguments]

    def sweep(self, *more, lists=tuple(LISTS)):
        command = self.command(f"--out={self.out}", "--replicates=2", *lists, *more)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    def status(self):
        done = subprocess.run(self.command("status", str(self.out)), capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def runs(self):
        return sorted((self.folder / "runs").read_text().splitlines())

    def kept(self):
        """Returns the runs in the results, as `runs` does."""
        records = results.records_in(self.out / "results.jsonl")
        return sorted(f"{' '.join(word.split('=')[1] for word in record['arguments'])} {record['replicate']}" for record in records)

    def started(self, before):
        """Starts a sweep whose run behind so many others waits; returns the process when it waits."""
        (self.folder / "hold").write_text(str(before))
        process = subprocess.Popen(self.command(f"--out={self.out}", "--replicates=2", *LISTS), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        process.stderr.readline()   # a run has begun, so there is something to tell
        while not re.search(rf"(?s)^{before} done.*block0-try1 on ", self.status(), re.MULTILINE):
            self.assertIsNone(process.poll())
        return process

    def await_end_of_runs(self):
        """Waits until no process of this test's folder is left: the kernel kills the runs of a killed driver one after the other."""
        def lives(process):
            try:
                return str(self.folder) in (process / "cmdline").read_bytes().decode(errors="replace")
            except OSError:   # it has ended meanwhile
                return False
        while any(map(lives, pathlib.Path("/proc").glob("[0-9]*"))):
            time.sleep(0.01)

    def test_each_point_runs_once_in_each_block(self):
        done = self.sweep()
        self.assertEqual((done.returncode, done.stdout), (0, f"12 of 12 runs are in {self.out}/results.jsonl\n"))
        self.assertEqual(self.runs(), ALL)
        self.assertEqual(self.kept(), ALL)
        self.assertIn("12 done, 0 failed, 0 left", self.status())
        self.assertEqual(list((self.out / "tasks").iterdir()), [])
        self.assertEqual(self.sweep().returncode, 0)
        self.assertEqual(self.runs(), ALL)   # nothing ran again

    def test_kinds_of_another_engine_stand_beside_those_that_are_there(self):
        self.sweep()
        for more in ("--on=slurm", "--on=slurm:constraint=zen4"):
            with mock.patch.dict(os.environ, PATH=str(self.folder)):   # where no Slurm is
                done = self.sweep(more, "--emit=sbatch")
            self.assertEqual(done.returncode, 0, done.stderr)
            for task in (self.out / "tasks").glob("*-block*"):
                task.unlink()
        self.assertIn("\n12 done, 0 failed, 0 left\nslurm: 0 done, 0 failed, 12 left\nzen4: 0 done, ", self.status())
        done = self.sweep()
        self.assertEqual((done.returncode, self.runs(), self.kept()), (0, ALL, ALL), done.stderr)

    def test_a_killed_driver_loses_no_result_and_no_run_is_made_twice(self):
        process = self.started(3)
        process.kill()
        process.wait()
        self.await_end_of_runs()
        self.assertIn("3 done, 0 failed, 9 left", self.status())
        self.assertRegex(self.status(), r"block0-try1 on .*: stopped; the same command goes on")
        (self.folder / "hold").unlink()
        self.assertEqual(self.sweep().returncode, 0)
        self.assertEqual(self.runs(), ALL)
        self.assertEqual(self.kept(), ALL)

    def test_the_point_at_which_a_task_is_killed_fails_and_the_others_run(self):
        (self.folder / "kill").write_text("2")
        done = self.sweep()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.kept(), [run for run in ALL if run.split()[1] != "2"])
        failed = [line for line in done.stderr.splitlines() if line.startswith("sweep: failed: ")]
        self.assertEqual(len(failed), 4)
        self.assertTrue(all(line.endswith("--threads=2: killed by SIGKILL") for line in failed), failed)
        self.assertIn("8 done, 4 failed, 0 left", self.status())
        (self.folder / "kill").unlink()
        self.assertEqual(self.sweep().returncode, 0)   # what failed is tried again
        self.assertEqual(self.kept(), ALL)
        self.assertEqual(self.runs(), ALL)

    def test_a_second_driver_is_refused_while_the_first_lives(self):
        process = self.started(3)
        (driver,) = (self.out / "tasks").glob("*.driver")
        for more in ((), ("--seed=7",)):   # the same command, and another one
            second = self.sweep(*more)
            said = f"sweep: --out: {self.out}: another driver runs this sweep: process {process.pid}\n"
            self.assertEqual((second.returncode, second.stdout, second.stderr), (2, "", said))
        self.assertEqual(list((self.out / "tasks").glob("*.driver")), [driver])
        self.assertIn("3 done, 0 failed, 9 left", self.status())
        process.kill()   # a dead driver is in the way of none
        process.wait()
        self.await_end_of_runs()
        (self.folder / "hold").unlink()
        self.assertEqual(self.sweep().returncode, 0)
        self.assertEqual((self.runs(), self.kept()), (ALL, ALL))
        self.assertEqual(list((self.out / "tasks").iterdir()), [])

    def start_of(self, process, started):
        """Makes the files of a driver that has not written sweep.json yet."""
        (self.out / "tasks").mkdir(parents=True)
        about = {"host": "ant", "boot": boot(), "namespace": hold.namespace(), "process": process, "started": started}
        (self.out / "tasks/first.driver").write_text(json.dumps(about))

    def test_a_driver_that_was_killed_while_it_started_is_in_the_way_of_none(self):
        self.start_of(os.getpid(), started_at(os.getpid()))
        self.assertIn("another driver runs this sweep: process", self.sweep().stderr)
        status = subprocess.run(self.command("status", str(self.out)), capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((status.returncode, len(status.stderr.splitlines())), (2, 1))
        self.assertIn("a sweep starts here, or was killed while it did", status.stderr)
        (self.out / "tasks/first.driver").unlink()
        (self.out / "tasks").rmdir()
        self.start_of(os.getpid(), "1")   # a dead one, whose number another process has
        for name in ("sweep.json.part", "kinds.json.part", "kinds.json", "failures.jsonl"):
            (self.out / name).touch()
        done = self.sweep(lists=["--index=art", "--threads=1"])
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.out / "results.jsonl.part").touch()   # of a driver that was killed while it marked or moved results
        self.assertEqual(self.sweep(lists=["--index=art", "--threads=1"]).returncode, 0)
        self.assertEqual(self.kept(), ["art 1 0", "art 1 1"])

    def test_a_strangers_folder_is_not_one_of_a_start(self):
        for name in ("tasks/thesis.tex", "failures.jsonl", "slurm/data"):
            out = self.folder / name.replace("/", "-")
            (out / name).parent.mkdir(parents=True)
            (out / name).write_text("mine")
            self.assertFalse(hold.is_of_start(out, ["slurm"]), name)

    def test_an_interruption_says_how_to_go_on(self):
        process = self.started(0)
        process.send_signal(signal.SIGINT)
        self.assertIn("sweep: interrupted; the same command goes on", process.communicate(timeout=60)[1])
        self.assertEqual(process.returncode, 130)
        (self.folder / "hold").unlink()
        self.assertEqual(self.sweep().returncode, 0)
        self.assertEqual(self.kept(), ALL)

    def test_a_full_disk_is_named_and_what_was_kept_stays(self):
        # The script's limit on the size of files stands for a full disk: bash has no signal for it left, and its write fails.
        command = self.command(f"--out={self.out}", "--replicates=2", *LISTS)
        limited = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$@"', "limited", *command], capture_output=True,
                                 text=True, check=False, timeout=120)
        self.assertEqual(limited.returncode, 2)
        self.assertIn("results.jsonl: File too large; what was kept stays, and the same command goes on", limited.stderr.splitlines()[-1])
        self.assertGreater(len(self.kept()), 0)
        self.assertEqual(self.sweep().returncode, 0)
        self.assertEqual(self.kept(), ALL)

    def test_records_that_a_full_disk_does_not_take_end_the_task(self):
        points = self.folder / "block.points"
        points.write_text("0 --index=art --threads=1 --block=0\n1 --index=art --threads=2 --block=0\n")
        block = ["bash", str(TREE / "experiments/block.sh"), str(self.harness), str(points)]
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([*block, "-"], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (3, "block.sh: the records cannot be written: -"))
        (self.folder / "block.records.part").symlink_to("/dev/full")
        done = subprocess.run([*block, str(self.folder / "block.records")], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertFalse((self.folder / "runs").exists())   # no run is made whose outcome nothing would tell

    def test_a_run_that_is_killed_alone_fails_with_the_reason(self):
        self.harness.write_text("#!/bin/bash\necho ours >&2\nkill -KILL $$\n")
        points = self.folder / "block.points"
        points.write_text("0 --index=art\n")
        tools = self.folder / "tools"
        tools.mkdir()
        for number, (grep, said) in enumerate((
            ("echo oom_kill 3", "killed by SIGKILL, perhaps out of memory"),
            (f"echo . >>{tools}/kills; wc -l <{tools}/kills", "out of memory: the kernel killed the run"),   # a number that grows
            ("exit 2", "killed by SIGKILL, perhaps out of memory"),   # the kernel does not tell
        )):
            (tools / "grep").write_text(f"#!/bin/sh\n{grep}\n")
            (tools / "grep").chmod(0o755)
            records = self.folder / f"{number}.records"
            subprocess.run(["bash", str(TREE / "experiments/block.sh"), str(self.harness), str(points), str(records)], check=True,
                           timeout=60, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
            outcome = json.loads(records.read_text().splitlines()[-1])
            self.assertEqual((outcome["exit"], outcome["said"], outcome["document"]), (137, said, None))

    def test_a_dry_run_names_points_blocks_and_the_time_that_is_left(self):
        done = self.sweep("--dry-run")
        self.assertEqual(len(done.stdout.splitlines()), 6)
        self.assertIn("6 points, 2 blocks on this machine; 12 of 12 runs left: no estimate, since none ran here yet", done.stderr)
        self.assertFalse(self.out.exists())
        self.out.mkdir()
        (self.out / "kinds.json").write_text("{}")   # of a call that was refused after its builds
        self.sweep()
        self.assertRegex(self.sweep("--dry-run").stderr, r"0 of 12 runs left: about 0 s, as runs in this folder took")

    def test_a_clock_that_was_set_back_gives_no_negative_time(self):
        one = ["--index=art", "--threads=1"]
        self.sweep(lists=one)
        file = self.out / "results.jsonl"
        records = results.records_in(file)
        for took, said in (((7, -1e8), "1 of 3 runs left: about 7 s"), ((-7, -1e8), "no estimate, since none ran here yet")):
            for record, seconds in zip(records, took, strict=True):
                record["ended"] = record["began"] + seconds
            file.write_text("".join(json.dumps(record) + "\n" for record in records))
            self.assertIn(said, self.sweep("--replicates=3", "--dry-run", lists=one).stderr)
        task = {"kind": "", "replicate": 0, "attempt": 1, "arguments": [one], "engine": "slurm"}
        (self.out / "tasks/block0-try1.json").write_text(json.dumps(task))
        (self.out / "tasks/block0-try1.records.part").write_text(json.dumps({"begins": 0, "node": "n1", "at": time.time() + 1e6}) + "\n")
        self.assertIn("block0-try1 on n1: --index=art --threads=1 for 0 s\n", self.status())

    def test_wrong_input_is_one_line_and_exit_status_2(self):
        self.sweep()
        strange = self.folder / "strange"
        strange.mkdir()
        (strange / "thesis.tex").touch()
        for arguments, said in (
            ([], "--out=DIR is missing"),
            ([f"--out={self.out}", "art"], "'art': there are --dry-run, and options as --name=value"),
            ([f"--out={self.out}", "--replicates=0"], "--replicates: '0' is not a whole number from 1 to 10000"),
            ([f"--out={self.out}", "--reps=3"], "--reps has no meaning in a sweep; write --replicates=N"),
            ([f"--out={self.out}", "--index={art,art}"], "--index=art is there twice"),
            ([f"--out={self.out}", "--on=cloud"], "there is no engine 'cloud'; there "),
            ([f"--out={self.out}", "--on=local:2"], "local has no options"),
            ([f"--out={strange}", "--index=art"], f"{strange} has no sweep.json, but 'thesis.tex': it is no folder of a sweep"),
            (["--out=/proc/nowhere", "--index=art"], "--out: /proc/nowhere"),
            (["status"], "name the folder"),
            (["status", str(strange)], "is no folder of a sweep"),
        ):
            with self.subTest(arguments=arguments):
                done = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
        (self.out / "thesis.tex").touch()
        self.assertIn("thesis.tex is no file of a sweep; move it away", self.sweep().stderr)
        (self.out / "thesis.tex").unlink()
        (self.out / "tasks/mine.json").write_text("{}")
        self.assertIn("mine.json: is no task of a sweep; remove it", self.sweep().stderr)
        (self.out / "tasks/mine.json").unlink()
        self.harness.write_text(FAKE + "# another build\n")
        self.assertIn("has results of another binary; give another --out", self.sweep().stderr)
        self.assertEqual(self.kept(), ALL)


if __name__ == "__main__":
    os.environ.pop("SLURMD_NODENAME", None)
    unittest.main()
