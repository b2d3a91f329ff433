"""The completion script of docs/completion. The test "help texts" checks that the harness writes it. Run by CTest; by hand:
python3 harness/cli/completion_test.py
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = TREE / "docs/completion/harness.bash"


def replies(line, replaced=None):
    """Returns COMPREPLY for a line with the cursor at its end. `replaced` is the part that bash replaces, by default that behind the last blank,
    = or :."""
    words = re.findall(r"[=:]+|[^\s=:]+", line) + ([""] if line.endswith(" ") else [])
    if replaced is None:
        replaced = re.split(r"[\s=:]", line)[-1]
    told = subprocess.run(
        ["bash", "--norc", "-c", f'source {SCRIPT}; COMP_WORDS=("${{@:3}}"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_LINE=$1\n'
         'COMP_POINT=${#1}; _harness harness "$2" ""; printf "%s\\n" "${COMPREPLY[@]}"', "bash", line, replaced, *words],
        capture_output=True, text=True, check=True, timeout=60,
    )
    assert told.stderr == "", told.stderr
    return told.stdout.split()


def typed(shell, keys):
    """Returns what a shell on a terminal prints when `keys` are typed. The last keys must end the shell."""
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe(shell[0], shell, os.environ | {"TERM": "dumb", "HOME": "/nonexistent", "ZDOTDIR": "/nonexistent", "PS1": "> "})
    told = ""
    try:
        os.write(terminal, keys.encode())
        while select.select([terminal], [], [], 60)[0]:
            told += os.read(terminal, 4096).decode(errors="replace")
    except OSError:  # the shell has ended
        pass
    finally:
        os.close(terminal)
        os.waitpid(process, 0)
    return told


class Completion(unittest.TestCase):
    def test_the_first_word_is_a_command(self):
        self.assertEqual(replies("harness expl"), ["explain"])
        self.assertIn("doctor", replies("harness "))
        self.assertEqual(replies("harness --ver"), ["--version"])

    def test_options_of_a_run(self):
        self.assertEqual(replies("harness --index=art --thr"), ["--threads=", "--threads-per="])
        self.assertEqual(replies("harness --js"), ["--json"])
        self.assertEqual(replies("harness @file --js"), ["--json"])
        self.assertEqual(replies("harness --threads=2 --ver"), [])
        self.assertEqual(replies("harness --blo"), [])  # not in help

    def test_options_of_a_command(self):
        self.assertEqual(replies("harness compare A B --"), ["--effect=", "--json", "--mix", "--seed="])
        self.assertEqual(replies("harness ab --re"), ["--reclaim=", "--records=", "--reps=", "--replicates="])
        self.assertEqual(replies("harness doctor --"), ["--machine="])

    def test_values(self):
        self.assertEqual(replies("harness --index=chained"), ["chained", "chained_line"])
        self.assertEqual(replies("harness --sync=ol"), ["olc"])
        self.assertEqual(replies("harness --workload=ycsb-"), [f"ycsb-{letter}" for letter in "abcdef"])
        self.assertEqual(replies("harness --workload=m"), ["mix:"])
        self.assertEqual(replies("harness --alloc=arena"), ["arena", "arena+touch"])
        self.assertEqual(replies("harness --keys=e"), ["email:"])
        self.assertEqual(replies("harness --keys=ur"), ["url:"])
        self.assertEqual(replies("harness --mem=interleave"), ["interleave", "interleave:pin"])
        self.assertEqual(replies("harness --mem=interleave:p"), ["pin"])
        self.assertEqual(replies("harness --smt="), ["avoid", "pack"])
        self.assertEqual(replies("harness --latency=s"), ["sample:"])
        self.assertIn("tbb-rw", replies("harness --sync="))
        self.assertEqual(replies("harness --time="), [])

    def test_lists(self):
        self.assertEqual(replies("harness --sync={none,rtm:20,ol", "{none,rtm:20,ol"), ["{none,rtm:20,olc"])
        self.assertEqual(replies("harness --sync={rws", "{rws"), ["{rwspin"])
        self.assertEqual(replies("harness --pmu=tsx,ca", "tsx,ca"), ["tsx,cache"])
        self.assertEqual(replies("harness --sync=rtm:20,no", "20,no"), [])  # an option of rtm, not a policy

    def test_topics_and_formats(self):
        self.assertEqual(replies("harness list h"), ["hugepages", "hardware-threads"])
        self.assertEqual(replies("harness help do"), ["doctor"])
        self.assertEqual(replies("harness help pol"), ["policies"])
        self.assertEqual(replies("harness trace c"), ["convert"])
        self.assertTrue(replies("harness trace convert "))
        self.assertEqual(replies("harness explain "), [])  # files, by bash itself

    def test_inside_quotes(self):
        self.assertEqual(replies('harness ab --a="--sync=ol', "--sync=ol"), ["--sync=olc"])
        self.assertEqual(replies('harness ab --a="--sync=olc --thr', "--sync=olc --thr")[:1], ["--sync=olc"])

    def test_a_word_that_zsh_does_not_break(self):
        self.assertEqual(replies("harness --index=vi", "--index=vi"), ["--index=vip"])

    def test_bash_on_a_terminal(self):
        told = typed(
            ["bash", "--noprofile", "--norc", "-i"],
            f"source {SCRIPT}; harness() {{ printf '<%s>' \"$@\"; }}\n"
            "harness --ind\tvi\t--sync=ad\t--workload=mi\tread=100 --mem=interleave:p\t--sync={none,ad\t}; exit\n",
        )
        self.assertIn("<--index=vip><--sync=adaptive><--workload=mix:read=100><--mem=interleave:pin><--sync=none><--sync=adaptive>", told)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_on_a_terminal(self):
        told = typed(
            ["zsh", "-f", "-i"],
            f"autoload -U compinit bashcompinit; compinit -u -D; bashcompinit; source {SCRIPT}; harness() {{ printf '<%s>' \"$@\" }}\n"
            "harness --ind\tvi\t --sync=ad\t --workload=mi\tread=100; exit\n",
        )
        self.assertIn("<--index=vip><--sync=adaptive><--workload=mix:read=100>", told)


if __name__ == "__main__":
    unittest.main()
