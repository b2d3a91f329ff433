"""Tests of the hold on a sweep's folder: one driver at a time, wherever the others are, and no trace of a refused call.

CTest runs it. By hand: python3 experiments/hold_test.py
"""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import experiment_testing  # noqa: F401  # the path of modules

import hold  # noqa: E402
from hold import STALE, Hold  # noqa: E402
from input_error import InputError  # noqa: E402
from processes import boot, started_at  # noqa: E402


class Holding(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "made/out"

    def other(self, age=0, **about):
        """Writes the file of another driver, which gave its last sign so many seconds ago."""
        process = about.get("process", os.getpid())
        standard = {"host": "ant", "boot": "another", "namespace": hold.namespace(), "process": process, "started": started_at(process)}
        file = self.folder / "tasks/other.driver"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(standard | about))
        at = file.stat().st_mtime - age
        os.utime(file, (at, at))
        return file

    def refused(self, said):
        with self.assertRaisesRegex(InputError, said), Hold(self.folder):
            self.fail("it holds the folder")
        self.assertEqual([path.name for path in (self.folder / "tasks").iterdir()], ["other.driver"])

    def test_a_driver_elsewhere_lives_while_it_gives_signs(self):
        self.other(age=STALE - 30)
        self.refused(f"another driver runs this sweep: process {os.getpid()} on ant; its last sign is {STALE - 30} s old")
        file = self.other(age=STALE + 30)
        with Hold(self.folder):
            self.assertFalse(file.exists())
        file = self.other(age=-1e6)   # a clock was set back
        self.refused(f"process {os.getpid()} on ant; its last sign is 1000000 s ahead of the clock; if it has ended, remove {file}$")
        self.other(age=30, boot=boot(), namespace="pid:[1]")   # a container: its numbers of processes are others
        self.refused("on ant")
        self.other().write_text("")   # it is being written
        self.refused("other.driver")

    def test_a_driver_here_lives_while_its_process_does(self):
        child = subprocess.Popen(["sleep", "60"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        about = {"boot": boot(), "process": child.pid}
        self.other(age=STALE + 30, **about)   # it need give no sign
        self.refused(f"process {child.pid}$")
        self.other(**about, started="1")   # another process has its number now
        with Hold(self.folder):
            pass
        self.other(**about)
        child.kill()
        child.wait()
        with Hold(self.folder):
            pass

    def test_of_two_that_start_together_one_sees_the_other(self):
        with Hold(self.folder) as first:
            with self.assertRaisesRegex(InputError, "another driver"), Hold(self.folder):
                self.fail("two hold the folder")
            self.assertTrue(first.file.exists())
            first.check()

    def test_a_driver_gives_signs_and_notices_that_it_lost_the_folder(self):
        with Hold(self.folder) as here:
            os.utime(here.file, (1, 1))
            signal.raise_signal(signal.SIGALRM)
            self.assertGreater(here.file.stat().st_mtime, 1)
            self.assertLessEqual(signal.getitimer(signal.ITIMER_REAL)[1], STALE / 4)
            here.file.unlink()   # another driver held it for dead
            signal.raise_signal(signal.SIGALRM)
            with self.assertRaisesRegex(InputError, "another one has taken over"):
                here.check()
        self.assertEqual(signal.getitimer(signal.ITIMER_REAL), (0, 0))

    def call(self, kept=False, log=False):
        """Makes the changes of a call that is then refused."""
        with self.assertRaises(InputError), Hold(self.folder, ["zen4"]) as here:
            (self.folder / "zen4").mkdir(exist_ok=True)
            (self.folder / "tasks/slurm").mkdir(exist_ok=True)
            for name in ("sweep.json", "failures.jsonl"):
                (self.folder / name).write_text("new")
            if log:
                (self.folder / "tasks/slurm/job.log").touch()
            here.kept = kept
            raise InputError("refused")

    def tree(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))

    def test_a_refused_call_leaves_nothing(self):
        self.call()
        self.assertFalse(self.folder.parent.exists())
        self.folder.mkdir(parents=True)
        self.call()
        self.assertEqual(self.tree(), [])

    def test_a_refused_call_leaves_an_earlier_one_as_it_was(self):
        (self.folder / "tasks").mkdir(parents=True)
        (self.folder / "sweep.json").write_text("old")
        self.call()
        self.assertEqual(self.tree(), ["sweep.json", "tasks"])
        self.assertEqual((self.folder / "sweep.json").read_text(), "old")

    def test_what_was_kept_stays(self):
        self.call(kept=True)
        self.assertEqual(self.tree(), ["failures.jsonl", "sweep.json", "tasks", "tasks/slurm", "zen4"])

    def test_a_folder_with_logs_stays_one_of_a_sweep(self):
        self.call(log=True)
        self.assertEqual(self.tree(), ["sweep.json", "tasks", "tasks/slurm", "tasks/slurm/job.log"])


if __name__ == "__main__":
    unittest.main()
