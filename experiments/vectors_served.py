"""Operations on vectors behind a server, beside what a client would do without them; experiments/vectors-served runs it.

    experiments/vectors-served [--quick] [--out=FOLDER]

A server of ours (cuckoo under olc) on the first processor, one client, and pipelines of memcached's meta commands:

    update      mv adds a number to every element of a vector
    each        mv adds a vector, which is sent
    elements    a key for each element: ma adds to a number
    client      the client gets the vector (mg), would change it, and stores it (ms). Its own work is left out

    vectors     of 1 K and 16 K elements of f32; --quick: 1 K
    rounds      10; --quick: 3. In each, every point runs once, in random order

The text on stdout has the server's processor time an element, medians with the least and the most of the rounds, and the ratios to `update`
and `each`. The bar beside them: at least 4 times an element a key. FOLDER, by default experiments/results/vectors-served, gets results.jsonl.

Exit status: 0; 1 if a run failed; 2 for wrong input; 130 after an interruption.
"""
import itertools
import pathlib
import sys
import tempfile
from dataclasses import dataclass

import served
from input_error import InputError, run_script
from kept import Runs, parse, shown
from vectors import OF_ELEMENT_KEYS, build, with_bar

FOLDER = pathlib.Path(__file__).resolve().parent / "results/vectors-served"
WAYS = ("update", "each", "elements", "client")
ELEMENTS = {"quick": (1 << 10,), "full": (1 << 10, 1 << 14)}
ROUNDS = {"quick": 3, "full": 10}
TOTAL = {"quick": 1 << 16, "full": 1 << 20}   # elements of all vectors
REPEATS = {"quick": 100, "full": 20}          # of the pipelines of vectors, which are short: processor time is told in milliseconds
AT_ONCE = {"elements": 1024}                  # commands that are sent at once; other ways: 64 vectors, up to 1 MiB
ELEMENT_BYTES = 4
OPTIONS = ["--index=cuckoo", "--sync=olc"]


@dataclass(frozen=True)
class Point:
    way: str
    elements: int   # of a vector


def pipelines_of(point, total):
    """Returns the pipelines that change all vectors once. Each ends with mn."""
    size = ELEMENT_BYTES * point.elements
    names = [b"v%d" % number for number in range(total // point.elements)]
    quiet = {"update": [b"mv %s %d add f32 q\r\n%s\r\n" % (name, ELEMENT_BYTES, bytes(ELEMENT_BYTES)) for name in names],
             "each": [b"mv %s %d add f32 q\r\n%s\r\n" % (name, size, bytes(size)) for name in names],
             "client": [command for name in names for command in (b"mg %s v\r\n" % name, stores(name, bytes(size)))],
             "elements": [b"ma e%d q\r\n" % number for number in range(total)]}[point.way]
    at_once = AT_ONCE.get(point.way, min(64, (1 << 20) // size) * len(quiet) // len(names))
    return [b"".join(quiet[first:first + at_once]) + b"mn\r\n" for first in range(0, len(quiet), at_once)]


def stores(name, value):
    return b"ms %s %d q\r\n%s\r\n" % (name, len(value), value)


def loads_of(point, total):
    """Returns the pipelines that store what the point changes."""
    if point.way == "elements":
        commands = [stores(b"e%d" % number, b"1") for number in range(total)]
    else:
        commands = [stores(b"v%d" % number, bytes(ELEMENT_BYTES * point.elements)) for number in range(total // point.elements)]
    return [b"".join(commands[first:first + 16]) + b"mn\r\n" for first in range(0, len(commands), 16)]


def say(connection, pipelines):
    """Sends pipelines, and takes all answers to each. Raises InputError if one is an error."""
    for pipeline in pipelines:
        connection.sendall(pipeline)
        answers = bytearray()
        while not answers.endswith(b"MN\r\n"):
            more = connection.recv(1 << 20)
            if not more:
                raise InputError("the server has closed its connection")
            answers += more
        if b"_ERROR " in answers or b"NF\r\n" in answers[:4]:
            raise InputError(f"the server answers {bytes(answers[:80])!r}")


def measure(bench, point, mode, of):
    """Runs a point on a server of its own. Returns its outcome and the build."""
    pipelines = pipelines_of(point, TOTAL[mode])
    with tempfile.TemporaryDirectory(prefix="vectors-") as scratch:
        server = served.Server(bench, point.way, OPTIONS, "tcp", pathlib.Path(scratch))
        try:
            say(server.control, loads_of(point, TOTAL[mode]))
            repeats = 1 if point.way == "elements" else REPEATS[mode]
            begin = server.processor_ns()
            for _ in range(repeats):
                say(server.control, pipelines)
            return {"server_ns": (server.processor_ns() - begin) / (repeats * TOTAL[mode])}, of
        finally:
            server.end()


def report(runs):
    lines = []
    for point in sorted(runs.points(), key=lambda point: (point.elements, WAYS.index(point.way))):
        lines.append(f"{point.way:9} vectors of {point.elements:6} elements: {shown(runs.values(point, 'server_ns'), 3)} ns of the server an element")
    for elements, ours in itertools.product(sorted({point.elements for point in runs.points()}), ("update", "each")):
        for other in ("elements", "client"):
            ratios = runs.ratios(Point(other, elements), Point(ours, elements), "server_ns")
            shown_ratios = with_bar(ratios, OF_ELEMENT_KEYS) if other == "elements" else shown(ratios, 2)
            lines.append(f"{other} over {ours}, {elements} elements: {shown_ratios}")
    return "\n".join(lines) + "\n"


def main(bench, *arguments):
    mode, folder = parse(arguments, FOLDER)
    if not served.build(bench, {"ours": OPTIONS}):
        return 1
    runs, of = Runs(folder, Point, mode), build()
    points = [Point(way, elements) for way, elements in itertools.product(WAYS, ELEMENTS[mode])]
    right = runs.run_rounds(points, ROUNDS[mode], lambda point: measure(bench, point, mode, of))
    print(report(runs), end="")
    return int(not right)


if __name__ == "__main__":
    run_script("vectors-served", main, *sys.argv[1:])
