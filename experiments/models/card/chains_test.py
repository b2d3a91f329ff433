"""Tests of tables and popularity: closed forms beside counts, and beside published accesses.

CTest runs it; by hand: python3 experiments/models/card/chains_test.py
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import numpy

from models.card import chains, popularity


class Chains(unittest.TestCase):
    def test_closed_forms_say_what_is_counted(self):
        random = numpy.random.default_rng(1)
        for load, size in ((0.5, 5), (4.8, 10), (10.4, 10), (2.9, 15), (1.0, 254)):
            with self.subTest(load=load, size=size):
                table = chains.Table(size, load, size <= 50)
                of_pairs, of_next = chains.counted(random, table, 200_000)
                self.assertAlmostEqual(of_pairs.mean(), chains.chain_of_get(load, table.room), delta=0.005)
                self.assertAlmostEqual(of_next.mean(), chains.chain_of_insert(load, table.room), delta=0.005)

    def test_a_line_has_ten_slots(self):
        for size, room in ((5, 10), (6, 5), (10, 5), (15, 3), (16, 2), (25, 2), (26, 1), (50, 1)):
            self.assertEqual(chains.Table(size, 1.0).room, room, size)

    def test_records_have_their_header_and_whole_lines(self):
        for size, record, lines in ((30, 32, 1), (62, 64, 1), (63, 128, 2), (126, 128, 2), (254, 256, 4), (510, 512, 8), (511, 1024, 9)):
            table = chains.Table(size, 1.0, False)
            self.assertEqual((table.record_bytes, table.record_lines), (record, lines), size)

    def test_the_tightest_table_fills_the_memory(self):
        for size in (5, 10, 15, 62, 254):
            with self.subTest(size=size):
                table = chains.tightest(size, 0.5)
                buckets = 0.5 / table.stored_bytes / table.load   # for each byte of the memory
                chain = buckets * chains.lines_a_bucket(table.load, table.room) * 64
                self.assertAlmostEqual(chain + 0.5 * table.record_bytes / table.stored_bytes, 1.0, places=6)
        with self.assertRaises(ValueError):
            chains.tightest(10, 0.9)

    def test_more_utilisation_never_takes_fewer_lines(self):
        for size in (5, 10, 15):
            lines = [chains.chain_of_get(table.load, table.room) for table in (chains.tightest(size, u / 100) for u in range(10, 66, 5))]
            self.assertEqual(lines, sorted(lines), size)


class Popularity(unittest.TestCase):
    def test_the_sum_over_many_ranks_is_that_of_all(self):
        for n in (10, 1000, 1001, 200_000):
            for q in (0.5, 0.99, 1, 1.2):
                whole = float((numpy.arange(1, n + 1.0) ** -q).sum())
                self.assertAlmostEqual(popularity.total(n, q) / whole, 1, places=10, msg=f"{n} {q}")

    def test_ranks_are_as_popular_as_their_weights(self):
        n, q = 20_000, 0.99
        ranks = popularity.ranks_at((numpy.arange(1_000_000) + 0.5) / 1_000_000, n, q)
        self.assertEqual((ranks.min() >= 0, ranks.max() < n), (True, True))
        for first, last in ((0, 1), (1, 10), (10, 1000), (1000, 1100), (1000, 5000), (5000, n)):
            share = ((ranks >= first) & (ranks < last)).mean()
            weight = (numpy.arange(first + 1, last + 1.0) ** -q).sum() / popularity.total(n, q)
            self.assertAlmostEqual(share / weight, 1, delta=0.02, msg=f"{first} {last}")

    def test_the_mean_over_ranks_is_that_of_all(self):
        n, q = 100_000, 0.99
        shares = numpy.arange(1, n + 1.0) ** -q / popularity.total(n, q)
        self.assertAlmostEqual(popularity.mean_over_ranks(n, q, lambda share: share * 1e4 / (1 + share * 1e4)),
                               float((shares * shares * 1e4 / (1 + shares * 1e4)).sum()), places=4)

    def test_a_direct_mapped_cache_hits_as_one_that_is_run(self):
        random = numpy.random.default_rng(3)
        n, places = 8_000, 1_000
        place_of = random.permutation(numpy.arange(n) % places)
        ranks = popularity.ranks_at(random.random(400_000), n, 0.99)
        holds, hits = {}, 0
        for number, rank in enumerate(ranks.tolist()):
            place = place_of[rank]
            hits += holds.get(place) == rank and number >= 200_000
            holds[place] = rank
        self.assertAlmostEqual(hits / 200_000, popularity.direct_mapped_hits(random, n, 0.99, n / places - 1), delta=0.02)


if __name__ == "__main__":
    unittest.main()
