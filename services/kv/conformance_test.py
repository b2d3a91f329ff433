"""The server as a program, against what others say of its protocols: memcached, redis, their clients, benchmarks and tests.

The binary is in LATCHLAB_SERVER. A test is skipped where its program or module is missing, unless LATCHLAB_SKIP_NOTHING is set. The tests
of the classes SlowTest... run if LATCHLAB_THOROUGH is set. ./test --all unpacks memcached 1.6.18 and redis 7.0.15 into build/originals, and
their sources, with whose own tests the server is tested too (upstream_suites.py), into build/sources.
LATCHLAB_SEED is the first seed of the random commands.
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

import upstream_suites
from random_commands import memcached_command, redis_command

TREE = pathlib.Path(__file__).resolve().parents[2]
PYTHON = TREE / "build/python/bin/python"
SERVER = os.path.abspath(os.environ.get("LATCHLAB_SERVER") or TREE / "build/release/server_asked")
# A sanitizer keeps memory and addresses of its own, so nothing is known then of those of the server.
SANITIZED = pathlib.Path(SERVER).exists() and re.search(b"__[at]san_init", pathlib.Path(SERVER).read_bytes()) is not None
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
    return shutil.which(name, path=f"{os.environ['PATH']}:{TREE}/build/originals/usr/bin") or lacking(f"there is no {name}")


def sources(package):
    folder = TREE / "build/sources" / package
    return folder if folder.exists() else lacking(f"there is no {folder}, which ./test --all makes")


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
        lacking(f"{index}:{policy} is not in this build")
    port = free_port()
    return started([*words, f"--listen=127.0.0.1:{port}"], port)


def memcached():
    port = free_port()
    user = ["-u", "root"] if os.getuid() == 0 else []
    return started([program("memcached"), *user, "-l", "127.0.0.1", "-p", str(port), "-U", "0", *MEMCACHED], port)


def redis():
    port = free_port()
    words = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--databases", "1", "--dir", tempfile.gettempdir()]
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


def without_cas(answer):
    """Returns the answer with each unique number of an item replaced: the servers count different stores. 0 stays."""
    answer = re.sub(rb"(?m)^(VALUE \S+ \d+ \d+) \d+\r", rb"\1 CAS\r", answer)
    answer = re.sub(rb"(?m)^((?:VA|HD|EN|NF|NS|EX)\b[^\r]*? c)[1-9]\d*", rb"\1CAS", answer)
    return re.sub(rb"(?m)^((?:VA|HD)\b[^\r]*? l)\d+", rb"\1AGE", answer)  # the seconds since the last access


TTL = rb"(?m)(?<=^)((?:VA|HD)\b[^\r]*? t)(\d+)"


def equal_but_for(pattern, slack, a, b, ahead=0):
    """Returns true if two answers are equal, but for numbers (group 2 of the pattern). Those of `a` are lower by `ahead`, give or take
    `slack`."""
    def times(text):
        return [int(match[2]) for match in re.finditer(pattern, text)]

    if re.sub(pattern, rb"\1TIME", a) != re.sub(pattern, rb"\1TIME", b):
        return False
    return all(abs(x + ahead - y) <= slack for x, y in zip(times(a), times(b)))


def same_memcached(a, b, slack, ahead=0):
    """Returns true if two answers tell the same, but for the seconds that are left of times. The moment at which a time ends may differ by
    `slack`. The clock of the first server is `ahead` of the other's."""
    return a == b or equal_but_for(TTL, slack, without_cas(a), without_cas(b), ahead)


def same_redis(command, a, b, slack):
    """Returns true if the answers are the same, but for those about times, which may differ by `slack` seconds."""
    if a == b or command[0] not in ("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"):
        return a == b
    return equal_but_for(rb"(?m)^(:)(\d+)", slack * (1000 if command[0].startswith("P") else 1), a, b)


def asked_with_clock(client, command):
    """Returns the answer to a command of memcached's protocol, and the server's clock just before it, in seconds."""
    stats, _, answer = client.ask(b"stats\r\n" + command).partition(b"\r\nEND\r\n")
    return answer, int(re.search(rb"STAT time (\d+)", stats)[1])


def differ_memcached(test, port, other, seed, commands):
    choose = random.Random(seed)
    print(f"memcached, seed {seed}", file=sys.stderr)
    one, two = memcached_client(port), memcached_client(other)
    # memcached counts seconds by a timer, which is late on a loaded machine. A time from now on is kept by the server's clock when it is
    # set, so the moments at which it ends lie as far apart as the clocks did then, and 1 s for a clock that went on behind its answer.
    apart = 0
    try:
        for client in (one, two):
            client.ask(b"flush_all\r\n")
        for number in range(commands):
            command = memcached_command(choose)
            (a, clock), (b, other_clock) = asked_with_clock(one, command), asked_with_clock(two, command)
            apart = max(apart, abs(clock - other_clock))
            test.assertTrue(same_memcached(a, b, apart + 1, clock - other_clock), f"seed {seed}, {number}, clocks {clock} {other_clock}: "
                            f"{command[:200]}\n  ours   {a[:300]}\n  theirs {b[:300]}")
    finally:
        one.close()
        two.close()


def differ_redis(test, port, other, seed, commands):
    choose = random.Random(seed)
    print(f"redis, seed {seed}", file=sys.stderr)
    one, two = redis_client(port), redis_client(other)
    longest = 0
    try:
        for client in (one, two):
            client.ask(resp(["FLUSHALL"]))
            if seed % 2 == 1:
                client.ask(resp(["HELLO", "3"]))
        for number in range(commands):
            command = redis_command(choose)
            begun = time.monotonic()
            a, b = one.ask(resp(command)), two.ask(resp(command))
            # The servers take a command at moments that lie no further apart: one that sets a time, and one that asks for it.
            longest = max(longest, time.monotonic() - begun)
            slack = 1 + 2 * longest
            test.assertTrue(same_redis(command, a, b, slack), f"seed {seed}, {number}: {command}\n  ours   {a[:300]}\n  theirs {b[:300]}")
    finally:
        one.close()
        two.close()


def pipeline(test, connect, commands, seed, same):
    """Sends the commands one by one, at once, byte by byte, and in random pieces. The answers must be the same.

    same(a, b, slack) compares two; `slack` is the seconds that have passed, by which a time that is left may differ.
    """
    choose = random.Random(seed)
    begun = time.monotonic()
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
        slack = 1 + time.monotonic() - begun
        test.assertTrue(same(answers[0], answers[-1], slack), f"seed {seed}: {pieces}: the answers differ from those one by one")


def pipeline_memcached(test, port, seed, commands):
    choose = random.Random(seed)
    pipeline(test, lambda: memcached_client(port), [b"flush_all\r\n", *(memcached_command(choose) for _ in range(commands))], seed,
             same_memcached)


def pipeline_redis(test, port, seed, commands):
    choose = random.Random(seed)
    words = [redis_command(choose) for _ in range(commands)]
    # What is left of a time is another number at another moment.
    words = [word for word in words if word[0] not in ("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME")]
    pipeline(test, lambda: redis_client(port), [resp(["FLUSHALL"]), *map(resp, words)], seed, lambda a, b, _: a == b)


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

    def test_an_item_that_a_miss_makes_was_read_by_its_maker(self):
        with ours() as port, memcached() as other:
            for each in (port, other):
                client = memcached_client(each)
                for key, flags, hit in ((b"a", b"", b"1"), (b"b", b" u", b"0")):
                    self.assertEqual(client.ask(b"mg %s h N100%s\r\n" % (key, flags)), b"HD h0 W\r\nMN\r\n")
                    self.assertEqual(client.ask(b"mg %s h u\r\n" % key), b"HD h%s Z\r\nMN\r\n" % hit)
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
            words = ["-p", str(port), "-n", "20000", "-P", "16", "-t", "ping,set,get,incr,mset", "--csv"]
            done = subprocess.run([benchmark, *words], capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotRegex(done.stdout + done.stderr, "(?i)error|warning")
            tests = [line.split(",")[0] for line in done.stdout.splitlines()[1:]]
            self.assertEqual(tests, ['"PING_INLINE"', '"PING_MBULK"', '"SET"', '"GET"', '"INCR"', '"MSET (10 keys)"'], done.stdout)


class ClientTest(unittest.TestCase):
    """Clients in their own words."""

    def test_gomemcache(self):
        go = program("go")
        sources = TREE / "services/kv/gomemcache"
        fetched = subprocess.run([go, "mod", "download"], cwd=sources, capture_output=True, text=True, timeout=300, check=False)
        if fetched.returncode != 0:
            lacking("Go cannot fetch gomemcache: " + (fetched.stderr.strip().splitlines() or ["no reason given"])[-1])
        with tempfile.TemporaryDirectory() as folder, ours() as port:
            subprocess.run([go, "build", "-o", folder, "."], cwd=sources, check=True, timeout=300)
            done = subprocess.run([f"{folder}/gomemcache", f"127.0.0.1:{port}"], capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual((done.stdout, done.stderr, done.returncode), ("ok\n", "", 0))

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


@thorough
class SlowTestOfUpstream(unittest.TestCase):
    """What passes with the original must pass here, unless upstream_suites.py accepts it; what it accepts must still fail."""

    def compare(self, name, here, there, accepts):
        passed, failed = here
        passed_there, _ = there
        print(f"{name}: {len(passed)} passed here, {len(failed)} failed; {len(passed_there)} passed there", file=sys.stderr)
        missing = sorted(test for test in passed_there - passed if not accepts(test))
        self.assertEqual(missing[:5], [], f"{len(missing)} tests of {name} pass there and not here")
        self.assertEqual(sorted(filter(accepts, passed)), [], f"{name}: these pass now")
        self.assertTrue(passed_there, f"{name} tests nothing")

    def test_memcached(self):
        checkout = sources("memcached")
        program("perl")
        with tempfile.TemporaryDirectory() as tree:
            upstream_suites.memcached_tree(checkout, tree, program("memcached"))
            for name in sorted(path.stem for path in pathlib.Path(tree, "t").glob("*.t")):
                if why := upstream_suites.memcached_not_run(name):
                    print(f"{name}: not run: {why}", file=sys.stderr)
                    continue
                with self.subTest(name=name), ours() as port, memcached() as other:
                    self.compare(name, upstream_suites.run_memcached_file(tree, name, port),
                                 upstream_suites.run_memcached_file(tree, name, other),
                                 upstream_suites.MEMCACHED_ACCEPTED.get(name, {}).get)

    def test_redis(self):
        checkout = sources("redis")
        program("tclsh")
        with tempfile.TemporaryDirectory() as tree:
            upstream_suites.redis_tree(checkout, tree)
            for unit in upstream_suites.REDIS_UNITS:
                # One test sets a value of 4 MB.
                with self.subTest(unit=unit), ours("--most-value=8M") as port, redis() as other:
                    self.compare(unit, upstream_suites.run_redis_unit(tree, unit, port),
                                 upstream_suites.run_redis_unit(tree, unit, other), upstream_suites.redis_accepts)


if __name__ == "__main__":
    if PYTHON.exists() and pathlib.Path(sys.prefix).resolve() != PYTHON.parents[1].resolve():
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    unittest.main()
