"""Tests of artifacts and their verification, with a fake harness: what is reproduced, what is not and why, and what cannot be tested.

CTest runs it. By hand: python3 experiments/verify_test.py
"""
import json
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from experiment_testing import TREE, fake_in, run_policies

import claims  # noqa: E402
import judge  # noqa: E402

# A fake harness. The speed of a run is in the file `speeds`, by its --sync; the run of block i has one thousandth more. `rtm` is degraded,
# three threads do not fit, `crash` fails, and no pair of `memc3` is built. It notes its runs in the file `runs`, and the sets that it
# compares have a seed for each block. The run whose number is in the file `hold` waits, and says so by the file `waiting`.
FAKE = r"""#!/usr/bin/python3
import json, os, pathlib, statistics, sys, time
folder = pathlib.Path(__file__).parent
first, *rest = sys.argv[1:]
if first == "points":
    if "--index=nosuch" in rest:
        sys.exit("harness: --index: there is no 'nosuch'; there are art") or 2
    for word in ("1", "2") if "--threads={1,2}" in rest else ("1",):
        print(json.dumps({"words": [*rest[:-1], f"--threads={word}"], "pair": "art:olc"}))
    sys.exit()
if first == "missing-pairs":
    print("\n".join("memc3:olc" for word in rest if word == "--index=memc3"))
    sys.exit()
if first == "compare":
    b, a = ([json.loads(line) for line in open(file)] for file in rest[1:])
    assert [d["config"]["seed"] for d in a] == [d["config"]["seed"] for d in b] == list(range(1, len(a) + 1))
    ratios = [x["throughput"]["per_second"] / y["throughput"]["per_second"] for x, y in zip(a, b, strict=True)]
    interval = [min(ratios), max(ratios)] if len(ratios) >= 6 else None
    variant = {"ratio": statistics.median(ratios), "interval": interval, "interval_reason": "too few", "withheld": ""}
    print(json.dumps({"variants": [{}, variant]}))
    sys.exit()
if "--dry-run" in rest:
    print("1 run, about 1 min 02 s: --warmup, --time", file=sys.stderr)
    sys.exit()
if first == "explain":
    print("art: 20 ns\n- A miss costs most.")
    sys.exit()
if first == "doctor":
    print("mind     load               9.51 over the last minute")
    print("missing  transactions       absent: no RTM\n                            -> no command")
    sys.exit()
options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
runs = folder / "runs"
before = len(runs.read_text().splitlines()) if runs.exists() else 0
def held():
    return (folder / "hold").exists() and (folder / "hold").read_text() == str(before)
if held():
    (folder / "waiting").write_text(str(os.getpid()))
while held():
    time.sleep(.01)
sync, block = options["--sync"], int(options["--block"])
with open(runs, "a") as file:
    file.write(f"{sync} {block}\n")
if sync == "crash":
    sys.exit("harness: out of luck")
speeds = json.loads((folder / "speeds").read_text())
status = "degraded" if sync == "rtm" else "skipped" if options.get("--threads") == "3" else "noisy" if sync == "noisy" else "ok"
reason = {"degraded": "no transactions", "skipped": "3 threads would share 2 processors"}.get(status, "")
print(json.dumps({
    "status": status, "reason": reason, "interrupted": False, "config": {"threads": 1, "seed": int(options["--seed"])},
    "throughput": {"per_second": speeds.get(sync, 1000) * (1 + (block if sync != "none" else 0) / 1000)},
    "memory": {"bytes_per_key": 40}, "sync": {"fallback_rate": None, "fallback_rate_reason": "the policy has no fallback"},
    "machine": {"model": "here", "topology": "2 processors", "kernel": "Linux"}, "build": {"commit": "abc", "compiler": "GNU"},
}))
"""


def claim(name, holds, tolerance="5%", **more):
    own = {"a": ["--sync=fast"], "b": ["--sync=none"]} | more
    if " / b" not in holds and " - b" not in holds and "b" not in more:
        del own["b"]
    rest = "".join(f"{key} = {json.dumps(value)}\n" for key, value in own.items())
    return f'[[claim]]\nname = "{name}"\nsays = "It is so."\nholds = "{holds}"\ntolerance = "{tolerance}"\n{rest}\n'


class Verifying(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.harness = fake_in(self.folder, FAKE)
        self.file = self.folder / "mine.toml"
        self.out = self.folder / "out"
        (self.folder / "speeds").write_text(json.dumps({"none": 1000, "fast": 2000, "near": 1500, "noisy": 900}))

    def command(self, *more, source=None):
        script = str(TREE / "experiments/verify.py")
        return ["/usr/bin/python3", "-B", script, str(self.harness), str(source or self.file), f"--out={self.out}", *more]

    def verify(self, *texts, more=(), source=None):
        if texts:
            self.file.write_text("".join(texts))
        return subprocess.run(self.command(*more, source=source), capture_output=True, text=True, check=False, timeout=120)

    def summary(self):
        return json.loads((self.out / "summary.json").read_text())

    def outcomes(self):
        return {each["name"]: each["outcome"] for each in self.summary()["claims"]}

    def runs(self):
        return (self.folder / "runs").read_text().splitlines()

    def test_each_outcome(self):
        done = self.verify(
            claim("holds", "a / b >= 1.9"),
            claim("planted", "a / b >= 3", a=["--sync=noisy"]),
            claim("most", "a / b <= 1.9"),
            claim("bytes", "bytes_per_key of a <= 40", "0%"),
            claim("slower", "ns_per_operation of a - b <= 0"),
            claim("no-rtm", "a / b >= 1", a=["--sync=rtm"]),
            claim("too-small", "a / b >= 1", a=["--sync=fast", "--threads=3"]),
            claim("not-built", "a / b >= 1", a=["--sync=fast", "--index=memc3"]),
            claim("no-number", "fallback_rate of a <= 1"),
            claim("crashes", "a / b >= 1", a=["--sync=crash"]),
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(self.outcomes(), {
            "holds": "reproduced", "planted": "not reproduced", "most": "not reproduced", "bytes": "reproduced", "slower": "reproduced",
            "no-rtm": "not testable here", "too-small": "not testable here", "not-built": "not testable here",
            "no-number": "not testable here", "crashes": "not reproduced",
        })
        of = {each["name"]: each for each in self.summary()["claims"]}
        self.assertEqual([of[name]["reason"] for name in ("no-rtm", "too-small", "not-built", "no-number")], [
            "no transactions", "3 threads would share 2 processors", "this build has no memc3:olc", "the policy has no fallback",
        ])
        self.assertEqual((of["planted"]["blocks"], of["planted"]["disturbed"]), (10, 10))
        self.assertEqual(of["planted"]["reason"], "the interval is beyond 2.85, the bound with its tolerance")
        self.assertEqual(of["planted"]["causes"], [
            "other programs disturbed 10 of 20 runs", "A miss costs most.", "load: 9.51 over the last minute",
        ])
        self.assertEqual(of["planted"]["explained"], ["art: 20 ns"])
        self.assertIn("--sync=crash: harness: out of luck", of["crashes"]["reason"])
        self.assertEqual(self.summary()["missing"], ["transactions: absent: no RTM"])
        acm = self.summary()["acm"]
        self.assertEqual([acm[word]["met"] for word in ("available", "functional", "reproduced")], [False, False, False])
        self.assertEqual(done.stdout, (self.out / "summary.md").read_text())
        self.assertIn("| planted | a / b >= 3, tolerance 5% | 0.9041 | 0.9 .. 0.9081 | 10 | **not reproduced** |", done.stdout)

    def test_runs_are_interleaved_shared_by_claims_and_not_made_in_vain(self):
        done = self.verify(claim("one", "a / b >= 1"), claim("two", "a / b <= 3"), claim("no-rtm", "a / b >= 1", a=["--sync=rtm"]))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        runs = self.runs()
        self.assertEqual(len(set(runs)), len(runs))
        self.assertEqual(sorted(run.split()[0] for run in runs), ["fast"] * 10 + ["none"] * 10 + ["rtm"])
        blocks = [int(run.split()[1]) for run in runs]
        self.assertEqual(blocks, sorted(blocks))

    def test_more_blocks_run_where_the_interval_includes_the_bound(self):
        # The ratio is 1.5 in block 0 and grows.
        done = self.verify(claim("near", "a / b >= 1.505", "0%", a=["--sync=near"]), claim("far", "a / b >= 1.4"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.outcomes(), {"near": "not decided", "far": "reproduced"})
        self.assertEqual([self.runs().count(f"{sync} 39") for sync in ("near", "fast")], [1, 0])
        self.assertIn("the interval includes 1.505, the bound with its tolerance", done.stdout)

    def test_quick_measures_a_subset_and_says_what_it_leaves_undecided(self):
        done = self.verify(claim("short", "a / b >= 1.9", quick=True), claim("long", "a / b >= 1", a=["--sync=near"]), more=["--quick"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.outcomes(), {"short": "reproduced", "long": "not decided"})
        self.assertIn("This was --quick, which leaves undecided: long.", done.stdout)
        self.assertEqual(len(self.runs()), 12)

    def test_a_claim_is_chosen_by_name_and_a_dry_run_prints_its_runs(self):
        done = self.verify(claim("one", "a / b >= 1"), claim("two", "a / b >= 1", a=["--sync=near"]), more=["--claim=t*", "--dry-run"])
        self.assertEqual(done.stdout, f"{self.harness} --fit --sync=near\n{self.harness} --fit --sync=none\n")
        said = "claims: 1, different runs: 2, 10 blocks: about 20.7 min; where those do not decide, up to 40 blocks: about 82.7 min\n"
        self.assertEqual(done.stderr, said)
        self.assertFalse(self.out.exists())
        self.assertEqual(self.verify(more=["--claim=two"]).returncode, 0)
        self.assertEqual(self.outcomes(), {"two": "reproduced"})

    def waiting(self):
        """Waits until a run waits; then the runs before it have ended. Returns its process."""
        while not (text := (self.folder / "waiting").read_text() if (self.folder / "waiting").exists() else ""):
            time.sleep(.01)
        (self.folder / "waiting").unlink()
        return int(text)

    def hold(self, number):
        (self.folder / "held").write_text(str(number))
        (self.folder / "held").rename(self.folder / "hold")

    def let_go(self, process):
        """Lets runs go on after this one, which the kernel ends."""
        stat = pathlib.Path(f"/proc/{process}/stat")
        while stat.exists() and stat.read_text().rpartition(") ")[2][0] != "Z":
            time.sleep(.01)
        (self.folder / "hold").unlink()

    def test_what_was_killed_goes_on_and_no_run_is_made_twice(self):
        # The second claim shares no run with the first, so its task is there before the first claim is looked at again.
        self.file.write_text(claim("one", "a / b >= 1") + claim("two", "a / b >= 1", a=["--sync=near"], b=["--sync=noisy"]))
        for at in (4, 24):   # the first runs of a block
            self.hold(at)
            with subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                self.waiting()
                process.send_signal(signal.SIGSTOP)   # so that it does not see the end of this run
                self.hold(at + 1)
                run = self.waiting()
                process.kill()
            self.let_go(run)
        self.hold(28)
        with subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            run = self.waiting()
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
        self.let_go(run)
        self.assertEqual(process.returncode, 130)
        self.assertIn("verify: interrupted; the same command goes on", said)
        self.verify()
        runs = self.runs()
        self.assertEqual(len(set(runs)), len(runs))
        self.assertEqual(set(self.outcomes()), {"one", "two"})

    def test_wrong_input_is_one_line_and_exit_status_2(self):
        good = claim("good", "a / b >= 1")
        bare = self.folder / "bare"
        bare.mkdir()
        for text, more, said in (
            ("", [], "has no [[claim]]"),
            ("[[claim", [], "mine.toml: "),
            (good + good, [], "two claims have the name 'good'"),
            (claim("two words", "a / b >= 1"), [], "the name 'two words' is not one word"),
            (claim("x", "a > b"), [], "mine.toml: x: holds: 'a > b' is no comparison"),
            (claim("x", "speed of a >= 1"), [], "x: holds: speeds of two machines differ, so a claim needs a ratio: a / b"),
            (claim("x", "luck of a >= 1"), [], "x: holds: there is no number 'luck'; there are bytes_per_key,"),
            (claim("x", "a / b >= 1", "five"), [], "x: tolerance is a share of the bound"),
            (claim("x", "bytes_per_key of a <= 1", b=["--sync=none"]), [], "needs the options of a, and no others"),
            (claim("x", "a / b >= 1", a=["--seed=3"]), [], "x: a: --seed has no meaning in a claim"),
            (claim("x", "a / b >= 1", a=["--history=/tmp/h,keys=1/64"]), [], "x: a: --history has no meaning in a claim"),
            (claim("x", "a / b >= 1", a=["--topology=pack:2"]), [], "x: a: --topology has no meaning in a claim"),
            (claim("x", "a / b >= 1", a=["olc"]), [], "x: a: 'olc' is not an option of the harness"),
            (claim("x", "a / b >= 1", a=["--sync=none"]), [], "x: a and b are the same command"),
            (claim("x", "a / b >= 1", a=["--index=nosuch"]), [], "x: a: --index: there is no 'nosuch'"),
            (claim("x", "a / b >= 1", a=["--threads={1,2}"]), [], "is several runs; a claim names one"),
            (claim("x", "a / b >= 1", luck=7), [], "x: there is no key 'luck' here; experiments/claims.py lists the keys"),
            (good, ["--claim=bad"], "--claim: there is no claim 'bad'; there are good"),
            (good, ["--quick"], "is quick; run all of them without it"),
            (good, ["--quick", "--replicates=9"], "--quick makes 6 blocks; give it without --replicates"),
            (good, ["--replicates=5"], "--replicates: '5' is not a whole number from 6 to 1000"),
            (good, ["--fast"], "there is no '--fast' here; ./bench verify DIR"),
            (good, ["--out=/proc/nowhere"], "--out: /proc/nowhere: No such file or directory"),
            (good, [f"--out={self.file}"], "is no folder"),
            (good, [f"--out={self.file}/x"], "mine.toml is no folder"),
        ):
            with self.subTest(text=text, more=more):
                done = self.verify(text, more=more)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)
        none = self.folder / "none.toml"
        for source, said in ((bare, "is no artifact: it has no claims.toml"), (none, "No such file"), ("--quick", "missing")):
            done = self.verify(source=source)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        (self.out).mkdir(exist_ok=True)
        (self.out / "thesis.tex").touch()
        self.assertIn("thesis.tex is no file of a verification; move it away", self.verify(good).stderr)
        (self.out / "thesis.tex").rename(self.folder / "thesis.tex")
        (self.out / "results.jsonl").symlink_to(self.folder / "thesis.tex")   # as a stranger's artifact may have it
        self.assertIn("results.jsonl is no file of a verification; move it away", self.verify().stderr)
        (bare / "claims.toml").write_text(good)
        (bare / "verified").symlink_to(self.folder)
        command = [word for word in self.command(source=bare) if not word.startswith("--out=")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (2, f"verify: {bare}/verified is a symbolic link; name a folder by --out\n"))
        self.assertFalse((self.folder / "runs").exists())


class Packing(unittest.TestCase):
    """A copy of the scripts stands for the tree, so that results and claims of the test do not mix with those of the user."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.tree = self.folder / "tree"
        leave = shutil.ignore_patterns("results", "__pycache__", "*_test.py")
        shutil.copytree(TREE / "experiments", self.tree / "experiments", ignore=leave)
        (self.tree / "harness/result").mkdir(parents=True)
        shutil.copy(TREE / "harness/result/result.schema.json", self.tree / "harness/result")
        for file in ("LICENSE", "CITATION.cff"):
            shutil.copy(TREE / file, self.tree)
        fake_in(self.folder)
        self.results = self.tree / "experiments/results/policies-quick"
        self.artifact = self.folder / "artifact"

    def measure(self):
        done = run_policies(self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.results.parent.mkdir(exist_ok=True)
        shutil.copytree(self.folder / "out", self.results, dirs_exist_ok=True)

    def change(self, change):
        """Applies a function to each record of the results."""
        file = self.results / "results.jsonl"
        records = [change(json.loads(line)) for line in file.read_text().splitlines()]
        file.write_text("".join(json.dumps(record) + "\n" for record in records if record))

    def pack(self, *arguments):
        command = ["/usr/bin/python3", "-B", str(self.tree / "experiments/artifact.py"), *(arguments or ("policies", "--quick"))]
        if not any(argument.startswith("--out") for argument in arguments):
            command.append(f"--out={self.artifact}")
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def refused(self, said, *arguments):
        done = self.pack(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn(said, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_an_artifact_has_everything_and_lists_it(self):
        self.measure()
        done = self.pack()
        self.assertEqual(done.returncode, 0, done.stderr)
        there = {str(path.relative_to(self.artifact)) for path in self.artifact.rglob("*") if path.is_file()}
        self.assertLessEqual({"README.md", "claims.toml", "experiments/policies.toml", "results/policies/results.jsonl", "commands.txt",
                              "environment.json", "LICENSE", "CITATION.cff", "artifact.json"}, there)
        kept = json.loads((self.artifact / "artifact.json").read_text())
        self.assertEqual(set(kept["files"]), there - {"artifact.json"})
        self.assertEqual((kept["schema"], kept["licence"], kept["experiments"][0]["name"]), (1, "Apache-2.0", "policies"))
        self.assertEqual(claims.load(self.artifact / "claims.toml"), claims.load(TREE / "experiments/claims/policies.toml"))
        self.assertEqual(self.pack().returncode, 0)   # an artifact takes the place of one
        (self.artifact / "verified").mkdir()
        (self.artifact / "verified/summary.md").touch()
        self.assertEqual(self.pack().returncode, 0)
        self.assertTrue((self.artifact / "verified/summary.md").exists())

    def test_wrong_input_is_one_line_and_leaves_what_is_there(self):
        self.refused("the name of an experiment is missing", "--quick")
        self.refused("there is no experiment 'nosuch'", "nosuch")
        self.refused("name each experiment once", "policies", "policies")
        self.refused("there is no '--fast' here", "policies", "--fast")
        self.refused("limits: has no claims; write experiments/claims/limits.toml", "limits")
        self.refused("policies: there is no result in", "policies", "--quick")
        self.measure()
        self.artifact.mkdir()
        (self.artifact / "thesis.tex").touch()
        self.refused("thesis.tex is no file of an artifact; move it away")
        (self.artifact / "thesis.tex").unlink()
        self.refused("--out: /proc/nowhere: No such file or directory", "policies", "--quick", "--out=/proc/nowhere")
        self.change(lambda record: record | {"document": record["document"] | {"schema_version": 1}})
        self.refused("has documents of schema 1; this tree writes ")
        self.change(lambda record: record | {"document": record["document"] | {"schema_version": None}})
        self.measure()
        self.change(lambda record: record | ({"binary": "another"} if record["replicate"] == 0 else {}))
        self.refused("runs are not in")
        self.refused("but results of 1 other build", "policies", "--quick")
        self.assertEqual(list(self.artifact.iterdir()), [])

    def test_an_artifact_of_a_stranger_changes_nothing_outside_its_folder(self):
        self.measure()
        victim = self.folder / "victim"
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        victim.write_text("mine")
        for names, link, said in (
            (["../victim"], None, "lists '../victim', which is no file in its folder"),
            ([str(victim)], None, f"lists '{victim}', which is no file in its folder"),
            (["."], None, "lists '.', which is no file in its folder"),
            (["results/victim"], self.folder, "lists 'results/victim', which is no file in its folder"),
            ([], elsewhere, "results is no file of an artifact; move it away"),
            (["loop"], "loop", "is not what ./bench artifact writes"),
            (["nul\0"], None, "is not what ./bench artifact writes"),
        ):
            with self.subTest(names=names, link=link):
                self.artifact.mkdir()
                (self.artifact / "claims.toml").write_text(claim("x", "a / b >= 1"))
                files = dict.fromkeys([*names, "claims.toml"], "0")
                (self.artifact / "artifact.json").write_text(json.dumps({"schema": 1, "files": files}))
                if link:
                    (self.artifact / ("loop" if link == "loop" else "results")).symlink_to(link)
                self.refused(said)
                self.assertEqual(victim.read_text(), "mine")
                self.assertEqual(list(elsewhere.iterdir()), [])
                self.assertTrue((self.artifact / "claims.toml").exists())
                shutil.rmtree(self.artifact)

    def test_a_changed_file_and_another_machine_are_said(self):
        self.measure()
        self.assertEqual(self.pack().returncode, 0)
        harness = fake_in(self.folder, FAKE)
        (self.folder / "speeds").write_text("{}")
        there = {"machine": {"model": "there", "topology": "56 processors"}, "build": {}}
        (self.artifact / "environment.json").write_text(json.dumps([there]))
        out = self.folder / "verified"
        command = ["/usr/bin/python3", "-B", str(TREE / "experiments/verify.py"), str(harness), str(self.artifact), f"--out={out}"]
        done = subprocess.run([*command, "--claim=none-scales"], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("- measured there on there, 56 processors; here on here, 2 processors, Linux", done.stdout)
        self.assertIn("- **available**: no: missing or changed since it was packed: environment.json", done.stdout)
        (self.artifact / "artifact.json").write_text('{"schema": 2, "files": {}}')
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("artifact.json: schema 2; this program knows 1", done.stderr)


class Claims(unittest.TestCase):
    def test_the_claims_of_the_tree_can_be_read(self):
        files = [*(TREE / "experiments/claims").glob("*.toml"), *(TREE / "experiments/claims").glob("*/claims.toml")]
        self.assertTrue(files)
        for file in files:
            with self.subTest(file=file):
                self.assertGreater(len(claims.load(file)), 0)

    def test_each_spreads_a_claim(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "claims.toml"
            file.write_text(claim("x-{threads}", "a / b >= 1", run=["--threads={threads}"]) + "each = { threads = [1, 2] }\n")
            one, two = claims.load(file)
        self.assertEqual((one.name, two.name), ("x-1", "x-2"))
        self.assertEqual(two.runs["a"], ("--fit", "--sync=fast", "--threads=2"))
        self.assertEqual(len(claims.groups([one, two])), 2)

    def test_the_interval_of_a_median_needs_six_numbers(self):
        self.assertIsNone(judge.interval_of([1, 2, 3, 4, 5]))
        self.assertEqual(judge.interval_of([6, 2, 3, 4, 5, 1]), (1, 6))
        self.assertEqual(judge.interval_of(range(1, 11)), (2, 9))     # 22 of 1024 lie outside
        self.assertEqual(judge.interval_of(range(1, 41)), (14, 27))


if __name__ == "__main__":
    unittest.main()
