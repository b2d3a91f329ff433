"""The server beside clients that behave badly: very many, slow, half-closed, greedy, or killed.

CTest runs the test. By hand: LATCHLAB_SERVER=build/release/server_tested python3 services/kv/stress_test.py, and under a sanitizer, as the
other scripts of this folder, with build/asan/server_tested or build/tsan/server_tested, which CMake builds by that name.
LATCHLAB_THOROUGH makes the random parts longer, and LATCHLAB_SEED chooses them. Each test asserts for a well-behaved client beside them:

  1. Its answers are right all along.
  2. It waits for as few turns of the loop as if it were alone. The server is stopped by SIGSTOP while all clients write, so all their
     input is there when it goes on. Then `turns` of stats counts the turns until the answer, however fast the machine is.
  3. Nothing leaks: the server's open files and its connections are as many as before, and its memory has stayed within the limits of
     all connections.
"""

import contextlib
import itertools
import os
import pathlib
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from conformance_test import SANITIZED, SEED, SERVER, lacking, thorough
from serve_test import uring_refusal

THOROUGH = bool(os.environ.get("LATCHLAB_THOROUGH"))
# The turn that reads a request answers it. One more may have begun before.
MOST_TURNS = 2
# The events that a loop takes from the kernel in a turn, if there are so many. epoll: kMostEvents in epoll_network.h. io_uring: the least
# that Linux completes at a wait (IO_LOCAL_TW_DEFAULT_MAX).
EVENTS = {"epoll": 512, "io_uring": 20}
# What a connection may keep (Limits in server.h): unsent answers and the value that went beyond, and as much again that was sent and is
# not dropped yet; an incomplete command, and what one turn has read. A buffer that grows doubles.
OUTPUT, VALUE, READ = 1 << 20, 1 << 16, 64 << 10
MOST_BYTES = 2 * (2 * (OUTPUT + VALUE) + VALUE + 2 * READ)
# What the program keeps from run to run beside connections: batches of lookups, free lists of malloc.
SLACK = 16 << 20
# A number of questions after which a count that should have come has not: more turns than any test needs. A turn accepts 64 of 10,000
# connections.
PATIENCE = 2000


class Good:
    """A well-behaved client. It knows what its keys hold, and checks each answer."""

    def __init__(self, test, path, name):
        self.test, self.name = test, name
        self.random = random.Random(f"{SEED} {name}")
        self.held = {}
        self.number = itertools.count()
        self.socket = connected(path)
        self.rest = b""

    def read(self, end):
        """Returns what comes up to `end`, which an answer ends with."""
        while end not in self.rest:
            part = self.socket.recv(1 << 16)
            self.test.assertTrue(part, f"the server has closed after {self.rest[-100:]}")
            self.rest += part
        answer, _, self.rest = self.rest.partition(end)
        return answer + end

    def work(self, rounds):
        """Stores and gets, one by one and several at once, and checks every answer."""
        for _ in range(rounds):
            key = f"{self.name}{self.random.randrange(20)}".encode()
            value = b"%d" % next(self.number) * self.random.choice((1, 10, 300))
            self.socket.sendall(b"set %s 7 0 %d\r\n%s\r\nget %s\r\n" % (key, len(value), value, key))
            self.held[key] = value
            self.test.assertEqual(self.read(b"END\r\n"), b"STORED\r\n" + self.shown(key) + b"END\r\n")
            keys = self.random.choices(sorted(self.held), k=5)
            self.socket.sendall(b"get " + b" ".join(keys) + b"\r\n")
            self.test.assertEqual(self.read(b"END\r\n"), b"".join(map(self.shown, keys)) + b"END\r\n")

    def shown(self, key):
        return b"VALUE %s 7 %d\r\n%s\r\n" % (key, len(self.held[key]), self.held[key])

    def ask_stats(self):
        self.socket.sendall(b"stats\r\n")

    def stats(self):
        return dict(line.split()[1:3] for line in self.read(b"END\r\n").decode().splitlines() if line.startswith("STAT"))

    def count(self, name):
        self.ask_stats()
        return int(self.stats()[name])

    def wait_for(self, name, value):
        """Asks until a count has this value."""
        for _ in range(PATIENCE):
            seen = self.count(name)
            if seen == value:
                return
        self.test.fail(f"{name} is {seen} after {PATIENCE} questions, and should be {value}")

    def wait_for_quiet(self):
        """Asks until no turn comes between two questions: nobody else makes the loop turn."""
        for _ in range(PATIENCE):
            if self.count("turns") + 1 == self.count("turns"):
                return
        self.test.fail(f"the loop turns without input, still after {2 * PATIENCE} questions")


def connected(path):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(120)
    while True:
        try:
            client.connect(str(path))
            break
        except BlockingIOError:   # the server has not accepted yet those who came before
            time.sleep(0.001)
    return client


def write_all_that_fits(client, data):
    """Writes what the kernel takes at once, and returns the number of bytes."""
    client.setblocking(False)
    done = 0
    with contextlib.suppress(BlockingIOError):
        while done < len(data):
            done += client.send(data[done:done + (1 << 16)])
    client.settimeout(120)
    return done


def read_to_end(client):
    return b"".join(iter(lambda: client.recv(1 << 16), b""))


def read_all_that_came(client):
    client.setblocking(False)
    got = bytearray()
    with contextlib.suppress(BlockingIOError):
        while part := client.recv(1 << 16):
            got += part
    client.settimeout(120)
    return bytes(got)


def read_count(client, size):
    got = bytearray()
    while len(got) < size:
        part = client.recv(min(1 << 16, size - len(got)))
        if not part:
            break
        got += part
    return bytes(got)


class StressTest(unittest.TestCase):
    ENGINE = "epoll"

    def setUp(self):
        print(f"{self.id()}: seed {SEED}", file=sys.stderr)
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = pathlib.Path(folder, "socket")
        self.random = random.Random(f"{SEED} {self.id()}")

    @contextlib.contextmanager
    def served(self, *options):
        """Runs a server and a well-behaved client; checks at the end that the server has kept nothing of other clients."""
        words = [SERVER, f"--events={self.ENGINE}", f"--listen=unix:{self.path}", "--threads=1", "--limit=256M", f"--most-value={VALUE}", *options]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        try:
            self.assertEqual(self.process.stderr.readline(), f"serve: listens at unix:{self.path}\n")
            self.good = Good(self, self.path, "good")
            self.good.work(10)
            self.files = self.open_files()
            yield
            self.good.work(10)
            self.check_nothing_left()
            self.good.socket.close()
            self.process.terminate()
            self.assertEqual((self.process.communicate(timeout=60)[1], self.process.returncode), ("", 0))
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stderr.close()
            self.good.socket.close()

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self):
        """Returns the bytes of memory that the server has now."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()

    def check_growth(self, before, most):
        """Checks that the memory has grown by no more than `most` bytes, and what the program keeps."""
        if not SANITIZED:
            self.assertLessEqual(self.memory() - before, most + SLACK)

    def check_nothing_left(self):
        """Waits until all connections but the good client's are closed, and checks the server's files."""
        self.good.wait_for("curr_connections", 1)
        self.assertEqual(self.open_files(), self.files)
        self.good.wait_for_quiet()

    @contextlib.contextmanager
    def bounded(self, connections):
        """Checks that the memory grows by no more than the limits of so many connections."""
        before = self.memory()
        yield
        self.check_growth(before, connections * MOST_BYTES)

    def check_turns(self, act, events=1):
        """Has the others act, and the good client ask, while the server is stopped. Checks how many turns the answer takes beside so many
        events of others that may be ahead."""
        self.good.wait_for_quiet()
        before = self.good.count("turns")
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)
        try:
            act()
            self.good.ask_stats()
        finally:
            self.process.send_signal(signal.SIGCONT)
        self.assertLessEqual(int(self.good.stats()["turns"]) - before, MOST_TURNS + events // EVENTS[self.ENGINE])

    def connections(self, count):
        clients = [connected(self.path) for _ in range(count)]
        for client in clients:
            self.addCleanup(client.close)
        return clients

    def test_ten_thousand_connections(self):
        count = 10_000
        needed = count + 200
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < needed:
            lacking(f"{count} connections need {needed} open files, and the system grants {hard} (ulimit -Hn)")
        if soft != resource.RLIM_INFINITY and soft < needed:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
            self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with self.served(f"--most-connections={count + 1}"):
            before = self.memory()
            clients = self.connections(count)
            self.good.wait_for("curr_connections", count + 1)
            self.good.work(20)
            with connected(self.path) as one_more:
                self.assertEqual(read_to_end(one_more), b"ERROR Too many open connections\r\n")
            self.assertEqual(self.open_files(), self.files + count)

            def ask_all():
                for i, client in enumerate(clients):
                    client.sendall(b"incr n%d 1\r\nmn\r\n" % i if i % 2 == 0 else b"INCR r%d\r\n" % i)

            # The kernel shows all ready connections by turns, so the good one is in the first of them or in the last.
            self.check_turns(ask_all, count)
            self.check_turns(lambda: None)
            for i, client in enumerate(clients):
                self.assertEqual(read_all_that_came(client), b"NOT_FOUND\r\nMN\r\n" if i % 2 == 0 else b":1\r\n")
            # A silent connection keeps 16 KiB for each direction at most (dialogue.cc), and its own state.
            self.check_growth(before, count * (40 << 10))
            for client in clients:
                client.close()
            self.check_nothing_left()

    def test_slow_readers(self):
        readers, keys, requests = 8, 200, 80
        value = b"v" * 1000
        request = b"get" + b" slow" * keys + b"\r\n"
        answer = (b"VALUE slow 0 1000\r\n%s\r\n" % value) * keys + b"END\r\n"
        with self.served():
            self.good.socket.sendall(b"set slow 0 0 1000\r\n%s\r\n" % value)
            self.good.read(b"STORED\r\n")
            clients = self.connections(readers)
            with self.bounded(readers):
                # Each asks for 16 MB, and then for small things without end. The server reads no more of a client that takes nothing.
                for client in clients:
                    self.assertEqual(write_all_that_fits(client, request * requests), len(request) * requests)
                self.good.work(50)
                self.check_turns(lambda: None)
                extra = 0
                for _ in range(100):
                    extra += sum(write_all_that_fits(client, b"mn\r\n" * 100_000) for client in clients)
                    self.good.work(1)
                self.assertLess(extra, readers << 20, "the server reads clients that do not read")
                taken = [bytearray() for _ in clients]
                for _ in range(20):
                    self.check_turns(lambda: [taken[i].extend(clients[i].recv(3000)) for i in range(readers)])
                self.good.work(50)
                # Those that read all in the end get all: the answers to what they have asked before.
                for i, client in enumerate(clients[:readers // 2]):
                    size = len(answer) * requests
                    taken[i].extend(read_count(client, size - len(taken[i])))
                    self.assertTrue(bytes(taken[i]) == answer * requests, f"reader {i} has got other answers")
                self.good.work(50)
            for client in clients:
                client.close()

    def test_half_closed_connections(self):
        count = 200
        with self.served():
            for turn in range(3):
                clients = self.connections(count)

                def act(clients=clients):
                    for i, client in enumerate(clients):
                        client.sendall((b"version\r\nmn\r\n", b"mn\r\nset half 0 0 10\r\nabc", b"PING\r\nPING\r\n*2\r\n$3\r\nGE", b"")[i % 4])
                        client.shutdown(socket.SHUT_WR)

                self.check_turns(act, count)
                # The server closes its side, too, although the clients have not closed theirs.
                self.check_nothing_left()
                wanted = (rb"\AVERSION [^\r]+\r\nMN\r\n\Z", rb"\AMN\r\n\Z", rb"\A\+PONG\r\n\+PONG\r\n\Z", rb"\A\Z")
                for i, client in enumerate(clients):
                    self.assertRegex(read_to_end(client), wanted[i % 4])
                    client.close()
                self.good.work(20)
                if turn == 0:
                    memory = self.memory()
            self.check_growth(memory, 0)

    def test_half_closed_connections_with_answers_that_nobody_takes(self):
        count, keys = 20, 1000
        with self.served():
            self.good.socket.sendall(b"set half 0 0 10000\r\n%s\r\n" % (b"h" * 10_000))
            self.good.read(b"STORED\r\n")
            with self.bounded(count):
                clients = self.connections(count)
                for client in clients:
                    client.sendall(b"get" + b" half" * keys + b"\r\n")
                    client.shutdown(socket.SHUT_WR)
                self.good.work(50)
                self.check_turns(lambda: None)
                self.assertEqual(self.good.count("curr_connections"), count + 1)
                for i, client in enumerate(clients):
                    if i % 2 == 0:
                        client.close()
                    else:
                        self.assertEqual(len(read_to_end(client)), keys * (len("VALUE half 0 10000\r\n") + 10_002) + len("END\r\n"))
            # Those that read are still open on their side.
            self.check_nothing_left()

    def test_one_byte_at_a_time(self):
        with self.served():
            clients = self.connections(60)
            scripts, wanted = [], []
            for i in range(len(clients)):
                key = b"byte%d" % i
                if i % 2 == 0:
                    scripts.append(b"set %s 3 0 5\r\nabcde\r\nget %s none\r\n" % (key, key))
                    wanted.append(b"STORED\r\nVALUE %s 3 5\r\nabcde\r\nEND\r\n" % key)
                else:
                    scripts.append(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$2\r\nxy\r\nGET %s\r\n" % (len(key), key, key))
                    wanted.append(b"+OK\r\n$2\r\nxy\r\n")

            def send_next(at):
                for client, script in zip(clients, scripts):
                    client.sendall(script[at:at + 1])

            for at in range(max(map(len, scripts))):
                if at % 4 == 0:
                    self.check_turns(lambda at=at: send_next(at), len(clients))
                else:
                    send_next(at)
                    self.good.work(1)
            self.good.wait_for_quiet()
            for client, answer in zip(clients, wanted):
                self.assertEqual(read_all_that_came(client), answer)
                client.close()

    def test_pipelines_of_100000_commands_in_one_write(self):
        commands = 100_000
        with self.served(), self.bounded(4):
            clients = self.connections(4)
            pipelines = [(b"incr pipe%d 1\r\n" % i) * commands for i in range(2)]
            pipelines += [b"GET none\r\n" * commands, (b"get " + b"k" * 200 + b"\r\n") * commands]
            wanted = [b"".join(b"%d\r\n" % (n + 1) for n in range(commands))] * 2 + [b"$-1\r\n" * commands, b"END\r\n" * commands]
            self.good.socket.sendall(b"set pipe0 0 0 1\r\n0\r\nset pipe1 0 0 1\r\n0\r\nget none\r\n")
            self.good.read(b"END\r\n")
            begun = []
            self.check_turns(lambda: begun.extend(write_all_that_fits(*pair) for pair in zip(clients, pipelines)))
            writers = [threading.Thread(target=client.sendall, args=[pipeline[done:]])
                       for client, pipeline, done in zip(clients, pipelines, begun)]
            got = [b""] * len(clients)

            def read(i):
                got[i] = read_count(clients[i], len(wanted[i]))

            readers = [threading.Thread(target=read, args=[i]) for i in range(len(clients))]
            for thread in writers + readers:
                thread.start()
            while any(thread.is_alive() for thread in writers + readers):
                self.good.work(1)
            for thread in writers + readers:
                thread.join()
            for i, answers in enumerate(got):
                self.assertTrue(answers == wanted[i], f"pipeline {i}: {len(answers)} bytes of answers, ending with {answers[-50:]}")
            for client in clients:
                client.close()

    def test_gets_of_1000_keys_whose_answers_are_never_read(self):
        count, keys = 20, 1000
        value = b"u" * 10_000
        names = [b"unread%d" % i for i in range(keys)]
        with self.served():
            for name in names:
                self.good.socket.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (name, len(value), value))
                self.good.read(b"STORED\r\n")
            with self.bounded(count):
                for _ in range(3):
                    clients = self.connections(count)
                    self.check_turns(lambda clients=clients: [
                        client.sendall((b"get ", b"MGET ")[i % 2] + b" ".join(names) + b"\r\n") for i, client in enumerate(clients)])
                    self.good.work(50)
                    self.check_turns(lambda: None)
                    for client in clients:
                        client.close()
                    self.check_nothing_left()

    def test_client_processes_that_are_killed(self):
        rounds, processes, connections = 60 if THOROUGH else 12, 4, 5
        with self.served():
            with self.bounded(processes * connections):
                for number in range(rounds):
                    killed = [self.start_client(f"{SEED} {number} {i}", connections) for i in range(processes)]
                    for process in self.random.sample(killed, len(killed)):
                        self.good.work(self.random.randrange(30))
                        process.kill()
                    for process in killed:
                        process.wait()
                    self.check_nothing_left()

    def start_client(self, seed, connections):
        """Starts a process that talks on connections of its own until it is killed, and waits until it has begun."""
        process = subprocess.Popen([sys.executable, __file__, "--client", str(self.path), seed, str(connections)], stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.read(6), b"begun\n")
        process.stdout.close()
        return process


def talk(path, seed, connections):
    """Says random commands, whole and in part, and reads some of the answers, until the process is killed."""
    choose = random.Random(seed)
    clients = [connected(path) for _ in range(int(connections))]
    for client in clients:
        client.setblocking(False)
    os.write(1, b"begun\n")
    while True:
        client = choose.choice(clients)
        key = b"killed%d" % choose.randrange(10)
        value = b"k" * choose.choice([1, 100, 10_000])
        command = choose.choice([b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value), b"get" + (b" " + key) * choose.choice([1, 500]) + b"\r\n",
                                 b"append %s 0 0 1\r\nx\r\n" % key, b"incr %s 1\r\n" % key, b"delete %s\r\n" % key, b"version\r\nmn\r\n" * 3])
        data = command[:choose.randrange(1, len(command) + 1)] if choose.random() < .1 else command * choose.choice([1, 1, 50])
        # A socket may be full, or have nothing to read. After half a command, what follows may be an error that closes.
        with contextlib.suppress(OSError):
            client.send(data)
        if choose.random() < .3:
            with contextlib.suppress(OSError):
                client.recv(choose.choice([1, 100, 1 << 16]))


@thorough
class SlowTestOverUring(StressTest):
    ENGINE = "io_uring"

    @classmethod
    def setUpClass(cls):
        if refusal := uring_refusal():
            lacking(refusal)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        talk(*sys.argv[2:])
    unittest.main()
