"""Tests of sweeps on hosts that ssh reaches: two sshd of this user on loopback, each with a home of its own. What was killed goes on, no
run is lost or made twice, no block spans hosts, and wrong input is one line.

CTest runs it; it is skipped without sshd or parallel. By hand: python3 experiments/hosts_test.py
"""
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import experiment_testing
from experiment_testing import TREE, fake_in

import results  # noqa: E402
import sweep_test  # noqa: E402

ALL = sweep_test.ALL
SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
ENDS_WITHIN = 120   # seconds


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def keep_trying(what, said):
    """Waits until the function returns something true."""
    until = time.monotonic() + ENDS_WITHIN
    while time.monotonic() < until:
        if what():
            return
        time.sleep(.05)
    raise AssertionError(said)


def children_of(process):
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False)
    return done.stdout.split()


def with_version(fake):
    """Returns a fake harness that also answers --version, as an engine asks on each host."""
    first, rest = fake.split("\n", 1)
    return f'{first}\nimport sys\nif sys.argv[1] == "--version": sys.exit()\n{rest}'


class Site:
    """Hosts ant and bee: each an sshd on loopback with keys and a home in the folder. The program ssh in bin knows them."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = {}
        for key in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
        if os.getuid() == 0:
            pathlib.Path("/run/sshd").mkdir(exist_ok=True)   # sshd of root refuses to start without it
        config = ""
        for host in ("ant", "bee"):
            home, port = folder / host, free_port()
            home.mkdir()
            (folder / f"{host}.sshd").write_text(f"""ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
ForceCommand export HOME={home} XDG_RUNTIME_DIR={home} PATH={folder}/tools:"$PATH"; cd && eval "$SSH_ORIGINAL_COMMAND"
""")
            config += f"Host {host}\n Port {port}\n"
            self.start(host)
        (folder / "ssh.config").write_text(config + f"""Host *
 HostName 127.0.0.1
 IdentityFile {folder}/user_key
 IdentitiesOnly yes
 UserKnownHostsFile {folder}/known
 StrictHostKeyChecking accept-new
""")
        (folder / "bin").mkdir()
        (folder / "bin/ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh.config "$@"\n')
        (folder / "bin/ssh").chmod(0o755)
        (folder / "hosts").write_text("ant\n\nbee   # a comment\n")

    def start(self, host):
        """Starts the sshd of a host, in a process group of its own."""
        config = self.folder / f"{host}.sshd"
        self.daemons[host] = subprocess.Popen([SSHD, "-D", "-E", self.folder / f"{host}.log", "-f", config], start_new_session=True)
        port = int(config.read_text().split("\n", 1)[0].rpartition(":")[2])

        def answers():
            with socket.socket() as one:
                return one.connect_ex(("127.0.0.1", port)) == 0

        keep_trying(answers, f"the sshd of {host} does not answer")

    def kill(self, host):
        """Kills the sshd of a host and its connections, as a crash would; runs end since their connection does."""
        daemon = self.daemons.pop(host)
        sessions = children_of(daemon.pid)
        daemon.kill()
        daemon.wait()
        for session in sessions:   # of root: the part with all rights, whose end ends the user's part
            for process in (session, *children_of(session)):
                try:
                    os.kill(int(process), signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def stop(self):
        for host in list(self.daemons):
            self.kill(host)


class SweepsOnHosts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.site = Site(self.folder)
        self.addCleanup(self.site.stop)
        text = sweep_test.FAKE.replace("pathlib.Path(__file__).parent", f"pathlib.Path({str(self.folder)!r})")
        self.harness = fake_in(self.folder, with_version(text))
        self.out = self.folder / "out"
        self.environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}"}

    def command(self, *more, hosts="hosts"):
        return ["/usr/bin/python3", "-B", str(TREE / "experiments/sweep.py"), str(self.harness), f"--out={self.out}",
                f"--on=hosts:{self.folder}/{hosts}", "--replicates=2", *sweep_test.LISTS, *more]

    def sweep(self, *more, hosts="hosts"):
        command = self.command(*more, hosts=hosts)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=self.environment)

    def started(self, before):
        """Starts a sweep, and returns it when both hosts wait in their run behind so many others."""
        (self.folder / "hold").write_text(str(before))
        process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(process.communicate)

        def both_wait():
            return len(self.runs()) == before and all(f" on {host}: " in self.status() for host in ("ant", "bee"))

        keep_trying(both_wait, "the hosts do not begin to run")
        return process

    def status(self):
        command = ["/usr/bin/python3", "-B", str(TREE / "experiments/sweep.py"), "", "status", str(self.out)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout

    def runs(self):
        path = self.folder / "runs"
        return sorted(path.read_text().splitlines()) if path.exists() else []

    def kept(self):
        """Returns the runs in the results, as `runs` does. Each block has runs of one host."""
        records = results.records_in(self.out / "results.jsonl")
        for block in (0, 1):
            self.assertLessEqual(len({record["node"] for record in records if record["replicate"] == block}), 1, records)
        return sorted(f"{' '.join(word.split('=')[1] for word in record['arguments'])} {record['replicate']}" for record in records)

    def test_each_point_runs_once_in_each_block_as_on_one_machine(self):
        done = self.sweep()
        self.assertEqual((done.returncode, done.stdout), (0, f"12 of 12 runs are in {self.out}/results.jsonl\n"), done.stderr)
        self.assertEqual(self.runs(), ALL)
        self.assertEqual(self.kept(), ALL)
        records = results.records_in(self.out / "results.jsonl")
        self.assertEqual({record["node"] for record in records}, {"ant", "bee"})
        self.assertEqual(list((self.out / "tasks").iterdir()), [])
        for host in ("ant", "bee"):
            (files,) = (self.folder / host / ".cache/latchlab").iterdir()
            self.assertEqual({path.name for path in files.iterdir()}, {"harness", "block.sh", "host.sh"})
        self.assertEqual(self.sweep().returncode, 0)
        self.assertEqual(self.runs(), ALL)   # nothing ran again

    def test_tasks_of_a_killed_driver_go_on_and_no_run_is_lost_or_made_twice(self):
        process = self.started(4)
        process.kill()
        process.wait()
        (self.folder / "hold").unlink()
        self.assertEqual(self.sweep().returncode, 0)
        self.assertEqual(self.runs(), ALL)
        self.assertEqual(self.kept(), ALL)

    def test_an_interruption_ends_the_runs_and_the_same_command_goes_on(self):
        process = self.started(4)
        process.send_signal(signal.SIGINT)
        self.assertIn("sweep: interrupted; the same command goes on", process.communicate(timeout=ENDS_WITHIN)[1])
        self.assertEqual(process.returncode, 130)
        (self.folder / "hold").unlink()
        self.assertEqual(self.sweep().returncode, 0)
        self.assertEqual(self.kept(), ALL)
        self.assertEqual(self.runs(), ALL)   # had a run gone on, it would be here twice

    def test_the_point_at_which_a_task_is_killed_fails_and_the_others_run(self):
        (self.folder / "kill").write_text("2")
        done = self.sweep()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.kept(), [run for run in ALL if run.split()[1] != "2"])
        failed = [line for line in done.stderr.splitlines() if line.startswith("sweep: failed: ")]
        self.assertEqual(len(failed), 4)
        self.assertTrue(all(line.endswith("--threads=2: killed by SIGKILL") for line in failed), failed)
        (self.folder / "kill").unlink()
        self.assertEqual(self.sweep().returncode, 0)   # what failed is tried again
        self.assertEqual(self.kept(), ALL)
        self.assertEqual(self.runs(), ALL)

    def test_a_block_whose_host_dies_begins_anew_on_another_one(self):
        process = self.started(4)
        keep_trying(lambda: len(self.kept()) == 4, "the driver does not collect the results")
        dying = results.records_in(self.out / "results.jsonl")[0]["node"]   # one that has measured something
        other = {"ant": "bee", "bee": "ant"}[dying]
        self.site.kill(dying)
        (self.folder / "hold").unlink()
        said = process.communicate(timeout=ENDS_WITHIN)[1]
        self.assertEqual(process.returncode, 1, said)
        failed = [line for line in said.splitlines() if line.startswith("sweep: failed: ")]
        self.assertEqual(len(failed), 1)
        self.assertIn(f"{dying}: the connection was lost: ", failed[0])
        records = results.records_in(self.out / "results.jsonl")
        self.assertEqual(({record["node"] for record in records}, len(self.kept())), ({other}, 11))
        aside = results.records_in(self.out / "aside.jsonl")
        self.assertEqual({record["node"] for record in aside}, {dying})
        self.site.start(dying)
        self.assertEqual(self.sweep().returncode, 0)
        self.assertEqual(self.kept(), ALL)

    def test_an_experiment_has_results_and_figures_of_each_kind(self):
        (self.folder / "kinds").write_text("ant haswell\nbee zen4\n")
        fake = experiment_testing.FAKE.replace("pathlib.Path(__file__).parent", f"pathlib.Path({str(self.folder)!r})")
        self.harness.write_text(with_version(fake))
        python = experiment_testing.DRAWS if experiment_testing.DRAWS.exists() else "/usr/bin/python3"
        on = f"--on=hosts:{self.folder}/kinds"
        command = [python, "-B", TREE / "experiments/run.py", self.harness, "policies", f"--out={self.out}", on]
        dry = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=False, timeout=300, env=self.environment)
        size = len(dry.stdout.splitlines())
        nodes = "on 1 of kind haswell and 1 of kind zen4"
        self.assertRegex(dry.stderr, rf"^{size} points, \d+ blocks, .*, {nodes}; (\d+) of \1 runs left: no estimate")
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        for kind, node in (("haswell", "ant"), ("zen4", "bee")):
            records = results.records_in(self.out / kind / "results.jsonl")
            self.assertEqual({record["node"] for record in records}, {node})
            self.assertIn(f"\nkind {kind}:\n", done.stdout)
            self.assertEqual((self.out / kind / "figure.svg").exists(), python == experiment_testing.DRAWS)
        self.assertIn("haswell: ", self.status())

    def test_a_host_builds_a_harness_for_a_processor_that_this_machine_has_not(self):
        tree = self.folder / "tree"   # its sources are the script that builds, a file that differs from the commit, and a new one
        (tree / "experiments").mkdir(parents=True)
        shutil.copy(TREE / "experiments/kinds.py", tree / "experiments")
        (tree / ".gitignore").write_text("build\n")
        (tree / "changed").write_text("before")
        git = ["git", "-C", tree, "-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message=all"]):
            subprocess.run([*git, *words], check=True)
        (tree / "changed").write_text("after")
        (tree / "new").touch()
        tools = self.folder / "tools"   # a fake cmake "builds" the fake harness
        tools.mkdir()
        (tools / "cmake").write_text(f"""#!/bin/bash
            [ "$1" = --build ] || exit 0
            echo "$HOME $(cat changed) $(ls new)" >>{self.folder}/built
            [ ! -e {self.folder}/broken ] || {{ echo 'x.h:1: error: no such header' >&2; exit 1; }}
            cp {self.harness} "$2/harness"; echo "# built" >>"$2/harness"\n""")
        (tools / "cmake").chmod(0o755)
        (self.folder / "hosts").write_text("ant old\nbee new\n")
        # This machine says that it has another processor than its hosts.
        script = ("import sys; sys.path[:0] = [sys.argv.pop(1)]; import pathlib, runpy, kinds; from engines import kind_builds; "
                  f"real = kinds.processor; kinds.processor = lambda *given: real(*given) if given else ('other', ''); "
                  f"kind_builds.TREE = pathlib.Path({str(tree)!r}); runpy.run_module('sweep', run_name='__main__')")

        def sweep():
            words = ["/usr/bin/python3", "-B", "-c", script, str(TREE / "experiments"), *self.command()[3:]]
            return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, env=self.environment)

        (self.folder / "broken").touch()
        done = sweep()
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], "ant: no harness could be built: x.h:1: error: no such header; see ~/.cache/")
        self.assertFalse(self.out.exists())
        (self.folder / "broken").unlink()
        done = sweep()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "built").read_text().splitlines(), [f"{self.folder}/ant after new"] * 2)   # once for both kinds
        (whole,) = (tree / "build/kinds").glob("*/harness")
        self.assertTrue(whole.read_text().endswith("# built\n"))
        for kind, node in (("old", "ant"), ("new", "bee")):
            records = results.records_in(self.out / kind / "results.jsonl")
            self.assertEqual({(each["node"], each["binary"]) for each in records}, {(node, results.digest(whole))})
        self.assertEqual(sweep().returncode, 0)
        self.assertEqual(len((self.folder / "built").read_text().splitlines()), 2)

    def test_names_of_one_machine_share_its_lock(self):
        home = self.folder / "ant"
        with open(home / f"latchlab-{os.getuid()}.lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            fake = home / "flock"   # waits for nothing
            fake.write_text(f'#!/bin/sh\nexec {shutil.which("flock")} -n 9\n')
            fake.chmod(0o755)
            for name in ("ant", "alias"):
                done = subprocess.run(["bash", TREE / "experiments/engines/host.sh", name], input="", capture_output=True, text=True,
                                      env={**os.environ, "XDG_RUNTIME_DIR": str(home), "PATH": f"{home}:{os.environ['PATH']}"},
                                      check=False, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (75, "another task of a sweep runs there\n"))

    def test_a_host_that_does_not_answer_is_one_line_before_anything_starts(self):
        self.site.kill("ant")
        done = self.sweep()
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1))
        self.assertIn("sweep: --on=hosts: ant does not answer: ", done.stderr)
        self.assertIn("Connection refused", done.stderr)
        self.assertFalse(self.out.exists())

    def test_wrong_input_is_one_line_and_exit_status_2(self):
        for text, said in (
            ("", "names no host"),
            ("ant\nbee zen4\n", "wrong:2: either every host has a kind, or none has"),
            ("ant\n\nant\n", "wrong:3: 'ant' is there twice"),
            ("ant haswell 4", "wrong:1: '4' is too much"),
            ("-oProxyCommand=x", "wrong:1: '-oProxyCommand=x' is no host as [USER@]NAME"),
            ("ant tasks", "wrong:1: 'tasks' is no name of a kind"),
        ):
            with self.subTest(text=text):
                (self.folder / "wrong").write_text(text)
                done = self.sweep(hosts="wrong")
                self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
                self.assertIn(said, done.stderr)
        self.assertIn("nowhere: No such file", self.sweep(hosts="nowhere").stderr)
        self.harness.write_text(self.harness.read_text().replace("sys.exit()", 'sys.exit("it lacks a library")', 1))
        said = "sweep: --on=hosts: ant cannot run tasks: the harness does not run there: it lacks a library; bee"
        self.assertRegex(self.sweep().stderr, f"^{said}")
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    packages = {"openssh-server": SSHD, "openssh-client": shutil.which("ssh"), "parallel": shutil.which("parallel")}
    missing = [package for package, there in packages.items() if not there]
    if missing:
        print(f"skipped: there is no package {', '.join(missing)}")
        sys.exit(77)
    unittest.main()
