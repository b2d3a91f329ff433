#!/usr/bin/env python3
"""Tests that objects from ccache are never stale, also with precompiled headers, and that clones share them (cmake/options.cmake)."""
import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
FILES = {
    "CMakeLists.txt": f"""cmake_minimum_required(VERSION 3.25)
project(scratch LANGUAGES CXX)
include("{SOURCE}/cmake/options.cmake")
add_executable(scratch main.cc plain.cc)
target_precompile_headers(scratch PRIVATE header.h)
set_source_files_properties(plain.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
""",
    "header.h": '#include "value.h"\n',
    "value.h": "constexpr int kValue = 1;\n",
    "main.cc": '#include <cstdio>\nint plain();\nint main() { std::printf("%d %d\\n", kValue, plain()); }\n',
    "plain.cc": '#include "value.h"\nint plain() { return kValue; }\n',
}


class Ccache(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.environment = {**os.environ, "CXX": "g++", "CCACHE_DIR": str(self.folder / "cache"),
                            "CCACHE_CONFIGPATH": str(self.folder / "none.conf")}
        self.environment.pop("CCACHE_DISABLE", None)

    def clone(self, name):
        folder = self.folder / name
        folder.mkdir()
        for file, text in FILES.items():
            (folder / file).write_text(text)
        self.run_in(folder, "cmake", "-G", "Ninja", "-S", ".", "-B", "build")
        return folder

    def run_in(self, folder, *command):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=self.environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def value_of(self, folder):
        """Builds the program and returns the values that its two files saw."""
        self.run_in(folder, "cmake", "--build", "build")
        return self.run_in(folder, "build/scratch").split()

    def set_value(self, folder, value):
        header = folder / "value.h"
        time = header.stat().st_mtime_ns
        header.write_text(header.read_text().replace(header.read_text()[-3], str(value)))
        os.utime(header, ns=(time, time))  # the time tells ccache nothing
        self.run_in(folder, "cmake", "--build", "build", "--target", "clean")

    def hits(self):
        counters = dict(line.split("\t") for line in self.run_in(self.folder, "ccache", "--print-stats").splitlines())
        return int(counters["direct_cache_hit"]) + int(counters["preprocessed_cache_hit"])

    def test_a_changed_header_changes_the_objects(self):
        folder = self.clone("first")
        self.assertEqual(self.value_of(folder), ["1", "1"])
        for value in (2, 1):
            self.set_value(folder, value)
            self.assertEqual(self.value_of(folder), [str(value)] * 2)
        self.assertGreaterEqual(self.hits(), 2)  # the second 1 compiled nothing

    def test_clones_share_objects_and_not_values(self):
        self.value_of(self.clone("first"))
        second = self.clone("second")
        self.assertEqual(self.value_of(second), ["1", "1"])
        self.assertGreaterEqual(self.hits(), 1)
        self.set_value(second, 7)
        self.assertEqual(self.value_of(second), ["7", "7"])


if __name__ == "__main__":
    unittest.main()
