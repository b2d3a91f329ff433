"""What an index is worth behind a network; experiments/multiget runs it.

    experiments/multiget [--quick] [--out=FOLDER]

It starts each server on the first processor, and drives it from the others by the same client, the index `remote` of the harness: keys of
20 bytes, values of 32, 16 connections, each with one request under way. Runs of all points are interleaved: a round runs each point once,
in random order, on a server of its own that is loaded first.

    servers     cuckoo and memc3 under olc, with batches (--gather=turn) and without (--gather=off); null, which keeps nothing, so that its
                rates are the client's bounds; memcached and redis where they are installed, with one thread and no limit that matters
    get         1 4 16 24 32 64 96 128 keys a request; --quick: 1 16 64
    set, incr   1 16 64 keys a request; --quick: 1 64. An incr needs an item that is there and a value that is a number: so not null, and
                not redis, whose INCR takes no value of 32 bytes
    transports  TCP for all; a Unix socket and mailboxes in shared memory besides, for ours at 16 and 64 keys; and UCX, if the build has it
                (-DLATCHLAB_UCX=ON), by the transports of UCX_TLS
    isa         simdht of shape 2x4 under spin by scalar, sse4.2, avx2 and avx512 kernels, as far as the processor has them, with batches
                and without: gets of 64 keys through shared memory. Not with --quick: simdht of each shape by the widest kernels
    load        gets of 1 and of 64 keys under 20, 40, 60 and 80 % of what memcached serves at most, where memcached is installed
    records     10 M; --quick: 1 M
    rounds      10; --quick: 3. A run takes 6 s with 1 M records, and 30 s with 10 M

Server time is that of all threads of the server (schedstat) over the keys looked up or set in the same span, inside the measured phase.
Our servers say besides how their turns divide (docs/server.md).

FOLDER, by default experiments/results/multiget, gets results.jsonl (a line for each run), figure.svg and .png. The text on stdout has
medians with the least and the most of the rounds, and the ratios that SimdHT-Bench is about. Kept results count, so after an interruption
the same command goes on where it stopped; they must be of the same commit, and all with --quick or all without.

A server needs a processor of its own, and so do the clients: fewer than two processors are refused.
Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("multiget")   # before the other imports
import itertools
import pathlib
import statistics
import sys
import tempfile
from dataclasses import dataclass

import served
from kept import Runs, draw_if_possible, parse, shown

FOLDER = pathlib.Path(__file__).resolve().parent / "results/multiget"
KEYS = {"quick": (1, 16, 64), "full": (1, 4, 16, 24, 32, 64, 96, 128)}
CHANGED_KEYS = {"quick": (1, 64), "full": (1, 16, 64)}
RECORDS = {"quick": "1M", "full": "10M"}
ROUNDS = {"quick": 3, "full": 10}
WINDOW = {"quick": "1s", "full": "2s"}
GATHERS = ("turn", "off")
OURS = {f"{index}, {gather}": [f"--index={index}", "--sync=olc", f"--gather={gather}"] for index in ("cuckoo", "memc3") for gather in GATHERS}
NULL = {"null": served.NULL_STORE}
ISAS = ("scalar", "sse4.2", "avx2", "avx512")
CPU_FLAGS = {"sse4.2": "sse4_2", "avx2": "avx2", "avx512": "avx512f"}
SHAPES = ("2x1", "3x1", "4x1", "2x2", "2x4", "2x7", "2x8", "3x2", "3x4")
CHANGES = ("set", "incr")
TRANSPORTS = ("unix", "shm")   # besides TCP
LOADED = 64                    # keys a request where instruction sets are looked at, and beside others transports and load
SHARES = (0.2, 0.4, 0.6, 0.8)  # of memcached's most
PERCENTS = (50, 95, 99)
PUBLISHED = (1.45, 2.04)       # SimdHT-Bench: server throughput of SIMD tables over MemC3
A_CORE = (0.3, 5)              # KV-Direct: million operations a second of a core, by the network of the kernel and past it


@dataclass(frozen=True)
class Point:
    server: str
    keys: int
    transport: str = "tcp"
    share: float = 0   # of memcached's most; 0: as much as the clients ask
    verb: str = "get"

    @property
    def name(self):
        load = f", {100 * self.share:.0f} % load" if self.share else ""
        return f"{self.verb} {self.server:18} {self.keys:3} keys, {self.transport}{load}"


def simdht(isa, shape, gather):
    return f"{shape} {isa}, {gather}"


def simdht_servers(mode, isas):
    """Returns the servers over simdht, with their options, for the instruction sets of this processor, the widest last."""
    of = [(isa, "2x4", gather) for isa in isas for gather in GATHERS]
    if mode == "full":
        of += [(isas[-1], shape, "turn") for shape in SHAPES if shape != "2x4"]
    return {simdht(*one): [f"--index=simdht:isa={one[0]},shape={one[1]}", "--sync=spin", f"--gather={one[2]}"] for one in of}


def isas_here():
    flags = pathlib.Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split()
    return [isa for isa in ISAS if CPU_FLAGS.get(isa) is None or CPU_FLAGS[isa] in flags]


def points_of(mode, peers, by_isa, transports=TRANSPORTS):
    """Returns the points of a closed loop, then those under a given load, which need the rate of the former."""
    servers = [*OURS, *NULL, *peers]
    closed = [Point(server, keys) for server, keys in itertools.product(servers, KEYS[mode])]
    counters = [server for server in servers if server not in (*NULL, "redis")]
    closed += [Point(server, keys, verb="set") for server, keys in itertools.product(servers, CHANGED_KEYS[mode])]
    closed += [Point(server, keys, verb="incr") for server, keys in itertools.product(counters, CHANGED_KEYS[mode])]
    closed += [Point(server, keys, transport) for server, keys, transport in itertools.product((*OURS, *NULL), (16, LOADED), transports)]
    closed += [Point(server, LOADED, "shm") for server in by_isa]
    if "memcached" not in peers:
        return closed, []
    return closed, [Point(server, keys, "tcp", share) for server, keys, share in itertools.product((*OURS, *peers), (1, LOADED), SHARES)]


def measure(bench, options, point, mode, most):
    """Runs a point. `most`: keys a second that memcached serves at most. Returns what is kept of it and the build, or None and None after a
    line about why there is nothing."""
    more = [f"--rate=poisson:{round(most * point.share / point.keys)}"] if point.share else []
    with tempfile.TemporaryDirectory(prefix="multiget-") as scratch:
        server = served.Server(bench, point.server, options, point.transport, pathlib.Path(scratch))
        try:
            document, rate, span = served.drive(bench, server, point.verb, point.keys, RECORDS[mode], WINDOW[mode],
                                                served.processors()[1], more)
        finally:
            server.end()
    if document is None:
        return None, None
    responses = document["latency"]["response"]["histogram"] if point.share else None   # from when each request was due
    return {"server_ns": served.server_ns(span), "keys_s": rate, "parts": served.parts_ns(span),
            **{f"p{percent}_us": percentile(responses, percent) / 1000 if responses else None for percent in PERCENTS},
            "least_mean_most_us": extent(responses) if responses else None}, document["build"]


def percentile(histogram, percent):
    """Returns the least value up to which so many of the counted values are. histogram: rows of (value, count), in order."""
    left = sum(count for _, count in histogram) * percent / 100
    for value, count in histogram:
        left -= count
        if left <= 0:
            return value
    return histogram[-1][0]


def extent(histogram):
    """Returns the least, the mean and the greatest value of a histogram in ns, in us."""
    mean = sum(value * count for value, count in histogram) / sum(count for _, count in histogram)
    return [value / 1000 for value in (histogram[0][0], mean, histogram[-1][0])]


def ratios_of(keys):
    """Returns what is divided by what, for requests of so many keys: a text, two points, and what of them."""
    batched, alone = Point("cuckoo, turn", keys), Point("cuckoo, off", keys)
    shared = {name: Point(name, keys, "shm") for name in OURS}
    rows = [("memcached's server time over ours with batches", Point("memcached", keys), batched, "server_ns"),
            *[(f"{verb}: memcached's server time over ours", Point("memcached", keys, verb=verb), Point("cuckoo, turn", keys, verb=verb),
               "server_ns") for verb in CHANGES],
            ("server time without batches over with", alone, batched, "server_ns"),
            ("cuckoo over memc3, both with batches: throughput in shared memory", shared["cuckoo, turn"], shared["memc3, turn"], "keys_s"),
            ("cuckoo with batches over memc3 without: throughput in shared memory "
             f"({PUBLISHED[0]} to {PUBLISHED[1]} published)", shared["cuckoo, turn"], shared["memc3, off"], "keys_s"),
            ("memc3 with batches over without: throughput in shared memory", shared["memc3, turn"], shared["memc3, off"], "keys_s"),
            ("cuckoo over memc3, both without batches: throughput in shared memory", shared["cuckoo, off"], shared["memc3, off"], "keys_s"),
            *[(f"memcached's p95 over ours with batches, under {100 * share:.0f} % of memcached's most", Point("memcached", keys, "tcp", share),
               Point("cuckoo, turn", keys, "tcp", share), "p95_us") for share in SHARES]]
    for gather in GATHERS:
        rows += [(f"simdht 2x4, {isa} over scalar, --gather={gather}: throughput in shared memory",
                  Point(simdht(isa, "2x4", gather), keys, "shm"), Point(simdht("scalar", "2x4", gather), keys, "shm"), "keys_s")
                 for isa in ISAS[1:]]
    return rows


def report(runs):
    """Returns the text of all runs."""
    lines = [f"{'':44} {'server ns a key':>28} {'M keys/s':>22}"]
    order = lambda point: (point.verb, point.share, point.transport, point.keys, point.server)
    points = sorted(runs.points(), key=order)
    for point in points:
        rates = [rate / 1e6 for rate in runs.values(point, "keys_s")]
        lines.append(f"{point.name:44} {shown(runs.values(point, 'server_ns')):>28} {shown(rates, 2):>22}")
    lines += ["", "parts of a turn, ns a key"]
    for point in points:
        all_parts = runs.values(point, "parts")
        if all_parts and point.verb == "get" and not point.share:
            of = {part: [parts[part] for parts in all_parts] for part in served.PARTS}
            lines.append(f"{point.name:44} " + "  ".join(f"{part} {shown(values)}" for part, values in of.items()))
    lines += ["", "response times under load, us: p50, p95, p99; least, mean, most"]
    for point in points:
        if point.share:
            of = [f"{statistics.median(runs.values(point, f'p{percent}_us')):.0f}" for percent in PERCENTS]
            ends = [f"{statistics.median(column):.0f}" for column in zip(*runs.values(point, "least_mean_most_us"), strict=True)]
            lines.append(f"{point.name:44} {' '.join(of)}; {' '.join(ends)}")
    lines += ["", "ratios, of one round each"]
    for keys in sorted({point.keys for point in points}):
        for text, above, below, what in ratios_of(keys):
            values = runs.ratios(above, below, what)
            if values:
                lines.append(f"{keys:3} keys: {text}: {shown(values, 2)}")
    return "\n".join(lines) + "\n"


def draw(runs, folder):
    """Draws figure.svg and figure.png: server time and throughput by keys a request, throughput by transport and by instruction set, and
    response times by load."""
    import altair   # only the drawing needs the modules of build/python
    import vl_convert

    def rows(points, what, scale):
        return [{"server": point.server, "keys": point.keys, "transport": point.transport, "load": 100 * point.share,
                 "middle": statistics.median(values) * scale, "least": min(values) * scale, "most": max(values) * scale}
                for point in points if (values := runs.values(point, what))]

    def panel(data, x, y, title, marks=(), coloured=True):
        """Returns a panel with the spread and the lines of all servers, and grey lines at `marks`, in the unit of y. Without colours the x
        axis names the servers."""
        base = altair.Chart(altair.Data(values=data)).encode(x=x)
        if coloured:
            base = base.encode(color=altair.Color("server:N", title=None), strokeDash=altair.StrokeDash("server:N", title=None))
        y_of = lambda field: altair.Y(f"{field}:Q", title=y, scale=altair.Scale(type="log"))
        spread = base.mark_rule().encode(y=y_of("least"), y2="most:Q")
        lines = base.mark_line(point=True).encode(y=y_of("middle")) if coloured else base.mark_point(filled=True).encode(y=y_of("middle"))
        grey = altair.Chart(altair.Data(values=[{"mark": mark} for mark in marks])).mark_rule(color="grey", strokeDash=[2, 4])
        return altair.layer(grey.encode(y=y_of("mark")), spread, lines).properties(width=360, height=260, title=title)

    points = runs.points()
    by_keys = altair.X("keys:Q", title="keys a request", scale=altair.Scale(type="log", base=2))
    by_load = altair.X("load:Q", title="load, % of memcached's most")
    closed = [p for p in points if not p.share]
    tcp = {verb: [p for p in closed if p.transport == "tcp" and p.verb == verb] for verb in ("get", *CHANGES)}
    across = [p for p in closed if p.keys == LOADED and p.verb == "get" and p.server in (*OURS, *NULL)]
    isas = [p for p in closed if p.keys == LOADED and p.transport == "shm" and p.server not in NULL]
    reference = runs.values(Point("memc3, off", LOADED, "shm"), "keys_s")
    published = [ratio * statistics.median(reference) / 1e6 for ratio in PUBLISHED] if reference else ()
    panels = [panel(rows(tcp[verb], "server_ns", 1), by_keys, f"server time a key, ns ({verb})", f"TCP, {verb}: the server's processor time")
              for verb in tcp]
    panels += [panel(rows(tcp["get"], "keys_s", 1e-6), by_keys, "million keys a second",
                     f"TCP, get: throughput; grey: {A_CORE[0]} and {A_CORE[1]} M a core", A_CORE),
               panel(rows(across, "keys_s", 1e-6), altair.X("transport:N", title=None), "million keys a second", f"{LOADED} keys a request, by transport"),
               panel(rows(isas, "keys_s", 1e-6), altair.X("server:N", title=None, sort="-y"), "million keys a second",
                     f"shared memory, {LOADED} keys a request; grey: {PUBLISHED[0]} and {PUBLISHED[1]} of memc3, off", published, coloured=False)]
    for keys in (1, LOADED):
        loaded = [p for p in points if p.share and p.keys == keys]
        if loaded:
            panels.append(panel(rows(loaded, "p95_us", 1), by_load, "p95 of the response time, us",
                                f"{keys} key{'s' * (keys > 1)} a request, under load"))
    title = altair.TitleParams("What an index is worth behind a network: keys of 20 bytes, values of 32", anchor="start")
    spec = altair.concat(*panels, columns=2).properties(title=title, background="white").to_dict()
    (folder / "figure.svg").write_text(vl_convert.vegalite_to_svg(spec))
    (folder / "figure.png").write_bytes(vl_convert.vegalite_to_png(spec, ppi=144))


def main(bench, *arguments):
    mode, folder = parse(arguments, FOLDER)
    served.processors()
    peers, by_isa = served.installed_peers("multiget"), simdht_servers(mode, isas_here())
    options = OURS | NULL | by_isa
    if not served.build(bench, options):
        return 1
    runs, right = Runs(folder, Point, mode), True
    for points in points_of(mode, peers, by_isa, (*TRANSPORTS, *(["ucx"] if served.has_ucx(bench) else []))):
        most = {keys: statistics.median(runs.values(Point("memcached", keys), "keys_s") or [0]) for keys in (1, LOADED)}
        right &= runs.run_rounds(points, ROUNDS[mode],
                                 lambda point, most=most: measure(bench, options.get(point.server), point, mode, most.get(point.keys)))
    print(report(runs), end="")
    draw_if_possible("multiget", draw, runs, folder)
    return int(not right)


if __name__ == "__main__":
    run_script("multiget", main, *sys.argv[1:])
