"""Tests of what machines a sweep ran on: nodes that are one machine make each other noisy, and a slower machine of a kind is named.

CTest runs it. By hand: python3 experiments/machines_test.py
"""
import contextlib
import io
import pathlib
import random
import subprocess
import tempfile
import unittest

from experiment_testing import DRAWS, TREE

import definition  # noqa: E402
import machines  # noqa: E402
from results import Results  # noqa: E402


def document(boot, rate=1000.0, status="ok", digest="d"):
    return {"status": status, "reason": "busy" if status == "noisy" else "", "throughput": {"per_second": rate},
            "machine": {"boot_id": boot, "topology_digest": digest}}


class Machines(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def results(self, runs, kind="a"):
        """Keeps runs, each (point, replicate, node, began, document)."""
        (self.folder / kind).mkdir(exist_ok=True)
        of = Results(self.folder / kind, "binary")
        for point, replicate, node, began, made in runs:
            run = {"node": node, "began": began, "ended": began + 1}
            of.add(definition.Point(0, "", None, (f"--threads={point}",)), replicate, made, run)
        return of

    def statuses(self, kind="a"):
        """Returns what the file says: run -> (status, reason)."""
        of = Results(self.folder / kind, "binary")
        return {(made[0][0][-1], made[1]): (kept["status"], kept["reason"]) for made, kept in of.known.items()}

    def test_nodes_with_one_boot_id_make_each_other_noisy_while_they_overlap(self):
        of = self.results([
            (1, 0, "n1", 10, document("x")),
            (1, 1, "n2", 10.5, document("x", status="noisy")),   # beside the first one
            (2, 0, "n1", 20, document("x")),                      # alone
            (2, 1, "n3", 20.5, document("y")),                    # beside it, on another machine
            (3, 0, "n1", 30, document("x")),
            (3, 1, "n1", 30.5, document("x")),                    # the same node: one task at a time runs there
            (4, 0, "n1", 40, document(None)),
            (4, 1, "n2", 40.5, document(None)),                   # unknown
            (5, 0, "n1", 50, document("x", status="degraded")),
        ])
        other_kind = self.results([(6, 0, "n4", 50.5, document("x"))], "b")
        self.assertEqual(machines.mark_shared({"a": of, "b": other_kind}), 4)
        why = "node {} is this machine too (one boot_id), and ran at the same time"
        self.assertEqual(self.statuses(), {
            ("1", 0): ("noisy", why.format("n2")), ("1", 1): ("noisy", "busy; " + why.format("n1")),
            **{(point, block): ("ok", "") for point in "234" for block in (0, 1)},
            ("5", 0): ("degraded", ""),
        })
        self.assertEqual(self.statuses("b"), {("6", 0): ("noisy", why.format("n1"))})
        before = of.path.read_bytes()
        machines.mark_shared({"a": of, "b": other_kind})
        self.assertEqual(of.path.read_bytes(), before)   # a second call changes nothing

    def sweep(self, slow, points=20):
        """Returns results of three machines, of which the third is slower by this share; each point varies by up to 1 %."""
        chance = random.Random(1)
        runs = []
        for block, (node, rate) in enumerate((("n1", 1), ("n2", 1), ("n3", 1 - slow))):
            runs += [(point, block, node, 100 * block + point, document(node, 1000 * point * rate * chance.uniform(.99, 1.01)))
                     for point in range(1, points + 1)]
        return self.results(runs)

    def test_a_slower_machine_is_named_with_its_ratio_and_an_equal_one_is_not(self):
        first, second, third = machines.effects(self.sweep(slow=.1))
        self.assertEqual([each.machine for each in (first, second, third)], ["n1", "n2", "n3"])
        self.assertTrue(third.differs)
        self.assertAlmostEqual(third.ratio, .9, delta=.01)
        self.assertLess(third.high, .92)
        self.assertGreater(third.low, .88)
        self.assertIn("; 20 points): a machine effect", third.words)

    def test_equal_machines_show_no_effect_and_few_points_give_no_interval(self):
        self.assertFalse(any(effect.differs for effect in machines.effects(self.sweep(slow=0))))
        (self.folder / "a/results.jsonl").unlink()
        few = machines.effects(self.sweep(slow=.5, points=5))
        self.assertIn("too few points for an interval", few[2].words)

    def test_one_machine_has_no_effect_and_its_boots_are_told_apart(self):
        of = self.results([(1, 0, "n1", 10, document("x" * 12)), (1, 1, "n1", 20, document("x" * 12))])
        self.assertEqual(machines.effects(of), [])
        of.add(definition.Point(0, "", None, ("--threads=1",)), 2, document("y" * 12, 500), {"node": "n1", "began": 30, "ended": 31})
        self.assertEqual([(each.machine, round(each.ratio, 2)) for each in machines.effects(of)],
                         [("n1, boot xxxxxxxx", 2), ("n1, boot yyyyyyyy", .5)])

    def test_the_interval_of_a_median(self):
        self.assertIsNone(machines.interval(range(5)))            # all five on one side: 1 of 16
        self.assertEqual(machines.interval(range(6)), (0, 5))     # 1 of 32
        self.assertEqual(machines.interval(range(20)), (5, 14))   # as tables of the sign test have it

    def test_the_figure_is_drawn_where_the_module_is(self):
        results = self.sweep(slow=.1)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            machines.show(results, self.folder)
        self.assertEqual(len(out.getvalue().splitlines()), 3)
        if not DRAWS.exists():
            self.skipTest("no module draws here")
        call = ("import pathlib, sys; sys.path[:0] = [sys.argv[1]]; import machines, results; "
                "machines.show(results.Results(pathlib.Path(sys.argv[2]) / 'a', 'binary'), pathlib.Path(sys.argv[2]))")
        subprocess.run([DRAWS, "-B", "-c", call, TREE / "experiments", self.folder], check=True, capture_output=True, timeout=120)
        drawn = (self.folder / "machines.svg").read_text()
        self.assertIn("times the rate of the other machines", drawn)
        self.assertIn("n3", drawn)


if __name__ == "__main__":
    unittest.main()
