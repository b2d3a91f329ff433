#!/usr/bin/env python3
"""Tests of affected.py, which chooses the test files of `./test --quick`."""
import unittest

from affected import affected

INCLUDES = {
    'src/a.h': [],
    'src/a.cc': ['src/a.h'],
    'src/b.h': ['src/a.h'],
    'src/a_test.cc': ['src/a.h', 'src/testing.h'],
    'src/b_test.cc': ['src/b.h'],
    'src/testing.h': [],
    'sync/c_test.cc': ['src/missing.h'],
}
PYTHON = ['harness/smoke/cli_test.py', 'cmake/setup_test.py']


class Affected(unittest.TestCase):
    def of(self, *changed):
        return affected(changed, INCLUDES, PYTHON)

    def test_nothing_changed(self):
        self.assertEqual(self.of(), [])

    def test_a_header_affects_all_that_include_it_directly_or_not(self):
        self.assertEqual(self.of('src/a.h'), ['src/a_test.cc', 'src/b_test.cc'])
        self.assertEqual(self.of('src/testing.h'), ['src/a_test.cc'])

    def test_a_source_affects_the_tests_that_include_its_header_directly(self):
        self.assertEqual(self.of('src/a.cc'), ['src/a_test.cc'])

    def test_a_test_affects_itself(self):
        self.assertEqual(self.of('sync/c_test.cc'), ['sync/c_test.cc'])

    def test_a_python_test_belongs_to_its_folder_and_the_build_to_all(self):
        self.assertEqual(self.of('harness/smoke/data.json'), ['harness/smoke/cli_test.py'])
        self.assertEqual(self.of('cmake/tests.cmake'), sorted(PYTHON))
        self.assertEqual(self.of('README.md'), [])


if __name__ == '__main__':
    unittest.main()
