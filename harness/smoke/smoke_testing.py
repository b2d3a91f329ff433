"""Helpers that the tests of the real binary share: they run it, and check what must hold for every result."""

import json
import os
import pathlib
import re
import select
import signal
import struct
import subprocess
import sys
import time
import unittest

try:
    import jsonschema
except ImportError:
    sys.exit("results cannot be checked against their schema: install the package python3-jsonschema")

TREE = pathlib.Path(__file__).resolve().parents[2]
HARNESS = os.path.abspath(os.environ.get("LATCHLAB_HARNESS") or TREE / "build/release/harness")
MEASURED = ("ok", "noisy")   # statuses of a run on a machine that other programs may use
SHORT = ["--ops=2000", "--warmup=0", "--records=20000"]
# With locks that serve in order of arrival, and threads that share processors, every operation waits for a context switch.
IN_TURN = {policy: ["--ops=300"] for policy in ("ticket", "mcs", "cna", "reciprocating", "hapax", "gcr", "combine", "ffwd", "nr",
                                               "ticket-olc", "hapax-olc", "optiql")}


def skip_if_lacking(message):
    """Skips the test if the message refuses a pair that this build lacks, as the build of `./test --quick` may. In .ci/run that fails."""
    if "is not in this build, which has a part of all pairs" in message and not os.environ.get("LATCHLAB_SKIP_NOTHING"):
        raise unittest.SkipTest(message.strip())


def run(*arguments):
    done = subprocess.run([HARNESS, *arguments], capture_output=True, text=True, timeout=300, check=False)
    skip_if_lacking(done.stderr)
    return done


def as_zstd(data):
    """Returns less than 128 KiB of data as an uncompressed frame of zstd, since Debian's Python has no zstd."""
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) + struct.pack("<I", len(data) << 3 | 1)[:3] + data


def child_of(pid, seconds=60):
    """Waits for the first child of the process and returns its descriptor, which is readable when the child has ended."""
    for _ in range(100 * seconds):
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        if children:
            return os.pidfd_open(int(children[0]))
        time.sleep(.01)
    raise AssertionError(f"process {pid} has no child")


def kill_with_child(process):
    """Kills the process alone, and returns True if its child ends within a minute. Kills the child otherwise."""
    child = child_of(process.pid)
    process.kill()
    process.wait()
    ended = bool(select.select([child], [], [], 60)[0])
    if not ended:
        signal.pidfd_send_signal(child, signal.SIGKILL)
    os.close(child)
    return ended


def pairs():
    """Returns (index, policy, traits of the index) for every pair in this build that runs alone, from `harness list`."""
    found = []
    for line in run("list", "indexes").stdout.splitlines()[1:]:
        match = re.fullmatch(r"  (\S+) +(.*); under (.*)", line)
        if match is None:
            continue  # the line of an option
        traits = match.group(2).split(", ")
        if not any(trait.startswith("needs ") for trait in traits):
            found += [(match.group(1), policy, traits) for policy in match.group(3).split(", ")]
    return found


def cover(pairs):
    """Returns some of the pairs, in which every index and every policy occurs."""
    seen = set()
    out = []
    for index, policy, traits in pairs:
        if {index, policy} - seen:
            out.append((index, policy, traits))
            seen |= {index, policy}
    return out


def bare_nulls(document, path=""):
    """Returns the places where a document has a null without a reason."""
    if isinstance(document, list):
        return [null for i, item in enumerate(document) for null in bare_nulls(item, f"{path}/{i}")]
    if not isinstance(document, dict):
        return [f"{path}: a null in a list"] if document is None else []
    found = []
    for key, value in document.items():
        if value is not None:
            found += bare_nulls(value, f"{path}/{key}")
        elif not document.get(f"{key}_reason"):
            found.append(f"{path}/{key}: null without a reason")
    return found


class Runs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pairs = pairs()
        cls.results, cls.comparisons = (
            jsonschema.Draft7Validator(json.loads((TREE / "harness" / f"{name}.schema.json").read_text()))
            for name in ("result/result", "compare/comparison")
        )
        done = run("--workload=lookup", "--json", *SHORT)
        cls.rtm_works = json.loads(done.stdout)["machine"]["rtm"]["probe"] == "works"

    def documents(self, *arguments, count=1):
        done = run("--json", *arguments)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), count, arguments)
        return [self.checked(json.loads(line), arguments) for line in lines]

    def conforms(self, schema, document, arguments):
        problems = [
            f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in schema.iter_errors(document)
        ]
        self.assertEqual(problems + bare_nulls(document), [], arguments)

    def checked(self, document, arguments):
        """Checks what must hold for every result, and returns it."""
        self.conforms(self.results, document, arguments)
        self.assertIn(document["status"], (*MEASURED, "degraded"), (arguments, document["reason"]))
        self.assertEqual(document["reason"] == "", document["status"] == "ok", arguments)
        self.assertGreater(document["throughput"]["operations"], 0, arguments)
        validation = document["validation"]
        if validation["passed"] is None:
            self.assertIn(
                validation["passed_reason"], ("this index keeps nothing", "--validate=off"), arguments
            )
        else:
            self.assertTrue(validation["passed"], (arguments, validation))
        return document

    def comparison(self, *arguments):
        done = run("ab", "--json", *arguments)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        document = json.loads(done.stdout)
        self.conforms(self.comparisons, document, arguments)
        for variant in document["variants"]:
            for replicate in variant["replicates"]:
                self.checked(replicate["document"], arguments)
        return document
