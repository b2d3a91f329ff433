"""Tests of experiments/budget.py: what it reads of callgrind, and the table that it writes. Nothing is counted here.

Run by CTest; by hand: python3 experiments/budget_test.py
"""
import pathlib
import sys
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TREE / "experiments"))

import budget  # noqa: E402


class Budget(unittest.TestCase):
    def test_reads_the_totals_of_callgrind(self):
        events = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Ge"
        self.assertEqual(budget.totals(f"version: 1\nevents: {events}\nfn=(1)\n3 7\ntotals: 900 1 2 3 4 5 6 70 8 11\n"), [900, 11, 78])
        # callgrind leaves out zeros at the end
        self.assertEqual(budget.totals(f"events: {events}\ntotals: 900 1 2 3 4 5 6 70\n"), [900, 0, 70])

    def test_says_that_the_loop_was_not_met(self):
        with self.assertRaisesRegex(SystemExit, "callgrind met no RunnerOf::run_requests"):
            budget.totals("events: Ir Dr Ge\ntotals: 0\n")

    def test_a_row_has_three_counts_for_each_operation(self):
        table = budget.markdown({("art", "olc"): [[99.2, 0.0, 2.361], [71, 0, 1.22], [123, 1.0, 2.45], [422, 1.04, -0.001]]})
        self.assertEqual(table.splitlines()[2], "| art, olc | 99 / 0.0 / 2.36 | 71 / 0.0 / 1.22 | 123 / 1.0 / 2.45 | 422 / 1.0 / 0.00 |")
        self.assertEqual({line.count("|") for line in table.splitlines()}, {len(budget.OPERATIONS) + 2})

    def test_a_row_of_keys_is_without_the_loop(self):
        others = dict.fromkeys(budget.KEYED_INDEXES, [2, 2, 4, 3])
        table = budget.keyed_markdown({**others, "null": [.4, .4, 1.8, 1.8], "cuckoo": [1.4, 1.4, 3.9, 2.9]})
        self.assertEqual(table.splitlines()[3], "| cuckoo | 1.00 | 1.00 | 2.10 | 1.10 | +1.10 | +0.10 |")
        self.assertEqual({line.count("|") for line in table.splitlines()}, {8})
        old = budget.PAGE.read_text().split(budget.KEYED_BEGIN)[1].split(budget.KEYED_END)[0].strip()
        self.assertEqual([line.split("|")[1].strip() for line in old.splitlines()[3:]], list(budget.KEYED_INDEXES))

    def test_the_page_has_the_table_of_these_pairs(self):
        page = budget.PAGE.read_text()
        old = page.split(budget.BEGIN)[1].split(budget.END)[0].strip()
        self.assertEqual(budget.replaced(page, old), page)
        self.assertEqual([tuple(line.split("|")[1].strip().split(", ")) for line in old.splitlines()[2:]], budget.PAIRS)


if __name__ == "__main__":
    unittest.main()
