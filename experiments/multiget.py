"""What an index is worth behind a network; experiments/multiget runs it.

    experiments/multiget [--quick] [--out=FOLDER]

It starts each server on the first processor, and drives it from the others by the same client, the index `remote` of the harness: keys of
20 bytes, values of 32, 16 connections, each with one request under way. Runs of all points are interleaved: a round runs each point once,
in random order, on a server of its own that is loaded first.

    servers     cuckoo and memc3 under olc, with batches (--gather=turn) and without (--gather=off); memcached and redis where they are
                installed, with one thread and no limit that matters
    keys        1 4 16 24 32 64 96 128 a request; --quick: 1 16 64
    transports  TCP for all; a Unix socket and mailboxes in shared memory besides, for ours at 16 and 64 keys
    load        at 64 keys: response times under 20, 40, 60 and 80 % of what memcached serves at most, where memcached is installed
    records     10 M; --quick: 1 M
    rounds      10; --quick: 3

Server time is that of all threads of the server (schedstat) over the keys looked up in the same span, inside the measured phase. Our
servers say besides how their turns divide (docs/server.md).

FOLDER, by default experiments/results/multiget, gets results.jsonl (a line for each run), figure.svg and .png. The text on stdout has
medians with the least and the most of the rounds, and the ratios that SimdHT-Bench is about. Kept results count, so after an interruption
the same command goes on where it stopped.

A server needs a processor of its own, and so do the clients: fewer than two processors are refused.
Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import InputError, end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("multiget")   # before the other imports
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass

from child import ends_with_us

FOLDER = pathlib.Path(__file__).resolve().parent / "results/multiget"
KEYS = {"quick": (1, 16, 64), "full": (1, 4, 16, 24, 32, 64, 96, 128)}
RECORDS = {"quick": "1M", "full": "10M"}
ROUNDS = {"quick": 3, "full": 10}
CLIENTS = 16
WINDOW = {"quick": "1s", "full": "2s"}
OURS = {f"{index}, {gather}": ["serve", f"--index={index}", "--sync=olc", f"--gather={gather}"]
        for index in ("cuckoo", "memc3") for gather in ("turn", "off")}
PEERS = {"memcached": ["memcached", "-u", "nobody", "-t", "1", "-m", "16384", "-c", "1024", "-l", "127.0.0.1", "-U", "0"],
         "redis": ["redis-server", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]}
TRANSPORTS = ("unix", "shm")   # besides TCP
LOADED = 64                    # keys a request where load and transports are looked at
SHARES = (0.2, 0.4, 0.6, 0.8)  # of memcached's most
PARTS = ("receive", "parse", "lookup", "render", "send")
PUBLISHED = (1.45, 2.04)       # SimdHT-Bench: server throughput of SIMD tables over MemC3
POLL_S = 0.05


@dataclass(frozen=True)
class Point:
    server: str
    keys: int
    transport: str = "tcp"
    share: float = 0   # of memcached's most; 0: as much as the clients ask

    @property
    def name(self):
        load = f", {100 * self.share:.0f} % load" if self.share else ""
        return f"{self.server:12} {self.keys:3} keys, {self.transport}{load}"


def points_of(mode, servers):
    """Returns the points of a closed loop, then those under a given load, which need the rate of the former."""
    closed = [Point(server, keys) for server, keys in itertools.product(servers, KEYS[mode])]
    closed += [Point(server, keys, transport) for server, keys, transport in itertools.product(OURS, (16, LOADED), TRANSPORTS)]
    loaded = [Point(server, LOADED, "tcp", share) for server in servers for share in SHARES] if "memcached" in servers else []
    return closed, loaded


class Server:
    """A running server."""

    def __init__(self, bench, point, folder):
        self.point, self.resp = point, point.server == "redis"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.path = folder / "server"
        tcp = f"127.0.0.1:{self.port}"
        self.address = {"tcp": tcp, "unix": f"unix:{self.path}", "shm": f"shm:/dev/shm/{folder.name}"}[point.transport]
        if point.server in PEERS:
            words = [*PEERS[point.server], "--port" if self.resp else "-p", str(self.port)]
        else:
            words = [bench, *OURS[point.server], f"--listen={tcp}", *([] if point.transport == "tcp" else [f"--listen={self.address}"])]
        first = min(os.sched_getaffinity(0))
        self.process = subprocess.Popen(["taskset", "-c", str(first), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        preexec_fn=ends_with_us())
        self.errors = []
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()
        while self.process.poll() is None:   # it may have to be built first
            try:
                self.control = socket.create_connection(("127.0.0.1", self.port), timeout=5)
                return
            except OSError:
                time.sleep(0.05)
        self.end()
        raise InputError(f"{point.server} does not serve: {b' '.join(self.errors[-3:]).decode(errors='replace').strip()}")

    def end(self):
        self.process.terminate()
        self.process.wait()

    def counts(self):
        """Returns the keys looked up so far and, from our servers, the parts of their turns."""
        self.control.sendall(b"INFO stats\r\n" if self.resp else b"stats\r\n")
        text, whole = b"", None   # the answer, and how long it is, once that is known
        while not (text.endswith(b"\r\nEND\r\n") if not self.resp else whole and len(text) >= whole):
            text += self.control.recv(1 << 16)
            if self.resp and whole is None and b"\r\n" in text:   # $BYTES, the text, a line end
                head = text.index(b"\r\n")
                whole = head + 2 + int(text[1:head]) + 2
        of = dict(re.findall(rb"(?:STAT )?([a-z_0-9]+)[: ](\d+)\r\n", text))
        keys = int(of[b"keyspace_hits"]) + int(of[b"keyspace_misses"]) if self.resp else int(of[b"cmd_get"])
        return keys, {part: int(of.get(f"{part}_ns".encode(), 0)) for part in PARTS} | {"timed_keys": int(of.get(b"timed_keys", 0))}

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

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.looks, self.ends = server, [], threading.Event()

    def run(self):
        while not self.ends.wait(POLL_S):
            self.looks.append((self.server.processor_ns(), *self.server.counts()))

    def within(self, first, last):
        """Returns the first and the last look at which so many keys had been looked up; None if there are not two."""
        inside = [look for look in self.looks if first <= look[1] <= last]
        return (inside[0], inside[-1]) if len(inside) > 1 and inside[0][1] < inside[-1][1] else None


def measure(bench, point, mode, folder, rate):
    """Runs a point. Returns what is kept of it, or None after a line about why there is nothing."""
    with tempfile.TemporaryDirectory(prefix="multiget-", dir=folder) as scratch:
        server = Server(bench, point, pathlib.Path(scratch))
        try:
            before = server.counts()[0]
            watch = Watch(server)
            watch.start()
            protocol = "resp" if server.resp else "memcached"
            others = ",".join(map(str, sorted(os.sched_getaffinity(0))[1:]))
            words = [bench, f"--index=remote:addr={server.address},protocol={protocol},key_size=20,value_size=32", "--sync=own",
                     f"--workload=mix:multi_get=100,multi_get_keys={point.keys}", f"--records={RECORDS[mode]}", f"--threads={CLIENTS}",
                     "--warmup=500ms", f"--time={WINDOW[mode]}", "--pmu=off", "--json", "--progress=none"]
            words += [f"--rate=poisson:{round(rate * point.share / point.keys)}"] if point.share else []
            ran = subprocess.run(["taskset", "-c", others, *words], stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_us(),
                                 check=False)
            watch.ends.set()
            watch.join()
        finally:
            server.end()
    document = json.loads(ran.stdout) if ran.stdout else None
    if document is None or not document["throughput"]:
        why = document["reason"] if document else f"the client ended with status {ran.returncode}"
        print(f"multiget: {point.name}: {why}", file=sys.stderr)
        return None
    phases = {phase["name"]: phase["operations"] for phase in document["phases"]}
    begin = before + phases.get("verify", 0) + phases["warmup"] * point.keys
    span = watch.within(begin, begin + phases["measure"] * point.keys)
    if span is None:
        print(f"multiget: {point.name}: the measured phase was too short to look at the server twice", file=sys.stderr)
        return None
    (ns, keys, parts), (ns_then, keys_then, parts_then) = span
    timed = parts_then["timed_keys"] - parts["timed_keys"]
    responses = document["latency"]["response"]["histogram"] if point.share else None   # from when each request was due
    return {"server_ns": (ns_then - ns) / (keys_then - keys), "keys_s": document["throughput"]["per_second"] * point.keys,
            "parts": {part: (parts_then[part] - parts[part]) / timed for part in PARTS} if timed else None,
            **{f"p{percent}_us": percentile(responses, percent) / 1000 if responses else None for percent in (50, 95, 99)}}


def percentile(histogram, percent):
    """Returns the least value up to which so many of the counted values are. histogram: rows of (value, count), in order."""
    left = sum(count for _, count in histogram) * percent / 100
    for value, count in histogram:
        left -= count
        if left <= 0:
            return value
    return histogram[-1][0]


class Runs:
    """The runs that results.jsonl keeps, and those that are added to it."""

    def __init__(self, folder):
        self.path, self.kept = folder / "results.jsonl", {}
        if self.path.exists():
            for number, line in enumerate(self.path.read_text().splitlines(), 1):
                try:
                    run = json.loads(line)
                    self.kept[Point(**run["point"]), run["round"]] = run["outcome"]
                except (ValueError, KeyError, TypeError):
                    raise InputError(f"{self.path}: line {number} is not one of a run; remove it") from None

    def add(self, point, number, outcome):
        with self.path.open("a") as file:
            file.write(json.dumps({"point": asdict(point), "round": number, "outcome": outcome}) + "\n")
        self.kept[point, number] = outcome

    def values(self, point, what):
        return [outcome[what] for (of, _), outcome in sorted(self.kept.items(), key=lambda run: run[0][1]) if of == point and outcome[what]]

    def points(self):
        return list(dict.fromkeys(point for point, _ in self.kept))


def shown(values, digits=0):
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})" if values else "-"


def ratios(runs, above, below, what):
    """Returns the ratios of two points, each of one round."""
    rounds = sorted({number for _, number in runs.kept})
    return [runs.kept[above, number][what] / runs.kept[below, number][what]
            for number in rounds if (above, number) in runs.kept and (below, number) in runs.kept]


def report(runs):
    """Returns the text of all runs."""
    lines = [f"{'':34} {'server ns a key':>28} {'M keys/s':>22}  p95 us"]
    order = lambda point: (point.share, point.transport, point.keys, point.server)
    for point in sorted(runs.points(), key=order):
        rates = [rate / 1e6 for rate in runs.values(point, "keys_s")]
        of = shown(runs.values(point, "server_ns")), shown(rates, 2), shown(runs.values(point, "p95_us"))
        lines.append(f"{point.name:34} {of[0]:>28} {of[1]:>22}  {of[2]}")
    lines += ["", "parts of a turn, ns a key"]
    for point in sorted((p for p in runs.points() if p.server in OURS and not p.share), key=order):
        all_parts = runs.values(point, "parts")
        if all_parts:
            of = {part: statistics.median(parts[part] for parts in all_parts) for part in PARTS}
            lines.append(f"{point.name:34} " + "  ".join(f"{part} {ns:.0f}" for part, ns in of.items()))
    lines += ["", "ratios, of one round each"]
    for keys in sorted({point.keys for point in runs.points()}):
        for text, above, below, what in (
                ("memcached's server time over ours with batches", Point("memcached", keys), Point("cuckoo, turn", keys), "server_ns"),
                ("server time without batches over with", Point("cuckoo, off", keys), Point("cuckoo, turn", keys), "server_ns"),
                ("cuckoo over memc3, both with batches: throughput in shared memory", Point("cuckoo, turn", keys, "shm"),
                 Point("memc3, turn", keys, "shm"), "keys_s"),
                (f"cuckoo with batches over memc3 without: throughput in shared memory ({PUBLISHED[0]} to {PUBLISHED[1]} published)",
                 Point("cuckoo, turn", keys, "shm"), Point("memc3, off", keys, "shm"), "keys_s")):
            values = ratios(runs, above, below, what)
            if values:
                lines.append(f"{keys:3} keys: {text}: {shown(values, 2)}")
    return "\n".join(lines) + "\n"


def draw(runs, folder):
    """Draws server time by keys a request, throughput by transport, and response times by load, as figure.svg and figure.png."""
    import altair   # only the drawing needs the modules of build/python
    import vl_convert

    def rows(points, what, scale):
        return [{"server": point.server, "keys": point.keys, "transport": point.transport, "load": 100 * point.share,
                 "middle": statistics.median(values) * scale, "least": min(values) * scale, "most": max(values) * scale}
                for point in points if (values := runs.values(point, what))]

    def panel(data, x, y, title):
        base = altair.Chart(altair.Data(values=data)).encode(x=x, color=altair.Color("server:N", title=None))
        y_of = lambda field: altair.Y(f"{field}:Q", title=y, scale=altair.Scale(type="log"))
        spread = base.mark_rule().encode(y=y_of("least"), y2="most:Q")
        lines = base.mark_line(point=True).encode(y=y_of("middle"), strokeDash=altair.StrokeDash("server:N", title=None))
        return altair.layer(spread, lines).properties(width=360, height=260, title=title)

    points = runs.points()
    closed = [p for p in points if p.transport == "tcp" and not p.share]
    keys = altair.X("keys:Q", title="keys a request", scale=altair.Scale(type="log", base=2))
    panels = [panel(rows(closed, "server_ns", 1), keys, "server time a key, ns", "TCP: the server's processor time"),
              panel(rows(closed, "keys_s", 1e-6), keys, "million keys a second", "TCP: throughput, 16 requests under way")]
    across = [p for p in points if p.keys == LOADED and not p.share and p.server in OURS]
    if across:
        panels.append(panel(rows(across, "keys_s", 1e-6), altair.X("transport:N", title=None), "million keys a second",
                            f"{LOADED} keys a request, by transport"))
    loaded = [p for p in points if p.share]
    if loaded:
        panels.append(panel(rows(loaded, "p95_us", 1), altair.X("load:Q", title="load, % of memcached's most"),
                            "p95 of the response time, us", f"{LOADED} keys a request, under load"))
    title = altair.TitleParams("What an index is worth behind a network: keys of 20 bytes, values of 32", anchor="start")
    spec = altair.concat(*panels, columns=2).properties(title=title, background="white").to_dict()
    (folder / "figure.svg").write_text(vl_convert.vegalite_to_svg(spec))
    (folder / "figure.png").write_bytes(vl_convert.vegalite_to_png(spec, ppi=144))


def parse(arguments):
    """Returns the mode and the folder."""
    mode, folder = "full", FOLDER
    for word in arguments:
        if word == "--quick":
            mode = "quick"
        elif re.fullmatch("--out=.+", word):
            folder = pathlib.Path(word.removeprefix("--out="))
        else:
            raise InputError(f"'{word}' has no meaning here; there are --quick and --out=FOLDER")
    return mode, folder


def build(bench, folder):
    """Builds the clients and all servers, before anything is timed. Returns false if that fails."""
    for name in OURS:
        with tempfile.TemporaryDirectory(prefix="multiget-", dir=folder) as scratch:
            Server(bench, Point(name, 1), pathlib.Path(scratch)).end()
    words = [bench, "--index=remote", "--sync=own", "--dry-run"]
    return subprocess.run(words, stdout=subprocess.DEVNULL, preexec_fn=ends_with_us(), check=False).returncode == 0


def main(bench, *arguments):
    mode, folder = parse(arguments)
    if len(os.sched_getaffinity(0)) < 2:
        raise InputError("it needs two processors: one for the server, the others for its clients")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: {error.strerror}") from None
    missing = [name for name, words in PEERS.items() if shutil.which(words[0]) is None]
    for name in missing:
        print(f"multiget: {name} is left out: it is not installed", file=sys.stderr)
    if not build(bench, folder):
        return 1
    closed, loaded = points_of(mode, [*OURS, *(name for name in PEERS if name not in missing)])
    runs, failed = Runs(folder), False
    for points in (closed, loaded):
        most = statistics.median(runs.values(Point("memcached", LOADED), "keys_s") or [0])
        for number in range(1, ROUNDS[mode] + 1):
            for point in random.Random(number).sample(points, len(points)):
                if (point, number) in runs.kept:
                    continue
                outcome = measure(bench, point, mode, folder, most)
                failed |= outcome is None
                if outcome is not None:
                    runs.add(point, number, outcome)
    print(report(runs), end="")
    try:
        draw(runs, folder)
        print(f"wrote {folder}/figure.svg")
    except ImportError:
        print("multiget: no figure is drawn, since the modules that draw are not installed", file=sys.stderr)
    return int(failed)


if __name__ == "__main__":
    run_script("multiget", main, *sys.argv[1:])
