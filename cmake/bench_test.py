"""Tests of ./bench: its answers without a build, and the harness that it builds and runs. The tree has a fake harness; nothing is
compiled.

Run by CTest; by hand: python3 cmake/bench_test.py
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]

# A fake harness. It lacks the pairs in its file `lacks`, and prints its name, its folder and its arguments.
HARNESS = """#!/bin/bash
here=$(dirname "$0")
if [ "$1" = missing-pairs ]; then
  for pair in $(cat "$here/lacks" 2>/dev/null); do
    [ -e "$here/asked_pairs" ] && [ "${0##*/}" = harness_asked ] && grep -qx "$pair" "$here/asked_pairs" && continue
    case " ${*//=/ } " in *" ${pair%:*} "*" ${pair#*:} "*) echo "$pair";; esac
  done
elif [ "$1 $3" = "experiment --dry-run" ]; then
  echo "harness --index=art --sync=olc --threads=1"
  echo "harness --index=art --sync=olc --threads=2"
else
  echo "${0##*/} in $PWD: $*"
fi
"""

# Fake tools that record each call. A build makes the harness that is its target.
TOOLS = {
    "dpkg-query": """shift 3; for package; do echo "installed $package"; done""",
    "cmake": """case $1 in
      --preset) mkdir -p build/$2; touch build/$2/build.ninja;;
      --build) echo "[1/20] Building CXX object x.o"; cp "$OWN_HARNESS" "$2/$4"; chmod +x "$2/$4";;
    esac""",
    "ninja": """[ ! -e "$2/stale" ] || [ "$3" != -n ] || echo "[1/9] Building CXX object CMakeFiles/harness_pairs.dir/harness_pairs/art_0.cc.o" """,
}


class Tree(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.tree = self.folder / "tree"
        (self.tree / "cmake").mkdir(parents=True)
        for name in ("bench", "cmake/setup.sh", "CMakeLists.txt"):
            shutil.copy(TREE / name, self.tree / name)
        shutil.copytree(TREE / "docs/help", self.tree / "docs/help")
        (self.tree / "experiments").mkdir()
        shutil.copy(TREE / "experiments/ci.py", self.tree / "experiments/ci.py")
        (self.folder / "own_harness").write_text(HARNESS)
        (self.folder / "bin").mkdir()
        (self.folder / "calls").touch()
        for name, text in TOOLS.items():
            path = self.folder / "bin" / name
            path.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.folder}/calls"\n{text}\n')
            path.chmod(0o755)
        self.build = self.tree / "build/release"

    def bench(self, *arguments):
        environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "OWN_HARNESS": str(self.folder / "own_harness")}
        return subprocess.run([self.tree / "bench", *arguments], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)

    def calls(self):
        """Returns the calls of cmake since the last look."""
        calls = [call for call in (self.folder / "calls").read_text().splitlines() if call.startswith("cmake")]
        (self.folder / "calls").write_text("")
        return calls

    def lacks(self, *pairs):
        self.build.mkdir(parents=True, exist_ok=True)
        (self.build / "lacks").write_text("\n".join(pairs))

    def asked(self):
        path = self.build / "asked_pairs"
        return path.read_text().split() if path.exists() else []

    def full(self):
        """Sets up a tree in which every pair is built."""
        self.build.mkdir(parents=True, exist_ok=True)
        (self.build / "build.ninja").touch()
        shutil.copy(self.folder / "own_harness", self.build / "harness")
        (self.build / "harness").chmod(0o755)


class Answers(Tree):
    """Tests of command lines for which nothing is built or installed."""

    def text(self, topic):
        return (TREE / f"docs/help/{topic}.txt").read_text()

    def test_help_and_list_are_texts(self):
        for arguments, topic in ((["--help"], "harness"), ([], "harness"), (["help"], "harness"), (["-h"], "harness"),
                                 (["--threads=1", "--help"], "harness"), (["ab", "--help"], "ab"), (["help", "ab"], "ab"),
                                 (["export", "--help"], "export"),
                                 (["help", "keys"], "keys"), (["help", "topics"], "topics"), (["list", "indexes"], "indexes")):
            with self.subTest(arguments=arguments):
                done = self.bench(*arguments)
                text, _, more = done.stdout.partition("\nIn a clone there are also")
                self.assertEqual((text, done.returncode), (self.text(topic), 0), done.stderr)
                self.assertEqual(", verify, model, tier, locks, elide, serve.\n" in more, topic == "harness", done.stdout)
        for arguments in (["ci", "--help"], ["help", "ci"]):
            with self.subTest(arguments=arguments):
                done = self.bench(*arguments)
                self.assertEqual(done.returncode, 0)
                self.assertIn("\n    ./bench ci ", done.stdout)
                self.assertNotIn('"""', done.stdout)
        everything = self.bench("list").stdout
        for topic in ("indexes", "policies", "keys", "pmu"):
            self.assertIn(self.text(topic), everything)
        self.assertEqual((self.folder / "calls").read_text(), "")

    def test_a_wrong_word_is_one_line(self):
        for arguments, words in ((["lsit"], "bench: there is no command 'lsit'; there are ab,"),
                                 (["help", "lsit"], "bench: help: there is no 'lsit'; there are ab,"),
                                 (["list", "ab"], "bench: list: there is no 'ab'; there are indexes,"),
                                 (["help", "ab", "x"], "bench: help: 'x' is too much"), (["--version", "x"], "bench: --version: 'x'"),
                                 ([""], "bench: there is no command ''")):
            with self.subTest(arguments=arguments):
                done = self.bench(*arguments)
                self.assertEqual((done.stdout, done.returncode), ("", 2))
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertTrue(done.stderr.startswith(words), done.stderr)
        self.assertEqual((self.folder / "calls").read_text(), "")

    def test_the_version_comes_from_a_harness_or_the_tree(self):
        version = re.search(r"VERSION ([0-9.]+) LANGUAGES", (TREE / "CMakeLists.txt").read_text())[1]
        done = self.bench("--version")
        self.assertEqual((done.stdout.splitlines()[0], done.returncode), (f"latchlab {version}", 0))
        self.full()
        self.assertIn("harness in", self.bench("--version").stdout)
        self.assertEqual(self.calls(), [])

    def test_a_built_harness_answers_list(self):
        self.full()
        self.assertIn(": list keys\n", self.bench("list", "keys").stdout)


class Models(Tree):
    """Tests of ./bench model, which builds nothing."""

    def setUp(self):
        super().setUp()
        shutil.copy(TREE / "experiments/model.py", self.tree / "experiments/model.py")
        (self.tree / "experiments/models").mkdir()
        (self.tree / "experiments/models/kv_direct.py").write_text('"""Help of kv-direct.\n"""\n')

    def test_help_is_that_of_the_command_or_of_a_model(self):
        for arguments, first in ((["model"], "Derives published"), (["model", "--help"], "Derives published"),
                                 (["help", "model"], "Derives published"), (["model", "no-such", "--help"], "Derives published"),
                                 (["model", "kv-direct", "--help"], "Help of kv-direct.\n"),
                                 (["model", "kv-direct", "x", "-h"], "Help of kv-direct.\n")):
            with self.subTest(arguments=arguments):
                done = self.bench(*arguments)
                self.assertEqual((done.stderr, done.returncode), ("", 0))
                self.assertTrue(done.stdout.startswith(first), done.stdout)
                self.assertNotIn('"""', done.stdout)
        self.assertEqual((self.folder / "calls").read_text(), "")

    def test_a_model_runs_in_the_users_folder_with_the_modules_of_models(self):
        python = self.tree / "build/python/bin/python"
        python.parent.mkdir(parents=True)
        python.write_text('#!/bin/bash\necho "in $PWD: $*"\n')
        python.chmod(0o755)
        modules = re.search('^model_modules="(.*)"$', (TREE / "cmake/setup.sh").read_text(), re.MULTILINE)[1]
        (self.tree / "build/python/models").write_text(modules)
        done = self.bench("model", "kv-direct", "--seed=2", "--no-install")
        self.assertEqual(done.stdout, f"in {self.folder}: -B {self.tree}/experiments/model.py kv-direct --seed=2\n", done.stderr)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.calls(), [])
        (self.tree / "build/python/models").write_text("others")
        done = self.bench("model", "kv-direct", "--no-install")
        self.assertEqual((done.stdout, done.returncode), ("", 2))
        self.assertEqual(done.stderr, f"bench: models needs build/python with {modules} from PyPI, which --no-install leaves alone\n")


class Builds(Tree):
    def test_a_modelled_machine_has_a_harness_of_its_own(self):
        self.full()
        for arguments in (["--machine=haswell-ep", "--index=art"], ["ab", "--a=--machine=epyc", "--b=--machine=epyc --sync=olc"],
                          ["ab", "--a=--sync=none --machine=epyc", "--b=--machine=epyc"]):
            with self.subTest(arguments=arguments):
                done = self.bench(*arguments)
                self.assertEqual((done.stdout, done.returncode), (f"harness_asked in {self.folder}: {' '.join(arguments)}\n", 0),
                                 done.stderr)
                self.assertIn("cmake --build build/modelled --target harness_asked", self.calls())
        for arguments in (["--index=art"], ["doctor", "--machine=haswell-ep"], ["--out=x--machine=y"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.bench(*arguments).stdout, f"harness in {self.folder}: {' '.join(arguments)}\n")
                self.assertFalse([call for call in self.calls() if "modelled" in call])

    def test_a_first_run_builds_the_library_and_the_pair_that_it_names(self):
        self.lacks("art:rtm", "art:olc")
        done = self.bench("--index=art", "--sync=rtm")
        self.assertEqual((done.stdout, done.returncode), (f"harness_asked in {self.folder}: --index=art --sync=rtm\n", 0), done.stderr)
        self.assertEqual(self.asked(), ["art:rtm"])
        self.assertEqual(self.calls(), ["cmake --preset release"] + 2 * ["cmake --build build/release --target harness_asked"])
        self.assertRegex(done.stderr, r"bench: configuring build/release\n"
                         r"bench: building the library, 20 steps, about \d+ s\n"
                         r"bench: building art:rtm, 20 steps, about \d+ s; other pairs are built when they are asked for\n"
                         r"bench: built: configure \d+ s, the library \d+ s, art:rtm \d+ s\n")

    def test_a_profile_needs_perf(self):
        for arguments, asks in ((["--profile=x.svg"], True), ([], False)):
            with self.subTest(arguments=arguments):
                done = self.bench("--index=art", *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                asked = re.search("^dpkg-query .*", (self.folder / "calls").read_text(), re.MULTILINE)[0].split()
                self.assertEqual("linux-perf" in asked, asks)
                self.assertIn("cmake", asked)
                self.calls()

    def test_a_missing_pair_is_added_and_an_existing_one_is_not(self):
        self.lacks("art:rtm", "art:olc")
        self.bench("--index=art", "--sync=rtm")
        self.bench("--index=art", "--sync=olc")
        self.assertEqual(self.asked(), ["art:rtm", "art:olc"])
        self.calls()
        self.bench("--index=art", "--sync=rtm")
        self.assertEqual(self.asked(), ["art:rtm", "art:olc"])
        self.assertEqual(len(self.calls()), 1)

    def test_serve_builds_the_store_that_it_names(self):
        self.lacks("art:olc")
        words = ["--index=art", "--sync=olc"]
        done = self.bench("serve", *words)
        self.assertEqual((done.stdout, done.returncode), (f"server_asked in {self.folder}: {' '.join(words)}\n", 0), done.stderr)
        self.assertEqual((self.build / "asked_stores").read_text(), "art:olc\n")
        self.lacks()
        (self.folder / "bin/cmake").write_text("#!/bin/bash\n")   # there is nothing to build
        done = self.bench("serve", *words)
        self.assertEqual((done.stdout, done.returncode), (f"server_asked in {self.folder}: {' '.join(words)}\n", 0), done.stderr)
        self.assertEqual((self.build / "asked_stores").read_text(), "art:olc\n")

    def test_tier_refuses_wrong_words_before_it_builds_and_then_builds_and_runs(self):
        (self.tree / "experiments/tier.py").write_text("import sys\nprint(sys.argv[1:])\nsys.exit(2 * ('wrong' in sys.argv))\n")
        done = self.bench("tier", "wrong")
        self.assertEqual((done.stdout, done.returncode), ("['', 'wrong']\n", 2), done.stderr)
        self.assertEqual(self.calls(), [])
        done = self.bench("tier", "16Mi", "--no-install")
        library = self.tree / "build/release/liblatchlab_rocksdb.so"
        self.assertEqual((done.stdout, done.returncode), (f"['', '16Mi']\n['{library}', '16Mi']\n", 0), done.stderr)
        self.assertEqual(self.calls(), ["cmake --preset release", "cmake --build build/release --target rocksdb_tier"])

    def test_locks_refuses_wrong_words_before_it_builds_and_then_builds_the_pairs_that_it_names(self):
        (self.tree / "experiments/locks.py").write_text("""import sys
if sys.argv[1] == "":
    print("--index=null\\n--sync=mcs")
    sys.exit(2 * ("wrong" in sys.argv))
print(sys.argv[1:])
""")
        done = self.bench("locks", "wrong")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(self.calls(), [])
        self.lacks("null:mcs", "null:spin")
        done = self.bench("locks", "mcs", "--quick", "--no-install")
        self.assertEqual((done.stdout, done.returncode), (f"['{self.build}/harness_asked', 'mcs', '--quick']\n", 0), done.stderr)
        self.assertEqual(self.asked(), ["null:mcs"])

    def test_an_experiment_builds_the_pairs_of_its_points(self):
        self.lacks("art:rtm", "art:olc")
        done = self.bench("experiment", "some", "--quick")
        self.assertEqual(self.asked(), ["art:olc"], done.stderr)
        self.assertIn(": experiment some --quick\n", done.stdout)
        self.bench("experiment")
        self.assertEqual(self.asked(), ["art:olc"])

    def test_the_harness_with_every_pair_is_run_while_none_is_stale(self):
        self.full()
        done = self.bench("--index=art", "--sync=rtm")
        self.assertEqual(done.stdout, f"harness in {self.folder}: --index=art --sync=rtm\n", done.stderr)
        self.assertEqual(self.calls(), ["cmake --build build/release --target harness"])
        (self.build / "stale").touch()
        self.lacks("art:rtm")
        done = self.bench("--index=art", "--sync=rtm")
        self.assertIn("harness_asked in", done.stdout)
        self.assertEqual(set(self.calls()), {"cmake --build build/release --target harness_asked"})

    def test_a_harness_that_lacks_the_pair_is_not_run(self):
        self.full()
        self.lacks("art:rtm")
        self.assertIn("harness in", self.bench("--index=art", "--sync=olc").stdout)
        self.assertIn("harness_asked in", self.bench("--index=art", "--sync=rtm").stdout)
        self.assertEqual(self.asked(), ["art:rtm"])


if __name__ == "__main__":
    unittest.main()
