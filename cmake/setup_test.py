"""Tests of cmake/setup.sh with fake tools in place of apt and dpkg, which also fail or give unusual answers.

Run by CTest; by hand: python3 cmake/setup_test.py
"""

import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]

# Each tool records its calls. apt-cache answers in the language of the locale. The archive has the package after an update.
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


class Tools(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "bin").mkdir()
        (self.folder / "calls").touch()
        for name, text in TOOLS.items():
            self.tool(name, text)

    def tool(self, name, text):
        path = self.folder / "bin" / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.folder}/calls"\n{text}\n')
        path.chmod(0o755)

    def start(self, call, **streams):
        environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "LC_ALL": "de_DE.UTF-8",
                                    "NEW_LISTS": str(self.folder / "lists")}
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
        return subprocess.Popen(["bash", "-c", f"source {TREE}/cmake/setup.sh; {call}"], cwd=self.folder, env=environment,
                                text=True, **streams)

    def calls(self):
        return (self.folder / "calls").read_text().splitlines()


class Question(Tools):
    """Tests of ensure_packages on a machine without g++, catch2 and perf. dpkg-query and apt-get are fakes; nothing is installed."""

    CALL = "ensure_packages ask g++ cmake catch2 linux-perf; echo installed"

    def setUp(self):
        super().setUp()
        self.tool("dpkg-query", 'echo "installed cmake"')
        self.tool("apt-get", "true")
        self.tool("id", "echo 0")

    def answer(self, answer):
        """Returns (stdout, terminal output, exit status) for a user who types `answer` when asked, once."""
        ours, theirs = pty.openpty()
        process = self.start(self.CALL, stdin=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        while b"[Y/n] " not in shown:
            shown += os.read(ours, 1000)
        os.write(ours, answer)
        stdout = process.communicate(timeout=60)[0]
        while True:
            try:
                piece = os.read(ours, 1000)
            except OSError:   # the other end is closed
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
        return stdout, shown.decode(), process.returncode

    def installs(self):
        return [call for call in self.calls() if call.startswith("apt-get") and " install " in call]

    def test_enter_installs(self):
        stdout, shown, status = self.answer(b"\n")
        self.assertEqual((stdout, status), ("installed\n", 0), shown)
        self.assertEqual(len(self.installs()), 1)
        self.assertTrue(self.installs()[0].endswith("g++ catch2 linux-perf"))
        self.assertIn("to build and run the harness: g++\r\n", shown)
        self.assertIn("to test it: catch2\r\n", shown)
        self.assertIn("to profile: linux-perf\r\n", shown)
        self.assertEqual(shown.count("[Y/n]"), 1)

    def test_no_and_end_of_input_install_nothing_and_name_the_command(self):
        for answer in (b"n\n", b"what?\n", b"\x04"):
            with self.subTest(answer=answer):
                stdout, shown, status = self.answer(answer)
                self.assertEqual(status, 2, shown)
                self.assertEqual(stdout, "sudo apt-get update && sudo apt-get install -y --no-install-recommends g++ catch2 linux-perf\n")
                self.assertEqual(self.installs(), [])

    def test_without_a_terminal_nobody_is_asked(self):
        process = self.start(self.CALL)
        stdout, stderr = process.communicate(timeout=60)
        self.assertEqual((stdout, process.returncode), ("installed\n", 0), stderr)
        self.assertNotIn("[Y/n]", stderr)
        self.assertEqual(len(self.installs()), 1)

    def test_each_missing_package_is_named_once(self):
        for option in ("ask", "yes", "no"):
            with self.subTest(option=option):
                stderr = self.start(self.CALL.replace("ask", option)).communicate(timeout=60)[1]
                self.assertIn("missing packages:\n  to build and run the harness: g++\n  to test it: catch2\n", stderr)
                self.assertEqual([stderr.count(package) for package in ("g++", "catch2", "cmake")], [1, 1, 0], stderr)

    def test_options_decide_without_a_question(self):
        for option, installs, status in (("--yes", 1, 0), ("--no-install", 0, 2)):
            with self.subTest(option=option):
                (self.folder / "calls").write_text("")
                ours, theirs = pty.openpty()
                call = f'take_install --a {option} --b; echo "${{arguments[@]}}"; ensure_packages "$install" g++'
                process = self.start(call, stdin=theirs, stderr=theirs)
                os.close(theirs)
                stdout = process.communicate(timeout=60)[0]
                os.close(ours)
                self.assertEqual((stdout.splitlines()[0], process.returncode), ("--a --b", status))
                self.assertEqual(len(self.installs()), installs)


class Kernel(Tools):
    def run_once(self):
        return self.start("ensure_kernel yes").communicate(timeout=60)[1]

    def test_a_kernel_is_unpacked_in_any_locale(self):
        (self.folder / "lists").touch()
        self.run_once()
        self.assertEqual((self.folder / "build/linux/vmlinuz").read_text(), "kernel\n")
        self.assertFalse(any("update" in call for call in self.calls()))

    def test_old_lists_are_updated(self):
        said = self.run_once()
        self.assertTrue((self.folder / "build/linux/vmlinuz").exists(), said)
        self.assertEqual(sum(" update" in call for call in self.calls()), 1)

    def test_a_name_that_apt_does_not_know_is_reported(self):
        self.tool("apt-cache", "true")
        said = self.run_once()
        self.assertIn("a kernel could not be unpacked, so no machine is emulated: apt-cache names no package that linux-image-cloud-amd64 depends on", said)
        self.assertFalse((self.folder / "build/linux").exists())

    def test_one_of_two_simultaneous_calls_fetches(self):
        (self.folder / "lists").touch()
        both = [self.start("ensure_kernel yes"), self.start("ensure_kernel yes")]
        for process in both:
            process.communicate(timeout=60)
        self.assertTrue((self.folder / "build/linux/vmlinuz").exists())
        self.assertEqual(sum(" download " in call for call in self.calls()), 1)


class Modules(unittest.TestCase):
    """An environment of Python with a pip of our own, which notes what it is asked for and fails if there is a file `broken`."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        tools = self.folder / "build/python/bin"
        tools.mkdir(parents=True)
        for name in ("pip", "python"):
            text = f'echo "$*" >>"{self.folder}/calls"; [ ! -e "{self.folder}/broken" ] || {{ echo "ERROR: no network"; exit 1; }}'
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)

    def ensure(self, *words):
        """The exit status and what is said."""
        script = f'source {TREE}/cmake/setup.sh; ensure_modules "$@"'
        done = subprocess.run(["bash", "-c", script, "bench", *words], cwd=self.folder, capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stderr

    def calls(self):
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def test_each_use_is_installed_once(self):
        for _ in range(2):
            for use, module in (("Parquet", "pyarrow>=15"), ("notebooks", "pandas>=2")):
                self.assertEqual(self.ensure("yes", use, module)[0], 0)
        self.assertEqual([call.split()[-1] for call in self.calls()], ["pyarrow>=15", "pandas>=2"])
        self.ensure("yes", "Parquet", "pyarrow>=16")
        self.assertEqual(len(self.calls()), 3)

    def test_what_fails_is_said_and_tried_again(self):
        (self.folder / "broken").touch()
        status, said = self.ensure("yes", "Parquet", "pyarrow")
        self.assertEqual(status, 1)
        self.assertIn("the installation failed, so there is no Parquet: ERROR: no network", said)
        (self.folder / "broken").unlink()
        self.assertEqual(self.ensure("yes", "Parquet", "pyarrow")[0], 0)

    def test_no_install_installs_nothing(self):
        status, said = self.ensure("no", "Parquet", "pyarrow")
        self.assertEqual((status, self.calls()), (1, []))
        self.assertIn("Parquet needs build/python with pyarrow from PyPI, which --no-install leaves alone", said)


if __name__ == "__main__":
    unittest.main()
