"""Tests of the definitions of experiments: their command lines are valid, and wrong ones are refused.

CTest runs it and names the harness. By hand:
LATCHLAB_HARNESS=build/release/harness python3 experiments/definition_test.py
"""

import dataclasses
import os
import pathlib
import tempfile
import unittest

from experiment_testing import TREE, measured_once

import definition  # noqa: E402
import gaps as missing  # noqa: E402
from smoke_testing import skip_if_lacking  # noqa: E402


def option(arguments, name):
    """Returns the last value of an option, or None."""
    return next((argument.split("=", 1)[1] for argument in reversed(arguments) if argument.startswith(f"--{name}=")), None)


def measured(point):
    """Returns a point's document and "", or None and the reason why there is none. If this build lacks the pair, as ./test does for most
    policies that run an index's code as another one does, the index runs under olc, and the policy runs with the smallest index, which
    has them all."""
    document, failure = measured_once(point)
    if "is not in this build" not in failure or not option(point.arguments, "sync"):
        return document, failure
    sync = f"--sync={option(point.arguments, 'sync')}"
    small = ("--index=chained_line", sync, "--threads=2", "--records=2000", "--ops=2000", "--warmup=0")
    if failure := measured_once(dataclasses.replace(point, arguments=small))[1]:
        return None, failure
    return measured_once(dataclasses.replace(point, arguments=definition.merged(point.arguments, ["--sync=olc"])))


class Definitions(unittest.TestCase):
    def test_each_experiment_has_valid_command_lines(self):
        for name in definition.names():
            for mode in definition.MODES:
                definition.load(name, mode)
            experiment = definition.load(name, "quick")
            seen, curves, values, documents = set(), set(), set(), {}
            for point in experiment.points:
                panel = experiment.panels[point.panel]
                if experiment.command:
                    short = ["--footprint=1Mi"]
                elif any(argument.startswith("--workload=wiscer:") for argument in point.arguments):
                    short = ["--ops=2000"]   # the file says the rest
                else:
                    short = ["--records=2000", "--ops=2000", "--warmup=0"]
                if any(argument.startswith("--slo=") for argument in point.arguments):   # the search tries rates down to a few per second
                    short = ["--records=2000", "--time=5ms", "--warmup=1ms"]
                point = dataclasses.replace(point, arguments=definition.merged(point.arguments, short))
                # Each curve once, and each x of an option once, whatever the panel. One number of threads is enough.
                is_first = (point.panel, point.curve) not in curves
                curves.add((point.panel, point.curve))
                if panel.option != "threads" and point.curve == panel.curves[0].name and (panel.option, point.x) not in values:
                    is_first = True
                    values.add((panel.option, point.x))
                drawn = (panel.y or point.curve, point.arguments)
                if drawn in seen or not is_first:
                    continue
                seen.add(drawn)
                with self.subTest(name=name, arguments=point.arguments):
                    if point.arguments not in documents:   # two panels may draw different numbers of one run
                        document, failure = measured(point)
                        skip_if_lacking(failure)
                        self.assertEqual(failure, "")
                        documents[point.arguments] = document
                    document = documents[point.arguments]
                    if document["status"] == "skipped":
                        self.assertIn("--fit", point.arguments)
                        continue
                    try:
                        self.assertGreaterEqual(panel.number(point.curve, point.x, document), 0)
                    except missing.NoNumber as why:
                        self.assertNotEqual(str(why), "")

    def test_the_users_options_must_not_distinguish_points(self):
        own = definition.load("policies", "quick", ("--records=5",)).points[0].arguments
        self.assertIn("--records=5", own)
        self.assertNotIn("--records=4M", own)
        for option in ("--threads=1", "--sync=olc"):
            with self.assertRaisesRegex(definition.InputError, f"^{option}: .* tells the points of 'Uniform lookups' apart"):
                definition.load("policies", "quick", (option,))
        with self.assertRaises(definition.InputError):
            definition.load("olc-rowex-htm", "quick", ("--workload=lookup",))

    def test_options_given_later_replace_earlier_ones(self):
        merged = definition.merged(["--a=1", "--time=3s"], ["--b=2"], ["--a=3", "--ops=7"])
        self.assertEqual(merged, ("--b=2", "--a=3", "--ops=7"))

    def test_processors_are_doubled_up_to_all(self):
        self.assertEqual([definition.up_to(n) for n in (1, 2, 6, 8)], [[1], [1, 2], [1, 2, 4, 6], [1, 2, 4, 8]])

    def test_an_option_may_leave_a_processor_to_a_server(self):
        options = ("--threads=processors", "--threads=processors-1", "--sync=rtm:20", "--out=processors-12")
        self.assertEqual([definition.with_processors(option, 56) for option in options],
                         ["--threads=56", "--threads=55", "--sync=rtm:20", "--out=processors-12"])
        self.assertEqual(definition.with_processors("--threads=processors-1", 1), "--threads=1")

    def test_a_mode_may_name_the_processors_and_the_user_another_number(self):
        def threads(*own):
            experiment = definition.load("map", "modelled", own, processors=56, machine="haswell-ep")
            return {option(point.arguments, "threads") for point in experiment.points}

        self.assertEqual(threads(), {"56"})
        self.assertEqual(threads("--threads=14"), {"14"})

    def test_a_panel_may_have_options_in_one_mode_only(self):
        def run(mode):
            axis = {"option": "sync", "title": "policy", "quick": ["a"]}
            curve = {"name": "one", "run": ["--index=art"]}
            keys = {"title": "t", "x": axis, "y": "throughput", "run": ["--time=1s", "--warmup=1s", "--records=9"], "curve": [curve]}
            table = definition.Table("here", {**keys, "modelled_run": ["--time=2ms"]})
            return definition.read_panel(table, mode).curves[0].run

        self.assertEqual(run("full"), ["--time=1s", "--warmup=1s", "--records=9", "--index=art"])
        self.assertEqual(run("modelled"), ["--records=9", "--time=2ms", "--index=art"])

    def test_a_curve_may_leave_values_out(self):
        def panel(mode, **keys):
            axis = {"option": "sync", "title": "policy", "quick": ["a", "b", "c"], "modelled": ["b", "c"]}
            curve = {"name": "one", **keys}
            table = definition.Table("here", {"title": "t", "x": axis, "y": "throughput", "curve": [curve]})
            return definition.read_panel(table, mode).curves[0].only

        left_out = {"except": ["a", "c"]}
        self.assertEqual(panel("quick", **left_out), ["b"])
        self.assertEqual(panel("modelled", **left_out), ["b"])
        self.assertEqual(panel("modelled", **{"except": ["a"]}), ["b", "c"])
        with self.assertRaisesRegex(definition.InputError, "^here: curve 1: except: 'd' is no value of x$"):
            panel("quick", **{"except": ["d"]})
        with self.assertRaisesRegex(definition.InputError, "^here: curve 1: 'only' and 'except': give one of them$"):
            panel("quick", only=["a"], **left_out)
        with self.assertRaisesRegex(definition.InputError, "^here: curve 1: except: no value of x is left$"):
            panel("modelled", **{"except": ["b", "c"]})

    def test_full_has_the_values_of_quick_where_it_names_none_of_its_own(self):
        def panel(**values):
            axis = {"option": "records", "title": "keys", **values}
            table = definition.Table("here", {"title": "t", "x": axis, "y": "bytes", "curve": [{"name": "a"}]})
            return definition.read_panel(table, "full")

        self.assertEqual(panel(quick=[1, 2]).x, [1, 2])
        self.assertEqual(panel(quick=[1, 2], full=[1, 2, 4]).x, [1, 2, 4])
        processors = len(os.sched_getaffinity(0))
        self.assertEqual(panel(quick="oversubscribed").x, [processors, 2 * processors, 4 * processors, 8 * processors])
        self.assertEqual(panel(quick=[1], full="processors").x, definition.up_to(processors))
        with self.assertRaisesRegex(definition.InputError, "'quick' is neither a list"):
            panel(full=[1, 2])

    def test_the_common_prefix_of_specs_ends_with_a_word(self):
        for values, shared in (
            (["simdht:isa=avx2", "simdht:isa=avx512"], "simdht:isa="),
            (["simdht:shape=2x4", "simdht:shape=2x4,kernel=vertical"], "simdht:shape="),
            (["simdht:shape=2x4,key=32", "simdht:shape=2x4,key=64"], "simdht:shape=2x4,key="),
            (["cuckoo", "chained"], ""),
            (["simdht:isa=avx2"], ""),
        ):
            with self.subTest(values=values):
                self.assertEqual(values[0][: definition.shared_words(values)], shared)

    def test_changes_of_a_machine_replace_those_before(self):
        for machine, changes, named in (
            ("haswell-ep", {"a.b": "1"}, "haswell-ep:a.b=1"),
            ("haswell-ep:a.b=2,c.d=3", {"a.b": "1"}, "haswell-ep:c.d=3,a.b=1"),
            ("file:x.toml,c.d=3", {"a.b": "1"}, "file:x.toml,c.d=3,a.b=1"),
            ("haswell-ep:a.b=2", {}, "haswell-ep:a.b=2"),
        ):
            self.assertEqual(definition.with_changes(machine, changes), named)

    def test_numbers_on_an_axis_are_not_rounded(self):
        self.assertEqual(definition.number_format([1, 1024]), "d")
        self.assertEqual(definition.number_format([0, 0.1, 0.5, 0.9, 1]), "~g")

    def test_a_wrong_file_is_refused_in_one_line(self):
        good = (TREE / "experiments/policies.toml").read_text()
        folder = definition.FOLDER
        for wrong, said in (
            (good.replace("title =", "titel =", 1), "policies.toml: 'title' is missing"),
            (good.replace('y = "throughput"', 'y = "speed"'), "there is no y 'speed'; there are throughput,"),
            (good.replace("[[panel.curve]]", "[[panel.curves]]"), "panel 1: 'curve' is missing"),
            (good.replace('name = "olc"', 'name = "none"'), "two curves have one name"),
            (good.replace('run = ["--sync=olc"]', 'run = ["olc"]'), "'olc' is not an option of the harness"),
            (good.replace("replicates = 3", 'replicates = "3"'), "'replicates' is not a int"),
            (good + "\nmore = 1\n", "there is no key 'more' here"),
            (good + "\n[[", "policies.toml: "),
        ):
            with tempfile.TemporaryDirectory() as there, self.subTest(said=said):
                definition.FOLDER = pathlib.Path(there)
                try:
                    (definition.FOLDER / "policies.toml").write_text(wrong)
                    with self.assertRaises(definition.InputError) as caught:
                        definition.load("policies", "quick")
                finally:
                    definition.FOLDER = folder
                self.assertIn(said, str(caught.exception))
                self.assertEqual(len(str(caught.exception).splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
