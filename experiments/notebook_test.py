"""Tests of docs/notebooks/results.ipynb: the file has no outputs; its cells run in order on an export and draw the results.

Run by CTest, which says where the harness is; by hand:
LATCHLAB_HARNESS=build/release/harness python3 experiments/notebook_test.py
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]
HARNESS = os.environ.get("LATCHLAB_HARNESS") or str(TREE / "build/release/harness")
PYTHON = TREE / "build/python/bin/python"
CELLS = json.loads((TREE / "docs/notebooks/results.ipynb").read_text(encoding="utf-8"))["cells"]

# Runs the code cells that standard input has as a list, then prints the variables that are left.
RUNNER = """
import json, sys
names = {}
for number, cell in enumerate(json.load(sys.stdin)):
    exec(compile(cell, f"code cell {number + 1}", "exec"), names)
rows = names["points"].to_dict("records")
print(json.dumps({"points": rows, "why": names["why"].to_dict("records"), "chart": json.dumps(names["figure"].to_dict())}))
"""


def runs_here():
    return PYTHON.exists() and subprocess.run([PYTHON, "-c", "import pandas, altair"], capture_output=True, check=False).returncode == 0


class Notebook(unittest.TestCase):
    def test_the_notebook_has_no_outputs(self):
        for cell in CELLS:
            if cell["cell_type"] == "code":
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))

    @unittest.skipUnless(runs_here(), "build/python has no pandas or no Altair: they are there where PyPI can be reached")
    def test_its_cells_draw_the_results(self):
        with tempfile.TemporaryDirectory() as folder:
            # `none` allows one writing thread, so the point with two is skipped.
            options = ["--index=art", "--sync=none", "--sync=olc", "--threads=1..2", "--workload=mix:read=50,update=50", "--reps=3",
                       "--records=2000", "--ops=5000", "--warmup=0", "--progress=none", "--out=results"]
            subprocess.run([HARNESS, *options], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60)
            subprocess.run([sys.executable, "-B", TREE / "experiments/export.py", "results", "--out=results.csv"], cwd=folder, check=True,
                           stderr=subprocess.DEVNULL, timeout=60)
            cells = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]
            done = subprocess.run([PYTHON, "-B", "-c", RUNNER], input=json.dumps(cells), cwd=folder, capture_output=True, text=True,
                                  check=False, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            said = json.loads(done.stdout)
            documents = [json.loads(file.read_text()) for file in pathlib.Path(folder, "results").glob("*.json")]
        self.assertEqual([(p["sync"], p["threads"], p["runs"]) for p in said["points"]], [("none", 1, 3), ("olc", 1, 3), ("olc", 2, 3)])
        rates = sorted(d["throughput"]["per_second"] / 1e6 for d in documents if d["throughput"] and d["config"]["sync"] == "none")
        drawn = said["points"][0]
        for name, rate in zip(("least", "median", "most"), rates, strict=True):
            self.assertAlmostEqual(drawn[name], rate)
        self.assertEqual({(row["config.sync"], row["config.threads"]) for row in said["why"]}, {("none", 2)})
        self.assertIn("none allows one writing thread", said["why"][0]["reason"])
        self.assertIn("million operations a second", said["chart"])


if __name__ == "__main__":
    unittest.main()
