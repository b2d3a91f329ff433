"""The server as a program, against what others say of its protocols: memcached, redis, their clients, benchmarks and tests.

The binary is in LATCHLAB_SERVER. A test is skipped where its program or module is missing, unless LATCHLAB_SKIP_NOTHING is set. The tests
of the classes SlowTest... run if LATCHLAB_THOROUGH is set. LATCHLAB_MEMCACHED_T names a checkout of memcached, with whose own tests the
server is tested too. LATCHLAB_SEED is the first seed of the random commands.
"""

import contextlib
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

TREE = pathlib.Path(__file__).resolve().parents[2]
PYTHON = TREE / "build/python/bin/python"
SERVER = os.path.abspath(os.environ.get("LATCHLAB_SERVER") or TREE / "build/release/server_asked")
SEED = int(os.environ.get("LATCHLAB_SEED") or 1)
# Those of the server that the tests of services/ build, and of any build that lacks some of them.
PAIRS = (("cuckoo", "olc"), ("art", "rowex"), ("memc3", "rwspin"))
# The engine of the server (--events). Subclasses of some tests run them with another one.
EVENTS = "epoll"
# Without the segmented LRU, memcached's answers do not depend on whether a thread of its own holds an item.
MEMCACHED = ["-o", "no_modern"]

thorough = unittest.skipUnless(os.environ.get("LATCHLAB_THOROUGH"), "LATCHLAB_THOROUGH is not set")


def lacking(why):
    """Skips the test for this reason, or fails it if nothing may be skipped."""
    if os.environ.get("LATCHLAB_SKIP_NOTHING"):
        raise AssertionError(why)
    raise unittest.SkipTest(why)


def program(name):
    return shutil.which(name) or lacking(f"there is no {name}")


def module(name):
    try:
        return __import__(name)
    except ImportError:
        return lacking(f"{sys.executable} has no module {name}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def started(command, port):
    """Runs a server, gives its port when it listens, and ends it."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            for _ in range(1000):
                if process.poll() is not None:
                    said.seek(0)
                    raise AssertionError(f"{command}: {said.read()}")
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(.01)
            yield port
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def ours(*options, pair=PAIRS[0]):
    index, policy = pair
    words = [SERVER, f"--index={index}", f"--sync={policy}", f"--events={EVENTS}", "--threads=2", "--limit=64M", *options]
    asked = subprocess.run([SERVER, "missing-pairs", *words[1:]], capture_output=True, text=True, timeout=60, check=False)
    if asked.stdout.strip() or asked.returncode != 0:
        raise unittest.SkipTest(f"{index}:{policy} is not in this build")
    port = free_port()
    return started([*words, f"--listen=127.0.0.1:{port}"], port)


def memcached():
    port = free_port()
    user = ["-u", "root"] if os.getuid() == 0 else []
    return started([program("memcached"), *user, "-l", "127.0.0.1", "-p", str(port), "-U", "0", *MEMCACHED], port)


def redis():
    port = free_port()
    words = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--databases", "1"]
    return started([program("redis-server"), "--port", str(port), *words], port)


class Client:
    """A connection that knows where an answer ends, since it asks for an end of its own after each command."""

    def __init__(self, port, end_command, end):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.end_command, self.end = end_command, end

    def read(self, ends=1):
        got = bytearray()
        seen, at = 0, 0
        while seen < ends:
            part = self.socket.recv(1 << 16)
            if not part:
                return bytes(got) + b"<closed>"
            got += part
            while seen < ends and (found := got.find(self.end, at)) >= 0:
                seen, at = seen + 1, found + len(self.end)
        return bytes(got)

    def ask(self, command):
        self.socket.sendall(command + self.end_command)
        return self.read()

    def close(self):
        self.socket.close()


def memcached_client(port):
    return Client(port, b"mn\r\n", b"MN\r\n")


def resp(words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in map(str.encode, words))


def redis_client(port):
    return Client(port, resp(["ECHO", "endofanswer"]), b"$11\r\nendofanswer\r\n")


META_LETTERS = {"mg": "cfhklOqstvNRTu", "ms": "cCFIkOqTM", "md": "CIkOqT", "ma": "NJDTMOqtcvkC"}
META_MODES = {"ms": "EAPRS", "ma": "ID+-"}
BAD = ["foo", "get", "set a", "incr a", "delete", "touch a", "gat 1", "cas a 1 1 1", "mg", "flush_all x", "verbosity", "mg a M", "ma a MX"]


def meta_flags(choose, verb):
    values = {
        "T": lambda: choose.choice(["0", "100", "30"]),
        "N": lambda: choose.choice(["0", "100", "30"]),
        "R": lambda: choose.choice(["0", "100", "30"]),
        "O": lambda: "xyz",
        # No item of either server has one of the large ones. All items that are changed again have more than 1.
        "C": lambda: choose.choice(["99999998", "99999999", "0", "1"]),
        "F": lambda: choose.choice(["0", "1", "4294967295"]),
        "J": lambda: choose.choice(["0", "13"]),
        "D": lambda: choose.choice(["1", "20"]),
        "M": lambda: choose.choice(META_MODES.get(verb, "E")),
    }
    letters = choose.sample(META_LETTERS[verb], choose.randint(0, 5))
    return "".join(f" {letter}{values.get(letter, str)()}" for letter in letters)


def memcached_command(choose):
    """Returns a random command. Its times are within 32 bits, since memcached keeps no more of them."""
    key = choose.choice(["a", "b", "c", "long" * 20])
    time_ = choose.choice(["0", "0", "0", "100", "-1", "2000000000"])
    flags = choose.choice(["0", "1", "4294967295"])
    value = choose.choice(["", "1", "10", "99", "100", "18446744073709551615", "abc", "5 ", "007", "x" * choose.choice([5, 100, 3000])])
    quiet = choose.choice([""] * 6 + [" noreply"])
    verb = choose.choice("get gets gat gats set add replace append prepend cas delete incr decr touch mg ms md ma me flush bad".split())
    keys = " ".join(choose.choice("abcd") for _ in range(choose.randint(1, 5)))
    tail = ""
    if verb in ("get", "gets"):
        line = f"{verb} {keys}"
    elif verb in ("gat", "gats"):
        line = f"{verb} {time_} {keys}"
    elif verb in ("set", "add", "replace", "append", "prepend"):
        line, tail = f"{verb} {key} {flags} {time_} {len(value)}{quiet}", f"{value}\r\n"
    elif verb == "cas":
        line, tail = f"cas {key} {flags} {time_} {len(value)} {choose.choice([99999998, 99999999])}{quiet}", f"{value}\r\n"
    elif verb == "delete":
        line = f"delete {key}{choose.choice(['', ' 0', quiet])}"
    elif verb in ("incr", "decr"):
        line = f"{verb} {key} {choose.choice(['1', '5', '100', '18446744073709551615', '-1', 'x'])}{quiet}"
    elif verb == "touch":
        line = f"touch {key} {time_}{quiet}"
    elif verb == "ms":
        line, tail = f"ms {key} {len(value)}{meta_flags(choose, verb)}", f"{value}\r\n"
    elif verb in ("mg", "md", "ma"):
        line = f"{verb} {key}{meta_flags(choose, verb)}"
    elif verb == "flush":
        line = "flush_all" + choose.choice(["", " 0", " noreply"]) if choose.random() < .1 else "get b"
    else:
        line = choose.choice(BAD)
    return f"{line}\r\n{tail}".encode()


def redis_command(choose):
    """Returns the words of a random command. None makes an item that redis counts no longer and the server still does, or the reverse:
    a time is over at once or in minutes. HELLO says an id, so it has a version that does not exist."""
    def key():
        return choose.choice(["a", "b", "c", "d", "num"])

    def value():
        numbers = ["1", "10", "-5", "9223372036854775807", "-9223372036854775808", " 1", "01", "1.5"]
        return choose.choice(["", "abc", "x" * 50, *numbers])

    verbs = """GET MGET SET SET SET SETNX SETEX PSETEX GETSET GETDEL MSET DEL UNLINK EXISTS INCR DECR INCRBY DECRBY APPEND STRLEN EXPIRE
               PEXPIRE EXPIREAT PEXPIREAT TTL PTTL PERSIST TYPE DBSIZE PING ECHO SELECT HELLO AUTH FLUSHALL BAD get"""
    verb = choose.choice(verbs.split())
    if choose.random() < .03 and verb != "HELLO":
        return [verb]
    if verb in ("MGET", "DEL", "UNLINK", "EXISTS"):
        return [verb, *(key() for _ in range(choose.randint(1, 5)))]
    if verb == "SET":
        words = ["SET", key(), value()]
        for _ in range(choose.randint(0, 3)):
            option = choose.choice(["NX", "XX", "GET", "KEEPTTL", "EX", "PX", "EXAT", "PXAT", "ex", "bad"])
            times = ["0", "-1", "x", "9223372036854775807"]
            times += ["2000000000000", "3000000000000"] if option == "PXAT" else ["2000000000", "3000000000"]
            words += [option, choose.choice(times)] if option.upper() in ("EX", "PX", "EXAT", "PXAT") else [option]
        return words
    if verb in ("SETNX", "GETSET", "APPEND"):
        return [verb, key(), value()]
    if verb in ("SETEX", "PSETEX"):
        return [verb, key(), choose.choice(["1000000", "0", "-1", "x", "9223372036854775807"]), value()]
    if verb == "MSET":
        pairs = [word for _ in range(choose.randint(1, 3)) for word in (key(), value())]
        return [verb, *pairs, *([key()] if choose.random() < .1 else [])]
    if verb in ("INCRBY", "DECRBY"):
        return [verb, key(), choose.choice(["1", "5", "-3", "9223372036854775807", "x", "1.5"])]
    if verb in ("EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT"):
        options = [choose.choice(["NX", "XX", "GT", "LT", "bad"]) for _ in range(choose.choice([0, 0, 0, 1, 2]))]
        return [verb, key(), choose.choice(["1000000", "0", "-1", "x", "9223372036854775807", "4000000000000"]), *options]
    others = {"PING": [[], ["hi"], ["a", "b"]], "ECHO": [["x"]], "SELECT": [["0"], ["x"], ["99"]], "HELLO": [["4"], ["x"]], "AUTH": [["x"]],
              "FLUSHALL": [[], ["bad"]], "DBSIZE": [[]], "BAD": [["a", "b"]]}
    if verb == "FLUSHALL" and choose.random() < .9:
        return ["PING"]
    return [verb, *choose.choice(others.get(verb, [[key()]]))]


def without_cas(answer):
    """Returns the answer with each unique number of an item replaced: the servers count different stores. 0 stays."""
    answer = re.sub(rb"(?m)^(VALUE \S+ \d+ \d+) \d+\r", rb"\1 CAS\r", answer)
    answer = re.sub(rb"(?m)^((?:VA|HD|EN|NF|NS|EX)\b[^\r]*? c)[1-9]\d*", rb"\1CAS", answer)
    return re.sub(rb"(?m)^((?:VA|HD)\b[^\r]*? l)\d+", rb"\1AGE", answer)  # the seconds since the last access


TTL = rb"(?m)(?<=^)((?:VA|HD)\b[^\r]*? t)(\d+)"


def equal_but_for(pattern, slack, a, b):
    """Returns true if two answers are equal, but for numbers (group 2 of the pattern) that differ by at most `slack`."""
    def times(text):
        return [int(match[2]) for match in re.finditer(pattern, text)]

    if re.sub(pattern, rb"\1TIME", a) != re.sub(pattern, rb"\1TIME", b):
        return False
    return all(abs(x - y) <= slack for x, y in zip(times(a), times(b)))


def same_memcached(a, b):
    """The seconds of the servers' clocks begin at different moments, so what is left of an item's time differs by 1."""
    return a == b or equal_but_for(TTL, 1, without_cas(a), without_cas(b))


def same_redis(command, a, b):
    """The servers take the commands at different milliseconds, of which PTTL tells, and TTL if it rounds them."""
    if a == b or command[0] not in ("TTL", "PTTL"):
        return a == b
    return equal_but_for(rb"(?m)^(:)(\d+)", 2000 if command[0] == "PTTL" else 2, a, b)


def differ_memcached(test, port, other, seed, commands):
    choose = random.Random(seed)
    print(f"memcached, seed {seed}", file=sys.stderr)
    one, two = memcached_client(port), memcached_client(other)
    try:
        for client in (one, two):
            client.ask(b"flush_all\r\n")
        for number in range(commands):
            command = memcached_command(choose)
            a, b = one.ask(command), two.ask(command)
            test.assertTrue(same_memcached(a, b), f"seed {seed}, {number}: {command[:200]}\n  ours   {a[:300]}\n  theirs {b[:300]}")
    finally:
        one.close()
        two.close()


def differ_redis(test, port, other, seed, commands):
    choose = random.Random(seed)
    print(f"redis, seed {seed}", file=sys.stderr)
    one, two = redis_client(port), redis_client(other)
    try:
        for client in (one, two):
            client.ask(resp(["FLUSHALL"]))
            if seed % 2 == 1:
                client.ask(resp(["HELLO", "3"]))
        for number in range(commands):
            command = redis_command(choose)
            a, b = one.ask(resp(command)), two.ask(resp(command))
            test.assertTrue(same_redis(command, a, b), f"seed {seed}, {number}: {command}\n  ours   {a[:300]}\n  theirs {b[:300]}")
    finally:
        one.close()
        two.close()


def pipeline(test, connect, commands, seed, same):
    """Sends the commands one by one, at once, byte by byte, and in random pieces. The answers must be the same."""
    choose = random.Random(seed)
    print(f"pipelines, seed {seed}", file=sys.stderr)
    answers = []
    for pieces in ("one by one", "at once", "byte by byte", "at random"):
        client = connect()
        try:
            client.ask(commands[0])
            whole = b"".join(command + client.end_command for command in commands[1:])
            if pieces == "one by one":
                answers.append(b"".join(client.ask(command) for command in commands[1:]))
                continue
            sizes = {"at once": lambda: len(whole), "byte by byte": lambda: 1, "at random": lambda: choose.choice([1, 3, 30, 1000, 9000])}
            at = 0
            while at < len(whole):
                size = sizes[pieces]()
                client.socket.sendall(whole[at:at + size])
                at += size
            answers.append(client.read(len(commands) - 1))
        finally:
            client.close()
        test.assertTrue(same(answers[0], answers[-1]), f"seed {seed}: {pieces}: the answers differ from those one by one")


def pipeline_memcached(test, port, seed, commands):
    choose = random.Random(seed)
    pipeline(test, lambda: memcached_client(port), [b"flush_all\r\n", *(memcached_command(choose) for _ in range(commands))], seed,
             same_memcached)


def pipeline_redis(test, port, seed, commands):
    choose = random.Random(seed)
    words = [redis_command(choose) for _ in range(commands)]
    # What is left of a time is another number at another moment.
    words = [word for word in words if word[0] not in ("TTL", "PTTL")]
    pipeline(test, lambda: redis_client(port), [resp(["FLUSHALL"]), *map(resp, words)], seed, lambda a, b: a == b)


class AgainstOtherServersTest(unittest.TestCase):
    def test_random_commands_are_answered_as_by_memcached(self):
        with ours() as port, memcached() as other:
            for seed in range(SEED, SEED + 3):
                differ_memcached(self, port, other, seed, 2000)

    def test_random_commands_are_answered_as_by_redis(self):
        with ours() as port, redis() as other:
            for seed in range(SEED, SEED + 3):
                differ_redis(self, port, other, seed, 2000)

    def test_a_store_as_stale_keeps_the_time_and_the_win(self):
        with ours() as port, memcached() as other:
            for each in (port, other):
                client = memcached_client(each)
                for command in (b"set a 0 0 1\r\n1\r\n", b"md a I T30\r\n", b"mg a\r\n", b"ms a 1 I T900 C1\r\n2\r\n"):
                    client.ask(command)
                self.assertRegex(client.ask(b"mg a t v\r\n"), rb"^VA 1 t(30|29) Z X\r\n2\r\n")
                client.close()

    def test_a_number_that_has_no_room_in_its_item_makes_a_new_one(self):
        with ours() as port, memcached() as other:
            for each in (port, other):
                client = memcached_client(each)
                for command in (b"set a 0 0 1\r\n8\r\n", b"mg a\r\n", b"incr a 1\r\n"):
                    client.ask(command)
                self.assertEqual(client.ask(b"mg a h u\r\n"), b"HD h1\r\nMN\r\n")
                client.ask(b"incr a 1\r\n")
                self.assertEqual(client.ask(b"mg a h u\r\n"), b"HD h0\r\nMN\r\n")
                client.ask(b"touch a 0\r\n")
                self.assertEqual(client.ask(b"mg a h u\r\n"), b"HD h1\r\nMN\r\n")
                client.close()


class PipelineTest(unittest.TestCase):
    def test_pieces_do_not_change_the_answers(self):
        with ours() as port:
            pipeline_memcached(self, port, SEED, 400)
            pipeline_redis(self, port, SEED, 400)


class ProgramTest(unittest.TestCase):
    def test_memccapable_passes_under_each_pair(self):
        capable = program("memccapable")
        ran = 0
        for pair in PAIRS:
            try:
                server = ours(pair=pair)
            except unittest.SkipTest:
                continue
            with self.subTest(pair=pair), server as port:
                done = subprocess.run([capable, "-h", "127.0.0.1", "-p", str(port), "-a"], capture_output=True, text=True, timeout=120,
                                      check=False)
                self.assertIn("All tests passed", done.stdout, done.stdout + done.stderr)
                ran += 1
        self.assertGreater(ran, 0, "this build has none of the pairs")

    def test_redis_benchmark_runs_without_an_error(self):
        benchmark = program("redis-benchmark")
        with ours() as port:
            words = ["-p", str(port), "-n", "20000", "-P", "16", "-t", "get,set,incr,mset", "--csv"]
            done = subprocess.run([benchmark, *words], capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotRegex(done.stdout + done.stderr, "(?i)error|warning")
            tests = [line.split(",")[0] for line in done.stdout.splitlines()[1:]]
            self.assertEqual(tests, ['"SET"', '"GET"', '"INCR"', '"MSET (10 keys)"'], done.stdout)


class ClientTest(unittest.TestCase):
    """Clients in their own words. gomemcache is left out: it is a module of Go, and pymemcache and pylibmc send the same commands."""

    def test_pymemcache(self):
        module("pymemcache")
        from pymemcache.client.base import Client as Pymemcache
        with ours() as port:
            client = Pymemcache(("127.0.0.1", port), default_noreply=False)
            self.assertTrue(client.set("a", b"1"))
            self.assertEqual((client.incr("a", 5), client.decr("a", 2), client.incr("none", 1)), (6, 4, None))
            self.assertEqual(client.set_many({f"k{i}": b"%d" % i for i in range(100)}), [])
            self.assertEqual(client.get_many([f"k{i}" for i in range(101)]), {f"k{i}": b"%d" % i for i in range(100)})
            value, cas = client.gets("a")
            self.assertEqual((value, client.cas("a", b"x", cas), client.cas("a", b"y", cas), client.cas("no", b"y", cas)),
                             (b"4", True, False, None))
            self.assertEqual((client.add("a", b"z"), client.replace("a", b"m"), client.append("a", b"n"), client.prepend("a", b"l")),
                             (False, True, True, True))
            self.assertEqual(client.get("a"), b"lmn")
            self.assertTrue(client.touch("a", 100))
            self.assertEqual(client.touch("a", 1), True)
            time.sleep(2.1)
            self.assertIsNone(client.get("a"))
            self.assertTrue(client.delete("k1"))
            self.assertFalse(client.delete("k1"))
            self.assertIn(b"curr_items", client.stats())
            self.assertTrue(client.version())
            self.assertTrue(client.flush_all())
            self.assertIsNone(client.get("k2"))
            client.close()

    def test_pylibmc(self):
        pylibmc = module("pylibmc")
        with ours() as port:
            client = pylibmc.Client([f"127.0.0.1:{port}"], behaviors={"cas": True, "tcp_nodelay": True})
            self.assertTrue(client.set("a", 1))
            self.assertEqual((client.incr("a", 5), client.decr("a", 2)), (6, 4))
            self.assertEqual(client.set_multi({f"k{i}": f"v{i}" for i in range(100)}), [])
            self.assertEqual(client.get_multi([f"k{i}" for i in range(101)]), {f"k{i}": f"v{i}" for i in range(100)})
            value, cas = client.gets("k1")
            self.assertEqual((value, client.cas("k1", "x", cas)), ("v1", True))
            self.assertFalse(client.cas("k1", "y", cas))
            self.assertEqual((client.add("k1", "z"), client.replace("k1", "m"), client.get("k1")), (False, True, "m"))
            self.assertTrue(client.touch("k1", 100))
            self.assertTrue(client.delete("k2"))
            self.assertEqual(client.delete_multi(["k3", "k4"]), True)
            self.assertTrue(client.set("big", b"x" * 900_000))
            self.assertEqual(client.get("big"), b"x" * 900_000)
            self.assertEqual(len(client.get_stats()), 1)
            self.assertTrue(client.flush_all())
            self.assertIsNone(client.get("k5"))

    def test_redis_py(self):
        module("redis")
        import redis as library
        with ours() as port:
            for version in (2, 3):
                with self.subTest(version=version):
                    client = library.Redis(port=port, protocol=version, decode_responses=True)
                    client.flushall()
                    self.assertEqual((client.ping(), client.set("a", 1), client.incr("a", 5), client.decr("a")), (True, True, 6, 5))
                    self.assertEqual((client.set("a", 2, nx=True), client.set("a", 3, xx=True, get=True)), (None, "5"))
                    self.assertTrue(client.mset({f"k{i}": i for i in range(200)}))
                    self.assertEqual(client.mget("k0", "none", "k199"), ["0", None, "199"])
                    self.assertEqual(set(client.scan_iter()), {"a", *(f"k{i}" for i in range(200))})
                    self.assertEqual(set(client.scan_iter("k1?", count=1000)), {f"k{i}" for i in range(10, 20)})
                    self.assertTrue(client.expire("a", 100))
                    self.assertLessEqual(client.ttl("a"), 100)
                    self.assertTrue(client.pexpire("a", 50))
                    time.sleep(.2)
                    self.assertEqual((client.get("a"), client.ttl("a"), client.exists("k1", "k2", "a")), (None, -2, 2))
                    batch = client.pipeline(transaction=False)
                    for i in range(500):
                        batch.set(f"p{i}", i).get(f"p{i}").incr("count")
                    answers = batch.execute()
                    self.assertEqual(answers, [each for i in range(500) for each in (True, str(i), i + 1)])
                    self.assertEqual((client.append("k1", "z"), client.strlen("k1"), client.getdel("k1"), client.delete("k2")),
                                     (2, 2, "1z", 1))
                    with self.assertRaises(library.ResponseError):
                        client.incr("k3", "x")
                    self.assertEqual(client.info()["redis_version"], "7.0.15")
                    client.close()


class OverUring:
    """A mixin that comes before a class of tests, and runs them with io_uring."""

    @classmethod
    def setUpClass(cls):
        asked = [SERVER, "--events=io_uring", "--listen=unix:/no/such/folder/x"]
        said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False).stderr
        if "--events" in said:
            lacking(said)

    def run(self, result=None):
        with unittest.mock.patch.dict(globals(), EVENTS="io_uring"):
            return super().run(result)


class AgainstOtherServersOverUringTest(OverUring, AgainstOtherServersTest):
    pass


class PipelineOverUringTest(OverUring, PipelineTest):
    pass


class ProgramOverUringTest(OverUring, ProgramTest):
    pass


class ClientOverUringTest(OverUring, ClientTest):
    pass


@thorough
class SlowTestDifferences(unittest.TestCase):
    def test_many_random_commands(self):
        for pair in PAIRS:
            try:
                server = ours(pair=pair)
            except unittest.SkipTest:
                continue
            with self.subTest(pair=pair), server as port, memcached() as one, redis() as two:
                for seed in range(SEED + 1000, SEED + 1010):
                    differ_memcached(self, port, one, seed, 10000)
                    differ_redis(self, port, two, seed, 10000)

    def test_many_pieces(self):
        with ours() as port:
            for seed in range(SEED + 1000, SEED + 1010):
                pipeline_memcached(self, port, seed, 2000)
                pipeline_redis(self, port, seed, 2000)


MEMCACHED_T = """getandtouch getset incrdecr issue_108 issue_14 issue_152 issue_192 issue_22 issue_3 issue_41 issue_68 issue_70 line-lengths
    malicious-commands multiversioning noreply quit strtol-testing touch whitespace flags evictions bogus-commands metaget cas flush-all
    expirations""".split()
# Tests of what the server has not, by file: their text must be in the line.
MEMCACHED_T_ACCEPTED = {
    "issue_22": ["check evicted"],  # of a class of slabs, of which the server has none
    "strtol-testing": ["2"],        # slabs automove
}


def perl_test(tree, name, port):
    """Runs a file of memcached's tests, and returns the lines of what passed and of what failed, without their numbers."""
    done = subprocess.run(["nice", "-n", "5", "perl", "-Ilib", f"t/{name}.t"], cwd=tree, capture_output=True, text=True, timeout=180,
                          errors="replace", env={**os.environ, "T_MEMD_USE_DAEMON": f"127.0.0.1:{port}"}, check=False)
    lines = re.findall(r"(?m)^(ok|not ok) (\d+(?: .*)?)$", done.stdout)
    return {text for kind, text in lines if kind == "ok"}, {text for kind, text in lines if kind == "not ok"}


@thorough
class SlowTestMemcachedsOwn(unittest.TestCase):
    def test_what_passes_with_memcached_passes_here(self):
        checkout = os.environ.get("LATCHLAB_MEMCACHED_T") or lacking("LATCHLAB_MEMCACHED_T is not set")
        program("perl")
        with tempfile.TemporaryDirectory() as tree:
            shutil.copytree(pathlib.Path(checkout, "t"), pathlib.Path(tree, "t"), symlinks=True)
            # The tests ask it for its features. Those of external storage start a server of their own.
            asked = pathlib.Path(tree, "memcached-debug")
            asked.write_text(f'#!/bin/sh\n{program("memcached")} "$@" | grep -v ext_path\n', encoding="ascii")
            asked.chmod(0o755)
            for name in MEMCACHED_T:
                with self.subTest(name=name), ours() as port, memcached() as other:
                    passed_here, failed_here = perl_test(tree, name, port)
                    passed_there, _ = perl_test(tree, name, other)
                    accepted = MEMCACHED_T_ACCEPTED.get(name, [])
                    failed = [line for line in sorted(passed_there & failed_here) if not any(line.endswith(text) for text in accepted)]
                    self.assertEqual(failed[:5], [], f"{len(failed)} tests of {name} fail")
                    self.assertGreaterEqual(len(passed_here | failed_here), len(passed_there))


if __name__ == "__main__":
    if PYTHON.exists() and pathlib.Path(sys.prefix).resolve() != PYTHON.parents[1].resolve():
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    unittest.main()
