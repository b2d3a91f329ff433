"""What the tests of experiments share: the tree, the harness under test, and a fake one that answers at once."""
import contextlib
import io
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[1]
HARNESS = os.environ.get("LATCHLAB_HARNESS") or str(TREE / "build/release/harness")
DRAWS = TREE / "build/python/bin/python"
sys.dont_write_bytecode = True
sys.path[:0] = [str(TREE / "experiments"), str(TREE / "harness/smoke")]

import definition  # noqa: E402
import run as runner  # noqa: E402
from driver import Driver  # noqa: E402
from engines.local import Local  # noqa: E402
from hold import Hold  # noqa: E402
from plan import Plan  # noqa: E402

# A fake harness. It records its arguments and answers at once with 1000 operations per second and thread. `rtm` is degraded. `olc` with
# 2 threads is skipped if there is a file `narrow`. The call whose number is in the file `stop` exits as if interrupted; the call whose
# number is in `fail` fails.
FAKE = r"""#!/usr/bin/python3
import json, pathlib, sys
folder = pathlib.Path(__file__).parent
calls = folder / "calls"
with open(calls, "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\n")
number = len(calls.read_text().splitlines())
def planned(name):
    return (folder / name).exists() and int((folder / name).read_text()) == number
if planned("stop"):
    sys.exit(130)
if planned("fail"):
    sys.exit("harness: out of luck")
options = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
rtm = options["--sync"].startswith("rtm")
narrow = (folder / "narrow").exists() and options["--sync"] == "olc" and options["--threads"] == "2"
print(json.dumps({
    "status": "degraded" if rtm else "skipped" if narrow else "ok", "interrupted": False,
    "reason": "no transactions" if rtm else "too few processors" if narrow else "",
    "throughput": None if narrow else {"per_second": 1000 * int(options["--threads"]), "operations": 100},
    "sync": {"aborts": None},
}))
"""

# A fake harness, which records its arguments and answers `harness limits`. It lacks numbers of limits.toml, as an older one would: the
# last batch, and the rate of writing.
LIMITS = r"""#!/usr/bin/python3
import json, pathlib, sys
with open(pathlib.Path(__file__).parent / "calls", "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\n")
print(json.dumps({
    "machine": {"model": "an example", "topology": "2 processors"}, "notes": ["noisy: a thread waited"],
    "chase_ns": 200, "operation_ns": 30, "independent_ns": 16, "locked_ns": 24, "transaction_ns": None, "transaction_ns_reason": "no transactions",
    "batches": [{"lines": lines, "ns": 200 / lines} for lines in (1, 2, 3, 4, 6, 8, 12, 16, 24)],
    "random_gb_per_second": 4, "read_gb_per_second": 9,
    "locks": [{"name": name, "alone_ns": 13, "contended_ns": 50} for name in ("fetch_add", "compare_and_swap", "spin", "mutex")],
}))
"""


def fake_in(folder, text=FAKE):
    """Writes a harness into the folder, and returns it."""
    harness = folder / "harness"
    harness.write_text(text)
    harness.chmod(harness.stat().st_mode | stat.S_IXUSR)
    return harness


def run_policies(folder, *arguments, python="/usr/bin/python3"):
    """Runs the experiment with the harness in the folder, and returns the process. Its output folder is `out` there."""
    command = [python, "-B", str(TREE / "experiments/run.py"), str(folder / "harness"), "policies", f"--out={folder}/out", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def measured_once(point, harness=HARNESS):
    """Runs a point once. Returns its document and "", or None and the reason."""
    experiment = definition.Experiment("one", "quick", "", "", 1, [], [point])
    with tempfile.TemporaryDirectory() as there, contextlib.redirect_stderr(io.StringIO()):
        folder = pathlib.Path(there)
        results = runner.Results(folder, "binary")
        plan = Plan(experiment, {"": results})
        with Hold(folder) as hold:
            Driver(plan, Local(harness), folder, hold).run()
        return results.known.get((point.arguments, 0)), next(iter(plan.failures.values()), "")
