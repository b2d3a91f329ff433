"""The server as a program: its command line, its end, its metrics, its secrets, and its unit for systemd.

CTest runs the test. By hand: LATCHLAB_SERVER=build/release/server_tested python3 services/kv/serve_test.py
"""

import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

from conformance_test import SANITIZED

TREE = pathlib.Path(__file__).resolve().parents[2]
SERVER = os.path.abspath(os.environ.get("LATCHLAB_SERVER") or TREE / "build/release/server_asked")
PAIRS = (("cuckoo", "olc"), ("art", "rowex"), ("memc3", "rwspin"), ("simdht", "spin"))   # those of server_tested


def forbid_uring():
    """Lets no io_uring be made by this process and those that it starts."""
    set_no_new_privileges, set_filter = (38, 1), (22, 2)   # of prctl
    setup, eperm = 425, 0x00050001
    # Load the number of the call; if it is io_uring_setup, answer EPERM; allow others.
    words = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, setup, 0x06, 0, 0, eperm, 0x06, 0, 0, 0x7fff0000)
    code = ctypes.create_string_buffer(words, len(words))
    program = ctypes.create_string_buffer(struct.pack("H6xP", 4, ctypes.addressof(code)), 16)
    prctl = ctypes.CDLL(None).prctl
    if prctl(*set_no_new_privileges, 0, 0, 0) != 0 or prctl(*set_filter, program) != 0:
        raise OSError("the kernel takes no filter of system calls")


class Serve(unittest.TestCase):
    EVENTS = "epoll"

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    @contextlib.contextmanager
    def served(self, *options):
        """Runs a server at a path, and gives the process and the path once it listens."""
        path = self.folder / "socket"
        process = subprocess.Popen([SERVER, f"--events={self.EVENTS}", f"--listen=unix:{path}", *options], stderr=subprocess.PIPE, text=True)
        try:
            self.assertEqual(process.stderr.readline(), f"serve: listens at unix:{path}\n")
            yield process, path
        finally:
            process.terminate()
            rest = process.communicate(timeout=60)[1]
            self.assertEqual((rest, process.returncode), ("", 0))

    @staticmethod
    def ask(path, request):
        """Sends a request and the end of it; returns all answers."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(str(path))
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(65536), b""))

    def refused(self, *options, **how):
        done = subprocess.run([SERVER, *options], capture_output=True, text=True, timeout=60, check=False, **how)
        self.assertEqual((done.stdout, done.returncode), ("", 2), done.stderr)
        self.assertRegex(done.stderr, r"\Aserve: [^\n]+\n\Z")
        return done.stderr

    def test_every_pair_serves_both_protocols(self):
        for index, policy in PAIRS:
            with self.subTest(index=index, policy=policy), self.served(f"--index={index}", f"--sync={policy}", "--threads=2") as (_, path):
                self.assertEqual(self.ask(path, b"set a 1 0 2\r\nhi\r\nget a b\r\n"), b"STORED\r\nVALUE a 1 2\r\nhi\r\nEND\r\n")
                self.assertEqual(self.ask(path, b"*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n"), b"*2\r\n$2\r\nhi\r\n$-1\r\n")

    def test_a_pipeline_of_100000_commands_is_answered(self):
        with self.served("--gather=64") as (_, path):
            self.assertEqual(self.ask(path, b"incr n 1\r\n" * 100_000), b"NOT_FOUND\r\n" * 100_000)
            mixed = self.ask(path, b"set n 0 0 1\r\n0\r\n" + b"incr n 1\r\nget x\r\n" * 50_000 + b"get n\r\n")
            self.assertTrue(mixed.endswith(b"END\r\nVALUE n 0 5\r\n50000\r\nEND\r\n"), mixed[-100:])

    def test_wrong_input_is_one_line(self):
        for options, words in ((["--index=nosuch"], "--index: there is no store over 'nosuch'; there are "),
                               (["--index=cukoo"], "; did you mean 'cuckoo'?"),
                               (["--sync=olk"], "; did you mean 'olc'?"),
                               (["--hugepages=thp", "--limit=17M", "--threads=64"], "--limit: with --hugepages=thp and 64 loops it is at least 272Mi"),
                               (["--index=null", "--sync=none", "--limit=1G"], "--limit: a store over null cannot evict"),
                               (["--index=simdht:key=32,value=32", "--sync=spin"], "a store needs keys and values of 64 bits"),
                               (["--sync=nosuch"], "--sync: cuckoo has no store under 'nosuch'; there are "),
                               (["--threads=0"], "--threads: '0' is not a number from 1 to 1024"),
                               (["--listen=0.0.0.0:1"], "--auth=FILE, or --open-to-the-network for all"),
                               (["--listen=nowhere"], "write HOST:PORT, [HOST]:PORT, unix:PATH, shm:PATH or ucx:HOST:PORT"),
                               (["--listen=unix:/no/such/folder/x"], "cannot bind: No such file or directory"),
                               (["--metrics=0.0.0.0:1"], "only this one may"),
                               (["--metrics=shm:/dev/shm/x"], "--metrics: 'shm:/dev/shm/x' does not take HTTP; write HOST:PORT or unix:PATH"),
                               (["--auth=/no/such/file"], "--auth: /no/such/file: cannot be read"),
                               (["--events=poll"], "--events: 'poll' is not epoll or io_uring"),
                               (["--frobnicate"], "serve: '--frobnicate' has no meaning here; there are "),
                               (["--index=memc3:slots=5", "--sync=rwspin"], "index memc3 has no options"),
                               (["--index=null", "--sync=none:5"], "store null"),
                               (["--index=null"], "--sync: null has no store under 'olc'; write --sync=none")):
            with self.subTest(options=options):
                self.assertIn(words, self.refused(*options))

    def test_an_address_that_is_taken_is_refused(self):
        with self.served() as (_, path):
            self.assertIn("Address already in use", self.refused(f"--listen=unix:{path}"))
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            other.bind(("127.0.0.1", 0))
            other.listen()
            for threads in (1, 2):
                taken = f"127.0.0.1:{other.getsockname()[1]}"
                self.assertIn(f"--listen: {taken}: cannot bind: Address already in use", self.refused(f"--listen={taken}", f"--threads={threads}"))
            self.assertIn(f"--metrics: {taken}: cannot bind: Address already in use",
                          self.refused(f"--listen=unix:{self.folder / 'other'}", f"--metrics={taken}"))

    def test_all_loops_share_the_port_that_the_kernel_chose(self):
        with self.served("--listen=127.0.0.1:0", "--threads=4") as (process, _):
            port = int(re.fullmatch(r"serve: listens at 127\.0\.0\.1:(\d+)\n", process.stderr.readline())[1])
            for _ in range(64):
                with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
                    client.sendall(b"get a\r\n")
                    self.assertEqual(client.recv(64), b"END\r\n")

    @unittest.skipIf(SANITIZED, "the sanitizer has memory of its own")
    def test_a_limit_holds_for_the_memory_of_the_process(self):
        def resident(process):
            return 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{process.pid}/status").read_text())[1])

        limit = 32 << 20
        with self.served(f"--limit={limit}") as (process, path):
            begin = resident(process)
            value = b"x" * 100
            for part in range(40):
                self.ask(path, b"".join(b"set key%d 0 0 100 noreply\r\n%b\r\n" % (10_000 * part + i, value) for i in range(10_000)))
            self.assertNotIn(b"STAT evictions 0\r\n", self.ask(path, b"stats\r\n"))
            # The rest is of the loop, and what malloc cannot use between the blocks.
            self.assertLess(resident(process) - begin, 1.15 * limit)

    @unittest.skipIf(SANITIZED, "the sanitizer needs the addresses that this test takes away")
    def test_a_thread_that_cannot_be_made_ends_the_server_with_one_line(self):
        words = ["prlimit", "--as=400000000", SERVER, f"--listen=unix:{self.folder / 'few'}", "--threads=200"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], r"\Aserve: (memory is out|Resource temporarily unavailable)")

    def test_a_stop_answers_all_that_has_come(self):
        get, answer = b"get k\r\n", b"VALUE k 0 1\r\nv\r\nEND\r\n"
        with self.served() as (process, path), contextlib.ExitStack() as ends:
            self.ask(path, b"set k 0 0 1\r\nv\r\n")

            def connected():
                client = ends.enter_context(socket.socket(socket.AF_UNIX))
                client.settimeout(60)
                client.connect(str(path))
                return client

            clients = [connected() for _ in range(100)]
            for client in clients:
                client.sendall(get)
                self.assertEqual(client.recv(len(answer), socket.MSG_WAITALL), answer)
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            clients += [connected() for _ in range(100)]   # which the server has not accepted
            for client in clients:
                client.sendall(20 * get)
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
            for number, client in enumerate(clients):
                self.assertEqual(b"".join(iter(lambda client=client: client.recv(1 << 16), b"")), 20 * answer, number)
            self.assertEqual(process.wait(60), 0)

    def test_a_refused_address_leaves_no_mailboxes(self):
        path = f"/dev/shm/serve_test_{os.getpid()}"
        self.refused(f"--listen=shm:{path}", "--listen=unix:/no/such/folder/x")
        self.assertFalse(pathlib.Path(path).exists())
        self.assertIn("mailboxes serve 64 loops, not 65", self.refused(f"--listen=shm:{path}", "--threads=65"))

    def test_files_of_sockets_and_mailboxes_go_with_the_server(self):
        boxes, metrics = pathlib.Path(f"/dev/shm/serve_test_{os.getpid()}"), self.folder / "metrics"
        with self.served(f"--listen=shm:{boxes}", f"--metrics=unix:{metrics}") as (process, path):
            process.stderr.readline()
            for file in (path, boxes, metrics):
                self.assertTrue(file.exists(), file)
        for file in (path, boxes, metrics):
            self.assertFalse(file.exists(), file)
        with self.served() as (_, path):   # a file that another server has put there stays
            path.unlink()
            path.write_text("another's")
        self.assertEqual(path.read_text(), "another's")
        path.unlink()

    def test_files_of_a_killed_server_are_taken_over(self):
        boxes, path = pathlib.Path(f"/dev/shm/serve_test_{os.getpid()}"), self.folder / "killed"
        words = [SERVER, f"--listen=unix:{path}", f"--listen=shm:{boxes}"]
        self.addCleanup(lambda: boxes.unlink(missing_ok=True))
        # In namespaces of their own, so that both servers have the same number, where this is allowed.
        apart = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        is_apart = subprocess.run([*apart, "true"], capture_output=True, check=False).returncode == 0
        if is_apart:
            words = apart + words
        for _ in range(2):
            with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
                try:
                    for place in (f"unix:{path}", f"shm:{boxes}"):
                        self.assertEqual(process.stderr.readline(), f"serve: listens at {place}\n")
                    self.assertEqual(self.ask(path, b"get a\r\n"), b"END\r\n")
                    self.assertIn("Address already in use", self.refused(f"--listen=shm:{boxes}"))
                    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                    os.kill(int(children[0]) if is_apart else process.pid, signal.SIGKILL)
                    process.wait(60)
                finally:
                    process.kill()
            self.assertTrue(boxes.exists())

    def test_a_slow_client_of_the_metrics_delays_no_end(self):
        path = self.folder / "metrics"
        with self.served(f"--metrics=unix:{path}"), socket.socket(socket.AF_UNIX) as slow:
            slow.connect(str(path))
            slow.sendall(b"G")
            ends = threading.Event()

            def drip():
                with contextlib.suppress(OSError):
                    while not ends.wait(.2):
                        slow.sendall(b"G")

            thread = threading.Thread(target=drip)
            thread.start()
            self.assertIn(b"200 OK", self.ask(path, b"GET /metrics HTTP/1.0\r\n\r\n"))
            ends.set()
            thread.join()

    def test_strangers_may_not_send_much(self):
        secrets = self.folder / "secrets"
        secrets.write_text("default:secret\n")
        secrets.chmod(0o600)
        with self.served(f"--auth={secrets}") as (_, path):
            for request in (b"*11\r\n", b"*2\r\n$16385\r\n"):
                self.assertIn(b"-ERR Protocol error: invalid ", self.ask(path, request))
            self.assertEqual(self.ask(path, b"AUTH secret\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$20000\r\n" + 20_000 * b"x" + b"\r\n"), b"+OK\r\n+OK\r\n")

    def test_secrets_open_the_server(self):
        secrets = self.folder / "secrets"
        secrets.write_text("default:open sesame\n")
        secrets.chmod(0o600)
        with self.served(f"--auth={secrets}") as (_, path):
            self.assertEqual(self.ask(path, b"get a\r\n"), b"CLIENT_ERROR unauthenticated\r\n")
            self.assertEqual(self.ask(path, b"PING\r\n"), b"-NOAUTH Authentication required.\r\n")
            self.assertEqual(self.ask(path, b'AUTH "open sesame"\r\nPING\r\n'), b"+OK\r\n+PONG\r\n")
            self.assertEqual(self.ask(path, b"set x 0 0 19\r\ndefault open sesame\r\nget a\r\n"), b"STORED\r\nEND\r\n")
        secrets.chmod(0o644)
        self.assertIn("chmod 600", self.refused(f"--auth={secrets}"))

    def test_metrics_tell_the_counts(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with self.served(f"--metrics=127.0.0.1:{port}") as (_, path):
            self.ask(path, b"set a 0 0 1\r\nx\r\nget a b\r\n")

            def scrape(*pieces):
                with socket.create_connection(("127.0.0.1", port)) as client:
                    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    for piece in pieces:
                        client.sendall(piece)
                    return b"".join(iter(lambda: client.recv(65536), b"")).decode()

            text = scrape(b"GET /met", b"rics HTTP/1.1\r\nHost: x\r\n", b"\r\n")
            self.assertTrue(text.startswith("HTTP/1.0 200 OK\r\n"))
            self.assertTrue(scrape(b"GET /metrics?x=1 HTTP/1.1\r\n\r\n").startswith("HTTP/1.0 200 OK\r\n"))
            head = scrape(b"HEAD /metrics HTTP/1.1\r\n\r\n")
            self.assertRegex(head, r"\AHTTP/1.0 200 OK\r\n[^\n]*\nContent-Length: [1-9]\d*\r\n\r\n\Z")
            self.assertTrue(scrape(b"GET /other HTTP/1.1\r\n\r\n").startswith("HTTP/1.0 404 "))
            for line in ("latchlab_get_hits_total 1", "latchlab_get_misses_total 1", "latchlab_items 1"):
                self.assertIn(f"\n{line}\n", text)

    def test_a_signal_ends_it_after_the_answers(self):
        with self.served() as (process, path), socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"version\r\n")
            self.assertTrue(client.recv(100).startswith(b"VERSION"))
            process.send_signal(signal.SIGINT)
            self.assertEqual(client.recv(100), b"")
            self.assertEqual(process.wait(60), 0)

    def test_the_unit_is_one_that_systemd_takes(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("there is no systemd-analyze")
        unit = self.folder / "latchlab-kv.service"
        text = (TREE / "services/kv/latchlab-kv.service").read_text()
        unit.write_text(re.sub("(?m)^ExecStart=[^ ]+", f"ExecStart={SERVER}", text))
        done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotIn("latchlab-kv", done.stdout + done.stderr)


def uring_refusal():
    """Returns why the server has no io_uring here, or nothing."""
    asked = [SERVER, "--events=io_uring", "--listen=unix:/no/such/folder/x"]
    said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False).stderr
    return said if "--events" in said else ""


class ServeOverUring(Serve):
    EVENTS = "io_uring"

    @classmethod
    def setUpClass(cls):
        refusal = uring_refusal()
        if refusal and os.environ.get("LATCHLAB_SKIP_NOTHING"):
            raise AssertionError(refusal)
        if refusal:
            raise unittest.SkipTest(refusal)

    def test_a_filter_of_system_calls_is_named(self):
        said = self.refused("--events=io_uring", preexec_fn=forbid_uring)
        self.assertIn("--events=io_uring: the kernel permits no io_uring", said)
        self.assertIn("; give --events=epoll", said)


class Mailboxes(unittest.TestCase):
    def test_boxes_of_killed_clients_serve_others(self):
        harness = os.environ.get("LATCHLAB_HARNESS") or TREE / "build/release/harness"
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            words = [harness, f"--index=remote:addr=shm:{folder}/boxes,keeps=0", "--sync=own", "--threads=60", "--records=1", "--warmup=0", "--pmu=off",
                     "--progress=none"]
            told = subprocess.run([*words, "--dry-run"], capture_output=True, text=True, check=False).stderr
            if "is not in this build, which has a part of all pairs" in told and not os.environ.get("LATCHLAB_SKIP_NOTHING"):
                self.skipTest(told.strip())
            server = subprocess.Popen([SERVER, "--index=null", "--sync=none", f"--listen=shm:{folder}/boxes", f"--listen=unix:{folder}/socket"],
                                      stderr=subprocess.PIPE, text=True)
            try:
                for place in ("shm:" + folder + "/boxes", "unix:" + folder + "/socket"):
                    self.assertEqual(server.stderr.readline(), f"serve: listens at {place}\n")
                with subprocess.Popen([*words, "--time=300s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed, \
                     socket.socket(socket.AF_UNIX) as client:
                    client.connect(f"{folder}/socket")
                    stats = b""
                    while not re.search(rb"STAT curr_connections 6\d\r", stats):   # one for each thread, and this one; there are 64 boxes
                        self.assertIsNone(killed.poll())
                        client.sendall(b"stats\r\n")
                        stats = b""
                        while not stats.endswith(b"END\r\n"):
                            stats += client.recv(1 << 16)
                    killed.kill()
                done = subprocess.run([*words, "--json", "--ops=640"], capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr)
            finally:
                server.terminate()
                server.communicate(timeout=60)


if __name__ == "__main__":
    unittest.main()
