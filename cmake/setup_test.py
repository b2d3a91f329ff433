"""What cmake/setup.sh does where apt does not do what it hopes for: with tools of our own in apt's place.

Run by CTest; by hand: python3 cmake/setup_test.py
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]

# Each notes that it was called. The language decides what apt-cache says; the archive has the package once the lists are new.
TOOLS = {
    "apt-cache": """[ "$LC_ALL" = C ] && echo "  Depends: linux-image-new" || echo "  Hängt ab von: linux-image-new" """,
    "apt-get": """case " $* " in
      *" update "*) touch "$NEW_LISTS";;
      *" download linux-image-new "*) if [ -e "$NEW_LISTS" ]; then touch linux-image-new.deb; else echo "E: 404"; exit 100; fi;;
      *) exit 100;;
    esac""",
    "dpkg-deb": """mkdir -p boot && echo kernel >boot/vmlinuz-1 && tar -c ./boot/vmlinuz-1""",
    "sudo": """shift; exec "$@" """,
}


class Kernel(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "bin").mkdir()
        for name, text in TOOLS.items():
            self.tool(name, text)

    def tool(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.folder}/calls"\n{text}\n')
        path.chmod(0o755)

    def start(self):
        environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "LC_ALL": "de_DE.UTF-8",
                                    "NEW_LISTS": str(self.folder / "lists")}
        return subprocess.Popen(["bash", "-c", f"source {TREE}/cmake/setup.sh; ensure_kernel yes"], cwd=self.folder, env=environment,
                                stderr=subprocess.PIPE, text=True)

    def run_once(self):
        process = self.start()
        return process.communicate(timeout=60)[1]

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()

    def test_a_kernel_is_unpacked_whatever_the_language(self):
        (self.folder / "lists").touch()
        self.run_once()
        self.assertEqual((self.folder / "build/linux/vmlinuz").read_text(), "kernel\n")
        self.assertFalse(any("update" in call for call in self.calls()))

    def test_old_lists_are_brought_up_to_date(self):
        said = self.run_once()
        self.assertTrue((self.folder / "build/linux/vmlinuz").exists(), said)
        self.assertEqual(sum(" update" in call for call in self.calls()), 1)

    def test_a_name_that_apt_does_not_know_is_said(self):
        self.tool("apt-cache", "true")
        said = self.run_once()
        self.assertIn("that failed, so nothing is emulated: apt-cache names no package that linux-image-cloud-amd64 depends on", said)
        self.assertFalse((self.folder / "build/linux").exists())

    def test_of_two_at_the_same_time_one_fetches(self):
        (self.folder / "lists").touch()
        both = [self.start(), self.start()]
        for process in both:
            process.communicate(timeout=60)
        self.assertTrue((self.folder / "build/linux/vmlinuz").exists())
        self.assertEqual(sum(" download " in call for call in self.calls()), 1)


if __name__ == "__main__":
    unittest.main()
