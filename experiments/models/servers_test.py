"""The model of servers. Run by CTest; by hand: python3 experiments/models/servers_test.py"""
import ast
import contextlib
import dataclasses
import functools
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(EXPERIMENTS))
from input_error import InputError
from models import quantities, servers
from models import server_model as model

COMMAND = "import sys; sys.path.insert(0, sys.argv[1]); from input_error import run_script; from models import servers; " \
          "run_script('model', servers.main, sys.argv[2:])"
CONVERSIONS = {0, 1, 2, 24, 100, 365.25, 1e3, 1e6, 1e9}   # of units, and indexes
DRAWN = 40


def few_draws(inputs):
    """Returns the inputs with two draws, which are fast."""
    return servers.Inputs(inputs.rows | {"draws.number": exact(inputs.rows["draws.number"], 2)}, inputs.loads)


def exact(row, value):
    """Returns a row with another value, and no spread."""
    return dataclasses.replace(row, value=value, low=value, high=value)


@functools.cache
def inputs():
    return servers.inputs_of()


def cases():
    """Yields values, as they stand and drawn, with a load, a machine and a number of shards."""
    chosen = random.Random(7)
    for number in (None, *range(DRAWN)):
        values = inputs().values(number)
        for load in inputs().loads:
            for machine in model.MACHINES:
                yield values, load, machine, chosen.choice(values["axis.shards"])


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def file(self, text, name="own.toml"):
        path = self.folder / name
        path.write_text(text)
        return path


class Properties(unittest.TestCase):
    def test_more_latency_is_never_more_throughput(self):
        slower = dict.fromkeys(("far.latency", "flash.latency"), 0)   # how often there was less throughput: otherwise nothing was seen
        for values, load, machine, shards in cases():
            base = model.outcome(values, machine, load, shards).rate
            for name in slower:
                rate = model.outcome(values | {name: 5 * values[name]}, machine, load, shards).rate
                self.assertLessEqual(rate, base, (name, machine, load.name))
                slower[name] += rate < base
        self.assertGreater(min(slower.values()), 50)

    def test_less_bandwidth_is_never_more_throughput(self):
        for values, load, machine, shards in cases():
            base = model.outcome(values, machine, load, shards).rate
            for name in ("far.read", "far.write", "flash.read"):
                self.assertLessEqual(model.outcome(values | {name: values[name] / 50}, machine, load, shards).rate, base, (name, machine))

    def test_cheaper_far_memory_is_never_a_dearer_hybrid(self):
        for values, _, machine, _ in cases():
            less = values | {"far.price": values["far.price"] / 2}
            self.assertLessEqual(model.purchase(less, machine), model.purchase(values, machine))
            self.assertEqual(model.purchase(less, machine) < model.purchase(values, machine), machine == "hybrid")

    def test_a_limit_that_is_removed_is_never_the_limit(self):
        for values, load, machine, shards in cases():
            without, rate = (), 0
            while len(without) < len(model.LIMITS):
                out = model.outcome(values, machine, load, shards, without)
                self.assertNotIn(out.limit, without)
                self.assertGreaterEqual(out.rate, rate)
                without, rate = (*without, out.limit), out.rate
            self.assertEqual(set(without), set(model.LIMITS))

    def test_every_look_up_hits_or_misses_once(self):
        for values, load, machine, shards in cases():
            near, far, miss = model.hits_of(values, machine, load, shards)
            self.assertAlmostEqual(near + far + miss, 1)
            self.assertGreaterEqual(min(near, far, miss), 0)
            self.assertEqual(far > 0, machine == "hybrid" and far != 0)

    def test_break_even_is_where_an_operation_costs_the_same(self):
        values, load = inputs().values(), inputs().loads[0]
        shards = {machine: model.most_shards(values, machine) for machine in model.MACHINES}
        for than in ("small", "large"):
            at = values | {"far.price": model.break_even(values, load, shards, than)}
            self.assertAlmostEqual(model.cheaper_an_operation(at, load, shards, than=than), 0)
            self.assertGreater(model.cheaper_an_operation(at | {"far.price": at["far.price"] / 2}, load, shards, than=than), 0)


class Parts(unittest.TestCase):
    def test_fit_finds_a_line(self):
        operation, miss = model.fit([0, 1, 2], [5, 8, 11])
        for found, right in ((operation, 5), (miss, 3)):
            self.assertTrue(all(abs(each - right) < 1e-9 for each in found), found)

    def test_costs_are_a_line_through_the_published_rates(self):
        rows = inputs().rows
        for rate, hit in zip(rows["mixgraph.ops"].value, rows["load.prefix_dist"].value, strict=True):
            time = rows["cost.operation"].value + rows["cost.miss"].value * (1 - hit / 100)
            self.assertLess(abs(time * rate / 1e6 - 1), 0.04)   # a line fits: the residuals are below 4 %

    def test_hits_between_counts_and_beyond(self):
        load = model.Load("x", (0.01, 0.04), (0.2, 0.8))
        self.assertEqual([round(load.hit(share), 9) for share in (0.001, 0.01, 0.02, 0.04, 1)], [0.2, 0.2, 0.5, 0.8, 0.8])
        self.assertEqual([load.covers(share) for share in (0.001, 0.02, 1)], [False, True, False])

    def test_a_half_of_the_draws_is_below_the_value(self):
        row = quantities.Quantity("x", 2, 1, 10, "$", "s", "2020", "H")
        draws = [row.draw(number, 1) for number in range(1000)]
        self.assertTrue(1 <= min(draws) < 1.1 and 9 < max(draws) <= 10)
        self.assertAlmostEqual(sum(draw < 2 for draw in draws) / 1000, 0.5, delta=0.06)
        self.assertEqual(draws, [row.draw(number, 1) for number in range(1000)])

    def test_needed_prices_give_the_published_ends(self):
        values, found = inputs().values(), 0
        for name in servers.PURCHASES:
            for percent in (43, 48):
                price = model.needed(values, name, percent)
                if price is not None:
                    self.assertAlmostEqual(model.cheaper(values | {name: price}), percent)
                    found += 1
        self.assertGreater(found, 6)


class Results(unittest.TestCase):
    def setUp(self):
        self.estimates = servers.Estimates(few_draws(inputs()))

    def test_how_far_the_published_saving_is_and_which_input_is_missing(self):
        text = servers.report(self.estimates)
        saving = self.estimates.cheaper()[servers.SERVER][0]
        self.assertIn(f"a server is {43 - saving:.1f} points away, but the cost table of the paper, with its processor, drives and prices, was not "
                      "seen", text)
        inside = servers.Inputs(self.estimates.inputs.rows | {"dram.price": exact(self.estimates.inputs.rows["dram.price"], 8)}, self.estimates.loads)
        self.assertIn("a server is inside, but the cost table", servers.report(servers.Estimates(inside)))
        self.assertRegex(text, r"far\.price +[0-9.]+ and [0-9.]+ \$/GB; ours is 4\.51")

    def test_the_manual_has_these_numbers(self):
        page = (EXPERIMENTS.parent / "docs/model_servers.md").read_text()
        numbers = [f"| {value:.1f} (" for value, _, _ in self.estimates.cheaper().values()]
        numbers += [f" {end:,.2f} |" for ends in self.estimates.needed().values() for end in ends if end is not None]
        first = self.estimates.loads[0]
        numbers += [f" {model.outcome(self.estimates.values, machine, load, shards).rate / 1e3:,.0f} (" for machine in model.MACHINES
                    for load, shards in (*((load, 32) for load in self.estimates.loads), (first, 16))]
        gains = [str(round(self.estimates.gain(first, shards)[0])) for shards in (4, 8, 16, 32)]
        numbers += [f"{', '.join(gains[:-1])} and {gains[-1]} %"]
        numbers += [f"at ${price:.2f} {model.cheaper(self.estimates.values | {'dram.price': price}):.1f} %" for price in (6.25, 9.38)]
        numbers += [f"{self.estimates.values[f'cost.{cost}']:.1f} us" for cost in ("operation", "miss")]
        self.assertGreater(len(numbers), 30)
        self.assertEqual([number for number in numbers if number not in page], [])

    def test_weak_tags_show(self):
        text = servers.report(self.estimates)
        for name, row in inputs().rows.items():
            self.assertRegex(text, rf"(?m)^  {name} .*\[{row.tag}\] {row.date}: ")
        notes = " ".join(servers.notes_of(self.estimates))
        self.assertEqual([name for name, row in inputs().rows.items() if row.tag in quantities.WEAK and name not in notes], [])

    def test_every_number_in_the_figures_that_is_not_modelled_has_a_row(self):
        known = {each for row in inputs().rows.values() for each in (row.value if isinstance(row.value, tuple) else (row.value,))}
        seen = set()
        for panel, points in (*servers.panels_of(self.estimates), *servers.price_panels_of(self.estimates)):
            seen |= {number for _, of in (*panel.beside, *panel.between) for known_point in of for number in known_point}
            seen |= set(panel.x) | {point["x"] for point in points}
        numbers = {each for each in seen if not isinstance(each, str)}
        self.assertGreater(len(numbers), 15)
        self.assertEqual(numbers - known, set())

    def test_the_code_has_no_number_but_conversions(self):
        for name in ("server_model.py", "servers.py"):
            tree = ast.parse((EXPERIMENTS / "models" / name).read_text())
            tree.body = [node for node in tree.body if not ast.unparse(node).startswith("UNITS =")]   # Ki, M and so on
            found = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and quantities.is_number(node.value)}
            self.assertEqual(found - CONVERSIONS, set(), name)

    def test_every_row_has_a_part_in_the_results(self):
        def everything(of):
            estimates = servers.Estimates(of)
            panels = [(str(panel), points) for panel, points in (*servers.panels_of(estimates), *servers.price_panels_of(estimates))]
            document = servers.document(estimates)
            document.pop("inputs")
            return json.dumps([document, panels])

        base = few_draws(inputs())
        # One load and one latency are enough, and faster.
        base.rows["axis.latency"] = exact(base.rows["axis.latency"], (100, 12800))
        before = everything(base)
        unused = []
        for name, row in base.rows.items():
            change = lambda value: value * 0.8 if value else 64
            value = tuple(map(change, row.value)) if isinstance(row.value, tuple) else change(row.value)
            value = 3 if name in ("draws.number", "draws.seed", "machine.large.sockets", "machine.small.sockets", "machine.hybrid.sockets") else value
            rows = base.rows | {name: exact(row, value)}
            loads = servers.published_loads(quantities.values_of(rows)) if name.startswith(("load.", "mixgraph.")) else base.loads
            if name in ("mixgraph.ops", "load.prefix_dist"):
                rows |= servers.fitted(rows)
            if everything(servers.Inputs(rows, loads)) == before:
                unused.append(name)
        self.assertEqual(unused, [])

    def test_the_document_gives_reasons_for_what_it_has_not(self):
        rows = servers.document(self.estimates)["throughput"]
        self.assertTrue(any(row["operations_s"] is None for row in rows))
        for row in rows:
            self.assertEqual(row["operations_s"] is None, "operations_s_reason" in row)
            self.assertEqual((row["p95_us"], bool(row["p95_us_reason"])), (None, True))


class Prices(Folder):
    ROW = '[far.price]\nvalue = 2\nunit = "$/GB"\nsource = "a dealer"\ndate = "2026-11"\ntag = "P"\n'

    def test_own_prices_replace_ours(self):
        own = servers.inputs_of(prices=self.file(self.ROW))
        self.assertEqual((own.rows["far.price"].value, own.rows["far.price"].low), (2, 2))
        self.assertEqual(own.rows["dram.price"], inputs().rows["dram.price"])
        self.assertGreater(model.cheaper(own.values()), model.cheaper(inputs().values()))

    def test_wrong_files_are_refused(self):
        wrong = {
            self.ROW.replace("$/GB", "EUR/GB"): r"far\.price: the unit is '\$/GB', and not 'EUR/GB'",
            self.ROW.replace("far.price", "far.prize"): r"there is no row 'far\.prize'; there are processor\.price, ",
            self.ROW.replace("far.price", "shard.size"): "there is no row 'shard.size'",
            self.ROW + "cost = 3\n": "there is no key 'cost'; a row has value, low, high, unit, source, date and tag",
            self.ROW.replace('date = "2026-11"\n', ""): "far.price: 'date' is missing",
            self.ROW.replace("2026-11", "lately"): "date = 'lately' is not a date",
            self.ROW.replace('"P"', '"X"'): "tag = 'X' is not one of M, S, P, ",
            self.ROW.replace("value = 2", 'value = "2"'): "value = '2' is not a number",
            self.ROW.replace("value = 2", "value = [2, 3]"): "far.price: the value is a number",
            self.ROW.replace("value = 2", "value = 2\nhigh = 1"): "low <= value <= high",
            self.ROW.replace("value = 2", "value = -2"): "0 <= low must hold",
            self.ROW.replace("value = 2", "value = nan"): "value = nan is not a number",
            "far = 3\n": "far is no row",
            "": "has no row; there are processor.price",
            "[far": "own.toml'",
        }
        for text, said in wrong.items():
            with self.assertRaisesRegex(InputError, said):
                servers.inputs_of(prices=self.file(text))

    def test_wrong_input_is_one_line_and_status_two(self):
        path = self.file(self.ROW.replace("$/GB", "EUR"))
        for words, said in (([f"--prices={path}"], "the unit is '$/GB'"), (["--prices=/no/such"], "'/no/such' cannot be read"),
                            (["--price=x"], "'--price=x' has no meaning"),
                            (["--out=/a", "--out=/b"], "--out is given twice"), (["--counts=/no/such"], "--counts: '/no/such' cannot be read")):
            done = subprocess.run([sys.executable, "-B", "-c", COMMAND, str(EXPERIMENTS), *words], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn(said, done.stderr)


class Counts(Folder):
    def line(self, variant, misses, load="prefix-dist", shards=1):
        outcome = {"database_bytes": 1000, "gets": 90, "puts": 5, "seeks": 5, "near_hits": 150, "far_hits": 50, "misses": misses}
        return json.dumps({"round": 1, "point": {"load": load, "variant": variant, "shards": shards}, "outcome": outcome}) + "\n"

    def test_counts_of_a_tier_become_a_load(self):
        text = "".join((self.line("10%", 200), self.line("100", 200), self.line("4%+far=model:optane,size=160,promote=2", 0),
                        self.line("2%", 50, "other", 2)))
        first, other = servers.read_counts(self.file(text, "results.jsonl"))
        self.assertEqual((first.name, first.shares, first.hits), ("prefix-dist", (0.1, 0.2), (0.5, 1)))
        self.assertEqual(first.lookups, (400 + 400 + 200) / 300)
        self.assertEqual((other.name, other.shares, other.hits, other.lookups), ("other", (0.01,), (0.8,), 2.5))

    def test_a_run_with_own_counts(self):
        path = self.file("".join(self.line(f"{percent}%", misses) for percent, misses in ((1, 300), (5, 200), (20, 40))), "results.jsonl")
        estimates = servers.Estimates(few_draws(servers.inputs_of(counts=path)))
        self.assertEqual({row["load"] for row in servers.document(estimates)["throughput"]}, {"prefix-dist"})

    def test_lines_without_counts_are_refused(self):
        good = self.line("10%", 1)
        for text, said in ((good + "{}\n", "line 2: no counts of ./bench tier; its outcome has database_bytes"),
                           (good.replace("10%", "10 GB"), "'10 GB' is no size"), (good.replace('"gets": 90', '"gets": "90"'), "no counts"),
                           (good.replace('"misses": 1', '"misses": -1'), "no counts"), ("", "has no counts")):
            with self.assertRaisesRegex(InputError, said):
                servers.read_counts(self.file(text, "results.jsonl"))


class Command(Folder):
    def test_it_writes_a_document_and_prints_the_inputs(self):
        few = few_draws(inputs())
        with contextlib.redirect_stdout(io.StringIO()) as said, mock.patch.object(servers.charts, "draw"), \
                mock.patch.object(servers, "inputs_of", lambda *_: few):
            self.assertEqual(servers.main([f"--out={self.folder}"]), 0)
        self.assertIn("hybrid cheaper than large, %: published 43 to 48 [P2]", said.getvalue())
        self.assertEqual(json.loads((self.folder / "servers.json").read_text())["status"], "modelled")


if __name__ == "__main__":
    unittest.main()
