"""Tests of what-ifs: cards, workloads, traces, and measured results beside them.

CTest runs it; by hand: python3 experiments/models/card/what_if_test.py
"""

import json
import math
import pathlib
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import numpy

from input_error import InputError
from models.card import closed_forms, devices, measured, what_if, workload
from models.card.parameters import kv_direct

READ, UPDATE, SCAN = 0, 2, 5


def trace(path, operations, keys=("a", "bb")):
    """Writes a trace of (key, kind) as workloads/trace.cc does, but for its checksum."""
    ends = numpy.cumsum([len(key) for key in keys]).astype("<u8").tobytes()
    text = "".join(keys).encode()
    ops = b"".join(struct.pack("<QII", 0, key, kind << 24 | 8) for key, kind in operations)
    header = struct.pack("<8sIIQQQQQQ", b"latchtrc", 1, 0, len(operations), len(keys), 0, len(text), 0, 0)
    path.write_bytes(header + ends + text + b"\0" * (-len(text) % 8) + ops)


def document(index="cuckoo", sync="olc", rate=1e6, threads=2, status="ok", **config):
    config = {"index": index, "sync": sync, "threads": threads, "workload": "lookup", "dist": "uniform", "value_size": 8,
              "records": 1000, "index_options": {}} | config
    return {"status": status, "schema_version": 17, "config": config, "throughput": {"per_second": rate} if rate else None, "sync": {}}


class Scratch(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def refused(self, words, call, *arguments):
        with self.assertRaises(InputError) as raised:
            call(*arguments)
        self.assertIn(words, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))


class Devices(Scratch):
    def test_each_preset_has_sources_and_differs(self):
        known = devices.presets()
        self.assertEqual(known["kv-direct"].card, kv_direct())
        for name, device in known.items():
            self.assertEqual(device.card != kv_direct(), name != "kv-direct")

    def test_changes_are_the_users_own(self):
        device = devices.device_of("pcie5:clock_hz=4e8,tags_for_writes=false,tags=100")
        self.assertEqual((device.card.clock_hz, device.card.tags_for_writes, device.card.tags), (4e8, False, 100))
        self.assertEqual(device.card.network_bytes_s, 50e9)
        self.assertEqual([change.source for change in device.changes if change.name == "tags"], ["given by --device"])

    def test_wrong_words_are_one_line(self):
        for words, said in (("x", "there is no device 'x'"), ("", "there is no device ''"), ("cxl:x=1", "there is no value 'x'"),
                            ("cxl:tags", "there is no value 'tags'"[:20]), ("cxl:tags=a", "tags=a is not a number"),
                            ("cxl:clock_hz=inf", "not a number above 0"), ("cxl:clock_hz=-1", "above 0"), ("cxl:links=1.5", "whole"),
                            ("cxl:tags=0.5", "whole"), ("cxl:in_flight=1.5", "whole"), ("cxl:tags=1e12", "up to 1048576"),
                            ("cxl:links=1e6,tags=1e6", "1000000 links with 1000000 tags each"), ("cxl:tags=1,tags=2", "twice"),
                            ("cxl:tags_for_writes=1", "true or false"), ("cxl:station_slots=3", "power")):
            with self.subTest(words=words):
                self.refused(said, devices.device_of, words)


class Workloads(Scratch):
    def test_words_of_the_harness(self):
        for options, writes, zipf, pair in (({}, 0, 0, 16), ({"workload": "lookup", "value-size": "1Ki"}, 0, 0, 1032),
                                            ({"workload": "mix:read=90,update=10", "dist": "zipf:1.2"}, 0.1, 1.2, 16),
                                            ({"workload": "mix:read=50,rmw=25,erase=25"}, 0.5, 0, 16),
                                            ({"workload": "ycsb-a"}, 0.5, 0.99, 16), ({"workload": "ycsb-c", "dist": "uniform"}, 0, 0, 16)):
            with self.subTest(options=options):
                asked = workload.workload_of(options)
                self.assertEqual((asked.writes, asked.zipf, asked.pair_bytes), (writes, zipf, pair))

    def test_wrong_words_are_one_line(self):
        for options, said in (({"workload": "ycsb-e"}, "the model knows lookup"), ({"workload": "mix:scan=100"}, "no scans"),
                              ({"workload": "mix:read=50"}, "sum to 50"), ({"workload": "mix:fly=100"}, "there is no operation 'fly'"),
                              ({"workload": "mix:read=x"}, "not a percentage"), ({"dist": "latest:1"}, "uniform and zipf:Q"),
                              ({"dist": "zipf:x"}, "uniform and zipf:Q"), ({"value-size": "1K"}, "--value-size=1K: is not"),
                              ({"value-size": "65Ki"}, "64Ki at most"), ({"workload": "mix:multi_get=100"}, "a GET for each key"),
                              ({"workload": "mix:read=50,read=50"}, "read is given twice"), ({"records": "0"}, "from 1 on"),
                              ({"workload": "trace:/no/such"}, "cannot be read")):
            with self.subTest(options=options):
                self.refused(said, workload.workload_of, options)
        self.refused("do not fit into the card's store", workload.workload_of({"records": "100G"}).table, kv_direct())

    def test_a_trace_has_its_own_keys(self):
        path = self.folder / "a.trace"
        trace(path, [(0, READ), (1, UPDATE), (0, READ), (0, UPDATE)])
        asked = workload.workload_of({"workload": f"trace:{path}"})
        self.assertEqual((asked.keys.tolist(), asked.changes.tolist(), asked.writes, asked.records), ([0, 1, 0, 0], [0, 1, 0, 1], 0.5, 2))
        numpy.testing.assert_allclose(asked.shares, [0.75, 0.25])
        self.refused("a trace has its own", workload.workload_of, {"workload": f"trace:{path}", "dist": "uniform"})
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        self.refused("is damaged", workload.workload_of, {"workload": f"trace:{path}"})
        path.write_bytes(b"x" + whole[1:])
        self.refused("is not a Latchlab trace", workload.workload_of, {"workload": f"trace:{path}"})
        trace(path, [(0, SCAN)])
        self.refused("no scans", workload.workload_of, {"workload": f"trace:{path}"})
        trace(path, [(0, 77)])
        self.refused("unknown kind", workload.workload_of, {"workload": f"trace:{path}"})


class Answers(Scratch):
    def answer(self, device="kv-direct", **options):
        return what_if.answer(numpy.random.default_rng(1), devices.device_of(device).card,
                              workload.workload_of({key.replace("_", "-"): text for key, text in options.items()}))

    def test_the_simulator_is_near_the_least_limit(self):
        for device, options in (("kv-direct", {}), ("kv-direct", {"value_size": "1Ki"}), ("pcie4", {"workload": "ycsb-b"}),
                                ("bluefield-3", {"workload": "ycsb-a"}), ("cxl", {"value_size": "100"})):
            with self.subTest(device=device, options=options):
                found = self.answer(device, **options)
                self.assertAlmostEqual(found.outcome.rate / found.limits[found.limit], 1, delta=0.08)

    def test_a_store_that_fits_into_the_cards_memory_needs_no_pcie(self):
        found = self.answer("kv-direct:dram_bytes_s=1e12,dram_latency_s=1e-8,tags=1", records="1M")
        self.assertEqual((found.demand.cached, found.demand.hits), (1.0, 1.0))
        self.assertEqual(found.outcome.accesses["direct"] + found.outcome.accesses["miss"], 0)
        self.assertEqual(found.limit, "clock")

    def test_a_trace_of_one_key_is_forwarded(self):
        path = self.folder / "a.trace"
        trace(path, [(0, UPDATE)] * 3000, ("a",))
        found = self.answer(workload=f"trace:{path}")
        self.assertEqual((found.outcome.operations, found.outcome.forwarded), (21_000, 20_999))
        self.assertAlmostEqual(found.outcome.rate, 180e6, delta=1e6)

    def test_a_faster_card_is_not_slower(self):
        for options in ({}, {"workload": "ycsb-a"}, {"value_size": "1Ki", "workload": "ycsb-b"}):
            rates = [closed_forms.throughput(devices.device_of(name).card, self.answer(**options).demand)[0]
                     for name in ("kv-direct", "pcie4", "pcie5")]
            self.assertEqual(rates, sorted(rates))


class Beside(Scratch):
    def report(self, *documents, **options):
        (self.folder / "runs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
        asked = workload.workload_of({"records": "1000", **options})
        return "\n".join(what_if.report(devices.device_of("kv-direct"), asked, self.folder)), asked

    def test_the_card_stands_beside_the_fastest_server_and_index(self):
        server = document("remote", "own", 2e5, index_options={"addr": "unix:/s"})
        text, _ = self.report(document(rate=1e6), document(rate=5e6, threads=4), server, document("art", "rtm", 1e12),
                              document("art", "none", 9e12, status="skipped"))
        self.assertIn("art rtm", text)
        self.assertNotIn("art none", text)
        self.assertRegex(text, r"fastest index without a network \(art rtm, 2 threads\) the card does not pay: 0\.00 times")
        self.assertRegex(text, r"fastest server \(remote:addr=unix:/s own, 2 threads\) the card pays: \d+\.\d+ times")

    def test_a_run_of_another_workload_is_told_apart(self):
        text, _ = self.report(document(rate=9e6, workload="ycsb-a"), document(rate=1e6))
        self.assertRegex(text, r"index without a network \(cuckoo olc, 2 threads\) the card pays: 1[0-9]{2}\.")
        self.assertIn("workload=ycsb-a", text)
        self.assertIn("There is no server in the folder.", text)
        text, _ = self.report(document(rate=9e6, dist="zipf:0.99"))
        self.assertIn("its workload differs: dist=zipf:0.99", text)

    def test_only_what_was_measured_counts(self):
        asked = workload.workload_of({"records": "1000"})
        for status in ("modelled", "failed", "skipped"):
            (self.folder / "runs.jsonl").write_text(json.dumps(document(status=status)) + "\n")
            self.refused("has no result with a throughput that was measured", measured.read, self.folder, asked)
        (self.folder / "runs.jsonl").write_text(json.dumps(document(rate=None)) + "\n")
        self.refused("has no result", measured.read, self.folder, asked)
        (self.folder / "runs.jsonl").write_text(json.dumps(document() | {"config": {"index": "art"}}) + "\n")
        self.refused("line 1: a result that is not as", measured.read, self.folder, asked)
        self.refused("there is no such folder", measured.read, self.folder / "none", asked)

    def test_only_the_fastest_run_of_a_kind_is_shown(self):
        _, asked = self.report(document(rate=1e6), document(rate=3e6), document(rate=2e6))
        self.assertEqual([run.rate for run in measured.read(self.folder, asked)], [3e6])
        self.assertTrue(math.isfinite(measured.read(self.folder, asked)[0].rate))


if __name__ == "__main__":
    unittest.main()
