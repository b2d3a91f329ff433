#!/usr/bin/env python3
"""Names of Catch2 test cases that CMake or Catch2 would read as something else.

CTest asks for each test case by its name. CMake splits a name at a semicolon, Catch2 takes a name that begins with a
dash for an option, and an unbalanced bracket garbles both. Such a test fails, or never runs.

CTest runs it; by hand: python3 src/testing/test_names_test.py
"""
import pathlib
import re
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "sync", "indexes", "library", "workloads", "harness", "services")
# A name may be several literals beside each other.
NAME = re.compile(r'\b(?:TEST_CASE|TEMPLATE_TEST_CASE\w*)\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def names_in(text):
    return ["".join(LITERAL.findall(literals)) for literals in NAME.findall(text)]


def fault(name):
    """Returns what is wrong with a name; None if nothing is."""
    if ";" in name:
        return "has a semicolon"
    if name.startswith("-"):
        return "begins with a dash"
    if name != name.strip():
        return "begins or ends with a blank"
    if name.count("[") != name.count("]"):
        return "has an unbalanced bracket"
    return None


class Names(unittest.TestCase):
    def test_names_of_this_tree(self):
        files = [file for folder in FOLDERS for file in (TREE / folder).rglob("*_test.cc")]
        names = [(file, name) for file in files for name in names_in(file.read_text(encoding="utf-8"))]
        self.assertGreater(len(names), 500)
        faults = [f"{file.relative_to(TREE)}: '{name}' {fault(name)}" for file, name in names if fault(name)]
        self.assertEqual(faults, [])

    def test_faults(self):
        for name in ("a; b", "--fit skips", "a list [", " a", "a "):
            self.assertIsNotNone(fault(name), name)
        self.assertIsNone(fault("the option --fit skips, as [1, 2] says"))

    def test_a_name_in_pieces(self):
        self.assertEqual(names_in('TEST_CASE(\n    "one "\n    "name", "[tag]") {'), ["one name"])


if __name__ == "__main__":
    unittest.main()
