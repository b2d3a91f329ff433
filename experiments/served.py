"""Servers that an experiment starts, looks at and drives (multiget.py, co_runner.py, imbalance.py): ours, memcached and redis, by one client,
the index `remote` of the harness."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from child import ends_with_us
from input_error import InputError

CLIENTS = 16       # connections, each with one request under way
KEY_BYTES, VALUE_BYTES = 20, 32
PARTS = ("receive", "parse", "lookup", "render", "send")
POLL_S = 0.05
NULL_STORE = ["--index=null", "--sync=none"]
PEERS = {"memcached": ["memcached", "-u", "nobody", "-t", "1", "-m", "16384", "-c", "1024", "-l", "127.0.0.1", "-U", "0"],
         "redis": ["redis-server", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]}


def installed_peers(script):
    """Returns the names of the peers that are installed. Says which are not."""
    here = [name for name, words in PEERS.items() if shutil.which(words[0])]
    for name in PEERS:
        if name not in here:
            print(f"{script}: {name} is left out: it is not installed", file=sys.stderr)
    return here


def processors():
    """Returns that of the server, and those of its clients. Raises InputError if there are not two."""
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        raise InputError("it needs two processors: one for the server, the others for its clients")
    return first, others


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Server:
    """A running server on the first processor. `options` are those of ./bench serve; none for a peer, which has its name."""

    def __init__(self, bench, name, options, transport, folder):
        self.name, self.resp, self.control = name, name == "redis", None
        self.port = free_port()
        tcp = f"127.0.0.1:{self.port}"
        self.address = {"tcp": tcp, "unix": f"unix:{folder / 'server'}", "shm": f"shm:/dev/shm/{folder.name}",
                        "ucx": f"ucx:127.0.0.1:{free_port()}"}[transport]
        if name in PEERS:
            words = [*PEERS[name], "--port" if self.resp else "-p", str(self.port)]
        else:
            words = [bench, "serve", *options, f"--listen={tcp}", *([] if transport == "tcp" else [f"--listen={self.address}"])]
        self.process = subprocess.Popen(["taskset", "-c", str(min(os.sched_getaffinity(0))), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        preexec_fn=ends_with_us())
        errors = []
        self.reader = threading.Thread(target=lambda: errors.extend(self.process.stderr), daemon=True)
        self.reader.start()
        while self.process.poll() is None:   # it may have to be built first
            try:
                self.control = socket.create_connection(("127.0.0.1", self.port), timeout=5)
                return
            except OSError:
                time.sleep(0.05)
        self.end()
        raise InputError(f"{name} does not serve: {b' '.join(errors[-3:]).decode(errors='replace').strip()}")

    def end(self):
        if self.control is not None:
            self.control.close()
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()

    def counts(self):
        """Returns the numbers that the server tells, by name."""
        self.control.sendall(b"INFO everything\r\n" if self.resp else b"stats\r\n")
        text, whole = b"", None   # the answer, and how long it is, once that is known
        while not (text.endswith(b"\r\nEND\r\n") if not self.resp else whole and len(text) >= whole):
            more = self.control.recv(1 << 16)
            if not more:
                raise InputError(f"{self.name} has closed its connection")
            text += more
            if self.resp and whole is None and b"\r\n" in text:   # $BYTES, the text, a line end
                head = text.index(b"\r\n")
                whole = head + 2 + int(text[1:head]) + 2
        return {name.decode(): int(number) for name, number in re.findall(rb"(?:STAT )?([a-z_0-9]+)[: ](?:calls=)?(\d+)[,\r]", text)}

    def keys(self, verb, counts):
        """Returns the keys that the server has looked up so far, or set."""
        if verb == "set":
            return counts.get("cmdstat_set", 0) if self.resp else counts["cmd_set"]
        if verb == "incr":
            return counts["incr_hits"] + counts["incr_misses"]
        return counts["keyspace_hits"] + counts["keyspace_misses"] if self.resp else counts["cmd_get"]

    def processor_ns(self):
        """Returns the processor time of all threads so far."""
        total = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            try:
                total += int((task / "schedstat").read_text().split()[0])
            except OSError:
                pass   # a thread that has ended
        return total


class Watch(threading.Thread):
    """Looks at a server again and again, so that its time within a phase is known."""

    def __init__(self, server, verb):
        super().__init__(daemon=True)
        self.server, self.verb, self.looks, self.ends = server, verb, [], threading.Event()

    def run(self):
        while not self.ends.wait(POLL_S):
            try:
                ns, counts = self.server.processor_ns(), self.server.counts()
            except (OSError, InputError):
                return   # the server has ended, and the client will say so
            self.looks.append({"at": time.monotonic_ns(), "ns": ns, "keys": self.server.keys(self.verb, counts),
                               **{part: counts.get(f"{part}_ns", 0) for part in PARTS}, "timed_keys": counts.get("timed_keys", 0)})

    def within(self, first, last):
        """Returns the first and the last look at which so many keys had been counted; None if there are not two."""
        inside = [look for look in self.looks if first <= look["keys"] <= last]
        return (inside[0], inside[-1]) if len(inside) > 1 and inside[0]["keys"] < inside[-1]["keys"] else None


def workload(verb, keys):
    """Returns the client's words for requests of so many keys, and how many keys one of its operations has."""
    changes = {"set": "update", "incr": "increment"}
    if verb in changes:
        return [f"--workload=mix:{changes[verb]}=100", f"--batch={keys}:in-turn"], 1
    return [f"--workload=mix:multi_get=100,multi_get_keys={keys}"], keys


def drive(bench, server, verb, keys, records, window, clients, more=()):
    """Loads the server with so many records and asks it for a while, from the processors `clients`. Returns the client's document, its
    rate of keys a second, and the first and the last look within the measured phase. All are None after a line about why."""
    before, watch = server.keys(verb, server.counts()), Watch(server, verb)
    watch.start()
    words, keys_each = workload(verb, keys)
    ran = subprocess.run(
        ["taskset", "-c", ",".join(map(str, clients)), bench,
         f"--index=remote:addr={server.address},protocol={'resp' if server.resp else 'memcached'},key_size={KEY_BYTES},value_size={VALUE_BYTES}"
         f"{',keeps=0' if server.name == 'null' else ''}",
         "--sync=own", *words, f"--records={records}", f"--threads={CLIENTS}", "--warmup=500ms", f"--time={window}", "--pmu=off", "--json",
         "--progress=none", "--validate=off", *more],
        stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_us(), check=False)
    watch.ends.set()
    watch.join()
    document = json.loads(ran.stdout) if ran.stdout else None
    if document is None or not document["throughput"]:
        why = document["reason"] if document else f"the client ended with status {ran.returncode}"
        print(f"{server.name}, {verb}, {keys} keys: {why}", file=sys.stderr)
        return None, None, None
    phases = {phase["name"]: phase["operations"] for phase in document["phases"]}
    begin = before + phases.get({"get": "verify", "set": "load"}.get(verb), 0) + phases["warmup"] * keys_each
    span = watch.within(begin, begin + phases["measure"] * keys_each)
    if span is None:
        print(f"{server.name}, {verb}, {keys} keys: the measured phase was too short to look at the server twice", file=sys.stderr)
        return None, None, None
    return document, document["throughput"]["per_second"] * keys_each, span


def server_ns(span):
    """Returns the processor time of the server for a key, between two looks."""
    first, last = span
    return (last["ns"] - first["ns"]) / (last["keys"] - first["keys"])


def parts_ns(span):
    """Returns the parts of a turn for a key, between two looks; None if the server does not tell."""
    first, last = span
    timed = last["timed_keys"] - first["timed_keys"]
    return {part: (last[part] - first[part]) / timed for part in PARTS} if timed else None


def build(bench, servers):
    """Builds the client and our servers (a name: its options), before anything is timed. Returns false if that fails."""
    for name, options in servers.items():
        with tempfile.TemporaryDirectory(prefix="build-") as scratch:
            Server(bench, name, options, "tcp", pathlib.Path(scratch)).end()
    words = [bench, "--index=remote", "--sync=own", "--dry-run"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=ends_with_us()) as client:
        for line in client.stderr:
            if not re.match(r"\d+ runs?, ", line):   # how long a run would take that nobody has asked for
                sys.stderr.write(line)
    return client.returncode == 0


def has_ucx(bench):
    """Returns true if our server was built with UCX. A second address, where it cannot listen, ends it."""
    words = [bench, "serve", *NULL_STORE, "--listen=ucx:127.0.0.1:0", "--listen=unix:/no/such/folder/x"]
    said = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=ends_with_us()).stderr
    return "built without UCX" not in said
