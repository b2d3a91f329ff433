"""The manual page of docs/man. The test "help texts" checks that the harness writes it. Run by CTest; by hand:
python3 harness/cli/man_page_test.py
"""

import pathlib
import re
import shutil
import subprocess
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
PAGE = TREE / "docs/man/harness.1"


class ManualPage(unittest.TestCase):
    def test_it_names_every_option_of_help(self):
        page = PAGE.read_text().replace("\\-", "-")
        options = set(re.findall(r"--[a-z][a-z-]*", (TREE / "docs/help/harness.txt").read_text()))
        self.assertGreater(len(options), 40)
        self.assertEqual([option for option in sorted(options) if option not in page], [])

    def test_every_line_is_text_or_a_request_that_is_meant(self):
        requests = {line.split()[0] for line in PAGE.read_text().splitlines() if line.startswith((".", "'"))}
        self.assertEqual(requests, {'.\\"', ".TH", ".SH", ".SS", ".TP", ".br", ".nf", ".fi"})

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_finds_no_fault(self):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", PAGE], capture_output=True, text=True, check=True, timeout=60)
        self.assertEqual(done.stderr, "")
        text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
        self.assertRegex(text, r"\n +--index=NAME\n")
        self.assertIn("harness ab --a=\"--sync=none\" --b=\"--sync=olc\"", text)


if __name__ == "__main__":
    unittest.main()
