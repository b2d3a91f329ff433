"""The units of pairs that CMake generates: up to seven policies of an index each, whatever their number."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
POLICIES = ["none", "mutex", "spin", "rwspin", "rtm", "olc", "hybrid", "hle"]


class Units(unittest.TestCase):
    def units_of(self, policies):
        """{file: policies} of cuckoo under these."""
        pairs = ";".join(f"cuckoo:{policy}" for policy in policies)
        with tempfile.TemporaryDirectory() as build:
            # The generator that setup.sh installs: CMake's default one needs make, which a bare Debian lacks.
            command = ["cmake", "-G", "Ninja", "-S", SOURCE, "-B", build, "-DBUILD_TESTING=OFF", f"-DLATCHLAB_PAIRS={pairs}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "CXX": "g++"})
            self.assertEqual(done.returncode, 0, done.stderr)
            generated = sorted(pathlib.Path(build, "harness_pairs").glob("cuckoo_*.cc"))
            return {path.name: re.findall(r'"cuckoo", "([a-z-]+)"', path.read_text()) for path in generated}

    def test_a_unit_is_of_seven_at_most_and_nobody_is_left_out(self):
        for count in (1, 7, 8):
            with self.subTest(count=count):
                units = self.units_of(POLICIES[:count])
                self.assertEqual(list(units), ["cuckoo_0.cc", "cuckoo_7.cc"][: 1 + (count > 7)])
                self.assertEqual(sorted(sum(units.values(), [])), sorted(POLICIES[:count]))
                self.assertLessEqual(max(len(of_unit) for of_unit in units.values()), 7)


if __name__ == "__main__":
    unittest.main()
