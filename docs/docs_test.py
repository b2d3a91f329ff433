"""Tests of the manual: its examples run, its links have targets, and it names every policy, index and option.

A fenced block with the word `console` holds commands after `$ `, with their output below. The test runs those of `./bench` and
`harness` in order, with few records and short times. Each page has a new folder. CTest runs the test. By hand:
LATCHLAB_HARNESS=build/release/harness python3 docs/docs_test.py
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[1]
HARNESS = os.environ.get("LATCHLAB_HARNESS", "")
PAGES = [TREE / "README.md", TREE / "CONTRIBUTING.md", *sorted((TREE / "docs").glob("*.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\./bench|harness)\b")
HERE_DOCUMENT = re.compile(r"<<(\w+)$")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")

# A shell function in place of ./bench and harness. It appends options for short runs, which replace those of the example.
SHORT = r"""
harness() {
  local short=()
  case ${1-} in
    '' | -[!-]* | --help) ;;
    ab) short=(--records=20k --warmup=2ms --time=10ms --replicates=3 --progress=none) ;;
    limits) short=(--progress=none --footprint=1Mi) ;;
    -* | @*)
      short=(--progress=none)
      case "$*" in *--warmup=*) ;; *) short+=(--warmup=2ms) ;; esac
      case "$*" in *--ops=*) short+=(--ops=100k) ;; *) short+=(--time=10ms) ;; esac
      case "$*" in *--records=* | *trace:* | *wiscer:*) ;; *) short+=(--records=20k) ;; esac
      case "$*" in *--reps=*) short+=(--reps=2) ;; esac
      ;;
  esac
  "$LATCHLAB_HARNESS" "$@" ${short[@]+"${short[@]}"}
}
"""


def commands_of(text):
    """Yields the commands of console blocks, each with its continuation lines."""
    for word, block in FENCE.findall(text):
        if word != "console":
            continue
        lines = iter(block.splitlines())
        for line in lines:
            if not line.startswith("$ "):
                continue
            command = line[2:]
            if end := HERE_DOCUMENT.search(command):
                for line in lines:
                    command += "\n" + line
                    if line == end.group(1):
                        break
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            yield command


def is_run(command):
    return COMMAND.match(command) or command.startswith("cat > ")


def anchors_of(text):
    """Yields the anchors that GitHub makes of a page's headings."""
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken_links(page, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            yield f"{page.name}: {target}: there is no such file"
        elif anchor and (file.suffix != ".md" or anchor not in anchors_of(file.read_text())):
            yield f"{page.name}: {target}: there is no such heading"


def words_of_matrix(kind):
    return re.findall(rf"^latchlab_add_{kind}\((\S+)", (TREE / "cmake/matrix.cmake").read_text(), re.MULTILINE)


@unittest.skipUnless(HARNESS, "LATCHLAB_HARNESS names no binary")
class Examples(unittest.TestCase):
    def test_every_example_runs(self):
        environment = os.environ | {"LATCHLAB_HARNESS": str(pathlib.Path(HARNESS).resolve())}
        # A build with few pairs (LATCHLAB_PAIRS) lacks indexes and policies of the manual. A full build runs every example.
        told = subprocess.run([HARNESS, "list"], capture_output=True, text=True, check=True, timeout=60).stdout
        words = [*words_of_matrix("index"), *words_of_matrix("policy")]
        partial = "not in this build" in told or not all(re.search(rf"^  {word}\s", told, re.MULTILINE) for word in words)
        ran, left_out = 0, 0
        for page in PAGES:
            lacking = re.compile("this build has|it runs under|not in this build") if partial else re.compile(r"\Z.")
            with tempfile.TemporaryDirectory() as folder:
                for command in filter(is_run, commands_of(page.read_text())):
                    with self.subTest(page=page.name, command=command):
                        done = subprocess.run(
                            ["bash", "-c", SHORT + command.replace("./bench", "harness", 1)],
                            cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
                        )
                        ran += 1
                        if lacking.search(done.stderr):
                            left_out += 1
                            # Later examples of the page may read its results.
                            lacking = re.compile(f"{lacking.pattern}|cannot be read")
                            continue
                        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(ran, 50)
        if left_out:
            self.skipTest(f"{left_out} of {ran} examples are of pairs that are not in this build")

    def test_every_option_is_in_the_manual(self):
        told = subprocess.run([HARNESS, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
        options = set(re.findall(r"--[a-z][a-z-]*", told))
        self.assertGreater(len(options), 40)
        manual = "".join(page.read_text() for page in PAGES)
        self.assertEqual([option for option in sorted(options) if not re.search(rf"{option}(?![a-z-])", manual)], [])


class Manual(unittest.TestCase):
    def test_every_link_has_a_target(self):
        self.assertEqual([broken for page in PAGES for broken in broken_links(page, page.read_text())], [])

    def test_every_page_is_in_the_table_of_the_manual(self):
        linked = LINK.findall((TREE / "docs/README.md").read_text())
        pages = {page.name for page in (TREE / "docs").glob("*.md")} - {"README.md"}
        self.assertEqual(sorted(pages - set(linked)), [])

    def test_every_policy_and_every_index_has_a_section(self):
        for kind, words in (("policies", [*words_of_matrix("policy"), "own"]), ("indexes", words_of_matrix("index"))):
            self.assertGreater(len(words), 10)
            text = (TREE / f"docs/{kind}.md").read_text()
            self.assertEqual([word for word in words if f"\n### {word}\n" not in text], [], kind)

    def test_code_of_the_manual_is_code_of_the_example(self):
        def lines_of(code):
            return [line for line in (re.sub(r"\s*//.*", "", line).strip() for line in code.splitlines()) if line]

        for page, folder, fewest in (("extending", "indexes/example", 10), ("library", "library/examples", 4)):
            example = {line for file in (TREE / folder).iterdir() for line in lines_of(file.read_text())}
            shown = [line for word, block in FENCE.findall((TREE / f"docs/{page}.md").read_text()) if word == "cpp"
                     for line in lines_of(block)]
            self.assertGreater(len(shown), fewest)
            self.assertEqual([line for line in shown if line not in example], [], page)

    def test_readme_is_short_and_begins_with_its_command(self):
        readme = (TREE / "README.md").read_text()
        self.assertLessEqual(len(readme.splitlines()), 90)
        indented = re.search(r"^    (.+)$", readme, re.MULTILINE)
        self.assertEqual(indented.group(1), "harness --index=art --sync=rtm:20 --threads=56")


class Tools(unittest.TestCase):
    def test_commands_are_found_with_their_continuation_lines(self):
        text = "```console\n$ cat > a <<END\n$ x\nEND\n$ harness --a \\\n    --b\noutput\n```\n```\n$ not this\n```\n"
        self.assertEqual(list(commands_of(text)), ["cat > a <<END\n$ x\nEND", "harness --a --b"])

    def test_a_broken_link_is_found(self):
        page = TREE / "README.md"
        text = "[a](docs/none.md) [b](README.md#latchlab) [c](README.md#nowhere) [d](https://x) [e](#f)\n# F\n```\n[g](h)\n```\n"
        self.assertEqual(
            [broken.split(": ")[1] for broken in broken_links(page, text)], ["docs/none.md", "README.md#nowhere", "#f"]
        )


if __name__ == "__main__":
    unittest.main()
