#!/usr/bin/env python3
"""Tests that a build which is asked for UCX has it, or says what it lacks (cmake/dependencies.cmake)."""
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
LACKS = ["-DLATCHLAB_ucp_INCLUDE=", "-DLATCHLAB_ucp_LIBRARY=", "-DLATCHLAB_ucs_LIBRARY="]   # as if nothing was found


class Ucx(unittest.TestCase):
    def configure(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(scratch LANGUAGES C CXX)
include("{SOURCE}/cmake/dependencies.cmake")
""")
            done = subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", f"{folder}/build", *options], capture_output=True, text=True, check=False)
            return done.returncode, " ".join(done.stderr.split())

    def test_a_build_that_lacks_it_is_refused(self):
        status, said = self.configure("-DLATCHLAB_UCX=ON", *LACKS)
        self.assertEqual(status, 1)
        self.assertIn("-DLATCHLAB_UCX=ON needs libucx-dev (ucp/api/ucp.h, libucp and libucs), which is not installed", said)

    def test_a_build_without_it_needs_nothing(self):
        self.assertEqual(self.configure(*LACKS), (0, ""))


if __name__ == "__main__":
    unittest.main()
