"""Drawing of models. Run by CTest; by hand: python3 experiments/models/charts_test.py"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
DRAWS = TREE / "build/python/bin/python"
sys.path.insert(0, str(TREE / "experiments"))
from input_error import InputError
from models import charts

DRAW = """
import json, pathlib, sys
sys.path.insert(0, sys.argv[1])
import figure
from models import charts
points = [charts.point("ours", "a", 3, 2, 4), charts.point("ours", "b", 300)]
panels = [(charts.panel(f"log is {log}", "x", "ab", "y", y_log=log, beside=[("theirs", [("a", 7)])], note="a note"), points) for log in (False, True)]
charts.draw(pathlib.Path(sys.argv[2]), "x", "A title", panels, ["A line below."])
marks = lambda chart: sorted({layer["mark"]["type"] for layer in chart.to_dict()["layer"]})
known = figure.known_of(panels[0][0])
print(json.dumps([marks(figure.plot(panel, points, known, figure.Look())) for panel, _ in panels]))
"""


class Words(unittest.TestCase):
    def test_options_and_words(self):
        self.assertEqual(charts.parse(["--out=a=b", "c"], {"out": "FOLDER"}, positional=True), ({"out": "a=b"}, ["c"]))
        for words, said in ((["c"], "'c' has no meaning"), (["--out="], "'--out=' has no meaning here; there are --out=FOLDER and --help"),
                            (["--out=a", "--out=a"], "--out is given twice"), (["out=a"], "no meaning")):
            with self.assertRaisesRegex(InputError, said):
                charts.parse(words, {"out": "FOLDER"})

    def test_a_folder_that_cannot_be_made(self):
        with self.assertRaisesRegex(InputError, "--out: /dev/null/x: "):
            charts.made_folder("/dev/null/x", None)


@unittest.skipUnless(DRAWS.exists(), "build/python is not there: figures are drawn where PyPI can be reached")
class Drawing(unittest.TestCase):
    def test_a_logarithmic_axis_has_no_bars(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([DRAWS, "-B", "-c", DRAW, str(TREE / "experiments"), folder], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            said, marks = done.stdout.splitlines()
            self.assertEqual(said, f"wrote {folder}/x.svg")
            self.assertEqual(json.loads(marks), [["bar", "point", "rule"], ["point", "rule"]])
            svg = (pathlib.Path(folder) / "x.svg").read_text()
            for text in ("A title", "log is True", "a note", "A line below.", "theirs"):
                self.assertIn(text, svg)


if __name__ == "__main__":
    unittest.main()
