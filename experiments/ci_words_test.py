"""Tests of `./bench ci` with programs that only print documents: verdicts, exit statuses, the table, wrong commits and trees.

Each commit of a scratch repository holds the answers of its own harness. All else is real: git, work trees, cmake,
`harness compare`. ci_test.py runs real programs. Run by CTest, which says where the harness is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 experiments/ci_words_test.py
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]
HARNESS = os.path.abspath(os.environ.get("LATCHLAB_HARNESS") or TREE / "build/release/harness")
sys.dont_write_bytecode = True
sys.path.insert(0, str(TREE / "experiments"))

import ci  # noqa: E402

PRESETS = {
    "version": 6,
    "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"}],
}
# The built binary is the commit's own script, with the pairs of its build.
CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(fake LANGUAGES NONE)
file(WRITE "${PROJECT_BINARY_DIR}/pairs" "${LATCHLAB_PAIRS}")
set(binary "${PROJECT_BINARY_DIR}/harness")
add_custom_target(harness COMMAND "${CMAKE_COMMAND}" -E copy "${PROJECT_SOURCE_DIR}/program" "${binary}")
"""
BUILDS = {"broken": CMAKE.replace("/program", "/no-such-program"), "elsewhere": CMAKE.replace('/harness")', '/other")')}
# Prints a million operations a second, give or take 2 per mille. For art, `answers` in its work tree changes that.
PROGRAM = r"""#!/bin/sh
for argument; do
  case $argument in
    --index=*) index=${argument#*=} ;;
    --block=*) block=${argument#*=} ;;
    --order=*) order=${argument#*=} ;;
  esac
done
rate=1000 scatter=2 status=ok says= schema=7 calls_it=$index flags=-O2 exits=0
[ "$index" != art ] || . "${0%/build/release/harness}/answers"
if [ $exits != 0 ]; then
  echo "harness: $says" >&2
  exit $exits
fi
off=$(((block * 15838 + order * 104729 + 7919) % 2001 - 1000))
cat <<END
{"schema_version": $schema, "started": "$(date -u +%Y-%m-%dT%H:%M:%S.%NZ)",
 "block": $block, "order": $order, "replicate": $block,
 "status": "$status", "reason": "$says", "interrupted": false,
 "config": {"index": "$calls_it", "rate": null, "slo": null},
 "machine": {"model": "Latch 9000", "topology": "1 core", "kernel": "6.1"}, "build": {"flags": "$flags"},
 "throughput": {"per_second": $((rate * 1000 + rate * scatter * off / 1000)), "operations": 1000},
 "sync": {"aborts": null}}
END
"""
TWO_ROWS = ["--index={art,cuckoo}", "--workload=lookup", "--threads=1"]


class Scratch(unittest.TestCase):
    """A scratch repository with a commit for each of COMMITS."""

    COMMITS = {
        "base": "",
        "equal": "",
        "slower": "rate=900",
        "less": "rate=980",
        "faster": "rate=1100",
        "noisy": "scatter=500",
        "invalid": "status=invalid says='3 keys are lost'",
        "killed": "exits=1 says='memory is out'",
        "refuses": "exits=2 says='there is no option --records'",
        "newer": "schema=99",
        "renames": "calls_it=radix flags=-O3",
        "sleeps": "exec sleep 600",
        "broken": "",
        "elsewhere": "",
    }

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.tree = pathlib.Path(cls.scratch.name).resolve() / "tree"
        (cls.tree / "experiments").mkdir(parents=True)
        for name in ("ci.py", "child.py", "input_error.py"):
            shutil.copy(TREE / "experiments" / name, cls.tree / "experiments")
        (cls.tree / "CMakePresets.json").write_text(json.dumps(PRESETS))
        (cls.tree / "program").write_text(PROGRAM)
        (cls.tree / "program").chmod(0o755)
        (cls.tree / ".gitignore").write_text("build/\n__pycache__/\n")
        cls.git("init", "-q", "-b", "trunk")
        for name, answers in cls.COMMITS.items():
            (cls.tree / "CMakeLists.txt").write_text(BUILDS.get(name, CMAKE))
            (cls.tree / "answers").write_text(answers + "\n")
            cls.git("add", "-A")
            cls.git("commit", "-q", "--allow-empty", "-m", f"scratch: {name} | all the rest")
            cls.git("tag", name)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def git(cls, *arguments):
        own = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        for role in ("AUTHOR", "COMMITTER"):
            own |= {f"GIT_{role}_NAME": "nobody", f"GIT_{role}_EMAIL": "nobody@example.org"}
        done = subprocess.run(
            ["git", "-C", str(cls.tree), *arguments], env=os.environ | own, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def command(self, *arguments):
        return [sys.executable, "-B", str(self.tree / "experiments/ci.py"), HARNESS, *arguments]

    def ci(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300, check=False)

    def folder_of(self, name):
        return self.tree / "build/ci" / self.git("rev-parse", name)[:12]

    def lines(self, done):
        """Returns the cells of each row of the table, by the first."""
        cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| index=")]
        return {line[0]: line[1:] for line in cells}

    def test_words_and_statuses(self):
        for head, word, status in (
            ("equal", "no difference seen", 0),
            ("slower", "**slower**", 1),
            ("less", "no difference seen", 0),
            ("faster", "**faster**", 0),
            ("noisy", "cannot be decided here", 0),
            ("invalid", "**withheld**", 1),
            ("killed", "**withheld**", 1),
        ):
            with self.subTest(head):
                done = self.ci("base", head, "--replicates=20", *TWO_ROWS)
                lines = self.lines(done)
                self.assertEqual(lines["index=art"][-1], word, done.stdout + done.stderr)
                self.assertEqual(lines["index=cuckoo"][-1], "no difference seen", done.stdout)
                self.assertEqual(done.returncode, status)
                self.assertIn(f"of 2 rows {self.heading(word)}\n", done.stdout)

    def heading(self, word):
        if word == "no difference seen":
            return "2 no difference seen"
        return f"1 {word.strip('*')}, 1 no difference seen"

    def test_a_missing_verdict_has_a_reason(self):
        self.assertIn("- index=art: withheld: a run of head ", self.ci("base", "invalid", *TWO_ROWS).stdout)
        self.assertRegex(
            self.ci("base", "invalid", *TWO_ROWS).stdout, "head [0-9a-f]{12} is invalid: 3 keys are lost\n"
        )
        self.assertRegex(
            self.ci("base", "killed", *TWO_ROWS).stdout, "head [0-9a-f]{12} failed: harness: memory is out\n"
        )

    def test_the_effect_is_the_requested_one(self):
        self.assertEqual(self.ci("base", "less", "--effect=1%", *TWO_ROWS).returncode, 1)
        self.assertEqual(self.ci("base", "slower", "--effect=15%", *TWO_ROWS).returncode, 0)

    def test_strict_fails_if_a_row_cannot_be_decided(self):
        for head, status in (("noisy", 1), ("equal", 0)):
            self.assertEqual(self.ci("base", head, "--strict", "--replicates=20", *TWO_ROWS).returncode, status)

    def test_a_row_runs_as_many_blocks_as_it_needs(self):
        lines = self.lines(self.ci("base", "noisy", "--replicates=24", *TWO_ROWS))
        self.assertEqual(lines["index=art"][-2], "24")
        self.assertEqual(lines["index=cuckoo"][-2], "10")

    def test_the_table(self):
        path = self.tree.parent / "table.md"
        path.write_text("an older one\n")
        done = self.ci("base", "slower", f"--markdown={path}", *TWO_ROWS)
        self.assertEqual(done.stdout, f"of 2 rows 1 slower, 1 no difference seen: {path}\n")
        text = path.read_text()
        base, head = (self.git("rev-parse", name)[:12] for name in ("base", "slower"))
        self.assertTrue(text.startswith("### Latchlab: of 2 rows 1 slower, 1 no difference seen\n\n| row |"), text)
        number = r"\d\.\d{3}"
        self.assertRegex(
            text,
            rf"\n\| index=art \| {number} \| 0.\d+ \| 0.(90|89)\d \| 0.\d+ \.\. {number} \| 10 \| \*\*slower\*\* \|\n",
        )
        self.assertIn(
            f"- base: `{base}` scratch: base \\| all the rest\n- head: `{head}` scratch: slower \\| all the rest\n",
            text,
        )
        self.assertIn("- machine: Latch 9000, 1 core, 6.1\n", text)
        self.assertIn(
            "- all rows: `--workload=lookup --threads=1 --sync=olc --records=1M --warmup=100ms --time=500ms`\n", text
        )
        self.assertIn("with at most 5 %", text)
        self.assertIn("beyond an effect of 3 %", text)
        self.assertNotIn("an older one", text)

    def test_a_row_is_the_requested_one_even_if_commits_name_it_differently(self):
        done = self.ci("base", "renames", *TWO_ROWS)
        self.assertEqual(self.lines(done)["index=art"][-1], "no difference seen", done.stdout)
        self.assertEqual(done.stdout.count("- the results differ in build/flags: -O2 (base), -O2, -O3 (head)\n"), 1)

    def test_both_commits_are_built_alike_and_once(self):
        first = self.ci("base", "equal", *TWO_ROWS)
        self.assertEqual(first.returncode, 0)
        folders = [self.folder_of(name) for name in ("base", "equal")]
        self.assertEqual(*(len(str(folder)) for folder in folders))
        for folder in folders:
            self.assertEqual((folder / "build/release/pairs").read_text(), "art:olc;cuckoo:olc")
        self.assertNotIn("building", self.ci("base", "equal", *TWO_ROWS).stderr)
        again = self.ci("base", "equal", "--index=art", "--sync={none,olc}", "--workload=lookup", "--threads=1")
        self.assertEqual(again.stderr.count("building"), 2)
        for folder in folders:
            self.assertEqual((folder / "build/release/pairs").read_text(), "art:none;art:olc")
        shutil.rmtree(folders[1])  # git still has it registered
        self.assertEqual(self.ci("base", "equal", *TWO_ROWS).returncode, 0)

    def test_the_two_binaries_of_a_row_alternate(self):
        self.assertEqual(self.ci("base", "equal", *TWO_ROWS).returncode, 0)
        folder = self.tree / "build/ci" / "-".join(self.git("rev-parse", name)[:12] for name in ("base", "equal"))
        documents = []
        for side in ci.SIDES:
            own = [json.loads(line) for line in (folder / f"{side}.jsonl").read_text().splitlines()]
            self.assertEqual(len(own), 20)
            self.assertEqual({document["order"] for document in own}, {0, 1})
            documents += own
        documents.sort(key=lambda document: document["started"])
        orders = set()
        for block in range(10):
            of_block = documents[4 * block : 4 * block + 4]
            self.assertEqual({document["block"] for document in of_block}, {block})
            rows = [document["config"]["row"] for document in of_block]
            self.assertEqual(rows[0::2], rows[1::2])
            self.assertEqual([document["order"] for document in of_block], [0, 1, 0, 1])
            orders.add(rows[0])
        self.assertEqual(len(orders), 2)

    def refused(self, *arguments):
        """Returns the line that says why nothing was compared."""
        done = self.ci(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr.splitlines()[-1]

    def test_unknown_commits(self):
        self.assertEqual(
            self.refused("base", "nowhere"),
            "ci: there is no commit 'nowhere' in this repository; a shallow clone has few: git fetch it first",
        )
        self.assertIn("there is no commit 'answers'", self.refused("answers", "base"))

    def test_uncommitted_changes_are_not_measured_and_reported(self):
        note = "ci: this tree has changes that are not committed; they are not measured: work trees hold commits only"
        self.assertNotIn(note, self.ci("base", "equal", *TWO_ROWS).stderr)
        (self.tree / "answers").write_text("rate=500\n")
        try:
            done = self.ci("base", "equal", *TWO_ROWS)
        finally:
            self.git("checkout", "answers")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.splitlines()[0], note)

    def test_a_work_tree_that_was_changed_is_refused(self):
        self.ci("base", "less", *TWO_ROWS)
        folder = self.folder_of("less")
        (folder / "answers").write_text("\n")
        why = self.refused("base", "less", *TWO_ROWS)
        self.assertRegex(why, f"^ci: {folder} differs from head [0-9a-f]+; remove it: rm -r {folder}$")
        shutil.rmtree(folder)
        self.assertEqual(self.ci("base", "less", "--effect=1%", *TWO_ROWS).returncode, 1)

    def test_a_commit_that_does_not_build(self):
        for names, side in ((("base", "broken"), "head"), (("broken", "base"), "base")):
            why = self.refused(*names, *TWO_ROWS)
            self.assertRegex(
                why, rf"^ci: {side} [0-9a-f]+ does not build with the pairs art:olc cuckoo:olc: see above, and \S+.log$"
            )
        self.assertRegex(
            self.refused("base", "elsewhere"), "^ci: head [0-9a-f]+ does not build build/release/harness, which ci runs$"
        )
        self.assertIn("no-such-program", self.ci("base", "broken", *TWO_ROWS).stderr)

    def test_documents_and_options_that_one_commit_lacks(self):
        why = self.refused("base", "refuses", *TWO_ROWS)
        self.assertRegex(why, "^ci: head [0-9a-f]+ does not run --index=art .*: harness: there is no option --records$")
        self.assertRegex(
            self.refused("base", "newer", *TWO_ROWS), "schema 99; this harness knows schemas up to [0-9]+$"
        )

    def test_wrong_command_lines(self):
        for arguments, why in (
            ([], "two commits come first"),
            (["base", "--effect=3%"], "two commits come first"),
            (["base", "equal", "art"], "'art': behind the commits stand"),
            (["base", "equal", "--effect=3"], "--effect: '3' is not a percentage between 0 and 100; write --effect=3%"),
            (["base", "equal", "--effect=0%"], "--effect: '0%' is not a percentage"),
            (["base", "equal", "--replicates=5"], "--replicates: '5' is not a whole number from 20 to 10000"),
            (["base", "equal", "--tread=1"], "there is no option --tread"),
            (["base", "equal", "--reps=2"], "--reps has no meaning in ci; write --replicates=N"),
            (["base", "equal", "--index={art,cuckoo"], "ci: --index: '{art,cuckoo' has a brace that is not closed"),
            (["base", "equal", "--index={null,null}", "--workload=lookup"], "is there twice; a row is not compared"),
            (["base", "equal", "--time=1s", "--ops=5"], "--time and --ops"),
            (["base", "equal", "--markdown=/no/such/file"], "--markdown: /no/such/file: No such file or directory"),
        ):
            with self.subTest(arguments):
                self.assertIn(why, self.refused(*arguments))

    def test_an_interruption_keeps_what_was_measured(self):
        process = subprocess.Popen(
            self.command("base", "sleeps", *TWO_ROWS), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(process.kill)
        folder = self.tree / "build/ci" / "-".join(self.git("rev-parse", name)[:12] for name in ("base", "sleeps"))
        until = time.monotonic() + 60
        while not (folder / "base.jsonl").exists() or not (folder / "base.jsonl").read_text():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertIn(f"interrupted, no verdict; what there is: {HARNESS} compare --effect=3% {folder}/base.jsonl", err)


class Words(unittest.TestCase):
    def rows_of(self, *options):
        return ci.rows_of(HARNESS, ci.parse(["a", "b", *options]).options)

    def test_the_harness_expands_lists(self):
        rows = self.rows_of("--index=null", "--sync=none", "--workload=lookup", "--threads={1..3,8}")
        self.assertEqual([row.name for row in rows], [f"threads={threads}" for threads in (1, 2, 3, 8)])
        self.assertEqual({row.pair for row in rows}, {"null:none"})
        (row,) = self.rows_of("--index=cuckoo:shape=2x4", "--sync=none", "--workload=lookup", "--threads=1")
        self.assertEqual(row.pair, "simdht:none")
        self.assertEqual(row.name, "index=cuckoo:shape=2x4 sync=none workload=lookup threads=1")

    def test_repeated_options_make_a_list_or_replace(self):
        rows = self.rows_of("--index=art", "--index=null", "--threads=1", "--threads=2")
        self.assertEqual(
            [row.name for row in rows[::4]], [f"index={index} threads=1 workload=lookup" for index in ("art", "null")]
        )
        self.assertEqual({row.pair for row in self.rows_of("--index=art", "--threads=1", "--index=null")}, {"null:olc"})

    def test_the_default_rows(self):
        rows = self.rows_of()
        self.assertEqual({row.pair for row in rows}, {"art:olc", "cuckoo:olc", "chained:olc"})
        self.assertEqual(len(rows), 6 * len(ci.DEFAULTS["threads"]))

    def test_looks(self):
        self.assertEqual(ci.looks_of(40), [10, 15, 20, 30, 40])
        self.assertEqual(ci.looks_of(20), [10, 15, 20])
        self.assertEqual(ci.looks_of(10_000), [2500, 3750, 5000, 7500, 10_000])


if __name__ == "__main__":
    unittest.main()
