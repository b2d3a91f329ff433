"""`./bench ci` on commits of this very tree: equal ones, and one with slower lookups, ten times each.

A scratch clone gets two commits on top of this one: `equal` changes a comment, and `slower` plants a loop into lookups.
The environment says how many turns the loop has, and the test looks for the number that leaves nine tenths of the
throughput. `faster` and `slower` are wrong words for equal commits; `faster` and `no difference seen` are wrong words
for the slower one. The test takes three builds of one pair and up to twenty minutes of runs. ci_words_test.py tests all
but the words. Run by `./test --all`; by hand:
LATCHLAB_HARNESS=build/release/harness python3 experiments/ci_test.py
"""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]
HARNESS = os.path.abspath(os.environ.get("LATCHLAB_HARNESS") or TREE / "build/release/harness")
TIMES = int(os.environ.get("LATCHLAB_CI_TIMES", "10"))
POINT = ["--index=art", "--sync=olc", "--workload=lookup", "--threads=1"]
RUN = [*POINT, "--records=1M", "--time=200ms", "--warmup=50ms", "--pmu=off"]
LOOKUP = "find_in(Tx& tx, const Key& key) const {\n"
LOOP = '    for (int turn = 0; turn < planted_turns; ++turn) asm volatile("");\n'
TURNS = """#include <cstdlib>
namespace latchlab {
inline const int planted_turns = std::atoi(std::getenv("LATCHLAB_PLANTED"));
}
"""
CANNOT = "cannot be decided here"


class Commits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.tree = pathlib.Path(cls.scratch.name).resolve() / "tree"
        subprocess.run(["git", "clone", "-q", str(TREE), str(cls.tree)], check=True)
        for name in ("ci.py", "child.py", "input_error.py"):  # as they are here, committed or not
            shutil.copy(TREE / "experiments" / name, cls.tree / "experiments")
        cls.git("add", "-A")
        cls.git("commit", "-q", "--allow-empty", "-m", "scratch: compare by what is here")
        cls.git("tag", "base")
        art = cls.tree / "indexes/art/art.h"
        plain = art.read_text()
        once = "#pragma once\n"
        cls.commit("equal", art, plain.replace(once, once + "\n// Nothing changes here.\n", 1))
        cls.git("reset", "-q", "--hard", "base")
        cls.commit("slower", art, plain.replace(once, once + TURNS, 1).replace(LOOKUP, LOOKUP + LOOP, 1))
        cls.ci("base", "slower", 0, turns=0)  # builds both
        cls.turns = cls.turns_of_a_tenth()

    @classmethod
    def git(cls, *arguments):
        identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
        subprocess.run(["git", "-C", str(cls.tree), *identity, *arguments], check=True)

    @classmethod
    def commit(cls, name, path, text):
        assert text != path.read_text(), f"nothing to plant in {path}"
        path.write_text(text)
        cls.git("commit", "-q", "-a", "-m", f"scratch: {name}")
        cls.git("tag", name)

    @classmethod
    def share_left(cls, turns):
        """Returns the throughput of the slower commit as a share of the base's, each the best of ten runs in turn:
        others can only take from a run."""
        best = {"base": 0, "slower": 0}
        for _ in range(10):
            for name in best:
                full = subprocess.check_output(["git", "-C", str(cls.tree), "rev-parse", name], text=True)
                binary = str(cls.tree / "build/ci" / full[:12] / "build/release/harness")
                environment = os.environ | {"LATCHLAB_PLANTED": str(turns)}
                line = subprocess.check_output([binary, *RUN, "--json"], env=environment, text=True)
                best[name] = max(best[name], json.loads(line)["throughput"]["per_second"])
        return best["slower"] / best["base"]

    @classmethod
    def turns_of_a_tenth(cls):
        """Returns how many turns leave nine tenths. Two measurements must say so: one may be disturbed."""
        turns = 1
        while max(shares := [cls.share_left(turns), cls.share_left(turns)]) > 0.9:
            turns += 1 + turns // 4
        print(f"ci_test: {turns} planted turns leave {max(shares):.3f} of the throughput", file=sys.stderr)
        return turns

    @classmethod
    def ci(cls, base, head, seed, turns):
        script = str(cls.tree / "experiments/ci.py")
        command = [sys.executable, "-B", script, HARNESS, base, head, f"--seed={seed}", *RUN]
        environment = os.environ | {"LATCHLAB_PLANTED": str(turns)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if "| verdict |" not in done.stdout:
            raise AssertionError(done.stderr)
        return done

    def words(self, head):
        """Returns how often each verdict was said."""
        words = collections.Counter()
        for seed in range(TIMES):
            done = self.ci("base", head, seed, self.turns)
            line = next(line for line in done.stdout.splitlines() if line.startswith("| index=art"))
            print(f"ci_test: {head}: {line}", file=sys.stderr)
            words[line.strip("| ").split(" | ")[-1].strip("*")] += 1
            self.assertEqual(done.returncode, int("**slower**" in line), done.stdout)
        return words

    def test_equal_commits_are_never_said_to_differ(self):
        words = self.words("equal")
        self.assertEqual(set(words) - {"no difference seen", CANNOT}, set())

    def test_slower_lookups_are_said_to_be_slower(self):
        words = self.words("slower")
        self.assertEqual(set(words) - {"slower", CANNOT}, set())
        self.assertGreater(words["slower"], 0)


if __name__ == "__main__":
    if not (TREE / ".git").exists():
        sys.exit(1 if os.environ.get("LATCHLAB_SKIP_NOTHING") else 77)  # no commits to compare
    unittest.main()
