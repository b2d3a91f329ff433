"""Tests of figures and their pages: experiments/figure.py and page.py draw what run.py measured with a fake harness.

CTest runs it; by hand: python3 experiments/figure_test.py
"""

import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from experiment_testing import DRAWS, FAKE, LIMITS, TREE, fake_in, run_policies
import definition

PLOT_HEIGHT = 240   # of Look in figure.py


@unittest.skipUnless(DRAWS.exists(), "build/python is not there: figures are drawn where PyPI can be reached")
class Figures(unittest.TestCase):
    """Tests with policies.toml, whose figure has three curves and leaves one out."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.out = cls.folder / "out"
        fake_in(cls.folder)
        cls.done = run_policies(cls.folder, python=str(DRAWS))

    def setUp(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.svg = (self.out / "figure.svg").read_text()

    def test_the_figure_shows_what_was_measured_and_names_what_is_missing(self):
        for suffix in ("svg", "png", "pdf", "html"):
            self.assertGreater((self.out / f"figure.{suffix}").stat().st_size, 1000)
        for text in ("A reader-writer lock keeps", "olc", "million operations a second", "left out: rtm:20: no transactions",
                     "quick: --index=art --workload=lookup --records=4M --time=500ms", "medians of 3 runs"):
            self.assertIn(text, self.svg)

    def test_the_page_needs_no_network_and_has_the_numbers_of_every_point(self):
        page = (self.out / "figure.html").read_text()
        self.assertIn("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data:", page)
        self.assertNotRegex(page, r'(href|src)="http')
        data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL).group(1))
        (panel,) = data["panels"]
        self.assertEqual([curve["name"] for curve in panel["curves"]], ["none", "rwspin", "olc"])
        self.assertEqual(panel["notes"], ["left out: rtm:20: no transactions"])
        for place in data["places"]:
            if place["curve"] != "rtm:20":
                self.assertEqual(data["points"][place["point"]]["values"]["throughput.per_second"], 1000 * place["x"])

    @unittest.skipUnless(shutil.which("chromium"), "there is no chromium to open the page in")
    def test_the_page_is_drawn_filtered_and_compared(self):
        use = """<script>
          const seen = () => document.querySelectorAll(".chart path[aria-roledescription=point]").length;
          const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
          const said = {};
          (async () => {
            await last;
            said.all = seen();
            press("/");
            said.focused = document.activeElement.id;
            find("filter").value = "olc";
            find("filter").dispatchEvent(new Event("input"));
            await last;
            said.filtered = seen();
            press("0");   // types into the filter
            await last;
            said.typing = seen();
            document.activeElement.blur();
            press("0");
            await last;
            said.again = seen();
            document.querySelector(".chart path[aria-label*='curve: olc'][aria-roledescription=point]")
              .dispatchEvent(new MouseEvent("click", {bubbles: true, shiftKey: true}));
            document.querySelector(".legend button").click();   // none
            await last;
            said.toggled = seen();
            said.compared = [...document.querySelectorAll("#compare tr")].map(row => [...row.cells].map(cell => cell.textContent));
            document.body.replaceChildren(make("pre", JSON.stringify(said)));
          })();
        </script>"""
        page = self.folder / "used.html"
        page.write_text((self.out / "figure.html").read_text() + use)
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom", page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        said = json.loads(re.findall(r"<pre>(.*?)</pre>", done.stdout)[-1])
        xs = len(definition.load("policies", "quick").panels[0].x)
        self.assertEqual([said[key] for key in ("all", "filtered", "typing", "again", "toggled")], [3 * xs, xs, xs, 3 * xs, 2 * xs])
        self.assertEqual(said["focused"], "filter")
        self.assertEqual(said["compared"][0], ["median", "A: none, threads 1", "B: olc, threads 1", "B / A"])
        self.assertIn(["throughput.per_second", "1,000", "1,000", "1.000"], said["compared"])

    def test_the_picture_is_mostly_plot(self):
        height = float(re.search(r'height="(\d+)"', self.svg).group(1))
        self.assertGreater(PLOT_HEIGHT / height, .5)   # the rest is a title of two lines, and a line for what is left out

    def test_curves_differ_besides_the_colour_and_no_whisker_hides_another(self):
        said = r'aria-label="threads: 1;[^"]*curve: ([^";]+)[^>]*roledescription="MARK" [^>]*'
        whiskers = re.findall(said.replace("MARK", "rule mark") + r'transform="translate\(([0-9.]+)', self.svg)
        dashes = re.findall(said.replace("MARK", "line mark") + r'stroke-dasharray="([^"]*)"', self.svg)
        shapes = re.findall(said.replace("MARK", "point") + r'd="([^"]*)"', self.svg)
        for found in (whiskers, dashes, shapes):
            self.assertEqual([curve for curve, _ in found], ["none", "rwspin", "olc"])
            self.assertEqual(len({value for _, value in found}), 3, found)

    def test_a_figure_for_a_paper_has_its_size_and_a_caption_file(self):
        done = run_policies(self.folder, "--paper", "--width=300", "--height=200", "--font-size=9", python=str(DRAWS))
        self.assertEqual(done.returncode, 0, done.stderr)
        svg = (self.out / "policies.svg").read_text()
        self.assertIn('width="300" height="200"', svg)
        self.assertIn(b"/MediaBox [0 0 300 200]", (self.out / "policies.pdf").read_bytes())
        self.assertGreater((self.out / "policies.png").stat().st_size, 1000)
        self.assertIn('font-size="9px"', svg)
        caption = (self.out / "policies.caption.txt").read_text()
        for text in ("A reader-writer lock", "Uniform lookups", "ours: 4 M integer keys", "left out: rtm:20", "medians of 3 runs"):
            self.assertNotIn(text, svg)
            self.assertIn(text, caption)
        small = run_policies(self.folder, "--paper", "--width=80", "--height=72", python=str(DRAWS))
        self.assertEqual(small.returncode, 2)
        self.assertIn("--width=80 --height=72: too small for the axes and the legend of 'Uniform lookups'", small.stderr)

    def test_colours_of_a_paper_differ_in_grey(self):
        code = "import figure; print([figure.hues(list('abcdef'), set('abcdef'), figure.Look(paper=True), j) for j in (True, False)])"
        env = {**os.environ, "PYTHONPATH": str(TREE / "experiments"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([str(DRAWS), "-c", code], capture_output=True, text=True, check=True, timeout=60, env=env)
        for colors in ast.literal_eval(done.stdout):
            greys = [.299 * int(c[1:3], 16) + .587 * int(c[3:5], 16) + .114 * int(c[5:], 16) for c in colors]
            for dark, bright in zip(greys, greys[1:]):
                self.assertGreater(bright, dark + 12)

    def test_a_figure_is_drawn_again_without_measuring(self):
        fake_in(self.folder, FAKE + "\n# another build\n")
        (self.folder / "calls").unlink()
        done = run_policies(self.folder, "--redraw", python=str(DRAWS))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse((self.folder / "calls").exists())
        self.assertEqual((self.out / "figure.svg").read_text(), self.svg)

    def test_a_figure_without_results_is_drawn_too(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            fake_in(folder, "#!/usr/bin/python3\nimport sys\nsys.exit('harness: out of luck')\n")
            done = run_policies(folder, python=str(DRAWS))
            svg = (folder / "out/figure.svg").read_text()
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("Traceback", done.stderr)
        self.assertIn("There is no number to draw", svg)
        self.assertIn("left out: none; rwspin; rtm:20; olc: failed: harness: out of luck", svg)


@unittest.skipUnless(DRAWS.exists(), "build/python is not there: figures are drawn where PyPI can be reached")
class LimitsOfAMachine(unittest.TestCase):
    """Tests with limits.toml, which has a panel of bars alone, and documents that the page cannot set side by side."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "out"
        self.harness = fake_in(pathlib.Path(scratch.name), LIMITS)

    def draw(self, *arguments):
        command = [DRAWS, "-B", TREE / "experiments/run.py", self.harness, "limits", f"--out={self.folder}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_panel_is_a_picture_for_papers(self):
        self.draw("--paper")
        titles = ("nanoseconds a line, for each thread", "nanoseconds, for each thread", "GB a second", "kind of increment")
        for number, title in enumerate(titles, 1):
            self.assertIn(title, (self.folder / f"limits-{number}.svg").read_text())
        ticks = re.findall(r">(\d+)</text>", (self.folder / "limits-1.svg").read_text())
        self.assertTrue({"8", "16", "32", "64", "128"} <= set(ticks), ticks)   # y doubles, too
        self.assertIn("no transactions", (self.folder / "limits-2.caption.txt").read_text())

    @unittest.skipUnless(shutil.which("chromium"), "there is no chromium to open the page in")
    def test_the_page_draws_bars_and_offers_no_comparison(self):
        self.draw()
        use = """<script>
          (async () => {
            await last;
            const bars = document.querySelectorAll(".chart path[aria-roledescription=bar]").length;
            const said = {bars, choose: find("choose").hidden, compare: find("compare").hidden};
            document.body.replaceChildren(make("pre", JSON.stringify(said)));
          })();
        </script>"""
        page = self.folder / "used.html"
        page.write_text((self.folder / "figure.html").read_text() + use)
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom", page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        said = re.findall(r"<pre>(\{.*?\})</pre>", done.stdout)
        self.assertEqual([json.loads(text) for text in said], [{"bars": 8, "choose": True, "compare": True}])


if __name__ == "__main__":
    unittest.main()
