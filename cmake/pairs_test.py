"""Tests of cmake/pairs.cmake: the units that it generates, and the pairs that it lists as lacking."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
POLICIES = ["none", "rwspin", "rtm", "adaptive", "olc", "rowex", "striped", "hybrid"]   # none is a variant of another


class Generated(unittest.TestCase):
    def configure(self, build, pairs, *options):
        # The generator that setup.sh installs: CMake's default one needs make, which a bare Debian lacks.
        command = ["cmake", "-G", "Ninja", "-S", SOURCE, "-B", build, "-DBUILD_TESTING=OFF", f"-DLATCHLAB_PAIRS={pairs}",
                   *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "CXX": "g++"})
        self.assertEqual(done.returncode, 0, done.stderr)


class Units(Generated):
    def units_of(self, policies):
        """Returns {file: policies} for the units of art under these policies."""
        with tempfile.TemporaryDirectory() as build:
            self.configure(build, ";".join(f"art:{policy}" for policy in policies))
            generated = sorted(pathlib.Path(build, "harness_pairs").glob("art_*.cc"))
            return {path.name: re.findall(r'"art", "([a-z-]+)", KeyKind::kU64', path.read_text()) for path in generated}

    def test_a_unit_has_at_most_seven_policies_and_none_is_left_out(self):
        for count in (1, 7, 8):
            with self.subTest(count=count):
                units = self.units_of(POLICIES[:count])
                self.assertEqual(list(units), ["art_0.cc", "art_1.cc"][: 1 + (count > 7)])
                self.assertEqual(sorted(sum(units.values(), [])), sorted(POLICIES[:count]))
                self.assertLessEqual(max(len(of_unit) for of_unit in units.values()), 7)


class Asked(Generated):
    """Tests of harness_asked, whose pairs a file names."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.build = pathlib.Path(temporary.name)
        self.pairs = self.build / "harness_asked_pairs"

    def ask(self, text):
        (self.build / "asked_pairs").write_text(text)
        self.configure(self.build, "null:none")

    def test_a_new_build_asks_for_the_pair_that_measures_the_loop(self):
        self.configure(self.build, "null:none")
        self.assertEqual((self.build / "asked_pairs").read_text(), "null:none\n")
        self.assertTrue((self.pairs / "null_none.cc").exists())

    def test_each_pair_is_a_unit_that_no_other_pair_changes(self):
        self.ask("")
        self.assertEqual([path.name for path in self.pairs.glob("*_*.cc")], ["registry_all.cc"])
        self.ask("cuckoo:tbb-rw\nart:nosuch\n*:*\n\ngarb")
        unit = self.pairs / "cuckoo_tbb-rw.cc"
        self.assertEqual(sorted(path.name for path in self.pairs.glob("*.cc")), [unit.name, "registry_all.cc"])
        written = unit.stat().st_mtime_ns
        self.ask("cuckoo:tbb-rw\nart:olc\n")
        self.assertTrue((self.pairs / "art_olc.cc").exists())
        self.assertEqual(unit.stat().st_mtime_ns, written)
        registry = (self.pairs / "registry_all.cc").read_text()
        for function in ("register_art_olc", "register_cuckoo_tbb_rw"):
            self.assertEqual(registry.count(f"{function}("), 2)

    def test_the_lacking_pairs_are_the_rest_of_the_matrix(self):
        self.ask("cuckoo:olc\ncounters:own\n")
        registry = (self.pairs / "registry_all.cc").read_text()
        lacking = {index: re.findall(r'"([^"]+)"', policies)
                   for index, policies in re.findall(r'add_lacking\({"(\w+)", {(.*?)}', registry)}
        self.assertNotIn("olc", lacking["cuckoo"])
        self.assertEqual(set(lacking["cuckoo"]) | {"olc"}, set(lacking["art"]))
        self.assertNotIn("counters", lacking)
        self.assertEqual(lacking["libcuckoo"], ["own"])

    def test_an_option_of_another_index_means_this_one_as_its_header_says(self):
        self.ask("")
        registry = (self.pairs / "registry_all.cc").read_text()
        said = sorted(re.findall(r'}, {"(\w+)", "(\w+)"}}\)', registry))
        headers = "".join(path.read_text() for path in (SOURCE / "indexes").rglob("*.h"))
        self.assertEqual(said, sorted(re.findall(r'kMeantBy{\.index = "(\w+)", \.option = "(\w+)"}', headers)))
        self.assertTrue(said)

    def test_a_value_of_an_option_means_an_index_of_its_own(self):
        self.ask("")
        registry = (self.pairs / "registry_all.cc").read_text()
        said = dict(re.findall(r'add_lacking\({"(\w+)", {[^}]*}, {("\w+", "\w+", "\w+")}}\)', registry))
        self.assertEqual(said, {"btree1k": '"btree", "node", "1024"', "btree4k": '"btree", "node", "4096"',
                                "cuckoo3": '"cuckoo", "slots", "3"', "cuckoo7": '"cuckoo", "slots", "7"'})


class Tested(Generated):
    def test_larger_nodes_have_one_tested_pair_beside_all_of_the_smallest(self):
        with tempfile.TemporaryDirectory() as build:
            self.configure(build, "tested")
            units = "".join(path.read_text() for path in pathlib.Path(build, "harness_pairs").glob("btree*.cc"))
        tested = sorted(set(re.findall(r'"(btree\w*)", "([a-z-]+)"', units)))
        self.assertEqual([pair for pair in tested if pair[0] != "btree"], [("btree1k", "olc"), ("btree4k", "olc")])
        self.assertTrue({("btree", policy) for policy in ("none", "rwspin", "rtm", "olc")} <= set(tested))


class Modelled(Generated):
    def test_indexes_without_cells_have_no_pairs_on_a_modelled_machine(self):
        with tempfile.TemporaryDirectory() as build:
            self.configure(build, "art:olc;null:none", "-DLATCHLAB_MACHINE=Modelled")
            registry = pathlib.Path(build, "harness_pairs/registry_all.cc").read_text()
            unit = pathlib.Path(build, "harness_pairs/art_0.cc").read_text()
        unseen = re.findall(r'add_unseen\("(\w+)"\)', registry)
        self.assertEqual(set(unseen), {"simdht", "remote", "tbb", "tbb_unordered", "libcuckoo", "absl_flat", "std_unordered", "std_map"})
        self.assertFalse(set(unseen) & set(re.findall(r'add_lacking\({"(\w+)"', registry)))
        self.assertIn("add_pair_if_admitted<Art, Olc<Modelled>, U64Key>", unit)


if __name__ == "__main__":
    unittest.main()
