"""Tests of the command line of ./bench model: experiments/model.py with models of its own.

CTest runs it; by hand: python3 experiments/model_test.py
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent

MODEL = '''"""Says what it was given.

A second line.
"""
from input_error import InputError


def main(arguments):
    if "wrong" in arguments:
        raise InputError("'wrong' is wrong")
    print("given:", *arguments)
    return 3 if "fails" in arguments else None
'''


class CommandLine(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "models").mkdir()
        for name in ("model.py", "input_error.py"):
            shutil.copy(FOLDER / name, self.folder / name)
        (self.folder / "models/kv_direct.py").write_text(MODEL)

    def model(self, *arguments):
        return subprocess.run([sys.executable, "-B", self.folder / "model.py", *arguments], capture_output=True, text=True, timeout=60,
                              check=False)

    def test_a_model_gets_the_arguments_after_its_name(self):
        for arguments, status in (([], 0), (["--a=1", "b"], 0), (["fails"], 3)):
            with self.subTest(arguments=arguments):
                done = self.model("kv-direct", *arguments)
                self.assertEqual((done.stdout, done.stderr, done.returncode), (" ".join(["given:", *arguments]) + "\n", "", status))

    def test_help_is_a_docstring(self):
        for arguments, first in (([], "Derives published results"), (["--help"], "Derives published results"),
                                 (["kv-direct", "--help"], "Says what it was given."), (["kv-direct", "x", "-h"], "Says what it was")):
            with self.subTest(arguments=arguments):
                done = self.model(*arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.startswith(first), done.stdout)

    def test_wrong_input_is_one_line(self):
        for arguments, line in ((["kv_direct"], "model: there is no model 'kv_direct'; there are kv-direct, systems, servers\n"),
                                ([""], "model: there is no model ''; there are kv-direct, systems, servers\n"),
                                (["kv-direct", "wrong"], "model: 'wrong' is wrong\n")):
            with self.subTest(arguments=arguments):
                done = self.model(*arguments)
                self.assertEqual((done.stdout, done.stderr, done.returncode), ("", line, 2))


if __name__ == "__main__":
    unittest.main()
