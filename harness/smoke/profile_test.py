"""--profile of the real binary: with a fake perf, which may refuse or crash, and with the real one where it may sample.

Run by CTest, which says where the binary is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 harness/smoke/profile_test.py
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
import xml.etree.ElementTree

from smoke_testing import HARNESS, SHORT

# A fake perf. It logs its calls and commands, acknowledges each command, and prints the samples in the file `samples`. A file named
# after a word of its protocol makes it fail there.
PERF = """#!/usr/bin/python3
import os, pathlib, re, signal, sys
here = pathlib.Path(__file__).parent
def log(text):
    with open(here / "log", "a") as file:
        file.write(text + "\\n")
def fail_at(word):
    if (here / word).exists():
        sys.stderr.write((here / word).read_text())
        sys.stderr.flush()
        if word == "disable":
            os.kill(os.getpid(), signal.SIGKILL)
        sys.exit(255)
words = sys.argv[1:]
log(words[0])
fail_at(words[0])
if words[0] == "script":
    data = pathlib.Path(words[words.index("-i") + 1]).read_text()
    print((here / "samples").read_text() if data == "recorded" else "", end="")
    sys.exit()
options = dict(word.split("=", 1) for word in words if "=" in word)
control, acknowledge = (int(number) for number in re.fullmatch(r"fd:(\\d+),(\\d+)", options["--control"]).groups())
assert os.path.exists("/proc/" + options["--pid"])
with os.fdopen(control, "r", closefd=False) as commands:
    for command in commands:
        log(command.strip())
        fail_at(command.strip())
        if command == "stop\\n":
            pathlib.Path(options["--output"]).write_text("recorded")
            sys.exit()
        os.write(acknowledge, b"ack\\n\\0")
log("orphan")
"""

SAMPLES = """cpu-clock:pppH: 
\t    10 latchlab::Art<X>::find (/somewhere/harness)
\t    20 latchlab::Phases::run_until_full (/somewhere/harness)
\t    30 start_thread (/usr/lib/libc.so.6)

cpu-clock:pppH: 
\tffffffff815e36cd clear_page ([kernel.kallsyms])
\t    11 latchlab::Art<X>::insert (/somewhere/harness)
\t    20 latchlab::Phases::run_until_full (/somewhere/harness)

cpu-clock:pppH: 
\t    40 latchlab::Phases::make_ready (/somewhere/harness)
\t    50 latchlab::NativeTeam::work (/somewhere/harness)

"""


class Profiles(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "samples").write_text(SAMPLES)
        self.file = self.folder / "flames.svg"
        # A run that finds no perf in this folder must not find another one.
        self.environment = os.environ | {"PATH": str(self.folder)}

    def fake_perf(self):
        (self.folder / "perf").write_text(PERF)
        (self.folder / "perf").chmod(0o755)

    def profiled(self, *arguments):
        """Runs the harness, and returns its document."""
        done = subprocess.run([HARNESS, "--json", *SHORT, f"--profile={self.file}", *arguments], env=self.environment, cwd=self.folder,
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def note(self, document):
        notes = [note for note in document["health"]["notes"] if "profile" in note or str(self.file) in note]
        self.assertEqual(len(notes), 1, document["health"])
        return notes[0]

    def log(self):
        return (self.folder / "log").read_text().split()

    def no_picture(self, why, *arguments):
        """Checks that a run is whole and has no picture for this reason."""
        document = self.profiled(*arguments)
        self.assertGreater(document["throughput"]["operations"], 0)
        self.assertRegex(self.note(document), f"^there is no profile: {why}")
        self.assertEqual(list(self.folder.glob("*.svg")) + list(self.folder.glob(".latchlab*")), [])

    def test_a_picture_has_the_samples_of_operations(self):
        self.fake_perf()
        note = self.note(self.profiled())
        self.assertEqual(note, f"{self.file}: 2 samples of cpu-clock; taking them may have slowed the run")
        self.assertEqual(self.log(), ["record", "enable", "disable", "stop", "script"])
        picture = self.file.read_text()
        xml.etree.ElementTree.fromstring(picture)
        self.assertEqual(re.findall(r"<title>(.*)\n", picture),
                         ["all samples", "latchlab::Art&lt;X&gt;::find", "latchlab::Art&lt;X&gt;::insert", "clear_page"])
        self.assertIn("2 samples of cpu-clock, in operations; 1 more outside", picture)
        self.assertIn(f"--profile={self.file}", picture)
        self.assertNotIn("hardware transaction", picture)
        self.assertIn("addr2line (package binutils) found no inlined functions", picture)
        self.assertNotIn("http", picture.replace("http://www.w3.org/2000/svg", ""))

    def test_a_run_without_perf_says_which_package_has_it(self):
        self.no_picture("perf is missing; install the package linux-perf$")

    def test_a_refusal_says_what_to_change(self):
        self.fake_perf()
        (self.folder / "record").write_text("Error:\nAccess to performance monitoring and observability operations is limited.\n"
                                            "Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open\n")
        self.no_picture(r"EACCES: not permitted; .*kernel\.perf_event_paranoid")
        self.assertEqual(self.log(), ["record"])

    def test_another_failure_at_the_start_is_in_perfs_words(self):
        self.fake_perf()
        (self.folder / "enable").write_text("Events disabled\nThe machine is on fire.\nLeave it.\n\nMore: none\n")
        self.no_picture(r"perf: The machine is on fire\. Leave it\.$")

    def test_a_perf_that_crashes_in_the_middle_leaves_the_run_whole(self):
        self.fake_perf()
        (self.folder / "disable").write_text("")
        self.no_picture("perf was killed by signal 9$")

    def test_a_script_that_fails_is_in_perfs_words(self):
        self.fake_perf()
        (self.folder / "script").write_text("incompatible file format\n")
        self.no_picture("perf script failed: incompatible file format$")

    def test_samples_outside_operations_draw_nothing(self):
        self.fake_perf()
        (self.folder / "samples").write_text(SAMPLES[SAMPLES.rindex("cpu-clock") :])
        self.no_picture("none of 1 samples is of an operation$")

    def test_the_run_of_a_killed_harness_leaves_no_perf(self):
        self.fake_perf()
        process = subprocess.Popen([HARNESS, "--records=20000", "--time=60min", f"--profile={self.file}", "--progress=none"],
                                   env=self.environment, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for("enable")
        process.kill()
        self.wait_for("orphan")

    def test_an_interrupted_run_ends_perf_and_draws_nothing(self):
        self.fake_perf()
        process = subprocess.Popen([HARNESS, "--json", "--records=20000", "--time=60min", f"--profile={self.file}", "--progress=none"],
                                   env=self.environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.wait_for("enable")
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.note(json.loads(said)), "there is no profile: the run was interrupted")
        self.assertEqual(self.log(), ["record", "enable", "disable", "stop"])

    def wait_for(self, word):
        for _ in range(6000):
            if (self.folder / "log").exists() and word in self.log():
                return
            time.sleep(.01)
        self.fail(f"perf has not logged {word}")


class RealPerf(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def picture_of(self, *options):
        """Returns the picture of a short run. Skips the test where perf may not record."""
        file = self.folder / "flames.svg"
        done = subprocess.run([HARNESS, "--json", "--records=100k", "--time=300ms", f"--profile={file}", *options],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        for note in json.loads(done.stdout)["health"]["notes"]:
            if note.startswith("there is no profile: "):
                self.skipTest(note)
        return file.read_text()

    def test_a_picture_names_the_loop_of_the_pair(self):
        picture = self.picture_of("--threads=2")
        xml.etree.ElementTree.fromstring(picture)
        self.assertIn("RunnerOf&lt;", picture)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["flames.svg"])

    def test_the_stacks_of_batches_are_whole(self):
        picture = self.picture_of("--sync=olc", "--batch=64")
        drawn = int(re.search(r"(\d+) samples? of", picture).group(1))
        cut = re.search(r"(\d+) more are not drawn, since perf copied too little", picture)
        self.assertLess(int(cut.group(1)) if cut else 0, drawn)


if __name__ == "__main__":
    unittest.main()
