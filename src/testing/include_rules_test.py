"""The house rules that a compiler does not check, for every source file of the tree:

1. A folder includes only folders below it (DESIGN: src <- sync <- indexes <- {library, harness, services}, src <- workloads <- harness).
2. A room of the harness includes only rooms below it.
3. An index includes sync's concepts and never a policy.
4. Only src/arch has preprocessor conditionals, for processors and sanitizers.
5. Code that fibers run keeps no state per thread.
6. The harness takes threads and time from its team and its clock.
7. The model of a machine is a pure function: it knows no machine that runs code.
8. The codecs and transports of src/wire know the base and nothing else of the tree.

CTest runs it; by hand: python3 src/testing/include_rules_test.py
"""

import pathlib
import re
import sys
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "sync", "indexes", "library", "workloads", "harness", "services")

BELOW = {
    "src": {"src"},
    "sync": {"src", "sync"},
    "indexes": {"src", "sync", "indexes"},
    "library": {"src", "sync", "indexes", "library"},
    "workloads": {"src", "workloads"},
    "harness": set(FOLDERS) - {"library", "services"},
    "services": {"src", "sync", "indexes", "services"},
}

# Each room of the harness and the rooms that it may include. `run` and `main` stand above all rooms, in the folder itself; only
# main knows the command line.
ROOMS_BELOW = {
    "config": {"config"},
    "host": {"config", "host"},
    "result": {"config", "host", "result"},
    "loop": {"config", "host", "result", "loop"},
    "trial": {"config", "host", "result", "loop", "trial"},
    "text": {"config", "host", "result", "text"},
    "compare": {"config", "host", "result", "text", "compare"},
    "commands": {"config", "host", "result", "loop", "trial", "text", "compare", "commands"},
    "cli": {"config", "host", "result", "loop", "trial", "text", "compare", "commands", "cli"},
}
ON_TOP = {"harness/main.cc": set(ROOMS_BELOW), "harness/run.h": set(ROOMS_BELOW) - {"cli"}, "harness/run.cc": set(ROOMS_BELOW) - {"cli"}}

# The headers of sync that an index may include: the verbs and the layouts that it is written against.
SYNC_FOR_INDEXES = {"sync/concepts.h", "sync/attempt.h", "sync/change.h", "sync/layout.h", "sync/own.h"}

# What the model of a machine may include of src: a prefix of the path each.
FOR_MODEL = ("src/model/", "src/base/", "src/arch/rtm_status.h")

# The same for the codecs and transports that server and client share.
FOR_WIRE = ("src/wire/", "src/base/", "src/arch/pause.h")

# The folders that tests may include. Tests of an index join it to policies, machines and the registry; tools for tests may use
# anything below the harness.
FOR_TESTS = {
    "src": {"src", "sync"},
    "sync": {"src", "sync", "indexes"},
    "indexes": set(FOLDERS) - {"services"},
    "library": {"src", "sync", "indexes", "library"},
    "workloads": {"src", "workloads"},
    "harness": set(FOLDERS) - {"services"},
    "services": {"src", "sync", "indexes", "services"},
}

INCLUDE = re.compile(rf'^\s*#\s*include\s+(?:"([^"]+)"|<((?:{"|".join(FOLDERS)})/[^>]+)>)')
THREAD_LOCAL = re.compile(r"\b(?:thread_local|__thread)\b")
CONDITIONAL = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif|else|endif)\b")

# Fibers of one thread share its thread-local state. These files have such state, and say why no fiber reaches it. The map of the
# library serves threads of the system; it runs on Native alone. The library that is preloaded serves those of any program,
# such as the one of its test.
FOR_THREADS = {"src/arch/features.cc", "src/machine/emulated.h", "src/machine/emulated.cc", "src/machine/waits.cc", "src/arch/slice_extension.h",
               "services/elide/preload.cc", "services/elide/locks_program.cc"} | {
    f"library/{file}" for file in ("members.h", "members.cc", "map_threads_test.cc")
}

# The harness runs on a ThreadTeam and by a Clock, which need not be the system's. native_team implements them by the system's. The
# other files here measure the machine itself, on threads of their own.
SYSTEM_TIME = re.compile(
    r"\b(?:std::(?:jthread|thread|async|barrier|latch|condition_variable|mutex|shared_mutex|future|promise|counting_semaphore)"
    r"|this_thread|steady_clock|sleep_for|Native::(?:now|wait_until|yield|pause)|pthread_\w+)\b"
)
FOR_SYSTEM_TIME = {f"harness/host/{file}" for file in ("native_team.h", "native_team.cc", "barrier.h", "limits.cc")} | {
    "harness/host/thread_team.h",   # names the mutex of a team
    "harness/commands/survey.cc",
}


def is_test(path):
    # The programs of examples stand for a user's program, above all folders.
    return (
        path.stem.endswith(("_test", "_testing", "_fuzz"))
        or path.parts[:2] == ("src", "testing")
        or path == pathlib.Path("indexes/example/program.cc")
        or path.parts[:2] == ("library", "examples")
    )


def may_have_conditionals(path):
    # catch.h chooses between two versions of a library.
    return path.parts[:2] == ("src", "arch") or path == pathlib.Path("src/testing/catch.h")


def room_of(path):
    return path.parts[1] if path.parts[0] == "harness" and len(path.parts) > 2 else None


def rooms_allowed(path):
    """Returns the rooms of the harness that a file may include; None if no rule restricts them."""
    if is_test(path) or path.parts[0] != "harness":
        return None
    return ON_TOP.get(path.as_posix(), set()) if room_of(path) is None else ROOMS_BELOW.get(room_of(path), set())


def broken_rules(path, text, exists):
    """Yields one line for each rule that `text`, the file at `path` relative to the tree, breaks."""
    folder = path.parts[0]
    allowed = FOR_TESTS[folder] if is_test(path) else BELOW[folder]
    rooms = rooms_allowed(path)
    if rooms is not None and room_of(path) not in ROOMS_BELOW and path.as_posix() not in ON_TOP:
        yield f"{path}: is in no room of the harness; the rooms are {', '.join(ROOMS_BELOW)}"
    if path.suffix == ".h" and not re.search(r"^#pragma once$", text, re.MULTILINE):
        yield f"{path}: has no #pragma once"
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{path}:{number}"
        if CONDITIONAL.match(line) and not may_have_conditionals(path):
            yield f"{where}: only src/arch may have preprocessor conditionals: {line.strip()}"
        code = line.split("//")[0]
        if THREAD_LOCAL.search(code) and path.as_posix() not in FOR_THREADS:
            yield f"{where}: fibers of one thread would share this; pass it as an argument: {line.strip()}"
        if folder == "harness" and not is_test(path) and SYSTEM_TIME.search(code) and path.as_posix() not in FOR_SYSTEM_TIME:
            yield f"{where}: the harness must take threads from a ThreadTeam and time from a Clock: {line.strip()}"
        include = INCLUDE.match(line)
        if not include:
            continue
        target = pathlib.PurePosixPath(include.group(1) or include.group(2))
        if not exists(target):
            yield f'{where}: "{target}" is not a path from the top of the tree'
        elif is_test(target) and not is_test(path):
            yield f"{where}: only tests may include {target}"
        elif target.parts[0] not in allowed:
            yield f"{where}: {folder} may not include {target}: it may include {', '.join(sorted(allowed))}"
        elif path.parts[:2] == ("src", "model") and not is_test(path) and not target.as_posix().startswith(FOR_MODEL):
            yield f"{where}: the model may not include {target}: it may include {', '.join(FOR_MODEL)}"
        elif path.parts[:2] == ("src", "wire") and not is_test(path) and not target.as_posix().startswith(FOR_WIRE):
            yield f"{where}: a codec may not include {target}: it may include {', '.join(FOR_WIRE)}"
        elif rooms is not None and target.as_posix() in ON_TOP and path.as_posix() not in ON_TOP:
            yield f"{where}: a room of the harness may not include {target}, which stands above all of them"
        elif rooms is not None and room_of(target) is not None and room_of(target) not in rooms:
            yield f"{where}: {path.parent} may not include {target}: its rooms are {', '.join(sorted(rooms))}"
        elif folder == "indexes" and not is_test(path) and target.parts[0] == "sync" and str(target) not in SYNC_FOR_INDEXES:
            yield f"{where}: an index may not include {target}: it may include {', '.join(sorted(SYNC_FOR_INDEXES))}"


class Tree(unittest.TestCase):
    def test_every_file_keeps_the_rules(self):
        files = [path for folder in FOLDERS for path in sorted((TREE / folder).rglob("*")) if path.suffix in (".h", ".cc")]
        self.assertTrue(files)
        broken = [
            rule
            for file in files
            for rule in broken_rules(file.relative_to(TREE), file.read_text(), lambda target: (TREE / target).is_file())
        ]
        if broken:
            self.fail("\n" + "\n".join(broken))


class Rules(unittest.TestCase):
    """Tests of the checker: each rule is broken once."""

    def broken(self, path, text, exists=True):
        return list(broken_rules(pathlib.Path(path), text, lambda target: exists))

    def test_a_file_that_keeps_the_rules(self):
        self.assertEqual(self.broken("sync/a.h", '#pragma once\n#include <atomic>\n#include "src/base/types.h"\n'), [])

    def test_a_folder_above(self):
        self.assertEqual(len(self.broken("src/base/a.cc", '#include "sync/concepts.h"\n')), 1)
        self.assertEqual(len(self.broken("sync/a.cc", '#include "indexes/art/art.h"\n')), 1)
        self.assertEqual(len(self.broken("workloads/a.cc", '#include "sync/concepts.h"\n')), 1)
        self.assertEqual(len(self.broken("indexes/a.cc", '#include "harness/loop/trial.h"\n')), 1)
        self.assertEqual(len(self.broken("indexes/a.cc", '#include "library/map.h"\n')), 1)
        self.assertEqual(len(self.broken("library/a.cc", '#include "harness/loop/trial.h"\n')), 1)
        self.assertEqual(len(self.broken("harness/loop/a.cc", '#include "library/map.h"\n')), 1)
        self.assertEqual(self.broken("library/a.cc", '#include "indexes/art/art.h"\n'), [])

    def test_a_room_above(self):
        upwards = {"config": "host/topology.h", "host": "result/result.h", "loop": "trial/phases.h", "commands": "cli/cli.h"}
        for room, target in upwards.items():
            self.assertEqual(len(self.broken(f"harness/{room}/a.cc", f'#include "harness/{target}"\n')), 1, room)
            self.assertEqual(len(self.broken(f"harness/{room}/a.cc", f"#include <harness/{target}>\n")), 1, room)
            self.assertEqual(len(self.broken(f"harness/{room}/a.cc", '#include "harness/run.h"\n')), 1, room)
            self.assertEqual(self.broken("harness/main.cc", f'#include "harness/{target}"\n'), [], room)
        self.assertEqual(len(self.broken("harness/attic/a.cc", "")), 1)

    def test_an_index_that_knows_a_policy(self):
        self.assertEqual(len(self.broken("indexes/art/a.cc", '#include "sync/rtm.h"\n')), 1)
        self.assertEqual(self.broken("indexes/art/a_test.cc", '#include "sync/rtm.h"\n'), [])

    def test_a_model_that_knows_a_machine(self):
        self.assertEqual(len(self.broken("src/model/a.cc", '#include "src/machine/simulated_world.h"\n')), 1)
        self.assertEqual(self.broken("src/model/a.cc", '#include "src/base/hash.h"\n'), [])
        self.assertEqual(self.broken("src/model/a_test.cc", '#include "src/testing/catch.h"\n'), [])

    def test_a_codec_that_knows_memory(self):
        self.assertEqual(len(self.broken("src/wire/a.cc", '#include "src/memory/pool.h"\n')), 1)
        self.assertEqual(self.broken("src/wire/a.cc", '#include "src/base/types.h"\n#include "src/wire/b.h"\n'), [])
        self.assertEqual(self.broken("src/wire/a_test.cc", '#include "src/testing/catch.h"\n'), [])

    def test_a_tool_of_the_tests(self):
        self.assertEqual(len(self.broken("harness/text/a.cc", '#include "src/testing/catch.h"\n')), 1)
        self.assertEqual(len(self.broken("harness/text/a.cc", '#include "harness/text/a_testing.h"\n')), 1)
        for test in ("harness/text/a_test.cc", "harness/text/a_testing.h"):
            self.assertEqual(self.broken(test, '#pragma once\n#include "src/testing/catch.h"\n'), [])

    def test_a_path_that_is_not_from_the_top(self):
        self.assertEqual(len(self.broken("sync/a.cc", '#include "concepts.h"\n', exists=False)), 1)

    def test_conditionals(self):
        self.assertEqual(len(self.broken("sync/a.cc", "  # ifdef __RTM__\n#endif\n")), 2)
        self.assertEqual(self.broken("src/arch/a.cc", "#ifdef __RTM__\n#endif\n"), [])

    def test_thread_local_state_of_fibers(self):
        line = "static constinit thread_local u32 state = 0;   // of this thread\n"
        for path in ("sync/a.cc", "indexes/a_test.cc", "src/testing/a.cc", "harness/trial/a.cc"):
            self.assertEqual(len(self.broken(path, line)), 1, path)
        self.assertEqual(self.broken("src/machine/emulated.cc", line), [])
        self.assertEqual(self.broken("sync/a.cc", "// not a thread_local\n"), [])

    def test_threads_and_time_of_the_system_in_the_harness(self):
        lines = "std::thread thread([] {});", "std::this_thread::yield();", "const auto now = std::chrono::steady_clock::now();"
        for line in lines:
            self.assertEqual(len(self.broken("harness/trial/a.cc", line)), 1, line)
            for path in ("harness/trial/a_test.cc", "harness/host/native_team.cc", "sync/a.cc"):
                self.assertEqual(self.broken(path, line), [], path)

    def test_no_pragma_once(self):
        self.assertEqual(len(self.broken("src/base/a.h", "")), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
