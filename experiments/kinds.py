"""Sees that there is a harness for the kind of machine that runs this script. A job on a node runs it; nothing is installed.

    kinds.py TREE SOURCE PAIRS ANSWER

The kind is the processor's model and features, the compiler, the source, and the index:policy pairs (with `;` between them). Its digest
names the folder TREE/build/kinds/DIGEST. If there is no harness in it, the script builds one in a temporary folder of the node, and moves
it there. A rename is atomic, so two nodes may do so at the same time.

ANSWER is the JSON file for the answer: node, digest, model, compiler and harness, or `error`.
Exit status: 0 if there is a harness; 1 if there is none.
"""
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile


def processor(cpuinfo=None):
    """Returns the model of the processor and its features, both as Linux names them. `cpuinfo` is another machine's /proc/cpuinfo."""
    model, features = platform.machine(), ""
    for line in (cpuinfo or pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")).splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            model = value.strip()
        if name.strip() == "flags":
            features = " ".join(sorted(value.split()))
        if not line.strip():
            break   # the first processor speaks for all
    return model, features


def compiler():
    """Returns the first line of the compiler's --version. Raises OSError."""
    name = os.environ.get("CXX", "c++")
    return subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def run(log, *command, cwd):
    """Runs a command, whose output is for the log. Raises RuntimeError with its last error."""
    print("+", *command, file=log, flush=True)
    done = subprocess.run(command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          check=False)
    print(done.stdout, file=log, flush=True)
    if done.returncode != 0:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()]
        raise RuntimeError((errors or lines or [f"{command[0]} failed"])[0])


def build(tree, pairs, whole):
    """Builds the harness, and moves it to `whole` when it is complete."""
    with tempfile.TemporaryDirectory(prefix="latchlab-") as scratch:
        run(sys.stderr, "cmake", "--preset", "release", "-B", scratch, f"-DLATCHLAB_PAIRS={pairs}", cwd=tree)
        run(sys.stderr, "cmake", "--build", scratch, "--target", "harness", cwd=tree)
        part = whole.with_name(f"harness.{platform.node()}.{os.getpid()}")
        shutil.copy2(pathlib.Path(scratch) / "harness", part)
        part.rename(whole)


def main(tree, source, pairs, answer):
    said = {"node": os.environ.get("SLURMD_NODENAME", platform.node())}
    try:
        model, features = processor()
        by = compiler()
        digest = hashlib.sha256("\n".join([model, features, by, source, pairs]).encode()).hexdigest()[:16]
        whole = pathlib.Path(tree) / "build/kinds" / digest / "harness"
        said |= {"digest": digest, "model": model, "compiler": by, "harness": str(whole)}
        if not whole.exists():
            whole.parent.mkdir(parents=True, exist_ok=True)
            build(tree, pairs, whole)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        said["error"] = str(error)
    part = pathlib.Path(f"{answer}.part")
    part.write_text(json.dumps(said), encoding="utf-8")
    part.rename(answer)
    return 1 if "error" in said else 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("kinds: the usage is kinds.py TREE SOURCE PAIRS ANSWER")
    sys.exit(main(*sys.argv[1:]))
