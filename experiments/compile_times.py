"""Measures how long the compiler takes for a program with the map, and for a pair of index and policy.

    compile_times.py                 prints a table in Markdown
    compile_times.py --before=TREE   compares with another checkout, such as a worktree of an older commit

Each unit is compiled as the release build does, without ccache, ROUNDS times. A number is the least processor time of the compiler,
in seconds. Other programs that run meanwhile lengthen it, if they share a core or a cache. The compiler is the one of this machine.

    map.h        a file that only includes <latchlab/map.h>
    word_count   the example of that name, a program of 40 lines
    art:olc ...  a harness's unit of one pair: every kind of key, without the header that all units share
"""

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

from child import ends_with_us

TREE = pathlib.Path(__file__).resolve().parent.parent
PAIRS = ("art:olc", "cuckoo:olc")   # an index each, so that each is a unit of its own
PROGRAMS = {"map.h": "#include <latchlab/map.h>\n", "word_count": (TREE / "library/examples/word_count.cc").read_text()}
ROUNDS = 3


def run(command, folder):
    """Runs a command without ccache. Ends the program if it fails."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          preexec_fn=ends_with_us(), env={**os.environ, "CCACHE_DISABLE": "1"})
    if done.returncode != 0:
        sys.exit(f"compile_times: {shlex.join(command)} ended with exit status {done.returncode}: {done.stdout[-600:]}")


def seconds(command, folder):
    """Returns the processor time of the command, in seconds."""
    before = os.times()
    run(command, folder)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def commands_of(tree, build):
    """Configures a build of the tree. Returns the command of each unit, by name."""
    pairs = ";".join((*PAIRS, "null:none"))
    run(["cmake", "--preset", "release", "-DBUILD_TESTING=OFF", f"-DLATCHLAB_PAIRS={pairs}", "-B", str(build)], tree)
    units = json.loads((build / "compile_commands.json").read_text())
    known = {pathlib.Path(unit["file"]).name: shlex.split(unit["command"]) for unit in units if "asked_pairs" not in unit["file"]}
    header = "CMakeFiles/harness_pairs.dir/cmake_pch.hxx.gch"
    run(["ninja", "-C", str(build), header], tree)
    commands = {}
    if (tree / "library").is_dir():
        for name, text in PROGRAMS.items():
            unit = build / f"{name.replace('.', '_')}.cc"
            unit.write_text(text)
            *flags, _, _, _, _ = known["unity_library_0_cxx.cxx"]   # without -o OBJECT -c SOURCE
            commands[name] = [*flags, f"-I{tree / 'library'}", "-o", "/dev/null", "-c", str(unit)]
    for pair in PAIRS:
        commands[pair] = known[f"{pair.split(':')[0]}_0.cc"]
    return commands


def measure(trees):
    """Returns the time of each unit, for each tree. The trees take turns, since other programs come and go."""
    with contextlib.ExitStack() as stack:
        builds = [pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in trees]
        commands = [commands_of(tree, build) for tree, build in zip(trees, builds)]
        rounds = [[{name: seconds(command, build) for name, command in units.items()} for units, build in zip(commands, builds)]
                  for _ in range(ROUNDS)]
        return [{name: min(times[name] for times in of_tree) for name in of_tree[0]} for of_tree in zip(*rounds)]


def markdown(now, before=None):
    """Returns the table. `before` has the times of another checkout, where not all units may exist."""
    lines = ["| unit | seconds |", "|---|---|"] if before is None else ["| unit | before | now | growth |", "|---|---|---|---|"]
    for name, time in now.items():
        if before is None:
            lines.append(f"| {name} | {time:.1f} |")
        elif name not in before:
            lines.append(f"| {name} | - | {time:.1f} | - |")
        else:
            lines.append(f"| {name} | {before[name]:.1f} | {time:.1f} | {100 * (time / before[name] - 1):+.0f} % |")
    return "\n".join(lines)


def main(arguments):
    parser = argparse.ArgumentParser(prog="compile_times.py", description="Measures how long units take to compile.")
    parser.add_argument("--before", type=pathlib.Path, metavar="TREE", help="another checkout to compare with")
    given = parser.parse_args(arguments)
    trees = [TREE] if given.before is None else [given.before.resolve(), TREE]
    *before, now = measure(trees)
    print(markdown(now, *before))


if __name__ == "__main__":
    main(sys.argv[1:])
