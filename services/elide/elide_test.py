"""./bench elide: a program with mutexes of all kinds, with and without the preloaded library, whose aborts are emulated.

The library and the programs are in the folder LATCHLAB_ELIDE_BUILD. CTest runs the test. By hand:

    LATCHLAB_ELIDE_BUILD=build/release python3 services/elide/elide_test.py
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("LATCHLAB_ELIDE_BUILD") or TREE / "build/release").absolute()
LIBRARY, PROBE = BUILD / "liblatchlab_elide.so", BUILD / "latchlab_elide_probe"
PROGRAM, MODULE = BUILD / "locks_program", BUILD / "liblocks_module.so"
STATUS = 6   # of PROGRAM

# The acquisitions of PROGRAM by lock: of its mutexes that may be elided, and of others.
ELIDABLE = {"normal_lock": 4000, "tried_lock": 101, "timed_lock": 51, "free_lock": 3, "outer_lock": 40, "inner_lock": 40, "queue_lock": 501,
            "churn_lock": 720, "fork_lock": 2, "module_lock": 9}
PASSED = {"explicit_lock": 5, "inherit_lock": 5, "shared_lock": 5, "recursive_lock": 150, "errorcheck_lock": 1, "robust_lock": 2}
REFUSED = {"tried_lock": 10, "timed_lock": 2, "errorcheck_lock": 1}


class Elide(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def elide(self, *words, probe=PROBE, environment=None):
        return subprocess.run([sys.executable, "-B", TREE / "experiments/elide.py", LIBRARY, probe, *words], cwd=self.folder, capture_output=True,
                              text=True, check=False, timeout=300, env=os.environ | (environment or {}))

    def emulate(self, *words, rate="", status=0):
        """Runs a program and returns its document, and the process of the command."""
        out = self.folder / "out.json"
        done = self.elide(f"--emulate-aborts{rate}", f"--out={out}", *words)
        self.assertEqual(done.returncode, status, done.stderr)
        for line in done.stderr.splitlines():
            self.assertTrue(line.startswith("emulated aborts: "), line)
        document = json.loads(out.read_text())
        self.assertEqual(document["mode"], "emulated aborts")
        for process in document["processes"]:
            self.assertEqual(process["mode"], "emulated aborts")
            self.check_sums(process)
        return document, done

    def check_sums(self, process):
        for lock in process["locks"]:
            self.assertEqual(lock["acquisitions"], sum(lock[name] for name in ("commits", "inside", "fallbacks", "direct", "passed")), lock)
            self.assertEqual(lock["begins"], lock["commits"] + sum(lock["aborts"].values()), lock)
            self.assertEqual(lock["inside"], 0, lock)
            # A cause of our own needs a transaction.
            self.assertEqual([lock["aborts"][cause] for cause in ("wait", "trylock", "unlock")], [0, 0, 0], lock)

    def found(self, program):
        path = shutil.which(program)
        if path is None and not os.environ.get("LATCHLAB_SKIP_NOTHING"):
            self.skipTest(f"{program} is not installed")
        self.assertIsNotNone(path, f"{program} is not installed")
        return path

    def locks_of(self, process):
        return {lock["symbol"]: lock for lock in process["locks"] if lock["symbol"]}


class KindsOfLocks(Elide):
    def test_counts_are_exact_and_results_the_same(self):
        plain = subprocess.run([PROGRAM, MODULE], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(plain.returncode, STATUS)
        for rate in ("", "=0", "=.5"):
            with self.subTest(rate=rate):
                document, done = self.emulate(PROGRAM, MODULE, rate=rate, status=STATUS)
                self.assertEqual(done.stdout, plain.stdout)
                self.assertEqual(len(document["processes"]), 2)
                self.check_locks(document["processes"][0], rate)
                child = self.locks_of(document["processes"][1])
                self.assertEqual({name: lock["acquisitions"] for name, lock in child.items()}, {"fork_lock": 7})
                self.assertEqual(len(document["without_numbers"]), 1)
                self.assertIn("no numbers of 1 process", done.stderr)

    def check_locks(self, process, rate):
        locks = self.locks_of(process)
        self.assertEqual({name: lock["acquisitions"] for name, lock in locks.items()}, ELIDABLE | PASSED)
        self.assertEqual({name: lock["refused"] for name, lock in locks.items() if lock["refused"]}, REFUSED)
        self.assertEqual({name: lock["passed"] for name, lock in locks.items() if lock["passed"]}, PASSED)
        for name in PASSED:
            self.assertEqual(locks[name]["begins"], 0, name)
            self.assertNotEqual(locks[name]["kind"], 0, name)
        self.assertEqual([name for name, lock in locks.items() if lock["waits"]], ["queue_lock"])
        heap = [lock for lock in process["locks"] if lock["object"] is None]
        self.assertGreaterEqual(sum(lock["acquisitions"] == 3 for lock in heap), 1000)
        self.assertTrue(locks["module_lock"]["object"].endswith(MODULE.name))
        total = {name: sum(lock[name] for lock in process["locks"]) for name in ("begins", "commits", "fallbacks")}
        causes = {cause: sum(lock["aborts"][cause] for lock in process["locks"]) for cause in locks["free_lock"]["aborts"]}
        if rate == "=0":
            self.assertEqual((total["begins"], sum(causes.values())), (total["commits"], 0))
        else:
            self.assertGreater(total["fallbacks"], 0)
            for cause in ("conflict", "capacity", "held", "nested", "other"):
                self.assertGreater(causes[cause], 0, cause)
        if not rate:
            self.assertEqual(total["commits"], 0)

    def test_the_seed_decides_the_causes(self):
        def aborts(*seed):
            document, _ = self.emulate(*seed, PROGRAM, MODULE, "one thread", status=STATUS)
            return {name: lock["aborts"] for name, lock in self.locks_of(document["processes"][0]).items()}

        self.assertEqual(aborts(), aborts("--seed=1"))
        self.assertNotEqual(aborts(), aborts("--seed=2"))

    def test_the_table_has_the_worst_locks(self):
        document, done = self.emulate(PROGRAM, MODULE, status=STATUS)
        lines = done.stderr.splitlines()
        self.assertRegex(lines[0], r"^emulated aborts: process \d+, .*/locks_program: 1,\d{3} locks, locked 8,\d{3}, elided 0, inside 0, ")
        self.assertEqual(lines[1], "emulated aborts: the 10 worst:")
        process = document["processes"][0]
        locks = {lock["address"]: lock for lock in process["locks"]}
        aborts = [sum(locks[address]["aborts"].values()) for address in process["worst"]]
        self.assertEqual((len(aborts), aborts), (10, sorted((sum(lock["aborts"].values()) for lock in process["locks"]), reverse=True)[:10]))
        self.assertRegex(lines[3], f" {locks[process['worst'][0]]['symbol']} in locks_program")
        self.assertIn("queue_lock in locks_program (not elided after a condition wait)", done.stderr)

    def test_the_library_needs_the_c_library_alone(self):
        told = subprocess.run(["objdump", "-p", LIBRARY], capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertEqual([name for name in re.findall(r"NEEDED +(\S+)", told) if not name.startswith(("libc.", "ld-linux"))], [])

    def test_without_the_command_the_library_does_nothing(self):
        done = subprocess.run([PROGRAM, MODULE], capture_output=True, text=True, check=False, timeout=300, cwd=self.folder,
                              env=os.environ | {"LD_PRELOAD": str(LIBRARY)})
        self.assertEqual((done.returncode, done.stderr), (STATUS, ""))
        self.assertEqual(list(self.folder.iterdir()), [])


class Programs(Elide):
    def test_the_status_and_the_words_are_the_programs(self):
        document, done = self.emulate("sh", "-c", 'echo "$LD_BIND_NOW $*"; exit 9', "x", "--help", "--out=none", status=9)
        self.assertEqual(done.stdout, "1 --help --out=none\n")
        self.assertEqual((document["exit_status"], document["program"][-2:]), (9, ["--help", "--out=none"]))
        self.assertEqual(self.elide("--emulate-aborts", "sh", "-c", "kill -USR1 $$").returncode, 128 + signal.SIGUSR1)

    def test_a_process_that_is_killed_has_no_numbers(self):
        _, done = self.emulate("sh", "-c", "kill -KILL $$", status=137)
        self.assertRegex(done.stderr, r"no numbers of 1 process \(\d+\): ended by _exit, exec or a signal")

    def test_a_program_that_does_not_load_the_library_is_named(self):
        _, done = self.emulate("env", "-i", "/bin/true")
        self.assertNotIn("has not loaded", done.stderr)   # env itself has
        self.assertRegex(done.stderr, "no numbers of 1 process")
        static = self.found("busybox")
        _, done = self.emulate(static, "true")
        self.assertEqual(done.stderr, f"emulated aborts: {static} has not loaded the library: it is static or set-uid, or has cleared its environment\n")

    def test_an_interruption_is_the_programs_to_answer(self):
        with subprocess.Popen([sys.executable, "-B", TREE / "experiments/elide.py", LIBRARY, PROBE, "--emulate-aborts", "sh", "-c",
                               "trap 'exit 7' TERM; echo ready; sleep 60 >/dev/null 2>&1 & wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=50)
        self.assertEqual(process.returncode, 7)

    def test_a_packaged_program_does_its_work(self):
        pbzip2 = self.found("pbzip2")
        data = b"".join(b"%d squared is %d\n" % (i, i * i) for i in range(100_000))
        (self.folder / "data").write_bytes(data)
        document, _ = self.emulate(pbzip2, "-k", "-p2", "-b1", self.folder / "data")
        self.assertGreater(sum(lock["acquisitions"] for lock in document["processes"][0]["locks"]), 10)
        (self.folder / "data").unlink()
        self.emulate(pbzip2, "-d", "-p2", self.folder / "data.bz2")
        self.assertEqual((self.folder / "data").read_bytes(), data)


class Command(Elide):
    def refused(self, *words, **options):
        done = self.elide(*words, **options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def test_a_processor_that_does_not_elide_is_refused(self):
        probe = self.folder / "probe"
        probe.write_text("#!/bin/sh\necho 'hardware transactions: absent (a test)'\nexit 1\n")
        probe.chmod(0o755)
        told = self.refused("/bin/echo", "x", probe=probe)
        self.assertEqual(told, "elide: this machine does not elide: hardware transactions: absent (a test); "
                               "for tests --emulate-aborts runs the program with aborts instead\n")

    def test_on_this_processor_the_program_runs_or_is_refused(self):
        probed = subprocess.run([PROBE], capture_output=True, text=True, check=False, timeout=300)
        if probed.returncode == 0:
            done = self.elide(PROGRAM, MODULE)
            self.assertEqual(done.returncode, STATUS, done.stderr)
            self.assertTrue(all(line.startswith("elide: ") for line in done.stderr.splitlines()), done.stderr)
        else:
            self.assertIn(probed.stdout.strip(), self.refused(PROGRAM, MODULE))

    def test_wrong_words_are_refused(self):
        for words, told in (((), "name a program"), (("--emulate-aborts",), "name a program"), (("no-such-program",), "there is no program 'no-such-program'"),
                            (("--emulate-aborts=2", "true"), "--emulate-aborts=2: the share of begins that fail is a number from 0 to 1"),
                            (("--emulate-aborts=x", "true"), "--emulate-aborts=x"), (("--emulate-aborts=", "true"), "'--emulate-aborts=' has no meaning"),
                            (("--seed=1", "true"), "--seed is of --emulate-aborts"), (("--emulate-aborts", "--seed=-1", "true"), "--seed=-1"),
                            (("--out", "true"), "'--out' has no meaning"), (("--what", "true"), "'--what' has no meaning"),
                            (("--out=a", "--out=b", "true"), "--out is given twice")):
            with self.subTest(words=words):
                self.assertIn(told, self.refused(*words))

    def test_help(self):
        done = self.elide("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("./bench elide [--emulate-aborts[=RATE]]", done.stdout)

    def test_words_are_checked_without_a_library(self):
        done = subprocess.run([sys.executable, "-B", TREE / "experiments/elide.py", "", "", "true"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
