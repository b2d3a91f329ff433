"""Tests of the model's numbers beside the published ones, and of the report about them.

CTest runs it; by hand: python3 experiments/models/card/rows_test.py
"""

import concurrent.futures
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from models.card import closed_forms, report, rows
from models.card.parameters import INPUTS, kv_direct
from models.card.rows import Number


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            cls.runs = list(pool.map(rows.numbers, (1, 2)))
        cls.numbers = rows.mean_of(cls.runs)
        published, cls.notes = report.read_published()
        cls.published = {row.row: row for row in published}

    def off(self, name):
        return abs(self.published[name].difference(self.numbers[name].best))

    def test_each_published_row_has_a_number_and_a_place(self):
        self.assertEqual([row.row for row in self.published.values() if not row.quoted and row.row not in self.numbers], [])
        self.assertEqual([row.row for row in self.published.values() if row.quoted and not row.why], [])

    def test_throughput_is_near_or_has_a_reason(self):
        for name, row in self.published.items():
            if name.startswith(("uniform/", "zipf/")) and self.off(name) > 0.05:
                self.assertTrue(row.why, name)
        for size in rows.SIZES:
            self.assertLess(self.off(f"uniform/get-{size}"), 0.05)
        for name in ("get-126", "get-254", "put-254"):
            self.assertLess(self.off(f"uniform/{name}"), 0.0025, name)   # 37.07 and 18.46 beside numbers of three digits
        self.assertLess(self.off("zipf/get-62"), 0.002)

    def test_accesses_are_near(self):
        for percent in rows.UTILISATIONS:
            self.assertLess(self.off(f"accesses/get-{percent}"), 0.01)
        for percent in (30, 50, 65):
            self.assertLess(self.off(f"accesses/put-{percent}"), 0.005)

    def test_the_station(self):
        self.assertAlmostEqual(self.numbers["station/atomics-stalled"].best, 0.94, delta=0.005)
        self.assertAlmostEqual(self.numbers["station/atomics"].best, 180, delta=0.5)
        self.assertAlmostEqual(self.numbers["station/zipf"].best, 180, delta=1)
        self.assertLessEqual(self.numbers["station/in-flight"].best, 256)
        self.assertLess(self.off("station/forwarded"), 0.03)
        self.assertTrue(150 < self.numbers["station/resident"].best <= 233)
        for percent in (1, 10, 50, 100):
            self.assertLess(self.off(f"station/stalled-alone-{percent}"), 0.05, percent)

    def test_the_flows_of_load_dispatch(self):
        for flow in ("all", "direct", "cacheable", "hit", "miss", "pcie"):
            self.assertLess(self.off(f"dispatch/{flow}"), 0.02, flow)
        self.assertLess(self.off("dispatch/uniform"), 0.02)

    def test_batching(self):
        self.assertLess(self.off("batching/alone"), 0.03)
        self.assertLess(self.off("batching/batched"), 0.01)
        for name in ("alone", "batched"):
            least, average, most = (self.numbers[f"batching/{of}-{name}"].best for of in ("least", "average", "most"))
            self.assertTrue(least < average < most)

    def test_known_mismatches_stay(self):
        """Constants that hid one of these would be wrong."""
        for name in ("station/stalled-1", "station/stalled-100", "vectors/elements", "dispatch/hits-form", "accesses/get-50-other",
                     "nics/pagerank-updates", "parts/card-memory"):
            self.assertFalse(self.published[name].is_near(self.numbers[name].best), name)
            self.assertTrue(self.published[name].why, name)

    def test_two_seeds_differ_little(self):
        self.assertLess(rows.apart(self.runs, False)[0], 0.01, rows.apart(self.runs, False)[1])
        self.assertLess(rows.apart(self.runs, True)[0], 0.06, rows.apart(self.runs, True)[1])

    def test_closed_forms_and_simulator_agree(self):
        for name, number in self.numbers.items():
            if number.closed is not None and number.simulated is not None:
                self.assertAlmostEqual(number.simulated / number.closed, 1, delta=0.02, msg=name)

    def test_the_report_has_all_rows_and_their_reasons(self):
        text = "\n".join(report.table(list(self.published.values()), self.notes, self.numbers))
        for row in self.published.values():
            self.assertIn(row.says, text)
        off = report.mismatches(list(self.published.values()), self.numbers)
        self.assertEqual(text.count(" !  ") + text.count(" !\n"), len(off))
        self.assertTrue(all(len(line) <= report.WIDTH for line in text.splitlines()))


class Report(unittest.TestCase):
    ROW = report.Published("uniform/x", "x", "Mops", "stated", 100.0, why="a reason")

    def test_a_mismatch_is_marked_with_its_reason(self):
        self.assertTrue(report.line_of(self.ROW, Number(104.0)).rstrip().endswith("stated"))
        self.assertIn("+4.0 % ", report.line_of(self.ROW, Number(104.0)))
        self.assertIn("+6.0 % !", report.line_of(self.ROW, Number(50.0, 106.0)))   # the simulated number counts

    def test_a_bound_is_kept_or_not(self):
        row = report.Published("station/x", "x", "", "stated", most=256)
        self.assertTrue(row.is_near(256))
        self.assertFalse(row.is_near(300))

    def test_a_number_with_few_digits_is_near_if_it_rounds_to_them(self):
        row = report.Published("vectors/x", "x", "GB/s", "stated", 0.03, digits=2)
        self.assertTrue(row.is_near(0.0275))
        self.assertFalse(row.is_near(0.02))

    def test_inputs_have_sources(self):
        text = "\n".join(report.inputs())
        for name, given in INPUTS.items():
            self.assertIn(name, text)
            self.assertTrue(given.source, name)

    def test_the_network_allows_what_was_published(self):
        from models.card import chains
        for size, published in ((62, 74.7), (126, 37.1), (254, 18.5)):
            allowed, _ = closed_forms.limits(kv_direct(), closed_forms.Demand(chains.tightest(size, 0.5)))
            self.assertAlmostEqual(allowed["network"] / 1e6 / published, 1, delta=0.002)


if __name__ == "__main__":
    unittest.main()
