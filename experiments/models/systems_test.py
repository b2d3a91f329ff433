"""The table of systems. Run by CTest; by hand: python3 experiments/models/systems_test.py"""
import contextlib
import copy
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest
from unittest import mock

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "experiments"))
from input_error import InputError
from models import systems

PLANTED = TREE / "experiments/claims/planted/results/policies/results.jsonl"
COMMAND = "import sys; sys.path.insert(0, sys.argv[1]); from input_error import run_script; from models import systems; " \
          "run_script('model', systems.main, sys.argv[2:])"


def planted():
    """Returns a document of a run of lookups."""
    return json.loads(PLANTED.read_text().splitlines()[0])["document"]


def energy(document, joules):
    document["pmu"]["events"].append({"name": "energy-pkg", "family": "energy", "count": {"raw": 1}})
    document["pmu"]["derived"]["package_joules"] = joules
    return document


def as_puts(document):
    of = document["throughput"]["per_operation"]
    of["update"] = of.pop("read")
    return document


def multiget_run(verb, keys_s, share=0, number=1, us=None):
    point = {"server": "cuckoo, turn", "keys": 16, "transport": "tcp", "share": share, "verb": verb}
    return {"build": "x", "mode": "quick", "round": number, "point": point,
            "outcome": {"keys_s": keys_s, "server_ns": 1, "least_mean_most_us": [1, us, 9] if us else None}}


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def results(self, *lines, name="results.jsonl"):
        path = self.folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def measured(self, *lines, name="results.jsonl"):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            rows = systems.measured([self.results(*lines, name=name)])
        return rows, said.getvalue()


class Published(unittest.TestCase):
    def setUp(self):
        self.rows = systems.published()
        self.by_name = {row.name: row for row in self.rows}

    def test_nine_systems_and_two_of_kv_direct(self):
        self.assertEqual(len(self.rows), 11)
        self.assertEqual([row.name for row in self.rows if row.name.startswith("KV-Direct")], ["KV-Direct", "KV-Direct, 10 NICs"])

    def test_every_row_is_complete_and_has_its_source(self):
        for row in self.rows:
            document = row.document()
            for way in systems.WAYS:
                for number in ("mops", "kops_w", "us", "watts"):
                    self.assertGreater(document[f"{way}_{number}"], 0)
                if document[f"{way}_nic_kops_w"] is None:
                    self.assertEqual(document[f"{way}_nic_kops_w_reason"], systems.OF_THE_TABLE)
            self.assertIn("KV-Direct, SOSP 2017", document["source"])
            self.assertEqual(document["tag"], "S")

    def test_implied_watts(self):
        watts = {name: self.by_name[name].median("get", "watts") for name in self.by_name}
        for name, right in (("Memcached", 300), ("KV-Direct", 121), ("KV-Direct, 10 NICs", 357)):
            self.assertAlmostEqual(watts[name], right, delta=0.5)
        for name, right in (("KV-Direct", 33), ("KV-Direct, 10 NICs", 270)):
            self.assertAlmostEqual(self.by_name[name].median("get", "nic_watts"), right, delta=0.5)

    def test_rows_that_do_not_fit_are_said(self):
        lines = systems.mismatches(self.rows)
        self.assertRegex(lines[0], r"10 NICs give 6\.8 \(GET\) and 5\.4 \(PUT\) times the row of one NIC, and 1220 and 610 Mops; .*1227 and 613 \[D\]")
        self.assertEqual([line for line in lines if "imply differ" in line], ["HERD: the watts that GET and PUT imply differ: 71 and 83"])
        self.by_name["HERD"].values["put", "kops_w"] = [350]
        self.by_name["HERD"].values["put", "watts"] = [systems.implied_watts(25, 350)]
        self.assertFalse(any("imply differ" in line for line in systems.mismatches(self.rows)))

    def test_the_model_of_the_card_prints_this_table(self):
        text = "\n".join(systems.quoted())
        for line in systems.table_lines(self.rows):
            self.assertIn(f"  {line}\n", text)
        self.assertNotIn("ours", text)
        self.assertTrue(all(len(line) <= 140 for line in text.splitlines()))

    def test_every_number_of_the_figure_has_a_row(self):
        def numbers(value):
            if isinstance(value, dict | list):
                return {each for part in (value.values() if isinstance(value, dict) else value) for each in numbers(part)}
            return {value} if isinstance(value, int | float) else set()

        table = tomllib.loads((TREE / "experiments/models/systems.toml").read_text())
        known = numbers(table)
        for system in table["system"]:   # what is computed of a row's own numbers
            for way in systems.WAYS:
                known |= {system[way]["mops"] * 1e3 / system[way][key] for key in ("kops_w", "nic_kops_w") if key in system[way]}
        drawn = {y for panel, points in systems.panels_of(self.rows, []) for _, of in panel.beside for _, y in of}
        self.assertGreater(len(drawn), 60)
        self.assertEqual(drawn - known, set())

    def test_the_manual_has_these_rows(self):
        page = (TREE / "docs/model_systems.md").read_text().splitlines()
        for row in self.rows:
            (line,) = [line for line in page if line.startswith(f"| {row.name} |")]
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            pairs = [systems.pair(row, number) for number in ("mops", "kops_w", "nic_kops_w", "us")]
            self.assertEqual(cells[1:5] + cells[7:], ["" if text == "-" else text for text in pairs] + [row.kind])
            shown = [number for text in cells[5:7] if text for number in map(float, text.split("/"))]
            watts = [row.median(way, number) for number in ("watts", "nic_watts") for way in systems.WAYS]
            self.assertEqual(set(shown), {round(number) for number in watts if number is not None})

    def test_a_table_with_a_wrong_number_is_refused(self):
        text = (TREE / "experiments/models/systems.toml").read_text()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "systems.toml"
            for wrong in ('mops = "1.5"', "mops = 0", "mips = 1.5"):
                path.write_text(text.replace("mops = 1.5", wrong, 1))
                with self.assertRaisesRegex(InputError, "Memcached: get: 'mops' is not a number above 0"):
                    systems.published(path)


class Measured(Folder):
    def test_runs_of_a_point_are_one_row(self):
        fast, slow = planted(), planted()
        slow["throughput"]["seconds"] *= 2
        (row,), said = self.measured(fast, slow, fast)
        self.assertEqual((row.name, row.tag, said), ("art, rtm:20, 1 thread, 0.1 M, uniform", "M", ""))
        rate = fast["throughput"]["operations"] / fast["throughput"]["seconds"] / 1e6
        self.assertAlmostEqual(row.median("get", "mops"), rate)
        self.assertAlmostEqual(row.span("get", "mops")[0], rate / 2)
        self.assertIsNone(row.median("put", "mops"))

    def test_a_run_of_updates_is_the_put_of_the_same_row(self):
        (row,), _ = self.measured(planted(), as_puts(planted()))
        self.assertEqual(row.median("get", "mops"), row.median("put", "mops"))

    def test_power_without_rapl_is_null_with_the_reason(self):
        refused = planted()
        refused["pmu"]["events"].append({"name": "energy-pkg", "family": "energy", "count": None, "count_reason": "no such event here"})
        none = planted()
        none["pmu"], none["pmu_reason"] = None, "--pmu=off"
        for document, reason in ((planted(), "the run did not count energy: --pmu=energy"), (refused, "RAPL: no such event here"),
                                 (none, "--pmu=off")):
            (row,), _ = self.measured(document)
            for number in ("get_kops_w", "get_watts"):
                self.assertEqual((row.document()[number], row.document()[f"{number}_reason"]), (None, reason))

    def test_power_by_rapl(self):
        document = energy(planted(), 20.0)
        throughput = document["throughput"]
        (row,), _ = self.measured(document)
        self.assertAlmostEqual(row.median("get", "kops_w"), throughput["operations"] / 20 / 1e3)
        # Energy is counted over the wall time of the phase, of which operations have a part.
        self.assertAlmostEqual(row.median("get", "watts"), 20 * throughput["timed_share"] / throughput["seconds"])

    def test_latency_is_the_mean_of_timed_calls(self):
        document = planted()
        (row,), _ = self.measured(document)
        self.assertEqual(row.document()["get_us_reason"], document["latency_reason"])
        document["latency"] = {"all": {"mean_ns": 1500}}
        (row,), _ = self.measured(document)
        self.assertEqual(row.median("get", "us"), 1.5)

    def test_multi_gets_count_their_keys(self):
        document = planted()
        of = document["throughput"]["per_operation"]
        of["multi_get"] = {**of.pop("read"), "keys": 7_000_000}
        (row,), _ = self.measured(document)
        self.assertAlmostEqual(row.median("get", "mops"), 7 / document["throughput"]["seconds"])

    def test_runs_of_other_kinds_and_failed_runs_have_no_row(self):
        mixed, failed = planted(), planted()
        mixed["throughput"]["per_operation"]["update"] = copy.deepcopy(mixed["throughput"]["per_operation"]["read"])
        failed["status"] = "failed"
        rows, said = self.measured(mixed, failed)
        self.assertEqual(rows, [])
        self.assertRegex(said, r"line 1 has no row: its operations are read, update; a GET is read")
        self.assertRegex(said, r"line 2 has no row: its status is failed")

    def test_a_status_shows(self):
        noisy, modelled = planted(), planted()
        noisy["status"], modelled["status"] = "noisy", "modelled"
        rows, _ = self.measured(noisy, noisy, modelled)
        self.assertEqual([(row.name, row.kind) for row in rows], [("art, rtm:20, 1 thread, 0.1 M, uniform", "this machine, no network, noisy"),
                                                                  ("art, rtm:20, 1 thread, 0.1 M, uniform, modelled", "modelled machine")])

    def test_results_of_multiget(self):
        runs = [multiget_run("get", 2e6), multiget_run("get", 4e6, number=2), multiget_run("set", 1e6), multiget_run("incr", 5e6),
                multiget_run("get", 1e6, share=0.2, us=40)]
        self.results(*runs)
        (row,) = systems.measured([self.folder])
        self.assertEqual((row.name, row.median("get", "mops"), row.median("put", "mops")), ("cuckoo, turn, 16 keys a request, tcp", 3, 1))
        self.assertEqual(row.document()["get_watts_reason"], "multiget counts no energy")
        self.assertEqual((row.median("get", "us"), row.median("put", "us")), (40, None))

    def test_wrong_results_are_refused(self):
        for line, said in (({"point": {}}, "not a result"), ({"throughput": {}, "sync": {}}, "is not as harness/result")):
            with self.assertRaisesRegex(InputError, said):
                self.measured(line)
        for words, said in ((["/no/such"], "'/no/such' cannot be read"),
                            (["--what"], "'--what' has no meaning here; there are --out=FOLDER and --help")):
            command = [sys.executable, "-B", "-c", COMMAND, str(TREE / "experiments"), *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn(said, done.stderr)


class Command(Folder):
    def test_table_and_document(self):
        path = self.results(energy(planted(), 20.0), name="own.jsonl")
        with contextlib.redirect_stdout(io.StringIO()) as said, mock.patch.object(systems.charts, "draw") as draw:
            self.assertEqual(systems.main([str(path), f"--out={self.folder}"]), 0)
        text = said.getvalue()
        self.assertRegex(text, r"KV-Direct +180/114 +1,487/942 +5,454/3,454 +4\.3/5\.4 +121 +33 +S, C +programmable NIC")
        self.assertRegex(text, r"art, rtm:20, 1 thread, 0\.1 M, uniform +[0-9.]+/- ")
        self.assertIn("The two are not the same thing", text)
        self.assertIn("us: single calls are timed with --latency", re.sub(r"not in this machine's rows\n", "", text))
        document = json.loads((self.folder / "systems.json").read_text())
        self.assertEqual(len(document["rows"]), 12)
        own = [points for _, points in draw.call_args.args[3] if points]
        self.assertEqual(len(own), 3)   # throughput, operations for a watt, watts


if __name__ == "__main__":
    unittest.main()
