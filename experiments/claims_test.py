"""Verifies claims with the real harness: those of README, and those of the artifact in claims/planted, one of which is wrong.

CTest runs it under ./test --all, alone. By hand: LATCHLAB_HARNESS=build/release/harness python3 experiments/claims_test.py
Exit status 77: other programs disturbed most runs of a claim of README that was not reproduced, so nothing is known.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from experiment_testing import HARNESS, TREE

CLAIMS = TREE / "experiments/claims"
disturbed = []   # claims of README that nothing is known of


def verify(source, *more):
    """Returns the exit status of a verification, and its claims by name."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["/usr/bin/python3", "-B", str(TREE / "experiments/verify.py"), HARNESS, str(source), f"--out={folder}/out", *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3000)
        if done.returncode not in (0, 1):
            raise AssertionError(done.stderr)
        summary = json.loads((pathlib.Path(folder) / "out/summary.json").read_text())
    return done.returncode, {claim["name"]: claim for claim in summary["claims"]}


class Claims(unittest.TestCase):
    def test_of_three_shipped_claims_the_planted_one_is_not_reproduced(self):
        status, claims = verify(CLAIMS / "planted")
        self.assertEqual(status, 1)
        self.assertEqual({name: claim["outcome"] for name, claim in claims.items()}, {
            "a-lock-costs": "reproduced", "olc-is-thrice-none": "not reproduced", "bytes-of-a-key": "reproduced",
        })
        planted = claims["olc-is-thrice-none"]
        self.assertLess(planted["interval"][1], 2.85)
        self.assertGreater(len(planted["causes"]), 0)

    def test_the_claims_of_readme_are_reproduced(self):
        _, claims = verify(CLAIMS / "policies.toml")
        for name, claim in claims.items():
            if claim["outcome"] in ("reproduced", "not testable here"):
                continue
            with self.subTest(claim=name):
                if claim["disturbed"] > claim["blocks"]:   # most of the runs, which are two a block
                    disturbed.append(name)
                else:
                    self.fail(f"{claim['holds']}: {claim['outcome']}: {claim['value']}, {claim['interval']}: {claim['reason']}")


if __name__ == "__main__":
    good = unittest.main(exit=False).result.wasSuccessful()
    if good and disturbed:
        print(f"other programs disturbed most runs of {', '.join(disturbed)}")
    sys.exit(1 if not good else 77 if disturbed else 0)
