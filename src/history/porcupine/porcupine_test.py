"""Tests that an independent checker, Porcupine, agrees with `harness check` about histories: the corpus, which must pass
or fail, and random small histories with changes to one detail.

CTest runs it in ./test --all. By hand: LATCHLAB_HARNESS=build/release/harness python3 src/history/porcupine/porcupine_test.py
It needs Go, which fetches Porcupine's module. It is skipped, with the reason, where either is missing, unless
LATCHLAB_SKIP_NOTHING is set.
"""

import collections
import dataclasses
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
HARNESS = os.environ.get("LATCHLAB_HARNESS", "")
HISTORIES = 600
BLOCK = 4096
KINDS = ("find", "insert", "update", "upsert", "erase")
NEVER = 2**64 - 1
WORDS = {0: "linearizable", 1: "not linearizable", 3: "cannot tell"}


@dataclasses.dataclass
class Call:
    key: int
    kind: str
    called: int
    returned: int
    yes: bool
    value: int = 0
    was: int | None = None

    def record(self, thread):
        """Returns the record of history_file.h. Numbers that do not count are 0 in it."""
        pending = self.returned == NEVER
        yes = self.yes and not pending
        value = 0 if self.kind == "erase" or (self.kind == "find" and not yes) else self.value
        was_there = yes == (self.kind not in ("insert", "upsert"))
        was = None if pending or self.kind == "find" or not was_there else self.was
        return struct.pack("<5QI2BH", self.key, value, was or 0, self.called, self.returned, thread, KINDS.index(self.kind),
                           yes | (was is not None) << 1, 0)


def mix64(x):
    for shift in (32, 29, 32):
        x = (x ^ x >> shift) * 0xBEA225F9EB34556D % 2**64
    return x ^ x >> 29


def hash_bytes(text):
    """Returns hash_bytes of src/base/hash.h with the seed 0."""
    left, right = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03

    def fold(a, b):
        return (a * b >> 64) ^ (a * b % 2**64)

    def turned(x):
        return (x << 32 | x >> 32) % 2**64

    state = mix64((mix64(left) + len(text)) % 2**64)
    at = 0
    while len(text) - at > 16:
        low, high = struct.unpack_from("<2Q", text, at)
        state = fold(low ^ left ^ state, high ^ right ^ turned(state))
        at += 16
    rest = text[at:]
    low, high = int.from_bytes(rest[:8], "little"), int.from_bytes(rest[-8:], "little") if len(rest) >= 8 else 0
    return mix64(state ^ fold(low ^ left ^ state, high ^ right ^ turned(state)))


def file_of(calls):
    """Returns the bytes of a history: a header and blocks of records, each with its sum."""
    header = b"latchhis" + struct.pack("<2IQ", 1, 0, len(calls))
    out = header + struct.pack("<Q", hash_bytes(header))
    for first in range(0, len(calls), BLOCK):
        block = b"".join(call.record(first + i) for i, call in enumerate(calls[first:first + BLOCK]))
        out += struct.pack("<Q", hash_bytes(block)) + block
    return out


def corpus():
    """Returns the histories of corpus.txt by their lines `right NAME` and `wrong NAME`."""
    histories = {}
    for line in (HERE.parent / "corpus.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            histories[line] = calls = []
            continue
        key, times, kind, *rest = line.split()
        called, returned = times.split("-")
        value = int(rest.pop(0)) if rest[0].isdigit() else 0
        answer, *was = rest
        calls.append(Call(int(key), kind, int(called), NEVER if answer == "?" else int(returned), answer == "+", value,
                          int(was[0]) if was else None))
    return histories


def draw(rng):
    """Returns the calls of a linearizable history: each has a moment at which it takes effect and gets its answer."""
    longest, values = rng.choice((1, 8, 30, 100)), rng.choice((0, 2, 4))
    keys, finds, says, lost = rng.randint(1, 3), rng.random(), rng.random(), rng.choice((0, 0, 0.1, 0.3))
    state, calls = {}, []
    for i in range(rng.randint(1, 20)):
        key, moment = rng.randrange(keys), longest + 10 * i
        kind = "find" if rng.random() < finds else rng.choice(KINDS[1:])
        before = state.get(key)
        call = Call(key, kind, moment - rng.randrange(longest), moment + rng.randrange(longest),
                    (before is None) == (kind in ("insert", "upsert")), rng.randint(1, values) if values else 1 + i)
        if kind == "find":
            call.value = before or 0
        elif rng.random() < says:
            call.was = before
        if kind == "erase":
            state.pop(key, None)
        elif kind == "upsert" or (kind in ("insert", "update") and call.yes):
            state[key] = call.value
        if rng.random() < lost:
            call.returned = NEVER
        calls.append(call)
    return calls


def changed(rng, calls):
    """Returns the calls with one detail changed, which usually makes them impossible."""
    calls = [dataclasses.replace(call) for call in calls]
    call, other = rng.choice(calls), rng.choice(calls)
    match rng.randrange(7):
        case 0:
            call.yes = not call.yes
        case 1:
            call.value = other.value
        case 2:
            call.kind = rng.choice(KINDS)
        case 3:
            call.called, other.called = other.called, call.called
        case 4:
            call.was = other.value
        case 5:
            call.was = None
        case _:
            call.returned = call.called + rng.randrange(30)
    for one in calls:
        one.called, one.returned = sorted((one.called, one.returned))
    return calls


def build(folder):
    """Builds the checker. Returns its path, or None and the reason why its module cannot be had."""
    if not shutil.which("go"):
        return None, "Go is not installed"
    fetched = subprocess.run(["go", "mod", "download"], cwd=HERE, capture_output=True, text=True, timeout=300)
    if fetched.returncode != 0:
        return None, "Go cannot fetch Porcupine: " + (fetched.stderr.strip().splitlines() or ["no reason given"])[-1]
    subprocess.run(["go", "build", "-o", folder, "."], cwd=HERE, check=True, timeout=300)
    return f"{folder}/porcupine", None


class Agreement(unittest.TestCase):
    checker = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "history"

    def status(self, calls):
        """Returns the exit status of both checkers, which must agree."""
        self.file.write_bytes(file_of(calls))
        runs = [subprocess.run([*command, self.file], capture_output=True, text=True, timeout=60)
                for command in ((HARNESS, "check"), (self.checker,))]
        self.assertEqual(runs[0].returncode, runs[1].returncode,
                         "\n".join([runs[0].stdout + runs[0].stderr, runs[1].stdout + runs[1].stderr, *map(str, calls)]))
        status = runs[0].returncode
        self.assertIn(status, WORDS, runs[0].stderr)
        self.assertEqual(runs[0].stdout.splitlines()[0].partition(":")[0], WORDS[status])
        self.assertEqual(runs[1].stdout, {0: "yes\n", 1: "no\n", 3: "unknown\n"}[status])
        return status

    def test_on_the_corpus(self):
        histories = corpus()
        for name, calls in histories.items():
            with self.subTest(name):
                self.assertEqual(self.status(calls), {"right": 0, "wrong": 1}[name.split()[0]])
        self.assertGreaterEqual(len(histories), 34, "the corpus was not read whole")

    def test_on_random_histories_and_on_changed_ones(self):
        seed = int(os.environ.get("LATCHLAB_SEED", str(random.randrange(2**32))), 0)
        print(f"random choices of this run: LATCHLAB_SEED={seed}", file=sys.stderr)
        rng = random.Random(seed)
        of_changed = collections.Counter()
        for _ in range(HISTORIES):
            calls = draw(rng)
            self.assertEqual(self.status(calls), 0, "\n".join(map(str, calls)))
            of_changed[self.status(changed(rng, calls))] += 1
        print(f"{HISTORIES} changed histories: {of_changed[0]} linearizable, {of_changed[1]} not", file=sys.stderr)
        self.assertGreater(min(of_changed[0], of_changed[1]), HISTORIES // 10)
        self.assertEqual(of_changed[3], 0)

    def test_on_times_and_numbers_of_all_bits(self):
        late, high = 2**64 - 5, 2**64 - 1
        right = [Call(high, "insert", 1, 2**63, True, high), Call(high, "upsert", late, late, False, 0, high),
                 Call(high, "find", late + 1, late + 2, True, 0)]
        self.assertEqual(self.status(right), 0)
        right[2].called, right[2].value = late + 1, high
        self.assertEqual(self.status(right), 1)

    def test_on_a_history_of_several_blocks(self):
        calls = [Call(i // 2, ("insert", "find")[i % 2], i, i, True, i // 2) for i in range(2 * BLOCK + 2)]
        self.assertEqual(self.status(calls), 0)
        calls[-1].value += 1
        self.assertEqual(self.status(calls), 1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Agreement.checker, reason = build(folder)
        if reason:
            print(f"skipped: {reason}")
            sys.exit(1 if os.environ.get("LATCHLAB_SKIP_NOTHING") else 77)
        unittest.main(argv=[sys.argv[0]])
