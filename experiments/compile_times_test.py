"""Tests of experiments/compile_times.py: the table that it writes. Nothing is compiled here.

Run by CTest; by hand: python3 experiments/compile_times_test.py
"""
import pathlib
import sys
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TREE / "experiments"))

import compile_times  # noqa: E402


class CompileTimes(unittest.TestCase):
    def test_a_table_of_one_checkout(self):
        table = compile_times.markdown({"map.h": 4.04, "art:olc": 20.0})
        self.assertEqual(table.splitlines(), ["| unit | seconds |", "|---|---|", "| map.h | 4.0 |", "| art:olc | 20.0 |"])

    def test_a_table_of_two_checkouts(self):
        table = compile_times.markdown({"map.h": 4.0, "art:olc": 22.0}, {"art:olc": 20.0})
        self.assertEqual(table.splitlines()[2:], ["| map.h | - | 4.0 | - |", "| art:olc | 20.0 | 22.0 | +10 % |"])

    def test_a_command_that_fails_ends_the_program(self):
        with self.assertRaisesRegex(SystemExit, "compile_times: false ended with exit status 1"):
            compile_times.run(["false"], TREE)


if __name__ == "__main__":
    unittest.main()
