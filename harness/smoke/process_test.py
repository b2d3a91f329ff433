"""The real binary as a process: preloaded libraries, full disks, signals, and commands that run nothing.

Run by CTest, which says where the binary is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 harness/smoke/process_test.py
"""

import fcntl
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

from smoke_testing import HARNESS, MEASURED, SHORT, Runs, child_of, kill_with_child, run


class Process(Runs):
    def test_every_malloc_serves_and_says_so(self):
        wanted = {
            "malloc": ("libc.so", "glibc"),
            "tcmalloc": ("libtcmalloc_minimal.so", "gperftools"),
            "jemalloc": ("libjemalloc.so", "jemalloc"),
            "mimalloc": ("libmimalloc.so", "mimalloc"),
            "tbb": ("libtbbmalloc_proxy.so", "oneTBB"),
        }
        for word, (library, version) in wanted.items():
            with self.subTest(word=word):
                (document,) = self.documents(
                    "--sync=olc", "--workload=insert", "--threads=2", f"--alloc={word}", "--records=20000"
                )
                self.assertTrue(document["memory"]["malloc"]["library"].startswith(library), document["memory"])
                self.assertTrue(document["memory"]["malloc"]["version"].startswith(version), document["memory"])
                self.assertEqual(document["config"]["alloc"], word)
        (document,) = self.documents("--alloc=arena", *SHORT)
        self.assertIsNone(document["memory"]["malloc"])
        # In a list, one malloc is served by preloading it for the whole process.
        words = [d["config"]["alloc"] for d in self.documents("--alloc={arena,jemalloc}", *SHORT, count=2)]
        self.assertEqual(words, ["arena", "jemalloc"])

    def test_runs_of_several_mallocs_are_one_list(self):
        served = {"malloc": "libc.so", "tcmalloc": "libtcmalloc", "jemalloc": "libjemalloc", "arena": None, "mimalloc": "libmimalloc",
                  "tbb": "libtbbmalloc"}
        words = ["--alloc={%s}" % ",".join(served), "--sync=olc", *SHORT]
        documents = self.documents(*words, count=len(served))
        self.assertEqual([d["config"]["alloc"] for d in documents], list(served))
        for document, library in zip(documents, served.values(), strict=True):
            self.assertEqual(document["command"][1:], ["--json", *words])
            if library is not None:
                self.assertTrue(document["memory"]["malloc"]["library"].startswith(library), document["memory"])
        with tempfile.TemporaryDirectory() as folder:
            done = run(*words, f"--out={folder}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(re.findall("Mops/s", done.stdout)), 1)
            rows = re.findall(r"^(\S+) +\d+\.\d{3} .* (?:ok|noisy)", done.stdout, re.MULTILINE)
            self.assertEqual(rows, list(served), done.stdout)
            kept = {file.stem: json.loads(file.read_text()) for file in pathlib.Path(folder).iterdir()}
            self.assertEqual(sorted(d["config"]["alloc"] for d in kept.values()), sorted(served))
            self.assertEqual(list(kept), [d["run_id"] for d in kept.values()])

    def test_a_run_whose_process_dies_is_a_failed_row(self):
        words = ["--alloc={malloc,jemalloc}", "--sync=olc", "--records=20000", "--ops=30M", "--warmup=0", "--json"]
        with subprocess.Popen([HARNESS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            child = child_of(process.pid)
            signal.pidfd_send_signal(child, signal.SIGKILL)
            os.close(child)
            out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 1, err)
        failed, good = (json.loads(line) for line in out.splitlines())
        self.conforms(self.results, failed, words)
        self.assertEqual((failed["status"], failed["reason"]), ("failed", "no result document; killed by signal 9"))
        self.assertEqual(failed["config"]["alloc"], "malloc")
        self.assertIn(self.checked(good, words)["status"], MEASURED)

    def test_a_malloc_that_the_user_preloads_is_reported(self):
        environment = {**os.environ, "LD_PRELOAD": "libjemalloc.so.2"}
        done = subprocess.run(
            [HARNESS, "--alloc=malloc", "--json", *SHORT], capture_output=True, text=True, env=environment, check=True
        )
        self.assertIn("jemalloc", json.loads(done.stdout)["memory"]["malloc"]["version"])

    def test_a_preloaded_malloc_that_does_not_serve_is_no_result(self):
        environment = {**os.environ, "LATCHLAB_PRELOADED": "libjemalloc.so.2"}
        done = subprocess.run(
            [HARNESS, "--alloc=jemalloc", *SHORT], capture_output=True, text=True, env=environment, check=False
        )
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(
            done.stderr,
            "harness: --alloc=jemalloc: libjemalloc.so.2 was preloaded, but malloc is still that of libc.so.6\n",
        )

    def test_output_that_cannot_be_written_loses_nothing_else(self):
        for options in (["--progress=plain"], ["--progress=plain", "--json"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([HARNESS, *options, *SHORT], stdout=subprocess.PIPE, stderr=full, text=True,
                                      timeout=300, check=False)
            self.assertEqual(done.returncode, 0)
            self.assertIn("throughput", done.stdout)
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.assertEqual(subprocess.run([HARNESS, "--bad"], stderr=full, check=False).returncode, 2)
        with tempfile.TemporaryDirectory() as parent:
            folder = pathlib.Path(parent) / "out"
            folder.mkdir()
            running = subprocess.Popen([HARNESS, f"--out={folder}", "--threads=1..2", "--progress=plain", *SHORT],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            running.stderr.readline()   # the first run loads
            shutil.rmtree(folder)
            out, said = running.communicate(timeout=300)
            self.assertEqual(running.returncode, 1)
            self.assertEqual(len(re.findall(r"  (?:ok|noisy \[1\])$", out, re.MULTILINE)), 1)
            self.assertIn(json.loads(out.splitlines()[-1])["status"], MEASURED)
            self.assertIn("cannot be written", said)

    def test_the_first_document_that_cannot_be_kept_is_printed_and_nothing_follows(self):
        """A limit on the size of files stands for a disk that is nearly full: the larger of two documents finds no room."""
        points = ["--threads={1,40,2}", *SHORT]
        with tempfile.TemporaryDirectory() as roomy:
            self.assertEqual(run(f"--out={roomy}", *points).returncode, 0)
            sizes = {json.loads(path.read_text())["config"]["threads"]: path.stat().st_size for path in pathlib.Path(roomy).iterdir()}
        limit = (sizes[1] + sizes[40]) // 2
        self.assertGreater(limit, sizes[1] + 1000)
        for form in ([], ["--json"]):
            with self.subTest(form=form), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [HARNESS, f"--out={folder}", *form, *points], capture_output=True, text=True, timeout=300, check=False,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)),
                )
                self.assertEqual(done.returncode, 1, done.stderr)
                documents = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
                lost = documents[-1]
                self.assertEqual([d["config"]["threads"] for d in documents], [1, 40] if form else [40])
                self.conforms(self.results, lost, form)
                where = f"{folder}/{lost['run_id']}.json"
                says = f"{re.escape(where)}.*: File too large; its document is on stdout, and 1 of 3 runs were not begun"
                self.assertRegex(done.stderr.splitlines()[-1], says)
                (kept,) = pathlib.Path(folder).iterdir()   # and no part of another document
                self.assertEqual(json.loads(kept.read_text())["config"]["threads"], 1)

    def test_a_killed_list_goes_on_and_a_finished_one_is_repeated(self):
        """The second run of the list has far more operations than the test waits for, so that the list is killed within it."""
        with tempfile.TemporaryDirectory() as parent:
            folder = pathlib.Path(parent) / "out"
            points = ["--index=art", "--sync=olc", "--records=20000", "--warmup=0", f"--out={folder}", "--progress=none"]
            endless, short = ["--ops={3000,100000000000}", *points], ["--ops={3000,4000}", *points]

            def kept():
                return {file.name: file.read_text() for file in folder.iterdir() if file.suffix == ".json"}

            def killed(command):
                """Kills the list after its first document, and returns that document's run_id."""
                before = set(kept()) if folder.exists() else set()
                with subprocess.Popen([HARNESS, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                    for _ in range(6000):
                        if folder.exists() and set(kept()) > before:
                            break
                        time.sleep(.01)
                    process.kill()
                (new,) = set(kept()) - before
                return new.removesuffix(".json")

            first = killed(endless)
            # Only the command that was stopped goes on: it takes the first run, and is at the second again.
            line = f"1 of 2 runs is taken from '{folder}', where this command was stopped before its end"
            dry = run(*endless, "--dry-run")
            self.assertEqual(dry.returncode, 0, dry.stderr)
            self.assertEqual(dry.stdout.count("\n"), 1)
            self.assertIn("--ops=100000000000", dry.stdout)
            self.assertEqual(dry.stderr.splitlines()[0], line)
            other = run(*short, "--dry-run")
            self.assertEqual(other.stdout.count("\n"), 2, "another command takes nothing")
            self.assertNotIn("taken", other.stderr)
            with subprocess.Popen([HARNESS, *endless, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as again:
                taken = json.loads(again.stdout.readline())
                try:
                    second = run(*endless)   # at the same time; a claim that a killed process had is void
                finally:
                    again.send_signal(signal.SIGINT)
                out, said = again.communicate(timeout=300)
            self.assertEqual((taken["run_id"], again.returncode, said), (first, 130, line + "\n"))
            refusal = f"--out: another process is running this list into '{folder}'; wait until it ends, or name another folder"
            self.assertEqual((second.returncode, second.stdout, second.stderr), (2, "", f"harness: {refusal}\n"))
            self.assertTrue(json.loads(out)["interrupted"])   # and not taken by the next one
            self.assertIn(line, run(*endless, "--dry-run").stderr)

            for repetition in range(2):
                before = kept()
                done = run(*short)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(len(kept()), len(before) + 2, "a finished list is measured again")
            (lost,) = [name for name, text in kept().items() if name not in before and json.loads(text)["config"]["ops"] == 4000]
            (folder / lost).unlink()
            before = kept()
            done = run(*short)
            self.assertEqual((done.returncode, done.stderr), (0, line + "\n"))
            self.assertEqual(len(re.findall(r"^(?:3,000|4,000) ", done.stdout, re.MULTILINE)), 2, done.stdout)
            after = kept()
            self.assertEqual({name: after[name] for name in before}, before, "nothing is written over")
            (new,) = set(after) - set(before)
            self.assertEqual(json.loads(after[new])["config"]["ops"], 4000)

    def test_a_dry_run_prints_command_lines_that_run(self):
        done = run("--dry-run", "--sync={none,olc}", "--threads=1..2", "--workload=insert", *SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([shlex.split(line)[:4] for line in lines],
                         [[HARNESS, f"--sync={sync}", f"--threads={n}", "--workload=insert"] for sync, n in (("none", 1), ("olc", 1), ("olc", 2))])
        skipped, counted = done.stderr.splitlines()
        self.assertIn("--sync=none --threads=2", skipped)
        self.assertTrue(counted.startswith("3 runs, about "), counted)
        alone = subprocess.run([*shlex.split(lines[2]), "--json"], capture_output=True, text=True, timeout=300, check=True)
        document = self.checked(json.loads(alone.stdout), lines[2])
        self.assertEqual((document["config"]["sync"], document["config"]["threads"]), ("olc", 2))

    def test_progress_counts_runs_and_says_what_is_left(self):
        done = run("--sync={none,olc}", "--index=art", "--progress=plain", *SHORT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^1/2  art none 1 thread  load: ")
        self.assertRegex(done.stderr, r"(?m)^2/2, \S+ \S+ left in all  art olc 1 thread  load: ")

    def test_a_signal_stops_a_command_that_waits_for_input_and_leaves_no_file(self):
        for arguments in (["explain", "-"], ["trace", "convert", "twitter", "-", "never.trace"]):
            with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
                [HARNESS, *arguments], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder) as process:
                if "never.trace" in arguments:
                    self.begun(folder)
                else:
                    self.read(process.stdin)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(60), -signal.SIGTERM, arguments)
                self.assertEqual(os.listdir(folder), [])

    def read(self, pipe):
        """Writes to the pipe and waits until that is read, so that the reader waits for more."""
        pipe.write(b"{")
        pipe.flush()
        for _ in range(6000):
            if struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))) == (0,):
                return
            time.sleep(.01)
        self.fail("nothing is read")

    def begun(self, folder, already=0):
        """Waits until the folder has one more file."""
        for _ in range(6000):
            if len(os.listdir(folder)) > already:
                return
            time.sleep(.01)
        self.fail("nothing is written")

    def test_the_next_writer_removes_the_file_of_a_killed_one_but_not_of_a_living_one(self):
        with tempfile.TemporaryDirectory() as folder:
            convert = [HARNESS, "trace", "convert", "twitter", "/dev/stdin", f"{folder}/a.trace"]
            line = b"1,k,1,1,1,get,0\n"

            def waiting(already):
                process = subprocess.Popen(convert, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
                self.begun(folder, already)
                return process

            def kill(process):
                process.kill()
                process.communicate()

            alive = waiting(0)
            (living,) = os.listdir(folder)
            kill(waiting(1))
            self.assertEqual(len(os.listdir(folder)), 2)
            done = subprocess.run(convert, input=line, capture_output=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(os.listdir(folder)), sorted([living, "a.trace"]))
            # The same in a folder of results.
            kill(waiting(2))
            self.assertEqual(run(f"--out={folder}", *SHORT).returncode, 0)
            names = [name for name in os.listdir(folder) if not name.endswith(".json")]
            self.assertEqual(sorted(names), sorted([living, "a.trace"]))
            alive.communicate(line, timeout=300)
            self.assertEqual(alive.returncode, 0)
            self.assertNotIn(living, os.listdir(folder))

    def test_a_run_is_planned_for_another_machine(self):
        done = run("--topology=pack:2 numa:2 core:7 pu:2", "--threads=7", "--threads-per=cluster", "--mem=interleave")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("socket 1  node 3  cluster 3  threads 21-27 on processors 42,44,46,48,50,52,54\n", done.stdout)
        self.assertIn("memory of the index from nodes 0-3 in turn\n", done.stdout)
        self.assertNotIn("Mops/s", done.stdout)

    def test_lists_doctor_and_help_print_and_succeed(self):
        for arguments in (["list"], ["list", "policies"], ["doctor"], ["help"]):
            done = run(*arguments)
            self.assertEqual(done.returncode, 0, (arguments, done.stderr))
            self.assertGreater(len(done.stdout), 100)


if __name__ == "__main__":
    unittest.main()
