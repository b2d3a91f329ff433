"""Tests of docs/seeded_bugs.md: every seeded bug has a line in its table, and every line names a flag, a test and a case.

A line names its flag in full (`cuckoo::kDropTag`), its case and the file of its test. A case is a name that the test gives
to `caught`, or the beginning of the name of a TEST_CASE.
"""

import pathlib
import re
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]
PAGE = TREE / "docs/seeded_bugs.md"
FEWEST = 40

STRUCT = re.compile(r"^struct BugFlags \{$(.*?)^\};$", re.MULTILINE | re.DOTALL)
FLAG = re.compile(r"static inline Flag (k\w+)\{\};")
CAUGHT = re.compile(r'\bcaught\(\s*"([^"]+)"')
TEST_CASE = re.compile(r'^TEST_CASE\(\s*"([^"]+)"', re.MULTILINE)
# | `flag` | index, policy | `case` | [name](../file) | found by | count | limit | why not on threads |
LINE = re.compile(
    r"^\| `([\w:]+)` \| [^|]+ \| `([^`|]+)` \| \[([^\]]+)\]\(\.\./([^)]+)\) \| (race finder|threads|one way) "
    r"\| (?:crash|stuck|[\d,]+) \| [\d,]+ \| ?([^|]*?) ?\|$",
    re.MULTILINE,
)


def sources(ending):
    for folder in ("src", "sync", "indexes", "services"):
        yield from sorted((TREE / folder).rglob(ending))


def flags_of(header):
    """Yields the flags of a header: k..., or folder::k... if they have a namespace of their own."""
    for struct in STRUCT.finditer(header):
        namespaces = re.findall(r"^namespace ([\w:]+) \{$", header[: struct.start()], re.MULTILINE)
        inner = namespaces[-1].split("::")[-1]
        for flag in FLAG.findall(struct.group(1)):
            yield flag if inner == "latchlab" else f"{inner}::{flag}"


def complaints(page, flags, tests):
    """Yields what is wrong with the page. `tests` maps each file with tests to its text."""
    lines = [(*found.groups()[:2], *found.groups()[3:]) for found in LINE.finditer(page)]
    rows = [row for row in page.splitlines() if row.startswith("| `k") or re.match(r"\| `\w+::k", row)]
    if len(rows) != len(lines):
        yield f"{len(rows) - len(lines)} lines do not have the form of a line"
    if len(flags) < FEWEST:
        yield f"there are {len(flags)} flags"
    for flag in flags:
        own = [line for line in lines if line[0] == flag]
        if not own:
            yield f"{flag} has no line"
        elif any(by == "threads" for _, _, _, by, _ in own) == any(why for *_, why in own):
            yield f"{flag} needs a line that is found by threads, or a reason why there is none"
    for file, text in tests.items():
        names = CAUGHT.findall(text)
        for name in names:
            if names.count(name) > 1:
                yield f"{file}: several cases are called {name}"
            if (name, file) not in [(case, named) for _, case, named, _, _ in lines]:
                yield f"{file}: {name} has no line"
    for flag, case, file, _, _ in lines:
        if flag not in flags:
            yield f"there is no flag {flag}"
        text = tests.get(file)
        if text is None:
            yield f"there is no test {file}"
        elif case not in CAUGHT.findall(text) and not any(name.startswith(case) for name in TEST_CASE.findall(text)):
            yield f"{file} has no case {case}"


class SeededBugs(unittest.TestCase):
    def test_every_bug_and_every_case_has_a_line(self):
        flags = [flag for header in sources("*.h") for flag in flags_of(header.read_text())]
        tests = {str(file.relative_to(TREE)): file.read_text() for file in sources("*_test.cc")}
        self.assertEqual(list(complaints(PAGE.read_text(), flags, tests)), [])

    def test_each_fault_is_found(self):
        flags = [f"k{i}" for i in range(38)] + ["x::kA", "x::kB"]
        tests = {"a_test.cc": 'TEST_CASE("One more", "[a]") {\n  CHECK(caught("one", kA, run));\n}\n'}

        def line(flag, case="one", file="a_test.cc", by="threads", why=""):
            return f"| `{flag}` | art, olc | `{case}` | [a]({'../' + file}) | {by} | 1,000 | 2,000 | {why} |\n"

        def found(page, flags=flags, tests=tests):
            return list(complaints(page, flags, tests))

        page = "".join(line(flag) for flag in flags)
        self.assertEqual(found(page), [])
        self.assertEqual(found(page + line("kNone")), ["there is no flag kNone"])
        self.assertEqual(found(page + line("k1", case="two")), ["a_test.cc has no case two"])
        self.assertEqual(found(page + line("k1", case="One")), [])
        self.assertEqual(found(page + line("k1", file="b_test.cc")), ["there is no test b_test.cc"])
        self.assertEqual(found(page + "| `k1` | art |\n"), ["1 lines do not have the form of a line"])
        self.assertEqual(found(page, flags=[*flags, "kNew"]), ["kNew has no line"])
        self.assertEqual(found(page.replace(line("k1"), ""), flags=flags[:1] + flags[2:]), ["there are 39 flags"])
        more = {**tests, "c_test.cc": 'caught("two", kA, run)'}
        self.assertEqual(found(page, tests=more), ["c_test.cc: two has no line"])
        twice = {"a_test.cc": tests["a_test.cc"] * 2}
        self.assertEqual(set(found(page, tests=twice)), {"a_test.cc: several cases are called one"})
        needs = ["k1 needs a line that is found by threads, or a reason why there is none"]
        self.assertEqual(found(page.replace(line("k1"), line("k1", by="race finder"))), needs)
        self.assertEqual(found(page.replace(line("k1"), line("k1", by="race finder", why="narrow"))), [])

    def test_flags_are_named_by_their_namespaces(self):
        struct = "template <class Flag>\nstruct BugFlags {\n  static inline Flag kA{};\n};\n"
        self.assertEqual(list(flags_of("namespace latchlab {\n" + struct)), ["kA"])
        self.assertEqual(list(flags_of("namespace latchlab {\nnamespace sized {\n" + struct)), ["sized::kA"])
        self.assertEqual(list(flags_of("namespace latchlab::art {\n" + struct)), ["art::kA"])


if __name__ == "__main__":
    unittest.main()
