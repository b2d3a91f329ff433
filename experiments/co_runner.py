"""What a server and its neighbour cost each other; experiments/co-runner runs it.

    experiments/co-runner [--quick] [--out=FOLDER]

A neighbour is a program that runs on the same machine and has nothing to do with the server: one of arithmetic alone, and one that copies
memory (neighbour.py). It runs on the server's core if that has two hardware threads, else on the next processor. If there is a third
processor the clients have it, otherwise the clients and the neighbour share one. The text says which it was.

    servers       cuckoo and memc3 under olc, simdht of shape 2x4 under spin by each instruction set: with batches and without; memcached and
                  redis where they are installed; null, which keeps nothing
    neighbours    none, scalar, memory
    requests      gets of 64 keys of 20 bytes over TCP, values of 32, 16 connections, each with one request under way
    records       10 M; --quick: 1 M
    rounds        10; --quick: 3. A round runs each point once, in random order

What the neighbour loses is the processor time of a piece of its work beside the server, over that beside no client, which is measured in
the same run just before: processor time, so it is not what a shared processor takes from it. What it costs is the server's processor time
a key, over that of the same round without neighbour.

FOLDER, by default experiments/results/co-runner, gets results.jsonl (a line for each run). The text on stdout has medians with the least
and the most of the rounds. Kept results count, as those of experiments/multiget do.

Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
from input_error import InputError, end_when_interrupted, run_script

if __name__ == "__main__":
    end_when_interrupted("co-runner")   # before the other imports
import itertools
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

import multiget
import served
from child import ends_with_us
from kept import Runs, parse, shown

FOLDER = pathlib.Path(__file__).resolve().parent / "results/co-runner"
NEIGHBOURS = ("none", "scalar", "memory")
KEYS = 64
PIECES = 20   # of work that a neighbour does beside a server that nobody asks


@dataclass(frozen=True)
class Point:
    server: str
    neighbour: str


class Neighbour:
    """A neighbour that works, or none."""

    def __init__(self, kind, processor):
        self.pieces, self.process = [], None
        if kind == "none":
            return
        words = ["taskset", "-c", str(processor), sys.executable, str(pathlib.Path(__file__).with_name("neighbour.py")), kind]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, preexec_fn=ends_with_us())
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if line.endswith("\n"):   # the last one may have been cut by end()
                self.pieces.append(tuple(map(int, line.split())))

    def work(self, pieces):
        """Waits until it has done so much."""
        while self.process is not None and len(self.pieces) < pieces:
            if self.process.poll() is not None:
                raise InputError(f"the neighbour ended with status {self.process.returncode}")
            time.sleep(0.01)

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stdout.close()

    def piece_ns(self, begin, end):
        """Returns the median processor time of a piece of work between two moments; None if there is none."""
        times = [ns for at, ns in self.pieces if begin <= at - ns and at <= end]
        return statistics.median(times) if times else None


def layout(siblings):
    """Returns the processors of the neighbour and of the clients, and in words where they are. siblings(processor): the hardware threads of
    its core."""
    first, others = served.processors()
    beside = [other for other in others if other in siblings(first)]
    neighbour = (beside or others)[0]
    clients = [other for other in others if other != neighbour] or others
    core = "the server's core, on its other hardware thread" if beside else "another core than the server, as far as the system tells"
    return neighbour, clients, f"the neighbour runs on {core}" + (", and shares its processor with the clients" if neighbour in clients else "")


def siblings(processor):
    try:
        text = pathlib.Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list").read_text()
    except OSError:
        return set()
    return {number for part in text.strip().split(",") for first, _, last in [part.partition("-")]
            for number in range(int(first), int(last or first) + 1)}


def measure(bench, options, point, mode):
    """Runs a point. Returns what is kept of it and the build, or None and None."""
    processor, clients, _ = layout(siblings)
    with tempfile.TemporaryDirectory(prefix="co-runner-") as scratch:
        server = served.Server(bench, point.server, options, "tcp", pathlib.Path(scratch))
        neighbour = Neighbour(point.neighbour, processor)
        try:
            begin = time.monotonic_ns()
            neighbour.work(PIECES)
            alone = neighbour.piece_ns(begin, time.monotonic_ns())
            document, rate, span = served.drive(bench, server, "get", KEYS, multiget.RECORDS[mode], multiget.WINDOW[mode], clients)
        finally:
            neighbour.end()
            server.end()
    if document is None:
        return None, None
    beside = neighbour.piece_ns(span[0]["at"], span[1]["at"])
    return {"server_ns": served.server_ns(span), "keys_s": rate, "loses": beside / alone if beside and alone else None}, document["build"]


def report(runs, where):
    """Returns the text of all runs."""
    lines = [f"{where}; gets of {KEYS} keys", "",
             f"{'':18} {'neighbour':9} {'server ns a key':>26} {'over alone':>22} {'M keys/s':>20} {'neighbour loses, %':>24}"]
    for point in sorted(runs.points(), key=lambda point: (point.server, NEIGHBOURS.index(point.neighbour))):
        cost = runs.ratios(point, Point(point.server, "none"), "server_ns") if point.neighbour != "none" else []
        loses = [100 * (ratio - 1) for ratio in runs.values(point, "loses")]
        rates = [rate / 1e6 for rate in runs.values(point, "keys_s")]
        lines.append(f"{point.server:18} {point.neighbour:9} {shown(runs.values(point, 'server_ns')):>26} {shown(cost, 2):>22} "
                     f"{shown(rates, 2):>20} {shown(loses):>24}")
    return "\n".join(lines) + "\n"


def main(bench, *arguments):
    mode, folder = parse(arguments, FOLDER)
    where = layout(siblings)[2]
    options = multiget.OURS | multiget.NULL | multiget.simdht_servers("quick", multiget.isas_here())
    servers = [*options, *served.installed_peers("co-runner")]
    if not served.build(bench, options):
        return 1
    runs = Runs(folder, Point, mode)
    points = [Point(*of) for of in itertools.product(servers, NEIGHBOURS)]
    right = runs.run_rounds(points, multiget.ROUNDS[mode], lambda point: measure(bench, options.get(point.server), point, mode))
    print(report(runs, where), end="")
    return int(not right)


if __name__ == "__main__":
    run_script("co-runner", main, *sys.argv[1:])
