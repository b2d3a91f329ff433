"""Tests of the command line of ./bench model kv-direct, and of its figure.

CTest runs it; by hand: python3 experiments/models/kv_direct_test.py
"""

import contextlib
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

EXPERIMENTS = pathlib.Path(__file__).resolve().parents[1]
DRAWS = EXPERIMENTS.parent / "build/python/bin/python"
sys.path.insert(0, str(EXPERIMENTS))

from input_error import InputError
from models import kv_direct
from models.card import report, rows

DRAW = """
import sys; sys.path.insert(0, sys.argv[1])
from models.card import picture, report, rows
published, *_ = report.read_published()
numbers = {row.row: rows.Number(row.value or row.most) for row in published}
numbers |= {f"accesses/put-{x}": rows.Number(3.0) for x in rows.UTILISATIONS}
numbers |= {f"batching/{of}": rows.Number(3.0) for of in ("least-alone", "least-batched", "average-alone", "most-alone", "most-batched")}
print(picture.save(numbers, published, sys.argv[2], (1, 2)))
"""


def as_published(_):
    """Returns the published numbers as those of the model."""
    published, *_ = report.read_published()
    numbers = {row.row: rows.Number(row.value or row.most, row.value or row.most, "clock") for row in published if not row.quoted}
    latencies = [f"batching/{of}-{name}" for of in ("least", "average", "most") for name in ("alone", "batched")]
    return {name: rows.Number(None, 2.0) for name in latencies} | numbers


class Inline:
    """A pool of processes that has none."""

    def __init__(self, *_):
        pass

    def map(self, call, values):
        return [call(value) for value in values]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class CommandLine(unittest.TestCase):
    def test_wrong_words_are_one_line(self):
        for arguments, said in ((["x"], "there is no 'x' here"), (["--x=1"], "there is no '--x=1'"), (["--out"], "--out needs a value"),
                                (["--out=a", "--out=b"], "twice"), (["--workload=lookup"], "name it with --device=NAME"),
                                (["--beside=a"], "name it with --device=NAME"), (["--device=x", "--out=a"], "--device prints text alone"),
                                (["--device=x"], "there is no device 'x'")):
            with self.subTest(arguments=arguments), self.assertRaises(InputError) as raised:
                kv_direct.main(arguments)
            self.assertIn(said, str(raised.exception))

    def test_the_report_goes_to_stdout_and_the_figure_into_the_folder(self):
        out = io.StringIO()
        with mock.patch.object(rows, "numbers", as_published), mock.patch("models.card.picture.save", return_value="figure: x") as save, \
                mock.patch("multiprocessing.Pool", Inline), contextlib.redirect_stdout(out):
            self.assertEqual(kv_direct.main([f"--out={tempfile.gettempdir()}"]), 0)
        text = out.getvalue()
        self.assertEqual(save.call_args.args[2], pathlib.Path(tempfile.gettempdir()))
        for words in ("Throughput, uniform keys", "Compared systems", "Inputs: value", "87 of 87 rows agree; 0 do not", "figure: x"):
            self.assertIn(words, text)
        self.assertIn("Two seeds differ by 0.0 % at most", text)

    def test_a_row_that_differs_for_no_known_reason_says_so(self):
        def other(seed):
            return as_published(seed) | {"uniform/get-5": rows.Number(10.0)}
        out = io.StringIO()
        with mock.patch.object(rows, "numbers", other), mock.patch("models.card.picture.save", side_effect=ImportError), \
                mock.patch("multiprocessing.Pool", Inline), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(io.StringIO()) as error:
            kv_direct.main([])
        self.assertIn("! GET of 5 bytes: no reason is known", out.getvalue())
        self.assertIn("86 of 87 rows agree; 1 do not (!), 1 of them for no known reason", out.getvalue())
        self.assertIn("no figure is drawn", error.getvalue())

    def test_a_device_prints_its_limits(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(kv_direct.main(["--device=pcie4", "--value-size=1Ki"]), 0)
        self.assertRegex(out.getvalue(), r"\n  network +\d")
        self.assertIn("\n  tags ", out.getvalue())


@unittest.skipUnless(DRAWS.exists(), "build/python is not there: figures are drawn where PyPI can be reached")
class Figure(unittest.TestCase):
    def test_the_figure_has_all_panels_with_published_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([DRAWS, "-B", "-c", DRAW, EXPERIMENTS, folder], capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, f"figure: {folder}/figure.svg, .png, .pdf\n")
            svg = pathlib.Path(folder, "figure.svg").read_text()
        for words in ("Uniform keys", "Zipf .99", "Load dispatch", "Vectors", "GET (published)", "SOSP 2017", "Atomics on one key", "Batching by the client",
                      "least", "average (published)", "own memory", "card idle (published)", "Ten cards", "GRAM, a server"):
            self.assertIn(words, svg)


if __name__ == "__main__":
    unittest.main()
